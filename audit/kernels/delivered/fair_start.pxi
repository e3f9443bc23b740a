# Fair starts on what the machine delivered: the observed schedule without later arrivals.
#
# The attempts before each one that have not ended when it arrives are kept in lines: by rank, by
# start, and by expected end. So a snapshot is read in order.


cdef enum:
    BLOCK = 64


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class DeliveredCapacity:
    """The capacity delivered under a rule."""
    cdef const int64_t[::1] most  # [m], C
    cdef const int64_t[::1] blocks  # greatest C of each BLOCK instants
    cdef bint kept  # kept order: what started after an attempt is not queued
    cdef bint free  # only starts by the snapshot's instant are pinned
    cdef bint bounded  # what starts after it was observed to does not matter
    cdef const uint8_t[::1] always  # [n], whether an attempt's start is pinned nevertheless


@cython.final
cdef class ForkedRun:
    """A simulation from a snapshot."""
    cdef PassScene scene
    cdef JobHeap ends  # of what runs
    cdef int64_t[::1] begun  # [n], starts in the simulation
    cdef int64_t[::1] serial  # [n], in which simulation it started
    cdef int64_t number  # of simulations so far
    cdef int64_t[::1] pins  # attempts of the queue that may be pinned, by start
    cdef int64_t pinned, pins_number
    cdef int64_t[::1] group  # [n], the first later attempt that starts before a subject, or NOBODY
    cdef int64_t[::1] previous  # [n], the subject before each of the same group, or NOBODY
    cdef uint8_t[::1] overtaken  # [n], whether an attempt behind it had started before
    cdef int64_t furthest  # the last attempt that has started
    cdef int64_t[::1] later  # attempts that arrive after the snapshot
    cdef int64_t later_at, later_number
    cdef int64_t i  # the last of ``instants``
    cdef int64_t need  # the least that must be free for a start
    cdef int64_t until  # when this may change by itself
    cdef int64_t[::1] change  # [m], the next of ``instants`` at which capacities change
    cdef bint plans
    cdef bint settles  # a pass need only be repeated when more is free, or anything else changes

    def __init__(self, ObservedPool log not None, PassRule rule not None):
        count = len(log.arrival)
        self.settles = rule.order == PassOrder.RANK and rule.depth == NEVER
        self.settles &= rule.backfill in (PassBackfill.EASY, PassBackfill.NO_GUARANTEE)
        self.change = next_changes(log) if self.settles else np.zeros(0, np.int64)
        self.scene, self.ends = PassScene(log, len(rule.limits.most)), JobHeap(count)
        self.begun, self.serial, self.pins, self.later = np.zeros((4, count + 1), np.int64)
        self.plans = rule.backfill >= PassBackfill.EASY
        self.group, self.previous = np.full((2, count), NOBODY)
        self.overtaken = np.zeros(count, np.uint8)


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
    cdef int64_t[::1] found = out, rank_of_start, last
    cdef ForkedRun simulation = ForkedRun(log, rule)
    cdef PassScene scene = simulation.scene
    cdef JobLine ranked = JobLine(len(out)), started = JobLine(len(out))
    cdef JobLine expected = JobLine(len(out))
    cdef int64_t j, k, m, count = len(out)
    cdef bint shared = in_turn(rule, delivered)
    cdef uint8_t[::1] alone = np.zeros(count, np.uint8)  # the simulation of its group is not its own
    places = np.zeros(count, np.int64)
    places[log.by_start] = np.arange(len(log.by_start))
    rank_of_start, last = places, np.full(count, NOBODY)
    with nogil:
        find_first_later(log, simulation.group)
        for j in range(count):
            found[j], k = log.start[j], simulation.group[j]
            if not subject[j]:
                simulation.group[j] = NOBODY
            elif k != NOBODY and shared:
                simulation.previous[j], last[k] = last[k], j
        for j in range(count):
            k = simulation.group[j]
            m = j if k != NOBODY and (not shared or last[k] == j) else NOBODY
            while m != NOBODY:
                if m == j or alone[m]:
                    fork(simulation, scene, ranked, started, expected, log, rule, delivered, m)
                    read_marks(simulation, scene, log, delivered, marks, m, m == j, context)
                    found[m] = simulate(simulation, scene, log, rule, delivered, m)
                    if m == j:
                        share(simulation, j, found, alone)
                    close_run(simulation, log, rule)
                m = simulation.previous[m]
            insert(ranked, rule.rank[j], j, log)
            if log.start[j] != NEVER:
                insert(started, rank_of_start[j], j, log)
                if simulation.plans:
                    insert(expected, log.start[j] + log.estimate[j], j, log)
            drop_ended(ranked, log, j)
            drop_ended(started, log, j)
            drop_ended(expected, log, j)


