"""The state of a simulated pool: what is free, who runs, who waits.

The arrays of a ``Pool`` are allotted once and used for many simulations. Running attempts are in
``run_…``, by expected end. Queued attempts are in ``queue_…`` between ``state.head`` and
``state.tail``, in the order in which they are served. One that has started stays as a gap, which
fits nowhere, until gaps are the greater part.
"""

from libc.stdint cimport int64_t, uint8_t

from audit.kernels.scheduling.model cimport (
    NOBODY,
    Jobs,
    Limits,
    Model,
    Steps,
    edge_at,
    exceeds,
)
from audit.kernels.scheduling.owners cimport Ledger
from audit.kernels.scheduling.profile cimport Profile
from audit.kernels.scheduling.rows cimport add, fits


cdef extern from *:
    const int64_t HUGE "(INT64_C(1) << 62)"  # what a gap asks for
    const int64_t OUT_OF_ORDER "(-(INT64_C(1) << 62))"


cdef enum:
    GAP = -1  # in queue_job
    UNKNOWN = -1  # State.shadow
    UNPLANNED = -1  # Pool.plan: not yet planned,
    LOST = -2  # or planned, but a limit did not allow the start


cdef enum Charging:
    """What the ledger records when an attempt starts."""
    NOTHING_CHARGED
    CHARGED
    BOOKED


cdef enum Bounds:
    """What is known of a block of places."""
    STALE  # nothing
    LOOSE  # bounds, some of which are too low because their attempt has left
    TIGHT


cdef struct State:
    int64_t now
    int64_t step  # how many steps have been taken
    int64_t arriving  # index of the next attempt to arrive
    int64_t until  # index behind the last one that does
    # Running attempts:
    int64_t running  # how many there are
    int64_t next_end  # when the first of them ends, or NEVER
    # Queued attempts:
    int64_t head  # the first place that is not a gap, if any attempt is queued
    int64_t tail  # the place behind the last one
    int64_t waiting  # how many there are, without gaps
    int64_t sorted_for  # the instant (or tick) for which the queue is in order, or OUT_OF_ORDER
    int64_t freed  # CONSERVATIVE: what was freed since the last compression is free until then
    # The purpose of the simulation:
    int64_t target  # stop when this attempt has started, or NOBODY
    int64_t ghost  # this attempt leaves the queue at its start and occupies nothing, or NOBODY
    int64_t pause  # stop before the first instant from then on; NEVER: do not
    Charging charging
    # Passes and windows:
    int64_t due  # when the next pass is, if anything has happened since the last one, or NEVER
    bint news  # whether anything ended early, or capacity stepped, since the last pass
    int64_t edge  # index of the next edge of a window,
    int64_t delay  # and its shift
    int64_t quiet  # wait for edges until then if nothing else is to come; NEVER: something is
    int64_t soonest  # CONSERVATIVE: the first planned start, or NEVER
    # Passes by rank need not look again at attempts that the last one could not start:
    int64_t fresh  # the first place that may have changed since; 0: more may be free
    int64_t shadow  # EASY: of the head, if ``spare`` holds too; NEVER: none; or UNKNOWN


