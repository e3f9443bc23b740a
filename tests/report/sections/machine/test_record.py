"""What charts of a pool show, as defined."""

import re
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from statistics import median_low
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.model import OBSERVED, Period
from audit.periods import day_edges, day_of, zone
from audit.report.sections.machine.record import Burst, MachineOverTime
from audit.report.sections.machine.section import BURST_DAYS, read
from audit.report.sections.waits.section import walltimes
from audit.report.source import SectionSource
from audit.store import queries
from audit.store.database import Connection
from tests import stores
from tests.report.rows import add

DAY = 86_400
FROM = 1_793_484_000 - 7 * DAY  # contains a change of clocks
PERIOD = Period("2026-10", FROM, FROM + 9 * DAY)
ZONE = "Europe/Berlin"
CAPACITY = 8


class Job(NamedTuple):
    arrival: int
    wait: int
    occupancy: int
    size: int | None
    walltime: int | None
    standing: str = "ended"
    user: str | None = "ann"


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> Connection:
    con = stores.new(Path(tmp_path_factory.mktemp("machine")) / "audit.duckdb")
    add(con, "pools", cluster="demo", pool="batch", resource="cpus", capacity=CAPACITY)
    return con


def shown(con: Connection, jobs: list[Job], period: Period = PERIOD) -> MachineOverTime:
    con.execute("DELETE FROM job_result")
    rows = [
        {
            "cluster": "demo",
            "pool": "batch",
            "schedule": OBSERVED,
            "job_id": str(number),
            "attempt": 1,
            "standing": job.standing,
            "arrival_time": job.arrival,
            "start_time": job.arrival + job.wait,
            "end_time": job.arrival + job.wait + job.occupancy,
            "occupancy_s": job.occupancy,
            "runtime_s": job.occupancy,
            "size": job.size,
            "user": job.user,
            "walltime_s": job.walltime,
            "run_id": "run-1",
        }
        for number, job in enumerate(jobs)
    ]
    if rows:
        add(con, "job_result", *rows)
    return read(SectionSource(con, "demo", period, zone=ZONE))["batch"]


JOBS = st.lists(
    st.builds(
        Job,
        st.integers(FROM - 2 * DAY, FROM + 10 * DAY),
        st.integers(0, 3 * DAY),
        st.integers(0, DAY),
        st.none() | st.integers(1, 8),
        st.none() | st.integers(1, DAY),
        st.sampled_from(["ended", "ended", "ended", "running"]),
    ),
    max_size=8,
)


@given(JOBS)
def test_work_that_waited_as_defined(con: Connection, jobs: list[Job]) -> None:
    edges = day_edges(PERIOD.from_time, PERIOD.to_time, zone(ZONE))
    slow = []
    for first, last in pairwise(edges):
        work = Fraction(0)
        for job in jobs:
            if job.standing == "ended" and job.size is not None:
                overlap = min(job.arrival + job.wait, last) - max(job.arrival, first)
                work += max(overlap, 0) * job.size * job.occupancy
        slow.append(work / (last - first) / CAPACITY)
    found = shown(con, jobs).waiting_work
    assert [value for _, value in found] == pytest.approx(
        [float(of) for of in slow] if found else []
    )
    assert bool(found) == any(slow)
    assert [day for day, _ in found[:2]] == (["2026-10-25", "2026-10-26"] if found else [])


@given(JOBS)
def test_use_of_walltimes_as_defined(con: Connection, jobs: list[Job]) -> None:
    within = [
        Fraction(job.occupancy, job.walltime)
        for job in jobs
        if job.standing == "ended"
        and job.walltime is not None
        and FROM <= job.arrival + job.wait + job.occupancy < PERIOD.to_time
    ]
    shown(con, jobs)
    told = walltimes(SectionSource(con, "demo", PERIOD)).get("batch")
    assert (told is None) == (not within)
    if told is not None:
        tenths = [
            sum(Fraction(k, 10) < part <= Fraction(k + 1, 10) for part in within) for k in range(10)
        ]
        tenths[0] += sum(part == 0 for part in within)
        assert told.tenths == (*tenths, sum(part > 1 for part in within))
        assert told.attempts == len(within)
        assert told.median == pytest.approx(float(median_low(within)))


MANY = st.lists(
    st.builds(
        Job,
        st.integers(FROM, FROM + 2 * DAY),
        st.integers(0, DAY // 8),
        st.integers(0, DAY),
        st.none() | st.integers(1, 8),
        st.none(),
        st.sampled_from(["ended", "ended", "ended", "running"]),
        st.sampled_from(["ann", "ben", None]),
    ),
    max_size=20,
)


@given(MANY)
def test_bursts_as_defined(con: Connection, jobs: list[Job]) -> None:
    """Each arrival of a burst is while an earlier attempt of the same user is queued."""
    slow = []
    for user in ("ann", "ben"):
        own = [(job.arrival, number, job) for number, job in enumerate(jobs) if job.user == user]
        runs: list[list[Job]] = []
        queued_until = 0
        for arrival, _, job in sorted(own):
            if arrival >= queued_until:
                runs.append([])
            runs[-1].append(job)
            queued_until = max(queued_until, arrival + job.wait)
        for run in runs:
            ended = [job for job in run if job.standing == "ended"]
            work_s = Fraction(sum((job.size or 0) * job.occupancy for job in ended), CAPACITY)
            if len(run) > 1 and work_s >= BURST_DAYS * DAY:
                slow.append((-work_s, run[0].arrival, user, run[-1].arrival))
    found = shown(con, jobs).bursts
    assert found == tuple(
        Burst(day_of(first, zone(ZONE)).isoformat(), day_of(last, zone(ZONE)).isoformat(), user)
        for _, first, user, last in sorted(slow)
    )


def test_a_burst_may_begin_before_the_period(con: Connection) -> None:
    first = Job(FROM - DAY, 2 * DAY, DAY, 8, None)
    jobs = [first, first._replace(arrival=FROM + 10), first._replace(arrival=FROM - 9 * DAY)]
    (burst,) = shown(con, jobs).bursts
    assert (burst.first, burst.last) == ("2026-10-25", "2026-10-25")


def test_by_hand(con: Connection) -> None:
    # Two days of waiting, half of the pool, for an hour of work: half an hour of the whole pool.
    found = shown(con, [Job(FROM + DAY, 2 * DAY, 3_600, 4, 7_200)])
    hours = {day: seconds / 3_600 for day, seconds in found.waiting_work}
    assert hours["2026-10-26"] == 0.5
    assert hours["2026-10-25"] == pytest.approx(0.5 / 25)  # an hour of a day of 25
    used = walltimes(SectionSource(con, "demo", PERIOD))["batch"]
    assert used.tenths == (0, 0, 0, 0, 1, *[0] * 6)
    assert used.median == 0.5


def test_an_empty_period_has_nothing_to_show(con: Connection) -> None:
    assert shown(con, [], Period("none", FROM, FROM)) == MachineOverTime()


def test_no_attempt_is_compared_with_every_day(con: Connection) -> None:
    shown(con, [Job(FROM + k, 60, 60, 1, 60) for k in range(500)])
    query = queries.load("machine/waiting_work")
    edges = list(range(FROM, FROM + DAY, 600))
    of = {"cluster": "demo", "schedule": OBSERVED, "edges": edges}
    [(_, plan)] = con.execute(f"EXPLAIN {query.sql}", of).fetchall()
    assert set(re.findall(r"\w+ Join", plan)) == {"Hash Join"}, plan
