"""Note where users, accounts, … stop although enough capacity is free (SPEC §11, *Plateaus*).

The queue is walked at every instant by *groups* of equal jobs, the group with the oldest job first.
A group that fits in what the groups before it leave, and that no rule forbids, is *hungry*. Where nodes
are known, it fits if its parts do on its eligible nodes. A *cell* is an entity with one request (amounts
and walltime); it is hungry while one of its groups is. Each interval of an entity without own start or
end in which a cell was hungry for ``LEAST_S`` is kept, with a *stop* for each of these cells.

Levels have M = R + 2 measures: running jobs, the amounts of R resources, and the remaining amount of
the first one × time. Times are in epoch s; jobs are numbered by (arrival, submit, sequence).
"""

from libc.stdint cimport INT64_MAX as NEVER, int64_t

from audit.kernels.plateaus.model cimport (
    NOBODY, Barriers, EqualJobs, NodeSets, QueuedJobs, Supply
)
from audit.kernels.plateaus.nodes cimport (
    FreeNodes, begin_walk, fits_set, most_left, set_down, take, use
)
from audit.kernels.plateaus.queue cimport Waiting, join, leave
from audit.kernels.plateaus.stops cimport (
    Hunger, Scales, StopTables, flush, flush_all, remaining_at, turn
)
from audit.kernels.plateaus.unstartable cimport (
    Marks, mark, mark_joined, mark_left, mark_started, watch
)
from audit.kernels.sweeps cimport time_at


cdef enum:
    LAPSE_S = 3_600  # a group that was hungry for longer without a start takes nothing


def sweep(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, Barriers barriers, Supply supply, int64_t since,
    StopTables made, Marks marks
):
    """Fill the tables of ``made``, and ``marks.marked``.

    Args:
        since: before it no group is hungry.
    """
    cdef Py_ssize_t resources = alike.request.shape[0]
    cdef Scales levels = Scales(resources + 1, alike.entities)
    cdef Scales counters = Scales(1, barriers.most.shape[0])
    cdef Hunger hunger = Hunger(alike, jobs.start.shape[0])
    cdef Waiting queue = Waiting(alike, jobs.start.shape[0])
    cdef FreeNodes room = FreeNodes(nodes, supply.capacity)
    cdef int64_t last
    cdef Py_ssize_t e
    with nogil:
        last = sweep_all(
            jobs, alike, nodes, room, barriers, supply, since, levels, counters, hunger, queue, made, marks
        )
        for e in range(alike.entities):
            flush(jobs, alike, levels, hunger, made, e, last)


cdef inline int64_t coming(const int64_t[::1] times, Py_ssize_t place) noexcept nogil:
    """Return the time at a place; NEVER behind the last one."""
    return times[place] if place < times.shape[0] else NEVER


cdef inline int64_t next_planned_end(QueuedJobs jobs, Py_ssize_t place) noexcept nogil:
    """Return the planned end of the job at a place of ``by_planned``; NEVER behind the last one."""
    if place == jobs.by_planned.shape[0]:
        return NEVER
    return jobs.start[jobs.by_planned[place]] + jobs.walltime[jobs.by_planned[place]]


