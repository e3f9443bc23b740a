"""Note where users, accounts, … stop although enough capacity is free (SPEC §11, *Plateaus*).

The queue is walked at every instant by *groups* of equal jobs, the group with the oldest job first.
A group that fits in what the groups before it leave, and that no rule forbids, is *hungry*. Where nodes
are known, it fits if its parts do on its eligible nodes. A *cell* is an entity with one request (amounts
and walltime); it is hungry while one of its groups is. Each interval of an entity without own start or
end in which a cell was hungry for ``LEAST_S`` is kept, with a *stop* for each of these cells.

Levels have M = R + 2 measures: running jobs, the amounts of R resources, and the remaining amount of
the first one × time. Times are in epoch s; jobs are numbered by (arrival, submit, sequence).
"""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t, uint8_t
from libc.string cimport memmove

import numpy as np

from audit.kernels.growing cimport Table, add_row
from audit.kernels.rows cimport parts_on
from audit.kernels.sweeps cimport time_at


cdef enum:
    LEAST_S = 300  # a cell that was hungry for less makes no stop
    LAPSE_S = 3_600  # a group that was hungry for longer without a start takes nothing
    NOBODY = -1


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False, kw_only=True)
cdef class QueuedJobs:
    """The jobs of a pool, in n groups: queued over [arrival, leave), running over [start, end)."""

    cdef const int64_t[::1] arrival
    cdef const int64_t[::1] leave
    cdef const int64_t[::1] start
    cdef const int64_t[::1] end
    cdef const int64_t[::1] walltime
    cdef const int64_t[::1] group
    cdef const int64_t[::1] by_arrival  # of those with arrival < leave
    cdef const int64_t[::1] by_leave  # of the same
    cdef const int64_t[::1] by_start  # of all that started
    cdef const int64_t[::1] by_end  # of those with start < end
    cdef const int64_t[::1] by_planned  # of those with start + walltime < end, by that time


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False, kw_only=True)
cdef class EqualJobs:
    """The groups, G, and the K entities and cells to which each belongs."""

    cdef const int64_t[:, ::1] request  # R × G
    cdef const int64_t[::1] rank  # G: that of the first amount among all of them
    cdef const int64_t[::1] sizes  # these amounts, ascending
    cdef const int64_t[:, ::1] entity  # G × K, or NOBODY
    cdef const int64_t[:, ::1] cell  # G × K, or NOBODY
    cdef const int64_t[:, ::1] part  # G × K: the cell and the user, or NOBODY
    cdef const int64_t[::1] entity_of  # of each cell, then of each part
    cdef const int64_t[::1] cell_of  # of each part
    cdef const int64_t[::1] user_of  # of each part
    cdef Py_ssize_t entities


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False, kw_only=True)
cdef class Barriers:
    """Limits and windows in force, with C counters; a closed window is far above its bound."""

    cdef const int64_t[::1] first  # G + 1: of each group its first element in the next three
    cdef const int64_t[::1] counter
    cdef const int64_t[::1] amount
    cdef const uint8_t[::1] binding
    cdef const int64_t[::1] most  # C
    cdef const uint8_t[::1] remaining  # C: whether it counts the remaining amount × time
    cdef const int64_t[::1] edge_time  # ascending
    cdef const int64_t[::1] edge_counter
    cdef const int64_t[::1] edge_change


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False, kw_only=True)
cdef class Supply:
    """The capacity of sets of nodes at first, and the changes of the one set without nodes."""

    cdef const int64_t[:, ::1] capacity  # S × R
    cdef const int64_t[::1] step  # ascending
    cdef const int64_t[:, ::1] change  # steps × R


@cython.final
cdef class StopTables:
    """Output: intervals (entity, begin, end, M levels), stops (interval, cell), their users."""

    cdef readonly Table intervals
    cdef readonly Table stops
    cdef readonly Table users  # stop, user: one whose own groups in the cell were hungry as long
    # Climbs: levels after each start of an entity's job, and that job. Climbs of an entity begin at
    # its element of ``next_climb``; without elements they are not noted.
    cdef int64_t[:, ::1] level  # M × climbs
    cdef int64_t[::1] job
    cdef int64_t[::1] next_climb  # entities

    def __init__(self, Py_ssize_t measures, level, job, next_climb):
        """Take the arrays of the climbs, which the sweep fills."""
        self.intervals, self.stops, self.users = Table(3 + measures), Table(2), Table(2)
        self.level, self.job, self.next_climb = level, job, next_climb


