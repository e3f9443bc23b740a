"""Charts of the policy grid, as [S] figures 7 to 18: grouped bars, a panel for each load.

Lines are 95 % intervals. A table of the same study holds every value.
"""

from collections.abc import Sequence
from typing import NamedTuple

from audit.report.charts.marks import bars as marks
from audit.report.charts.marks import scales
from audit.report.charts.style import Chart
from audit.report.study.charts import ends, several
from audit.report.text import wording


class Bar(NamedTuple):
    """A bar, in the unit of its chart."""

    panel: str
    group: str
    """Bars of one group stand together."""
    series: str
    value: float
    lower: float | None
    upper: float | None


class Axes(NamedTuple):
    """What the axes of a chart say."""

    x: str
    y: str
    groups: Sequence[str]
    """From the left."""
    series: Sequence[str]
    """Within a group, from the left; at most three."""
    panels: Sequence[str]


def bars(key: str, title: str, shows: str, alt: str, shown: Sequence[Bar], axes: Axes) -> Chart:
    """Grouped bars in panels side by side, on one scale.

    Args:
        key: of the chart.
        title: what the chart answers.
        shows: what is drawn.
        alt: what it shows, in words.
        shown: its bars.
        axes: their titles and order.
    """
    drawn = [
        marks.Bar(
            axes.panels.index(bar.panel),
            axes.groups.index(bar.group),
            axes.series.index(bar.series),
            bar.value,
            bar.lower,
            bar.upper,
            f"{bar.panel}, {bar.group}, {bar.series}: {wording.number(bar.value)}",
        )
        for bar in shown
    ]
    ends = [end for bar in shown for end in (bar.value, bar.lower, bar.upper) if end is not None]
    looks = marks.Columns(
        tuple(axes.groups),
        several(axes.series, "block"),
        scales.linear(ends, scales.plain, title=axes.y),
        tuple(axes.panels),
        height=150,
        title=axes.x,
    )
    body, height = marks.columns(drawn, looks)
    return Chart(key, title, alt, body, height, f"{shows}. Lines: 95 % intervals.")


def title_of(what: str, shown: Sequence[Bar], unit: str) -> str:
    """What bars answer: who has the least and who the most, in the last panel.

    Args:
        what: is drawn, in few words.
        shown: the bars; those of the last panel last.
        unit: of the values, ``Hours`` or such as ``CPU-hours per attempt``.
    """
    last = shown[-1].panel

    def say(value: float) -> str:
        if unit == "Hours":
            return wording.rough_duration(value * 3_600)
        return f"{wording.number(value)} {unit.partition(' ')[0]}"

    at = {f"{bar.group}, {bar.series}": bar.value for bar in shown if bar.panel == last}
    return f"{what} at {last.lower()}: {ends(at, say)}"
