# What is simulated (attempts, limits, steps of the capacity, how a pool decides), and the profile of
# what planners expect to be free.


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
    cdef const uint8_t[::1] late  # [counters], whether it counts a resource, not attempts
    cdef const uint8_t[::1] remaining  # [counters], whether it counts amount × time to the expected end
    cdef Edges edges


@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Preemption:
    """Which running attempts give way to which queued ones; without elements none does.

    Rules are bits.
    """
    cdef const int64_t[::1] gives_way  # [attempts] or none: the rules under which it gives way,
    cdef const int64_t[::1] takes  # and those under which others give way to it
    cdef const int64_t[::1] delay  # until it may run again, s ≥ 1; NEVER: it does not


cdef class Jobs:
    """The attempts of a pool."""
    cdef const int64_t[::1] arrival
    cdef const int64_t[::1] occupancy
    cdef const int64_t[::1] estimate
    cdef const int64_t[::1] rank  # place in an order that does not change; < 0: never queued
    cdef const int64_t[:, ::1] request
    cdef const int64_t[::1] owner  # node of the share tree, or (NUWT) a number
    cdef const double[::1] charge  # use per second, or (NUWT) in all
    cdef Limits limits
    cdef Preemption preemption
    cdef const int64_t[::1] width  # bits of the request of the first resource, at most WIDTHS − 1

    def __init__(
        self, *, arrival, occupancy, estimate, rank, request, owner, charge, Limits limits not None,
        Preemption preemption not None
    ):
        self.arrival, self.occupancy, self.estimate = arrival, occupancy, estimate
        self.rank, self.request, self.owner, self.charge = rank, request, owner, charge
        self.limits, self.preemption = limits, preemption
        bits = np.frexp(request[0].astype(np.float64))[1]
        self.width = np.minimum(bits, WIDTHS - 1).astype(np.int64)


@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Steps:
    """Changes of what is free, in order of time: of the capacity, and by blocked attempts."""
    cdef int64_t[::1] time
    cdef int64_t[:, ::1] change
    cdef uint8_t[::1] planned  # whether planners know of the step beforehand
    cdef int64_t[::1] job  # the blocked attempt that begins or ends, or NOBODY
    cdef int64_t[::1] holder  # what takes nodes, or returns them: a blocked attempt, a reservation
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
    cdef int64_t resolution  # seconds to whose multiples REPLAN rounds plans down
    cdef int64_t pause  # least seconds between two passes from the front of the queue

    def __init__(
        self, *, int64_t order, int64_t fair, bint latest_last, int64_t backfill, int64_t depth,
        int64_t window, int64_t every, int64_t origin, bint between, int64_t reservations,
        int64_t resolution, int64_t pause
    ):
        if not RANK <= order <= MULTIFACTOR or fair not in (RANK, FAIRSHARE, NUWT):
            raise ValueError(f"order {order}, fair order {fair}: no kernel has them")
        if not NONE <= backfill <= REPLAN:
            raise ValueError(f"backfill {backfill}: no kernel has it")
        self.order, self.fair, self.backfill = <Order> order, <Order> fair, <Backfill> backfill
        self.latest_last, self.between = latest_last, between
        self.depth, self.window, self.reservations = depth, window, reservations
        self.every, self.origin, self.resolution, self.pause = every, origin, resolution, pause


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


@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Nodes:
    """The nodes of a pool, N; none: its sums decide what fits.

    A request is ``parts`` equal parts. It may use the nodes of a *set*, each for at most ``most``
    parts. *Holders* are the attempts, then the reservations.
    """
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


cdef class Profile:
    """What planners expect to be free: ``levels[:, k]`` from ``times[k]`` to ``times[k + 1]``.

    That holds for k from ``first`` up to ``beyond``; the last level lasts for ever. Levels may be
    negative.
    """
    cdef int64_t[::1] times  # [breakpoints], ascending
    cdef int64_t[:, ::1] levels
    cdef int64_t first
    cdef int64_t beyond

    def __init__(self, int64_t resources, int64_t breakpoints):
        self.times = np.zeros(breakpoints, np.int64)
        self.levels = np.zeros((resources, breakpoints), np.int64)


cdef void copy_profile(Profile source, Profile target) noexcept nogil:
    """Copy the levels of a profile."""
    target.first, target.beyond = 0, source.beyond - source.first
    move(target.times, 0, source.times, source.first, target.beyond)
    move_rows(target.levels, 0, source.levels, source.first, target.beyond)


cdef void forget_past(Profile profile, int64_t now) noexcept nogil:
    """Let a profile begin at ``now``."""
    cdef int64_t first = profile.first
    while first + 1 < profile.beyond and profile.times[first + 1] <= now:
        first += 1
    profile.times[first] = max(profile.times[first], now)
    profile.first = first


cdef int64_t cut(Profile profile, int64_t instant) noexcept nogil:
    """Make ``instant``, not before the profile begins, a breakpoint; return its index."""
    cdef int64_t low = profile.first, high = profile.beyond, middle, past
    while low < high:
        middle = (low + high) >> 1
        if profile.times[middle] < instant:
            low = middle + 1
        else:
            high = middle
    if low < profile.beyond and profile.times[low] == instant:
        return low
    if profile.beyond == profile.times.shape[0]:  # reuse the space of the past
        past = profile.first
        move(profile.times, 0, profile.times, past, profile.beyond - past)
        move_rows(profile.levels, 0, profile.levels, past, profile.beyond - past)
        profile.first = 0
        profile.beyond -= past
        low -= past
    move(profile.times, low + 1, profile.times, low, profile.beyond - low)
    move_rows(profile.levels, low, profile.levels, low - 1, profile.beyond - low + 1)
    profile.times[low] = instant
    profile.beyond += 1
    return low


