# The walk at an instant, and how starts agree with its plan.


cdef void _walk(Sweep s, int64_t now, int64_t then) noexcept nogil:
    """Decide about everything that waits from now on, unless anything happens up to ``then``."""
    cdef bint any = False
    cdef Py_ssize_t k
    cdef int64_t c
    _begin(s, now)
    s.state.walk += 1
    s.walk.steps_before, s.walk.steps = s.walk.steps, 0
    s.walk.step_before, s.walk.step = s.walk.step, s.walk.step_before
    s.walk.notes = s.walk.bars = s.walk.ranges = 0
    for k in range(s.line.actives):
        c = s.line.active[k]
        _consider(s, c)
        any = any or (s.walk.short[c] == FITS and s.line.live[c] > 0)
    if s.walk.all:
        _walk_all(s, now, then)
    elif any:
        _walk_classes(s, now, then)
    if s.line.books:
        _find_ranges(s)
        _share_idle(s)
    if s.made.counts.shape[0] > 0:
        _count_stretches(s)


cdef void _begin(Sweep s, int64_t now) noexcept nogil:
    begin_plan(s.plan, s.state.free, now)
    if s.floor.on:
        begin_floor(s.floor)
    s.counting.walk += 1
    s.walk.alives = 0
    s.walk.failed = False
    s.walk.first_user, s.walk.first_place = UNKNOWN, NEVER


cdef void _consider(Sweep s, int64_t c) noexcept nogil:
    """Begin a walk for an active class."""
    s.walk.short[c] = EXCEEDS if is_out(s, c) else state_of(s, c)
    if s.walk.short[c] == SCATTERED:
        s.walk.lacks[c] = lacking_on(s.nodes, s.floor, s.line.sample[c])
    s.walk.cut[c] = NEVER
    s.walk.fits[c] = s.walk.short[c] == FITS
    s.walk.upcoming[c] = s.line.first_live[c]
    if s.walk.alive_in[c] == s.counting.walk:  # it lost its last block to a rule, and got another
        return
    if s.walk.short[c] != EXCEEDS and (s.walk.all or s.line.live[c] > 0):
        s.walk.alive[s.walk.alives] = c
        s.walk.alives += 1
        s.walk.alive_in[c] = s.counting.walk


cdef inline bint _reserves(Sweep s) noexcept nogil:
    """Return whether another block that cannot start would change anything."""
    return not s.walk.failed if s.walk.strict else s.plan.reservations < s.walk.depth


cdef int64_t _next_class(Sweep s) noexcept nogil:
    """Return the class of the next block to be visited; NOBODY: no later one can start."""
    cdef bint reserves = _reserves(s), any = False
    cdef int64_t c, best = NOBODY, i, first = NEVER
    cdef Py_ssize_t k = 0
    while k < s.walk.alives:
        c = s.walk.alive[k]
        if s.walk.upcoming[c] == NOBODY:
            s.walk.alives -= 1
            s.walk.alive[k], s.walk.alive[s.walk.alives] = s.walk.alive[s.walk.alives], c
            continue
        k += 1
        if s.walk.fits[c]:
            any = True
        elif not reserves:
            continue
        i = s.line.seated[s.walk.upcoming[c]]
        if i < first:
            first, best = i, c
    return best if any else NOBODY


cdef void _walk_classes(Sweep s, int64_t now, int64_t then) noexcept nogil:
    """Visit in their order the blocks that can start, and those that reserve."""
    cdef int64_t c = _next_class(s), slot, next_seat, total
    while c != NOBODY:
        slot = s.line.slot_at[s.walk.upcoming[c]]
        next_seat = s.line.seat[s.line.last[slot]] + 1
        if s.walk.fits[c] and _can_start(s, s.line.first[slot]):
            total = s.line.number[slot]
            if _start(s, slot, now, then) < total:
                next_seat = s.line.seat[s.line.first[slot]]  # the rest, once more
        elif _reserves(s):
            _fail(s, slot)
        if _reserves(s):
            s.walk.upcoming[c] = next_live(s.line, c, next_seat, NEVER)
        elif s.walk.fits[c]:
            s.walk.upcoming[c] = next_live(s.line, c, next_seat, _longest(s, s.line.first[slot]))
        else:
            s.walk.upcoming[c] = NOBODY
        c = _next_class(s)


cdef inline bint _can_start(Sweep s, int64_t i) noexcept nogil:
    """Return whether a request that fits in what is left can start now; write where to ``least_on``."""
    cdef int64_t estimate = s.log.estimate[i]
    if s.floor.on and s.plan.reservations > 0:
        return room_on(s.nodes, s.floor, i, s.plan.now, s.plan.now + estimate) == NEVER
    return estimate <= _longest(s, i)


