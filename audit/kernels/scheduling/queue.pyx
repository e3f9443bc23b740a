"""The queue: joining, starting, and bounds that tell where nothing can start."""

from audit.kernels.scheduling.model cimport NOBODY, WIDTHS, Order
from audit.kernels.scheduling.multifactor cimport book_start
from audit.kernels.scheduling.owners cimport charge_owner
from audit.kernels.scheduling.pool cimport (
    BOOKED,
    CHARGED,
    GAP,
    LOOSE,
    OUT_OF_ORDER,
    STALE,
    TIGHT,
    UNPLANNED,
    State,
    fits_free,
    hold,
    may_start,
)
from audit.kernels.scheduling.rows cimport NEVER, copy_column


cdef void enqueue(Pool pool, int64_t job, Jobs jobs, Rules rules) noexcept nogil:
    """Let an attempt join the queue at its rank."""
    cdef State *state = &pool.state
    cdef int64_t i, moved
    cdef bint longer
    if state.waiting == 0:
        state.head = state.tail = 0
    elif state.tail == pool.queue_job.shape[0] or mostly_gaps(pool):
        close_gaps(pool)
    i = state.tail
    if rules.order == Order.RANK:
        while i > state.head and (
            pool.queue_job[i - 1] == GAP or jobs.rank[pool.queue_job[i - 1]] > jobs.rank[job]
        ):
            i -= 1
    longer = i == state.tail or pool.queue_job[i] != GAP
    if longer and i < state.tail:
        for moved in range(state.tail, i, -1):
            move_place(pool, moved - 1, moved)
        make_stale(pool, i, state.tail)
    place(pool, i, job, jobs)
    state.fresh = min(state.fresh, i)
    state.tail += longer
    state.waiting += 1
    state.sorted_for = OUT_OF_ORDER


cdef void place(Pool pool, int64_t i, int64_t job, Jobs jobs) noexcept nogil:
    """Write an attempt to place ``i`` of the queue."""
    cdef int64_t block = i >> pool.block_bits
    pool.queue_job[i] = job
    pool.queue_estimate[i] = jobs.estimate[job]
    pool.queue_width[i] = jobs.width[job]
    copy_column(pool.queue_request, i, jobs.request, job)
    pool.plan[i] = UNPLANNED
    pool.freed[i] = 0
    if i == block << pool.block_bits:
        pool.bounds[block] = STALE
    elif pool.bounds[block] != STALE:
        lower_bounds(pool, block, i)


cdef void leave(Pool pool, int64_t i) noexcept nogil:
    """Make place ``i`` of the queue a gap."""
    cdef State *state = &pool.state
    cdef int64_t x, block = i >> pool.block_bits
    pool.queue_job[i] = GAP
    pool.queue_estimate[i] = HUGE
    for x in range(pool.queue_request.shape[0]):
        pool.queue_request[x, i] = HUGE
    pool.plan[i] = NEVER
    if pool.bounds[block] == TIGHT:
        pool.bounds[block] = LOOSE
    state.waiting -= 1
    while state.head < state.tail and pool.queue_job[state.head] == GAP:
        state.head += 1


cdef bint begin(Pool pool, int64_t i, Jobs jobs) noexcept nogil:
    """Start the attempt at place ``i``; return whether it ends at once.

    The attempt ``state.ghost`` leaves the queue without occupying anything.
    """
    cdef State *state = &pool.state
    cdef int64_t job = pool.queue_job[i], end
    pool.begun[job] = state.now
    leave(pool, i)
    if job == state.ghost:
        return False
    if state.charging == CHARGED:
        charge_owner(pool.ledger, jobs.owner[job], jobs.charge[job], state.now)
    elif state.charging == BOOKED and jobs.occupancy[job] > 0:
        book_start(pool.ledger.books, jobs.owner[job], jobs.charge[job], state.now)
    end = state.now + jobs.occupancy[job]
    hold(pool, job, state.now + jobs.estimate[job], end, jobs)
    return end == state.now



cdef void close_gaps(Pool pool) noexcept nogil:
    """Move the queued attempts to the front, in their order."""
    cdef State *state = &pool.state
    cdef int64_t kept = 0, fresh = state.fresh, i
    for i in range(state.head, state.tail):
        if i == fresh:
            state.fresh = kept
        if pool.queue_job[i] != GAP:
            if kept != i:
                move_place(pool, i, kept)
            kept += 1
    if fresh >= state.tail:
        state.fresh = kept
    state.head = 0
    state.tail = kept
    make_stale(pool, 0, kept)


cdef void move_place(Pool pool, int64_t source, int64_t target) noexcept nogil:
    """Copy one place of the queue to another."""
    pool.queue_job[target] = pool.queue_job[source]
    pool.queue_estimate[target] = pool.queue_estimate[source]
    pool.queue_width[target] = pool.queue_width[source]
    copy_column(pool.queue_request, target, pool.queue_request, source)
    pool.plan[target] = pool.plan[source]
    pool.freed[target] = pool.freed[source]


cdef bint any_can_start(Pool pool, Jobs jobs) noexcept nogil:
    """Return whether any queued attempt fits in what is free now, and may start."""
    cdef int64_t tail = pool.state.tail, i = next_able(pool, pool.state.head, tail, NEVER, UNKNOWN)
    while i < tail:
        if fits_free(pool, i) and may_start(pool, i, jobs):
            return True
        i = next_able(pool, i + 1, tail, NEVER, UNKNOWN)
    return False


cdef void make_stale(Pool pool, int64_t begin, int64_t end) noexcept nogil:
    """Mark the bounds of the places from ``begin`` to ``end`` as no longer valid."""
    cdef int64_t block
    for block in range(begin >> pool.block_bits, (end >> pool.block_bits) + 1):
        pool.bounds[block] = STALE


cdef void bound(Pool pool, int64_t block, int64_t stop) noexcept nogil:
    """Find the bounds of a block, which ends before place ``stop``."""
    cdef int64_t width, least = HUGE, i
    for width in range(WIDTHS):
        pool.shortest[width, block] = HUGE
    for i in range(block << pool.block_bits, stop):
        if pool.queue_job[i] != GAP:
            width = pool.queue_width[i]
            pool.shortest[width, block] = min(
                pool.shortest[width, block], pool.queue_estimate[i]
            )
            least = min(least, pool.queue_request[0, i])
    for width in range(1, WIDTHS):
        pool.shortest[width, block] = min(
            pool.shortest[width, block], pool.shortest[width - 1, block]
        )
    pool.least[block] = least
    pool.bounds[block] = TIGHT


cdef void lower_bounds(Pool pool, int64_t block, int64_t i) noexcept nogil:
    """Lower the bounds of a block to the attempt at place ``i`` in it."""
    cdef int64_t width
    for width in range(pool.queue_width[i], WIDTHS):
        pool.shortest[width, block] = min(
            pool.shortest[width, block], pool.queue_estimate[i]
        )
    pool.least[block] = min(pool.least[block], pool.queue_request[0, i])
