"""Priority operators as profiles in panels side by side, as [R] figures 10 and 11.

A table of the same study holds every value.
"""

from collections.abc import Sequence

import polars as pl

from audit.report.charts.marks import frame, scales
from audit.report.charts.marks.frame import Box
from audit.report.charts.marks.svg import Canvas
from audit.report.charts.style import EARLIER, LATER, Chart
from audit.studies.operators.compute.resolution import Profile

_ABREAST = 4
_HEIGHT = 110
_PART = scales.Axis(0, 1, ((0, "0"), (1, "1")))
_PRIORITY = scales.Axis(-1, 1, ((-1, "−1"), (0, "0"), (1, "1")))


def profiles(
    key: str, title: str, alt: str, profile: Profile, operators: Sequence[str], target: float
) -> Chart:
    """F over the state for one target, a panel for each operator; bars are local densities.

    Args:
        key: of the chart.
        title: of the chart.
        alt: what it shows, in words.
        profile: what is drawn.
        operators: in the order of the panels.
        target: dashed, where priorities are 0.
    """
    canvas = Canvas()
    top = end = 2.0
    edges = frame.panels(len(operators), _ABREAST, 22, 12)
    for number, (operator, (start, stop)) in enumerate(zip(operators, edges, strict=True)):
        if number and number % _ABREAST == 0:
            top = end + 8
        begin = frame.panel_title(canvas, operator, start, stop, top)
        box = Box(start, begin, stop - 4, begin + _HEIGHT)
        _panel(canvas, profile, operator, target, box)
        end = frame.across(canvas, _PART, box)
    note = (
        "Curves: priority over the state; bars: length of states of one priority; dashed: target."
    )
    return Chart(key, title, alt, canvas.body, round(end), note)


def _panel(canvas: Canvas, profile: Profile, operator: str, target: float, box: Box) -> None:
    frame.upwards(canvas, _PRIORITY, box)
    x, y = _PART.between(box.left, box.right), _PRIORITY.between(box.bottom, box.top)
    of = profile.bars.filter(pl.col("operator") == operator)
    for density, low, high in of.select("density", "priority", "next").iter_rows():
        above, below = sorted((y(low), y(high)))
        tip = f"{operator}, priority {low:.2f}: length of states {density:.3f}"
        canvas.rect(box.left, above, x(density) - box.left, below - above, LATER, opacity=0.35)
        canvas.area_to_point_at(box.left, above, box.right - box.left, below - above, tip)
    curve = profile.curves.filter(pl.col("operator") == operator).sort("state")
    points = curve.select("state", "priority").iter_rows()
    canvas.polyline([(x(state), y(priority)) for state, priority in points], EARLIER)
    frame.reference(canvas, x(target), box)
