"""A pool at one instant, and what a pass of a rule would start."""

cimport cython
from libc.stdint cimport int64_t

from audit.kernels.delivered.lines cimport JobLine
from audit.kernels.delivered.model cimport ObservedPool, PassLimits, PassRule
from audit.kernels.delivered.usage cimport UsageOrder


@cython.final
cdef class PassScene:
    cdef JobLine queue  # by rank
    cdef JobLine running  # by expected end
    cdef int64_t[::1] counters  # of limits
    cdef int64_t edge  # number of edges of windows that have passed
    cdef int64_t now
    cdef int64_t free  # of the counted resource: what a pass may start,
    cdef int64_t planned  # and what planners see
    cdef int64_t[::1] left  # [resources], of the others what is free; of the first nothing
    cdef int64_t least  # no waiting attempt is smaller
    cdef int64_t[::1] chosen  # what the pass started
    cdef int64_t number  # of those
    cdef int64_t first  # the first that could not start, or NOBODY
    cdef int64_t longest  # what follows the first may last no longer, unless it fits in ``sums``
    cdef int64_t until  # when any that was passed over is let through, or the first one no longer
    cdef int64_t[::1] turn  # orders that change: a heap of those not yet served
    cdef int64_t turns
    cdef int64_t at  # RANK: the place that is served next
    cdef int64_t[::1] times  # of a plan: times[k] is when level k begins
    cdef int64_t[:, ::1] levels  # resources × times
    cdef int64_t levels_number
    cdef int64_t[::1] sums  # [resources], the extra of EASY
    cdef int64_t[::1] sums_running  # [resources], what runs


cdef void close_windows(PassScene scene, PassLimits limits) noexcept nogil
cdef void make_pass(PassScene scene, ObservedPool log, PassRule rule, bint probing) noexcept nogil
cdef void rate(PassScene scene, UsageOrder by) noexcept nogil


cdef inline void count(
    PassScene scene, PassLimits limits, int64_t job, int64_t sign
) noexcept nogil:
    """Add ``sign`` times an attempt's amounts to its counters."""
    cdef int64_t k
    if limits.first.shape[0] > 0:
        for k in range(limits.first[job], limits.first[job + 1]):
            scene.counters[limits.counter[k]] += sign * limits.amount[k]


cdef inline void run(
    PassScene scene, ObservedPool log, PassRule rule, int64_t job, int64_t sign
) noexcept nogil:
    """Add ``sign`` times an attempt to what runs."""
    cdef int64_t x
    count(scene, rule.limits, job, sign)
    for x in range(log.request.shape[0]):
        scene.sums_running[x] += sign * log.request[x, job]
