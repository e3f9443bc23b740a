"""The observed attempts of a pool, as the search for windows takes them, also on a clock."""

from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from audit.array_types import Ints
from audit.kernels import closed_hours
from audit.metrics.attempts.contention import ints
from audit.metrics.closed_hours import DAY_S, LocalClock
from audit.metrics.waits.opportunities import Opportunities
from audit.scenario.limits import WEEK_S

EPOCH: Final = date(1970, 1, 1)

UNKNOWN: Final = -1
MOST_BITS: Final = 64
"""Those of a signed number."""
_MARGIN: Final = 60
"""Most days between a span and the hours that close next."""


@dataclass(frozen=True)
class ObservedJobs:
    """The attempts of a pool, [n], by row."""

    attempts: pl.DataFrame  # columns of ``model.DESCRIBED``
    _numbers: dict[str, Ints] = field(default_factory=dict, init=False, compare=False)

    def column(self, name: str) -> Ints:
        """Return a column of whole numbers, [n]; 0 where it is not known."""
        return ints(self.attempts[name])

    def numbered(self, name: str) -> Ints:
        """Return the number of each attempt's user, partition or QOS, [n]; else ``UNKNOWN``."""
        if name not in self._numbers:
            codes = self.attempts[name].rank("dense").cast(int) - 1
            self._numbers[name] = codes.fill_null(UNKNOWN).to_numpy().astype(np.int64)
        return self._numbers[name]

    @cached_property
    def numbering(self) -> tuple[int, int]:
        """The number of users and unknown ones, and the bits of the number of an attempt."""
        user = self.numbered("user")
        return int(user.max(initial=0)) + 2, len(user).bit_length()

    @property
    def numbers_fit(self) -> bool:
        """Whether a number identifies the day, user and attempt of each start."""
        users, bits = self.numbering
        days = max(abs(self.first), abs(self.last)) // DAY_S + _MARGIN
        return (2 * users * (days + 1)).bit_length() + bits < MOST_BITS

    @cached_property
    def size(self) -> Ints:
        """[n], of the counted resource."""
        return self.column("size")

    @cached_property
    def start(self) -> Ints:
        """[n], epoch s."""
        return self.column("start_time")

    @cached_property
    def waits(self) -> Ints:
        """The waits of those that started, s ≥ 0."""
        waits = pl.col("start_time") - pl.col("arrival_time")
        known = self.attempts.select(waits.drop_nulls().clip(0)).to_series()
        return known.to_numpy()

    @cached_property
    def _bounds(self) -> tuple[int, int, int]:
        arrived = pl.coalesce("arrival_time", "start_time")
        ended = pl.max_horizontal("start_time", "end_time")
        bounds = self.attempts.select(
            first=arrived.min(), last_arrival=arrived.max(), last=ended.max()
        ).fill_null(0)
        first, last_arrival, last = bounds.row(0)
        return first, last_arrival, max(last, last_arrival)

    @property
    def first(self) -> int:
        """The first arrival, epoch s."""
        return self._bounds[0]

    @property
    def last_arrival(self) -> int:
        """The last arrival, epoch s."""
        return self._bounds[1]

    @property
    def last(self) -> int:
        """The last instant at which an attempt is known to arrive, start or end, epoch s."""
        return self._bounds[2]

    @cached_property
    def reach(self) -> Ints:
        """The walltime of each attempt, else its occupancy, [n]; from 1 s to a week."""
        asked = self.attempts.select(pl.coalesce("walltime_s", "occupancy_s").fill_null(0))
        reach: Ints = np.clip(asked.to_series().to_numpy().astype(np.int64), 1, WEEK_S)
        return reach


@dataclass(frozen=True)
class Seen:
    """Facts of a log under the rules in force, on a clock."""

    observed: ObservedJobs
    opportunities: Opportunities  # with the rows of ``observed``
    zone: str  # the clock of hours, days and windows

    @cached_property
    def clock(self) -> LocalClock:
        """The clock of the zone over the log."""
        return LocalClock.of(self.zone, self.observed.first, self.observed.last + 1)

    @cached_property
    def start_local(self) -> Ints:
        """The starts, s on the clock."""
        return self.clock.seconds(self.observed.start[self.opportunities.started])

    @cached_property
    def possible_starts(self) -> closed_hours.PossibleStarts:
        """The input of the kernel."""
        observed, found = self.observed, self.opportunities
        return closed_hours.PossibleStarts(
            *(found.possible, found.free, found.started, self.start_local, observed.reach),
            *self.clock,
        )
