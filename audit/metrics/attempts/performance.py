"""Plain performance of a pool (SPEC §2): overtakes, utilization, loss of capacity, queue.

Conventions: amounts of the pool's counted resource; times in s; integrals over [from, to) are exact
and in whole resource-seconds. Queued are started attempts between arrival and start, and pending
ones up to ``now``; attempts that never started are left out. Attempts of other periods count in
full. Attempts of unknown arrival count as use, but are never queued.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Ints
from audit.kernels import sweeps
from audit.metrics.attempts.contention import ints, lifetimes, time_order
from audit.model import Standing


class Activity(NamedTuple):
    """Activity of a pool in each span between consecutive edges; one element per span."""

    seconds: Ints  # length of the span, s
    used: Ints  # ∫ used(t) dt, resource·s
    queued: Ints  # ∫ queued(t) dt, resource·s
    lost: Ints  # ∫ min(idle(t), queued(t)) dt with idle = max(capacity − used, 0), resource·s
    over: Ints  # time with used > capacity, s
    peak: int  # greatest use between the first edge and the last
    capacity: Ints  # amount of the counted resource


def activity(
    described: pl.DataFrame, capacity: int | Sequence[int], edges: Sequence[int], now: int
) -> Activity:
    """Return the activity between ``edges``, from which all figures below are computed.

    Args:
        described: columns of ``model.DESCRIBED``; *all* attempts of one pool.
        capacity: amount of the counted resource, ≥ 1, or one per span.
        edges: ascending epoch s, as from ``periods.day_edges``.

    Raises:
        ValueError: ``capacity`` is not positive, or ``edges`` do not ascend.
    """
    cuts = np.asarray(edges, np.int64)
    seconds = np.diff(cuts)
    amounts = np.ascontiguousarray(np.broadcast_to(np.asarray(capacity, np.int64), seconds.shape))
    if np.min(capacity) < 1 or (seconds <= 0).any():
        raise ValueError("activity: capacity must be positive and edges must ascend")
    out = np.zeros((len(seconds), 4), np.int64)
    peak = sweeps.integrals(*lifetimes(described, now), amounts, cuts, out)
    used, queued, lost, over = out.T
    return Activity(seconds, used, queued, lost, over, int(peak), amounts)


def utilization(pool: Activity) -> float | None:
    """Return ∫ used dt / (capacity · time), above 1 where the log exceeds the capacity."""
    return _ratio(pool.used, pool.capacity * pool.seconds)


def loss_of_capacity(pool: Activity) -> float | None:
    """Return the time mean, over the whole period, of min(idle, queued)/capacity, in [0, 1]."""
    total = int(pool.seconds.sum())
    lost = sum(map(Fraction, pool.lost.tolist(), pool.capacity.tolist()))
    return float(lost / total) if total else None


def over_capacity_time(pool: Activity) -> float | None:
    """Return the share of the time in which the use exceeds the capacity, in [0, 1]."""
    return _ratio(pool.over, pool.seconds)


def queued_mean(pool: Activity) -> float | None:
    """Return the time mean of the size that waits, ≥ 0."""
    return _ratio(pool.queued, pool.seconds)


def overtakes(described: pl.DataFrame) -> pl.DataFrame:
    """Add the slips and skips of [S §2].

    - overtaken_by_i = number of attempts that arrived later and started earlier than i
    - overtook_i = number of attempts that arrived earlier and started later than i

    Both comparisons are strict. All attempts of known arrival and start are compared, running ones
    included; over these both columns have the same sum.

    Args:
        described: columns of ``model.DESCRIBED``; *all* attempts of one pool.

    Returns:
        ``described`` with overtaken_by and overtook, int64 ≥ 0; null for attempts that have not
        ended. O(n log n).
    """
    compared = described["start_time"].is_not_null() & described["arrival_time"].is_not_null()
    lives = described.select("arrival_time", "start_time").filter(compared)
    lives = lives.select("arrival_time", rank=pl.col("start_time").rank("dense").cast(pl.Int64))
    arrival = ints(lives["arrival_time"])
    counts = {name: np.zeros(lives.height, np.int64) for name in ("overtaken_by", "overtook")}
    sweeps.overtakes(
        arrival,
        np.ascontiguousarray(lives["rank"].to_numpy()),
        time_order(arrival),
        counts["overtaken_by"],
        counts["overtook"],
    )
    rows = compared.arg_true().to_numpy()
    columns = {name: np.zeros(described.height, np.int64) for name in counts}
    for name, values in counts.items():
        columns[name][rows] = values
    added = pl.DataFrame(columns)
    subject = described["standing"] == Standing.ENDED.value
    return described.with_columns(added.select(pl.when(subject).then(pl.all()).name.keep()))


def array_spans(held: pl.DataFrame) -> pl.DataFrame:
    """Add array_span_s, s: at one task of each job array last end − first start, at the others 0.

    An array holds the attempts of a user with the same job number and at least two array tasks that
    ended. Null for all others.
    """
    array, ended = ["user", "job_number"], pl.col("standing") == Standing.ENDED.value
    task = pl.when(ended).then("array_task")
    if held.select((task.is_not_null() & pl.col("job_number").is_not_null()).any()).item():
        last = pl.when(ended).then("end_time").max().over(array)
        first = pl.when(ended).then("start_time").min().over(array)
        counted = task.is_not_null() & (task.drop_nulls().n_unique().over(array) > 1)
        leads = counted.cast(pl.Int64).cum_sum().over(array) == 1
        span = pl.when(leads).then(last - first).otherwise(0)
        return held.with_columns(array_span_s=pl.when(counted).then(span))
    return held.with_columns(array_span_s=pl.lit(None, pl.Int64))


def _ratio(above: Ints, below: Ints) -> float | None:
    total = int(below.sum())
    return int(above.sum()) / total if total else None
