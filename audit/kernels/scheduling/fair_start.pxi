# Fair start times: each attempt's snapshot, simulated forward (SPEC §5).
#
# Subjects do not depend on one another. So a range of them is computed by itself, and the sweep
# begins where the range begins.


def fair_starts(
    Model model not None, Observed observed not None, const int64_t[::1] capacity, bint at_once,
    const uint8_t[::1] subject, int64_t low, int64_t high, Trials trials not None,
    int64_t[::1] strict, int64_t[::1] relaxed, uint8_t[::1] over
):
    """Write the fair start times of the subjects from index ``low`` to ``high``, ``low`` < ``high``.

    Args:
        at_once: whether an attempt that waits alone starts as soon as it fits: nothing is limited,
            passes are at all instants, and no policy that plans ahead sees planned steps.
        strict, relaxed: [attempts], get the fair start times, or NEVER.
        over: [attempts], bool, gets whether the snapshot holds more than the capacity.
    """
    cdef Model with_steps = Model(model.jobs, trials.steps, model.rules, model.owners)
    cdef State *state = &trials.snapshot.state
    cdef int64_t job, taken
    with nogil:
        begin_sweep(trials, model, observed, capacity, low)
        for job in range(low, high):
            move_on(trials, model.jobs.arrival[job], model, observed)
            if subject[job] and any_blocked(trials, observed):
                taken = state.step
                add_blocked(trials, model, observed)
                state.step = 0
                over[job] = holds_too_much(trials.snapshot, trials.steps)
                strict[job], relaxed[job] = fair_start(trials, job, with_steps, at_once)
                state.step = taken
            elif subject[job]:
                over[job] = holds_too_much(trials.snapshot, model.steps)
                strict[job], relaxed[job] = fair_start(trials, job, model, at_once)
            enter(trials, job, model.jobs.arrival[job], model, observed)


cdef (int64_t, int64_t) fair_start(
    Trials trials, int64_t job, Model model, bint at_once
) noexcept nogil:
    """Return the strict and relaxed fair start time of ``job`` from its snapshot; NEVER: none."""
    cdef int64_t alone
    if trials.snapshot.state.waiting == 0 and at_once:
        alone = earliest_alone(trials.snapshot, job, model.jobs, model.steps)
        return alone, alone
    if model.rules.backfill == Backfill.CONSERVATIVE or model.rules.fair != Order.RANK:
        prepare(trials.snapshot, trials.spare, job, model)
        return from_source(trials.spare, trials.trial, job, model, at_once)
    return from_source(trials.snapshot, trials.trial, job, model, at_once)


cdef (int64_t, int64_t) from_source(
    Pool source, Pool trial, int64_t job, Model model, bint at_once
) noexcept nogil:
    """Return both fair start times of ``job`` in simulations that begin with ``source``.

    Where the latest arrival is served last, it affects no other attempt before it starts: as a
    ghost it shows its start, and the others go on as if it were not there. Plans that last affect
    others; and where passes examine only a few, a ghost may not be examined though it is alone.
    """
    cdef bint with_ghost = (
        model.rules.latest_last
        and model.rules.backfill != Backfill.CONSERVATIVE
        and model.rules.depth == NEVER
    )
    cdef int64_t strict, relaxed
    begin_again(source, trial, job, model, with_ghost)
    if with_ghost:
        trial.state.ghost = job
    follow(trial, model)
    strict = trial.begun[job]
    relaxed = joined_last(trial, job, model, at_once)
    if not with_ghost:
        begin_again(source, trial, job, model, True)
        trial.state.target = job
        follow(trial, model)
        strict = trial.begun[job]
    return strict, relaxed


cdef void prepare(Pool snapshot, Pool start, int64_t job, Model model) noexcept nogil:
    """Make the state that the simulations for ``job`` begin with from a snapshot.

    Under a fair order, attempts behind ``job`` are left out. Under CONSERVATIVE the others are
    planned if there is a pass at once, for their plans are the same with and without ``job``.
    """
    copy_state(snapshot, start)
    if model.rules.fair != Order.RANK:
        open_books(start, model, start.state.now)
        remove_those_behind(start, job, model)
    if model.rules.backfill == Backfill.CONSERVATIVE and model.rules.every == 0:
        foresee(start, model)
        if by_owner(model.rules):
            open_books(start, model, start.state.now)
        plan_afresh(start, model)


