"""SPEC §13 in slow, plain Python: distances, Kaplan–Meier quantiles and levels."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple


class Row(NamedTuple):
    """The key by which predictions are compared."""

    measured: tuple[float, ...]  # with their weights
    fits: int
    user: int
    partition: int
    made_at: int


def distance(one: Row, other: Row) -> float:
    return (
        math.fsum(abs(a - b) for a, b in zip(one.measured, other.measured, strict=True))
        + (one.fits != other.fits) * 1
        + (one.user != other.user) * 1.5
        + (one.partition != other.partition) * 3
        + abs(one.made_at - other.made_at) / (100 * 86_400)
    )


def quantile(values: Sequence[tuple[float, bool]], level: Fraction) -> float:
    """Return the least value by which so many have ended, else the largest value.

    Values come with whether they are known; others are lower bounds.
    """
    remain = Fraction(1)
    for at in sorted({value for value, known in values if known}):
        ends = sum(1 for value, known in values if known and value == at)
        remain *= 1 - Fraction(ends, sum(1 for value, _ in values if value >= at))
        if 1 - remain >= level:
            return at
    return max(value for value, _ in values)


class Interval(NamedTuple):
    """A contested interval and the start of its job; None: not yet, or never."""

    low: int
    high: int
    start: int | None


def levels(decided: Sequence[Interval], now: int) -> tuple[float, float]:
    """Return the levels at ``now`` after these intervals of one bin, in the order of time."""
    lower, upper = 0.1, 0.9
    events = []
    for one in decided:
        start = math.inf if one.start is None else one.start
        events.append((min(start, one.low), False, start < one.low))
        events.append((min(start, one.high), True, start > one.high))
    for at, is_upper, missed in sorted(events, key=lambda event: event[0]):
        if at >= now:
            break
        if is_upper:
            upper = min(max(upper + 0.01 * (missed - 0.1), 0.8), 0.98)
        else:
            lower = min(max(lower - 0.01 * (missed - 0.1), 0.02), 0.2)
    return lower, upper
