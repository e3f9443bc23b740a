"""Note where users, accounts, … stop although enough capacity is free (SPEC §11, *Plateaus*).

The queue is walked at every instant by *groups* of equal jobs, the group with the oldest job first.
A group that fits in what the groups before it leave, and that no rule forbids, is *hungry*. A *cell*
is an entity with one request (amounts and walltime); it is hungry while one of its groups is. Each
interval of an entity without own start or end in which a cell was hungry for ``LEAST_S`` is kept,
with a *stop* for each of these cells.

Levels have M = R + 2 measures: running jobs, the amounts of R resources, and the remaining amount of
the first one × time. Times are in epoch s; jobs are numbered by (arrival, submit, sequence).
"""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memmove

import numpy as np

from audit.kernels.sweeps cimport time_at

include "../growing.pxi"


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
    """The capacity: that at first, [R], and its S changes."""

    cdef const int64_t[::1] capacity
    cdef const int64_t[::1] step  # ascending
    cdef const int64_t[:, ::1] change  # S × R


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


@cython.final
cdef class Hunger:
    """Which cells and parts (after the cells) are hungry, and for how long in the interval."""

    cdef int64_t[::1] groups  # number of its groups that are hungry
    cdef int64_t[::1] since
    cdef int64_t[::1] seconds
    cdef int64_t[::1] next  # in the list of its entity; itself: in none
    cdef int64_t[::1] stop  # of a cell, in the interval that ends; NOBODY: none
    cdef int64_t[::1] first_cell  # entities: the first of each list
    cdef int64_t[::1] first_part
    cdef int64_t[::1] begin  # entities: the last own start or end
    cdef int64_t[::1] hungry_from  # entities: the first hungry second after it
    cdef int64_t[::1] dropped  # entities × K lists of jobs: past their planned end in the interval
    cdef int64_t[:, ::1] next_dropped  # jobs × K

    def __init__(self, EqualJobs alike, Py_ssize_t jobs):
        """Begin without hungry cells."""
        cdef Py_ssize_t cells = alike.entity_of.shape[0], entities = alike.entities
        self.groups, self.since, self.seconds = np.zeros((3, cells), np.int64)
        self.next = np.arange(cells)
        self.stop = np.full(cells, NOBODY)
        self.first_cell, self.first_part, self.dropped = np.full((3, entities), NOBODY)
        self.begin, self.hungry_from = np.full((2, entities), NEVER)
        self.next_dropped = np.full((jobs, alike.entity.shape[1]), NOBODY)


@cython.final
cdef class Waiting:
    """The queue, by groups."""

    cdef int64_t[::1] order  # the groups that wait, by their oldest job
    cdef Py_ssize_t groups
    cdef int64_t[::1] oldest  # of each group; its list of jobs
    cdef int64_t[::1] newest
    cdef int64_t[::1] older  # of each job
    cdef int64_t[::1] newer
    cdef int64_t[::1] count  # of each group
    cdef int64_t[::1] of_size  # number of jobs by rank
    cdef Py_ssize_t least  # no rank below it has jobs
    # Hungry groups, and their state.
    cdef int64_t[:, ::1] hungry  # 2 lists, of which the walks use one after the other
    cdef Py_ssize_t number
    cdef Py_ssize_t list
    cdef int64_t[::1] stamp  # the last walk in which a group was hungry
    cdef int64_t[::1] age  # s of hunger since a job of the group started
    cdef int64_t[::1] aged_to
    cdef uint8_t[::1] lapsed
    cdef int64_t walk
    cdef int64_t next_lapse
    cdef int64_t[::1] left  # R
    cdef int64_t[::1] free  # R

    def __init__(self, EqualJobs alike, Py_ssize_t jobs, const int64_t[::1] capacity):
        """Begin with an empty queue."""
        cdef Py_ssize_t groups = alike.request.shape[1]
        self.order, self.count, self.age, self.aged_to = np.zeros((4, groups), np.int64)
        self.stamp, self.oldest, self.newest = np.full((3, groups), NOBODY)
        self.older, self.newer = np.full((2, jobs), NOBODY)
        self.of_size = np.zeros(alike.sizes.shape[0] + 1, np.int64)
        self.least = alike.sizes.shape[0]
        self.hungry = np.zeros((2, groups), np.int64)
        self.lapsed = np.zeros(groups, np.uint8)
        self.groups, self.number, self.list, self.walk = 0, 0, 0, 0
        self.next_lapse = NEVER
        self.left = np.zeros(capacity.shape[0], np.int64)
        self.free = np.array(capacity, np.int64)


