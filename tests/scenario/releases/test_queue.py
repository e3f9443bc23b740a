"""Room where nodes are known, and what limits forbid: by definition (tests/naive), and by hand."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.model import Absence, Limit, Node, Pool
from audit.scenario.releases.chains import accepted_chains, chain_holds, find_chains
from audit.scenario.releases.joint import find_releases
from audit.scenario.releases.queue import user_jobs
from tests.examples import examples
from tests.naive import releases as naive
from tests.naive.releases import DAY, Job, Machine
from tests.scenario.releases.test_chains import ALL, attempts, chain_of, found, logs, pool_with
from tests.scenario.releases.test_joint import bursts, held

MACHINES = {"n1": Machine(2, "a"), "n2": Machine(1, "b"), "n3": Machine(1, "ab")}


def pool_of(machines: dict[str, Machine]) -> Pool:
    """The pool of four, on these nodes."""
    nodes = tuple(
        Node(name, (("cpus", one.size),), tuple(one.partitions)) for name, one in machines.items()
    )
    away = tuple(
        Absence(name, begin, end, "down")
        for name, one in machines.items()
        for begin, end in one.away
    )
    return ALL._replace(nodes=nodes, absences=away)


@st.composite
def on_nodes(
    draw: st.DrawFn, of: st.SearchStrategy[list[Job]]
) -> tuple[list[Job], dict[str, Machine]]:
    """Jobs with partitions and nodes of these, of which some are away for a time."""
    jobs = draw(of)
    partition = st.sampled_from(["a", "b", None])
    placed = [
        job._replace(partition=draw(partition), node=draw(st.sampled_from([*MACHINES, "other"])))
        for job in jobs
    ]
    ends = sorted({t for job in jobs for t in (job.arrival, job.start, job.end) if t is not None})
    spans = st.lists(st.sampled_from(ends), min_size=2, max_size=2, unique=True).map(
        lambda two: (min(two), max(two))
    )
    machines = {
        name: one._replace(away=(draw(spans),)) if draw(st.booleans()) and len(ends) > 1 else one
        for name, one in MACHINES.items()
    }
    return placed, machines


@settings(max_examples=examples(60))
@given(on_nodes(logs()))
def test_chains_as_defined(log: tuple[list[Job], dict[str, Machine]]) -> None:
    jobs, machines = log
    exact = {user: naive.chain(jobs, machines, user) for user in ("ann", "bob")}
    made = find_chains(user_jobs(attempts(jobs), pool_of(machines), 100 * DAY))
    assert {one.user: one.jobs for one in made} == {
        user: chain[0] for user, chain in exact.items() if chain is not None
    }


@settings(max_examples=examples(60))
@given(on_nodes(bursts()))
def test_room_as_defined(log: tuple[list[Job], dict[str, Machine]]) -> None:
    jobs, machines = log
    of = user_jobs(attempts(jobs), pool_of(machines), 1_000 * DAY)
    every = np.arange(len(of.row))
    ordered = sorted(jobs, key=lambda job: (job.arrival, job.number))
    instants = {t + more for job in jobs for t in (job.arrival, job.start or 0) for more in (0, 1)}
    for at in sorted(instants):
        exact = [naive.room(jobs, machines, job, at) for job in ordered]
        assert of.has_room(every, np.full(len(every), at)).tolist() == exact


@settings(max_examples=examples(60))
@given(on_nodes(bursts()))
def test_what_fits_on_a_node_as_defined(log: tuple[list[Job], dict[str, Machine]]) -> None:
    jobs, machines = log
    of = user_jobs(attempts(jobs).with_columns(nodes=1), pool_of(machines), 1_000 * DAY)
    every = np.arange(len(of.row))
    ordered = sorted(jobs, key=lambda job: (job.arrival, job.number))
    for at in sorted({t + 1 for job in jobs for t in (job.arrival, job.start or 0)}):
        exact = [naive.room(jobs, machines, job, at, single=True) for job in ordered]
        assert of.room.fits(every, np.full(len(every), at)).tolist() == exact


@settings(max_examples=examples(60))
@given(on_nodes(bursts()))
def test_joint_releases_as_defined(log: tuple[list[Job], dict[str, Machine]]) -> None:
    jobs, machines = log
    of = user_jobs(attempts(jobs), pool_of(machines), 1_000 * DAY)
    found = [(one.user, len(one.jobs), one.since, one.until) for one in find_releases(of)]
    assert found == [
        (user, *one) for user in ("ann", "bob") for one in naive.released(jobs, machines, user)
    ]


def test_a_chain_in_a_full_partition_is_none() -> None:
    """Another's job fills n2 and n3, all of partition b; of the pool, half is free."""
    chain = [job._replace(partition="b") for job in chain_of(30, late=60)]
    full = [Job(90 + k, "bob", 0, 0, 90 * DAY, 1, "b", node) for k, node in enumerate(("n2", "n3"))]
    log = attempts([*chain, *full])
    assert [one.user for one in find_chains(user_jobs(log, ALL, 100 * DAY))] == ["ann"]
    assert find_chains(user_jobs(log, pool_of(MACHINES), 100 * DAY)) == []
    elsewhere = attempts([*(job._replace(partition="a") for job in chain), *full])
    assert len(find_chains(user_jobs(elsewhere, pool_of(MACHINES), 100 * DAY))) == 1


