import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.attempts.concentration import gini, held_by_top, lorenz
from tests.naive import concentration as naive

AMOUNTS = st.lists(st.integers(0, 1_000_000), min_size=1, max_size=40).filter(any)


@given(AMOUNTS)
def test_as_defined(amounts: list[int]) -> None:
    values = [float(amount) for amount in amounts]
    assert gini(values) == pytest.approx(float(naive.gini(amounts)), abs=1e-12)
    for fast, slow in zip(lorenz(values), naive.lorenz(amounts), strict=True):
        assert fast == pytest.approx(tuple(map(float, slow)), abs=1e-12)


@given(AMOUNTS, st.integers(1, 20))
def test_held_by_top_as_defined(amounts: list[int], twentieths: int) -> None:
    values = [float(amount) for amount in amounts]
    slow = naive.held_by_top(amounts, twentieths, 20)
    assert held_by_top(values, twentieths / 20) == pytest.approx(float(slow), abs=1e-9)


@given(AMOUNTS)
def test_order_and_unit_change_nothing(amounts: list[int]) -> None:
    values = [float(amount) for amount in amounts]
    assert gini(values[::-1]) == gini(values)
    assert lorenz(sorted(values)) == lorenz(values)
    assert gini([4 * value for value in values]) == pytest.approx(gini(values), abs=1e-12)


def test_by_hand() -> None:
    assert lorenz([3.0, 1.0]) == [(0.0, 0.0), (0.5, 0.25), (1.0, 1.0)]
    assert gini([3.0, 1.0]) == 0.25
    assert gini([5.0] * 7) == 0
    assert gini([0.0, 0.0, 0.0, 8.0]) == 0.75
    assert held_by_top([1.0] * 9 + [91.0], 0.1) == pytest.approx(0.91)
    assert held_by_top([2.0, 2.0], 0.25) == pytest.approx(0.25)
    assert held_by_top([2.0, 2.0], 1.0) == 1


@pytest.mark.parametrize("amounts", [[], [0.0, 0.0], [1.0, -1.0], [math.nan]])
def test_what_has_no_distribution_is_refused(amounts: list[float]) -> None:
    with pytest.raises(ValueError, match="negative"):
        lorenz(amounts)
