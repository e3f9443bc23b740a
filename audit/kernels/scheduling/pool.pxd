"""The state of a simulated pool."""

from libc.stdint cimport int64_t, uint8_t

from audit.kernels.rows cimport add, fits
from audit.kernels.scheduling.instants cimport NEVER
from audit.kernels.scheduling.model cimport (
    NOBODY, Jobs, Limits, Model, Observed, Steps, edge_at, exceeds, next_edge
)
from audit.kernels.scheduling.nodes cimport Places, fits_nodes, move_nodes
from audit.kernels.scheduling.owners cimport Ledger
from audit.kernels.scheduling.profile cimport Profile


cdef extern from *:
    const int64_t HUGE "(INT64_C(1) << 62)"  # what a gap requests
    const int64_t OUT_OF_ORDER "(-(INT64_C(1) << 62))"


cdef enum:
    GAP = -1  # in queue_job
    UNKNOWN = -1  # PoolState.shadow
    UNPLANNED = -1  # Pool.plan: not yet planned,
    LOST = -2  # or planned, but a limit forbade the start


cdef enum Charging:
    """The ledger's record of a start."""
    NOTHING_CHARGED
    CHARGED
    BOOKED


cdef enum Bounds:
    """Facts about a block of places."""
    STALE  # nothing
    LOOSE  # bounds, some of which are too low because their attempt has left
    TIGHT


cdef struct PoolState:
    int64_t now
    int64_t step  # number of steps taken
    int64_t arriving  # index of the next attempt to arrive
    int64_t until  # index behind the last one that does
    # Running attempts:
    int64_t running  # their number
    int64_t next_end  # when the first of them ends, or NEVER
    int64_t entered  # ends up to then are in the ledger already
    # Queued attempts:
    int64_t head  # the first place that is not a gap, if any attempt is queued
    int64_t tail  # the place behind the last one
    int64_t waiting  # their number, without gaps
    int64_t returning  # number of preempted attempts that are not in the queue yet
    int64_t sorted_for  # the instant (or tick) for which the queue is in order, or OUT_OF_ORDER
    int64_t freed  # CONSERVATIVE: what was freed since the last compression is free until then
    # The purpose of the simulation:
    int64_t target  # stop when this attempt has started, or NOBODY
    int64_t ghost  # this attempt leaves the queue at its start and occupies nothing, or NOBODY
    Charging charging
    # Passes and windows:
    int64_t due  # when the next pass is, if anything has happened since the last one, or NEVER
    int64_t served  # when the last pass from the front was,
    int64_t serves  # and when the next one is, if anything has happened since, or NEVER
    int64_t before  # the last instant; passes are ``shift`` later than the rules say
    int64_t shift
    bint news  # whether anything ended early, or capacity stepped, since the last pass
    int64_t edge  # index of the next edge of a window,
    int64_t delay  # and its shift
    int64_t quiet  # wait for edges until then if nothing else is to come; NEVER: something is
    int64_t soonest  # CONSERVATIVE: the first planned start, or NEVER
    # Passes by rank skip attempts that the last pass could not start:
    int64_t fresh  # the first place that may have changed since; 0: more may be free
    int64_t shadow  # EASY: of the head, if ``spare`` holds too; NEVER: none; or UNKNOWN


