"""Fair starts on delivered capacity, agreement, and the search for windows, in deep queues.

Logs into which slightly more arrives than the pool can do, scheduled under first come, first served
with ``easy``; the queue grows with their size. Beside one replay of the same log by the simulator.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import polars as pl

from audit.metrics.attempts.account import account
from audit.metrics.attempts.population import describe
from audit.metrics.fairshare import trees
from audit.model import Policy, Pool, Resource
from audit.scenario import engine
from audit.scenario.delivered.agreement import KnownRule, agreement
from audit.scenario.delivered.candidates import KEPT, SiteRule
from audit.scenario.delivered.fair_starts import delivered_starts
from audit.scenario.ownership import Fairshare
from audit.scenario.scenario import Scenario
from audit.scenario.windows.search import find_windows
from audit.scenario.workload import Workload
from bench.logs.workloads import CAPACITY, EASY, plain, scheduled, waiting
from bench.measure.figures import Figure
from bench.measure.pairs import measured
from bench.stages.metrics import attempts

STAGE = "Delivered"
SIZES = (12_500, 25_000, 50_000)
WALKED = (112_500, 225_000, 450_000)
THROTTLED = (250_000, 500_000, 1_000_000)
LOAD = 1.05
AT_ONCE, TASKS = 20, 10_000
"""Tasks of an array that run at one time, and all of it."""
RULES = {
    "kept order": KnownRule(KEPT, 0.1),
    "fcfs-easy, all pinned": KnownRule(SiteRule(Policy()), 0.8),
    "fcfs-easy": KnownRule(SiteRule(Policy()), 0.99),
}


def deep(count: int) -> Workload:
    """Attempts that arrive so as to make the load, scheduled under ``easy``."""
    shapes = waiting(count)
    span = int((shapes.occupancy * shapes.request).sum() / (LOAD * CAPACITY))
    arrival = np.sort(np.random.Generator(np.random.PCG64(2)).integers(0, span, count))
    return scheduled(
        plain(arrival, shapes.occupancy, shapes.estimate, shapes.request, CAPACITY), EASY
    )


def as_scenario(work: Workload) -> Scenario:
    """A workload as a log of 50 users."""
    count = len(work.arrival)
    made = attempts(count)
    begin = int(made["submit_time"][0])
    random = np.random.Generator(np.random.PCG64(9))
    users = np.minimum(random.pareto(1.0, count) * 5, 50).astype(int)
    pool = Pool("all", Resource.cpus, CAPACITY)
    log = made.with_columns(
        submit_time=pl.Series(begin + work.arrival),
        eligible_time=pl.Series(begin + work.arrival),
        start_time=pl.Series(begin + work.start),
        end_time=pl.Series(begin + work.end),
        cpus=pl.Series(work.request),
        walltime_s=pl.Series(work.estimate),
        user=pl.Series([f"user{number}" for number in users]),
    )
    return Scenario(describe(log, [pool]), pool, begin + int(work.end.max()))


def with_shares(log: Scenario) -> Scenario:
    """The log of a site with a share tree and recorded priorities."""
    users = sorted(log.attempts["user"].drop_nulls().unique())
    tree = trees.flat(users, {user: 1 + number % 5 for number, user in enumerate(users)})
    attempts = log.attempts.with_columns(priority=pl.col("size").cast(pl.Float64))
    return Scenario(attempts, log.pool, log.now, Fairshare(operator="relative", tree=tree))


def throttled(count: int) -> tuple[pl.DataFrame, Pool, int]:
    """Arrays of which few tasks run at one time in a pool that is never full."""
    made = attempts(count)
    array, task = np.divmod(np.arange(count), TASKS)
    submit = int(made["submit_time"][0]) + 3_600 * array
    start = submit + 60 + task // AT_ONCE * 600
    pool = Pool("all", Resource.cpus, 100_000)
    log = made.with_columns(
        submit_time=pl.Series(submit),
        eligible_time=pl.Series(submit),
        start_time=pl.Series(start),
        end_time=pl.Series(start + 600),
        cpus=pl.lit(1, pl.Int64),
        walltime_s=pl.lit(3_600, pl.Int64),
        user=pl.Series([f"user{number % 97}" for number in array]),
    )
    return describe(log, [pool]), pool, int(start.max()) + 600


def measure(sizes: Sequence[int]) -> Iterator[Figure]:
    """All of them at sizes of their own, whatever the ``sizes`` of other stages."""
    for size in SIZES:
        work = deep(size)
        log = as_scenario(work)
        beside = ("one replay", partial(engine.replay, work, EASY))
        yield measured(STAGE, "agreement", size, partial(agreement, log), limit=beside)
        for name, known in RULES.items():
            what = f"fair starts, {name}"
            yield measured(STAGE, what, size, partial(delivered_starts, log, known), limit=beside)
        yield measured(
            *(STAGE, "search for windows", size),
            partial(find_windows, log),
            limit=("one agreement", partial(agreement, log)),
        )
    for size in WALKED:
        work = deep(size)
        log = as_scenario(work)
        yield measured(
            *(STAGE, "account of waits, unequal jobs", size),
            partial(account, log.attempts, log.pool, log.now),
            limit=("one replay", partial(engine.replay, work, EASY)),
        )
        yield measured(
            *(STAGE, "agreement, orders by priority too", size),
            partial(agreement, with_shares(log)),
            limit=("one replay", partial(engine.replay, work, EASY)),
        )
    for size in THROTTLED:
        described, pool, now = throttled(size)
        arrival = described["arrival_time"].to_numpy()
        yield measured(
            *(STAGE, "account of waits, throttled tasks", size),
            partial(account, described, pool, now),
            limit=("one sort", partial(np.sort, arrival[::-1].copy(), kind="stable")),
        )
