"""The observed schedule, instant by instant: what runs, what waits, and what a rule would start."""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t, uint8_t

import numpy as np

from audit.kernels.delivered.lines cimport HUGE, JobHeap, insert, pop, push, remove
from audit.kernels.delivered.model cimport (
    NOBODY, ObservedPool, PassBackfill, PassOrder, PassRule
)
from audit.kernels.delivered.passes cimport PassScene, close_windows, count, make_pass, rate, run
from audit.kernels.delivered.usage cimport UsageOrder, observe_until, open_observed
from audit.kernels.growing cimport GrowingTable, add_row


@cython.final
cdef class ObservedSweep:
    """How far a sweep has come."""
    cdef PassScene scene
    cdef JobHeap smallest  # what waits, and what has started since, by size
    cdef int64_t arrived, started, ended  # numbers of attempts
    cdef bint plans  # whether planners need to know what runs

    def __init__(self, ObservedPool log not None, PassRule rule not None):
        count = len(log.arrival)
        self.scene, self.smallest = PassScene(log, len(rule.limits.most)), JobHeap(count)
        if rule.order == PassOrder.USAGE:
            open_observed(rule.usage)


cdef void free_and_join(
    ObservedSweep sweep, PassScene scene, ObservedPool log, PassRule rule, int64_t i
) noexcept nogil:
    """Go on to an instant: end what ends, and queue what arrives."""
    cdef int64_t now = log.instants[i], job, x
    scene.now = now
    close_windows(scene, rule.limits)
    while sweep.ended < log.by_end.shape[0] and log.end[log.by_end[sweep.ended]] <= now:
        job = log.by_end[sweep.ended]
        sweep.ended += 1
        if sweep.plans:
            remove(scene.running, log.start[job] + log.estimate[job], job)
        run(scene, log, rule, job, -1)
    while sweep.arrived < log.arrival.shape[0] and log.arrival[sweep.arrived] <= now:
        job = sweep.arrived
        sweep.arrived += 1
        insert(scene.queue, rule.rank[job], job, log)
        push(sweep.smallest, log.request[0, job], job)
    for x in range(1, log.request.shape[0]):
        scene.left[x] = log.capacity[x, i] - scene.sums_running[x]


cdef void start(
    ObservedSweep sweep, PassScene scene, ObservedPool log, PassRule rule, int64_t i
) noexcept nogil:
    """Start what starts at the instant."""
    cdef int64_t job, x
    while sweep.started < log.by_start.shape[0]:
        job = log.by_start[sweep.started]
        if log.start[job] > scene.now:
            break
        sweep.started += 1
        remove(scene.queue, rule.rank[job], job)
        if sweep.plans:
            insert(scene.running, log.start[job] + log.estimate[job], job, log)
        run(scene, log, rule, job, 1)
    for x in range(1, log.request.shape[0]):
        scene.left[x] = log.capacity[x, i] - scene.sums_running[x]


cdef void find_least(
    PassScene scene, JobHeap smallest, ObservedPool log, bint after
) noexcept nogil:
    """Write the least size of what waits, ``after`` the starts of the instant or before them."""
    while smallest.number > 0 and log.start[smallest.job[0]] < scene.now + after:
        pop(smallest)
    scene.least = smallest.key[0] if smallest.number > 0 else HUGE


cdef inline void rate_observed(PassScene scene, PassRule rule, UsageOrder by) noexcept nogil:
    """Find the keys of the owners of what waits, if the order depends on them."""
    if rule.order == PassOrder.USAGE:
        observe_until(by, scene.now)
        rate(scene, by)


def capacities(
    ObservedPool log not None, PassRule rule not None, const uint8_t[::1] wanted, int64_t[::1] out
):
    """Write the capacity that the machine delivered under a rule at each wanted instant: C, [m].

    Source: SPEC §10, *Delivered capacity*.
    """
    cdef ObservedSweep sweep = ObservedSweep(log, rule)
    cdef PassScene scene = sweep.scene
    cdef int64_t i, whole
    sweep.plans = rule.backfill >= PassBackfill.EASY
    with nogil:
        for i in range(log.instants.shape[0]):
            free_and_join(sweep, scene, log, rule, i)
            start(sweep, scene, log, rule, i)
            if not wanted[i]:
                continue
            whole = max(log.capacity[0, i], log.used[i])
            find_least(scene, sweep.smallest, log, True)
            scene.free = scene.planned = whole - log.used[i]
            if scene.queue.live > 0:
                rate_observed(scene, rule, rule.usage)
                make_pass(scene, log, rule, True)
            out[i] = log.used[i] + scene.free


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class AgreementGoal:
    """The agreement below which rules do not matter."""
    cdef double least  # 0 to 1
    cdef const int64_t[::1] seen  # [J], observed starts that count, at each instant
    cdef int64_t seen_in_all
    cdef const int64_t[:, ::1] known  # rules × 2: the sums of ``out`` before


@cython.cdivision(True)
cdef bint is_lost(AgreementGoal goal, int64_t[:, ::1] sums, int64_t[::1] left) noexcept nogil:
    """Return whether no rule can reach a goal, with ``left`` observed starts to come for each."""
    cdef int64_t k
    cdef double most
    for k in range(sums.shape[0]):
        most = sums[k, 0] + left[k]
        if most / max(goal.seen_in_all + sums[k, 1], 1) >= goal.least:
            return False
    return True


