"""The use of the machine and its queue over time."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

from audit.periods import zone
from audit.report import wording
from audit.report.charts import series
from audit.report.charts.marks import lines, scales
from audit.report.charts.marks.frame import Series
from audit.report.charts.marks.lines import Line, Panel, Shaded, TipRange
from audit.report.charts.marks.scales import Axis
from audit.report.charts.series import Daily
from audit.report.charts.style import EARLIER, LATER, UNAVAILABLE, Chart
from audit.report.pool import PoolPart
from audit.report.sections.machine import text as belief
from audit.report.sections.machine.record import Burst, MachineOverTime, Outage

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


def machine(pool: PoolPart) -> Chart | None:
    """Draw the busy share of a pool and its waiting work by day, with bursts and outages."""
    busy = series.days(pool, "utilization")
    if not busy:
        return None
    known = {day for day, _ in busy}
    work = [(day, s / 3_600) for day, s in pool[MachineOverTime].waiting_work if day in known]
    first, last = busy[0][0], busy[-1][0]
    x = scales.days(first, last)
    weekly = len(busy) > _DAILY
    every = " (weekly means)" if weekly else ""
    of = "Share of the pool used by this part of the workload" if pool.part else _BUSY
    y = scales.shares([1.0], title=f"{of}{every}")
    shaded = _shaded(pool[MachineOverTime].outages, first, x.high, pool.zone)
    panels = [_panel(busy, x, y, EARLIER, lambda share: f"{wording.percent(share)} busy", shaded)]
    title = f"The pool was {mean}" if (mean := belief.busy(pool)) else "The pool over time"
    alt, note = "", ""
    if any(hours for _, hours in work):
        top = max(hours for _, hours in (series.by_week(work) if weekly else work))
        y = scales.linear(
            [top], scales.plain, title=f"Waiting work, hours of the whole pool{every}"
        )
        marked = _marked(pool[MachineOverTime].bursts, first, last)
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
