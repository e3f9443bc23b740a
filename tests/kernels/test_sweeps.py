import math
from itertools import pairwise

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from audit.kernels import sweeps
from audit.metrics.attempts.contention import Lifetimes

lives = st.lists(
    st.tuples(
        st.integers(-5, 20), st.integers(0, 9), st.integers(0, 9), st.integers(0, 5)
    ),  # arrival, wait, occupancy, size
    max_size=12,
)


def arrays(attempts: list[tuple[int, int, int, int]]) -> Lifetimes:
    arrival, wait, occupancy, size = np.array(attempts, np.int64).reshape(-1, 4).T.copy()
    start, end = arrival + wait, arrival + wait + occupancy
    orders = (np.argsort(times, kind="stable") for times in (arrival, start, end))
    return Lifetimes(arrival, start, end, size, *orders)


NEARLY_SORTED = [3 * k + k * k % 9_973 for k in range(20_000)]


@given(st.lists(st.integers(-(2**61), 2**61) | st.integers(-3, 3000)))
@example([])
@example([7])
@example([0, 2**62])
@example([5, 4])
@example(NEARLY_SORTED)
def test_time_order_is_a_stable_sort(numbers: list[int]) -> None:
    times = np.array(numbers, np.int64)
    order, spare = np.full_like(times, -1), np.full_like(times, -1)
    sweeps.time_order(times, order, spare)
    assert order.tolist() == np.argsort(times, kind="stable").tolist()


@given(lives)
def test_shares_are_integrals(attempts: list[tuple[int, int, int, int]]) -> None:
    life = arrays(attempts)
    working, low = np.full((2, len(attempts)), np.nan)
    jobs = np.full(len(attempts), np.nan)
    sweeps.shares(*life, -1, working, low)
    for cap in range(6):
        sweeps.shares(*life, cap, jobs, low)
    for k, size in enumerate(life.size.tolist()):
        states = [state_at(life, t) for t in range(life.arrival[k], life.end[k])]
        assert math.isclose(
            working[k], math.fsum(queued / (queued + used) for queued, used, _ in states if queued)
        )
        assert math.isclose(jobs[k], math.fsum(min(used / n, size) for _, used, n in states))


def state_at(life: Lifetimes, t: int) -> tuple[int, int, int]:
    """Size queued, size running, and number of attempts in the pool."""
    queued = (life.arrival <= t) & (t < life.start)
    runs = (life.start <= t) & (t < life.end)
    return int(life.size[queued].sum()), int(life.size[runs].sum()), int((queued | runs).sum())


@given(lives, st.integers(1, 6), st.lists(st.integers(-9, 45), min_size=2, max_size=4, unique=True))
def test_integrals(
    attempts: list[tuple[int, int, int, int]], capacity: int, cuts: list[int]
) -> None:
    life, edges = arrays(attempts), sorted(cuts)
    amounts = [capacity + k for k in range(len(edges) - 1)]
    out = np.zeros((len(amounts), 4), np.int64)
    peak = sweeps.integrals(*life, np.array(amounts), np.array(edges), out)
    most = 0
    for row, amount, span in zip(out.tolist(), amounts, pairwise(edges), strict=True):
        states = [state_at(life, t)[:2] for t in range(*span)]
        most = max(most, *(used for _, used in states))
        assert row == [
            sum(used for _, used in states),
            sum(queued for queued, _ in states),
            sum(min(max(amount - used, 0), queued) for queued, used in states),
            sum(used > amount for _, used in states),
        ]
    assert peak == most


@given(lives)
def test_overtakes_count_pairs(attempts: list[tuple[int, int, int, int]]) -> None:
    life = arrays(attempts)
    pairs = list(zip(life.arrival.tolist(), life.start.tolist(), strict=True))
    _, rank = np.unique(life.start, return_inverse=True)
    by, over = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.int64)
    sweeps.overtakes(life.arrival, rank.astype(np.int64) + 1, life.by_arrival, by, over)
    assert by.tolist() == [sum(a > arr and s < sta for a, s in pairs) for arr, sta in pairs]
    assert over.tolist() == [sum(a < arr and s > sta for a, s in pairs) for arr, sta in pairs]
