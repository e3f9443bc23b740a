"""A pool at one instant, and what a pass of a rule would start."""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t

import numpy as np

from audit.kernels.delivered.lines cimport GAP, HUGE, JobLine, loosen, next_able
from audit.kernels.delivered.model cimport (
    NOBODY, ObservedPool, PassBackfill, PassLimits, PassOrder, PassRule
)
from audit.kernels.delivered.usage cimport UsageOrder, has_turn_before, rate_all, rate_one


@cython.final
cdef class PassScene:
    """A pool at one instant, and working space of a pass."""

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


cdef void close_windows(PassScene scene, PassLimits limits) noexcept nogil:
    """Close and open the windows of limits as they are now; time may go back."""
    while scene.edge < limits.edge.shape[0] and limits.edge[scene.edge] <= scene.now:
        scene.counters[limits.window[scene.edge]] += limits.change[scene.edge]
        scene.edge += 1
    while scene.edge > 0 and limits.edge[scene.edge - 1] > scene.now:
        scene.edge -= 1
        scene.counters[limits.window[scene.edge]] -= limits.change[scene.edge]


cdef void make_pass(PassScene scene, ObservedPool log, PassRule rule, bint probing) noexcept nogil:
    """Write which attempts the rule starts to ``chosen``; or, ``probing``, lower ``free``."""
    scene.number, scene.first, scene.longest, scene.until = 0, NOBODY, NEVER, NEVER
    if scene.free < scene.least:
        return
    if rule.backfill == PassBackfill.REPLAN:
        plan_all(scene, log, rule, probing)
    else:
        serve(scene, log, rule, probing)


cdef void serve(PassScene scene, ObservedPool log, PassRule rule, bint probing) noexcept nogil:
    """Make a pass of NONE, NO_GUARANTEE or EASY."""
    cdef int64_t head = NOBODY, shadow, left, most = HUGE - 1, examined = 0, job
    cdef bint guarded = rule.backfill == PassBackfill.EASY, past
    open_turns(scene, log, rule)
    if rule.backfill == PassBackfill.NO_GUARANTEE:
        most = scene.free
    while head == NOBODY and examined < rule.depth:
        job = next_turn(scene, log, rule, most, NEVER, HUGE)
        if job == NOBODY:
            return
        if not let_through(scene, rule, job):
            pass_over(scene, rule, job)
            continue
        examined += 1
        if not fits(scene, log, job):
            if rule.backfill != PassBackfill.NO_GUARANTEE:
                head = job
        elif take(scene, log, rule, job, probing) and rule.backfill != PassBackfill.NO_GUARANTEE:
            head = job
        if rule.backfill == PassBackfill.NO_GUARANTEE:
            most = scene.free
            if most < scene.least:
                return
    if head == NOBODY:
        return
    scene.first = head
    if rule.held.shape[0] > 0:
        scene.until = min(scene.until, rule.held[head])
    if not guarded:
        return
    if scene.free < scene.least:
        return
    narrow(scene, log, rule, scene.free)
    if rule.depth == NEVER and not any_turn(scene, rule, scene.free):
        return
    shadow = shadow_of(scene, log, head)
    scene.longest = left = NEVER if shadow == NEVER else shadow - scene.now
    while examined < rule.depth and scene.free >= scene.least:
        if rule.depth == NEVER:
            job = next_turn(scene, log, rule, scene.free, left, scene.sums[0])
        else:
            job = next_turn(scene, log, rule, HUGE - 1, NEVER, HUGE)
        if job == NOBODY:
            return
        past = log.estimate[job] > left
        if past and not within(scene, log, job) and rule.depth == NEVER:
            continue
        if not let_through(scene, rule, job):
            pass_over(scene, rule, job)
            continue
        examined += 1
        if not fits(scene, log, job) or log.estimate[job] > rule.window:
            continue
        if past and not within(scene, log, job):
            continue
        take(scene, log, rule, job, probing)
        if past and not probing:
            take_extra(scene, log, job)


