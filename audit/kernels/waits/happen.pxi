# What happens at an instant: attempts arrive, are held, start, end, leave and lapse.


cdef Coming _happen(Sweep s, Coming coming, int64_t now) noexcept nogil:
    """Let everything happen that happens at an instant; return what comes next."""
    cdef Py_ssize_t x, first
    while coming.node < s.nodes.change.shape[0] and s.nodes.change_time[coming.node] == now:
        _change_node(s, s.nodes.change_node[coming.node], s.nodes.change[coming.node])
        coming.node += 1
    while coming.cut < s.course.cut.shape[0] and s.course.cut[coming.cut] == now:
        coming.cut += 1
    while coming.step < s.course.step.shape[0] and s.course.step[coming.step] == now:
        for x in range(s.state.free.shape[0]):
            s.state.capacity[x] += s.course.change[coming.step, x]
            s.state.free[x] += s.course.change[coming.step, x]
        coming.step += 1
    _move_outages(s, now)
    move_spans(s.rules, s.counting, now)
    while time_at(s.log.leave, s.log.by_leave, coming.leave) == now:
        _leave(s, s.log.by_leave[coming.leave], now)
        coming.leave += 1
    coming = _hold(s, coming, now)
    while coming.planned < s.log.by_planned.shape[0] and _planned(
        s, s.log.by_planned[coming.planned]
    ) <= now:
        _pass_plan(s, s.log.by_planned[coming.planned])
        coming.planned += 1
    while time_at(s.log.end, s.log.by_end, coming.end) == now:
        _occupy(s, s.log.by_end[coming.end], -1)
        coming.end += 1
    while time_at(s.log.arrival, s.log.by_arrival, coming.arrival) == now:
        coming.arrival = _arrive(s, coming.arrival, now)
    first = coming.starter
    while time_at(s.log.start, s.log.starters, coming.starter) == now:
        coming.starter += 1
    if first < coming.starter and s.idle is None and s.made.counts.shape[0] > 0:
        _see_starts(s, first, coming.starter, now)
    while time_at(s.log.start, s.log.by_start, coming.start) == now:
        _occupy(s, s.log.by_start[coming.start], 1)
        coming.start += 1
    return coming


cdef void _move_outages(Sweep s, int64_t now) noexcept nogil:
    """Note which parts of the machine are in an outage."""
    cdef Py_ssize_t part
    cdef int64_t place
    s.state.out = 0
    for part in range(s.state.outage.shape[0]):
        place = s.state.outage[part]
        while place < s.course.first_outage[part + 1] and s.course.outage_to[place] <= now:
            place += 1
        s.state.outage[part] = place
        if place < s.course.first_outage[part + 1] and s.course.outage_from[place] <= now:
            s.state.out |= <int64_t> 1 << part


cdef inline int64_t _planned(Sweep s, int64_t i) noexcept nogil:
    """Return the planned end of attempt ``i``."""
    return s.log.start[i] + s.rules.length[i]


cdef void _pass_plan(Sweep s, int64_t i) noexcept nogil:
    """Let attempt ``i`` run beyond its planned end: it has no remaining time."""
    cdef Py_ssize_t rule
    for rule in range(s.rules.most.shape[0]):
        if s.rules.remaining[rule]:
            count_planned(s.rules, s.counting, rule, i, s.log.start[i], -1)


cdef void _occupy(Sweep s, int64_t i, int64_t sign) noexcept nogil:
    """Let attempt ``i``, which does not wait, take its resources (1) or return them (−1)."""
    cdef Py_ssize_t x
    for x in range(0 if s.idle is None else s.idle.running.shape[0]):
        s.idle.running[x] += (home_of(s, i) >> x & 1) * sign
    count_running(s.rules, s.counting, i, s.log.start[i], _planned(s, i) < s.log.end[i], sign)
    if s.floor.on:
        move_on(s.nodes, s.floor, s.state, i, sign)
    else:
        for x in range(s.state.free.shape[0]):
            s.state.moved[x] = sign * s.log.use[x, i]
            s.state.free[x] -= s.state.moved[x]
    _move(s, i)
    if s.idle is None:
        if s.floor.on:
            note_run(s.log, s.floor, i, sign)
        else:
            expect_end(s.plan, s.log.use, i, s.log.due[i], sign)


