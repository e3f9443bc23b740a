# Passes that plan ahead: CONSERVATIVE and REPLAN (SPEC §4); what planners expect to become free.


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
        instant = pool.run_expected[ended]
    if step < steps.number:
        instant = min(instant, steps.time[step])
    return instant


cdef void expect(Pool pool, Steps steps) noexcept nogil:
    """Make the profile: what is free now, expected ends of running attempts, planned steps."""
    cdef int64_t last = 0, ended = 0, step = next_planned(steps, pool.state.step), instant, x
    pool.profile.times[0] = pool.state.now
    for x in range(pool.free.shape[0]):
        pool.profile.levels[x, 0] = pool.free[x]
    while True:
        instant = next_expected(pool, steps, ended, step)
        if instant == NEVER:
            break
        if instant > pool.profile.times[last]:
            last += 1
            pool.profile.times[last] = instant
            copy_column(pool.profile.levels, last, pool.profile.levels, last - 1)
        while ended < pool.state.running and pool.run_expected[ended] == instant:
            for x in range(pool.free.shape[0]):
                pool.profile.levels[x, last] += pool.run_request[x, ended]
            ended += 1
        while step < steps.number and steps.time[step] == instant:
            for x in range(pool.free.shape[0]):
                pool.profile.levels[x, last] += steps.change[x, step]
            step = next_planned(steps, step + 1)
    pool.profile.first, pool.profile.beyond = 0, last + 1


cdef void foresee(Pool pool, Model model) noexcept nogil:
    """Make the first profile of a simulation under CONSERVATIVE, with the steps up to now."""
    take_steps(pool, model)
    pool.state.freed = 0
    expect(pool, model.steps)


cdef bint release_early(Pool pool, Jobs jobs) noexcept nogil:
    """Free in the profile what has ended earlier than expected; return whether anything has."""
    cdef State *state = &pool.state
    cdef bint early = False
    cdef int64_t i
    for i in range(state.running):
        if pool.run_end[i] <= state.now < pool.run_expected[i]:
            early = True
            state.freed = max(state.freed, pool.run_expected[i])
            add_job(pool.profile, state.now, pool.run_expected[i], jobs, pool.run_job[i], 1)
    return early


# --- CONSERVATIVE --------------------------------------------------------------------------------


cdef bint pass_conservative(Pool pool, Model model, bint news) noexcept nogil:
    """Make a pass of CONSERVATIVE; return whether anything started ends at once.

    ``news``: whether anything ended early, or capacity stepped, since the last pass. The space of
    attempts that lose their plans is given to others at once.
    """
    cdef bint again = False, lost = True, ends
    forget_past(pool.profile, pool.state.now)
    while lost:
        if news:
            compress(pool, model)
        plan_waiting(pool, model)
        lost = False
        if pool.state.soonest <= pool.state.now:
            ends, lost = start_planned(pool, model)
            again |= ends
            news = lost
    return again


cdef (bint, bint) start_planned(Pool pool, Model model) noexcept nogil:
    """Start attempts planned for now; return whether any ends at once, and any has lost its plan.

    A plan is lost where limits or windows forbid the start.
    """
    cdef State *state = &pool.state
    cdef int64_t end, i, k
    cdef bint again = False, lost = False
    for i in range(state.head, state.tail):
        if not 0 <= pool.plan[i] <= state.now:
            continue
        if not may_start(pool, i, model.jobs):
            state.freed = max(state.freed, retract(pool, i, model.jobs))
            pool.plan[i] = LOST
            if pool.promised.shape[0] > 0:
                pool.promised[pool.queue_job[i]] = NEVER
            lost = True
        elif fits_free(pool, i):
            again |= begin(pool, i, model.jobs)
        else:  # the capacity has dropped since it was planned
            end = retract(pool, i, model.jobs)
            promise(pool, i, state.now + 1, model)
            for k in range(state.head, state.tail):
                pool.freed[k] = max(pool.freed[k], end)
    state.soonest = NEVER
    for i in range(state.head, state.tail):
        if pool.plan[i] >= 0:
            state.soonest = min(state.soonest, pool.plan[i])
    return again, lost


