"""Simulations from a snapshot of the observed schedule."""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t

import numpy as np

from audit.kernels.delivered.lines cimport (
    GAP, HUGE, WIDTHS, JobHeap, JobLine, clear, insert, pop, push, remove
)
from audit.kernels.delivered.model cimport (
    NOBODY, DeliveredCapacity, ObservedPool, PassBackfill, PassOrder, PassRule, queues
)
from audit.kernels.delivered.passes cimport PassScene, close_windows, count, make_pass, rate, run
from audit.kernels.delivered.usage cimport enter_end, enter_start, open_usage, pass_outside
from audit.kernels.sweeps cimport first_above


cdef int64_t CHUNK = 16  # attempts that are read at a time


@cython.final
cdef class ForkedRun:
    """A simulation from a snapshot."""

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
    if rule.order == PassOrder.USAGE:
        open_usage(rule.usage, since)


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


cdef void arrive(
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
    if rule.order == PassOrder.USAGE:
        enter_start(
            rule.usage, rule.usage.owner[job], rule.usage.charge[job], simulation.begun[job]
        )
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


cdef inline bint is_unread(ForkedRun run, int64_t job) noexcept nogil:
    """Return whether an attempt of the line by rank waits."""
    return job != GAP and job < run.last.included and run.begun[job] >= run.unread_since


cdef int64_t next_unread(ForkedRun run, ObservedPool log) noexcept nogil:
    """Return when the first attempt that has not been read was observed to start, or NEVER."""
    while run.unread < run.unread_end:
        if is_unread(run, run.ranked.job[run.unread]):
            return log.start[run.ranked.job[run.unread]]
        run.unread += 1
    return NEVER


cdef void read_on(ForkedRun run, PassScene scene, int64_t number) noexcept nogil:
    """Queue the next attempts of the line by rank."""
    while number > 0 and run.unread < run.unread_end:
        if is_unread(run, run.ranked.job[run.unread]):
            enqueue(run, scene, run.ranked, run.unread)
            number -= 1
        run.unread += 1


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
    if rule.order == PassOrder.USAGE:
        pass_outside(rule.usage, scene.now)
    while simulation.ends.number > 0 and simulation.ends.key[0] <= scene.now:
        job = simulation.ends.job[0]
        if rule.order == PassOrder.USAGE:
            enter_end(
                rule.usage, rule.usage.owner[job], rule.usage.charge[job], log.arrival[job],
                simulation.begun[job], simulation.ends.key[0]
            )
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
    if rule.order == PassOrder.USAGE:
        rate(scene, rule.usage)
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
    """Go on to the next instant at which anything can start or end; NEVER without one."""
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


@cython.final
cdef class LastRun:
    """The starts of a run by blocks of instants, and how the next one differs from it until now."""

    def __init__(self, int64_t count, int64_t blocks):
        self.horizon, self.until = blocks, -HUGE
        self.block = np.full(count, blocks)
        self.starts = np.zeros(blocks + 1, np.int64)
        self.reach, self.longest = np.full(blocks, NEVER), np.full((blocks, WIDTHS), NEVER)
        self.deepest = np.full(blocks + 1, NEVER)
        self.unlike, self.before = np.zeros((2, count), np.int64)


cdef void compare_start(
    ForkedRun run, LastRun last, int64_t job, int64_t now
) noexcept nogil:
    """Note how a start differs from that of the last run."""
    if job >= last.known:
        add_unlike(last, job, LONG_AGO)
    else:
        if last.block[job] < last.at:
            last.lag -= 1
        else:
            last.starts[last.block[job]] -= 1
        if run.begun[job] != now:
            add_unlike(last, job, run.begun[job])
    last.block[job] = last.at
    last.fresh += 1
