"""Sites of ``tests.naive.delivered`` as scenarios, and as Hypothesis makes them."""

import csv
import gzip
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from hypothesis import strategies as st

from audit.metrics.attempts.population import describe
from audit.model import Backfill, CapacityStep, Order, Policy, Pool, Resource
from audit.scenario.delivered.candidates import KEPT, SiteRule
from audit.scenario.scenario import Scenario
from tests.naive import delivered as slow
from tests.strategies import EPOCH, ended, frame

ORDERS = (Order.fcfs, Order.sjf, Order.lxf, Order.recorded)
FILLINGS = (Backfill.none, Backfill.no_guarantee, Backfill.easy, Backfill.conservative_replan)


def scenario_of(site: slow.Site, policy: Policy = Policy(), **more: Any) -> Scenario:  # noqa: B008
    """Return a site as a scenario; ``more`` are fields of its pool."""

    def record(job: slow.Job, **fields: Any) -> dict[str, Any]:
        arrival, start, end = (EPOCH + at for at in (job.arrival, job.start, job.end))
        user = None if job.user is None else f"user{job.user}"
        return ended(arrival, start, end, job.size, user, **fields)

    records = [
        record(
            job,
            walltime_s=job.estimate,
            priority=job.priority,
            mem_bytes=sum(job.others) if job.others else None,
        )
        for job in site.jobs
    ]
    records += [record(job, reason="JobHeldUser") for job in site.usage.outside]
    amounts = (("cpus", site.capacity), ("mem_bytes", sum(site.others))) if site.others else ()
    steps, capacity = list[CapacityStep](), site.capacity
    for at, change in site.steps:
        capacity += change
        steps.append(CapacityStep(EPOCH + at, (("cpus", capacity),)))
    pool = Pool(
        "main",
        Resource.cpus,
        site.capacity,
        steps=tuple(steps),
        amounts=amounts,
        policy=policy,
        **more,
    )
    described = describe(frame(records), [pool])
    return Scenario(described, pool, EPOCH + max((job.end for job in site.jobs), default=0))


def site_of(*rows: tuple[int, int, int, int, int, int]) -> slow.Site:
    """Return a site of 10 CPUs; rows: arrival, size, runtime, estimate, user, start."""
    return slow.Site(tuple(slow.Job(*row) for row in rows), 10)


def require_as_defined(
    made: pl.DataFrame, site: slow.Site, rule: SiteRule, *, free: bool, but: Container[int] = ()
) -> None:
    """Require the fair starts of a site's jobs, row for row, except of some."""
    for j, row in enumerate(made.iter_rows(named=True)):
        if j in but:
            continue
        found = [
            slow.fair_start(site, slow_rule(rule, cautious), j, pinned_all=not free)
            for cautious in (False, True)
        ]
        assert row["fst_delivered"] == EPOCH + found[0]
        miss, cautious = (max(site.jobs[j].start - each, 0) for each in found)
        assert row["miss_delivered_s"] == miss
        assert row["miss_cautious_s"] == min(miss, cautious)


def slow_rule(rule: SiteRule, cautious: bool = False) -> slow.Rule:
    """Return a rule as the slow twin takes it."""
    if rule.kept:
        return slow.KEPT._replace(cautious=cautious)
    policy = rule.policy
    return slow.Rule(
        policy.order.value, policy.backfill.value, rule.own_peak, cautious, policy.depth
    )


@st.composite
def rules(draw: st.DrawFn) -> SiteRule:
    if draw(st.booleans()) and draw(st.booleans()):
        return KEPT
    policy = Policy(draw(st.sampled_from(ORDERS)), draw(st.sampled_from(FILLINGS)))
    if policy.backfill in (Backfill.easy, Backfill.conservative_replan):
        policy = policy._replace(depth=draw(st.sampled_from([None, None, 1, 2])))
    return SiteRule(policy, draw(st.booleans()))


@st.composite
def sites(draw: st.DrawFn, most: int = 12) -> slow.Site:
    """Return a site with ties, overtakes, more in use than there is, and long waits."""
    others = draw(st.sampled_from([(), (), (9,)]))
    jobs = []
    for _ in range(draw(st.integers(0, most))):
        arrival = draw(st.integers(0, 20)) * 10
        runtime = draw(st.integers(1, 15)) * 10
        jobs.append(
            slow.Job(
                arrival,
                draw(st.integers(1, 8)),
                runtime,
                runtime + draw(st.sampled_from([0, 0, 50, 100])),
                draw(st.sampled_from([None, 0, 1, 2])),
                arrival + draw(st.sampled_from([0, 0, 10, 70, 100, 200, 300])),
                tuple(draw(st.integers(0, 5)) for _ in others),
                float(draw(st.integers(0, 2))),
            )
        )
    jobs.sort(key=lambda job: job.arrival)
    steps = draw(st.sampled_from([(), (), ((50, -4), (150, 4))]))
    return slow.Site(tuple(jobs), 10, others, steps)


# --- sites with true fair starts -----------------------------------------------------------------


class MadeSite(NamedTuple):
    """A made site, and the starts that its own simulator gives without later arrivals."""

    scenario: Scenario
    true_start: pl.Series  # of each attempt, relative to EPOCH; null where it is not in the sample


def made_site(folder: Path, name: str) -> MadeSite:
    """Return a site of the folder ``delivered`` of real logs."""
    with gzip.open(folder / f"{name}.obs.txt.gz", "rt") as lines:
        capacity = int(next(lines).removeprefix("# "))
        rows = (map(int, line.split()) for line in lines)
        jobs = [slow.Job(a, size, r, e, user, start) for a, size, r, e, user, start in rows]
    with gzip.open(folder / f"{name}.true.csv.gz", "rt", newline="") as lines:
        found = {int(row["job"]): int(row["true"]) for row in csv.DictReader(lines)}
    site = slow.Site(tuple(jobs), capacity)
    return MadeSite(scenario_of(site), pl.Series([found.get(k) for k in range(len(jobs))]))


def names(folder: Path) -> Iterator[str]:
    """Return the names of the sites in a folder."""
    return (path.name.split(".")[0] for path in sorted(folder.glob("*.obs.txt.gz")))
