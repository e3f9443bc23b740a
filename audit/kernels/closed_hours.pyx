"""The starts that a window forbids, and the waiting that it causes, on a clock.

Times are in s.

Source: SPEC §11, *Windows and overlap windows*.
"""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t, uint8_t
from libc.stdlib cimport free, realloc

import numpy as np


include "growing.pxi"


cdef enum:
    HOUR_S = 3_600
    DAY_S = 86_400


cpdef enum ForbiddenStart:
    """Marks of a start that a window forbids."""
    BREAKS = 1  # it was observed
    BEGINS_STRETCH = 2  # the one before it is of another stretch
    IN_NEW_HOUR = 4  # the one before it is of another attempt or hour
    OF_CLASS = 8  # the window applies to the attempt; else it is a neighbour


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class PossibleStarts:
    """Spans cut at the hours of a clock, and observed starts; times are s on the clock."""

    cdef const int64_t[::1] job
    cdef const int64_t[::1] begin
    cdef const int64_t[::1] seconds
    cdef const int64_t[::1] stretch
    cdef const int64_t[::1] hour  # of the week
    cdef const int64_t[::1] started  # attempts
    cdef const int64_t[::1] start
    cdef const int64_t[::1] start_hour  # of the week
    cdef const int64_t[::1] reach  # [attempts], s


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class ClosedHours:
    """The hours of a window, and the attempts to which it applies."""

    cdef const int64_t[::1] to_next  # [168], hours from each hour of the week to the next closed one
    cdef bint overlap  # whether the walltime may not reach into them
    cdef const uint8_t[::1] inside  # [attempts], 1: the window applies
    cdef const uint8_t[::1] outside  # [attempts], 1: it is a neighbour


@cython.cdivision(False)  # rounds down: a clock may begin before 1970
cdef inline int64_t forbidden_from(
    ClosedHours window, int64_t begin, int64_t hour, int64_t reach
) noexcept nogil:
    """Return from when on a window forbids starts, until the hour of ``begin`` ends or later."""
    cdef int64_t closes = (begin // HOUR_S + window.to_next[hour]) * HOUR_S
    return max(begin, closes - (reach if window.overlap else 1) + 1)


@cython.cdivision(False)
def forbidden_starts(
    PossibleStarts at not None, ClosedHours window not None, int64_t wanted, Table out not None
):
    """Add the starts of its class and of its neighbours that a window forbids or would forbid.

    Args:
        at: of the spans that claim.
        window: the window.
        wanted: marks of which a start must have one.
        out: rows of attempt, second on the clock, marks (``ForbiddenStart``): first those of waiting
            attempts, then observed starts, both in the order of ``at``.

    Raises:
        MemoryError: there is no memory for them.
    """
    cdef Py_ssize_t k
    cdef int64_t job, since, marks, stretch = -2, before = -1, hour = -1
    with nogil:
        for k in range(at.job.shape[0] + at.started.shape[0]):
            if k < at.job.shape[0]:
                job = at.job[k]
                since = forbidden_from(window, at.begin[k], at.hour[k], at.reach[job])
                if since >= at.begin[k] + at.seconds[k]:
                    continue
                marks = BEGINS_STRETCH if at.stretch[k] != stretch else 0
                stretch = at.stretch[k]
            else:
                job, since = at.started[k - at.job.shape[0]], at.start[k - at.job.shape[0]]
                if forbidden_from(
                    window, since, at.start_hour[k - at.job.shape[0]], at.reach[job]
                ) > since:
                    continue
                marks = BREAKS
            if job != before or since // HOUR_S != hour:
                marks |= IN_NEW_HOUR
            before, hour = job, since // HOUR_S
            if not marks & wanted:
                continue
            if window.inside[job]:
                keep_start(out, job, since, marks | OF_CLASS)
            elif window.outside[job]:
                keep_start(out, job, since, marks)
    if out.places < 0:
        raise MemoryError("no memory for the starts that a window forbids")


cdef void keep_start(Table out, int64_t job, int64_t since, int64_t marks) noexcept nogil:
    """Add a start."""
    cdef int64_t* place = add_row(out)
    if place != NULL:
        place[0], place[1], place[2] = job, since, marks


@cython.cdivision(False)
def forbidden_seconds(
    PossibleStarts at not None, ClosedHours window not None, int64_t first, int64_t[::1] out
):
    """Add the waiting with free capacity that a window forbids to its class, by day on the clock.

    Args:
        at: of all spans.
        window: the window.
        first: the day of the first element of ``out``, since 1970.
        out: seconds.
    """
    cdef Py_ssize_t k
    cdef int64_t since, until
    with nogil:
        for k in range(at.job.shape[0]):
            if window.inside[at.job[k]]:
                since = forbidden_from(window, at.begin[k], at.hour[k], at.reach[at.job[k]])
                until = at.begin[k] + at.seconds[k]
                if since < until:
                    out[since // DAY_S - first] += until - since