cdef inline int64_t _longest(Sweep s, int64_t i) noexcept nogil:
    """Return the longest estimate with which a request that fits in what is left can start."""
    if s.walk.strict:
        return -1 if s.walk.failed else NEVER
    if s.plan.reservations == 0:
        return NEVER
    if s.floor.on:
        return room_on(s.nodes, s.floor, i, s.plan.now, NEVER)
    return longest(s.plan, s.log.request, i)


cdef inline bint _fits_left(Sweep s, int64_t c) noexcept nogil:
    """Return whether the requests of a class fit in what is left."""
    if s.floor.on:
        return fits_on(s.nodes, s.floor, s.floor.left_on, s.line.sample[c])
    return fits_left(s.line.request, c, s.plan)


cdef void _claim(
    Sweep s, int64_t i, int64_t count, int64_t last, int64_t user, bint used
) noexcept nogil:
    """Let attempts equal to ``i`` claim the nodes that it ``used``, else those of ``_can_start``.

    If nobody knows what it used, and it starts against the plan, it takes what is left.
    """
    if s.floor.on:
        if used:
            used = s.nodes.first[i] < s.nodes.first[i + 1]
            if not used and not _can_start(s, i):
                s.floor.least_on[:, :] = s.floor.left_on
        if s.plan.reservations == 0:
            s.floor.least_on[:, :] = s.floor.left_on
        claim_on(s.log, s.nodes, s.floor, s.plan.claims, i, s.plan.now, used)
    claim(s.plan, s.log.request, i, s.log.estimate[i], count, last, user, s.log.expected)


cdef void _walk_all(Sweep s, int64_t now, int64_t then) noexcept nogil:
    """Visit all blocks that are not held, in their order."""
    cdef int64_t slot = s.line.front_slot, following, c, total
    while slot != NOBODY:
        following = s.line.behind[slot]
        c = s.line.of[slot]
        if _keep_rules(s, slot, now):
            pass
        elif s.walk.short[c] == EXCEEDS or s.line.has_lapsed[slot]:
            pass
        elif s.walk.fits[c] and _can_start(s, s.line.first[slot]):
            total = s.line.number[slot]
            if _start(s, slot, now, then) < total:
                following = slot  # the rest, once more
        elif _reserves(s):
            _fail(s, slot)
        slot = following


cdef bint _keep_rules(Sweep s, int64_t slot, int64_t now) noexcept nogil:
    """Return whether a rule forbids a block, which then is in no class."""
    cdef int64_t i = s.line.front[slot], c = s.line.of[slot], recorded
    cdef Py_ssize_t rule, known = s.line.forbids.shape[1] - s.rules.recorded
    cdef bint barred = False, exceeds
    exceeds = is_out(s, c) or state_of(s, c) == EXCEEDS
    if not exceeds:
        for rule in range(known):
            s.line.forbids[slot, rule] = forbids(s.rules, s.counting, rule, i, now)
            barred = barred or s.line.forbids[slot, rule]
        s.line.forbids[slot, known:] = 0
        if not barred:
            recorded = recorded_rule(s.log, s.course, i, now)
            if recorded != NOTHING:
                s.line.forbids[slot, recorded] = barred = True
    if barred:
        if s.line.joined[slot]:
            part(s.log, s.line, s.shares, s.state, slot)
        s.walk.barred[s.walk.bars] = slot
        s.walk.bars += 1
    elif not s.line.joined[slot]:
        if s.line.head[c] == NOBODY:
            _consider(s, c)
            s.walk.fits[c] = s.walk.fits[c] and _fits_left(s, c)
            if s.walk.short[c] == FITS and not s.walk.fits[c]:
                s.walk.cut[c] = s.line.first[slot]
        _join(s, slot)
        s.line.fresh[slot] = s.state.walk
    return barred


