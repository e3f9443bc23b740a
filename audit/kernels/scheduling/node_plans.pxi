# Plans on nodes: from its start to its expected end, a plan keeps whole nodes (SPEC §12).
#
# The edges of plans are in the order of time. When parts of an attempt fit on nodes beside what
# runs is found once for all attempts of a shape, in a *slot*, until anything is taken or returned.


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

    A slot is continued only as far as it is needed. What still runs is not ready now.
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
