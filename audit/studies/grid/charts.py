"""Charts of the policy grid, as [S] figures 7 to 18: grouped bars, a panel for each load.

The bars' series differ in lightness as well as in colour; lines are 95 % intervals. Written as
Vega-Lite by hand; ``report.charts`` draws it. A table of the same study holds every value.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from audit.report.charts.style import BLUE, INK, Chart, Spec
from audit.studies.charts import Panels, in_panels

_FILLS: Final = (BLUE, "#E69F00", "#ffffff")


class Bar(NamedTuple):
    """A bar, in the unit of its chart."""

    panel: str
    group: str
    """Bars of one group stand together."""
    series: str
    value: float
    lower: float | None
    upper: float | None


_FIELDS: Final = ("of", "group", "by", "value", "lower", "upper")
"""Of a bar, in the data that are drawn."""


class Axes(NamedTuple):
    """What the axes of a chart say."""

    x: str
    y: str
    groups: Sequence[str]
    """From the left."""
    series: Sequence[str]
    """Within a group, from the left; at most three."""
    panels: Sequence[str]


def bars(key: str, title: str, alt: str, shown: Sequence[Bar], axes: Axes) -> Chart:
    """Grouped bars in panels side by side, on one scale.

    Args:
        key: of the chart.
        title: of the chart.
        alt: what it shows, in words.
        shown: its bars.
        axes: their titles and order.
    """
    rows = [dict(zip(_FIELDS, bar, strict=True)) for bar in shown]
    columns = min(len(axes.panels), 2)
    panels = Panels(axes.panels, 190, columns, gap=20, axes=60)
    return in_panels(key, title, alt, rows, _layers(axes), panels)


def _layers(axes: Axes) -> list[Spec]:
    """The bars, and their intervals where there are any."""
    place: Spec = {
        "x": {
            "field": "group",
            "type": "nominal",
            "sort": list(axes.groups),
            "title": axes.x,
            "axis": {"ticks": False, "labelAngle": 0 if len(axes.groups) < 5 else -45},
        },
        "xOffset": {"field": "by", "type": "nominal", "sort": list(axes.series)},
    }
    y: Spec = {"type": "quantitative", "axis": {"format": "~s", "tickCount": 5}}
    fill: Spec = {
        "field": "by",
        "type": "nominal",
        "sort": list(axes.series),
        "scale": {"domain": list(axes.series), "range": list(_FILLS[: len(axes.series)])},
        "legend": {"title": None, "orient": "top", "symbolStrokeColor": INK},
    }
    return [
        {
            "mark": {"type": "bar", "stroke": INK, "strokeWidth": 0.8},
            "encoding": {
                **place,
                "y": {**y, "field": "value", "title": axes.y},
                "fill": fill,
                "tooltip": [
                    {"field": "of", "title": "Panel"},
                    {"field": "group", "title": axes.x},
                    {"field": "by", "title": "Of"},
                    {"field": "value", "title": axes.y, "format": ",.3~r"},
                ],
            },
        },
        {
            "transform": [{"filter": "isValid(datum.lower)"}],
            "mark": {"type": "rule", "color": INK, "strokeWidth": 1},
            "encoding": {
                **place,
                "y": {**y, "field": "lower", "title": axes.y},
                "y2": {"field": "upper"},
            },
        },
    ]