cdef int64_t _start(Sweep s, int64_t slot, int64_t now, int64_t then) noexcept nogil:
    """Let a block that can start claim; return how many of its members can."""
    cdef int64_t i = s.line.front[slot], c = s.line.of[slot], user = s.log.user[i], count = s.line.number[slot]
    if s.log.flags[i] & RECORDED and s.log.leave[i] == then:
        s.walk.noted[s.walk.notes] = slot
        s.walk.notes += 1
        s.line.stepped[slot] = -s.state.walk
        return count
    if is_planned(s.log, s.course, i, now):
        return count  # something is kept that it would use
    if user == UNKNOWN or not _is_passed(s, user, i):
        count = _claimed_by(s, slot, now)
        if count < s.line.number[slot]:
            slot = split(s.log, s.line, s.shares, s.state, slot, count)
        _claim(s, i, count, s.line.last[slot], user, False)
        if user != UNKNOWN:
            s.walk.user_seen[user] = s.state.walk
        count_claims(s.rules, s.counting, i, count)
        _shrink(s, s.line.last[slot])
    s.walk.step[s.walk.steps] = slot
    s.walk.steps += 1
    s.line.stepped[slot] = s.state.walk
    return count


cdef int64_t _claimed_by(Sweep s, int64_t slot, int64_t now) noexcept nogil:
    """Return how many members of a block, of which one can start, can claim."""
    cdef int64_t i = s.line.front[slot], count
    cdef Py_ssize_t rule
    if s.floor.on:
        return 1  # the next member is visited with what this one leaves
    count = claimable(s.plan, s.log.request, i, s.log.estimate[i], s.line.number[slot])
    for rule in range(s.rules.most.shape[0]):
        count = min(count, allowed(s.rules, s.counting, rule, i, now))
    return count


cdef void _shrink(Sweep s, int64_t last) noexcept nogil:
    """Note which classes no longer fit in what is left behind attempt ``last``."""
    cdef Py_ssize_t k
    cdef int64_t c
    for k in range(s.line.actives):
        c = s.line.active[k]
        if s.walk.fits[c] and not _fits_left(s, c):
            s.walk.fits[c] = False
            s.walk.cut[c] = last + 1


cdef void _fail(Sweep s, int64_t slot) noexcept nogil:
    """Let a block that cannot start reserve for its members, up to the depth."""
    cdef int64_t i = s.line.front[slot], k
    for k in range(s.line.number[slot]):
        if not _reserves(s) or not _reserve(s, slot, i):
            return


cdef bint _reserve(Sweep s, int64_t slot, int64_t i) noexcept nogil:
    """Let a member of a block that cannot start reserve; return False if it never fits."""
    if s.walk.strict:
        s.walk.failed = True
    elif s.floor.on:
        if not reserve_on(s.log, s.nodes, s.floor, s.plan, i, s.plan.now):
            return False
    elif not reserve(s.plan, s.log.request, i, s.log.estimate[i], s.log.expected):
        return False
    if s.walk.first_place == NEVER:
        s.walk.first_user, s.walk.first_place = s.log.user[i], s.line.last[slot]
    return True


cdef void _find_ranges(Sweep s) noexcept nogil:
    """Find the stretches of groups in which only the claims of their own users are in the way."""
    cdef int64_t user, g, c
    cdef Py_ssize_t k, b
    for k in range(s.plan.claims):
        user = s.plan.claim_user[k]
        if user == UNKNOWN or s.walk.user_seen[user] != s.state.walk:
            continue
        s.walk.user_seen[user] = 0
        for b in range(s.line.first_group[user], s.line.first_group[user] + s.line.busies[user]):
            g = s.line.busy[b]
            c = s.line.class_of[g]
            if s.walk.short[c] == FITS and s.walk.cut[c] != NEVER and s.line.live[c] > 0:
                _find_range(s, g, c, user, k)


cdef void _find_range(Sweep s, int64_t g, int64_t c, int64_t user, Py_ssize_t first) noexcept nogil:
    """Find where requests of a class fit in what is left and the user's claims, from its first on."""
    cdef int64_t begin = max(s.walk.cut[c], s.plan.claim_last[first] + 1), end = NEVER
    cdef Py_ssize_t k, x
    if s.floor.on:
        s.floor.then_on[:, :] = s.floor.free_on
    for x in range(s.plan.left.shape[0]):
        s.plan.sums[x] = s.state.free[x]
    for k in range(s.plan.claims):
        if s.plan.claim_user[k] == user:
            continue
        if s.floor.on:
            take_claim(s.floor, k)
            if not fits_on(s.nodes, s.floor, s.floor.then_on, s.line.sample[c]):
                end = s.plan.claim_last[k] + 1
        for x in range(s.plan.left.shape[0]):
            s.plan.sums[x] -= s.plan.claim_count[k] * s.log.request[x, s.plan.claim_of[k]]
            if s.line.request[x, c] > s.plan.sums[x] and s.line.request[x, c] > 0:
                end = min(end, s.plan.claim_last[k] + 1)
        if end != NEVER:
            break
    if begin < end:
        s.walk.range_group[s.walk.ranges] = g
        s.walk.range_from[s.walk.ranges], s.walk.range_to[s.walk.ranges] = begin, end
        s.walk.ranges += 1


