"""When limits of users or accounts forbid waiting attempts (SPEC §11, *Passed over*, 2).

A limit forbids an attempt at t if its level, of what runs at t, leaves less than the attempt adds,
after the earlier waiting attempts of its user have taken theirs, in the order of the queue: those
that the limit allows. A limit of an account counts what all its users run, but only the user's own
waiting attempts. At one instant: ends, arrivals, starts.

Conventions: a limit of remaining time counts Σ amount × max(0, start + walltime − t), and is looked
at whenever a job of the pool starts; an unknown walltime is the occupancy, 1 s without a start.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit import periods
from audit.array_types import Ints
from audit.kernels.limited import (
    LimitedAttempts,
    LimitEvents,
    LimitInForce,
    LimitQueues,
    forbidden_spans,
)
from audit.metrics.attempts.population import only
from audit.metrics.attempts.reasons import in_scope
from audit.metrics.waits.queue import NEVER, Queued, in_force, numbered, queued, validity
from audit.model import Pool
from audit.rules import Limit

_END, _ARRIVE, _LEAVE, _RUN = range(4)
"""Kinds of events, as in the kernel."""
LEAST_UNDER: Final = 0.5
FORBIDDEN: Final = pl.Schema({"row": pl.UInt32, "begin": pl.Int64, "end": pl.Int64})
"""Spans of attempts; closed, disjoint and ascending within each attempt."""


def of_entities(limits: Iterable[Limit]) -> list[Limit]:
    """Return the limits of users or accounts, also within a partition or QOS."""
    return [
        limit
        for limit in limits
        if limit.per in ("user", "account") or (limit.per is None and (limit.user or limit.account))
    ]


def forbidden(
    described: pl.DataFrame, pool: Pool, now: int, limits: Sequence[Limit]
) -> pl.DataFrame:
    """Return the spans in which limits of users or accounts forbid attempts.

    Args:
        described: columns of ``model.DESCRIBED``; attempts of other pools are ignored.
        limits: accepted ones; others than those of users or accounts are ignored.

    Returns:
        Columns of ``FORBIDDEN``; rows are those of ``described``.
    """
    own = only(described.with_row_index("row"), pl.col("pool") == pool.name)
    queue = queued(own, now, pl.lit(value=True))
    limits = of_entities(limits)
    starts: Ints = np.zeros(0, np.int64)
    if any(limit.remaining for limit in limits):
        starts = np.unique(queue.rows["start_time"].drop_nulls().to_numpy())
    user = numbered(queue.rows["user"])
    made = [_spans(queue, user, limit, pool.zone, starts) for limit in limits]
    spans = np.concatenate([np.zeros((0, 3), np.int64), *made])
    row = queue.rows["row"].to_numpy()[spans[:, 0]]
    del queue, own, user  # as large as the log
    return joined(pl.DataFrame((row, *spans.T[1:]), FORBIDDEN))


def users_under(described: pl.DataFrame, limits: Iterable[Limit], zone: str) -> frozenset[str]:
    """Return the users at least half of whose jobs arrived under a limit of users or accounts.

    Args:
        zone: the pool's, for the days in which limits are in force.
    """
    rows = described.with_columns(occupancy=pl.col("occupancy_s"))
    arrival = rows["arrival_time"].fill_null(-NEVER).to_numpy()
    under = np.zeros(rows.height, np.bool_)
    for limit in of_entities(limits):
        begin, end = validity(limit, periods.zone(zone))
        under |= in_scope(rows, limit) & (begin <= arrival) & (arrival < end)
    shares = rows.select("user", under=pl.Series(under)).drop_nulls("user").group_by("user").mean()
    return frozenset(shares.filter(pl.col("under") >= LEAST_UNDER)["user"])


def joined(spans: pl.DataFrame) -> pl.DataFrame:
    """Return spans, columns of ``FORBIDDEN``, without overlaps, ascending by row and time."""
    behind = pl.col("end").cum_max().shift().over("row")
    apart = (pl.col("begin") > behind + 1).fill_null(value=True)
    return (
        spans.sort("row", "begin", "end")
        .with_columns(part=apart.cum_sum())
        .group_by("row", "part", maintain_order=True)
        .agg(pl.col("begin").min(), pl.col("end").max())
        .drop("part")
    )


def _spans(queue: Queued, user: Ints, limit: Limit, zone: str, starts: Ints) -> Ints:
    """Return the spans of a limit, [s, 3]: place in the queue, first and last second.

    Args:
        user: [n], from 1 on; 0: unknown.
        starts: those of the pool, distinct, ascending.
    """
    rows, rules = queue.rows, in_force(queue, [limit], (), zone)
    [counters], [amounts], [binding] = rules.counter, rules.amount, rules.binding
    [valid_from], [valid_to] = rules.valid_from.tolist(), rules.valid_to.tolist()
    place = np.flatnonzero((counters >= 0) & (amounts > 0))
    if not len(place):
        return np.zeros((0, 3), np.int64)
    _, counter = np.unique(counters[place], return_inverse=True)
    pairs, of_queue = np.unique(counter * (user.max() + 1) + user[place], return_inverse=True)
    amount = np.ascontiguousarray(amounts[place])
    occupancy = rows["end"] - rows["start_time"]
    walltime = rows["walltime_s"].fill_null(occupancy).fill_null(1).to_numpy()[place]
    adds = amount * np.maximum(walltime, 1) if limit.remaining else amount
    least = np.full(len(pairs), np.iinfo(np.int64).max)
    np.minimum.at(least, of_queue, adds)
    n, none = len(place), np.full(len(pairs), -1)
    # instants at which a level may change without an event of its counter
    looks = np.unique([valid_from, valid_to])
    if limit.remaining:
        looks = looks[~np.isin(looks, starts)]
        looks = np.insert(starts, np.searchsorted(starts, looks), looks)
    spans = forbidden_spans(
        LimitedAttempts(
            amount=amount,
            adds=adds,
            until=queue.column("start_time")[place] + np.maximum(walltime, 1),
            binding=binding[place].astype(np.bool_),
            queue=of_queue,
            least=least,
            first_queue=np.searchsorted(
                pairs // (user.max() + 1), np.arange(counter.max(initial=-1) + 2)
            ),
        ),
        _events(queue, place, counter, user[place] > 0, looks),
        LimitInForce(limit.most, limit.remaining, valid_from, valid_to),
        LimitQueues(
            *(none.copy() for _ in range(2)),
            *np.zeros((3, len(pairs)), np.int64),
            *np.full((5, n), -1),
        ),
    )
    spans[:, 0] = place[spans[:, 0]]
    return spans


def _events(
    queue: Queued, place: Ints, counter: Ints, known: NDArray[np.bool_], looks: Ints
) -> LimitEvents:
    """Return the events of the attempts at these places."""
    start, end = queue.column("start_time")[place], queue.column("end")[place]
    arrival, leave = queue.column("arrival_time")[place], queue.column("leave")[place]
    ran = queue.rows["start_time"].is_not_null().to_numpy()[place] & (end > start)
    waits = queue.rows["waits"].to_numpy()[place] & (leave > arrival) & known
    parts = [
        (_END, np.flatnonzero(ran), end),
        (_ARRIVE, np.flatnonzero(waits), arrival),
        (_LEAVE, np.flatnonzero(waits), leave),
        (_RUN, np.flatnonzero(ran), start),
    ]
    attempt = np.concatenate([chosen for _, chosen, _ in parts])
    time = np.concatenate([times[chosen] for _, chosen, times in parts])
    kind = np.repeat([one for one, *_ in parts], [len(chosen) for _, chosen, _ in parts])
    order = np.lexsort((attempt, kind, time, counter[attempt]))
    return LimitEvents(counter[attempt][order], time[order], kind[order], attempt[order], looks)
