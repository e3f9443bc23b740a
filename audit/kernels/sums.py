"""Sums whose order hardly matters, as unevaluated pairs of doubles; or not at all, as digits."""

from typing import Final

from audit.kernels.arrays import Floats, Ints, IntTable
from audit.kernels.compiled import inner, kernel

DIGITS: Final = 66
"""Of 32 bits each: in so many fits every sum of 2^30 doubles, the least of which are 2^-1074."""
_LOW: Final = (1 << 32) - 1
_MANTISSA: Final = (1 << 52) - 1


@inner
def two_sum(high: float, low: float, value: float) -> tuple[float, float]:
    """The pair (high, low) plus ``value``; nothing is lost but what rounds off ``low``.

    Source: Knuth's TwoSum.
    """
    total = high + value
    part = total - high
    return total, low + ((high - (total - part)) + (value - part))


@inner
def add(high: Floats, low: Floats, index: int, value: float) -> None:
    """Adds ``value`` to one element of sums that are kept as pairs."""
    high[index], low[index] = two_sum(high[index], low[index], value)


@kernel
def add_ints(groups: Ints, values: Ints, out: Ints) -> None:
    """Adds each value to the element of ``out`` that its group names."""
    for k in range(len(groups)):
        out[groups[k]] += values[k]


@kernel
def add_floats(groups: Ints, values: Floats, out: Floats) -> None:
    """As ``add_ints``; each addition is rounded."""
    for k in range(len(groups)):
        out[groups[k]] += values[k]


@kernel
def add_to_digits(groups: Ints, bits: Ints, digits: IntTable) -> bool:
    """Adds doubles, given as their bits, to Σ digit_k · 2^(32 k − 1074); nothing is rounded.

    Each is added to the row of digits that its group names. Digits take carries when they are
    read: they may be negative, or beyond 32 bits. False, and digits that mean nothing, where one is
    infinite or NaN.

    Source: R. M. Neal, Fast Exact Summation Using Small and Large Superaccumulators (2015).
    """
    for k in range(len(bits)):
        exponent = (bits[k] >> 52) & 2047
        if exponent == 2047:
            return False
        mantissa = bits[k] & _MANTISSA
        if exponent > 0:
            mantissa += _MANTISSA + 1
            exponent -= 1
        at = exponent >> 5
        shift = exponent & 31
        low = (mantissa & _LOW) << shift
        high = (mantissa >> 32) << shift
        sign = -1 if bits[k] < 0 else 1
        of_group = digits[groups[k]]
        of_group[at] += sign * (low & _LOW)
        of_group[at + 1] += sign * ((low >> 32) + (high & _LOW))
        of_group[at + 2] += sign * (high >> 32)
    return True