def sweep(
    QueuedJobs jobs, EqualJobs alike, Barriers barriers, Supply supply, int64_t since, StopTables made
):
    """Fill the tables of ``made``.

    Args:
        since: before it nobody is hungry.

    Raises:
        MemoryError: there is no memory for the stops.
    """
    cdef Py_ssize_t resources = alike.request.shape[0]
    cdef Scales levels = Scales(resources + 1, alike.entities)
    cdef Scales counters = Scales(1, barriers.most.shape[0])
    cdef Hunger hunger = Hunger(alike, jobs.start.shape[0])
    cdef Waiting queue = Waiting(alike, jobs.start.shape[0], supply.capacity)
    with nogil:
        _sweep(jobs, alike, barriers, supply, since, levels, counters, hunger, queue, made)
    if made.intervals.places < 0 or made.stops.places < 0 or made.users.places < 0:
        raise MemoryError("no memory for the stops")


cdef void _sweep(
    QueuedJobs jobs, EqualJobs alike, Barriers barriers, Supply supply, int64_t since, Scales levels,
    Scales counters, Hunger hunger, Waiting queue, StopTables made
) noexcept nogil:
    cdef Py_ssize_t arrival = 0, leave = 0, start = 0, end = 0, planned = 0, step = 0, edge = 0, x, e
    cdef int64_t now = 0, last = 0, i
    while True:
        now = min(time_at(jobs.arrival, jobs.by_arrival, arrival), time_at(jobs.leave, jobs.by_leave, leave))
        now = min(now, time_at(jobs.start, jobs.by_start, start))
        now = min(now, time_at(jobs.end, jobs.by_end, end))
        if now == NEVER:
            break
        if step < supply.step.shape[0]:
            now = min(now, supply.step[step])
        if edge < barriers.edge_time.shape[0]:
            now = min(now, barriers.edge_time[edge])
        now = min(now, queue.next_lapse)
        if last < since:
            now = min(now, since)
        last = now
        while step < supply.step.shape[0] and supply.step[step] == now:
            for x in range(queue.free.shape[0]):
                queue.free[x] += supply.change[step, x]
            step += 1
        while edge < barriers.edge_time.shape[0] and barriers.edge_time[edge] == now:
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
            _occupy(jobs, alike, barriers, levels, counters, queue, i, -1)
            end += 1
        while time_at(jobs.arrival, jobs.by_arrival, arrival) == now:
            _join(jobs, alike, queue, jobs.by_arrival[arrival])
            arrival += 1
        while time_at(jobs.leave, jobs.by_leave, leave) == now:
            _leave(jobs, alike, queue, jobs.by_leave[leave])
            leave += 1
        while time_at(jobs.start, jobs.by_start, start) == now:
            i = jobs.by_start[start]
            _flush_all(jobs, alike, levels, hunger, made, i, now)
            _occupy(jobs, alike, barriers, levels, counters, queue, i, 1)
            queue.age[jobs.group[i]] = 0
            queue.aged_to[jobs.group[i]] = now
            _climb(jobs, alike, levels, made, i, now)
            if jobs.end[i] <= now:
                _occupy(jobs, alike, barriers, levels, counters, queue, i, -1)
            start += 1
        if now >= since:
            _walk(jobs, alike, barriers, counters, hunger, queue, now)
    for e in range(alike.entities):
        _flush(jobs, alike, levels, hunger, made, e, last)


cdef void _occupy(
    QueuedJobs jobs, EqualJobs alike, Barriers barriers, Scales levels, Scales counters, Waiting queue,
    int64_t i, int64_t sign
) noexcept nogil:
    """Start (sign 1) or end (−1) a job."""
    cdef int64_t g = jobs.group[i], planned = jobs.start[i] + jobs.walltime[i], e
    cdef Py_ssize_t x, k
    # a job past its planned end has left these sums before
    cdef int64_t sums = 0 if sign < 0 and planned < jobs.end[i] else sign * alike.request[0, g]
    for x in range(queue.free.shape[0]):
        queue.free[x] -= sign * alike.request[x, g]
    for k in range(alike.entity.shape[1]):
        e = alike.entity[g, k]
        if e != NOBODY:
            levels.used[0, e] += sign
            for x in range(queue.free.shape[0]):
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


# --- The queue ------------------------------------------------------------------------------------


