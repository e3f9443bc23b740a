"""Holds of attempts by their place in the queue, as the account of waits takes them."""

from __future__ import annotations

import polars as pl

from audit.metrics.waits.queue import Queued


def placed_holds(holds: pl.DataFrame, queue: Queued) -> pl.DataFrame:
    """Return holds with ``row`` as the place in the queue's order, ascending; clipped to waits.

    Those of an attempt are disjoint: a second belongs to the hold that begins first, of several the
    first kind by name.

    Args:
        holds: row (of the frame that was queued), begin and end (epoch s), kind.
    """
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
        .filter(pl.col("begin") < pl.col("end"))
        .sort("row", "begin", "kind", "end")
        .with_columns(
            begin=pl.max_horizontal("begin", pl.col("end").cum_max().shift(1).over("row"))
        )
        .filter(pl.col("begin") < pl.col("end"))
    )


def longest_hold(placed: pl.DataFrame, count: int) -> pl.Series:
    """Return the kind of hold that lasts longest of each of ``count`` attempts, or null.

    Args:
        placed: as of ``placed_holds``.
    """
    longest = (
        placed.group_by("row", "kind")
        .agg(lasted=(pl.col("end") - pl.col("begin")).sum())
        .sort("row", "lasted", "kind", descending=[False, True, False])
        .unique("row", keep="first", maintain_order=True)
    )
    every = pl.DataFrame({"row": pl.int_range(count, eager=True)})
    return every.join(longest, on="row", how="left", maintain_order="left")["kind"]
