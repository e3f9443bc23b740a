"""Waits over time: the trend of the details, and the chart of page one above the load."""

from collections.abc import Sequence
from math import ceil, log
from typing import Final

from audit.report import wording
from audit.report.charts import series
from audit.report.charts.marks import lines, scales
from audit.report.charts.marks.lines import Line, Panel
from audit.report.charts.marks.svg import Canvas, shortened, width_of
from audit.report.charts.series import value
from audit.report.charts.style import EARLIER, INK, LATER, LINE, MUTED, Chart
from audit.report.figures import Figure
from audit.report.first_page import amounts
from audit.report.sections.changes.record import RuleMark, StepPoint, Trend, TrendPoint
from audit.report.sections.changes.section import read
from audit.report.source import ReportSection

_UNITS: Final = {"s": "Seconds", "min": "Minutes", "h": "Hours", "d": "Days"}


def trend(of: Trend, *, delayed: bool) -> Chart | None:
    """Draw the mean wait by stretch of time; if ``delayed``, also delay by later arrivals."""
    known = [
        (place, point) for place, point in enumerate(of.points) if point.wait_mean.value is not None
    ]
    if len(known) < 2:
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
    targets = [(k - 0.5, k + 0.5, _point_tip(point, delayed)) for k, point in known]
    ends = (
        f"{wording.rough_duration(value(point.wait_mean), highest)} {_when(point)}"
        for _, point in (known[0], known[-1])
    )
    words = "; ".join(
        f"{point.label} {wording.rough_duration(value(point.wait_mean))}" for _, point in known
    )
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


_WIDE: Final = 400
"""Of the chart of page one, px: its texts have 8.7 pt on paper, in a column of 95 mm."""
_LEFT, _RIGHT = 52.0, 112.0
_TOP, _MIDDLE, _BOTTOM = 14.0, 100.0, 138.0
_HEIGHT: Final = 154
_LOAD: Final = 24.0
_LEAST_S: Final = 30
_TICKS: Final = (
    *((60, "1 min"), (600, "10 min"), (3_600, "1 h"), (36_000, "10 h")),
    *((4 * 86_400, "4 d"), (40 * 86_400, "40 d")),
)
_APART: Final = 14.0
"""Least distance of two labels."""
_READABLE: Final = 14.0
"""Least distance of two labels of an axis."""
_LABELS: Final = 8
_ROW: Final = 15.0
"""Distance of the names of rules."""
_ASIDE: Final = 5.0
"""Distance of a name from a line."""
_TEXT: Final = 13
"""Size of texts."""


def _axis(canvas: Canvas, ticks: Sequence[tuple[float, str]], least: float) -> None:
    """Draw lines at some heights, the lowest first; a label too close to one below is left out."""
    below = _BOTTOM - _LOAD
    if least < _LEAST_S:
        canvas.text((_LEFT - 5, _MIDDLE + 4), f"≤ {_LEAST_S} s", MUTED, anchor="end", size=_TEXT)
        below = _MIDDLE
    for height, label in ticks:
        canvas.line((_LEFT, height), (_WIDE - _RIGHT, height), LINE)
        if below - height >= _READABLE:
            canvas.text((_LEFT - 5, height + 4), label, MUTED, anchor="end", size=_TEXT)
            below = height


