"""SPEC §13 in slow, plain Python: distances, Kaplan–Meier quantiles, and levels."""

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


def quantile(values: Sequence[tuple[float, bool, int]], level: Fraction) -> float:
    """Return the least value by which so many have ended, else the largest value.

    Values come with whether they are known, as others are lower bounds, and with weights.
    """
    remain = Fraction(1)
    for at in sorted({value for value, known, _ in values if known}):
        ends = sum(weight for value, known, weight in values if known and value == at)
        left = sum(weight for value, _, weight in values if value >= at)
        remain *= 1 - Fraction(ends, left)
        if 1 - remain >= level:
            return at
    return max(value for value, *_ in values)


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


def pinball(value: float, at: float, level: float) -> float:
    return level * (value - at) if value >= at else (1 - level) * (at - value)


def estimate(
    near: Sequence[tuple[float, bool, int, float]], model: float, level: Fraction
) -> float:
    """Return a quantile of ln(wait + 60 s) from neighbours.

    Each has this logarithm, whether it is known, a weight, and the logarithm of the model's wait.
    """
    found = []
    for relative in (False, True):
        of = [(at - relative * by, known, weight) for at, known, weight, by in near]
        levels = [(quantile(of, Fraction(k, 10)), k / 10) for k in (1, 5, 9)]
        loss = math.fsum(
            weight * pinball(at, bound, of_level)
            for at, known, weight in of
            if known
            for bound, of_level in levels
        )
        found.append((loss, quantile(of, level) + relative * model))
    return min(found, key=lambda each: each[0])[1]
