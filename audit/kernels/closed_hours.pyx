"""The starts that a window forbids, and the waiting that it causes, on a clock.

Times are in s.

Source: SPEC §11, *Windows and overlap windows*.
"""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int32_t, int64_t, uint8_t, uint64_t

import numpy as np

from audit.kernels.growing cimport GrowingTable, add_row
from audit.kernels.sweeps cimport first_above


cdef enum:
    HOUR_S = 3_600
    WEEK = 168  # hours
    EPOCH_HOUR = 72  # of the week: a Thursday at 00:00


cdef extern from *:
    """
    #define HOURS_BEFORE 168000000000LL
    """
    const int64_t HOURS_BEFORE  # whole weeks, added before divisions: clocks may begin before 1970



cpdef enum Side:
    """The relation of an attempt to a window."""
    NEITHER
    INSIDE  # the window applies
    OUTSIDE  # it is a neighbour


cdef enum:
    # The rows of a table of hours.
    WITHHELD
    BROKEN
    SECONDS


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class PossibleStarts:
    """Spans of waits, observed starts, and the clock of hours and days.

    A span is a row of attempt, begin and end; those of an attempt ascend.
    """

    cdef const int64_t[:, ::1] possible  # in which each could start
    cdef const int64_t[:, ::1] free  # in which its request was free; the others are within them
    cdef const int64_t[::1] started  # attempts, once each
    cdef const int64_t[::1] start  # of these, s on the clock
    cdef const int64_t[::1] reach  # [attempts], s
    cdef const int64_t[::1] since  # ascending: from when on the clock is
    cdef const int64_t[::1] ahead  # by this time ahead of the epoch


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class ClosedHours:
    """The hours of a window, and the attempts to which it applies."""

    cdef const int64_t[::1] to_next  # [168], hours from each hour of the week to the next closed one
    cdef bint overlap  # whether the walltime may not reach into them
    cdef const uint8_t[::1] side  # [attempts], whether each counts: a Side


cdef packed struct ForbiddenStart:
    # A start that a window forbids.
    int64_t at  # s on the clock
    int32_t job
    int32_t broken  # 1: it was observed


cdef struct OffsetSpan:
    Py_ssize_t k  # the part of its times that was used last
    int64_t since, until  # of it


cdef inline int64_t local(PossibleStarts at, OffsetSpan* clock, int64_t instant) noexcept nogil:
    """Return an instant on the clock."""
    if instant < clock.since or instant >= clock.until:
        clock.k = max(first_above(at.since, 0, at.since.shape[0], instant) - 1, 0)
        clock.since = at.since[clock.k]
        clock.until = at.since[clock.k + 1] if clock.k + 1 < at.since.shape[0] else NEVER
    return instant + at.ahead[clock.k]


cdef inline int64_t hour_of(int64_t at) noexcept nogil:
    """Return the hour of a second on the clock, since 1970."""
    return <int64_t>(<uint64_t>(at + HOURS_BEFORE * HOUR_S) / HOUR_S) - HOURS_BEFORE


cdef inline int64_t hour_of_week(int64_t hour) noexcept nogil:
    """Return the hour of the week of an hour since 1970."""
    return <uint64_t>(hour + HOURS_BEFORE + EPOCH_HOUR) % WEEK


cdef inline int64_t next_forbidden(
    ClosedHours window, int64_t at, int64_t end, int64_t reach
) noexcept nogil:
    """Return the first second in [at, end) at which a window forbids starts, or NEVER."""
    cdef int64_t hour = hour_of(at)
    cdef int64_t closes = (hour + window.to_next[hour_of_week(hour)]) * HOUR_S
    cdef int64_t since = max(at, closes - (reach if window.overlap else 1) + 1)
    return since if since < end else NEVER


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class EventNumbers:
    """How the starts that a window forbids become numbers, by day, user and attempt."""

    cdef const int64_t[::1] user  # [attempts], ≥ -1
    cdef int64_t users  # greater than all of them
    cdef int bits  # of the number of an attempt


def forbidden_starts(
    PossibleStarts at not None, ClosedHours window not None, GrowingTable inside not None,
    GrowingTable outside not None
):
    """Add the starts that a window forbids or would forbid: all observed ones, and possible ones.

    Of the possible starts of an attempt, the first of each hour is added.

    Args:
        at: the starts, and the spans in which attempts could start.
        window: the window.
        inside: rows (``ForbiddenStart``) are added for the attempts of its class,
        outside: and for its neighbours.
    """
    add_starts(at, window, True, None, inside, outside)


def forbidden_events(
    PossibleStarts at not None, ClosedHours window not None, EventNumbers numbers not None,
    GrowingTable out not None
):
    """Add the starts that a window forbids or would forbid, to its class and its neighbours.

    Of the possible starts of a span, the first is added. A start becomes the number
    2 · (users · day + user + 1), and 1 if it was observed, behind which are the bits of the attempt.

    Args:
        at: the starts, and the spans in which attempts could start.
        window: the window.
        numbers: the users and bits.
        out: rows of one number are added.
    """
    add_starts(at, window, False, numbers, out, out)


