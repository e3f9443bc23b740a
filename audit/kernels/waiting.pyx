"""The attempts of a pool that wait and run: see the ``.pxd``."""

cimport cython

from libc.stdlib cimport free, realloc

import numpy as np

from audit.kernels.sweeps cimport time_at


@cython.final
cdef class Nodes:
    def __init__(
        self,
        *,
        capacity,
        first_member,
        member,
        first_set,
        set,
        first,
        node,
        amount,
        part,
        parts,
        most,
        change_time,
        change_node,
        change,
    ):
        self.capacity, self.first_member, self.member = capacity, first_member, member
        self.first_set, self.set = first_set, set
        self.first, self.node, self.amount = first, node, amount
        self.part, self.parts, self.most = part, parts, most
        self.change_time, self.change_node, self.change = change_time, change_node, change


@cython.final
cdef class Log:
    def __init__(
        self,
        *,
        arrival,
        leave,
        start,
        end,
        user,
        request,
        set,
        block,
        ready,
        cycle,
        flags,
        first_hold,
        last_hold,
        by_arrival,
        by_leave,
        by_start,
        by_end,
    ):
        self.arrival, self.leave, self.start, self.end = arrival, leave, start, end
        self.user, self.request, self.set = user, request, set
        self.block, self.flags = block, flags
        self.ready, self.cycle = ready, cycle
        self.first_hold, self.last_hold = first_hold, last_hold
        self.by_arrival, self.by_leave = by_arrival, by_leave
        self.by_start, self.by_end = by_start, by_end


@cython.final
cdef class Times:
    def __init__(self, *, step, change, cut, hold_from, hold_to, outage_from, outage_to):
        self.step, self.change, self.cut = step, change, cut
        self.hold_from, self.hold_to = hold_from, hold_to
        self.outage_from, self.outage_to = outage_from, outage_to


@cython.final
cdef class Rules:
    def __init__(
        self,
        *,
        counter,
        amount,
        binding,
        most,
        valid_from,
        valid_to,
        reach,
        first_span,
        span_from,
        span_to,
        Py_ssize_t counters,
    ):
        self.counter, self.amount, self.binding, self.most = counter, amount, binding, most
        self.valid_from, self.valid_to = valid_from, valid_to
        self.reach, self.first_span = reach, first_span
        self.span_from, self.span_to = span_from, span_to
        self.counters = counters


@cython.final
cdef class State:
    def __cinit__(self, Rules rules, const int64_t[::1] capacity, Nodes nodes, Py_ssize_t users):
        """Make a pool of this capacity, or of these nodes, in which nothing runs."""
        cdef Py_ssize_t kinds = capacity.shape[0]
        self.capacity, self.free = np.array(capacity), np.array(capacity)
        self.free_on, self.left_on = np.array(nodes.capacity), np.array(nodes.capacity)
        self.unavailable = np.zeros(nodes.capacity.shape[1], np.int64)
        self.used, self.moved = np.zeros((2, kinds), np.int64)
        self.by_user, self.claimed = np.zeros((2, kinds, users), np.int64)
        self.left, self.ahead = np.zeros((2, kinds), np.int64)
        self.claims = Claims(nodes.capacity.shape[0])
        self.claimed_stamp = np.zeros(users, np.int64)
        self.counted, self.counting, self.counting_stamp = np.zeros(
            (3, rules.counters), np.int64
        )
        self.span = np.array(rules.first_span[: rules.first_span.shape[0] - 1])
        self.walk = 0
        self.running = self.outage = 0
        self.out = False


@cython.final
cdef class Claims:
    def __cinit__(self, Py_ssize_t resources):
        """Make an empty list."""
        self.held, self.width = NULL, resources + 2
        self.count = self.places = 0

    def __dealloc__(self):
        """Free the memory."""
        free(self.held)


