"""Tests from few blocks: tables of Student's t, a jackknife by hand, and false discoveries."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from audit.metrics.significance import (
    by_hochberg,
    jackknife,
    of_sums,
    stretches,
    t_above,
    t_quantile,
)
from tests.naive import passed_over as naive


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 6.3138), (2, 2.9200), (3, 2.3534), (7, 1.8946), (19, 1.7291), (30, 1.6973)],
)
def test_students_t_as_in_tables(freedom: int, quantile: float) -> None:
    assert t_quantile(0.95, freedom) == pytest.approx(quantile, abs=5e-5)
    assert t_above(quantile, freedom) == pytest.approx(0.05, abs=5e-6)
    assert t_above(-quantile, freedom) == pytest.approx(0.95, abs=5e-6)
    assert t_quantile(0.05, freedom) == pytest.approx(-quantile, abs=5e-5)


@given(st.floats(-8, 8), st.integers(1, 19))
def test_students_t_as_defined(t: float, freedom: int) -> None:
    assert t_above(t, freedom) == pytest.approx(naive.above(t, freedom), abs=1e-6)


def test_a_jackknife_by_hand() -> None:
    # a mean of 1, 2 and 6: without one of them 4, 3.5 and 1.5, of variance 2/3 · 3.5
    found = of_sums(np.array([1.0, 2.0, 6.0]), np.ones(3))
    assert found is not None
    assert found.value == 3.0
    deviation = (7 / 3) ** 0.5
    assert found.lower == pytest.approx(3 - 2.919986 * deviation, abs=1e-5)
    assert found.p == pytest.approx(t_above(3 / deviation, 2))


def test_without_spread_or_without_blocks() -> None:
    assert jackknife(0.5, np.array([0.5, 0.5])) == (0.5, 0.0, 0.5)
    assert jackknife(0.0, np.array([0.0, 0.0])).p == 1.0
    assert of_sums(np.array([1.0]), np.array([1.0])) is None
    assert of_sums(np.array([1.0, 0.0]), np.array([1.0, 0.0])) is None


def test_stretches_are_equal_and_those_without_days_do_not_count() -> None:
    assert stretches(np.array([7, 3, 3, 9, 12]), 3).tolist() == [1, 0, 0, 1, 2]  # 3 to 12
    assert stretches(np.array([5, 1]), 20).tolist() == [1, 0]
    assert stretches(np.array([0, 99, 100, 399]), 4).tolist() == [0, 0, 1, 2]
    assert np.bincount(stretches(np.arange(47), 20)).tolist() == [
        len(one) for one in naive.stretches(range(47))
    ]


@example([0.05])  # at the very limit
@given(st.lists(st.sampled_from([0.0001, 0.001, 0.004, 0.01, 0.02, 0.05, 0.5, 1.0]), max_size=9))
def test_hochberg_as_defined(p: list[float]) -> None:
    limits = [
        value
        for value in p
        if Fraction(str(value)) <= sum(q <= value for q in p) * Fraction(5, 100) / len(p)
    ]
    assert by_hochberg(p) == [bool(limits) and value <= max(limits) for value in p]
