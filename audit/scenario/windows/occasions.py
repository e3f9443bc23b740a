"""The starts of a pool, and the times at which waiting attempts could have started, on a clock."""

from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Final

import numpy as np

from audit import periods
from audit.array_types import Ints
from audit.kernels import closed_hours
from audit.metrics.closed_hours import EPOCH_HOUR, HOUR_S, offsets
from audit.metrics.waits.opportunities import Opportunities
from audit.rules import WEEK
from audit.scenario.windows.observed import Observed

DAY_S: Final = 86_400
EPOCH: Final = date(1970, 1, 1)


@dataclass(frozen=True)
class Seen:
    """What a log shows under the rules in force, on a clock."""

    observed: Observed
    opportunities: Opportunities
    """With the rows of ``observed``."""
    zone: str
    """The clock of hours, days and windows."""

    @cached_property
    def start_local(self) -> Ints:
        """The starts, s on the clock."""
        return local(self.observed.start[self.opportunities.started], self.zone)

    @cached_property
    def possible_starts(self) -> closed_hours.PossibleStarts:
        """What the kernel takes."""
        observed, found = self.observed, self.opportunities
        clock = list(offsets(periods.zone(self.zone), observed.first, observed.last + 1))
        since, _, ahead = np.array(clock, np.int64).T
        return closed_hours.PossibleStarts(
            *(found.possible, found.free, found.started, self.start_local, observed.reach),
            *map(np.ascontiguousarray, (since, ahead)),
        )


def local(times: Ints, zone: str) -> Ints:
    """Return instants as seconds since 1970-01-01 00:00 on the clock of a zone."""
    if len(times) == 0:
        return times
    clock = list(offsets(periods.zone(zone), int(times.min()), int(times.max()) + 1))
    begins, _, ahead = np.array(clock).T
    seconds: Ints = times + ahead[np.searchsorted(begins, times, "right") - 1]
    return seconds


def hour_of_week(begin: Ints) -> Ints:
    """Return the hour of the week of instants, s on a clock; 0 begins on Monday at 00:00."""
    hours: Ints = (begin // HOUR_S + EPOCH_HOUR) % WEEK
    return hours
