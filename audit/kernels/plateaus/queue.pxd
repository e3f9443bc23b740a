"""The queue of a pool, by groups of equal jobs."""

cimport cython
from libc.stdint cimport int64_t, uint8_t

from audit.kernels.plateaus.model cimport EqualJobs, QueuedJobs


@cython.final
cdef class Waiting:
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


cdef void join(
    QueuedJobs jobs, EqualJobs alike, Waiting queue, int64_t i
) noexcept nogil
cdef void leave(
    QueuedJobs jobs, EqualJobs alike, Waiting queue, int64_t i
) noexcept nogil