@cython.final
cdef class Scales:
    """Levels of entities or counters: use by measure, and two sums for the remaining amount × time.

    Of the jobs before their planned ends, n is the amount and p the planned end: at t the remaining
    amount × time is Σ n p − t Σ n.
    """

    cdef int64_t[:, ::1] used  # R + 1 × entities
    cdef int64_t[::1] planned  # Σ n p
    cdef int64_t[::1] amount  # Σ n

    def __init__(self, Py_ssize_t rows, Py_ssize_t count):
        """Begin at 0."""
        self.used = np.zeros((rows, count), np.int64)
        self.planned, self.amount = np.zeros((2, count), np.int64)


cdef inline int64_t remaining_at(Scales scales, int64_t e, int64_t t) noexcept nogil:
    return scales.planned[e] - t * scales.amount[e]


include "nodes.pxi"
include "hunger.pxi"
include "unstartable.pxi"
include "walk.pxi"


def sweep(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, Barriers barriers, Supply supply, int64_t since,
    StopTables made, Marks marks
):
    """Fill the tables of ``made``, and ``marks.marked``.

    Args:
        since: before it no group is hungry.

    Raises:
        MemoryError: there is no memory for the stops.
    """
    cdef Py_ssize_t resources = alike.request.shape[0]
    cdef Scales levels = Scales(resources + 1, alike.entities)
    cdef Scales counters = Scales(1, barriers.most.shape[0])
    cdef Hunger hunger = Hunger(alike, jobs.start.shape[0])
    cdef Waiting queue = Waiting(alike, jobs.start.shape[0])
    cdef FreeNodes room = FreeNodes(nodes, supply.capacity)
    with nogil:
        _sweep(
            jobs, alike, nodes, room, barriers, supply, since, levels, counters, hunger, queue, made, marks
        )
    if made.intervals.places < 0 or made.stops.places < 0 or made.users.places < 0:
        raise MemoryError("no memory for the stops")


cdef inline int64_t _coming(const int64_t[::1] times, Py_ssize_t place) noexcept nogil:
    """Return the time at a place; NEVER behind the last one."""
    return times[place] if place < times.shape[0] else NEVER


cdef void _sweep(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, FreeNodes room, Barriers barriers, Supply supply,
    int64_t since, Scales levels, Scales counters, Hunger hunger, Waiting queue, StopTables made, Marks marks
) noexcept nogil:
    cdef Py_ssize_t arrival = 0, leave = 0, start = 0, end = 0, planned = 0, step = 0, edge = 0, change = 0
    cdef Py_ssize_t x, e
    cdef int64_t now = 0, last = 0, i
    while True:
        now = min(time_at(jobs.arrival, jobs.by_arrival, arrival), time_at(jobs.end, jobs.by_end, end))
        now = min(now, time_at(jobs.start, jobs.by_start, start), time_at(jobs.leave, jobs.by_leave, leave))
        if now == NEVER:
            break
        now = min(now, queue.next_lapse, marks.next)
        now = min(now, _coming(supply.step, step), _coming(nodes.change_time, change))
        now = min(now, _coming(barriers.edge_time, edge))
        now = min(now, since) if last < since else now
        last = now
        while _coming(supply.step, step) == now:
            for x in range(room.free.shape[1]):
                room.free[0, x] += supply.change[step, x]
            step += 1
        while _coming(nodes.change_time, change) == now:
            _set_down(nodes, room, nodes.change_node[change], nodes.change[change])
            change += 1
        while _coming(barriers.edge_time, edge) == now:
            counters.used[0, barriers.edge_counter[edge]] += barriers.edge_change[edge]
            edge += 1
        while planned < jobs.by_planned.shape[0]:
            i = jobs.by_planned[planned]
            if jobs.start[i] + jobs.walltime[i] > now:
                break
            _drop(jobs, alike, barriers, levels, counters, hunger, i)
            planned += 1
        while time_at(jobs.end, jobs.by_end, end) == now:
            i = jobs.by_end[end]
            _flush_all(jobs, alike, levels, hunger, made, i, now)
            _occupy(jobs, alike, nodes, room, barriers, levels, counters, i, -1)
            end += 1
        while time_at(jobs.arrival, jobs.by_arrival, arrival) == now:
            _join(jobs, alike, nodes, queue, marks, jobs.by_arrival[arrival], now)
            arrival += 1
        while time_at(jobs.leave, jobs.by_leave, leave) == now:
            _leave(jobs, alike, nodes, queue, marks, jobs.by_leave[leave], now)
            leave += 1
        while time_at(jobs.start, jobs.by_start, start) == now:
            i = jobs.by_start[start]
            _flush_all(jobs, alike, levels, hunger, made, i, now)
            _occupy(jobs, alike, nodes, room, barriers, levels, counters, i, 1)
            _begin_anew(jobs, alike, nodes, queue, marks, i, now)
            _climb(jobs, alike, levels, made, i, now)
            if jobs.end[i] <= now:
                _occupy(jobs, alike, nodes, room, barriers, levels, counters, i, -1)
            start += 1
        if now >= since:
            _mark(jobs, alike, nodes, queue, marks, now)
            _walk(jobs, alike, nodes, room, barriers, counters, hunger, queue, marks, now)
    for e in range(alike.entities):
        _flush(jobs, alike, levels, hunger, made, e, last)


