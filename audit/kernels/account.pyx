"""Book each second of each wait to one cause (SPEC §10, *Anatomy*; §11, *Causes*).

Attempts are numbered in the order (arrival, submit, sequence); times are in s. The sweep cuts time
where an attempt starts, ends or leaves the queue, where the capacity changes, and at the given
``cuts`` (edges of rules and holds). Attempts that arrived since the last cut are behind everything
that waits, so they change nothing for the others; their own time counts from their arrival.

The queue holds *blocks*: equal attempts of one user that follow each other in the order. Only
members that claim capacity are visited one by one, so that the cost of an array does not grow with
the square of its tasks.
"""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t
from libc.stdlib cimport free, realloc

import numpy as np

from audit.kernels.sweeps cimport time_at

cdef enum:
    UNKNOWN = 0  # number of an unknown user, to whom no attempt is known to belong
    NOBODY = -1  # or no rule
    FITS = -1  # instead of the short resource
    EXCEEDS = -2

# The order of ``audit.metrics.attempts.account.BOOKED``.
cdef enum:
    HELD, UNAVAILABLE, RULE, RULE_FREE, OWN_QUEUED, OWN_RUNNING
    CLAIMED, EARLIER, LATER, CYCLE, UNEXPLAINED, KEPT
    CAUSES  # their number

cdef enum:
    RECORDED = 1  # a hold was recorded when it left the queue
    TRACED = 2  # every stretch of its wait is kept, not only holds and rules
    SPAN = 4  # numbers of a stretch


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Log:
    """The attempts of a pool: queued over [arrival, leave), running over [start, end).

    The orders leave out attempts without such a span, and spans of length 0.
    """

    cdef const int64_t[::1] arrival
    cdef const int64_t[::1] leave
    cdef const int64_t[::1] start
    cdef const int64_t[::1] end
    cdef const int64_t[::1] user  # from 1 on, or 0: unknown
    cdef const int64_t[:, ::1] request  # resources × attempts, ≥ 0
    cdef const int64_t[::1] block  # equal numbers of neighbours in by_arrival: one block
    cdef const int64_t[::1] ready  # when a policy would have started it; NEVER: not
    cdef const int64_t[::1] cycle  # from then on it may wait for the next pass; NEVER: not
    cdef const int64_t[::1] flags  # sums of RECORDED and TRACED
    cdef const int64_t[::1] first_hold  # its holds are [first_hold, last_hold) of Holds
    cdef const int64_t[::1] last_hold
    cdef const int64_t[::1] by_arrival  # of those that wait: ascending
    cdef const int64_t[::1] by_leave  # of the same
    cdef const int64_t[::1] by_start
    cdef const int64_t[::1] by_end


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Times:
    """What happens to the pool itself."""

    cdef const int64_t[::1] step  # when the capacity changes, ascending
    cdef const int64_t[:, ::1] change  # steps × resources
    cdef const int64_t[::1] cut  # further instants at which something changes, ascending
    cdef const int64_t[::1] hold_from  # holds of single attempts
    cdef const int64_t[::1] hold_to
    cdef const int64_t[::1] outage_from  # ascending
    cdef const int64_t[::1] outage_to


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Rules:
    """Limits, then windows; L and W may be 0."""

    cdef const int64_t[:, ::1] counter  # L × attempts: what counts it, or −1: not in the scope
    cdef const int64_t[:, ::1] amount  # L × attempts: what it adds while it runs
    cdef const int64_t[:, ::1] binding  # L × attempts: 0: it counts, but the limit does not hold it
    cdef const int64_t[::1] most  # L
    cdef const int64_t[::1] valid_from  # L
    cdef const int64_t[::1] valid_to  # L
    cdef const int64_t[:, ::1] reach  # W × attempts: how far it must end before a closing; 0: none
    cdef const int64_t[::1] first_span  # W + 1: the closed spans of each window
    cdef const int64_t[::1] span_from
    cdef const int64_t[::1] span_to
    cdef Py_ssize_t counters


