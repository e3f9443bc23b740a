"""Penalties as surfaces over two resources, as in [M] figures 3 to 6.

A surface is seen from the corner where nothing is used; one that never falls rises away from the
eye, so no part of it hides another.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple

import polars as pl

from audit.report.charts.marks import frame
from audit.report.charts.marks.svg import Canvas
from audit.report.charts.style import INK, LINE, MAIN, MUTED, PAPER, Chart

_HEIGHT: Final = 230
_LEFT, _RIGHT, _LOW, _HIGH = -0.72, 0.92, -0.16, 1.64
"""What is seen, in the plane that the eye sees."""
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


def surfaces(
    key: str, title: str, panels: Mapping[str, pl.DataFrame], *, marked: bool = False
) -> Chart:
    """Draw surfaces (``compute.surface``), by label, side by side.

    ``marked``: draw in black where a penalty must be 0 and 1, and the symmetric line.
    """
    alt = f"Surfaces over the parts of processors and memory. {title}. " + " ".join(
        _in_words(*panel) for panel in panels.items()
    )
    canvas = Canvas()
    top = end = 2.0
    places = frame.panels(len(panels), 2, 0)
    for number, ((label, surface), (start, stop)) in enumerate(
        zip(panels.items(), places, strict=True)
    ):
        if number and number % 2 == 0:
            top = end + 10
        begin = frame.panel_title(canvas, label, start, stop, top)
        end = begin + _HEIGHT
        _draw(canvas, surface, _Eye(start, stop, begin, end), marked)
    return Chart(key, title, alt, canvas.body, round(end), "The stronger the colour, the higher.")


def squares(surface: pl.DataFrame) -> Iterator[tuple[Point, Point, Point, Point]]:
    """Yield the corners of the squares of a surface, those first where most is held.

    The surface has ``cpus`` and ``mem_bytes``, from 0 to 1 on a square grid, the latter quicker,
    and ``penalty``.
    """
    points: list[Point] = surface.select("cpus", "mem_bytes", "penalty").rows()
    side = math.isqrt(len(points))
    for row, column in product(range(side - 2, -1, -1), repeat=2):
        at = row * side + column
        yield points[at], points[at + 1], points[at + side + 1], points[at + side]


class _Eye(NamedTuple):
    """Where a panel stands, and what is seen in it."""

    left: float
    right: float
    top: float
    bottom: float

    def place(self, point: Point) -> tuple[float, float]:
        u, v = _seen(*point)
        return (
            self.left + (u - _LEFT) / (_RIGHT - _LEFT) * (self.right - self.left),
            self.bottom - (v - _LOW) / (_HIGH - _LOW) * (self.bottom - self.top),
        )


def _draw(canvas: Canvas, surface: pl.DataFrame, eye: _Eye, marked: bool) -> None:
    def line(corners: Sequence[Point], colour: str, width: float) -> None:
        canvas.polyline([eye.place(corner) for corner in corners], colour, width)

    line([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 0)], LINE, 1)
    for floor in ((1, 0), (0, 1)):
        line([(*floor, 0), (*floor, 1)], LINE, 1)
    for square in squares(surface):  # the furthest first
        corners = [eye.place(corner) for corner in square]
        cpus, memory, penalty = (sum(axis) / 4 for axis in zip(*square, strict=True))
        tip = f"{cpus:.0%} of the CPUs, {memory:.0%} of the memory: penalty {penalty:.3f}"
        canvas.polygon(corners, PAPER)  # what is behind it is not seen
        strength = round(0.08 + 0.87 * min(max(penalty, 0.0), 1.0), 2)
        canvas.polygon(corners, MAIN, opacity=strength, tip=tip, stroke=PAPER, width=0.4)
    if marked:
        line([(1, 0, 1), (1, 1, 1), (0, 1, 1)], INK, 2.2)
        line([(0, 0, 0), (1, 1, 1)], INK, 2.2)
    for says, at in _WORDS:
        x, y = eye.place(at)
        canvas.text((x, y), says, MUTED, anchor="middle", size=11)


def _seen(cpus: float, memory: float, penalty: float) -> tuple[float, float]:
    """Where a point is seen: processors go to the right and back, memory to the left and back."""
    u = cpus * math.cos(_TURN) - memory * math.sin(_TURN)
    away = cpus * math.sin(_TURN) + memory * math.cos(_TURN)
    return round(u, 3), round(away * math.sin(_ABOVE) + penalty * math.cos(_ABOVE), 3)


def _in_words(label: str, surface: pl.DataFrame) -> str:
    """The heights of the corners and of the middle, in words."""
    points = surface.select("cpus", "mem_bytes", "penalty").rows()
    heights = {(cpus, memory): penalty for cpus, memory, penalty in points}
    named = (
        ("all processors and no memory", (1.0, 0.0)),
        ("no processors and all memory", (0.0, 1.0)),
        ("half of both", (0.5, 0.5)),
        ("all of both", (1.0, 1.0)),
    )
    listed = ", ".join(f"{heights[at]:.2f} for {words}" for words, at in named if at in heights)
    return f"{label}: {listed}."
