"""When limits forbid waiting attempts, after their user's earlier ones have taken theirs.

A limit has *counters*: each sums what the attempts of one user or account use. A counter has a
*queue* for each user. Attempts of a user that the same limits count are a *class*; it has an *entry*
for each of its limits. An attempt that one limit forbids takes nothing of the others. Times are in s.
"""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t, uint8_t

from audit.kernels.growing cimport GrowingTable, add_row


cdef enum:
    END = 0
    EXPIRE = 1
    ARRIVE = 2
    LEAVE = 3
    RUN = 4
    LOOK = 5


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class LimitedAttempts:
    """n attempts that limits count, in the order of the queue."""

    cdef const int64_t[:, ::1] amount  # [resources, n]: what each adds while it runs
    cdef const int64_t[::1] length  # [n]: the walltime, ≥ 1
    cdef const int64_t[::1] until  # [n]: expected end
    cdef const int64_t[::1] group  # [n]: its class


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class LimitEvents:
    """Events by time, kind and order of the queue."""

    cdef const int64_t[::1] time
    cdef const int64_t[::1] kind
    # END: what runs ends; EXPIRE: it ends, or its walltime does; ARRIVE, LEAVE: the queue; RUN: it
    # starts; LOOK: a level may have changed without any of these
    cdef const int64_t[::1] attempt


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class LimitedClasses:
    """Classes by user, and the queues of each user."""

    cdef const int64_t[::1] user  # [classes]
    cdef const int64_t[::1] first_entry  # [classes + 1]
    cdef const int64_t[::1] queue  # [entries]
    cdef const uint8_t[::1] binding  # [entries]: whether it waits for the limit
    cdef const int64_t[::1] least  # [entries]: what the smallest attempt adds at its start
    cdef const int64_t[::1] first_class  # [users + 1]
    cdef const int64_t[::1] first_queue  # [users + 1]
    cdef const int64_t[::1] counter  # [queues]
    cdef const uint8_t[::1] looks  # [users]: whether levels may change without its own events


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class LimitsInForce:
    """Limits, and the instants in which each is in force: [from_time, to_time)."""

    cdef const int64_t[::1] limit  # [counters]
    cdef const int64_t[::1] first_user  # [counters + 1]
    cdef const int64_t[::1] users  # users with queues of each counter
    cdef const int64_t[::1] most
    cdef const int64_t[::1] resource
    cdef const uint8_t[::1] remaining  # whether the level is Σ amount × remaining time
    cdef const int64_t[::1] from_time
    cdef const int64_t[::1] to_time


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class LimitState:
    """Levels, and the lists of waiting attempts; −1: none."""

    cdef int64_t[:, ::1] level  # [3, counters]: the level, what it loses each second, and when
    cdef int64_t[:, ::1] waiting  # [2, queues]: Σ adds of what waits, and scratch: what is left
    cdef int64_t[:, ::1] ends  # [2, classes]: the first and the last that waits
    cdef int64_t[:, ::1] count  # [2, classes]: how many wait, and how many are not forbidden
    cdef int64_t[:, ::1] walk  # [2, classes], scratch: the next one, and how many allowed follow
    cdef int64_t[:, ::1] beside  # [2, n]: the one before and after in its class
    cdef int64_t[::1] since  # [n]: when it was forbidden; −1: it is not
    cdef int64_t[:, ::1] active  # [2, users]: those with waiting attempts, and the place of each
    cdef int64_t[::1] waits  # [users]: how many attempts wait
    cdef int64_t[::1] dirty  # [users]: those to look at
    cdef uint8_t[::1] is_dirty  # [users]


def forbidden_spans(
    LimitedAttempts attempts, LimitEvents events, LimitedClasses classes, LimitsInForce limits,
    LimitState state
):
    """Return spans in which limits forbid attempts, [k, 3]: attempt, first and last second."""
    spans = GrowingTable(3)
    cdef Py_ssize_t k = 0, total = events.time.shape[0], active = 0, dirty, d
    cdef int64_t now, i, u
    with nogil:
        while k < total:
            now, dirty = events.time[k], 0
            while k < total and events.time[k] == now:
                i = events.attempt[k]
                if events.kind[k] == LOOK:
                    for d in range(active):
                        if classes.looks[state.active[0, d]]:
                            dirty = _mark(state.active[0, d], dirty, state)
                elif events.kind[k] == ARRIVE or events.kind[k] == LEAVE:
                    u = classes.user[attempts.group[i]]
                    if events.kind[k] == ARRIVE:
                        active = _join(i, now, u, active, attempts, classes, limits, state)
                    else:
                        active = _leave(i, now, u, active, attempts, classes, limits, state, spans)
                    dirty = _mark(u, dirty, state)
                else:
                    dirty = _count(i, now, events.kind[k], dirty, attempts, classes, limits, state)
                k += 1
            for d in range(dirty):
                u = state.dirty[d]
                state.is_dirty[u] = False
                if state.waits[u]:
                    _look(u, now, attempts, classes, limits, state, spans)
    return spans.taken()


