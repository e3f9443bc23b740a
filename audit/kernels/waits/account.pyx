"""Book each second of each wait to one cause (SPEC §10, *Anatomy*; §11, *Causes*).

Attempts are numbered in the order (arrival, submit, sequence); times are in s. The sweep cuts time
where an attempt starts, ends or leaves the queue, where the capacity changes, and at the given
``cuts`` (edges of rules and holds). Attempts that arrived since the last cut are behind everything
that waits, so they change nothing for the others; their own time counts from their arrival.

Where sums of the pool decide everything, equal requests share one state, and in long queues no more
than the claims are walked (by_request.pxi). Otherwise the walk goes through all that waits: its
queue holds *blocks* (waiting.pxi), of which only members that claim capacity are visited one by
one, so that the cost of an array does not grow with the square of its tasks.
"""

cimport cython
from libc.math cimport fabs, rint
from libc.stdint cimport INT64_MAX as NEVER, int64_t, uint8_t
from libc.stdlib cimport free, realloc

import numpy as np

from audit.kernels.fenwick cimport add_at, sum_to
from audit.kernels.rows cimport copy_column, parts_on
from audit.kernels.sweeps cimport first_above, time_at

include "../growing.pxi"
include "waiting.pxi"
include "nodes.pxi"
include "crowd.pxi"


cdef enum:
    RECORDED = 1  # a hold was recorded when it left the queue
    TRACED = 2  # every stretch of its wait is kept, not only holds and rules
    SPAN = 5  # numbers of a stretch


cdef double ROUNDING = 1e-7  # of sums of divided seconds, s


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Bookings:
    """Output of the sweep, which adds to it."""

    cdef double[:, ::1] seconds  # causes × attempts
    cdef int64_t[:, ::1] forbidden  # rules × attempts: s in which each forbids it
    # (resources + 2) × attempts: s in which it would fit on nodes but for this; see _lacking
    cdef int64_t[:, ::1] lacking
    # Stretches of one cause in the waits of blocks, in the order in which they begin: block (its
    # first member), cause, begin, end, the first member that it concerns (0: all). The cause of a
    # divided stretch is its greatest part. A traced attempt has CAUSES + k, for rule k, instead of RULE.
    cdef Table spans


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Idle:
    """Stretches in which nothing runs."""

    cdef int64_t[::1] begin
    cdef int64_t[::1] end
    cdef int64_t[::1] waited  # s in which an attempt waits that fits and that nothing forbids
    cdef Py_ssize_t count
    cdef bint begun  # whether anything has run


cdef struct Next:
    # The next event of each kind: indices into the orders of the log.
    Py_ssize_t arrival
    Py_ssize_t start
    Py_ssize_t end
    Py_ssize_t leave
    Py_ssize_t step
    Py_ssize_t cut
    Py_ssize_t node


def book_waits(
    Log log, Nodes nodes, Times times, Rules rules, const int64_t[::1] capacity, Py_ssize_t most, Bookings made
):
    """Add each second of each wait to one of its causes.

    Args:
        nodes: the pool's nodes; none: its sums decide.
        capacity: capacity before any step, of each set of nodes, [sets · resources].
        most: the greatest number of blocks that wait at one time.

    Raises:
        MemoryError: there is no memory for the stretches.
    """
    cdef Py_ssize_t users = int(np.max(log.user, initial=UNKNOWN)) + 1
    cdef State state = State(rules, capacity, nodes, users)
    cdef Queue queue
    cdef Crowd crowd
    if _is_plain(nodes, rules, most):
        crowd = Crowd(log, times, users)
        with nogil:
            _sweep_crowd(log, nodes, times, rules, state, crowd, made, None)
            _book_holds(log, times, made)
    else:
        queue = Queue(rules, log, capacity.shape[0], users, most)
        with nogil:
            _sweep(log, nodes, times, rules, state, queue, made, None)
    if made.spans.places < 0 or state.claims.places < 0:
        raise MemoryError("no memory for the stretches of waits")


cdef inline bint _is_plain(Nodes nodes, Rules rules, Py_ssize_t most):
    """Return whether equal requests are in one state, as only sums of the pool decide, in a long queue."""
    bare = nodes.parts.shape[0] == 0 and rules.most.shape[0] + rules.first_span.shape[0] == 1
    return bare and most >= CROWD


