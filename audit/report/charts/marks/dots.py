"""Rows of dots with intervals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from audit.report.charts.marks import frame
from audit.report.charts.marks.frame import Box, Series
from audit.report.charts.marks.scales import Axis
from audit.report.charts.marks.svg import Canvas, shortened, width_of
from audit.report.charts.style import LINE, MUTED, SIZE, WIDTH

STEP = 24
_MOST_LABEL = 195


@dataclass(frozen=True, slots=True)
class Dot:
    """A value of a series, with its interval if it has one."""

    series: int
    value: float
    lower: float | None = None
    upper: float | None = None
    tip: str = ""
    faint: bool = False  # computed from few attempts


@dataclass(frozen=True, slots=True)
class DotRow:
    """A row of dots."""

    label: str
    dots: tuple[Dot, ...]
    says: str = ""  # at the right end


@dataclass(frozen=True, slots=True)
class Looks:
    """The layout of rows of dots."""

    series: Sequence[Series]
    axis: Axis
    rule: float | None = None  # position of a dashed vertical line
    sides: tuple[str, str] = ("", "")  # meaning of its left and right side
    joined: bool = False  # whether a line joins the dots of a row


def drawn(rows: Sequence[DotRow], looks: Looks) -> tuple[str, int]:
    """Return rows from the top, and their height in px."""
    canvas = Canvas()
    top = 4.0
    if len(looks.series) > 1:
        top = frame.keys(canvas, looks.series)
    labels = [shortened(row.label, _MOST_LABEL) for row in rows]
    left = frame.column_width(labels) + 6
    right = WIDTH - (
        frame.column_width(row.says for row in rows) if any(r.says for r in rows) else 8
    )
    if looks.rule is not None and any(looks.sides):
        top += 18
    box = Box(left, top, right, top + STEP * len(rows))
    place = looks.axis.between(left + 6, right - 6)
    end = frame.across(canvas, looks.axis, box._replace(left=left + 6, right=right - 6), grid=True)
    _rule(canvas, looks, box, place(looks.rule) if looks.rule is not None else 0.0)
    for number, (row, label) in enumerate(zip(rows, labels, strict=True)):
        middle = top + STEP * (number + 0.5)
        canvas.text((left - 6, middle + SIZE * 0.35), label, MUTED, anchor="end")
        if row.says:
            canvas.text((right + 8, middle + SIZE * 0.35), row.says, MUTED)
        _row(canvas, row, looks, middle, place)
    return canvas.body, round(end)


def _rule(canvas: Canvas, looks: Looks, box: Box, x: float) -> None:
    if looks.rule is None:
        return
    frame.reference(canvas, x, box._replace(top=box.top - 4))
    before, after = looks.sides
    if before and x - width_of(before) > 14:
        canvas.text((x - 8, box.top - 8), f"← {before}", MUTED, anchor="end")
    if after and x + width_of(after) < WIDTH - 14:
        canvas.text((x + 8, box.top - 8), f"{after} →", MUTED)


def _row(
    canvas: Canvas, row: DotRow, looks: Looks, middle: float, place: Callable[[float], float]
) -> None:
    """Draw a row; several dots with intervals are shifted down one after the other."""
    spread = [dot for dot in row.dots if dot.lower is not None]
    apart = 0.0 if looks.joined or len(spread) < 2 else 7.0 if len(row.dots) < 3 else 5.0
    if looks.joined and row.dots:
        ends = [place(dot.value) for dot in row.dots]
        canvas.line((min(ends), middle), (max(ends), middle), LINE, 3)
    for number, dot in enumerate(row.dots):
        of = looks.series[dot.series]
        y = middle + apart * (number - (len(row.dots) - 1) / 2)
        if dot.lower is not None and dot.upper is not None:
            canvas.line((place(dot.lower), y), (place(dot.upper), y), of.colour, 2)
        canvas.dot(
            (place(dot.value), y), of.shape, of.colour, hollow=of.hollow or dot.faint, tip=dot.tip
        )
