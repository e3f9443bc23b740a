# Which attempts a policy would have started, judged on the observed schedule (SPEC §10).
#
# A sweep over the instants of the observed schedule records in a pool which attempts run and which
# wait. At each instant one pass of the policy shows which of them it would start. Then the pool is
# restored to what was observed, so that no decision affects the next one.


cdef extern from *:
    const int64_t ANY_NUMBER "(INT64_C(1) << 60)"  # the limit of a window's counter


cdef enum:
    # Why an attempt was not started at some instant between ``ready`` and its start.
    NOT_WITHHELD
    BY_WINDOW
    BY_LIMIT


cdef class Decided:
    """The decisions so far; arrays have one element per attempt."""
    cdef int64_t[::1] ready  # or NEVER
    cdef uint8_t[::1] over  # whether more is in use than there is once the attempt has started
    cdef int64_t[::1] withheld  # empty: not requested
    cdef int64_t[::1] in_turn  # the attempts with a ``ready``, in the order in which they got it
    cdef int64_t[::1] watched  # those of them that wait
    cdef int64_t ready_number  # the number of ``in_turn``,
    cdef int64_t aside_number  # the number of those that have been put aside,
    cdef int64_t watched_number  # and the number of ``watched``
    cdef const int64_t[::1] by_start
    cdef int64_t started  # number of ``by_start`` that have started
    cdef int64_t tolerance

    def __init__(self, *, ready, over, withheld, by_start, int64_t tolerance):
        self.ready, self.over, self.withheld = ready, over, withheld
        self.by_start, self.tolerance = by_start, tolerance
        self.in_turn = np.zeros(len(ready), np.int64)
        self.watched = np.zeros(len(withheld), np.int64)


def decide(
    Model model not None, Observed observed not None, by_start, const int64_t[::1] capacity,
    int64_t tolerance, int64_t until, Pool pool not None, ready, over, withheld
):
    """Write when the policy would have started each attempt that it queues.

    Args:
        model: the attempts, steps of the capacity and of blocked attempts, and the policy.
        by_start: attempts that started and were not blocked, by start.
        tolerance: an attempt that would have started longer ago is put aside, s.
        until: the last instant to judge, epoch s.
        pool: with space for all attempts that are there at one time; ``begun`` is working space.
        ready: [attempts], gets when each would have started, or NEVER.
        over: [attempts], bool, gets whether more is in use than there is once it has started.
        withheld: [attempts], gets 0, BY_WINDOW, or BY_LIMIT, which precedes it; or empty.
    """
    cdef Decided out = Decided(
        ready=ready, over=over, withheld=withheld, by_start=by_start, tolerance=tolerance
    )
    with nogil:
        reset(pool, capacity)
        open_ledger(pool.ledger, AFTER_ALL)
        pool.state.until = out.ready.shape[0]
        out.ready[:] = NEVER
        out.over[:] = False
        pool.begun[:] = NEVER
        while next_observed(pool, model, observed, out) <= until:
            judge(pool, model, observed, out)


cdef void judge(Pool pool, Model model, Observed observed, Decided out) noexcept nogil:
    """Go on to the next instant, and judge it."""
    cdef State *state = &pool.state
    cdef int64_t waiting, next_end, job
    state.now = next_observed(pool, model, observed, out)
    take_steps(pool, model)
    let_edges_pass(pool, model.jobs.limits)
    if state.next_end <= state.now:
        release(pool, model.jobs)
    arrive(pool, model)
    while out.aside_number < out.ready_number and is_aside(
        out.in_turn[out.aside_number], state.now, out
    ):
        job = out.in_turn[out.aside_number]
        if observed.start[job] >= state.now:
            leave(pool, find(pool, job))
        out.aside_number += 1
    resume_aside(pool, model, observed, out)
    if out.withheld.shape[0] > 0:
        watch(pool, model.jobs, observed, out)
    waiting = state.waiting
    next_end = state.next_end
    if pass_is_due(pool, model.rules, is_starting(pool, observed, out)) and waiting > 0:
        pass_once(pool, model)
    if state.waiting < waiting:
        take_back(pool, model, observed, waiting - state.waiting, next_end, out)
    start_observed(pool, model, observed, out)