def find_idle(Log log, Nodes nodes, Times times, Rules rules, const int64_t[::1] capacity, Py_ssize_t most):
    """Return the stretches in which nothing runs while the log lasts: begin, end, waited."""
    cdef Py_ssize_t users = int(np.max(log.user, initial=UNKNOWN)) + 1
    cdef State state = State(rules, capacity, nodes, users)
    cdef Queue queue
    cdef Crowd crowd
    found = np.zeros((3, log.by_end.shape[0] + 1), np.int64)
    cdef Idle idle = Idle(found[0], found[1], found[2], 0, False)
    cdef Bookings made = Bookings(
        np.zeros((CAUSES, 0)), np.zeros((0, 0), np.int64), np.zeros((0, 0), np.int64), Table(SPAN)
    )
    if _is_plain(nodes, rules, most):
        crowd = Crowd(log, times, users)
        with nogil:
            _sweep_crowd(log, nodes, times, rules, state, crowd, made, idle)
    else:
        queue = Queue(rules, log, capacity.shape[0], users, most)
        with nogil:
            _sweep(log, nodes, times, rules, state, queue, made, idle)
    return found[:, :idle.count]


cdef void _sweep(
    Log log, Nodes nodes, Times times, Rules rules, State state, Queue queue, Bookings made, Idle idle
) noexcept nogil:
    cdef Next coming = Next(0, 0, 0, 0, 0, 0, 0)
    cdef int64_t since = 0, now
    cdef Py_ssize_t x, old
    while coming.leave < log.by_leave.shape[0]:
        now = _next_time(log, nodes, times, coming)
        old = queue.tail - queue.head
        coming.arrival = join(log, state, queue, coming.arrival, now)
        if queue.head < queue.tail:
            if idle is None:
                _spend(log, nodes, times, rules, state, queue, made, old, since, now)
            elif state.running == 0 and idle.count > 0:
                _watch(log, nodes, times, rules, state, queue, idle, old, since, now)
        since = now
        while coming.cut < times.cut.shape[0] and times.cut[coming.cut] == now:
            coming.cut += 1
        while coming.step < times.step.shape[0] and times.step[coming.step] == now:
            for x in range(state.free.shape[0]):
                state.capacity[x] += times.change[coming.step, x]
                state.free[x] += times.change[coming.step, x]
            coming.step += 1
        while coming.node < nodes.change.shape[0] and nodes.change_time[coming.node] == now:
            set_available(
                nodes, state, nodes.change_node[coming.node], nodes.change[coming.node]
            )
            coming.node += 1
        while time_at(log.leave, log.by_leave, coming.leave) == now:
            _leave(log, queue, made, log.by_leave[coming.leave], idle is None)
            coming.leave += 1
        while time_at(log.end, log.by_end, coming.end) == now:
            occupy(log, nodes, rules, state, queue, log.by_end[coming.end], -1)
            coming.end += 1
        coming.arrival = join(log, state, queue, coming.arrival, now + 1)
        while time_at(log.start, log.by_start, coming.start) == now:
            occupy(log, nodes, rules, state, queue, log.by_start[coming.start], 1)
            coming.start += 1
        if idle is not None:
            _note_idle(idle, state.running, now)
        turn(times, rules, state, now)


cdef int64_t _next_time(Log log, Nodes nodes, Times times, Next coming) noexcept nogil:
    """Return the next instant at which time is cut."""
    cdef int64_t now = time_at(log.leave, log.by_leave, coming.leave)
    now = min(now, time_at(log.start, log.by_start, coming.start))
    now = min(now, time_at(log.end, log.by_end, coming.end))
    if coming.step < times.step.shape[0]:
        now = min(now, times.step[coming.step])
    if coming.cut < times.cut.shape[0]:
        now = min(now, times.cut[coming.cut])
    if coming.node < nodes.change.shape[0]:
        now = min(now, nodes.change_time[coming.node])
    return now


cdef void _note_idle(Idle idle, Py_ssize_t running, int64_t now) noexcept nogil:
    """Begin or end a stretch in which nothing runs; before the first start the use is unknown."""
    cdef bint open = idle.count > 0 and idle.end[idle.count - 1] == NEVER
    idle.begun = idle.begun or running > 0
    if running == 0 and idle.begun and not open:
        idle.begin[idle.count] = now
        idle.end[idle.count] = NEVER
        idle.count += 1
    elif running > 0 and open:
        idle.end[idle.count - 1] = now


