"""Account of waits: every second of every wait is booked to exactly one cause (SPEC §11).

At t, with free(t) what the running attempts leave of capacity(t), the queue is walked in its order
(arrival, submit, sequence), with left = free(t) at first. For each attempt, the first that holds:

    held         a begin time, dependency, hold, throttle of its array or licence keeps it
    unavailable  it requests more than capacity(t), or t lies in an outage
    rule         a limit or window forbids it, given what runs and what has claimed before it
    own, earlier, later
                 it does not fit in free(t): the second is divided by who uses the *short resource*
    cycle, unexplained
                 it fits in left, and claims its request; cycle: in the last ``cycle_s`` of the wait
    own          it fits in left and the claims of its own user
    claimed      jobs ahead of it have claimed what it needs

An *outage* is a stretch of at least ``OUTAGE_S`` in which nothing runs and, for as long, an attempt
waits that fits and that nothing forbids. Before the first start nobody knows what ran.

The causes sum to the wait, up to rounding of divided seconds. Requests of 0 fit always; attempts of
unknown size have no account. A recorded reason that names a hold is evidence of the instant at
which it was written: the last stretch of the wait, if the attempt could have claimed then.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl
import polars.selectors as cs

from audit.metrics.attempts.reasons import hold_kind
from audit.metrics.queue_sweep import (
    BOOKED,
    Booked,
    Holds,
    Ints,
    Known,
    Queued,
    book,
    in_force,
    queued,
)
from audit.model import SEQUENCE, Pool
from audit.registry.causes import CAUSES
from audit.rule_text import rule_text
from audit.rules import Limit, Window

OUTAGE_S: Final = 600

_READ: Final = cs.by_name(
    *("standing", "arrival_time", "submit_time", "start_time", "end_time", "user", "reason"),
    *("reservation", "node_list", "cpus", "nodes", "gpus", "mem_bytes", *SEQUENCE),
    *("account", "partition", "qos", "size", "walltime_s", "occupancy_s"),
    require_all=False,
)


class Account(NamedTuple):
    """The account of a pool."""

    attempts: pl.DataFrame
    """What was given, with the columns of ``CAUSES``, ``RULE_FREE``, rule and held_by."""
    outages: pl.DataFrame
    """from_time, to_time (epoch s), waited_s: s in which an attempt waited that could have run."""
    barred: pl.DataFrame
    """job_id, attempt, begin, end (epoch s): when attempts were held or under a rule, ascending."""
    traced: pl.DataFrame
    """All stretches of the traced attempt's wait, ascending: begin, end (epoch s), cause (key of a
    cause; of divided seconds the greatest part) and ``by``: the rule, the kind of hold, or
    ``outage``."""


NO_HOLDS: Final = pl.DataFrame(
    schema={"row": pl.Int64, "begin": pl.Int64, "end": pl.Int64, "kind": pl.String}
)
"""``row`` counts rows of what ``account`` is given; begin and end are epoch s; kind is one of
``reasons.HOLDS``."""

KEY: Final = ("job_id", "attempt")
RULE_FREE: Final = "cause_rule_free_s"
"""The part of the seconds under a rule in which the attempt fits in what is free."""


_BARRED: Final = (BOOKED.index("held"), BOOKED.index("rule"))


def cycle_of(pool: Pool, tolerance_s: int) -> int:
    """Return the interval of a pool's scheduling passes, else the tolerance, s."""
    return pool.policy.interval_s or tolerance_s


def account(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    *,
    cycle_s: int,
    holds: pl.DataFrame = NO_HOLDS,
    outage_s: int = OUTAGE_S,
    traced: int | None = None,
) -> Account:
    """Book each second of each wait to one cause.

    Args:
        described: columns of ``model.DESCRIBED``; *all* attempts of one pool, in any order.
        pool: its amounts, what changed in them, and the rules in force.
        now: until when open attempts wait, epoch s.
        cycle_s: interval of the scheduler's passes, s.
        outage_s: least length of an outage, s.
        holds: known times in which attempts may not start, columns of ``NO_HOLDS``.
        traced: row of the attempt of which all stretches are returned.

    Returns:
        The columns of ``CAUSES`` and ``RULE_FREE`` in s, ≥ 0, float64; null where the arrival, the
        size or the end of the wait is not known, and for attempts in reservations. ``rule`` is the
        rule that forbids the attempt longest, ``held_by`` the hold that lasts longest.

    Source: SPEC §11.
    """
    rows = described.select(_READ).with_row_index("row")
    queue = queued(rows, now, pl.col("size") > 0)
    kinds = hold_kind(queue.rows)
    placed = _placed(holds, queue)
    at = np.flatnonzero(queue.rows["row"].to_numpy() == (-1 if traced is None else traced))
    place = int(at[0]) if len(at) else None
    booked, outages = book(
        queue,
        pool,
        in_force(queue, pool.limits, pool.windows, pool.zone),
        Known(
            holds=Holds(*(placed[name].to_numpy() for name in Holds._fields)),
            noted=kinds.is_not_null().to_numpy(),
            cycle_s=cycle_s,
            traced=place,
        ),
        outage_s=outage_s,
        by_nodes=True,
    )
    names = rule_names(pool)
    made = queue.rows.select("row").hstack(_made(booked, names, placed, kinds, queue))
    added = rows.select("row").join(made, on="row", how="left")
    spans = (outages[0], np.minimum(outages[1], now), outages[2])
    return Account(
        described.hstack(added.drop("row")),
        pl.DataFrame(dict(zip(("from_time", "to_time", "waited_s"), spans, strict=True))),
        _barred(booked.stretches, queue, described),
        _traced(booked, place, names, placed, kinds, outages),
    )


