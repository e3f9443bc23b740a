# Passes over the queue (SPEC §4): NONE, NO_GUARANTEE and EASY examine it once, in its order;
# CONSERVATIVE and REPLAN plan ahead.


cdef inline bint settles(Pool pool, Model model) noexcept nogil:
    """Return whether attempts that a pass did not start wait until something ends or steps.

    Until then less is free, and the head waits for the same instant with as much to spare: an
    attempt started since ends before that, or took its request from what is to spare. That is not
    so where limits decide which attempt is the head, where passes examine only a few attempts, or
    where the order changes with time.
    """
    return (
        model.rules.order == Order.RANK
        and model.rules.depth == NEVER
        and pool.used.shape[0] == 0
    )


cdef bint pass_greedy(Pool pool, Model model) noexcept nogil:
    """Make a pass of NONE, NO_GUARANTEE or EASY; return whether anything started ends at once."""
    cdef State *state = &pool.state
    cdef int64_t head, looked
    cdef bint again = False
    if state.fresh > state.head and settles(pool, model):  # only later arrivals can start
        if model.rules.backfill != Backfill.NONE and state.fresh < state.tail:
            again = fill_behind(pool, model, state.head, state.fresh)
        state.fresh = state.tail
        return again
    state.shadow = UNKNOWN
    again, head, looked = start_front(pool, model.jobs, model.rules.depth)
    looked += 1  # at the head, which does not fit
    if (
        model.rules.backfill != Backfill.NONE
        and head + 1 < state.tail
        and looked < model.rules.depth
    ):
        if model.rules.depth == NEVER:
            again |= fill_behind(pool, model, head, head + 1)
        else:
            again |= fill_first(pool, model, head, looked)
    state.fresh = state.tail
    return again


cdef (bint, int64_t, int64_t) start_front(Pool pool, Jobs jobs, int64_t depth) noexcept nogil:
    """Start attempts in front, up to the first that does not fit, the head, or ``depth`` of them.

    Attempts held by a limit are skipped, and do not count. Return whether any ends at once, the
    place of the head, and the number started.
    """
    cdef State *state = &pool.state
    cdef int64_t head = state.head, looked = 0
    cdef bint again = False
    while head < state.tail and looked < depth:
        if pool.queue_job[head] != GAP and may_start(pool, head, jobs):
            if not fits_free(pool, head):
                break
            again |= begin(pool, head, jobs, ANYWHERE)
            looked += 1
        head += 1
    return again, head, looked


cdef inline int64_t longest(Model model) noexcept nogil:
    """Return the longest estimate that may overtake the head."""
    return model.rules.window if model.rules.backfill == Backfill.EASY else NEVER


cdef bint fill_first(Pool pool, Model model, int64_t head, int64_t looked) noexcept nogil:
    """Backfill where a pass examines ``depth`` attempts, ``looked`` so far; see ``fill_behind``."""
    cdef int64_t left = UNKNOWN, i
    cdef bint again = False
    for i in range(head + 1, pool.state.tail):
        if looked >= model.rules.depth:
            break
        if pool.queue_job[i] != GAP and may_start(pool, i, model.jobs):
            looked += 1
            if fits_free(pool, i) and pool.queue_estimate[i] <= longest(model):
                if left == UNKNOWN:
                    left = left_to_shadow(pool, model, head)
                if spares_head(pool, i, left):
                    again |= begin(pool, i, model.jobs, where_by(pool, i, left))
    return again


cdef bint fill_behind(Pool pool, Model model, int64_t head, int64_t first) noexcept nogil:
    """Start the attempts from place ``first``, behind the head, that may be started.

    In a long queue, skip blocks of places where nothing can start. Return whether any ends at once.
    """
    cdef State *state = &pool.state
    cdef int64_t tail = state.tail, left = state.shadow
    cdef bint again
    if left != UNKNOWN and left != NEVER:
        left -= state.now
    if tail - first < pool.long_queue:
        again, left = fill_between(pool, model, head, first, tail, left)
    else:
        again, left = fill_blocks(pool, model, head, first, left)
    if left != UNKNOWN and left != NEVER:
        left += state.now
    state.shadow = left
    return again


