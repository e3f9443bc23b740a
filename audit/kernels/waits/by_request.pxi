# The account of a pool without rules and nodes, by the classes of a ``Crowd``.


cdef void _sweep_crowd(
    Log log, Nodes nodes, Times times, Rules rules, State state, Crowd crowd, Bookings made, Idle idle
) noexcept nogil:
    cdef Next coming = Next(0, 0, 0, 0, 0, 0, 0)
    cdef Marks marks = Marks(0, 0, 0, 0)
    cdef int64_t now
    cdef Py_ssize_t x, arrival
    cdef bint booking = idle is None
    while coming.leave < log.by_leave.shape[0]:
        now = _next_time(log, nodes, times, coming)
        arrival = coming.arrival
        coming.arrival = _arrive(log, times, state, crowd, made, coming.arrival, now, False)
        if booking:
            _pass(log, state, crowd, now)
            marks = _pass_marks(log, crowd, made, marks, now)
            while arrival < coming.arrival:
                _begin(log, state, crowd, made, log.by_arrival[arrival], now)
                arrival += 1
            if crowd.traced != NOBODY:
                _trace(log, times, state, crowd, made, crowd.traced, now)
        elif state.running == 0 and idle.count > 0:
            _watch_crowd(log, state, crowd, idle, now)
        while coming.cut < times.cut.shape[0] and times.cut[coming.cut] == now:
            coming.cut += 1
        marks = _hold(log, times, state, crowd, made, marks, now, booking)
        while coming.step < times.step.shape[0] and times.step[coming.step] == now:
            for x in range(state.free.shape[0]):
                state.capacity[x] += times.change[coming.step, x]
                state.free[x] += times.change[coming.step, x]
            coming.step += 1
        while time_at(log.leave, log.by_leave, coming.leave) == now:
            _leave_crowd(log, state, crowd, made, log.by_leave[coming.leave], now, booking)
            coming.leave += 1
        crowd.since = now
        while time_at(log.end, log.by_end, coming.end) == now:
            _occupy_for(log, state, crowd, log.by_end[coming.end], -1)
            coming.end += 1
        coming.arrival = _arrive(log, times, state, crowd, made, coming.arrival, now + 1, booking)
        while time_at(log.start, log.by_start, coming.start) == now:
            _occupy_for(log, state, crowd, log.by_start[coming.start], 1)
            coming.start += 1
        if idle is not None:
            _note_idle(idle, state.running, now)
        turn(times, rules, state, now)


cdef struct Marks:
    # The next of the instants that matter for single attempts: indices into the orders of a crowd.
    Py_ssize_t cycle
    Py_ssize_t ready
    Py_ssize_t hold
    Py_ssize_t release


cdef Py_ssize_t _arrive(
    Log log, Times times, State state, Crowd crowd, Bookings made, Py_ssize_t coming,
    int64_t before, bint booking
) noexcept nogil:
    """Let attempts join that arrive before an instant; return the next to arrive."""
    cdef int64_t i
    while time_at(log.arrival, log.by_arrival, coming) < before:
        i = log.by_arrival[coming]
        if not is_held(log, times, i, log.arrival[i]):
            _join(log, crowd, i)
            if booking:
                _settle(log, state, crowd, made, i, -1, crowd.since)
        coming += 1
    return coming


cdef void _begin(
    Log log, State state, Crowd crowd, Bookings made, int64_t i, int64_t now
) noexcept nogil:
    """Book the time up to ``now`` for attempt ``i``, which arrived since the last instant.

    Everything that runs arrived before it.
    """
    cdef int64_t since = log.arrival[i], c = crowd.of[i], cause, late, short = crowd.short[c]
    cdef double time = <double> (now - since), own
    if crowd.joined[i] == AWAY:
        return
    cause = _cause(state, crowd, i)
    if cause == LATER:
        own = time * state.by_user[short, log.user[i]] / state.used[short]
        made.seconds[OWN_RUNNING, i] += own
        made.seconds[EARLIER, i] += time - own
        made.seconds[LATER, i] += time
    elif cause == UNEXPLAINED and log.flags[i] & RECORDED and log.leave[i] == now:
        made.seconds[HELD, i] += time
    else:
        made.seconds[cause, i] += time
        if cause == UNEXPLAINED:
            made.seconds[CYCLE, i] += max(now - max(since, log.cycle[i]), 0)
            made.seconds[KEPT, i] += min(max(log.ready[i] - since, 0), now - since)
    _settle(log, state, crowd, made, i, -1, now)


