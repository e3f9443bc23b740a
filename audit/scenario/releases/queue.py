"""The queue of a pool as the evidence of holds reads it.

A share is compared with its *shifted* one: the mean of the shares with own ends moved by
``SHIFTS_S``.

Source: SPEC §11, *Chains, releases, begin times*.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from audit.array_types import Bools, Ints
from audit.metrics.attempts.population import only
from audit.metrics.waits.queue import numbered, queued
from audit.model import SEQUENCE, Pool
from audit.scenario.plateaus.sweeping import clock, local_days
from audit.scenario.releases.room import Room
from audit.scenario.releases.under_limits import UnderLimits

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
    room: Room
    limits: UnderLimits
    zone: tuple[Ints, Ints]

    @property
    def wait(self) -> Ints:
        """How long each waited, s; NEVER: it did not start."""
        return np.where(self.start == NEVER, NEVER, self.start - self.arrival)

    def has_room(self, jobs: Ints, at: Ints) -> Bools:
        """Return whether each of ``jobs`` has room at an instant; of unknown size: no."""
        size = self.size[jobs]
        found: Bools = (size > 0) & (self.room.before(jobs, at) >= size)
        return found

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
        row=queue.column("row"),
        arrival=arrival,
        leave=queue.column("leave"),
        start=np.where(started, queue.column("start_time"), NEVER),
        end=np.where(started, queue.column("end"), NEVER),
        size=queue.column("size"),
        user=user,
        names=tuple(queue.rows["user"].unique().drop_nulls().sort()),
        by_number=order.sort("user", *SEQUENCE)["place"].to_numpy().astype(np.int64),
        room=Room(queue, pool),
        limits=UnderLimits(queue, pool),
        zone=clock(pool, int(known.min(initial=0)), int(known.max(initial=0)) + 2 * DAY_S),
    )
