"""Waits over time."""

from collections.abc import Sequence
from typing import Final

from audit.report import wording
from audit.report.charts import series
from audit.report.charts.marks import lines, scales
from audit.report.charts.marks.lines import Line, Panel, TipRange
from audit.report.charts.series import value
from audit.report.charts.style import EARLIER, LATER, Chart
from audit.report.figures import Figure
from audit.report.pool import PoolPart
from audit.report.sections.changes.record import Trend, TrendPoint

_UNITS: Final = {"s": "Seconds", "min": "Minutes", "h": "Hours", "d": "Days"}


def trend_of_pool(pool: PoolPart) -> Chart | None:
    """Draw the trend of a pool of a report."""
    return trend(pool[Trend], delayed=pool.has_fair_starts)


def trend(of: Trend | None, *, delayed: bool) -> Chart | None:
    """Draw the mean wait by stretch of time; if ``delayed``, also delay by later arrivals."""
    known = [
        (place, point)
        for place, point in enumerate(of.points if of else ())
        if point.wait_mean.value is not None
    ]
    if of is None or len(known) < 2:
        return None
    waits = [(place, point.wait_mean) for place, point in known]
    delays = [
        (place, point.miss_delivered_mean)
        for place, point in known
        if delayed and point.miss_delivered_mean.value is not None
    ]
    highest = max(
        figure.upper if figure.upper is not None else value(figure)
        for _, figure in [*waits, *delays]
    )
    unit, size = wording.time_unit(highest)
    drawn = [_line("mean wait", waits, size, EARLIER)]
    if delays:
        drawn.append(_line("delay by later arrivals", delays, size, LATER, "6 3"))
    ticks = tuple((float(k), _label(of.unit, point)) for k, point in enumerate(of.points))
    x = scales.Axis(-0.3, len(of.points) - 0.7, ticks)
    y = scales.linear([highest / size], scales.plain)
    targets = [TipRange(k - 0.5, k + 0.5, _point_tip(point, delayed)) for k, point in known]
    ends = (
        f"{series.brief(value(point.wait_mean), highest)} {_when(point)}"
        for _, point in (known[0], known[-1])
    )
    words = "; ".join(f"{point.label} {series.brief(value(point.wait_mean))}" for _, point in known)
    return Chart(
        "trend",
        f"Mean wait: {', '.join(ends)}",
        f"Lines with a band of 95 % intervals. Mean wait by {of.unit}: {words}.",
        *lines.drawn([Panel(x, y, drawn, targets=targets)], height=150, at_ends=True),
        f"{_UNITS[unit]} per job, by {of.unit} in which they ended; band: 95 % interval.",
    )


def _line(
    name: str, of: Sequence[tuple[int, Figure]], size: int, colour: str, dash: str = ""
) -> Line:
    band = [
        (float(place), figure.lower / size, figure.upper / size)
        for place, figure in of
        if figure.lower is not None and figure.upper is not None
    ]
    points = [(float(place), value(figure) / size) for place, figure in of]
    return Line(name, points, colour, dash, band=band, dotted=len(points) < 13)


def _label(unit: str, point: TrendPoint) -> str:
    """Return a short label: a month by its letters, January by its year."""
    year, _, rest = point.label.partition("-")
    if unit == "month" and rest.isdecimal():
        return year if rest == "01" else scales.MONTHS[int(rest) - 1]
    return point.label if unit in ("year", "quarter") else rest or point.label


def _when(point: TrendPoint) -> str:
    """Return a stretch as ``in Oct 1996``, ``in week 33 of 2014`` or ``on 2016-12-30``."""
    year, _, rest = point.label.partition("-")
    if rest.isdecimal() and len(rest) == 2:
        return f"in {scales.MONTHS[int(rest) - 1]} {year}"
    if rest.startswith("W"):
        return f"in week {int(rest[1:])} of {year}"
    return f"{'on' if '-' in rest else 'in'} {point.label}"


def _point_tip(point: TrendPoint, delayed: bool) -> str:
    figures = {"mean wait": point.wait_mean}
    if delayed and point.miss_delivered_mean.value is not None:
        figures["delay by later arrivals"] = point.miss_delivered_mean
    each = (f"{n} {wording.duration(of.value)}{series.within(of)}" for n, of in figures.items())
    return f"{point.label}: {', '.join(each)}; {wording.plural(point.attempts, 'job')}"
