"""Charts over time: how busy a pool was and what waited; whether it gets better; walltimes used."""

from collections.abc import Callable, Sequence
from typing import Final

from audit.model import FLOOD_ATTEMPTS, FLOOD_WORK
from audit.report.charts import series
from audit.report.charts.marks import bars, lines, scales
from audit.report.charts.marks.bars import Bar
from audit.report.charts.marks.frame import Series
from audit.report.charts.marks.lines import Line, Panel, Target
from audit.report.charts.marks.scales import Axis
from audit.report.charts.series import Daily, value
from audit.report.charts.style import EARLIER, LATER, Chart
from audit.report.record.pool import Figure, Flood, PoolPart, Trend, TrendPoint
from audit.report.text import wording

_DAILY: Final = 400
"""More days are drawn as weeks: a day would be hardly a pixel."""
_FLOODS: Final = 4
_APART: Final = 0.16
"""Of the width of the chart, between two floods that are marked."""
_POINTED_AT: Final = 100
"""Where there are more points, a tip covers seven."""


def machine(pool: PoolPart) -> Chart | None:
    """The busy share of a pool and the work that waits for it, day by day; floods are marked."""
    busy = series.days(pool, "utilization")
    if not busy:
        return None
    known = {day for day, _ in busy}
    work = [(day, s / 3_600) for day, s in pool.pictured.waiting_work if day in known]
    first, last = busy[0][0], busy[-1][0]
    x = scales.days(first, last)
    weekly = len(busy) > _DAILY
    every = " (weekly means)" if weekly else ""
    floods: list[Flood] = []
    y = scales.shares([1.0], title=f"Busy share of the pool{every}")
    panels = [_panel(busy, x, y, EARLIER, lambda share: f"{wording.percent(share)} busy")]
    if any(hours for _, hours in work):
        top = max(hours for _, hours in (series.by_week(work) if weekly else work))
        y = scales.linear([top], scales.plain, title=f"Work waiting, h of the whole pool{every}")
        floods = _marked(pool.pictured.floods, known, len(busy))
        panels.append(_panel(work, x, y, LATER, lambda h: f"{_hours(h)} of work waiting", floods))
    mean = pool.figure("utilization").value
    title = f"The pool was {100 * mean:.0f} % busy" if mean is not None else "The pool over time"
    words = title
    if work:
        day, most = max(work, key=lambda of: of[1])
        title += f"; at most {_hours(most)} of work waited, on {scales.day(day)}"
        middle = sorted(hours for _, hours in work)[len(work) // 2]
        words += f"; half of the days {_hours(middle)} of work or less waited"
    note = "Work waiting: what queued attempts went on to use, in hours of the whole pool."
    if floods:
        note += (
            f" Grey: the largest floods, days on which one user brought {FLOOD_ATTEMPTS} attempts "
            f"or more with at least {wording.rough_percent(FLOOD_WORK)} of a day's work."
        )
    return Chart(
        "machine",
        title,
        f"Areas over time, {first} to {last}. {title}. {words}.",
        *lines.drawn(panels, height=92),
        note if len(panels) > 1 else "",
    )


def _hours(hours: float) -> str:
    return f"{wording.number(hours, 2)} h"


def _marked(floods: Sequence[Flood], known: set[str], days: int) -> list[Flood]:
    """The largest floods, so far apart that their names do not cover each other."""
    apart = days * _APART
    marked: list[Flood] = []
    for flood in floods:
        near = (abs(scales.day_number(flood.day, one.day)) for one in marked)
        if flood.day in known and all(between >= apart for between in near):
            marked.append(flood)
    return marked[:_FLOODS]


def _panel(
    daily: Daily,
    x: Axis,
    y: Axis,
    colour: str,
    say: Callable[[float], str],
    floods: Sequence[Flood] = (),
) -> Panel:
    first = daily[0][0]
    drawn = series.by_week(daily) if len(daily) > _DAILY else daily
    begins = [float(scales.day_number(day, first)) for day, _ in drawn]
    ends = [*begins[1:], x.high]
    points = [(begin, of) for begin, (_, of) in zip(begins, drawn, strict=True)]
    points.append((ends[-1], points[-1][1]))
    every = 7 if len(points) > _POINTED_AT else 1
    targets = [
        Target(begins[at], ends[min(at + every, len(ends)) - 1], _tip(drawn[at : at + every], say))
        for at in range(0, len(drawn), every)
    ]
    spans = [
        (float(day := scales.day_number(flood.day, first)), day + 1.0, _user(flood))
        for flood in floods
    ]
    line = Line("", points, colour, step=True, filled=0.3, width=1.2)
    return Panel(x, y, [line], targets=targets, spans=spans)


def _tip(of: Daily, say: Callable[[float], str]) -> str:
    """The mean of some days."""
    mean = sum(value for _, value in of) / len(of)
    when = scales.day(of[0][0]) + (f" to {scales.day(of[-1][0])}" if len(of) > 1 else "")
    return f"{when}: {say(mean)}"


def _user(flood: Flood) -> str:
    return f"user {wording.name(flood.user, 12)}"


_UNITS: Final = {"s": "Seconds", "min": "Minutes", "h": "Hours", "d": "Days"}


def trend(of: Trend | None, *, modelled: bool) -> Chart | None:
    """Draw the mean wait by stretch of time; if ``modelled``, also delay by later arrivals."""
    known = [
        (place, point)
        for place, point in enumerate(of.points if of else ())
        if point.wait_mean.value is not None
    ]
    if of is None or len(known) < 2:
        return None
    waits = [(place, point.wait_mean) for place, point in known]
    overtaken = [
        (place, point.overtaken_time_mean)
        for place, point in known
        if modelled and point.overtaken_time_mean.value is not None
    ]
    highest = max(
        figure.upper if figure.upper is not None else value(figure)
        for _, figure in [*waits, *overtaken]
    )
    unit, size = wording.time_unit(highest)
    drawn = [_line("mean wait", waits, size, EARLIER)]
    if overtaken:
        drawn.append(_line("modelled delay", overtaken, size, LATER, "6 3"))
    ticks = tuple((float(k), _label(of.unit, point)) for k, point in enumerate(of.points))
    x = scales.Axis(-0.3, len(of.points) - 0.7, ticks)
    y = scales.linear([highest / size], scales.plain)
    targets = [Target(k - 0.5, k + 0.5, _point_tip(point, modelled)) for k, point in known]
    ends = (
        f"{series.brief(value(point.wait_mean))} in {_when(point)}"
        for _, point in (known[0], known[-1])
    )
    words = "; ".join(f"{point.label} {series.brief(value(point.wait_mean))}" for _, point in known)
    return Chart(
        "trend",
        f"Mean wait: {', '.join(ends)}",
        f"Lines with a band of 95 % intervals. Mean wait by {of.unit}: {words}.",
        *lines.drawn([Panel(x, y, drawn, targets=targets)], height=150, at_ends=True),
        f"{_UNITS[unit]} per attempt, by {of.unit} in which attempts ended; band: 95 % interval.",
    )


def _line(
    name: str, of: Sequence[tuple[int, Figure]], size: int, colour: str, dash: str = ""
) -> Line:
    band = [
        (float(place), figure.lower / size, figure.upper / size)
        for place, figure in of
        if figure.lower is not None and figure.upper is not None
    ]
    points = [(float(place), value(figure) / size) for place, figure in of]
    return Line(name, points, colour, dash, band=band, dotted=len(points) < 13)


def _label(unit: str, point: TrendPoint) -> str:
    """As short as an axis needs: a month by its letters, January by its year."""
    year, _, rest = point.label.partition("-")
    if unit == "month" and rest.isdecimal():
        return year if rest == "01" else scales.MONTHS[int(rest) - 1]
    return point.label if unit in ("year", "quarter") else rest or point.label


def _when(point: TrendPoint) -> str:
    """As a title says it: a month by its name."""
    year, _, rest = point.label.partition("-")
    is_month = rest.isdecimal() and len(rest) == 2
    return f"{scales.MONTHS[int(rest) - 1]} {year}" if is_month else point.label


def _point_tip(point: TrendPoint, modelled: bool) -> str:
    wait, delay = point.wait_mean, point.overtaken_time_mean
    tip = f"{point.label}: mean wait {wording.duration(wait.value)}{series.within(wait)}"
    if modelled and delay.value is not None:
        tip += f", modelled delay {wording.duration(delay.value)}{series.within(delay)}"
    return f"{tip}; {wording.plural(point.attempts, 'attempt')}"


_MANY: Final = 0.05
"""Share of attempts that ran longer than their walltime from which the title names it."""


def walltime(pool: PoolPart) -> Chart | None:
    """Attempts by the part of their walltime that they used."""
    used = pool.pictured.walltimes
    if used is None:
        return None
    shares = [count / used.attempts for count in used.tenths]
    ranges = [f"{10 * tenth} to {10 * tenth + 10} %" for tenth in range(10)] + ["More than all"]
    read = [(name, wording.percent(share)) for name, share in zip(ranges, shares, strict=True)]
    drawn = [
        Bar(
            0,
            tenth,
            int(tenth == 10),
            share,
            tip=f"{name} of the walltime: {words} of the attempts",
        )
        for tenth, (share, (name, words)) in enumerate(zip(shares, read, strict=True))
    ]
    looks = bars.Columns(
        ("0", "10", "20", "30", "40", "50", "60", "70", "80", "90", "100 %"),
        (Series("within what was asked for", EARLIER, "block"), Series("longer", LATER, "block")),
        scales.shares(shares, title="Share of attempts"),
        upon=True,
        height=130,
        title="Part of the walltime asked for that was used",
        between=True,
    )
    title = f"Half of the attempts used {series.part(used.median)} of their walltime or less"
    if shares[10] >= _MANY:
        title += f"; {series.part(shares[10])} ran longer than that"
    words = "; ".join(f"{name}: {share}" for name, share in read)
    return Chart(
        "walltime",
        title,
        f"Columns. Part of the walltime that was used, and share of attempts: {words}.",
        *bars.columns(drawn, looks),
        f"Of {wording.plural(used.attempts, 'attempt')} whose walltime is known.",
    )
