"""The data of the charts of a report, and numbers as their titles and tips have them."""

from collections.abc import Sequence
from typing import Final, TypeAlias

from audit.report import wording
from audit.report.charts.marks.dots import DotRow
from audit.report.contents import PoolPart
from audit.report.figures import SMALL_SAMPLE, Figure

NUWT_CUT: Final = 10
"""End of the NUWT distribution (SPEC §6)."""
WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAYS_DRAWN: Final = 750
"""More days than this are drawn as weeks."""

Labelled: TypeAlias = tuple[str, Figure]
Daily: TypeAlias = Sequence[tuple[str, float]]


def classes(pool: PoolPart, metric: str) -> list[Labelled]:
    """Return the known width classes that have a figure, as printed, narrow to wide."""
    return [
        (wording.width(part.label), figure)
        for part in pool.widths
        if (part.label[:1].isdecimal() or part.label[:1] == ">")
        and (figure := part.figure(metric)).value is not None
    ]


def few(figure: Figure) -> bool:
    """Return whether a figure is computed from few attempts."""
    return (figure.attempts or 0) < SMALL_SAMPLE


def extremes(of: Sequence[Labelled]) -> tuple[Labelled, Labelled]:
    """Return the greatest and the least figure, of those from enough attempts if there are any."""
    sound = [pair for pair in of if not few(pair[1])] or of
    return max(sound, key=lambda pair: value(pair[1])), min(sound, key=lambda pair: value(pair[1]))


def value(figure: Figure) -> float:
    """Return the value of a known figure."""
    return figure.value or 0.0


def jobs(label: str, pool: PoolPart) -> str:
    """Return a width class with its unit: ``65–128 CPUs``, ``1 CPU``."""
    return wording.width_units(label, pool.resource)


def part(share: float) -> str:
    """Return a share in two digits."""
    return f"{wording.number(100 * share, 2)} %"


def within(figure: Figure) -> str:
    """Return the 95 % interval of a figure in brackets, if it has one."""
    interval = wording.interval(figure)
    return f" (95 % interval {interval})" if interval else ""


def resting_on(figure: Figure) -> str:
    """Return the number of attempts of a figure, as the end of a tip."""
    return "" if figure.attempts is None else f"; {wording.plural(figure.attempts, 'attempt')}"


def read(rows: Sequence[DotRow]) -> str:
    """Return rows of dots in words."""
    return "; ".join(f"{row.label} {row.says}" for row in rows)


def days(pool: PoolPart, metric: str) -> list[tuple[str, float]]:
    """Return the known daily figures ``metric``."""
    return [
        (part.label, figure.value)
        for part in pool.days
        if (figure := part.figure(metric)).value is not None
    ]


def by_week(daily: Daily) -> Daily:
    """Return weekly means of ``daily``."""
    weeks = [daily[at : at + 7] for at in range(0, len(daily), 7)]
    return [(part[0][0], sum(value for _, value in part) / len(part)) for part in weeks]
