"""Snapshots of the observed schedule, kept by a sweep over the attempts; and fair start times: each
attempt's snapshot, simulated forward (SPEC §5).

The sweep visits the attempts in order and records in a pool which of them run and which wait.
Those that it does not queue are kept *aside*: blocked ones until they end, others until they have
started. Subjects do not depend on one another, so a range of them is computed by itself, and the
sweep begins where the range begins.
"""

import numpy as np
from libc.stdint cimport int64_t, uint8_t

from audit.kernels.rows cimport add, copy_column, move, move_rows
from audit.kernels.scheduling.instants cimport NEVER
from audit.kernels.scheduling.loop cimport await_pass, follow, open_books, shift_passes
from audit.kernels.scheduling.model cimport (
    NOBODY, Backfill, Jobs, Model, Observed, Order, Steps, by_owner
)
from audit.kernels.scheduling.nodes cimport Places, add_nodes_ahead, copy_nodes, copy_places
from audit.kernels.scheduling.owners cimport compare
from audit.kernels.scheduling.plans cimport foresee, plan_waiting
from audit.kernels.scheduling.pool cimport (
    GAP, UNPLANNED, Pool, PoolState, add_ahead, count_queued, fits_ahead, let_edges_pass,
    move_running, pass_steps, release, reset, run_on, see_ahead, sum_free
)
from audit.kernels.scheduling.profile cimport copy_profile
from audit.kernels.scheduling.queue cimport (
    arrange, close_gaps, enqueue, leave, make_stale, move_place, rate_owner
)


cdef class Trials:
    """A sweep, and working space for simulations that begin with its snapshots."""
    cdef Pool snapshot
    cdef Pool trial  # one simulation
    cdef Pool spare  # as large: a state that several simulations begin with
    cdef Steps steps  # space for all steps, and two for each blocked attempt of a snapshot
    cdef int64_t[::1] aside
    cdef int64_t aside_number
    cdef int64_t next_change  # nothing that waits or is aside changes up to this instant

    def __init__(
        self, Pool snapshot not None, Pool trial not None, Pool spare not None,
        Steps steps not None, *, int64_t crowd
    ):
        self.snapshot, self.trial, self.spare, self.steps = snapshot, trial, spare, steps
        self.aside = np.zeros(crowd, np.int64)


cdef void begin_sweep(
    Trials trials, Model model, Observed observed, const int64_t[::1] capacity, int64_t low
) noexcept nogil:
    """Make the snapshot at the arrival of attempt ``low``."""
    cdef int64_t now = model.jobs.arrival[low], job
    reset(trials.snapshot, capacity)
    trials.aside_number = 0
    trials.next_change = NEVER
    for job in range(low):
        if observed.start[job] >= now or observed.end[job] > now:
            enter(trials, job, now, model, observed)


cdef void enter(
    Trials trials, int64_t job, int64_t now, Model model, Observed observed
) noexcept nogil:
    """Put an attempt that arrived earlier into the snapshot of ``now``."""
    if not observed.present[job]:
        return
    if observed.start[job] < now and not observed.blocked[job]:
        if observed.end[job] > now:
            run_on(trials.snapshot, job, model.jobs, observed)
        return
    trials.next_change = min(trials.next_change, changes_after(job, observed))
    if model.jobs.rank[job] < 0 or not observed.queues[job]:
        trials.aside[trials.aside_number] = job
        trials.aside_number += 1
    else:
        enqueue(trials.snapshot, job, model.jobs, model.rules)


cdef int64_t changes_after(int64_t job, Observed observed) noexcept nogil:
    """Return the last instant at which an attempt is in the queue or aside."""
    cdef int64_t last = observed.start[job]
    if observed.blocked[job] and last != NEVER:
        last = max(last, observed.end[job] - 1)
    return last


cdef void move_on(Trials trials, int64_t now, Model model, Observed observed) noexcept nogil:
    """Bring the snapshot to ``now``."""
    cdef PoolState *state = &trials.snapshot.state
    state.now = now
    state.step = pass_steps(trials.snapshot, model.steps)
    let_edges_pass(trials.snapshot, model.jobs.limits)
    if trials.next_change < now:
        trials.next_change = NEVER
        start_queued(trials, model.jobs, observed)
        start_aside(trials, model.jobs, observed)
    if state.next_end <= now:
        release(trials.snapshot, model.jobs)


cdef void start_queued(Trials trials, Jobs jobs, Observed observed) noexcept nogil:
    """Remove started attempts from the queue, which has no gaps."""
    cdef PoolState *state = &trials.snapshot.state
    cdef int64_t kept = 0, job, i
    for i in range(state.tail):
        job = trials.snapshot.queue_job[i]
        if observed.start[job] < state.now:
            count_queued(trials.snapshot, job, -1, jobs.limits)
            if observed.end[job] > state.now:
                run_on(trials.snapshot, job, jobs, observed)
            continue
        trials.next_change = min(trials.next_change, observed.start[job])
        if kept != i:
            move_place(trials.snapshot, i, kept)
        kept += 1
    state.tail = state.waiting = kept


