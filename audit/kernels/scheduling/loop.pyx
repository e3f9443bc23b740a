"""The event loop: a pool simulated from instant to instant (SPEC §4, docs/simulation.md); and its
entries in the ledger of owners, for the orders that depend on them.
"""

from libc.stdint cimport int64_t

from audit.kernels.scheduling.instants cimport NEVER, next_multiple
from audit.kernels.scheduling.model cimport (
    NOBODY, Backfill, Model, Order, Steps, by_owner, edge_at, next_edge, preempts
)
from audit.kernels.scheduling.multifactor cimport book_end, book_start, open_accounts
from audit.kernels.scheduling.owners cimport charge_owner, open_ledger
from audit.kernels.scheduling.passes cimport pass_greedy, settles, start_front, start_fronts
from audit.kernels.scheduling.plans cimport pass_conservative, pass_replan, release_early
from audit.kernels.scheduling.pool cimport (
    BOOKED, CHARGED, NOTHING_CHARGED, OUT_OF_ORDER, Pool, PoolState, fits_now, let_edges_pass,
    release,
    take_steps
)
from audit.kernels.scheduling.preemption cimport next_return, preempt, rejoin
from audit.kernels.scheduling.profile cimport add_step, forget_past
from audit.kernels.scheduling.queue cimport any_can_start, arrange, close_gaps, enqueue, mostly_gaps


cdef enum:
    PATIENCE = 3  # periods of edges to wait if nothing else is to come


# --- the ledger ----------------------------------------------------------------------------------


cdef void open_books(Pool pool, Model model, int64_t since) noexcept nogil:
    """Begin the ledger of a simulation that continues the observed schedule at ``since``.

    The steps taken so far are those that planners were shown (``foresee``). The starts and ends of
    their blocked attempts are entered too.
    """
    cdef PoolState *state = &pool.state
    cdef int64_t owner, start, step, i
    cdef double charge
    open_ledger(pool.ledger, since)
    state.sorted_for = OUT_OF_ORDER
    state.charging = NOTHING_CHARGED
    if model.rules.order == Order.MULTIFACTOR:
        state.charging = BOOKED
        open_accounts(model.owners.slurm, pool.ledger.books, since)
    elif model.rules.order == Order.FAIRSHARE:
        state.charging = CHARGED
    if state.charging != NOTHING_CHARGED:
        for i in range(state.running):
            owner, charge = model.jobs.owner[pool.run_job[i]], model.jobs.charge[pool.run_job[i]]
            if state.charging == CHARGED:
                charge_owner(pool.ledger, owner, charge, since)
            else:
                start = pool.run_end[i] - model.jobs.occupancy[pool.run_job[i]]
                book_start(pool.ledger.books, owner, charge, start)
    for step in range(state.step):
        enter_step(pool, model, step)


cdef void enter_ended(Pool pool, Model model) noexcept nogil:
    """Enter the attempts that end now, unless that is done."""
    cdef int64_t i
    for i in range(pool.state.running):
        if pool.state.entered < pool.run_end[i] <= pool.state.now:
            enter_end(pool, pool.run_job[i], pool.run_end[i], model)


cdef void enter_end(Pool pool, int64_t job, int64_t end, Model model) noexcept nogil:
    """Enter the end of an attempt."""
    cdef int64_t owner = model.jobs.owner[job], occupancy = model.jobs.occupancy[job]
    cdef double charge = model.jobs.charge[job]
    if model.rules.order == Order.FAIRSHARE:
        charge_owner(pool.ledger, owner, -charge, pool.state.now)
    elif model.rules.order == Order.MULTIFACTOR:
        if occupancy > 0:  # the observed schedule has counted earlier ends
            book_end(
                pool.ledger.books, owner, charge, end - occupancy, end, end > pool.ledger.since
            )
    else:
        pool.ledger.accounts[owner].waited += end - occupancy - model.jobs.arrival[job]
        pool.ledger.accounts[owner].used += charge
        pool.state.sorted_for = OUT_OF_ORDER


