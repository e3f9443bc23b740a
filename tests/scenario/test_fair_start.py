"""Fair start times: against the slow twin, by the facts that SPEC §5 lists, and as tables."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.array_types import Floats
from audit.errors import SimulationError
from audit.metrics.attempts.population import describe
from audit.model import BY_OWNER, Backfill, Order, Policy, Pool, Resource
from audit.scenario.budget import weights
from audit.scenario.driver import Effort
from audit.scenario.engine import replay
from audit.scenario.fair_start import fair_start_times, fair_starts
from audit.scenario.ownership import EQUAL_SHARES
from audit.scenario.scenario import Scenario
from audit.scenario.workload import Workload
from tests.examples import examples
from tests.naive import simulation as slow
from tests.naive.simulation import Job, Log, Ranking
from tests.scenario.test_engine import known, slow_pool
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

Instants = list[int | None]


def strict(log: Log, policy: Policy) -> Instants:
    return known(fair_starts(arrays(log), policy).strict)


def relaxed(log: Log, policy: Policy) -> Instants:
    return known(fair_starts(arrays(log), policy).relaxed)


def own(log: Log, policy: Policy) -> Log:
    """The schedule of a log under the policy itself."""
    starts = known(replay(arrays(log), policy).start)
    return performed(log, {k: start for k, start in enumerate(starts) if start is not None})


def over_capacity(log: Log, j: int) -> bool:
    return slow.status(log, j) == "over_capacity"


# Against the twin


def require_as_defined(
    log: Log, policy: Policy, ranking: Ranking, fair_order: Order = Order.fcfs
) -> None:
    made = fair_starts(arrays(log, ranking), policy, fair_order=fair_order)
    as_said = rule(policy)._replace(ranking=ranking, fair=fair_order.value)
    for j, job in enumerate(log.jobs):
        if job.blocked or log.exceeds(j) or log.breaks(j):
            continue
        assert known(made.strict)[j] == slow.strict(log, as_said, j)
        assert known(made.relaxed)[j] == slow.relaxed(log, as_said, j)
        assert made.over_capacity[j] == over_capacity(log, j)


@pytest.mark.parametrize(("order", "backfill"), EVERY_POLICY)
def test_every_policy_as_defined(order: Order, backfill: Backfill) -> None:
    @settings(max_examples=examples(20))
    @given(
        logs(limited=True),
        policies(order, backfill, intervals=True),
        st.booleans(),
        rankings(),
    )
    def compare(log: Log, policy: Policy, of_its_own: bool, ranking: Ranking) -> None:
        require_as_defined(own(log, policy) if of_its_own else log, policy, ranking)

    compare()


@pytest.mark.parametrize("fair_order", BY_OWNER)
@pytest.mark.parametrize("backfill", list(Backfill))
def test_every_fair_order_as_defined(fair_order: Order, backfill: Backfill) -> None:
    orders = st.sampled_from([Order.fcfs, Order.fcfs, Order.sjf, Order.lxf, fair_order])

    @settings(max_examples=examples(20))
    @given(logs(limited=True), policies(backfill=backfill, intervals=True), orders, rankings())
    def compare(log: Log, policy: Policy, order: Order, ranking: Ranking) -> None:
        require_as_defined(log, policy._replace(order=order), ranking, fair_order)

    compare()


def test_orders_that_do_not_go_together_are_refused() -> None:
    work = arrays(Log((Job(0, 1, 1, (1,)),), (1,)))
    with pytest.raises(SimulationError, match="fair_order sjf: one of fcfs, fairshare, nuwt"):
        fair_starts(work, Policy(), fair_order=Order.sjf)
    with pytest.raises(SimulationError, match="order nuwt with fair_order fairshare"):
        fair_starts(work, Policy(Order.nuwt), fair_order=Order.fairshare)


@given(logs(limited=True), policies(intervals=True))
def test_what_comes_later_does_not_matter(log: Log, policy: Policy) -> None:
    known_first = log._replace(jobs=log.jobs[: len(log.jobs) // 2])
    count = len(known_first.jobs)
    assert strict(log, policy)[:count] == strict(known_first, policy)
    assert relaxed(log, policy)[:count] == relaxed(known_first, policy)


@given(logs(), policies(order=Order.fcfs))
def test_strict_is_a_replay_from_the_arrival_without_later_ones(log: Log, policy: Policy) -> None:
    log = log._replace(jobs=tuple(job for job in log.jobs if job.open or job.start is not None))
    policy = policy._replace(depth=None)  # what starts on that arrival counts in a replay
    times = strict(log, policy)
    for j, job in enumerate(log.jobs):
        if not job.blocked:
            waiting = job._replace(start=None, end=None, open=True)
            before = log._replace(jobs=(*log.jobs[:j], waiting))
            again = replay(arrays(before), policy, from_time=job.arrival)
            assert known(again.start)[j] == times[j]


# The facts of SPEC §5


@given(logs(blocked=False))
def test_first_come_first_served_misses_nothing(log: Log) -> None:
    policy = Policy(Order.fcfs, Backfill.none)
    log = own(log, policy)
    did = [job.start for job in log.jobs]
    assert strict(log, policy) == did
    assert relaxed(log, policy) == did


@given(logs(plain=True, exact=True, zero=False))
def test_conservative_misses_nothing_where_estimates_are_exact(log: Log) -> None:
    policy = Policy(Order.fcfs, Backfill.conservative)
    log = own(log, policy)
    assert strict(log, policy) == [job.start for job in log.jobs]


@pytest.mark.parametrize("order", [Order.fcfs, Order.sjf, Order.lxf])
@pytest.mark.parametrize(
    "backfill", [each for each in Backfill if each is not Backfill.conservative]
)
def test_without_later_arrivals_a_start_is_fair(order: Order, backfill: Backfill) -> None:
    @settings(max_examples=examples(15))
    @given(logs(blocked=False), policies(order, backfill))
    def check(log: Log, policy: Policy) -> None:
        log = log._replace(jobs=tuple(job._replace(sized=True) for job in log.jobs))
        log = own(log, policy)
        times = strict(log, policy)
        for j, job in enumerate(log.jobs):
            start = math.inf if job.start is None else job.start  # never: all others came first
            if all(later.arrival > start for later in log.jobs[j + 1 :]):
                assert times[j] == job.start

    check()


@settings(max_examples=examples(100))
@given(logs(), policies(order=Order.fcfs))
def test_relaxed_is_no_earlier_than_strict_where_the_last_come_is_served_last(
    log: Log, policy: Policy
) -> None:
    """Not where a pass looks at the first few only: to join later is to be looked at once more."""
    policy = policy._replace(depth=None)
    for early, late in zip(strict(log, policy), relaxed(log, policy), strict=True):
        assert late is None or (early is not None and early <= late)


def test_relaxed_may_be_earlier_than_strict_where_a_pass_looks_at_few() -> None:
    # Two that come at once, and passes that look at one: the second starts when the first ends,
    # or, having joined when the first had started, at once.
    log = Log((Job(0, 5, 5, (1,), 0, 5), Job(0, 1, 1, (1,), 0, 1)), (2,))
    policy = Policy(Order.fcfs, Backfill.easy, depth=1)
    assert strict(log, policy) == [0, 5]
    assert relaxed(log, policy) == [0, 0]


# By hand; time from left to right, one row per unit, '.' is free


def test_the_snapshot_holds_what_ran_and_what_waited() -> None:
    # 2   a a b b .    j comes at 2: a has just gone, b starts just then, so it is queued. By
    # 1   a a . . .    sjf j goes first (strict), or when b has started (relaxed).
    a, b = Job(0, 2, 2, (2,), 0, 2), Job(1, 5, 5, (2,), 2, 7)
    j = Job(2, 1, 1, (2,), 7, 8)
    log = Log((a, b, j), (2,))
    policy = Policy(Order.sjf, Backfill.none)
    assert strict(log, policy) == [0, 2, 2]
    assert relaxed(log, policy) == [0, 2, 7]


def test_more_than_there_is_may_run_in_a_snapshot_and_then_nothing_starts() -> None:
    # 3   X X X          a, b and c ran at once on 2, so the log says. For j there is room when
    # 2   b b b          two of them have ended, not one.
    # 1   a a a a
    a, b, c = Job(0, 4, 4, (1,), 0, 4), Job(0, 3, 3, (1,), 0, 3), Job(0, 3, 3, (1,), 0, 3)
    j = Job(1, 1, 1, (1,), 3, 4)
    nothing = Job(1, 1, 1, (0,), 1, 2)
    for backfill in Backfill:
        made = fair_starts(arrays(Log((a, b, c, nothing, j), (2,))), Policy(Order.fcfs, backfill))
        assert made.strict.tolist()[3:] == [1, 3]
        assert made.over_capacity.tolist() == [False] * 3 + [True] * 2


def test_a_blocked_attempt_is_a_step_for_those_after_it_and_nothing_for_those_before() -> None:
    # 1   j j . X X     j came before the held X, which therefore does not exist; k came after it,
    #     0 1 2 3 4     and needs 3 from 1 on: it starts, not knowing of X, where it can.
    j, k = Job(0, 3, 3, (1,), 1, 4), Job(1, 3, 3, (1,), 5, 8)
    held = Job(0, 2, 2, (1,), 2, 4, blocked=True)
    for backfill in Backfill:
        made = strict(Log((j, held, k), (1,)), Policy(Order.fcfs, backfill))
        assert (made[0], made[2]) == (0, 4)


def test_a_blocked_attempt_uses_on_where_a_plan_is_kept() -> None:
    # 2   a a a a a a a . . . j k    At 10 Ann has used 7 and Bob, whose X is blocked, 10: it is her
    # 1   X X X X X X X X X X j k    turn, although Bob had used but 6 when j came.
    #     0         5         0 1
    a = Job(0, 7, 7, (1,), 0, 7)
    blocked = Job(0, 10, 10, (1,), 0, 10, blocked=True, owner="bob")
    k = Job(5, 1, 1, (2,), 11, 12, owner="bob")
    j = Job(6, 1, 1, (2,), 10, 11)
    log = Log((a, blocked, k, j), (2,))
    ranking = Ranking(interval=100, depth=1, recalculation=1)
    policy = Policy(Order.fairshare, Backfill.conservative)
    made = fair_starts(arrays(log, ranking), policy)
    assert (
        known(made.strict)[3] == 10 == slow.strict(log, rule(policy)._replace(ranking=ranking), 3)
    )


def test_a_fair_order_leaves_out_who_waits_behind() -> None:
    # 1   d b c c B B B A    Ann comes at 3, when Bob waits, who has used something already. By
    #     0 1 2 3 4 5 6 7    arrival she is owed a start at 7; by fairshare at 4, for her turn is
    # before his; by nuwt it is after his, who waited a second for a second of use.
    history = Job(0, 1, 1, (1,), 0, 1, owner="dot"), Job(0, 1, 1, (1,), 1, 2, owner="bob")
    c = Job(1, 2, 2, (1,), 2, 4, owner="cem")
    b, j = Job(2, 3, 3, (1,), 4, 7, owner="bob"), Job(3, 1, 1, (1,), 7, 8, owner="ann")
    work = arrays(Log((*history, c, b, j), (1,)), Ranking(recalculation=1))
    found = {
        order: fair_starts(work, Policy(), fair_order=order) for order in (Order.fcfs, *BY_OWNER)
    }
    assert {order: made.strict[4] for order, made in found.items()} == {
        Order.fcfs: 7,
        Order.fairshare: 4,
        Order.nuwt: 7,
    }


def test_whatever_stays_queued_for_ever_lets_nobody_join() -> None:
    grown = Log((Job(0, 1, 1, (2,), 9, 10), Job(1, 1, 1, (1,), 1, 2)), (2,))
    shrunk = grown._replace(steps=(slow.Step(0, (-1,), False),))
    policy = Policy(Order.fcfs, Backfill.easy)
    assert strict(shrunk, policy) == [None, 1]
    assert relaxed(shrunk, policy) == [None, None]


# As tables


def table(records: Rows, pool: Pool, policy: Policy, **more: Any) -> pl.DataFrame:
    return fair_start_times(
        Scenario(describe(frame(records), [pool]), pool._replace(policy=policy), NOW), **more
    )


@settings(max_examples=examples(30))
@given(rows(), st.sampled_from(POOLS), policies(slurm=False))
def test_tables_hold_what_the_twin_says(records: Rows, pool: Pool, policy: Policy) -> None:
    made = table(records, pool, policy)
    log, keys = slow.log_of(frame(records).to_dicts(), *slow_pool(pool), NOW)
    as_said = rule(policy)._replace(ranking=Ranking(recalculation=EQUAL_SHARES.recalculation_s))
    place = {key: j for j, key in enumerate(keys)}
    without = ("reserved", "blocked", "exceeds_capacity")
    assert made.height == len(records)
    for row in made.iter_rows(named=True):
        if row["standing"] != "ended":
            assert row["fst_status"] is row["fst_strict"] is row["fst_relaxed"] is None
            continue
        j = place.get((row["job_id"], row["attempt"]))
        assert (j is None) == bool(row["reservation"])
        assert row["fst_status"] == ("reserved" if j is None else slow.status(log, j))
        strictly = relaxedly = None
        if j is not None and row["fst_status"] not in without:
            strictly = slow.strict(log, as_said, j)
            relaxedly = slow.relaxed(log, as_said, j)
        assert (row["fst_strict"], row["fst_relaxed"]) == (strictly, relaxedly)
        for miss, fst in (("miss_strict_s", strictly), ("miss_relaxed_s", relaxedly)):
            assert row[miss] == (None if fst is None else max(row["start_time"] - fst, 0))
        if strictly is None:
            assert row["fair_slowdown"] is None
        else:
            response = strictly - row["arrival_time"] + row["end_time"] - row["start_time"]
            assert row["fair_slowdown"] == max(response / max(row["runtime_s"], 10), 1.0)


def test_each_status_by_hand() -> None:
    pool = Pool("main", Resource.cpus, 2)
    past, full, later = EPOCH, EPOCH + 100, EPOCH + 200
    records = [
        ended(past, past, past + 5, 1),
        ended(past, past, past + 5, 1, reservation="course"),
        ended(past, past + 1, past + 5, 1, reason="Licenses"),
        ended(past, past + 1, past + 5, 3),
        ended(past + 10, past + 10, past + 15, 1, state="PREEMPTED"),
        ended(past + 11, past + 11, past + 12, 1),
        ended(full, full, full + 9, 2),
        ended(full, full, full + 9, 2),
        ended(full + 1, full + 9, full + 10, 1),
        {"submit_time": later, "start_time": later, "cpus": 1, "walltime_s": 50},
        ended(later + 1, later + 1, later + 2, 1),
        {"submit_time": later + 3, "state": "PENDING", "cpus": 1},
        {"submit_time": later + 3, "state": "PENDING", "walltime_s": 9},
        ended(later + 4, later + 4, later + 5, 1),
        {"submit_time": later + 5, "start_time": later + 5, "cpus": 1},
        ended(later + 6, later + 6, later + 7, 0),
    ]
    described = describe(frame(records), [pool])
    made = fair_start_times(Scenario(described, pool, later + 60)).sort("job_number")
    assert made["fst_status"].to_list() == [
        *("final", "reserved", "blocked", "exceeds_capacity"),
        *("final", "preempted_context", "final", "final", "over_capacity"),
        *(None, "provisional", None, None, "provisional", None, "assumed_estimate"),
    ]


# Within a budget


def costing(monkeypatch: pytest.MonkeyPatch, each_s: float) -> None:
    """Sets the cost of each attempt."""

    def cost(work: Workload, policy: Policy) -> Floats:
        return np.full(len(work.arrival), each_s)

    monkeypatch.setattr("audit.scenario.fair_start.fair_cost", cost)


FOUND = ("fst_strict", "fst_relaxed", "fst_status", "miss_strict_s", "fair_slowdown")


def found(described: pl.DataFrame, budget_s: float | None = None) -> pl.DataFrame:
    effort = Effort() if budget_s is None else Effort(budget_s=budget_s)
    return fair_start_times(Scenario(described, POOL, NOW), effort=effort)


def crowded(count: int = 60) -> pl.DataFrame:
    """Attempts of three users in a pool that is too small for them."""
    records = [
        ended(3 * k, 3 * k + k % 7 * 5, 3 * k + k % 7 * 5 + 10, 1 + k % 3, "abc"[k % 3])
        for k in range(count)
    ]
    return describe(frame(records), [POOL])


POOL = Pool("main", Resource.cpus, 4)


def test_a_budget_changes_nothing_where_all_fit() -> None:
    described = crowded()
    whole = found(described)
    assert found(described, 60).equals(whole)
    assert whole["fst_weight"].to_list() == [1] * described.height


def test_what_a_budget_leaves_out_others_stand_for(monkeypatch: pytest.MonkeyPatch) -> None:
    described = crowded()
    whole = found(described)
    costing(monkeypatch, 1.0)
    sample = found(described, 20)
    there = sample["fst_status"] != "not_sampled"
    assert 15 < there.sum() < 25
    assert sample.filter(there).select(FOUND).equals(whole.filter(there).select(FOUND))
    absent = sample.filter(~there).drop("fst_status").select(*FOUND[:2], *FOUND[3:], "fst_weight")
    assert absent.null_count().row(0) == (absent.height,) * absent.width
    assert 45 < sample["fst_weight"].sum() < 75
    longest = sample.filter(pl.col("wait_s") == pl.col("wait_s").max())
    assert (longest["fst_weight"] == 1).sum() == 5  # a quarter of the budget


@given(st.data())
def test_order_of_rows_and_names_change_no_draw(data: st.DataObject) -> None:
    described = crowded(30)
    with pytest.MonkeyPatch.context() as patch:
        costing(patch, 1.0)
        sample = found(described, 9)
        rows = data.draw(st.permutations(range(described.height)))
        names = dict(zip("abc", data.draw(st.permutations("xyz")), strict=True))
        other = described[rows].with_columns(user=pl.col("user").replace(names))
        again = found(other, 9)
    assert (
        again.select("job_id", "fst_weight")
        .sort("job_id")
        .equals(sample.select("job_id", "fst_weight").sort("job_id"))
    )


@pytest.mark.thorough
def test_sums_over_samples_have_no_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    described = crowded()
    whole = found(described)
    costing(monkeypatch, 1.0)
    sums = []
    for draw in range(120):
        _draw_with(monkeypatch, draw)
        sample = found(described, 14)
        sums.append(_total(sample))
    assert abs(np.mean(sums) - _total(whole)) < 4 * np.std(sums) / np.sqrt(len(sums))
    assert np.std(sums) > 0


def _total(times: pl.DataFrame) -> float:
    return float(np.nansum((times["miss_strict_s"] * times["fst_weight"]).to_numpy()))


def _draw_with(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Draws from another seed."""

    def other(cost: Any, budget: float, wait: Any, strata: Any, seed: int) -> Any:
        return weights(cost, budget, wait, strata, 1_000 * number + seed)

    monkeypatch.setattr("audit.scenario.fair_start.weights", other)