@cython.final
cdef class State:
    """The pool at an instant, and working space for one walk through its queue."""

    cdef int64_t[::1] capacity  # [resources]
    cdef int64_t[::1] free  # capacity − use; may be negative
    cdef int64_t[::1] used
    cdef int64_t[:, ::1] by_user  # resources × users: use by each
    cdef int64_t[::1] counted  # [counters]: what runs
    cdef int64_t[::1] span  # [W]: the closed span at or after the instant
    cdef Py_ssize_t running  # attempts
    cdef Py_ssize_t outage
    cdef bint out  # whether the instant lies in an outage
    # Of the walk: ``left`` is what earlier claims leave of ``free``. Claims of users and counters
    # are valid where their stamp is that of the walk.
    cdef int64_t[::1] left
    cdef int64_t[::1] ahead  # use by attempts before in the order
    cdef int64_t[:, ::1] claimed  # resources × users
    cdef int64_t[::1] claimed_stamp
    cdef int64_t[::1] counting  # [counters]
    cdef int64_t[::1] counting_stamp
    cdef int64_t walk

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
    """The waiting blocks, in their order, at the places ``head``, …, ``tail`` − 1.

    It has more than twice as many places as are ever taken, so it is seldom moved to its beginning.
    """

    cdef Py_ssize_t head
    cdef Py_ssize_t tail
    cdef int64_t[::1] attempt  # the first member that ever was in it
    cdef int64_t[::1] user
    cdef int64_t[::1] slot
    cdef int64_t[:, ::1] request  # resources × places
    # resources × places: use by attempts that arrived before this one, but not before the place
    # before.
    cdef int64_t[:, ::1] ahead
    cdef int64_t[::1] total  # [resources], the sum of these
    # resources × attempts: use by attempts of the same user that arrived before.
    cdef int64_t[:, ::1] own_ahead
    # Links between the waiting blocks of a user, by their first members; NOBODY: none.
    cdef int64_t[::1] last  # of each user
    cdef int64_t[::1] before
    cdef int64_t[::1] after
    # Of the members of a block: the first, by slot; links between those that wait.
    cdef int64_t[::1] front
    cdef int64_t[::1] previous
    cdef int64_t[::1] following
    cdef int64_t[::1] spare  # free slots
    cdef Py_ssize_t spares
    # By slot: what all members of the block have waited for so far.
    cdef double[:, ::1] booked
    cdef int64_t[:, ::1] forbidden
    cdef int64_t[::1] span  # its last stretch; NOBODY: none

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


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Bookings:
    """What the sweep adds to."""

    cdef double[:, ::1] seconds  # causes × attempts
    cdef int64_t[:, ::1] forbidden  # rules × attempts: s in which each forbids it
    cdef Spans spans


@cython.final
cdef class Spans:
    """Stretches of one cause in the waits of blocks, in the order in which they begin.

    Of a divided stretch the cause is the greatest part. Of a traced attempt, CAUSES + k stands for
    rule k instead of RULE.
    """

    cdef int64_t* held  # SPAN numbers each: block (its first member), cause, begin, end
    cdef Py_ssize_t count
    cdef Py_ssize_t places

    def __cinit__(self):
        """Make an empty list."""
        self.held = NULL
        self.count = self.places = 0

    def __dealloc__(self):
        """Free the memory."""
        free(self.held)

    def taken(self):
        """Return the stretches as an array, [count, SPAN]."""
        made = np.empty((self.count, SPAN), np.int64)
        cdef int64_t[:, ::1] out = made
        cdef Py_ssize_t k, x
        for k in range(self.count):
            for x in range(SPAN):
                out[k, x] = self.held[k * SPAN + x]
        return made


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
    # What happens next of each kind: indices into the orders of the log.
    Py_ssize_t arrival
    Py_ssize_t start
    Py_ssize_t end
    Py_ssize_t leave
    Py_ssize_t step
    Py_ssize_t cut


def book_waits(
    Log log, Times times, Rules rules, const int64_t[::1] capacity, Py_ssize_t most, Bookings made
):
    """Add each second of each wait to one of its causes.

    Args:
        log: the attempts of one pool.
        times: changes of its capacity, outages, holds.
        rules: its limits and windows.
        capacity: capacity before any step, [resources].
        most: the most blocks that ever wait at one time.
        made: what is added to.

    Raises:
        MemoryError: there is no memory for the stretches.
    """
    cdef Py_ssize_t users = int(np.max(log.user, initial=UNKNOWN)) + 1
    cdef State state = State(rules, capacity, users)
    cdef Queue queue = Queue(rules, log.request.shape[0], log.request.shape[1], users, most)
    with nogil:
        _sweep(log, times, rules, state, queue, made, None)
    if made.spans.places < 0:
        raise MemoryError("no memory for the stretches of waits")