cdef void _settle(
    Log log, State state, Crowd crowd, Bookings made, int64_t i, int64_t sign, int64_t now
) noexcept nogil:
    """Add the sums up to ``now`` to what attempt ``i`` is booked, or subtract them (−1)."""
    cdef int64_t c = crowd.of[i], g = crowd.group[i], user = log.user[i]
    cdef Py_ssize_t x, n = log.user.shape[0]
    cdef int64_t claims = _claimed_time(crowd, i), queued = 0
    cdef double own = 0.0, ahead
    ahead = -crowd.ahead_of_all[c] - sum_to(crowd.ahead, crowd.first_seat[c], crowd.seat[i])
    for x in range(log.request.shape[0]):
        ahead += crowd.weight[x, c] * sum_to(crowd.running, x * n, x * n + i)
    if g != NOBODY:
        queued = sum_to(crowd.own_queued, crowd.first_place[g], crowd.place[i])
        own = -crowd.own[g]
        ahead += crowd.own_ahead_of_all[g]
        ahead += sum_to(crowd.own_ahead, crowd.first_place[g], crowd.place[i])
        for x in range(log.request.shape[0]):
            own += crowd.weight[x, c] * state.by_user[x, user]
            ahead -= crowd.weight[x, c] * sum_to(
                crowd.own_running, x * n + crowd.first_rank[user], x * n + crowd.rank[i]
            )
    made.seconds[UNAVAILABLE, i] += sign * crowd.unavailable[c]
    made.seconds[UNEXPLAINED, i] += sign * claims  # with the cycle until it leaves
    made.seconds[OWN_QUEUED, i] += sign * queued
    made.seconds[CLAIMED, i] += sign * (crowd.fitting[c] - claims - queued)
    made.seconds[OWN_RUNNING, i] += sign * own
    made.seconds[EARLIER, i] += sign * ahead
    made.seconds[LATER, i] += sign * crowd.lacking[c]  # with all parts until it leaves
    if log.cycle[i] <= now:
        made.seconds[CYCLE, i] += sign * claims
    if log.ready[i] > now:
        made.seconds[KEPT, i] += sign * claims
    crowd.joined[i] = SETTLED


cdef inline int64_t _claimed_time(Crowd crowd, int64_t i) noexcept nogil:
    """Return the time in which attempt ``i`` claims, of that in which its class fits."""
    cdef int64_t c = crowd.of[i]
    return crowd.fitting[c] - sum_to(crowd.not_claiming, crowd.first_seat[c], crowd.seat[i])


cdef inline int64_t _claimed_until(
    Crowd crowd, int64_t i, int64_t instant, int64_t now
) noexcept nogil:
    """Return the same up to an instant since the last walk."""
    cdef int64_t c = crowd.of[i], time = _claimed_time(crowd, i)
    return time - (now - instant if crowd.short[c] == FITS and i < crowd.cut[c] else 0)


cdef Marks _pass_marks(
    Log log, Crowd crowd, Bookings made, Marks marks, int64_t now
) noexcept nogil:
    """Note what attempts had claimed when the last cycle began, or when a policy would start them."""
    cdef int64_t i
    while marks.cycle < crowd.by_cycle.shape[0]:
        i = crowd.by_cycle[marks.cycle]
        if log.cycle[i] > now:
            break
        if crowd.joined[i] == SETTLED:
            made.seconds[CYCLE, i] -= _claimed_until(crowd, i, log.cycle[i], now)
        marks.cycle += 1
    while marks.ready < crowd.by_ready.shape[0]:
        i = crowd.by_ready[marks.ready]
        if log.ready[i] > now:
            break
        if crowd.joined[i] == SETTLED:
            made.seconds[KEPT, i] += _claimed_until(crowd, i, log.ready[i], now)
        marks.ready += 1
    return marks


