"""The attempts of a pool that wait and run: see the ``.pxd``."""

cimport cython

import numpy as np

from audit.kernels.sweeps cimport time_at


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
        self.user, self.request, self.block, self.flags = user, request, block, flags
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
    def __cinit__(self, Rules rules, const int64_t[::1] capacity, Py_ssize_t users):
        """Make a pool in which nothing runs."""
        cdef Py_ssize_t resources = capacity.shape[0]
        self.capacity, self.free = np.array(capacity), np.array(capacity)
        self.used = np.zeros(resources, np.int64)
        self.by_user, self.claimed = np.zeros((2, resources, users), np.int64)
        self.left, self.ahead = np.zeros((2, resources), np.int64)
        self.claimed_stamp = np.zeros(users, np.int64)
        self.counted, self.counting, self.counting_stamp = np.zeros(
            (3, rules.counters), np.int64
        )
        self.span = np.array(rules.first_span[: rules.first_span.shape[0] - 1])
        self.walk = 0
        self.running = self.outage = 0
        self.out = False


@cython.final
cdef class Queue:
    def __cinit__(
        self, Rules rules, Py_ssize_t resources, Py_ssize_t count, Py_ssize_t users, Py_ssize_t most
    ):
        """Make an empty queue, in which at most ``most`` blocks of ``count`` attempts wait."""
        cdef Py_ssize_t places = 2 * most + 1
        self.head = self.tail = 0
        self.attempt, self.user, self.slot = np.empty((3, places), np.int64)
        self.request, self.ahead = np.empty((2, resources, places), np.int64)
        self.total = np.zeros(resources, np.int64)
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
        for x in range(state.free.shape[0]):
            queue.request[x, place] = log.request[x, i]
            queue.ahead[x, place] = state.used[x] - queue.total[x]
            queue.total[x] = state.used[x]
            queue.own_ahead[x, i] = state.by_user[x, user]
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
    for x in range(queue.request.shape[0]):
        queue.request[x, target] = queue.request[x, source]
        queue.ahead[x, target] = queue.ahead[x, source]


cdef void occupy(
    Log log, Rules rules, State state, Queue queue, int64_t i, int64_t sign
) noexcept nogil:
    """Let attempt ``i``, which does not wait, take its resources (1) or return them (−1)."""
    cdef int64_t user = log.user[i], amount, own
    # Blocks that begin after it: for its own block it is neither ahead nor behind.
    cdef Py_ssize_t place = place_of(queue, i + 1), x, rule
    state.running += sign
    for rule in range(rules.most.shape[0]):
        if rules.counter[rule, i] >= 0:
            state.counted[rules.counter[rule, i]] += sign * rules.amount[rule, i]
    for x in range(state.free.shape[0]):
        amount = sign * log.request[x, i]
        state.used[x] += amount
        state.free[x] -= amount
        if place < queue.tail:
            queue.ahead[x, place] += amount
            queue.total[x] += amount
        if user != UNKNOWN:
            state.by_user[x, user] += amount
            own = queue.last[user]
            while own > i:
                queue.own_ahead[x, own] += amount
                own = queue.before[own]


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