cdef class Pool:
    """A simulated pool, with space for the attempts that are in it at one time."""
    cdef State state
    cdef int64_t[::1] free  # [resources], now; may be negative
    cdef int64_t[::1] spare  # EASY: what the head leaves at the shadow; else working space
    cdef int64_t[::1] used  # [counters] of limits
    cdef int64_t[::1] run_expected  # expected end
    cdef int64_t[::1] run_end  # actual end
    cdef int64_t[::1] run_job
    cdef int64_t[:, ::1] run_request
    cdef int64_t[::1] queue_job  # or GAP
    cdef int64_t[::1] queue_estimate
    cdef int64_t[::1] queue_width
    cdef int64_t[:, ::1] queue_request
    cdef int64_t[::1] plan  # CONSERVATIVE: planned start, NEVER, UNPLANNED or LOST; gap: NEVER
    cdef int64_t[::1] freed  # as ``state.freed``, by what those behind this place gave up
    # Bounds of each block of 2^block_bits places. A pass skips blocks in which nothing can start.
    # An attempt that leaves lets them be lower than they need be, which does no harm.
    cdef uint8_t[::1] bounds  # [blocks], whether the next two hold
    cdef int64_t[:, ::1] shortest  # WIDTHS × blocks, the least estimate up to each width
    cdef int64_t[::1] least  # [blocks], the least request of the first resource
    cdef int64_t block_bits
    cdef int64_t long_queue  # places that it takes longer to examine than to bound
    cdef int64_t few_gaps  # gaps that it takes longer to close than to examine
    cdef int64_t[::1] order  # [places], working space
    cdef int64_t[::1] scratch  # [places], working space
    cdef Profile profile
    cdef Ledger ledger
    cdef int64_t[::1] begun  # [attempts], gets the start of each attempt that starts
    cdef int64_t[::1] promised  # [attempts] or none, gets the first plan of each attempt


cdef void reset(Pool pool, const int64_t[::1] capacity) noexcept nogil
cdef void hold(Pool pool, int64_t job, int64_t expected, int64_t end, Jobs jobs) noexcept nogil
cdef void release(Pool pool, Jobs jobs) noexcept nogil
cdef void move_down(Pool pool, int64_t first, int64_t beyond, int64_t by) noexcept nogil


cdef inline bint fits_free(Pool pool, int64_t i) noexcept nogil:
    """Return whether what is queued at place ``i`` fits in what is free now."""
    return fits(pool.queue_request, i, pool.free)


cdef inline bint may_start(Pool pool, int64_t i, Jobs jobs) noexcept nogil:
    """Return whether limits and windows allow the attempt at place ``i``, no gap, to start now."""
    cdef int64_t k, job = pool.queue_job[i]
    if pool.used.shape[0] > 0:
        for k in range(jobs.limits.first[job], jobs.limits.first[job + 1]):
            if exceeds(jobs.limits, k, pool.used):
                return False
    return True


cdef inline void count(Pool pool, int64_t job, int64_t sign, Limits limits) noexcept nogil:
    """Add ``sign`` times what an attempt counts to its counters."""
    cdef int64_t k
    if pool.used.shape[0] > 0:
        for k in range(limits.first[job], limits.first[job + 1]):
            pool.used[limits.counter[k]] += sign * limits.amount[k]


cdef inline int64_t add_steps(
    Steps steps, int64_t step, int64_t instant, int64_t[::1] free
) noexcept nogil:
    """Add the steps from index ``step`` to an instant to ``free``; return the index behind them."""
    while step < steps.number and steps.time[step] <= instant:
        add(free, steps.change, step, 1)
        step += 1
    return step


cdef inline void take_steps(Pool pool, Model model) noexcept nogil:
    """Take the steps up to now, and count the blocked attempts that begin or end with them."""
    cdef State *state = &pool.state
    cdef int64_t first = state.step, step
    state.step = add_steps(model.steps, first, state.now, pool.free)
    if state.step > first:
        state.fresh = 0
    for step in range(first, state.step):
        if model.steps.job[step] != NOBODY:
            count(
                pool,
                model.steps.job[step],
                -1 if model.steps.ends[step] else 1,
                model.jobs.limits,
            )


cdef inline void let_edges_pass(Pool pool, Limits limits) noexcept nogil:
    """Open and close windows up to now."""
    cdef State *state = &pool.state
    while edge_at(limits.edges, state.edge, state.delay) <= state.now:
        pool.used[limits.edges.counter[state.edge]] += limits.edges.change[state.edge]
        state.edge += 1
        if state.edge == limits.edges.time.shape[0] and limits.edges.cycle > 0:
            state.edge -= limits.edges.cycle
            state.delay += limits.edges.period
