"""A log whose waits can be followed by hand."""

from functools import cache

import polars as pl

from audit.metrics.attempts.population import describe
from audit.model import Pool, Resource
from audit.oneoff.explain import explain, facts
from audit.oneoff.explain.story import Story
from tests.logs import line, log
from tests.oneoff.test_simulate import parsed

# A pool of 4. Job 1 of ann (2 of 4) runs from 0 to 100, job 2 of bob (2) from 0 to 60. Job 3 of ann
# (3) waits from 10 on: it needs the end of 1. Job 4 of cem (3), the one to explain, comes at 20.
# Later: 5 of dot (2) comes at 30 and runs from 60 to 160; 6 of bob (2) comes at 40 and runs from
# 100 to 150; so 3 starts at 160 only and ends at 180, when 4 starts.
HAND = log(
    [
        line(1, submit=0, wait=0, run=100, allocated=2, walltime=100, user=1),
        line(2, submit=0, wait=0, run=60, allocated=2, walltime=60, user=2),
        line(3, submit=10, wait=150, run=20, allocated=3, walltime=20, user=1),
        line(4, submit=20, wait=160, run=30, allocated=3, walltime=30, user=3),
        line(5, submit=30, wait=30, run=100, allocated=2, walltime=100, user=4),
        line(6, submit=40, wait=60, run=50, allocated=2, walltime=50, user=2),
        line(7, submit=50, wait=500, run=-1, allocated=-1, requested=1, status=5, user=4),
        line(8, submit=60, wait=300, run=5, allocated=9, walltime=10, user=4),
    ],
    MaxProcs=4,
    TimeZoneString="UTC",
)

ORIGIN = 1_000_000_000
NOW = ORIGIN + 1_000
POOL = Pool("all", Resource.cpus, 4)


@cache
def described() -> pl.DataFrame:
    records = parsed(HAND.encode())
    return describe(records.with_columns(cluster=pl.lit("c"), attempt=pl.lit(1, pl.Int64)), [POOL])


def row(job: str) -> int:
    place: int = described()["job_id"].to_list().index(job)
    return place


def scene(job: str) -> facts.PoolScene:
    return facts.scene(described(), POOL, NOW, "UTC", row(job))


@cache
def story(job: str, pool: Pool = POOL) -> Story:
    return explain.story(described(), pool, NOW, "UTC", row(job), known=facts.LogEvidence(ORIGIN))
