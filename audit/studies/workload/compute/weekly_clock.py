"""Peak hours, other hours and weekends, each with a clock of its own that stands still outside it.

    peak      Monday to Friday, 8:00 to 17:00 on the clock of the cluster's zone
    off_peak  the other hours of Monday to Friday
    weekend   Saturday and Sunday

On the clock of ``peak``, 8:00 of a Monday follows 17:00 of the Friday before at once. So gaps
between arrivals are those of one rate, and a rate is arrivals by hours of its own part alone.

Source: SPEC §8; [B] §3.2.1.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from audit.periods import day_start

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

PARTS: Final = ("peak", "off_peak", "weekend")
PEAK_HOURS: Final = (8, 17)
_SATURDAY: Final = 5


@dataclass(frozen=True)
class WeeklyClock:
    """Whole days, cut where one part of the week gives way to another."""

    edges: Ints
    """Epoch s, ascending; one more than there are pieces."""
    part: Ints
    """Index into ``PARTS`` of each piece."""
    day: Ints
    """The day of each piece: 0, 1, …; every day begins with a piece of its own."""

    def seconds(self, part: str) -> int:
        """How long a part of the week lasted in all, s."""
        return int(np.diff(self.edges)[self.part == PARTS.index(part)].sum())

    def part_of(self, instants: Ints) -> Ints:
        """Index into ``PARTS`` of the part that each epoch second, inside the days, is in."""
        parts: Ints = self.part[self._piece(instants)]
        return parts

    def day_of(self, instants: Ints) -> Ints:
        """The day, from 0, that each epoch second is in."""
        days: Ints = self.day[self._piece(instants)]
        return days

    def reading(self, instants: Ints) -> Ints:
        """What the clock of its own part showed at each instant, s since the first day."""
        piece = self._piece(instants)
        shown: Ints = self._before()[piece] + instants - self.edges[piece]
        return shown

    def instants(self, part: str, readings: Floats) -> Ints:
        """Return when a part's clock showed each reading in [0, ``seconds(part)``), epoch s."""
        pieces = np.flatnonzero(self.part == PARTS.index(part))
        before = self._before()[pieces]
        place = np.searchsorted(before, readings, side="right") - 1
        whole = np.floor(readings).astype(np.int64)
        shown: Ints = self.edges[pieces[place]] + whole - before[place]
        return shown

    def _piece(self, instants: Ints) -> Ints:
        return np.searchsorted(self.edges, instants, side="right") - 1

    def _before(self) -> Ints:
        """What the clock of each piece's part shows when the piece begins, s."""
        lasts = np.diff(self.edges)
        before = np.zeros(len(lasts), np.int64)
        for part in range(len(PARTS)):
            pieces = self.part == part
            before[pieces] = np.cumsum(lasts[pieces]) - lasts[pieces]
        return before


def weekly_clock(first: date, days: int, zone: ZoneInfo) -> WeeklyClock:
    """The clock of ``days`` ≥ 1 days in a zone; a day of a clock change is as long as it is."""
    edges: list[int] = []
    parts: list[int] = []
    of_days: list[int] = []
    for number in range(days):
        day = first + timedelta(days=number)
        edges.append(day_start(day, zone))
        if day.weekday() >= _SATURDAY:
            parts.append(PARTS.index("weekend"))
            of_days.append(number)
            continue
        edges += [_at(day, hour, zone) for hour in PEAK_HOURS]
        parts += [PARTS.index(part) for part in ("off_peak", "peak", "off_peak")]
        of_days += [number] * 3
    edges.append(day_start(first + timedelta(days=days), zone))
    columns = (np.array(column, np.int64) for column in (edges, parts, of_days))
    return WeeklyClock(*columns)


def _at(day: date, hour: int, zone: ZoneInfo) -> int:
    return int(datetime.combine(day, time(hour), tzinfo=zone).astimezone(UTC).timestamp())