cdef void _move(Sweep s, int64_t i) noexcept nogil:
    """Change what is used, in all and by users, by ``moved``, which is attempt ``i``'s."""
    cdef Py_ssize_t x
    cdef int64_t user = s.log.user[i]
    for x in range(s.state.free.shape[0]):
        s.state.used[x] += s.state.moved[x]
        if user != UNKNOWN:
            s.state.by_user[x, user] += s.state.moved[x]
    if s.line.books:
        change_shares(s.log, s.line, s.shares, s.state, i)


cdef void _change_node(Sweep s, int64_t node, int64_t change) noexcept nogil:
    """Count one reason more (1) or less (−1) for which a node is unavailable.

    What runs on it holds nothing of what may be used while it is.
    """
    cdef int64_t sign = set_down(s.nodes, s.floor, s.state, node, change), i
    cdef Py_ssize_t r, place
    for r in range(s.floor.runs if sign != 0 else 0):
        i = s.floor.run[r]
        for place in range(s.nodes.first[i], s.nodes.first[i + 1]):
            if s.nodes.node[place] == node:
                s.state.moved[:] = 0
                move_at(s.nodes, s.floor, s.state, place, sign)
                _move(s, i)


cdef Py_ssize_t _arrive(Sweep s, Py_ssize_t coming, int64_t now) noexcept nogil:
    """Let the next block arrive; return the next attempt to arrive."""
    cdef int64_t i = s.log.by_arrival[coming], previous = NOBODY, block = s.log.block[i], slot
    cdef Py_ssize_t x
    s.line.spares -= 1
    slot = s.line.spare[s.line.spares]
    s.line.first[slot] = s.line.front[slot] = i
    s.line.of[slot] = s.log.alike[i]
    s.line.number[slot] = s.line.joined[slot] = s.line.has_lapsed[slot] = s.line.stepped[slot] = 0
    s.line.span[slot] = NOBODY
    s.line.sums[slot, :] = 0
    s.line.parts[slot, :] = 0.0
    s.line.forbidden[slot, :] = 0
    s.line.forbids[slot, :] = 0
    s.line.lacking[slot, :] = 0
    while coming < s.log.by_arrival.shape[0] and s.log.block[s.log.by_arrival[coming]] == block:
        i = s.log.by_arrival[coming]
        s.line.slot_of[i] = s.line.last[slot] = slot
        s.line.previous[i], s.line.following[i] = previous, NOBODY
        if previous != NOBODY:
            s.line.following[previous] = i
        previous = i
        s.line.number[slot] += 1
        coming += 1
    s.line.last[slot] = previous
    s.line.held[slot] = is_held(s.log, s.course, s.line.first[slot], now)
    s.line.held_since[slot] = now
    if not s.line.held[slot]:
        enter(s.line, slot)
    if s.idle is None:
        _join(s, slot)
    return coming


cdef inline void _join(Sweep s, int64_t slot) noexcept nogil:
    join(s.log, s.line, s.shares, s.state, slot)
    s.walk.fresh[s.walk.freshes] = slot
    s.walk.freshes += 1


