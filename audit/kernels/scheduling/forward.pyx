"""Modelled starts: each attempt's snapshot, simulated with all later arrivals (SPEC §10).

The sweep that keeps the snapshot is that of fair start times. Here all blocked attempts are steps,
whenever they came, so snapshots hold none.
"""

import numpy as np
from libc.stdint cimport int64_t, uint8_t

from audit.kernels.scheduling.books cimport enter_blocked, open_books
from audit.kernels.scheduling.loop cimport await_pass, follow, follow_on
from audit.kernels.scheduling.model cimport (
    NOBODY,
    Backfill,
    Jobs,
    Model,
    Observed,
    Steps,
    by_owner,
)
from audit.kernels.scheduling.order cimport arrange
from audit.kernels.scheduling.passes.planned cimport foresee, plan_waiting
from audit.kernels.scheduling.pool cimport UNPLANNED, Pool, State, count, reset
from audit.kernels.scheduling.queue cimport enqueue
from audit.kernels.scheduling.rows cimport NEVER
from audit.kernels.scheduling.snapshot cimport (
    Aside,
    changes_after,
    copy_plans,
    copy_state,
    copy_step,
    enter,
    move_on,
)


cdef class Later:
    """What is known of later attempts beside what they ask for; an element per attempt."""
    cdef const int64_t[::1] own  # the next attempt of the same user, or the number of attempts
    cdef const int64_t[::1] user
    cdef const uint8_t[::1] blocked
    cdef const int64_t[::1] start  # observed

    def __init__(self, *, own, user, blocked, start):
        self.own, self.user, self.start = own, user, start
        self.blocked = blocked.view("u1")


cdef class Trials:
    """Working space."""
    cdef Pool snapshot  # space for a snapshot; steps are taken up to, not including, its instant
    cdef Pool trial  # one simulation; space for all attempts
    cdef Pool branch  # where it was when the user's next attempt was to come; as much space
    cdef Steps steps  # space for all steps
    cdef Aside aside
    cdef int64_t[::1] lasting  # blocked attempts that last
    cdef int64_t lasting_number

    def __init__(
        self,
        Pool snapshot not None,
        Pool trial not None,
        Pool branch not None,
        Steps steps not None,
        Aside aside not None,
        int64_t blocked,
    ):
        self.snapshot, self.trial, self.branch = snapshot, trial, branch
        self.steps, self.aside = steps, aside
        self.lasting = np.zeros(blocked, np.int64)


def forward_starts(
    Model model not None,
    Model sweep not None,
    Observed observed not None,
    const int64_t[::1] capacity,
    Later later not None,
    subject,
    int64_t low,
    int64_t high,
    Trials trials not None,
    int64_t[::1] start,
    int64_t[::1] without_own,
):
    """Write the modelled starts of the subjects from index ``low`` to ``high``.

    Args:
        model: the attempts, of which those with rank < 0 are never queued; steps of the capacity
            and of blocked attempts; the policy. Ranks are changed, and changed back.
        sweep: the same with steps taken one second later.
        observed: the schedule of the attempts, in which blocked ones are not present.
        capacity: [resources], before any step.
        later: of the attempts.
        subject: [attempts], bool.
        low, high: the range of indices; ``low`` < ``high``.
        trials: working space.
        start: [attempts], gets the modelled starts, or NEVER.
        without_own: [attempts], gets the same without the later arrivals of the user.
    """
    cdef const uint8_t[::1] wanted = subject.view("u1")
    cdef Model without = Model(model.jobs, trials.steps, model.rules, model.owners)
    cdef int64_t next_change, now, job, taken
    with nogil:
        trials.trial.begun[:] = NEVER
        next_change = _first_snapshot(sweep, observed, capacity, low, trials)
        for job in range(low, high):
            taken = trials.snapshot.state.step
            now = model.jobs.arrival[job]
            next_change = move_on(
                trials.snapshot, now, next_change, sweep, observed, trials.aside
            )
            note_lasting(trials, model, taken)
            if wanted[job]:
                start[job], without_own[job] = forward_start(
                    trials, job, model, without, later
                )
            enter(trials.snapshot, job, now, sweep, observed, trials.aside)
            if observed.present[job]:
                next_change = min(next_change, changes_after(job, observed))


