"""Estimates of cost: of what they depend, and which way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.model import Backfill, Order, Policy
from audit.scenario.budget import LONGEST, depths, fair_cost, replay_cost, weights
from tests.naive.simulation import Log
from tests.strategies import arrays, logs


@given(logs(limited=True))
def test_depth_counts_who_runs_and_waits(log: Log) -> None:
    work = arrays(log)
    depth = depths(work)
    for j, subject in enumerate(log.jobs):
        if not work.queued[j]:
            continue
        there = 0
        for k in range(len(log.jobs)):
            known = work.start[k] < 2**62
            runs = known and work.start[k] < subject.arrival < work.end[k]
            first = k < j and ((work.queued[k] and work.sized[k]) or (work.blocked[k] and known))
            waits = first and (work.open[k] if not known else work.start[k] >= subject.arrival)
            there += bool(runs or waits)
        assert depth[j] == there


@pytest.mark.parametrize("backfill", list(Backfill))
def test_deeper_queues_cost_more(backfill: Backfill) -> None:
    @given(logs())
    def compare(log: Log) -> None:
        work = arrays(log)
        cost = fair_cost(work, Policy(Order.fcfs, backfill))
        order = np.argsort(depths(work), kind="stable")
        assert (cost > 0).all()
        assert (np.diff(cost[order]) >= 0).all()
        for ranked in Order:
            dearer = fair_cost(work, Policy(ranked, backfill)) > cost
            assert (dearer == ((depths(work) > 0) & (ranked is not Order.fcfs))).all()

    compare()


@pytest.mark.parametrize("backfill", list(Backfill))
@pytest.mark.parametrize("order", list(Order))
def test_replays_cost_more_by_depth_and_by_length(backfill: Backfill, order: Order) -> None:
    policy = Policy(order, backfill)
    flat, deep = np.full(100, 10), np.full(100, 1_000)
    assert 0 < replay_cost(flat, policy) <= replay_cost(deep, policy)
    assert replay_cost(np.full(200, 10), policy) == pytest.approx(2 * replay_cost(flat, policy))
    assert replay_cost(flat, policy) >= replay_cost(flat, Policy(Order.fcfs, backfill))
    assert replay_cost(deep, policy, limited=True) > replay_cost(deep, policy)


def test_a_few_reservations_cost_less_than_all_and_more_than_one() -> None:
    depth = np.full(100, 1_000)
    replan = Policy(Order.fcfs, Backfill.conservative_replan)
    costs_of = [
        replay_cost(depth, policy) for policy in (Policy(), replan._replace(reservations=4), replan)
    ]
    assert costs_of == sorted(costs_of)
    assert len(set(costs_of)) == 3


# --- samples -------------------------------------------------------------------------------------


COUNT = 40
DRAWS = 600


def drawn(budget: float, seed: int, cost: np.ndarray, wait: np.ndarray) -> np.ndarray:
    """Attempts of four users in two widths, drawn within a budget."""
    place = np.arange(len(cost))
    return weights(cost, budget, wait, [place % 4, place // 4 % 2], seed)


def some(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Costs, waits and amounts that have to do with one another, as in a log."""
    random = np.random.default_rng(seed)
    wait = random.integers(0, 10_000, COUNT)
    cost = 0.01 + wait / 1_000 * random.random(COUNT)
    return cost, wait, wait // random.integers(1, 9, COUNT)


@given(st.integers(0, 50), st.floats(0.1, 2.0))
def test_all_stand_for_themselves_where_all_fit(seed: int, part: float) -> None:
    cost, wait, _ = some(seed)
    number = drawn(float(cost.sum()) * part, seed, cost, wait)
    assert (number == 1).all() == (part >= 1.0)


def test_sums_over_samples_are_sums_over_all_in_the_mean() -> None:
    for log in range(2):
        cost, wait, amount = some(log)
        for part in (0.1, 0.5):
            budget = float(cost.sum()) * part
            numbers = np.array([drawn(budget, seed, cost, wait) for seed in range(DRAWS)])
            for values in (amount, np.ones(COUNT), amount * (np.arange(COUNT) % 4 == 1)):
                sums = numbers @ values
                error = sums.std() / np.sqrt(len(sums))
                assert abs(sums.mean() - values.sum()) < 4 * error + 1e-9
            spent = (numbers > 0) @ cost
            assert spent.mean() < budget + 4 * spent.std() / np.sqrt(len(spent))
            assert spent.mean() > budget * 0.6


def test_each_is_drawn_as_often_as_it_says() -> None:
    cost, wait, _ = some(7)
    numbers = np.array([drawn(float(cost.sum()) * 0.3, seed, cost, wait) for seed in range(DRAWS)])
    for of_one in numbers.T:
        stands = set(of_one.tolist()) - {0}
        assert len(stands) == 1
        chance = 1 / stands.pop()
        assert abs((of_one > 0).mean() - chance) < 4 * np.sqrt(chance / DRAWS) + 1e-9


@given(st.integers(0, 1_000))
def test_the_longest_waits_stand_for_themselves(seed: int) -> None:
    cost, wait, _ = some(seed)
    wait[3] = 20_000
    budget = float(cost.sum()) * 0.5
    number = drawn(budget, seed, cost, wait)
    assert cost[3] > budget * LONGEST or number[3] == 1


@given(st.integers(0, 1_000), st.integers(2, 9))
def test_each_stratum_has_its_share(seed: int, each: int) -> None:
    # All cost the same and waited for nothing but for one, which takes what the longest get.
    count = 400
    users = np.arange(count) % 5
    budget = count / each
    wait = np.zeros(count, np.int64)
    number = weights(np.ones(count), budget, wait, [users, np.arange(count) // 5], seed)
    sampled = np.maximum(number, 1) > 1
    stands = number[sampled]
    assert len(set(stands.tolist())) == 1
    for user in range(5):
        of_user = users == user
        left = (of_user & (number != 1)).sum()
        assert abs((of_user & sampled).sum() - left / stands[0]) < 1 + 1e-9


@given(st.integers(0, 1_000))
def test_the_same_seed_draws_the_same(seed: int) -> None:
    cost, wait, _ = some(seed)
    once, again = (drawn(3.0, seed, cost, wait) for _ in range(2))
    assert np.array_equal(once, again)


def test_nobody_and_next_to_nothing() -> None:
    nothing = np.zeros(0, np.int64)
    assert len(weights(np.zeros(0), 1.0, nothing, [nothing], 0)) == 0
    assert weights(np.ones(1), 1e-9, np.zeros(1, np.int64), [np.zeros(1, np.int64)], 0)[0] in {
        0,
        10**9,
    }
