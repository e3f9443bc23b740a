"""Shared by sweeps over events."""

from libc.stdint cimport INT64_MAX as NEVER, int64_t


cdef inline int64_t time_at(
    const int64_t[::1] times, const int64_t[::1] order, Py_ssize_t k
) noexcept nogil:
    """Return the k-th of ``times`` in this order, or NEVER."""
    return times[order[k]] if k < order.shape[0] else NEVER
