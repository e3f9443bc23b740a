"""Attempts that give way to others: whole schedules against the slow twins, and by hand."""

from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.model import Backfill, Order, Policy
from audit.scenario.engine import replay
from tests.examples import examples
from tests.kernels.scheduling.test_nodes import sites, workload
from tests.naive import simulation as slow
from tests.naive.multifactor import Slurm
from tests.naive.placing import Request, Site
from tests.naive.simulation import Job, Log, Ranking, plus
from tests.scenario.test_engine import known
from tests.strategies import EPOCH, EVERY_POLICY, arrays, logs, policies, rankings, rule, sampled

LOW: Final[dict[str, Any]] = {"gives_way": frozenset({0}), "delay": 2}
HIGH: Final[dict[str, Any]] = {"takes": frozenset({0})}


@st.composite
def preempting(draw: st.DrawFn, of: st.SearchStrategy[Log]) -> Log:
    """A log in which some attempts give way to others, under two rules."""
    log = draw(of)
    sides = sampled([((), ()), ((0,), ()), ((0,), ()), ((), (0,)), ((1,), (0,)), ((), (0, 1))])
    jobs = []
    for job in log.jobs:
        gives, takes = draw(sides)
        delay = draw(sampled([1, 1, 3, 8, None]))
        jobs.append(job._replace(gives_way=frozenset(gives), takes=frozenset(takes), delay=delay))
    return log._replace(jobs=tuple(jobs))


def compare(log: Log, policy: Policy, ranking: Ranking) -> None:
    want = slow.replay(log, rule(policy)._replace(ranking=ranking))
    made = replay(arrays(log, ranking) if log.site is None else workload(log, ranking), policy)
    for k, job in enumerate(log.jobs):
        if not job.blocked:
            assert known(made.start)[k] == want.start.get(k)
            assert known(made.first)[k] == want.first.get(k)


@pytest.mark.parametrize(("order", "backfill"), EVERY_POLICY)
def test_every_policy_with_preemption_as_defined(order: Order, backfill: Backfill) -> None:
    @settings(max_examples=examples(30))
    @given(preempting(logs(limited=True)), policies(order, backfill, intervals=True), rankings())
    def check(log: Log, policy: Policy, ranking: Ranking) -> None:
        compare(log, policy, ranking)

    check()


@pytest.mark.parametrize(("order", "backfill"), EVERY_POLICY)
def test_every_policy_with_preemption_on_nodes(order: Order, backfill: Backfill) -> None:
    @settings(max_examples=examples(30))
    @given(preempting(sites()), policies(order, backfill, intervals=True), rankings())
    def check(log: Log, policy: Policy, ranking: Ranking) -> None:
        compare(log, policy, ranking)

    check()


def job(at: int, lasts: int, size: int, **more: Any) -> Job:
    return Job(EPOCH + at, lasts, lasts, (size,))._replace(**more)


def starts(log: Log, backfill: Backfill = Backfill.easy) -> list[tuple[int | None, int | None]]:
    """First and last starts."""
    made = replay(arrays(log) if log.site is None else workload(log), Policy(backfill=backfill))
    first, last = (
        [None if at is None else at - EPOCH for at in known(of)] for of in (made.first, made.start)
    )
    return [*zip(first, last, strict=True)]


def test_the_latest_started_gives_way_and_runs_again_from_its_beginning() -> None:
    """On 3 CPUs at 4, the job of 1 CPU from 2 gives way for 3 s, and returns 2 s later."""
    log = Log((job(0, 9, 2, **LOW), job(2, 9, 1, **LOW), job(4, 3, 1, **HIGH)), (3,))
    assert starts(log) == [(0, 0), (2, 7), (4, 4)]
    # for 2 CPUs, it would have to give way too, but not if the other alone is enough
    log = log._replace(jobs=(*log.jobs[:2], job(4, 3, 2, **HIGH)))
    assert starts(log) == [(0, 7), (2, 2), (4, 4)]


def test_what_is_cancelled_never_runs_again_and_what_cannot_help_runs_on() -> None:
    cancelled = job(0, 9, 2, gives_way=frozenset({0}))
    assert starts(Log((cancelled, job(4, 3, 1, **HIGH)), (2,))) == [(0, None), (4, 4)]
    # the job of 3 CPUs would not fit even so: nothing gives way, and it is the head
    log = Log((job(0, 9, 1), job(0, 9, 1, **LOW), job(4, 3, 3, **HIGH)), (3,))
    assert starts(log) == [(0, 0), (0, 0), (9, 9)]


def test_a_job_that_does_not_fit_even_so_closes_its_nodes() -> None:
    """The wide job waits for both nodes; behind it nothing is preempted there, but elsewhere."""
    everywhere, last = (
        Request((0, 1), (2,), 2, 1, home=(0, 1)),
        Request((2,), (2,), 1, 1, home=(2,)),
    )
    one = Request((0, 1), (2,), 1, 1, home=(0, 1))
    jobs = (
        job(0, 9, 2), job(0, 9, 2, **LOW), job(0, 9, 2, **LOW),
        job(4, 3, 4, **HIGH), job(5, 3, 2, **HIGH), job(5, 3, 2, **HIGH),
    )  # fmt: skip
    site = Site(((2,), (2,), (2,)), (one, one, last, everywhere, one, last))
    log = Log(jobs, plus(*site.machines), site=site)
    assert starts(log) == [(0, 0), (0, 0), (0, 8), (9, 9), (12, 12), (5, 5)]


def test_those_that_would_give_way_to_each_other_do_not() -> None:
    both: dict[str, Any] = {"gives_way": frozenset({0}), "takes": frozenset({0}), "delay": 1}
    assert starts(Log((job(0, 9, 2, **both), job(4, 3, 1, **both)), (2,))) == [(0, 0), (9, 9)]


def test_a_circle_of_three_ends() -> None:
    """Each takes the place of the one before; in the end one of them runs on."""
    log = Log(
        tuple(
            job(k, 9, 2, gives_way=frozenset({k}), takes=frozenset({(k - 1) % 3}), delay=1)
            for k in range(3)
        ),
        (2,),
    )
    assert all(last is not None for _, last in starts(log))


def test_a_tick_in_the_second_of_preemption_books_what_ran_once() -> None:
    """At 16 bob has used 4 s × 2, not 5 s × 2 (ann: 9 s × 1), so that his job comes first."""
    log = Log(
        (
            job(0, 9, 2, owner="bob", charge=2, gives_way=frozenset({0})),
            job(4, 3, 2, owner="cem", **HIGH),
            job(4, 9, 2, owner="ann"),
            job(10, 1, 2, owner="ann"),
            job(10, 1, 2, owner="bob"),
        ),
        (2,),
    )
    ranking = Ranking(slurm=Slurm(half_life=10**9, age=0.0))
    policy = Policy(Order.multifactor, Backfill.easy)
    made = replay(arrays(log, ranking), policy)
    assert [at and at - EPOCH for at in known(made.start)] == [None, 4, 7, 17, 16]
    compare(log, policy, ranking)


def test_plans_that_are_kept_are_not_preempted() -> None:
    log = Log((job(0, 9, 2, **LOW), job(4, 3, 1, **HIGH)), (2,))
    assert starts(log, Backfill.conservative) == [(0, 0), (9, 9)]
