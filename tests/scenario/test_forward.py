"""Forward starts: against the slow twin, on schedules that the policy made, and by hand."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.metrics.attempts.population import describe
from audit.model import Backfill, Order, Policy, Pool, Resource
from audit.scenario import fair_start, forward
from audit.scenario.budget import Costs
from audit.scenario.driver import Effort
from audit.scenario.fair_start import fair_start_times, fair_starts
from audit.scenario.forward import NO_USER, forward_start_times, forward_starts
from audit.scenario.scenario import Scenario
from audit.scenario.workload import NEVER
from tests.examples import examples
from tests.naive import forward as slow
from tests.naive.simulation import NOBODY, Job, Log, Ranking, log_of
from tests.scenario.test_engine import known, slow_pool
from tests.scenario.test_fair_start import own
from tests.scenario.test_fair_start import table as fair_table
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


def starts(log: Log, policy: Policy) -> list[int | None]:
    return known(forward_starts(arrays(log), policy).start)


def compare(log: Log, policy: Policy, ranking: Ranking) -> None:
    made = forward_starts(arrays(log, ranking), policy)
    as_said = rule(policy)._replace(ranking=ranking)
    for j, job in enumerate(log.jobs):
        if job.start is None and not job.open:
            assert made.start[j] == made.without_own[j] == NEVER
            continue
        assert known(made.start)[j] == slow.forward(log, as_said, j)
        assert known(made.without_own)[j] == slow.forward_without_own(log, as_said, j)


@pytest.mark.parametrize(("order", "backfill"), EVERY_POLICY)
def test_every_policy_as_defined(order: Order, backfill: Backfill) -> None:
    @settings(max_examples=examples(20))
    @given(
        logs(limited=True),
        policies(order, backfill, intervals=True),
        st.booleans(),
        rankings(),
    )
    def check(log: Log, policy: Policy, of_its_own: bool, ranking: Ranking) -> None:
        compare(own(log, policy) if of_its_own else log, policy, ranking)

    check()


# The facts of SPEC §10


@pytest.mark.parametrize("order", [Order.fcfs, Order.sjf, Order.lxf])
@pytest.mark.parametrize(
    "backfill", [each for each in Backfill if each is not Backfill.conservative]
)
def test_of_its_own_schedule_a_policy_leaves_nothing_unexplained(
    order: Order, backfill: Backfill
) -> None:
    @settings(max_examples=examples(30))
    @given(logs(limited=True), policies(order, backfill))
    def check(log: Log, policy: Policy) -> None:
        # snapshots do not queue attempts of unknown size, but depth counts them in a schedule
        log = log._replace(jobs=tuple(job._replace(sized=True) for job in log.jobs))
        log = own(log, policy)
        for start, job in zip(starts(log, policy), log.jobs, strict=True):
            assert job.blocked or start == job.start

    check()


@given(logs(limited=True), policies(intervals=True))
def test_where_nobody_comes_later_it_is_the_fair_start_time(log: Log, policy: Policy) -> None:
    work = arrays(log)
    strict, made = fair_starts(work, policy).strict, forward_starts(work, policy)
    for j, job in enumerate(log.jobs):
        until = max(strict[j], made.start[j])
        if all(later.arrival > until for later in log.jobs[j + 1 :]) and (job.start or job.open):
            assert strict[j] == made.start[j] == made.without_own[j]


@given(logs(limited=True), policies(intervals=True))
def test_known_fair_start_times_change_no_figure(log: Log, policy: Policy) -> None:
    work = arrays(log)
    strict = fair_starts(work, policy).strict
    whole, quick = forward_starts(work, policy), forward_starts(work, policy, strict=strict)
    assert all(np.array_equal(a, b) for a, b in zip(whole, quick, strict=True))


def test_who_comes_at_the_known_fair_start_time_itself_may_go_first() -> None:
    # 1   a a b j j    j was expected to start at 2; under sjf b, which comes then, is shorter.
    a = Job(0, 2, 2, (1,), 0, 2, owner="ann")
    j = Job(0, 2, 2, (1,), 3, 5, owner="bob")
    b = Job(2, 1, 1, (1,), 2, 3, owner="cem")
    work = arrays(Log((a, j, b), (1,)))
    for order, start in ((Order.sjf, 3), (Order.fcfs, 2)):
        policy = Policy(order, Backfill.none)
        strict = fair_starts(work, policy).strict
        assert strict[1] == 2
        assert forward_starts(work, policy, strict=strict).start[1] == start


def test_a_blocked_attempt_that_comes_later_may_change_a_known_fair_start_time() -> None:
    # 1   a a k k k j   j was expected to start at 2; k, held until then, takes the place.
    a = Job(0, 2, 2, (1,), 0, 2, owner="ann")
    j = Job(1, 2, 2, (1,), 5, 7, owner="bob")
    k = Job(1, 3, 3, (1,), 2, 5, owner="cem", blocked=True)
    work = arrays(Log((a, j, k), (1,)))
    strict = fair_starts(work, Policy()).strict
    assert strict[1] == 2
    assert forward_starts(work, Policy(), strict=strict).start[1] == 5


@given(logs(limited=True), policies(intervals=True))
def test_who_is_alone_has_lost_nothing_to_others(log: Log, policy: Policy) -> None:
    """A job of unknown user has lost nothing to its user's others."""
    alone = log._replace(jobs=tuple(job._replace(owner="ann") for job in log.jobs))
    work = arrays(alone)
    made = forward_starts(work, policy)
    strict = fair_starts(work, policy).strict
    open_or_known = work.has_started | work.open
    assert np.array_equal(made.without_own[open_or_known], strict[open_or_known])
    unknown = np.full(len(log.jobs), NO_USER)
    assert np.array_equal(forward_starts(work, policy, user=unknown).without_own, made.start)


