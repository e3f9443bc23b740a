"""What the charts of a report draw of its record, before any drawing."""

from collections.abc import Sequence
from typing import Final, TypeAlias

from audit.report.charts.marks.dots import Row
from audit.report.record.pool import SMALL_SAMPLE, Figure, PoolPart
from audit.report.text import wording

NUWT_CUT: Final = 10
"""Where the NUWT distribution ends (SPEC §6)."""
WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAYS_DRAWN: Final = 750
"""More days than this are drawn as weeks: two pixels a day would be noise."""

Labelled: TypeAlias = tuple[str, Figure]
Daily: TypeAlias = Sequence[tuple[str, float]]


def classes(pool: PoolPart, metric: str) -> list[Labelled]:
    """Return the width classes, as printed, of which a figure is known, narrow to wide.

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


def extremes(of: Sequence[Labelled]) -> tuple[Labelled, Labelled]:
    """Return the greatest and the least of those that rest on enough attempts; of all, if none."""
    sound = [pair for pair in of if not few(pair[1])] or of
    return max(sound, key=lambda pair: value(pair[1])), min(sound, key=lambda pair: value(pair[1]))


def value(figure: Figure) -> float:
    """The value of a figure that is known."""
    return figure.value or 0.0


def jobs(label: str, pool: PoolPart) -> str:
    """What to call the attempts of a width class: ``65–128 CPUs``, ``1 CPU``."""
    unit = wording.resource(pool.resource)
    return f"{label} {unit}" if label == "1" else f"{label} {unit}s"


def brief(seconds: float) -> str:
    """A length of time in two digits and one unit, as beside a mark."""
    unit, size = wording.time_unit(abs(seconds))
    return f"{wording.number(seconds / size, 2)} {unit}"


def part(share: float) -> str:
    """A share in two digits."""
    return f"{wording.number(100 * share, 2)} %"


def within(figure: Figure) -> str:
    """The 95 % interval of a figure in brackets, as a tip has it; empty where there is none."""
    interval = wording.interval(figure)
    return f" (95 % interval {interval})" if interval else ""


def resting_on(figure: Figure) -> str:
    """How many attempts a figure rests on, likewise."""
    return "" if figure.attempts is None else f"; {wording.plural(figure.attempts, 'attempt')}"


def read(rows: Sequence[Row]) -> str:
    """Rows of dots in words."""
    return "; ".join(f"{row.label} {row.says}" for row in rows)


def days(pool: PoolPart, metric: str) -> list[tuple[str, float]]:
    """The daily figure ``metric``."""
    return [
        (part.label, figure.value)
        for part in pool.days
        if (figure := part.figure(metric)).value is not None
    ]


def by_week(daily: Daily) -> Daily:
    """Weekly means of ``daily``."""
    weeks = [daily[at : at + 7] for at in range(0, len(daily), 7)]
    return [(part[0][0], sum(value for _, value in part) / len(part)) for part in weeks]