cdef class Pool:
    cdef PoolState state
    cdef bint by_nodes  # whether nodes decide what fits
    cdef Places places  # then ``free`` is a bound: their sum
    cdef int64_t[::1] free  # [resources], now; may be negative
    cdef int64_t[::1] spare  # EASY: what the head leaves at the shadow; else working space
    cdef int64_t[::1] used  # [counters] of limits
    cdef int64_t[::1] queued  # [counters], the number of queued attempts that each may forbid
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
    # Bounds of each block of 2^block_bits places: passes skip blocks where nothing can start.
    # Where an attempt has left, they may be lower than necessary.
    cdef uint8_t[::1] bounds  # [blocks], whether the next two hold
    cdef int64_t[:, ::1] shortest  # WIDTHS × blocks, the least estimate up to each width
    cdef int64_t[::1] least  # [blocks], the least request of the first resource
    cdef int64_t block_bits
    cdef int64_t long_queue  # places that take longer to examine than to bound
    cdef int64_t few_gaps  # gaps that take longer to close than to examine
    cdef int64_t[::1] order  # [places], working space
    cdef int64_t[::1] scratch  # [places], working space
    cdef int64_t[::1] return_job  # preempted attempts, and when each joins the queue again
    cdef int64_t[::1] return_at
    cdef int64_t[::1] times  # [attempts] or none, how often each gave way
    cdef Profile profile
    cdef Ledger ledger
    cdef int64_t[::1] begun  # [attempts], gets the start of each attempt that starts
    cdef int64_t[::1] promised  # [attempts] or none, gets the first plan of each attempt
    cdef int64_t[::1] first_begun  # [attempts] or none, gets the first start of each attempt


cdef int64_t remaining(Pool pool, int64_t counter, Limits limits) noexcept nogil
cdef void reset(Pool pool, const int64_t[::1] capacity) noexcept nogil
cdef void move_running(
    Pool target, int64_t to, Pool source, int64_t first, int64_t number
) noexcept nogil
cdef void hold(Pool pool, int64_t job, int64_t expected, int64_t end, Jobs jobs) noexcept nogil
cdef void run_on(Pool pool, int64_t job, Jobs jobs, Observed observed) noexcept nogil
cdef void release(Pool pool, Jobs jobs) noexcept nogil
cdef void find_next_end(Pool pool) noexcept nogil
cdef void sum_free(Pool pool, Steps steps) noexcept nogil
cdef void see_ahead(Pool pool, int64_t job) noexcept nogil
cdef bint fits_ahead(Pool pool, int64_t job, Jobs jobs) noexcept nogil
cdef int64_t add_ahead(
    Pool pool, Steps steps, int64_t step, int64_t instant, int64_t job
) noexcept nogil


cdef inline int64_t expected_end(Pool pool, int64_t r) noexcept nogil:
    """Return when a running attempt is expected to end: after now, as it still runs."""
    return max(pool.run_expected[r], pool.state.now + 1)


cdef inline int64_t next_planned(Steps steps, int64_t step) noexcept nogil:
    """Return the index of the first planned step from ``step`` on, or the number of steps."""
    while step < steps.number and not steps.planned[step]:
        step += 1
    return step


cdef inline int64_t next_expected(
    Pool pool, Steps steps, int64_t ended, int64_t step
) noexcept nogil:
    """Return the time of the next expected end or planned step, or NEVER.

    ``ended`` running attempts are expected to have ended before; ``step`` is the next planned step.
    """
    cdef int64_t instant = NEVER
    if ended < pool.state.running:
        instant = expected_end(pool, ended)
    if step < steps.number:
        instant = min(instant, steps.time[step])
    return instant


cdef inline bint fits_free(Pool pool, int64_t i) noexcept nogil:
    """Return whether the attempt queued at place ``i`` fits in what is free now."""
    if pool.by_nodes:
        return fits_nodes(pool.places, pool.queue_job[i])
    return fits(pool.queue_request, i, pool.free)


cdef inline bint fits_now(Pool pool, int64_t job, Jobs jobs) noexcept nogil:
    """Return whether an attempt fits in what is free now."""
    if pool.by_nodes:
        return fits_nodes(pool.places, job)
    return fits(jobs.request, job, pool.free)


cdef inline void take_or_return(Pool pool, int64_t job, int64_t sign, Jobs jobs) noexcept nogil:
    """Return the request of an attempt to what is free (1), or take it (−1)."""
    if pool.by_nodes:
        move_nodes(pool.places, job, sign)
    else:
        add(pool.free, jobs.request, job, sign)


