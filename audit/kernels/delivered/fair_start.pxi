# Fair starts on what the machine delivered: the observed schedule without later arrivals.
#
# The attempts that have not ended when one arrives are kept in a line by rank, from which snapshots
# are read.


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class DeliveredCapacity:
    """The capacity delivered under a rule."""
    cdef const int64_t[::1] most  # [m], C
    cdef const int64_t[::1] blocks  # greatest C of each 2**bits instants
    cdef int64_t bits
    cdef bint kept  # kept order: what started after an attempt is not queued
    cdef bint free  # only starts by the snapshot's instant are pinned
    cdef bint bounded  # what starts after it was observed to does not matter
    cdef const uint8_t[::1] always  # [n], whether an attempt's start is pinned nevertheless


@cython.final
cdef class ForkedRun:
    """A simulation from a snapshot."""
    cdef PassScene scene
    cdef JobHeap ends  # of what runs
    cdef JobHeap expected  # working space: what runs, by expected end
    cdef int64_t[::1] begun  # [n], starts in the simulation; NEVER: none so far
    cdef int64_t[::1] waits  # [n], in which simulation each was queued last; 0: it has started
    cdef int64_t number  # of simulations so far
    cdef int64_t since  # the instant of the snapshot
    cdef int64_t pin  # place in ``by_start`` of the next that may be pinned
    cdef int64_t subject  # starts when it was observed to at the latest; or NOBODY
    cdef int64_t[::1] later  # attempts that arrive after the snapshot
    cdef int64_t later_at, later_number
    cdef int64_t i  # the last of ``instants``
    cdef int64_t need  # the least that must be free for a start
    cdef bint settled  # whether this was found by a pass, and not merely what waits
    cdef int64_t until  # when this may change by itself
    cdef int64_t[::1] change  # [m], the next of ``instants`` at which capacities change
    cdef bint plans
    cdef bint settles  # a pass need only be repeated when more is free, or anything else changes
    cdef LastRun last  # the run that this one continues, where ``continues``
    cdef bint continues
    # Under kept order the queue is read from the line by rank as far as passes come.
    cdef JobLine ranked
    cdef int64_t unread, unread_end  # places there that may have to be queued:
    cdef int64_t unread_since  # what has not begun before in the last run

    def __init__(
        self, ObservedPool log not None, PassRule rule not None, LastRun last, JobLine ranked
    ):
        count = len(log.arrival)
        self.settles = rule.order == PassOrder.RANK and rule.depth == NEVER
        self.settles &= rule.backfill in (PassBackfill.EASY, PassBackfill.NO_GUARANTEE)
        self.change = next_changes(log) if self.settles else np.zeros(0, np.int64)
        self.scene = PassScene(log, len(rule.limits.most))
        self.ends, self.expected = JobHeap(count), JobHeap(count)
        self.waits, self.later = np.zeros((2, count + 1), np.int64)
        self.begun = np.full(count + 1, NEVER)
        self.plans = rule.backfill >= PassBackfill.EASY
        self.last, self.continues, self.ranked = last, last is not None, ranked


def next_changes(ObservedPool log):
    """Return the next instant, by index, at which capacities in force, or exceeded, change, [m]."""
    capacity = np.maximum(log.capacity, log.used)
    capacity[1:] = log.capacity[1:]
    changes = np.flatnonzero((capacity[:, 1:] != capacity[:, :-1]).any(0)) + 1
    ends = np.append(changes, len(log.used))
    return ends[np.searchsorted(changes, np.arange(len(log.used)), side="right")]


