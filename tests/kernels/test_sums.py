import math
from fractions import Fraction

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from audit.kernels import sums
from tests.naive import attempts as naive

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def test_values_are_added_to_their_groups() -> None:
    out = np.array([1, 0, 0])
    sums.add_ints(np.array([2, 0, 2]), np.array([4, -2, 1 << 60]), out)
    assert out.tolist() == [-1, 0, 4 + (1 << 60)]


@given(st.lists(st.tuples(st.integers(0, 1), FINITE), max_size=12))
@example([(0, 5e-324), (0, -5e-324), (1, 5e-324)])
@example([(0, 1.7976931348623157e308), (0, 2.2250738585072014e-308), (0, -1.7976931348623157e308)])
def test_digits_are_the_sum(given_: list[tuple[int, float]]) -> None:
    digits = np.zeros((2, sums.DIGITS), np.int64)
    groups = np.array([group for group, _ in given_], np.int64)
    bits = np.array([value for _, value in given_], np.float64).view(np.int64)
    assert sums.add_to_digits(groups, bits, digits)
    for group, of in enumerate(digits.tolist()):
        whole = sum(Fraction(digit) * 2 ** (32 * k) for k, digit in enumerate(of))
        assert whole / 2**1074 == sum(Fraction(value) for g, value in given_ if g == group)


def test_what_is_not_finite_has_no_digits() -> None:
    for value in (math.inf, -math.inf, math.nan):
        bits = np.array([1.0, value]).view(np.int64)
        digits = np.zeros((1, sums.DIGITS), np.int64)
        assert not sums.add_to_digits(np.zeros(2, np.int64), bits, digits)


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
        done = sums.count_draws(np.array(part, np.uint32), done, by_unit)
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
    sums.weighted_sums(by_unit, np.array([2, 1]), values, out)
    assert out.tolist() == [[of[0], 3 * of[1]] for of in values.tolist()]


@given(
    st.lists(st.integers(-4, 4), max_size=60),
    st.tuples(st.integers(1, 999), st.integers(1, 999)),
)
def test_two_quantiles_of_figures(figures: list[int], thousandths: tuple[int, int]) -> None:
    out = np.zeros(2)
    sums.quantiles(np.array(figures, np.float64), *thousandths, out)
    ascending = sorted(figures)
    expected = [ascending[max(1, -(-len(figures) * q // 1000)) - 1] for q in thousandths if figures]
    assert out.tolist() == expected if figures else np.isnan(out).all()


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
    sums.weighted_quantiles(np.array([drawn]), blocks, length, units, values, asked, out)
    repeated = [value for unit, value in owned for _ in range(drawn[unit])]
    if not repeated:
        assert np.isnan(out).all()
        return
    expected = [naive.nearest_rank(repeated, Fraction(int(q), 1000)) for q in asked]
    assert out[0].tolist() == expected
