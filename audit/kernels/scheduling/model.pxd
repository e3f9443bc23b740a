"""What is simulated."""

from libc.stdint cimport int64_t, uint8_t

from audit.kernels.scheduling.instants cimport NEVER
from audit.kernels.scheduling.owners cimport Owners


cdef enum:
    NOBODY = -1
    WIDTHS = 24


cpdef enum Order:
    """The order of the queue."""
    RANK  # a number that does not change
    EXPANSION  # (waited + estimate) / estimate
    FAIRSHARE  # the owner's priorities in the share tree
    NUWT  # the owner's wait per unit of use
    MULTIFACTOR  # Slurm's priority


cpdef enum Backfill:
    """Which of the queued attempts a pass starts."""
    NONE
    NO_GUARANTEE
    EASY
    CONSERVATIVE
    REPLAN


cdef class Edges:
    cdef const int64_t[::1] time  # [edges], ascending
    cdef const int64_t[::1] counter  # [edges], of the window
    cdef const int64_t[::1] change  # [edges], added to the counter
    cdef int64_t cycle  # number of the last edges that repeat
    cdef int64_t period  # time after which they repeat, s


cdef class Limits:
    cdef const int64_t[::1] first  # [attempts + 1], where each begins in the next three
    cdef const int64_t[::1] counter
    cdef const int64_t[::1] amount  # added while the attempt runs
    cdef const uint8_t[::1] binding  # whether the attempt waits where the counter would overflow
    cdef const int64_t[::1] most  # [counters]
    cdef const uint8_t[::1] late  # [counters], whether it counts a resource, not attempts
    cdef const uint8_t[::1] remaining  # [counters], whether it counts amount × time to the expected end
    cdef bint hours_alone  # whether all counters are of windows: what runs forbids nothing
    cdef Edges edges


cdef class PreemptionBits:
    cdef const int64_t[::1] gives_way  # [attempts] or none: the rules under which it gives way,
    cdef const int64_t[::1] takes  # and those under which others give way to it
    cdef const int64_t[::1] delay  # until it may run again, s ≥ 1; NEVER: it does not


cdef class Jobs:
    cdef const int64_t[::1] arrival
    cdef const int64_t[::1] occupancy
    cdef const int64_t[::1] estimate
    cdef const int64_t[::1] rank  # place in an order that does not change; < 0: never queued
    cdef const int64_t[:, ::1] request
    cdef const int64_t[::1] owner  # node of the share tree, or (NUWT) a number
    cdef const double[::1] charge  # use per second, or (NUWT) in all
    cdef Limits limits
    cdef PreemptionBits preemption
    cdef const int64_t[::1] width  # bits of the request of the first resource, at most WIDTHS − 1


cdef class Steps:
    cdef int64_t[::1] time
    cdef int64_t[:, ::1] change
    cdef uint8_t[::1] planned  # whether planners know of the step beforehand
    cdef int64_t[::1] job  # the blocked attempt that begins or ends, or NOBODY
    cdef int64_t[::1] holder  # what takes nodes, or returns them: a blocked attempt, a reservation
    cdef uint8_t[::1] ends  # whether it ends
    cdef readonly int64_t number


cdef class Rules:
    cdef Order order
    cdef Order fair  # FAIRSHARE or NUWT: the fair order; RANK: order of arrival
    cdef bint latest_last  # first come, first served
    cdef Backfill backfill
    cdef int64_t depth  # maximum number of queued attempts that a pass examines
    cdef int64_t window  # longest estimate that may overtake, s
    cdef int64_t every  # seconds between passes, since ``origin``; 0: at every event
    cdef int64_t origin
    cdef bint between  # whether passes from the front of the queue run at all other instants
    cdef int64_t reservations  # maximum number of attempts that REPLAN reserves for
    cdef int64_t resolution  # seconds to whose multiples REPLAN rounds plans down
    cdef int64_t pause  # least seconds between two passes from the front of the queue


cdef class Model:
    cdef Jobs jobs
    cdef Steps steps
    cdef Rules rules
    cdef Owners owners


cdef class Observed:
    cdef const int64_t[::1] start  # NEVER: it has not started
    cdef const int64_t[::1] end  # NEVER: it has not ended
    cdef const uint8_t[::1] blocked  # holds its request without having queued
    cdef const uint8_t[::1] present  # whether snapshots hold it at all
    cdef const uint8_t[::1] queues  # whether snapshots hold it while it waits


cdef class NodeFacts:
    cdef const int64_t[:, ::1] capacity  # resources × N
    cdef const int64_t[::1] first_member  # [sets + 1], where the nodes of each set begin
    cdef const int64_t[::1] member
    cdef const int64_t[::1] set  # [attempts]
    cdef const int64_t[::1] wide  # [attempts], the set of all nodes of its partitions
    cdef const int64_t[:, ::1] part  # resources × attempts
    cdef const int64_t[::1] parts  # [attempts]
    cdef const int64_t[::1] most  # [attempts]
    cdef const uint8_t[::1] bound  # [attempts], whether it requests GPUs; see ``take_consecutive``
    cdef const int64_t[::1] shape  # [attempts]; equal numbers: equal sets, parts and most
    cdef const int64_t[::1] first  # [holders + 1], where the places of each begin
    cdef const int64_t[::1] held  # [holders], how many of them the observed schedule used
    cdef const int64_t[::1] node  # [places], observed
    cdef const int64_t[:, ::1] amount  # resources × places, observed
    cdef bint consecutive  # whether nodes are chosen by runs; else:
    cdef bint least_loaded  # whether nodes with most free come first, not those with least


cdef inline bint preempts(Jobs jobs) noexcept nogil:
    """Return whether any attempt may give way to another."""
    return jobs.preemption.takes.shape[0] > 0


cdef inline bint by_owner(Rules rules) noexcept nogil:
    """Return whether the order of the queue depends on the owners' usage or waits."""
    return rules.order >= Order.FAIRSHARE


cdef inline bint exceeds(Limits limits, int64_t k, const int64_t[::1] used) noexcept nogil:
    """Return whether element ``k`` of the limits forbids its attempt to start."""
    cdef int64_t counter = limits.counter[k]
    return limits.binding[k] and used[counter] + limits.amount[k] > limits.most[counter]


cdef inline int64_t edge_at(Edges edges, int64_t edge, int64_t delay) noexcept nogil:
    """Return when an edge is, shifted by ``delay``; NEVER: there is no such edge."""
    return edges.time[edge] + delay if edge < edges.time.shape[0] else NEVER


cdef inline (int64_t, int64_t) next_edge(Edges edges, int64_t edge, int64_t delay) noexcept nogil:
    """Return the edge behind this one, and its delay."""
    edge += 1
    if edge == edges.time.shape[0] and edges.cycle > 0:
        return edge - edges.cycle, delay + edges.period
    return edge, delay