def test_a_chain_that_waits_for_a_whole_node_is_none() -> None:
    """Half of n2 and n3 is free: as much as a job of two needs, but on no node."""
    chain = [job._replace(size=2, partition="a", node="n1") for job in chain_of(30, late=60)]
    others = [Job(90 + k, "bob", 0, 0, 90 * DAY, 1, "a", f"n{2 + k}") for k in range(2)]
    machines = {name: Machine(2, "a") for name in ("n1", "n2", "n3")}
    for taken, users in ((others, []), (others[:1], ["ann"])):
        jobs = user_jobs(
            attempts([*chain, *taken]).with_columns(nodes=1), pool_of(machines), 100 * DAY
        )
        assert [one.user for one in find_chains(jobs)] == ["ann"]
        assert [one.user for one in accepted_chains(jobs)] == users
        assert len(chain_holds(jobs, ["ann"])[0]) == 29 * len(users)


def test_a_chain_on_the_nodes_of_its_user_is_none_if_they_are_full() -> None:
    """Jobs that run only on n1 start there, one after the other, though n2 is free."""
    machines = {name: Machine(1, "a") for name in ("n1", "n2")}
    for length, users in ((50, []), (49, ["ann"])):
        chain = [job._replace(partition="a", node="n1") for job in chain_of(length, late=60)]
        log = attempts(chain).with_columns(nodes=1)
        jobs = user_jobs(log, pool_of(machines), 100 * DAY)
        assert [one.user for one in accepted_chains(jobs)] == users


def test_jobs_that_start_together_when_their_node_is_back_were_not_held() -> None:
    """n1 is away for the two days that they wait; n2, which they may not use, is free."""
    jobs = [job._replace(partition="a", node="n1") for job in held(5)]
    at = jobs[0].start
    assert at is not None
    one = {"n1": Machine(4, "a"), "n2": Machine(4, "b")}
    away = one | {"n1": Machine(4, "a", ((at - 2 * DAY, at),))}
    found = [
        len(find_releases(user_jobs(attempts(jobs), pool_of(of), 1_000 * DAY)))
        for of in (one, away)
    ]
    assert found == [1, 0]


# --- limits ---------------------------------------------------------------------------------------


@settings(max_examples=examples(60))
@given(logs(), st.integers(1, 4))
def test_forbidden_as_defined(jobs: list[Job], most: int) -> None:
    of = user_jobs(attempts(jobs), pool_with(most), 100 * DAY)
    ordered = sorted(jobs, key=lambda job: (job.arrival, job.number))
    every = np.arange(len(ordered))
    edges = {t for job in jobs for t in (job.start, job.end) if t is not None}
    for at in sorted(t + more for t in edges for more in (0, 1)):
        exact = [naive.forbidden(jobs, most, job, at) for job in ordered]
        assert of.limits.forbid(every, np.full(len(every), at)).tolist() == exact


def test_what_a_limit_forbids_is_no_chain() -> None:
    """A limit of 1 CPU allows one of these jobs at a time, a limit of 2 CPUs two."""
    jobs = chain_of(11, 0)
    assert [len(one.held) for one in found(jobs, 2)] == [10]
    assert found(jobs, 1) == []


@pytest.mark.parametrize(
    ("limit", "chains"),
    [
        (Limit(most=1, partition=("p",)), 0),
        (Limit(most=1, partition=("q",)), 1),
        (Limit(most=1, per="account"), 1),  # their account is not known
        (Limit(most=1, user=("ann",), valid_from=date(1970, 2, 1)), 1),
        (Limit(most=1, user=("ann",), valid_to=date(1970, 2, 1)), 0),
        (Limit(most=1, user=("ann",), remaining=True, resource="cpus"), 1),  # not examined
    ],
)
def test_limits_that_forbid_the_next_job(limit: Limit, chains: int) -> None:
    jobs = [job._replace(partition="p") for job in chain_of(11, 0)]
    made = find_chains(user_jobs(attempts(jobs), ALL._replace(limits=(limit,)), 100 * DAY))
    assert len(made) == chains
