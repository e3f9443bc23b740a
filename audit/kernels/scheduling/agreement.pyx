"""How far one pass of a policy agrees with the observed starts, by instants (SPEC §10, *A_nodes*).

A sweep over the instants of the observed schedule records in a pool which attempts run and which
wait. At each instant one pass of the policy shows which of them it would start. Then the pool is
restored to what was observed, so that no pass affects the next one.
"""

from libc.stdint cimport int64_t, uint8_t

from audit.kernels.scheduling.instants cimport NEVER
from audit.kernels.scheduling.loop cimport arrive, skip_unqueued
from audit.kernels.scheduling.model cimport NOBODY, Backfill, Model, Observed, Order, edge_at
from audit.kernels.scheduling.multifactor cimport open_accounts, tick_of
from audit.kernels.scheduling.nodes cimport recall_nodes
from audit.kernels.scheduling.owners cimport AFTER_ALL, open_ledger
from audit.kernels.scheduling.passes cimport pass_greedy, start_front, start_fronts
from audit.kernels.scheduling.plans cimport pass_replan
from audit.kernels.scheduling.pool cimport (
    GAP, OUT_OF_ORDER, Pool, PoolState, count, let_edges_pass, move_running, release, reset, run_on,
    take_or_return, take_steps
)
from audit.kernels.scheduling.queue cimport (
    any_can_start, arrange, comes_first, enqueue, leave, make_stale, move_place, place
)


cdef class StartsInOrder:
    """The attempts that started and were not blocked, by start, and those that were held.

    ``held`` are those that were held after their arrival, by release.
    """
    cdef const int64_t[::1] job
    cdef int64_t number  # of those that have started
    cdef const int64_t[::1] held_until  # [attempts], epoch s, at most the start
    cdef const int64_t[::1] held
    cdef int64_t released  # how many of ``held`` were

    def __init__(self, job, held_until, held):
        self.job, self.held_until, self.held = job, held_until, held


def agree(
    Model model not None, Observed observed not None, StartsInOrder starts not None,
    const int64_t[::1] capacity, const uint8_t[::1] waited, int64_t until, Pool pool not None,
    int64_t[::1] out
):
    """Count how far one pass at each instant with starts agrees with them.

    Instants count at which more wait than start. Attempts that are held do not wait.

    Args:
        model: the attempts, steps of the capacity and of blocked attempts, and the policy.
        until: the last instant to compare, epoch s.
        pool: with space for all attempts that are there at one time; ``begun`` is working space.
        waited: [attempts], whether an attempt waited long enough to count where it was started.
        out: [3], gets starts that were observed and chosen, observed starts, and attempts chosen
            that did not start then.

    Source: SPEC §10, *A_nodes*.
    """
    with nogil:
        reset(pool, capacity)
        open_ledger(pool.ledger, AFTER_ALL)
        pool.state.until = model.jobs.arrival.shape[0]
        pool.begun[:] = NEVER
        while next_observed(pool, model, observed, starts) <= until:
            compare_starts(pool, model, observed, waited, starts, out)


cdef void compare_starts(
    Pool pool, Model model, Observed observed, const uint8_t[::1] waited, StartsInOrder starts,
    int64_t[::1] out
) noexcept nogil:
    """Go on to the next instant, and count it if it counts."""
    cdef PoolState *state = &pool.state
    cdef int64_t starting = 0, next_end, waiting, number, job, i
    state.now = next_observed(pool, model, observed, starts)
    take_steps(pool, model)
    let_edges_pass(pool, model.jobs.limits)
    if state.next_end <= state.now:
        release(pool, model.jobs)
    arrive_unless_held(pool, model, starts)
    state.due = NEVER
    for i in range(starts.number, starts.job.shape[0]):
        job = starts.job[i]
        if observed.start[job] > state.now:
            break
        starting += model.jobs.rank[job] >= 0
    waiting, next_end = state.waiting, state.next_end
    if 0 < starting < waiting:
        for i in range(starts.number, starts.job.shape[0]):
            job = starts.job[i]
            if observed.start[job] > state.now:
                break
            out[1] += waited[job] and model.jobs.rank[job] >= 0
        pass_as_observed(pool, model, observed, starts)
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
            take_back(pool, model, observed, waiting - state.waiting, next_end, starts)
    start_observed(pool, model, observed, starts)