cdef void enter_blocked(
    Pool pool, int64_t job, bint ends, int64_t time, Model model
) noexcept nogil:
    """Enter the start or end of a blocked attempt."""
    cdef int64_t owner = model.jobs.owner[job], lasts = model.jobs.occupancy[job]
    cdef Order order = model.rules.order
    if ends:
        # under NUWT the observed schedule has counted earlier ends
        if order != Order.NUWT or time + (lasts == 0) > pool.ledger.since:
            enter_end(pool, job, time, model)
    elif order == Order.FAIRSHARE:
        charge_owner(pool.ledger, owner, model.jobs.charge[job], pool.state.now)
    elif order == Order.MULTIFACTOR and lasts > 0:
        book_start(pool.ledger.books, owner, model.jobs.charge[job], time)


cdef inline void enter_step(Pool pool, Model model, int64_t step) noexcept nogil:
    """Enter the blocked attempt that begins or ends with a step, if the order depends on owners."""
    if by_owner(model.rules) and model.steps.job[step] != NOBODY:
        enter_blocked(
            pool, model.steps.job[step], model.steps.ends[step], model.steps.time[step], model
        )


# --- the loop ------------------------------------------------------------------------------------


cdef void follow(Pool pool, Model model) noexcept nogil:
    """Simulate a pool from ``state.now`` on, until nothing waits and nothing arrives any more.

    Attempts from index ``state.arriving`` up to ``state.until`` are still to arrive. The simulation
    stops as soon as ``state.target`` has started. Everything that happened before is entered in
    ``pool``; under CONSERVATIVE after ``foresee``, under FAIRSHARE, NUWT and MULTIFACTOR after
    ``open_books``.
    """
    cdef PoolState *state = &pool.state
    while True:
        if model.rules.between and model.rules.every > 0:
            follow_slurm(pool, model)
        else:
            follow_plain(pool, model)
        if state.target != NOBODY and pool.begun[state.target] != NEVER:
            return
        let_wait(pool, model)
        if not advance(pool, model):
            return


cdef void follow_plain(Pool pool, Model model) noexcept nogil:
    """Do what happens now, and make a pass if one is due."""
    cdef PoolState *state = &pool.state
    state.news |= happen(pool, model)
    arrive(pool, model)
    if model.rules.between:
        run_passes(pool, model, False, True)
    state.due = next_multiple(state.now, model.rules.every, model.rules.origin)
    if state.due == state.now:
        run_passes(pool, model, state.news, False)
        state.news = False
        state.due = NEVER


cdef void follow_slurm(Pool pool, Model model) noexcept nogil:
    """Do what happens now, as slurmctld: backfill, then ends and arrivals, then the main scheduler.

    slurmctld learns of ends and arrivals within the second, and so after a pass of backfill. Its
    main scheduler pauses between passes.
    """
    cdef PoolState *state = &pool.state
    cdef bint alone
    if state.due == state.now:
        state.due = NEVER
        alone = next_instant(pool, model) > state.now
        step_now(pool, model)
        if not alone:  # a tick at this instant counts what ends now
            enter_ended(pool, model)
            state.entered = state.now
        run_passes(pool, model, False, False)
        if alone:
            return
    happen(pool, model)
    shift_passes(state, model.rules)
    arrive(pool, model)
    if state.serves == NEVER and state.waiting > 0:
        state.serves = max(state.now, state.served + model.rules.pause)
    if state.serves <= state.now:
        state.served, state.serves = state.now, NEVER
        run_passes(pool, model, False, True)
    state.due = next_multiple(
        state.now + 1, model.rules.every, model.rules.origin + state.shift
    )


cdef bint advance(Pool pool, Model model) noexcept nogil:
    """Go on to the next instant; return False if there is none."""
    cdef int64_t instant = next_instant(pool, model)
    if instant == NEVER:
        return False
    pool.state.now = instant
    return True


