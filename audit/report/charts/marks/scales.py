"""Axes: positions of values, and labels of ticks."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import chain, count
from typing import Final

Say = Callable[[float], str]
Ticks = tuple[tuple[float, str], ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear or logarithmic axis from ``low`` to ``high``."""

    low: float
    high: float
    ticks: Ticks
    logarithmic: bool = False
    title: str = ""

    def at(self, value: float) -> float:
        """Return the position of a value: 0 at ``low``, 1 at ``high``, never beyond."""
        low, high, here = self.low, self.high, min(max(value, self.low), self.high)
        if self.logarithmic:
            low, high, here = math.log(low), math.log(high), math.log(here)
        return (here - low) / (high - low) if high > low else 0.0

    def between(self, start: float, end: float) -> Callable[[float], float]:
        """Return a function for positions in px from ``start`` to ``end``."""
        return lambda value: start + self.at(value) * (end - start)


def linear(values: Sequence[float], say: Say, *, title: str = "") -> Axis:
    """Return a linear axis over all values and zero, with about four ticks."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    low, high = min(low, 0.0), max(high, 0.0)
    if high <= low:
        high = low + 1
    step = _step((high - low) / 4)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple((number * step, say(number * step)) for number in range(first, last + 1))
    return Axis(first * step, last * step, ticks, title=title)


def _step(rough: float) -> float:
    """Return the next round number: 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    fits = (digit * power for digit in (1, 2, 5) if digit * power >= rough * 0.999)
    return next(fits, 10 * power)


def shares(values: Sequence[float], *, title: str = "") -> Axis:
    """Return a linear axis of shares of 1, with ticks in per cent."""
    return linear(values, percent, title=title)


def percent(value: float) -> str:
    """Return a share of 1 as the label of a tick."""
    digits = f"{100 * value:,.0f}" if abs(value) >= 1 else f"{100 * value:.3g}"
    return f"{digits.replace('-', '−')} %"


def plain(value: float) -> str:
    """Return a number as the label of a tick."""
    digits = f"{value:,.10g}" if abs(value) < 100_000 else _thousands(value)
    return digits.replace("-", "−")


def _thousands(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:g}"


def by_factors(
    values: Sequence[float], say: Say, *, title: str = "", steps: Sequence[float] = (1, 2, 5)
) -> Axis:
    """Return a logarithmic axis over all values, which must be above 0."""
    low, high = min(values), max(values)
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    rounds = [digit * 10.0**power for power in powers for digit in steps]
    rounds = [value for value in rounds if low / 2.5 <= value <= high * 2.5]
    begin = max((value for value in rounds if value <= low), default=low)
    end = min((value for value in rounds if value >= high and value > begin), default=high * 2)
    inside = [value for value in rounds if begin <= value <= end]
    ticks = tuple((value, say(value)) for value in inside[:: -(-len(inside) // 7)])
    return Axis(begin, end, ticks, True, title)


_LENGTHS: Final = (
    *((1, "1 s"), (10, "10 s"), (60, "1 min"), (600, "10 min"), (3_600, "1 h"), (21_600, "6 h")),
    *((86_400, "1 d"), (345_600, "4 d"), (1_382_400, "16 d"), (5_529_600, "64 d")),
    *((22_118_400, "256 d"), (88_473_600, "3 a")),
)


def durations(values: Sequence[float], *, title: str = "", least: float = 60) -> Axis:
    """Return a logarithmic axis of times in s; those below ``least`` are at its left end."""
    longest = max(max(values, default=0.0), 10 * least)
    shortest = max(min(values, default=least), least)
    marks = [mark for mark in _LENGTHS if mark[0] >= least]
    low = max((at for at, _ in marks if at <= shortest), default=least)
    # The label of the first tick says that it includes shorter times.
    ticks = tuple(
        (float(at), f"≤ {label}" if at == low and min(values, default=0) < low else label)
        for at, label in marks
        if low <= at <= longest * 1.05
    )
    return Axis(low, longest * 1.15, ticks, True, title)


MONTHS: Final = (
    *("Jan", "Feb", "Mar", "Apr", "May", "Jun"),
    *("Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
)


def days(first: str, last: str) -> Axis:
    """Return an axis of days, numbered from ``first``, up to the end of ``last`` (ISO dates)."""
    begin, end = date.fromisoformat(first), date.fromisoformat(last)
    length = (end - begin).days + 1
    ticks = []
    if length <= 62:
        every = max(length // 5, 1)
        for number in range(0, length, every):
            then = begin + timedelta(days=number)
            ticks.append((float(number), f"{then.day} {MONTHS[then.month - 1]}"))
    else:
        months = [
            date(year, month, 1)
            for year in range(begin.year, end.year + 1)
            for month in range(1, 13)
            if begin <= date(year, month, 1) <= end
        ]
        apart = chain((1, 2, 3, 6, 12, 24, 60), (120 << doubled for doubled in count()))
        every = next(number for number in apart if len(months) <= 8 * number)
        for month in months:
            if (month.year * 12 + month.month - 1) % every == 0:
                begins = every >= 12 or month.month == 1
                label = str(month.year) if begins else MONTHS[month.month - 1]
                ticks.append((float((month - begin).days), label))
        if ticks and every < 12 and not any(label.isdigit() for _, label in ticks):
            ticks[0] = (ticks[0][0], f"{ticks[0][1]} {begin.year}")
    return Axis(0.0, float(length), tuple(ticks))


def day_number(day: str, first: str) -> int:
    """Return the number of days after ``first``; both are ISO dates."""
    return (date.fromisoformat(day) - date.fromisoformat(first)).days


def day(iso: str) -> str:
    """Return a day as ``8 Mar 1997``."""
    of = date.fromisoformat(iso)
    return f"{of.day} {MONTHS[of.month - 1]} {of.year}"
