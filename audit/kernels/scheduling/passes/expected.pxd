"""What planners expect to become free: expected ends and planned steps, in order of time."""

from libc.stdint cimport int64_t

from audit.kernels.scheduling.model cimport Steps
from audit.kernels.scheduling.pool cimport Pool
from audit.kernels.scheduling.rows cimport NEVER


cdef inline int64_t next_planned(Steps steps, int64_t step) noexcept nogil:
    """Return the index of the first planned step from ``step`` on, or the number of steps."""
    while step < steps.number and not steps.planned[step]:
        step += 1
    return step


cdef inline int64_t next_expected(
    Pool pool, Steps steps, int64_t ended, int64_t step
) noexcept nogil:
    """Return the time of the next expected end or planned step, or NEVER.

    Args:
        ended: how many of the running attempts are expected to have ended before.
        step: the next planned step.
    """
    cdef int64_t instant = NEVER
    if ended < pool.state.running:
        instant = pool.run_expected[ended]
    if step < steps.number:
        instant = min(instant, steps.time[step])
    return instant
