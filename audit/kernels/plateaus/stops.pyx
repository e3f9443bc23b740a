"""Cells that are hungry, and the stops at the end of each interval (SPEC §11, *Plateaus*)."""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t

import numpy as np

from audit.kernels.growing cimport GrowingTable, add_row
from audit.kernels.plateaus.model cimport NOBODY, EqualJobs, QueuedJobs


cdef enum:
    LEAST_S = 300  # a cell that was hungry for less makes no stop
    HALF = 32  # bits of each of two numbers in a row, of which there are many


@cython.final
cdef class Scales:
    """Levels of entities or counters: use by measure, and two sums for the remaining amount × time.

    Of the jobs before their planned ends, n is the amount and p the planned end: at t the remaining
    amount × time is Σ n p − t Σ n.
    """

    def __init__(self, Py_ssize_t rows, Py_ssize_t count):
        """Begin at 0."""
        self.used = np.zeros((rows, count), np.int64)
        self.planned, self.amount = np.zeros((2, count), np.int64)


@cython.final
cdef class StopTables:
    """Output: intervals (entity, begin, end, M levels); stops, interval · 2³² + cell; their users,
    stop · 2³² + user.
    """

    def __init__(self, Py_ssize_t measures, level, job, next_climb):
        """Take the arrays of the climbs, which the sweep fills."""
        self.intervals = GrowingTable(3 + measures)
        self.stops, self.users = GrowingTable(1), GrowingTable(1)
        self.level, self.job, self.next_climb = level, job, next_climb


@cython.final
cdef class Hunger:
    """Which cells and parts (after the cells) are hungry, and for how long in the interval."""

    def __init__(self, EqualJobs alike, Py_ssize_t jobs):
        """Begin without hungry cells."""
        cdef Py_ssize_t cells = alike.entity_of.shape[0], entities = alike.entities
        self.groups, self.since, self.seconds = np.zeros((3, cells), np.int64)
        self.next = np.arange(cells)
        self.stop = np.full(cells, NOBODY)
        self.first_cell, self.first_part, self.dropped = np.full((3, entities), NOBODY)
        self.begin, self.hungry_from = np.full((2, entities), NEVER)
        self.next_dropped = np.full((jobs, alike.entity.shape[1]), NOBODY)


cdef void turn(EqualJobs alike, Hunger hunger, int64_t g, int64_t now, int64_t sign) noexcept nogil:
    """Note that a group becomes hungry (sign 1) or is no more (−1)."""
    cdef Py_ssize_t k
    for k in range(alike.entity.shape[1]):
        if alike.cell[g, k] != NOBODY:
            turn_cell(hunger, alike.entity[g, k], hunger.first_cell, alike.cell[g, k], now, sign)
        if alike.part[g, k] != NOBODY:
            turn_cell(hunger, alike.entity[g, k], hunger.first_part, alike.part[g, k], now, sign)


cdef inline void turn_cell(
    Hunger hunger, int64_t e, int64_t[::1] first, int64_t c, int64_t now, int64_t sign
) noexcept nogil:
    hunger.groups[c] += sign
    if sign > 0 and hunger.groups[c] == 1:
        hunger.since[c] = now
        if hunger.next[c] == c:
            hunger.next[c] = first[e]
            first[e] = c
    elif sign < 0 and hunger.groups[c] == 0:
        accrue(hunger, e, c, now)


cdef inline void accrue(Hunger hunger, int64_t e, int64_t c, int64_t now) noexcept nogil:
    """Add the time that a hungry cell has been so."""
    if now > hunger.since[c]:
        hunger.hungry_from[e] = min(hunger.hungry_from[e], hunger.since[c])
        hunger.seconds[c] += now - hunger.since[c]
        hunger.since[c] = now


cdef void flush_all(
    QueuedJobs jobs, EqualJobs alike, Scales levels, Hunger hunger, StopTables made, int64_t i, int64_t now
) noexcept nogil:
    """End the intervals of the entities of a job that starts or ends."""
    cdef Py_ssize_t k
    cdef int64_t g = jobs.group[i]
    for k in range(alike.entity.shape[1]):
        if alike.entity[g, k] != NOBODY:
            flush(jobs, alike, levels, hunger, made, alike.entity[g, k], now)


cdef void flush(
    QueuedJobs jobs, EqualJobs alike, Scales levels, Hunger hunger, StopTables made, int64_t e, int64_t now
) noexcept nogil:
    """End an interval of an entity: note its stops, and begin the next one."""
    cdef int64_t c = hunger.first_cell[e], interval = NOBODY, kept = NOBODY, following, begin
    cdef int64_t* row
    while c != NOBODY:
        if hunger.groups[c] > 0:
            accrue(hunger, e, c, now)
        c = hunger.next[c]
    begin = hunger.begin[e] if levels.used[0, e] > 0 else hunger.hungry_from[e]
    c = hunger.first_cell[e]
    while c != NOBODY:
        hunger.stop[c] = NOBODY
        if hunger.seconds[c] >= LEAST_S:
            if interval == NOBODY:
                interval = made.intervals.count
                note_interval(jobs, alike, levels, hunger, made, e, begin, now)
            hunger.stop[c] = made.stops.count
            row = add_row(made.stops)
            if row != NULL:
                row[0] = interval << HALF | c
        following = hunger.next[c]
        kept = relink(hunger, c, kept)
        c = following
    hunger.first_cell[e] = kept
    kept = NOBODY
    c = hunger.first_part[e]
    while c != NOBODY:
        if hunger.groups[c] > 0:
            accrue(hunger, e, c, now)
        if hunger.seconds[c] >= LEAST_S and hunger.stop[alike.cell_of[c]] != NOBODY:
            row = add_row(made.users)
            if row != NULL:
                row[0] = hunger.stop[alike.cell_of[c]] << HALF | alike.user_of[c]
        following = hunger.next[c]
        kept = relink(hunger, c, kept)
        c = following
    hunger.first_part[e] = kept
    hunger.begin[e] = now
    hunger.hungry_from[e] = NEVER
    hunger.dropped[e] = NOBODY


cdef inline int64_t relink(Hunger hunger, int64_t c, int64_t kept) noexcept nogil:
    """Return the first of the next interval's list, with a cell that is still hungry before it."""
    hunger.seconds[c] = 0
    if hunger.groups[c] > 0:
        hunger.next[c] = kept
        return c
    hunger.next[c] = c
    return kept


cdef void note_interval(
    QueuedJobs jobs, EqualJobs alike, Scales levels, Hunger hunger, StopTables made, int64_t e, int64_t begin,
    int64_t now
) noexcept nogil:
    """Note an interval with its levels, the remaining amount × time at its middle."""
    cdef int64_t middle = begin + (now - begin) // 2, i = hunger.dropped[e], area, planned
    cdef Py_ssize_t x, k, rows = levels.used.shape[0]
    cdef int64_t* row = add_row(made.intervals)
    if row == NULL:
        return
    row[0], row[1], row[2] = e, begin, now
    for x in range(rows):
        row[3 + x] = levels.used[x, e]
    area = remaining_at(levels, e, middle)
    while i != NOBODY:
        planned = jobs.start[i] + jobs.walltime[i]
        if planned > middle:
            area += alike.request[0, jobs.group[i]] * (planned - middle)
        for k in range(alike.entity.shape[1]):
            if alike.entity[jobs.group[i], k] == e:
                i = hunger.next_dropped[i, k]
                break
    row[3 + rows] = area
