"""Charts of a fitted site: what is unexplained over time and over the week, and levels of a limit.

A table of the same study holds every value but for those of the charts over time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from audit.report.charts.marks import bars, lines, scales
from audit.report.charts.marks.bars import Bar
from audit.report.charts.marks.frame import Series
from audit.report.charts.marks.lines import Panel, Target
from audit.report.charts.style import EARLIER, INK, LATER, Chart
from audit.report.text import wording
from audit.scenario.fit.pictures import Levels, Line

_COLOURS: Final = {"with room": INK, "assumed": LATER, "fitted": EARLIER}
_DASHES: Final = {"with room": "", "assumed": "6 3", "fitted": ""}
_HEIGHT: Final = 180
_BINS: Final = 40


def over_time(key: str, shows: str, found: Sequence[Line]) -> Chart:
    """What waited, with room and unexplained, week by week.

    Args:
        key: of the chart.
        shows: what is drawn.
        found: of one value for each week since the first arrival.
    """
    alt = f"Lines over the weeks of the log. {shows}. " + "; ".join(_most(line) for line in found)
    length = max((len(line.values) for line in found), default=0)
    x = scales.linear([0, max(length - 1, 1)], scales.plain, title="Weeks since the first arrival")
    return _lines(key, shows, alt, found, x, "Week")


def over_week(key: str, shows: str, found: Sequence[Line]) -> Chart:
    """What is unexplained at each hour of the week, as a share of all waiting at it."""
    alt = f"Lines over the hours of the week. {shows}. " + "; ".join(_most(line) for line in found)
    days = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    ticks = tuple((24.0 * number + 12, day) for number, day in enumerate(days))
    return _lines(key, shows, alt, found, scales.Axis(0, 168, ticks), "Hour")


def _lines(
    key: str, shows: str, alt: str, found: Sequence[Line], x: scales.Axis, unit: str
) -> Chart:
    y = scales.linear(
        [value for line in found for value in line.values], scales.plain, title="Jobs, on average"
    )
    drawn = []
    for line in found:
        kind = next((kind for kind in _COLOURS if line.name.endswith(kind)), "with room")
        points = [(float(at), value) for at, value in enumerate(line.values)]
        drawn.append(lines.Line(line.name, points, _COLOURS[kind], _DASHES[kind], width=1.6))
    length = max((len(line.values) for line in found), default=0)
    targets = [
        Target(
            at - 0.5,
            at + 0.5,
            f"{unit} {at}: "
            + ", ".join(
                f"{line.name} {line.values[at]:,.1f}" for line in found if at < len(line.values)
            ),
        )
        for at in range(length)
    ]
    body, height = lines.drawn([Panel(x, y, drawn, targets=targets)], height=_HEIGHT)
    title = "In the mean " + ", ".join(f"{_mean(line)} {line.name}" for line in found)
    return Chart(key, title, alt, body, height, f"{shows}.")


def _mean(line: Line) -> str:
    return wording.two_digits(sum(line.values) / max(len(line.values), 1))


def levels(key: str, title: str, shown: Levels) -> Chart:
    """How often an attempt was started, and was not, by what its owner would have held then."""
    alt = (
        f"Bars. {title}. Up to the bound of {shown.bound:,} "
        f"{sum(count for level, count in shown.served if level <= shown.bound):,} were started at "
        f"once and {sum(count for level, count in shown.failed if level <= shown.bound):,} not; "
        f"above it {sum(count for level, count in shown.served if level > shown.bound):,} and "
        f"{sum(count for level, count in shown.failed if level > shown.bound):,}."
    )
    highest = max((level for level, _ in (*shown.served, *shown.failed)), default=shown.bound)
    highest = max(highest, shown.bound)
    # Whole levels to a bin, the bound being the last of its own.
    wide = max(-(-(highest + 1) // _BINS), 1)
    first = (shown.bound + 1) % wide - wide if wide > 1 else 0
    count = (highest - first) // wide + 1
    kinds = (
        Series("started at once", EARLIER, "block"),
        Series("not started", LATER, "block"),
    )
    summed = [[0] * count for _ in kinds]
    for of, counts in zip(summed, (shown.served, shown.failed), strict=True):
        for level, trials in counts:
            of[(level - first) // wide] += trials
    drawn = [
        Bar(
            0,
            number,
            kind,
            float(of[number]),
            tip=_bin(first + number * wide, wide, summed, number),
        )
        for number in range(count)
        for kind, of in enumerate(summed)
    ]
    looks = bars.Columns(
        tuple(f"{max(first + number * wide, 0):,}" for number in range(count)),
        kinds,
        scales.linear(
            [float(sum(of)) for of in zip(*summed, strict=True)], scales.plain, title="Trials"
        ),
        upon=True,
        height=_HEIGHT,
        title=shown.axis,
        between=True,
        mark=(shown.bound + 1 - first) / wide,
    )
    body, height = bars.columns(drawn, looks)
    return Chart(key, title, alt, body, height, "Trials by what was held then. Dashed: the bound.")


def _bin(begin: int, wide: int, summed: Sequence[Sequence[int]], number: int) -> str:
    upto = f"{max(begin, 0):,}" + (f" to {begin + wide - 1:,}" if wide > 1 else "")
    return f"{upto}: {summed[0][number]:,} started at once, {summed[1][number]:,} not"


def _most(line: Line) -> str:
    top = max(range(len(line.values)), key=lambda place: line.values[place], default=0)
    value = line.values[top] if line.values else 0.0
    return f"{line.name}: at most {value:,.1f}, at {top}"
