"""SPEC §13 in slow, plain Python: distances, Kaplan–Meier quantiles, levels and merits."""

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


class Judged(NamedTuple):
    """Two curves' quantiles of ln(wait + 60 s), by level, and when the job started, if it did."""

    curves: tuple[dict[float, float], dict[float, float]]
    made_at: int
    start: int | None


def merits(made: Sequence[Judged], now: int) -> list[float]:
    """Return the weights at ``now`` of the curves of one bin of modelled waits."""
    decided = [one for one in made if one.start is not None and one.start < now]
    losses = []
    for one in sorted(decided, key=lambda one: one.start or 0):
        seen = math.log((one.start or 0) - one.made_at + 60)
        errors = [{level: seen - at for level, at in curve.items()} for curve in one.curves]
        losses.append(
            [
                sum(level * e if e >= 0 else (level - 1) * e for level, e in of.items()) / len(of)
                for of in errors
            ]
        )
    recent = [0.995 ** (len(losses) - 1 - k) for k in range(len(losses))]
    mean = [
        math.fsum(a * loss[k] for a, loss in zip(recent, losses, strict=True))
        / (math.fsum(recent) or 1)
        for k in range(2)
    ]
    return [1 / sum(math.exp(-100 * (other - own)) for other in mean) for own in mean]