def fair_starts(
    ObservedPool log not None, PassRule rule not None, DeliveredCapacity delivered not None,
    const uint8_t[::1] subject, const uint8_t[::1] marks, out, uint8_t[::1] context
):
    """Write the fair start of each subject, [n]: NEVER where it never starts.

    ``context`` gets the bits that the ``marks`` of any attempt of its snapshot have.

    Source: SPEC §10, *FST of j*.
    """
    cdef int64_t[::1] found = out, first_later, first, following
    cdef bint continues = in_turn(rule, delivered)
    cdef ForkedRun alone = ForkedRun(log, rule, None, None), run = alone
    cdef JobLine ranked = JobLine(len(out)), marked = JobLine(len(out))
    cdef int64_t j, k, m, d, count = len(out)
    if continues:
        run = ForkedRun(log, rule, LastRun(len(out), len(delivered.blocks)), ranked)
    first_later, first, following = np.full((3, count), NOBODY)
    with nogil:
        find_first_later(log, first_later)
        for j in range(count - 1, -1, -1):
            found[j], k = log.start[j], first_later[j]
            if subject[j] and k != NOBODY:
                following[j], first[k] = first[k], j
        for k in range(count):
            j = first[k]
            if j != NOBODY and continues:
                m = k - 1 if delivered.kept else j  # kept order: those behind do not matter
                d = log.arrival[k]
                open_snapshot(run, run.last, run.scene, ranked, log, rule, delivered, m, d)
            while j != NOBODY:
                context[j] = marks_of(marked, log, delivered, marks, j, log.arrival[k])
                if continues:
                    go_through(
                        run, run.last, run.scene, ranked, log, rule, delivered, j, j == first[k]
                    )
                    found[j] = run.begun[j]
                if not continues or is_disturbed(run, ranked, log, rule, delivered, j):
                    fork(alone, alone.scene, ranked, log, rule, delivered, j, log.arrival[k])
                    found[j] = simulate(alone, alone.scene, log, rule, delivered, j)
                if delivered.bounded:
                    found[j] = min(found[j], log.start[j])
                j = following[j]
            insert(ranked, rule.rank[k], k, log)
            drop_ended(ranked, run, log, k)
            if marks[k]:
                insert(marked, k, k, log)
                drop_ended(marked, run, log, k)


cdef void find_first_later(ObservedPool log, int64_t[::1] out) noexcept nogil:
    """Write the first later attempt that starts before each, or NOBODY."""
    cdef int64_t k, before, count = log.arrival.shape[0]
    for k in range(count - 1, -1, -1):
        before = k + 1 if k + 1 < count else NOBODY
        while before != NOBODY and log.start[before] >= log.start[k]:
            before = out[before]
        out[k] = before


cdef void drop_ended(JobLine line, ForkedRun run, ObservedPool log, int64_t k) noexcept nogil:
    """Take out of a line what ended before attempt ``k`` arrived, from time to time."""
    cdef int64_t i, job
    if line.live < line.due:
        return
    for i in range(line.head, line.tail):
        job = line.job[i]
        if job == GAP or log.end[job] > log.arrival[k]:
            continue
        if not run.continues or has_ended(run, log, job, log.arrival[k]):
            line.job[i], line.size[i] = GAP, HUGE
            line.live -= 1
    close_gaps(line)
    line.due = line.live + (line.live >> 2) + 16


cdef uint8_t marks_of(
    JobLine marked, ObservedPool log, DeliveredCapacity delivered, const uint8_t[::1] marks,
    int64_t j, int64_t d
) noexcept nogil:
    """Return the bits of the marks in the snapshot of ``j``."""
    cdef uint8_t bits = marks[j]
    cdef int64_t i, job
    for i in range(marked.head, marked.tail):
        job = marked.job[i]
        if job != GAP and job < j and log.end[job] > d:
            if log.start[job] < d or queues(log, delivered, job, j):
                bits |= marks[job]
    return bits


def fair_start_without(
    ObservedPool log not None, PassRule rule not None, DeliveredCapacity delivered not None,
    int64_t j, const uint8_t[::1] removed
):
    """Return the fair start of attempt ``j`` without the later attempts ``removed``, [n].

    Source: SPEC §10, *Delay by user o*.
    """
    cdef ForkedRun simulation = ForkedRun(log, rule, None, None)
    cdef PassScene scene = simulation.scene
    cdef int64_t count = len(removed), k = j + 1, d, i, job, found
    while k < count and not (removed[k] and log.start[k] < log.start[j]):
        k += 1
    if k == count:
        return log.start[j]
    d = log.arrival[k]
    with nogil:
        open_run(simulation, scene, log, rule, d, d, NOBODY)
        for job in range(count):
            if job > j and removed[job]:
                continue
            if log.start[job] < d:
                if log.end[job] > d:
                    push(simulation.expected, log.start[job] + log.estimate[job], job)
                    simulation.begun[job] = log.start[job]
            elif queues(log, delivered, job, j):
                if log.arrival[job] > d:
                    simulation.later[simulation.later_number] = job
                    simulation.later_number += 1
                else:
                    arrive(simulation, scene, log, rule, job)
        begin_expected(simulation, scene, log, rule)
        found = simulate(simulation, scene, log, rule, delivered, j)
    return found


