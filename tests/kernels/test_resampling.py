from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.kernels import resampling
from tests.naive import attempts as naive


@given(
    st.lists(st.one_of(st.integers(0, 2**32 - 1), st.integers(0, 9)), max_size=40),
    st.integers(1, 6),
    st.integers(0, 4),
    st.data(),
)
def test_draws_as_numpy_does(
    bits: list[int], units: int, resamples: int, data: st.DataObject
) -> None:
    expected = naive.draws(bits, units)[: units * resamples]
    cut = data.draw(st.integers(0, len(bits)))
    by_unit = np.zeros((units, resamples), np.uint8)
    done = 0
    for part in (bits[:cut], bits[cut:]):
        done = resampling.count_draws(np.array(part, np.uint32), done, by_unit)
    assert done == len(expected)
    counts = np.zeros((units, resamples), np.uint8)
    for k, unit in enumerate(expected):
        counts[unit, k // units] += 1
    assert by_unit.tolist() == counts.tolist()


@given(st.data(), st.integers(0, 9))
def test_weighted_sums(data: st.DataObject, terms: int) -> None:
    small = st.integers(-3, 3)
    by_unit = np.array([[2, 0], [0, 3], [1, 0]], np.uint8)
    values = np.array(
        [[data.draw(small) for _ in range(2)] for _ in range(terms)], np.float64
    ).reshape(terms, 2)
    out = np.full((terms, 2), np.nan)
    resampling.weighted_sums(by_unit, np.array([2, 1]), values, out)
    assert out.tolist() == [[of[0], 3 * of[1]] for of in values.tolist()]


@given(
    st.lists(st.integers(0, 3), min_size=3, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=12),
    st.integers(1, 5),
)
def test_quantiles_of_what_was_drawn(
    drawn: list[int], owned: list[tuple[int, int]], length: int
) -> None:
    owned.sort(key=lambda one: one[1])
    units = np.array([unit for unit, _ in owned], np.int64)
    values = np.array([value for _, value in owned], np.float64)
    asked = np.array([0, 250, 500, 990, 1000])
    out = np.empty((1, len(asked)))
    blocks = np.zeros((-(-len(owned) // length), 3), np.int64)
    for k, unit in enumerate(units):
        blocks[k // length, unit] += 1
    resampling.weighted_quantiles(np.array([drawn]), blocks, length, units, values, asked, out)
    repeated = [value for unit, value in owned for _ in range(drawn[unit])]
    if not repeated:
        assert np.isnan(out).all()
        return
    expected = [naive.nearest_rank(repeated, Fraction(int(q), 1000)) for q in asked]
    assert out[0].tolist() == expected
