"""Split waits into their parts (SPEC §10, *Anatomy*; ``audit.metrics.attempts.anatomy``).

Attempts are numbered in the order (arrival, submit, sequence): 0, 1, …; there are R resources.
Times are in s. The sweep cuts time where an attempt starts, ends or leaves the queue, or where the
capacity changes. Arrivals since the last cut are behind everything that waits, so they change
nothing for the others, and their own time counts from their arrival.
"""

cimport cython
from libc.stdint cimport int64_t

import numpy as np

from audit.kernels.sweeps cimport time_at

cdef enum:
    UNKNOWN = 0  # number of an unknown user, to whom no attempt is known to belong
    NOBODY = -1
    DOWN = -1


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
    cdef const int64_t[:, ::1] request  # R × attempts, ≥ 0
    cdef const int64_t[::1] ready  # when a policy would have started it; greatest int64: never
    cdef const int64_t[::1] by_arrival  # of those that wait: ascending
    cdef const int64_t[::1] by_leave  # of the same
    cdef const int64_t[::1] by_start
    cdef const int64_t[::1] by_end


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Steps:
    """Changes of the capacity."""

    cdef const int64_t[::1] time  # ascending
    cdef const int64_t[:, ::1] change  # steps × R


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Parts:
    """The parts of each attempt's wait, in s; the sweep adds to them."""

    cdef int64_t[::1] room
    cdef int64_t[::1] kept  # part of room, before Log.ready
    cdef int64_t[::1] shared
    cdef int64_t[::1] down
    cdef double[::1] own
    cdef double[::1] earlier
    cdef double[::1] later


@cython.final
cdef class Pool:
    """The resources at an instant, [R]."""

    cdef int64_t[::1] capacity
    cdef int64_t[::1] free  # capacity − use; may be negative
    cdef int64_t[::1] used
    cdef int64_t[:, ::1] by_user  # R × users: use by each
    cdef int64_t[::1] left  # working space: free − what attempts before in the queue take of it
    cdef int64_t[::1] ahead  # working space: use by attempts before in the order

    def __cinit__(self, const int64_t[::1] capacity, Py_ssize_t users):
        """Make a pool in which nothing runs."""
        cdef Py_ssize_t resources = capacity.shape[0]
        self.capacity, self.free = np.array(capacity), np.array(capacity)
        self.used = np.zeros(resources, np.int64)
        self.by_user = np.zeros((resources, users), np.int64)
        self.left, self.ahead = np.empty((2, resources), np.int64)


@cython.final
cdef class Queue:
    """The waiting attempts, in their order, at the places ``head``, …, ``tail`` − 1.

    It has more than twice as many places as are ever taken, so it is seldom moved to its beginning.
    """

    cdef Py_ssize_t head
    cdef Py_ssize_t tail
    cdef int64_t[::1] attempt
    cdef int64_t[::1] user
    cdef int64_t[:, ::1] request  # R × places
    # R × places: use by attempts that arrived before this one, but not before the place before.
    cdef int64_t[:, ::1] ahead
    cdef int64_t[::1] total  # [R], the sum of these
    # R × attempts: use by attempts of the same user that arrived before.
    cdef int64_t[:, ::1] own_ahead
    # Links between the waiting attempts of a user; NOBODY: none.
    cdef int64_t[::1] last  # of each user
    cdef int64_t[::1] before  # of each attempt
    cdef int64_t[::1] after  # of each attempt

    def __cinit__(self, Py_ssize_t resources, Py_ssize_t count, Py_ssize_t users, Py_ssize_t most):
        """Make an empty queue, in which at most ``most`` of ``count`` attempts wait at a time."""
        cdef Py_ssize_t places = 2 * most + 1
        self.head = self.tail = 0
        self.attempt, self.user = np.empty((2, places), np.int64)
        self.request, self.ahead = np.empty((2, resources, places), np.int64)
        self.total = np.zeros(resources, np.int64)
        self.own_ahead = np.empty((resources, count), np.int64)
        self.last = np.full(users, NOBODY, np.int64)
        self.before, self.after = np.empty((2, count), np.int64)


cdef struct Next:
    # What happens next of each kind: indices into the orders of the log.
    Py_ssize_t arrival
    Py_ssize_t start
    Py_ssize_t end
    Py_ssize_t leave
    Py_ssize_t step


