import math
from fractions import Fraction

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from audit.kernels import sums
from tests.kernels.forms import BOTH, Form

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def test_what_rounds_off_is_kept() -> None:
    assert sums.two_sum(1e16, 0.0, 1.0) == (1e16, 1.0)
    high, low = np.array([0.0, 1e16]), np.zeros(2)
    sums.add(high, low, 1, 3.0)
    assert (high.tolist(), low.tolist()) == ([0.0, 1e16 + 4], [0.0, -1.0])


@BOTH
@given(st.lists(FINITE, max_size=12))
@example([5e-324, -5e-324, 5e-324])
@example([1.7976931348623157e308, 2.2250738585072014e-308, -1.7976931348623157e308])
def test_digits_are_the_sum(form: Form, values: list[float]) -> None:
    digits = np.zeros(sums.DIGITS, np.int64)
    assert form(sums.add_to_digits)(np.array(values, np.float64).view(np.int64), digits)
    whole = sum(Fraction(digit) * 2 ** (32 * k) for k, digit in enumerate(digits.tolist()))
    assert whole / 2**1074 == sum(map(Fraction, values))


@BOTH
def test_what_is_not_finite_has_no_digits(form: Form) -> None:
    for value in (math.inf, -math.inf, math.nan):
        bits = np.array([1.0, value]).view(np.int64)
        assert not form(sums.add_to_digits)(bits, np.zeros(sums.DIGITS, np.int64))