cdef (bint, int64_t) fill_blocks(
    Pool pool, Model model, int64_t head, int64_t first, int64_t left
) noexcept nogil:
    """Do as ``fill_between`` to the end of the queue, skipping blocks where nothing can start."""
    cdef int64_t tail = pool.state.tail, last = ((tail - 1) >> pool.block_bits) + 1
    cdef int64_t block = next_open(pool, first >> pool.block_bits, last, longest(model), left)
    cdef int64_t start, stop, waiting
    cdef bint again = False, ends
    while block < last:
        start = max(block << pool.block_bits, first)
        stop = min((block + 1) << pool.block_bits, tail)
        if pool.bounds[block] == STALE:
            bound(pool, block, stop)
        else:
            waiting = pool.state.waiting
            ends, left = fill_between(pool, model, head, start, stop, left)
            again |= ends
            if pool.bounds[block] == LOOSE and pool.state.waiting == waiting:
                pool.bounds[block] = STALE
            block += 1
        block = next_open(pool, block, last, longest(model), left)
    return again, left


cdef (bint, int64_t) fill_between(
    Pool pool, Model model, int64_t head, int64_t i, int64_t stop, int64_t left
) noexcept nogil:
    """Start the attempts from place ``i`` to ``stop`` that may be started.

    ``left``: the longest estimate that ends by the shadow, or UNKNOWN. Return whether any attempt
    ends at once, and ``left``, which is computed on demand.
    """
    cdef int64_t window = longest(model)
    cdef bint again = False
    i = next_able(pool, i, stop, window, left)
    while i < stop:
        if fits_free(pool, i) and may_start(pool, i, model.jobs):
            if left == UNKNOWN:
                left = left_to_shadow(pool, model, head)
            if spares_head(pool, i, left):
                again |= begin(pool, i, model.jobs, where_by(pool, i, left))
        i = next_able(pool, i + 1, stop, window, left)
    return again, left


cdef int64_t next_open(
    Pool pool, int64_t block, int64_t stop, int64_t window, int64_t left
) noexcept nogil:
    """Return the first block from ``block`` on, before ``stop``, not excluded by its bounds.

    See ``next_able`` for what excludes an attempt.
    """
    cdef int64_t free = max(pool.free[0], 0)
    cdef int64_t spare = HUGE if left == UNKNOWN else max(pool.spare[0], 0)
    cdef int64_t width = 0  # the bits of what is free
    while width < WIDTHS - 1 and free >> width > 0:
        width += 1
    while (
        block < stop
        and pool.bounds[block] != STALE
        and (
            pool.least[block] > free
            or pool.shortest[width, block] > window
            or (pool.shortest[width, block] > left and pool.least[block] > spare)
        )
    ):
        block += 1
    return block


cdef bint spares_head(Pool pool, int64_t i, int64_t left) noexcept nogil:
    """Return whether the attempt at place ``i`` ends by the shadow, or fits beside the head then.

    In the latter case it takes its request from what the head leaves.
    """
    if pool.queue_estimate[i] <= left:
        return True
    if pool.by_nodes and not fits_beside(pool.places, pool.queue_job[i]):
        return False
    if not fits(pool.queue_request, i, pool.spare):
        return False
    add(pool.spare, pool.queue_request, i, -1)
    return True


cdef inline Where where_by(Pool pool, int64_t i, int64_t left) noexcept nogil:
    """Return which nodes the attempt at place ``i`` may use if it starts before the head."""
    if left == NEVER:
        return ANYWHERE
    return KEPT_FIRST if pool.queue_estimate[i] <= left else BESIDE


cdef int64_t left_to_shadow(Pool pool, Model model, int64_t head) noexcept nogil:
    """Return the seconds left to the shadow under EASY; NEVER: there is none."""
    cdef int64_t shadow = NEVER
    if model.rules.backfill == Backfill.EASY:
        if pool.by_nodes:
            shadow = keep_nodes(pool, pool.places, pool.queue_job[head])
        else:
            shadow = shadow_of(head, pool, model.steps)
    return NEVER if shadow == NEVER else shadow - pool.state.now


cdef int64_t shadow_of(int64_t head, Pool pool, Steps steps) noexcept nogil:
    """Return when the head, a place, is expected to fit, or NEVER; ``spare`` is what it leaves."""
    cdef int64_t ended = 0, step = next_planned(steps, pool.state.step), shadow
    move(pool.spare, 0, pool.free, 0, pool.free.shape[0])
    while True:
        shadow = next_expected(pool, steps, ended, step)
        if shadow == NEVER:
            return NEVER
        while ended < pool.state.running and expected_end(pool, ended) == shadow:
            add(pool.spare, pool.run_request, ended, 1)
            ended += 1
        while step < steps.number and steps.time[step] == shadow:
            add(pool.spare, steps.change, step, 1)
            step = next_planned(steps, step + 1)
        if fits(pool.queue_request, head, pool.spare):
            add(pool.spare, pool.queue_request, head, -1)
            return shadow

