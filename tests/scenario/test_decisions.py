"""Decisions: against the slow twin, on schedules that the policy made, and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.metrics.attempts.population import describe
from audit.model import (
    Backfill,
    Decision,
    Order,
    Policy,
    Pool,
    Resource,
)
from audit.scenario.decisions import decision_times, decisions
from audit.scenario.scenario import Scenario
from tests.examples import examples
from tests.naive import decisions as slow
from tests.naive.simulation import Job, Log, Ranking, log_of
from tests.scenario.test_engine import known, slow_pool
from tests.scenario.test_fair_start import own
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
    performed,
    policies,
    rankings,
    rows,
    rule,
)

TOLERANCES = st.sampled_from([0, 1, 2, 5, 60])


def ready(log: Log, policy: Policy, tolerance: int = 60) -> list[int | None]:
    return known(decisions(arrays(log), policy, tolerance).ready)


def compare(log: Log, policy: Policy, tolerance: int, ranking: Ranking = Ranking()) -> None:  # noqa: B008
    made = decisions(arrays(log, ranking), policy, tolerance)
    want = slow.judge(log, rule(policy)._replace(ranking=ranking), tolerance)
    for k, job in enumerate(log.jobs):
        assert known(made.ready)[k] == want.ready.get(k)
        if job.start is not None and not job.blocked:
            assert made.over_capacity[k] == (k in want.over)


@pytest.mark.parametrize(("order", "backfill"), EVERY_POLICY)
def test_every_policy_as_defined(order: Order, backfill: Backfill) -> None:
    @settings(max_examples=examples(15))
    @given(
        logs(limited=True),
        policies(order, backfill, intervals=True),
        st.booleans(),
        TOLERANCES,
        rankings(),
    )
    def check(log: Log, policy: Policy, of_its_own: bool, tolerance: int, ranking: Ranking) -> None:
        if of_its_own:
            log = own(log, policy)
        compare(log, policy, tolerance, ranking)

    check()


@pytest.mark.parametrize("order", [Order.fcfs, Order.lxf, Order.fairshare, Order.nuwt])
@pytest.mark.parametrize("backfill", [Backfill.easy, Backfill.no_guarantee])
def test_long_queues_as_defined(order: Order, backfill: Backfill) -> None:
    # Passes look over blocks of places by their bounds, and queues are sorted by owner, only where
    # many wait; and many are put back at once.
    random = np.random.Generator(np.random.PCG64(7))
    jobs = []
    for arrival in sorted(random.integers(0, 40, 130).tolist()):
        occupancy = int(random.integers(0, 30))
        start = EPOCH + arrival + int(random.integers(0, 80))
        estimate = max(1, occupancy + int(random.integers(0, 30)))
        request = (int(random.integers(1, 6)),)
        owner = f"{random.integers(0, 6)}"
        jobs.append(
            Job(
                EPOCH + arrival, occupancy, estimate, request, start, start + occupancy, owner=owner
            )
        )
    log = Log(tuple(jobs), (60,))
    compare(log, Policy(order, backfill), 10, Ranking(interval=20, recalculation=5))


# On its own schedules


@pytest.mark.parametrize("order", [Order.fcfs, Order.sjf, Order.lxf])
@pytest.mark.parametrize(
    "backfill", [each for each in Backfill if each is not Backfill.conservative]
)
def test_a_policy_agrees_with_its_own_schedule(order: Order, backfill: Backfill) -> None:
    @settings(max_examples=examples(20))
    @given(logs(blocked=False, zero=False), policies(order, backfill))
    def check(log: Log, policy: Policy) -> None:
        log = own(log, policy)
        assert ready(log, policy, 0) == [job.start for job in log.jobs]

    check()


# What must not matter


# By hand; time from left to right, one row per unit


def test_who_is_held_does_not_take_the_room_of_others_for_ever() -> None:
    # 2   a . . . . . k k k .    j would have started at 1 and is held until 8; k, of both units,
    # 1   a . . . . . k k j .    comes at 2: with 2 s of tolerance j's room is no more kept for it
    #     0 1 2 3 4 5 6 7 8      at 4, when something happens again; with 3 s it is until 6.
    a = Job(0, 1, 1, (2,), 0, 1)
    j = Job(0, 1, 1, (1,), 8, 9)
    k = Job(2, 2, 2, (2,), 6, 8)
    event = Job(4, 0, 1, (0,), 4, 4)
    log = Log((a, j, k, event), (2,))
    policy = Policy(Order.fcfs, Backfill.none)
    assert ready(log, policy, 2) == [0, 1, 4, 4]
    assert ready(log, policy, 3) == [0, 1, 6, None]  # k stood before it, and nothing passes


def test_who_would_never_have_started_is_unforeseen() -> None:
    # Two that arrive together in a pool for one, the second of which went first.
    log = Log((Job(0, 5, 5, (1,), 3, 8), Job(0, 3, 3, (1,), 0, 3)), (1,))
    assert ready(log, Policy(Order.fcfs, Backfill.easy)) == [0, None]
    # The first has been put aside when it starts, but then it runs: the third waits until it ends.
    more = log._replace(jobs=(*log.jobs, Job(2, 1, 1, (1,), 9, 10)))
    assert ready(more, Policy(Order.fcfs, Backfill.easy), 1) == [0, None, 8]


def test_more_than_there_is_in_use_is_said_so() -> None:
    a, b = Job(0, 4, 4, (1,), 0, 4), Job(0, 4, 4, (1,), 0, 4)
    c = Job(1, 1, 1, (1,), 1, 2)
    d = Job(5, 1, 1, (1,), 5, 6)
    made = decisions(arrays(Log((a, b, c, d), (1,))), Policy())
    assert made.over_capacity.tolist() == [True, True, True, False]
    assert known(made.ready) == [0, None, None, 5]


def test_open_attempts_that_wait_are_told_when_they_would_have_started() -> None:
    log = performed(Log((Job(0, 3, 3, (1,)), Job(1, 2, 2, (1,))), (1,)), {0: 0})
    after = Log((*log.jobs, Job(4, 1, 1, (0,), 4, 5)), (1,))
    assert ready(after, Policy()) == [0, 3, 4]


# As tables


@settings(max_examples=examples(30))
@given(rows(), st.sampled_from(POOLS), policies(slurm=False), st.sampled_from([0, 2, 60]))
def test_tables_hold_what_the_twin_says(
    records: Rows, pool: Pool, policy: Policy, tolerance: int
) -> None:
    described = describe(frame(records), [pool])
    made = decision_times(
        Scenario(described, pool._replace(policy=policy), NOW), tolerance_s=tolerance
    )
    log, keys = log_of(frame(records).to_dicts(), *slow_pool(pool), NOW)
    want = slow.judge(log, rule(policy), tolerance)
    place = {key: j for j, key in enumerate(keys)}
    assert made.drop("ready_time", "decision").equals(described)
    for row in made.iter_rows(named=True):
        j = place.get((row["job_id"], row["attempt"]))
        if row["standing"] != "ended" or j is None or log.jobs[j].blocked or log.exceeds(j):
            assert row["ready_time"] is row["decision"] is None
            continue
        first = want.ready.get(j)
        assert row["ready_time"] == first
        if j in want.over:
            expected = Decision.OVER_CAPACITY
        elif first is None:
            expected = Decision.UNFORESEEN
        else:
            late = row["start_time"] > first + tolerance
            expected = Decision.LATE if late else Decision.ON_TIME
        assert row["decision"] == expected


def test_each_decision_by_hand() -> None:
    pool = Pool("main", Resource.cpus, 2)
    records = [
        ended(EPOCH, EPOCH + 60, EPOCH + 70, 1),
        ended(EPOCH + 1, EPOCH + 62, EPOCH + 70, 1),
        ended(EPOCH + 2, EPOCH + 20, EPOCH + 30, 2),  # what comes first is in its way till it is
        ended(EPOCH + 80, EPOCH + 81, EPOCH + 90, 2),
        ended(EPOCH + 80, EPOCH + 81, EPOCH + 90, 2),
        ended(EPOCH + 90, EPOCH + 95, EPOCH + 99, 3),
        ended(EPOCH + 99, EPOCH + 99, EPOCH + 99, 1, reason="Licenses"),
    ]
    made = decision_times(Scenario(describe(frame(records), [pool]), pool, EPOCH + 100))
    assert made.sort("job_number")["decision"].to_list() == [
        *("on_time", "late", "unforeseen", "over_capacity", "over_capacity", None, None)
    ]
