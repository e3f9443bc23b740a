# Snapshots of the observed schedule, kept by a sweep over the attempts; a whole schedule simulated
# anew; and fair start times: each attempt's snapshot, simulated forward (SPEC §5).
#
# The sweep visits the attempts in order and records in a pool which of them run and which wait.
# Those that it does not queue are kept *aside*: blocked ones until they end, others until they have
# started. Subjects do not depend on one another, so a range of them is computed by itself, and the
# sweep begins where the range begins.


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


cdef void run_on(Pool pool, int64_t job, Jobs jobs, Observed observed) noexcept nogil:
    """Enter a started attempt as running."""
    if pool.by_nodes:
        recall_nodes(pool.places, job)
    hold(pool, job, observed.start[job] + jobs.estimate[job], observed.end[job], jobs)


cdef int64_t changes_after(int64_t job, Observed observed) noexcept nogil:
    """Return the last instant at which an attempt is in the queue or aside."""
    cdef int64_t last = observed.start[job]
    if observed.blocked[job] and last != NEVER:
        last = max(last, observed.end[job] - 1)
    return last


cdef void move_on(Trials trials, int64_t now, Model model, Observed observed) noexcept nogil:
    """Bring the snapshot to ``now``."""
    cdef State *state = &trials.snapshot.state
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
    cdef State *state = &trials.snapshot.state
    cdef int64_t kept = 0, job, i
    for i in range(state.tail):
        job = trials.snapshot.queue_job[i]
        if observed.start[job] < state.now:
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


cdef void sum_free(Pool pool, Steps steps) noexcept nogil:
    """Let ``spare`` be what is free in all once the steps up to now are taken."""
    cdef State *state = &pool.state
    if pool.by_nodes:
        sum_nodes(pool.places, steps, state.step, state.now, pool.spare)
    else:
        move(pool.spare, 0, pool.free, 0, pool.free.shape[0])
        add_steps(steps, state.step, state.now, pool.spare)


cdef void see_ahead(Pool pool, int64_t job) noexcept nogil:
    """Let what is free later be what is free now, to see whether ``job`` fits then."""
    if pool.by_nodes:
        see_nodes_ahead(pool.places, job)
    else:
        move(pool.spare, 0, pool.free, 0, pool.free.shape[0])


cdef bint fits_ahead(Pool pool, int64_t job, Jobs jobs) noexcept nogil:
    """Return whether ``job`` fits in what is free later; see ``see_ahead``."""
    if pool.by_nodes:
        return pool.places.total >= pool.places.nodes.parts[job]
    return fits(jobs.request, job, pool.spare)


cdef int64_t add_ahead(
    Pool pool, Steps steps, int64_t step, int64_t instant, int64_t job
) noexcept nogil:
    """Add steps up to an instant to what is free later; return the index behind them."""
    if not pool.by_nodes:
        return add_steps(steps, step, instant, pool.spare)
    while step < steps.number and steps.time[step] <= instant:
        add_nodes_ahead(pool.places, steps.holder[step], 1 if steps.ends[step] else -1, job)
        step += 1
    return step


cdef void copy_state(Pool source, Pool target) noexcept nogil:
    """Copy what runs, what waits and what is free, but no plans."""
    cdef int64_t tail = source.state.tail
    target.state = source.state
    move(target.free, 0, source.free, 0, source.free.shape[0])
    move(target.spare, 0, source.spare, 0, source.spare.shape[0])
    move(target.used, 0, source.used, 0, source.used.shape[0])
    move_running(target, 0, source, 0, source.state.running)
    if source.by_nodes:
        copy_nodes(source, source.places, target.places)
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


# --- a whole schedule ----------------------------------------------------------------------------


def replay(
    Model model not None, Observed observed not None, const uint8_t[::1] takes_part,
    const int64_t[::1] capacity, int64_t since, bint goes_on, Pool pool not None
):
    """Simulate everything that happens from ``since`` on, with what ran and waited then.

    Args:
        model: the attempts, of which those with rank < 0 are never queued; steps of the capacity
            and of blocked attempts; the policy.
        takes_part: [attempts], bool: which of them are simulated.
        since: epoch s. Attempts that started before it are as observed.
        goes_on: whether earlier usage of the observed schedule counts.
        pool: with space for all attempts. Its ``begun`` gets the starts, NEVER: none.
    """
    cdef State *state = &pool.state
    cdef int64_t attempts = pool.begun.shape[0], job
    with nogil:
        reset(pool, capacity)
        pool.begun[:] = NEVER
        state.now = since
        state.arriving = state.until = attempts
        for job in range(attempts):
            if model.jobs.arrival[job] >= since:
                state.arriving = job
                break
            if not takes_part[job]:
                continue
            if observed.start[job] < since:
                pool.begun[job] = observed.start[job]
                if observed.end[job] > since:
                    run_on(pool, job, model.jobs, observed)
            elif model.jobs.rank[job] >= 0:
                enqueue(pool, job, model.jobs, model.rules)
        if model.rules.backfill == Backfill.CONSERVATIVE:
            foresee(pool, model)
        if by_owner(model.rules):
            open_books(pool, model, since if goes_on else since - 1)
        follow(pool, model)



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
    cdef State *state = &trials.snapshot.state
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
        model.rules.latest_last and model.rules.backfill != Backfill.CONSERVATIVE and model.rules.depth == NEVER
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
    cdef State *state = &pool.state
    cdef int64_t owner = model.jobs.owner[job], other, i
    rate_owner(model.rules.fair, model.owners, pool.ledger, owner, state.now)
    for i in range(state.head, state.tail):
        other = model.jobs.owner[pool.queue_job[i]]
        rate_owner(model.rules.fair, model.owners, pool.ledger, other, state.now)
    for i in range(state.head, state.tail):
        if compare(pool.ledger, model.jobs.owner[pool.queue_job[i]], owner) < 0:
            leave(pool, i)
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
