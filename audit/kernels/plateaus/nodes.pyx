"""Free amounts on single nodes, and on the sets of nodes that jobs may use (SPEC §12)."""

cimport cython
from libc.stdint cimport int64_t

import numpy as np

from audit.kernels.plateaus.model cimport NOBODY, EqualJobs, NodeSets, QueuedJobs
from audit.kernels.rows cimport parts_on


cdef enum:
    DEEP = 20_000  # above this number of groups × nodes, the sums of sets decide


@cython.final
cdef class FreeNodes:
    """The free amounts, and those that are left in a walk."""

    def __init__(self, NodeSets nodes, const int64_t[:, ::1] capacity):
        """Begin with empty nodes; ``capacity`` is that of the sets, S × R."""
        self.on, self.deep, self.taken = nodes.capacity.shape[1] > 0, False, False
        self.free_on, self.left_on = np.array(nodes.capacity), np.array(nodes.capacity)
        self.down = np.zeros(nodes.capacity.shape[1], np.int64)
        self.free, self.left = np.array(capacity), np.array(capacity)


cdef void use(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, FreeNodes room, int64_t i, int64_t sign
) noexcept nogil:
    """Take what a job uses (sign 1), or return it (−1)."""
    cdef Py_ssize_t x, place, s
    cdef int64_t node, amount
    if not room.on:
        for x in range(room.free.shape[1]):
            room.free[0, x] -= sign * alike.request[x, jobs.group[i]]
        return
    for place in range(nodes.first[i], nodes.first[i + 1]):
        node = nodes.node[place]
        for x in range(room.free.shape[1]):
            amount = sign * nodes.amount[x, place]
            room.free_on[x, node] -= amount
            if room.down[node] == 0:
                for s in range(nodes.first_set[node], nodes.first_set[node + 1]):
                    room.free[nodes.set[s], x] -= amount


cdef void set_down(NodeSets nodes, FreeNodes room, int64_t node, int64_t change) noexcept nogil:
    """Count one reason more (1) or less (−1) for which a node is unavailable."""
    cdef Py_ssize_t x, s
    cdef int64_t sign = 0
    if room.down[node] == 0:
        sign = -1
    elif room.down[node] + change == 0:
        sign = 1
    room.down[node] += change
    for x in range(room.free.shape[1]):
        for s in range(nodes.first_set[node], nodes.first_set[node + 1]):
            room.free[nodes.set[s], x] += sign * room.free_on[x, node]


cdef void begin_walk(NodeSets nodes, FreeNodes room, Py_ssize_t groups) noexcept nogil:
    room.left[:, :] = room.free
    room.taken = False
    room.deep = groups * room.down.shape[0] > DEEP


cdef int64_t most_left(FreeNodes room) noexcept nogil:
    """Return the greatest amount of the first resource that is left in a set."""
    cdef int64_t most = room.left[0, 0]
    cdef Py_ssize_t s
    for s in range(1, room.left.shape[0]):
        most = max(most, room.left[s, 0])
    return most


cdef void take(EqualJobs alike, NodeSets nodes, FreeNodes room, int64_t g, int64_t count) noexcept nogil:
    """Take the requests of up to ``count`` jobs of a group, the first of which fits."""
    cdef Py_ssize_t x, s
    if room.on and not room.deep:
        if not room.taken:
            room.left_on[:, :] = room.free_on
            room.taken = True
        if nodes.parts[g] == 1 and nodes.most[g] == 1:
            take_single(nodes, room, g, count)
            return
        while count > 0 and fits_set(alike, nodes, room, g):
            take_parts(nodes, room, g)
            count -= 1
        return
    for x in range(room.left.shape[1]):
        if alike.request[x, g] > 0:
            count = min(count, room.left[nodes.set_of[g], x] // alike.request[x, g])
    for s in range(room.left.shape[0]):
        if nodes.holds[s, nodes.set_of[g]]:
            for x in range(room.left.shape[1]):
                room.left[s, x] -= count * alike.request[x, g]


cdef void take_single(NodeSets nodes, FreeNodes room, int64_t g, int64_t count) noexcept nogil:
    """Fill the nodes of a set, one after the other, with jobs of one part."""
    cdef Py_ssize_t place
    cdef int64_t s = nodes.set_of[g], node, number
    for place in range(nodes.first_member[s], nodes.first_member[s + 1]):
        node = nodes.member[place]
        if count > 0 and room.down[node] == 0:
            number = parts_on(nodes.part, g, max(count, 2), room.left_on, node, NOBODY)
            number = min(number, count)
            take_on(nodes, room, g, node, number)
            count -= number


cdef void take_parts(NodeSets nodes, FreeNodes room, int64_t g) noexcept nogil:
    """Take the parts of one job: on the first nodes that hold one each, else where most fit."""
    cdef int64_t s = nodes.set_of[g], missing = nodes.parts[g], node, best, number, most
    cdef Py_ssize_t place, begin = nodes.first_member[s]
    while missing > 0:
        most, best = 0, NOBODY
        for place in range(begin, nodes.first_member[s + 1]):
            node = nodes.member[place]
            if room.down[node] > 0:
                continue
            number = parts_on(nodes.part, g, nodes.most[g], room.left_on, node, NOBODY)
            if number > most:
                most, best = number, node
                if nodes.most[g] == 1:
                    begin = place + 1  # each part is on a node of its own
                    break
        if best == NOBODY:
            return
        take_on(nodes, room, g, best, min(most, missing))
        missing -= min(most, missing)


cdef inline void take_on(
    NodeSets nodes, FreeNodes room, int64_t g, int64_t node, int64_t number
) noexcept nogil:
    cdef Py_ssize_t x, s
    for x in range(room.left.shape[1]):
        room.left_on[x, node] -= number * nodes.part[x, g]
        for s in range(nodes.first_set[node], nodes.first_set[node + 1]):
            room.left[nodes.set[s], x] -= number * nodes.part[x, g]