cdef bint in_turn(PassRule rule, DeliveredCapacity delivered):
    """Return whether one simulation may serve all subjects with the same first later attempt.

    They and what is between them start no earlier than the first of them, and are served in this
    order. So the simulation of the last is that of each, until one behind it has started.
    """
    ranks = np.asarray(rule.rank)
    if rule.order != PassOrder.RANK or (delivered.free and delivered.bounded):
        return False
    return delivered.kept or bool((np.diff(ranks) > 0).all())


cdef void fork(
    ForkedRun simulation, PassScene scene, JobLine ranked, JobLine started, JobLine expected,
    ObservedPool log, PassRule rule, DeliveredCapacity delivered, int64_t j
) noexcept nogil:
    """Begin a simulation from the snapshot of ``j``."""
    cdef int64_t d = log.arrival[simulation.group[j]]
    open_run(simulation, scene, log, d)
    read_queue(scene.queue, ranked, log, delivered, j, d)
    read_pins(simulation, started, log, delivered, j, d)
    if simulation.plans:
        read_running(simulation, expected, log, rule, j, d)
    else:
        read_running(simulation, started, log, rule, j, d)
    insert(scene.queue, rule.rank[j], j, log)


cdef void share(
    ForkedRun simulation, int64_t j, int64_t[::1] found, uint8_t[::1] alone
) noexcept nogil:
    """Read from the simulation of ``j`` the starts of the subjects before it in its group."""
    cdef int64_t m = simulation.previous[j]
    while m != NOBODY:
        alone[m] = simulation.serial[m] != simulation.number or simulation.overtaken[m]
        if not alone[m]:
            found[m] = simulation.begun[m]
        m = simulation.previous[m]


cdef void find_first_later(ObservedPool log, int64_t[::1] out) noexcept nogil:
    """Write the first later attempt that starts before each, or NOBODY."""
    cdef int64_t k, before, count = log.arrival.shape[0]
    for k in range(count - 1, -1, -1):
        before = k + 1 if k + 1 < count else NOBODY
        while before != NOBODY and log.start[before] >= log.start[k]:
            before = out[before]
        out[k] = before


def fair_start_without(
    ObservedPool log not None, PassRule rule not None, DeliveredCapacity delivered not None,
    int64_t j,
    const uint8_t[::1] removed
):
    """Return the fair start of attempt ``j`` without the later attempts ``removed``, [n].

    Source: SPEC §10, *Delay by user o*.
    """
    cdef ForkedRun simulation = ForkedRun(log, rule)
    cdef PassScene scene = simulation.scene
    cdef int64_t count = len(removed), k = j + 1, d, i, job, found
    while k < count and not (removed[k] and log.start[k] < log.start[j]):
        k += 1
    if k == count:
        return log.start[j]
    d = log.arrival[k]
    with nogil:
        open_run(simulation, scene, log, d)
        for job in range(count):
            if (job > j and removed[job]) or not queues(log, delivered, job, j):
                continue
            if log.arrival[job] > d:
                simulation.later[simulation.later_number] = job
                simulation.later_number += 1
            elif log.start[job] >= d:
                insert(simulation.scene.queue, rule.rank[job], job, log)
        for i in range(log.by_start.shape[0]):
            job = log.by_start[i]
            if job > j and removed[job]:
                continue
            if log.start[job] < d < log.end[job]:
                begin(simulation, log, rule, job, log.start[job], log.end[job])
            elif log.start[job] >= d and log.arrival[job] <= log.start[j]:
                if pinned(log, delivered, job, d) and queues(log, delivered, job, j):
                    simulation.pins[simulation.pins_number] = job
                    simulation.pins_number += 1
        found = simulate(simulation, scene, log, rule, delivered, j)
    return found


cdef inline bint queues(
    ObservedPool log, DeliveredCapacity delivered, int64_t job, int64_t j
) noexcept nogil:
    """Return whether an attempt that has not started matters to attempt ``j``."""
    return not delivered.kept or log.start[job] <= log.start[j]