cdef Marks _hold(
    Log log, Times times, State state, Crowd crowd, Bookings made, Marks marks, int64_t now,
    bint booking
) noexcept nogil:
    """Remove the attempts that are held from now on, and let those join that no longer are."""
    cdef int64_t hold, i
    while marks.release < crowd.by_release.shape[0]:
        hold = crowd.by_release[marks.release]
        if times.hold_to[hold] > now:
            break
        i = crowd.held[hold]
        if log.arrival[i] < now < log.leave[i] and not is_held(log, times, i, now):
            _join(log, crowd, i)
            if booking:
                _settle(log, state, crowd, made, i, -1, now)
        marks.release += 1
    while marks.hold < crowd.by_hold.shape[0]:
        hold = crowd.by_hold[marks.hold]
        if times.hold_from[hold] > now:
            break
        i = crowd.held[hold]
        if crowd.joined[i] != AWAY and now < log.leave[i]:
            if booking:
                _settle(log, state, crowd, made, i, 1, now)
            _part(log, crowd, i)
        marks.hold += 1
    return marks


cdef void _leave_crowd(
    Log log, State state, Crowd crowd, Bookings made, int64_t i, int64_t now, bint booking
) noexcept nogil:
    """Remove attempt ``i``, and complete what it is booked."""
    cdef int64_t since = crowd.since, late
    cdef double own, earlier
    if crowd.joined[i] != AWAY:
        if booking:
            _settle(log, state, crowd, made, i, 1, now)
            if log.flags[i] & RECORDED and log.arrival[i] <= since and (
                _cause(state, crowd, i) == UNEXPLAINED
            ):
                late = max(now - max(since, log.cycle[i]), 0)
                made.seconds[HELD, i] += now - since
                made.seconds[UNEXPLAINED, i] -= now - since
                made.seconds[CYCLE, i] -= late
                made.seconds[KEPT, i] -= min(max(log.ready[i] - since, 0), now - since)
        _part(log, crowd, i)
    if booking:
        made.seconds[UNEXPLAINED, i] -= made.seconds[CYCLE, i]
        own = _rounded(made.seconds[OWN_RUNNING, i])
        earlier = _rounded(made.seconds[EARLIER, i])
        own = min(own, made.seconds[LATER, i])
        earlier = min(earlier, made.seconds[LATER, i] - own)
        made.seconds[OWN_RUNNING, i], made.seconds[EARLIER, i] = own, earlier
        made.seconds[LATER, i] -= own + earlier


cdef inline double _rounded(double seconds) noexcept nogil:
    """Return a difference of rounded sums, whole if it is nearly so, ≥ 0."""
    cdef double whole = rint(seconds)
    return max(whole if fabs(seconds - whole) < ROUNDING else seconds, 0.0)


cdef void _trace(
    Log log, Times times, State state, Crowd crowd, Bookings made, int64_t i, int64_t now
) noexcept nogil:
    """Note the cause of the time up to ``now`` for attempt ``i`` if it waits."""
    cdef int64_t since = max(crowd.since, log.arrival[i]), c = crowd.of[i], user = log.user[i]
    cdef int64_t short = crowd.short[c], cause, late, own, earlier, n = log.user.shape[0]
    if not since < now <= log.leave[i]:
        return
    if is_held(log, times, i, since):
        crowd.span = lengthened(made.spans, crowd.span, i, HELD, since, now)
        return
    cause = _cause(state, crowd, i)
    if cause == UNEXPLAINED and log.flags[i] & RECORDED and log.leave[i] == now:
        cause = HELD
    if cause == LATER:
        own = earlier = 0
        if user != UNKNOWN:
            own = state.by_user[short, user]
            earlier = -sum_to(
                crowd.own_running, short * n + crowd.first_rank[user], short * n + crowd.rank[i]
            )
        earlier += sum_to(crowd.running, short * n, short * n + i)
        cause = largest_part(own, earlier, state.used[short])
    late = 0
    if cause == UNEXPLAINED:
        late = max(now - max(since, log.cycle[i]), 0)
    crowd.span = lengthened(made.spans, crowd.span, i, cause, since, now - late)
    crowd.span = lengthened(made.spans, crowd.span, i, CYCLE, now - late, now)