cdef void _join(QueuedJobs jobs, EqualJobs alike, Waiting queue, int64_t i) noexcept nogil:
    """Add a job, which is newer than all that wait."""
    cdef int64_t g = jobs.group[i], rank = alike.rank[g]
    queue.older[i] = queue.newest[g]
    queue.newer[i] = NOBODY
    if queue.count[g] == 0:
        queue.oldest[g] = i
        queue.order[queue.groups] = g
        queue.groups += 1
    else:
        queue.newer[queue.newest[g]] = i
    queue.newest[g] = i
    queue.count[g] += 1
    queue.of_size[rank] += 1
    queue.least = min(queue.least, rank)


cdef void _leave(QueuedJobs jobs, EqualJobs alike, Waiting queue, int64_t i) noexcept nogil:
    """Remove a job, and keep the groups in order."""
    cdef int64_t g = jobs.group[i], older = queue.older[i], newer = queue.newer[i], rank = alike.rank[g]
    cdef Py_ssize_t place, target
    queue.count[g] -= 1
    queue.of_size[rank] -= 1
    while queue.least < alike.sizes.shape[0] and queue.of_size[queue.least] == 0:
        queue.least += 1
    if newer != NOBODY:
        queue.older[newer] = older
    else:
        queue.newest[g] = older
    if older != NOBODY:
        queue.newer[older] = newer
        return
    place = _place(queue, i)
    target = queue.groups if newer == NOBODY else _place(queue, newer)
    queue.oldest[g] = newer
    if place + 1 < target:
        memmove(&queue.order[place], &queue.order[place + 1], (target - place - 1) * sizeof(int64_t))
    if newer == NOBODY:
        queue.groups -= 1
        queue.lapsed[g] = 0
        queue.age[g] = 0
    else:
        queue.order[target - 1] = g


cdef Py_ssize_t _place(Waiting queue, int64_t i) noexcept nogil:
    """Return the place of the first group whose oldest job is ``i`` or newer."""
    cdef Py_ssize_t low = 0, high = queue.groups, middle
    while low < high:
        middle = (low + high) // 2
        if queue.oldest[queue.order[middle]] < i:
            low = middle + 1
        else:
            high = middle
    return low


