"""Fair starts on what the machine delivered (SPEC §10): without later arrivals.

With the later arrivals left in, and all starts pinned, the observed schedule results exactly. The
attempts that have not ended when one arrives are kept in a line by rank, from which snapshots are
read.
"""

from libc.stdint cimport INT64_MAX as NEVER, int32_t, int64_t, uint8_t

import numpy as np

from audit.kernels.delivered.last_run cimport (
    go_through, has_ended, in_turn, is_disturbed, open_snapshot
)
from audit.kernels.delivered.lines cimport GAP, HUGE, JobLine, close_gaps, insert, push
from audit.kernels.delivered.model cimport NOBODY, DeliveredCapacity, ObservedPool, PassRule, queues
from audit.kernels.delivered.passes cimport PassScene
from audit.kernels.delivered.runs cimport (
    ForkedRun, LastRun, arrive, begin_expected, fork, open_run, simulate
)


def fair_starts(
    ObservedPool log not None, PassRule rule not None, DeliveredCapacity delivered not None,
    const uint8_t[::1] subject, const uint8_t[::1] marks, out, uint8_t[::1] context
):
    """Write the fair start of each subject, [n]: NEVER where it never starts.

    ``context`` gets the bits that the ``marks`` of any attempt of its snapshot have.

    Source: SPEC §10, *FST of j*.
    """
    cdef int64_t[::1] found = out
    cdef int32_t[::1] first_later, first, following
    cdef bint continues = in_turn(rule, delivered)
    cdef ForkedRun alone = ForkedRun(log, rule, None, None), run = alone
    cdef JobLine ranked = JobLine(len(out)), marked = JobLine(len(out))
    cdef int64_t j, k, m, d, count = len(out)
    if continues:
        run = ForkedRun(log, rule, LastRun(len(out), len(delivered.blocks)), ranked)
    first_later, first, following = np.full((3, count), NOBODY, np.int32)
    with nogil:
        find_first_later(log, first_later)
        for j in range(count - 1, -1, -1):
            found[j], k = log.start[j], first_later[j]
            if subject[j] and k != NOBODY:
                following[j], first[k] = first[k], <int32_t>j
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


cdef void find_first_later(ObservedPool log, int32_t[::1] out) noexcept nogil:
    """Write the first later attempt that starts before each, or NOBODY."""
    cdef int64_t k, before, count = log.arrival.shape[0]
    for k in range(count - 1, -1, -1):
        before = k + 1 if k + 1 < count else NOBODY
        while before != NOBODY and log.start[before] >= log.start[k]:
            before = out[before]
        out[k] = <int32_t>before


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
