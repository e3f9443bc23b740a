"""What the charts of a report draw: rows of numbers, before any drawing.

Pure functions of the record. Where there is more than a picture can show, it is thinned here: to
one step per pixel, or to weekly means.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from audit.report.contents import SMALL_SAMPLE, Breakdown, Entities, PoolPart
from audit.report.text import wording

NUWT_CUT: Final = 10
"""The NUWT distribution is drawn up to here (SPEC §6)."""
PIXELS: Final = 640
"""Width of a chart."""
WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
WAITS: Final = {"median": "wait_median", "mean": "wait_mean", "90th percentile": "wait_p90"}
"""The waits that are drawn for each width class."""
DAYS_DRAWN: Final = 750
"""More days than this are drawn as weeks: two pixels a day would be noise."""


Row: TypeAlias = dict[str, Any]


def shortfalls(pool: PoolPart, metric: str, unit: float) -> list[Row]:
    """The figure ``metric`` of each width class, with its interval, in multiples of ``unit``."""
    return [
        {
            "width": wording.width(part.label),
            "value": figure.value / unit,
            "lower": None if figure.lower is None else figure.lower / unit,
            "upper": None if figure.upper is None else figure.upper / unit,
            "attempts": figure.attempts,
            "sample": FEW if (figure.attempts or 0) < SMALL_SAMPLE else ENOUGH,
        }
        for part in _classes(pool)
        if (figure := part.figure(metric)).value is not None
    ]


ENOUGH: Final = f"{SMALL_SAMPLE} attempts or more"
FEW: Final = f"fewer than {SMALL_SAMPLE} attempts"


def _classes(pool: PoolPart) -> list[Breakdown]:
    """The width classes; attempts whose width is not known stand in the tables only."""
    return [part for part in pool.widths if part.label[:1].isdecimal() or part.label[:1] == ">"]


STRICT: Final = "strict"
RELAXED: Final = "relaxed"


def misses(pool: PoolPart, metric: str, say: Callable[[float], str]) -> list[Row]:
    """A figure of the strict and the relaxed fair start time, over all and by width class.

    Args:
        pool: whose.
        metric: its name, with ``{}`` in the place of ``strict`` and ``relaxed``.
        say: how a reader sees a value.
    """
    overall = Breakdown(ALL, pool.figures)
    return [
        {
            "width": part.label if part is overall else wording.width(part.label),
            "of": of,
            "value": figure.value,
            "lower": figure.lower,
            "upper": figure.upper,
            "says": say(figure.value),
            "attempts": figure.attempts,
            "sample": FEW if (figure.attempts or 0) < SMALL_SAMPLE else ENOUGH,
        }
        for part in (overall, *_classes(pool))
        for of in (STRICT, RELAXED)
        if (figure := part.figure(metric.format(of))).value is not None
    ]


ALL: Final = "all"


def nuwt_end(of: Iterable[Entities]) -> float:
    """Where the axis ends: at the cut, or earlier where all are below a rounder value."""
    last = [entities.cdf[-1] for entities in of if entities.cdf]
    if not last or any(step.share < 1 for step in last):
        return NUWT_CUT
    highest = max(step.nuwt for step in last)
    ends = (digit * 10.0**power for power in range(-6, 1) for digit in (1, 2, 5))
    return min((end for end in ends if end > highest), default=NUWT_CUT)


def nuwt_steps(of: Entities, end: float) -> list[Row]:
    """The distribution as drawn: from 0 to ``end``, one point per pixel column at most."""
    kept: dict[int, Row] = {}
    for step in of.cdf:
        if step.nuwt <= end:
            # A step function's value at a pixel is that of the last step inside it.
            pixel = int(step.nuwt / end * PIXELS)
            kept[pixel] = {"nuwt": step.nuwt, "share": step.share}
    steps = [kept[pixel] for pixel in sorted(kept)]
    last = steps[-1]["share"] if steps else 0.0
    return [{"nuwt": 0, "share": 0.0}, *steps, {"nuwt": end, "share": last}]


def share_up_to(of: Entities, nuwt_: float) -> float:
    """The share of entities with at most this NUWT."""
    return max((step.share for step in of.cdf if step.nuwt <= nuwt_), default=0.0)


def waits(pool: PoolPart) -> list[Row]:
    """Median, mean and 90th percentile of the wait by width class, in seconds."""
    return [
        {
            "width": wording.width(part.label),
            "of": label,
            "wait": value,
            "says": wording.duration(value),
        }
        for part in _classes(pool)
        for label, metric in WAITS.items()
        if (value := part.figure(metric).value) is not None
    ]


@dataclass(frozen=True, slots=True)
class Week:
    """Mean times by hour of the week."""

    rows: tuple[Row, ...]  # a row that is not ``sound`` rests on few attempts
    unit: str
    most: float  # longest sound mean, in ``unit``
    some_grey: bool
    told_apart: bool  # at least half of the cells are sound by themselves


def week(pool: PoolPart, metric: str = "wait_mean") -> Week | None:
    """``metric`` by weekday and hour of arrival, local time; None where nothing is known."""
    known = {
        int(part.label): figure
        for part in pool.hours
        if (figure := part.figure(metric)).value is not None
    }
    if not known:
        return None
    # A mean over a handful of arrivals would set the scale for all others.
    sound = {
        hour: figure for hour, figure in known.items() if (figure.attempts or 0) >= SMALL_SAMPLE
    }
    told_apart = len(sound) >= len(known) / 2
    scaled = sound if told_apart else known
    longest = max(figure.value or 0.0 for figure in scaled.values())
    unit, size = time_unit(longest)
    rows = tuple(
        {
            "weekday": WEEKDAYS[hour // 24],
            "hour": hour % 24,
            "mean": (figure.value or 0.0) / size,
            "says": wording.duration(figure.value),
            "attempts": figure.attempts,
            "sound": hour in scaled,
        }
        for hour, figure in sorted(known.items())
    )
    return Week(rows, unit, longest / size, len(scaled) < len(known), told_apart)


def days(pool: PoolPart, metric: str, unit: float) -> list[tuple[str, float]]:
    """The daily figure ``metric``, in multiples of ``unit``."""
    return [
        (part.label, value / unit)
        for part in pool.days
        if (value := part.figure(metric).value) is not None
    ]


def by_week(daily: Sequence[tuple[str, float]]) -> Sequence[tuple[str, float]]:
    """Weekly means of ``daily`` where the days are more than a picture can show."""
    if len(daily) <= DAYS_DRAWN:
        return daily
    weeks = [daily[at : at + 7] for at in range(0, len(daily), 7)]
    return [(part[0][0], sum(value for _, value in part) / len(part)) for part in weeks]


def time_unit(longest: float) -> tuple[str, int]:
    """A unit in which ``longest`` seconds are a handy number, and its length."""
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if longest >= 3 * size:
            return unit, size
    return "seconds", 1
