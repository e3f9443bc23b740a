# Fair starts in the observed order, without backfilling.
#
# Nothing behind an attempt changes its start, unless it overtakes one that a limit or a hold passes
# over. So one simulation serves all subjects with the same first later attempt: the queue of each is
# the front of that of the last of them.


@cython.final
cdef class KeptOrder:
    """The subjects of simulations, and the queue of one, which is in ``ForkedRun.pins``."""
    cdef int64_t[::1] group  # [n], the first later attempt that starts before a subject, or NOBODY
    cdef int64_t[::1] last  # [n], the last subject of each group
    cdef int64_t[::1] previous  # [n], the subject before each of the same group, or NOBODY
    cdef uint8_t[::1] alone  # [n], subjects that an attempt behind them has overtaken
    cdef int64_t[::1] passed  # places in the queue that were passed over and still wait
    cdef int64_t passed_number
    cdef int64_t next  # the first place that was not yet served
    cdef int64_t furthest  # the last place that was

    def __init__(self, int64_t count):
        self.group, self.last, self.previous = np.full((3, count), NOBODY)
        self.alone, self.passed = np.zeros(count, np.uint8), np.zeros(count + 1, np.int64)


cdef void kept_starts(
    ForkedRun simulation, KeptOrder kept, PassScene scene, JobLine started,
    ObservedPool log, PassRule rule, DeliveredCapacity delivered, const uint8_t[::1] subject, const uint8_t[::1] marks,
    int64_t[::1] found, uint8_t[::1] context
) noexcept nogil:
    """Write what ``fair_starts`` does; ``found`` holds the observed starts."""
    cdef int64_t j, k, m
    find_first_later(log, kept.group)
    for j in range(log.arrival.shape[0]):
        k = kept.group[j]
        if not subject[j]:
            kept.group[j] = NOBODY
        elif k != NOBODY:
            kept.previous[j], kept.last[k] = kept.last[k], j
    for j in range(log.arrival.shape[0]):
        k = kept.group[j]
        if k != NOBODY and kept.last[k] == j:
            read_kept(simulation, kept, scene, started, log, rule, j, k, marks, context)
            simulate_kept(simulation, kept, scene, log, rule, delivered, j, NOBODY, found)
            m = kept.previous[j]
            while m != NOBODY:
                if kept.alone[m]:
                    read_kept(simulation, kept, scene, started, log, rule, m, k, marks, context)
                    simulate_kept(simulation, kept, scene, log, rule, delivered, m, m, found)
                m = kept.previous[m]
        if log.start[j] != NEVER:
            insert(started, simulation.rank_of_start[j], j, log)
        drop_ended(started, log, j)


cdef void read_kept(
    ForkedRun simulation, KeptOrder kept, PassScene scene, JobLine started, ObservedPool log,
    PassRule rule, int64_t j, int64_t k, const uint8_t[::1] marks, uint8_t[::1] context
) noexcept nogil:
    """Begin when ``k`` arrives, with what then runs and the queue up to ``j``."""
    cdef int64_t d = log.arrival[k], i, job, low = 0, high = log.by_start.shape[0]
    cdef uint8_t seen = 0
    open_run(simulation, scene, log, d)
    kept.passed_number = kept.next = 0
    kept.furthest = NOBODY
    for i in range(started.head, started.tail):
        job = started.job[i]
        if job == GAP:
            continue
        if log.start[job] >= d:
            break
        if job < j and log.end[job] > d:
            begin(simulation, log, rule, job, log.start[job], log.end[job])
            seen |= marks[job]
    while low < high:
        i = (low + high) >> 1
        if log.start[log.by_start[i]] < d:
            low = i + 1
        else:
            high = i
    while low < log.by_start.shape[0] and log.start[log.by_start[low]] <= log.start[j]:
        job = log.by_start[low]
        low += 1
        if job > j:
            continue
        simulation.pins[simulation.pins_number] = job
        simulation.pins_number += 1
        seen |= marks[job]
        if kept.group[job] == k:
            kept.alone[job], context[job] = True, seen