cdef bint happen(Pool pool, Model model) noexcept nogil:
    """Do what precedes arrivals at an instant: (0) steps of the capacity and edges, (1) ends.

    Return whether a step was taken or, where a plan is kept, something ended earlier than expected.
    """
    cdef bint news = step_now(pool, model)
    if pool.state.next_end <= pool.state.now:
        news |= end_due(pool, model)
    return news


cdef bint step_now(Pool pool, Model model) noexcept nogil:
    """Take the steps of the capacity and pass the edges up to now; return whether any was taken."""
    cdef PoolState *state = &pool.state
    cdef int64_t first = state.step, step
    take_steps(pool, model)
    let_edges_pass(pool, model.jobs.limits)
    for step in range(first, state.step):
        enter_step(pool, model, step)
        if model.rules.backfill == Backfill.CONSERVATIVE:
            show_step(pool, model.steps, step)
    return state.step > first


cdef void show_step(Pool pool, Steps steps, int64_t step) noexcept nogil:
    """Show a step that is taken now to planners that keep a plan, unless they knew of it."""
    cdef int64_t x
    if pool.by_nodes:
        if steps.ends[step]:
            pool.state.freed = NEVER
        return
    forget_past(pool.profile, pool.state.now)
    if not steps.planned[step]:
        add_step(pool.profile, pool.state.now, steps, step)
        for x in range(steps.change.shape[0]):
            if steps.change[x, step] > 0:
                pool.state.freed = NEVER


cdef bint end_due(Pool pool, Model model) noexcept nogil:
    """End what ends by now; return whether, where a plan is kept, any was expected to run on."""
    cdef bint early = False
    if model.rules.backfill == Backfill.CONSERVATIVE:
        forget_past(pool.profile, pool.state.now)
        early = release_early(pool, model.jobs)
    if by_owner(model.rules):
        enter_ended(pool, model)
    release(pool, model.jobs)
    return early


cdef void arrive(Pool pool, Model model) noexcept nogil:
    """(2) Let attempts that arrive by now join the queue, and preempted ones that are due."""
    cdef PoolState *state = &pool.state
    if state.returning > 0:
        rejoin(pool, model)
    skip_unqueued(pool, model.jobs)
    while state.arriving < state.until and model.jobs.arrival[state.arriving] <= state.now:
        enqueue(pool, state.arriving, model.jobs, model.rules)
        state.arriving += 1
        skip_unqueued(pool, model.jobs)


cdef void let_wait(Pool pool, Model model) noexcept nogil:
    """Let attempts that do not fit when they arrive join behind the others, up to the next event.

    Where only a new arrival could start (see ``settles``), and it does not fit, nothing else
    happens at its arrival, so it needs no instant.
    """
    cdef PoolState *state = &pool.state
    cdef bint all_tried = state.head < state.fresh and state.fresh == state.tail
    cdef int64_t before, job
    if not (
        all_tried
        and model.rules.latest_last
        and model.rules.every == 0
        and not preempts(model.jobs)
        and settles(pool, model)
    ):
        return
    before = state.next_end
    if state.step < model.steps.number:
        before = min(before, model.steps.time[state.step])
    while state.arriving < state.until:
        job = state.arriving
        if model.jobs.rank[job] >= 0:
            if model.jobs.arrival[job] >= before or fits_now(pool, job, model.jobs):
                return
            enqueue(pool, job, model.jobs, model.rules)
            state.fresh = state.tail
        state.arriving += 1


cdef void run_passes(Pool pool, Model model, bint news, bint front) noexcept nogil:
    """(3) Make passes until one starts nothing that ends at once, and nothing gives way.

    ``front``: passes of NONE, whatever the backfilling.
    """
    cdef bint again = pool.state.waiting > 0
    if mostly_gaps(pool):
        close_gaps(pool)
    while again:
        again = make_pass(pool, model, news, front)
        if not again and preempts(model.jobs):
            arrange(pool, model)
            again = preempt(pool, model)
        if again:
            news = end_due(pool, model)


