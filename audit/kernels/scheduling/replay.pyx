"""A whole schedule simulated anew, from an empty pool or from what the observed one held once."""

from libc.stdint cimport int64_t, uint8_t

from audit.kernels.scheduling.books cimport open_books
from audit.kernels.scheduling.loop cimport follow
from audit.kernels.scheduling.model cimport Backfill, Model, Observed, by_owner
from audit.kernels.scheduling.passes.planned cimport foresee
from audit.kernels.scheduling.pool cimport Pool, State, reset
from audit.kernels.scheduling.queue cimport enqueue
from audit.kernels.scheduling.rows cimport NEVER
from audit.kernels.scheduling.snapshot cimport run_on


def replay(
    Model model not None,
    Observed observed not None,
    taking_part,
    const int64_t[::1] capacity,
    int64_t since,
    bint goes_on,
    Pool pool not None,
):
    """Simulate everything that happens from ``since`` on, with what ran and waited then.

    Args:
        model: the attempts, of which those with rank < 0 are never queued; steps of the capacity
            and of blocked attempts; the policy.
        observed: the schedule of the attempts.
        taking_part: [attempts], bool: which of them are simulated.
        capacity: [resources], before any step.
        since: epoch s. Attempts that started before it are as observed.
        goes_on: whether what the observed schedule used before counts.
        pool: with space for all attempts. Its ``begun`` gets the starts, NEVER: none.
    """
    cdef const uint8_t[::1] takes_part = taking_part.view("u1")
    with nogil:
        _begin(model, observed, takes_part, capacity, since, pool)
        if model.rules.backfill == Backfill.CONSERVATIVE:
            foresee(pool, model)
        if by_owner(model.rules):
            open_books(pool, model, since if goes_on else since - 1)
        follow(pool, model)


cdef void _begin(
    Model model,
    Observed observed,
    const uint8_t[::1] takes_part,
    const int64_t[::1] capacity,
    int64_t since,
    Pool pool,
) noexcept nogil:
    """Enter what runs and waits at ``since``."""
    cdef State *state = &pool.state
    cdef int64_t attempts = pool.begun.shape[0], job
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
