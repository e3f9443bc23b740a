"""Holds of attempts by their place in the queue, as the account of waits takes them."""

from collections.abc import Sequence

import polars as pl

from audit.metrics.waits.queue import AS_HELD, AS_PLANNED, Queued
from audit.registry.reasons import HELD_BY, PLANNED

SAYS = "recorded_as"


def placed_holds(holds: pl.DataFrame, queue: Queued) -> pl.DataFrame:
    """Return holds with ``row`` as the place in the queue's order, ascending; clipped to waits.

    Of an attempt, holds are disjoint, and so are recorded rules, and later plans: a second belongs
    to the one that begins first, of several the first kind by name.

    Args:
        holds: row (of the frame that was queued), begin and end (epoch s), kind.

    Returns:
        row, begin, end, kind, and ``recorded_as`` as in ``Holds``; rules are numbered from 0 on in
        the order of ``recorded_rules``.
    """
    rules = recorded_rules(holds)
    numbers = dict.fromkeys(HELD_BY, AS_HELD) | {PLANNED: AS_PLANNED}
    numbers |= {rule: number for number, rule in enumerate(rules)}
    sort = pl.col(SAYS).clip(upper_bound=0)
    places = queue.rows.select(
        pl.col("row").cast(pl.Int64), "arrival_time", "leave", place=pl.int_range(pl.len())
    )
    return (
        holds.join(places, on="row")
        .select(
            row="place",
            begin=pl.max_horizontal("begin", "arrival_time"),
            end=pl.min_horizontal("end", "leave"),
            kind="kind",
        )
        .with_columns(pl.col("kind").replace_strict(numbers, return_dtype=pl.Int64).alias(SAYS))
        .filter(pl.col("begin") < pl.col("end"))
        .sort("row", "begin", "kind", "end")
        .with_columns(
            begin=pl.max_horizontal("begin", pl.col("end").cum_max().shift(1).over("row", sort))
        )
        .filter(pl.col("begin") < pl.col("end"))
    )


def recorded_rules(holds: pl.DataFrame) -> Sequence[str]:
    """Return the names of the rules that are recorded to have forbidden attempts, sorted."""
    return sorted(set(holds["kind"]) - {*HELD_BY, PLANNED})


def longest_hold(placed: pl.DataFrame, count: int) -> pl.Series:
    """Return the kind of hold that lasts longest of each of ``count`` attempts, or null.

    Args:
        placed: as of ``placed_holds``.
    """
    longest = (
        placed.filter(pl.col(SAYS) == AS_HELD)
        .group_by("row", "kind")
        .agg(lasted=(pl.col("end") - pl.col("begin")).sum())
        .sort("row", "lasted", "kind", descending=[False, True, False])
        .unique("row", keep="first", maintain_order=True)
    )
    every = pl.DataFrame({"row": pl.int_range(count, eager=True)})
    return every.join(longest, on="row", how="left", maintain_order="left")["kind"]