cdef void compress(Pool pool, Model model) noexcept nogil:
    """Move plans to earlier starts, in the order of the queue (SPEC §4, *conservative*).

    An attempt can move only because of what was freed since it was last examined. So only starts
    before the end of that are tried: ``state.freed`` for all, ``pool.freed`` for one.
    """
    cdef State *state = &pool.state
    cdef int64_t freed = state.freed, later = 0, until, start, plan, end, i
    cdef bint moved = False
    # pool.scratch: the end of the space that each moved attempt has given up
    for i in range(state.head, state.tail):
        if pool.queue_job[i] == GAP or pool.plan[i] < 0:
            continue
        until = max(freed, pool.freed[i])
        pool.freed[i] = pool.scratch[i] = 0
        plan = pool.plan[i]
        if until <= state.now or plan <= state.now:
            continue
        start = earlier(
            pool.profile, state.now, plan, until, model.jobs, pool.queue_job[i], model.rules.every,
            model.rules.origin
        )
        if start < plan:
            end = retract(pool, i, model.jobs)
            occupy(pool, i, start, model.jobs)
            if plan != NEVER:
                freed = max(freed, end)
                pool.scratch[i] = end
                moved = True
    if moved:  # what later ones gave up is news to those before them
        for i in range(state.tail - 1, state.head - 1, -1):
            if pool.queue_job[i] != GAP and pool.plan[i] >= 0:
                pool.freed[i] = max(pool.freed[i], later)
                later = max(later, pool.scratch[i])
    state.freed = 0


cdef void plan_waiting(Pool pool, Model model) noexcept nogil:
    """Plan queued attempts without a plan, in their order; those that lost it only if allowed."""
    cdef State *state = &pool.state
    cdef int64_t first = NEVER, start, i
    for i in range(state.head, state.tail):
        start = pool.plan[i]
        if start == UNPLANNED:
            start = promise(pool, i, state.now, model)
            if pool.promised.shape[0] > 0:
                pool.promised[pool.queue_job[i]] = start
        elif start == LOST and may_start(pool, i, model.jobs):
            start = promise(pool, i, state.now, model)
        if start >= 0:
            first = min(first, start)
    state.soonest = first


cdef int64_t promise(Pool pool, int64_t i, int64_t since, Model model) noexcept nogil:
    """Plan the attempt at place ``i`` for the earliest pass from ``since`` on; return its time."""
    cdef int64_t job = pool.queue_job[i], every = model.rules.every, origin = model.rules.origin
    cdef int64_t start = earlier(
        pool.profile, since, NEVER, NEVER, model.jobs, job, every, origin
    )
    occupy(pool, i, start, model.jobs)
    return start


cdef void occupy(Pool pool, int64_t i, int64_t start, Jobs jobs) noexcept nogil:
    """Plan the attempt at place ``i`` for ``start``; NEVER plans nothing."""
    cdef int64_t job = pool.queue_job[i]
    pool.plan[i] = start
    if start != NEVER:
        add_job(pool.profile, start, start + jobs.estimate[job], jobs, job, -1)


cdef int64_t retract(Pool pool, int64_t i, Jobs jobs) noexcept nogil:
    """Take back the plan of the attempt at place ``i``; return the end of what that frees."""
    cdef int64_t start = pool.plan[i], job = pool.queue_job[i], end
    if start == NEVER:
        return NEVER
    end = start + jobs.estimate[job]
    add_job(pool.profile, start, end, jobs, job, 1)
    return end


# --- REPLAN --------------------------------------------------------------------------------------


cdef bint pass_replan(Pool pool, Model model) noexcept nogil:
    """Make a pass of REPLAN; return whether anything started ends at once.

    Attempts held by a limit are skipped: a plan for them would hold up others. Once enough attempts
    have a place in the plan, others start now or not at all.
    """
    cdef State *state = &pool.state
    cdef int64_t looked = 0, reserved = 0, before, start, job, i
    cdef bint again = False, left_behind = False, reserves
    expect(pool, model.steps)
    for i in range(state.head, state.tail):
        job = pool.queue_job[i]
        if job == GAP or not may_start(pool, i, model.jobs):
            continue
        if looked == model.rules.depth:
            break
        looked += 1
        if left_behind and pool.queue_estimate[i] > model.rules.window:
            continue
        reserves = reserved < model.rules.reservations
        start = NEVER
        if reserves or fits_free(pool, i):
            before = NEVER if reserves else state.now + 1
            start = earlier(pool.profile, state.now, NEVER, before, model.jobs, job, 0, 0)
        if start == state.now:
            occupy(pool, i, start, model.jobs)
            again |= begin(pool, i, model.jobs)
            continue
        left_behind = True
        if reserves:
            occupy(pool, i, start, model.jobs)
            reserved += 1
    return again