def take_waits_apart(
    Log log, Steps steps, const int64_t[::1] capacity, Py_ssize_t most, Parts parts
):
    """Add each second of each wait to one of its parts.

    Args:
        log: the attempts of one pool.
        steps: changes of its capacity.
        capacity: capacity before any step, [R].
        most: the most attempts that ever wait at one time.
        parts: what is added to.
    """
    cdef Py_ssize_t users = int(np.max(log.user, initial=UNKNOWN)) + 1
    cdef Pool pool = Pool(capacity, users)
    cdef Queue queue = Queue(log.request.shape[0], log.request.shape[1], users, most)
    with nogil:
        _sweep(log, steps, pool, queue, parts)


cdef void _sweep(Log log, Steps steps, Pool pool, Queue queue, Parts parts) noexcept nogil:
    cdef Next coming = Next(0, 0, 0, 0, 0)
    cdef int64_t since = 0, now
    cdef Py_ssize_t x, old
    while coming.leave < log.by_leave.shape[0]:
        now = time_at(log.leave, log.by_leave, coming.leave)
        now = min(now, time_at(log.start, log.by_start, coming.start))
        now = min(now, time_at(log.end, log.by_end, coming.end))
        if coming.step < steps.time.shape[0]:
            now = min(now, steps.time[coming.step])
        old = queue.tail - queue.head
        coming.arrival = _join(log, pool, queue, coming.arrival, now)
        _spend(log, pool, queue, parts, old, since, now)
        since = now
        while coming.step < steps.time.shape[0] and steps.time[coming.step] == now:
            for x in range(pool.free.shape[0]):
                pool.capacity[x] += steps.change[coming.step, x]
                pool.free[x] += steps.change[coming.step, x]
            coming.step += 1
        while time_at(log.leave, log.by_leave, coming.leave) == now:
            _leave(log, queue, log.by_leave[coming.leave])
            coming.leave += 1
        while time_at(log.end, log.by_end, coming.end) == now:
            _occupy(log, pool, queue, log.by_end[coming.end], -1)
            coming.end += 1
        coming.arrival = _join(log, pool, queue, coming.arrival, now + 1)
        while time_at(log.start, log.by_start, coming.start) == now:
            _occupy(log, pool, queue, log.by_start[coming.start], 1)
            coming.start += 1