cdef void start_aside(Trials trials, Jobs jobs, Observed observed) noexcept nogil:
    """Remove attempts from ``aside`` that are no longer there."""
    cdef int64_t now = trials.snapshot.state.now, kept = 0, job, last, i
    for i in range(trials.aside_number):
        job = trials.aside[i]
        last = changes_after(job, observed)
        if last < now:
            if not observed.blocked[job] and observed.end[job] > now:
                run_on(trials.snapshot, job, jobs, observed)
            continue
        trials.next_change = min(trials.next_change, last)
        trials.aside[kept] = job
        kept += 1
    trials.aside_number = kept


cdef bint any_blocked(Trials trials, Observed observed) noexcept nogil:
    """Return whether any attempt that is kept aside is blocked."""
    cdef int64_t i
    for i in range(trials.aside_number):
        if observed.blocked[trials.aside[i]]:
            return True
    return False


cdef void add_blocked(Trials trials, Model model, Observed observed) noexcept nogil:
    """Write the steps that the snapshot has not taken, and those of its blocked attempts.

    A blocked attempt takes its request at its observed start, and gives it back at its end.
    """
    cdef int64_t number = 0, step, i, job
    for step in range(trials.snapshot.state.step, model.steps.number):
        copy_step(model.steps, step, trials.steps, number)
        number += 1
    for i in range(trials.aside_number):
        job = trials.aside[i]
        if observed.blocked[job]:
            number += insert_step(trials.steps, number, observed.start[job], model.jobs, job, False)
            number += insert_step(trials.steps, number, observed.end[job], model.jobs, job, True)
    trials.steps.number = number


cdef bint insert_step(
    Steps out, int64_t number, int64_t instant, Jobs jobs, int64_t job, bint ends
) noexcept nogil:
    """Insert the step of a blocked attempt into ``number`` others; return whether there is one."""
    cdef int64_t place = number, x
    if instant == NEVER:
        return False
    while place > 0 and out.time[place - 1] > instant:
        copy_step(out, place - 1, out, place)
        place -= 1
    out.time[place], out.job[place] = instant, job
    out.holder[place], out.planned[place], out.ends[place] = job, False, ends
    for x in range(out.change.shape[0]):
        out.change[x, place] = jobs.request[x, job] if ends else -jobs.request[x, job]
    return True


cdef void copy_step(Steps source, int64_t step, Steps target, int64_t place) noexcept nogil:
    """Copy one step to another place."""
    target.time[place], target.planned[place] = source.time[step], source.planned[step]
    target.job[place], target.ends[place] = source.job[step], source.ends[step]
    target.holder[place] = source.holder[step]
    copy_column(target.change, place, source.change, step)


cdef bint holds_too_much(Pool snapshot, Steps steps) noexcept nogil:
    """Return whether more is held than there is, including what blocked attempts take right now."""
    cdef int64_t x
    sum_free(snapshot, steps)
    for x in range(snapshot.spare.shape[0]):
        if snapshot.spare[x] < 0:
            return True
    return False


cdef void copy_state(Pool source, Pool target) noexcept nogil:
    """Copy what runs, what waits and what is free, but no plans."""
    cdef int64_t tail = source.state.tail
    target.state = source.state
    move(target.free, 0, source.free, 0, source.free.shape[0])
    move(target.spare, 0, source.spare, 0, source.spare.shape[0])
    move(target.used, 0, source.used, 0, source.used.shape[0])
    move(target.queued, 0, source.queued, 0, source.queued.shape[0])
    move_running(target, 0, source, 0, source.state.running)
    if source.by_nodes:
        copy_nodes(source.places, target.places, source.run_job, source.state.running)
    move(target.queue_job, 0, source.queue_job, 0, tail)
    move(target.queue_estimate, 0, source.queue_estimate, 0, tail)
    move(target.queue_width, 0, source.queue_width, 0, tail)
    move_rows(target.queue_request, 0, source.queue_request, 0, tail)
    make_stale(target, 0, tail)


cdef void copy_plans(Pool source, Pool target) noexcept nogil:
    """Copy plans and their profile."""
    move(target.plan, 0, source.plan, 0, source.state.tail)
    move(target.freed, 0, source.freed, 0, source.state.tail)
    if source.by_nodes:
        copy_planned_nodes(source, source.places, target.places)
    else:
        copy_profile(source.profile, target.profile)


