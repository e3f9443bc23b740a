"""Passes that plan ahead (SPEC §4): CONSERVATIVE and REPLAN.

On nodes, a plan keeps whole nodes from its start to its expected end (SPEC §12). The edges of
plans are in the order of time. When parts of an attempt fit on nodes beside what runs is found
once for all attempts of a shape, in a *slot*, until anything is taken or returned.
"""

from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from audit.kernels.rows cimport copy_column, move
from audit.kernels.scheduling.instants cimport NEVER, next_multiple
from audit.kernels.scheduling.model cimport Backfill, Jobs, Model, Steps
from audit.kernels.scheduling.nodes cimport (
    PLANNED, SLOTS, Places, choose_planned, fits_held, lowest_bit, parts_of
)
from audit.kernels.scheduling.pool cimport (
    GAP, LOST, UNPLANNED, Pool, PoolState, expected_end, fits_free, may_start, may_start_but_late,
    next_expected, next_planned, take_steps
)
from audit.kernels.scheduling.profile cimport add_job, earlier, forget_past
from audit.kernels.scheduling.queue cimport begin
from audit.kernels.sweeps cimport first_above


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
    cdef PoolState *state = &pool.state
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
    cdef PoolState *state = &pool.state
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
    cdef PoolState *state = &pool.state
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
    cdef PoolState *state = &pool.state
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


cdef bint advance_plan(Pool pool, int64_t i, int64_t until, Model model) noexcept nogil:
    """Plan the attempt at place ``i`` earlier, before ``until``; return whether that is possible."""
    cdef int64_t now = pool.state.now, plan = pool.plan[i], job = pool.queue_job[i], start
    cdef int64_t every = model.rules.every, origin = model.rules.origin
    if not pool.by_nodes:
        start = earlier(pool.profile, now, plan, until, model.jobs, job, every, origin)
        if start < plan:
            retract(pool, i, model.jobs)
            occupy(pool, i, start, model.jobs)
        return start < plan
    retract(pool, i, model.jobs)
    start = earliest_on_nodes(pool, pool.places, job, now, min(plan, until), model)
    occupy(pool, i, min(start, plan), model.jobs)
    return start < plan


cdef inline bint fits_planned(Pool pool, int64_t i) noexcept nogil:
    """Return whether the attempt at place ``i``, planned for now, still fits."""
    if pool.by_nodes:
        return fits_held(pool.places, pool.queue_job[i])
    return fits_free(pool, i)


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
    cdef PoolState *state = &pool.state
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


cdef void reserve(Pool pool, int64_t job, int64_t start, Model model) noexcept nogil:
    """Plan an attempt for ``start``, if ever; both ends are rounded down, as slurmctld does."""
    cdef int64_t end
    if start == NEVER:
        return
    end = start + model.jobs.estimate[job]
    if model.rules.resolution > 1:
        start -= start % model.rules.resolution
        end -= end % model.rules.resolution
    if start >= end:
        return
    if pool.by_nodes:
        enter_plan(pool.places, job, start, end)
    else:
        add_job(pool.profile, start, end, model.jobs, job, -1)


# --- plans on nodes ------------------------------------------------------------------------------


cdef int64_t earliest_on_nodes(
    Pool pool, Places on, int64_t job, int64_t since, int64_t before, Model model
) noexcept nogil:
    """Return the earliest pass, from ``since`` to ``before``, at which an attempt fits; or NEVER.

    It fits beside running attempts and plans, for as long as it is expected to take, on the nodes
    that are written to its places.
    """
    cdef bint plans_ahead = model.rules.backfill == Backfill.CONSERVATIVE
    cdef int64_t every = model.rules.every if plans_ahead else 0
    cdef int64_t instant = next_multiple(since, every, model.rules.origin)
    cdef int64_t lasts = model.jobs.estimate[job], total = 0, begun = 0, ended = 0
    cdef int64_t slot = find_slot(on, job), ready = slot_begin(on, slot), following, node
    on.fitting[:] = 0
    on.closed[:] = 0
    while instant < before:
        while begun < on.plans and on.begins[begun] - lasts < instant:
            node = on.begins_on[begun]
            if on.closed[node] == 0:
                total -= on.fitting[node]
            on.closed[node] += 1
            begun += 1
        while ended < on.plans and on.ends[ended] <= instant:
            node = on.ends_on[ended]
            on.closed[node] -= 1
            if on.closed[node] == 0:
                total += on.fitting[node]
            ended += 1
        while next_ready(pool, on, slot, ready, job) <= instant:
            node = on.ready_on[ready]
            on.fitting[node] += on.ready_parts[ready]
            if on.closed[node] == 0:
                total += on.ready_parts[ready]
            ready += 1
        if total >= on.nodes.parts[job]:
            choose_planned(on, job, instant == pool.state.now)
            return instant
        following = next_ready(pool, on, slot, ready, job)
        if ended < on.plans:
            following = min(following, on.ends[ended])
        if following == NEVER:
            break
        instant = next_multiple(following, every, model.rules.origin)
    return NEVER


cdef inline int64_t slot_begin(Places on, int64_t slot) noexcept nogil:
    """Return where a slot begins in arrays that have an element for each node in each."""
    return slot * on.free.shape[1]