cdef inline bint pinned(
    ObservedPool log, DeliveredCapacity delivered, int64_t job, int64_t d
) noexcept nogil:
    """Return whether an attempt of the queue starts when it was observed to, at the latest."""
    return not delivered.free or log.start[job] <= d or delivered.always[job]


cdef void open_run(
    ForkedRun simulation, PassScene scene, ObservedPool log, int64_t d
) noexcept nogil:
    """Begin a simulation at an instant, with nothing."""
    clear(scene.queue)
    clear(scene.running)
    simulation.ends.number = 0
    simulation.number += 1
    simulation.furthest = NOBODY
    simulation.pinned = simulation.pins_number = 0
    simulation.later_at = simulation.later_number = 0
    scene.sums_running[:] = 0
    scene.now = d
    simulation.i = first_above(log.instants, 0, log.instants.shape[0], d) - 1


cdef void close_run(ForkedRun simulation, ObservedPool log, PassRule rule) noexcept nogil:
    """Take what still runs out of the counters."""
    cdef int64_t i
    for i in range(simulation.ends.number):
        count(simulation.scene, rule.limits, simulation.ends.job[i], -1)


cdef void read_queue(
    JobLine queue, JobLine ranked, ObservedPool log, DeliveredCapacity delivered, int64_t j,
    int64_t d
) noexcept nogil:
    """Queue the attempts before ``j`` that wait at ``d``."""
    cdef int64_t i, job
    for i in range(ranked.head, ranked.tail):
        job = ranked.job[i]
        if job == GAP or job >= j or log.start[job] < d:
            continue
        if not queues(log, delivered, job, j):
            break  # kept order: so are all that follow
        append(queue, ranked.key[i], job, log)


cdef void read_pins(
    ForkedRun simulation, JobLine started, ObservedPool log, DeliveredCapacity delivered,
    int64_t j, int64_t d
) noexcept nogil:
    """Write which attempts of the queue may be pinned."""
    cdef int64_t i, job
    i = started.tail - 1
    while i >= started.head and (started.job[i] == GAP or log.start[started.job[i]] >= d):
        i -= 1
    for i in range(i + 1, started.tail):
        job = started.job[i]
        if job == GAP or job >= j:
            continue
        if log.start[job] > log.start[j] and not delivered.free:
            break
        if pinned(log, delivered, job, d):
            simulation.pins[simulation.pins_number] = job
            simulation.pins_number += 1
    if delivered.bounded or pinned(log, delivered, j, d):
        put_pin(simulation, log, j)


cdef void put_pin(ForkedRun simulation, ObservedPool log, int64_t job) noexcept nogil:
    """Add an attempt to the pins, behind those that start no later."""
    cdef int64_t i = simulation.pins_number
    while i > 0 and log.start[simulation.pins[i - 1]] > log.start[job]:
        simulation.pins[i] = simulation.pins[i - 1]
        i -= 1
    simulation.pins[i] = job
    simulation.pins_number += 1


cdef void read_running(
    ForkedRun simulation, JobLine line, ObservedPool log, PassRule rule, int64_t j, int64_t d
) noexcept nogil:
    """Start the attempts before ``j`` that run at ``d``."""
    cdef int64_t i, job
    for i in range(line.head, line.tail):
        job = line.job[i]
        if job != GAP and job < j and log.start[job] < d < log.end[job]:
            begin(simulation, log, rule, job, log.start[job], log.end[job])


cdef void read_marks(
    ForkedRun simulation, PassScene scene, ObservedPool log, DeliveredCapacity delivered,
    const uint8_t[::1] marks, int64_t j, bint group, uint8_t[::1] context
) noexcept nogil:
    """Write the bits of the marks in the snapshot of ``j``, and of those before it in its group."""
    cdef uint8_t running = 0, queued
    cdef int64_t i, m = j, job
    for i in range(simulation.ends.number):
        running |= marks[simulation.ends.job[i]]
    while m != NOBODY:
        queued = 0
        if m == j or context[j]:  # its queue is part of that of ``j``
            for i in range(scene.queue.tail):
                job = scene.queue.job[i]
                if marks[job] and job <= m and queues(log, delivered, job, m):
                    queued |= marks[job]
        context[m] = running | queued
        m = simulation.previous[m] if group else NOBODY


