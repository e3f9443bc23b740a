"""The queue, and its order."""

from libc.stdint cimport int64_t

from audit.kernels.scheduling.model cimport Jobs, Model, Order, Rules
from audit.kernels.scheduling.nodes cimport Where
from audit.kernels.scheduling.owners cimport Ledger, Owners, rate_usage, rate_waits
from audit.kernels.scheduling.pool cimport HUGE, UNKNOWN, Pool


cdef void enqueue(Pool pool, int64_t job, Jobs jobs, Rules rules) noexcept nogil
cdef void place(Pool pool, int64_t i, int64_t job, Jobs jobs) noexcept nogil
cdef void leave(Pool pool, int64_t i, Jobs jobs) noexcept nogil
cdef bint begin(Pool pool, int64_t i, Jobs jobs, Where where) noexcept nogil
cdef void close_gaps(Pool pool) noexcept nogil
cdef void move_place(Pool pool, int64_t source, int64_t target) noexcept nogil
cdef bint any_can_start(Pool pool, Jobs jobs) noexcept nogil
cdef void make_stale(Pool pool, int64_t begin, int64_t end) noexcept nogil
cdef void bound(Pool pool, int64_t block, int64_t stop) noexcept nogil
cdef void arrange(Pool pool, Model model) noexcept nogil
cdef bint comes_first(int64_t one, int64_t other, Pool pool, Model model) noexcept nogil


cdef inline int64_t next_able(
    Pool pool, int64_t i, int64_t stop, int64_t longest, int64_t left
) noexcept nogil:
    """Return the first place from ``i`` on, before ``stop``, whose attempt may be able to start.

    It is no gap, requests no more of the first resource than is free, and takes no longer than
    ``longest``. And it ends in the ``left`` seconds to the shadow, or requests no more than the
    head leaves then (UNKNOWN: the shadow is not known).
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


cdef inline void rate_owner(
    Order by, Owners owners, Ledger ledger, int64_t owner, int64_t now
) noexcept nogil:
    """Write the keys by which an owner is compared under FAIRSHARE or NUWT."""
    if by == Order.FAIRSHARE:
        rate_usage(owners, ledger, owner, now)
    else:
        rate_waits(owners, ledger, owner)