cdef int64_t sweep_all(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, FreeNodes room, Barriers barriers, Supply supply,
    int64_t since, Scales levels, Scales counters, Hunger hunger, Waiting queue, StopTables made, Marks marks
) noexcept nogil:
    """Go from instant to instant; return the last one."""
    cdef Py_ssize_t arrival = 0, left = 0, start = 0, end = 0, planned = 0, step = 0, edge = 0, change = 0
    cdef Py_ssize_t x
    cdef int64_t now = 0, last = 0, i
    while True:
        now = min(time_at(jobs.arrival, jobs.by_arrival, arrival), time_at(jobs.end, jobs.by_end, end))
        now = min(now, time_at(jobs.start, jobs.by_start, start), time_at(jobs.leave, jobs.by_leave, left))
        if now == NEVER:
            break
        now = min(now, queue.next_lapse, marks.next)
        now = min(now, coming(supply.step, step), coming(nodes.change_time, change))
        now = min(now, coming(barriers.edge_time, edge))
        now = min(now, since) if last < since else now
        last = now
        while coming(supply.step, step) == now:
            for x in range(room.free.shape[1]):
                room.free[0, x] += supply.change[step, x]
            step += 1
        while coming(nodes.change_time, change) == now:
            set_down(nodes, room, nodes.change_node[change], nodes.change[change])
            change += 1
        while coming(barriers.edge_time, edge) == now:
            counters.used[0, barriers.edge_counter[edge]] += barriers.edge_change[edge]
            edge += 1
        while next_planned_end(jobs, planned) <= now:
            drop(jobs, alike, barriers, levels, counters, hunger, jobs.by_planned[planned])
            planned += 1
        while time_at(jobs.end, jobs.by_end, end) == now:
            i = jobs.by_end[end]
            flush_all(jobs, alike, levels, hunger, made, i, now)
            occupy(jobs, alike, nodes, room, barriers, levels, counters, i, -1)
            end += 1
        while time_at(jobs.arrival, jobs.by_arrival, arrival) == now:
            i = jobs.by_arrival[arrival]
            join(jobs, alike, queue, i)
            mark_joined(jobs, alike, nodes, marks, i, now)
            arrival += 1
        while time_at(jobs.leave, jobs.by_leave, left) == now:
            i = jobs.by_leave[left]
            mark_left(jobs, alike, nodes, queue, marks, i, now)
            leave(jobs, alike, queue, i)
            left += 1
        while time_at(jobs.start, jobs.by_start, start) == now:
            i = jobs.by_start[start]
            flush_all(jobs, alike, levels, hunger, made, i, now)
            if jobs.end[i] > now:
                occupy(jobs, alike, nodes, room, barriers, levels, counters, i, 1)
            begin_anew(jobs, alike, nodes, queue, marks, i, now)
            climb(jobs, alike, levels, made, i, now)
            start += 1
        if now >= since:
            mark(jobs, alike, nodes, queue, marks, now)
            walk(jobs, alike, nodes, room, barriers, counters, hunger, queue, marks, now)
    return last


cdef inline void begin_anew(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, Waiting queue, Marks marks, int64_t i, int64_t now
) noexcept nogil:
    """A start of one of a group: its age and its mark begin anew."""
    queue.age[jobs.group[i]] = 0
    queue.aged_to[jobs.group[i]] = now
    mark_started(jobs, alike, nodes, queue, marks, i)


cdef void occupy(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, FreeNodes room, Barriers barriers, Scales levels,
    Scales counters, int64_t i, int64_t sign
) noexcept nogil:
    """Start (sign 1) or end (−1) a job."""
    cdef int64_t g = jobs.group[i], planned = jobs.start[i] + jobs.walltime[i], e
    cdef Py_ssize_t x, k
    # a job past its planned end has left these sums before
    cdef int64_t sums = 0 if sign < 0 and planned < jobs.end[i] else sign * alike.request[0, g]
    use(jobs, alike, nodes, room, i, sign)
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


cdef void drop(
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


cdef void climb(
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


cdef void walk(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, FreeNodes room, Barriers barriers, Scales counters,
    Hunger hunger, Waiting queue, Marks marks, int64_t now
) noexcept nogil:
    """Decide which groups are hungry from now on."""
    cdef Py_ssize_t place, number = 0, old = queue.list
    cdef int64_t g, most
    queue.walk += 1
    queue.list = 1 - old
    queue.next_lapse = NEVER
    begin_walk(nodes, room, queue.groups)
    most = most_left(room)
    for place in range(queue.groups):
        if most < alike.sizes[queue.least]:
            break
        g = queue.order[place]
        if not fits_set(alike, nodes, room, g) or is_barred(jobs, barriers, counters, queue, g, now):
            continue
        if queue.stamp[g] != queue.walk - 1:
            queue.aged_to[g] = now
            turn(alike, hunger, g, now, 1)
        queue.stamp[g] = queue.walk
        queue.hungry[queue.list, number] = g
        number += 1
        watch(alike, nodes, room, marks, g, now)
        queue.age[g] += now - queue.aged_to[g]
        queue.aged_to[g] = now
        if queue.lapsed[g] or queue.age[g] >= LAPSE_S:
            queue.lapsed[g] = 1
            continue
        queue.next_lapse = min(queue.next_lapse, now + LAPSE_S - queue.age[g])
        take(alike, nodes, room, g, queue.count[g])
        most = most_left(room)
    for place in range(queue.number):
        g = queue.hungry[old, place]
        if queue.stamp[g] != queue.walk:
            queue.age[g] = queue.age[g] + now - queue.aged_to[g] if queue.count[g] > 0 else 0
            turn(alike, hunger, g, now, -1)
    queue.number = number


cdef inline bint is_barred(
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
