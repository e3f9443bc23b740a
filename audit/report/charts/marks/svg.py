"""Marks as SVG elements: rectangles, lines, dots, texts.

Only elements that browsers, WeasyPrint and resvg draw alike are used. All text is escaped.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from audit.report.charts.style import INK, PAPER, SIZE
from audit.spreadsheets import visible

Point = tuple[float, float]
Looks = dict[str, Any]


class Canvas:
    """Marks in drawing order."""

    def __init__(self) -> None:
        self._marks: list[str] = []
        self._areas: list[str] = []

    @property
    def body(self) -> str:
        """The SVG of all marks, below the areas with tips."""
        areas = "".join(self._areas)
        return "".join(self._marks) + (
            f'<g fill="none" pointer-events="all">{areas}</g>' if areas else ""
        )

    def _add(self, tag: str, *, tip: str = "", says: str | None = None, **values: object) -> None:
        written = {name.replace("_", "-"): _said(value) for name, value in values.items()}
        if tip:
            written["data-tip"] = text(tip)
        attributes = "".join(f' {name}="{value}"' for name, value in written.items() if value != "")
        end = "/>" if says is None else f">{text(says)}</{tag}>"
        self._marks.append(f"<{tag}{attributes}{end}")

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str,
        *,
        tip: str = "",
        opacity: float | str = "",
    ) -> None:
        """Draw a rectangle unless it is empty."""
        if width > 0 and height > 0:
            size: Looks = {"width": max(width, 0.1), "height": max(height, 0.1)}
            self._add("rect", tip=tip, x=x, y=y, **size, fill=fill, fill_opacity=opacity)

    def tip_area(self, x: float, y: float, width: float, height: float, tip: str) -> None:
        """Add an invisible area that shows ``tip``."""
        if tip:
            self._areas.append(
                f'<rect data-tip="{text(tip)}" x="{number(x)}" y="{number(y)}" '
                f'width="{number(max(width, 0.1))}" height="{number(height)}"/>'
            )

    def line(self, start: Point, end: Point, stroke: str, width: float = 1, dash: str = "") -> None:
        """Draw a straight line."""
        ends: Looks = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
        self._add("line", **ends, stroke=stroke, stroke_width=width, stroke_dasharray=dash)

    def polyline(
        self, points: Iterable[Point], stroke: str, width: float = 2, dash: str = ""
    ) -> None:
        """Draw lines from point to point."""
        looks: Looks = {"stroke": stroke, "stroke_width": width, "stroke_dasharray": dash}
        at = _points(points)
        self._add("polyline", points=at, fill="none", **looks, stroke_linejoin="round")

    def polygon(
        self,
        points: Iterable[Point],
        fill: str,
        *,
        opacity: float | str = "",
        tip: str = "",
        stroke: str = "",
        width: float | str = "",
    ) -> None:
        """Draw a polygon."""
        looks: Looks = {"fill_opacity": opacity, "stroke": stroke, "stroke_width": width}
        self._add("polygon", tip=tip, points=_points(points), fill=fill, **looks)

    def dot(
        self,
        at: Point,
        shape: str,
        colour: str,
        *,
        size: float = 5,
        hollow: bool = False,
        tip: str = "",
    ) -> None:
        """Draw the mark of one value; ``size`` is half of its width."""
        x, y = at
        looks: Looks = {
            "fill": PAPER if hollow else colour,
            "stroke": colour if hollow else PAPER,
            "stroke_width": 1.8 if hollow else 1,
        }
        if shape == "circle":
            self._add("circle", tip=tip, cx=x, cy=y, r=size, **looks)
        elif shape == "bar":
            self.rect(x - 1.2, y - size - 3, 2.4, 2 * size + 6, INK, tip=tip)
        else:
            corners = ((x + size * dx, y + size * dy) for dx, dy in _CORNERS[shape])
            self._add("polygon", tip=tip, points=_points(corners), **looks)

    def text(
        self,
        at: Point,
        says: str,
        fill: str = INK,
        *,
        anchor: str = "",
        size: float | str = "",
        weight: str = "",
    ) -> None:
        """Draw a text; its baseline begins at a point, unless ``anchor`` is middle or end."""
        looks: Looks = {"text_anchor": anchor, "font_size": size, "font_weight": weight}
        self._add("text", says=says, x=at[0], y=at[1], fill=fill, **looks)


_CORNERS = {
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "up": ((0, -1.1), (1.1, 0.9), (-1.1, 0.9)),
    "down": ((0, 1.1), (1.1, -0.9), (-1.1, -0.9)),
    "left": ((-1.2, 0), (0.9, -1.1), (0.9, 1.1)),
    "right": ((1.2, 0), (-0.9, -1.1), (-0.9, 1.1)),
    "diamond": ((0, -1.2), (1.2, 0), (0, 1.2), (-1.2, 0)),
    "cross": (
        *((-0.4, -1.1), (0.4, -1.1), (0.4, -0.4), (1.1, -0.4), (1.1, 0.4), (0.4, 0.4)),
        *((0.4, 1.1), (-0.4, 1.1), (-0.4, 0.4), (-1.1, 0.4), (-1.1, -0.4), (-0.4, -0.4)),
    ),
}
"""Of shapes, in units of half the width."""


def text(says: str) -> str:
    """Return a text for SVG: escaped, with unprintable characters as code points."""
    return escape(visible(says))


def width_of(says: str, size: float = SIZE) -> float:
    """Return the width of a text in DejaVu Sans, the widest font of pages, px."""
    return sum(map(_width, says)) * size / 100


def shortened(says: str, width: float, size: float = SIZE) -> str:
    """Return a text of at most ``width`` px; a longer one loses words or letters in its middle."""
    width *= SIZE / size
    if width_of(says) <= width:
        return says
    words = says.split(" ")
    sides = (
        (words[: kept - kept // 2], words[-(kept // 2) :]) for kept in range(len(words) - 1, 2, -1)
    )
    by_words = (f"{' '.join(head)} … {' '.join(tail)}" for head, tail in sides)
    if short := next((short for short in by_words if width_of(short) <= width), None):
        return short
    cut = ((kept - kept // 3, len(says) - kept // 3) for kept in range(len(says) - 1, 0, -1))
    shorter = (f"{says[:head]}…{says[tail:]}" for head, tail in cut)
    return next((short for short in shorter if width_of(short) <= width), "…")


def _width(letter: str) -> int:
    """Return a letter's width in hundredths of the size, at most, for other scripts."""
    code = ord(letter)
    if 32 <= code < 127:
        return _WIDTHS[code - 32]
    return 64 if code < 0x2000 else 84 if code < 0x2E80 else 105


_WIDTHS: Sequence[int] = (
    *(32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64),
    *(64, 64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86),
    *(75, 79, 60, 79, 69, 63, 61, 73, 68, 99, 69, 61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63),
    *(62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64),
    *(34, 64, 84),
)
"""Advance widths of DejaVu Sans, from the space to the tilde."""


def number(value: float) -> str:
    """Return a coordinate to a tenth of a pixel."""
    if not math.isfinite(value):
        raise ValueError(f"a mark cannot be drawn at {value}")
    digits = f"{value:.1f}".removesuffix(".0")
    return "0" if digits == "-0" else digits


def _said(value: object) -> str:
    if isinstance(value, float):
        return number(value) if abs(value) >= 1 or value == 0 else f"{value:.2f}".rstrip("0")
    return str(value)


def _points(points: Iterable[Point]) -> str:
    return " ".join(f"{number(x)},{number(y)}" for x, y in points)
