"""The chart of page one: waits on a logarithmic axis above load, over time."""

from math import log
from typing import Final

from audit.report import wording
from audit.report.charts.marks.svg import Canvas, shortened, width_of
from audit.report.charts.style import INK, LINE, MUTED, WIDTH, Chart
from audit.report.first_page import amounts
from audit.report.sections.changes.record import RuleMark, StepPoint

_LEFT, _RIGHT = 50.0, 112.0
_TOP, _MIDDLE, _BOTTOM = 12.0, 134.0, 204.0
_HEIGHT: Final = 222
_LOAD: Final = 46.0
_LEAST_S: Final = 30
_TICKS: Final = (
    *((60, "1 min"), (600, "10 min"), (3_600, "1 h"), (36_000, "10 h")),
    *((4 * 86_400, "4 d"), (40 * 86_400, "40 d")),
)
_APART: Final = 14.0
"""Least distance of two labels."""
_LABELS: Final = 12
_ROW: Final = 13.0
"""Distance of the names of rules."""
_ASIDE: Final = 5.0
"""Distance of a name from its line."""
_SMALL: Final = 11
"""Size of texts."""


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
    wide = (WIDTH - _LEFT - _RIGHT) / len(points)

    def x(place: int) -> float:
        return _LEFT + wide * (place + 0.5)

    def y(seconds: float) -> float:
        return _MIDDLE - (_MIDDLE - highest) * (log(max(seconds, _LEAST_S)) - low) / (high - low)

    end = WIDTH - _RIGHT
    for seconds, label in _TICKS:
        if log(seconds) <= high:
            canvas.line((_LEFT, y(seconds)), (end, y(seconds)), LINE)
            canvas.text((_LEFT - 5, y(seconds) + 4), label, MUTED, anchor="end", size=_SMALL)
    canvas.line((_LEFT, _BOTTOM - _LOAD), (end, _BOTTOM - _LOAD), LINE)
    for share, height in (("100 %", _BOTTOM - _LOAD + 4), ("0", _BOTTOM)):
        canvas.text((_LEFT - 5, height), share, MUTED, anchor="end", size=_SMALL)
    for place, point in enumerate(points):
        high_px = _LOAD * min(point.load or 0.0, 1.0)
        tip = f"{point.label}: {amounts.short_share(point.load)} busy"
        left, top = x(place) - wide * 0.36, _BOTTOM - high_px
        canvas.rect(left, top, wide * 0.72, high_px, MUTED, opacity=0.45, tip=tip)
    every = -(-len(points) // _LABELS)
    for place in range(0, len(points), every):
        label = _brief(points[place].label, step)
        canvas.text((x(place), _BOTTOM + 14), label, MUTED, anchor="middle", size=_SMALL)
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
    canvas.text((end + 7, upper), "one in ten over", MUTED, size=_SMALL)
    canvas.text((end + 7, lower), "typical wait", INK, size=_SMALL, weight="600")
    canvas.text((end + 7, _BOTTOM - 14), "busy", MUTED, size=_SMALL)
    return Chart("changes", "", _said(points, step, marks), canvas.body, _HEIGHT)


def _said(points: tuple[StepPoint, ...], step: str, marks: tuple[RuleMark, ...]) -> str:
    """Return the chart in words."""
    first, last = points[0], points[-1]
    begins = (f" {wording.first_upper(m.text)} in {points[int(m.place)].label}." for m in marks)
    return (
        f"Typical wait, wait of one job in ten, and load by {step}, {first.label} to {last.label}. "
        f"Typical wait: first {amounts.short_time(first.median)}, "
        f"last {amounts.short_time(last.median)}."
    ) + "".join(begins)


def _draw_marks(canvas: Canvas, marks: tuple[RuleMark, ...], wide: float) -> None:
    """Draw the begins and ends of rules, each with its name in a row in which its line begins.

    Names are left of their lines, the last line first, or right of them, the first line first: so
    no line crosses a name. Only where some do not fit, each is on the side with more space.
    """
    lines = sorted((_LEFT + wide * mark.place, wording.name(mark.text, 40)) for mark in marks)
    before = [line for line in lines if line[0] > WIDTH / 2]
    for side in (lines, []):
        if all(_space(x, left=bool(side)) >= width_of(name, _SMALL) for x, name in lines):
            before = side
    after = [line for line in lines if line not in before]
    for number, (x, name) in enumerate([*reversed(before), *after]):
        top, left = _TOP + _ROW * number, number < len(before)
        canvas.line((x, top - _ROW / 2), (x, _BOTTOM), INK, dash="5 4")
        at = (x - _ASIDE, top) if left else (x + _ASIDE, top)
        shown = shortened(name, _space(x, left=left))
        canvas.text(at, shown, INK, anchor="end" if left else "start", size=_SMALL)


def _space(x: float, *, left: bool) -> float:
    """Return how wide a name beside a line may be."""
    return (x if left else WIDTH - x) - _ASIDE


_MONTHS: Final = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()  # noqa: SIM905


def _brief(label: str, step: str) -> str:
    """Return the label of a step: ``Oct``, ``W44`` or ``31``."""
    if step == "month":
        return _MONTHS[int(label[-2:]) - 1]
    return label[-3:] if step == "week" else label[-2:].lstrip("0")
