"""Fair start times: each attempt's snapshot, simulated forward (SPEC §5).

Subjects do not depend on one another. So a range of them is computed by itself, and the sweep that
keeps the snapshot begins where the range begins.
"""

from libc.stdint cimport int64_t, uint8_t

from audit.kernels.scheduling.books cimport open_books
from audit.kernels.scheduling.loop cimport await_pass, follow
from audit.kernels.scheduling.model cimport (
    NOBODY,
    Backfill,
    Jobs,
    Model,
    Observed,
    Order,
    Steps,
    by_owner,
)
from audit.kernels.scheduling.order cimport arrange, rate
from audit.kernels.scheduling.owners cimport compare
from audit.kernels.scheduling.passes.planned cimport foresee, plan_waiting
from audit.kernels.scheduling.pool cimport UNPLANNED, Pool, State, add_steps, reset
from audit.kernels.scheduling.queue cimport close_gaps, enqueue, leave
from audit.kernels.scheduling.rows cimport NEVER, add, fits, move
from audit.kernels.scheduling.snapshot cimport (
    Aside,
    changes_after,
    copy_plans,
    copy_state,
    enter,
    holds_too_much,
    move_on,
    with_blocked,
)


cdef class Trials:
    """Working space; each pool has space for a snapshot and its subject."""
    cdef Pool snapshot
    cdef Pool start  # what all simulations begin with, where that is more than the snapshot
    cdef Pool trial  # one simulation
    cdef Steps steps  # space for all steps, and two for each blocked attempt of a snapshot
    cdef Aside aside

    def __init__(
        self,
        Pool snapshot not None,
        Pool start not None,
        Pool trial not None,
        Steps steps not None,
        Aside aside not None,
    ):
        self.snapshot, self.start, self.trial = snapshot, start, trial
        self.steps, self.aside = steps, aside


def fair_starts(
    Model model not None,
    Observed observed not None,
    const int64_t[::1] capacity,
    bint at_once,
    subject,
    int64_t low,
    int64_t high,
    Trials trials not None,
    int64_t[::1] strict,
    int64_t[::1] relaxed,
    over,
):
    """Write the fair start times of the subjects from index ``low`` to ``high``.

    Args:
        model: the attempts, and how the pool decides.
        observed: their schedule.
        capacity: [resources], before any step.
        at_once: whether an attempt that waits alone starts as soon as it fits: nothing is limited,
            passes are at all instants, and no policy that plans ahead sees planned steps.
        subject: [attempts], bool.
        low, high: the range of indices; ``low`` < ``high``.
        trials: working space.
        strict, relaxed: [attempts], get the fair start times, or NEVER.
        over: [attempts], bool, gets whether the snapshot holds more than the capacity.
    """
    cdef const uint8_t[::1] wanted = subject.view("u1")
    cdef uint8_t[::1] holds_more = over.view("u1")
    cdef Model with_steps = Model(model.jobs, trials.steps, model.rules, model.owners)
    cdef State *state = &trials.snapshot.state
    cdef int64_t next_change, now, job, taken
    with nogil:
        next_change = _first_snapshot(model, observed, capacity, low, trials)
        for job in range(low, high):
            now = model.jobs.arrival[job]
            next_change = move_on(
                trials.snapshot, now, next_change, model, observed, trials.aside
            )
            if wanted[job]:
                taken = state.step
                if any_blocked(trials.aside, observed):
                    trials.steps.number = with_blocked(
                        model.steps, taken, trials.aside, model.jobs, observed, trials.steps
                    )
                    state.step = 0
                    holds_more[job] = holds_too_much(trials.snapshot, trials.steps)
                    strict[job], relaxed[job] = fair_start(trials, job, with_steps, at_once)
                else:
                    holds_more[job] = holds_too_much(trials.snapshot, model.steps)
                    strict[job], relaxed[job] = fair_start(trials, job, model, at_once)
                state.step = taken
            enter(trials.snapshot, job, now, model, observed, trials.aside)
            if observed.present[job]:
                next_change = min(next_change, changes_after(job, observed))


