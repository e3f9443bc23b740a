import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.quantiles import (
    exact_mean,
    exact_sum,
    grouped_sums,
    nearest_rank,
    ranks,
    spearman,
)
from tests.naive import attempts as naive
from tests.naive import sensitivity as slow

values = st.lists(st.integers(-5, 5), min_size=1, max_size=30)


@given(values, st.integers(0, 1000))
def test_nearest_rank_is_its_definition(numbers: list[int], thousandths: int) -> None:
    fast = nearest_rank(np.sort(np.array(numbers, np.float64)), thousandths)
    assert fast == naive.nearest_rank(numbers, Fraction(thousandths, 1000))


@pytest.mark.parametrize(
    ("count", "thousandths", "rank"),
    [(4, 500, 2), (5, 500, 3), (100, 70, 7), (1, 990, 1), (10, 900, 9), (3, 1000, 3), (3, 0, 1)],
)
def test_ranks(count: int, thousandths: int, rank: int) -> None:
    assert nearest_rank(np.arange(1.0, count + 1), thousandths) == rank


def test_nothing_has_no_quantile() -> None:
    assert nearest_rank(np.array([]), 500) is None


def test_a_sum_is_rounded_once() -> None:
    assert exact_sum(np.array([1e16, 1.0, -1e16])) == 1.0
    assert exact_sum(np.array([])) == 0.0


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=5), st.integers(1, 200))
def test_a_sum_of_many_is_rounded_once(few: list[float], times: int) -> None:
    many = few * times
    assert exact_sum(np.array(many)) == math.fsum(many)


def test_what_is_not_finite() -> None:
    many = np.ones(1000)
    many[7] = math.inf
    assert exact_sum(many) == math.inf
    many[8] = math.nan
    assert math.isnan(exact_sum(many))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-9, 9)), max_size=20)
    | st.lists(st.tuples(st.integers(0, 3), st.floats(-9, 9)), max_size=20)
)
def test_grouped_sums(pairs: list[tuple[int, float]]) -> None:
    groups = np.array([group for group, _ in pairs], np.int64)
    numbers = np.array([number for _, number in pairs], np.float64)
    expected = [math.fsum(number for one, number in pairs if one == group) for group in range(4)]
    assert grouped_sums(groups, numbers, 4) == expected


def test_no_groups() -> None:
    assert grouped_sums(np.array([], np.int64), np.array([]), 0) == []


def test_ranks_share_the_mean_of_ties_and_spread_what_is_unknown() -> None:
    values = np.array([[3.0, 1.0], [1.0, np.nan], [3.0, 2.0], [0.5, 4.0]])
    made = ranks(values)
    assert made[:, 0].tolist() == [3.5, 2.0, 3.5, 1.0]
    assert np.isnan(made[:, 1]).all()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=8))
def test_rank_correlation(pairs: list[tuple[int, int]]) -> None:
    one, other = (list(side) for side in zip(*pairs, strict=True))
    found = spearman(np.array(one, float), np.array(other, float))
    columns = np.array([one, other], float).T[:, :, np.newaxis]
    [of_column] = spearman(columns[:, 0], columns[:, 1])
    assert of_column == pytest.approx(float(found), nan_ok=True)
    expected = slow.rank_correlation(one, other)
    if expected is None:
        assert np.isnan(found)
    else:
        assert float(found) == pytest.approx(expected)


def test_a_mean_does_not_depend_on_the_order() -> None:
    values = np.array([1e16, 1.0, -1e16, 3.0])
    assert exact_mean(values) == exact_mean(values[::-1]) == 1.0
    assert exact_mean(np.array([2, 3])) == 2.5
    assert exact_mean(values[:0]) is None
