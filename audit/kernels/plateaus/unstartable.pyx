"""Jobs that enough capacity never starts (SPEC §11, *Unstartable*)."""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t, uint8_t

import numpy as np

from audit.kernels.plateaus.model cimport NOBODY, EqualJobs, NodeSets, QueuedJobs
from audit.kernels.plateaus.nodes cimport FreeNodes
from audit.kernels.plateaus.queue cimport Waiting


cdef enum:
    UNSTARTABLE_S = 3_600


@cython.final
cdef class Marks:
    """Output: when each job was marked; and the state of groups.

    The first job of a group is *watched* while it is hungry and would fit beside the requests of all
    startable jobs of other users. Without users nothing is marked.
    """

    def __init__(
        self, const int64_t[::1] user, const int64_t[::1] pair, const int64_t[::1] first_pair,
        const int64_t[::1] set_of_pair, Py_ssize_t jobs, Py_ssize_t resources
    ):
        """Begin with an empty queue."""
        cdef Py_ssize_t groups = user.shape[0], sets = np.max(set_of_pair, initial=0) + 1
        self.made = np.full(jobs if groups else 0, NEVER)
        self.marked, self.user = self.made, user
        self.pair, self.first_pair, self.set_of_pair = pair, first_pair, set_of_pair
        self.wanted = np.zeros((set_of_pair.shape[0], resources), np.int64)
        self.of_all = np.zeros((sets, resources), np.int64)
        self.unstartable = np.zeros(groups, np.uint8)
        self.seconds, self.watched_to, self.watched = np.zeros((3, groups), np.int64)
        self.number, self.next = 0, NEVER


cdef inline void want(EqualJobs alike, NodeSets nodes, Marks marks, int64_t g, int64_t jobs) noexcept nogil:
    """Add the requests of startable jobs of a group; negative: take them out."""
    cdef Py_ssize_t x, s
    for x in range(marks.of_all.shape[1]):
        marks.wanted[marks.pair[g], x] += jobs * alike.request[x, g]
        for s in range(marks.of_all.shape[0]):
            if nodes.meets[s, nodes.set_of[g]]:
                marks.of_all[s, x] += jobs * alike.request[x, g]


cdef inline int64_t wanted_by_others(
    EqualJobs alike, NodeSets nodes, Marks marks, int64_t g, Py_ssize_t x
) noexcept nogil:
    """Return what startable jobs of others request that may use nodes of a group's set."""
    cdef int64_t user = marks.user[g], s = nodes.set_of[g], others = marks.of_all[s, x]
    cdef Py_ssize_t p
    if user == 0:
        return others - alike.request[x, g]
    for p in range(marks.first_pair[user], marks.first_pair[user + 1]):
        if nodes.meets[s, marks.set_of_pair[p]]:
            others -= marks.wanted[p, x]
    return others


cdef void mark_joined(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, Marks marks, int64_t i, int64_t now
) noexcept nogil:
    cdef int64_t g = jobs.group[i]
    if marks.user.shape[0] == 0:
        return
    if marks.unstartable[g]:
        marks.marked[i] = now
    else:
        want(alike, nodes, marks, g, 1)


cdef void mark_left(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, Waiting queue, Marks marks, int64_t i, int64_t now
) noexcept nogil:
    """Note that a job is about to leave the queue; the next one is watched anew."""
    cdef int64_t g = jobs.group[i]
    if marks.user.shape[0] == 0:
        return
    if not marks.unstartable[g]:
        want(alike, nodes, marks, g, -1)
    if queue.oldest[g] == i:
        marks.seconds[g], marks.watched_to[g] = 0, now
    if queue.count[g] == 1:
        marks.unstartable[g] = 0


cdef void mark_started(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, Waiting queue, Marks marks, int64_t i
) noexcept nogil:
    """Count the rest of a group as startable again after a start, unless its first job is not."""
    cdef int64_t g = jobs.group[i]
    if marks.user.shape[0] == 0:
        return
    if marks.unstartable[g] and marks.seconds[g] < UNSTARTABLE_S:
        marks.unstartable[g] = 0
        want(alike, nodes, marks, g, queue.count[g])


cdef void mark(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, Waiting queue, Marks marks, int64_t now
) noexcept nogil:
    """Mark the jobs of groups that have been watched for long enough; then watch none."""
    cdef Py_ssize_t place
    cdef int64_t g, i
    for place in range(marks.number):
        g = marks.watched[place]
        if queue.count[g] == 0:
            continue
        marks.seconds[g] += now - marks.watched_to[g]
        if marks.seconds[g] < UNSTARTABLE_S:
            continue
        marks.unstartable[g] = 1
        want(alike, nodes, marks, g, -queue.count[g])
        i = queue.oldest[g]
        while i != NOBODY:
            marks.marked[i] = min(marks.marked[i], now)
            i = queue.newer[i]
    marks.number, marks.next = 0, NEVER


cdef void watch(
    EqualJobs alike, NodeSets nodes, FreeNodes room, Marks marks, int64_t g, int64_t now
) noexcept nogil:
    """Watch a hungry group whose first job would fit beside all startable jobs of others."""
    cdef Py_ssize_t x
    cdef int64_t others
    if marks.user.shape[0] == 0 or marks.unstartable[g]:
        return
    for x in range(room.free.shape[1]):
        others = wanted_by_others(alike, nodes, marks, g, x)
        if alike.request[x, g] > 0 and others + alike.request[x, g] > room.free[nodes.set_of[g], x]:
            return
    marks.watched_to[g] = now
    marks.watched[marks.number] = g
    marks.number += 1
    marks.next = min(marks.next, now + UNSTARTABLE_S - marks.seconds[g])
