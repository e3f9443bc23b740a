"""Simulated sites with and without a planted rule, for the search for rules.

Each site has users with campaigns and users with few jobs, more arrivals by day than by night, an
outage and a week with drained nodes. Its log is a schedule simulated under its policy and rule.
"""

from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from audit.metrics.attempts.population import describe
from audit.model import CapacityStep, Limit, Policy, Pool, Resource, Window
from audit.scenario.engine import simulate
from tests.strategies import frame

EPOCH = 1_704_067_200  # a Monday, 00:00 UTC
DAY = 86_400
HOUR = 3_600
USERS = 40
ACCOUNTS = 8
LOAD = 0.6
OVERRIDES = 0.02
WALLTIMES = tuple(int(hours * HOUR) for hours in (0.5, 1, 2, 3, 4, 6, 8, 12, 16, 24, 36, 48))
OFFICE = tuple(day * 24 + hour for day in range(5) for hour in range(8, 17))
NIGHT = tuple(day * 24 + hour for day in range(7) for hour in (0, 1, 2, 3, 4, 5, 20, 21, 22, 23))
FREE = "free"


class Planted(NamedTuple):
    """A simulated site."""

    rule: Limit | Window | None = None
    days: int = 56
    a_day: int = 130
    overrides: bool = False  # whether some jobs are exempt
    policy: Policy = Policy()


def half(rule: Any, first: int = 14, last: int = 42) -> Any:
    """Return the rule, in force on these days of the log alone."""
    begin = datetime.fromtimestamp(EPOCH, UTC).date()
    return rule.but(valid_from=begin + timedelta(first), valid_to=begin + timedelta(last))


JOBS = Limit(most=6, per="user")
CPUS = Limit(most=64, resource="cpus", per="user")
LONG = Window(hours=OFFICE, walltime_above_s=4 * HOUR)
WIDE = Window(hours=OFFICE, size_above=8)
SITES: dict[str, Planted] = {
    "jobs of a user": Planted(JOBS),
    "window by walltime": Planted(LONG),
    "no rule": Planted(),
}


@cache
def requests(seed: int, days: int, a_day: int) -> pl.DataFrame:
    """Return the jobs as attempts, in the order of submission."""
    draw = np.random.Generator(np.random.PCG64(seed))
    weight = 1 / np.arange(1, USERS + 1) ** 0.7
    weight[-10:] /= 20  # users with few jobs
    weight /= weight.sum()
    by_hour = np.where((np.arange(24) >= 8) & (np.arange(24) < 19), 3.0, 1.0)
    by_day = np.array([1.0, 1, 1, 1, 1, 0.5, 0.5])
    records: list[dict[str, Any]] = []
    while len(records) < days * a_day:
        day, hour = int(draw.integers(days)), int(draw.integers(24))
        if draw.uniform() > by_hour[hour] / 3 * by_day[day % 7]:
            continue
        submit = EPOCH + day * DAY + hour * HOUR + int(draw.integers(HOUR))
        user = int(draw.choice(USERS, p=weight))
        campaign = user < 10 and draw.uniform() < 0.15
        count = int(draw.integers(15, 40)) if campaign else int(draw.geometric(0.35))
        asked = int(draw.choice(WALLTIMES, p=_walltimes()))
        size = int(draw.choice([1, 2, 4, 8, 16, 32], p=[0.3, 0.15, 0.2, 0.15, 0.12, 0.08]))
        for _ in range(count):
            submit += int(draw.exponential(5 if campaign else 300))
            occupancy = max(int(asked * min(draw.beta(1.2, 2.0), 1.0)), 20)
            records.append(
                {
                    "submit_time": submit,
                    "occupancy_s": occupancy,
                    "walltime_s": asked,
                    "cpus": size,
                    "nodes": -(-size // 8),
                    "user": f"u{user:02}",
                    "account": f"a{user % ACCOUNTS}",
                    "partition": "debug" if draw.uniform() < 0.3 else "batch",
                    "qos": FREE if draw.uniform() < OVERRIDES else "normal",
                    "state": "COMPLETED",
                }
            )
    return frame(sorted(records, key=lambda record: record["submit_time"]))


@cache
def _walltimes() -> list[float]:
    weights = np.array([3.0, 5, 4, 3, 4, 2, 2, 2, 1, 1.5, 0.5, 0.5])
    shares: list[float] = (weights / weights.sum()).tolist()
    return shares


def pool(capacity: int, **rules: Any) -> Pool:
    """Return a pool with rules."""
    amounts = (("cpus", capacity),)
    return Pool("all", Resource.cpus, capacity, amounts=amounts, **rules)


@lru_cache(8)
def made(planted: Planted, seed: int) -> tuple[pl.DataFrame, Pool]:
    """Return the log of a site, and its pool without the rule."""
    jobs = requests(seed, planted.days, planted.a_day)
    work = int((jobs["cpus"] * jobs["occupancy_s"]).sum())
    capacity = -(-int(work / (LOAD * planted.days * DAY)) // 8) * 8
    capacity = max(capacity, 64)
    rule = planted.rule
    if rule is not None and planted.overrides:
        exempt = {"exempt_qos": (FREE,)} if isinstance(rule, Limit) else {"qos": ("normal",)}
        rule = rule.but(**exempt)
    kept: dict[str, Any] = {}
    if rule is not None:
        kept = {"limits" if isinstance(rule, Limit) else "windows": (rule,)}
    site = pool(capacity, policy=planted.policy, steps=_steps(capacity, planted.days), **kept)
    schedule = simulate(describe(jobs, [site]), site, EPOCH + 10_000 * DAY, site.policy)
    ran = schedule.filter(pl.col("start_time").is_not_null()).select(jobs.columns)
    known = pool(capacity, policy=planted.policy)
    return describe(ran.with_columns(qos=pl.lit(None, pl.String)), [known]), known


def _steps(capacity: int, days: int) -> tuple[CapacityStep, ...]:
    """Return an outage, and days with an eighth of the nodes drained."""
    drained = capacity - -(-capacity // 8)

    def at(day: float, amount: int) -> CapacityStep:
        return CapacityStep(EPOCH + int(days * day * DAY), (("cpus", amount),))

    outage = HOUR * 8 / DAY / days
    return (
        at(0.3, 0),
        at(0.3 + outage, capacity),
        at(0.55, drained),
        at(0.65, capacity),
    )