cdef void _share_idle(Sweep s) noexcept nogil:
    """Divide what is free of the counted resource among what could have used it."""
    cdef double could = 0.0
    cdef Py_ssize_t k
    cdef int64_t c, slot
    for k in range(s.line.actives):
        c = s.line.active[k]
        if s.walk.short[c] == FITS:
            could += <double> s.line.lapsed[c] * s.line.request[0, c]
    for k in range(s.walk.steps):
        slot = s.walk.step[k]
        could += <double> s.line.number[slot] * s.log.request[0, s.line.first[slot]]
    s.walk.idle = 0.0
    if could > 0.0 and not s.floor.on:
        s.walk.idle = min(max(s.state.free[0], 0) / could, 1.0)
    elif could > 0.0:
        for k in range(s.floor.down.shape[0]):
            if s.floor.down[k] == 0:
                s.walk.idle += max(s.floor.free_on[0, k], 0)
        s.walk.idle = min(s.walk.idle / could, 1.0)


cdef void _count_stretches(Sweep s) noexcept nogil:
    """Count the attempts that are kept now and were not at the instant before."""
    cdef int64_t c, slot, count, number, now = s.state.walk
    cdef Py_ssize_t k
    for k in range(s.line.actives):
        c = s.line.active[k]
        s.walk.tally[c] = 0
        if s.walk.short[c] == FITS and s.line.live[c] > 0:
            s.walk.tally[c] = _living_before(s.line, c, s.walk.cut[c])
            if s.walk.opened[c] == now - 1:
                s.walk.tally[c] -= _living_before(s.line, c, min(s.walk.cut[c], s.walk.cut_before[c]))
    for k in range(s.walk.steps + s.walk.notes):
        slot = s.walk.step[k] if k < s.walk.steps else s.walk.noted[k - s.walk.steps]
        c = s.line.of[slot]
        if s.walk.opened[c] != now - 1 or s.line.first[slot] >= s.walk.cut_before[c]:
            s.walk.tally[c] -= s.line.number[slot]
    for k in range(s.walk.steps_before):
        slot = s.walk.step_before[k]
        c = s.line.of[slot]
        if s.line.stepped[slot] == now - 1 and s.line.joined[slot] and not s.line.has_lapsed[slot]:
            if not s.line.held[slot] and s.line.fresh[slot] != now:
                if _adds(s.walk, c, s.line.first[slot], now):
                    s.walk.tally[c] += s.line.number[slot]
    for k in range(s.walk.freshes):
        slot = s.walk.fresh[k]
        c = s.line.of[slot]
        if s.line.fresh[slot] != now or not s.line.joined[slot] or s.line.held[slot]:
            continue
        if s.line.has_lapsed[slot] or s.line.stepped[slot] == now or s.line.stepped[slot] == -now:
            continue
        if _adds(s.walk, c, s.line.first[slot], now):
            s.walk.tally[c] += s.line.number[slot]
    for k in range(s.line.actives):
        c = s.line.active[k]
        if s.walk.short[c] == FITS:
            s.made.counts[STRETCHES] += s.walk.tally[c]
            s.walk.opened[c] = now
            s.walk.cut_before[c] = s.walk.cut[c]


cdef inline bint _adds(Walk walk, int64_t c, int64_t first, int64_t now) noexcept nogil:
    """Return whether a block that was not kept is not among those counted by their places."""
    return (
        walk.short[c] == FITS and walk.opened[c] == now - 1
        and first < min(walk.cut[c], walk.cut_before[c])
    )


cdef inline int64_t _living_before(Waitlist line, int64_t c, int64_t i) noexcept nogil:
    """Return how many live attempts of a class are ahead of ``i``."""
    if i == NEVER:
        return line.live[c]
    return sum_to(line.living, line.first_seat[c], seat_from(line, c, i) - 1)