def find_idle(Log log, Times times, Rules rules, const int64_t[::1] capacity, Py_ssize_t most):
    """Return the stretches in which nothing runs while the log lasts: begin, end, waited."""
    cdef Py_ssize_t users = int(np.max(log.user, initial=UNKNOWN)) + 1
    cdef State state = State(rules, capacity, users)
    cdef Queue queue = Queue(rules, log.request.shape[0], log.request.shape[1], users, most)
    found = np.zeros((3, log.by_end.shape[0] + 1), np.int64)
    cdef Idle idle = Idle(found[0], found[1], found[2], 0, False)
    cdef Bookings made = Bookings(np.zeros((CAUSES, 0)), np.zeros((0, 0), np.int64), Spans())
    with nogil:
        _sweep(log, times, rules, state, queue, made, idle)
    return found[:, :idle.count]


cdef void _sweep(
    Log log, Times times, Rules rules, State state, Queue queue, Bookings made, Idle idle
) noexcept nogil:
    cdef Next coming = Next(0, 0, 0, 0, 0, 0)
    cdef int64_t since = 0, now
    cdef Py_ssize_t x, old
    while coming.leave < log.by_leave.shape[0]:
        now = time_at(log.leave, log.by_leave, coming.leave)
        now = min(now, time_at(log.start, log.by_start, coming.start))
        now = min(now, time_at(log.end, log.by_end, coming.end))
        if coming.step < times.step.shape[0]:
            now = min(now, times.step[coming.step])
        if coming.cut < times.cut.shape[0]:
            now = min(now, times.cut[coming.cut])
        old = queue.tail - queue.head
        coming.arrival = _join(log, state, queue, coming.arrival, now)
        if queue.head < queue.tail:
            if idle is None:
                _spend(log, times, rules, state, queue, made, old, since, now)
            elif state.running == 0 and idle.count > 0:
                _watch(log, times, rules, state, queue, idle, old, since, now)
        since = now
        while coming.cut < times.cut.shape[0] and times.cut[coming.cut] == now:
            coming.cut += 1
        while coming.step < times.step.shape[0] and times.step[coming.step] == now:
            for x in range(state.free.shape[0]):
                state.capacity[x] += times.change[coming.step, x]
                state.free[x] += times.change[coming.step, x]
            coming.step += 1
        while time_at(log.leave, log.by_leave, coming.leave) == now:
            _leave(log, queue, made, log.by_leave[coming.leave], idle is None)
            coming.leave += 1
        while time_at(log.end, log.by_end, coming.end) == now:
            _occupy(log, rules, state, queue, log.by_end[coming.end], -1)
            coming.end += 1
        coming.arrival = _join(log, state, queue, coming.arrival, now + 1)
        while time_at(log.start, log.by_start, coming.start) == now:
            _occupy(log, rules, state, queue, log.by_start[coming.start], 1)
            coming.start += 1
        if idle is not None:
            _note_idle(idle, state.running, now)
        _turn(times, rules, state, now)


cdef void _turn(Times times, Rules rules, State state, int64_t now) noexcept nogil:
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


cdef void _note_idle(Idle idle, Py_ssize_t running, int64_t now) noexcept nogil:
    """Begin or end a stretch in which nothing runs.

    Before the first start nobody knows what ran.
    """
    cdef bint open = idle.count > 0 and idle.end[idle.count - 1] == NEVER
    idle.begun = idle.begun or running > 0
    if running == 0 and idle.begun and not open:
        idle.begin[idle.count] = now
        idle.end[idle.count] = NEVER
        idle.count += 1
    elif running > 0 and open:
        idle.end[idle.count - 1] = now


