"""Whole schedules: against the slow twin, by hand, and as tables that pass their check."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.errors import SimulationError
from audit.kernels.scheduling import model as kernels
from audit.metrics.attempts.population import describe
from audit.model import DESCRIBED, Backfill, Order, Policy, Pool, Resource
from audit.policies import SETTINGS, takers
from audit.scenario.engine import FIRST_START, PLANNED, replay, simulate
from audit.scenario.workload import NEVER
from tests.examples import examples
from tests.naive import simulation as slow
from tests.naive.simulation import Job, Log, Ranking, Step
from tests.strategies import (
    EPOCH,
    EVERY_POLICY,
    NOW,
    POOLS,
    Rows,
    arrays,
    ended,
    frame,
    logs,
    policies,
    rankings,
    rows,
    rule,
)

PLAIN = Ranking()


def starts(
    log: Log, policy: Policy, from_time: int | None = None, ranking: Ranking = PLAIN
) -> list[int | None]:
    return known(replay(arrays(log, ranking), policy, from_time=from_time).start)


def known(instants: np.ndarray) -> list[int | None]:
    return [None if instant == NEVER else instant for instant in instants.tolist()]


@pytest.mark.parametrize(("order", "backfill"), EVERY_POLICY)
def test_every_policy_as_defined(order: Order, backfill: Backfill) -> None:
    @settings(max_examples=examples(20))
    @given(logs(limited=True), policies(order, backfill, intervals=True), rankings())
    def compare(log: Log, policy: Policy, ranking: Ranking) -> None:
        want = slow.replay(log, rule(policy)._replace(ranking=ranking))
        made = replay(arrays(log, ranking), policy)
        for k, job in enumerate(log.jobs):
            if not job.blocked:
                assert known(made.start)[k] == want.start.get(k)
            assert known(made.planned)[k] == want.planned.get(k)

    compare()


@pytest.mark.parametrize(
    ("order", "resources", "window"),
    [(Order.fcfs, 1, 40), (Order.fcfs, 2, None), (Order.sjf, 2, 40), (Order.lxf, 1, None)],
)
def test_long_queues_as_defined(order: Order, resources: int, window: int | None) -> None:
    # Passes look over blocks of places by their bounds only where many wait.
    random = np.random.Generator(np.random.PCG64(resources))
    jobs = []
    for _ in range(160):
        occupancy = int(random.integers(0, 60))
        request = tuple(int(random.integers(0, 12)) for _ in range(resources))
        estimate = max(1, occupancy + int(random.integers(0, 60)))
        jobs.append(Job(EPOCH + int(random.integers(0, 30)), occupancy, estimate, request))
    jobs.sort(key=lambda job: job.arrival)
    log = Log(tuple(jobs), (20,) * resources)
    for policy in (
        Policy(order, Backfill.easy, window_s=window),
        Policy(order, Backfill.no_guarantee),
    ):
        want = slow.replay(log, rule(policy))
        assert starts(log, policy) == [want.start.get(k) for k in range(len(jobs))]


@pytest.mark.parametrize(
    ("order", "number"), [(Order.fairshare, 5), (Order.nuwt, 5), (Order.nuwt, 80)]
)
def test_long_queues_of_few_and_of_many_users_as_defined(order: Order, number: int) -> None:
    # Few are sorted by owner, unless two of them tie; many by comparing attempts.
    random = np.random.Generator(np.random.PCG64(number))
    arrivals = sorted(random.integers(0, 30, 90).tolist())
    jobs = []
    for arrival in arrivals:
        size, occupancy = int(random.integers(1, 5)), int(random.integers(0, 20))
        job = owned(f"{random.integers(0, number):02}", EPOCH + arrival, occupancy, size)
        jobs.append(job._replace(estimate=max(1, 2 * occupancy)))
    log = Log(tuple(jobs), (6,))
    ranking = Ranking(interval=20, recalculation=5)
    policy = Policy(order, Backfill.easy)
    want = slow.replay(log, rule(policy)._replace(ranking=ranking))
    made = starts(log, policy, ranking=ranking)
    assert made == [want.start.get(k) for k in range(len(jobs))]


@pytest.mark.parametrize(("order", "backfill"), EVERY_POLICY)
def test_every_policy_from_what_the_log_had_at_an_instant(order: Order, backfill: Backfill) -> None:
    @settings(max_examples=examples(20))
    @given(
        logs(limited=True),
        policies(order, backfill, intervals=True),
        st.integers(0, 20),
        rankings(),
    )
    def compare(log: Log, policy: Policy, after: int, ranking: Ranking) -> None:
        instant = EPOCH + after
        want = slow.replay(log, rule(policy)._replace(ranking=ranking), instant)
        made = starts(log, policy, instant, ranking)
        for k, job in enumerate(log.jobs):
            ran = job.start is not None and job.start < instant
            if not job.blocked and not ran:
                assert made[k] == want.start.get(k)

    compare()


@given(logs(resources=1), policies())
def test_what_there_is_enough_of_decides_nothing(log: Log, policy: Policy) -> None:
    plenty = log._replace(
        jobs=tuple(job._replace(request=(*job.request, 1)) for job in log.jobs),
        capacity=(*log.capacity, 1_000),
        steps=tuple(step._replace(change=(*step.change, 0)) for step in log.steps),
    )
    assert starts(plenty, policy) == starts(log, policy)


@pytest.mark.parametrize(
    ("key", "backfill"),
    [(key, fill) for key in SETTINGS for fill in Backfill if fill not in takers(key)],
)
def test_settings_are_refused_where_they_mean_nothing(key: str, backfill: Backfill) -> None:
    given: dict[str, Any] = {key: 1}
    policy = Policy(Order.fcfs, backfill)._replace(**given)
    with pytest.raises(SimulationError, match=f"^{backfill}: {key}: only backfill "):
        replay(arrays(Log((job(0, 1, 1),), (1,))), policy)


def owned(owner: str, arrival: int, occupancy: int, size: int = 1) -> Job:
    """An attempt that its owner is charged its size for."""
    used = size * occupancy
    return Job(
        arrival, occupancy, occupancy, (size,), owner=owner, charge=size, used=used, open=True
    )


def test_who_used_less_is_served_first_under_fairshare() -> None:
    # 1   a a a a b c c a    Ann's two come first, then Bob's and Cem's. At 4 Ann has used 4, the
    #     0 1 2 3 4 5 6 7    others nothing: they go first, by arrival.
    log = Log(
        (owned("ann", 0, 4), owned("ann", 0, 1), owned("bob", 1, 1), owned("cem", 2, 2)), (1,)
    )
    every_second = Ranking(interval=100, depth=1, recalculation=1)
    policy = Policy(Order.fairshare, Backfill.none)
    assert starts(log, policy, ranking=every_second) == [0, 7, 4, 5]
    assert starts(log, Policy(Order.fcfs, Backfill.none)) == [0, 4, 5, 6]


@pytest.mark.parametrize("backfill", list(Backfill))
def test_a_blocked_attempt_uses_from_the_first_instant_on(backfill: Backfill) -> None:
    # 1   X A B    X is Bob's, and blocked. At 1 he has used something and Ann nothing: it is her
    #     0 1 2    turn, though his other one came first. It had not been counted to him where
    #              a plan is kept.
    blocked = owned("bob", 0, 1)._replace(blocked=True, open=False, start=0, end=1)
    log = Log((blocked, owned("bob", 0, 1), owned("ann", 0, 1)), (1,))
    every_second = Ranking(interval=1, depth=1, recalculation=1)
    policy = Policy(Order.fairshare, backfill)
    assert starts(log, policy, ranking=every_second)[1:] == [2, 1]


def test_fairshare_looks_at_usage_up_to_the_last_recalculation() -> None:
    # 1   a a a a A b    Recalculated every 100 s: at 4 there is no usage yet.
    log = Log((owned("ann", 0, 4), owned("ann", 0, 1), owned("bob", 1, 1)), (1,))
    rarely = Ranking(interval=100, depth=1, recalculation=100)
    assert starts(log, Policy(Order.fairshare, Backfill.none), ranking=rarely) == [0, 4, 5]


@pytest.mark.parametrize(("more", "waiting"), [(1, [4, 5]), (3, [5, 4])])
def test_priorities_closer_than_half_a_step_of_the_grid_are_equal(
    more: int, waiting: list[int]
) -> None:
    # Ann and Bob use half of 2^34 each, she a little more: their priorities are ∓more/2^34. In
    # steps of 2^−32 these are 0 and 0, and the first to come is served first; or −1 and 1.
    half, whole = 2**33, 2**34
    ran = owned("ann", 0, 4, half + more), owned("bob", 0, 4, half - more)
    log = Log((*ran, owned("ann", 1, 1, whole), owned("bob", 2, 1, whole)), (whole,))
    every_second = Ranking(interval=100, depth=1, recalculation=1)
    policy = Policy(Order.fairshare, Backfill.none)
    assert starts(log, policy, ranking=every_second)[2:] == waiting


def test_old_windows_weigh_less_and_then_nothing() -> None:
    # 1   a a . . . . . . b x x A B
    #     0 1 2 3 4 5 6 7 8 9 0 1 2   Ann used 2 long ago, Bob 1 just before x; x holds the pool.
    jobs = (
        owned("ann", 0, 2), owned("bob", 8, 1), owned("cem", 9, 2),
        owned("bob", 9, 1), owned("ann", 10, 1),
    )  # fmt: skip
    log, policy = Log(jobs, (1,)), Policy(Order.fairshare, Backfill.none)
    for ranking, expected in (
        (Ranking(4, 3, 0.5), [12, 11]),
        (Ranking(4, 3, 2.0), [11, 12]),
        (Ranking(interval=2, depth=1), [11, 12]),  # at 11, who used something from 9 on?
    ):
        often = ranking._replace(recalculation=1)
        assert starts(log, policy, ranking=often)[3:] == expected


def test_a_tree_decides_between_accounts_before_users() -> None:
    # Bob used more than Ann, but of his account's share less than she of hers. Cem has no share of
    # his own: he stands where his account does, as does Bob, who used all that it did.
    tree = {
        "theory": ("", 1), "experiment": ("", 3),
        "ann": ("theory", 1), "bob": ("experiment", 1), "cem": ("experiment", None),
    }  # fmt: skip
    ranking = Ranking(interval=100, depth=1, recalculation=1, operator="relative", tree=tree)
    ran = owned("ann", 0, 2), owned("bob", 2, 3)
    waiting = owned("ann", 3, 1), owned("bob", 4, 1), owned("cem", 4, 1)
    log = Log((*ran, *waiting), (1,))
    policy = Policy(Order.fairshare, Backfill.none)
    # at 5 theory has 2/5, its share is 1/4; experiment 3/5 of 3/4, and at 6 still less than that
    assert starts(log, policy, ranking=ranking) == [0, 2, 7, 5, 6]


def test_who_waited_longest_for_what_they_used_is_served_first_under_nuwt() -> None:
    # 1   a a a a b B A    Bob has waited 3 s for 1 s of use when b ends, Ann nothing.
    #     0 1 2 3 4 5 6
    log = Log(
        (owned("ann", 0, 4), owned("bob", 1, 1), owned("ann", 2, 1), owned("bob", 3, 1)), (1,)
    )
    assert starts(log, Policy(Order.nuwt, Backfill.none)) == [0, 4, 6, 5]


# By hand. Drawings: one row per unit of the resource, one column per second, '.' is free.


def job(
    arrival: int,
    request: int,
    occupancy: int,
    estimate: int | None = None,
    priority: float | None = None,
) -> Job:
    """A plain attempt; ``estimate`` is the occupancy unless given."""
    expected = max(estimate or occupancy, 1)
    return Job(arrival, occupancy, expected, (request,), priority=priority)


def made(log: Log, order: Order, backfill: Backfill, **limits: int) -> list[int | None]:
    return starts(log, Policy(order, backfill, **limits))


def test_the_orders() -> None:
    # All wait for a, which has the pool until 6; then one after the other.
    #      0     6      estimate  waited at 6, over the estimate   priority
    # 1    aaaaaa...    b 4       5/4                              none
    #                   c 2       2/2                              1
    #                   d 3       3/3 = 2/2: c came later          1
    a, b = job(0, 1, 6), job(1, 1, 4)
    c, d = job(4, 1, 2, priority=1), job(3, 1, 3, priority=1)
    log = Log((a, b, d, c), (1,))
    assert made(log, Order.fcfs, Backfill.none) == [0, 6, 10, 13]
    assert made(log, Order.sjf, Backfill.none) == [0, 11, 8, 6]
    # b at 6; then at 10, c has waited 6/2 and d 7/3
    assert made(log, Order.lxf, Backfill.none) == [0, 6, 12, 10]
    assert made(log, Order.recorded, Backfill.none) == [0, 11, 6, 9]


def test_expansion_factors_are_compared_exactly() -> None:
    # When a ends, b has waited n/(n + 1) of its estimate, and c, which came before b, has waited
    # (2n − 1)/(2n + 1): a little less, but the same in floating point.
    n, end = 2**30, 2**40
    assert n / (n + 1) == (2 * n - 1) / (2 * n + 1)
    a, b, c = job(0, 1, end), job(end - n, 1, n + 1), job(end - 2 * n + 1, 1, 2 * n + 1)
    log = Log((a, c, b), (1,))
    assert made(log, Order.lxf, Backfill.none) == [0, end + n + 1, end]


def test_depth_counts_those_started_from_the_front() -> None:
    # 3   a a d d      At 0 the pass looks at two: a starts, b is the head. Next, at 2, b starts
    # 2   a a b b      and the place of c is looked at, which does not fit until 4; d is third.
    # 1   . . b b
    a, b, c, d = job(0, 2, 2), job(0, 2, 2), job(0, 2, 2), job(0, 1, 2)
    log = Log((a, b, c, d), (3,))
    assert made(log, Order.fcfs, Backfill.easy) == [0, 2, 4, 0]
    for backfill in takers("depth"):
        assert made(log, Order.fcfs, backfill, depth=2) == [0, 2, 4, 4]
        assert made(log, Order.fcfs, backfill, depth=3) == [0, 2, 4, 2]


def test_window_holds_back_what_would_run_for_long() -> None:
    # 3   a a . .      Beside the head b there is room for c from 0 on; it takes 2.
    # 2   a a b b
    # 1   c c b b
    a, b, c = job(0, 2, 2), job(0, 2, 2), job(0, 1, 2)
    for backfill in takers("depth"):
        assert made(Log((a, b, c), (3,)), Order.fcfs, backfill, window_s=2) == [0, 2, 0]
        assert made(Log((a, b, c), (3,)), Order.fcfs, backfill, window_s=1) == [0, 2, 2]


def test_reservations_protect_so_many_of_those_that_cannot_start() -> None:
    # easy, and 1                     2                       b, and c behind it, have to wait.
    # 4   a a a b b . c c c . . .     4   a a a b b c c c     Beside b there is room for d, which
    # 3   a a a b b . c c c . . .     3   a a a b b c c c     takes from 0 to 6, but c needs all,
    # 2   a a a b b . c c c . . .     2   a a a b b c c c     and could have it from 5 on.
    # 1   d d d d d d c c c . . .     1   . . . . . c c c d …
    a, b, c, d = job(0, 3, 3), job(0, 3, 2), job(0, 4, 3), job(0, 1, 6)
    log = Log((a, b, c, d), (4,))
    replan = Backfill.conservative_replan
    assert made(log, Order.fcfs, replan, reservations=1) == [0, 3, 6, 0]
    assert made(log, Order.fcfs, replan, reservations=2) == [0, 3, 5, 8]


@given(logs(limited=True), policies(backfill=Backfill.easy), rankings())
def test_one_reservation_is_easy(log: Log, policy: Policy, ranking: Ranking) -> None:
    # Planners that keep places know of planned steps whomever they start, easy for the head alone.
    log = log._replace(steps=tuple(step._replace(planned=False) for step in log.steps))
    easy = policy._replace(depth=None, window_s=None)
    one = easy._replace(backfill=Backfill.conservative_replan, reservations=1)
    assert starts(log, one, ranking=ranking) == starts(log, easy, ranking=ranking)


@given(logs(limited=True), policies(backfill=Backfill.conservative_replan), rankings())
def test_as_many_reservations_as_attempts_are_all(
    log: Log, policy: Policy, ranking: Ranking
) -> None:
    every = policy._replace(reservations=None)
    enough = policy._replace(reservations=max(len(log.jobs), 1))
    assert starts(log, enough, ranking=ranking) == starts(log, every, ranking=ranking)


def test_conservative_promises_each_a_start_and_easy_only_the_first() -> None:
    # easy                    conservative
    # 4   a a a b b           4   a a a b b . . .
    # 3   a a a b b           3   a a a b b . . .    d would have to run from 0 to 4, across b,
    # 2   a a a b b           2   a a a b b c c c    which leaves it a place, and across c's plan
    # 1   d d d d d d c c c   1   . . . . . c c c    (5, when b ends), which needs all that is left.
    #     0         5
    a, b = job(0, 3, 3), job(0, 3, 2)
    c, d = job(0, 4, 3), job(0, 1, 6)
    log = Log((a, b, c, d), (4,))
    assert made(log, Order.fcfs, Backfill.easy) == [0, 3, 6, 0]
    assert made(log, Order.fcfs, Backfill.conservative) == [0, 3, 5, 8]
    assert made(log, Order.fcfs, Backfill.conservative_replan) == [0, 3, 5, 8]


def test_compressing_keeps_promises_and_replanning_does_not() -> None:
    # a is expected until 9 and ends at 1. Under sjf the shorter c, which comes then, goes first
    # where everything is planned afresh; where b was promised 9, b is moved up to 1 instead.
    a, b, c = job(0, 1, 1, 9), job(0, 1, 5), job(1, 1, 2)
    log = Log((a, b, c), (1,))
    assert made(log, Order.sjf, Backfill.conservative) == [5, 0, 6]
    assert made(log._replace(jobs=(b, a, c)), Order.fcfs, Backfill.conservative) == [0, 5, 6]
    late = Log((job(0, 1, 1, 9), job(1, 1, 5), job(1, 1, 2)), (1,))
    assert made(late, Order.fcfs, Backfill.conservative) == [0, 1, 6]
    assert made(late, Order.sjf, Backfill.conservative) == [0, 3, 1]
    waiting = Log((job(0, 1, 2, 9), job(1, 1, 5), job(2, 1, 2)), (1,))
    assert made(waiting, Order.sjf, Backfill.conservative) == [0, 2, 7]
    assert made(waiting, Order.sjf, Backfill.conservative_replan) == [0, 4, 2]


def test_no_occupancy_lets_the_next_pass_compress() -> None:
    # a takes nothing, though 5 were expected; b, planned for 5, starts at once.
    log = Log((job(0, 2, 0, 5), job(0, 2, 3)), (2,))
    made_ = replay(arrays(log), Policy(Order.fcfs, Backfill.conservative))
    assert made_.start.tolist() == [0, 0]
    assert made_.planned.tolist() == [0, 5]


def test_a_planned_step_is_seen_coming_and_another_one_is_not() -> None:
    # 2   a a . |      From 3 on there is one less. b takes 2 and would need both from 2 to 4:
    # 1   a a . |      under a declared step it is never let in.
    a, b = job(0, 2, 2), job(0, 2, 2)
    for planned, want in ((False, [0, 2]), (True, [0, None])):
        log = Log((a, b), (2,), (Step(3, (-1,), planned),))
        for backfill in (Backfill.conservative, Backfill.conservative_replan):
            assert made(log, Order.fcfs, backfill) == want
        # the head is never planned: it starts when it fits
        assert made(log, Order.fcfs, Backfill.easy) == [0, 2]


def test_a_shadow_may_be_a_planned_step() -> None:
    # 3   . . s s      From 2 on there is one more: then the head b fits. c, which takes 3 and is
    # 2   . . b b      not left anything by b, must wait, unless nobody knew of the step.
    # 1   a a a a
    a, b, c = job(0, 1, 9), job(0, 2, 1), job(0, 1, 3)
    for planned, want in ((True, [0, 2, 3]), (False, [0, 3, 0])):
        log = Log((a, b, c), (2,), (Step(2, (1,), planned),))
        assert made(log, Order.fcfs, Backfill.easy) == want


def test_without_a_shadow_whatever_fits_starts() -> None:
    # One unit left at 1, before b came: for now b fits at no expected end. c starts, however long.
    a, b, c = job(0, 1, 9), job(2, 2, 1), job(3, 1, 50)
    log = Log((job(0, 0, 1), a, b, c), (2,), (Step(1, (-1,), False), Step(20, (1,), False)))
    assert made(log, Order.fcfs, Backfill.easy) == [0, 0, 59, 9]


def test_a_plan_that_no_longer_fits_is_put_back() -> None:
    # 2   a a X X . b b   b was promised 2 and c 4. A unit is missing from 2 to 4, which nobody
    # 1   a a . . c b b   knew: at 2, b has no place left, c keeps its own, and b gets the next.
    a, b, c = job(0, 2, 2), job(0, 2, 2), job(1, 1, 1)
    log = Log((a, b, c), (2,), (Step(2, (-1,), False), Step(4, (1,), False)))
    result = replay(arrays(log), Policy(Order.fcfs, Backfill.conservative))
    assert result.start.tolist() == [0, 5, 4]
    assert result.planned.tolist() == [0, 2, 4]


def test_steps_come_first_then_ends_then_arrivals() -> None:
    # At 2 the pool doubles, a ends and b and c arrive; the first pass knows all of it.
    a, b, c = job(0, 2, 2), job(2, 4, 1), job(2, 1, 1)
    log = Log((a, b, c), (2,), (Step(2, (2,), False),))
    for backfill in Backfill:
        assert made(log, Order.fcfs, backfill) == [0, 2, 3]


def test_blocked_attempts_take_what_they_took_and_are_never_queued() -> None:
    # 2   X X X b b    X was held until 0; the planners do not see that it ends at 3.
    # 1   a a . b b
    held = job(0, 1, 3)._replace(start=0, end=3, blocked=True)
    a, b = job(0, 1, 2), job(0, 2, 2)
    for backfill in Backfill:
        assert made(Log((held, a, b), (2,)), Order.fcfs, backfill) == [0, 0, 3]


def test_larger_than_the_pool_is_never_queued_and_holds_up_nobody() -> None:
    for backfill in Backfill:
        assert made(Log((job(0, 5, 1), job(0, 4, 1)), (4,)), Order.fcfs, backfill) == [None, 0]
        # but one that the pool will have room for waits, and where none passes, all wait
        grown = Log((job(0, 5, 1), job(1, 4, 1)), (4,), (Step(3, (1,), False),))
        assert made(grown, Order.fcfs, Backfill.none) == [3, 4]


# As tables


@settings(max_examples=examples(30))
@given(rows(), st.sampled_from(POOLS), policies(slurm=False))
def test_simulated_tables_hold_what_the_twin_says(
    records: Rows, pool: Pool, policy: Policy
) -> None:
    described = describe(frame(records), [pool])
    schedule = simulate(described, pool, NOW, policy)
    log, keys = slow.log_of(frame(records).to_dicts(), *slow_pool(pool), NOW)
    usage = Ranking(interval=7 * 86_400, depth=7, decay=0.7, recalculation=300)
    want = slow.replay(log, rule(policy)._replace(ranking=usage))
    by_key = {(row["job_id"], row["attempt"]): row for row in schedule.iter_rows(named=True)}
    assert len(by_key) == schedule.height == described.height
    assert schedule.columns == [*DESCRIBED.names(), PLANNED, FIRST_START]
    assert schedule.get_column("schedule").unique().to_list() in ([], [policy.name])
    for k, key in enumerate(keys):
        job, row = log.jobs[k], by_key[key]
        if job.blocked:
            continue
        start = want.start.get(k)
        assert row["start_time"] == start
        assert row["arrival_time"] == job.arrival
        assert row["planned_start_time"] == want.planned.get(k)
        if start is not None:
            assert row["wait_s"] == start - job.arrival
            assert row["end_time"] == (None if job.open else start + job.occupancy)


def slow_pool(pool: Pool) -> tuple[dict[str, int], list[slow.Had]]:
    """The capacity of a pool, as the twin takes it."""
    amounts = {pool.resource.value: pool.capacity}
    for name, amount in pool.amounts:
        if name != "nodes" or pool.exclusive_nodes or pool.resource is Resource.nodes:
            amounts.setdefault(name, amount)
    steps = [
        slow.Had(step.since, {x: a for x, a in step.amounts if x in amounts}, step.planned)
        for step in pool.steps
    ]
    return amounts, steps


def test_blocked_reserved_and_never_started_stay_as_they_were() -> None:
    pool = Pool("main", Resource.cpus, 2)
    records = [
        ended(EPOCH, EPOCH + 5, EPOCH + 9, 1, reason="Dependency"),
        ended(EPOCH, EPOCH + 6, EPOCH + 9, 1, reservation="course"),
        {"submit_time": EPOCH, "end_time": EPOCH + 3, "cpus": 1, "state": "CANCELLED"},
        ended(EPOCH, EPOCH + 7, EPOCH + 9, 1),
    ]
    described = describe(frame(records), [pool])
    schedule = simulate(described, pool, NOW, Policy()).sort("job_number")
    assert schedule["start_time"].to_list() == [EPOCH + 5, EPOCH + 6, None, EPOCH]
    assert schedule["end_time"].to_list() == [EPOCH + 9, EPOCH + 9, EPOCH + 3, EPOCH + 2]


@pytest.mark.parametrize("unknown", [{"order": 5}, {"fair": 1}, {"backfill": 5}])
def test_kernels_refuse_codes_that_they_do_not_have(unknown: dict[str, Any]) -> None:
    known: dict[str, Any] = {"order": 0, "fair": 0, "backfill": 0, "depth": 1, "window": 1}
    known |= {"latest_last": True, "every": 0, "origin": 0, "between": False, "reservations": 1}
    known |= {"resolution": 1, "pause": 0}
    kernels.Rules(**known)
    with pytest.raises(ValueError, match="no kernel has"):
        kernels.Rules(**known | unknown)