# By hand; time from left to right, one row per unit


def test_what_others_and_what_its_own_later_arrivals_cost() -> None:
    # 2   a a b b b b c c c . j j    j waits for both units from 0 on under sjf: a ends at 2, but
    # 1   a a b b b b c c c . j j    b of somebody else and c of its own user, both shorter, come
    #     0 1 2 3 4 5 6 7 8 9 0 1    at 1, and go first. It was started a second late.
    a = Job(0, 2, 2, (2,), 0, 2, owner="ann")
    j = Job(0, 2, 9, (2,), 10, 12, owner="bob")
    b = Job(1, 4, 4, (2,), 2, 6, owner="ann")
    c = Job(1, 3, 5, (2,), 6, 9, owner="bob")
    work = arrays(Log((a, j, b, c), (2,)))
    policy = Policy(Order.sjf, Backfill.none)
    made = forward_starts(work, policy)
    assert fair_starts(work, policy).strict[1] == 2
    assert (made.start[1], made.without_own[1]) == (9, 6)


@pytest.mark.parametrize("later", [0, 1])
def test_what_comes_at_the_same_instant_comes_later_too(later: int) -> None:
    # 1   a a c j    j waits from 0 on under sjf; c of its user, shorter, comes with it or after.
    #     0 1 2 3
    a = Job(0, 2, 2, (1,), 0, 2, owner="ann")
    j = Job(0, 1, 9, (1,), 3, 4, owner="bob")
    c = Job(later, 1, 5, (1,), 2, 3, owner="bob")
    made = forward_starts(arrays(Log((a, j, c), (1,))), Policy(Order.sjf, Backfill.none))
    assert (made.start[1], made.without_own[1]) == (3, 2)


def test_its_own_later_blocked_attempts_are_left_out_too() -> None:
    # 1   a a X X X j    j comes at 0; X, of the same user, waited for a licence and is a step.
    a = Job(0, 2, 2, (1,), 0, 2, owner="ann")
    j = Job(0, 1, 1, (1,), 5, 6, owner="bob")
    x = Job(1, 3, 3, (1,), 2, 5, owner="bob", blocked=True)
    for backfill in Backfill:
        made = forward_starts(arrays(Log((a, j, x), (1,))), Policy(Order.fcfs, backfill))
        assert (made.start[1], made.without_own[1]) == (5, 2)


