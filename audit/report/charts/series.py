"""What the pictures of a report draw of its record, before any drawing."""

from collections.abc import Sequence
from typing import Final

from audit.report.record.pool import SMALL_SAMPLE, Breakdown, Figure, PoolPart
from audit.report.text import wording

NUWT_CUT: Final = 10
"""The NUWT distribution is told up to here (SPEC §6)."""
WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAYS_DRAWN: Final = 750
"""More days than this are drawn as weeks: two pixels a day would be noise."""


def classes(pool: PoolPart, metric: str) -> list[tuple[str, Figure]]:
    """The width classes, as they are printed, of which a figure is known, narrow to wide.

    Attempts whose width is not known stand in the tables only.
    """
    return [
        (wording.width(part.label), figure)
        for part in pool.widths
        if (part.label[:1].isdecimal() or part.label[:1] == ">")
        and (figure := part.figure(metric)).value is not None
    ]


def few(figure: Figure) -> bool:
    """Whether a figure rests on so few attempts that it says little."""
    return (figure.attempts or 0) < SMALL_SAMPLE


def sound(of: Sequence[tuple[str, Figure]]) -> list[tuple[str, Figure]]:
    """Those that rest on enough attempts; all, where none does."""
    return [pair for pair in of if not few(pair[1])] or list(of)


def value(figure: Figure) -> float:
    """The value of a figure that is known."""
    return figure.value or 0.0


def part_of(pool: PoolPart, label: str) -> Breakdown | None:
    """The width class that is printed so."""
    return next((part for part in pool.widths if wording.width(part.label) == label), None)


def jobs(label: str, pool: PoolPart) -> str:
    """What to call the attempts of a width class: ``65–128 CPUs``, ``1 CPU``."""
    unit = wording.resource(pool.resource)
    return f"{label} {unit}" if label == "1" else f"{label} {unit}s"


def brief(seconds: float) -> str:
    """A length of time in two digits and one unit, as beside a mark."""
    unit, size = wording.time_unit(abs(seconds))
    return f"{wording.number(seconds / size, 2)} {unit}"


def within(figure: Figure) -> str:
    """The 95 % interval of a figure as a reader who points at it is told; or nothing."""
    said = wording.interval(figure)
    return f" (95 % interval {said})" if said else ""


def resting_on(figure: Figure) -> str:
    """How many attempts a figure rests on, likewise."""
    return "" if figure.attempts is None else f"; {wording.plural(figure.attempts, 'attempt')}"


def days(pool: PoolPart, metric: str, unit: float = 1.0) -> list[tuple[str, float]]:
    """The daily figure ``metric``, in multiples of ``unit``."""
    return [
        (part.label, figure.value / unit)
        for part in pool.days
        if (figure := part.figure(metric)).value is not None
    ]


def by_week(daily: Sequence[tuple[str, float]]) -> Sequence[tuple[str, float]]:
    """Weekly means of ``daily``."""
    weeks = [daily[at : at + 7] for at in range(0, len(daily), 7)]
    return [(part[0][0], sum(value for _, value in part) / len(part)) for part in weeks]
