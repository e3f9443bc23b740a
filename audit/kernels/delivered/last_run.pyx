"""The run without what arrives from some attempt on, continued from one such attempt to the next.

Two such runs differ little: the second has a few more attempts, and begins at a later snapshot.
It is simulated only where it differs. Instants are taken in blocks. The runs are *alike* at the
begin of a block if the same attempts run, since the same instants, and the same wait, except for
new ones. From there on they do the same until a new attempt could start, or stop others. The
bounds of each block tell whether one could. The blocks before the first where it could are left
out: the state at its begin follows from the starts of the last run, and the simulation goes on.
"""

from libc.stdint cimport INT64_MAX as NEVER, int64_t

import numpy as np

from audit.kernels.delivered.lines cimport GAP, HUGE, JobLine, first_from, push, width
from audit.kernels.delivered.model cimport (
    NOBODY, DeliveredCapacity, ObservedPool, PassBackfill, PassOrder, PassRule
)
from audit.kernels.delivered.passes cimport PassScene
from audit.kernels.delivered.runs cimport (
    LONG_AGO, ForkedRun, LastRun, add_unlike, begin_expected, enqueue, go_on, leave_unread,
    open_run, pinned, read_on, step
)
from audit.kernels.sweeps cimport first_above


cdef bint in_turn(PassRule rule, DeliveredCapacity delivered):
    """Return whether new attempts are served last, or passes stop where one does not fit."""
    if rule.order != PassOrder.RANK or rule.depth != NEVER:
        return False
    if rule.backfill == PassBackfill.NONE:
        return True
    return rule.backfill != PassBackfill.REPLAN and bool((np.diff(rule.rank) > 0).all())


cdef void take_part(
    LastRun last, ObservedPool log, DeliveredCapacity delivered, int64_t j
) noexcept nogil:
    """Let the attempts up to ``j`` take part in the next run."""
    cdef int64_t job
    last.known, last.included = last.included, max(last.included, j + 1)
    for job in range(last.known, last.included):
        last.until = max(last.until, log.start[job] if delivered.bounded else NEVER)


cdef void open_snapshot(
    ForkedRun run, LastRun last, PassScene scene, JobLine ranked, ObservedPool log, PassRule rule,
    DeliveredCapacity delivered, int64_t j, int64_t d
) noexcept nogil:
    """Begin the next run at ``d``, with the attempts up to ``j``."""
    cdef int64_t i = 0, job, before, deep
    open_run(run, scene, log, rule, d, d, NOBODY)
    take_part(last, log, delivered, j)
    open_block(last, run.i >> delivered.bits)
    last.starts[last.at], last.deep = 0, NOBODY
    deep = last.deepest[min(last.at, last.horizon)]
    for i in range(ranked.head, ranked.tail):
        job = ranked.job[i]
        if job == GAP or job >= last.included:
            continue
        if log.start[job] >= d:
            if delivered.kept and ranked.key[i] > deep:
                leave_unread(run, i, LONG_AGO)
                break
            if job < last.known and last.block[job] <= last.at:
                if last.block[job] < last.at:
                    last.lag += 1
                else:
                    last.starts[last.at] += 1
            enqueue(run, scene, ranked, i)
            continue
        before = run.begun[job] if job < last.known else LONG_AGO
        if before != log.start[job]:
            if job < last.known and last.block[job] > last.at:
                last.starts[last.block[job]] -= 1
            if log.end[job] > d or before > d - log.occupancy[job]:
                add_unlike(last, job, before)
            run.begun[job], last.block[job] = log.start[job], NOBODY
        if log.end[job] > d:
            push(run.expected, log.start[job] + log.estimate[job], job)
    begin_expected(run, scene, log, rule)


cdef void resume(
    ForkedRun run, LastRun last, PassScene scene, JobLine ranked, ObservedPool log, PassRule rule,
    DeliveredCapacity delivered, int64_t block
) noexcept nogil:
    """Go on at the begin of a block, where the runs are alike."""
    cdef int64_t i, job, now = log.instants[block << delivered.bits]
    open_run(run, scene, log, rule, run.since, now, NOBODY)
    open_block(last, block)
    last.deep = last.deepest[block - 1]
    for i in range(ranked.head, ranked.tail):
        job = ranked.job[i]
        if job == GAP or job >= last.included:
            continue
        if delivered.kept and ranked.key[i] > last.deep and log.start[job] >= run.since:
            leave_unread(run, i, now)
            break
        if run.begun[job] >= now:
            enqueue(run, scene, ranked, i)
        elif run.begun[job] > now - log.occupancy[job]:
            push(run.expected, run.begun[job] + log.estimate[job], job)
    begin_expected(run, scene, log, rule)


cdef void open_block(LastRun last, int64_t block) noexcept nogil:
    """Begin with a block, alike so far."""
    last.at = block
    last.fresh = last.lag = last.unlikes = 0
    forget_bounds(last)


cdef inline void forget_bounds(LastRun last) noexcept nogil:
    last.reach[last.at] = NOBODY
    last.longest[last.at, :] = NOBODY