@cython.final
cdef class Queue:
    def __cinit__(
        self, Rules rules, Log log, Py_ssize_t kinds, Py_ssize_t users, Py_ssize_t most
    ):
        """Make an empty queue, in which at most ``most`` blocks wait."""
        cdef Py_ssize_t places = 2 * most + 1
        cdef Py_ssize_t resources = log.request.shape[0], count = log.request.shape[1]
        self.head = self.tail = 0
        self.attempt, self.user, self.slot, self.set = np.empty((4, places), np.int64)
        self.request = np.empty((resources, places), np.int64)
        self.ahead = np.empty((kinds, places), np.int64)
        self.total = np.zeros(kinds, np.int64)
        self.own_ahead = np.empty((resources, count), np.int64)
        self.last = np.full(users, NOBODY, np.int64)
        self.before, self.after, self.previous, self.following = np.empty((4, count), np.int64)
        self.front = np.empty(most, np.int64)
        self.spare = np.arange(most)
        self.span = np.full(most, NOBODY, np.int64)
        self.spares = most
        self.booked = np.zeros((most, CAUSES))
        self.forbidden = np.zeros(
            (most, rules.most.shape[0] + rules.first_span.shape[0] - 1), np.int64
        )
        self.lacking = np.zeros((most, resources + 1), np.int64)


cdef Py_ssize_t join(
    Log log, State state, Queue queue, Py_ssize_t coming, int64_t before
) noexcept nogil:
    """Append the blocks that arrive before an instant; return the next attempt to arrive.

    Everything that runs arrived before them.
    """
    cdef Py_ssize_t place, x
    cdef int64_t i, user, previous
    while time_at(log.arrival, log.by_arrival, coming) < before:
        if queue.tail == queue.attempt.shape[0]:
            _move_up(queue)
        place = queue.tail
        i = log.by_arrival[coming]
        user = log.user[i]
        queue.attempt[place] = i
        queue.user[place] = user
        queue.spares -= 1
        queue.slot[place] = queue.spare[queue.spares]
        queue.set[place] = log.set[i]
        for x in range(log.request.shape[0]):
            queue.request[x, place] = log.request[x, i]
            queue.own_ahead[x, i] = state.by_user[log.set[i] * log.request.shape[0] + x, user]
        for x in range(state.free.shape[0]):
            queue.ahead[x, place] = state.used[x] - queue.total[x]
            queue.total[x] = state.used[x]
        previous = queue.last[user]
        queue.before[i] = previous
        queue.after[i] = NOBODY
        if previous != NOBODY:
            queue.after[previous] = i
        queue.last[user] = i
        queue.tail += 1
        coming = _link(log, queue, coming, queue.slot[place])
    return coming


cdef Py_ssize_t _link(Log log, Queue queue, Py_ssize_t coming, int64_t slot) noexcept nogil:
    """Link the members of the block that begins at ``coming``; return where the next begins."""
    cdef int64_t i = log.by_arrival[coming], previous = NOBODY, block = log.block[i]
    queue.front[slot] = i
    while coming < log.by_arrival.shape[0] and log.block[log.by_arrival[coming]] == block:
        i = log.by_arrival[coming]
        queue.previous[i] = previous
        queue.following[i] = NOBODY
        if previous != NOBODY:
            queue.following[previous] = i
        previous = i
        coming += 1
    return coming


cdef void close_gap(Log log, Queue queue, Py_ssize_t place) noexcept nogil:
    """Remove the block at ``place`` and close the gap from the nearer end."""
    cdef Py_ssize_t gap, x
    cdef int64_t i = queue.attempt[place], previous = queue.before[i], following = queue.after[i]
    for x in range(queue.total.shape[0]):
        if place + 1 < queue.tail:
            queue.ahead[x, place + 1] += queue.ahead[x, place]
        else:
            queue.total[x] -= queue.ahead[x, place]
    if place - queue.head < queue.tail - place:
        for gap in range(place, queue.head, -1):
            _copy_place(queue, gap - 1, gap)
        queue.head += 1
    else:
        for gap in range(place, queue.tail - 1):
            _copy_place(queue, gap + 1, gap)
        queue.tail -= 1
    if previous != NOBODY:
        queue.after[previous] = following
    if following != NOBODY:
        queue.before[following] = previous
    else:
        queue.last[log.user[i]] = previous


cdef Py_ssize_t place_of(Queue queue, int64_t i) noexcept nogil:
    """Return the first place of a block that begins with attempt ``i`` or a later one."""
    cdef Py_ssize_t low = queue.head, high = queue.tail, middle
    while low < high:
        middle = (low + high) // 2
        if queue.attempt[middle] < i:
            low = middle + 1
        else:
            high = middle
    return low


