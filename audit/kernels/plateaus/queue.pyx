"""The queue of a pool, by groups of equal jobs (SPEC §11, *Plateaus*)."""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t, uint8_t
from libc.string cimport memmove

import numpy as np

from audit.kernels.plateaus.model cimport NOBODY, EqualJobs, QueuedJobs


@cython.final
cdef class Waiting:
    """The queue, by groups."""

    def __init__(self, EqualJobs alike, Py_ssize_t jobs):
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


cdef void join(
    QueuedJobs jobs, EqualJobs alike, Waiting queue, int64_t i
) noexcept nogil:
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


cdef void leave(
    QueuedJobs jobs, EqualJobs alike, Waiting queue, int64_t i
) noexcept nogil:
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
    place = place_of(queue, i)
    target = queue.groups if newer == NOBODY else place_of(queue, newer)
    queue.oldest[g] = newer
    if place + 1 < target:
        memmove(&queue.order[place], &queue.order[place + 1], (target - place - 1) * sizeof(int64_t))
    if newer == NOBODY:
        queue.groups -= 1
        queue.lapsed[g] = 0
        queue.age[g] = 0
    else:
        queue.order[target - 1] = g


cdef Py_ssize_t place_of(Waiting queue, int64_t i) noexcept nogil:
    """Return the place of the first group whose oldest job is ``i`` or newer."""
    cdef Py_ssize_t low = 0, high = queue.groups, middle
    while low < high:
        middle = (low + high) // 2
        if queue.oldest[queue.order[middle]] < i:
            low = middle + 1
        else:
            high = middle
    return low