cdef int64_t _first_snapshot(
    Model model, Observed observed, const int64_t[::1] capacity, int64_t low, Trials trials
) noexcept nogil:
    """Make the snapshot at the arrival of attempt ``low``; return when it changes (``move_on``)."""
    cdef int64_t next_change = NEVER, now = model.jobs.arrival[low], job
    reset(trials.snapshot, capacity)
    trials.aside.number = 0
    for job in range(low):
        if observed.start[job] >= now or observed.end[job] > now:
            enter(trials.snapshot, job, now, model, observed, trials.aside)
            if observed.present[job] and (observed.start[job] >= now or observed.blocked[job]):
                next_change = min(next_change, changes_after(job, observed))
    return next_change


cdef bint any_blocked(Aside aside, Observed observed) noexcept nogil:
    """Return whether any attempt that is kept aside is blocked."""
    cdef int64_t i
    for i in range(aside.number):
        if observed.blocked[aside.job[i]]:
            return True
    return False


cdef (int64_t, int64_t) fair_start(
    Trials trials, int64_t job, Model model, bint at_once
) noexcept nogil:
    """Return the strict and relaxed fair start time of ``job`` from its snapshot; NEVER: none."""
    cdef int64_t alone
    if trials.snapshot.state.waiting == 0 and at_once:
        alone = earliest_alone(trials.snapshot, job, model.jobs, model.steps)
        return alone, alone
    if model.rules.backfill == Backfill.CONSERVATIVE or model.rules.fair != Order.RANK:
        prepare(trials.snapshot, trials.start, job, model)
        return from_source(trials.start, trials.trial, job, model, at_once)
    return from_source(trials.snapshot, trials.trial, job, model, at_once)


cdef (int64_t, int64_t) from_source(
    Pool source, Pool trial, int64_t job, Model model, bint at_once
) noexcept nogil:
    """Return both fair start times of ``job`` in simulations that begin with ``source``.

    Where the latest arrival is served last, it affects nobody before it starts: as a ghost it shows
    its start, and the others go on as if it were not there. Plans that last affect others; and
    where passes examine only a few, a ghost may not be examined though it is the only one left.
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
    """Make what the simulations for ``job`` begin with from a snapshot.

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


cdef void remove_those_behind(Pool pool, int64_t job, Model model) noexcept nogil:
    """Remove queued attempts whose turn, in the fair order, comes after that of ``job``."""
    cdef State *state = &pool.state
    cdef int64_t owner = model.jobs.owner[job], i
    rate(model.rules.fair, model.owners, pool.ledger, owner, state.now)
    for i in range(state.head, state.tail):
        rate(
            model.rules.fair,
            model.owners,
            pool.ledger,
            model.jobs.owner[pool.queue_job[i]],
            state.now,
        )
    for i in range(state.head, state.tail):
        if compare(pool.ledger, model.jobs.owner[pool.queue_job[i]], owner) < 0:
            leave(pool, i)
    close_gaps(pool)


cdef void begin_again(
    Pool source, Pool pool, int64_t job, Model model, bint joins
) noexcept nogil:
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
    if joins:
        enqueue(pool, job, model.jobs, model.rules)


cdef int64_t joined_last(Pool pool, int64_t job, Model model, bint at_once) noexcept nogil:
    """Return when ``job`` starts if it joins a simulation once all others have started.

    The simulation has come to that instant. NEVER: some of them do not start.
    """
    cdef State *state = &pool.state
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
    move(pool.spare, 0, pool.free, 0, pool.free.shape[0])
    step = add_steps(steps, pool.state.step, instant, pool.spare)
    if fits(jobs.request, job, pool.spare):
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
        step = add_steps(steps, step, instant, pool.spare)
        while running > 0 and pool.run_end[pool.order[0]] == instant:
            add(pool.spare, pool.run_request, pool.order[0], 1)
            running -= 1
            pool.order[0] = pool.order[running]
            sink(pool, 0, running)
        if fits(jobs.request, job, pool.spare):
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
