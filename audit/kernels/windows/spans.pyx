"""Find the spans of time in which a waiting attempt would have fitted, also under a new window.

The sweep goes from instant to instant of the observed schedule. At each instant it walks the
waiting attempts in their order (SPEC §11, *Procedure at t*): one that a rule forbids claims
nothing; one that fits into the free capacity that the attempts before it left claims its request
until the next instant. Times are in s.
"""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int32_t, int64_t, uint8_t

import numpy as np

from audit.kernels.growing cimport Table, add_row
from audit.kernels.rows cimport add, fits
from audit.kernels.sweeps cimport Span, time_at


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Log:
    """The attempts of a pool in the order (arrival, submit, sequence), and its capacity steps."""

    cdef const int64_t[::1] arrival
    cdef const int64_t[::1] start  # the greatest int64: it has not started
    cdef const int64_t[::1] end
    cdef const int64_t[:, ::1] request  # resources × attempts
    cdef const uint8_t[::1] waits  # 1: it queues
    cdef const int64_t[::1] by_start  # attempts that have started, by start
    cdef const int64_t[::1] by_end  # the same, by end
    cdef const int64_t[::1] step_time  # ascending
    cdef const int64_t[:, ::1] step_change  # resources × steps, added to the free capacity
    cdef const int64_t[::1] capacity  # before any step, [resources]


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Rules:
    """Limits and windows in force, as counters (``scenario.limits.Limits``), and outages."""

    cdef const int64_t[::1] first  # [attempts + 1], the first element of each in the next three
    cdef const int64_t[::1] counter
    cdef const int64_t[::1] amount
    cdef const uint8_t[::1] binding
    cdef const int64_t[::1] most  # [counters]
    cdef const int64_t[::1] edge_time  # ascending
    cdef const int64_t[::1] edge_counter
    cdef const int64_t[::1] edge_change
    cdef const int64_t[:, ::1] outage  # since, until; disjoint and ascending: no attempt waits then


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Trial:
    """A window to be judged: attempts that it forbids claim nothing."""

    cdef const uint8_t[::1] inside  # [attempts], 1: the window applies
    cdef const int64_t[::1] reach  # [attempts], how far before the window closes it forbids starts
    cdef const int64_t[::1] closes  # when the window closes, ascending
    cdef const int64_t[::1] opens  # when it opens again, the same number


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class WithoutTrial:
    """The result of ``fitting_spans``: a trial changes it only where attempts claim."""

    cdef const Span[::1] claims  # by ``until``
    cdef const int32_t[::1] by_since  # the same, by ``since``
    cdef const int64_t[:, ::1] stretches  # attempt, since; by the latter


cdef struct Next:
    # The next event of each kind, and the instant of some, or NEVER.
    Py_ssize_t arrival  # attempt
    Py_ssize_t start  # index into by_start
    Py_ssize_t end  # index into by_end
    Py_ssize_t step
    Py_ssize_t edge
    Py_ssize_t outage
    int64_t arrives
    int64_t starts
    int64_t ends


cdef enum State:
    OUT  # does not fit, or is forbidden
    FITS
    CLAIMS


cdef enum:
    NOBODY = -1
    OUTSIDE = -2  # of the queue
    HOUR_S = 3_600


@cython.final
cdef class Walk:
    """State of a sweep between instants."""

    cdef Next coming
    cdef int64_t now
    cdef int64_t[::1] free  # [resources]
    cdef int64_t[::1] left  # [resources], free capacity after the claims of the current walk
    cdef int64_t[::1] used  # [counters], what runs
    cdef int64_t[::1] claimed  # [counters], claims of the current walk
    cdef int32_t[::1] behind  # [attempts], the next one of the queue
    cdef int32_t[::1] before  # [attempts], the one before it; OUTSIDE: it does not wait
    cdef int32_t head, tail  # of the queue, or NOBODY
    cdef uint8_t[::1] state  # [attempts], a State
    cdef int64_t[::1] since  # [attempts], of the state
    cdef int64_t[::1] fits_since  # [attempts], of those that are not OUT
    cdef int32_t[::1] stretch  # [attempts], 0: its request is not free
    cdef int64_t least  # no waiting attempt requests less of the first resource
    cdef bint idle  # the last walk found nothing free for any

    def __init__(self, Log log not None, Rules rules not None):
        count = len(log.arrival)
        self.free, self.left = np.array(log.capacity), np.array(log.capacity)
        self.used, self.claimed = np.zeros((2, len(rules.most)), np.int64)
        self.behind, self.before = np.full((2, count), OUTSIDE, np.int32)
        self.head = self.tail = NOBODY
        self.state = np.zeros(count, np.uint8)
        self.since, self.fits_since = np.zeros((2, count), np.int64)
        self.stretch = np.zeros(count, np.int32)
        self.least = NEVER
        find_next(log, &self.coming)


