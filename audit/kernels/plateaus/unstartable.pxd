"""Jobs that enough capacity never starts."""

cimport cython
from libc.stdint cimport int64_t, uint8_t

from audit.kernels.plateaus.model cimport EqualJobs, NodeSets, QueuedJobs
from audit.kernels.plateaus.nodes cimport FreeNodes
from audit.kernels.plateaus.queue cimport Waiting


@cython.final
cdef class Marks:
    cdef readonly object made
    cdef int64_t[::1] marked  # of each job; NEVER
    cdef const int64_t[::1] user  # G: from 1 on; 0: unknown, which is no job's own
    cdef const int64_t[::1] pair  # G: the user and the set of nodes
    cdef const int64_t[::1] first_pair  # users + 1: ascending by user
    cdef const int64_t[::1] set_of_pair
    cdef int64_t[:, ::1] wanted  # pairs × R: the requests of startable jobs that wait
    cdef int64_t[:, ::1] of_all  # S × R: of those that may use a node of the set
    cdef uint8_t[::1] unstartable  # G
    cdef int64_t[::1] seconds  # G: for which its first job was watched
    cdef int64_t[::1] watched_to  # G
    cdef int64_t[::1] watched  # the list of these groups
    cdef Py_ssize_t number
    cdef int64_t next  # the next instant at which a job is marked


cdef void mark_joined(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, Marks marks, int64_t i, int64_t now
) noexcept nogil
cdef void mark_left(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, Waiting queue, Marks marks, int64_t i, int64_t now
) noexcept nogil
cdef void mark_started(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, Waiting queue, Marks marks, int64_t i
) noexcept nogil
cdef void mark(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, Waiting queue, Marks marks, int64_t now
) noexcept nogil
cdef void watch(
    EqualJobs alike, NodeSets nodes, FreeNodes room, Marks marks, int64_t g, int64_t now
) noexcept nogil