cdef inline void pass_over(PassScene scene, PassRule rule, int64_t job) noexcept nogil:
    """Note until when a rule holds an attempt, and do not look at one again that stays held."""
    if rule.released.shape[0] > 0 and rule.released[job] > scene.now:
        scene.until = min(scene.until, rule.released[job])
    if rule.held.shape[0] > 0 and rule.held[job] <= scene.now and rule.order == PassOrder.RANK:
        loosen(scene.queue, scene.at - 1)


cdef inline bint fits(PassScene scene, ObservedPool log, int64_t job) noexcept nogil:
    """Return whether what an attempt requests is free."""
    cdef int64_t x
    if log.request[0, job] > scene.free and log.request[0, job] > 0:
        return False
    for x in range(1, log.request.shape[0]):
        if log.request[x, job] > scene.left[x] and log.request[x, job] > 0:
            return False
    return True


cdef bint take(
    PassScene scene, ObservedPool log, PassRule rule, int64_t job, bint probing
) noexcept nogil:
    """Start an attempt, or, ``probing``, lower what is free; return whether it was lowered."""
    cdef int64_t x
    if probing:
        if log.request[0, job] > 0:
            scene.free = log.request[0, job] - 1
        return log.request[0, job] > 0
    scene.free -= log.request[0, job]
    scene.planned -= log.request[0, job]
    for x in range(1, log.request.shape[0]):
        scene.left[x] -= log.request[x, job]
    count(scene, rule.limits, job, 1)
    scene.chosen[scene.number] = job
    scene.number += 1
    return False


cdef int64_t shadow_of(PassScene scene, ObservedPool log, int64_t head) noexcept nogil:
    """Return when the head is expected to fit, or NEVER, and write the extra then to ``sums``."""
    cdef int64_t resources = log.request.shape[0], x, i = scene.running.head, k = 0, job, time
    cdef int64_t[::1] sums = scene.sums
    for x in range(resources):
        sums[x] = scene.planned if x == 0 else scene.left[x]
    sort_chosen(scene, log)
    while True:
        while i < scene.running.tail and scene.running.job[i] == GAP:
            i += 1
        time = NEVER
        if i < scene.running.tail:
            time = scene.running.key[i]
        if k < scene.number:
            time = min(time, scene.now + log.estimate[scene.chosen[k]])
        if time == NEVER:
            return NEVER
        while i < scene.running.tail and scene.running.key[i] == time:
            if scene.running.job[i] != GAP:
                for x in range(resources):
                    sums[x] += log.request[x, scene.running.job[i]]
            i += 1
        while k < scene.number and scene.now + log.estimate[scene.chosen[k]] == time:
            for x in range(resources):
                sums[x] += log.request[x, scene.chosen[k]]
            k += 1
        if time > scene.now and leaves(sums, log, head):
            for x in range(resources):
                sums[x] -= log.request[x, head]
            return time


cdef inline bint leaves(int64_t[::1] sums, ObservedPool log, int64_t job) noexcept nogil:
    """Return whether an attempt fits in amounts."""
    cdef int64_t x
    for x in range(log.request.shape[0]):
        if log.request[x, job] > 0 and log.request[x, job] > sums[x]:
            return False
    return True


cdef inline bint within(PassScene scene, ObservedPool log, int64_t job) noexcept nogil:
    """Return whether an attempt fits in the extra."""
    return leaves(scene.sums, log, job)


cdef inline void take_extra(PassScene scene, ObservedPool log, int64_t job) noexcept nogil:
    cdef int64_t x
    for x in range(log.request.shape[0]):
        scene.sums[x] -= log.request[x, job]


cdef void sort_chosen(PassScene scene, ObservedPool log) noexcept nogil:
    """Put what the pass has started in the order of expected ends."""
    cdef int64_t i, k, job
    for i in range(1, scene.number):
        job = scene.chosen[i]
        k = i
        while k > 0 and log.estimate[scene.chosen[k - 1]] > log.estimate[job]:
            scene.chosen[k] = scene.chosen[k - 1]
            k -= 1
        scene.chosen[k] = job