def test_a_blocked_attempt_that_has_ended_counts_towards_no_limit() -> None:
    # Ann may run one: X, which waited for a licence, ran until 2; j comes at 3.
    ann = (("ann", 1, True),)
    x = Job(0, 2, 2, (1,), 0, 2, owner="ann", blocked=True, counts=ann)
    j = Job(3, 1, 1, (1,), 3, 4, owner="ann", counts=ann)
    log = Log((x, j), (9,), most=(("ann", 1),))
    for backfill in Backfill:
        assert starts(log, Policy(Order.fcfs, backfill))[1] == 3


# As tables

COLUMNS = ["start_modelled", "overtaken_s", "overtaken_own_s", "unmodelled_s", "fst_status"]


def table(
    records: Rows, pool: Pool, policy: Policy, known: pl.DataFrame | None = None, **more: Any
) -> pl.DataFrame:
    fair = fair_table(records, pool, policy, known=known)
    return forward_start_times(
        Scenario(fair, pool._replace(policy=policy), NOW), known=known, **more
    )


@pytest.mark.thorough
@settings(max_examples=examples(30))
@given(rows(), st.sampled_from(POOLS), policies(slurm=False))
def test_tables_hold_what_the_twin_says(records: Rows, pool: Pool, policy: Policy) -> None:
    fair = fair_table(records, pool, policy)
    made = table(records, pool, policy)
    log, keys = log_of(frame(records).to_dicts(), *slow_pool(pool), NOW)
    place = {key: j for j, key in enumerate(keys)}
    assert made.drop(*COLUMNS, "forward_basis").equals(fair.drop("fst_status"))
    for row, before in zip(made.iter_rows(named=True), fair["fst_status"], strict=True):
        start, strict = row["start_time"], row["fst_strict"]
        if strict is None:
            assert [row[name] for name in COLUMNS[:-1]] == [None] * 4
            assert row["fst_status"] == before
            continue
        j = place[row["job_id"], row["attempt"]]
        modelled = slow.forward(log, rule(policy), j)
        without = slow.forward_without_own(log, rule(policy), j)
        if log.jobs[j].owner == NOBODY:
            without = modelled
        assert row["start_modelled"] == modelled
        assert row["overtaken_s"] == (None if modelled is None else modelled - strict)
        assert row["unmodelled_s"] == (None if modelled is None else start - modelled)
        own_cost = None if modelled is None or without is None else modelled - without
        assert row["overtaken_own_s"] == own_cost
        final = before in ("final", "preempted_context")
        after = modelled is not None and modelled > NOW
        assert row["fst_status"] == ("provisional" if final and after else before)


def test_only_what_changed_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers: list[int] = []
    real = forward.forward_starts

    def counting(work: Any, policy: Policy, subjects: Any, *rest: Any) -> Any:
        numbers.append(len(subjects))
        return real(work, policy, subjects, *rest)

    monkeypatch.setattr(forward, "forward_starts", counting)
    # One after the other, each takes all there is; the fourth comes when all others have gone.
    pool = Pool("main", Resource.cpus, 1)
    records = [
        ended(EPOCH, EPOCH, EPOCH + 5, 1),
        ended(EPOCH + 1, EPOCH + 5, EPOCH + 9, 1),
        ended(EPOCH + 2, EPOCH + 9, EPOCH + 12, 1),
        ended(EPOCH + 20, EPOCH + 20, EPOCH + 25, 1),
    ]
    first = table(records, pool, Policy())
    assert numbers.pop() == 4
    assert table(records, pool, Policy(), known=first).equals(first)
    assert numbers.pop() == 0
    more = [*records, ended(EPOCH + 21, EPOCH + 26, EPOCH + 27, 1)]
    table(more, pool, Policy(), known=first)
    assert numbers.pop() == 1  # no other job waited then
    between = [*records, ended(EPOCH + 6, EPOCH + 26, EPOCH + 27, 1)]
    table(between, pool, Policy(), known=first)
    assert numbers.pop() == 3  # itself, the third, which waits then, and the fourth, who meets it
    table(records, pool, Policy(Order.sjf), known=first)
    assert numbers.pop() == 4