cdef int64_t _first_snapshot(
    Model sweep, Observed observed, const int64_t[::1] capacity, int64_t low, Trials trials
) noexcept nogil:
    """Make the snapshot at the arrival of attempt ``low``; return when it changes (``move_on``)."""
    cdef int64_t next_change = NEVER, now = sweep.jobs.arrival[low], job
    reset(trials.snapshot, capacity)
    trials.aside.number = trials.lasting_number = 0
    for job in range(low):
        if observed.start[job] >= now or observed.end[job] > now:
            enter(trials.snapshot, job, now, sweep, observed, trials.aside)
            if observed.present[job] and observed.start[job] >= now:
                next_change = min(next_change, changes_after(job, observed))
    return next_change


cdef void note_lasting(Trials trials, Model model, int64_t first) noexcept nogil:
    """Keep the list of blocked attempts that last, through the steps from ``first`` on.

    They count towards limits.
    """
    cdef int64_t job, kept, step, i
    for step in range(first, trials.snapshot.state.step):
        job = model.steps.job[step]
        if job == NOBODY:
            continue
        if not model.steps.ends[step]:
            count(trials.snapshot, job, 1, model.jobs.limits)
            trials.lasting[trials.lasting_number] = job
            trials.lasting_number += 1
            continue
        count(trials.snapshot, job, -1, model.jobs.limits)
        kept = 0
        for i in range(trials.lasting_number):
            if trials.lasting[i] != job:
                trials.lasting[kept] = trials.lasting[i]
                kept += 1
        trials.lasting_number = kept


cdef (int64_t, int64_t) forward_start(
    Trials trials, int64_t job, Model model, Model without, Later later
) noexcept nogil:
    """Return the modelled start of ``job``, with and without the later attempts of its user.

    Until the first of these comes both are one simulation, which pauses there.
    """
    cdef int64_t attempts = later.own.shape[0], mine = later.own[job], start
    cdef State *state = &trials.trial.state
    cdef bint branches, differs
    begin_forward(trials, job, model, later, attempts)
    if mine < attempts and may_pause(model):
        state.pause = model.jobs.arrival[mine]
    branches = state.now < state.pause < NEVER
    if not branches:
        state.pause = NEVER
    follow(trials.trial, model)
    branches = branches and trials.trial.begun[job] == NEVER
    if branches:
        copy_simulation(trials.trial, trials.branch, model)
        follow_on(trials.trial, model)
    start = trials.trial.begun[job]
    differs = own_matter(trials.trial, job, start, model, later)
    forget(trials.trial, job)
    if differs:
        return start, start_without_own(trials, job, start, branches, model, without, later)
    return start, start


cdef bint may_pause(Model model) noexcept nogil:
    """Return whether a pool holds all of a simulation, however far that has looked ahead."""
    return not by_owner(model.rules) and model.jobs.limits.edges.time.shape[0] == 0


cdef void copy_simulation(Pool source, Pool target, Model model) noexcept nogil:
    """Copy a simulation, see ``may_pause``, except what has started in it."""
    copy_state(source, target)
    if model.rules.backfill == Backfill.CONSERVATIVE:
        copy_plans(source, target)


cdef void forget(Pool pool, int64_t job) noexcept nogil:
    """Forget which later attempts a simulation for ``job`` has started."""
    cdef int64_t k
    for k in range(job + 1, pool.state.arriving):
        pool.begun[k] = NEVER


cdef void begin_forward(
    Trials trials, int64_t job, Model model, Later later, int64_t until
) noexcept nogil:
    """Begin with the snapshot and ``job``; those up to index ``until`` are to arrive."""
    cdef State *state = &trials.trial.state
    if model.rules.backfill == Backfill.CONSERVATIVE:
        plan_ahead(trials, job, model, later)
    else:
        copy_state(trials.snapshot, trials.trial)
        enqueue(trials.trial, job, model.jobs, model.rules)
        if by_owner(model.rules):
            open_here(trials, model, trials.snapshot.state.step, later)
    trials.trial.begun[job] = NEVER
    state.arriving = job + 1
    state.until = until
    state.target = job