# --- plans ----------------------------------------------------------------------------------------


cdef void plan_all(PassScene scene, ObservedPool log, PassRule rule, bint probing) noexcept nogil:
    """Make a pass of REPLAN."""
    cdef int64_t examined = 0, reserved = 0, waits = False, job, k
    open_turns(scene, log, rule)
    expect(scene, log)
    while examined < rule.depth and scene.free >= scene.least:
        job = next_turn(scene, log, rule, HUGE - 1, NEVER, HUGE)
        if job == NOBODY:
            return
        if not let_through(scene, rule, job):
            continue
        examined += 1
        if waits and log.estimate[job] > rule.window:
            continue
        k = earliest(scene, log, job)
        if k != 0:
            waits = True
            if k == NOBODY or reserved == rule.reservations:
                continue
            reserved += 1
        elif fits(scene, log, job):
            take(scene, log, rule, job, probing)
        reserve(scene, log, job, k)


cdef void expect(PassScene scene, ObservedPool log) noexcept nogil:
    """Write what planners expect to be free from now on."""
    cdef int64_t x, i, k = 0
    scene.times[0] = scene.now
    scene.levels[0, 0] = scene.planned
    for x in range(1, log.request.shape[0]):
        scene.levels[x, 0] = scene.left[x]
    for i in range(scene.running.head, scene.running.tail):
        if scene.running.job[i] == GAP:
            continue
        if scene.running.key[i] > scene.times[k]:
            k += 1
            scene.times[k] = scene.running.key[i]
            for x in range(log.request.shape[0]):
                scene.levels[x, k] = scene.levels[x, k - 1]
        for x in range(log.request.shape[0]):
            scene.levels[x, k] += log.request[x, scene.running.job[i]]
    scene.levels_number = k + 1


cdef int64_t earliest(PassScene scene, ObservedPool log, int64_t job) noexcept nogil:
    """Return the first level from whose begin on an attempt fits for its estimate, or NOBODY."""
    cdef int64_t begin = 0, k = 0, estimate = log.estimate[job], number = scene.levels_number
    while k < number:
        if k > begin and scene.times[k] - scene.times[begin] >= estimate:
            return begin
        if not roomy(scene, log, job, k):
            begin = k + 1
        k += 1
    return begin if begin < number else NOBODY


cdef inline bint roomy(PassScene scene, ObservedPool log, int64_t job, int64_t k) noexcept nogil:
    """Return whether an attempt fits in a level."""
    cdef int64_t x
    for x in range(log.request.shape[0]):
        if log.request[x, job] > 0 and log.request[x, job] > scene.levels[x, k]:
            return False
    return True


cdef void reserve(PassScene scene, ObservedPool log, int64_t job, int64_t begin) noexcept nogil:
    """Take what an attempt requests from the plan, for its estimate from a level on."""
    cdef int64_t until = scene.times[begin] + log.estimate[job], k = begin, x, i
    while k < scene.levels_number and scene.times[k] < until:
        k += 1
    if k == scene.levels_number or scene.times[k] > until:
        for i in range(scene.levels_number, k, -1):
            scene.times[i] = scene.times[i - 1]
        scene.times[k] = until
        for x in range(log.request.shape[0]):
            for i in range(scene.levels_number, k, -1):
                scene.levels[x, i] = scene.levels[x, i - 1]
            scene.levels[x, k] = scene.levels[x, k - 1]
        scene.levels_number += 1
    for x in range(log.request.shape[0]):
        for i in range(begin, k):
            scene.levels[x, i] -= log.request[x, job]


# --- whose turn it is -----------------------------------------------------------------------------


