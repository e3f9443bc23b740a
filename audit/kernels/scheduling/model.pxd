"""What is simulated: attempts, limits, steps of the capacity, and how a pool decides.

Attempts are in the order (arrival, submit, sequence), and known by their index in it. Times are
epoch seconds. Tables have one row per resource.
"""

from libc.stdint cimport int64_t, uint8_t

from audit.kernels.scheduling.owners cimport Owners
from audit.kernels.scheduling.rows cimport NEVER


cpdef enum Order:
    """What the queue is ordered by."""
    RANK  # a number that does not change
    EXPANSION  # (waited + estimate) / estimate
    FAIRSHARE  # the owner's priorities in the share tree
    NUWT  # what the owner waited for each second of use
    MULTIFACTOR  # Slurm's priority


cpdef enum Backfill:
    """Which of the queued attempts a pass starts."""
    NONE
    NO_GUARANTEE
    EASY
    CONSERVATIVE
    REPLAN


cdef enum:
    NOBODY = -1
    WIDTHS = 24


cdef class Edges:
    """When windows open and close; the last edges repeat for ever."""
    cdef const int64_t[::1] time  # [edges], ascending
    cdef const int64_t[::1] counter  # [edges], of the window
    cdef const int64_t[::1] change  # [edges], what the edge adds to it
    cdef int64_t cycle  # how many of the last edges repeat
    cdef int64_t period  # after how many seconds they repeat


cdef class Limits:
    """Which counters each attempt adds to; without counters nothing is limited.

    A counter holds how much one user, account, … has running. A closed window is a counter that is
    far too full.
    """
    cdef const int64_t[::1] first  # [attempts + 1], where each begins in the next three
    cdef const int64_t[::1] counter
    cdef const int64_t[::1] amount  # what the attempt adds while it runs
    cdef const uint8_t[::1] binding  # whether the attempt waits where the counter would overflow
    cdef const int64_t[::1] most  # [counters]
    cdef Edges edges


cdef class Jobs:
    """The attempts of a pool."""
    cdef const int64_t[::1] arrival
    cdef const int64_t[::1] occupancy
    cdef const int64_t[::1] estimate
    cdef int64_t[::1] rank  # place in an order that does not change; < 0: never queued
    cdef const int64_t[::1] width  # bits of the request of the first resource, at most WIDTHS − 1
    cdef const int64_t[:, ::1] request
    cdef const int64_t[::1] owner  # node of the share tree, or (NUWT) a number
    cdef const double[::1] charge  # use per second, or (NUWT) in all
    cdef Limits limits


cdef class Steps:
    """Changes of what is free, in order of time: of the capacity, and by blocked attempts."""
    cdef int64_t[::1] time
    cdef int64_t[:, ::1] change
    cdef uint8_t[::1] planned  # whether planners know of the step beforehand
    cdef int64_t[::1] job  # the blocked attempt that begins or ends, or NOBODY
    cdef uint8_t[::1] ends  # whether it ends
    cdef readonly int64_t number


cdef class Rules:
    """A policy; NEVER stands for no limit."""
    cdef Order order
    cdef Order fair  # FAIRSHARE or NUWT: the fair order; RANK: order of arrival
    cdef bint latest_last  # first come, first served
    cdef Backfill backfill
    cdef int64_t depth  # how many queued attempts a pass examines
    cdef int64_t window  # longest estimate that may overtake, s
    cdef int64_t every  # seconds between passes, since ``origin``; 0: at every event
    cdef int64_t origin
    cdef bint between  # whether passes from the front of the queue run at all other instants
    cdef int64_t reservations  # how many attempts REPLAN reserves for


cdef class Model:
    """What is simulated."""
    cdef Jobs jobs
    cdef Steps steps
    cdef Rules rules
    cdef Owners owners


cdef class Observed:
    """The observed schedule of the attempts."""
    cdef const int64_t[::1] start  # NEVER: it has not started
    cdef const int64_t[::1] end  # NEVER: it has not ended
    cdef const uint8_t[::1] blocked  # holds its request without having queued
    cdef const uint8_t[::1] present  # whether snapshots hold it at all


cdef inline bint by_owner(Rules rules) noexcept nogil:
    """Return whether the order of the queue depends on the owners' usage or waits."""
    return rules.order >= Order.FAIRSHARE


cdef inline bint exceeds(Limits limits, int64_t k, const int64_t[::1] used) noexcept nogil:
    """Return whether element ``k`` of the limits does not allow its attempt to start."""
    cdef int64_t counter = limits.counter[k]
    return limits.binding[k] and used[counter] + limits.amount[k] > limits.most[counter]


cdef inline int64_t edge_at(Edges edges, int64_t edge, int64_t delay) noexcept nogil:
    """Return when an edge is, all of them shifted by ``delay``; NEVER: there is no such edge."""
    return edges.time[edge] + delay if edge < edges.time.shape[0] else NEVER