cdef Py_ssize_t _mark(int64_t u, Py_ssize_t dirty, LimitState state) noexcept nogil:
    """Add a user to those to look at; return their number."""
    if state.is_dirty[u]:
        return dirty
    state.is_dirty[u] = True
    state.dirty[dirty] = u
    return dirty + 1


cdef Py_ssize_t _count(
    int64_t i, int64_t now, int64_t kind, Py_ssize_t dirty, LimitedAttempts attempts,
    LimitedClasses classes, LimitsInForce limits, LimitState state
) noexcept nogil:
    """Change the levels by an attempt that starts or ends; return the number of users to look at."""
    cdef int64_t g = attempts.group[i], e, c, l, amount, u, k
    for e in range(classes.first_entry[g], classes.first_entry[g + 1]):
        c = classes.counter[classes.queue[e]]
        l = limits.limit[c]
        if kind != RUN and (kind == EXPIRE) != limits.remaining[l]:
            continue
        amount = attempts.amount[limits.resource[l], i]
        if not limits.remaining[l]:
            state.level[0, c] += amount if kind == RUN else -amount
        else:
            _forward(c, now, state)
            if kind == EXPIRE:
                amount = -amount
            state.level[0, c] += amount * (attempts.until[i] - now)
            state.level[1, c] += amount
        for k in range(limits.first_user[c], limits.first_user[c + 1]):
            u = limits.users[k]
            if state.waits[u]:
                dirty = _mark(u, dirty, state)
    return dirty


cdef void _forward(int64_t c, int64_t now, LimitState state) noexcept nogil:
    """Let the remaining times of a counter shrink until ``now``."""
    state.level[0, c] -= state.level[1, c] * (now - state.level[2, c])
    state.level[2, c] = now


cdef int64_t _adds(
    int64_t i, int64_t q, LimitedAttempts attempts, LimitedClasses classes, LimitsInForce limits
) noexcept nogil:
    """Return what an attempt adds to the level of a queue's limit at its start."""
    cdef int64_t l = limits.limit[classes.counter[q]]
    cdef int64_t amount = attempts.amount[limits.resource[l], i]
    return amount * attempts.length[i] if limits.remaining[l] else amount


cdef Py_ssize_t _join(
    int64_t i, int64_t now, int64_t u, Py_ssize_t active, LimitedAttempts attempts,
    LimitedClasses classes, LimitsInForce limits, LimitState state
) noexcept nogil:
    """Add an attempt to its class, as all others there are; return the number of active users."""
    cdef int64_t g = attempts.group[i], last = state.ends[1, g], e, q
    state.beside[0, i], state.beside[1, i] = last, -1
    if last >= 0:
        state.beside[1, last] = i
    else:
        state.ends[0, g] = i
    state.ends[1, g] = i
    if state.count[0, g] == state.count[1, g]:
        state.since[i] = -1
        state.count[1, g] += 1
    else:
        state.since[i] = now
    state.count[0, g] += 1
    for e in range(classes.first_entry[g], classes.first_entry[g + 1]):
        q = classes.queue[e]
        state.waiting[0, q] += _adds(i, q, attempts, classes, limits)
    state.waits[u] += 1
    if state.waits[u] == 1:
        state.active[0, active], state.active[1, u] = u, active
        return active + 1
    return active