cdef void plan_ahead(Trials trials, int64_t job, Model model, Later later) noexcept nogil:
    """Begin with the snapshot, its queue planned afresh in its order, ``job`` last.

    Plans are made at the first pass; attempts that arrive later have none yet.
    """
    cdef State *state = &trials.trial.state
    cdef int64_t first, i
    cdef bint alone
    copy_state(trials.snapshot, trials.trial)
    first = state.step
    foresee(trials.trial, model)
    if by_owner(model.rules):
        open_here(trials, model, first, later)
    for i in range(state.tail):
        trials.trial.plan[i] = UNPLANNED
        trials.trial.freed[i] = 0
    alone = state.waiting == 0
    if alone:
        enqueue(trials.trial, job, model.jobs, model.rules)
    await_pass(trials.trial, model)
    arrange(trials.trial, model)
    plan_waiting(trials.trial, model)
    if not alone:
        enqueue(trials.trial, job, model.jobs, model.rules)
        plan_waiting(trials.trial, model)
    state.freed = 0
    state.news = False


cdef void open_here(Trials trials, Model model, int64_t first, Later later) noexcept nogil:
    """Begin the ledger of a simulation that continues a snapshot; see ``open_books``.

    Of the steps taken, those from index ``first`` on are entered, and the blocked attempts that
    have lasted since before.
    """
    cdef State *state = &trials.trial.state
    cdef int64_t taken = state.step, job, step, i
    state.step = 0
    open_books(trials.trial, model, state.now)
    state.step = taken
    for i in range(trials.lasting_number):
        job = trials.lasting[i]
        enter_blocked(trials.trial, job, False, later.start[job], model)
    for step in range(first, taken):
        enter_blocked(
            trials.trial,
            model.steps.job[step],
            model.steps.ends[step],
            model.steps.time[step],
            model,
        )


cdef bint own_matter(
    Pool pool, int64_t job, int64_t start, Model model, Later later
) noexcept nogil:
    """Return whether ``job``, which starts at ``start``, may start at another time without its own.

    Where the latest arrival is served last and no plan is kept, an attempt that waits behind it
    changes nothing: only one that has started does.
    """
    cdef bint if_started = (
        model.rules.latest_last and model.rules.backfill != Backfill.CONSERVATIVE
    )
    cdef int64_t k = later.own[job]
    while k < later.own.shape[0] and model.jobs.arrival[k] <= start:
        if (
            later.blocked[k]
            or (model.jobs.rank[k] >= 0 and not if_started)
            or pool.begun[k] != NEVER
        ):
            return True
        k = later.own[k]
    return False


cdef int64_t start_without_own(
    Trials trials,
    int64_t job,
    int64_t start,
    bint branches,
    Model model,
    Model without,
    Later later,
) noexcept nogil:
    """Return when ``job``, which starts at ``start``, does without its user's later ones, or NEVER.

    Attempts that arrive by ``start`` are left out, and nothing arrives after it any more from the
    user's next attempt on. If the simulation comes as far as that, more are left out, and it is
    done again, from the branch if it ``branches``.
    """
    cdef State *state = &trials.trial.state
    cdef int64_t attempts = later.own.shape[0], until = start, beyond
    leave_out_steps(trials, job, model.steps, later)
    while True:
        beyond = later.own[job]
        while beyond < attempts and model.jobs.arrival[beyond] <= until:
            beyond = later.own[beyond]
        change_ranks(job, beyond, model.jobs, later)
        if branches:
            copy_simulation(trials.branch, trials.trial, without)
            trials.trial.begun[job] = NEVER
            state.until = beyond
            follow_on(trials.trial, without)
        else:
            begin_forward(trials, job, without, later, beyond)
            follow(trials.trial, without)
        change_ranks(job, beyond, model.jobs, later)
        forget(trials.trial, job)
        until = trials.trial.begun[job]
        if beyond == attempts or until < model.jobs.arrival[beyond]:
            return until


cdef void change_ranks(int64_t job, int64_t beyond, Jobs jobs, Later later) noexcept nogil:
    """Let a user's attempts between ``job`` and ``beyond`` be queued never, or again."""
    cdef int64_t k = later.own[job]
    while k < beyond:
        jobs.rank[k] = -2 - jobs.rank[k]  # −1, of an attempt that is never queued, stays
        k = later.own[k]


cdef void leave_out_steps(Trials trials, int64_t job, Steps steps, Later later) noexcept nogil:
    """Write the steps that a snapshot has not taken, without those of the user's later attempts.

    They begin at the index that the next one has.
    """
    cdef int64_t number = trials.snapshot.state.step, of, step
    for step in range(number, steps.number):
        of = steps.job[step]
        if of <= job or later.user[of] != later.user[job]:
            copy_step(steps, step, trials.steps, number)
            number += 1
    trials.steps.number = number
