# Time passes: what the decisions of the last walk add to the sums.


cdef void _pass(Sweep s, int64_t now) noexcept nogil:
    """Book the time from the last instant up to ``now``."""
    cdef int64_t time = now - s.state.now, c, slot, short
    cdef Py_ssize_t k
    if time == 0:
        return
    for k in range(s.line.actives):
        c = s.line.active[k]
        short = s.walk.short[c]
        if short == FITS:
            s.line.fitting[c] += time
            s.line.idle[c] += s.walk.idle * time
            if s.walk.cut[c] != NEVER:
                _add_behind(s.line, c, s.walk.cut[c], time)
        elif short == EXCEEDS:
            s.line.up[c] += time
        elif short == SCATTERED:
            s.line.apart[c] += time
            s.line.apart_for[c, s.walk.lacks[c]] += time
        else:
            s.line.lacks[c] += time
            s.shares.weight[short, c] += <double> time / s.state.used[s.line.kind[c] + short]
    for k in range(s.walk.ranges):
        _add_for(s.line, s.line.behind_own, s.walk.range_group[k], s.walk.range_from[k], time)
        _add_for(s.line, s.line.behind_own, s.walk.range_group[k], s.walk.range_to[k], -time)
    _pass_kept(s, time)
    for k in range(s.walk.steps):
        slot = s.walk.step[k]
        s.line.sums[slot, AGE] += time
        s.line.parts[slot, 2] += s.walk.idle * time
    for k in range(s.walk.notes):
        s.line.sums[s.walk.noted[k], ON_HOLD] += time
        s.line.sums[s.walk.noted[k], FIT] -= time
        _note(s, s.walk.noted[k], HELD, s.state.now, now)
    for k in range(s.walk.bars):
        _bar(s, s.walk.barred[k], now)
    if s.walk.traced != NOBODY:
        _trace(s, s.walk.traced, now)


cdef void _note_room(Sweep s, int64_t now) noexcept nogil:
    """Note what could start up to ``now``, what was held or forbidden, and the classes that were free."""
    cdef int64_t c, last
    cdef int64_t* place
    cdef Py_ssize_t k
    if now == s.state.now:
        return
    for k in range(s.walk.steps):
        s.line.sums[s.walk.step[k], AGE] += now - s.state.now
        _note(s, s.walk.step[k], UNEXPLAINED, s.state.now, now)
    for k in range(s.walk.notes):
        _note(s, s.walk.noted[k], HELD, s.state.now, now)
    for k in range(s.walk.bars):
        _note(s, s.walk.barred[k], RULE, s.state.now, now)
    for k in range(s.line.actives):
        c = s.line.active[k]
        if s.walk.short[c] != FITS:
            continue
        last = s.line.free_span[c]
        if last != NOBODY and s.made.room.held[last * 3 + 2] == s.state.now:
            s.made.room.held[last * 3 + 2] = now
            continue
        place = add_row(s.made.room)
        if place != NULL:
            place[0], place[1], place[2] = c, s.state.now, now
            s.line.free_span[c] = s.made.room.count - 1


cdef inline void _add_behind(Waitlist line, int64_t c, int64_t i, int64_t time) noexcept nogil:
    """Add time in which a class fits, but not in what claims left, from attempt ``i`` on."""
    add_at(line.beyond, line.first_seat[c], line.first_seat[c + 1], seat_from(line, c, i), time)


cdef inline void _add_for(
    Waitlist line, int64_t[::1] tree, int64_t g, int64_t i, int64_t time
) noexcept nogil:
    """Add time for a group from attempt ``i`` on."""
    cdef int64_t begin = line.first_place[g], end = line.first_place[g + 1]
    add_at(tree, begin, end, first_above(line.placed, begin, end, i - 1), time)


cdef void _pass_kept(Sweep s, int64_t time) noexcept nogil:
    """Add the time in which enough is kept for a job of their own user."""
    cdef int64_t user = s.walk.first_user, g, c, slot
    cdef Py_ssize_t k
    if user == UNKNOWN:
        return
    for k in range(s.line.first_group[user], s.line.first_group[user] + s.line.busies[user]):
        g = s.line.busy[k]
        c = s.line.class_of[g]
        if s.walk.short[c] == FITS and s.walk.cut[c] > s.walk.first_place:
            _add_for(s.line, s.line.for_own, g, s.walk.first_place + 1, time)
            if s.walk.cut[c] != NEVER:
                _add_for(s.line, s.line.for_own, g, s.walk.cut[c], -time)
    for k in range(s.walk.steps + s.walk.notes):
        slot = s.walk.step[k] if k < s.walk.steps else s.walk.noted[k - s.walk.steps]
        if s.log.user[s.line.first[slot]] == user and s.line.first[slot] > s.walk.first_place:
            s.line.sums[slot, FOR_OWN] -= time


