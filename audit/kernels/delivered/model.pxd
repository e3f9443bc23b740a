"""Observed attempts, and the rules."""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t, uint8_t

from audit.kernels.delivered.usage cimport UsageOrder


cdef enum:
    NOBODY = -1


cpdef enum PassOrder:
    """The keys by which the queue is ordered."""
    RANK  # a number that does not change
    EXPANSION  # (waited + estimate) / estimate
    USAGE  # what the owners have used; see ``UsageOrder``


cpdef enum PassBackfill:
    """Which of the queued attempts a pass starts."""
    NONE
    NO_GUARANTEE
    EASY
    REPLAN


@cython.final
cdef class ObservedPool:
    cdef const int64_t[::1] arrival  # [n]
    cdef const int64_t[::1] start  # [n]; NEVER: not started by now
    cdef const int64_t[::1] end  # [n]; NEVER: not started by now
    cdef const int64_t[::1] occupancy  # [n] ≥ 1
    cdef const int64_t[::1] estimate  # [n] ≥ occupancy
    cdef const int64_t[:, ::1] request  # resources × n; the first resource is the counted one
    cdef const int64_t[::1] by_start  # those that started, by (start, order)
    cdef const int64_t[::1] by_end  # those that started, by (end, order)
    cdef const int64_t[::1] instants  # [m]
    cdef const int64_t[:, ::1] capacity  # resources × m, in force
    cdef const int64_t[::1] used  # [m], of the counted resource, after ends and starts


@cython.final
cdef class PassLimits:
    cdef const int64_t[::1] first  # [n + 1], where each attempt begins in the next three
    cdef const int64_t[::1] counter
    cdef const int64_t[::1] amount  # added while it runs
    cdef const uint8_t[::1] binding  # whether it waits where the counter would exceed its bound
    cdef const int64_t[::1] most  # [counters]
    cdef const int64_t[::1] edge  # [edges] ascending: when a window closes or opens,
    cdef const int64_t[::1] window  # [edges], its counter,
    cdef const int64_t[::1] change  # [edges], and what is added to it


@cython.final
cdef class PassRule:
    cdef PassOrder order
    cdef PassBackfill backfill
    cdef int64_t depth  # number of attempts that a pass examines
    cdef int64_t reservations  # number of attempts that REPLAN plans ahead
    cdef int64_t window  # longest estimate that may start, or be planned, before one that waits, s
    cdef const int64_t[::1] rank  # [n], of RANK; of the others the index
    cdef PassLimits limits
    cdef UsageOrder usage  # of USAGE, else None
    cdef const int64_t[::1] held  # [n] or none: from when on each is passed over,
    cdef const int64_t[::1] released  # [n] or none: and until when


@cython.final
cdef class DeliveredCapacity:
    cdef const int64_t[::1] most  # [m], C
    cdef const int64_t[::1] blocks  # greatest C of each 2**bits instants
    cdef int64_t bits
    cdef bint kept  # kept order: what started after an attempt is not queued
    cdef bint free  # only starts by the snapshot's instant are pinned
    cdef bint bounded  # what starts after it was observed to does not matter
    cdef const uint8_t[::1] always  # [n], whether an attempt's start is pinned nevertheless


cdef inline bint queues(
    ObservedPool log, DeliveredCapacity delivered, int64_t job, int64_t j
) noexcept nogil:
    """Return whether an attempt that has not started matters to attempt ``j``."""
    return not delivered.kept or log.start[job] <= log.start[j]
