"""Which dates of a source are doubtful: those of a node whose clock was wrong, or of a flipped bit.

A source's records are laid out by day. Where more than ``APART_DAYS`` pass without any, they fall
into parts. A part is doubtful if it is *small*, at most ``FEW`` records or 1 % of the largest part
and a tenth of it at most, and *far*: from the nearest part that is not small it is further away
than ``APART_DAYS`` and three times as long as that part lasts (but ten years are always far).

The rule looks at all that is known of a source, so neither the order in which logs come nor how
they are cut changes what it says; and a part that grows is believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

APART_DAYS: Final = 366
FEW: Final = 3
_SMALL: Final = 0.01
_SMALLER: Final = 0.1
_TIMES_AS_LONG: Final = 3
_ALWAYS_FAR_DAYS: Final = 3653


class Part(NamedTuple):
    """A stretch of days of a source in which no gap is longer than ``APART_DAYS``."""

    first: int  # days since the epoch
    last: int
    records: int


class Doubt(NamedTuple):
    """A part that is doubtful, and the one nearest to it that is not."""

    part: Part
    rest: Part


def doubts(days: Sequence[tuple[int, int]]) -> list[Doubt]:
    """The parts of a source that are doubtful, by day.

    Args:
        days: day since the epoch and how many records have a time on it, ascending by day. A
            record counts on each day that it has a time on.
    """
    found = parts(days)
    largest = max((part.records for part in found), default=0)
    few = min(max(FEW, _SMALL * largest), _SMALLER * largest)
    trusted = [part for part in found if part.records > few]
    doubted = []
    for part in found:
        if part.records <= few:
            rest = min(trusted, key=lambda other: _distance(part, other))
            lasts = rest.last - rest.first + 1
            far = max(APART_DAYS, min(_TIMES_AS_LONG * lasts, _ALWAYS_FAR_DAYS))
            if _distance(part, rest) > far:
                doubted.append(Doubt(part, rest))
    return doubted


def parts(days: Sequence[tuple[int, int]]) -> list[Part]:
    """The parts into which days fall; arguments as ``doubts``."""
    found: list[Part] = []
    for day, records in days:
        if found and day - found[-1].last <= APART_DAYS:
            found[-1] = Part(found[-1].first, day, found[-1].records + records)
        else:
            found.append(Part(day, day, records))
    return found


def _distance(part: Part, other: Part) -> int:
    """Days between two parts."""
    return max(part.first - other.last, other.first - part.last)
