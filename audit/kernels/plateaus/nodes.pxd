"""Free amounts on single nodes, and on the sets of nodes that jobs may use."""

cimport cython
from libc.stdint cimport int64_t

from audit.kernels.plateaus.model cimport NOBODY, EqualJobs, NodeSets, QueuedJobs
from audit.kernels.rows cimport parts_on


@cython.final
cdef class FreeNodes:
    cdef bint on  # whether there are nodes
    cdef bint deep  # whether the sums of sets decide
    cdef bint taken  # whether the walk has taken something: left_on counts
    cdef int64_t[:, ::1] free_on  # R × N
    cdef int64_t[:, ::1] left_on
    cdef int64_t[::1] down  # N: the reasons for which a node is unavailable
    cdef int64_t[:, ::1] free  # S × R
    cdef int64_t[:, ::1] left


cdef void use(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, FreeNodes room, int64_t i, int64_t sign
) noexcept nogil
cdef void set_down(NodeSets nodes, FreeNodes room, int64_t node, int64_t change) noexcept nogil
cdef void begin_walk(NodeSets nodes, FreeNodes room, Py_ssize_t groups) noexcept nogil
cdef int64_t most_left(FreeNodes room) noexcept nogil
cdef void take(EqualJobs alike, NodeSets nodes, FreeNodes room, int64_t g, int64_t count) noexcept nogil


cdef inline bint fits_set(EqualJobs alike, NodeSets nodes, FreeNodes room, int64_t g) noexcept nogil:
    """Return whether a job of a group fits in what is left."""
    cdef Py_ssize_t x, place
    cdef int64_t s = nodes.set_of[g], count = 0, node
    for x in range(room.left.shape[1]):
        if alike.request[x, g] > room.left[s, x] and alike.request[x, g] > 0:
            return False
    if not room.on or room.deep:
        return True
    for place in range(nodes.first_member[s], nodes.first_member[s + 1]):
        node = nodes.member[place]
        if room.down[node] == 0:
            count += parts_on(
                nodes.part, g, nodes.most[g], room.left_on if room.taken else room.free_on, node, NOBODY
            )
            if count >= nodes.parts[g]:
                return True
    return False