cdef void copy_planned_nodes(Pool source, Places of, Places to) noexcept nogil:
    """Copy plans."""
    cdef int64_t i
    for i in range(source.state.head, source.state.tail):
        if source.queue_job[i] != GAP and 0 <= source.plan[i] < NEVER:
            copy_places(of, to, source.queue_job[i])
    to.plans = of.plans
    move(to.begins, 0, of.begins, 0, of.plans)
    move(to.begins_on, 0, of.begins_on, 0, of.plans)
    move(to.ends, 0, of.ends, 0, of.plans)
    move(to.ends_on, 0, of.ends_on, 0, of.plans)


cdef void plan_afresh(Pool pool, Model model) noexcept nogil:
    """Plan all queued attempts at the first pass, as if none had been planned before."""
    cdef int64_t i
    for i in range(pool.state.tail):
        pool.plan[i] = UNPLANNED
        pool.freed[i] = 0
    await_pass(pool, model)
    arrange(pool, model)
    plan_waiting(pool, model)
    pool.state.freed = 0
    pool.state.news = False


# --- fair start times ----------------------------------------------------------------------------


def fair_starts(
    Model model not None, Observed observed not None, const int64_t[::1] capacity, bint at_once,
    const uint8_t[::1] subject, int64_t low, int64_t high, Trials trials not None,
    int64_t[::1] strict, int64_t[::1] relaxed, uint8_t[::1] over
):
    """Write the fair start times of the subjects from index ``low`` to ``high``, ``low`` < ``high``.

    Args:
        at_once: whether an attempt that waits alone starts as soon as it fits: nothing is limited,
            passes are at all instants, and no policy that plans ahead sees planned steps.
        strict, relaxed: [attempts], get the fair start times, or NEVER.
        over: [attempts], bool, gets whether the snapshot holds more than the capacity.
    """
    cdef Model with_steps = Model(model.jobs, trials.steps, model.rules, model.owners)
    cdef PoolState *state = &trials.snapshot.state
    cdef int64_t job, taken
    with nogil:
        begin_sweep(trials, model, observed, capacity, low)
        for job in range(low, high):
            move_on(trials, model.jobs.arrival[job], model, observed)
            if subject[job] and any_blocked(trials, observed):
                taken = state.step
                add_blocked(trials, model, observed)
                state.step = 0
                over[job] = holds_too_much(trials.snapshot, trials.steps)
                strict[job], relaxed[job] = fair_start(trials, job, with_steps, at_once)
                state.step = taken
            elif subject[job]:
                over[job] = holds_too_much(trials.snapshot, model.steps)
                strict[job], relaxed[job] = fair_start(trials, job, model, at_once)
            enter(trials, job, model.jobs.arrival[job], model, observed)


cdef (int64_t, int64_t) fair_start(
    Trials trials, int64_t job, Model model, bint at_once
) noexcept nogil:
    """Return the strict and relaxed fair start time of ``job`` from its snapshot; NEVER: none."""
    cdef int64_t alone
    if trials.snapshot.state.waiting == 0 and at_once:
        alone = earliest_alone(trials.snapshot, job, model.jobs, model.steps)
        return alone, alone
    if model.rules.backfill == Backfill.CONSERVATIVE or model.rules.fair != Order.RANK:
        prepare(trials.snapshot, trials.spare, job, model)
        return from_source(trials.spare, trials.trial, job, model, at_once)
    return from_source(trials.snapshot, trials.trial, job, model, at_once)


cdef (int64_t, int64_t) from_source(
    Pool source, Pool trial, int64_t job, Model model, bint at_once
) noexcept nogil:
    """Return both fair start times of ``job`` in simulations that begin with ``source``.

    Where the latest arrival is served last, it affects no other attempt before it starts: as a
    ghost it shows its start, and the others go on as if it were not there. Plans that last affect
    others; and where passes examine only a few, a ghost may not be examined though it is alone.
    """
    cdef bint with_ghost = (
        model.rules.latest_last
        and model.rules.backfill != Backfill.CONSERVATIVE
        and model.rules.depth == NEVER
    )
    cdef int64_t strict, relaxed
    begin_again(source, trial, job, model, with_ghost)
    if with_ghost:
        trial.state.ghost = job
    follow(trial, model)
    strict = trial.begun[job]
    relaxed = joined_last(trial, job, model, at_once)
    if not with_ghost:
        begin_again(source, trial, job, model, True)
        trial.state.target = job
        follow(trial, model)
        strict = trial.begun[job]
    return strict, relaxed


