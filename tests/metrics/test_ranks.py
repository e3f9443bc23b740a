"""Ranks and their correlation, against slow twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.ranks import ranks, spearman
from tests.naive import sensitivity as naive


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
    expected = naive.rank_correlation(one, other)
    if expected is None:
        assert np.isnan(found)
    else:
        assert float(found) == pytest.approx(expected)