cdef void drop_ended(JobLine line, ObservedPool log, int64_t j) noexcept nogil:
    """Take out of a line what ended before attempt ``j`` arrived, from time to time."""
    cdef int64_t i
    if line.live < line.due:
        return
    for i in range(line.head, line.tail):
        if line.job[i] != GAP and log.end[line.job[i]] <= log.arrival[j]:
            line.job[i], line.size[i] = GAP, HUGE
            line.live -= 1
    close_gaps(line)
    line.due = line.live + (line.live >> 2) + 16


cdef void begin(
    ForkedRun simulation, ObservedPool log, PassRule rule, int64_t job, int64_t since, int64_t end
) noexcept nogil:
    """Let an attempt run."""
    simulation.begun[job], simulation.serial[job] = since, simulation.number
    push(simulation.ends, end, job)
    run(simulation.scene, log, rule, job, 1)
    if simulation.plans:
        insert(simulation.scene.running, since + log.estimate[job], job, log)


cdef int64_t simulate(
    ForkedRun simulation, PassScene scene, ObservedPool log, PassRule rule,
    DeliveredCapacity delivered, int64_t j
) noexcept nogil:
    """Return when attempt ``j`` starts, or NEVER."""
    cdef int64_t k, job, x
    scene.least = HUGE
    for k in range(scene.queue.head, scene.queue.tail):
        scene.least = min(scene.least, scene.queue.size[k])
    simulation.need, simulation.until = scene.least, NEVER
    while scene.now != NEVER:
        close_windows(scene, rule.limits)
        end_what_ends(simulation, scene, log, rule)
        while simulation.later_at < simulation.later_number:
            job = simulation.later[simulation.later_at]
            if log.arrival[job] > scene.now:
                break
            insert(scene.queue, rule.rank[job], job, log)
            simulation.later_at += 1
            scene.least = min(scene.least, log.request[0, job])
            simulation.need = scene.least
        while simulation.pinned < simulation.pins_number:
            job = simulation.pins[simulation.pinned]
            if log.start[job] > scene.now:
                break
            simulation.pinned += 1
            if simulation.serial[job] != simulation.number:
                leave(simulation, scene, log, rule, job)
        if simulation.serial[j] == simulation.number:
            return scene.now
        if simulation.until <= scene.now:  # the first in turn is passed over from now on
            simulation.need, simulation.until = scene.least, NEVER
        scene.free = delivered.most[simulation.i] - scene.sums_running[0]
        if scene.free >= simulation.need:
            look(simulation, scene, log, rule)
        if simulation.serial[j] == simulation.number:
            return scene.now
        go_on(simulation, scene, log, delivered)
    return NEVER


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
            simulation.need = scene.least  # it may let others through


cdef void leave(
    ForkedRun simulation, PassScene scene, ObservedPool log, PassRule rule, int64_t job
) noexcept nogil:
    """Start an attempt of the queue."""
    simulation.overtaken[job] = simulation.furthest > job
    simulation.furthest = max(simulation.furthest, job)
    remove(scene.queue, rule.rank[job], job)
    begin(simulation, log, rule, job, scene.now, scene.now + log.occupancy[job])
    if simulation.settles or rule.backfill == PassBackfill.NONE:
        simulation.need = scene.least


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
    simulation.until = scene.until
    if scene.edge < rule.limits.edge.shape[0]:
        simulation.until = min(simulation.until, rule.limits.edge[scene.edge])
    if rule.backfill == PassBackfill.NONE and rule.order == PassOrder.RANK and rule.depth == NEVER:
        simulation.need = HUGE if scene.first == NOBODY else log.request[0, scene.first]
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
    cdef int64_t next_time = simulation.until, i, count = log.instants.shape[0], enough
    if simulation.ends.number > 0:
        next_time = min(next_time, simulation.ends.key[0])
    if simulation.pinned < simulation.pins_number:
        next_time = min(next_time, log.start[simulation.pins[simulation.pinned]])
    if simulation.later_at < simulation.later_number:
        next_time = min(next_time, log.arrival[simulation.later[simulation.later_at]])
    enough = simulation.need + scene.sums_running[0]
    i = simulation.i + 1
    while i < count and log.instants[i] <= next_time and delivered.most[i] < enough:
        if i % BLOCK == 0 and delivered.blocks[i // BLOCK] < enough:
            i += BLOCK
        else:
            i += 1
    if i < count and log.instants[i] <= next_time:
        scene.now, simulation.i = log.instants[i], i
        return
    scene.now = next_time
    simulation.i = first_above(log.instants, simulation.i, min(i, count), next_time) - 1