cdef inline bint forbids(Pool pool, int64_t k, int64_t job, Jobs jobs) noexcept nogil:
    """Return whether element ``k`` of the limits forbids its attempt to start."""
    cdef int64_t counter = jobs.limits.counter[k], asked
    if not jobs.limits.remaining[counter]:
        return exceeds(jobs.limits, k, pool.used)
    asked = jobs.limits.amount[k] * jobs.estimate[job]
    return (
        jobs.limits.binding[k]
        and asked + remaining(pool, counter, jobs.limits) > jobs.limits.most[counter]
    )


cdef inline bint may_start(Pool pool, int64_t i, Jobs jobs) noexcept nogil:
    """Return whether limits and windows allow the attempt at place ``i``, no gap, to start now."""
    cdef int64_t k, job = pool.queue_job[i]
    if pool.used.shape[0] > 0:
        for k in range(jobs.limits.first[job], jobs.limits.first[job + 1]):
            if forbids(pool, k, job, jobs):
                return False
    return True


cdef inline bint may_start_but_late(Pool pool, int64_t i, Jobs jobs) noexcept nogil:
    """Return whether only limits on resources forbid the attempt at place ``i`` to start now."""
    cdef int64_t k, job = pool.queue_job[i]
    for k in range(jobs.limits.first[job], jobs.limits.first[job + 1]):
        if not jobs.limits.late[jobs.limits.counter[k]] and forbids(pool, k, job, jobs):
            return False
    return True


cdef inline void count(Pool pool, int64_t job, int64_t sign, Limits limits) noexcept nogil:
    """Add ``sign`` times an attempt's amounts to its counters."""
    cdef int64_t k
    if pool.used.shape[0] > 0:
        for k in range(limits.first[job], limits.first[job + 1]):
            if not limits.remaining[limits.counter[k]]:
                pool.used[limits.counter[k]] += sign * limits.amount[k]


cdef inline void count_queued(Pool pool, int64_t job, int64_t sign, Limits limits) noexcept nogil:
    """Count an attempt that joins the queue (1) or leaves it (−1)."""
    cdef int64_t k
    if pool.used.shape[0] > 0:
        for k in range(limits.first[job], limits.first[job + 1]):
            pool.queued[limits.counter[k]] += sign


cdef inline int64_t add_steps(
    Steps steps, int64_t step, int64_t instant, int64_t[::1] free
) noexcept nogil:
    """Add the steps from index ``step`` to an instant to ``free``; return the index behind them."""
    while step < steps.number and steps.time[step] <= instant:
        add(free, steps.change, step, 1)
        step += 1
    return step


cdef inline int64_t pass_steps(Pool pool, Steps steps) noexcept nogil:
    """Take or return what steps do up to now; return the index behind them."""
    cdef int64_t step = pool.state.step
    if not pool.by_nodes:
        return add_steps(steps, step, pool.state.now, pool.free)
    while step < steps.number and steps.time[step] <= pool.state.now:
        move_nodes(pool.places, steps.holder[step], 1 if steps.ends[step] else -1)
        step += 1
    return step


cdef inline void take_steps(Pool pool, Model model) noexcept nogil:
    """Take the steps up to now, and count the blocked attempts that begin or end with them."""
    cdef PoolState *state = &pool.state
    cdef int64_t first = state.step, sign, step
    state.step = pass_steps(pool, model.steps)
    if state.step > first:
        state.fresh = 0
        pool.places.head = NOBODY  # the nodes that it keeps may be among those taken
    for step in range(first, state.step):
        if model.steps.job[step] != NOBODY:
            sign = -1 if model.steps.ends[step] else 1
            count(pool, model.steps.job[step], sign, model.jobs.limits)


cdef inline void let_edges_pass(Pool pool, Limits limits) noexcept nogil:
    """Open and close windows up to now."""
    cdef PoolState *state = &pool.state
    while edge_at(limits.edges, state.edge, state.delay) <= state.now:
        pool.used[limits.edges.counter[state.edge]] += limits.edges.change[state.edge]
        state.edge, state.delay = next_edge(limits.edges, state.edge, state.delay)
