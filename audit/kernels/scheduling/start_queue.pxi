# From one instant on, with expected durations and without later arrivals (SPEC §13).


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
    cdef State *state = &pool.state
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
