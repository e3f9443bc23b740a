"""Chains: by definition (tests/naive/releases.py), by hand, and those of public logs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.metrics.attempts.population import describe
from audit.model import Limit, Pool, Resource
from audit.scenario.releases.chains import JobChain, accepted_chains, find_chains, own_end, released
from audit.scenario.releases.queue import user_jobs
from tests.examples import examples
from tests.metrics.attempts.test_real_logs import described
from tests.naive import releases as naive
from tests.naive.releases import Job
from tests.strategies import frame

ALL = Pool("all", Resource.cpus, 4, amounts=(("cpus", 4),))
DAY = 86_400


def attempts(jobs: list[Job]) -> pl.DataFrame:
    records: list[dict[str, Any]] = [
        {
            "job_number": job.number,
            "submit_time": job.arrival,
            "start_time": job.start,
            "end_time": job.arrival + 10_000 if job.end is None else job.end,
            "occupancy_s": 0 if job.end is None or job.start is None else job.end - job.start,
            "cpus": job.size,
            "user": job.user,
            "partition": job.partition,
            "node_list": job.node,
            "state": "CANCELLED" if job.start is None else "COMPLETED",
        }
        for job in jobs
    ]
    return describe(frame(records), [ALL])


def pool_with(most: int | None) -> Pool:
    """The pool with a limit of the CPUs of each user."""
    limits = () if most is None else (Limit(most=most, resource="cpus", per="user"),)
    return ALL._replace(limits=limits)


def found(jobs: list[Job], most: int | None = None) -> list[JobChain]:
    return find_chains(user_jobs(attempts(jobs), pool_with(most), 100 * DAY))


@st.composite
def logs(draw: st.DrawFn) -> list[Job]:
    """Jobs of two users over some days; most start when the previous one ends."""
    jobs, last = [], {"ann": 0, "bob": 0}
    for number in range(1, draw(st.integers(12, 40))):
        user = draw(st.sampled_from(["ann", "ann", "ann", "bob"]))
        arrival = max(last[user] - draw(st.sampled_from([30, 60, 61, 900, 7_000])), 0)
        start = max(last[user], arrival) + draw(st.sampled_from([-6, -5, 0, 60, 120, 121, 30_000]))
        start = max(start, arrival)
        lasts = draw(st.sampled_from([0, 60, 3_000, 20_000, DAY]))
        size = draw(st.sampled_from([1, 1, 2, 4]))
        if draw(st.integers(0, 9)) == 0:
            jobs.append(Job(number, user, arrival, None, None, size))
        else:
            jobs.append(Job(number, user, arrival, start, start + lasts, size))
            last[user] = start + lasts
    return draw(st.permutations(jobs)) if draw(st.booleans()) else jobs


@settings(max_examples=examples(60))
@given(logs(), st.sampled_from([None, 1, 2, 3]))
def test_as_defined(jobs: list[Job], most: int | None) -> None:
    exact = {user: naive.chain(jobs, 4, user, most) for user in ("ann", "bob")}
    made = {one.user: one for one in found(jobs, most)}
    assert set(made) == {user for user, chain in exact.items() if chain is not None}
    for user, one in made.items():
        chain = exact[user]
        assert chain is not None
        assert one.jobs == chain[0]
        assert one.share == pytest.approx(float(chain[1]))
        assert one.shifted == pytest.approx(float(chain[2]))
        assert one.accepted == (chain[1] >= 0.5 and chain[1] >= 3 * chain[2])
    log = attempts(jobs)
    of_users = user_jobs(log, pool_with(most), 100 * DAY)
    expected = {job.number: job.arrival for job in jobs}
    for user in (one.user for one in accepted_chains(of_users)):
        _, hits = naive.chained(jobs, 4, user, most=most)
        expected |= {j.number: naive.freed(jobs, j) for j in hits}
    after = released(log, of_users, accepted_chains(of_users))
    assert after.schema == log.schema
    assert dict(after.select("job_number", "arrival_time").rows()) == expected
    assert after.drop("arrival_time").equals(log.drop("arrival_time"))


def following(lasts: Sequence[int], late: int, arrives: int) -> list[Job]:
    """Jobs that start ``late`` s after the end of the previous one, and arrive before it."""
    jobs, end = [Job(1, "ann", 0, 0, lasts[0], 1)], lasts[0]
    for number, seconds in enumerate(lasts[1:], 2):
        jobs.append(Job(number, "ann", end - arrives, end + late, end + late + seconds, 1))
        end += late + seconds
    return jobs


def chain_of(length: int, late: int, arrives: int = 500) -> list[Job]:
    """Jobs that take half a day each."""
    return following([DAY // 2] * length, late, arrives)


def test_the_own_end_after_which_a_job_starts() -> None:
    """Of ends at 100, 150 and 152, the last one; 5 s after a start at the latest."""
    ends = {"1": 100, "2": 150, "3": 152, "4": 900}
    own = pl.DataFrame(
        {"job_id": [*ends], "start_time": [0, 0, 0, 149], "end_time": [*ends.values()]}
    )
    assert own_end(own, "4", 149) == ("3", -3)
    assert own_end(own, "4", 140) == ("1", 40)
    assert own_end(own, "3", 150) == ("2", 0)
    assert own_end(own, "4", 273) is None
    assert own_end(own, "4", 94) is None
    assert own_end(own.with_columns(start_time=200), "4", 149) is None  # started later


@pytest.mark.parametrize(
    ("jobs", "held"),
    [
        (chain_of(11, 120), 10),
        (chain_of(11, -5), 10),
        (chain_of(11, 121), None),
        (chain_of(10, 0), None),  # nine jobs
        (chain_of(11, 0, arrives=60), None),  # just queued
        # somebody else uses the rest of the capacity
        ([*chain_of(11, 0), Job(99, "bob", 0, 0, 20 * DAY, 3)], None),
        ([*chain_of(11, 0), Job(99, "bob", 0, 0, 20 * DAY, 2)], 10),
    ],
)
def test_by_hand(jobs: list[Job], held: int | None) -> None:
    made = [one for one in found(jobs) if one.accepted]
    assert [len(one.held) for one in made] == ([] if held is None else [held])
    for one in made:
        ends = {job.end for job in jobs}
        assert set(one.until.tolist()) <= ends


def test_a_previous_job_that_never_started_is_none() -> None:
    jobs = chain_of(12, 0)
    jobs[5] = jobs[5]._replace(start=None, end=None)
    assert [one.jobs for one in found(jobs)] == []  # 9: it, and the one after it, are missing


CHAINS = {
    "KTH-SP2-1996-2.1-cln": {"63": (15, 0.80), "120": (48, 0.50), "172": (69, 0.68)},
    "LANL-CM5-1994-4.1-cln": 9,
}


@pytest.mark.parametrize(("name", "zone"), [*zip(CHAINS, ("Etc/GMT-1", "Etc/GMT+7"), strict=True)])
def test_public_logs(real_logs: Path, name: str, zone: str) -> None:
    log, pool = described(real_logs, name)
    made = find_chains(user_jobs(log, pool._replace(zone=zone), 1 << 40))
    accepted = {one.user: (one.jobs, round(one.share, 2)) for one in made if one.accepted}
    assert CHAINS[name] in (accepted, len(accepted))
