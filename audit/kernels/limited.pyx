"""When a limit forbids waiting attempts, after their user's earlier ones have taken theirs.

A limit has *counters*: each sums what the attempts of one user or account use. A counter has a
*queue* for each user. Times are in s.
"""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t, uint8_t

from audit.kernels.growing cimport Table, add_row


cdef enum:
    END = 0
    ARRIVE = 1
    LEAVE = 2
    RUN = 3


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class LimitedAttempts:
    """n attempts that a limit counts, and its q queues."""

    cdef const int64_t[::1] amount  # [n]: what it adds while it runs
    cdef const int64_t[::1] adds  # [n]: what it adds at its start
    cdef const int64_t[::1] until  # [n]: expected end
    cdef const uint8_t[::1] binding  # [n]: whether it waits for the limit
    cdef const int64_t[::1] queue  # [n]
    cdef const int64_t[::1] least  # [q]: what the smallest attempt adds
    cdef const int64_t[::1] first_queue  # [counters + 1]


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class LimitEvents:
    """Events by counter, time, kind and order of the queue."""

    cdef const int64_t[::1] counter
    cdef const int64_t[::1] time
    cdef const int64_t[::1] kind  # END, ARRIVE, LEAVE (the queue) or RUN
    cdef const int64_t[::1] attempt
    cdef const int64_t[::1] looks  # further instants at which a level may change, ascending


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class LimitInForce:
    """A limit's level, and the instants in which it is in force: [from_time, to_time)."""

    cdef int64_t most
    cdef bint remaining  # whether the level is Σ amount × remaining time
    cdef int64_t from_time
    cdef int64_t to_time


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class LimitQueues:
    """State of the queues, and of the attempts that run; −1: none."""

    cdef int64_t[::1] first  # [q]
    cdef int64_t[::1] last  # [q]
    cdef int64_t[::1] waiting  # [q]: Σ adds
    cdef int64_t[::1] count  # [q]
    cdef int64_t[::1] allowed  # [q]: how many of them are not forbidden
    cdef int64_t[::1] before  # [n]
    cdef int64_t[::1] after  # [n]
    cdef int64_t[::1] since  # [n]: when it was forbidden; −1: it is not
    cdef int64_t[::1] running  # [n]: the attempts of one counter that run
    cdef int64_t[::1] place  # [n]: of each in ``running``


def forbidden_spans(
    LimitedAttempts attempts, LimitEvents events, LimitInForce limit, LimitQueues queues
):
    """Return spans in which a limit forbids attempts, [k, 3]: attempt, first and last second."""
    spans = Table(3)
    cdef Py_ssize_t begin = 0, end, total = events.time.shape[0]
    with nogil:
        while begin < total:
            end = begin
            while end < total and events.counter[end] == events.counter[begin]:
                end += 1
            _follow(begin, end, attempts, events, limit, queues, spans)
            begin = end
    return spans.taken()


cdef void _follow(
    Py_ssize_t k, Py_ssize_t end, LimitedAttempts attempts, LimitEvents events,
    LimitInForce limit, LimitQueues queues, Table spans
) noexcept nogil:
    """Follow one counter through its events ``k``, …, ``end − 1``."""
    cdef Py_ssize_t running = 0, look = 0
    cdef int64_t c = events.counter[k], used = 0, waits = 0, now, later, i
    while k < end:
        now = events.time[k]
        while k < end and events.time[k] == now:
            i = events.attempt[k]
            if events.kind[k] == END:
                used -= attempts.amount[i]
                running -= 1
                queues.running[queues.place[i]] = queues.running[running]
                queues.place[queues.running[running]] = queues.place[i]
            elif events.kind[k] == ARRIVE:
                _join(i, now, attempts, queues)
                waits += 1
            elif events.kind[k] == LEAVE:
                _leave(i, now, attempts, queues, spans)
                waits -= 1
            else:
                used += attempts.amount[i]
                queues.running[running] = i
                queues.place[i] = running
                running += 1
            k += 1
        if not waits:
            continue
        _look(c, now, used, running, attempts, limit, queues, spans)
        later = events.time[k] if k < end else now
        while look < events.looks.shape[0] and events.looks[look] < later:
            if events.looks[look] > now:
                _look(c, events.looks[look], used, running, attempts, limit, queues, spans)
            look += 1