def agreement(
    ObservedPool log not None, PassRule rule not None, const int64_t[::1] most,
    const int64_t[::1] judged, const uint8_t[:, ::1] wanted, const uint8_t[::1] waited,
    const int64_t[:, ::1] settings, int64_t[:, :, ::1] out, AgreementGoal goal not None
):
    """Count how well rules that differ in their backfilling agree with the observed starts.

    Args:
        rule: their order and limits.
        most: [m], C of fcfs and no_guarantee.
        judged: [J], the instants that count, by index, ascending.
        wanted: rules × J, at which of them passes of each rule are made.
        waited: [n], whether an attempt waited long enough to count where it was started.
        settings: rules × (backfill, depth, reservations, window).
        out: rules × 2 × J, to which are added, where wanted: starts that were observed and chosen,
            and attempts chosen that did not start then.
        goal: what the rules are compared for.

    Returns:
        None if no rule can reach the goal, and then ``out`` is of no use. Otherwise rows of (place
        in ``wanted``, attempt): the attempts without which the rule would start others, which are
        those that start and the first that cannot; not of rules that plan or count what they
        examine, to which any attempt matters.

    Source: SPEC §10, *Agreement*.
    """
    cdef int64_t[:, ::1] sums = np.array(goal.known)
    cdef int64_t[::1] left = np.asarray(wanted) @ np.asarray(goal.seen)
    cdef bint lost = is_lost(goal, sums, left)
    cdef ObservedSweep sweep = ObservedSweep(log, rule)
    cdef PassScene scene = sweep.scene
    cdef GrowingTable served = GrowingTable(2)
    cdef int64_t i, k, running, place = 0, passes = np.count_nonzero(wanted)
    sweep.plans = np.max(settings[:, 0]) >= <int> PassBackfill.EASY
    with nogil:
        for i in range(log.instants.shape[0]):
            if lost or passes == 0:
                break
            free_and_join(sweep, scene, log, rule, i)
            if place < judged.shape[0] and judged[place] == i:
                rate_observed(scene, rule, rule.usage)
                find_least(scene, sweep.smallest, log, False)
                running = scene.sums_running[0]
                for k in range(settings.shape[0]):
                    if not wanted[k, place]:
                        continue
                    rule.backfill = <PassBackfill>settings[k, 0]
                    rule.depth, rule.reservations = settings[k, 1], settings[k, 2]
                    rule.window = settings[k, 3]
                    scene.free = most[i] - running
                    scene.planned = max(log.capacity[0, i], log.used[i]) - running
                    compare(scene, log, rule, waited, out, k, place, served)
                    sums[k, 0] += out[k, 0, place]
                    sums[k, 1] += out[k, 1, place]
                    left[k] -= goal.seen[place]
                    passes -= 1
                place += 1
                lost = is_lost(goal, sums, left)
            start(sweep, scene, log, rule, i)
    return None if lost else served.taken()


cdef void compare(
    PassScene scene, ObservedPool log, PassRule rule, const uint8_t[::1] waited,
    int64_t[:, :, ::1] out, int64_t row, int64_t place, GrowingTable served
) noexcept nogil:
    """Make a pass, count its starts, and take it back."""
    cdef int64_t k, x, job, at = row * out.shape[2] + place
    cdef bint few = rule.backfill != PassBackfill.REPLAN and rule.depth == NEVER
    make_pass(scene, log, rule, False)
    for k in range(scene.number):
        job = scene.chosen[k]
        count(scene, rule.limits, job, -1)
        for x in range(1, log.request.shape[0]):
            scene.left[x] += log.request[x, job]
        if log.start[job] != scene.now:
            out[row, 1, place] += 1
        else:
            out[row, 0, place] += waited[job]
        if few:
            serve(served, at, job)
    if few and scene.first != NOBODY:
        serve(served, at, scene.first)


cdef inline void serve(GrowingTable served, int64_t at, int64_t job) noexcept nogil:
    cdef int64_t* made = add_row(served)
    if made != NULL:
        made[0], made[1] = at, job


def held_from(ObservedPool log not None, const int64_t[::1] user, int64_t users, int64_t[::1] out):
    """Write from when on there is evidence that an attempt was held; NEVER without one.

    A later attempt of the same user, with size and estimate at least its own, starts then; the hold
    ends when the attempt itself starts. Unknown users are < 0.

    Source: SPEC §10, *Cautious*.
    """
    cdef int64_t[::1] first = np.full(users, NOBODY), last = np.full(users, NOBODY)
    cdef int64_t[::1] before = np.full(len(user), NOBODY), after = np.full(len(user), NOBODY)
    cdef int64_t arrived = 0, k, job, other, following
    with nogil:
        out[:] = NEVER
        for k in range(log.by_start.shape[0]):
            job = log.by_start[k]
            while arrived <= job:  # what arrived later cannot be held by it
                join(arrived, user[arrived], first, last, before, after)
                arrived += 1
            if user[job] < 0:
                continue
            other = first[user[job]]
            while other != NOBODY and other < job:
                following = after[other]
                if (
                    log.request[0, job] >= log.request[0, other]
                    and log.estimate[job] >= log.estimate[other]
                ):
                    out[other] = log.start[job]
                    part(other, user[job], first, last, before, after)
                other = following


cdef inline void join(
    int64_t job, int64_t user, int64_t[::1] first, int64_t[::1] last, int64_t[::1] before,
    int64_t[::1] after
) noexcept nogil:
    """Add an attempt to the list of its user's."""
    if user < 0:
        return
    before[job] = last[user]
    if last[user] == NOBODY:
        first[user] = job
    else:
        after[last[user]] = job
    last[user] = job


cdef inline void part(
    int64_t job, int64_t user, int64_t[::1] first, int64_t[::1] last, int64_t[::1] before,
    int64_t[::1] after
) noexcept nogil:
    """Take an attempt out of the list of its user's."""
    if before[job] == NOBODY:
        first[user] = after[job]
    else:
        after[before[job]] = after[job]
    if after[job] == NOBODY:
        last[user] = before[job]
    else:
        before[after[job]] = before[job]
