"""Unstartable jobs: by definition (tests/naive/unstartable.py), by hand, and of public logs."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.metrics.attempts.account import first_end
from audit.metrics.attempts.population import describe
from audit.model import Limit, Pool, Resource
from audit.scenario.plateaus.sweeping import unstartable
from tests.examples import examples
from tests.kernels.plateaus.test_sweep import ALL, BEGIN, CAPACITY, LIMITS, attempts, logs
from tests.metrics.attempts.test_real_logs import described
from tests.naive import unstartable as naive
from tests.naive.plateaus import Job
from tests.strategies import frame


def found(
    jobs: list[Job], limits: tuple[Limit, ...] = (), since: int = 0, pool: Pool = ALL
) -> list[int | None]:
    now = max(t for job in jobs for t in (job.leave, job.end or 0)) + 1
    return unstartable(describe(frame(attempts(jobs)), [pool]), pool, now, since, limits).to_list()


@pytest.mark.parametrize("name", LIMITS)
@settings(max_examples=examples(60))
@given(jobs=logs(), since=st.sampled_from([0, 0, BEGIN + 2_500]))
def test_as_defined(name: str | None, jobs: list[Job], since: int) -> None:
    limits, rules = LIMITS[name]
    assert found(jobs, limits, since) == naive.marked(jobs, CAPACITY, since, rules)


def job(user: str, size: int, arrival: int, start: int | None, lasts: int = 100) -> Job:
    """A job that waits until it starts; else for 20,000 s."""
    leave = arrival + 20_000 if start is None else start
    end = None if start is None else start + lasts
    return Job(arrival, leave, start, end, size, 500, user, "x", "p", None)


@pytest.mark.parametrize(
    ("jobs", "at"),
    [
        ([job("ann", 4, 100, 3_800)], [3_700]),
        ([job("ann", 4, 100, 3_700)], [None]),  # it starts at that instant
        ([job("ann", 7, 100, None)], [None]),  # more than the capacity
        # a job of another user that waits too would not fit beside it
        ([job("ann", 4, 100, 9_000), job("bob", 3, 150, 9_000)], [None, None]),
        ([job("ann", 4, 100, 9_000), job("ann", 4, 150, 9_000)], [3_700, 3_700]),
        ([job("ann", 3, 100, 9_000), job("bob", 3, 150, 9_000)], [3_700, 3_750]),
        # the next of its group is startable after a start, and stays marked
        (
            [job("ann", 2, 100, 5_000), job("ann", 2, 200, 9_000), job("ann", 2, 300, 9_000)],
            [3_700, 3_700, 3_700],
        ),
        # those that join are marked; after a start they are not
        ([job("ann", 2, 100, 6_000), job("ann", 2, 4_000, 9_000)], [3_700, 4_000]),
        ([job("ann", 2, 100, 6_000), job("ann", 2, 6_001, 9_000)], [3_700, None]),
        # what one group cannot start does not hinder others
        ([job("ann", 4, 100, 9_000), job("ann", 3, 3_800, 9_000), job("bob", 2, 99, 9_000)], None),
    ],
)
def test_by_hand(jobs: list[Job], at: list[int | None] | None) -> None:
    jobs = sorted(jobs, key=lambda one: one.arrival)
    made = found(jobs)
    assert made == naive.marked(jobs, CAPACITY)
    if at is not None:
        assert made == at


def test_attempts_of_other_pools_are_never_marked() -> None:
    other = Pool("other", Resource.cpus, CAPACITY, amounts=(("cpus", CAPACITY),))
    assert unstartable(
        describe(frame(attempts([job("ann", 4, 100, 9_000)])), [ALL]), other, 9_999, 0
    ).to_list() == [None]


OF_178 = Limit(most=64, resource="cpus", user=("178",))
PUBLIC = {
    "KTH-SP2-1996-2.1-cln": ("Etc/GMT-1", (), 0.110),
    "LANL-CM5-1994-4.1-cln": ("Etc/GMT+7", (OF_178,), 0.519),
    "UniLu-Gaia-2014-1": ("Etc/GMT-1", (), 0.671),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_logs(real_logs: Path, name: str) -> None:
    zone, own, share = PUBLIC[name]
    log, pool = described(real_logs, name)
    now = int(log["end_time"].drop_nulls().to_numpy().max())
    pool = pool._replace(zone=zone)
    at = unstartable(log, pool, now, first_end(log), own)
    # SPEC's numbers are over attempts that ran
    ran = log.with_columns(at).filter(pl.col("start_time").is_not_null(), pl.col("occupancy_s") > 0)
    of_marked, waited = (
        of["wait_s"].to_numpy().sum() for of in (ran.drop_nulls("unstartable_from"), ran)
    )
    assert of_marked / waited == pytest.approx(share, abs=0.0005)
