"""How long jobs waited: queues, classes of sizes and used walltimes, read and as charts."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from audit.metrics.attempts.parts import BETWEEN, QUEUE
from audit.metrics.quantiles import MEDIAN, P90, P99, rank
from audit.report import wording
from audit.report.charts import series
from audit.report.charts.marks import bars, cells, dots, scales
from audit.report.charts.marks.bars import Bar
from audit.report.charts.marks.cells import HeatCell
from audit.report.charts.marks.dots import Dot, DotRow
from audit.report.charts.marks.frame import Series
from audit.report.charts.series import value
from audit.report.charts.style import EARLIER, INK, LATER, Chart
from audit.report.contents import PoolPart
from audit.report.figures import Breakdown, total
from audit.report.labels import Labels
from audit.report.sections.causes.record import Shares
from audit.report.sections.causes.shown import KEYS, by_queue, like, together
from audit.report.sections.waits.record import (
    LongestWait,
    Queue,
    QueueWait,
    SizeClass,
    Strip,
    Waits,
    Walltimes,
)
from audit.report.source import ReportSection, SectionSource


def read(source: SectionSource) -> dict[str, Waits]:
    """Return the waits of queues, and used walltimes, of each pool."""
    known = walltimes(source)
    return {
        pool: Waits(_queues(parts.get(QUEUE, ())), known.get(pool))
        for pool, parts in source.parts.items()
    }


def _queues(parts: Sequence[Breakdown]) -> tuple[Queue, ...]:
    """Return the combinations of partition, QOS and GPU type with any waiting, most first."""
    waits = [total(part, "wait_mean") for part in parts]
    queues = []
    for wait, part in sorted(zip(waits, parts, strict=True), key=lambda of: -of[0]):
        if wait:
            partition, qos, gpu_type = part.label.rsplit(BETWEEN, 2)
            queues.append(Queue(partition, qos, gpu_type, wait / sum(waits), part.figures))
    return tuple(queues)


def walltimes(source: SectionSource) -> dict[str, Walltimes]:
    """Return the used walltimes of each pool with any."""
    found: dict[str, Walltimes] = {}
    for pool, tenth, number, median in source.tuples("waits/walltimes"):
        known, tenths, _ = found.get(pool, Walltimes(0, (0,) * 11, median))
        tenths = (*tenths[:tenth], number, *tenths[tenth + 1 :])
        found[pool] = Walltimes(known + number, tenths, median)
    return found


QUEUES: Final = 12
"""Most combinations of partition, QOS and GPU type in the table of waits."""


def queue_columns(queues: Sequence[Queue]) -> Labels:
    """Return those of partition, QOS and GPU type that the log knows, with their titles."""
    titles = (("partition", "partition"), ("qos", "QOS"), ("gpu_type", "GPU type"))
    return tuple(of for of in titles if any(getattr(queue, of[0]) != "-" for queue in queues))


_MANY: Final = 0.05
"""Least share of attempts beyond their walltime that the title mentions."""


def walltime(pool: PoolPart) -> Chart | None:
    """Draw attempts by the used part of their walltime."""
    used = pool[Waits].walltimes
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


_WAITS: Final = {
    "wait_median": Series("median", EARLIER, "circle"),
    "wait_mean": Series("mean", INK, "square"),
    "wait_p90": Series("90th percentile", LATER, "up"),
}


def waits(pool: PoolPart) -> Chart | None:
    """Draw the median, mean and 90th percentile of waits by width class."""
    parts = {wording.width(part.label): part for part in pool.widths}
    means = series.classes(pool, "wait_mean")
    if not means:
        return None
    rows = []
    for label, mean in means:
        marks = [
            Dot(
                number,
                length,
                tip=f"{series.jobs(label, pool)}, {of.name}: {wording.duration(length)}"
                f"{series.resting_on(mean)}",
                faint=series.few(mean),
            )
            for number, (metric, of) in enumerate(_WAITS.items())
            if (length := parts[label].figure(metric).value) is not None
        ]
        rows.append(DotRow(label, tuple(marks), wording.rough_duration(value(mean))))
    lengths = [dot.value for row in rows for dot in row.dots]
    axis = scales.durations(lengths, title="Wait (logarithmic)", least=10)
    (most, longest), (least, shortest) = series.extremes(means)
    long = wording.rough_duration(value(longest))
    title = f"Mean wait of jobs of {series.jobs(most, pool)}: {long}"
    if most != least:
        short = wording.rough_duration(value(shortest), value(longest))
        title += f", of {series.jobs(least, pool)}: {short}"
    unit = wording.resource(pool.resource)
    return Chart(
        "waits",
        title,
        f"Dots. Mean wait by {unit}s requested: {series.read(rows)}.",
        *dots.drawn(rows, dots.Looks(tuple(_WAITS.values()), axis, joined=True)),
        f"Waits by {unit}s requested; mean at the right.",
    )


def week(pool: PoolPart) -> Chart | None:
    """Draw the mean wait by weekday and hour of arrival, local time."""
    known = {
        int(part.label): figure
        for part in pool.hours
        if (figure := part.figure("wait_mean")).value is not None
    }
    if not known:
        return None
    # Means over few arrivals must not determine the scale.
    sound = {hour: figure for hour, figure in known.items() if not series.few(figure)}
    scaled = sound if len(sound) >= len(known) / 2 else known
    longest = max(map(value, scaled.values()))
    drawn = []
    for hour, figure in sorted(known.items()):
        strength = value(figure) / longest if longest else 0.0
        tip = (
            f"{_hour(hour)}: mean wait {wording.duration(figure.value)}{series.resting_on(figure)}"
        )
        drawn.append(HeatCell(0, *divmod(hour, 24), strength if hour in scaled else None, tip))
    greatest = wording.rough_duration(longest)
    looks = cells.Map(
        series.WEEKDAYS,
        tuple(str(hour) if hour % 3 == 0 else "" for hour in range(24)),
        ("0", greatest),
        "mean wait",
        "few arrivals" if len(scaled) < len(known) else "",
        "Hour of arrival, local time",
    )
    worst = max(scaled, key=lambda hour: value(scaled[hour]))
    title = f"Longest mean wait by hour of arrival: {greatest}, {_hour(worst)}"
    alt = f"Heat map. Mean wait by weekday and hour of arrival, local time. {title}."
    note = "Mean wait by hour of arrival in the week."
    return Chart("week", title, alt, *cells.drawn(drawn, looks), note)


def _hour(of_week: int) -> str:
    day, hour = divmod(of_week, 24)
    return f"{series.WEEKDAYS[day]} {hour}–{hour + 1} h"


LONG_S: Final = 600

HIDDEN: Final = 3
"""A queue is named if the typical wait without it is at least ``HIDDEN`` times that of all jobs."""

HIDING_JOBS: Final = 0.2

FEWEST: Final = 30
"""Jobs that a class has at least, unless all have fewer."""

MOST_CLASSES: Final = 6

FACTOR: Final = 4

MANY_GPUS: Final = 0.1
"""Share of jobs with GPUs from which these have classes of their own."""

QUEUE_SHARE: Final = 0.05


def quantile(waits: pl.Series, thousandths: int) -> int:
    """Return the nearest-rank quantile of values, of which there is at least one."""
    return int(waits.sort()[rank(len(waits), thousandths) - 1])


def strip(jobs: pl.DataFrame) -> Strip:
    """Return the figures of waits; there is at least one job."""
    waits, runs = jobs["wait_s"], jobs["occupancy_s"]
    queue, without = _hiding_queue(jobs)
    wait, run = ([quantile(of, q) for q in (MEDIAN, P90, P99)] for of in (waits, runs))
    return Strip(
        *(wait[0], wait[1], wait[2], run[0], run[1], run[2]),
        over={s: int((waits > s).sum()) / jobs.height for s in (60, 3_600, 36_000)},
        long_jobs=int((waits > LONG_S).sum()),
        minute_jobs=int((waits > 60).sum()),
        hour_jobs=int((waits > 3_600).sum()),
        hiding_queue=queue,
        without_queue=without,
    )


def _hiding_queue(jobs: pl.DataFrame) -> tuple[str | None, int | None]:
    median = quantile(jobs["wait_s"], MEDIAN)
    for name, count in by_queue(jobs):
        if count < HIDING_JOBS * jobs.height or jobs.height - count < FEWEST:
            continue
        rest = quantile(jobs["wait_s"].filter(jobs["partition"].ne_missing(name)), MEDIAN)
        if rest >= HIDDEN * max(median, 1):
            return name, rest
    return None, None


def sizes(jobs: pl.DataFrame, whole: Shares, capacity: int) -> tuple[SizeClass, ...]:
    """Return the classes of sizes, ascending; jobs with GPUs apart where there are many."""
    some = jobs["gpus"] > 0
    if int(some.sum()) < max(MANY_GPUS * jobs.height, 1):
        return _of_amount(jobs, "size", whole, MOST_CLASSES, capacity)
    with_gpus = _of_amount(jobs.filter(some), "gpus", whole, MOST_CLASSES // 2)
    rest = jobs.filter(~some)
    if rest.is_empty():
        return with_gpus
    most = MOST_CLASSES - len(with_gpus)
    return (*_of_amount(rest, "size", whole, most, capacity), *with_gpus)


def _of_amount(
    jobs: pl.DataFrame, column: str, whole: Shares, most: int, capacity: int | None = None
) -> tuple[SizeClass, ...]:
    jobs = jobs.select(column, "user", "wait_s", *KEYS).filter(pl.col(column) > 0)
    counts = dict(jobs.group_by(column).len().sort(column).iter_rows())
    bounds = joined(counts, most, capacity)
    made = []
    for low, high in bounds:
        mine = jobs.filter(pl.col(column).is_between(low, high))
        waited = float(mine["wait_s"].sum())
        by_user = mine.group_by("user").agg(pl.col("wait_s").sum())["wait_s"].max() or 0
        made.append(
            SizeClass(
                *(low, high, column == "gpus", high == bounds[-1][1]),
                *(mine.height, waited, quantile(mine["wait_s"], MEDIAN)),
                quantile(mine["wait_s"], P90),
                like(whole, mine),
                float(by_user) / waited if waited else 0.0,  # type: ignore[arg-type]
            )
        )
    return tuple(made)


def joined(
    counts: Mapping[int, int], most: int, capacity: int | None = None
) -> list[tuple[int, int]]:
    """Return classes of sizes in factors of four, joined until each has enough jobs.

    Args:
        counts: jobs by size > 0.
        most: number of classes; of more, the widest are joined.
        capacity: of the pool; None: not known.

    Returns:
        First and last size of each; the last ends with the capacity, or the largest size.
    """
    if not counts:
        return []
    largest, ends = max(counts), [1]
    while ends[-1] < largest:
        ends.append(ends[-1] * FACTOR)
    edges = list(zip([1, *(end + 1 for end in ends[:-1])], ends, strict=True))
    numbers = [sum(n for size, n in counts.items() if low <= size <= high) for low, high in edges]
    while len(edges) > 1 and (min(numbers) < FEWEST or len(edges) > most):
        few = min(numbers) < FEWEST
        at = numbers.index(min(numbers)) if few else len(edges) - 1
        first = max(at - 1, 0) if at == len(edges) - 1 or not few else at
        edges[first : first + 2] = [(edges[first][0], edges[first + 1][1])]
        numbers[first : first + 2] = [numbers[first] + numbers[first + 1]]
    last = largest if capacity is None else max(min(edges[-1][1], capacity), largest)
    return [*edges[:-1], (edges[-1][0], last)]


def queue_waits(jobs: pl.DataFrame) -> tuple[QueueWait, ...]:
    """Return the queues with enough jobs and waiting, the shortest wait first."""
    total = float(jobs["wait_s"].sum())
    found = []
    for name, count in by_queue(jobs):
        mine = jobs["wait_s"].filter(jobs["partition"] == name)
        part = float(mine.sum()) / total if total else 0.0
        if count >= QUEUE_SHARE * jobs.height and part >= QUEUE_SHARE:
            found.append(QueueWait(name, quantile(mine, P90)))
    return tuple(sorted(found, key=lambda one: (one.p90, one.name)))


def long_waits(jobs: pl.DataFrame) -> tuple[LongestWait, ...]:
    """Return the three longest waits over 10 minutes, longest first."""
    shown = jobs.select("user", "size", "wait_s", "arrival_time", *KEYS)
    long = shown.filter(pl.col("wait_s") > LONG_S).sort(
        "wait_s", "arrival_time", descending=[True, False], maintain_order=True
    )
    return tuple(
        LongestWait(
            row["user"] or "",
            *(row["size"], row["wait_s"], row["arrival_time"]),
            next(iter(together(row))) if any(row[key] for key in KEYS) else "none",
        )
        for row in long.head(3).iter_rows(named=True)
    )


SECTION: Final = ReportSection(
    "waits", Waits, read, charts=(waits, week, walltime), filters=(queue_columns,)
)
