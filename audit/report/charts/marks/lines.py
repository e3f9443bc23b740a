"""Lines, bands of intervals and areas, in panels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from audit.report.charts.marks import frame
from audit.report.charts.marks.frame import Box, Series
from audit.report.charts.marks.scales import Axis
from audit.report.charts.marks.svg import Canvas, Point
from audit.report.charts.style import INK, MAIN, MUTED, SIZE

_APART = 15.0
"""Least distance of labels at the ends of lines."""


@dataclass(frozen=True, slots=True)
class Line:
    """A series of points in the units of its axes."""

    name: str
    points: Sequence[Point]
    colour: str = MAIN
    dash: str = ""
    step: bool = False  # whether a value is constant until the next
    filled: float = 0.0  # opacity of the area below it; 0: no area
    floor: Sequence[float] = ()  # lower end of that area at each point; empty: the axis
    band: Sequence[tuple[float, float, float]] = ()  # x, lower and upper ends of intervals
    width: float = 2.2
    dotted: bool = False  # whether points have dots


Spanned: TypeAlias = tuple[float, float, str]
"""Begin and end of a range of x, and its text."""
Shaded: TypeAlias = tuple[Series, Sequence[tuple[float, float]]]
"""Ranges of x with a colour, which has a key above the panels."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines with one pair of axes."""

    x: Axis
    y: Axis
    lines: Sequence[Line]
    name: str = ""
    targets: Sequence[Spanned] = ()  # ranges with tips
    level: float | None = None  # of a dashed horizontal line
    spans: Sequence[Spanned] = ()  # shaded ranges, with names
    shaded: Shaded | None = None


def drawn(
    panels: Sequence[Panel], *, height: int = 170, abreast: int = 1, at_ends: bool = False
) -> tuple[str, int]:
    """Return panels, and their height in px.

    Args:
        panels: in reading order; their lines have the same names, or ``at_ends`` is set.
        height: of each panel.
        abreast: panels side by side.
        at_ends: whether names are at the ends of lines instead of above all panels.
    """
    canvas = Canvas()
    top = 6.0
    named = {line.name: line for panel in panels for line in panel.lines if line.name}
    keys = list(dict.fromkeys(panel.shaded[0] for panel in panels if panel.shaded))
    if named and not at_ends and (len(named) > 1 or len(panels[0].lines) > 1):
        keys = [*map(_key, named.values()), *keys]
    if keys:
        top = frame.keys(canvas, keys)
    right = frame.column_width(named) + 4 if at_ends else 8.0
    left = frame.column_width(label for panel in panels for _, label in panel.y.ticks)
    edges = frame.panels(len(panels), abreast, left)
    end = top
    for number, (panel, (start, stop)) in enumerate(zip(panels, edges, strict=True)):
        if number and number % abreast == 0:
            top = end + 12
        begin = frame.panel_title(canvas, panel.name, start, stop, top)
        if panel.y.title:
            canvas.text((0 if abreast == 1 else start - left, begin + 10), panel.y.title, MUTED)
            begin += 20
        if any(name for *_, name in panel.spans):
            begin += 12
        box = Box(start, begin, stop - right, begin + height)
        _panel(canvas, panel, box, at_ends)
        end = max(end, frame.across(canvas, panel.x, box))
    return canvas.body, round(end)


def _key(line: Line) -> Series:
    shape = "block" if line.floor else "line"
    return Series(line.name, line.colour, shape, line.dash)


def _panel(canvas: Canvas, panel: Panel, box: Box, at_ends: bool) -> None:
    x, y = panel.x.between(box.left, box.right), panel.y.between(box.bottom, box.top)

    def shade(begin: float, end: float, colour: str, opacity: float) -> float:
        wide = max(x(end) - x(begin), 1.5)
        canvas.rect(x(begin), box.top, wide, box.bottom - box.top, colour, opacity=opacity)
        return wide

    for begin, end, name in panel.spans:
        wide = shade(begin, end, MUTED, 0.16)
        if name:
            canvas.text((x(begin) + wide / 2, box.top - 3), name, MUTED, anchor="middle", size=11)
    if panel.shaded:
        of, ranges = panel.shaded
        for begin, end in ranges:
            shade(begin, end, of.colour, 0.35)
    frame.upwards(canvas, panel.y, box)
    for line in panel.lines:
        _line(canvas, line, x, y, box)
    if panel.level is not None:
        across = y(panel.level)
        canvas.line((box.left, across), (box.right, across), INK, 1, "3 3")
    if at_ends:
        _names(canvas, panel.lines, x, y, box)
    for begin, end, tip in panel.targets:
        canvas.tip_area(x(begin), box.top, x(end) - x(begin), box.bottom - box.top, tip)


Place = Callable[[float], float]


def _line(canvas: Canvas, line: Line, x: Place, y: Place, box: Box) -> None:
    if line.band:
        around = [(x(at), y(upper)) for at, _, upper in line.band]
        around += [(x(at), y(lower)) for at, lower, _ in reversed(line.band)]
        canvas.polygon(around, line.colour, opacity=0.2)
    points = [(x(at), y(value)) for at, value in line.points]
    if len(points) == 1:
        canvas.dot(points[0], "circle", line.colour)
        return
    seen = _stepped(points) if line.step else points
    if line.filled and points:
        floor = [(x(at), y(low)) for (at, _), low in zip(line.points, line.floor, strict=False)]
        floor = _stepped(floor) if line.step else floor
        floor = floor or [(seen[0][0], box.bottom), (seen[-1][0], box.bottom)]
        canvas.polygon([*seen, *reversed(floor)], line.colour, opacity=line.filled)
    if line.width:
        canvas.polyline(seen, line.colour, line.width, line.dash)
    if line.dotted:
        for point in points:
            canvas.dot(point, "circle", line.colour, size=3)


def _stepped(points: Sequence[Point]) -> list[Point]:
    """Return the corners of steps, without corners between equal values."""
    steps: list[Point] = []
    for x, y in points:
        if steps and steps[-1][1] != y:
            steps.append((x, steps[-1][1]))
        if not steps or steps[-1][1] != y:
            steps.append((x, y))
    if points and steps[-1][0] != points[-1][0]:
        steps.append((points[-1][0], points[-1][1]))
    return steps


def _names(canvas: Canvas, lines: Sequence[Line], x: Place, y: Place, box: Box) -> None:
    """Draw the name of each line at its end, moved apart if ends are close."""
    ends = sorted(
        (y(line.points[-1][1]), number) for number, line in enumerate(lines) if line.points
    )
    baselines: list[float] = []
    for end, _ in ends:
        here = end + SIZE * 0.35
        baselines.append(max(here, baselines[-1] + _APART) if baselines else here)
    if baselines and baselines[-1] > box.bottom + 4:
        limit = box.bottom + 4
        for number in range(len(baselines) - 1, -1, -1):
            baselines[number] = min(baselines[number], limit)
            limit = baselines[number] - _APART
    for (_, number), baseline in zip(ends, baselines, strict=True):
        right = x(lines[number].points[-1][0])
        canvas.text((min(right, box.right) + 6, baseline), lines[number].name)
