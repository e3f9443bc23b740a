"""Each kernel as compiled and as plain Python, which would trip over an index out of range."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from audit.kernels import sweeps
from audit.metrics.attempts.contention import Lifetimes
from tests.kernels.forms import BOTH, FORMS, Form

Ints = NDArray[np.int64]


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


@BOTH
@given(st.lists(st.integers(-(2**61), 2**61) | st.integers(-3, 3000)))
@example([])
@example([7])
@example([0, 2**62])
@example([5, 4])
def test_time_order_is_a_stable_sort(form: Form, numbers: list[int]) -> None:
    times = np.array(numbers, np.int64)
    order, spare = np.full_like(times, -1), np.full_like(times, -1)
    form(sweeps.time_order)(times, order, spare)
    assert order.tolist() == np.argsort(times, kind="stable").tolist()


@given(lives)
def test_shares_are_the_same_in_both_forms(attempts: list[tuple[int, int, int, int]]) -> None:
    life = arrays(attempts)
    got = []
    for form in FORMS:
        share, low = np.full(len(attempts), np.nan), np.empty(len(attempts))
        form(sweeps.waiting_shares)(*life, share, low)
        jobs, low = np.full(len(attempts), np.nan), np.empty(len(attempts))
        for cap in range(6):
            form(sweeps.capped_job_shares)(*life, cap, jobs, low)
        assert not np.isnan([share, jobs]).any()
        got.append((share.tolist(), jobs.tolist()))
    assert got[0] == got[1]


@given(lives, st.integers(1, 6), st.lists(st.integers(-9, 45), max_size=4, unique=True))
def test_integrals_are_the_same_in_both_forms(
    attempts: list[tuple[int, int, int, int]], capacity: int, cuts: list[int]
) -> None:
    edges = np.array(sorted(cuts), np.int64)
    had = capacity + np.arange(max(len(edges) - 1, 0))
    got = []
    for form in FORMS:
        out = np.zeros((max(len(edges) - 1, 0), 4), np.int64)
        peak = form(sweeps.integrals)(*arrays(attempts), had, edges, out)
        got.append((peak, out.tolist()))
    assert got[0] == got[1]


@BOTH
@given(lives)
def test_overtakes_count_pairs(form: Form, attempts: list[tuple[int, int, int, int]]) -> None:
    life = arrays(attempts)
    pairs = list(zip(life.arrival.tolist(), life.start.tolist(), strict=True))
    _, rank = np.unique(life.start, return_inverse=True)
    by, over = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.int64)
    tree = np.zeros(len(pairs) + 1, np.int64)
    form(sweeps.overtakes)(life.arrival, rank.astype(np.int64) + 1, life.by_arrival, tree, by, over)
    assert by.tolist() == [sum(a > arr and s < sta for a, s in pairs) for arr, sta in pairs]
    assert over.tolist() == [sum(a < arr and s > sta for a, s in pairs) for arr, sta in pairs]


def test_many_that_are_nearly_in_order() -> None:
    random = np.random.Generator(np.random.PCG64(1))
    times = np.arange(200_000) * 3 + random.integers(0, 10_000, 200_000)
    order, spare = np.empty_like(times), np.empty_like(times)
    sweeps.time_order(times, order, spare)
    assert (order == np.argsort(times, kind="stable")).all()