cdef void join(Profile profile, int64_t at) noexcept nogil:
    """Remove breakpoint ``at`` if nothing changes there."""
    cdef int64_t x
    if at <= profile.first or at >= profile.beyond:
        return
    for x in range(profile.levels.shape[0]):
        if profile.levels[x, at] != profile.levels[x, at - 1]:
            return
    profile.beyond -= 1
    move(profile.times, at, profile.times, at + 1, profile.beyond - at)
    move_rows(profile.levels, at, profile.levels, at + 1, profile.beyond - at)


cdef void add_span(
    Profile profile, int64_t begin, int64_t end, const int64_t[:, ::1] amounts, int64_t k,
    int64_t sign
) noexcept nogil:
    """Add ``sign`` times column ``k`` of ``amounts`` over [begin, end); ``end`` may be NEVER.

    Nothing changes before the profile begins.
    """
    cdef int64_t a, b, first, change, x, i
    cdef int64_t *level
    begin = max(begin, profile.times[profile.first])
    if begin >= end:
        return
    a = cut(profile, begin)
    first, b = profile.first, profile.beyond
    if end != NEVER:
        b = cut(profile, end)
        a -= first - profile.first  # cutting may have moved everything
    assert 0 <= a < b <= profile.levels.shape[1]
    for x in range(profile.levels.shape[0]):
        level = &profile.levels[x, 0]
        change = sign * amounts[x, k]
        for i in range(a, b):
            level[i] += change
    join(profile, b)
    join(profile, a)


cdef inline void add_step(Profile profile, int64_t begin, Steps steps, int64_t step) noexcept nogil:
    """Add a step that is taken at ``begin`` and lasts for ever."""
    add_span(profile, begin, NEVER, steps.change, step, 1)


cdef inline void add_job(
    Profile profile, int64_t begin, int64_t end, Jobs jobs, int64_t job, int64_t sign
) noexcept nogil:
    """Add ``sign`` times the request of an attempt over [begin, end); ``end`` may be NEVER."""
    add_span(profile, begin, end, jobs.request, job, sign)


cdef inline bint fits_level(
    const int64_t[:, ::1] levels, int64_t i, const int64_t[:, ::1] request, int64_t job, bint holds
) noexcept nogil:
    """Return whether an attempt fits in level ``i`` (SPEC §4, *fits*).

    ``holds``: its own request has been taken from that level.
    """
    cdef int64_t x, amount
    for x in range(levels.shape[0]):
        amount = request[x, job]
        if amount > levels[x, i] + (amount if holds else 0) and amount > 0:
            return False
    return True


cdef inline int64_t level_at(
    const int64_t[::1] times, int64_t i, int64_t beyond, int64_t instant
) noexcept nogil:
    """Return the index, from ``i`` on, of the level at an instant, not before ``times[i]``."""
    while i + 1 < beyond and times[i + 1] <= instant:
        i += 1
    return i


cdef inline int64_t next_fit(
    const int64_t[::1] times, const int64_t[:, ::1] levels, int64_t i, int64_t beyond,
    int64_t limit, const int64_t[:, ::1] request, int64_t job
) noexcept nogil:
    """Return the index, from ``i`` on, of the first level that fits or begins at ``limit``."""
    while i < beyond and times[i] < limit and not fits_level(levels, i, request, job, False):
        i += 1
    return i


cdef inline int64_t next_misfit(
    const int64_t[::1] times, const int64_t[:, ::1] levels, int64_t i, int64_t beyond,
    int64_t until, const int64_t[:, ::1] request, int64_t job, int64_t plan, int64_t own_end
) noexcept nogil:
    """Return the index, from ``i`` on, of the first level that does not fit or begins at ``until``.

    The attempt's own request has been taken from the levels between ``plan`` and ``own_end``.
    """
    while (
        i < beyond
        and times[i] < until
        and fits_level(levels, i, request, job, plan <= times[i] < own_end)
    ):
        i += 1
    return i


cdef int64_t earlier(
    Profile profile, int64_t now, int64_t plan, int64_t before, Jobs jobs, int64_t job,
    int64_t every, int64_t origin
) noexcept nogil:
    """Return the first instant before ``plan`` and ``before`` where an attempt fits, or ``plan``.

    The result is a multiple of ``every`` since ``origin`` (0: any instant). The profile holds the
    plan from ``plan`` on (NEVER: there is none); that space is free for the attempt itself.
    """
    cdef int64_t duration = jobs.estimate[job], limit = min(plan, before), beyond = profile.beyond
    cdef int64_t own_end = plan if plan == NEVER else plan + duration
    cdef int64_t i = level_at(profile.times, profile.first, beyond, now), start, until
    while True:
        i = next_fit(profile.times, profile.levels, i, beyond, limit, jobs.request, job)
        if i == beyond:
            return plan
        start = next_multiple(max(now, profile.times[i]), every, origin)
        if start >= limit:
            return plan
        if every > 0 and i + 1 < beyond and profile.times[i + 1] <= start:
            now = start  # perhaps it does not fit there any more
            i = level_at(profile.times, i, beyond, start)
            continue
        until = start + duration
        i = next_misfit(
            profile.times, profile.levels, i + 1, beyond, until, jobs.request, job, plan, own_end
        )
        if i == beyond or profile.times[i] >= until:
            return start