cdef void _move_up(Queue queue) noexcept nogil:
    """Move everything that waits to the beginning of the queue."""
    cdef Py_ssize_t place
    for place in range(queue.head, queue.tail):
        _copy_place(queue, place, place - queue.head)
    queue.tail -= queue.head
    queue.head = 0


cdef inline void _copy_place(Queue queue, Py_ssize_t source, Py_ssize_t target) noexcept nogil:
    cdef Py_ssize_t x
    queue.attempt[target] = queue.attempt[source]
    queue.user[target] = queue.user[source]
    queue.slot[target] = queue.slot[source]
    queue.set[target] = queue.set[source]
    for x in range(queue.request.shape[0]):
        queue.request[x, target] = queue.request[x, source]
    for x in range(queue.ahead.shape[0]):
        queue.ahead[x, target] = queue.ahead[x, source]


cdef void occupy(
    Log log, Nodes nodes, Rules rules, State state, Queue queue, int64_t i, int64_t sign
) noexcept nogil:
    """Let attempt ``i``, which does not wait, take its resources (1) or return them (−1)."""
    cdef int64_t user = log.user[i], amount, own
    # Blocks that begin after it: for its own block it is neither ahead nor behind.
    cdef Py_ssize_t place = place_of(queue, i + 1), x, rule, resources = log.request.shape[0]
    state.running += sign
    for rule in range(rules.most.shape[0]):
        if rules.counter[rule, i] >= 0:
            state.counted[rules.counter[rule, i]] += sign * rules.amount[rule, i]
    if nodes.capacity.shape[1] > 0:
        _move_nodes(nodes, state, i, sign)
    else:
        for x in range(resources):
            state.moved[x] = sign * log.request[x, i]
            state.free[x] -= state.moved[x]
    for x in range(state.free.shape[0]):
        amount = state.moved[x]
        state.used[x] += amount
        if place < queue.tail:
            queue.ahead[x, place] += amount
            queue.total[x] += amount
        if user != UNKNOWN:
            state.by_user[x, user] += amount
    if user != UNKNOWN:
        own = queue.last[user]
        while own > i:
            for x in range(resources):
                queue.own_ahead[x, own] += state.moved[log.set[own] * resources + x]
            own = queue.before[own]


cdef void _move_nodes(Nodes nodes, State state, int64_t i, int64_t sign) noexcept nogil:
    """Take what attempt ``i`` uses from its nodes, or return it; write what that is by kind."""
    cdef Py_ssize_t place, x, s, kind, resources = nodes.capacity.shape[0]
    cdef int64_t node, amount
    state.moved[:] = 0
    for place in range(nodes.first[i], nodes.first[i + 1]):
        node = nodes.node[place]
        for x in range(resources):
            amount = sign * nodes.amount[x, place]
            state.free_on[x, node] -= amount
            for s in range(nodes.first_set[node], nodes.first_set[node + 1]):
                kind = nodes.set[s] * resources + x
                state.moved[kind] += amount
                if state.unavailable[node] == 0:
                    state.free[kind] -= amount


cdef void set_available(Nodes nodes, State state, Py_ssize_t node, int64_t change) noexcept nogil:
    """Count one reason more (1) or less (−1) for which a node is unavailable."""
    cdef Py_ssize_t x, s, kind, resources = nodes.capacity.shape[0]
    cdef int64_t sign = 0
    if state.unavailable[node] == 0:
        sign = -1
    elif state.unavailable[node] + change == 0:
        sign = 1
    state.unavailable[node] += change
    for x in range(resources):
        for s in range(nodes.first_set[node], nodes.first_set[node + 1]):
            kind = nodes.set[s] * resources + x
            state.capacity[kind] += sign * nodes.capacity[x, node]
            state.free[kind] += sign * state.free_on[x, node]