cdef Py_ssize_t _join(
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


cdef void _leave(Log log, Queue queue, Bookings made, int64_t i, bint booking) noexcept nogil:
    """Remove attempt ``i`` from its block, and the block from the queue after its last member."""
    cdef Py_ssize_t place = _place_of(queue, i + 1) - 1, cause, rule
    cdef int64_t slot = queue.slot[place], previous = queue.previous[i]
    cdef int64_t following = queue.following[i]
    if booking:
        for cause in range(CAUSES):
            made.seconds[cause, i] += queue.booked[slot, cause]
        for rule in range(made.forbidden.shape[0]):
            made.forbidden[rule, i] += queue.forbidden[slot, rule]
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
        queue.span[slot] = NOBODY
        queue.spare[queue.spares] = slot
        queue.spares += 1
        _close_gap(log, queue, place)


cdef void _close_gap(Log log, Queue queue, Py_ssize_t place) noexcept nogil:
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


cdef Py_ssize_t _place_of(Queue queue, int64_t i) noexcept nogil:
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


cdef void _occupy(
    Log log, Rules rules, State state, Queue queue, int64_t i, int64_t sign
) noexcept nogil:
    """Let attempt ``i``, which does not wait, take its resources (1) or return them (−1)."""
    cdef int64_t user = log.user[i], amount, own
    # Blocks that begin after it: for its own block it is neither ahead nor behind.
    cdef Py_ssize_t place = _place_of(queue, i + 1), x, rule
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


cdef void _watch(
    Log log,
    Times times,
    Rules rules,
    State state,
    Queue queue,
    Idle idle,
    Py_ssize_t old,
    int64_t since,
    int64_t now,
) noexcept nogil:
    """Add the time in which an attempt waits that fits the capacity and that nothing forbids."""
    cdef Py_ssize_t place
    cdef int64_t i, begin
    state.walk += 1
    for place in range(queue.head, queue.tail):
        i = queue.attempt[place]
        begin = since if place < queue.head + old else log.arrival[i]
        if (
            _short_of(queue, place, state) == FITS
            and not _is_held(log, times, i, begin)
            and not _is_forbidden(rules, state, i, begin)
        ):
            idle.waited[idle.count - 1] += now - begin
            return


cdef void _spend(
    Log log,
    Times times,
    Rules rules,
    State state,
    Queue queue,
    Bookings made,
    Py_ssize_t old,
    int64_t since,
    int64_t now,
) noexcept nogil:
    """Book the time up to ``now`` for everything that waits.

    The first ``old`` blocks have waited ``since`` the last cut, the others from their arrivals.
    """
    cdef Py_ssize_t place, x
    state.walk += 1
    for x in range(state.free.shape[0]):
        state.left[x] = state.free[x]
        state.ahead[x] = 0
    old += queue.head
    for place in range(queue.head, queue.tail):
        if place >= old:
            since = log.arrival[queue.attempt[place]]
        for x in range(state.ahead.shape[0]):
            state.ahead[x] += queue.ahead[x, place]
        _book(log, times, rules, state, queue, made, place, since, now)


cdef inline void _book(
    Log log,
    Times times,
    Rules rules,
    State state,
    Queue queue,
    Bookings made,
    Py_ssize_t place,
    int64_t since,
    int64_t now,
) noexcept nogil:
    """Book the time from ``since`` to ``now`` for the block at ``place``."""
    cdef int64_t i = queue.attempt[place], slot = queue.slot[place], own, earlier
    cdef int64_t others, cause
    cdef double time = <double> (now - since), each
    cdef Py_ssize_t short
    if _is_held(log, times, i, since):
        queue.booked[slot, HELD] += time
        _note(log, queue, made.spans, slot, i, HELD, since, now)
        return
    short = _short_of(queue, place, state)
    if state.out or short == EXCEEDS:
        queue.booked[slot, UNAVAILABLE] += time
        _note(log, queue, made.spans, slot, i, UNAVAILABLE, since, now)
    elif _is_forbidden(rules, state, i, since):
        _book_rules(rules, state, queue, slot, i, since, now, short == FITS)
        cause = RULE
        if log.flags[i] & TRACED:
            cause = CAUSES + _named_rule(rules, state, queue, made.spans, slot, i, since)
        _note(log, queue, made.spans, slot, i, cause, since, now)
    elif short == FITS:
        _book_claims(log, rules, state, queue, made, place, since, now)
    else:
        own = state.by_user[short, queue.user[place]]
        earlier = state.ahead[short] - queue.own_ahead[short, i]
        each = time / state.used[short]
        queue.booked[slot, OWN_RUNNING] += each * own
        queue.booked[slot, EARLIER] += each * earlier
        queue.booked[slot, LATER] += each * (state.used[short] - own - earlier)
        if log.flags[i] & TRACED:
            if 3 * own >= state.used[short]:
                _note(log, queue, made.spans, slot, i, OWN_RUNNING, since, now)
            else:
                others = state.used[short] - own
                cause = EARLIER if 2 * earlier >= others else LATER
                _note(log, queue, made.spans, slot, i, cause, since, now)


cdef void _book_rules(
    Rules rules,
    State state,
    Queue queue,
    int64_t slot,
    int64_t i,
    int64_t since,
    int64_t now,
    bint fits,
) noexcept nogil:
    """Book a stretch in which some rule forbids attempt ``i``: to rule, and to each of these."""
    cdef Py_ssize_t rule, limits = rules.most.shape[0]
    queue.booked[slot, RULE] += now - since
    if fits:
        queue.booked[slot, RULE_FREE] += now - since
    for rule in range(limits):
        if _exceeds(rules, state, rule, i, since):
            queue.forbidden[slot, rule] += now - since
    for rule in range(state.span.shape[0]):
        if _is_closed(rules, state, rule, i, since):
            queue.forbidden[slot, limits + rule] += now - since


cdef void _book_claims(
    Log log,
    Rules rules,
    State state,
    Queue queue,
    Bookings made,
    Py_ssize_t place,
    int64_t since,
    int64_t now,
) noexcept nogil:
    """Let the members of a block claim what is left, in their order; book the rest for the others.

    No rule forbids the first, and each fits in what is free.
    """
    cdef int64_t slot = queue.slot[place], first = queue.front[slot], member = first
    cdef int64_t user = queue.user[place]
    cdef Py_ssize_t rest = NOBODY, rule
    while member != NOBODY:
        if member != first and _is_forbidden(rules, state, member, since):
            rest = RULE
            break
        if not _fits_left(queue, place, state, NOBODY):
            rest = OWN_QUEUED if _fits_left(queue, place, state, user) else CLAIMED
            break
        if log.flags[member] & RECORDED and log.leave[member] == now:
            made.seconds[HELD, member] += now - since
            if log.flags[member] & TRACED:
                _note(log, queue, made.spans, slot, member, HELD, since, now)
        else:
            _claim(log, rules, state, queue, made, place, member, since, now)
        member = queue.following[member]
    if member == NOBODY:
        return
    if rest == RULE or log.flags[first] & TRACED:
        _note(log, queue, made.spans, slot, queue.attempt[place], rest, since, now)
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
                if _exceeds(rules, state, rule, member, since):
                    made.forbidden[rule, first] -= now - since
        first = queue.following[first]


cdef void _claim(
    Log log,
    Rules rules,
    State state,
    Queue queue,
    Bookings made,
    Py_ssize_t place,
    int64_t i,
    int64_t since,
    int64_t now,
) noexcept nogil:
    """Let attempt ``i`` claim its request, and book what it waits for meanwhile."""
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
    Log log,
    Queue queue,
    Spans spans,
    int64_t slot,
    int64_t i,
    int64_t cause,
    int64_t begin,
    int64_t end,
) noexcept nogil:
    """Note a stretch of one cause in the wait of a block, or lengthen its last one."""
    cdef int64_t last = queue.span[slot]
    cdef int64_t* place
    if begin == end or spans.places < 0:
        return
    if not (log.flags[i] & TRACED or cause == HELD or cause == RULE):
        return
    if last != NOBODY:
        place = spans.held + last * SPAN
        if place[1] == cause and place[3] == begin:
            place[3] = end
            return
    if spans.count == spans.places:
        spans.places = max(2 * spans.places, 1 << 12)
        place = <int64_t*> realloc(spans.held, spans.places * SPAN * sizeof(int64_t))
        if place == NULL:
            spans.places = -1
            return
        spans.held = place
    place = spans.held + spans.count * SPAN
    place[0] = queue.attempt[_place_of(queue, i + 1) - 1]
    place[1] = cause
    place[2] = begin
    place[3] = end
    queue.span[slot] = spans.count
    spans.count += 1