cdef void open_turns(PassScene scene, ObservedPool log, PassRule rule) noexcept nogil:
    """Begin to serve the queue from its front."""
    cdef int64_t i
    scene.at = scene.queue.head
    scene.turns = 0
    if rule.order == PassOrder.RANK:
        return
    for i in range(scene.queue.head, scene.queue.tail):
        if scene.queue.job[i] != GAP:
            scene.turn[scene.turns] = scene.queue.job[i]
            scene.turns += 1
    heapify(scene, log, rule)


cdef void narrow(PassScene scene, ObservedPool log, PassRule rule, int64_t most) noexcept nogil:
    """Forget those that cannot start now, in orders that change, unless the depth counts them."""
    cdef int64_t kept = 0, i, job
    if rule.order == PassOrder.RANK or rule.depth != NEVER:
        return
    for i in range(scene.turns):
        job = scene.turn[i]
        if log.request[0, job] <= most:
            scene.turn[kept] = job
            kept += 1
    scene.turns = kept
    heapify(scene, log, rule)


cdef inline int64_t next_turn(
    PassScene scene, ObservedPool log, PassRule rule, int64_t most, int64_t left, int64_t spare
) noexcept nogil:
    """Return the next attempt that may start, as ``next_able``, or NOBODY."""
    cdef int64_t i, job
    if rule.order == PassOrder.RANK:
        i = next_able(scene.queue, scene.at, most, left, spare)
        scene.at = i + 1
        return scene.queue.job[i] if i < scene.queue.tail else NOBODY
    while scene.turns > 0:
        job = scene.turn[0]
        scene.turns -= 1
        scene.turn[0] = scene.turn[scene.turns]
        sift(scene, log, rule, 0)
        if log.request[0, job] <= most and (
            log.estimate[job] <= left or log.request[0, job] <= spare
        ):
            return job
    return NOBODY


cdef inline bint any_turn(PassScene scene, PassRule rule, int64_t most) noexcept nogil:
    """Return whether any attempt that has not been served requests at most ``most``."""
    if rule.order != PassOrder.RANK:
        return scene.turns > 0
    scene.at = next_able(scene.queue, scene.at, most, NEVER, HUGE)
    return scene.at < scene.queue.tail


cdef void heapify(PassScene scene, ObservedPool log, PassRule rule) noexcept nogil:
    cdef int64_t i
    for i in range(scene.turns // 2 - 1, -1, -1):
        sift(scene, log, rule, i)


cdef void sift(PassScene scene, ObservedPool log, PassRule rule, int64_t i) noexcept nogil:
    """Move the attempt at place ``i`` of the heap down to where it belongs."""
    cdef int64_t below, job
    if i >= scene.turns:
        return
    job = scene.turn[i]
    while True:
        below = 2 * i + 1
        if below >= scene.turns:
            break
        if below + 1 < scene.turns and comes_first(
            scene, log, rule, scene.turn[below + 1], scene.turn[below]
        ):
            below += 1
        if not comes_first(scene, log, rule, scene.turn[below], job):
            break
        scene.turn[i] = scene.turn[below]
        i = below
    scene.turn[i] = job


cdef bint comes_first(
    PassScene scene, ObservedPool log, PassRule rule, int64_t one, int64_t other
) noexcept nogil:
    """Return whether attempt ``one`` is served before ``other``; ties by index."""
    cdef int64_t left, right
    if rule.order == PassOrder.EXPANSION:
        left = (scene.now - log.arrival[one]) * log.estimate[other]
        right = (scene.now - log.arrival[other]) * log.estimate[one]
        return left > right or (left == right and one < other)
    return has_turn_before(rule.usage, rule.usage.owners.slurm, log.arrival, one, other)


cdef void rate(PassScene scene, UsageOrder by) noexcept nogil:
    """Find the keys of the owners of what waits, by what has been entered."""
    cdef int64_t i
    if scene.queue.live < 2:
        return
    rate_all(by, scene.now)
    for i in range(scene.queue.head, scene.queue.tail):
        if scene.queue.job[i] != GAP:
            rate_one(by, scene.queue.job[i], scene.now)