cdef inline int64_t _parts_on(
    Nodes nodes, const int64_t[:, ::1] free, int64_t i, int64_t node, Py_ssize_t but
) noexcept nogil:
    """Return how many parts of attempt ``i`` a node holds, whatever it has of resource ``but``."""
    cdef int64_t count = nodes.most[i], part
    cdef Py_ssize_t x
    for x in range(free.shape[0]):
        part = nodes.part[x, i]
        if part > 0 and x != but:
            if free[x, node] < part:
                return 0
            count = min(count, free[x, node] // part)
    return count


cdef bint fits_nodes(
    Log log, Nodes nodes, State state, const int64_t[:, ::1] free, int64_t i, Py_ssize_t but
) noexcept nogil:
    """Return whether the parts of attempt ``i`` fit in what is free on the nodes of its set."""
    cdef Py_ssize_t place
    cdef int64_t count = 0, node
    for place in range(nodes.first_member[log.set[i]], nodes.first_member[log.set[i] + 1]):
        node = nodes.member[place]
        if state.unavailable[node] == 0:
            count += _parts_on(nodes, free, i, node, but)
            if count >= nodes.parts[i]:
                return True
    return False


cdef bint fits_claimed(
    Log log, Nodes nodes, State state, int64_t i, int64_t user
) noexcept nogil:
    """Return whether attempt ``i`` fits in what is left and in the claims of a user."""
    cdef bint fits
    _lend(state, user, 1)
    fits = fits_nodes(log, nodes, state, state.left_on, i, NOBODY)
    _lend(state, user, -1)
    return fits


cdef void _lend(State state, int64_t user, int64_t sign) noexcept nogil:
    """Return the claims of a user on nodes (1), or take them again (−1)."""
    cdef Py_ssize_t k, x
    cdef int64_t* claim
    for k in range(state.claims.count):
        claim = state.claims.held + k * state.claims.width
        if claim[1] == user and user > UNKNOWN:
            for x in range(state.left_on.shape[0]):
                state.left_on[x, claim[0]] += sign * claim[2 + x]


cdef void claim_nodes(Log log, Nodes nodes, State state, int64_t i) noexcept nogil:
    """Let attempt ``i``, which fits, claim its parts on the first nodes that hold some.

    If not all parts of it must be on nodes of their own, nodes with most free come first.
    """
    cdef int64_t missing = nodes.parts[i], node, count, best, most
    cdef Py_ssize_t place
    while missing > 0:
        most, best = 0, NOBODY
        for place in range(nodes.first_member[log.set[i]], nodes.first_member[log.set[i] + 1]):
            node = nodes.member[place]
            if state.unavailable[node] > 0:
                continue
            count = _parts_on(nodes, state.left_on, i, node, NOBODY)
            if count == 0 or nodes.most[i] > 1 and count <= most:
                continue
            most, best = count, node
            if nodes.most[i] == 1:
                _claim_node(nodes, state, state.claims, i, node, 1, log.user[i])
                missing -= 1
                if missing == 0:
                    return
        if nodes.most[i] == 1 or best == NOBODY:
            return
        count = min(most, missing)
        _claim_node(nodes, state, state.claims, i, best, count, log.user[i])
        missing -= count


cdef void _claim_node(
    Nodes nodes, State state, Claims claims, int64_t i, int64_t node, int64_t count, int64_t user
) noexcept nogil:
    """Note that attempt ``i`` claims parts on a node."""
    cdef int64_t* claim
    cdef Py_ssize_t x
    if claims.count == claims.places:
        claims.places = max(2 * claims.places, 1 << 10)
        claim = <int64_t*> realloc(claims.held, claims.places * claims.width * sizeof(int64_t))
        if claim == NULL:
            claims.places = -1
        else:
            claims.held = claim
    if claims.places < 0:
        return
    claim = claims.held + claims.count * claims.width
    claim[0], claim[1] = node, user
    for x in range(nodes.capacity.shape[0]):
        claim[2 + x] = count * nodes.part[x, i]
        state.left_on[x, node] -= claim[2 + x]
    claims.count += 1


cdef void turn(Times times, Rules rules, State state, int64_t now) noexcept nogil:
    """Move on to the outage and the closed spans that come at or after ``now``."""
    cdef Py_ssize_t w
    while state.outage < times.outage_to.shape[0] and times.outage_to[state.outage] <= now:
        state.outage += 1
    state.out = (
        state.outage < times.outage_to.shape[0] and times.outage_from[state.outage] <= now
    )
    for w in range(state.span.shape[0]):
        while state.span[w] < rules.first_span[w + 1] and rules.span_to[state.span[w]] <= now:
            state.span[w] += 1
