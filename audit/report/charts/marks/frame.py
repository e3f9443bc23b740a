"""Axes, keys and titles around marks."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from audit.report.charts.marks.scales import Axis
from audit.report.charts.marks.svg import Canvas, shortened, width_of
from audit.report.charts.style import INK, LINE, MAIN, MUTED, SIZE, WIDTH

LINE_HEIGHT = 18.0
_GAP = 16.0


class Box(NamedTuple):
    """The edges of an area for marks, px."""

    left: float
    top: float
    right: float
    bottom: float


class Series(NamedTuple):
    """The name and looks of a series."""

    name: str
    colour: str = MAIN
    shape: str = "circle"  # of dots; ``line``, or ``block`` for bars and areas
    dash: str = ""
    hollow: bool = False


def keys(canvas: Canvas, series: Iterable[Series]) -> float:
    """Draw the keys of all series in as many lines as needed; return the lower end."""
    x, y = 0.0, 11.0
    for of in series:
        wide = 18 + width_of(of.name)
        if x and x + wide > WIDTH:
            x, y = 0.0, y + LINE_HEIGHT
        key(canvas, of, x, y)
        x += wide + _GAP
    return y + 12


def key(canvas: Canvas, of: Series, x: float, baseline: float) -> None:
    """Draw the mark and the name of a series."""
    middle = baseline - SIZE * 0.35
    if of.shape == "line":
        canvas.line((x, middle), (x + 14, middle), of.colour, 2.4, of.dash)
    elif of.shape == "block":
        canvas.rect(x, middle - 5.5, 11, 11, of.colour)
    else:
        canvas.dot((x + 6, middle), of.shape, of.colour, hollow=of.hollow)
    canvas.text((x + 18, baseline), of.name)


def across(canvas: Canvas, axis: Axis, box: Box, *, grid: bool = False) -> float:
    """Draw the horizontal axis below a box; return its lower end."""
    baseline = box.bottom + 15
    spaced(canvas, _ticks(canvas, axis, box, grid), baseline, 6)
    canvas.line((box.left, box.bottom), (box.right, box.bottom), LINE)
    if not axis.title:
        return baseline + 4
    canvas.text((box.right, baseline + LINE_HEIGHT), axis.title, MUTED, anchor="end")
    return baseline + LINE_HEIGHT + 5


def _ticks(canvas: Canvas, axis: Axis, box: Box, grid: bool) -> Iterator[tuple[float, str]]:
    """Yield middles and labels of an axis after drawing its grid."""
    place = axis.between(box.left, box.right)
    for value, label in axis.ticks:
        x, half = place(value), width_of(label) / 2
        if grid:
            canvas.line((x, box.top), (x, box.bottom), LINE)
        yield min(max(x - half, 0.0), WIDTH - 2 * half) + half, label


def spaced(
    canvas: Canvas, labels: Iterable[tuple[float, str]], baseline: float, gap: float
) -> None:
    """Draw labels at their middles from the left, without those too close to the previous one."""
    last = -1e9
    for middle, label in labels:
        half = width_of(label) / 2
        if middle - half > last:
            canvas.text((middle, baseline), label, MUTED, anchor="middle")
            last = middle + half + gap


def upwards(canvas: Canvas, axis: Axis, box: Box) -> None:
    """Draw the vertical axis to the left of a box, with a line across for each tick."""
    place = axis.between(box.bottom, box.top)
    for value, label in axis.ticks:
        y = place(value)
        canvas.line((box.left, y), (box.right, y), LINE)
        if label:
            canvas.text((box.left - 6, y + SIZE * 0.35), label, MUTED, anchor="end")


def column_width(labels: Iterable[str]) -> float:
    """Return the width of a column of labels with the gap beside it."""
    return max((width_of(label) for label in labels), default=0.0) + 8


def reference(canvas: Canvas, x: float, box: Box) -> None:
    """Draw a dashed line from top to bottom."""
    canvas.line((x, box.top), (x, box.bottom), INK, 1, "3 3")


def panels(
    number: int, abreast: int, left: float, gap: float = 18.0
) -> Sequence[tuple[float, float]]:
    """Return left and right edges of panels, ``abreast`` in a row; ``left`` px are for axes."""
    wide = (WIDTH - gap * (abreast - 1)) / abreast
    begins = [panel % abreast * (wide + gap) for panel in range(number)]
    return [(begin + left, begin + wide) for begin in begins]


def panel_title(canvas: Canvas, name: str, start: float, stop: float, top: float) -> float:
    """Draw the title of a panel if it has one; return the top of the panel's box."""
    if not name:
        return top
    canvas.text((start, top + 11), shortened(name, stop - start))
    return top + 20
