import math
from fractions import Fraction

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from audit.kernels import sums

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def test_values_are_added_to_their_groups() -> None:
    groups = np.array([2, 0, 2])
    whole, broken = np.array([1, 0, 0]), np.zeros(3)
    sums.add_ints(groups, np.array([4, -2, 1 << 60]), whole)
    sums.add_floats(groups, np.array([0.5, 1.0, 0.25]), broken)
    assert (whole.tolist(), broken.tolist()) == ([-1, 0, 4 + (1 << 60)], [1.0, 0.0, 0.75])


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
