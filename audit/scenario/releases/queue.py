"""The queue of a pool as the evidence of holds reads it: who waited, with which capacity free.

*Room* at x: the capacity less what is used just before x is at least the job's size. A share is
compared with its *shifted* one: the mean of the shares with own ends moved by ``SHIFTS_S``.

Source: SPEC §11, *Chains, releases, begin times*.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from audit.array_types import Bools, Ints
from audit.metrics.attempts.contention import CapacitySteps, amounts, capacity_steps
from audit.metrics.attempts.population import only
from audit.metrics.waits.queue import numbered, queued
from audit.model import SEQUENCE, Pool
from audit.scenario.plateaus.sweeping import clock, local_days

NEVER: Final = int(np.iinfo(np.int64).max)
UNKNOWN: Final = 0
DAY_S: Final = 86_400
_HOUR_S: Final = 3_600
SHIFTS_S: Final = tuple(sign * hours * _HOUR_S for hours in (6, 12, 24) for sign in (-1, 1))


@dataclass(frozen=True)
class UserJobs:
    """The jobs of a pool, n, in the order (arrival, submit, sequence)."""

    row: Ints  # of the given frame
    arrival: Ints
    leave: Ints  # when it leaves the queue
    start: Ints  # NEVER: it did not start
    end: Ints  # NEVER: it did not start
    size: Ints
    user: Ints  # from 1 on; UNKNOWN
    names: tuple[str, ...]  # of users 1, 2, …
    by_number: Ints  # the jobs by user and number
    capacity: int
    steps: CapacitySteps
    zone: tuple[Ints, Ints]

    @property
    def wait(self) -> Ints:
        """How long each waited, s; NEVER: it did not start."""
        return np.where(self.start == NEVER, NEVER, self.start - self.arrival)

    @cached_property
    def _sums(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Starts and ends of what ran, ascending, and the sizes up to each."""
        ran = np.flatnonzero((self.start != NEVER) & (self.end > self.start))
        found: list[Ints] = []
        for times in (self.start[ran], self.end[ran]):
            order = np.argsort(times, kind="stable")
            found += [times[order], np.concatenate(([0], np.cumsum(self.size[ran][order])))]
        return found[0], found[1], found[2], found[3]

    def free_before(self, at: Ints) -> Ints:
        """Return the capacity less what is used just before each instant."""
        starts, began, ends, ended = self._sums
        used = began[np.searchsorted(starts, at)] - ended[np.searchsorted(ends, at)]
        changes = np.concatenate(([0], np.cumsum(self.steps.change[:, 0])))
        free: Ints = self.capacity + changes[np.searchsorted(self.steps.time, at)] - used
        return free

    def has_room(self, jobs: Ints, at: Ints) -> Bools:
        """Return whether each of ``jobs`` has room at an instant."""
        found: Bools = self.free_before(at) >= self.size[jobs]
        return found

    @cached_property
    def _changes(self) -> Ints:
        """The instants at which the free capacity changes."""
        starts, _, ends, _ = self._sums
        return np.unique(np.concatenate((starts, ends, self.steps.time)))

    def seconds_with(self, size: int, begin: int, end: int) -> int:
        """Return for how long at least ``size`` is free in [begin, end), s."""
        at = self._changes
        edges = np.concatenate(([begin], at[(at > begin) & (at < end)], [end]))
        enough = self.free_before(edges[:-1] + 1) >= size
        return int(np.diff(edges)[enough].sum())

    def days(self, at: Ints) -> Ints:
        """Return the local days of instants."""
        return local_days(self.zone, at)

    def seconds_of_day(self, at: Ints) -> Ints:
        """Return the seconds since local midnight of instants."""
        begins, ahead = self.zone
        place = np.maximum(np.searchsorted(begins, at, side="right") - 1, 0)
        seconds: Ints = (at + ahead[place]) % DAY_S
        return seconds


def user_jobs(described: pl.DataFrame, pool: Pool, now: int) -> UserJobs:
    """Return the jobs of a pool.

    Args:
        described: columns of ``model.DESCRIBED``; attempts of other pools are ignored.
    """
    own = only(described.with_row_index("row"), pl.col("pool") == pool.name)
    queue = queued(own, now, pl.col("size") > 0)
    user = numbered(queue.rows["user"])
    order = queue.rows.select(pl.int_range(pl.len()).alias("place"), *SEQUENCE).with_columns(
        user=pl.Series(user)
    )
    started = queue.rows["start_time"].is_not_null().to_numpy()
    arrival = queue.column("arrival_time")
    known = np.concatenate((arrival, queue.column("end")))
    return UserJobs(
        queue.column("row"),
        arrival,
        queue.column("leave"),
        np.where(started, queue.column("start_time"), NEVER),
        np.where(started, queue.column("end"), NEVER),
        queue.column("size"),
        user,
        tuple(queue.rows["user"].unique().drop_nulls().sort()),
        order.sort("user", *SEQUENCE, nulls_last=False)["place"].to_numpy().astype(np.int64),
        int(amounts(pool)[0]),
        capacity_steps(pool, queue.reserved),
        clock(pool, int(known.min(initial=0)), int(known.max(initial=0)) + 2 * DAY_S),
    )
