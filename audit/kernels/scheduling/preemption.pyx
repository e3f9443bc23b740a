"""Preemption: running attempts give way to queued ones that would not fit otherwise.

Attempts are served in the order of the queue. One that does not fit even so closes the nodes of
its partition, or the pool if sums decide, to those behind it. The latest started give way first.
Of two that would give way to each other, neither does; longer circles end after ``MOST_TIMES``.
"""

from libc.stdint cimport int64_t

from audit.kernels.rows cimport add
from audit.kernels.scheduling.instants cimport NEVER
from audit.kernels.scheduling.model cimport NOBODY, Jobs, Model
from audit.kernels.scheduling.multifactor cimport book_end
from audit.kernels.scheduling.nodes cimport BESIDE, add_nodes_ahead, is_kept, keep_home, keep_none
from audit.kernels.scheduling.owners cimport charge_owner
from audit.kernels.scheduling.pool cimport (
    BOOKED, CHARGED, GAP, OUT_OF_ORDER, Pool, PoolState, count, find_next_end, fits_ahead,
    fits_free,
    may_start, move_running, see_ahead, take_or_return
)
from audit.kernels.scheduling.queue cimport begin, enqueue


cdef enum:
    MOST_TIMES = 1000  # how often one attempt gives way


cdef int64_t next_return(Pool pool) noexcept nogil:
    """Return when the first preempted attempt joins the queue again, or NEVER."""
    cdef int64_t first = NEVER, k
    for k in range(pool.state.returning):
        first = min(first, pool.return_at[k])
    return first


cdef void rejoin(Pool pool, Model model) noexcept nogil:
    """Let preempted attempts that are due join the queue again."""
    cdef PoolState *state = &pool.state
    cdef int64_t kept = 0, k
    for k in range(state.returning):
        if pool.return_at[k] <= state.now:
            enqueue(pool, pool.return_job[k], model.jobs, model.rules)
        else:
            pool.return_job[kept], pool.return_at[kept] = pool.return_job[k], pool.return_at[k]
            kept += 1
    state.returning = kept


cdef bint preempt(Pool pool, Model model) noexcept nogil:
    """Start queued attempts that fit if others give way; return whether there are any."""
    cdef PoolState *state = &pool.state
    cdef int64_t giving = what_gives_way(pool, model.jobs), i, job
    cdef bint some = False
    if pool.by_nodes and giving != 0:
        keep_none(pool.places)
    for i in range(state.head, state.tail):
        if giving == 0:
            break
        job = pool.queue_job[i]
        if job == GAP or not may_start(pool, i, model.jobs) or fits_free(pool, i):
            continue  # the pass has decided on what fits
        if model.jobs.preemption.takes[job] & giving and clear(pool, i, model):
            begin(pool, i, model.jobs, BESIDE)
            giving = what_gives_way(pool, model.jobs)
            some = True
        elif pool.by_nodes:
            keep_home(pool.places, job)
        else:
            break
    return some


cdef inline int64_t what_gives_way(Pool pool, Jobs jobs) noexcept nogil:
    """Return the rules under which any running attempt gives way, as bits."""
    cdef int64_t bits = 0, r
    for r in range(pool.state.running):
        bits |= jobs.preemption.gives_way[pool.run_job[r]]
    return bits


cdef bint clear(Pool pool, int64_t i, Model model) noexcept nogil:
    """Let as few attempts as possible give way to that at place ``i``; return whether it fits then.

    Those that turn out not to be in the way run on, the earliest started first.
    """
    cdef int64_t job = pool.queue_job[i], number = candidates_for(pool, job, model.jobs), used = 0
    cdef int64_t kept = 0, k
    look_ahead(pool, job)
    while used < number and not fits_ahead(pool, job, model.jobs):
        count_ahead(pool, pool.order[used], 1, job)
        used += 1
    if not fits_ahead(pool, job, model.jobs):
        return False
    for k in range(used - 1, -1, -1):
        count_ahead(pool, pool.order[k], -1, job)
        if not fits_ahead(pool, job, model.jobs):
            count_ahead(pool, pool.order[k], 1, job)
            pool.scratch[kept] = pool.run_job[pool.order[k]]
            kept += 1
    for k in range(kept):
        give_way(pool, pool.scratch[k], model)
    return True


cdef int64_t candidates_for(Pool pool, int64_t job, Jobs jobs) noexcept nogil:
    """Write the places of running attempts that give way to ``job``, the latest started first.

    They are in ``pool.order``; return their number.
    """
    cdef int64_t takes = jobs.preemption.takes[job], own = jobs.preemption.gives_way[job]
    cdef int64_t number = 0, other, r, k
    for r in range(pool.state.running):
        other = pool.run_job[r]
        if (
            jobs.preemption.gives_way[other] & takes
            and not jobs.preemption.takes[other] & own
            and pool.times[other] < MOST_TIMES
        ):
            k = number
            while k > 0 and is_later(pool, r, pool.order[k - 1]):
                pool.order[k] = pool.order[k - 1]
                k -= 1
            pool.order[k] = r
            number += 1
    return number


cdef inline bint is_later(Pool pool, int64_t one, int64_t other) noexcept nogil:
    """Return whether a running attempt started after another, or at once and arrived after it."""
    cdef int64_t first = pool.run_job[one], second = pool.run_job[other]
    if pool.begun[first] != pool.begun[second]:
        return pool.begun[first] > pool.begun[second]
    return first > second


cdef void look_ahead(Pool pool, int64_t job) noexcept nogil:
    """Let what is free ahead be what is free now, on the nodes that are not closed."""
    cdef int64_t node
    see_ahead(pool, job)
    if pool.by_nodes:
        for node in range(pool.places.fitting.shape[0]):
            if pool.places.fitting[node] != NOBODY and is_kept(pool.places, node):
                pool.places.total -= pool.places.fitting[node]
                pool.places.fitting[node] = NOBODY


cdef inline void count_ahead(Pool pool, int64_t r, int64_t sign, int64_t job) noexcept nogil:
    """Add (1) or take (−1) what a running attempt holds to what is free ahead for ``job``."""
    if pool.by_nodes:
        add_nodes_ahead(pool.places, pool.run_job[r], sign, job)
    else:
        add(pool.spare, pool.run_request, r, sign)


cdef void give_way(Pool pool, int64_t job, Model model) noexcept nogil:
    """End a running attempt now; it may run again from its beginning, or never."""
    cdef PoolState *state = &pool.state
    cdef int64_t owner = model.jobs.owner[job], delay = model.jobs.preemption.delay[job], r = 0
    cdef double charge = model.jobs.charge[job]
    while pool.run_job[r] != job:
        r += 1
    if state.charging == CHARGED:
        charge_owner(pool.ledger, owner, -charge, state.now)
    elif (
        state.charging == BOOKED
        and model.jobs.occupancy[job] > 0
        and pool.run_end[r] > state.entered  # else it would have ended now, and is booked
    ):
        book_end(pool.ledger.books, owner, charge, pool.begun[job], state.now, True)
    take_or_return(pool, job, 1, model.jobs)
    count(pool, job, -1, model.jobs.limits)
    move_running(pool, r, pool, r + 1, state.running - r - 1)
    state.running -= 1
    find_next_end(pool)
    state.fresh = 0
    state.sorted_for = OUT_OF_ORDER
    pool.begun[job] = NEVER
    pool.times[job] += 1
    if delay != NEVER:
        pool.return_job[state.returning] = job
        pool.return_at[state.returning] = state.now + delay
        state.returning += 1
