# What is observed, the rules, and the state of a pool at one instant.


cdef enum:
    GAP = -1
    NOBODY = -1
    BITS = 5  # of the places of a part of a line
    WIDTHS = 17  # bits of sizes that are told apart; larger ones count as these


cdef enum Bounds:
    """How well the bounds of a part of a line are known."""
    STALE
    LOOSE
    TIGHT


cdef extern from *:
    int64_t leading_zeros "__builtin_clzll"(int64_t) nogil


cdef int64_t HUGE = <int64_t>1 << 60  # the size of a gap; no attempt is as large


cpdef enum PassOrder:
    """What the queue is ordered by."""
    RANK  # a number that does not change
    EXPANSION  # (waited + estimate) / estimate
    PRIORITY  # a tier, then a priority that changes at ticks


cpdef enum PassBackfill:
    """Which of the queued attempts a pass starts."""
    NONE
    NO_GUARANTEE
    EASY
    REPLAN


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class ObservedPool:
    """A pool's attempts in the order (arrival, submit, sequence), and what the machine delivered.

    ``m`` instants are those of arrivals, starts, ends and capacity steps, each once, ascending.
    """
    cdef const int64_t[::1] arrival  # [n]
    cdef const int64_t[::1] start  # [n]; NEVER: not started by now
    cdef const int64_t[::1] end  # [n]; NEVER: not started by now
    cdef const int64_t[::1] occupancy  # [n] ≥ 1
    cdef const int64_t[::1] estimate  # [n] ≥ occupancy
    cdef const int64_t[:, ::1] request  # resources × n; the first resource is the counted one
    cdef const int64_t[::1] by_start  # those that started, by (start, order)
    cdef const int64_t[::1] by_end  # those that started, by (end, order)
    cdef const int64_t[::1] instants  # [m]
    cdef const int64_t[:, ::1] capacity  # resources × m, in force
    cdef const int64_t[::1] used  # [m], of the counted resource, after ends and starts


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class PassLimits:
    """Counters of what runs, and which attempts they let through."""
    cdef const int64_t[::1] first  # [n + 1], where each attempt begins in the next three
    cdef const int64_t[::1] counter
    cdef const int64_t[::1] amount  # added while it runs
    cdef const uint8_t[::1] binding  # whether it waits where the counter would exceed its bound
    cdef const int64_t[::1] most  # [counters]
    cdef const int64_t[::1] edge  # [edges] ascending: when a window closes or opens,
    cdef const int64_t[::1] window  # [edges], its counter,
    cdef const int64_t[::1] change  # [edges], and what is added to it


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class TickedPriorities:
    """Priority = ⌊fixed + weight · min(age ÷ longest, 1) + level[k, owner]⌋, at least 1.

    k is the last of the ticks; the age is as of the last multiple of ``period`` since ``phase``.
    Greatest tier first, then greatest priority, then the order.
    """
    cdef const int64_t[::1] tier  # [n]
    cdef const double[::1] fixed  # [n]
    cdef const int64_t[::1] owner  # [n]
    cdef const int64_t[::1] tick  # [ticks] ascending: level k holds from tick k on
    cdef const double[:, ::1] level  # ticks × owners
    cdef double weight
    cdef double longest  # s > 0
    cdef int64_t phase
    cdef int64_t period  # s


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class PassRule:
    """An order and a backfilling, and who is passed over."""
    cdef PassOrder order
    cdef PassBackfill backfill
    cdef int64_t depth  # number of attempts that a pass examines
    cdef int64_t reservations  # number of attempts that REPLAN plans ahead
    cdef int64_t window  # longest estimate that may start, or be planned, before one that waits, s
    cdef const int64_t[::1] rank  # [n], of RANK; of the others the index
    cdef PassLimits limits
    cdef TickedPriorities priorities
    cdef const int64_t[::1] held  # [n] or none: from when on each is passed over,
    cdef const int64_t[::1] released  # [n] or none: and until when