cdef void _leave(Log log, Queue queue, Bookings made, int64_t i, bint booking) noexcept nogil:
    """Remove attempt ``i`` from its block, and the block from the queue after its last member."""
    cdef Py_ssize_t place = place_of(queue, i + 1) - 1, cause, rule
    cdef int64_t slot = queue.slot[place], previous = queue.previous[i]
    cdef int64_t following = queue.following[i]
    if booking:
        for cause in range(CAUSES):
            made.seconds[cause, i] += queue.booked[slot, cause]
        for rule in range(made.forbidden.shape[0]):
            made.forbidden[rule, i] += queue.forbidden[slot, rule]
        for rule in range(made.lacking.shape[0]):
            made.lacking[rule, i] += queue.lacking[slot, rule]
    if previous != NOBODY:
        queue.following[previous] = following
    else:
        queue.front[slot] = following
    if following != NOBODY:
        queue.previous[following] = previous
    if queue.front[slot] == NOBODY:
        for cause in range(CAUSES):
            queue.booked[slot, cause] = 0.0
        for rule in range(queue.forbidden.shape[1]):
            queue.forbidden[slot, rule] = 0
        for rule in range(queue.lacking.shape[1]):
            queue.lacking[slot, rule] = 0
        queue.span[slot] = NOBODY
        queue.spare[queue.spares] = slot
        queue.spares += 1
        close_gap(log, queue, place)


cdef void _watch(
    Log log, Nodes nodes, Times times, Rules rules, State state, Queue queue, Idle idle, Py_ssize_t old,
    int64_t since, int64_t now
) noexcept nogil:
    """Add the time in which an attempt waits that fits the capacity and that nothing forbids."""
    cdef Py_ssize_t place
    cdef int64_t i, begin
    state.walk += 1
    for place in range(queue.head, queue.tail):
        i = queue.attempt[place]
        begin = since if place < queue.head + old else log.arrival[i]
        if (
            short_of(queue.request, place, queue.set[place], state) == FITS
            and (nodes.parts.shape[0] == 0 or fits_nodes(log, nodes, state, state.free_on, i, NOBODY))
            and not is_held(log, times, i, begin)
            and not is_forbidden(rules, state, i, begin)
        ):
            idle.waited[idle.count - 1] += now - begin
            return


cdef void _spend(
    Log log, Nodes nodes, Times times, Rules rules, State state, Queue queue, Bookings made, Py_ssize_t old,
    int64_t since, int64_t now
) noexcept nogil:
    """Book the time up to ``now`` for everything that waits.

    The first ``old`` blocks have waited ``since`` the last cut, the others from their arrivals.
    """
    cdef Py_ssize_t place, x
    state.walk += 1
    for x in range(state.free.shape[0]):
        state.left[x] = state.free[x]
        state.ahead[x] = 0
    state.left_on[:, :] = state.free_on
    state.claims.count = 0
    old += queue.head
    for place in range(queue.head, queue.tail):
        if place >= old:
            since = log.arrival[queue.attempt[place]]
        for x in range(state.ahead.shape[0]):
            state.ahead[x] += queue.ahead[x, place]
        _book(log, nodes, times, rules, state, queue, made, place, since, now)