cdef void _walk(
    QueuedJobs jobs, EqualJobs alike, Barriers barriers, Scales counters, Hunger hunger, Waiting queue,
    int64_t now
) noexcept nogil:
    """Decide which groups are hungry from now on."""
    cdef Py_ssize_t place, x, number = 0, old = queue.list
    cdef int64_t g, count
    queue.walk += 1
    queue.list = 1 - old
    queue.next_lapse = NEVER
    queue.left[:] = queue.free
    for place in range(queue.groups):
        if queue.left[0] < alike.sizes[queue.least]:
            break
        g = queue.order[place]
        if not _fits(alike, queue, g) or _is_barred(jobs, barriers, counters, queue, g, now):
            continue
        if queue.stamp[g] != queue.walk - 1:
            queue.aged_to[g] = now
            _turn(alike, hunger, g, now, 1)
        queue.stamp[g] = queue.walk
        queue.hungry[queue.list, number] = g
        number += 1
        queue.age[g] += now - queue.aged_to[g]
        queue.aged_to[g] = now
        if queue.lapsed[g] or queue.age[g] >= LAPSE_S:
            queue.lapsed[g] = 1
            continue
        queue.next_lapse = min(queue.next_lapse, now + LAPSE_S - queue.age[g])
        count = queue.count[g]
        for x in range(queue.left.shape[0]):
            if alike.request[x, g] > 0:
                count = min(count, queue.left[x] // alike.request[x, g])
        for x in range(queue.left.shape[0]):
            queue.left[x] -= count * alike.request[x, g]
    for place in range(queue.number):
        g = queue.hungry[old, place]
        if queue.stamp[g] != queue.walk:
            queue.age[g] = queue.age[g] + now - queue.aged_to[g] if queue.count[g] > 0 else 0
            _turn(alike, hunger, g, now, -1)
    queue.number = number


cdef inline bint _fits(EqualJobs alike, Waiting queue, int64_t g) noexcept nogil:
    cdef Py_ssize_t x
    for x in range(queue.left.shape[0]):
        if alike.request[x, g] > queue.left[x] and alike.request[x, g] > 0:
            return False
    return True


cdef inline bint _is_barred(
    QueuedJobs jobs, Barriers barriers, Scales counters, Waiting queue, int64_t g, int64_t now
) noexcept nogil:
    """Return whether a rule in force forbids the jobs of a group."""
    cdef Py_ssize_t k
    cdef int64_t c, adds, used
    for k in range(barriers.first[g], barriers.first[g + 1]):
        c = barriers.counter[k]
        adds, used = barriers.amount[k], counters.used[0, c]
        if barriers.remaining[c]:
            adds *= jobs.walltime[queue.oldest[g]]
            used += remaining_at(counters, c, now)
        if barriers.binding[k] and adds <= barriers.most[c] < used + adds:
            return True
    return False


# --- Hunger ---------------------------------------------------------------------------------------


cdef void _turn(EqualJobs alike, Hunger hunger, int64_t g, int64_t now, int64_t sign) noexcept nogil:
    """Note that a group becomes hungry (sign 1) or is no more (−1)."""
    cdef Py_ssize_t k
    for k in range(alike.entity.shape[1]):
        if alike.cell[g, k] != NOBODY:
            _turn_cell(hunger, alike.entity[g, k], hunger.first_cell, alike.cell[g, k], now, sign)
        if alike.part[g, k] != NOBODY:
            _turn_cell(hunger, alike.entity[g, k], hunger.first_part, alike.part[g, k], now, sign)


cdef inline void _turn_cell(
    Hunger hunger, int64_t e, int64_t[::1] first, int64_t c, int64_t now, int64_t sign
) noexcept nogil:
    hunger.groups[c] += sign
    if sign > 0 and hunger.groups[c] == 1:
        hunger.since[c] = now
        if hunger.next[c] == c:
            hunger.next[c] = first[e]
            first[e] = c
    elif sign < 0 and hunger.groups[c] == 0:
        _accrue(hunger, e, c, now)


cdef inline void _accrue(Hunger hunger, int64_t e, int64_t c, int64_t now) noexcept nogil:
    """Add the time that a hungry cell has been so."""
    if now > hunger.since[c]:
        hunger.hungry_from[e] = min(hunger.hungry_from[e], hunger.since[c])
        hunger.seconds[c] += now - hunger.since[c]
        hunger.since[c] = now


cdef void _flush_all(
    QueuedJobs jobs, EqualJobs alike, Scales levels, Hunger hunger, StopTables made, int64_t i, int64_t now
) noexcept nogil:
    """End the intervals of the entities of a job that starts or ends."""
    cdef Py_ssize_t k
    cdef int64_t g = jobs.group[i]
    for k in range(alike.entity.shape[1]):
        if alike.entity[g, k] != NOBODY:
            _flush(jobs, alike, levels, hunger, made, alike.entity[g, k], now)


cdef void _flush(
    QueuedJobs jobs, EqualJobs alike, Scales levels, Hunger hunger, StopTables made, int64_t e, int64_t now
) noexcept nogil:
    """End an interval of an entity: note its stops, and begin the next one."""
    cdef int64_t c = hunger.first_cell[e], interval = NOBODY, kept = NOBODY, following, begin
    cdef int64_t* row
    while c != NOBODY:
        if hunger.groups[c] > 0:
            _accrue(hunger, e, c, now)
        c = hunger.next[c]
    begin = hunger.begin[e] if levels.used[0, e] > 0 else hunger.hungry_from[e]
    c = hunger.first_cell[e]
    while c != NOBODY:
        hunger.stop[c] = NOBODY
        if hunger.seconds[c] >= LEAST_S:
            if interval == NOBODY:
                interval = made.intervals.count
                _note(jobs, alike, levels, hunger, made, e, begin, now)
            hunger.stop[c] = made.stops.count
            row = add_row(made.stops)
            if row != NULL:
                row[0], row[1] = interval, c
        following = hunger.next[c]
        kept = _relink(hunger, c, kept)
        c = following
    hunger.first_cell[e] = kept
    kept = NOBODY
    c = hunger.first_part[e]
    while c != NOBODY:
        if hunger.groups[c] > 0:
            _accrue(hunger, e, c, now)
        if hunger.seconds[c] >= LEAST_S and hunger.stop[alike.cell_of[c]] != NOBODY:
            row = add_row(made.users)
            if row != NULL:
                row[0], row[1] = hunger.stop[alike.cell_of[c]], alike.user_of[c]
        following = hunger.next[c]
        kept = _relink(hunger, c, kept)
        c = following
    hunger.first_part[e] = kept
    hunger.begin[e] = now
    hunger.hungry_from[e] = NEVER
    hunger.dropped[e] = NOBODY


cdef inline int64_t _relink(Hunger hunger, int64_t c, int64_t kept) noexcept nogil:
    """Return the first of the next interval's list, with a cell that is still hungry before it."""
    hunger.seconds[c] = 0
    if hunger.groups[c] > 0:
        hunger.next[c] = kept
        return c
    hunger.next[c] = c
    return kept


cdef void _note(
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