cdef void _watch_crowd(Log log, State state, Crowd crowd, Idle idle, int64_t now) noexcept nogil:
    """Add the time in which an attempt waits that fits the capacity."""
    cdef Py_ssize_t k
    cdef int64_t c, first = NEVER
    for k in range(crowd.actives):
        c = crowd.active[k]
        if short_of(crowd.request, c, 0, state) == FITS:
            first = min(first, crowd.first[c])
    if first != NEVER:
        idle.waited[idle.count - 1] += now - max(crowd.since, log.arrival[first])


cdef void _book_holds(Log log, Times times, Bookings made) noexcept nogil:
    """Book and note the holds of all that waits."""
    cdef Py_ssize_t k, hold
    cdef int64_t i, begin, end, last
    for k in range(log.by_arrival.shape[0]):
        i = log.by_arrival[k]
        last = NOBODY
        for hold in range(log.first_hold[i], log.last_hold[i]):
            begin = max(times.hold_from[hold], log.arrival[i])
            end = min(times.hold_to[hold], log.leave[i])
            if begin < end:
                made.seconds[HELD, i] += end - begin
                if not log.flags[i] & TRACED:
                    last = lengthened(made.spans, last, i, HELD, begin, end)


cdef void _pass(Log log, State state, Crowd crowd, int64_t now) noexcept nogil:
    """Let the time up to ``now`` pass for each class."""
    cdef int64_t time = now - crowd.since, c, short
    cdef Py_ssize_t k
    state.walk += 1
    crowd.alives = 0
    for k in range(crowd.actives):
        c = crowd.active[k]
        crowd.cut[c] = NEVER
        short = EXCEEDS if state.out else short_of(crowd.request, c, 0, state)
        crowd.short[c] = short
        if short == EXCEEDS:
            crowd.unavailable[c] += time
        elif short == FITS:
            crowd.fitting[c] += time
            crowd.alive[crowd.alives] = c
            crowd.alives += 1
        else:
            crowd.lacking[c] += time
            crowd.weight[short, c] += <double> time / state.used[short]
    if crowd.alives > 0:
        _walk_claims(log, state, crowd, time, now)


cdef void _walk_claims(
    Log log, State state, Crowd crowd, int64_t time, int64_t now
) noexcept nogil:
    """Let those that fit claim in their order until all or none of the others do."""
    cdef Py_ssize_t k, x, best
    cdef int64_t c, i
    crowd.opens = crowd.claiming = 0
    for x in range(crowd.rest.shape[0]):
        state.left[x] = state.free[x]
        crowd.rest[x] = 0
    for k in range(crowd.alives):
        c = crowd.alive[k]
        crowd.upcoming[c], crowd.behind[c] = crowd.first[c], crowd.count[c]
        for x in range(crowd.rest.shape[0]):
            crowd.rest[x] += crowd.count[c] * crowd.request[x, c]
    while crowd.alives > 0 and not _all_fit(state, crowd):
        best = 0
        for k in range(1, crowd.alives):
            if crowd.upcoming[crowd.alive[k]] < crowd.upcoming[crowd.alive[best]]:
                best = k
        c = crowd.alive[best]
        i = crowd.upcoming[c]
        if not fits_left(crowd.request, c, state, NOBODY):
            _cut(state, crowd, c, i, time)
            crowd.upcoming[c] = NOBODY
        else:
            crowd.upcoming[c] = crowd.after[i]
            crowd.behind[c] -= 1
            for x in range(crowd.rest.shape[0]):
                crowd.rest[x] -= crowd.request[x, c]
            if not (log.flags[i] & RECORDED and log.leave[i] == now):
                _claim_for(log, state, crowd, i, time)
        if crowd.upcoming[c] == NOBODY:
            crowd.alives -= 1
            crowd.alive[best] = crowd.alive[crowd.alives]


