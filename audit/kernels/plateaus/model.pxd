"""The jobs of a pool, their groups, and what may keep them from starting."""

cimport cython
from libc.stdint cimport int64_t, uint8_t


cdef enum:
    NOBODY = -1


@cython.final
cdef class QueuedJobs:
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
cdef class EqualJobs:
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
cdef class NodeSets:
    cdef const int64_t[:, ::1] capacity  # R × N
    cdef const int64_t[::1] first_member  # S + 1: the nodes of each set, in the order of use
    cdef const int64_t[::1] member
    cdef const int64_t[::1] first_set  # N + 1: the sets of each node
    cdef const int64_t[::1] set
    cdef const uint8_t[:, ::1] meets  # S × S: whether sets have a node in common
    cdef const uint8_t[:, ::1] holds  # S × S: whether the first has all nodes of the second
    cdef const int64_t[::1] set_of  # G
    cdef const int64_t[:, ::1] part  # R × G
    cdef const int64_t[::1] parts  # G
    cdef const int64_t[::1] most  # G
    cdef const int64_t[::1] first  # jobs + 1: the nodes that each used
    cdef const int64_t[::1] node
    cdef const int64_t[:, ::1] amount  # R × these
    cdef const int64_t[::1] change_time  # when nodes become unavailable or available, ascending
    cdef const int64_t[::1] change_node
    cdef const int64_t[::1] change  # 1: unavailable, −1: no more


@cython.final
cdef class Barriers:
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
cdef class Supply:
    cdef const int64_t[:, ::1] capacity  # S × R
    cdef const int64_t[::1] step  # ascending
    cdef const int64_t[:, ::1] change  # steps × R