cdef inline bint _is_held(Log log, Times times, int64_t i, int64_t at) noexcept nogil:
    """Return whether a known hold of attempt ``i`` lasts at an instant."""
    cdef Py_ssize_t hold
    for hold in range(log.first_hold[i], log.last_hold[i]):
        if times.hold_from[hold] <= at < times.hold_to[hold]:
            return True
    return False


cdef inline bint _is_forbidden(Rules rules, State state, int64_t i, int64_t at) noexcept nogil:
    """Return whether a rule forbids attempt ``i``, given what runs and what has claimed."""
    return _forbidding(rules, state, i, at) != NOBODY


cdef inline Py_ssize_t _forbidding(
    Rules rules, State state, int64_t i, int64_t at
) noexcept nogil:
    """Return the first rule that forbids attempt ``i``; NOBODY: none."""
    cdef Py_ssize_t rule
    for rule in range(rules.most.shape[0] + state.span.shape[0]):
        if _forbids(rules, state, rule, i, at):
            return rule
    return NOBODY


cdef inline bint _forbids(
    Rules rules, State state, Py_ssize_t rule, int64_t i, int64_t at
) noexcept nogil:
    """Return whether a rule forbids attempt ``i``."""
    cdef Py_ssize_t limits = rules.most.shape[0]
    if rule < limits:
        return _exceeds(rules, state, rule, i, at)
    return _is_closed(rules, state, rule - limits, i, at)


