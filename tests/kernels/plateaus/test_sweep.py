"""Stops and climbs against their definitions (tests/naive/plateaus.py)."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.metrics.attempts.population import describe
from audit.model import Limit, Pool, Resource
from audit.scenario.plateaus.entities import FAMILIES, Plateaued, plateaued
from audit.scenario.plateaus.sweeping import Climbs, Stops, swept
from tests.examples import examples
from tests.naive import plateaus as naive
from tests.naive.plateaus import Forbids, Job
from tests.strategies import frame

CAPACITY = 6
BEGIN = 10 * 86_400 - 3_000  # a day ends within the logs
ALL = Pool("all", Resource.cpus, CAPACITY, amounts=(("cpus", CAPACITY),))


_kinds = st.tuples(
    st.sampled_from([1, 2, 3, 4, 4, 7]),
    st.sampled_from([None, 500, 3_000, 9_000]),
    st.sampled_from([None, "ann", "ann", "bob"]),
    st.sampled_from([None, "x", "x", "y"]),
    st.sampled_from(["p", "p", "q"]),
    st.sampled_from([None, "m", "n"]),
)


@st.composite
def logs(draw: st.DrawFn) -> list[Job]:
    """Logs with queues in which groups lapse, and jobs that exceed their walltimes."""
    kinds = draw(st.lists(_kinds, min_size=2, max_size=4))
    jobs = []
    for _ in range(draw(st.integers(1, 14))):
        arrival = BEGIN + 100 * draw(st.integers(0, 40))
        wait = draw(st.sampled_from([0, 299, 300, 900, 3_700, 5_000, 9_000]))
        occupancy = draw(st.sampled_from([0, 1, 300, 700, 2_500, 8_000]))
        started = draw(st.integers(0, 3)) > 0
        leave = arrival + (wait if started else max(wait, 1))
        times = (leave, leave + occupancy) if started else (None, None)
        jobs.append(Job(arrival, leave, *times, *draw(st.sampled_from(kinds))))
    return sorted(jobs, key=lambda job: job.arrival)


def attempts(jobs: list[Job]) -> list[dict[str, Any]]:
    """Jobs as records."""
    return [
        {
            "submit_time": job.arrival,
            "start_time": job.start,
            "end_time": job.leave if job.start is None else job.end,
            "occupancy_s": 0 if job.start is None or job.end is None else job.end - job.start,
            "walltime_s": job.walltime,
            "cpus": job.size,
            "user": job.user,
            "account": job.account,
            "partition": job.partition,
            "qos": job.qos,
            "state": "CANCELLED" if job.start is None else "COMPLETED",
        }
        for job in jobs
    ]


def found(
    jobs: list[Job], limits: tuple[Limit, ...], since: int
) -> tuple[Plateaued, Stops, Climbs]:
    """The findings of the package."""
    now = max(t for job in jobs for t in (job.leave, job.end or 0)) + 1
    grouped = plateaued(describe(frame(attempts(jobs)), [ALL]), ALL, now)
    stops, climbs = swept(grouped, ALL, limits, since, climbing=True)
    assert climbs is not None
    return grouped, stops, climbs


def entity(grouped: Plateaued, number: int) -> Any:
    """An entity as the definition names it."""
    family, name, place = grouped.members[number]
    if family.without is not None:
        return "all but", None, family.without, None
    return family.of, family.within, place, name


LIMITS = {
    None: ((), ()),
    "jobs of a user": (
        (Limit(most=2, per="user"),),
        (Forbids(lambda job: job.user, "jobs", 2),),
    ),
    "CPUs of a user in a partition": (
        (Limit(most=3, resource="cpus", per="user", partition=("p",)),),
        (Forbids(lambda job: job.user if job.partition == "p" else None, "amount", 3),),
    ),
    "remaining time of an account": (
        (Limit(most=9_000, resource="cpus", remaining=True, account=("x",)),),
        (Forbids(lambda job: job.account == "x" or None, "remaining", 9_000),),
    ),
}


@pytest.mark.parametrize("name", LIMITS)
@settings(max_examples=examples(60))
@given(jobs=logs(), since=st.sampled_from([0, 0, BEGIN + 2_500]))
def test_as_defined(name: str | None, jobs: list[Job], since: int) -> None:
    limits, rules = LIMITS[name]
    grouped, stops, climbs = found(jobs, limits, since)
    kept = {entity(grouped, e) for e in range(len(grouped.members))}
    exact = [one for one in naive.stops(jobs, CAPACITY, since, rules) if one.entity in kept]
    of = np.searchsorted(stops.first, np.arange(len(stops.day)), side="right") - 1
    adds = grouped.adds[:, stops.group]
    theirs = Counter(
        (
            one.entity,
            (one.request[0], one.request[0] * one.request[1]),
            one.levels,
            (one.begin + (one.end - one.begin) // 2) // 86_400,
        )
        for one in exact
    )
    ours = Counter(
        (
            entity(grouped, int(of[k])),
            tuple(adds[1:, k].tolist()),
            tuple(stops.level[:, k].tolist()),
            int(stops.day[k]),
        )
        for k in range(len(of))
    )
    assert ours == theirs
    reached = Counter(
        (one, number, levels) for one, number, levels in naive.climbs(jobs) if one in kept
    )
    whose = np.searchsorted(climbs.first, np.arange(len(climbs.job)), side="right") - 1
    assert reached == Counter(
        (entity(grouped, int(whose[k])), int(climbs.job[k]), tuple(climbs.level[:, k].tolist()))
        for k in range(len(whose))
    )
    several = [
        one for one in exact if one.entity[1] is None and one.entity[0] not in ("user", "all but")
    ]
    assert len(stops.user) == sum(len(one.users) for one in several)
    assert Counter(of[stops.user_stop].tolist()) == Counter(
        e
        for e in range(len(grouped.members))
        for one in several
        if one.entity == entity(grouped, e)
        for _ in one.users
    )


def test_families() -> None:
    assert [(family.of, family.within) for family in FAMILIES] == list(naive.KINDS)


def waiting(user: str, size: int, arrival: int, leave: int, start: int | None = None) -> Job:
    """A job that waits, and runs for 100 s if it starts."""
    end = None if start is None else start + 100
    return Job(arrival, leave, start, end, size, 500, user, "x", "p", None)


@pytest.mark.parametrize(
    ("jobs", "begin"),
    [
        # ann's jobs take 4 of 6 until they have been hungry for an hour
        ([waiting("ann", 4, 0, 20_000), waiting("bob", 3, 0, 9_000)], 3_600),
        # a start of the group begins the hour anew
        (
            [
                waiting("ann", 4, 0, 3_000, 3_000),
                waiting("ann", 4, 0, 20_000),
                waiting("bob", 3, 0, 9_000),
            ],
            6_700,  # it ran for 100 s
        ),
        # and so does a queue that was empty
        (
            [
                waiting("ann", 4, 0, 5_000),
                waiting("ann", 4, 6_000, 20_000),
                waiting("bob", 3, 6_000, 12_000),
            ],
            9_600,
        ),
        # a group that has lapsed stays so, also after a start
        (
            [
                waiting("ann", 4, 0, 5_000, 5_000),
                waiting("ann", 4, 0, 20_000),
                waiting("bob", 3, 5_000, 9_000),
            ],
            5_100,
        ),
    ],
)
def test_a_group_lapses(jobs: list[Job], begin: int) -> None:
    end = 20_000  # bob neither starts nor ends: his interval lasts as long as the log
    # midnight is at the middle of bob's stop: one second earlier is another day
    shift = 10 * 86_400 - (begin + (end - begin) // 2)
    moved = [
        job._replace(
            arrival=job.arrival + shift,
            leave=job.leave + shift,
            start=None if job.start is None else job.start + shift,
            end=None if job.end is None else job.end + shift,
        )
        for job in jobs
    ]
    exact = [
        one for one in naive.stops(moved, CAPACITY) if one.entity == ("user", None, None, "bob")
    ]
    assert [(one.begin - shift, one.end - shift) for one in exact] == [(begin, end)]
    grouped, stops, _ = found(moved, (), 0)
    bob = next(e for e in range(len(grouped.members)) if grouped.members[e].name == "bob")
    assert stops.day[stops.first[bob] : stops.first[bob + 1]].tolist() == [10]
    earlier = [job._replace(arrival=job.arrival - 2, leave=job.leave - 2) for job in moved]
    earlier = [
        job._replace(
            start=None if job.start is None else job.start - 2,
            end=None if job.end is None else job.end - 2,
        )
        for job in earlier
    ]
    _, stops, _ = found(earlier, (), 0)
    assert stops.day[stops.first[bob] : stops.first[bob + 1]].tolist() == [9]