def test_a_forward_start_after_the_end_of_the_log_is_provisional() -> None:
    pool = Pool("main", Resource.cpus, 1)
    records = [ended(EPOCH, EPOCH, EPOCH + 5, 1), ended(EPOCH + 1, EPOCH + 6, EPOCH + 9, 1)]
    records += [
        {"submit_time": EPOCH + 2, "state": "PENDING", "cpus": 1, "walltime_s": 1, "user": "bob"}
    ]
    fair = fair_start_times(Scenario(describe(frame(records), [pool]), pool, EPOCH + 10))
    policy = Policy(Order.sjf, Backfill.none)
    now = forward_start_times(Scenario(fair, pool._replace(policy=policy), EPOCH + 5))
    assert now["fst_status"].to_list() == ["final", "provisional", None]
    assert now["start_modelled"].to_list() == [EPOCH, EPOCH + 6, None]
    then = forward_start_times(Scenario(fair, pool._replace(policy=policy), EPOCH + 6))
    assert then["fst_status"].to_list() == ["final", "final", None]


def test_a_budget_covers_forward_starts_that_later_logs_made_stale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The last to come were served first, so the policy's queue is as long as the log.
    pool = Pool("main", Resource.cpus, 1)
    count = 30
    records = [
        ended(EPOCH + k, EPOCH + 10 * (count - k) + 20, EPOCH + 10 * (count - k) + 30, 1)
        for k in range(count)
    ]
    spent: list[int] = []
    real: dict[str, Any] = {"fair": fair_start.fair_starts, "forward": forward.forward_starts}

    def counting(kind: str) -> Any:
        def call(work: Any, policy: Policy, subjects: Any, *rest: Any) -> Any:
            spent.append(len(subjects) * {"fair": 2, "forward": 3}[kind])
            return real[kind](work, policy, subjects, *rest)

        return call

    def dear(work: Any, policy: Policy) -> Costs:
        return Costs(np.full(len(work.arrival), 2.0), np.full(len(work.arrival), 3.0))

    monkeypatch.setattr(fair_start, "fair_starts", counting("fair"))
    monkeypatch.setattr(forward, "forward_starts", counting("forward"))
    monkeypatch.setattr(fair_start, "costs", dear)
    nights = []
    known = table(records, pool, Policy())
    more = [*records, ended(EPOCH + count + 1, EPOCH + 500, EPOCH + 510, 1)]
    for _ in range(8):
        spent.clear()
        fair = fair_table(more, pool, Policy(), known=known, effort=Effort(budget_s=30))
        known = forward_start_times(Scenario(fair, pool, NOW), known=known)
        there = known["start_modelled"].is_not_null()
        assert there.equals((known["fst_status"] != "not_sampled").alias("start_modelled"))
        nights.append((there.sum(), sum(spent), known["fst_weight"].sum()))
        assert sum(spent) <= 45  # 30 on average over all draws
    first, (done, used, stood_for) = table(more, pool, Policy()), nights[0]
    assert 0 < done < count
    assert 15 < stood_for < 2 * count
    assert used > 0
    assert [night[0] for night in nights] == sorted(night[0] for night in nights)
    assert known.equals(first)
    assert nights[-1][:2] == (count + 1, 0)


def test_fair_start_times_that_a_budget_does_not_give_up_are_not_computed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    records = [ended(EPOCH + k, EPOCH + 40 - k, EPOCH + 41 - k, 1) for k in range(9)]
    pool = Pool("main", Resource.cpus, 1)
    known = table(records, pool, Policy())
    more = [*records, ended(EPOCH + 9, EPOCH + 50, EPOCH + 51, 1)]
    numbers: list[int] = []
    real = fair_start.fair_starts

    def counting(work: Any, policy: Policy, subjects: Any, *rest: Any) -> Any:
        numbers.append(len(subjects))
        return real(work, policy, subjects, *rest)

    monkeypatch.setattr(fair_start, "fair_starts", counting)
    made = table(more, pool, Policy(), known=known)
    again = fair_table(more, pool, Policy(), known=known, effort=Effort(budget_s=60))
    assert forward_start_times(Scenario(again, pool, NOW), known=known).equals(made)
    assert numbers == [1, 1]