cdef inline void _book(
    Log log, Nodes nodes, Times times, Rules rules, State state, Queue queue, Bookings made, Py_ssize_t place,
    int64_t since, int64_t now
) noexcept nogil:
    """Book the time from ``since`` to ``now`` for the block at ``place``."""
    cdef int64_t i = queue.attempt[place], slot = queue.slot[place], own, earlier
    cdef int64_t cause
    cdef double time = <double> (now - since), each
    cdef Py_ssize_t short, fit, resources = log.request.shape[0]
    cdef bint fits
    if is_held(log, times, i, since):
        queue.booked[slot, HELD] += time
        _note(log, queue, made.spans, slot, i, HELD, since, now)
        return
    short = short_of(queue.request, place, queue.set[place], state)
    fits = short == FITS
    if fits and nodes.parts.shape[0] > 0:
        fit = fit_of(log, nodes, state, i)
        fits = fit == 1
        short = EXCEEDS if fit == EXCEEDS else FITS
    if state.out or short == EXCEEDS:
        queue.booked[slot, UNAVAILABLE] += time
        _note(log, queue, made.spans, slot, i, UNAVAILABLE, since, now)
    elif is_forbidden(rules, state, i, since):
        _book_rules(rules, state, queue, slot, i, since, now, fits)
        cause = RULE
        if log.flags[i] & TRACED:
            cause = CAUSES + _named_rule(rules, state, queue, made.spans, slot, i, since)
        _note(log, queue, made.spans, slot, i, cause, since, now)
    elif fits:
        _book_claims(log, nodes, rules, state, queue, made, place, since, now)
    elif short == FITS:
        queue.booked[slot, NODES] += time
        queue.lacking[slot, _lacking(log, nodes, state, i)] += now - since
        _note(log, queue, made.spans, slot, i, NODES, since, now)
    else:
        own = state.by_user[short, queue.user[place]]
        earlier = state.ahead[short] - queue.own_ahead[short - log.set[i] * resources, i]
        each = time / state.used[short]
        queue.booked[slot, OWN_RUNNING] += each * own
        queue.booked[slot, EARLIER] += each * earlier
        queue.booked[slot, LATER] += each * (state.used[short] - own - earlier)
        if log.flags[i] & TRACED:
            cause = largest_part(own, earlier, state.used[short])
            _note(log, queue, made.spans, slot, i, cause, since, now)


cdef Py_ssize_t _lacking(Log log, Nodes nodes, State state, int64_t i) noexcept nogil:
    """Return without which resource attempt ``i`` would fit; then features, then several."""
    cdef Py_ssize_t k, x, y, resources = log.request.shape[0]
    for k in range(nodes.ties.shape[0]):
        x = nodes.ties[k]
        if x == resources:
            if fits_set(nodes, state, state.free_on, i, NOBODY, nodes.wide[i]):
                return x
            continue
        if nodes.part[x, i] == 0:
            continue
        # without GPUs, types of GPUs do not matter either
        state.without_on[:, :] = state.free_on
        for y in range(nodes.kind.shape[0]):
            if nodes.kind[y] == x:
                state.without_on[y, :] = NEVER
        if fits_nodes(log, nodes, state, state.without_on, i, x):
            return x
    return resources + 1


cdef void _book_rules(
    Rules rules, State state, Queue queue, int64_t slot, int64_t i, int64_t since, int64_t now,
    bint fits
) noexcept nogil:
    """Book a stretch in which some rule forbids attempt ``i``: to RULE, and to each such rule."""
    cdef Py_ssize_t rule, limits = rules.most.shape[0]
    queue.booked[slot, RULE] += now - since
    if fits:
        queue.booked[slot, RULE_FREE] += now - since
    for rule in range(limits):
        if exceeds(rules, state, rule, i, since):
            queue.forbidden[slot, rule] += now - since
    for rule in range(state.span.shape[0]):
        if is_closed(rules, state, rule, i, since):
            queue.forbidden[slot, limits + rule] += now - since


cdef void _book_claims(
    Log log, Nodes nodes, Rules rules, State state, Queue queue, Bookings made, Py_ssize_t place,
    int64_t since, int64_t now
) noexcept nogil:
    """Let the members of a block claim, in their order, and book the time for the others.

    No rule forbids the first, and each fits in the free capacity.
    """
    cdef int64_t slot = queue.slot[place], first = queue.front[slot], member = first
    cdef int64_t user = queue.user[place], own
    cdef Py_ssize_t rest = NOBODY, rule
    while member != NOBODY:
        if member != first and is_forbidden(rules, state, member, since):
            rest = RULE
            break
        if nodes.parts.shape[0] == 0:
            if not fits_left(queue.request, place, state, NOBODY):
                rest = OWN_QUEUED if fits_left(queue.request, place, state, user) else CLAIMED
                break
        elif not fits_left_on(log, nodes, state, member):
            rest = OWN_QUEUED if fits_claimed(log, nodes, state, member, user) else CLAIMED
            break
        if log.flags[member] & RECORDED and log.leave[member] == now:
            made.seconds[HELD, member] += now - since
            if log.flags[member] & TRACED:
                _note(log, queue, made.spans, slot, member, HELD, since, now)
        else:
            _claim(log, nodes, rules, state, queue, made, place, member, since, now)
        member = queue.following[member]
    if member == NOBODY:
        return
    if rest == RULE or log.flags[first] & TRACED:
        own = member if rest == RULE else 0
        _note(log, queue, made.spans, slot, queue.attempt[place], rest, since, now, own)
    # The members before this one are booked already: what is added to their block is undone.
    if rest == RULE:
        _book_rules(rules, state, queue, slot, member, since, now, True)
    else:
        queue.booked[slot, rest] += now - since
    while first != member:
        made.seconds[rest, first] -= now - since
        if rest == RULE:
            made.seconds[RULE_FREE, first] -= now - since
            for rule in range(rules.most.shape[0]):
                if exceeds(rules, state, rule, member, since):
                    made.forbidden[rule, first] -= now - since
        first = queue.following[first]