cdef Py_ssize_t _leave(
    int64_t i, int64_t now, int64_t u, Py_ssize_t active, LimitedAttempts attempts,
    LimitedClasses classes, LimitsInForce limits, LimitState state, GrowingTable spans
) noexcept nogil:
    """Remove an attempt from its class; return the number of active users."""
    cdef int64_t g = attempts.group[i], before = state.beside[0, i], after = state.beside[1, i]
    cdef int64_t e, q, last
    if before >= 0:
        state.beside[1, before] = after
    else:
        state.ends[0, g] = after
    if after >= 0:
        state.beside[0, after] = before
    else:
        state.ends[1, g] = before
    state.count[0, g] -= 1
    if state.since[i] < 0:
        state.count[1, g] -= 1
    else:
        _note(i, now, state, spans)
    for e in range(classes.first_entry[g], classes.first_entry[g + 1]):
        q = classes.queue[e]
        state.waiting[0, q] -= _adds(i, q, attempts, classes, limits)
    state.waits[u] -= 1
    if state.waits[u]:
        return active
    last = state.active[0, active - 1]
    state.active[0, state.active[1, u]] = last
    state.active[1, last] = state.active[1, u]
    return active - 1


cdef void _note(int64_t i, int64_t now, LimitState state, GrowingTable spans) noexcept nogil:
    """Note the span in which an attempt was forbidden, which ends before ``now``."""
    cdef int64_t* row
    if state.since[i] < now:
        row = add_row(spans)
        if row != NULL:
            row[0], row[1], row[2] = i, state.since[i], now - 1
    state.since[i] = -1


cdef void _look(
    int64_t u, int64_t now, LimitedAttempts attempts, LimitedClasses classes, LimitsInForce limits,
    LimitState state, GrowingTable spans
) noexcept nogil:
    """Find the attempts of a user that limits forbid from ``now`` on."""
    cdef int64_t q, c, l, g
    for q in range(classes.first_queue[u], classes.first_queue[u + 1]):
        c = classes.counter[q]
        l = limits.limit[c]
        _forward(c, now, state)
        state.waiting[1, q] = NEVER
        if limits.from_time[l] <= now < limits.to_time[l]:
            state.waiting[1, q] = limits.most[l] - state.level[0, c]
    for g in range(classes.first_class[u], classes.first_class[u + 1]):
        state.walk[0, g], state.walk[1, g] = -1, state.count[1, g]
        if state.count[1, g] < state.count[0, g] or _may_forbid(g, classes, state):
            state.walk[0, g] = state.ends[0, g]
    g = _next(u, classes, state)
    while g >= 0:
        _decide(g, now, attempts, classes, limits, state, spans)
        g = _next(u, classes, state)


cdef bint _may_forbid(int64_t g, LimitedClasses classes, LimitState state) noexcept nogil:
    """Whether a limit of a class does not have room for all that wait for it."""
    cdef int64_t e, q
    for e in range(classes.first_entry[g], classes.first_entry[g + 1]):
        q = classes.queue[e]
        if state.waiting[0, q] > state.waiting[1, q]:
            return True
    return False


cdef int64_t _next(int64_t u, LimitedClasses classes, LimitState state) noexcept nogil:
    """Return the class of the user's next attempt; −1: no further one changes."""
    cdef int64_t g, e, found = -1
    for g in range(classes.first_class[u], classes.first_class[u + 1]):
        if state.walk[0, g] < 0:
            continue
        if state.walk[1, g] == 0:
            for e in range(classes.first_entry[g], classes.first_entry[g + 1]):
                if classes.binding[e] and classes.least[e] > state.waiting[1, classes.queue[e]]:
                    state.walk[0, g] = -1
                    break
            if state.walk[0, g] < 0:
                continue
        if found < 0 or state.walk[0, g] < state.walk[0, found]:
            found = g
    return found


cdef void _decide(
    int64_t g, int64_t now, LimitedAttempts attempts, LimitedClasses classes,
    LimitsInForce limits, LimitState state, GrowingTable spans
) noexcept nogil:
    """Let the next attempt of a class take what is left of its limits, if all allow it."""
    cdef int64_t i = state.walk[0, g], e, q
    cdef bint allowed = True
    state.walk[0, g] = state.beside[1, i]
    if state.since[i] < 0:
        state.walk[1, g] -= 1
    for e in range(classes.first_entry[g], classes.first_entry[g + 1]):
        q = classes.queue[e]
        if classes.binding[e] and _adds(i, q, attempts, classes, limits) > state.waiting[1, q]:
            allowed = False
            break
    if not allowed:
        if state.since[i] < 0:
            state.since[i] = now
            state.count[1, g] -= 1
        return
    for e in range(classes.first_entry[g], classes.first_entry[g + 1]):
        q = classes.queue[e]
        state.waiting[1, q] -= _adds(i, q, attempts, classes, limits)
    if state.since[i] >= 0:
        _note(i, now, state, spans)
        state.count[1, g] += 1
