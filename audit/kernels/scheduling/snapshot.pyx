"""What the observed schedule holds at an instant, kept by a sweep over the attempts (SPEC §5)."""

import numpy as np

from audit.kernels.scheduling.pool cimport (
    State,
    add_steps,
    hold,
    let_edges_pass,
    release,
)
from audit.kernels.scheduling.queue cimport enqueue, make_stale
from audit.kernels.scheduling.profile cimport copy_profile
from audit.kernels.scheduling.rows cimport NEVER, copy_column, move, move_rows


cdef class Aside:
    def __init__(self, int64_t attempts):
        self.job = np.zeros(attempts, np.int64)


cdef void enter(
    Pool snapshot, int64_t job, int64_t now, Model model, Observed observed, Aside aside
) noexcept nogil:
    """Put an attempt that arrived earlier into the snapshot of ``now``."""
    if not observed.present[job]:
        return
    if observed.start[job] < now and not observed.blocked[job]:
        if observed.end[job] > now:
            run_on(snapshot, job, model.jobs, observed)
    elif model.jobs.rank[job] < 0:
        aside.job[aside.number] = job
        aside.number += 1
    else:
        enqueue(snapshot, job, model.jobs, model.rules)


cdef void run_on(Pool snapshot, int64_t job, Jobs jobs, Observed observed) noexcept nogil:
    """Enter an attempt that has started among those that run."""
    hold(snapshot, job, observed.start[job] + jobs.estimate[job], observed.end[job], jobs)


cdef int64_t move_on(
    Pool snapshot, int64_t now, int64_t next_change, Model model, Observed observed, Aside aside
) noexcept nogil:
    """Bring the snapshot to ``now``.

    ``next_change`` is the last instant up to which nothing that waits in it, or is kept aside,
    changes. Return the same for what is left.
    """
    cdef State *state = &snapshot.state
    state.now = now
    state.step = add_steps(model.steps, state.step, now, snapshot.free)
    let_edges_pass(snapshot, model.jobs.limits)
    if next_change < now:
        next_change = start_queued(snapshot, model.jobs, observed)
        next_change = min(next_change, start_aside(snapshot, model.jobs, observed, aside))
    if state.next_end <= now:
        release(snapshot, model.jobs)
    return next_change


cdef int64_t start_queued(Pool snapshot, Jobs jobs, Observed observed) noexcept nogil:
    """Take attempts that have started from the queue; return the first start of the others."""
    cdef State *state = &snapshot.state
    cdef int64_t next_start = NEVER, kept = 0, job, i
    for i in range(state.tail):
        job = snapshot.queue_job[i]
        if observed.start[job] < state.now:
            if observed.end[job] > state.now:
                run_on(snapshot, job, jobs, observed)
            continue
        next_start = min(next_start, observed.start[job])
        if kept != i:
            snapshot.queue_job[kept] = job
            snapshot.queue_estimate[kept] = snapshot.queue_estimate[i]
            snapshot.queue_width[kept] = snapshot.queue_width[i]
            copy_column(snapshot.queue_request, kept, snapshot.queue_request, i)
        kept += 1
    state.tail = state.waiting = kept
    return next_start


cdef int64_t start_aside(
    Pool snapshot, Jobs jobs, Observed observed, Aside aside
) noexcept nogil:
    """Remove attempts from ``aside`` that are no longer there; return when the next one leaves."""
    cdef int64_t now = snapshot.state.now, next_change = NEVER, kept = 0, job, last, i
    for i in range(aside.number):
        job = aside.job[i]
        last = changes_after(job, observed)
        if last < now:
            if not observed.blocked[job] and observed.end[job] > now:
                run_on(snapshot, job, jobs, observed)
            continue
        next_change = min(next_change, last)
        aside.job[kept] = job
        kept += 1
    aside.number = kept
    return next_change


cdef int64_t changes_after(int64_t job, Observed observed) noexcept nogil:
    """Return the last instant at which an attempt is where snapshots have it before it runs."""
    cdef int64_t last = observed.start[job]
    if observed.blocked[job] and last != NEVER:
        last = max(last, observed.end[job] - 1)
    return last


cdef int64_t with_blocked(
    Steps steps, int64_t since, Aside aside, Jobs jobs, Observed observed, Steps out
) noexcept nogil:
    """Write the steps from index ``since`` on and those of blocked attempts; return their number.

    A blocked attempt takes its request at its observed start, and gives it back at its end.
    """
    cdef int64_t number = 0, step, i, job
    for step in range(since, steps.number):
        copy_step(steps, step, out, number)
        number += 1
    for i in range(aside.number):
        job = aside.job[i]
        if observed.blocked[job]:
            number += insert_step(out, number, observed.start[job], jobs, job, False)
            number += insert_step(out, number, observed.end[job], jobs, job, True)
    return number


cdef int64_t insert_step(
    Steps out, int64_t number, int64_t instant, Jobs jobs, int64_t job, bint ends
) noexcept nogil:
    """Insert the step of a blocked attempt into ``number`` others; return how many it is."""
    cdef int64_t place = number, x
    if instant == NEVER:
        return 0
    while place > 0 and out.time[place - 1] > instant:
        copy_step(out, place - 1, out, place)
        place -= 1
    out.time[place], out.job[place] = instant, job
    out.planned[place], out.ends[place] = False, ends
    for x in range(out.change.shape[0]):
        out.change[x, place] = jobs.request[x, job] if ends else -jobs.request[x, job]
    return 1


cdef void copy_step(Steps source, int64_t step, Steps target, int64_t place) noexcept nogil:
    """Copy one step to another place."""
    target.time[place] = source.time[step]
    target.planned[place] = source.planned[step]
    target.job[place] = source.job[step]
    target.ends[place] = source.ends[step]
    copy_column(target.change, place, source.change, step)


cdef bint holds_too_much(Pool snapshot, Steps steps) noexcept nogil:
    """Return whether more is held than there is, with what blocked attempts take right now."""
    cdef int64_t x
    move(snapshot.spare, 0, snapshot.free, 0, snapshot.free.shape[0])
    add_steps(steps, snapshot.state.step, snapshot.state.now, snapshot.spare)
    for x in range(snapshot.spare.shape[0]):
        if snapshot.spare[x] < 0:
            return True
    return False


cdef void copy_state(Pool source, Pool target) noexcept nogil:
    """Copy who runs, who waits and what is free."""
    cdef int64_t running = source.state.running, tail = source.state.tail
    target.state = source.state
    move(target.free, 0, source.free, 0, source.free.shape[0])
    move(target.spare, 0, source.spare, 0, source.spare.shape[0])
    move(target.used, 0, source.used, 0, source.used.shape[0])
    move(target.run_expected, 0, source.run_expected, 0, running)
    move(target.run_end, 0, source.run_end, 0, running)
    move(target.run_job, 0, source.run_job, 0, running)
    move_rows(target.run_request, 0, source.run_request, 0, running)
    move(target.queue_job, 0, source.queue_job, 0, tail)
    move(target.queue_estimate, 0, source.queue_estimate, 0, tail)
    move(target.queue_width, 0, source.queue_width, 0, tail)
    move_rows(target.queue_request, 0, source.queue_request, 0, tail)
    make_stale(target, 0, tail)


cdef void copy_plans(Pool source, Pool target) noexcept nogil:
    """Copy plans and their profile."""
    move(target.plan, 0, source.plan, 0, source.state.tail)
    move(target.freed, 0, source.freed, 0, source.state.tail)
    copy_profile(source.profile, target.profile)