cdef void remove_those_behind(Pool pool, int64_t job, Model model) noexcept nogil:
    """Remove queued attempts whose turn, in the fair order, comes after that of ``job``."""
    cdef State *state = &pool.state
    cdef int64_t owner = model.jobs.owner[job], other, i
    rate_owner(model.rules.fair, model.owners, pool.ledger, owner, state.now)
    for i in range(state.head, state.tail):
        other = model.jobs.owner[pool.queue_job[i]]
        rate_owner(model.rules.fair, model.owners, pool.ledger, other, state.now)
    for i in range(state.head, state.tail):
        if compare(pool.ledger, model.jobs.owner[pool.queue_job[i]], owner) < 0:
            leave(pool, i)
    close_gaps(pool)


cdef void begin_again(Pool source, Pool pool, int64_t job, Model model, bint joins) noexcept nogil:
    """Let a simulation begin from ``source``, in which ``job`` is not queued; ``joins``: it joins.

    Where passes are not at all instants, plans are made at the first one, which is still to come.
    """
    cdef bint conservative = model.rules.backfill == Backfill.CONSERVATIVE
    cdef bint planned = model.rules.every == 0
    pool.begun[job] = NEVER
    copy_state(source, pool)
    if conservative and planned:
        copy_plans(source, pool)
    elif conservative:
        foresee(pool, model)
    if by_owner(model.rules):
        open_books(pool, model, pool.state.now)
    if conservative and not planned:
        plan_afresh(pool, model)
    if joins:
        enqueue(pool, job, model.jobs, model.rules)


cdef int64_t joined_last(Pool pool, int64_t job, Model model, bint at_once) noexcept nogil:
    """Return when ``job`` starts if it joins a simulation once all others have started.

    The simulation has come to that instant. NEVER: some of them do not start.
    """
    cdef State *state = &pool.state
    if state.waiting > 0:
        return NEVER
    if at_once:
        return earliest_alone(pool, job, model.jobs, model.steps)
    pool.begun[job] = NEVER
    state.ghost = NOBODY
    state.target = job
    enqueue(pool, job, model.jobs, model.rules)
    follow(pool, model)
    return pool.begun[job]


cdef int64_t earliest_alone(Pool pool, int64_t job, Jobs jobs, Steps steps) noexcept nogil:
    """Return when ``job`` starts with no other queued attempt: as soon as it fits, or NEVER."""
    cdef int64_t instant = pool.state.now, running = pool.state.running, step, i
    move(pool.spare, 0, pool.free, 0, pool.free.shape[0])
    step = add_steps(steps, pool.state.step, instant, pool.spare)
    if fits(jobs.request, job, pool.spare):
        return instant
    for i in range(running):  # pool.order: a heap of running attempts, first end on top
        pool.order[i] = i
    for i in range((running >> 1) - 1, -1, -1):
        sink(pool, i, running)
    while True:
        instant = pool.run_end[pool.order[0]] if running > 0 else NEVER
        if step < steps.number:
            instant = min(instant, steps.time[step])
        if instant == NEVER:
            return NEVER
        step = add_steps(steps, step, instant, pool.spare)
        while running > 0 and pool.run_end[pool.order[0]] == instant:
            add(pool.spare, pool.run_request, pool.order[0], 1)
            running -= 1
            pool.order[0] = pool.order[running]
            sink(pool, 0, running)
        if fits(jobs.request, job, pool.spare):
            return instant


cdef void sink(Pool pool, int64_t i, int64_t count) noexcept nogil:
    """Let element ``i`` of the heap ``pool.order`` sink to its place."""
    cdef int64_t sinking = pool.order[i], child
    while True:
        child = 2 * i + 1
        if child >= count:
            break
        if (
            child + 1 < count
            and pool.run_end[pool.order[child + 1]] < pool.run_end[pool.order[child]]
        ):
            child += 1
        if pool.run_end[pool.order[child]] >= pool.run_end[sinking]:
            break
        pool.order[i] = pool.order[child]
        i = child
    pool.order[i] = sinking
