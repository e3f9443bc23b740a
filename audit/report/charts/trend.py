"""The picture of a pool from period to period: is it getting better?"""

from audit.report.charts import series
from audit.report.charts.marks import lines, scales
from audit.report.charts.marks.lines import Line, Panel, Target
from audit.report.charts.style import EARLIER, LATER, Chart
from audit.report.record.pool import Figure, Trend, TrendPoint
from audit.report.text import wording

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def trend(of: Trend | None) -> Chart | None:
    """Mean wait of each stretch of time with its interval, and how much of it was overtaken."""
    if of is None:
        return None
    known = [
        (place, point) for place, point in enumerate(of.points) if point.wait_mean.value is not None
    ]
    if len(known) < 2:
        return None
    figures = [point.wait_mean for _, point in known]
    overtaken = [
        (place, point.overtaken_time_mean)
        for place, point in known
        if point.overtaken_time_mean.value is not None
    ]
    highest = max(_end(figure) for figure in [*figures, *(figure for _, figure in overtaken)])
    unit, size = wording.time_unit(highest)
    drawn = [_line("mean wait", [(k, point.wait_mean) for k, point in known], size, EARLIER)]
    if overtaken:
        drawn.append(_line("of it overtaken", overtaken, size, LATER, "6 3"))
    ticks = tuple((float(k), _label(of.unit, k, point)) for k, point in enumerate(of.points))
    x = scales.Axis(-0.3, len(of.points) - 0.7, ticks)
    y = scales.linear([highest / size], scales.plain)
    targets = [Target(k - 0.5, k + 0.5, _tip(point)) for k, point in known]
    body, height = lines.drawn([Panel(x, y, drawn, targets=targets)], height=150, at_ends=True)
    first, last = known[0][1], known[-1][1]
    waits = [series.brief(_value(point.wait_mean)) for point in (first, last)]
    title = f"Mean wait: {waits[0]} in {_when(first)}, {waits[1]} in {_when(last)}"
    said = "; ".join(f"{point.label} {series.brief(_value(point.wait_mean))}" for _, point in known)
    alt = f"Lines with a band of 95 % intervals. Mean wait by {of.unit}: {said}."
    note = f"{_UNITS[unit]} per attempt, by {of.unit} in which attempts ended; band: 95 % interval."
    return Chart("trend", title, alt, body, height, note)


_UNITS = {"s": "Seconds", "min": "Minutes", "h": "Hours", "d": "Days"}


def _value(of: Figure) -> float:
    return of.value or 0.0


def _within(of: Figure) -> str:
    return series.within(Figure("wait_mean", of.value, of.lower, of.upper, "s"))


def _end(figure: Figure) -> float:
    return figure.upper if figure.upper is not None else _value(figure)


def _line(name: str, of: list[tuple[int, Figure]], size: int, colour: str, dash: str = "") -> Line:
    band = [
        (float(place), figure.lower / size, figure.upper / size)
        for place, figure in of
        if figure.lower is not None and figure.upper is not None
    ]
    points = [(float(place), _value(figure) / size) for place, figure in of]
    return Line(name, points, colour, dash, band=band, dotted=len(points) < 13)


def _label(unit: str, place: int, point: TrendPoint) -> str:
    """As short as an axis needs: a month by its letters, January by its year."""
    year, _, rest = point.label.partition("-")
    if unit == "month" and rest.isdecimal():
        return year if rest == "01" else _MONTHS[int(rest) - 1]
    return point.label if unit in ("year", "quarter") else rest or point.label


def _when(point: TrendPoint) -> str:
    """As a title says it: a month by its name."""
    year, _, rest = point.label.partition("-")
    is_month = rest.isdecimal() and len(rest) == 2
    return f"{_MONTHS[int(rest) - 1]} {year}" if is_month else point.label


def _tip(point: TrendPoint) -> str:
    wait, overtaken = point.wait_mean, point.overtaken_time_mean
    said = f"{point.label}: mean wait {wording.duration(wait.value)}{_within(wait)}"
    if overtaken.value is not None:
        said += f", of it overtaken {wording.duration(overtaken.value)}{_within(overtaken)}"
    return f"{said}; {wording.plural(point.attempts, 'attempt')}"