cdef bint make_pass(Pool pool, Model model, bint news, bint front) noexcept nogil:
    """Make a pass, see ``run_passes``; return whether anything started ends at once."""
    cdef bint conservative = model.rules.backfill == Backfill.CONSERVATIVE
    # Whether to check first if anything can start, because the order or a plan would cost more.
    cdef bint in_question = not conservative and (
        model.rules.order != Order.RANK or model.rules.backfill == Backfill.REPLAN
    )
    if in_question and not any_can_start(pool, model.jobs):
        return False
    if model.rules.order != Order.RANK:
        arrange(pool, model)
    if front and pool.by_nodes:
        return start_fronts(pool, pool.places, model.jobs)
    if front:
        return start_front(pool, model.jobs, NEVER)[0]
    if conservative:
        return pass_conservative(pool, model, news)
    if model.rules.backfill == Backfill.REPLAN:
        return pass_replan(pool, model)
    return pass_greedy(pool, model)


cdef int64_t next_instant(Pool pool, Model model) noexcept nogil:
    """Return the next instant; NEVER: there is none, or nothing waits and nothing will arrive.

    Edges of windows never end. If nothing else is to come, a few of their periods decide.
    """
    cdef PoolState *state = &pool.state
    cdef bint some_arrive = state.arriving < state.until
    cdef int64_t instant = state.next_end, edge
    if state.waiting == 0 and state.returning == 0 and not some_arrive:
        return NEVER
    if state.returning > 0:
        instant = min(instant, next_return(pool))
    if some_arrive:
        instant = min(instant, model.jobs.arrival[state.arriving])
    if state.step < model.steps.number:
        instant = min(instant, model.steps.time[state.step])
    if model.rules.backfill == Backfill.CONSERVATIVE:
        instant = min(instant, state.soonest)
    edge = edge_at(model.jobs.limits.edges, state.edge, state.delay)
    if instant != NEVER:
        state.quiet = NEVER
    elif edge != NEVER and state.quiet == NEVER:
        state.quiet = state.now + PATIENCE * model.jobs.limits.edges.period
    if edge != NEVER:
        instant = min(instant, edge_that_matters(pool, model, min(instant, state.quiet)))
    return min(min(instant, state.due), state.serves)


cdef int64_t edge_that_matters(Pool pool, Model model, int64_t until) noexcept nogil:
    """Return the next edge up to ``until`` at which a pass may start anything, or NEVER."""
    cdef int64_t edge = pool.state.edge, delay = pool.state.delay, instant
    cdef bint all_matter = not waits_for_hours_alone(model)
    cdef int64_t overdue = pool.run_expected[0] if pool.state.running > 0 else NEVER
    while True:
        instant = edge_at(model.jobs.limits.edges, edge, delay)
        if instant > until:
            return NEVER
        if (
            all_matter
            or instant >= overdue  # the expected end moves on with time
            or pool.queued[model.jobs.limits.edges.counter[edge]] > 0
        ):
            return instant
        edge, delay = next_edge(model.jobs.limits.edges, edge, delay)


cdef bint waits_for_hours_alone(Model model) noexcept nogil:
    """Return whether edges of windows of no queued attempt let no pass start anything.

    Only windows forbid starts, and no pass depends on time in another way (see ``settles``).
    """
    return (
        model.jobs.limits.hours_alone
        and model.rules.order == Order.RANK
        and model.rules.backfill <= Backfill.EASY
        and model.rules.depth == NEVER
        and model.rules.every == 0
        and not preempts(model.jobs)
    )


cdef void await_pass(Pool pool, Model model) noexcept nogil:
    """Go on to the next pass, which is still to come, if anything waits for it."""
    cdef PoolState *state = &pool.state
    state.due = next_multiple(state.now, model.rules.every, model.rules.origin)
    while state.waiting > 0 and state.now < state.due:
        state.now = next_instant(pool, model)
        happen(pool, model)
    state.due = NEVER