def changes(
    points: tuple[StepPoint, ...], step: str, marks: tuple[RuleMark, ...] = ()
) -> Chart | None:
    """Draw typical wait, the wait of one job in ten and load by step; None below two steps.

    Rules that begin or end are dashed lines with their names.
    """
    if len(points) < 2 or not step:
        return None
    canvas = Canvas()
    highest = _TOP + _ROW * len(marks)
    low = log(_LEAST_S)
    high = log(max(3_600, *(point.p90 for point in points)) * 1.2)
    wide = (_WIDE - _LEFT - _RIGHT) / len(points)

    def x(place: int) -> float:
        return _LEFT + wide * (place + 0.5)

    def y(seconds: float) -> float:
        return _MIDDLE - (_MIDDLE - highest) * (log(max(seconds, _LEAST_S)) - low) / (high - low)

    end = _WIDE - _RIGHT
    ticks = [(y(seconds), label) for seconds, label in _TICKS if log(seconds) <= high]
    _axis(canvas, ticks, least=min(point.median for point in points))
    canvas.line((_LEFT, _BOTTOM - _LOAD), (end, _BOTTOM - _LOAD), LINE)
    for share, height in (("100 %", _BOTTOM - _LOAD + 4), ("0", _BOTTOM)):
        canvas.text((_LEFT - 5, height), share, MUTED, anchor="end", size=_TEXT)
    for place, point in enumerate(points):
        high_px = _LOAD * min(point.load or 0.0, 1.0)
        tip = f"{point.label}: {amounts.short_share(point.load)} busy"
        left, top = x(place) - wide * 0.36, _BOTTOM - high_px
        canvas.rect(left, top, wide * 0.72, high_px, MUTED, opacity=0.45, tip=tip)
    labels = [_brief(point.label, step) for point in points]
    widest = max(width_of(label, _TEXT) for label in labels) + _ASIDE
    every = max(-(-len(points) // _LABELS), ceil(widest / wide))
    for place in range(0, len(points), every):
        canvas.text((x(place), _BOTTOM + 14), labels[place], MUTED, anchor="middle", size=_TEXT)
    tenths = [(x(k), y(point.p90)) for k, point in enumerate(points)]
    typical = [(x(k), y(point.median)) for k, point in enumerate(points)]
    canvas.polyline(tenths, MUTED, 1.6)
    canvas.polyline(typical, INK, 2.6)
    for k, point in enumerate(points):
        both = ((tenths[k], point.p90, MUTED), (typical[k], point.median, INK))
        for at, seconds, colour in both:
            tip = f"{point.label}: {amounts.short_time(seconds)}"
            canvas.dot(at, "circle", colour, size=2.6, tip=tip)
    _draw_marks(canvas, marks, wide)
    upper, lower = tenths[-1][1] + 4, typical[-1][1] + 4
    if lower - upper < _APART:
        upper, lower = ((upper + lower) / 2 + by for by in (-_APART / 2, _APART / 2))
    canvas.text((end + 7, upper), "one in ten over", MUTED, size=_TEXT)
    canvas.text((end + 7, lower), "typical wait", INK, size=_TEXT, weight="600")
    canvas.text((end + 7, _BOTTOM - 8), "busy", MUTED, size=_TEXT)
    return Chart("changes", "", _said(points, step, marks), canvas.body, _HEIGHT, width=_WIDE)


def _said(points: tuple[StepPoint, ...], step: str, marks: tuple[RuleMark, ...]) -> str:
    first, last = points[0], points[-1]
    begins = (f" {wording.first_upper(m.text)} in {points[int(m.place)].label}." for m in marks)
    return (
        f"Typical wait, wait of one job in ten, and load by {step}, {first.label} to {last.label}. "
        f"Typical wait: first {amounts.short_time(first.median)}, "
        f"last {amounts.short_time(last.median)}."
    ) + "".join(begins)


def _draw_marks(canvas: Canvas, marks: tuple[RuleMark, ...], wide: float) -> None:
    """Draw the begins and ends of rules, each with its name in a row below which its line begins.

    The last line has the first row. A name ends at its line, or further right where it is long,
    but before the line of the row above: so no line crosses a name.
    """
    lines = sorted((_LEFT + wide * mark.place, wording.name(mark.text, 40)) for mark in marks)
    most = float(_WIDE)
    for number, (x, name) in enumerate(reversed(lines)):
        top = _TOP + _ROW * number
        canvas.line((x, top + _ASIDE), (x, _BOTTOM), INK, dash="5 4")
        shown = shortened(name, most, _TEXT)
        right = min(max(x, width_of(shown, _TEXT)), most)
        canvas.text((right, top), shown, INK, anchor="end", size=_TEXT)
        most = x - _ASIDE


def _brief(label: str, step: str) -> str:
    """Return the label of a step: ``Oct``, ``W44`` or ``31``."""
    if step == "month":
        return scales.MONTHS[int(label[-2:]) - 1]
    return label[-3:] if step == "week" else label[-2:].lstrip("0")


SECTION: Final = ReportSection(
    "changes",
    Trend,
    read,
    charts=(lambda pool: trend(pool[Trend], delayed=pool.has_fair_starts),),
)