cdef Coming _hold(Sweep s, Coming coming, int64_t now) noexcept nogil:
    """Hold the blocks that are held from now on, and release those that no longer are."""
    cdef int64_t i
    while coming.release < s.course.by_release.shape[0]:
        if s.course.hold_to[s.course.by_release[coming.release]] > now:
            break
        i = s.course.held[s.course.by_release[coming.release]]
        if s.log.arrival[i] < now < s.log.leave[i] and not is_held(s.log, s.course, i, now):
            _set_held(s, s.line.slot_of[i], 0, now)
        coming.release += 1
    while coming.hold < s.course.by_hold.shape[0]:
        if s.course.hold_from[s.course.by_hold[coming.hold]] > now:
            break
        i = s.course.held[s.course.by_hold[coming.hold]]
        if s.log.arrival[i] < now < s.log.leave[i] and is_held(s.log, s.course, i, now):
            _set_held(s, s.line.slot_of[i], 1, now)
        coming.hold += 1
    return coming


cdef void _set_held(Sweep s, int64_t slot, uint8_t held, int64_t now) noexcept nogil:
    """Hold a block from now on (1), or no longer (0)."""
    if s.line.held[slot] == held:
        return
    if s.line.joined[slot]:
        part(s.log, s.line, s.shares, s.state, slot)
    if held:
        quit(s.line, slot)
        s.line.held_since[slot] = now
    elif s.idle is None:
        _note_hold(s, slot, now)
    s.line.held[slot] = held
    if not held:
        enter(s.line, slot)
    if s.idle is None:
        _join(s, slot)


cdef void _note_hold(Sweep s, int64_t slot, int64_t now) noexcept nogil:
    """Note the hold of a block that ends; that of a traced attempt is noted as time passes."""
    if not s.log.flags[s.line.first[slot]] & TRACED:
        _note(s, slot, HELD, s.line.held_since[slot], now)


cdef void _leave(Sweep s, int64_t i, int64_t now) noexcept nogil:
    """Remove attempt ``i`` from its block, and the block after its last member."""
    cdef int64_t slot = s.line.slot_of[i], previous = s.line.previous[i], following = s.line.following[i]
    cdef bint last = s.line.number[slot] == 1
    if last and s.line.joined[slot]:
        part(s.log, s.line, s.shares, s.state, slot)
    if s.idle is None:
        if s.line.books:
            _complete(s, slot, i)
        if last and s.line.held[slot]:
            _note_hold(s, slot, now)
    if previous != NOBODY:
        s.line.following[previous] = following
    else:
        s.line.front[slot] = following
    if following != NOBODY:
        s.line.previous[following] = previous
    if not last and s.line.joined[slot] and not s.line.held[slot]:
        if s.line.has_lapsed[slot]:
            s.line.lapsed[s.line.of[slot]] -= 1
        else:
            s.line.live[s.line.of[slot]] -= 1
            add_at(
                s.line.living, s.line.first_seat[s.line.of[slot]], s.line.first_seat[s.line.of[slot] + 1],
                s.line.seat[s.line.first[slot]], -1
            )
    s.line.number[slot] -= 1
    if last:
        if not s.line.held[slot]:
            quit(s.line, slot)
        s.line.stepped[slot] = 0
        s.line.spare[s.line.spares] = slot
        s.line.spares += 1


