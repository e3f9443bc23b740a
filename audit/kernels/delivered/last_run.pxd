"""The run without what arrives from some attempt on, continued from one such attempt."""

from libc.stdint cimport int64_t

from audit.kernels.delivered.lines cimport JobLine
from audit.kernels.delivered.model cimport DeliveredCapacity, ObservedPool, PassRule
from audit.kernels.delivered.passes cimport PassScene
from audit.kernels.delivered.runs cimport ForkedRun, LastRun


cdef bint in_turn(PassRule rule, DeliveredCapacity delivered)
cdef void open_snapshot(
    ForkedRun run, LastRun last, PassScene scene, JobLine ranked, ObservedPool log, PassRule rule,
    DeliveredCapacity delivered, int64_t j, int64_t d
) noexcept nogil
cdef void go_through(
    ForkedRun run, LastRun last, PassScene scene, JobLine ranked, ObservedPool log, PassRule rule,
    DeliveredCapacity delivered, int64_t j, bint opened
) noexcept nogil
cdef bint is_disturbed(
    ForkedRun run, JobLine ranked, ObservedPool log, PassRule rule, DeliveredCapacity delivered,
    int64_t j
) noexcept nogil


cdef inline bint has_ended(
    ForkedRun run, ObservedPool log, int64_t job, int64_t now
) noexcept nogil:
    """Return whether an attempt has ended in the last run, if it takes part."""
    return job >= run.last.included or run.begun[job] <= now - log.occupancy[job]
