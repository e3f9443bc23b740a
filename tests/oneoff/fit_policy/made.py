"""Logs that a known policy made, with known rules: what ``fit-policy`` is to find out."""

from typing import Any

import numpy as np
import polars as pl

from audit.metrics.attempts.population import describe
from audit.model import Policy, Pool, Resource
from audit.policies import Backfill, Order
from audit.scenario.engine import simulate
from tests.logs import line, log
from tests.strategies import frame

EPOCH = 1_704_067_200  # a Monday, 00:00 UTC
DAY = 86_400
CAPACITY = 64
NOW = EPOCH + 10_000 * DAY
USERS = 12
FCFS_EASY = Policy()


def requests(
    seed: int, days: int = 70, a_day: int = 45, longest: float = 12.0
) -> list[dict[str, Any]]:
    """Requests of users: some submit several at once, most walltimes are longer than needed."""
    draw = np.random.Generator(np.random.PCG64(seed))
    records: list[dict[str, Any]] = []
    while len(records) < days * a_day:
        submit = EPOCH + int(draw.integers(0, days * DAY))
        user = f"u{int(draw.zipf(1.4)) % USERS}"
        for _ in range(int(draw.integers(1, 6))):
            occupancy = int(min(draw.exponential(6_000) + 30, longest * 3_600))
            walltime = -(-int(occupancy * draw.uniform(1, 3)) // 900) * 900
            size = int(draw.choice([1, 1, 2, 4, 8, 16]))
            records.append(
                {
                    "submit_time": submit,
                    "occupancy_s": occupancy,
                    "walltime_s": min(walltime, int(longest * 3_600)),
                    "cpus": size,
                    "nodes": -(-size // 8),
                    "user": user,
                    "partition": "long" if walltime > 4 * 3_600 else "short",
                    "state": "COMPLETED",
                }
            )
    return sorted(records, key=lambda record: record["submit_time"])


def pool(policy: Policy = FCFS_EASY, **rules: Any) -> Pool:
    """A pool with rules."""
    return Pool(
        "all",
        Resource.cpus,
        CAPACITY,
        amounts=(("cpus", CAPACITY),),
        policy=policy,
        **rules,
    )


def made_by(site: Pool, records: list[dict[str, Any]]) -> pl.DataFrame:
    """The schedule that a site makes of what is asked for, as a log that was observed."""
    asked = describe(frame(records), [site])
    schedule = simulate(asked, site, NOW, site.policy)
    started = schedule.filter(pl.col("start_time").is_not_null())
    attempts = started.select(name for name in frame([]).columns)
    return describe(attempts, [pool()])


def by_priority(seed: int, **first: str) -> pl.DataFrame:
    """Return the log of a site that serves jobs of a partition or QOS first."""
    draw = np.random.Generator(np.random.PCG64(seed + 100))
    records = [
        record
        | {"partition": str(draw.choice(["a", "b", "c"])), "qos": str(draw.choice(["x", "y"]))}
        for record in requests(seed, a_day=90)
    ]
    ((by, name),) = first.items() or [("partition", "")]
    asked = [record | {"priority": float(record[by] == name)} for record in records]
    log = made_by(pool(Policy(Order.recorded, Backfill.easy)), asked)
    return log.with_columns(priority=pl.lit(None, pl.Float64))


def described(records: list[dict[str, Any]]) -> pl.DataFrame:
    """Attempts that ended, as they were observed."""
    ended = [{"state": "COMPLETED"} | record for record in records]
    return describe(frame(ended), [pool()])


def assumed() -> Pool:
    """The site as it is configured."""
    return pool()


def chained(records: list[dict[str, Any]], user: str, seed: int) -> list[dict[str, Any]]:
    """The same with chains of one user: of each ten submitted, each waits for the one before it."""
    draw = np.random.Generator(np.random.PCG64(seed))
    last = records[-1]["submit_time"]
    links = []
    for number in range(40):
        submit = EPOCH + int((last - EPOCH) * (number + draw.uniform()) / 40)
        for _ in range(10):
            occupancy = int(draw.uniform(600, 5_400))
            links.append(
                {
                    "submit_time": submit,
                    "occupancy_s": occupancy,
                    "walltime_s": -(-occupancy // 900) * 900,
                    "cpus": 1,
                    "nodes": 1,
                    "user": user,
                    "partition": "short",
                    "state": "COMPLETED",
                }
            )
            submit += 1
    return sorted([*records, *links], key=lambda record: record["submit_time"])


def swf(site: Pool, seed: int = 0, **more: Any) -> str:
    """A log that a site made, as SWF."""
    return as_swf(made_by(site, requests(seed, days=60, **more)).with_columns(partition=None))


def as_swf(made: pl.DataFrame) -> str:
    """A log as SWF, with partitions a, b, … as 1, 2, …."""
    attempts = made.sort("arrival_time", "line")
    return log(
        (
            line(number, submit=row["arrival_time"] - EPOCH, wait=row["wait_s"],
                 run=row["occupancy_s"], walltime=row["walltime_s"], allocated=row["cpus"],
                 user=int(row["user"][1:]) + 1,
                 partition=ord(row["partition"]) - ord("a") + 1 if row["partition"] else -1)
            for number, row in enumerate(attempts.iter_rows(named=True), start=1)
        ),
        MaxProcs=CAPACITY,
        UnixStartTime=EPOCH,
        TimeZoneString="UTC",
    )  # fmt: skip