cdef int64_t next_observed(Pool pool, Model model, Observed observed, Decided out) noexcept nogil:
    """Return the next instant of the observed schedule, or NEVER."""
    cdef State *state = &pool.state
    cdef int64_t instant = min(state.next_end, state.due)
    skip_unqueued(pool, model.jobs)
    if state.arriving < state.until:
        instant = min(instant, model.jobs.arrival[state.arriving])
    if out.started < out.by_start.shape[0]:
        instant = min(instant, observed.start[out.by_start[out.started]])
    if state.step < model.steps.number:
        instant = min(instant, model.steps.time[state.step])
    return min(instant, edge_at(model.jobs.limits.edges, state.edge, state.delay))


cdef bint is_starting(Pool pool, Observed observed, Decided out) noexcept nogil:
    """Return whether any attempt was observed to start now."""
    return (
        out.started < out.by_start.shape[0]
        and observed.start[out.by_start[out.started]] == pool.state.now
    )


cdef bint pass_is_due(Pool pool, Rules rules, bint starting) noexcept nogil:
    """Return whether there is a pass now; if not, note when the next one is.

    The phase of passes is unknown where others run ``between`` them: one was made where an attempt
    is ``starting``, and some time within an interval after anything that happens.
    """
    cdef State *state = &pool.state
    if rules.between:
        if not starting and state.due != state.now:
            state.due = min(state.due, state.now + rules.every)
            return False
    else:
        state.due = next_multiple(state.now, rules.every, rules.origin)
        if state.due != state.now:
            return False
    state.due = NEVER
    return True


cdef void pass_once(Pool pool, Model model) noexcept nogil:
    """Make one pass over the observed state, with owners ranked by what was observed.

    Where passes from the front of the queue run ``between`` others, one of them comes first.
    """
    cdef State *state = &pool.state
    cdef bint costly = model.rules.order != Order.RANK or model.rules.backfill == Backfill.REPLAN
    if costly and not any_can_start(pool, model.jobs):
        return
    if model.rules.order == Order.NUWT:
        pool.ledger.since = state.now
        pool.ledger.serial += 1
        state.sorted_for = OUT_OF_ORDER
    elif model.rules.order == Order.MULTIFACTOR:
        if pool.ledger.books.rated != tick_of(pool.ledger.books, state.now):
            open_accounts(model.owners.slurm, pool.ledger.books, state.now)
    arrange(pool, model)
    if model.rules.between and pool.by_nodes:
        start_fronts(pool, pool.places, model.jobs)
    elif model.rules.between:
        start_front(pool, model.jobs, NEVER)
    if model.rules.backfill == Backfill.REPLAN:
        pass_replan(pool, model)
    else:
        state.fresh = 0  # examine all: what an earlier pass established does not hold here
        pool.places.head = NOBODY
        pass_greedy(pool, model)


cdef void take_back(
    Pool pool, Model model, Observed observed, int64_t number, int64_t next_end, Decided out
) noexcept nogil:
    """Note what a pass has started, and return attempts to the queue that did not start then.

    ``number`` is how many it has started, ``next_end`` the next end of the others.
    """
    cdef State *state = &pool.state
    cdef int64_t i = state.running, job
    while number > 0:
        i -= 1
        job = pool.run_job[i]
        if pool.begun[job] != state.now:
            continue
        number -= 1
        if out.ready[job] == NEVER:
            out.ready[job] = state.now
            out.in_turn[out.ready_number] = job
            out.ready_number += 1
            if out.withheld.shape[0] > 0:
                out.watched[out.watched_number] = job
                out.watched_number += 1
        if observed.start[job] == state.now:
            next_end = min(next_end, pool.run_end[i])
            if pool.by_nodes:  # where it ran, not where the policy would have put it
                take_or_return(pool, job, 1, model.jobs)
                recall_nodes(pool.places, job)
                take_or_return(pool, job, -1, model.jobs)
            continue
        take_or_return(pool, job, 1, model.jobs)
        count(pool, job, -1, model.jobs.limits)
        state.running -= 1
        move_running(pool, i, pool, i + 1, state.running - i)
        put_back(pool, job, model)
    state.next_end = next_end