cdef void go_through(
    ForkedRun run, LastRun last, PassScene scene, JobLine ranked, ObservedPool log, PassRule rule,
    DeliveredCapacity delivered, int64_t j, bint opened
) noexcept nogil:
    """Simulate the run with the attempts up to ``j``, where it differs from the last."""
    cdef int64_t blocks = last.reach.shape[0], block, i
    if not opened:
        if j < last.included:
            return
        take_part(last, log, delivered, j)
        i = first_above(log.instants, 0, log.instants.shape[0], run.since) - 1
        block = next_block(run, last, log, rule, delivered, i >> delivered.bits)
        if is_over(last, log, delivered, block):
            return
        if block > i >> delivered.bits:
            resume(run, last, scene, ranked, log, rule, delivered, block)
        else:
            last.included = last.known
            open_snapshot(run, last, scene, ranked, log, rule, delivered, j, run.since)
    while True:
        step(run, scene, log, rule, delivered)
        bound_block(run, last, scene, rule)
        go_on(run, scene, log, delivered)
        block = blocks if scene.now == NEVER else run.i >> delivered.bits
        while last.at < block:
            last.lag += last.starts[last.at]
            last.starts[last.at], last.fresh = last.fresh, 0
            last.deepest[last.at] = last.deep
            last.at += 1
            if last.at == blocks:
                break
            if last.at < last.horizon and alike(
                run, last, log, log.instants[last.at << delivered.bits]
            ):
                i = last.at
                while last.deepest[i] < last.deep:
                    last.deepest[i] = last.deep
                    i += 1
                i = next_block(run, last, log, rule, delivered, last.at)
                if scene.now == NEVER or is_over(last, log, delivered, i):
                    return
                if i > block:
                    resume(run, last, scene, ranked, log, rule, delivered, i)
                    break
            forget_bounds(last)
            bound_block(run, last, scene, rule)
        if scene.now == NEVER or scene.now > last.until:
            break
    close_run(run, last, scene)


cdef inline bint is_over(
    LastRun last, ObservedPool log, DeliveredCapacity delivered, int64_t block
) noexcept nogil:
    """Return whether nothing is needed from a block on."""
    if block == last.reach.shape[0]:
        return True
    return log.instants[block << delivered.bits] > last.until


cdef void close_run(ForkedRun run, LastRun last, PassScene scene) noexcept nogil:
    """Note that no more is known of a run than up to the block that it has come to."""
    cdef int64_t blocks = last.reach.shape[0], i
    if last.at < blocks:
        last.starts[last.at : last.horizon] = 0
        last.starts[last.at], last.deepest[last.at] = last.fresh, last.deep
    last.horizon = last.at
    read_on(run, scene, NEVER)
    for i in range(scene.queue.head, scene.queue.tail):
        if scene.queue.job[i] != GAP:
            run.begun[scene.queue.job[i]] = NEVER
            last.block[scene.queue.job[i]] = blocks


cdef int64_t next_block(
    ForkedRun run, LastRun last, ObservedPool log, PassRule rule, DeliveredCapacity delivered,
    int64_t block
) noexcept nogil:
    """Return the first block, from ``block`` on, in which a new attempt could make a difference.

    It is at most the first one of which the last run is not known.
    """
    cdef int64_t stop = last.horizon, job, i, bits
    for job in range(last.known, last.included):
        if run.begun[job] != NEVER or log.start[job] < run.since:
            continue
        if log.start[job] != NEVER and pinned(run, log, delivered, job):
            i = first_above(log.instants, 0, log.instants.shape[0], log.start[job]) - 1
            stop = min(stop, max(i >> delivered.bits, block))
        i, bits = block, width(log.request[0, job])
        if rule.backfill == PassBackfill.NONE:
            while i < stop and last.reach[i] < rule.rank[job]:
                i += 1
        else:
            while i < stop and last.longest[i, bits] < log.estimate[job]:
                i += 1
        stop = i
    return stop


cdef void bound_block(
    ForkedRun run, LastRun last, PassScene scene, PassRule rule
) noexcept nogil:
    """Note what could start behind the queue, or in it, until the next instant of the run."""
    cdef int64_t at = last.at, left = NEVER, spare = HUGE, most, bits
    if rule.backfill == PassBackfill.NONE:
        if run.settled and scene.first != NOBODY:
            last.reach[at] = max(last.reach[at], rule.rank[scene.first])
        else:
            last.reach[at] = NEVER
        return
    if run.settled and scene.longest < NEVER:
        left, spare = scene.longest, scene.sums[0]
    most = max(run.need - 1, scene.free)
    spare = width(min(most, spare))
    for bits in range(width(most) + 1):
        last.longest[at, bits] = max(last.longest[at, bits], NEVER if bits <= spare else left)


cdef bint alike(
    ForkedRun run, LastRun last, ObservedPool log, int64_t now
) noexcept nogil:
    """Return whether the runs are alike at the begin of a block; drop what is over in both."""
    cdef int64_t kept = 0, i, since
    for i in range(last.unlikes):
        since = now - log.occupancy[last.unlike[i]]
        if run.begun[last.unlike[i]] > since or last.before[i] > since:
            last.unlike[kept], last.before[kept] = last.unlike[i], last.before[i]
            kept += 1
    last.unlikes = kept
    return kept == 0 and last.lag == 0


cdef bint is_disturbed(
    ForkedRun run, JobLine ranked, ObservedPool log, PassRule rule, DeliveredCapacity delivered,
    int64_t j
) noexcept nogil:
    """Return whether anything that does not matter to ``j`` has started before it."""
    cdef int64_t i, job, begun
    if delivered.kept:
        if rule.limits.first.shape[0] + rule.held.shape[0] + rule.released.shape[0] == 0:
            return False  # none is passed over
        for i in range(first_from(ranked, rule.rank[j] + 1), ranked.tail):
            job = ranked.job[i]
            if ranked.key[i] > run.last.deepest[run.last.block[j]]:
                return False
            if job != GAP and run.begun[job] < run.begun[j]:
                return True
        return False
    begun = min(run.begun[j], log.start[j]) if delivered.bounded else run.begun[j]
    for job in range(j + 1, run.last.included):
        if run.begun[job] != NEVER and run.begun[job] <= begun:
            return True
    return False
