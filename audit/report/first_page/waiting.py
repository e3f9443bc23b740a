"""How long jobs waited and why, from the attempts of one pool: strip, causes, classes of sizes.

Frames have the columns of the query ``first_page_jobs`` and, by ``with_causes``, the seconds of
each cause of page one. Quantiles are nearest-rank.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from audit.metrics.quantiles import MEDIAN, P90, P99, rank
from audit.report.first_page.causes import KEYS, shown_causes
from audit.report.first_page.facts import (
    QueueWait,
    RuleTime,
    Shares,
    SizeClass,
    Strip,
    Where,
)

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
LEAST_CYCLE: Final = 0.05
_WALLTIMES: Final = (3_600, 4 * 3_600, 12 * 3_600, 24 * 3_600)
_SIZES: Final = (16, 64)
CLASS_SHARE: Final = 0.46
CLASS_JOBS: Final = 0.25
CLASS_LESS: Final = 0.10
QUEUE_SHARE: Final = 0.05


def with_causes(jobs: pl.DataFrame) -> pl.DataFrame:
    """Add a column of seconds for each cause of page one."""
    return jobs.with_columns(shown_causes())


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
    for name, count in _queues(jobs):
        if count < SLOW_JOBS * jobs.height or count == jobs.height:
            continue
        rest = quantile(jobs.filter(pl.col("partition").ne_missing(name))["wait_s"], MEDIAN)
        if median >= SLOW * max(rest, 1):
            return name, rest
    return None, None


def _queues(jobs: pl.DataFrame) -> Iterator[tuple[str, int]]:
    counts = jobs.group_by("partition").len().drop_nulls().sort("len", "partition")
    yield from reversed(list(counts.iter_rows()))


def shares(jobs: pl.DataFrame) -> dict[str, float]:
    """Return the share of each cause of all waiting; rare looks of the scheduler have no reason.

    They add up to 1, unless nothing waited.
    """
    sums = jobs.select(pl.col(KEYS).sum()).row(0, named=True)
    total = sum(sums.values())
    made = {key: value / total if total else 0.0 for key, value in sums.items()}
    if made["cycle"] < LEAST_CYCLE:
        made["none"] += made["cycle"]
        made["cycle"] = 0.0
    return made


def like(whole: Shares, jobs: pl.DataFrame) -> dict[str, float]:
    """Return the shares of some jobs, in which the same causes are listed as of all."""
    sums = jobs.select(pl.col(KEYS).sum()).row(0, named=True)
    total = sum(sums.values())
    made = {key: value / total if total else 0.0 for key, value in sums.items()}
    if not whole["cycle"]:
        made["none"] += made["cycle"]
        made["cycle"] = 0.0
    return made


def rules(jobs: pl.DataFrame, named: Mapping[str, tuple[str, str, str]]) -> tuple[RuleTime, ...]:
    """Return the waiting under the rules of each name, most first.

    ``named`` has name, kind and source by the text of the rule.
    """
    sums = jobs.drop_nulls("main_rule").group_by("main_rule").agg(
        pl.col("cause_rule_s", "cause_rule_free_s").sum()
    )  # fmt: skip
    found: dict[str, RuleTime] = {}
    for rule, waiting_s, free_s in sums.sort("main_rule").iter_rows():
        name, kind, source = named.get(rule, (rule, "limit", "configured"))
        one = found.get(name, RuleTime(name, kind, source, 0.0, 0.0))
        found[name] = one._replace(waiting_s=one.waiting_s + waiting_s, free_s=one.free_s + free_s)
    return tuple(
        sorted(
            (one for one in found.values() if one.waiting_s),
            key=lambda one: (-one.waiting_s, one.name),
        )
    )


def lacked(jobs: pl.DataFrame) -> tuple[str, float] | None:
    """Return what single nodes lacked longest, with its part of the waiting for scattered room."""
    columns = [
        name for name in jobs.columns if name.startswith("cause_nodes_") and name.endswith("_s")
    ]
    sums = {
        name.removeprefix("cause_nodes_").removesuffix("_s"): float(jobs[name].sum() or 0)
        for name in columns
        if name != "cause_nodes_s"
    }
    total = sum(sums.values())
    if not total:
        return None
    key = max(sums, key=lambda key: (sums[key], key))
    return key, sums[key] / total


def where(jobs: pl.DataFrame) -> Where | None:
    """Return the class of jobs that has much of the waiting without a reason, and few of the jobs.

    Of several, the one whose shares differ most.
    """
    found = [one for one in _classes(jobs) if one is not None]
    return max(found, key=lambda one: one.share - one.jobs, default=None)


def _classes(jobs: pl.DataFrame) -> Iterator[Where | None]:
    unknown = float(jobs["none"].sum())
    other = float(jobs["wait_s"].sum()) - unknown
    if not unknown:
        return

    def judged(kind: str, value: str | int, chosen: pl.DataFrame) -> Where | None:
        mine = float(chosen["none"].sum())
        rest = float(chosen["wait_s"].sum()) - mine
        share, part = mine / unknown, chosen.height / jobs.height
        apart = share - (rest / other if other else 0.0)
        if share < CLASS_SHARE or part > CLASS_JOBS or apart < CLASS_LESS:
            return None
        return Where(kind, value, share, part, chosen.height)

    for seconds in _WALLTIMES:
        yield judged("walltime", seconds, jobs.filter(pl.col("walltime_s") > seconds))
    for name, _ in _queues(jobs):
        yield judged("queue", name, jobs.filter(partition=name))
    for size in _SIZES:
        yield judged("size", size, jobs.filter(pl.col("size") > size))
    users = jobs.drop_nulls("user").group_by("user").agg(pl.col("none").sum())
    if users.height:
        name = users.sort("none", "user", descending=[True, False])["user"][0]
        yield judged("user", name, jobs.filter(user=name))


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
    for name, count in _queues(jobs):
        mine = jobs.filter(partition=name)["wait_s"]
        part = float(mine.sum()) / total if total else 0.0
        if count >= QUEUE_SHARE * jobs.height and part >= QUEUE_SHARE:
            found.append(QueueWait(name, count / jobs.height, part, quantile(mine, P90)))
    return tuple(sorted(found, key=lambda one: (one.p90, one.name)))


def long_waits(jobs: pl.DataFrame, most: int) -> tuple[tuple[str, int, int, int], ...]:
    """Return user, size, wait and arrival of the longest waits over 10 minutes."""
    long = jobs.filter(pl.col("wait_s") > LONG_S).sort(
        "wait_s", "arrival_time", descending=[True, False], maintain_order=True
    )
    rows = long.select(pl.col("user").fill_null(""), "size", "wait_s", "arrival_time")
    return tuple(rows.head(most).iter_rows())


def by_priority(jobs: pl.DataFrame, recorded: float = 0.95) -> float | None:
    """Return how often a job that started before an earlier one had the higher priority.

    The earlier one is the first of its partition that waited at that time. None: priorities are
    not known, or no job started before an earlier one.
    """
    if not jobs.height or jobs["priority"].is_not_null().mean() < recorded:  # type: ignore[operator]
        return None
    higher = number = 0
    for of_queue in jobs.drop_nulls("priority").partition_by("partition"):
        for mine, first in _before_earlier(of_queue):
            number += 1
            higher += mine > first
    return higher / number if number else None


def _before_earlier(jobs: pl.DataFrame) -> Iterable[tuple[float, float]]:
    """Yield the priorities of each job that started before an earlier one, and of the latter."""
    rows = jobs.select("arrival_time", "start_time", "priority").rows()
    by_arrival = sorted(range(len(rows)), key=lambda k: rows[k][0])
    by_start: Sequence[int] = sorted(range(len(rows)), key=lambda k: (rows[k][1], rows[k][0]))
    started, front = [False] * len(rows), 0
    for k in by_start:
        while front < len(rows) and started[by_arrival[front]]:
            front += 1
        first = by_arrival[front] if front < len(rows) else k
        if rows[first][0] < rows[k][0] and rows[first][1] > rows[k][1]:
            yield rows[k][2], rows[first][2]
        started[k] = True
