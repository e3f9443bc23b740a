"""How long jobs waited, by size and queue, from the attempts of one pool."""

from collections.abc import Mapping
from typing import Final

import polars as pl

from audit.metrics.quantiles import MEDIAN, P90, P99, rank
from audit.report.sections.causes.record import Shares
from audit.report.sections.causes.totals import by_queue, like
from audit.report.sections.waits.record import QueueWait, SizeClass, Strip

LONG_S: Final = 600
SLOW: Final = 3
"""A queue is named if the typical wait without it is at most 1 / ``SLOW`` of the whole."""
SLOW_JOBS: Final = 0.2
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
    queue, without = _slow_queue(jobs)
    wait, run = ([quantile(of, q) for q in (MEDIAN, P90, P99)] for of in (waits, runs))
    return Strip(
        *(wait[0], wait[1], wait[2], run[0], run[1], run[2]),
        over={s: int((waits > s).sum()) / jobs.height for s in (60, 3_600, 36_000)},
        long_jobs=int((waits > LONG_S).sum()),
        minute_jobs=int((waits > 60).sum()),
        slow_queue=queue,
        without_queue=without,
    )


def _slow_queue(jobs: pl.DataFrame) -> tuple[str | None, int | None]:
    median = quantile(jobs["wait_s"], MEDIAN)
    for name, count in by_queue(jobs):
        if count < SLOW_JOBS * jobs.height or count == jobs.height:
            continue
        rest = quantile(jobs.filter(pl.col("partition").ne_missing(name))["wait_s"], MEDIAN)
        if median >= SLOW * max(rest, 1):
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
    jobs = jobs.filter(pl.col(column) > 0)
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
        mine = jobs.filter(partition=name)["wait_s"]
        part = float(mine.sum()) / total if total else 0.0
        if count >= QUEUE_SHARE * jobs.height and part >= QUEUE_SHARE:
            found.append(QueueWait(name, count / jobs.height, part, quantile(mine, P90)))
    return tuple(sorted(found, key=lambda one: (one.p90, one.name)))


def long_waits(jobs: pl.DataFrame, most: int) -> tuple[tuple[str, int, int, int], ...]:
    """Return user, size, wait and arrival of the longest waits over 10 minutes."""
    shown = jobs.select("user", "size", "wait_s", "arrival_time")
    long = shown.filter(pl.col("wait_s") > LONG_S).sort(
        "wait_s", "arrival_time", descending=[True, False], maintain_order=True
    )
    rows = long.select(pl.col("user").fill_null(""), "size", "wait_s", "arrival_time")
    return tuple(rows.head(most).iter_rows())