cdef Py_ssize_t _join(
    Log log, Pool pool, Queue queue, Py_ssize_t coming, int64_t before
) noexcept nogil:
    """Append the attempts that arrive before an instant; return the next to arrive.

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
        for x in range(pool.free.shape[0]):
            queue.request[x, place] = log.request[x, i]
            queue.ahead[x, place] = pool.used[x] - queue.total[x]
            queue.total[x] = pool.used[x]
            queue.own_ahead[x, i] = pool.by_user[x, user]
        previous = queue.last[user]
        queue.before[i] = previous
        queue.after[i] = NOBODY
        if previous != NOBODY:
            queue.after[previous] = i
        queue.last[user] = i
        queue.tail += 1
        coming += 1
    return coming


cdef void _leave(Log log, Queue queue, int64_t i) noexcept nogil:
    """Remove attempt ``i`` from the queue and close the gap from the nearer end."""
    cdef Py_ssize_t place = _place_of(queue, i), gap, x
    cdef int64_t previous, following
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
    previous = queue.before[i]
    following = queue.after[i]
    if previous != NOBODY:
        queue.after[previous] = following
    if following != NOBODY:
        queue.before[following] = previous
    else:
        queue.last[log.user[i]] = previous


cdef Py_ssize_t _place_of(Queue queue, int64_t i) noexcept nogil:
    """Return the place of attempt ``i``, or of the first attempt after it."""
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
    for x in range(queue.request.shape[0]):
        queue.request[x, target] = queue.request[x, source]
        queue.ahead[x, target] = queue.ahead[x, source]


cdef void _occupy(Log log, Pool pool, Queue queue, int64_t i, int64_t sign) noexcept nogil:
    """Let attempt ``i``, which does not wait, take its resources (1) or return them (−1)."""
    cdef int64_t user = log.user[i], amount, own
    cdef Py_ssize_t place = _place_of(queue, i), x
    for x in range(pool.free.shape[0]):
        amount = sign * log.request[x, i]
        pool.used[x] += amount
        pool.free[x] -= amount
        if place < queue.tail:
            queue.ahead[x, place] += amount
            queue.total[x] += amount
        if user != UNKNOWN:
            pool.by_user[x, user] += amount
            own = queue.last[user]
            while own > i:
                queue.own_ahead[x, own] += amount
                own = queue.before[own]


cdef void _spend(
    Log log, Pool pool, Queue queue, Parts parts, Py_ssize_t old, int64_t since, int64_t now
) noexcept nogil:
    """Add the time up to ``now`` to the parts of everything that waits.

    The first ``old`` attempts have waited ``since`` the last cut, the others from their arrivals.
    """
    cdef Py_ssize_t place, x
    for x in range(pool.free.shape[0]):
        pool.left[x] = pool.free[x]
        pool.ahead[x] = 0
    old += queue.head
    _spend_alike(log, pool, queue, parts, queue.head, old, since, now)
    for place in range(old, queue.tail):
        since = log.arrival[queue.attempt[place]]
        _spend_alike(log, pool, queue, parts, place, place + 1, since, now)


cdef void _spend_alike(
    Log log,
    Pool pool,
    Queue queue,
    Parts parts,
    Py_ssize_t first,
    Py_ssize_t last,
    int64_t since,
    int64_t now,
) noexcept nogil:
    """Add the time ``since`` then to the parts of attempts at places ``first``, …, ``last`` − 1."""
    cdef int64_t time = now - since, i, own, earlier
    cdef double each
    cdef Py_ssize_t place, x
    if pool.free.shape[0] == 1:
        _spend_of_one(log, pool, queue, parts, first, last, since, now)
        return
    for place in range(first, last):
        i = queue.attempt[place]
        for x in range(pool.ahead.shape[0]):
            pool.ahead[x] += queue.ahead[x, place]
        if not _fits(queue, place, pool.free):
            x = _scarcest(queue, place, pool)
            if x == DOWN:
                parts.down[i] += time
                continue
            own = pool.by_user[x, queue.user[place]]
            earlier = pool.ahead[x] - queue.own_ahead[x, i]
            each = <double> time / pool.used[x]
            parts.own[i] += each * own
            parts.earlier[i] += each * earlier
            parts.later[i] += each * (pool.used[x] - own - earlier)
        elif _fits(queue, place, pool.left):
            parts.room[i] += time
            parts.kept[i] += min(max(log.ready[i] - since, 0), time)
            for x in range(pool.left.shape[0]):
                pool.left[x] -= queue.request[x, place]
        else:
            parts.shared[i] += time


cdef void _spend_of_one(
    Log log,
    Pool pool,
    Queue queue,
    Parts parts,
    Py_ssize_t first,
    Py_ssize_t last,
    int64_t since,
    int64_t now,
) noexcept nogil:
    """Do the same where there is one resource."""
    cdef int64_t time = now - since, i, request, own, earlier
    cdef int64_t free = pool.free[0], left = pool.left[0], ahead = pool.ahead[0]
    cdef int64_t capacity = pool.capacity[0], used = pool.used[0]
    cdef double each = <double> time / used if used > 0 else 0.0
    cdef Py_ssize_t place
    for place in range(first, last):
        i = queue.attempt[place]
        request = queue.request[0, place]
        ahead += queue.ahead[0, place]
        if request > free and request > 0:
            if request > capacity:
                parts.down[i] += time
                continue
            own = pool.by_user[0, queue.user[place]]
            earlier = ahead - queue.own_ahead[0, i]
            parts.own[i] += each * own
            parts.earlier[i] += each * earlier
            parts.later[i] += each * (used - own - earlier)
        elif request <= left or request == 0:
            parts.room[i] += time
            parts.kept[i] += min(max(log.ready[i] - since, 0), time)
            left -= request
        else:
            parts.shared[i] += time
    pool.left[0] = left
    pool.ahead[0] = ahead


cdef inline bint _fits(Queue queue, Py_ssize_t place, const int64_t[::1] amounts) noexcept nogil:
    """Return whether there is enough of each requested resource."""
    cdef Py_ssize_t x
    for x in range(amounts.shape[0]):
        if queue.request[x, place] > amounts[x] and queue.request[x, place] > 0:
            return False
    return True


cdef Py_ssize_t _scarcest(Queue queue, Py_ssize_t place, Pool pool) noexcept nogil:
    """Return the first resource that lacks most of its capacity.

    It requests no more of it than the capacity, so some of it is in use. DOWN: it requests more of
    some resource than the capacity.
    """
    cdef Py_ssize_t scarcest = DOWN, x
    cdef int64_t request
    cdef double most = 0.0, lack
    for x in range(pool.free.shape[0]):
        request = queue.request[x, place]
        if request > pool.free[x] and request > 0:
            if request > pool.capacity[x]:
                return DOWN
            lack = <double> (request - pool.free[x]) / pool.capacity[x]
            if lack > most:
                most = lack
                scarcest = x
    return scarcest
