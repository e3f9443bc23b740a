"""Find the spans of time in which a waiting attempt would have fitted.

The sweep goes from instant to instant of the observed schedule. At each instant it tries the
waiting attempts in their order: one that fits into the free capacity that the attempts before it
leave would have fitted until the next instant (SPEC §10, *Anatomy*, ``room``). Times are in s.
"""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t, uint8_t

import numpy as np


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


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Spans:
    """What ``fitting_spans`` writes, one element per span, by ``since``."""

    cdef int64_t[::1] job  # attempt
    cdef int64_t[::1] since
    cdef int64_t[::1] until


cdef struct Next:
    # What happens next of each kind.
    Py_ssize_t arrival  # attempt
    Py_ssize_t start  # index into by_start
    Py_ssize_t end  # index into by_end
    Py_ssize_t step


def fitting_spans(Log log, const int64_t[::1] capacity, Spans out):
    """Write the spans between two instants in which attempts would have fitted.

    Args:
        log: the attempts.
        capacity: capacity before any step, [resources].
        out: written; if it is too short, only the first spans are.

    Returns:
        The number of spans, which may exceed the length of ``out``.
    """
    cdef int64_t[::1] free = np.array(capacity)
    cdef int64_t[::1] left = np.empty_like(free)
    cdef int64_t[::1] queue = np.empty(log.arrival.shape[0], np.int64)
    cdef int64_t found
    with nogil:
        found = _sweep(log, free, left, queue, out)
    return found


cdef int64_t _sweep(
    Log log, int64_t[::1] free, int64_t[::1] left, int64_t[::1] queue, Spans out
) noexcept nogil:
    cdef Next coming = Next(0, 0, 0, 0)
    cdef int64_t waiting = 0, found = 0, now, until
    cdef bint started
    cdef Py_ssize_t x
    while True:
        now = _next_time(log, coming)
        if now == NEVER:
            return found
        while coming.step < log.step_time.shape[0] and log.step_time[coming.step] <= now:
            for x in range(free.shape[0]):
                free[x] += log.step_change[x, coming.step]
            coming.step += 1
        while coming.end < log.by_end.shape[0] and log.end[log.by_end[coming.end]] <= now:
            _occupy(log, free, log.by_end[coming.end], 1)
            coming.end += 1
        while coming.arrival < log.arrival.shape[0] and log.arrival[coming.arrival] <= now:
            if log.waits[coming.arrival] and log.start[coming.arrival] > now:
                queue[waiting] = coming.arrival
                waiting += 1
            coming.arrival += 1
        started = False
        while coming.start < log.by_start.shape[0] and log.start[log.by_start[coming.start]] <= now:
            _occupy(log, free, log.by_start[coming.start], -1)
            coming.start += 1
            started = True
        if started:
            waiting = _still_waiting(log, queue, waiting, now)
        until = _next_time(log, coming)
        if until != NEVER and waiting > 0:
            left[:] = free
            found = _fit(log.request, left, queue[:waiting], now, until, found, out)


cdef int64_t _next_time(Log log, Next coming) noexcept nogil:
    """Return the next instant at which something happens, or NEVER."""
    cdef int64_t instant = NEVER
    if coming.arrival < log.arrival.shape[0]:
        instant = min(instant, log.arrival[coming.arrival])
    if coming.start < log.by_start.shape[0]:
        instant = min(instant, log.start[log.by_start[coming.start]])
    if coming.end < log.by_end.shape[0]:
        instant = min(instant, log.end[log.by_end[coming.end]])
    if coming.step < log.step_time.shape[0]:
        instant = min(instant, log.step_time[coming.step])
    return instant


cdef void _occupy(Log log, int64_t[::1] free, Py_ssize_t job, int64_t sign) noexcept nogil:
    """Add ``sign`` times the request of an attempt to the free capacity."""
    cdef Py_ssize_t x
    for x in range(free.shape[0]):
        free[x] += sign * log.request[x, job]


cdef int64_t _still_waiting(
    Log log, int64_t[::1] queue, int64_t waiting, int64_t now
) noexcept nogil:
    """Remove started attempts from the queue; return how many are left."""
    cdef int64_t kept = 0
    cdef Py_ssize_t k
    for k in range(waiting):
        if log.start[queue[k]] > now:
            queue[kept] = queue[k]
            kept += 1
    return kept


cdef int64_t _fit(
    const int64_t[:, ::1] request,
    int64_t[::1] left,
    const int64_t[::1] queue,
    int64_t now,
    int64_t until,
    int64_t found,
    Spans out,
) noexcept nogil:
    """Record which attempts would have fitted from ``now`` to ``until``; return the new count."""
    cdef Py_ssize_t k
    for k in range(queue.shape[0]):
        if _fits(request, queue[k], left):
            _take(request, queue[k], left)
            if found < out.job.shape[0]:
                out.job[found] = queue[k]
                out.since[found] = now
                out.until[found] = until
            found += 1
    return found


cdef inline bint _fits(
    const int64_t[:, ::1] request, Py_ssize_t job, const int64_t[::1] left
) noexcept nogil:
    """Return whether the request of an attempt fits into ``left``."""
    cdef Py_ssize_t x
    for x in range(left.shape[0]):
        if request[x, job] > left[x] and request[x, job] > 0:
            return False
    return True


cdef inline void _take(
    const int64_t[:, ::1] request, Py_ssize_t job, int64_t[::1] left
) noexcept nogil:
    """Subtract the request of an attempt from ``left``."""
    cdef Py_ssize_t x
    for x in range(left.shape[0]):
        left[x] -= request[x, job]