cdef inline bint queues(
    ObservedPool log, DeliveredCapacity delivered, int64_t job, int64_t j
) noexcept nogil:
    """Return whether an attempt that has not started matters to attempt ``j``."""
    return not delivered.kept or log.start[job] <= log.start[j]


cdef inline bint pinned(
    ForkedRun simulation, ObservedPool log, DeliveredCapacity delivered, int64_t job
) noexcept nogil:
    """Return whether an attempt of the queue starts when it was observed to, at the latest."""
    return (
        not delivered.free
        or log.start[job] <= simulation.since
        or delivered.always[job]
        or job == simulation.subject
    )


cdef void open_run(
    ForkedRun simulation, PassScene scene, ObservedPool log, PassRule rule, int64_t since,
    int64_t now, int64_t subject
) noexcept nogil:
    """Begin a simulation at an instant, with nothing."""
    cdef int64_t i
    for i in range(simulation.ends.number):
        count(scene, rule.limits, simulation.ends.job[i], -1)
    clear(scene.queue)
    clear(scene.running)
    simulation.ends.number = 0
    simulation.number += 1
    simulation.subject, simulation.since = subject, since
    simulation.later_at = simulation.later_number = 0
    simulation.unread = simulation.unread_end = 0
    scene.sums_running[:] = 0
    scene.now, scene.least = now, HUGE
    simulation.i = first_above(log.instants, 0, log.instants.shape[0], now) - 1
    simulation.pin = first_start(log, now)


cdef int64_t first_start(ObservedPool log, int64_t now) noexcept nogil:
    """Return the place in ``by_start`` of the first start at an instant or after it."""
    cdef int64_t low = 0, high = log.by_start.shape[0], middle
    while low < high:
        middle = (low + high) >> 1
        if log.start[log.by_start[middle]] < now:
            low = middle + 1
        else:
            high = middle
    return low


cdef void fork(
    ForkedRun simulation, PassScene scene, JobLine ranked, ObservedPool log, PassRule rule,
    DeliveredCapacity delivered, int64_t j, int64_t d
) noexcept nogil:
    """Begin a simulation from the snapshot of ``j`` at ``d``."""
    cdef int64_t i, job
    open_run(simulation, scene, log, rule, d, d, j if delivered.bounded else NOBODY)
    for i in range(ranked.head, ranked.tail):
        job = ranked.job[i]
        if job == GAP or job > j:
            continue
        if log.start[job] < d:
            if log.end[job] > d:
                simulation.begun[job] = log.start[job]
                push(simulation.expected, log.start[job] + log.estimate[job], job)
        elif queues(log, delivered, job, j):
            enqueue(simulation, scene, ranked, i)
    begin_expected(simulation, scene, log, rule)


cdef inline void enqueue(
    ForkedRun simulation, PassScene scene, JobLine ranked, int64_t i
) noexcept nogil:
    """Let the attempt at place ``i`` of the line by rank wait, behind the others."""
    append_place(scene.queue, ranked, i)
    simulation.waits[ranked.job[i]] = simulation.number
    scene.least = min(scene.least, ranked.size[i])


cdef inline void arrive(
    ForkedRun simulation, PassScene scene, ObservedPool log, PassRule rule, int64_t job
) noexcept nogil:
    """Let an attempt wait where its rank is."""
    insert(scene.queue, rule.rank[job], job, log)
    simulation.waits[job] = simulation.number
    scene.least = min(scene.least, log.request[0, job])