cdef void _see_starts(Sweep s, Py_ssize_t begin, Py_ssize_t end, int64_t now) noexcept nogil:
    """Count how what starts now agrees with the plan of what waits longer."""
    cdef int64_t[::1] counts = s.made.counts
    cdef int64_t i, slot = s.line.front_slot
    cdef Py_ssize_t k
    cdef bint waited, behind
    _begin(s, now)
    s.walk.parted = NOBODY
    for k in range(s.line.actives):
        _consider(s, s.line.active[k])
    for k in range(begin, end):
        i = s.log.starters[k]
        slot = _see_ahead(s, slot, i, now)
        waited = s.log.alike[i] != NOBODY
        behind = s.walk.first_place != NEVER
        counts[STARTS] += 1
        counts[WAITED] += waited
        counts[BEHIND] += behind
        counts[WAITED_BEHIND] += behind and waited
        if behind and (s.walk.strict or _longest(s, i) < s.log.estimate[i]):
            counts[BROKEN] += 1
        _claim(s, i, 1, i, UNKNOWN, True)
        count_claims(s.rules, s.counting, i, 1)
        if k + 1 < end:
            _shrink(s, i)
            _skip_ahead(s, i)


cdef void _skip_ahead(Sweep s, int64_t i) noexcept nogil:
    """Let what fit up to attempt ``i`` reserve nothing."""
    cdef Py_ssize_t k
    cdef int64_t c, slot = s.line.slot_of[i]
    for k in range(s.walk.alives):
        c = s.walk.alive[k]
        if s.walk.cut[c] == i + 1:
            s.walk.upcoming[c] = next_live(s.line, c, seat_from(s.line, c, i + 1), NEVER)
            if slot == NOBODY or s.line.of[slot] != c or s.line.has_lapsed[slot]:
                continue
            if not s.line.held[slot] and _straddles(s, slot, i) and _part(s, slot, i):
                s.walk.upcoming[c] = s.line.seat[s.line.first[slot]]


cdef inline bint _straddles(Sweep s, int64_t slot, int64_t i) noexcept nogil:
    """Return whether attempt ``i``, which starts, was a member of a block that waits on."""
    return s.line.number[slot] > 0 and s.line.first[slot] <= i <= s.line.last[slot]


cdef bint _part(Sweep s, int64_t slot, int64_t i) noexcept nogil:
    """Let a block go on behind its member ``i``, which starts; return whether any member is there."""
    cdef int64_t member = s.line.following[i]
    while member != NOBODY and s.log.leave[member] <= s.state.now:
        member = s.line.following[member]
    s.walk.parted, s.walk.member = slot, member
    return member != NOBODY


cdef inline int64_t _next_member(Sweep s, int64_t slot) noexcept nogil:
    """Return the first member of a block that was not looked at yet."""
    return s.walk.member if slot == s.walk.parted else s.line.front[slot]


cdef bint _see_members(Sweep s, int64_t slot, int64_t i, bint fails) noexcept nogil:
    """Let the members of a block ahead of attempt ``i`` reserve if they fail.

    Returns whether there are members behind it.
    """
    cdef int64_t member = _next_member(s, slot)
    if slot != s.walk.parted and not _straddles(s, slot, i):
        if fails:
            _fail(s, slot)
        return False
    while fails and _reserves(s) and member != NOBODY and member < i:
        fails = _reserve(s, slot, member)
        member = s.line.following[member]
    if _straddles(s, slot, i):
        return _part(s, slot, i)
    s.walk.parted = NOBODY
    return False


cdef int64_t _see_ahead(Sweep s, int64_t slot, int64_t i, int64_t now) noexcept nogil:
    """Let blocks ahead of attempt ``i`` reserve that do not fit in what is left."""
    cdef int64_t c, best, first, member
    cdef Py_ssize_t k
    if s.walk.all:
        while slot != NOBODY and _next_member(s, slot) < i and _reserves(s):
            if _see_members(
                s, slot, i,
                not s.line.has_lapsed[slot] and not is_out(s, s.line.of[slot])
                and state_of(s, s.line.of[slot]) != EXCEEDS
                and not (
                    state_of(s, s.line.of[slot]) == FITS and _fits_left(s, s.line.of[slot])
                )
                and not is_forbidden(s.rules, s.counting, s.line.front[slot], now)
                and recorded_rule(s.log, s.course, s.line.front[slot], now) == NOTHING,
            ):
                break
            slot = s.line.behind[slot]
        return slot
    while _reserves(s):
        best, first = NOBODY, i
        for k in range(s.walk.alives):
            c = s.walk.alive[k]
            if not s.walk.fits[c] and s.walk.upcoming[c] != NOBODY:
                member = _next_member(s, s.line.slot_at[s.walk.upcoming[c]])
                if member < first:
                    first, best = member, c
        if best == NOBODY:
            break
        slot = s.line.slot_at[s.walk.upcoming[best]]
        if _see_members(s, slot, i, True):
            continue
        s.walk.upcoming[best] = next_live(s.line, best, s.line.seat[s.line.last[slot]] + 1, NEVER)
    return slot
