"""The capacity of a pool over time, how busy it was, and what was idle."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import polars as pl

from audit.metrics.attempts.population import only
from audit.metrics.bursts import bursts
from audit.periods import day_edges, day_of, zone
from audit.report import wording
from audit.report.charts import series
from audit.report.charts.marks import lines, scales
from audit.report.charts.marks.frame import Series
from audit.report.charts.marks.lines import Line, Panel, Shaded
from audit.report.charts.marks.scales import Axis
from audit.report.charts.series import Daily
from audit.report.charts.style import EARLIER, LATER, UNAVAILABLE, Chart
from audit.report.contents import PoolPart
from audit.report.finding import Kind, whole
from audit.report.sections.machine.record import Burst, MachineOverTime
from audit.report.source import ReportSection, SectionSource

BURST_DAYS: Final = 0.25
"""Least work of a burst that charts mark, in days of the whole pool."""
_DAY_S: Final = 86_400
_ORDER: Final = ("pool", "arrival_time", "submit_time", "job_number", "job_id", "attempt")


def read(source: SectionSource) -> dict[str, MachineOverTime]:
    """Return the outages, the daily waiting work and the bursts of each pool."""
    in_zone = zone(source.zone)
    edges = day_edges(source.period.from_time, source.period.to_time, in_zone)
    days = {first: day_of(first, in_zone).isoformat() for first in edges[:-1]}
    waiting: dict[str, dict[int, float]] = {}
    bursts_: dict[str, tuple[Burst, ...]] = {}
    if days:
        for pool, first, seconds in source.tuples("machine/waiting_work", edges=edges):
            waiting.setdefault(pool, {})[first] = seconds
        attempts = source.long("machine/bursts", _ORDER)
        for pool, capacity in source.pools.select("pool", "capacity").iter_rows():
            of_pool = only(attempts, pl.col("pool") == pool)
            rows = _bursts(of_pool, source.period.from_time, capacity)
            bursts_[pool] = tuple(
                Burst(day_of(first, in_zone).isoformat(), day_of(last, in_zone).isoformat(), user)
                for first, last, user in rows.iter_rows()
            )
    return {
        pool: MachineOverTime(
            tuple(outages.iter_rows()),
            tuple((day, waiting[pool].get(first, 0.0)) for first, day in days.items())
            if pool in waiting
            else (),
            bursts_.get(pool, ()),
        )
        for pool, outages in source.by_pool("machine/outages").items()
    }


def _bursts(attempts: pl.DataFrame, from_time: int, capacity: int) -> pl.DataFrame:
    """Return first and last arrival and user of a pool's large bursts, most work first."""
    arrival = pl.col("arrival_time")
    return (
        attempts.select("user", "arrival_time", work_s=pl.col("work") / capacity)
        .with_columns(burst=bursts(attempts))
        .group_by("burst")
        .agg(
            arrival.min().clip(lower_bound=from_time).alias("first"),
            arrival.max().alias("last"),
            pl.col("user").first(),
            pl.len().alias("attempts"),
            pl.col("work_s").sum(),
        )
        .filter(
            pl.col("last") >= from_time,
            pl.col("attempts") > 1,
            pl.col("work_s") >= BURST_DAYS * _DAY_S,
        )
        .sort("work_s", "first", "user", descending=[True, False, False])
        .select("first", "last", "user")
    )


def busy(pool: PoolPart) -> str:
    """Return how busy a pool was; empty if that is not known."""
    share = pool.figure("utilization")
    if share.value is None:
        return ""
    more = " (including use above capacity)" if pool.overfilled else ""
    of = " with this part of the workload" if pool.part else ""
    return f"{wording.rough(share)} busy{of}{more}"


KINDS: Final = (
    Kind(
        whole,
        "loss_of_capacity",
        "idle while others queue",
        "machine",
        "{loss_of_capacity} of the capacity ({loss_of_capacity:within}) was idle while queued jobs "
        "requested at least as much.",
        "Check what the first jobs in the queue waited for at these times.",
        0.01,
    ),
)


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
    daily = series.days(pool, "utilization")
    if not daily:
        return None
    known = {day for day, _ in daily}
    work = [(day, s / 3_600) for day, s in pool[MachineOverTime].waiting_work if day in known]
    first, last = daily[0][0], daily[-1][0]
    x = scales.days(first, last)
    weekly = len(daily) > _DAILY
    every = " (weekly means)" if weekly else ""
    of = "Share of the pool used by this part of the workload" if pool.part else _BUSY
    y = scales.shares([1.0], title=f"{of}{every}")
    shaded = _shaded(pool[MachineOverTime].outages, first, x.high, pool.zone)
    panels = [_panel(daily, x, y, EARLIER, lambda share: f"{wording.percent(share)} busy", shaded)]
    title = f"The pool was {mean}" if (mean := busy(pool)) else "The pool over time"
    alt, note = "", ""
    if any(hours for _, hours in work):
        top = max(hours for _, hours in (series.by_week(work) if weekly else work))
        y = scales.linear(
            [top], scales.plain, title=f"Waiting work, hours of the whole pool{every}"
        )
        marked = _marked(pool[MachineOverTime].bursts, first, last)
        panels.append(
            _panel(work, x, y, LATER, lambda of: f"{_hours(of)} of waiting work", shaded, marked)
        )
        note = "Waiting work: later use of the queued jobs, in hours of the whole pool."
        if marked:
            note += " Grey: the largest bursts, in which one user's jobs queue behind each other."
        day, most = max(work, key=lambda of: of[1])
        middle = sorted(hours for _, hours in work)[len(work) // 2]
        alt = f" Median waiting work by day: {_hours(middle)}."
        title += f"; waiting work reached {_hours(most)} on {scales.day(day)}"
    if shaded:
        alt += f" Shaded: {wording.plural(len(shaded[1]), 'outage')}."
    return Chart(
        "machine",
        title,
        f"Areas over time, {first} to {last}. {title}.{alt}",
        *lines.drawn(panels, height=92),
        note,
    )


def _shaded(
    outages: Sequence[tuple[int, int]], first: str, high: float, zone_name: str
) -> Shaded | None:
    """Return the outages of the days from ``first`` on, in days of the cluster's clock."""
    clock = zone(zone_name)
    midnight = datetime.fromisoformat(first)

    def place(instant: int) -> float:
        local = datetime.fromtimestamp(instant, clock).replace(tzinfo=None)
        return min(max((local - midnight) / timedelta(days=1), 0.0), high)

    ranges = sorted((place(begin), place(end)) for begin, end in outages)
    inside = [(begin, end) for begin, end in ranges if begin < end]
    return (_OUTAGES, inside) if inside else None


def _hours(hours: float) -> str:
    return f"{wording.number(hours, 2)} h" if hours >= 1 else wording.rough_duration(3_600 * hours)


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
        (begins[at], ends[min(at + every, len(ends)) - 1], _tip(drawn[at : at + every], say))
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


SECTION: Final = ReportSection(
    "machine",
    MachineOverTime,
    read,
    in_part=lambda of: replace(of, outages=()),
    findings=KINDS,
    charts=(machine,),
    filters=(busy,),
)
