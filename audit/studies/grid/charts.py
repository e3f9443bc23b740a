"""Charts of the policy grid, as [S] figures 7 to 18: grouped bars, a panel for each load.

The bars' series differ in lightness as well as in colour; lines are 95 % intervals. Written as
Vega-Lite by hand; ``charts`` draws it. A table of the same study holds every value.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from audit.report.charts import series
from audit.report.charts.style import BLUE, FONT, INK, RULE, Chart, Spec, config

_FILLS: Final = (BLUE, "#E69F00", "#ffffff")
_GAP: Final = 20
_HEIGHT: Final = 190


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


def bars(key: str, title: str, alt: str, shown: Sequence[Bar], axes: Axes) -> Chart:
    """Grouped bars in panels side by side, on one scale.

    Args:
        key: of the chart.
        title: of the chart.
        alt: what it shows, in words.
        shown: its bars.
        axes: their titles and order.
    """
    x: Spec = {
        "field": "group",
        "type": "nominal",
        "sort": list(axes.groups),
        "title": axes.x,
        "axis": {"ticks": False, "labelAngle": 0 if len(axes.groups) < 5 else -45},
    }
    offset: Spec = {"field": "by", "type": "nominal", "sort": list(axes.series)}
    fill: Spec = {
        "field": "by",
        "type": "nominal",
        "sort": list(axes.series),
        "scale": {"domain": list(axes.series), "range": list(_FILLS[: len(axes.series)])},
        "legend": {"title": None, "orient": "top", "symbolStrokeColor": INK},
    }
    y: Spec = {"type": "quantitative", "axis": {"format": "~s", "tickCount": 5}}
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "stroke": INK, "strokeWidth": 0.8},
            "encoding": {
                "x": x,
                "xOffset": offset,
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
                "x": x,
                "xOffset": offset,
                "y": {**y, "field": "lower", "title": axes.y},
                "y2": {"field": "upper"},
            },
        },
    ]
    columns = min(len(axes.panels), 2)
    width = (series.PIXELS - 40) // columns - _GAP
    rows = [
        {
            "of": bar.panel,
            "group": bar.group,
            "by": bar.series,
            "value": bar.value,
            "lower": bar.lower,
            "upper": bar.upper,
        }
        for bar in shown
    ]
    faceted: Spec = {
        "data": {"values": rows},
        "facet": {
            "field": "of",
            "type": "nominal",
            "title": None,
            "sort": list(axes.panels),
            "header": {
                "labelFont": FONT,
                "labelFontSize": 11,
                "labelColor": INK,
                "labelAnchor": "start",
                "labelLimit": width,
                "labelPadding": 4,
            },
        },
        "columns": columns,  # boot.js fits their width to the page
        "spacing": {"row": 14, "column": _GAP},
        "spec": {
            "width": width,
            "height": _HEIGHT,
            "view": {"stroke": RULE},
            "layer": layers,
        },
    }
    return Chart(key, title, alt, {"description": alt, "vconcat": [faceted], "config": config()})
