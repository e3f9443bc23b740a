"""The state of a simulated pool: what is free, which attempts run, which wait.

The arrays of a ``Pool`` are allocated once and used for many simulations. Running attempts are in
``run_…``, by expected end. Queued attempts are in ``queue_…`` between ``state.head`` and
``state.tail``, in the order in which they are served. A started attempt leaves a gap, which fits
nowhere, until most of the queue is gaps.
"""

import numpy as np
from libc.stdint cimport int64_t
from libc.string cimport memset

from audit.kernels.rows cimport add, copy_column, fits, move, move_rows
from audit.kernels.scheduling.instants cimport NEVER
from audit.kernels.scheduling.model cimport NOBODY, WIDTHS, Jobs, Limits, NodeFacts, Observed, Steps
from audit.kernels.scheduling.nodes cimport (
    Places, add_nodes_ahead, empty_nodes, move_nodes, recall_nodes, see_nodes_ahead, sum_nodes
)
from audit.kernels.scheduling.owners cimport AFTER_ALL, Ledger
from audit.kernels.scheduling.profile cimport Profile


cdef class Pool:
    """A simulated pool, with space for the attempts that are in it at one time."""

    def __init__(
        self, *, int64_t resources, int64_t attempts, int64_t steps, int64_t counters,
        NodeFacts nodes not None, Ledger ledger not None, begun, promised, first_begun,
        int64_t block_bits=6, int64_t long_queue=192, int64_t few_gaps=8
    ):
        cdef int64_t places = attempts + 2, blocks = (places >> block_bits) + 2
        self.free, self.spare = np.zeros((2, resources), np.int64)
        self.by_nodes = nodes.capacity.shape[1] > 0
        self.places = Places(nodes, attempts, self.free)
        self.used, self.queued = np.zeros((2, counters), np.int64)
        self.run_expected, self.run_end, self.run_job = np.zeros((3, places), np.int64)
        self.queue_job, self.queue_estimate, self.queue_width = np.zeros((3, places), np.int64)
        self.run_request, self.queue_request = np.zeros((2, resources, places), np.int64)
        self.plan, self.freed, self.order, self.scratch = np.zeros((4, places), np.int64)
        self.bounds = np.zeros(blocks, np.uint8)
        self.shortest = np.zeros((WIDTHS, blocks), np.int64)
        self.least = np.zeros(blocks, np.int64)
        self.block_bits, self.long_queue, self.few_gaps = block_bits, long_queue, few_gaps
        self.profile = Profile(resources, 4 * places + 2 * steps + 8)
        self.return_job, self.return_at = np.zeros((2, places), np.int64)
        self.ledger, self.begun, self.promised = ledger, begun, promised
        self.first_begun, self.times = first_begun, np.zeros(len(first_begun), np.int64)


cdef int64_t remaining(Pool pool, int64_t counter, Limits limits) noexcept nogil:
    """Return the remaining amount × time of a counter, by expected ends of unblocked attempts."""
    cdef int64_t total = pool.used[counter], k, r, job, left
    for r in range(pool.state.running):
        job, left = pool.run_job[r], pool.run_expected[r] - pool.state.now
        if left > 0:
            for k in range(limits.first[job], limits.first[job + 1]):
                if limits.counter[k] == counter:
                    total += limits.amount[k] * left
    return total


cdef void reset(Pool pool, const int64_t[::1] capacity) noexcept nogil:
    """Make a pool empty."""
    cdef PoolState *state = &pool.state
    memset(state, 0, sizeof(PoolState))
    state.next_end = state.due = state.quiet = state.soonest = NEVER
    state.served, state.serves = -AFTER_ALL, NEVER
    state.target = state.ghost = NOBODY
    state.entered = -NEVER
    pool.used[:] = 0
    pool.queued[:] = 0
    move(pool.free, 0, capacity, 0, capacity.shape[0])
    if pool.by_nodes:
        empty_nodes(pool.places)


