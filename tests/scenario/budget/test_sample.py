"""Samples within a budget: what they cost, whom they hold, and what sums over them estimate."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.scenario.budget.sample import LONGEST, stands_for

COUNT = 40
DRAWS = 600


def drawn(budget: float, seed: int, cost: np.ndarray, wait: np.ndarray) -> np.ndarray:
    """Attempts of four users in two widths, drawn within a budget."""
    place = np.arange(len(cost))
    return stands_for(cost, budget, wait, [place % 4, place // 4 % 2], seed)


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
    number = stands_for(np.ones(count), budget, wait, [users, np.arange(count) // 5], seed)
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
    assert len(stands_for(np.zeros(0), 1.0, nothing, [nothing], 0)) == 0
    assert stands_for(np.ones(1), 1e-9, np.zeros(1, np.int64), [np.zeros(1, np.int64)], 0)[0] in {
        0,
        10**9,
    }
