"""Add up values by group, with rounding or without."""

from libc.stdint cimport int64_t, uint32_t

DIGITS = 66
"""Digits of 32 bits each: enough for every sum of 2^30 doubles, the smallest of which is 2^-1074."""


def add_ints(const int64_t[::1] groups, const int64_t[::1] values, int64_t[::1] out):
    """Add each value to the element of ``out`` that its group names."""
    cdef Py_ssize_t k
    with nogil:
        for k in range(groups.shape[0]):
            out[groups[k]] += values[k]


def add_floats(const int64_t[::1] groups, const double[::1] values, double[::1] out):
    """Do the same with doubles; each addition is rounded."""
    cdef Py_ssize_t k
    with nogil:
        for k in range(groups.shape[0]):
            out[groups[k]] += values[k]


def add_to_digits(const int64_t[::1] groups, const int64_t[::1] bits, int64_t[:, ::1] digits):
    """Add doubles to Σ digit_k · 2^(32 k − 1074) without rounding.

    Args:
        groups: the row of ``digits`` that each double is added to.
        bits: the doubles, as their bits.
        digits: groups × DIGITS. Digits may be negative or beyond 32 bits: carries are left to the
            caller.

    Returns:
        False, with meaningless digits, if a double is infinite or NaN.

    Source: R. M. Neal, Fast Exact Summation Using Small and Large Superaccumulators (2015).
    """
    cdef int64_t implicit_bit = <int64_t> 1 << 52
    cdef int64_t exponent, mantissa, shift, low, high, sign
    cdef Py_ssize_t k, at, group
    cdef bint finite = True
    with nogil:
        for k in range(bits.shape[0]):
            exponent = (bits[k] >> 52) & 2047
            if exponent == 2047:
                finite = False
                break
            mantissa = bits[k] & (implicit_bit - 1)
            if exponent > 0:
                mantissa += implicit_bit
                exponent -= 1
            at = exponent >> 5
            shift = exponent & 31
            low = <int64_t> <uint32_t> mantissa << shift
            high = (mantissa >> 32) << shift
            sign = -1 if bits[k] < 0 else 1
            group = groups[k]
            digits[group, at] += sign * <uint32_t> low
            digits[group, at + 1] += sign * ((low >> 32) + <uint32_t> high)
            digits[group, at + 2] += sign * (high >> 32)
    return finite
