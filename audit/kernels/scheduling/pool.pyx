"""Who runs in a simulated pool, and what is free; see the ``.pxd``."""

import numpy as np
from libc.string cimport memset

from audit.kernels.scheduling.model cimport WIDTHS
from audit.kernels.scheduling.rows cimport NEVER, copy_column, move, move_rows


cdef class Pool:
    def __init__(
        self,
        *,
        int64_t resources,
        int64_t attempts,
        int64_t steps,
        int64_t counters,
        Ledger ledger not None,
        begun,
        promised,
        int64_t block_bits=6,
        int64_t long_queue=192,
        int64_t few_gaps=8,
    ):
        cdef int64_t places = attempts + 2, blocks = (places >> block_bits) + 2
        self.free, self.spare = np.zeros((2, resources), np.int64)
        self.used = np.zeros(counters, np.int64)
        self.run_expected, self.run_end, self.run_job = np.zeros((3, places), np.int64)
        self.run_request = np.zeros((resources, places), np.int64)
        self.queue_job, self.queue_estimate, self.queue_width = np.zeros((3, places), np.int64)
        self.queue_request = np.zeros((resources, places), np.int64)
        self.plan, self.freed = np.zeros((2, places), np.int64)
        self.bounds = np.zeros(blocks, np.uint8)
        self.shortest = np.zeros((WIDTHS, blocks), np.int64)
        self.least = np.zeros(blocks, np.int64)
        self.block_bits, self.long_queue, self.few_gaps = block_bits, long_queue, few_gaps
        self.order, self.scratch = np.zeros((2, places), np.int64)
        self.profile = Profile(resources, 4 * places + 2 * steps + 8)
        self.ledger, self.begun, self.promised = ledger, begun, promised


cdef void reset(Pool pool, const int64_t[::1] capacity) noexcept nogil:
    """Make a pool empty."""
    cdef State *state = &pool.state
    memset(state, 0, sizeof(State))
    state.next_end = state.due = state.quiet = state.soonest = state.pause = NEVER
    state.target = state.ghost = NOBODY
    pool.used[:] = 0
    move(pool.free, 0, capacity, 0, capacity.shape[0])





cdef void hold(Pool pool, int64_t job, int64_t expected, int64_t end, Jobs jobs) noexcept nogil:
    """Enter an attempt among those that run, and take its request from what is free."""
    cdef State *state = &pool.state
    cdef int64_t i = state.running, behind
    add(pool.free, jobs.request, job, -1)
    while i > 0 and pool.run_expected[i - 1] > expected:
        i -= 1
    behind = state.running - i
    move(pool.run_expected, i + 1, pool.run_expected, i, behind)
    move(pool.run_end, i + 1, pool.run_end, i, behind)
    move(pool.run_job, i + 1, pool.run_job, i, behind)
    move_rows(pool.run_request, i + 1, pool.run_request, i, behind)
    pool.run_expected[i], pool.run_end[i], pool.run_job[i] = expected, end, job
    copy_column(pool.run_request, i, jobs.request, job)
    state.running += 1
    state.next_end = min(state.next_end, end)
    count(pool, job, 1, jobs.limits)


cdef void release(Pool pool, Jobs jobs) noexcept nogil:
    """Free what has ended by now."""
    cdef State *state = &pool.state
    cdef int64_t running = state.running, kept = running, first, i
    for i in range(running):
        if pool.run_end[i] <= state.now:
            kept = i
            break
    first = kept  # of those that may stay, and are not in their place
    for i in range(kept, running):
        if pool.run_end[i] <= state.now:
            add(pool.free, pool.run_request, i, 1)
            count(pool, pool.run_job[i], -1, jobs.limits)
            move_down(pool, first, i, first - kept)
            kept += i - first
            first = i + 1
    move_down(pool, first, running, first - kept)
    state.running = kept + running - first
    state.next_end = NEVER
    for i in range(state.running):
        state.next_end = min(state.next_end, pool.run_end[i])
    state.fresh = 0


cdef void move_down(Pool pool, int64_t first, int64_t beyond, int64_t by) noexcept nogil:
    """Move the running attempts from place ``first`` to before ``beyond`` down by ``by`` places."""
    if by > 0:
        move(pool.run_expected, first - by, pool.run_expected, first, beyond - first)
        move(pool.run_end, first - by, pool.run_end, first, beyond - first)
        move(pool.run_job, first - by, pool.run_job, first, beyond - first)
        move_rows(pool.run_request, first - by, pool.run_request, first, beyond - first)
