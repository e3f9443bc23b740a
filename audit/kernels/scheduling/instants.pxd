"""Instants, in epoch seconds."""

from libc.stdint cimport int64_t


cdef extern from "<stdint.h>":
    const int64_t NEVER "INT64_MAX"


cdef inline int64_t floor_divide(int64_t a, int64_t b) noexcept nogil:
    """Return a / b, rounded down."""
    return a // b - (a % b != 0 and (a < 0) != (b < 0))


cdef inline int64_t next_multiple(int64_t instant, int64_t every, int64_t origin) noexcept nogil:
    """Return the first multiple of ``every`` (0: any) since ``origin`` from ``instant`` on."""
    cdef int64_t rest
    if every <= 0:
        return instant
    rest = (origin - instant) % every
    return instant + (rest + every if rest < 0 else rest)