cdef void move_running(
    Pool target, int64_t to, Pool source, int64_t first, int64_t number
) noexcept nogil:
    """Copy ``number`` running attempts from place ``first`` on; the ranges may overlap."""
    move(target.run_expected, to, source.run_expected, first, number)
    move(target.run_end, to, source.run_end, first, number)
    move(target.run_job, to, source.run_job, first, number)
    move_rows(target.run_request, to, source.run_request, first, number)


cdef void hold(Pool pool, int64_t job, int64_t expected, int64_t end, Jobs jobs) noexcept nogil:
    """Enter a running attempt, and take its request from what is free."""
    cdef PoolState *state = &pool.state
    cdef int64_t i = state.running
    take_or_return(pool, job, -1, jobs)
    while i > 0 and pool.run_expected[i - 1] > expected:
        i -= 1
    move_running(pool, i + 1, pool, i, state.running - i)
    pool.run_expected[i], pool.run_end[i], pool.run_job[i] = expected, end, job
    copy_column(pool.run_request, i, jobs.request, job)
    state.running += 1
    state.next_end = min(state.next_end, end)
    count(pool, job, 1, jobs.limits)


cdef void run_on(Pool pool, int64_t job, Jobs jobs, Observed observed) noexcept nogil:
    """Enter a started attempt as running."""
    if pool.by_nodes:
        recall_nodes(pool.places, job)
    hold(pool, job, observed.start[job] + jobs.estimate[job], observed.end[job], jobs)


cdef void release(Pool pool, Jobs jobs) noexcept nogil:
    """Free what has ended by now."""
    cdef PoolState *state = &pool.state
    cdef int64_t running = state.running, now = state.now, kept = 0, next_end = NEVER, i
    cdef int64_t first = 0  # of those that stay, and may not be in their place
    for i in range(running):
        if pool.run_end[i] > now:
            next_end = min(next_end, pool.run_end[i])
        else:
            if pool.by_nodes:
                move_nodes(pool.places, pool.run_job[i], 1)
            else:
                add(pool.free, pool.run_request, i, 1)
            count(pool, pool.run_job[i], -1, jobs.limits)
            if first > kept:
                move_running(pool, kept, pool, first, i - first)
            kept += i - first
            first = i + 1
    if first > kept:
        move_running(pool, kept, pool, first, running - first)
    state.running = kept + running - first
    state.next_end = next_end
    state.fresh = 0


cdef void find_next_end(Pool pool) noexcept nogil:
    """Find when the first running attempt ends."""
    cdef int64_t i
    pool.state.next_end = NEVER
    for i in range(pool.state.running):
        pool.state.next_end = min(pool.state.next_end, pool.run_end[i])


# --- what is free later --------------------------------------------------------------------------


cdef void sum_free(Pool pool, Steps steps) noexcept nogil:
    """Let ``spare`` be what is free in all once the steps up to now are taken."""
    cdef PoolState *state = &pool.state
    if pool.by_nodes:
        sum_nodes(pool.places, steps, state.step, state.now, pool.spare)
    else:
        move(pool.spare, 0, pool.free, 0, pool.free.shape[0])
        add_steps(steps, state.step, state.now, pool.spare)


cdef void see_ahead(Pool pool, int64_t job) noexcept nogil:
    """Let what is free later be what is free now, to see whether ``job`` fits then."""
    if pool.by_nodes:
        see_nodes_ahead(pool.places, job)
    else:
        move(pool.spare, 0, pool.free, 0, pool.free.shape[0])


cdef bint fits_ahead(Pool pool, int64_t job, Jobs jobs) noexcept nogil:
    """Return whether ``job`` fits in what is free later; see ``see_ahead``."""
    if pool.by_nodes:
        return pool.places.total >= pool.places.nodes.parts[job]
    return fits(jobs.request, job, pool.spare)


cdef int64_t add_ahead(
    Pool pool, Steps steps, int64_t step, int64_t instant, int64_t job
) noexcept nogil:
    """Add steps up to an instant to what is free later; return the index behind them."""
    if not pool.by_nodes:
        return add_steps(steps, step, instant, pool.spare)
    while step < steps.number and steps.time[step] <= instant:
        add_nodes_ahead(pool.places, steps.holder[step], 1 if steps.ends[step] else -1, job)
        step += 1
    return step