cdef void put_back(Pool pool, int64_t job, Model model) noexcept nogil:
    """Put an attempt back into the queue, between those before and after it in the order.

    It left a gap there, which others that were put back may have moved to.
    """
    cdef State *state = &pool.state
    cdef int64_t i = state.head, gap, moved
    while i < state.tail and not (
        pool.queue_job[i] != GAP and comes_first(job, pool.queue_job[i], pool, model)
    ):
        i += 1
    gap = i - 1
    while pool.queue_job[gap] != GAP:
        gap -= 1
    for moved in range(gap + 1, i):
        move_place(pool, moved, moved - 1)
    make_stale(pool, gap, i)
    place(pool, i - 1, job, model.jobs)
    state.head = min(state.head, gap)
    state.waiting += 1


cdef int64_t find(Pool pool, int64_t job) noexcept nogil:
    """Return the place of a queued attempt."""
    cdef int64_t i = pool.state.head
    while pool.queue_job[i] != job:
        i += 1
    return i


cdef bint is_aside(int64_t job, int64_t now, Decided out) noexcept nogil:
    """Return whether an attempt would have started too long ago to take part in passes."""
    return out.ready[job] != NEVER and out.ready[job] + out.tolerance < now


cdef void watch(Pool pool, Jobs jobs, Observed observed, Decided out) noexcept nogil:
    """Note what prevents attempts from starting now that would have started before, and wait."""
    cdef int64_t kept = 0, job, by, i, k
    for i in range(out.watched_number):
        job = out.watched[i]
        if observed.start[job] <= pool.state.now:
            continue
        out.watched[kept] = job
        kept += 1
        for k in range(jobs.limits.first[job], jobs.limits.first[job + 1]):
            if forbids(pool, k, job, jobs):
                by = BY_WINDOW if jobs.limits.most[jobs.limits.counter[k]] >= ANY_NUMBER else BY_LIMIT
                out.withheld[job] = max(out.withheld[job], by)
    out.watched_number = kept


cdef void resume_aside(Pool pool, Model model, Observed observed, Decided out) noexcept nogil:
    """Let attempts run that had been put aside and start now, before others can take the space."""
    cdef int64_t now = pool.state.now, job, i
    for i in range(out.started, out.by_start.shape[0]):
        job = out.by_start[i]
        if observed.start[job] > now:
            break
        if is_aside(job, now, out) and observed.end[job] > now:
            run_on(pool, job, model.jobs, observed)


cdef void start_observed(Pool pool, Model model, Observed observed, Decided out) noexcept nogil:
    """Let the other attempts run that start now."""
    cdef State *state = &pool.state
    cdef int64_t first = out.started, job, x, i
    cdef bint over = False
    while is_starting(pool, observed, out):
        job = out.by_start[out.started]
        out.started += 1
        if is_aside(job, state.now, out) or pool.begun[job] == state.now:
            continue  # it runs already
        if model.jobs.rank[job] >= 0:
            leave(pool, find(pool, job))
        if observed.end[job] > state.now:
            run_on(pool, job, model.jobs, observed)
    if state.next_end <= state.now:  # attempts without a duration
        release(pool, model.jobs)
    sum_free(pool, model.steps)
    for x in range(pool.spare.shape[0]):
        over |= pool.spare[x] < 0
    for i in range(first, out.started):
        out.over[out.by_start[i]] = over


# --- agreement by nodes (SPEC §10) ---------------------------------------------------------------


