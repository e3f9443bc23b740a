# What is simulated: attempts, limits, steps of the capacity, and how a pool decides.


cdef extern from "<stdint.h>":
    const int64_t NEVER "INT64_MAX"


cdef inline int64_t floor_divide(int64_t a, int64_t b) noexcept nogil:
    """Return a / b, rounded down."""
    return a // b - (a % b != 0 and (a < 0) != (b < 0))


cdef inline int64_t next_multiple(int64_t instant, int64_t every, int64_t origin) noexcept nogil:
    """Return the first multiple of ``every`` (0: any) since ``origin`` from ``instant`` on."""
    cdef int64_t rest
    if every <= 0:
        return instant
    rest = (origin - instant) % every
    return instant + (rest + every if rest < 0 else rest)


cpdef enum Order:
    """What the queue is ordered by."""
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


cdef enum:
    NOBODY = -1
    WIDTHS = 24


@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Edges:
    """When windows open and close; the last edges repeat for ever."""
    cdef const int64_t[::1] time  # [edges], ascending
    cdef const int64_t[::1] counter  # [edges], of the window
    cdef const int64_t[::1] change  # [edges], added to the counter
    cdef int64_t cycle  # number of the last edges that repeat
    cdef int64_t period  # time after which they repeat, s


@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Limits:
    """Which counters each attempt adds to; without counters nothing is limited.

    A counter holds how much one user, account, … has running. A closed window is a counter that is
    far beyond its limit.
    """
    cdef const int64_t[::1] first  # [attempts + 1], where each begins in the next three
    cdef const int64_t[::1] counter
    cdef const int64_t[::1] amount  # added while the attempt runs
    cdef const uint8_t[::1] binding  # whether the attempt waits where the counter would overflow
    cdef const int64_t[::1] most  # [counters]
    cdef Edges edges


cdef class Jobs:
    """The attempts of a pool."""
    cdef const int64_t[::1] arrival
    cdef const int64_t[::1] occupancy
    cdef const int64_t[::1] estimate
    cdef int64_t[::1] rank  # place in an order that does not change; < 0: never queued
    cdef const int64_t[:, ::1] request
    cdef const int64_t[::1] owner  # node of the share tree, or (NUWT) a number
    cdef const double[::1] charge  # use per second, or (NUWT) in all
    cdef Limits limits
    cdef const int64_t[::1] width  # bits of the request of the first resource, at most WIDTHS − 1

    def __init__(
        self, *, arrival, occupancy, estimate, rank, request, owner, charge, Limits limits not None
    ):
        self.arrival, self.occupancy, self.estimate = arrival, occupancy, estimate
        self.rank, self.request, self.owner, self.charge = rank, request, owner, charge
        self.limits = limits
        bits = np.frexp(request[0].astype(np.float64))[1]
        self.width = np.minimum(bits, WIDTHS - 1).astype(np.int64)

    def with_own_rank(self):
        """Return the same attempts with ranks that can be changed independently."""
        cdef Jobs same = Jobs.__new__(Jobs)
        same.arrival, same.occupancy, same.estimate = self.arrival, self.occupancy, self.estimate
        same.rank, same.width, same.request = self.rank.copy(), self.width, self.request
        same.owner, same.charge, same.limits = self.owner, self.charge, self.limits
        return same


@cython.dataclasses.dataclass(eq=False, repr=False)
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
    cdef int64_t depth  # maximum number of queued attempts that a pass examines
    cdef int64_t window  # longest estimate that may overtake, s
    cdef int64_t every  # seconds between passes, since ``origin``; 0: at every event
    cdef int64_t origin
    cdef bint between  # whether passes from the front of the queue run at all other instants
    cdef int64_t reservations  # maximum number of attempts that REPLAN reserves for

    def __init__(
        self, *, int64_t order, int64_t fair, bint latest_last, int64_t backfill, int64_t depth,
        int64_t window, int64_t every, int64_t origin, bint between, int64_t reservations
    ):
        if not RANK <= order <= MULTIFACTOR or fair not in (RANK, FAIRSHARE, NUWT):
            raise ValueError(f"order {order}, fair order {fair}: no kernel has them")
        if not NONE <= backfill <= REPLAN:
            raise ValueError(f"backfill {backfill}: no kernel has it")
        self.order, self.fair, self.backfill = <Order> order, <Order> fair, <Backfill> backfill
        self.latest_last, self.between = latest_last, between
        self.depth, self.window, self.reservations = depth, window, reservations
        self.every, self.origin = every, origin


@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Model:
    """What is simulated."""
    cdef Jobs jobs
    cdef Steps steps
    cdef Rules rules
    cdef Owners owners


@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Observed:
    """The observed schedule of the attempts."""
    cdef const int64_t[::1] start  # NEVER: it has not started
    cdef const int64_t[::1] end  # NEVER: it has not ended
    cdef const uint8_t[::1] blocked  # holds its request without having queued
    cdef const uint8_t[::1] present  # whether snapshots hold it at all
    cdef const uint8_t[::1] queues  # whether snapshots hold it while it waits


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
