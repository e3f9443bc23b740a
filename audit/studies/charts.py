"""What the charts of studies share: panels side by side, lines of several kinds, heat maps.

Written as Vega-Lite by hand; ``report.charts`` draws it. A table of the same study holds every
value.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from audit.report.charts import series
from audit.report.charts.style import FONT, INK, RULE, Chart, Spec, config

_GREY: Final = "#d9dde2"
INDEPENDENT_X: Final[Spec] = {"axis": {"x": "independent"}}
"""Each panel has its own horizontal axis: where one is missing below another, an axis stands."""


class Panels(NamedTuple):
    """How panels are laid out."""

    names: Sequence[str]
    """In reading order; each row of the chart names its own in ``of``."""
    height: int
    columns: int = 2
    """Side by side; where the page is narrow, boot.js lays out fewer."""
    gap: int = 16
    resolve: Spec | None = None
    """What panels do not share, as Vega-Lite has it."""
    axes: int = 0
    """Pixels that axes take of the chart's width."""
    framed: bool = True

    @property
    def width(self) -> int:
        """Of one panel."""
        return (series.PIXELS + self.gap - self.axes) // self.columns - self.gap


def channel(field: str, kind: str, **more: object) -> Spec:
    """An encoding of a field: ``kind`` is Vega-Lite's type, ``more`` what else it says of it."""
    return {"field": field, "type": kind, **more}


def single(
    key: str, title: str, alt: str, rows: Sequence[Spec], height: object, **what: object
) -> Chart:
    """A chart of one panel.

    Args:
        key: of the chart.
        title: of the chart.
        alt: what it shows, in words.
        rows: what is drawn.
        height: in pixels, or as Vega-Lite has it.
        what: mark and encoding, or layers.
    """
    size: Spec = {"width": series.PIXELS, "height": height}
    data: Spec = {"values": list(rows)}
    return Chart(
        key, title, alt, {"description": alt, "data": data, **size, **what, "config": config()}
    )


def in_panels(
    key: str, title: str, alt: str, rows: Sequence[Spec], layers: Sequence[Spec], panels: Panels
) -> Chart:
    """The same layers for the rows of each panel.

    Args:
        key: of the chart.
        title: of the chart.
        alt: what it shows, in words.
        rows: of: of (panel), and what the layers draw.
        layers: from the lowest.
        panels: their order and size.
    """
    spec: Spec = {"width": panels.width, "height": panels.height}
    if panels.framed:
        spec["view"] = {"stroke": RULE}
    faceted: Spec = {
        "data": {"values": list(rows)},
        "facet": {
            "field": "of",
            "type": "nominal",
            "title": None,
            "sort": list(panels.names),
            "header": {
                "labelFont": FONT,
                "labelFontSize": 11,
                "labelColor": INK,
                "labelAnchor": "start",
                "labelLimit": panels.width,
                "labelPadding": 4,
            },
        },
        "columns": panels.columns,
        "spacing": {"row": 14, "column": panels.gap},
        **({"resolve": panels.resolve} if panels.resolve else {}),
        "spec": {**spec, "layer": list(layers)},
    }
    return Chart(key, title, alt, {"description": alt, "vconcat": [faceted], "config": config()})


def strokes(
    field: str,
    names: Sequence[str],
    colours: Sequence[str],
    dashes: Sequence[Sequence[int]],
    **legend: object,
) -> Spec:
    """Encodings of lines that differ in colour and in dashes.

    Args:
        field: which names the line of a row.
        names: of the lines, in order; at most as many as there are colours.
        colours: of each.
        dashes: of each.
        legend: more of it.
    """
    shown = {"title": None, "orient": "top", "symbolType": "stroke", **legend}

    def scale(values: Sequence[object]) -> Spec:
        return {"domain": list(names), "range": list(values[: len(names)])}

    return {
        "color": {"field": field, "type": "nominal", "scale": scale(colours), "legend": shown},
        "strokeDash": {"field": field, "type": "nominal", "scale": scale(dashes), "legend": shown},
    }


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
                "condition": {"test": "datum.known", **_colour(cells, colours)},
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
    panels = Panels(layout.panels, height, layout.columns, resolve=INDEPENDENT_X)
    return in_panels(key, title, alt, cells, [layer], panels)


def _colour(cells: Sequence[Spec], colours: Colours) -> Spec:
    top = colours.most or max(float(cell["value"]) for cell in cells)
    scale: Spec = {"scheme": "yelloworangered", "domain": [0, top], "clamp": True}
    if colours.logarithmic:
        scale |= {"type": "log", "domain": [1, top]}
    return {
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