# --- what happens --------------------------------------------------------------------------------


cdef inline void find_next(Log log, Next* coming) noexcept nogil:
    """Find the instants of the next events."""
    cdef Py_ssize_t count = log.arrival.shape[0]
    coming.arrives = log.arrival[coming.arrival] if coming.arrival < count else NEVER
    coming.starts = time_at(log.start, log.by_start, coming.start)
    coming.ends = time_at(log.end, log.by_end, coming.end)


cdef int64_t next_time(Log log, Rules rules, const Next* coming) noexcept nogil:
    """Return the next instant at which something happens, or NEVER."""
    cdef int64_t instant = min(coming.starts, coming.ends, coming.arrives)
    if coming.step < log.step_time.shape[0]:
        instant = min(instant, log.step_time[coming.step])
    if instant != NEVER and coming.edge < rules.edge_time.shape[0]:
        instant = min(instant, rules.edge_time[coming.edge])
    return instant


cdef Py_ssize_t happen(Log log, Rules rules, Walk walk) noexcept nogil:
    """Do what happens until now: steps and edges, ends, arrivals, starts.

    Returns:
        The first of the new starts in ``by_start``; their attempts have left the queue.
    """
    cdef Next* coming = &walk.coming
    cdef int64_t now = walk.now
    cdef Py_ssize_t first = coming.start
    while coming.step < log.step_time.shape[0] and log.step_time[coming.step] <= now:
        add(walk.free, log.step_change, coming.step, 1)
        coming.step += 1
    while coming.edge < rules.edge_time.shape[0] and rules.edge_time[coming.edge] <= now:
        walk.used[rules.edge_counter[coming.edge]] += rules.edge_change[coming.edge]
        coming.edge += 1
    while coming.ends <= now:
        occupy(log, rules, walk, log.by_end[coming.end], -1)
        coming.end += 1
        coming.ends = time_at(log.end, log.by_end, coming.end)
    while coming.arrives <= now:
        if log.waits[coming.arrival] and log.start[coming.arrival] > now:
            join_queue(log, walk, coming.arrival)
        coming.arrival += 1
        if coming.arrival < log.arrival.shape[0]:
            coming.arrives = log.arrival[coming.arrival]
        else:
            coming.arrives = NEVER
    while coming.starts <= now:
        occupy(log, rules, walk, log.by_start[coming.start], 1)
        leave_queue(walk, log.by_start[coming.start])
        coming.start += 1
        coming.starts = time_at(log.start, log.by_start, coming.start)
    return first


cdef void occupy(Log log, Rules rules, Walk walk, Py_ssize_t job, int64_t sign) noexcept nogil:
    """Take ``sign`` times the request of an attempt, and count it towards its limits."""
    cdef Py_ssize_t x
    add(walk.free, log.request, job, -sign)
    for x in range(rules.first[job], rules.first[job + 1]):
        walk.used[rules.counter[x]] += sign * rules.amount[x]


cdef inline void join_queue(Log log, Walk walk, Py_ssize_t job) noexcept nogil:
    """Add an attempt to the queue."""
    walk.before[job], walk.behind[job] = walk.tail, NOBODY
    if walk.tail == NOBODY:
        walk.head = job
    else:
        walk.behind[walk.tail] = job
    walk.tail = job
    walk.least = min(walk.least, log.request[0, job])


cdef inline void leave_queue(Walk walk, Py_ssize_t job) noexcept nogil:
    """Remove an attempt from the queue, if it waits."""
    if walk.before[job] == OUTSIDE:
        return
    if walk.before[job] == NOBODY:
        walk.head = walk.behind[job]
    else:
        walk.behind[walk.before[job]] = walk.behind[job]
    if walk.behind[job] == NOBODY:
        walk.tail = walk.before[job]
    else:
        walk.before[walk.behind[job]] = walk.before[job]
    walk.before[job] = OUTSIDE


include "fitting.pxi"
include "trial.pxi"