cdef inline void _begin_anew(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, Waiting queue, Marks marks, int64_t i, int64_t now
) noexcept nogil:
    """A start of one of a group: its age and its mark begin anew."""
    queue.age[jobs.group[i]] = 0
    queue.aged_to[jobs.group[i]] = now
    _mark_started(jobs, alike, nodes, queue, marks, i)


cdef void _occupy(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, FreeNodes room, Barriers barriers, Scales levels,
    Scales counters, int64_t i, int64_t sign
) noexcept nogil:
    """Start (sign 1) or end (−1) a job."""
    cdef int64_t g = jobs.group[i], planned = jobs.start[i] + jobs.walltime[i], e
    cdef Py_ssize_t x, k
    # a job past its planned end has left these sums before
    cdef int64_t sums = 0 if sign < 0 and planned < jobs.end[i] else sign * alike.request[0, g]
    _use(jobs, alike, nodes, room, i, sign)
    for k in range(alike.entity.shape[1]):
        e = alike.entity[g, k]
        if e != NOBODY:
            levels.used[0, e] += sign
            for x in range(alike.request.shape[0]):
                levels.used[x + 1, e] += sign * alike.request[x, g]
            levels.planned[e] += sums * planned
            levels.amount[e] += sums
    for k in range(barriers.first[g], barriers.first[g + 1]):
        e = barriers.counter[k]
        if not barriers.remaining[e]:
            counters.used[0, e] += sign * barriers.amount[k]
        elif sums != 0:
            counters.planned[e] += sign * barriers.amount[k] * planned
            counters.amount[e] += sign * barriers.amount[k]


cdef void _drop(
    QueuedJobs jobs, EqualJobs alike, Barriers barriers, Scales levels, Scales counters, Hunger hunger,
    int64_t i
) noexcept nogil:
    """Note that a running job is past its planned end."""
    cdef int64_t g = jobs.group[i], planned = jobs.start[i] + jobs.walltime[i], e
    cdef Py_ssize_t k
    for k in range(alike.entity.shape[1]):
        e = alike.entity[g, k]
        if e != NOBODY:
            levels.planned[e] -= alike.request[0, g] * planned
            levels.amount[e] -= alike.request[0, g]
            hunger.next_dropped[i, k] = hunger.dropped[e]
            hunger.dropped[e] = i
    for k in range(barriers.first[g], barriers.first[g + 1]):
        e = barriers.counter[k]
        if barriers.remaining[e]:
            counters.planned[e] -= barriers.amount[k] * planned
            counters.amount[e] -= barriers.amount[k]


cdef void _climb(
    QueuedJobs jobs, EqualJobs alike, Scales levels, StopTables made, int64_t i, int64_t now
) noexcept nogil:
    """Note the levels after a start."""
    cdef int64_t g = jobs.group[i], e, place
    cdef Py_ssize_t x, k, rows = levels.used.shape[0]
    if made.next_climb.shape[0] == 0:
        return
    for k in range(alike.entity.shape[1]):
        e = alike.entity[g, k]
        if e != NOBODY:
            place = made.next_climb[e]
            made.next_climb[e] += 1
            made.job[place] = i
            for x in range(rows):
                made.level[x, place] = levels.used[x, e]
            made.level[rows, place] = remaining_at(levels, e, now)
