"""Penalties as surfaces over two resources, as in [M] figures 3 to 6.

A surface is seen from the corner where nothing is used; one that never falls rises away from the
eye, so no part of it hides another. Written as Vega-Lite by hand; ``charts`` draws it.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import polars as pl

from audit.report.charts import series
from audit.report.charts.style import FONT, INK, MUTED, RULE, Chart, Spec, config

_GAP: Final = 18
_WIDTH: Final = (series.PIXELS + _GAP) // 2 - _GAP
_HEIGHT: Final = 290
_TURN: Final = math.radians(36)
_ABOVE: Final = math.radians(34)
"""From where the eye looks: how far it is turned from the memory's axis, and how high it is."""

_WORDS: Final = (
    ("0", (0.0, 0.0, -0.12)),
    ("CPUs", (0.6, 0.0, -0.14)),
    ("all", (1.0, 0.0, -0.12)),
    ("memory", (-0.08, 0.6, -0.14)),
    ("all", (0.0, 1.0, -0.12)),
    ("0", (-0.06, 1.04, 0.0)),
    ("1", (-0.06, 1.04, 1.0)),
)
"""What stands beside the axes, and where."""

Point = tuple[float, float, float]
"""Part of the processors, part of the memory, penalty."""


class Panel(NamedTuple):
    """A surface: cpus and mem_bytes, from 0 to 1 on a square grid, the latter quicker; penalty."""

    label: str
    surface: pl.DataFrame


def surfaces(key: str, title: str, panels: Sequence[Panel], *, marked: bool = False) -> Chart:
    """Surfaces side by side.

    Args:
        key: of the chart.
        title: of the chart.
        panels: each is a surface; their labels differ.
        marked: draw in black where a penalty must be 0 and 1, and the symmetric line.
    """
    rows = [row for panel in panels for row in _rows(panel, marked)]
    alt = f"Surfaces over the parts of processors and memory. {title}. " + " ".join(
        _says(panel) for panel in panels
    )
    layers = [_strokes("frame", RULE, 1.0), _quads(), _strokes("marked", INK, 2.2), _words()]
    faceted: Spec = {
        "data": {"values": rows},
        "facet": {
            "field": "of",
            "type": "nominal",
            "title": None,
            "sort": [panel.label for panel in panels],
            "header": {
                "labelFont": FONT,
                "labelFontSize": 11,
                "labelColor": INK,
                "labelAnchor": "start",
                "labelLimit": _WIDTH,
                "labelPadding": 4,
            },
        },
        "columns": 2,  # boot.js fits their width to the page
        "spacing": {"row": 14, "column": _GAP},
        "spec": {"width": _WIDTH, "height": _HEIGHT, "layer": layers},
    }
    spec: Spec = {"description": alt, "vconcat": [faceted], "config": config()}
    return Chart(key, title, alt, spec)


def _rows(panel: Panel, marked: bool) -> list[Spec]:
    points = panel.surface.select("cpus", "mem_bytes", "penalty").rows()
    side = math.isqrt(len(points))
    rows: list[Spec] = []

    def line(kind: str, name: str, corners: Sequence[Point], **more: float) -> None:
        for number, (cpus, memory, penalty) in enumerate(corners):
            u, v = _seen(cpus, memory, penalty)
            row = {"of": panel.label, "kind": kind, "name": name, "n": number, "u": u, "v": v}
            rows.append(row | more)

    for back in range(side - 2, -1, -1):  # the furthest first
        for right in range(side - 2, -1, -1):
            at = back * side + right
            corners = [points[at + step] for step in (0, 1, side + 1, side)]
            cpus, memory, penalty = (round(sum(axis) / 4, 4) for axis in zip(*corners, strict=True))
            line("quad", f"{back} {right}", corners, cpus=cpus, memory=memory, penalty=penalty)
    line("frame", "floor", [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 0)])
    for cpus, memory in ((1, 0), (0, 1)):
        line("frame", f"{cpus} {memory}", [(cpus, memory, 0), (cpus, memory, 1)])
    if marked:
        line("marked", "full", [(1, 0, 1), (1, 1, 1), (0, 1, 1)])
        line("marked", "symmetric", [(0, 0, 0), (1, 1, 1)])
    for says, place in _WORDS:
        u, v = _seen(*place)
        rows.append({"of": panel.label, "kind": "word", "says": says, "u": u, "v": v})
    return rows


def _seen(cpus: float, memory: float, penalty: float) -> tuple[float, float]:
    """Where a point is seen: processors go to the right and back, memory to the left and back."""
    u = cpus * math.cos(_TURN) - memory * math.sin(_TURN)
    away = cpus * math.sin(_TURN) + memory * math.cos(_TURN)
    return round(u, 3), round(away * math.sin(_ABOVE) + penalty * math.cos(_ABOVE), 3)


_PLACE: Final[Spec] = {
    "x": {
        "field": "u",
        "type": "quantitative",
        "axis": None,
        "scale": {"domain": [-0.72, 0.92], "nice": False, "zero": False},
    },
    "y": {
        "field": "v",
        "type": "quantitative",
        "axis": None,
        "scale": {"domain": [-0.16, 1.64], "nice": False, "zero": False},
    },
}


def _quads() -> Spec:
    return {
        "transform": [{"filter": "datum.kind == 'quad'"}],
        "mark": {
            "type": "line",
            "interpolate": "linear-closed",
            "aria": False,  # some hundred shapes: the chart is described as a whole
            "stroke": "#ffffff",
            "strokeWidth": 0.4,
        },
        "encoding": {
            **_PLACE,
            "detail": {"field": "name", "type": "nominal"},
            "order": {"field": "n", "type": "quantitative"},
            "fill": {
                "field": "penalty",
                "type": "quantitative",
                "scale": {"scheme": "blues", "domain": [0, 1]},
                "legend": {"title": "Penalty", "orient": "top", "gradientLength": 180},
            },
            "tooltip": [
                {"field": "cpus", "type": "quantitative", "title": "CPUs", "format": ".1%"},
                {"field": "memory", "type": "quantitative", "title": "Memory", "format": ".1%"},
                {"field": "penalty", "type": "quantitative", "title": "Penalty", "format": ".3f"},
            ],
        },
    }


def _strokes(kind: str, colour: str, width: float) -> Spec:
    return {
        "transform": [{"filter": f"datum.kind == '{kind}'"}],
        "mark": {"type": "line", "color": colour, "strokeWidth": width},
        "encoding": {
            **_PLACE,
            "detail": {"field": "name", "type": "nominal"},
            "order": {"field": "n", "type": "quantitative"},
        },
    }


def _words() -> Spec:
    return {
        "transform": [{"filter": "datum.kind == 'word'"}],
        "mark": {"type": "text", "font": FONT, "fontSize": 10, "color": MUTED},
        "encoding": {**_PLACE, "text": {"field": "says", "type": "nominal"}},
    }


def _says(panel: Panel) -> str:
    """The heights of the corners and of the middle, in words."""
    heights = {
        (cpus, memory): penalty
        for cpus, memory, penalty in panel.surface.select("cpus", "mem_bytes", "penalty").rows()
    }
    named = (
        ("all processors and no memory", (1.0, 0.0)),
        ("no processors and all memory", (0.0, 1.0)),
        ("half of both", (0.5, 0.5)),
        ("all of both", (1.0, 1.0)),
    )
    said = ", ".join(f"{heights[at]:.2f} for {words}" for words, at in named if at in heights)
    return f"{panel.label}: {said}."