cdef void simulate_kept(
    ForkedRun simulation, KeptOrder kept, PassScene scene, ObservedPool log, PassRule rule,
    DeliveredCapacity delivered, int64_t j, int64_t only, int64_t[::1] found
) noexcept nogil:
    """Simulate until ``j`` starts; find its fair start, and unless ``only``, those of its group."""
    cdef int64_t k = kept.group[j]
    while scene.now != NEVER:
        close_windows(scene, rule.limits)
        end_what_ends(simulation, scene, log, rule)
        while simulation.pinned < simulation.pins_number:
            if simulation.serial[simulation.pins[simulation.pinned]] != simulation.number:
                if log.start[simulation.pins[simulation.pinned]] > scene.now:
                    break
                start_kept(simulation, kept, log, rule, simulation.pinned, k, only, found)
            simulation.pinned += 1
        forget_started(simulation, kept)
        if simulation.serial[j] != simulation.number:
            serve_kept(simulation, kept, scene, log, rule, delivered, k, only, found)
        if simulation.serial[j] == simulation.number:
            break
        go_on(simulation, scene, log, delivered)
    close_run(simulation, log, rule)


cdef void start_kept(
    ForkedRun simulation, KeptOrder kept, ObservedPool log, PassRule rule, int64_t place, int64_t k,
    int64_t only, int64_t[::1] found
) noexcept nogil:
    """Start the attempt at a place of the queue."""
    cdef int64_t job = simulation.pins[place], now = simulation.scene.now
    begin(simulation, log, rule, job, now, now + log.occupancy[job])
    if job == only or (only == NOBODY and kept.group[job] == k and kept.furthest < place):
        found[job], kept.alone[job] = now, False
    kept.furthest = max(kept.furthest, place)


cdef void forget_started(ForkedRun simulation, KeptOrder kept) noexcept nogil:
    """Go behind the attempts at the front of the queue, all of which have started."""
    cdef int64_t i = 0, left
    kept.next = max(kept.next, simulation.pinned)
    while i < kept.passed_number and kept.passed[i] < simulation.pinned:
        i += 1
    if i > 0:
        for left in range(i, kept.passed_number):
            kept.passed[left - i] = kept.passed[left]
        kept.passed_number -= i


cdef void serve_kept(
    ForkedRun simulation, KeptOrder kept, PassScene scene, ObservedPool log, PassRule rule,
    DeliveredCapacity delivered, int64_t k, int64_t only, int64_t[::1] found
) noexcept nogil:
    """Make a pass: first those that were passed over before, then the others."""
    cdef int64_t i, x, again = kept.passed_number, place
    cdef bint blocked = False
    scene.free = delivered.most[simulation.i] - scene.sums_running[0]
    for x in range(1, log.request.shape[0]):
        scene.left[x] = log.capacity[x, simulation.i] - scene.sums_running[x]
    scene.until, simulation.need = NEVER, HUGE
    kept.passed_number = 0
    for i in range(again):
        if blocked:
            kept.passed[kept.passed_number] = kept.passed[i]
            kept.passed_number += 1
        else:
            blocked = take_kept(simulation, kept, scene, log, rule, kept.passed[i], k, only, found)
    while not blocked and kept.next < simulation.pins_number:
        place = kept.next
        if simulation.serial[simulation.pins[place]] == simulation.number:
            kept.next += 1
            continue
        blocked = take_kept(simulation, kept, scene, log, rule, place, k, only, found)
        if not blocked:
            kept.next += 1
    simulation.until = scene.until
    if scene.edge < rule.limits.edge.shape[0]:
        simulation.until = min(simulation.until, rule.limits.edge[scene.edge])


cdef bint take_kept(
    ForkedRun simulation, KeptOrder kept, PassScene scene, ObservedPool log, PassRule rule,
    int64_t place, int64_t k, int64_t only, int64_t[::1] found
) noexcept nogil:
    """Start an attempt, or pass it over, or return that it does not fit."""
    cdef int64_t job = simulation.pins[place], x
    if not let_through(scene, rule, job):
        note_release(scene, rule, job)
        kept.passed[kept.passed_number] = place
        kept.passed_number += 1
    elif fits(scene, log, job):
        scene.free -= log.request[0, job]
        for x in range(1, log.request.shape[0]):
            scene.left[x] -= log.request[x, job]
        start_kept(simulation, kept, log, rule, place, k, only, found)
    else:
        simulation.need = log.request[0, job]
        if rule.held.shape[0] > 0:
            scene.until = min(scene.until, rule.held[job])
        if place < kept.next:  # it was passed over before
            kept.passed[kept.passed_number] = place
            kept.passed_number += 1
        return True
    return False