cdef void begin_expected(
    ForkedRun simulation, PassScene scene, ObservedPool log, PassRule rule
) noexcept nogil:
    """Let the attempts of ``expected`` run, whose starts have been written to ``begun``."""
    cdef int64_t job
    while simulation.expected.number > 0:
        job = simulation.expected.job[0]
        pop(simulation.expected)
        begin(simulation, scene, log, rule, job, simulation.begun[job] + log.occupancy[job])
    if simulation.continues and rule.backfill == PassBackfill.NONE:
        scene.least = -HUGE  # who stops a pass is to be known at all times
    unsettle(simulation, scene)
    simulation.until = NEVER


cdef void begin(
    ForkedRun simulation, PassScene scene, ObservedPool log, PassRule rule, int64_t job,
    int64_t end
) noexcept nogil:
    """Let an attempt run whose start has been written to ``begun``."""
    simulation.waits[job] = 0
    push(simulation.ends, end, job)
    run(scene, log, rule, job, 1)
    if simulation.plans:
        insert(scene.running, simulation.begun[job] + log.estimate[job], job, log)


cdef inline void unsettle(ForkedRun simulation, PassScene scene) noexcept nogil:
    """Note that what could not start may start now."""
    simulation.need, simulation.settled = scene.least, False


cdef int64_t simulate(
    ForkedRun simulation, PassScene scene, ObservedPool log, PassRule rule,
    DeliveredCapacity delivered, int64_t j
) noexcept nogil:
    """Return when attempt ``j`` starts, or NEVER."""
    while scene.now != NEVER:
        step(simulation, scene, log, rule, delivered)
        if simulation.waits[j] != simulation.number:
            return scene.now
        go_on(simulation, scene, log, delivered)
    return NEVER


cdef void step(
    ForkedRun simulation, PassScene scene, ObservedPool log, PassRule rule,
    DeliveredCapacity delivered
) noexcept nogil:
    """End, queue, pin and start what does at the instant."""
    cdef int64_t job
    close_windows(scene, rule.limits)
    end_what_ends(simulation, scene, log, rule)
    while simulation.later_at < simulation.later_number:
        job = simulation.later[simulation.later_at]
        if log.arrival[job] > scene.now:
            break
        arrive(simulation, scene, log, rule, job)
        simulation.later_at += 1
        unsettle(simulation, scene)
    while next_unread(simulation, log) <= scene.now < NEVER:
        read_on(simulation, scene, 1)
    while simulation.pin < log.by_start.shape[0]:
        job = log.by_start[simulation.pin]
        if log.start[job] > scene.now:
            break
        simulation.pin += 1
        if simulation.waits[job] == simulation.number and pinned(simulation, log, delivered, job):
            leave(simulation, scene, log, rule, job)
    if simulation.until <= scene.now:  # the first in turn is passed over from now on
        unsettle(simulation, scene)
        simulation.until = NEVER
    scene.free = delivered.most[simulation.i] - scene.sums_running[0]
    if scene.free >= simulation.need:
        look(simulation, scene, log, rule)
        while scene.first == NOBODY and simulation.unread < simulation.unread_end:
            read_on(simulation, scene, CHUNK)
            scene.free = delivered.most[simulation.i] - scene.sums_running[0]
            look(simulation, scene, log, rule)
    if scene.queue.live == 0:
        simulation.need, simulation.settled = HUGE, False


cdef void end_what_ends(
    ForkedRun simulation, PassScene scene, ObservedPool log, PassRule rule
) noexcept nogil:
    """End what ends by now."""
    cdef int64_t job
    while simulation.ends.number > 0 and simulation.ends.key[0] <= scene.now:
        job = simulation.ends.job[0]
        pop(simulation.ends)
        run(scene, log, rule, job, -1)
        if simulation.plans:
            remove(scene.running, simulation.begun[job] + log.estimate[job], job)
        if simulation.settles or (
            rule.backfill == PassBackfill.NONE and rule.limits.most.shape[0] > 0
        ):
            unsettle(simulation, scene)  # it may let others through


