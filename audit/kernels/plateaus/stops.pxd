"""Cells that are hungry, and the stops at the end of each interval."""

cimport cython
from libc.stdint cimport int64_t

from audit.kernels.growing cimport GrowingTable
from audit.kernels.plateaus.model cimport EqualJobs, QueuedJobs


@cython.final
cdef class Scales:
    cdef int64_t[:, ::1] used  # R + 1 × entities
    cdef int64_t[::1] planned  # Σ n p
    cdef int64_t[::1] amount  # Σ n


@cython.final
cdef class StopTables:
    cdef readonly GrowingTable intervals
    cdef readonly GrowingTable stops
    cdef readonly GrowingTable users  # stop, user: one whose own groups in the cell were hungry as long
    # Climbs: levels after each start of an entity's job, and that job. Climbs of an entity begin at
    # its element of ``next_climb``; without elements they are not noted.
    cdef int64_t[:, ::1] level  # M × climbs
    cdef int64_t[::1] job
    cdef int64_t[::1] next_climb  # entities


@cython.final
cdef class Hunger:
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


cdef void turn(EqualJobs alike, Hunger hunger, int64_t g, int64_t now, int64_t sign) noexcept nogil
cdef void flush_all(
    QueuedJobs jobs, EqualJobs alike, Scales levels, Hunger hunger, StopTables made, int64_t i, int64_t now
) noexcept nogil
cdef void flush(
    QueuedJobs jobs, EqualJobs alike, Scales levels, Hunger hunger, StopTables made, int64_t e, int64_t now
) noexcept nogil


cdef inline int64_t remaining_at(Scales scales, int64_t e, int64_t t) noexcept nogil:
    """Return the remaining amount × time of an entity or counter at ``t``."""
    return scales.planned[e] - t * scales.amount[e]
