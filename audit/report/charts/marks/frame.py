"""What stands around marks: axes with their ticks and titles, and the keys of series."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from audit.report.charts.marks.scales import Axis
from audit.report.charts.marks.svg import Canvas, shortened, width_of
from audit.report.charts.style import INK, LINE, MAIN, MUTED, SIZE, WIDTH

LINE_HEIGHT = 18.0
_GAP = 16.0


class Box(NamedTuple):
    """Where marks stand: left, top, right and bottom edge, in px."""

    left: float
    top: float
    right: float
    bottom: float


class Series(NamedTuple):
    """How the marks of a series look."""

    name: str
    colour: str = MAIN
    shape: str = "circle"
    """Of dots; ``line`` for lines, ``block`` for bars and areas."""
    dash: str = ""
    hollow: bool = False


def keys(canvas: Canvas, series: Iterable[Series], top: float = 0.0) -> float:
    """Draws which mark is of which series, in as many lines as it takes; gives where it ends."""
    x, y = 0.0, top + 11
    for of in series:
        wide = 18 + width_of(of.name)
        if x and x + wide > WIDTH:
            x, y = 0.0, y + LINE_HEIGHT
        key(canvas, of, x, y)
        x += wide + _GAP
    return y + 12


def key(canvas: Canvas, of: Series, x: float, baseline: float) -> None:
    """The mark of a series, and its name beside it."""
    middle = baseline - SIZE * 0.35
    if of.shape == "line":
        canvas.line((x, middle), (x + 14, middle), of.colour, 2.4, of.dash)
    elif of.shape == "block":
        canvas.rect(x, middle - 5.5, 11, 11, of.colour)
    else:
        canvas.dot((x + 6, middle), of.shape, of.colour, hollow=of.hollow)
    canvas.text((x + 18, baseline), of.name)


def across(canvas: Canvas, axis: Axis, box: Box, *, grid: bool = False) -> float:
    """Draws the horizontal axis below a box; gives where it ends."""
    baseline = box.bottom + 15
    spaced(canvas, _ticks(canvas, axis, box, grid), baseline, 6)
    canvas.line((box.left, box.bottom), (box.right, box.bottom), LINE)
    if not axis.title:
        return baseline + 4
    canvas.text((box.right, baseline + LINE_HEIGHT), axis.title, MUTED, anchor="end")
    return baseline + LINE_HEIGHT + 5


def _ticks(canvas: Canvas, axis: Axis, box: Box, grid: bool) -> Iterator[tuple[float, str]]:
    """The labels of an axis by their middles; draws the line of each first."""
    place = axis.between(box.left, box.right)
    for value, label in axis.ticks:
        x, half = place(value), width_of(label) / 2
        if grid:
            canvas.line((x, box.top), (x, box.bottom), LINE)
        yield min(max(x - half, 0.0), WIDTH - 2 * half) + half, label


def spaced(
    canvas: Canvas, labels: Iterable[tuple[float, str]], baseline: float, gap: float
) -> None:
    """Draws labels by their middles, from the left, without those too close to the one before."""
    last = -1e9
    for middle, label in labels:
        half = width_of(label) / 2
        if middle - half > last:
            canvas.text((middle, baseline), label, MUTED, anchor="middle")
            last = middle + half + gap


def upwards(canvas: Canvas, axis: Axis, box: Box) -> None:
    """Draws the vertical axis to the left of a box, with a line across for each tick."""
    place = axis.between(box.bottom, box.top)
    for value, label in axis.ticks:
        y = place(value)
        canvas.line((box.left, y), (box.right, y), LINE)
        if label:
            canvas.text((box.left - 6, y + SIZE * 0.35), label, MUTED, anchor="end")


def room_for(labels: Iterable[str]) -> float:
    """How wide a column of labels is, with the gap to what it stands beside."""
    return max((width_of(label) for label in labels), default=0.0) + 8


def reference(canvas: Canvas, x: float, box: Box) -> None:
    """A dashed line from top to bottom."""
    canvas.line((x, box.top), (x, box.bottom), INK, 1, "3 3")


def panels(
    number: int, abreast: int, left: float, gap: float = 18.0
) -> Sequence[tuple[float, float]]:
    """Left and right edges of panels side by side; ``left`` is kept for the axis of each."""
    wide = (WIDTH - gap * (abreast - 1)) / abreast
    begins = [panel % abreast * (wide + gap) for panel in range(number)]
    return [(begin + left, begin + wide) for begin in begins]


def panel_title(canvas: Canvas, name: str, start: float, stop: float, top: float) -> float:
    """The title of a panel, where it has one; gives where the panel's box begins."""
    if not name:
        return top
    canvas.text((start, top + 11), shortened(name, stop - start))
    return top + 20