cdef void leave(
    ForkedRun simulation, PassScene scene, ObservedPool log, PassRule rule, int64_t job
) noexcept nogil:
    """Start an attempt of the queue."""
    remove(scene.queue, rule.rank[job], job)
    if simulation.continues:
        compare_start(simulation, simulation.last, job, scene.now)
        simulation.last.deep = max(simulation.last.deep, rule.rank[job])
    simulation.begun[job] = scene.now
    begin(simulation, scene, log, rule, job, scene.now + log.occupancy[job])
    if simulation.settles or rule.backfill == PassBackfill.NONE:
        unsettle(simulation, scene)


cdef void look(
    ForkedRun simulation, PassScene scene, ObservedPool log, PassRule rule
) noexcept nogil:
    """Make a pass, and find out what the next one needs."""
    cdef int64_t i = simulation.i, x, k
    for x in range(1, log.request.shape[0]):
        scene.left[x] = log.capacity[x, i] - scene.sums_running[x]
    scene.planned = max(log.capacity[0, i], log.used[i]) - scene.sums_running[0]
    rate(scene, rule, rule.priorities)
    make_pass(scene, log, rule, False)
    for k in range(scene.number):
        count(scene, rule.limits, scene.chosen[k], -1)  # the pass has counted it
        leave(simulation, scene, log, rule, scene.chosen[k])
    find_need(simulation, scene, log, rule)


cdef void find_need(
    ForkedRun simulation, PassScene scene, ObservedPool log, PassRule rule
) noexcept nogil:
    """Find the least that must be free before another attempt can start, until anything changes."""
    cdef int64_t i, least = HUGE
    simulation.until, simulation.settled = scene.until, True
    if scene.edge < rule.limits.edge.shape[0]:
        simulation.until = min(simulation.until, rule.limits.edge[scene.edge])
    if rule.backfill == PassBackfill.NONE and rule.order == PassOrder.RANK and rule.depth == NEVER:
        simulation.need = HUGE if scene.first == NOBODY else log.request[0, scene.first]
    elif simulation.settles and scene.number > 0 and rule.limits.most.shape[0] > 0:
        unsettle(simulation, scene)  # the first in turn may have come to a limit since
    elif simulation.settles:
        simulation.need = scene.free + 1
        i = simulation.change[simulation.i]
        if i < log.instants.shape[0]:
            simulation.until = min(simulation.until, log.instants[i])
    else:
        for i in range(scene.queue.head, scene.queue.tail):
            least = min(least, scene.queue.size[i])
            if least <= simulation.need:  # nothing smaller waited before
                break
        simulation.need = least


cdef void go_on(
    ForkedRun simulation, PassScene scene, ObservedPool log, DeliveredCapacity delivered
) noexcept nogil:
    """Go on to the next instant at which anything can start or end; NEVER: there is none."""
    cdef int64_t next_time = simulation.until, i, job, count = log.instants.shape[0], enough
    cdef int64_t length = 1 << delivered.bits
    cdef bint waits = scene.queue.live > 0
    if simulation.ends.number > 0:
        next_time = min(next_time, simulation.ends.key[0])
    if simulation.later_at < simulation.later_number:
        next_time = min(next_time, log.arrival[simulation.later[simulation.later_at]])
    while waits and simulation.pin < log.by_start.shape[0]:
        job = log.by_start[simulation.pin]
        if log.start[job] >= next_time:
            break
        if simulation.waits[job] == simulation.number and pinned(simulation, log, delivered, job):
            next_time = log.start[job]
            break
        simulation.pin += 1
    enough = simulation.need + scene.sums_running[0]
    i = simulation.i + 1 if waits else count
    while i < count and log.instants[i] <= next_time and delivered.most[i] < enough:
        if i & (length - 1) == 0 and delivered.blocks[i >> delivered.bits] < enough:
            i += length
        else:
            i += 1
    if i < count and log.instants[i] <= next_time:
        scene.now, simulation.i = log.instants[i], i
        return
    scene.now = next_time
    simulation.i = first_above(log.instants, simulation.i, min(i, count), next_time) - 1
