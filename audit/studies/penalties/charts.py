"""Penalties as surfaces over two resources, as in [M] figures 3 to 6.

A surface is seen from the corner where nothing is used; one that never falls rises away from the
eye, so no part of it hides another. Written as Vega-Lite by hand; ``charts`` draws it.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import polars as pl

from audit.report.charts.style import FONT, INK, MUTED, RULE, Chart, Spec
from audit.studies.charts import Panels, channel, in_panels
from audit.studies.penalties.compute import Point, squares

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


class Panel(NamedTuple):
    """A surface with its label."""

    label: str
    surface: pl.DataFrame
    """As ``compute.surface`` gives it."""


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
        _in_words(panel) for panel in panels
    )
    layers = [_strokes("frame", RULE, 1.0), _quads(), _strokes("marked", INK, 2.2), _words()]
    side_by_side = Panels([panel.label for panel in panels], _HEIGHT, gap=18, framed=False)
    return in_panels(key, title, alt, rows, layers, side_by_side)


def _rows(panel: Panel, marked: bool) -> list[Spec]:
    rows: list[Spec] = []

    def line(kind: str, name: str, corners: Sequence[Point], **more: float) -> None:
        for number, (cpus, memory, penalty) in enumerate(corners):
            u, v = _seen(cpus, memory, penalty)
            row = {"of": panel.label, "kind": kind, "name": name, "n": number, "u": u, "v": v}
            rows.append(row | more)

    for square in squares(panel.surface):  # the furthest first
        axes = zip(("cpus", "memory", "penalty"), square.middle, strict=True)
        middle = {name: round(value, 4) for name, value in axes}
        line("quad", f"{square.row} {square.column}", square.corners, **middle)
    line("frame", "floor", [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 0)])
    for cpus, memory in ((1, 0), (0, 1)):
        line("frame", f"{cpus} {memory}", [(cpus, memory, 0), (cpus, memory, 1)])
    if marked:
        line("marked", "full", [(1, 0, 1), (1, 1, 1), (0, 1, 1)])
        line("marked", "symmetric", [(0, 0, 0), (1, 1, 1)])
    for text, place in _WORDS:
        u, v = _seen(*place)
        rows.append({"of": panel.label, "kind": "word", "says": text, "u": u, "v": v})
    return rows


def _seen(cpus: float, memory: float, penalty: float) -> tuple[float, float]:
    """Where a point is seen: processors go to the right and back, memory to the left and back."""
    u = cpus * math.cos(_TURN) - memory * math.sin(_TURN)
    away = cpus * math.sin(_TURN) + memory * math.cos(_TURN)
    return round(u, 3), round(away * math.sin(_ABOVE) + penalty * math.cos(_ABOVE), 3)


def _axis(field: str, low: float, high: float) -> Spec:
    scale = {"domain": [low, high], "nice": False, "zero": False}
    return channel(field, "quantitative", axis=None, scale=scale)


_PLACE: Final[Spec] = {"x": _axis("u", -0.72, 0.92), "y": _axis("v", -0.16, 1.64)}
_LINE: Final[Spec] = {
    **_PLACE,
    "detail": channel("name", "nominal"),
    "order": channel("n", "quantitative"),
}


def _layer(kind: str, mark: Spec, encoding: Spec) -> Spec:
    """What is drawn of the rows of one kind."""
    shown = [{"filter": f"datum.kind == '{kind}'"}]
    return {"transform": shown, "mark": mark, "encoding": encoding}


def _quads() -> Spec:
    mark = {
        "type": "line",
        "interpolate": "linear-closed",
        "aria": False,  # some hundred shapes: the chart is described as a whole
        "stroke": "#ffffff",
        "strokeWidth": 0.4,
    }
    scale = {"scheme": "blues", "domain": [0, 1]}
    legend = {"title": "Penalty", "orient": "top", "gradientLength": 180}
    tooltip = [
        channel(field, "quantitative", title=title, format=digits)
        for field, title, digits in (
            ("cpus", "CPUs", ".1%"),
            ("memory", "Memory", ".1%"),
            ("penalty", "Penalty", ".3f"),
        )
    ]
    fill = channel("penalty", "quantitative", scale=scale, legend=legend)
    return _layer("quad", mark, {**_LINE, "fill": fill, "tooltip": tooltip})


def _strokes(kind: str, colour: str, width: float) -> Spec:
    return _layer(kind, {"type": "line", "color": colour, "strokeWidth": width}, _LINE)


def _words() -> Spec:
    mark = {"type": "text", "font": FONT, "fontSize": 10, "color": MUTED}
    return _layer("word", mark, {**_PLACE, "text": channel("says", "nominal")})


def _in_words(panel: Panel) -> str:
    """The heights of the corners and of the middle, in words."""
    points = panel.surface.select("cpus", "mem_bytes", "penalty").rows()
    heights = {(cpus, memory): penalty for cpus, memory, penalty in points}
    named = (
        ("all processors and no memory", (1.0, 0.0)),
        ("no processors and all memory", (0.0, 1.0)),
        ("half of both", (0.5, 0.5)),
        ("all of both", (1.0, 1.0)),
    )
    listed = ", ".join(f"{heights[at]:.2f} for {words}" for words, at in named if at in heights)
    return f"{panel.label}: {listed}."
