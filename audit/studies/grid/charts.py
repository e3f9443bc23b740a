"""Charts of the policy grid, as [S] figures 7 to 18: grouped bars, a panel for each load."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from audit.metrics.verdicts import Estimate
from audit.report.charts.marks import bars as marks
from audit.report.charts.marks import scales
from audit.report.charts.style import Chart
from audit.report.study.charts import ends, several
from audit.report.text import wording

HOUR_S: Final = 3_600


class Bar(NamedTuple):
    """A bar and where it stands; its estimate is in the unit of its chart."""

    panel: str
    group: str
    series: str
    estimate: Estimate


def bars(
    key: str,
    titles: tuple[str, str],
    what: str,
    where: str,
    shown: Sequence[Bar],
    axes: tuple[str, str],
) -> Chart:
    """Grouped bars, a panel for each load, on one scale; lines are 95 % intervals.

    Panels, groups and series stand in the order of their first bars. ``titles`` say in a few words
    what is measured, and what is drawn; ``what`` and ``where``, what the chart shows in words and
    where every value is; ``axes`` are the titles of both axes, x first.
    """
    panels = list(dict.fromkeys(bar.panel for bar in shown))
    groups = list(dict.fromkeys(bar.group for bar in shown))
    series = list(dict.fromkeys(bar.series for bar in shown))
    x, unit = axes
    drawn = [
        marks.Bar(
            panels.index(panel),
            groups.index(group),
            series.index(of),
            *estimate,
            f"{panel}, {group}, {of}: {wording.number(estimate.value)}",
        )
        for panel, group, of, estimate in shown
    ]
    ends = [end for bar in shown for end in bar.estimate if end is not None]
    looks = marks.Columns(
        tuple(groups),
        several(series, "block"),
        scales.linear(ends, scales.plain, title=unit),
        tuple(panels),
        height=150,
        title=x,
    )
    body, height = marks.columns(drawn, looks)
    title, shows = titles
    alt = (
        f"Grouped bar chart. {what} at {' and '.join(panel.lower() for panel in panels)}. "
        f"{_most(shown, unit)} {where}"
    )
    return Chart(
        key, _title(title, shown, unit), alt, body, height, f"{shows}. Lines: 95 % intervals."
    )


def _title(what: str, shown: Sequence[Bar], unit: str) -> str:
    """Who has the least and who the most, in the last panel."""
    last = shown[-1].panel

    def say(value: float) -> str:
        if unit == "Hours":
            return wording.rough_duration(value * HOUR_S)
        return f"{wording.number(value)} {unit.partition(' ')[0]}"

    at = {f"{bar.group}, {bar.series}": bar.estimate.value for bar in shown if bar.panel == last}
    return f"{what} at {last.lower()}: {ends(at, say)}"


def _most(shown: Sequence[Bar], unit: str) -> str:
    top = max(shown, key=lambda bar: bar.estimate.value)
    amount = wording.number(top.estimate.value)
    return f"The most is {amount} ({unit.lower()}): {top.group}, {top.series}, {top.panel.lower()}."
