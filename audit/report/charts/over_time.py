"""Charts over time: use of the machine and its queue, waits, and used walltimes."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from audit.periods import zone
from audit.report.charts import series
from audit.report.charts.marks import bars, lines, scales
from audit.report.charts.marks.bars import Bar
from audit.report.charts.marks.frame import Series
from audit.report.charts.marks.lines import Line, Panel, Shaded, TipRange
from audit.report.charts.marks.scales import Axis
from audit.report.charts.series import Daily, value
from audit.report.charts.style import EARLIER, LATER, UNAVAILABLE, Chart
from audit.report.record.pool import Burst, Figure, Outage, PoolPart, Trend, TrendPoint
from audit.report.text import belief, wording

_DAILY: Final = 400
"""More days than this are drawn as weeks."""
_BURSTS: Final = 4
"""Most bursts that are marked."""
_APART: Final = 0.16
"""Least distance of marked bursts, as a fraction of the width."""
_POINTED_AT: Final = 100
"""With more points than this, a tip covers seven."""


_OUTAGES: Final = Series("outage: nothing ran although a job could have", UNAVAILABLE, "block")


_BUSY: Final = "Busy share of the pool"


def machine(pool: PoolPart, zone_name: str) -> Chart | None:
    """Draw the busy share of a pool and its waiting work by day, with bursts and outages."""
    busy = series.days(pool, "utilization")
    if not busy:
        return None
    known = {day for day, _ in busy}
    work = [(day, s / 3_600) for day, s in pool.pictured.waiting_work if day in known]
    first, last = busy[0][0], busy[-1][0]
    x = scales.days(first, last)
    weekly = len(busy) > _DAILY
    every = " (weekly means)" if weekly else ""
    of = "Share of the pool used by this part of the workload" if pool.part else _BUSY
    y = scales.shares([1.0], title=f"{of}{every}")
    shaded = _shaded(pool.outages, first, x.high, zone_name)
    panels = [_panel(busy, x, y, EARLIER, lambda share: f"{wording.percent(share)} busy", shaded)]
    title = f"The pool was {mean}" if (mean := belief.busy(pool)) else "The pool over time"
    alt, note = "", ""
    if any(hours for _, hours in work):
        top = max(hours for _, hours in (series.by_week(work) if weekly else work))
        y = scales.linear(
            [top], scales.plain, title=f"Waiting work, hours of the whole pool{every}"
        )
        marked = _marked(pool.pictured.bursts, first, last)
        panels.append(_panel(work, x, y, LATER, _waiting_work, shaded, marked))
        note = "Waiting work: later use of the queued jobs, in hours of the whole pool."
        if marked:
            note += " Grey: the largest bursts, in which one user's jobs queue behind each other."
        day, most = max(work, key=lambda of: of[1])
        middle = sorted(hours for _, hours in work)[len(work) // 2]
        alt = f" Median waiting work by day: {_hours(middle)}."
        title += f"; waiting work reached {_hours(most)} on {scales.day(day)}"
    return Chart(
        "machine",
        title,
        f"Areas over time, {first} to {last}. {title}.{alt}{_outages_in(shaded)}",
        *lines.drawn(panels, height=92),
        note,
    )


def _shaded(outages: Sequence[Outage], first: str, high: float, zone_name: str) -> Shaded | None:
    """Return the outages of the days from ``first`` on, in days of the cluster's clock."""
    clock = zone(zone_name)
    midnight = datetime.fromisoformat(first)

    def place(instant: int) -> float:
        local = datetime.fromtimestamp(instant, clock).replace(tzinfo=None)
        return min(max((local - midnight) / timedelta(days=1), 0.0), high)

    ranges = sorted((place(one.from_time), place(one.to_time)) for one in outages)
    inside = [(begin, end) for begin, end in ranges if begin < end]
    return Shaded(_OUTAGES, inside) if inside else None


def _outages_in(shaded: Shaded | None) -> str:
    return f" Shaded: {wording.plural(len(shaded.ranges), 'outage')}." if shaded else ""


def _waiting_work(hours: float) -> str:
    return f"{_hours(hours)} of waiting work"


def _hours(hours: float) -> str:
    return f"{wording.number(hours, 2)} h" if hours >= 1 else series.brief(3_600 * hours)


def _marked(bursts: Sequence[Burst], first: str, last: str) -> list[Burst]:
    """Return the largest bursts whose names do not cover each other; first and last day."""

    def middle(burst: Burst) -> float:
        ends = (min(max(day, first), last) for day in (burst.first, burst.last))
        return sum(scales.day_number(day, first) for day in ends) / 2

    apart = _APART * (scales.day_number(last, first) + 1)
    marked: list[Burst] = []
    for burst in bursts:
        near = (abs(middle(burst) - middle(one)) for one in marked)
        inside = burst.first <= last and burst.last >= first
        if inside and all(between >= apart for between in near):
            marked.append(burst)
    return marked[:_BURSTS]


def _panel(
    daily: Daily,
    x: Axis,
    y: Axis,
    colour: str,
    say: Callable[[float], str],
    shaded: Shaded | None,
    bursts: Sequence[Burst] = (),
) -> Panel:
    first = daily[0][0]
    drawn = series.by_week(daily) if len(daily) > _DAILY else daily
    begins = [float(scales.day_number(day, first)) for day, _ in drawn]
    ends = [*begins[1:], x.high]
    points = [(begin, of) for begin, (_, of) in zip(begins, drawn, strict=True)]
    points.append((ends[-1], points[-1][1]))
    every = 7 if len(points) > _POINTED_AT else 1
    targets = [
        TipRange(
            begins[at], ends[min(at + every, len(ends)) - 1], _tip(drawn[at : at + every], say)
        )
        for at in range(0, len(drawn), every)
    ]
    spans = [
        (
            float(scales.day_number(burst.first, first)),
            scales.day_number(burst.last, first) + 1.0,
            f"user {wording.name(burst.user, 12)}",
        )
        for burst in bursts
    ]
    line = Line("", points, colour, step=True, filled=0.3, width=1.2)
    return Panel(x, y, [line], targets=targets, spans=spans, shaded=shaded)


