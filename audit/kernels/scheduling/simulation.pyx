"""Schedules simulated from an instant on (SPEC §4, §13)."""

from libc.stdint cimport int64_t, uint8_t

from audit.kernels.scheduling.instants cimport NEVER
from audit.kernels.scheduling.loop cimport follow, open_books
from audit.kernels.scheduling.model cimport Backfill, Model, Observed, by_owner
from audit.kernels.scheduling.plans cimport foresee
from audit.kernels.scheduling.pool cimport Pool, PoolState, hold, reset, run_on
from audit.kernels.scheduling.queue cimport enqueue


def replay(
    Model model not None, Observed observed not None, const uint8_t[::1] takes_part,
    const int64_t[::1] capacity, int64_t since, bint goes_on, Pool pool not None
):
    """Simulate everything that happens from ``since`` on, with what ran and waited then.

    Args:
        model: the attempts, of which those with rank < 0 are never queued; steps of the capacity
            and of blocked attempts; the policy.
        takes_part: [attempts], bool: which of them are simulated.
        since: epoch s. Attempts that started before it are as observed.
        goes_on: whether earlier usage of the observed schedule counts.
        pool: with space for all attempts. Its ``begun`` gets the starts, NEVER: none.
    """
    cdef PoolState *state = &pool.state
    cdef int64_t attempts = pool.begun.shape[0], job
    with nogil:
        reset(pool, capacity)
        pool.begun[:] = NEVER
        state.now = since
        state.arriving = state.until = attempts
        for job in range(attempts):
            if model.jobs.arrival[job] >= since:
                state.arriving = job
                break
            if not takes_part[job]:
                continue
            if observed.start[job] < since:
                pool.begun[job] = observed.start[job]
                if observed.end[job] > since:
                    run_on(pool, job, model.jobs, observed)
            elif model.jobs.rank[job] >= 0:
                enqueue(pool, job, model.jobs, model.rules)
        if model.rules.backfill == Backfill.CONSERVATIVE:
            foresee(pool, model)
        if by_owner(model.rules):
            open_books(pool, model, since if goes_on else since - 1)
        follow(pool, model)


def start_queue(
    Model model not None, const int64_t[::1] capacity, int64_t now, const int64_t[::1] running,
    const int64_t[::1] planned, const int64_t[::1] end, const int64_t[::1] queue, int64_t target,
    Pool pool not None
):
    """Simulate a pool from ``now`` on; ``pool.begun`` gets the starts of the queue, NEVER: none.

    Args:
        model: its steps are those after ``now`` that planners know of.
        capacity: at ``now``.
        running: attempts that run,
        planned: when planners expect each of them to end,
        end: and when it ends, > ``now``.
        queue: attempts that wait, with a rank ≥ 0, in the order of arrival.
        target: stop when this attempt of the queue has started; NOBODY (−1): when all have.
        pool: with space for both.
    """
    cdef PoolState *state = &pool.state
    cdef int64_t i
    with nogil:
        reset(pool, capacity)
        state.now, state.target = now, target
        for i in range(running.shape[0]):
            hold(pool, running[i], planned[i], end[i], model.jobs)
        for i in range(queue.shape[0]):
            pool.begun[queue[i]] = NEVER
            enqueue(pool, queue[i], model.jobs, model.rules)
        if model.rules.backfill == Backfill.CONSERVATIVE:
            foresee(pool, model)
        if by_owner(model.rules):
            open_books(pool, model, now)
        follow(pool, model)
