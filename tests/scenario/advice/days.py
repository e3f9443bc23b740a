"""Logs of many days that are all alike, for the tests of this folder."""

from functools import cache
from typing import NamedTuple

import polars as pl

from audit.metrics.attempts.population import describe
from audit.model import Limit, Order, Period, Policy, Pool, Resource
from audit.policies import Backfill
from audit.scenario.engine import PLANNED, simulate
from audit.scenario.scenario import Scenario
from tests.strategies import ended, frame

DAY = 86_400
HOUR = 3_600
MINUTE = 60
EPOCH = 10_000 * DAY
DAYS = 40
USERS = 12


class Job(NamedTuple):
    """A job of each day."""

    arrival: int  # s since midnight
    occupancy: int
    size: int
    number: int  # of its user: users take turns day by day
    walltime: int | None = None  # exact


def log(jobs: list[Job], pool: Pool, days: int = DAYS, users: int = USERS) -> pl.DataFrame:
    """Attempts that all started two minutes after their arrival."""
    records = [
        ended(
            arrival := EPOCH + day * DAY + job.arrival,
            arrival + 2 * MINUTE,
            arrival + 2 * MINUTE + job.occupancy,
            job.size,
            f"user{(job.number + day) % users:02}",
            account=f"account{(job.number + day) % 2}",
            walltime_s=job.walltime or job.occupancy,
        )
        for day in range(days)
        for job in jobs
    ]
    return describe(frame(records), [pool])


def scenario(jobs: list[Job], pool: Pool, days: int = DAYS, users: int = USERS) -> Scenario:
    """A pool with such a log, as its policy makes it, taken when its last attempt ended."""
    arrived = log(jobs, pool, days, users)
    attempts = simulate(arrived, pool, now(arrived), pool.policy).drop(PLANNED)
    return Scenario(attempts, pool, now(attempts))


def whole(described: pl.DataFrame) -> Period:
    """The period of all of it."""
    return Period("all", EPOCH, now(described))


def now(described: pl.DataFrame) -> int:
    """When the log was taken."""
    return int(described["end_time"].to_numpy().max())


def pool(capacity: int, policy: Policy, *limits: Limit) -> Pool:
    return Pool(
        "all", Resource.cpus, capacity, amounts=(("cpus", capacity),), policy=policy, limits=limits
    )


@cache
def starved() -> Scenario:
    """Narrow jobs always use three of four CPUs, and a wide one waits until the last of them ends.

    Each day at every 20 minutes from 0:00 to 21:40 comes a job of an hour, and at 0:30 one of ten
    minutes that needs all four.
    """
    greedy = pool(4, Policy(Order.fcfs, Backfill.no_guarantee))
    narrow = [Job(k * 20 * MINUTE, HOUR, 1, k) for k in range(66)]
    return scenario([*narrow, Job(30 * MINUTE, 10 * MINUTE, 4, 5)], greedy)


@cache
def limited() -> Scenario:
    """A limit of one job per user idles half of 24 CPUs; each of twelve users has six jobs."""
    tight = pool(24, Policy(), Limit(most=1, per="user"))
    return scenario([Job(k, HOUR, 1, k) for k in range(72)], tight)


def indifferent(seed: int) -> Scenario:
    """One-CPU jobs on four CPUs: who comes first starts first, whatever is asked for."""
    import numpy as np

    random = np.random.Generator(np.random.PCG64(seed))
    jobs = [
        Job(int(at), int(random.integers(600, 4 * HOUR)), 1, int(random.integers(USERS)), DAY)
        for at in np.sort(random.integers(0, 8 * HOUR, 20))
    ]
    own = pool(4, Policy())
    return scenario(jobs, own)
