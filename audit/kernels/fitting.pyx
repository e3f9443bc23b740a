"""Find the spans of time in which a waiting attempt would have fitted.

The sweep goes from instant to instant of the observed schedule. At each instant it tries the
waiting attempts in their order: one that fits into the free capacity that the attempts before it
leave would have fitted until the next instant (SPEC §10, *Anatomy*, ``room``). Times are in s.
"""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t, uint8_t

import numpy as np

from audit.kernels.rows cimport add, fits


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
    """The result of ``fitting_spans``, one element per span, by ``since``."""

    cdef int64_t[::1] job  # attempt
    cdef int64_t[::1] since
    cdef int64_t[::1] until


cdef struct Next:
    # The next event of each kind.
    Py_ssize_t arrival  # attempt
    Py_ssize_t start  # index into by_start
    Py_ssize_t end  # index into by_end
    Py_ssize_t step


def fitting_spans(Log log, const int64_t[::1] capacity, Spans out):
    """Write the spans between two instants in which attempts would have fitted.

    Args:
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
    cdef int64_t waiting = 0, found = 0, now, until, kept
    cdef Py_ssize_t k
    while True:
        now = _next_time(log, coming)
        if now == NEVER:
            return found
        while coming.step < log.step_time.shape[0] and log.step_time[coming.step] <= now:
            add(free, log.step_change, coming.step, 1)
            coming.step += 1
        while coming.end < log.by_end.shape[0] and log.end[log.by_end[coming.end]] <= now:
            add(free, log.request, log.by_end[coming.end], 1)
            coming.end += 1
        while coming.arrival < log.arrival.shape[0] and log.arrival[coming.arrival] <= now:
            if log.waits[coming.arrival] and log.start[coming.arrival] > now:
                queue[waiting] = coming.arrival
                waiting += 1
            coming.arrival += 1
        k = coming.start
        while coming.start < log.by_start.shape[0] and log.start[log.by_start[coming.start]] <= now:
            add(free, log.request, log.by_start[coming.start], -1)
            coming.start += 1
        if coming.start > k:
            kept = 0
            for k in range(waiting):
                if log.start[queue[k]] > now:
                    queue[kept] = queue[k]
                    kept += 1
            waiting = kept
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


cdef int64_t _fit(
    const int64_t[:, ::1] request, int64_t[::1] left, const int64_t[::1] queue, int64_t now,
    int64_t until, int64_t found, Spans out
) noexcept nogil:
    """Record which attempts would have fitted from ``now`` to ``until``; return the new count."""
    cdef Py_ssize_t k
    for k in range(queue.shape[0]):
        if fits(request, queue[k], left):
            add(left, request, queue[k], -1)
            if found < out.job.shape[0]:
                out.job[found], out.since[found], out.until[found] = queue[k], now, until
            found += 1
    return found