cdef void prepare(Pool snapshot, Pool start, int64_t job, Model model) noexcept nogil:
    """Make the state that the simulations for ``job`` begin with from a snapshot.

    Under a fair order, attempts behind ``job`` are left out. Under CONSERVATIVE the others are
    planned if there is a pass at once, for their plans are the same with and without ``job``.
    """
    copy_state(snapshot, start)
    if model.rules.fair != Order.RANK:
        open_books(start, model, start.state.now)
        remove_those_behind(start, job, model)
    if model.rules.backfill == Backfill.CONSERVATIVE and model.rules.every == 0:
        foresee(start, model)
        if by_owner(model.rules):
            open_books(start, model, start.state.now)
        plan_afresh(start, model)


cdef void remove_those_behind(Pool pool, int64_t job, Model model) noexcept nogil:
    """Remove queued attempts whose turn, in the fair order, comes after that of ``job``."""
    cdef PoolState *state = &pool.state
    cdef int64_t owner = model.jobs.owner[job], other, i
    rate_owner(model.rules.fair, model.owners, pool.ledger, owner, state.now)
    for i in range(state.head, state.tail):
        other = model.jobs.owner[pool.queue_job[i]]
        rate_owner(model.rules.fair, model.owners, pool.ledger, other, state.now)
    for i in range(state.head, state.tail):
        if compare(pool.ledger, model.jobs.owner[pool.queue_job[i]], owner) < 0:
            leave(pool, i, model.jobs)
    close_gaps(pool)


cdef void begin_again(Pool source, Pool pool, int64_t job, Model model, bint joins) noexcept nogil:
    """Let a simulation begin from ``source``, in which ``job`` is not queued; ``joins``: it joins.

    Where passes are not at all instants, plans are made at the first one, which is still to come.
    """
    cdef bint conservative = model.rules.backfill == Backfill.CONSERVATIVE
    cdef bint planned = model.rules.every == 0
    pool.begun[job] = NEVER
    copy_state(source, pool)
    if conservative and planned:
        copy_plans(source, pool)
    elif conservative:
        foresee(pool, model)
    if by_owner(model.rules):
        open_books(pool, model, pool.state.now)
    if conservative and not planned:
        plan_afresh(pool, model)
    if model.rules.between and model.rules.every > 0:
        shift_passes(&pool.state, model.rules)
    if joins:
        enqueue(pool, job, model.jobs, model.rules)


cdef int64_t joined_last(Pool pool, int64_t job, Model model, bint at_once) noexcept nogil:
    """Return when ``job`` starts if it joins a simulation once all others have started.

    The simulation has come to that instant. NEVER: some of them do not start.
    """
    cdef PoolState *state = &pool.state
    if state.waiting > 0:
        return NEVER
    if at_once:
        return earliest_alone(pool, job, model.jobs, model.steps)
    pool.begun[job] = NEVER
    state.ghost = NOBODY
    state.target = job
    enqueue(pool, job, model.jobs, model.rules)
    follow(pool, model)
    return pool.begun[job]


cdef int64_t earliest_alone(Pool pool, int64_t job, Jobs jobs, Steps steps) noexcept nogil:
    """Return when ``job`` starts with no other queued attempt: as soon as it fits, or NEVER."""
    cdef int64_t instant = pool.state.now, running = pool.state.running, step, i
    see_ahead(pool, job)
    step = add_ahead(pool, steps, pool.state.step, instant, job)
    if fits_ahead(pool, job, jobs):
        return instant
    for i in range(running):  # pool.order: a heap of running attempts, first end on top
        pool.order[i] = i
    for i in range((running >> 1) - 1, -1, -1):
        sink(pool, i, running)
    while True:
        instant = pool.run_end[pool.order[0]] if running > 0 else NEVER
        if step < steps.number:
            instant = min(instant, steps.time[step])
        if instant == NEVER:
            return NEVER
        step = add_ahead(pool, steps, step, instant, job)
        while running > 0 and pool.run_end[pool.order[0]] == instant:
            if pool.by_nodes:
                add_nodes_ahead(pool.places, pool.run_job[pool.order[0]], 1, job)
            else:
                add(pool.spare, pool.run_request, pool.order[0], 1)
            running -= 1
            pool.order[0] = pool.order[running]
            sink(pool, 0, running)
        if fits_ahead(pool, job, jobs):
            return instant


cdef void sink(Pool pool, int64_t i, int64_t count) noexcept nogil:
    """Let element ``i`` of the heap ``pool.order`` sink to its place."""
    cdef int64_t sinking = pool.order[i], child
    while True:
        child = 2 * i + 1
        if child >= count:
            break
        if (
            child + 1 < count
            and pool.run_end[pool.order[child + 1]] < pool.run_end[pool.order[child]]
        ):
            child += 1
        if pool.run_end[pool.order[child]] >= pool.run_end[sinking]:
            break
        pool.order[i] = pool.order[child]
        i = child
    pool.order[i] = sinking
