"""The picture of a pool over time: how busy it was, and how much work waited."""

from collections.abc import Callable, Sequence

from audit.model import FLOOD_ATTEMPTS, FLOOD_WORK
from audit.report.charts import series
from audit.report.charts.marks import lines, scales
from audit.report.charts.marks.lines import Line, Panel, Target
from audit.report.charts.marks.scales import Axis
from audit.report.charts.style import EARLIER, LATER, Chart
from audit.report.record.pool import Flood, PoolPart
from audit.report.text import wording

Daily = Sequence[tuple[str, float]]
_DAILY = 400
"""More days are drawn as weeks: a day would be hardly a pixel."""
_FLOODS = 4
_APART = 0.16
"""Of the width of the picture, between two floods that are marked."""
_POINTED_AT = 100
"""Where there are more points, a reader points at seven at a time."""


def machine(pool: PoolPart) -> Chart | None:
    """The busy share of a pool and the work that waits for it, day by day; floods are marked."""
    busy = series.days(pool, "utilization")
    if not busy:
        return None
    told = {day for day, _ in busy}
    work = [(day, s / 3_600) for day, s in pool.pictured.waiting_work if day in told]
    first, last = busy[0][0], busy[-1][0]
    x = scales.days(first, last)
    weekly = len(busy) > _DAILY
    every = " (weekly means)" if weekly else ""
    floods: list[Flood] = []
    panels = [
        _panel(
            busy, x, scales.shares([1.0], title=f"Busy share of the pool{every}"), EARLIER, _busy
        )
    ]
    if any(hours for _, hours in work):
        shown = series.by_week(work) if weekly else work
        top = max(hours for _, hours in shown)
        y = scales.linear([top], scales.plain, title=f"Work waiting, h of the whole pool{every}")
        floods = _marked(pool.pictured.floods, told, len(busy))
        panels.append(_panel(work, x, y, LATER, _work, floods))
    body, height = lines.drawn(panels, height=92)
    mean = pool.figure("utilization").value
    title = f"The pool was {_rounded(mean)} busy" if mean is not None else "The pool over time"
    said = title
    if work:
        day, most = max(work, key=lambda of: of[1])
        title += f"; at most {wording.number(most, 2)} h of work waited, on {scales.day(day)}"
        middle = sorted(hours for _, hours in work)[len(work) // 2]
        said += f"; half of the days {wording.number(middle, 2)} h of work or less waited"
    alt = f"Areas over time, {first} to {last}. {title}. {said}."
    note = "Work waiting: what queued attempts went on to use, in hours of the whole pool."
    if floods:
        note += (
            f" Grey: the largest floods, days on which one user brought {FLOOD_ATTEMPTS} attempts "
            f"or more with at least {wording.rough_percent(FLOOD_WORK)} of a day's work."
        )
    return Chart("machine", title, alt, body, height, note if len(panels) > 1 else "")


def _marked(floods: Sequence[Flood], told: set[str], days: int) -> list[Flood]:
    """The largest floods, so far apart that their names do not cover each other."""
    apart = days * _APART
    marked: list[Flood] = []
    for flood in floods:
        near = (abs(scales.day_number(flood.day, one.day)) for one in marked)
        if flood.day in told and all(between >= apart for between in near):
            marked.append(flood)
    return marked[:_FLOODS]


def _rounded(share: float) -> str:
    return f"{100 * share:.0f} %"


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
    points = [(begin, value) for begin, (_, value) in zip(begins, drawn, strict=True)]
    points.append((ends[-1], points[-1][1]))
    every = 7 if len(points) > _POINTED_AT else 1
    targets = [
        Target(begins[at], ends[min(at + every, len(ends)) - 1], _tip(drawn[at : at + every], say))
        for at in range(0, len(drawn), every)
    ]
    spans = [
        (float(day := scales.day_number(flood.day, first)), day + 1.0, _flooding(flood))
        for flood in floods
    ]
    line = Line("", points, colour, step=True, filled=0.3, width=1.2)
    return Panel(x, y, [line], targets=targets, spans=spans)


def _tip(of: Daily, say: Callable[[float], str]) -> str:
    """The mean of some days."""
    mean = sum(value for _, value in of) / len(of)
    when = scales.day(of[0][0]) + (f" to {scales.day(of[-1][0])}" if len(of) > 1 else "")
    return f"{when}: {say(mean)}"


def _flooding(flood: Flood) -> str:
    return f"user {wording.name(flood.user, 12)}"


def _busy(share: float) -> str:
    return f"{wording.percent(share)} busy"


def _work(hours: float) -> str:
    return f"{wording.number(hours, 2)} h of work waiting"
