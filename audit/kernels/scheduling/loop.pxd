"""The event loop."""

from libc.stdint cimport int64_t

from audit.kernels.scheduling.instants cimport next_multiple
from audit.kernels.scheduling.model cimport Jobs, Model, Rules
from audit.kernels.scheduling.pool cimport Pool, PoolState


cdef void open_books(Pool pool, Model model, int64_t since) noexcept nogil
cdef void follow(Pool pool, Model model) noexcept nogil
cdef bint happen(Pool pool, Model model) noexcept nogil
cdef void arrive(Pool pool, Model model) noexcept nogil
cdef void run_passes(Pool pool, Model model, bint news, bint front) noexcept nogil
cdef int64_t next_instant(Pool pool, Model model) noexcept nogil
cdef void await_pass(Pool pool, Model model) noexcept nogil


cdef inline void shift_passes(PoolState *state, Rules rules) noexcept nogil:
    """Let passes begin again if nothing waited or happened since the last one was due.

    slurmctld makes no pass while nothing changes, and then one at once.
    """
    cdef int64_t last = next_multiple(state.before + 1, rules.every, rules.origin + state.shift)
    if state.waiting == 0 and state.now - last >= rules.every:
        state.shift = state.now + 1 - rules.origin
    state.before = state.now


cdef inline void skip_unqueued(Pool pool, Jobs jobs) noexcept nogil:
    """Skip the next arrivals that are never queued: they make no instant."""
    cdef PoolState *state = &pool.state
    while state.arriving < state.until and jobs.rank[state.arriving] < 0:
        state.arriving += 1