cdef Py_ssize_t _named_rule(
    Rules rules, State state, Queue queue, Spans spans, int64_t slot, int64_t i, int64_t at
) noexcept nogil:
    """Return the rule that forbade traced attempt ``i`` last if it still does, else the first."""
    cdef int64_t last = queue.span[slot], rule
    if last != NOBODY:
        rule = spans.held[last * SPAN + 1] - CAUSES
        if rule >= 0 and _forbids(rules, state, rule, i, at):
            return rule
    return _forbidding(rules, state, i, at)


cdef inline bint _exceeds(
    Rules rules, State state, Py_ssize_t rule, int64_t i, int64_t at
) noexcept nogil:
    """Return whether a limit forbids attempt ``i``."""
    cdef int64_t counter = rules.counter[rule, i], amount
    if counter < 0 or not rules.binding[rule, i]:
        return False
    if not rules.valid_from[rule] <= at < rules.valid_to[rule]:
        return False
    amount = state.counted[counter] + rules.amount[rule, i]
    if state.counting_stamp[counter] == state.walk:
        amount += state.counting[counter]
    return amount > rules.most[rule]


cdef inline bint _is_closed(
    Rules rules, State state, Py_ssize_t window, int64_t i, int64_t at
) noexcept nogil:
    """Return whether attempt ``i`` may not start now because of a window."""
    cdef int64_t reach = rules.reach[window, i], span = state.span[window]
    if reach == 0 or span == rules.first_span[window + 1]:
        return False
    return rules.span_from[span] < at + reach


cdef inline bint _fits_left(
    Queue queue, Py_ssize_t place, State state, int64_t user
) noexcept nogil:
    """Return whether a block's request fits in what is left, and in the claims of ``user``."""
    cdef int64_t left
    cdef Py_ssize_t x
    for x in range(state.left.shape[0]):
        left = state.left[x]
        if user > UNKNOWN and state.claimed_stamp[user] == state.walk:
            left += state.claimed[x, user]
        if queue.request[x, place] > left and queue.request[x, place] > 0:
            return False
    return True


cdef inline Py_ssize_t _short_of(Queue queue, Py_ssize_t place, State state) noexcept nogil:
    """Return the first resource that lacks most of its capacity; FITS; or EXCEEDS.

    A request that exceeds a capacity does so even where that resource is not the short one.
    """
    cdef Py_ssize_t short = FITS, x
    cdef int64_t request
    cdef double most = 0.0, lack
    for x in range(state.free.shape[0]):
        request = queue.request[x, place]
        if request > state.free[x] and request > 0:
            if request > state.capacity[x]:
                return EXCEEDS
            lack = <double> (request - state.free[x]) / state.capacity[x]
            if lack > most:
                most = lack
                short = x
    return short
