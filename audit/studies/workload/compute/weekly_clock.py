"""Peak hours, other hours and weekends, each with a clock that stands still outside it.

    peak      Monday to Friday, 8:00 to 17:00 on the clock of the cluster's zone
    off_peak  the other hours of Monday to Friday
    weekend   Saturday and Sunday

On the clock of ``peak``, 8:00 of a Monday immediately follows 17:00 of the Friday before. So gaps
between arrivals have one rate, and a rate is arrivals by hours of its own part alone.

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
    """Whole days, cut into pieces of one part of the week each."""

    edges: Ints  # epoch s, ascending; one more than there are pieces
    part: Ints  # index into ``PARTS`` of each piece
    day: Ints  # number of each piece's day, from 0; every day begins with a new piece

    def seconds(self, part: str) -> int:
        """Return the length of a part of the week in all, s."""
        return int(np.diff(self.edges)[self.part == PARTS.index(part)].sum())

    def part_of(self, instants: Ints) -> Ints:
        """Return the index into ``PARTS`` of each epoch second, which is within the days."""
        parts: Ints = self.part[self._piece(instants)]
        return parts

    def day_of(self, instants: Ints) -> Ints:
        """Return the number of the day, from 0, of each epoch second."""
        days: Ints = self.day[self._piece(instants)]
        return days

    def reading(self, instants: Ints) -> Ints:
        """Return the reading of its own part's clock at each instant, s since the first day."""
        piece = self._piece(instants)
        shown: Ints = self._before()[piece] + instants - self.edges[piece]
        return shown

    def instants(self, part: str, readings: Floats) -> Ints:
        """Return the epoch second of each reading in [0, ``seconds(part)``) of a part's clock."""
        pieces = np.flatnonzero(self.part == PARTS.index(part))
        before = self._before()[pieces]
        place = np.searchsorted(before, readings, side="right") - 1
        since = np.floor(readings).astype(np.int64) - before[place]
        shown: Ints = self.edges[pieces[place]] + since
        return shown

    def _piece(self, instants: Ints) -> Ints:
        return np.searchsorted(self.edges, instants, side="right") - 1

    def _before(self) -> Ints:
        """Return the reading of its own part's clock at the beginning of each piece, s."""
        lasts = np.diff(self.edges)
        before = np.zeros(len(lasts), np.int64)
        for part in range(len(PARTS)):
            pieces = self.part == part
            before[pieces] = np.cumsum(lasts[pieces]) - lasts[pieces]
        return before


def weekly_clock(first: date, days: int, zone: ZoneInfo) -> WeeklyClock:
    """Return the clock of ``days`` ≥ 1 days in a zone; days of a clock change have their length."""
    pieces: list[tuple[int, str, int]] = []
    for number in range(days):
        day = first + timedelta(days=number)
        if day.weekday() >= _SATURDAY:
            pieces.append((day_start(day, zone), "weekend", number))
            continue
        begin, end = (
            int(datetime.combine(day, time(hour), tzinfo=zone).astimezone(UTC).timestamp())
            for hour in PEAK_HOURS
        )
        edges = (day_start(day, zone), begin, end)
        named = zip(edges, ("off_peak", "peak", "off_peak"), strict=True)
        pieces += [(edge, part, number) for edge, part in named]
    edges, parts, of_days = zip(*pieces, strict=True)
    last = day_start(first + timedelta(days=days), zone)
    columns = ((*edges, last), [PARTS.index(part) for part in parts], of_days)
    return WeeklyClock(*(np.array(column, np.int64) for column in columns))
