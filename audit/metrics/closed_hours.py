"""Local clocks, and closed hours of windows: hours of the week, as spans of time.

Clock changes follow the zone's calendar; each span is half-open, in epoch s.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import Final, NamedTuple, Self
from zoneinfo import ZoneInfo

import numpy as np

from audit import periods
from audit.array_types import Ints
from audit.rules import WEEK

HOUR_S: Final = 3_600
DAY_S: Final = 86_400
YEAR_S: Final = 365 * DAY_S
EPOCH_HOUR: Final = 72  # hour of the week of the epoch: Thursday at 00:00


Offset = tuple[int, int, int]
"""Begin and end of a time with a constant UTC offset, and that offset, s."""


class LocalClock(NamedTuple):
    """The UTC offsets of a zone, k."""

    begins: Ints  # [k], of each offset, ascending, epoch s
    ahead: Ints  # [k], s

    @classmethod
    def of(cls, zone: str, since: int, until: int) -> Self:
        """Return those between two instants, epoch s; at least that of ``since``."""
        found = list(offsets(periods.zone(zone), since, max(until, since + 1)))
        begins, _, ahead = np.array(found, np.int64).T.copy()
        return cls(begins, ahead)

    def seconds(self, at: Ints) -> Ints:
        """Return instants as seconds since 1970-01-01 00:00 on the clock."""
        place = np.maximum(np.searchsorted(self.begins, at, side="right") - 1, 0)
        seconds: Ints = at + self.ahead[place]
        return seconds


def hour_of_week(local: Ints) -> Ints:
    """Return the hour of the week of seconds on a clock; 0 begins on Monday at 00:00."""
    hours: Ints = (local // HOUR_S + EPOCH_HOUR) % WEEK
    return hours


def spans_of_hours(hours: Collection[int], on: Sequence[Offset]) -> tuple[Ints, Ints]:
    """Return when these hours of the week begin and end on a clock, epoch s, ascending.

    Adjacent hours form one span. Spans are cut where the first offset begins and the last one ends.

    Args:
        on: at least one; they adjoin each other.
    """
    closed = np.isin(np.arange(WEEK), list(hours))
    times, states = [], []
    for begin, end, offset in on:
        local = np.arange((begin + offset) // HOUR_S + 1, -(-(end + offset) // HOUR_S))
        at = np.concatenate(([begin], local * HOUR_S - offset))
        times.append(at)
        states.append(closed[hour_of_week(at + offset)])
    time, state = np.concatenate(times).astype(np.int64), np.concatenate(states)
    before = np.concatenate(([False], state[:-1]))
    begins, ends = time[state & ~before], time[~state & before]
    return begins, np.concatenate((ends, [on[-1][1]]))[: len(begins)].astype(np.int64)


def offsets(zone: ZoneInfo, since: int, until: int) -> Iterator[Offset]:
    """Yield the UTC offsets of a zone between two instants, epoch s."""
    low, high = since // YEAR_S * YEAR_S, -(-until // YEAR_S) * YEAR_S
    for begin, end, ahead in _offsets(zone, low, max(high, low + YEAR_S)):
        if (begin < until and end > since) or begin <= since == until < end:
            yield max(begin, since), min(end, until), ahead


@cache
def _offsets(zone: ZoneInfo, since: int, until: int) -> tuple[Offset, ...]:
    """Return the UTC offsets of a zone between two instants, whose difference is whole days."""
    found, ahead = list[Offset](), _ahead(zone, since)
    begin = low = since
    while low < until:
        high = low + DAY_S
        if _ahead(zone, high) != ahead:
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if _ahead(zone, middle) == ahead else (low, middle)
            found.append((begin, high, ahead))
            begin, ahead = high, _ahead(zone, high)
        low = high
    if begin < until:
        found.append((begin, until, ahead))
    return tuple(found)


def _ahead(zone: ZoneInfo, instant: int) -> int:
    shift = datetime.fromtimestamp(instant, tz=zone).utcoffset()
    return int(shift.total_seconds()) if shift else 0