cdef class JobLine:
    """Attempts in the order of a key; a gap keeps the key of the attempt that left."""
    cdef int64_t[::1] key
    cdef int64_t[::1] job
    cdef int64_t[::1] size
    cdef int64_t[::1] estimate
    cdef int64_t head, tail, live
    cdef int64_t due  # the number from which on those that have ended are taken out
    cdef uint8_t[::1] bounds  # of parts of 2**BITS places
    cdef int64_t[:, ::1] shortest  # WIDTHS × parts: least estimate of the sizes of so many bits
    cdef uint8_t[::1] row_bounds  # of rows of 2**BITS parts
    cdef int64_t[:, ::1] row_shortest  # WIDTHS × rows

    def __init__(self, int64_t space):
        self.key, self.job, self.size, self.estimate = np.zeros((4, space + 2), np.int64)
        parts = (space + 2 >> BITS) + 1
        self.bounds, self.shortest = np.zeros(parts, np.uint8), np.zeros((WIDTHS, parts), np.int64)
        rows = (parts >> BITS) + 1
        self.row_bounds = np.zeros(rows, np.uint8)
        self.row_shortest = np.zeros((WIDTHS, rows), np.int64)


cdef inline void clear(JobLine line) noexcept nogil:
    """Empty a line."""
    line.head = line.tail = line.live = 0


cdef int64_t next_able(
    JobLine line, int64_t i, int64_t most, int64_t left, int64_t spare
) noexcept nogil:
    """Return the first place from ``i`` on that may start; parts without any are skipped.

    It requests at most ``most``, and it takes no longer than ``left`` or requests at most
    ``spare``.
    """
    cdef int64_t bits = width(most), spared = width(min(most, spare)), stop = i
    cdef int64_t longest = min(left, NEVER - 1), part = -1, row = -1
    if most == HUGE - 1:  # the first one may, in most cases
        stop = min(((i >> BITS) + 1) << BITS, line.tail)
    while i < line.tail:
        while i < stop and (
            line.size[i] > most or (line.estimate[i] > left and line.size[i] > spare)
        ):
            i += 1
        if i < stop:
            return i
        if part >= 0 and line.bounds[part] == LOOSE:
            line.bounds[part] = STALE
        part = -1
        while i == stop and i < line.tail:
            if i & ((1 << 2 * BITS) - 1) == 0:
                if row >= 0 and line.row_bounds[row] == LOOSE:
                    line.row_bounds[row] = STALE
                row = i >> 2 * BITS
                if line.row_bounds[row] == STALE:
                    bound_row(line, row)
                if line.row_shortest[bits, row] > longest and (
                    line.row_shortest[spared, row] == NEVER
                ):
                    row = -1
                    i = stop = i + (1 << 2 * BITS)
                    continue
            if line.bounds[i >> BITS] == STALE:
                bound(line, i >> BITS)
            stop = min(((i >> BITS) + 1) << BITS, line.tail)
            if line.shortest[bits, i >> BITS] > longest and (
                line.shortest[spared, i >> BITS] == NEVER
            ):
                i = stop
            elif i & ((1 << BITS) - 1) == 0:
                part = i >> BITS
    return line.tail


cdef inline int64_t width(int64_t size) noexcept nogil:
    """Return the number of bits of a size, at most WIDTHS - 1."""
    return 0 if size <= 0 else min(64 - leading_zeros(size), WIDTHS - 1)


cdef void bound(JobLine line, int64_t part) noexcept nogil:
    """Find the bounds of a part of a line."""
    cdef int64_t bits, least = NEVER, i, begin = part << BITS
    for bits in range(WIDTHS):
        line.shortest[bits, part] = NEVER
    for i in range(max(begin, line.head), min(begin + (1 << BITS), line.tail)):
        if line.size[i] != HUGE:
            bits = width(line.size[i])
            line.shortest[bits, part] = min(line.shortest[bits, part], line.estimate[i])
    for bits in range(WIDTHS):
        least = line.shortest[bits, part] = min(least, line.shortest[bits, part])
    line.bounds[part] = TIGHT


cdef void bound_row(JobLine line, int64_t row) noexcept nogil:
    """Find the bounds of 2**BITS parts of a line."""
    cdef int64_t bits, part, begin = row << BITS
    for bits in range(WIDTHS):
        line.row_shortest[bits, row] = NEVER
    for part in range(begin, min(begin + (1 << BITS), ((line.tail - 1) >> BITS) + 1)):
        if line.bounds[part] == STALE:
            bound(line, part)
        for bits in range(WIDTHS):
            line.row_shortest[bits, row] = min(
                line.row_shortest[bits, row], line.shortest[bits, part]
            )
    line.row_bounds[row] = TIGHT