cdef void _claim(
    Log log, Nodes nodes, Rules rules, State state, Queue queue, Bookings made, Py_ssize_t place,
    int64_t i, int64_t since, int64_t now
) noexcept nogil:
    """Let attempt ``i`` claim its request, and book its time."""
    cdef int64_t user = log.user[i], late, counter, amount, slot
    cdef Py_ssize_t x, rule
    late = max(now - max(since, log.cycle[i]), 0)
    made.seconds[CYCLE, i] += late
    made.seconds[UNEXPLAINED, i] += now - since - late
    if log.flags[i] & TRACED:
        slot = queue.slot[place]
        _note(log, queue, made.spans, slot, i, UNEXPLAINED, since, now - late)
        _note(log, queue, made.spans, slot, i, CYCLE, now - late, now)
    made.seconds[KEPT, i] += min(max(log.ready[i] - since, 0), now - since)
    if nodes.parts.shape[0] > 0:
        claim_nodes(log, nodes, state, i)
        state.claimed_stamp[user] = state.walk
    else:
        for x in range(state.left.shape[0]):
            amount = log.request[x, i]
            state.left[x] -= amount
            if user != UNKNOWN:
                if state.claimed_stamp[user] != state.walk:
                    state.claimed[x, user] = 0
                state.claimed[x, user] += amount
        state.claimed_stamp[user] = state.walk
    for rule in range(rules.most.shape[0]):
        counter = rules.counter[rule, i]
        if counter >= 0:
            if state.counting_stamp[counter] != state.walk:
                state.counting_stamp[counter] = state.walk
                state.counting[counter] = 0
            state.counting[counter] += rules.amount[rule, i]


cdef void _note(
    Log log, Queue queue, Table spans, int64_t slot, int64_t i, int64_t cause, int64_t begin, int64_t end,
    int64_t member=0
) noexcept nogil:
    """Note a stretch of one cause in the wait of a block from ``member`` on, or lengthen its last one."""
    if log.flags[i] & TRACED or cause == HELD or cause == RULE:
        i = queue.attempt[place_of(queue, i + 1) - 1]
        queue.span[slot] = lengthened(spans, queue.span[slot], i, cause, begin, end, member)


cdef int64_t lengthened(
    Table spans, int64_t last, int64_t first, int64_t cause, int64_t begin, int64_t end, int64_t member=0
) noexcept nogil:
    """Lengthen the last stretch of the block of attempt ``first``, or add one; return the last."""
    cdef int64_t* place
    if begin == end:
        return last
    if last != NOBODY:
        place = spans.held + last * SPAN
        if place[1] == cause and place[3] == begin and place[4] == member:
            place[3] = end
            return last
    place = add_row(spans)
    if place == NULL:
        return last
    place[0], place[1], place[2], place[3], place[4] = first, cause, begin, end, member
    return spans.count - 1


cdef Py_ssize_t _named_rule(
    Rules rules, State state, Queue queue, Table spans, int64_t slot, int64_t i, int64_t at
) noexcept nogil:
    """Return the rule that forbade traced attempt ``i`` last if it still does, else the first."""
    cdef int64_t last = queue.span[slot]
    cdef Py_ssize_t rule
    if last != NOBODY:
        rule = spans.held[last * SPAN + 1] - CAUSES
        if rule >= 0 and forbids(rules, state, rule, i, at):
            return rule
    for rule in range(rules.most.shape[0] + state.span.shape[0]):
        if forbids(rules, state, rule, i, at):
            return rule
    return NOBODY


include "by_request.pxi"
