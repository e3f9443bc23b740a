"""Heat maps: values as strengths of a colour, in panels side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

from audit.report.charts.marks import frame
from audit.report.charts.marks.svg import Canvas, shortened, width_of
from audit.report.charts.style import LINE, MAIN, MUTED, SIZE

_HEIGHT = 19.0
_MISSING = 0.55


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A value and its position."""

    panel: int
    row: int
    column: int
    strength: float | None  # 0 to 1; None: no value, or an uncertain one
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Map:
    """The layout of cells."""

    rows: Sequence[str]
    columns: Sequence[str]  # labels; may be empty
    legend: tuple[str, str]  # of no colour and of full colour
    what: str = ""  # title of the values
    missing: str = ""  # legend of cells without a value
    title: str = ""  # of the columns
    panels: Sequence[str] = ("",)
    abreast: int = 1


def drawn(cells: Sequence[HeatCell], looks: Map) -> tuple[str, int]:
    """Return the heat map, and its height in px."""
    canvas = Canvas()
    top = _legend(canvas, looks)
    left = min(frame.column_width(looks.rows), 130.0)
    edges = frame.panels(len(looks.panels), looks.abreast, left, 14)
    of_panel: dict[int, list[HeatCell]] = {}
    for cell in cells:
        of_panel.setdefault(cell.panel, []).append(cell)
    end = top
    for number, (name, (start, stop)) in enumerate(zip(looks.panels, edges, strict=True)):
        if number and number % looks.abreast == 0:
            top = end + 8
        titled = start if width_of(name) <= stop - start else start - left
        begin = frame.panel_title(canvas, name, titled, stop, top)
        wide = (stop - start) / len(looks.columns)
        for row, label in enumerate(looks.rows):
            baseline = begin + _HEIGHT * (row + 0.5) + SIZE * 0.35
            canvas.text((start - 6, baseline), shortened(label, 124), MUTED, anchor="end")
        for cell in of_panel.get(number, ()):
            x, y = start + wide * cell.column, begin + _HEIGHT * cell.row
            if cell.strength is None:
                canvas.rect(x, y, wide - 1, _HEIGHT - 1, LINE, tip=cell.tip, opacity=_MISSING)
            else:
                _coloured(canvas, x, y, wide - 1, _HEIGHT - 1, cell.strength, cell.tip)
        end = _labels(canvas, looks, start, wide, begin + _HEIGHT * len(looks.rows), stop)
    return canvas.body, round(end)


def _coloured(
    canvas: Canvas, x: float, y: float, wide: float, high: float, strength: float, tip: str = ""
) -> None:
    opacity = round(0.06 + 0.94 * min(max(strength, 0.0), 1.0), 2)
    canvas.rect(x, y, wide, high, MAIN, tip=tip, opacity=opacity)


def _labels(
    canvas: Canvas, looks: Map, start: float, wide: float, bottom: float, stop: float
) -> float:
    labels = [
        (start + wide * (number + 0.5), label)
        for number, label in enumerate(looks.columns)
        if label
    ]
    frame.spaced(canvas, labels, bottom + 14, 5)
    if not looks.title:
        return bottom + 20
    canvas.text((stop, bottom + 14 + frame.LINE_HEIGHT), looks.title, MUTED, anchor="end")
    return bottom + 20 + frame.LINE_HEIGHT


def _legend(canvas: Canvas, looks: Map) -> float:
    """Draw the legend; return its lower end."""
    nothing, full = looks.legend
    x = 0.0
    if looks.what:
        canvas.text((0, 12), looks.what, MUTED)
        x = width_of(looks.what) + 14
    canvas.text((x, 12), nothing, MUTED)
    x += width_of(nothing) + 6
    for number in range(5):
        _coloured(canvas, x + 16 * number, 2, 15, 12, number / 4)
    canvas.text((x + 86, 12), full, MUTED)
    x += 86 + width_of(full) + 16
    if looks.missing and x + 20 + width_of(looks.missing) < 520:
        canvas.rect(x, 2, 12, 12, LINE, opacity=_MISSING)
        canvas.text((x + 17, 12), looks.missing, MUTED)
    return 24.0
