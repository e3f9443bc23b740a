"""Shared by sweeps over events."""

from libc.stdint cimport INT64_MAX as NEVER, int32_t, int64_t

ctypedef fused Whole:
    int32_t
    int64_t


cdef inline int64_t time_at(
    const int64_t[::1] times, const Whole[::1] order, Py_ssize_t k
) noexcept nogil:
    """Return the k-th of ``times`` in this order, or NEVER."""
    return times[order[k]] if k < order.shape[0] else NEVER


cdef inline int64_t first_above(
    const Whole[::1] values, int64_t low, int64_t high, int64_t value
) noexcept nogil:
    """Return the first place of ``values[low:high]``, ascending, above ``value``; else ``high``."""
    cdef int64_t middle
    while low < high:
        middle = (low + high) >> 1
        if values[middle] > value:
            high = middle
        else:
            low = middle + 1
    return low
