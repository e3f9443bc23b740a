"""The event loop: a pool simulated from instant to instant (SPEC §4, docs/simulation.md)."""

from audit.kernels.scheduling.books cimport enter_blocked, enter_ended
from audit.kernels.scheduling.passes.greedy cimport pass_front, pass_greedy, settles
from audit.kernels.scheduling.model cimport (
    NOBODY,
    Backfill,
    Order,
    Steps,
    by_owner,
    edge_at,
)
from audit.kernels.scheduling.order cimport arrange
from audit.kernels.scheduling.passes.planned cimport pass_conservative, pass_replan, release_early
from audit.kernels.scheduling.pool cimport State, let_edges_pass, release, take_steps
from audit.kernels.scheduling.profile cimport add_step, forget_past
from audit.kernels.scheduling.queue cimport any_can_start, close_gaps, enqueue, mostly_gaps
from audit.kernels.scheduling.rows cimport NEVER, fits, next_multiple


cdef enum:
    PATIENCE = 3  # of the periods of edges


cdef void follow(Pool pool, Model model) noexcept nogil:
    """Simulate a pool from ``state.now`` on, until nothing waits and nothing arrives any more.

    Attempts from index ``state.arriving`` up to ``state.until`` are still to arrive. The simulation
    stops as soon as ``state.target`` has started, and before the first instant from ``state.pause``
    on.

    Args:
        pool: everything that happened before is entered; under CONSERVATIVE after ``foresee``,
            under FAIRSHARE, NUWT and MULTIFACTOR after ``open_books``.
        model: what is simulated.
    """
    cdef State *state = &pool.state
    while True:
        state.news |= happen(pool, model)
        arrive(pool, model)
        state.due = next_multiple(state.now, model.rules.every, model.rules.origin)
        if state.due == state.now:
            run_passes(pool, model, state.news, False)
            state.news = False
            state.due = NEVER
        elif model.rules.between:
            run_passes(pool, model, False, True)
        if state.target != NOBODY and pool.begun[state.target] != NEVER:
            return
        let_wait(pool, model)
        if not advance(pool, model):
            return


cdef bint advance(Pool pool, Model model) noexcept nogil:
    """Go on to the next instant; return False if there is none, or none before ``state.pause``."""
    cdef int64_t instant = next_instant(pool, model)
    if instant >= pool.state.pause:
        return False
    pool.state.now = instant
    return True


cdef void follow_on(Pool pool, Model model) noexcept nogil:
    """Continue a simulation that has paused; see ``follow``."""
    cdef State *state = &pool.state
    state.pause = NEVER
    while state.arriving < state.until and model.jobs.rank[state.arriving] < 0:
        state.arriving += 1  # an attempt that is never queued makes no instant
    if advance(pool, model):
        follow(pool, model)


cdef bint happen(Pool pool, Model model) noexcept nogil:
    """Do what precedes arrivals at an instant: (0) steps of the capacity and edges, (1) ends.

    Return whether a step was taken or something ended earlier than expected. Where a plan is kept,
    that compresses it.
    """
    cdef State *state = &pool.state
    cdef int64_t first = state.step, step
    cdef bint news
    take_steps(pool, model)
    let_edges_pass(pool, model.jobs.limits)
    for step in range(first, state.step):
        if by_owner(model.rules):
            enter_blocked(
                pool,
                model.steps.job[step],
                model.steps.ends[step],
                model.steps.time[step],
                model,
            )
        if model.rules.backfill == Backfill.CONSERVATIVE:
            show_step(pool, model.steps, step)
    news = state.step > first
    if state.next_end <= state.now:
        news |= end_due(pool, model)
    return news


cdef void show_step(Pool pool, Steps steps, int64_t step) noexcept nogil:
    """Show a step that is taken now to planners that keep a plan, unless they knew of it."""
    cdef int64_t x
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
    """(2) Let attempts that arrive by now join the queue."""
    cdef State *state = &pool.state
    while state.arriving < state.until and (
        model.jobs.rank[state.arriving] < 0
        or model.jobs.arrival[state.arriving] <= state.now
    ):
        if model.jobs.rank[state.arriving] >= 0:
            enqueue(pool, state.arriving, model.jobs, model.rules)
        state.arriving += 1


cdef void let_wait(Pool pool, Model model) noexcept nogil:
    """Let attempts that do not fit when they arrive join behind the others, up to the next event.

    Where only a new arrival could start (see ``settles``), and it does not fit, nothing else
    happens at its arrival, so it needs no instant.
    """
    cdef State *state = &pool.state
    cdef bint all_tried = state.head < state.fresh and state.fresh == state.tail
    cdef int64_t before, job
    if not (
        all_tried
        and model.rules.latest_last
        and model.rules.every == 0
        and settles(pool, model)
    ):
        return
    before = min(state.next_end, state.pause)
    if state.step < model.steps.number:
        before = min(before, model.steps.time[state.step])
    while state.arriving < state.until:
        job = state.arriving
        if model.jobs.rank[job] >= 0:
            if model.jobs.arrival[job] >= before or fits(model.jobs.request, job, pool.free):
                return
            enqueue(pool, job, model.jobs, model.rules)
            state.fresh = state.tail
        state.arriving += 1


cdef void run_passes(Pool pool, Model model, bint news, bint front) noexcept nogil:
    """(3) Make passes until one starts nothing that ends at once; ``front``: from the front."""
    cdef bint conservative = model.rules.backfill == Backfill.CONSERVATIVE
    # Whether to ask first if anything can start, because the order or a plan would cost more.
    cdef bint in_question = not conservative and (
        model.rules.order != Order.RANK or model.rules.backfill == Backfill.REPLAN
    )
    cdef bint again = pool.state.waiting > 0
    if mostly_gaps(pool):
        close_gaps(pool)
    while again:
        if in_question and not any_can_start(pool, model.jobs):
            break
        if model.rules.order != Order.RANK:
            arrange(pool, model)
        if front:
            again = pass_front(pool, model)
        elif conservative:
            again = pass_conservative(pool, model, news)
        elif model.rules.backfill == Backfill.REPLAN:
            again = pass_replan(pool, model)
        else:
            again = pass_greedy(pool, model)
        if again:
            news = end_due(pool, model)


cdef int64_t next_instant(Pool pool, Model model) noexcept nogil:
    """Return the next instant; NEVER: there is none, or nothing waits and nothing will arrive.

    Edges of windows never end. If nothing else is to come, a few of their periods decide.
    """
    cdef State *state = &pool.state
    cdef bint some_arrive = state.arriving < state.until
    cdef int64_t instant = state.next_end, edge
    if state.waiting == 0 and not some_arrive:
        return NEVER
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
    if edge <= state.quiet:
        instant = min(instant, edge)
    return min(instant, state.due)


cdef void await_pass(Pool pool, Model model) noexcept nogil:
    """Go on to the next pass, which is still to come, if anything waits for it."""
    cdef State *state = &pool.state
    state.due = next_multiple(state.now, model.rules.every, model.rules.origin)
    while state.waiting > 0 and state.now < state.due:
        state.now = next_instant(pool, model)
        happen(pool, model)
    state.due = NEVER