cdef int add_starts(
    PossibleStarts at, ClosedHours window, bint by_hour, EventNumbers numbers, GrowingTable inside,
    GrowingTable outside
) except -1:
    cdef int64_t[::1] last = np.full(len(at.reach), NEVER, np.int64)  # hour
    cdef OffsetSpan clock = OffsetSpan(0, NEVER, NEVER)
    cdef Py_ssize_t k
    cdef int64_t begin, end, job
    with nogil:
        for k in range(at.possible.shape[0]):
            job = at.possible[k, 0]
            if window.side[job] == NEITHER:
                continue
            begin = local(at, &clock, at.possible[k, 1])
            end = begin + at.possible[k, 2] - at.possible[k, 1]
            begin = next_forbidden(window, begin, end, at.reach[job])
            while begin != NEVER:
                if not by_hour or hour_of(begin) != last[job]:
                    last[job] = hour_of(begin)
                    keep_start(window, numbers, inside, outside, begin, job, False)
                if not by_hour:
                    break
                begin = (hour_of(begin) + 1) * HOUR_S
                begin = next_forbidden(window, begin, end, at.reach[job])
        for k in range(at.started.shape[0]):
            job, begin = at.started[k], at.start[k]
            if window.side[job] == NEITHER:
                continue
            if next_forbidden(window, begin, begin + 1, at.reach[job]) != NEVER:
                keep_start(window, numbers, inside, outside, begin, job, True)
    return 0


cdef inline void keep_start(
    ClosedHours window, EventNumbers numbers, GrowingTable inside, GrowingTable outside,
    int64_t at, int32_t job,
    bint broken
) noexcept nogil:
    """Add a start; as a number, if there are ``numbers``."""
    cdef int64_t* row
    cdef ForbiddenStart* place
    cdef int64_t day
    if window.side[job] == INSIDE:
        row = add_row(inside)
    else:
        row = add_row(outside)
    if row == NULL:
        return
    if numbers is None:
        place = <ForbiddenStart*> row
        place.at, place.job, place.broken = at, job, broken
    else:
        day = <int64_t>(<uint64_t>(hour_of(at) + HOURS_BEFORE) / 24) - HOURS_BEFORE / 24
        row[0] = (2 * (day * numbers.users + numbers.user[job] + 1) + broken) << numbers.bits
        row[0] |= job


def forbidden_seconds(
    PossibleStarts at not None, ClosedHours window not None, int64_t first, int64_t[::1] out
):
    """Add the waiting with free capacity that a window forbids to its class, by day on the clock.

    Args:
        at: the spans.
        window: the window.
        first: the day of the first element of ``out``, since 1970.
        out: seconds.
    """
    cdef OffsetSpan clock = OffsetSpan(0, NEVER, NEVER)
    cdef Py_ssize_t k
    cdef int64_t begin, end, until
    cdef int32_t job
    with nogil:
        for k in range(at.free.shape[0]):
            job = at.free[k, 0]
            if window.side[job] != INSIDE:
                continue
            begin = local(at, &clock, at.free[k, 1])
            end = begin + at.free[k, 2] - at.free[k, 1]
            begin = next_forbidden(window, begin, end, at.reach[job])
            while begin != NEVER:
                until = min(end, (hour_of(begin) + 1) * HOUR_S)
                out[(hour_of(begin) - 24 * first) / 24] += until - begin
                begin = next_forbidden(window, until, end, at.reach[job])


def add_to_table(
    PossibleStarts at not None, const int64_t[::1] bins, const int64_t[::1] row, int64_t since,
    int64_t until, double[:, :, :, :, ::1] out
):
    """Add occasions, starts and seconds to a table by the hour of the week.

    Occasions count by attempt and hour.

    Args:
        at: the starts, and the spans.
        bins: [attempts], the class of each; < 0: it does not count.
        row: [attempts], the reach of each in the table.
        since, until: s, between which the blocks divide the time equally.
        out: [hours of the week, reaches, 3, classes, blocks].
    """
    cdef int64_t[::1] last = np.full(len(bins), NEVER, np.int64)  # hour with an occasion
    cdef Py_ssize_t k
    with nogil:
        add_spans(at, at.possible, WITHHELD, bins, row, since, until, last, out)
        add_spans(at, at.free, SECONDS, bins, row, since, until, last, out)
        for k in range(at.started.shape[0]):
            add_amount(at.started[k], at.start[k], BROKEN, 1, bins, row, since, until, out)


cdef void add_spans(
    PossibleStarts at, const int64_t[:, ::1] spans, Py_ssize_t which, const int64_t[::1] bins,
    const int64_t[::1] row, int64_t since, int64_t until, int64_t[::1] last,
    double[:, :, :, :, ::1] out
) noexcept nogil:
    cdef OffsetSpan clock = OffsetSpan(0, NEVER, NEVER)
    cdef Py_ssize_t k
    cdef int64_t begin, end, stop
    cdef int32_t job
    for k in range(spans.shape[0]):
        job = spans[k, 0]
        if bins[job] < 0:
            continue
        begin = local(at, &clock, spans[k, 1])
        end = begin + spans[k, 2] - spans[k, 1]
        while begin < end:
            stop = min(end, (hour_of(begin) + 1) * HOUR_S)
            if which == SECONDS:
                add_amount(job, begin, SECONDS, stop - begin, bins, row, since, until, out)
            elif last[job] != hour_of(begin):
                last[job] = hour_of(begin)
                add_amount(job, begin, WITHHELD, 1, bins, row, since, until, out)
            begin = stop


@cython.cdivision(False)
cdef inline void add_amount(
    int64_t job, int64_t begin, Py_ssize_t which, double amount, const int64_t[::1] bins,
    const int64_t[::1] row, int64_t since, int64_t until, double[:, :, :, :, ::1] out
) noexcept nogil:
    """Add an amount in the hour and the block of a second on the clock."""
    cdef int64_t blocks = out.shape[4], block
    if bins[job] >= 0:
        block = min(max((begin - since) * blocks // max(until - since, 1), 0), blocks - 1)
        out[hour_of_week(hour_of(begin)), row[job], which, bins[job], block] += amount
