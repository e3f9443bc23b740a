"""What jobs waited for, from the attempts of one pool."""

from collections.abc import Iterator, Mapping
from typing import Final

import polars as pl

from audit.report.sections.causes.record import RuleTime, Shares, Where
from audit.report.sections.causes.shown import KEYS, shown_causes

_WALLTIMES: Final = (3_600, 4 * 3_600, 12 * 3_600, 24 * 3_600)
_SIZES: Final = (16, 64)
CLASS_SHARE: Final = 0.46
CLASS_JOBS: Final = 0.25
CLASS_LESS: Final = 0.10
LEAST_CYCLE: Final = 0.05


def by_queue(jobs: pl.DataFrame) -> Iterator[tuple[str, int]]:
    """Yield each queue with its number of jobs, the most first."""
    counts = jobs.group_by("partition").len().drop_nulls().sort("len", "partition")
    yield from reversed(list(counts.iter_rows()))


def with_causes(jobs: pl.DataFrame) -> pl.DataFrame:
    """Add a column of seconds for each cause of page one."""
    return jobs.with_columns(shown_causes())


def shares(jobs: pl.DataFrame) -> dict[str, float]:
    """Return the share of each cause of all waiting; rare looks of the scheduler have no reason.

    They add up to 1, unless nothing waited.
    """
    made = _shares(jobs)
    return made if made["cycle"] >= LEAST_CYCLE else _without_cycle(made)


def like(whole: Shares, jobs: pl.DataFrame) -> dict[str, float]:
    """Return the shares of some jobs, in which the same causes are listed as of all."""
    made = _shares(jobs)
    return made if whole["cycle"] else _without_cycle(made)


def _shares(jobs: pl.DataFrame) -> dict[str, float]:
    sums = jobs.select(pl.col(KEYS).sum()).row(0, named=True)
    total = sum(sums.values())
    return {key: value / total if total else 0.0 for key, value in sums.items()}


def _without_cycle(shares: dict[str, float]) -> dict[str, float]:
    return shares | {"none": shares["none"] + shares["cycle"], "cycle": 0.0}


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
    for name, _ in by_queue(jobs):
        yield judged("queue", name, jobs.filter(partition=name))
    for size in _SIZES:
        yield judged("size", size, jobs.filter(pl.col("size") > size))
    users = jobs.drop_nulls("user").group_by("user").agg(pl.col("none").sum())
    if users.height:
        name = users.sort("none", "user", descending=[True, False])["user"][0]
        yield judged("user", name, jobs.filter(user=name))
