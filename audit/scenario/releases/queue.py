"""The queue of a pool as the evidence of holds reads it.

A share is compared with its *shifted* one: the mean of the shares with own ends moved by
``SHIFTS_S``.

Source: SPEC §11, *Chains, releases, begin times*.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
import polars.selectors as cs

from audit.array_types import Bools, Ints, ShortInts
from audit.metrics.attempts.population import is_in_order, only
from audit.metrics.closed_hours import DAY_S, HOUR_S, LocalClock
from audit.metrics.waits.queue import READ, Queued, coded, queued
from audit.model import SEQUENCE, Pool
from audit.scenario.releases.room import Room
from audit.scenario.releases.under_limits import UnderLimits

NEVER: Final = int(np.iinfo(np.int64).max)
UNKNOWN: Final = 0
SHIFTS_S: Final = tuple(sign * hours * HOUR_S for hours in (6, 12, 24) for sign in (-1, 1))


@dataclass(frozen=True)
class UserJobs:
    """The jobs of a pool, n, in the order (arrival, submit, sequence)."""

    row: Ints  # of the given frame
    arrival: Ints
    leave: Ints  # when it leaves the queue
    start: Ints  # NEVER: it did not start
    end: Ints  # NEVER: it did not start
    size: Ints
    user: ShortInts  # from 1 on; UNKNOWN
    names: tuple[str, ...]  # of users 1, 2, …
    by_number: ShortInts  # the jobs by user and number
    room: Room
    limits: UnderLimits
    clock: LocalClock

    @property
    def wait(self) -> Ints:
        """How long each waited, s; NEVER: it did not start."""
        return np.where(self.start == NEVER, NEVER, self.start - self.arrival)

    def has_room(self, jobs: Ints, at: Ints) -> Bools:
        """Return whether each of ``jobs`` has room at an instant; of unknown size: no."""
        size = self.size[jobs]
        return (size > 0) & (self.room.before(jobs, at) >= size)

    def days(self, at: Ints) -> Ints:
        """Return the local days of instants."""
        return self.clock.seconds(at) // DAY_S

    def seconds_of_day(self, at: Ints) -> Ints:
        """Return the seconds since local midnight of instants."""
        return self.clock.seconds(at) % DAY_S


def user_jobs(described: pl.DataFrame, pool: Pool, now: int) -> UserJobs:
    """Return the jobs of a pool.

    Args:
        described: columns of ``model.DESCRIBED``; attempts of other pools are ignored.
    """
    read = described.select(READ | cs.by_name("pool")).with_row_index("row")
    own = only(read, pl.col("pool") == pool.name)
    del read
    queue = queued(own, now, pl.col("size") > 0)
    del own
    user = coded(queue.rows["user"]).astype(np.int32)
    room, limits = Room(queue, pool), UnderLimits(queue, pool)
    arrival, end = queue.column("arrival_time"), queue.column("end")
    first = min(arrival.min(initial=0), end.min(initial=0))
    last = max(arrival.max(initial=0), end.max(initial=0))
    never = queue.rows["start_time"].is_null().to_numpy()
    start = queue.column("start_time")
    if never.any():
        start, end = (np.where(never, NEVER, times) for times in (start, end))
    return UserJobs(
        row=queue.column("row"),
        arrival=arrival,
        leave=queue.column("leave"),
        start=start,
        end=end,
        size=queue.column("size"),
        user=user,
        names=tuple(queue.rows["user"].unique().drop_nulls().sort()),
        by_number=_by_number(queue, user),
        room=room,
        limits=limits,
        clock=LocalClock.of(pool.zone, int(first), int(last) + 2 * DAY_S),
    )


def _by_number(queue: Queued, user: ShortInts) -> ShortInts:
    """Return the jobs by user and number."""
    place = np.arange(len(user), dtype=np.int32)
    if not is_in_order(queue.rows, *SEQUENCE):
        numbers = queue.rows.select(SEQUENCE)
        place = numbers.select(pl.arg_sort_by(SEQUENCE)).to_series().to_numpy().astype(np.int32)
    return place[np.argsort(user[place], kind="stable")]
