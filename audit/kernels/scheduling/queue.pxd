"""The queue: joining, starting, and bounds that tell where nothing can start."""

from libc.stdint cimport int64_t

from audit.kernels.scheduling.model cimport Jobs, Rules
from audit.kernels.scheduling.pool cimport HUGE, UNKNOWN, Pool


cdef void enqueue(Pool pool, int64_t job, Jobs jobs, Rules rules) noexcept nogil
cdef void place(Pool pool, int64_t i, int64_t job, Jobs jobs) noexcept nogil
cdef void leave(Pool pool, int64_t i) noexcept nogil
cdef bint begin(Pool pool, int64_t i, Jobs jobs) noexcept nogil
cdef void close_gaps(Pool pool) noexcept nogil
cdef void move_place(Pool pool, int64_t source, int64_t target) noexcept nogil
cdef bint any_can_start(Pool pool, Jobs jobs) noexcept nogil
cdef void make_stale(Pool pool, int64_t begin, int64_t end) noexcept nogil
cdef void bound(Pool pool, int64_t block, int64_t stop) noexcept nogil


cdef inline int64_t next_able(
    Pool pool, int64_t i, int64_t stop, int64_t longest, int64_t left
) noexcept nogil:
    """Return the first place from ``i`` on, before ``stop``, whose attempt may be able to start.

    It is no gap. It asks for no more of the first resource than is free, or for nothing, and takes
    no longer than ``longest``. And it ends in the ``left`` seconds to the shadow, or asks for no
    more than the head leaves then (UNKNOWN: the shadow is not known).
    """
    cdef int64_t free = max(pool.free[0], 0)
    cdef int64_t spare = HUGE if left == UNKNOWN else max(pool.spare[0], 0)
    while i < stop and (
        pool.queue_request[0, i] > free
        or pool.queue_estimate[i] > longest
        or (pool.queue_estimate[i] > left and pool.queue_request[0, i] > spare)
    ):
        i += 1
    return i


cdef inline bint mostly_gaps(Pool pool) noexcept nogil:
    """Return whether gaps are the greater part of the queue."""
    return pool.state.tail - pool.state.head > 2 * pool.state.waiting + pool.few_gaps
