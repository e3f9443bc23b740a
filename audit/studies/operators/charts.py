"""Priority operators as panels side by side: profiles and heat maps, as [R] figures 8 to 16.

Written as Vega-Lite by hand; ``charts`` draws it. A table of the same study holds every value.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from audit.report.charts import series
from audit.report.charts.style import BLUE, FONT, INK, RULE, VERMILION, Chart, Spec, config

_GAP: Final = 16
_GREY: Final = "#d9dde2"


def profiles(
    key: str,
    title: str,
    alt: str,
    curves: Sequence[Spec],
    bars: Sequence[Spec],
    operators: Sequence[str],
    target: float,
) -> Chart:
    """F over the state for one target, a panel for each operator; bars are local densities.

    Args:
        key: of the chart.
        title: of the chart.
        alt: what it shows, in words.
        curves: rows of: of (operator), state, priority.
        bars: rows of: of, density, priority, next (where the following digit begins).
        operators: in the order of the panels.
        target: dashed, where priorities are 0.
    """
    x: Spec = {
        "field": "state",
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [0, 1]},
        "axis": {"values": [0, 0.5, 1]},
    }
    y: Spec = {
        "field": "priority",
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [-1, 1]},
        "axis": {"values": [-1, -0.5, 0, 0.5, 1]},
    }
    density: Spec = {"field": "density", "type": "quantitative", "title": None}
    layers: list[Spec] = [
        {
            "transform": [{"filter": "datum.kind === 'bar'"}],
            "mark": {"type": "rect", "color": VERMILION, "opacity": 0.28},
            "encoding": {
                "x": {**density, "scale": {"domain": [0, 1]}, "axis": x["axis"]},
                "x2": {"datum": 0},
                "y": y,
                "y2": {"field": "next"},
            },
        },
        {
            "transform": [{"filter": "datum.kind === 'curve'"}],
            "mark": {"type": "line", "color": BLUE, "strokeWidth": 2},
            "encoding": {"x": x, "y": y, "order": {"field": "state"}},
        },
        {
            "transform": [{"filter": "datum.kind === 'target'"}],
            "mark": {"type": "rule", "color": INK, "strokeDash": [3, 3], "strokeWidth": 1},
            "encoding": {"x": x},
        },
    ]
    rows = [{"kind": "bar", **row} for row in bars] + [{"kind": "curve", **row} for row in curves]
    rows += [{"kind": "target", "of": name, "state": target} for name in operators]
    layout = Layout(operators, (), "", columns=4)
    return _panels(key, title, alt, rows, layout, 130, layers)


class Layout(NamedTuple):
    """How a heat map is laid out."""

    panels: Sequence[str]
    rows: Sequence[str]
    """Of each panel, from the top."""
    x_title: str
    columns: int = 2
    """Panels side by side."""
    x_values: Sequence[int] | None = None
    """Which of the x are labelled; None: those for which there is room."""


class Colours(NamedTuple):
    """What the colours of a heat map say."""

    legend: str
    most: float | None = None
    """Colours reach no further; None: to the greatest value."""
    logarithmic: bool = False
    """From 1 on."""


def heat_map(
    key: str, title: str, alt: str, cells: Sequence[Spec], layout: Layout, colours: Colours
) -> Chart:
    """Values as colours, in panels side by side; grey where there is none.

    Args:
        key: of the chart.
        title: of the chart.
        alt: what it shows, in words.
        cells: of (panel), x, y (row), value, known (false: there is no value), says (in the
            tooltip).
        layout: panels and rows.
        colours: scale and legend.
    """
    top = colours.most or max(float(cell["value"]) for cell in cells)
    scale: Spec = {"scheme": "yelloworangered", "domain": [0, top], "clamp": True}
    if colours.logarithmic:
        scale |= {"type": "log", "domain": [1, top]}
    colour: Spec = {
        "field": "value",
        "type": "quantitative",
        "scale": scale,
        "legend": {
            "title": colours.legend,
            "orient": "top",
            "gradientLength": 180,
            "tickCount": 4,
            "titleLimit": series.PIXELS,
        },
    }
    layer: Spec = {
        "mark": {"type": "rect", "stroke": "#ffffff", "strokeWidth": 1},
        "encoding": {
            "x": {
                "field": "x",
                "type": "ordinal",
                "title": layout.x_title,
                "axis": {
                    "labelAngle": 0,
                    "labelOverlap": True,
                    "ticks": False,
                    "domain": False,
                    "titlePadding": 4,
                    **({"values": list(layout.x_values)} if layout.x_values else {}),
                },
            },
            "y": {
                "field": "y",
                "type": "ordinal",
                "title": None,
                "sort": list(layout.rows),
                "axis": {"ticks": False, "domain": False},
            },
            "color": {
                "condition": {"test": "datum.known", **colour},
                "value": _GREY,
            },
            "tooltip": [
                {"field": "y", "title": "Of"},
                {"field": "x", "title": layout.x_title},
                {"field": "says", "title": colours.legend},
            ],
        },
    }
    height = 18 * len(layout.rows)
    return _panels(key, title, alt, cells, layout, height, [layer])


def _panels(
    key: str,
    title: str,
    alt: str,
    rows: Sequence[Spec],
    layout: Layout,
    height: int,
    layers: Sequence[Spec],
) -> Chart:
    width = (series.PIXELS + _GAP) // layout.columns - _GAP
    faceted: Spec = {
        "data": {"values": list(rows)},
        "facet": {
            "field": "of",
            "type": "nominal",
            "title": None,
            "sort": list(layout.panels),
            "header": {
                "labelFont": FONT,
                "labelFontSize": 11,
                "labelColor": INK,
                "labelAnchor": "start",
                "labelLimit": width,
                "labelPadding": 4,
            },
        },
        "columns": layout.columns,  # boot.js fits their width to the page
        "spacing": {"row": 14, "column": _GAP},
        "resolve": {"axis": {"x": "independent"}},  # or where a panel is missing, an axis stands
        "spec": {
            "width": width,
            "height": height,
            "view": {"stroke": RULE},
            "layer": list(layers),
        },
    }
    spec: Spec = {"description": alt, "vconcat": [faceted], "config": config()}
    return Chart(key, title, alt, spec)