cdef inline void stale(JobLine line, int64_t first, int64_t last) noexcept nogil:
    """Forget the bounds of the parts with places ``first`` to ``last``."""
    cdef int64_t part
    for part in range(first >> BITS, (last >> BITS) + 1):
        line.bounds[part] = line.row_bounds[part >> BITS] = STALE


cdef inline void loosen(JobLine line, int64_t i) noexcept nogil:
    """Note that place ``i`` will not start."""
    line.size[i] = HUGE
    if line.bounds[i >> BITS] == TIGHT:
        line.bounds[i >> BITS] = LOOSE
    if line.row_bounds[i >> 2 * BITS] == TIGHT:
        line.row_bounds[i >> 2 * BITS] = LOOSE


cdef inline void append(JobLine line, int64_t key, int64_t job, ObservedPool log) noexcept nogil:
    """Add an attempt whose key is not below the last one."""
    cdef int64_t i = line.tail
    line.key[i], line.job[i] = key, job
    line.size[i], line.estimate[i] = log.request[0, job], log.estimate[job]
    stale(line, i, i)
    line.tail += 1
    line.live += 1


cdef inline void append_place(JobLine line, JobLine other, int64_t i) noexcept nogil:
    """Add the attempt at place ``i`` of another line, whose key is not below the last one."""
    cdef int64_t k = line.tail
    line.key[k], line.job[k] = other.key[i], other.job[i]
    line.size[k], line.estimate[k] = other.size[i], other.estimate[i]
    stale(line, k, k)
    line.tail += 1
    line.live += 1


