"""Attempts as the sweeps see them: when each was in the pool, and from when on it ran."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.model import Standing

Ints = NDArray[np.int64]


class Lifetimes(NamedTuple):
    """One element per row of the frame, arrival ≤ start ≤ end; a life of no length has no effect.

    An attempt that has not started by the time it leaves the pool has start = end.
    """

    arrival: Ints
    start: Ints
    end: Ints
    size: Ints
    by_arrival: Ints
    by_start: Ints
    by_end: Ints


def lifetimes(described: pl.DataFrame, now: int, count_never_started: bool = False) -> Lifetimes:
    """The lifetimes of the attempts of one pool.

    Open attempts live up to ``now``. Those whose start is unknown, and, unless
    ``count_never_started``, those that never started, get no life. An unknown size is 0. Who
    started but arrived nobody knows when lives from the start on.

    Args:
        described: columns of ``model.DESCRIBED``, of one pool.
        now: when the log was taken, epoch s.
        count_never_started: attempts that never started are queued until they left.
    """
    counted = [Standing.ENDED.value, Standing.ARRIVAL_UNKNOWN.value]
    if count_never_started:
        counted.append(Standing.NEVER_STARTED.value)
    if (described["standing"] == Standing.ENDED.value).all() and not described["size"].has_nulls():
        lives = described  # nothing to work out; spares large logs six copies
    else:
        standing = pl.col("standing")
        leaves = (
            pl.when(standing.is_in([Standing.RUNNING.value, Standing.PENDING.value]))
            .then(pl.lit(now))
            .when(standing.is_in(counted))
            .then("end_time")
        )
        end = pl.coalesce(leaves, "arrival_time", pl.lit(now))
        lives = described.select(
            arrival_time=pl.min_horizontal(pl.coalesce("arrival_time", "start_time", end), end),
            start_time=pl.min_horizontal(pl.coalesce("start_time", end), end),
            end_time=end,
            size=pl.col("size").fill_null(0),
        )
    arrival, start, end_, size = (
        np.ascontiguousarray(lives[name].to_numpy(), np.int64)
        for name in ("arrival_time", "start_time", "end_time", "size")
    )
    return Lifetimes(
        arrival, start, end_, size, time_order(arrival), time_order(start), time_order(end_)
    )


def time_order(times: Ints) -> Ints:
    """The indices that sort ``times``, stably."""
    from audit.kernels import sweeps

    order, spare = np.empty_like(times), np.empty_like(times)
    sweeps.time_order(times, order, spare)
    return order