def _tip(of: Daily, say: Callable[[float], str]) -> str:
    mean = sum(value for _, value in of) / len(of)
    when = scales.day(of[0][0]) + (f" to {scales.day(of[-1][0])}" if len(of) > 1 else "")
    return f"{when}: {say(mean)}"


_UNITS: Final = {"s": "Seconds", "min": "Minutes", "h": "Hours", "d": "Days"}


def trend(of: Trend | None, *, delayed: bool) -> Chart | None:
    """Draw the mean wait by stretch of time; if ``delayed``, also delay by later arrivals."""
    known = [
        (place, point)
        for place, point in enumerate(of.points if of else ())
        if point.wait_mean.value is not None
    ]
    if of is None or len(known) < 2:
        return None
    waits = [(place, point.wait_mean) for place, point in known]
    delays = [
        (place, point.miss_delivered_mean)
        for place, point in known
        if delayed and point.miss_delivered_mean.value is not None
    ]
    highest = max(
        figure.upper if figure.upper is not None else value(figure)
        for _, figure in [*waits, *delays]
    )
    unit, size = wording.time_unit(highest)
    drawn = [_line("mean wait", waits, size, EARLIER)]
    if delays:
        drawn.append(_line("delay by later arrivals", delays, size, LATER, "6 3"))
    ticks = tuple((float(k), _label(of.unit, point)) for k, point in enumerate(of.points))
    x = scales.Axis(-0.3, len(of.points) - 0.7, ticks)
    y = scales.linear([highest / size], scales.plain)
    targets = [TipRange(k - 0.5, k + 0.5, _point_tip(point, delayed)) for k, point in known]
    ends = (
        f"{series.brief(value(point.wait_mean), highest)} {_when(point)}"
        for _, point in (known[0], known[-1])
    )
    words = "; ".join(f"{point.label} {series.brief(value(point.wait_mean))}" for _, point in known)
    return Chart(
        "trend",
        f"Mean wait: {', '.join(ends)}",
        f"Lines with a band of 95 % intervals. Mean wait by {of.unit}: {words}.",
        *lines.drawn([Panel(x, y, drawn, targets=targets)], height=150, at_ends=True),
        f"{_UNITS[unit]} per attempt, by {of.unit} in which they ended; band: 95 % interval.",
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
    """Return a short label: a month by its letters, January by its year."""
    year, _, rest = point.label.partition("-")
    if unit == "month" and rest.isdecimal():
        return year if rest == "01" else scales.MONTHS[int(rest) - 1]
    return point.label if unit in ("year", "quarter") else rest or point.label


def _when(point: TrendPoint) -> str:
    """Return a stretch as ``in Oct 1996``, ``in week 33 of 2014`` or ``on 2016-12-30``."""
    year, _, rest = point.label.partition("-")
    if rest.isdecimal() and len(rest) == 2:
        return f"in {scales.MONTHS[int(rest) - 1]} {year}"
    if rest.startswith("W"):
        return f"in week {int(rest[1:])} of {year}"
    return f"{'on' if '-' in rest else 'in'} {point.label}"


def _point_tip(point: TrendPoint, delayed: bool) -> str:
    figures = {"mean wait": point.wait_mean}
    if delayed and point.miss_delivered_mean.value is not None:
        figures["delay by later arrivals"] = point.miss_delivered_mean
    each = (f"{n} {wording.duration(of.value)}{series.within(of)}" for n, of in figures.items())
    return f"{point.label}: {', '.join(each)}; {wording.plural(point.attempts, 'attempt')}"


_MANY: Final = 0.05
"""Least share of attempts beyond their walltime that the title mentions."""


def walltime(pool: PoolPart) -> Chart | None:
    """Draw attempts by the used part of their walltime."""
    used = pool.pictured.walltimes
    if used is None:
        return None
    shares = [count / used.attempts for count in used.tenths]
    ranges = [f"{10 * tenth} to {10 * tenth + 10} %" for tenth in range(10)] + ["over 100 %"]
    read = [(name, wording.percent(share)) for name, share in zip(ranges, shares, strict=True)]
    drawn = [
        Bar(0, tenth, int(tenth == 10), share, tip=f"{name} of the walltime: {words} of attempts")
        for tenth, (share, (name, words)) in enumerate(zip(shares, read, strict=True))
    ]
    looks = bars.Columns(
        ("0", "10", "20", "30", "40", "50", "60", "70", "80", "90", "100 %"),
        (Series("within the walltime", EARLIER, "block"), Series("longer", LATER, "block")),
        scales.shares(shares, title="Share of attempts"),
        upon=True,
        height=130,
        title="Used part of the requested walltime",
        between=True,
    )
    title = f"Half of the attempts used at most {series.part(used.median)} of their walltime"
    if shares[10] >= _MANY:
        title += f"; {series.part(shares[10])} exceeded it"
    words = "; ".join(f"{name}: {share}" for name, share in read)
    return Chart(
        "walltime",
        title,
        f"Columns. Used part of the walltime, and share of attempts: {words}.",
        *bars.columns(drawn, looks),
        f"{wording.plural(used.attempts, 'attempt')} with a known walltime.",
    )