cdef bint _all_fit(State state, Crowd crowd) noexcept nogil:
    """Return whether all that are not walked yet claim, and leave what is open so."""
    cdef Py_ssize_t k, x
    cdef int64_t c, user
    for x in range(crowd.rest.shape[0]):
        if crowd.rest[x] > state.left[x] and crowd.rest[x] > 0:
            return False
    for k in range(crowd.opens):
        c, user = crowd.class_of[crowd.open[k]], crowd.user_of[crowd.open[k]]
        for x in range(crowd.rest.shape[0]):
            if crowd.request[x, c] > 0 and (
                crowd.request[x, c] > state.left[x] - crowd.rest[x] + state.claimed[x, user]
            ):
                return False
    return True


cdef void _claim_for(Log log, State state, Crowd crowd, int64_t i, int64_t time) noexcept nogil:
    """Let attempt ``i`` claim its request."""
    cdef Py_ssize_t x, k = 0
    cdef int64_t c = crowd.of[i], user = log.user[i], g
    if user != UNKNOWN and state.claimed_stamp[user] != state.walk:
        state.claimed_stamp[user] = state.walk
        for x in range(crowd.rest.shape[0]):
            state.claimed[x, user] = 0
        crowd.claimants[crowd.claiming] = user
        crowd.claiming += 1
    for x in range(crowd.rest.shape[0]):
        state.left[x] -= crowd.request[x, c]
        if user != UNKNOWN:
            state.claimed[x, user] += crowd.request[x, c]
    while k < crowd.opens:
        g = crowd.open[k]
        if fits_left(crowd.request, crowd.class_of[g], state, crowd.user_of[g]):
            k += 1
            continue
        crowd.open_to[g] = i
        _add_own(crowd, g, i, -time)
        crowd.opens -= 1
        crowd.open[k] = crowd.open[crowd.opens]


cdef void _cut(State state, Crowd crowd, int64_t c, int64_t i, int64_t time) noexcept nogil:
    """Let no attempt of a class claim from ``i`` on."""
    cdef Py_ssize_t k, x
    cdef int64_t user, g
    crowd.cut[c] = i
    add_at(
        crowd.not_claiming, crowd.first_seat[c], crowd.first_seat[c + 1], crowd.seat[i], time
    )
    for x in range(crowd.rest.shape[0]):
        crowd.rest[x] -= crowd.behind[c] * crowd.request[x, c]
    for k in range(crowd.claiming):
        user = crowd.claimants[k]
        g = first_above(crowd.class_of, crowd.first_group[user], crowd.first_group[user + 1], c) - 1
        if g < crowd.first_group[user] or crowd.class_of[g] != c or crowd.waiting[g] == 0:
            continue
        if fits_left(crowd.request, c, state, user):
            crowd.open_walk[g], crowd.open_from[g], crowd.open_to[g] = state.walk, i, NEVER
            _add_own(crowd, g, i, time)
            crowd.open[crowd.opens] = g
            crowd.opens += 1


cdef inline void _add_own(Crowd crowd, int64_t g, int64_t i, int64_t time) noexcept nogil:
    """Add time in which own claims alone are in the way, for a group from attempt ``i`` on."""
    cdef int64_t begin = crowd.first_place[g], end = crowd.first_place[g + 1]
    add_at(crowd.own_queued, begin, end, first_above(crowd.placed, begin, end, i - 1), time)


cdef inline int64_t _cause(State state, Crowd crowd, int64_t i) noexcept nogil:
    """Return the cause to which the last walk booked attempt ``i``; LATER: its time is divided."""
    cdef int64_t c = crowd.of[i], g = crowd.group[i]
    if crowd.short[c] == EXCEEDS:
        return UNAVAILABLE
    if crowd.short[c] != FITS:
        return LATER
    if i < crowd.cut[c]:
        return UNEXPLAINED
    if g != NOBODY and crowd.open_walk[g] == state.walk:
        if crowd.open_from[g] <= i < crowd.open_to[g]:
            return OWN_QUEUED
    return CLAIMED