# --- plans -----------------------------------------------------------------------------------------


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
        while ended < pool.state.running and expected_end(pool, ended) == instant:
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
    if pool.by_nodes:
        pool.places.plans = 0
    else:
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
            if not pool.by_nodes:
                add_job(
                    pool.profile, state.now, pool.run_expected[i], jobs, pool.run_job[i], 1
                )
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
        elif fits_planned(pool, i):
            if pool.by_nodes:
                retract(pool, i, model.jobs)
                # of its nodes, others may use what it does not
                state.freed = max(state.freed, state.now + pool.queue_estimate[i])
            again |= begin(pool, i, model.jobs, PLANNED)
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
    cdef int64_t freed = state.freed, later = 0, until, plan, i
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
        if advance_plan(pool, i, until, model) and plan != NEVER:
            pool.scratch[i] = plan + pool.queue_estimate[i]
            freed = max(freed, pool.scratch[i])
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
    cdef int64_t start
    if pool.by_nodes:
        start = earliest_on_nodes(pool, pool.places, job, since, NEVER, model)
    else:
        start = earlier(pool.profile, since, NEVER, NEVER, model.jobs, job, every, origin)
    occupy(pool, i, start, model.jobs)
    return start


cdef void occupy(Pool pool, int64_t i, int64_t start, Jobs jobs) noexcept nogil:
    """Plan the attempt at place ``i`` for ``start``; NEVER plans nothing."""
    cdef int64_t job = pool.queue_job[i]
    pool.plan[i] = start
    if start == NEVER:
        return
    if pool.by_nodes:
        enter_plan(pool.places, job, start, start + jobs.estimate[job])
    else:
        add_job(pool.profile, start, start + jobs.estimate[job], jobs, job, -1)


cdef int64_t retract(Pool pool, int64_t i, Jobs jobs) noexcept nogil:
    """Take back the plan of the attempt at place ``i``; return the end of what that frees."""
    cdef int64_t start = pool.plan[i], job = pool.queue_job[i], end
    if start == NEVER:
        return NEVER
    end = start + jobs.estimate[job]
    if pool.by_nodes:
        remove_plan(pool.places, job, start, end)
    else:
        add_job(pool.profile, start, end, jobs, job, 1)
    return end


# --- REPLAN --------------------------------------------------------------------------------------


cdef bint pass_replan(Pool pool, Model model) noexcept nogil:
    """Make a pass of REPLAN; return whether anything started ends at once.

    Attempts held by a limit are skipped: a plan for them would hold up others. Only slurmctld plans
    those held by a limit on a resource, which it examines when nodes are chosen; if they could
    start now but for the limit, it skips them too. Once enough attempts have a place in the plan,
    others start now or not at all.
    """
    cdef State *state = &pool.state
    cdef int64_t looked = 0, reserved = 0, before, start, job, i
    cdef bint again = False, left_behind = False, reserves, may
    if pool.by_nodes:
        pool.places.plans = 0
    else:
        expect(pool, model.steps)
    for i in range(state.head, state.tail):
        job = pool.queue_job[i]
        if job == GAP:
            continue
        may = may_start(pool, i, model.jobs)
        if not may and not (model.rules.between and may_start_but_late(pool, i, model.jobs)):
            continue
        if looked == model.rules.depth:
            break
        looked += 1
        if left_behind and pool.queue_estimate[i] > model.rules.window:
            continue
        reserves = reserved < model.rules.reservations
        start = NEVER
        if reserves or (may and fits_free(pool, i)):
            before = NEVER if reserves else state.now + 1
            if pool.by_nodes:
                start = earliest_on_nodes(pool, pool.places, job, state.now, before, model)
            else:
                start = earlier(pool.profile, state.now, NEVER, before, model.jobs, job, 0, 0)
        if start == state.now:
            if may:
                if not pool.by_nodes:
                    occupy(pool, i, start, model.jobs)
                again |= begin(pool, i, model.jobs, PLANNED)
            continue
        left_behind = True
        if reserves:
            reserve(pool, job, start, model)
            reserved += 1
    return again
