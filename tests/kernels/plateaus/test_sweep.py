"""Stops and climbs against their definitions (tests/naive/plateaus.py)."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.metrics.attempts.population import describe
from audit.model import Limit, Node, Pool, Resource
from audit.scenario.plateaus.entities import FAMILIES, Plateaued, plateaued
from audit.scenario.plateaus.sweeping import Climbs, Stops, swept
from tests.examples import examples
from tests.naive import nodes as naive_nodes
from tests.naive import plateaus as naive
from tests.naive.nodes import Machine
from tests.naive.plateaus import Forbids, Job, Stop
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
            "nodes": job.nodes,
            "node_list": ",".join(job.on) or None,
            "user": job.user,
            "account": job.account,
            "partition": job.partition,
            "qos": job.qos,
            "state": "CANCELLED" if job.start is None else "COMPLETED",
        }
        for job in jobs
    ]


MACHINES = {
    "n1": Machine((4,), ("p",)),
    "n2": Machine((3,), ("p", "q")),
    "n3": Machine((2,), ("q",)),
}
NODES = tuple(
    Node(name, (("cpus", one.amounts[0]),), one.partitions) for name, one in MACHINES.items()
)
"""Partitions that share a node."""


@st.composite
def logs_on_nodes(draw: st.DrawFn) -> list[Job]:
    """Logs with nodes, on which jobs of several parts run, and more than a node has."""
    jobs = []
    for job in draw(logs()):
        nodes = draw(st.sampled_from([1, 1, 2]))
        names = naive_nodes.eligible(MACHINES, {"partition": job.partition})
        on = tuple(sorted(draw(st.permutations(names))[:nodes])) if job.start is not None else ()
        jobs.append(job._replace(nodes=nodes, on=on))
    return jobs


def found(
    jobs: list[Job], limits: tuple[Limit, ...], since: int, pool: Pool = ALL
) -> tuple[Plateaued, Stops, Climbs]:
    """The findings of the package."""
    now = max(t for job in jobs for t in (job.leave, job.end or 0)) + 1
    grouped = plateaued(describe(frame(attempts(jobs)), [pool]), pool, now)
    stops, climbs = swept(grouped, pool, limits, since, climbing=True)
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


def same_stops(grouped: Plateaued, stops: Stops, expected: list[Stop]) -> list[Stop]:
    """Compare stops with those expected; return these, of the entities that can differ."""
    kept = {entity(grouped, e) for e in range(len(grouped.members))}
    exact = [one for one in expected if one.entity in kept]
    of = np.searchsorted(stops.first, np.arange(len(stops.group)), side="right") - 1
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
            tuple(int(level[stops.interval[k]]) for level in stops.levels),
            int(stops.day()[k]),
        )
        for k in range(len(of))
    )
    assert ours == theirs
    return exact


@pytest.mark.parametrize("name", LIMITS)
@settings(max_examples=examples(60))
@given(jobs=logs(), since=st.sampled_from([0, 0, BEGIN + 2_500]))
def test_as_defined(name: str | None, jobs: list[Job], since: int) -> None:
    limits, rules = LIMITS[name]
    grouped, stops, climbs = found(jobs, limits, since)
    exact = same_stops(grouped, stops, naive.stops(jobs, CAPACITY, since, rules))
    kept = {entity(grouped, e) for e in range(len(grouped.members))}
    of = np.searchsorted(stops.first, np.arange(len(stops.group)), side="right") - 1
    reached = Counter(
        (one, number, levels) for one, number, levels in naive.climbs(jobs) if one in kept
    )
    whose = np.searchsorted(climbs.first, np.arange(len(climbs.job)), side="right") - 1
    assert reached == Counter(
        (
            entity(grouped, int(whose[k])),
            int(climbs.job[k]),
            tuple(int(level[k]) for level in climbs.levels),
        )
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


def test_a_job_that_ends_as_it_starts_is_in_no_level() -> None:
    runs, ends = waiting("ann", 4, 0, 100, 100), waiting("ann", 2, 0, 100, 100)._replace(end=100)
    for jobs in ([runs, ends], [ends, runs]):
        grouped, _, climbs = found(jobs, (), 0)
        levels = climbs.level(1, slice(*climbs.first[:2].tolist()))
        assert grouped.members[0].name == "ann"
        assert levels.max() == 4


@pytest.mark.parametrize("name", LIMITS)
@settings(max_examples=examples(60))
@given(jobs=logs_on_nodes())
def test_on_nodes_as_defined(name: str | None, jobs: list[Job]) -> None:
    limits, rules = LIMITS[name]
    grouped, stops, _ = found(jobs, limits, 0, ALL._replace(nodes=NODES))
    same_stops(grouped, stops, naive.stops(jobs, CAPACITY, 0, rules, MACHINES))


@pytest.mark.parametrize(("nodes", "hungry"), [((6,), True), ((3, 3), False), ((2, 4), True)])
def test_a_job_is_hungry_only_where_a_node_holds_it(nodes: tuple[int, ...], hungry: bool) -> None:
    pool = ALL._replace(
        nodes=tuple(Node(f"n{k}", (("cpus", has),), ("p",)) for k, has in enumerate(nodes))
    )
    _, stops, _ = found([waiting("ann", 4, 0, 1_000)], (), 0, pool)
    assert bool(len(stops.group)) is hungry


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
    assert stops.day(slice(*stops.first[bob : bob + 2])).tolist() == [10]
    earlier = [job._replace(arrival=job.arrival - 2, leave=job.leave - 2) for job in moved]
    earlier = [
        job._replace(
            start=None if job.start is None else job.start - 2,
            end=None if job.end is None else job.end - 2,
        )
        for job in earlier
    ]
    _, stops, _ = found(earlier, (), 0)
    assert stops.day(slice(*stops.first[bob : bob + 2])).tolist() == [9]
