"""Decide which of the events in the lives of jobs are attempts.

The rules are those of ``audit.ingest.events``. Times are in epoch seconds.
"""

cimport cython
from libc.stdint cimport INT64_MIN as _UNKNOWN, int64_t, uint8_t

UNKNOWN = _UNKNOWN
"""A time that the log does not report, or that has not come."""


cpdef enum Kind:
    """The kind of an event of a job."""

    RUN
    QUEUED
    LEFT
    PAUSED
    RESUMED


cpdef enum Way:
    """How a run ended, or a job left the queue."""

    ORDINARY
    REQUEUED  # the job waits again
    MOVED  # to another server


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Events:
    """The events of all jobs, one element each, by life and then by time.

    Of the events at one instant runs come first, and of the records of one run the most complete.
    """

    cdef const int64_t[::1] life  # number of the life; a job that is submitted again starts another
    cdef const int64_t[::1] kind  # Kind
    cdef const int64_t[::1] way  # Way
    cdef const int64_t[::1] at
    cdef const int64_t[::1] start  # or UNKNOWN
    cdef const int64_t[::1] end  # or UNKNOWN
    cdef const uint8_t[::1] over  # 1: the job has a later life


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Settled:
    """The result of ``settle``, one element per event."""

    cdef uint8_t[::1] stands  # 1: the event is an attempt; comes as 0
    cdef int64_t[::1] source  # the event that completes this one; comes as −1
    cdef uint8_t[::1] ends  # 1: this event ends the run that its source began; comes as 0
    cdef int64_t[::1] arrival  # the attempt arrived no sooner; comes as UNKNOWN
    cdef int64_t[::1] suspended  # time for which the run was suspended, s; comes as UNKNOWN


cdef struct Run:
    # The latest run of a life.
    int64_t event  # its record; −1: none yet
    bint is_open  # it is not known to have ended
    int64_t paused  # when it was suspended; UNKNOWN: it is not
    int64_t lost  # time for which it was suspended before, s, or UNKNOWN


def settle(Events events, Settled out):
    """Write what follows for each event."""
    cdef Py_ssize_t first = 0, last
    with nogil:
        while first < events.life.shape[0]:
            last = first + 1
            while last < events.life.shape[0] and events.life[last] == events.life[first]:
                last += 1
            _settle_life(events, first, last, out)
            first = last


cdef void _settle_life(Events events, Py_ssize_t first, Py_ssize_t last, Settled out) noexcept nogil:
    """Write what follows for the events of one life: those from ``first`` to before ``last``."""
    cdef int64_t runs = _runs(events, first, last)
    cdef bint finished = _is_finished(events, first, last)
    cdef Run run = Run(-1, False, _UNKNOWN, _UNKNOWN)
    cdef bint waits_again = False
    cdef int64_t seen = 0, kind, way
    cdef Py_ssize_t queued = -1
    cdef Py_ssize_t withdrawn = -1  # the event by which the job left while no run was open
    cdef int64_t free = _UNKNOWN  # the latest end of all runs before this event
    cdef Py_ssize_t k
    for k in range(first, last):
        kind, way = events.kind[k], events.way[k]
        if kind == RUN and _repeats(events, k, first):
            out.arrival[k] = out.arrival[k - 1]
        elif kind == RUN:
            _end_run(events, out, run, run.is_open)
            out.stands[k] = True
            out.arrival[k] = min(free, events.at[k])
            free = max(free, events.end[k])
            if events.start[k] != _UNKNOWN:
                seen += 1
                run = Run(k, events.end[k] == _UNKNOWN, _UNKNOWN, _UNKNOWN)
                waits_again = way == REQUEUED
        elif kind == QUEUED:
            queued = k
        elif kind == PAUSED:
            run.paused = events.at[k]
        elif kind == RESUMED and run.paused != _UNKNOWN and run.event >= 0:
            run.lost = _lost(events, run, events.at[k])
            run.paused = _UNKNOWN
        elif kind == LEFT and (
            way == REQUEUED or (way == ORDINARY and seen == runs and not finished)
        ):
            if run.is_open:
                _close_run(events, out, k, run)
                run.is_open = False
                waits_again = way == REQUEUED
            elif way == ORDINARY and withdrawn < 0 and (runs == 0 or waits_again):
                withdrawn = k
                out.stands[k] = True
                out.source[k] = run.event if run.event >= 0 else queued
                out.arrival[k] = min(free, events.at[k])
            if way == REQUEUED:
                free = max(free, events.at[k])
    _end_run(events, out, run, run.is_open and events.over[first])
    _settle_waiting(
        events, first, last, out, queued, withdrawn,
        (runs == 0 or waits_again) and not finished and withdrawn < 0, free,
    )


cdef inline void _end_run(Events events, Settled out, Run run, bint lost_sight) noexcept nogil:
    """Settle a run of which the log says nothing more."""
    if run.event < 0:
        return
    if lost_sight:
        out.stands[run.event] = False  # it is over, but its end is unknown
    if out.stands[run.event]:
        out.suspended[run.event] = _lost(events, run, events.end[run.event])


cdef int64_t _runs(Events events, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Return the number of runs in a life."""
    cdef int64_t runs = 0
    cdef Py_ssize_t k
    for k in range(first, last):
        if events.kind[k] == RUN and events.start[k] != _UNKNOWN and not _repeats(events, k, first):
            runs += 1
    return runs


cdef bint _is_finished(Events events, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    """Return whether a run of a life ended and its job did not wait again."""
    cdef Py_ssize_t k
    for k in range(first, last):
        if (
            events.kind[k] == RUN
            and not _repeats(events, k, first)
            and events.end[k] != _UNKNOWN
            and events.way[k] != REQUEUED
        ):
            return True
    return False


cdef inline bint _repeats(Events events, Py_ssize_t k, Py_ssize_t first) noexcept nogil:
    """Return whether the event before is a record of the same run, which is more complete."""
    return (
        k > first
        and events.kind[k - 1] == RUN
        and events.start[k - 1] == events.start[k]
        and events.start[k] != _UNKNOWN
    )


cdef void _close_run(Events events, Settled out, Py_ssize_t k, Run run) noexcept nogil:
    """Let event ``k`` end the open run and replace its record."""
    out.stands[run.event] = False
    out.stands[k] = True
    out.source[k] = run.event
    out.ends[k] = True
    out.arrival[k] = out.arrival[run.event]
    out.suspended[k] = _lost(events, run, events.at[k])


cdef inline int64_t _lost(Events events, Run run, int64_t until) noexcept nogil:
    """Return the time for which a run had been suspended by ``until``, in s, or UNKNOWN."""
    if run.paused == _UNKNOWN or until == _UNKNOWN:
        return run.lost
    if events.end[run.event] != _UNKNOWN:
        until = min(until, events.end[run.event])
    return max(run.lost, 0) + max(until - max(run.paused, events.start[run.event]), 0)


cdef void _settle_waiting(
    Events events, Py_ssize_t first, Py_ssize_t last, Settled out, Py_ssize_t queued,
    Py_ssize_t withdrawn, bint waits, int64_t free
) noexcept nogil:
    """Settle whether a job waits at the end of its life."""
    cdef bint moved = False
    cdef Py_ssize_t k
    for k in range(first, last):
        if events.kind[k] == LEFT and events.way[k] == MOVED:
            moved = True
        if events.kind[k] == QUEUED:
            out.arrival[k] = free
    if moved and withdrawn >= 0:
        out.stands[withdrawn] = False
    if queued >= 0 and waits and not moved and not events.over[first]:
        out.stands[queued] = True
