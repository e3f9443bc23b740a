"""Bars divided into parts, and columns side by side or stacked."""

from collections.abc import Sequence
from dataclasses import dataclass

from audit.report.charts.marks import frame
from audit.report.charts.marks.frame import Box, Series
from audit.report.charts.marks.scales import Axis
from audit.report.charts.marks.svg import Canvas, shortened, width_of
from audit.report.charts.style import INK, MUTED, PAPER, SIZE, WIDTH

_STEP = 24
_THICK = 16
_MOST_LABEL = 150


@dataclass(frozen=True, slots=True)
class BarPart:
    """A part of a row."""

    series: int
    share: float  # of 1
    tip: str = ""
    says: str = ""  # inside the part, if it is wide enough


@dataclass(frozen=True, slots=True)
class Divided:
    """A bar divided into parts."""

    label: str
    parts: tuple[BarPart, ...]
    says: str = ""  # at the right end


def divided(
    rows: Sequence[Divided], series: Sequence[Series], heading: str = ""
) -> tuple[str, int]:
    """Return bars of equal length, and their height in px.

    ``heading`` is the title of the texts at the right ends.
    """
    canvas = Canvas()
    top = frame.keys(canvas, series) + 2
    labels = [shortened(row.label, _MOST_LABEL) for row in rows]
    left = frame.column_width(labels) + 2
    ends = [row.says for row in rows]
    right = WIDTH - (frame.column_width([*ends, heading]) if any(ends) else 0)
    if heading:
        canvas.text((WIDTH, top + 8), heading, MUTED, anchor="end")
        top += 16
    for number, (row, label) in enumerate(zip(rows, labels, strict=True)):
        y = top + _STEP * number
        baseline = y + _THICK / 2 + SIZE * 0.35
        canvas.text((left - 8, baseline), label, MUTED, anchor="end")
        x = left
        for part in row.parts:
            wide = part.share * (right - left)
            # A gap of one pixel separates neighbours.
            canvas.rect(x, y, max(wide - 1, wide * 0.6), _THICK, series[part.series].colour)
            if part.says and width_of(part.says) + 8 < wide:
                middle = (x + (wide - 1) / 2, baseline)
                canvas.text(middle, part.says, PAPER, anchor="middle", weight="bold")
            canvas.tip_area(x, y - 2, max(wide, 2.0), _THICK + 4, part.tip)
            x += wide
        if row.says:
            canvas.text((WIDTH, baseline), row.says, MUTED, anchor="end")
    return canvas.body, round(top + _STEP * len(rows) - 2)


@dataclass(frozen=True, slots=True)
class Bar:
    """A column, with its interval if it has one."""

    panel: int
    group: int
    series: int
    value: float
    lower: float | None = None
    upper: float | None = None
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Columns:
    """The layout of columns."""

    groups: Sequence[str]  # labels of adjacent columns, from the left
    series: Sequence[Series]
    axis: Axis
    panels: Sequence[str] = ("",)
    upon: bool = False  # whether the columns of a group are stacked
    height: int = 170
    title: str = ""  # of the groups
    between: bool = False  # whether labels are at the borders of groups


def columns(bars: Sequence[Bar], looks: Columns) -> tuple[str, int]:
    """Return columns in panels with one scale, and their height in px."""
    canvas = Canvas()
    top = 6.0
    if len(looks.series) > 1:
        top = frame.keys(canvas, looks.series)
    if looks.axis.title:
        canvas.text((0, top + 10), looks.axis.title, MUTED)
        top += 20
    abreast = 1 if len(looks.panels) == 1 else 2
    left = frame.column_width(label for _, label in looks.axis.ticks)
    edges = frame.panels(len(looks.panels), abreast, left)
    end = top
    for number, (name, (start, stop)) in enumerate(zip(looks.panels, edges, strict=True)):
        if number and number % abreast == 0:
            top = end + 10
        begin = frame.panel_title(canvas, name, start, stop, top)
        box = Box(start, begin, stop, begin + looks.height)
        frame.upwards(canvas, looks.axis, box)
        _columns(canvas, [bar for bar in bars if bar.panel == number], looks, box)
        end = _groups(canvas, looks, box)
    return canvas.body, round(end)


def _columns(canvas: Canvas, bars: Sequence[Bar], looks: Columns, box: Box) -> None:
    place = looks.axis.between(box.bottom, box.top)
    step = (box.right - box.left) / len(looks.groups)
    across = 1 if looks.upon else len(looks.series)
    gap = min(step * 0.16, 6)
    wide = (step - gap) / across
    height = dict.fromkeys(range(len(looks.groups)), 0.0)
    for bar in bars:
        offset = 0 if looks.upon else bar.series * wide
        x = box.left + step * bar.group + gap / 2 + offset
        below = height[bar.group] if looks.upon else 0.0
        high, low = sorted((place(below + bar.value), place(below)))
        height[bar.group] += bar.value
        seen = max(wide - (0.6 if across > 1 else 0), 0.5)
        canvas.rect(x, high, seen, low - high, looks.series[bar.series].colour)
        if bar.lower is not None and bar.upper is not None:
            middle = x + seen / 2
            canvas.line((middle, place(bar.lower)), (middle, place(bar.upper)), INK, 1.2)
        above, below_it = (high, low) if looks.upon else (box.top, box.bottom)
        canvas.tip_area(x, above, wide, below_it - above, bar.tip)


def _groups(canvas: Canvas, looks: Columns, box: Box) -> float:
    """Draw the labels of groups; return their lower end."""
    step = (box.right - box.left) / len(looks.groups)
    baseline = box.bottom + 15
    labels = list(looks.groups)
    canvas.line((box.left, box.bottom), (box.right, box.bottom), MUTED)
    if any(width_of(label) > step for label in labels) and not looks.between:
        rows = 2 if max(map(width_of, labels)) <= 2 * step else 3
        for number, label in enumerate(labels):
            half = width_of(label) / 2
            x = min(max(box.left + step * (number + 0.5), half), WIDTH - half)
            canvas.text((x, baseline + 15 * (number % rows)), label, MUTED, anchor="middle")
        return baseline + 15 * (rows - 1) + 5
    offset = 0 if looks.between else 0.5
    middles = (box.left + step * (number + offset) for number in range(len(labels)))
    frame.spaced(canvas, zip(middles, labels, strict=True), baseline, 4)
    end = baseline + 5
    if looks.title:
        canvas.text((box.right, baseline + frame.LINE_HEIGHT), looks.title, MUTED, anchor="end")
        end += frame.LINE_HEIGHT
    return end
