"""Bounds that trials speak for, against a search of all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.scenario.fit.candidates import LEAST_GAIN, SELDOM, best_split, gain
from tests.naive import fit as naive

trials = st.lists(st.tuples(st.integers(0, 6), st.booleans(), st.integers(1, 9)), max_size=30)


@given(trials)
def test_the_best_split_is_the_best_of_all(found: list[tuple[int, bool, int]]) -> None:
    amount, served, weight = np.array(found, np.int64).reshape(-1, 3).T.copy()
    split = best_split(amount, served.astype(bool), weight)
    total = sum(s * w for _, s, w in found), sum(w for _, _, w in found)
    gains = {}
    for bound in {a for a, _, _ in found}:
        kept = sum(s * w for a, s, w in found if a > bound)
        tried = sum(w for a, _, w in found if a > bound)
        below = total[1] - tried
        if tried and kept / tried < SELDOM * (total[0] - kept) / below:
            gains[bound] = naive.gain(kept, tried, *total)
    best = max(gains.values(), default=0.0)
    if best < LEAST_GAIN - 1e-6:
        assert split is None
    elif best > LEAST_GAIN + 1e-6:
        assert split is not None
        assert split.gain == pytest.approx(best)
        assert gains[split.bound] == pytest.approx(best)
        above = [(s, w) for a, s, w in found if a > split.bound]
        assert split.served == sum(s * w for s, w in above)
        assert split.failed == sum((1 - s) * w for s, w in above)


def test_a_limit_of_three_by_hand() -> None:
    amount = np.array([1] * 20 + [2] * 20 + [3] * 20 + [4] * 10 + [7] * 10)
    served = amount <= 3
    split = best_split(amount, served)
    assert split is not None
    assert (split.bound, split.served, split.failed) == (3, 0, 20)
    assert best_split(amount, np.ones_like(served)) is None
    assert best_split(amount, ~served) is None, "more is not less"
    assert best_split(amount[:0], served[:0]) is None


def test_gain_is_never_below_nothing() -> None:
    served, tried = np.array([0.0, 3.0, 10.0]), np.array([5.0, 5.0, 10.0])
    assert (gain(served, tried, (10.0, 20.0)) >= -1e-9).all()
