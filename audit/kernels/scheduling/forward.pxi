# Modelled starts: each attempt's snapshot, simulated with all later arrivals (SPEC §10).
#
# All blocked attempts are steps here, even those that arrive later, so snapshots hold none.


@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Later:
    """What is known of later attempts beside their requests; one element per attempt."""
    cdef const int64_t[::1] own  # the next attempt of the same user, or the number of attempts
    cdef const int64_t[::1] user
    cdef const uint8_t[::1] blocked
    cdef const int64_t[::1] start  # observed


def forward_starts(
    Model model not None, Model sweep not None, Observed observed not None,
    const int64_t[::1] capacity, Later later not None, const uint8_t[::1] subject, int64_t low,
    int64_t high, Trials trials not None, int64_t[::1] start, int64_t[::1] without_own
):
    """Write the modelled starts of the subjects from index ``low`` to ``high``, ``low`` < ``high``.

    Args:
        model: the attempts, of which those with rank < 0 are never queued; steps of the capacity
            and of blocked attempts; the policy. Ranks are changed, and changed back.
        sweep: the same with steps taken one second later.
        observed: the schedule of the attempts, in which blocked ones are not present.
        start: [attempts], gets the modelled starts, or NEVER.
        without_own: [attempts], gets the same without the later arrivals of the user.
    """
    cdef Model without = Model(model.jobs, trials.steps, model.rules, model.owners)
    cdef int64_t job, taken
    with nogil:
        trials.trial.begun[:] = NEVER
        begin_sweep(trials, sweep, observed, capacity, low)
        for job in range(low, high):
            taken = trials.snapshot.state.step
            move_on(trials, model.jobs.arrival[job], sweep, observed)
            note_lasting(trials, model, taken)
            if subject[job]:
                start[job], without_own[job] = forward_start(trials, job, model, without, later)
            enter(trials, job, model.jobs.arrival[job], sweep, observed)


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

    Until the first of these comes, both are one simulation, which pauses there if the pool holds
    all of its state, however far it has looked ahead.
    """
    cdef int64_t attempts = later.own.shape[0], mine = later.own[job], start
    cdef State *state = &trials.trial.state
    cdef bint branches, differs
    cdef bint may_pause = (not by_owner(model.rules) and model.jobs.limits.edges.time.shape[0] == 0)
    begin_forward(trials, job, model, later, attempts)
    if mine < attempts and may_pause:
        state.pause = model.jobs.arrival[mine]
    branches = state.now < state.pause < NEVER
    if not branches:
        state.pause = NEVER
    follow(trials.trial, model)
    branches = branches and trials.trial.begun[job] == NEVER
    if branches:
        copy_simulation(trials.trial, trials.spare, model)
        follow_on(trials.trial, model)
    start = trials.trial.begun[job]
    differs = own_matter(trials.trial, job, start, model, later)
    forget(trials.trial, job)
    if differs:
        return start, start_without_own(trials, job, start, branches, model, without, later)
    return start, start


cdef void copy_simulation(Pool source, Pool target, Model model) noexcept nogil:
    """Copy a simulation that has paused, except what has started in it."""
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
    """Begin with the snapshot and ``job``; attempts up to index ``until`` are to arrive.

    Under CONSERVATIVE the queue is planned afresh at the first pass, in its order, ``job`` last;
    attempts that arrive later have no plan yet.
    """
    cdef State *state = &trials.trial.state
    cdef bint conservative = model.rules.backfill == Backfill.CONSERVATIVE
    cdef bint joins_first = not conservative or trials.snapshot.state.waiting == 0
    copy_state(trials.snapshot, trials.trial)
    if conservative:
        foresee(trials.trial, model)
    if joins_first:
        enqueue(trials.trial, job, model.jobs, model.rules)
    if by_owner(model.rules):
        open_here(trials, model, later)
    if conservative:
        plan_afresh(trials.trial, model)
    if not joins_first:
        enqueue(trials.trial, job, model.jobs, model.rules)
        plan_waiting(trials.trial, model)
    trials.trial.begun[job] = NEVER
    state.arriving = job + 1
    state.until = until
    state.target = job


cdef void open_here(Trials trials, Model model, Later later) noexcept nogil:
    """Begin the ledger of a simulation that continues a snapshot; see ``open_books``.

    Entered are the blocked attempts that have lasted since before, and then the steps that the
    simulation took beyond those of the snapshot.
    """
    cdef State *state = &trials.trial.state
    cdef int64_t taken = state.step, job, step, i
    state.step = 0
    open_books(trials.trial, model, state.now)
    state.step = taken
    for i in range(trials.lasting_number):
        job = trials.lasting[i]
        enter_blocked(trials.trial, job, False, later.start[job], model)
    for step in range(trials.snapshot.state.step, taken):
        enter_step(trials.trial, model, step)


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
    Trials trials, int64_t job, int64_t start, bint branches, Model model, Model without,
    Later later
) noexcept nogil:
    """Return when ``job``, which starts at ``start``, does without its user's later ones, or NEVER.

    Those that arrive by ``start`` are left out, and nothing arrives any more from the user's next
    attempt after it on. If the simulation comes that far, more are left out and it is repeated,
    from the branch if it ``branches``.
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
            copy_simulation(trials.spare, trials.trial, without)
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

    They keep the index of the first of them.
    """
    cdef int64_t number = trials.snapshot.state.step, of, step
    for step in range(number, steps.number):
        of = steps.job[step]
        if of <= job or later.user[of] != later.user[job]:
            copy_step(steps, step, trials.steps, number)
            number += 1
    trials.steps.number = number


# --- from one instant on, with expected durations and without later arrivals (SPEC §13) ----------


def start_queue(
    Model model not None, const int64_t[::1] capacity, int64_t now, const int64_t[::1] running,
    const int64_t[::1] planned, const int64_t[::1] end, const int64_t[::1] queue, int64_t target,
    Pool pool not None
):
    """Simulate a pool from ``now`` on; ``pool.begun`` gets the starts of the queue, NEVER: none.

    Args:
        model: its steps are those after ``now`` that planners know of.
        capacity: at ``now``.
        running: attempts that run,
        planned: when planners expect each of them to end,
        end: and when it ends, > ``now``.
        queue: attempts that wait, with a rank ≥ 0, in the order of arrival.
        target: stop when this attempt of the queue has started; NOBODY (−1): when all have.
        pool: with space for both.
    """
    cdef State *state = &pool.state
    cdef int64_t i
    with nogil:
        reset(pool, capacity)
        state.now, state.target = now, target
        for i in range(running.shape[0]):
            hold(pool, running[i], planned[i], end[i], model.jobs)
        for i in range(queue.shape[0]):
            pool.begun[queue[i]] = NEVER
            enqueue(pool, queue[i], model.jobs, model.rules)
        if model.rules.backfill == Backfill.CONSERVATIVE:
            foresee(pool, model)
        if by_owner(model.rules):
            open_books(pool, model, now)
        follow(pool, model)