def agree(
    Model model not None, Observed observed not None, by_start, const int64_t[::1] capacity,
    const uint8_t[::1] waited, int64_t until, Pool pool not None, int64_t[::1] out
):
    """Count how far one pass at each instant with starts agrees with them.

    Instants count at which more wait than start; see ``decide`` for the other arguments.

    Args:
        waited: [attempts], whether an attempt waited long enough to count where it was started.
        out: [3], gets starts that were observed and chosen, observed starts, and attempts chosen
            that did not start then.

    Source: SPEC §10, *A_nodes*.
    """
    none, unknown = np.zeros(0, np.int64), np.full(len(waited), NEVER)
    cdef Decided aside = Decided(
        ready=unknown, over=np.zeros(len(waited), np.uint8), withheld=none, by_start=by_start,
        tolerance=0
    )
    with nogil:
        reset(pool, capacity)
        open_ledger(pool.ledger, AFTER_ALL)
        pool.state.until = aside.ready.shape[0]
        pool.begun[:] = NEVER
        while next_observed(pool, model, observed, aside) <= until:
            compare_starts(pool, model, observed, waited, aside, out)


cdef void compare_starts(
    Pool pool, Model model, Observed observed, const uint8_t[::1] waited, Decided aside,
    int64_t[::1] out
) noexcept nogil:
    """Go on to the next instant, and count it if it counts."""
    cdef State *state = &pool.state
    cdef int64_t starting = 0, next_end, waiting, number, job, i
    state.now = next_observed(pool, model, observed, aside)
    take_steps(pool, model)
    let_edges_pass(pool, model.jobs.limits)
    if state.next_end <= state.now:
        release(pool, model.jobs)
    arrive(pool, model)
    state.due = NEVER
    for i in range(aside.started, aside.by_start.shape[0]):
        job = aside.by_start[i]
        if observed.start[job] > state.now:
            break
        starting += model.jobs.rank[job] >= 0
    waiting, next_end = state.waiting, state.next_end
    if 0 < starting < waiting:
        for i in range(aside.started, aside.by_start.shape[0]):
            job = aside.by_start[i]
            if observed.start[job] > state.now:
                break
            out[1] += waited[job] and model.jobs.rank[job] >= 0
        pass_as_observed(pool, model, observed, aside)
        number = waiting - state.waiting
        i = state.running
        while number > 0:
            i -= 1
            job = pool.run_job[i]
            if pool.begun[job] != state.now:
                continue
            number -= 1
            if observed.start[job] != state.now:
                out[2] += 1
            else:
                out[0] += waited[job]
        if state.waiting < waiting:
            take_back(pool, model, observed, waiting - state.waiting, next_end, aside)
            for i in range(aside.ready_number):
                aside.ready[aside.in_turn[i]] = NEVER
            aside.ready_number = 0
    start_observed(pool, model, observed, aside)


cdef void pass_as_observed(Pool pool, Model model, Observed observed, Decided aside) noexcept nogil:
    """Make the pass that the starts of the instant show.

    Where passes from the front of the queue run ``between`` others, on clocks of their own, it is
    one of those if it explains all starts; else the other follows.
    """
    cdef State *state = &pool.state
    cdef int64_t unexplained = 0, job, i
    if not model.rules.between:
        pass_once(pool, model)
        return
    if pool.ledger.books.rated != tick_of(pool.ledger.books, state.now):
        open_accounts(model.owners.slurm, pool.ledger.books, state.now)
    arrange(pool, model)
    if pool.by_nodes:
        start_fronts(pool, pool.places, model.jobs)
    else:
        start_front(pool, model.jobs, NEVER)
    for i in range(aside.started, aside.by_start.shape[0]):
        job = aside.by_start[i]
        if observed.start[job] > state.now:
            break
        unexplained += model.jobs.rank[job] >= 0 and pool.begun[job] != state.now
    if unexplained == 0:
        return
    if model.rules.backfill == Backfill.REPLAN:
        pass_replan(pool, model)
    else:
        state.fresh = 0
        pool.places.head = NOBODY
        pass_greedy(pool, model)
