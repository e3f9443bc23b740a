"""Logs that a known policy made, with known rules: what ``fit-policy`` is to find out."""

from typing import Any

import numpy as np
import polars as pl

from audit.metrics.attempts.population import describe
from audit.model import Policy, Pool, Resource
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


def swf(site: Pool, seed: int = 0, **more: Any) -> str:
    """A log that a site made, as SWF."""
    attempts = made_by(site, requests(seed, days=60, **more)).sort("arrival_time", "line")
    return log(
        (
            line(number, submit=row["arrival_time"] - EPOCH, wait=row["wait_s"],
                 run=row["occupancy_s"], walltime=row["walltime_s"], allocated=row["cpus"],
                 user=int(row["user"][1:]) + 1)
            for number, row in enumerate(attempts.iter_rows(named=True), start=1)
        ),
        MaxProcs=CAPACITY,
        UnixStartTime=EPOCH,
        TimeZoneString="UTC",
    )  # fmt: skip
