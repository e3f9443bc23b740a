"""The page of the study of penalties (``compute``), and its charts."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple

import polars as pl

from audit.report.charts.marks import frame
from audit.report.charts.marks.svg import Canvas
from audit.report.charts.style import INK, LINE, MAIN, MUTED, PAPER, Chart
from audit.report.study import layout
from audit.report.study.page import Study
from audit.studies.penalties import compute as penalties
from audit.studies.penalties.compute import Surfaces
from audit.studies.penalties.rules import RULES, PenaltyWitness

_ASKED: Final = (
    "It depends on more than one resource.",
    "It grows with every resource, not only the most used one (fractions below 1).",
    "It is 1 if and only if all of a resource is used, and 0 if and only if nothing is used.",
    "It is linear in the most used resource, and a request scaled by λ costs λ times as much.",
    "Weights change it, and break none of the rules that it keeps without weights.",
)


def study() -> Study:
    """Return the study of all penalties; it needs no log."""
    judged = penalties.judged()
    kept = {row.label: sum(verdict.kept for verdict in verdicts) for row, verdicts, _ in judged}
    most = max(kept.values())
    best = [label for label, number in kept.items() if number == most]
    parts = {
        "asked": [
            (str(rule), name, asked)
            for (rule, name), asked in zip(RULES.items(), _ASKED, strict=True)
        ],
        "rules": [
            (
                row.label,
                f"({row.formula})" if row.formula else "",
                _listed(row.weights),
                *(verdict.kept for verdict in verdicts),
                linear,
                row.in_table_1,
            )
            for row, verdicts, linear in judged
        ],
        "witnesses": [
            (row.label, str(verdict.rule), witness.says, *_where(witness))
            for row, verdicts, _ in judged
            for verdict in verdicts
            for witness in verdict.witnesses
        ],
        "surfaces": [_chart(figure) for figure in penalties.FIGURES],
        "problems": penalties.PROBLEMS,
        "splitting": penalties.splitting().rows(),
        "fortnight": penalties.charged(penalties.fortnight()).rows(),
        "exempt": [(f"{100 * gpus:.0f} %", *both) for gpus, *both in penalties.exempting().rows()],
    }
    values = {
        "number": len(kept),
        "none": "None of them keeps all five rules of fairness"
        if most < len(RULES)
        else "Some keep all",
        "best": ", ".join(best),
        "keep": f"{'keep' if len(best) > 1 else 'keeps'} {most}",
        "steps": penalties.STEPS,
        "nodes": penalties.NODES,
        "cpus": penalties.NODE["cpus"],
        "gib": penalties.NODE["mem_bytes"] // 2**30,
    }
    return layout.study("penalties", parts, values)


def _listed(weights: Iterable[float]) -> str:
    return ", ".join(f"{weight:g}" for weight in weights)


def _where(witness: PenaltyWitness) -> tuple[str, str]:
    names = ("CPUs", "memory", "GPUs")
    points = [
        ", ".join(f"{name} {part:.6g}" for name, part in zip(names, one.fractions, strict=False))
        + f" → {one.penalty:.6g}"
        for one in witness.samples
    ]
    weights = dict.fromkeys(_listed(one.weights) for one in witness.samples)
    return " and ".join(weights), "; ".join(points)


# --- surfaces ------------------------------------------------------------------------------------

_HEIGHT: Final = 230
_LEFT, _RIGHT, _LOW, _HIGH = -0.72, 0.92, -0.16, 1.64
"""The visible part of the projection plane."""
_TURN: Final = math.radians(36)
_ABOVE: Final = math.radians(34)
"""Position of the viewer: angle from the axis of memory, and height."""

_WORDS: Final = (
    ("0", (0.0, 0.0, -0.12)),
    ("CPUs", (0.6, 0.0, -0.14)),
    ("all", (1.0, 0.0, -0.12)),
    ("memory", (-0.08, 0.6, -0.14)),
    ("all", (0.0, 1.0, -0.12)),
    ("0", (-0.06, 1.04, 0.0)),
    ("1", (-0.06, 1.04, 1.0)),
)
"""Labels of the axes, and their places."""

Point = tuple[float, float, float]
"""Fraction of the processors, fraction of the memory, penalty."""


def _chart(figure: Surfaces) -> Chart:
    def label(penalty: str, weights: tuple[float, float]) -> str:
        weighted = weights[0] != weights[1]
        return f"{penalty}, weights {weights[0]:g} and {weights[1]:g}" if weighted else penalty

    marked = " (black: where it must be 0 and 1; the symmetric line)" if figure.marked else ""
    panels = {label(*form): penalties.surface(*form) for form in figure.panels}
    return surfaces(
        f"figure_{figure.number}",
        f"As [M] fig. {figure.number}: {' and '.join(panels)}{marked}",
        panels,
        marked=figure.marked,
    )


def surfaces(
    key: str, title: str, panels: Mapping[str, pl.DataFrame], *, marked: bool = False
) -> Chart:
    """Draw one or two surfaces (``compute.surface``), by label, side by side.

    ``marked`` adds the lines where a penalty must be 0 and 1, and the symmetric line.
    """
    alt = f"Surfaces over the fractions of processors and memory. {title}. " + " ".join(
        _in_words(*panel) for panel in panels.items()
    )
    canvas, end = Canvas(), 0.0
    places = frame.panels(len(panels), 2, 0)
    for (label, surface), (start, stop) in zip(panels.items(), places, strict=True):
        begin = frame.panel_title(canvas, label, start, stop, 2.0)
        end = begin + _HEIGHT
        _draw(canvas, surface, _Eye(start, stop, begin, end), marked)
    return Chart(key, title, alt, canvas.body, round(end), "Stronger colours are higher values.")


def squares(surface: pl.DataFrame) -> Iterator[tuple[Point, Point, Point, Point]]:
    """Yield the corners of the squares of a surface, the furthest first."""
    points: list[Point] = surface.select("cpus", "mem_bytes", "penalty").rows()
    side = math.isqrt(len(points))
    for row, column in product(range(side - 2, -1, -1), repeat=2):
        at = row * side + column
        yield points[at], points[at + 1], points[at + side + 1], points[at + side]


class _Eye(NamedTuple):
    """The box of a panel, as a view of the unit cube."""

    left: float
    right: float
    top: float
    bottom: float

    def place(self, point: Point) -> tuple[float, float]:
        """Return where a point is seen: processors go right and back, memory left and back."""
        cpus, memory, penalty = point
        across = cpus * math.cos(_TURN) - memory * math.sin(_TURN)
        away = cpus * math.sin(_TURN) + memory * math.cos(_TURN)
        u, v = round(across, 3), round(away * math.sin(_ABOVE) + penalty * math.cos(_ABOVE), 3)
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
    # A rising surface hides no part of itself, so each square covers what is behind it.
    for square in squares(surface):
        corners = [eye.place(corner) for corner in square]
        cpus, memory, penalty = (sum(axis) / 4 for axis in zip(*square, strict=True))
        shares = f"{100 * cpus:.0f} % of the CPUs, {100 * memory:.0f} % of the memory"
        tip = f"{shares}: penalty {penalty:.3f}"
        canvas.polygon(corners, PAPER)
        strength = round(0.08 + 0.87 * min(max(penalty, 0.0), 1.0), 2)
        canvas.polygon(corners, MAIN, opacity=strength, tip=tip, stroke=PAPER, width=0.4)
    if marked:
        line([(1, 0, 1), (1, 1, 1), (0, 1, 1)], INK, 2.2)
        line([(0, 0, 0), (1, 1, 1)], INK, 2.2)
    for says, at in _WORDS:
        canvas.text(eye.place(at), says, MUTED, anchor="middle", size=11)


def _in_words(label: str, surface: pl.DataFrame) -> str:
    heights = {tuple(at): height for *at, height in surface.iter_rows()}
    named = (
        ("all processors and no memory", (1.0, 0.0)),
        ("no processors and all memory", (0.0, 1.0)),
        ("half of both", (0.5, 0.5)),
        ("all of both", (1.0, 1.0)),
    )
    listed = ", ".join(f"{heights[at]:.2f} for {words}" for words, at in named if at in heights)
    return f"{label}: {listed}."
