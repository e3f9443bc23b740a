"""Sums that lose almost nothing to rounding: unevaluated pairs of doubles."""

from libc.stdint cimport int64_t


cdef struct Sum:
    # high + low, where low is what rounding lost from high.
    double high
    double low


cdef inline Sum plus(Sum total, double value) noexcept nogil:
    """Return ``total + value``; only what is rounded off ``low`` is lost.

    Source: D. E. Knuth, The Art of Computer Programming, vol. 2, §4.2.2 (TwoSum).
    """
    cdef double high = total.high + value
    cdef double part = high - total.high
    return Sum(high, total.low + ((total.high - (high - part)) + (value - part)))


cdef inline void add(double[::1] high, double[::1] low, int64_t index, double value) noexcept nogil:
    """Add ``value`` to one element of an array of sums."""
    cdef Sum total = plus(Sum(high[index], low[index]), value)
    high[index], low[index] = total.high, total.low