cdef void arrive_unless_held(Pool pool, Model model, StartsInOrder starts) noexcept nogil:
    """Let attempts join the queue that arrive now, or are released; not those that are held."""
    cdef int64_t first = pool.state.arriving, job
    arrive(pool, model)
    if starts.held.shape[0] == 0:
        return
    for job in range(first, pool.state.arriving):
        if model.jobs.rank[job] >= 0 and starts.held_until[job] > pool.state.now:
            leave(pool, find(pool, job), model.jobs)
    while starts.released < starts.held.shape[0]:
        job = starts.held[starts.released]
        if starts.held_until[job] > pool.state.now:
            return
        starts.released += 1
        if model.jobs.rank[job] >= 0 and job < first:  # else it has just joined
            enqueue(pool, job, model.jobs, model.rules)


cdef void pass_as_observed(
    Pool pool, Model model, Observed observed, StartsInOrder starts
) noexcept nogil:
    """Make the pass that the starts of the instant show.

    Where passes from the front of the queue run ``between`` others, on clocks of their own, it is
    one of those if it explains all starts; else the other follows.
    """
    cdef PoolState *state = &pool.state
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
    for i in range(starts.number, starts.job.shape[0]):
        job = starts.job[i]
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


cdef int64_t next_observed(
    Pool pool, Model model, Observed observed, StartsInOrder starts
) noexcept nogil:
    """Return the next instant of the observed schedule, or NEVER."""
    cdef PoolState *state = &pool.state
    cdef int64_t instant = min(state.next_end, state.due)
    skip_unqueued(pool, model.jobs)
    if state.arriving < state.until:
        instant = min(instant, model.jobs.arrival[state.arriving])
    if starts.number < starts.job.shape[0]:
        instant = min(instant, observed.start[starts.job[starts.number]])
    if state.step < model.steps.number:
        instant = min(instant, model.steps.time[state.step])
    return min(instant, edge_at(model.jobs.limits.edges, state.edge, state.delay))


cdef bint is_starting(Pool pool, Observed observed, StartsInOrder starts) noexcept nogil:
    """Return whether any attempt was observed to start now."""
    return (
        starts.number < starts.job.shape[0]
        and observed.start[starts.job[starts.number]] == pool.state.now
    )


cdef void pass_once(Pool pool, Model model) noexcept nogil:
    """Make one pass over the observed state, with owners ranked by what was observed.

    Where passes from the front of the queue run ``between`` others, one of them comes first.
    """
    cdef PoolState *state = &pool.state
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
    Pool pool, Model model, Observed observed, int64_t number, int64_t next_end, StartsInOrder starts
) noexcept nogil:
    """Return attempts that a pass has started to the queue, unless they started then.

    ``number`` is how many it has started, ``next_end`` the next end of the others.
    """
    cdef PoolState *state = &pool.state
    cdef int64_t i = state.running, job
    while number > 0:
        i -= 1
        job = pool.run_job[i]
        if pool.begun[job] != state.now:
            continue
        number -= 1
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
    cdef PoolState *state = &pool.state
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


cdef void start_observed(
    Pool pool, Model model, Observed observed, StartsInOrder starts
) noexcept nogil:
    """Let the attempts run that start now."""
    cdef PoolState *state = &pool.state
    cdef int64_t job
    while is_starting(pool, observed, starts):
        job = starts.job[starts.number]
        starts.number += 1
        if pool.begun[job] == state.now:
            continue  # it runs already
        if model.jobs.rank[job] >= 0:
            leave(pool, find(pool, job), model.jobs)
        if observed.end[job] > state.now:
            run_on(pool, job, model.jobs, observed)
    if state.next_end <= state.now:  # attempts without a duration
        release(pool, model.jobs)
