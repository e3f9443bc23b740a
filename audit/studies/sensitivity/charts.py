"""Charts of the sensitivity to fairshare's settings: lines of each group, a panel for each setting.

A table of the same study holds every value.
"""

from collections.abc import Sequence

from audit.report.charts.marks import lines as marks
from audit.report.charts.marks import scales
from audit.report.charts.marks.lines import Line, Panel, Target
from audit.report.charts.style import Chart
from audit.report.study.charts import Values, several


def lines(
    key: str,
    title: str,
    shows: str,
    alt: str,
    rows: Sequence[Values],
    settings: Sequence[str],
    groups: Sequence[str],
) -> Chart:
    """Lines of the groups, in panels side by side that share their vertical axis.

    Args:
        key: of the chart.
        title: what the chart answers.
        shows: what is drawn.
        alt: what it shows, in words.
        rows: of: of (setting), group, x (its value), y (by what part above the fixed values).
        settings: of the panels, in order.
        groups: at most six, in order.
    """
    y = scales.linear([float(row["y"]) for row in rows], scales.percent)
    panels = [
        _panel([row for row in rows if row["of"] == setting], setting, y, groups)
        for setting in settings
    ]
    body, height = marks.drawn(panels, height=130, abreast=2)
    return Chart(key, title, alt, body, height, f"{shows}.")


def _panel(rows: Sequence[Values], setting: str, y: scales.Axis, groups: Sequence[str]) -> Panel:
    values = sorted({row["x"] for row in rows})
    place = {value: float(number) for number, value in enumerate(values)}
    ticks = tuple((at, f"{value:g}") for value, at in place.items())
    x = scales.Axis(-0.3, max(len(values) - 0.7, 0.3), ticks)
    drawn = [
        Line(
            of.name,
            [(place[row["x"]], row["y"]) for row in rows if row["group"] == of.name],
            of.colour,
            of.dash,
            dotted=True,
        )
        for of in several(groups)
    ]
    targets = [
        Target(
            at - 0.5,
            at + 0.5,
            f"{setting} {value:g}: "
            + ", ".join(f"{row['group']} {row['y']:+.1%}" for row in rows if row["x"] == value),
        )
        for value, at in place.items()
    ]
    return Panel(x, y, drawn, setting, targets, level=0.0)