cdef void _bar(Sweep s, int64_t slot, int64_t now) noexcept nogil:
    """Book the time in which rules forbid a block."""
    cdef int64_t time = now - s.state.now, named = NOBODY
    cdef Py_ssize_t rule, rules = s.line.forbids.shape[1]
    s.line.sums[slot, BARRED] += time
    if state_of(s, s.line.of[slot]) == FITS:
        s.line.sums[slot, BARRED_FREE] += time
    for rule in range(rules):
        if s.line.forbids[slot, rule]:
            s.line.forbidden[slot, rule] += time
            if named == NOBODY:
                named = rule
    if s.log.flags[s.line.first[slot]] & TRACED:
        if s.line.span[slot] != NOBODY:
            rule = s.made.spans.held[s.line.span[slot] * SPAN + 2] - LAPSED - 1
            if 0 <= rule < rules and s.line.forbids[slot, rule]:
                named = rule
        _note(s, slot, LAPSED + 1 + named, s.state.now, now)
    else:
        _note(s, slot, RULE, s.state.now, now)


cdef void _note(Sweep s, int64_t slot, int64_t cause, int64_t begin, int64_t end) noexcept nogil:
    """Note a stretch of one cause in the wait of a block, or lengthen its last one."""
    cdef int64_t* place
    cdef int64_t last = s.line.span[slot]
    if begin == end:
        return
    if last != NOBODY:
        place = s.made.spans.held + last * SPAN
        if place[2] == cause and place[4] == begin:
            place[4] = end
            return
    place = add_row(s.made.spans)
    if place == NULL:
        return
    place[0], place[1], place[2] = s.line.first[slot], s.line.last[slot], cause
    place[3], place[4] = begin, end
    s.line.span[slot] = s.made.spans.count - 1


cdef void _trace(Sweep s, int64_t i, int64_t now) noexcept nogil:
    """Note the cause of the time up to ``now`` of the traced attempt if it waits."""
    cdef int64_t slot = s.line.slot_of[i], since = s.state.now, cause, late = 0
    if slot == NOBODY or s.line.first[slot] != i or not s.log.arrival[i] <= since < s.log.leave[i]:
        return
    if not s.line.joined[slot] or s.line.stepped[slot] == -s.state.walk:
        return  # a rule forbids it, or its reason was recorded
    cause = _cause(s, slot, i)
    if cause == UNEXPLAINED:
        late = max(now - max(since, s.log.cycle[i]), 0)
    _note(s, slot, cause, since, now - late)
    _note(s, slot, CYCLE, now - late, now)


cdef int64_t _cause(Sweep s, int64_t slot, int64_t i) noexcept nogil:
    """Return the cause to which the last walk booked a block that has joined its class."""
    cdef int64_t c = s.line.of[slot], user = s.log.user[i], short = s.walk.short[c]
    cdef int64_t own = 0, earlier, used
    cdef Py_ssize_t k
    if short == EXCEEDS:
        return UNAVAILABLE
    if s.line.held[slot]:
        return HELD
    if short == SCATTERED:
        return NODES
    if short != FITS:
        if user != UNKNOWN:
            own = s.state.by_user[s.line.kind[c] + short, user]
        used = s.state.used[s.line.kind[c] + short]
        earlier = others_ahead(s.log, s.line, s.shares, short, c, i)
        if 3 * own >= used:
            return OWN_RUNNING
        return EARLIER if 2 * earlier >= used - own else LATER
    if s.line.has_lapsed[slot]:
        return LAPSED
    if s.line.stepped[slot] == s.state.walk:
        return UNEXPLAINED
    if i < s.walk.cut[c]:
        if user != UNKNOWN and user == s.walk.first_user and i > s.walk.first_place:
            return KEPT_OWN
        return KEPT
    for k in range(s.walk.ranges):
        if s.walk.range_group[k] == s.line.group[i] and s.walk.range_from[k] <= i < s.walk.range_to[k]:
            return OWN_QUEUED
    return CLAIMED
