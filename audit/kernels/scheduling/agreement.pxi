# How far a policy agrees with the observed starts where nodes decide what fits (SPEC §10), and the
# order of owners that was observed.


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


def observed_levels(
    Order order, Owners owners not None, Ledger ledger not None, const int64_t[::1] times,
    const int64_t[::1] who, double[:, :, ::1] out
):
    """Write the keys by which owners are compared, greatest first, as of what was observed.

    Under MULTIFACTOR the only key is the part of the priority that is fairshare.

    Args:
        times: ascending, epoch s.
        who: owners.
        out: times × levels × owners.
    """
    cdef int64_t t, k, level
    with nogil:
        open_ledger(ledger, AFTER_ALL)
        for t in range(times.shape[0]):
            if order == Order.NUWT:
                ledger.since = times[t]
                ledger.serial += 1
            elif order == Order.MULTIFACTOR:
                if ledger.books.rated != tick_of(ledger.books, times[t]):
                    open_accounts(owners.slurm, ledger.books, times[t])
                rate_users(owners.slurm, ledger.books, times[t])
            for k in range(who.shape[0]):
                if order == Order.MULTIFACTOR:
                    out[t, 0, k] = owners.slurm.fairshare_weight * ledger.books.factor[who[k]]
                    continue
                rate_owner(order, owners, ledger, who[k], times[t])
                for level in range(out.shape[1]):
                    out[t, level, k] = ledger.keys[level, who[k]]