cdef int64_t first_from(JobLine line, int64_t key) noexcept nogil:
    """Return the first place with this key or a greater one."""
    cdef int64_t low = line.head, high = line.tail, middle
    while low < high:
        middle = (low + high) >> 1
        if line.key[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline void move_place(JobLine line, int64_t source, int64_t target) noexcept nogil:
    line.key[target], line.job[target] = line.key[source], line.job[source]
    line.size[target], line.estimate[target] = line.size[source], line.estimate[source]


cdef void close_gaps(JobLine line) noexcept nogil:
    """Move the attempts to the front."""
    cdef int64_t kept = 0, i
    for i in range(line.head, line.tail):
        if line.job[i] != GAP:
            move_place(line, i, kept)
            kept += 1
    line.head, line.tail = 0, kept
    stale(line, 0, kept)


cdef void insert(JobLine line, int64_t key, int64_t job, ObservedPool log) noexcept nogil:
    """Add an attempt behind those with the same key."""
    cdef int64_t place, gap, i
    if line.live == 0:
        clear(line)
    elif line.tail + 1 >= line.key.shape[0] or line.tail - line.head > 2 * line.live + 64:
        close_gaps(line)
    place = first_from(line, key + 1)
    if place == line.tail:
        append(line, key, job, log)
        return
    gap = place
    while gap < line.tail and line.job[gap] != GAP:
        gap += 1
    if gap == line.tail:
        line.tail += 1
    for i in range(gap, place, -1):
        move_place(line, i - 1, i)
    stale(line, place, gap)
    line.key[place], line.job[place] = key, job
    line.size[place], line.estimate[place] = log.request[0, job], log.estimate[job]
    line.live += 1


cdef void remove(JobLine line, int64_t key, int64_t job) noexcept nogil:
    """Make the place of an attempt a gap."""
    cdef int64_t i = line.head
    if line.job[i] != job:
        i = first_from(line, key)
    while line.job[i] != job:
        i += 1
    line.job[i] = GAP
    loosen(line, i)
    line.live -= 1
    while line.head < line.tail and line.job[line.head] == GAP:
        line.head += 1


cdef class JobHeap:
    """Attempts of which the one with the least key comes first."""
    cdef int64_t[::1] key
    cdef int64_t[::1] job
    cdef int64_t number

    def __init__(self, int64_t space):
        self.key, self.job = np.zeros((2, space + 1), np.int64)


cdef void push(JobHeap heap, int64_t key, int64_t job) noexcept nogil:
    cdef int64_t i = heap.number, above
    heap.number += 1
    while i > 0:
        above = (i - 1) >> 1
        if heap.key[above] <= key:
            break
        heap.key[i], heap.job[i] = heap.key[above], heap.job[above]
        i = above
    heap.key[i], heap.job[i] = key, job


cdef void pop(JobHeap heap) noexcept nogil:
    """Remove the first attempt."""
    cdef int64_t i = 0, below, key, job
    heap.number -= 1
    key, job = heap.key[heap.number], heap.job[heap.number]
    while True:
        below = 2 * i + 1
        if below >= heap.number:
            break
        if below + 1 < heap.number and heap.key[below + 1] < heap.key[below]:
            below += 1
        if heap.key[below] >= key:
            break
        heap.key[i], heap.job[i] = heap.key[below], heap.job[below]
        i = below
    heap.key[i], heap.job[i] = key, job


@cython.final
cdef class PassScene:
    """A pool at one instant, and working space of a pass."""
    cdef JobLine queue  # by rank
    cdef JobLine running  # by expected end
    cdef int64_t[::1] counters  # of limits
    cdef int64_t edge  # number of edges of windows that have passed
    cdef int64_t now
    cdef int64_t row  # of the priorities,
    cdef int64_t rated  # and the instant of their ages
    cdef int64_t free  # of the counted resource: what a pass may start,
    cdef int64_t planned  # and what planners see
    cdef int64_t[::1] left  # [resources], of the others what is free; of the first nothing
    cdef int64_t least  # no waiting attempt is smaller
    cdef int64_t[::1] chosen  # what the pass started
    cdef int64_t number  # of those
    cdef int64_t first  # the first that could not start, or NOBODY
    cdef int64_t longest  # what follows the first may last no longer, unless it fits in ``sums``
    cdef int64_t until  # when any that was passed over is let through, or the first one no longer
    cdef int64_t[::1] turn  # orders that change: a heap of those not yet served
    cdef int64_t turns
    cdef int64_t at  # RANK: the place that is served next
    cdef int64_t[::1] times  # of a plan: times[k] is when level k begins
    cdef int64_t[:, ::1] levels  # resources × times
    cdef int64_t levels_number
    cdef int64_t[::1] sums  # [resources], the extra of EASY
    cdef int64_t[::1] sums_running  # [resources], what runs

    def __init__(self, ObservedPool log not None, int64_t counters):
        count, resources = len(log.arrival), len(log.request)
        self.queue, self.running = JobLine(count), JobLine(count)
        self.counters = np.zeros(counters, np.int64)
        self.left, self.sums, self.sums_running = np.zeros((3, resources), np.int64)
        self.chosen, self.turn = np.zeros((2, count + 1), np.int64)
        self.times = np.zeros(3 * count + 4, np.int64)
        self.levels = np.zeros((resources, 3 * count + 4), np.int64)


cdef inline bint let_through(PassScene scene, PassRule rule, int64_t job) noexcept nogil:
    """Return whether no limit, no hold and no evidence of one passes an attempt over."""
    if rule.held.shape[0] > 0 and rule.held[job] <= scene.now:
        return False
    if rule.released.shape[0] > 0 and rule.released[job] > scene.now:
        return False
    return allowed(scene, rule.limits, job)


cdef inline bint allowed(PassScene scene, PassLimits limits, int64_t job) noexcept nogil:
    """Return whether no limit passes an attempt over."""
    cdef int64_t k, counter
    if limits.first.shape[0] > 0:
        for k in range(limits.first[job], limits.first[job + 1]):
            counter = limits.counter[k]
            if (
                limits.binding[k]
                and scene.counters[counter] + limits.amount[k] > limits.most[counter]
            ):
                return False
    return True


cdef inline void count(
    PassScene scene, PassLimits limits, int64_t job, int64_t sign
) noexcept nogil:
    """Add ``sign`` times an attempt's amounts to its counters."""
    cdef int64_t k
    if limits.first.shape[0] > 0:
        for k in range(limits.first[job], limits.first[job + 1]):
            scene.counters[limits.counter[k]] += sign * limits.amount[k]


cdef void close_windows(PassScene scene, PassLimits limits) noexcept nogil:
    """Close and open the windows of limits as they are now; time may go back."""
    while scene.edge < limits.edge.shape[0] and limits.edge[scene.edge] <= scene.now:
        scene.counters[limits.window[scene.edge]] += limits.change[scene.edge]
        scene.edge += 1
    while scene.edge > 0 and limits.edge[scene.edge - 1] > scene.now:
        scene.edge -= 1
        scene.counters[limits.window[scene.edge]] -= limits.change[scene.edge]