cdef int64_t find_slot(Places on, int64_t job) noexcept nogil:
    """Return the slot that says when parts of an attempt fit on nodes, beside what runs."""
    cdef int64_t shape = on.nodes.shape[job], set = on.nodes.set[job], begin, level, word, node, x
    cdef int64_t slot = SLOTS if on.nodes.most[job] > 1 else shape % SLOTS
    cdef uint64_t bits
    if on.slot_shape[slot] == shape and on.slot_changes[slot] == on.changes:
        return slot
    begin = slot_begin(on, slot)
    on.slot_shape[slot], on.slot_changes[slot] = shape, on.changes
    on.slot_end[slot], on.slot_ended[slot] = begin, 0
    for x in range(on.free.shape[0]):
        move(on.slot_later[x], begin, on.free[x], 0, on.free.shape[1])
    memset(&on.slot_parts[begin], 0, on.free.shape[1] * sizeof(int64_t))
    for level in range(on.nodes.part[0, job], on.size.shape[0]):
        if on.size[level] == 0:
            continue
        for word in range(on.level.shape[1]):
            bits = on.level[level, word] & on.members[set, word]
            while bits != 0:
                node = (word << 6) + lowest_bit(bits)
                bits &= bits - 1
                grow(on, slot, -NEVER, node, job)
    return slot


cdef inline int64_t next_ready(
    Pool pool, Places on, int64_t slot, int64_t ready, int64_t job
) noexcept nogil:
    """Return the time of an element of a slot; NEVER: it has no more.

    A slot is continued only as far as it is needed. An attempt that still runs is not ready now.
    """
    while ready == on.slot_end[slot]:
        if on.slot_ended[slot] == pool.state.running:
            return NEVER
        continue_slot(pool, on, slot, job)
    return on.ready[ready] if on.ready[ready] == -NEVER else max(
        on.ready[ready], pool.state.now + 1
    )


cdef void continue_slot(Pool pool, Places on, int64_t slot, int64_t job) noexcept nogil:
    """Add to a slot what is ready when the next running attempt is expected to end."""
    cdef int64_t ended = on.slot_ended[slot], begin = slot_begin(on, slot), set = on.nodes.set[job]
    cdef int64_t holder = pool.run_job[ended], place, node, x
    for place in range(on.nodes.first[holder], on.nodes.first[holder] + on.held[holder]):
        node = on.node[place]
        for x in range(on.free.shape[0]):
            on.slot_later[x, begin + node] += on.amount[x, place]
        if on.slot_parts[begin + node] < on.nodes.most[job] and (
            (on.members[set, node >> 6] >> (node & 63)) & 1
        ):
            grow(on, slot, pool.run_expected[ended], node, job)
    on.slot_ended[slot] = ended + 1


cdef inline void grow(
    Places on, int64_t slot, int64_t instant, int64_t node, int64_t job
) noexcept nogil:
    """Note how many more parts of an attempt fit on a node from an instant on."""
    cdef int64_t at = slot_begin(on, slot) + node, end = on.slot_end[slot]
    cdef int64_t count = parts_of(on, on.slot_later, job, at)
    if count > on.slot_parts[at]:
        on.ready[end], on.ready_on[end] = instant, node
        on.ready_parts[end] = count - on.slot_parts[at]
        on.slot_parts[at] = count
        on.slot_end[slot] = end + 1


cdef void enter_plan(Places on, int64_t job, int64_t begin, int64_t end) noexcept nogil:
    """Let an attempt keep the nodes in its places over [begin, end)."""
    cdef int64_t first = on.nodes.first[job], place
    for place in range(first, first + on.held[job]):
        insert_edge(on.begins, on.begins_on, on.plans, begin, on.node[place])
        insert_edge(on.ends, on.ends_on, on.plans, end, on.node[place])
        on.plans += 1


cdef void remove_plan(Places on, int64_t job, int64_t begin, int64_t end) noexcept nogil:
    """Let an attempt keep its nodes no longer."""
    cdef int64_t first = on.nodes.first[job], place
    for place in range(first, first + on.held[job]):
        remove_edge(on.begins, on.begins_on, on.plans, begin, on.node[place])
        remove_edge(on.ends, on.ends_on, on.plans, end, on.node[place])
        on.plans -= 1


cdef void insert_edge(
    int64_t[::1] times, int64_t[::1] nodes, int64_t number, int64_t instant, int64_t node
) noexcept nogil:
    """Insert an edge of a plan behind those up to an instant."""
    cdef int64_t i = first_above(times, 0, number, instant)
    move(times, i + 1, times, i, number - i)
    move(nodes, i + 1, nodes, i, number - i)
    times[i], nodes[i] = instant, node


cdef void remove_edge(
    int64_t[::1] times, int64_t[::1] nodes, int64_t number, int64_t instant, int64_t node
) noexcept nogil:
    """Remove the edge of a plan at an instant on a node."""
    cdef int64_t i = first_above(times, 0, number, instant) - 1
    while nodes[i] != node:
        i -= 1
    move(times, i, times, i + 1, number - i - 1)
    move(nodes, i, nodes, i + 1, number - i - 1)