cdef void _join(
    int64_t i, int64_t now, LimitedAttempts attempts, LimitQueues queues
) noexcept nogil:
    """Add an attempt to its queue; it is taken to be as all others are, until one looks."""
    cdef int64_t q = attempts.queue[i], last = queues.last[q]
    queues.before[i], queues.after[i] = last, -1
    if last >= 0:
        queues.after[last] = i
    else:
        queues.first[q] = i
    queues.last[q] = i
    queues.since[i] = now
    if queues.allowed[q] == queues.count[q] or not attempts.binding[i]:
        queues.since[i] = -1
        queues.allowed[q] += 1
    queues.count[q] += 1
    queues.waiting[q] += attempts.adds[i]


cdef void _leave(
    int64_t i, int64_t now, LimitedAttempts attempts, LimitQueues queues, Table spans
) noexcept nogil:
    """Remove an attempt from its queue."""
    cdef int64_t q = attempts.queue[i], before = queues.before[i], after = queues.after[i]
    if before >= 0:
        queues.after[before] = after
    else:
        queues.first[q] = after
    if after >= 0:
        queues.before[after] = before
    else:
        queues.last[q] = before
    queues.count[q] -= 1
    queues.waiting[q] -= attempts.adds[i]
    if queues.since[i] < 0:
        queues.allowed[q] -= 1
    else:
        _note(i, now, queues, spans)


cdef void _note(int64_t i, int64_t now, LimitQueues queues, Table spans) noexcept nogil:
    """Note the span in which an attempt was forbidden, which ends before ``now``."""
    cdef int64_t* row
    if queues.since[i] < now:
        row = add_row(spans)
        if row != NULL:
            row[0], row[1], row[2] = i, queues.since[i], now - 1
    queues.since[i] = -1


cdef void _look(
    int64_t c, int64_t now, int64_t used, Py_ssize_t running, LimitedAttempts attempts,
    LimitInForce limit, LimitQueues queues, Table spans
) noexcept nogil:
    """Find the attempts of a counter's queues that the limit forbids from ``now`` on."""
    cdef int64_t left = limit.most - used, q, i
    cdef Py_ssize_t k
    if not limit.from_time <= now < limit.to_time:
        left = NEVER
    elif limit.remaining:
        left = limit.most
        for k in range(running):
            i = queues.running[k]
            left -= attempts.amount[i] * max(attempts.until[i] - now, 0)
    for q in range(attempts.first_queue[c], attempts.first_queue[c + 1]):
        if queues.count[q] == 0:
            continue
        if queues.allowed[q] == queues.count[q] and queues.waiting[q] <= left:
            continue
        if queues.allowed[q] == 0 and left < attempts.least[q]:
            continue
        _walk(q, now, left, attempts, queues, spans)


cdef void _walk(
    int64_t q, int64_t now, int64_t left, LimitedAttempts attempts, LimitQueues queues,
    Table spans
) noexcept nogil:
    """Let the attempts of a queue take what is left of a limit, one after the other."""
    cdef int64_t i = queues.first[q], unseen = queues.allowed[q]
    while i >= 0 and (unseen or left >= attempts.least[q]):
        if queues.since[i] < 0:
            unseen -= 1
        if not attempts.binding[i] or attempts.adds[i] <= left:
            left -= attempts.adds[i]
            if queues.since[i] >= 0:
                _note(i, now, queues, spans)
                queues.allowed[q] += 1
        elif queues.since[i] < 0:
            queues.since[i] = now
            queues.allowed[q] -= 1
        i = queues.after[i]