def rule_names(pool: Pool) -> list[str]:
    """Return the names of a pool's limits, then windows, as in the column ``rule``."""
    rules: list[Limit | Window] = [*pool.limits, *pool.windows]
    return [rule_text(rule, pool.resource) for rule in rules]


def _traced(
    booked: Booked,
    place: int | None,
    names: Sequence[str],
    placed: pl.DataFrame,
    kinds: pl.Series,
    outages: Ints,
) -> pl.DataFrame:
    """Return the stretches of the attempt at ``place``, named; see ``Account.traced``."""
    schema = {"begin": pl.Int64, "end": pl.Int64, "cause": pl.String, "by": pl.String}
    if place is None:
        return pl.DataFrame(schema=schema)
    keys = {BOOKED.index(key): cause.key for cause in CAUSES for key in cause.booked}
    holds = placed.filter(pl.col("row") == place).select("begin", "end", "kind").rows()
    rows = []
    mine = booked.stretches.filter(pl.col("place") == place)
    for number, begin, end in mine.select("cause", "begin", "end").iter_rows():
        cause, by = keys.get(number, "rule"), None
        if number >= len(BOOKED):
            by = names[number - len(BOOKED)]
        elif cause == "held":
            by = next((kind for since, to, kind in holds if since <= begin < to), kinds[place])
        elif cause == "unavailable" and ((outages[0] <= begin) & (end <= outages[1])).any():
            by = "outage"
        rows.append((begin, end, cause, by))
    return pl.DataFrame(rows, schema, orient="row")


def _made(
    booked: Booked, names: Sequence[str], holds: pl.DataFrame, kinds: pl.Series, queue: Queued
) -> pl.DataFrame:
    """Return the columns of the account of what was booked."""
    count = booked.seconds.shape[1]
    columns = {
        cause.column: sum((booked.of(key) for key in cause.booked), np.zeros(count))
        for cause in CAUSES
    }
    made = pl.DataFrame(
        {
            **columns,
            RULE_FREE: booked.of("rule_free"),
            "rule": _longest(booked, names),
            "held_by": _longest_hold(holds, count).fill_null(kinds),
        }
    ).with_columns(held_by=pl.when(pl.col("cause_held_s") > 0).then("held_by"))
    return made.select(pl.when(queue.rows["waits"]).then(pl.all()).name.keep())


def _barred(stretches: pl.DataFrame, queue: Queued, described: pl.DataFrame) -> pl.DataFrame:
    """Return stretches by job and attempt instead of place in the queue."""
    places = queue.rows.select("row", place=pl.int_range(pl.len()))
    held = stretches.filter(pl.col("cause").is_in(_BARRED) | (pl.col("cause") >= len(BOOKED)))
    return (
        held.join(places, on="place", maintain_order="left")
        .join(described.select(*KEY).with_row_index("row"), on="row", maintain_order="left")
        .select(*KEY, "begin", "end")
    )


def _longest(booked: Booked, names: Sequence[str]) -> pl.Series:
    """Return the name of the rule that forbids each attempt longest; null: none does."""
    if not names:
        return pl.repeat(None, booked.seconds.shape[1], dtype=pl.String, eager=True)
    which = pl.Series(booked.forbidden.argmax(axis=0))
    name = which.replace_strict(list(range(len(names))), names, return_dtype=pl.String)
    return name.set(pl.Series(booked.forbidden.max(axis=0) == 0), None)


def _placed(holds: pl.DataFrame, queue: Queued) -> pl.DataFrame:
    """Return holds with ``row`` as the place in the queue's order, ascending; clipped to waits."""
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
        .sort("row", "begin", "end", "kind")
    )


def _longest_hold(placed: pl.DataFrame, count: int) -> pl.Series:
    """Return the kind of hold that lasts longest of each of ``count`` attempts; null: none."""
    longest = (
        placed.group_by("row", "kind")
        .agg(lasted=(pl.col("end") - pl.col("begin")).sum())
        .sort("row", "lasted", "kind", descending=[False, True, False])
        .unique("row", keep="first", maintain_order=True)
    )
    every = pl.DataFrame({"row": pl.int_range(count, eager=True)})
    return every.join(longest, on="row", how="left", maintain_order="left")["kind"]