cdef void _complete(Sweep s, int64_t slot, int64_t i) noexcept nogil:
    """Write what attempt ``i``, which leaves, is booked."""
    cdef double[:, ::1] seconds = s.made.seconds
    cdef int64_t[::1] sums = s.line.sums[slot]
    cdef double[::1] parts = s.line.parts[slot]
    cdef bint open = s.line.joined[slot]
    cdef int64_t late = 0
    cdef Py_ssize_t rule
    cdef double own, earlier
    if open:
        settle(s.log, s.line, s.shares, s.state, slot, 1, sums, parts)
    if s.log.cycle[i] != NEVER:
        late = sums[AGE] - s.mark[i]
    own = min(_rounded(parts[0]), <double> sums[LACKING])
    earlier = min(_rounded(parts[1]), sums[LACKING] - own)
    _write(seconds, HELD, i, sums[ON_HOLD])
    _write(seconds, UNAVAILABLE, i, sums[UP])
    _write(seconds, RULE, i, sums[BARRED])
    _write(seconds, RULE_FREE, i, sums[BARRED_FREE])
    _write(seconds, OWN_QUEUED, i, sums[BEHIND_OWN])
    _write(seconds, OWN_RUNNING, i, own)
    _write(seconds, KEPT_OWN, i, sums[FOR_OWN])
    _write(seconds, CLAIMED, i, sums[BEYOND] - sums[BEHIND_OWN])
    _write(seconds, KEPT, i, sums[FIT] - sums[AGE] - sums[BEYOND] - sums[FOR_OWN])
    _write(seconds, EARLIER, i, earlier)
    _write(seconds, LATER, i, sums[LACKING] - own - earlier)
    _write(seconds, CYCLE, i, late)
    _write(seconds, UNEXPLAINED, i, sums[AGE] - late + sums[STILL])
    _write(seconds, NODES, i, sums[APART])
    s.made.lapsed[i] = s.line.has_lapsed[slot]
    if parts[2] > 0:
        s.made.idle[i] = parts[2] * s.log.request[0, i]
    for rule in range(s.made.forbidden.shape[0]):
        if s.line.forbidden[slot, rule] > 0:
            s.made.forbidden[rule, i] = s.line.forbidden[slot, rule]
    for rule in range(s.made.lacking.shape[0]):
        if s.line.lacking[slot, rule] > 0:
            s.made.lacking[rule, i] = s.line.lacking[slot, rule]
    if open:
        settle(s.log, s.line, s.shares, s.state, slot, -1, sums, parts)


cdef inline void _write(
    double[:, ::1] seconds, Py_ssize_t cause, int64_t i, double value
) noexcept nogil:
    """Write seconds that are not 0: memory of zeros that nothing writes is never taken."""
    if value != 0:
        seconds[cause, i] = value


cdef inline double _rounded(double seconds) noexcept nogil:
    """Return a difference of rounded sums, whole if it is nearly so, ≥ 0."""
    cdef double whole = rint(seconds)
    return max(whole if fabs(seconds - whole) < ROUNDING else seconds, 0.0)


cdef Py_ssize_t _mark_cycles(Sweep s, Py_ssize_t coming, int64_t now) noexcept nogil:
    """Note the age of attempts whose last cycle begins by now; return the next."""
    cdef int64_t i, slot
    while time_at(s.log.cycle, s.log.by_cycle, coming) <= now:
        i = s.log.by_cycle[coming]
        slot = s.line.slot_of[i]
        s.mark[i] = s.line.sums[slot, AGE]
        if s.line.stepped[slot] == s.state.walk:
            s.mark[i] += s.log.cycle[i] - s.state.now
        coming += 1
    return coming


cdef void _lapse_all(Sweep s) noexcept nogil:
    """Let the blocks lapse that have come of age."""
    cdef Py_ssize_t k
    cdef int64_t slot
    for k in range(s.walk.steps):
        slot = s.walk.step[k]
        if s.line.sums[slot, AGE] >= s.line.lapse:
            if s.made.counts.shape[0] > 0:
                s.made.counts[LAPSES] += s.line.number[slot]
            lapse(s.log, s.line, s.shares, s.state, slot)


cdef int64_t _next_lapse(Sweep s, int64_t now) noexcept nogil:
    cdef Py_ssize_t k
    cdef int64_t oldest = -1
    for k in range(s.walk.steps):
        oldest = max(oldest, s.line.sums[s.walk.step[k], AGE])
    return NEVER if oldest < 0 else now + s.line.lapse - oldest


cdef bint _is_passed(Sweep s, int64_t user, int64_t i) noexcept nogil:
    """Return whether an attempt of a user ahead of ``i`` has lapsed."""
    cdef int64_t slot = s.line.first_lapsed[user]
    while slot != NOBODY and s.line.first[slot] < i:
        if s.walk.short[s.line.of[slot]] != EXCEEDS:
            return True
        slot = s.line.lapsed_after[slot]
    return False
