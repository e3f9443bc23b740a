"""Whom a policy would have started, judged on the observed schedule (SPEC §10, *Decisions*).

A sweep over the instants of the observed schedule keeps, in a space, who runs and who waits. At
each of them one pass of the policy says whom it would start; then the pool is as it was observed
again, so that nothing a decision changes reaches the next one.
"""

from typing import NamedTuple

from audit.kernels.arrays import Bools, Ints
from audit.kernels.compiled import inner, kernel
from audit.kernels.scheduling.limits import Limits, count, edge_at
from audit.kernels.scheduling.loop import arrive
from audit.kernels.scheduling.multifactor import open_accounts, tick_of
from audit.kernels.scheduling.order import arrange, comes_first
from audit.kernels.scheduling.owners import AFTER_ALL, SERIAL, SINCE, open_ledger
from audit.kernels.scheduling.passes.greedy import pass_greedy
from audit.kernels.scheduling.passes.planned import pass_replan
from audit.kernels.scheduling.profile import NEVER, add_amounts, next_multiple
from audit.kernels.scheduling.queue import any_can_start, leave, make_stale, move, place
from audit.kernels.scheduling.snapshot import Observed, run_on
from audit.kernels.scheduling.space import (
    ALIVE,
    ARRANGED,
    ARRIVING,
    DUE,
    EDGE,
    END,
    FRESH,
    GAP,
    HEAD,
    JOB,
    LATER,
    MULTIFACTOR,
    NEXT_END,
    NOW,
    NUWT,
    OUT_OF_ORDER,
    RANK,
    REPLAN,
    RUNNING,
    STEP,
    TAIL,
    UNTIL,
    WAITING,
    Jobs,
    Model,
    Rules,
    Space,
    let_edges_pass,
    move_down,
    release,
    reset,
    take_steps,
)

ANY_NUMBER = 1 << 60  # what the counters of windows may hold

# Values of Decided.withheld.
NOTHING, BY_WINDOW, BY_LIMIT = range(3)


class Decided(NamedTuple):
    """What is found out; an element per attempt."""

    ready: Ints  # or NEVER
    over: Bools  # whether more is in use than there is once it has started
    told: Ints
    """Working space: those with a ``ready``, in the order in which they got it."""
    withheld: Ints
    """What did not allow the start at some instant between ``ready`` and it: NOTHING, BY_WINDOW,
    or BY_LIMIT, which comes before a window. Of no length: nobody asks."""
    watched: Ints
    """Working space for that: element 0 says how many with a ``ready`` wait, those after it who."""


@kernel
def decide(
    model: Model,
    observed: Observed,
    by_start: Ints,
    capacity: Ints,
    tolerance: int,
    until: int,
    space: Space,
    out: Decided,
) -> None:
    """Writes when the policy would have started each attempt that it queues.

    Args:
        model: the attempts, steps of the capacity and of blocked attempts, and the policy.
        observed: the schedule of the attempts.
        by_start: those that started and were not blocked, by start.
        capacity: before any step.
        tolerance: after which who would have started is put aside, s.
        until: the last instant to judge.
        space: room for those that are there at one time; ``begun`` is working space.
        out: gets them.
    """
    state = space.state
    reset(space, capacity)
    open_ledger(space.ledger, AFTER_ALL)
    state[UNTIL] = len(out.ready)
    for j in range(state[UNTIL]):
        out.ready[j] = NEVER
        out.over[j] = False
        space.begun[j] = NEVER
    started = 0  # how many of by_start have
    ready = 0  # how many would have,
    aside = 0  # and how many of those have been put aside
    while True:
        now = next_observed(space, model, observed, by_start, started)
        if now > until:
            return
        state[NOW] = now
        take_steps(space, model.steps, model.jobs)
        let_edges_pass(space, model.jobs)
        if state[NEXT_END] <= now:
            release(space, model.jobs)
        arrive(space, model)
        while aside < ready and is_aside(out.told[aside], now, tolerance, out):
            if observed.start[out.told[aside]] >= now:
                leave(space, find(space, out.told[aside]))
            aside += 1
        start_aside(space, model, observed, by_start, started, tolerance, out)
        if len(out.withheld) > 0:
            watch(space, model.jobs.limits, observed, out)
        waiting = state[ALIVE]
        next_end = state[NEXT_END]
        starting = started < len(by_start) and observed.start[by_start[started]] == now
        if pass_is_due(space, model.rules, starting) and waiting > 0:
            pass_once(space, model)
        if state[ALIVE] < waiting:
            ready = take_back(space, model, observed, waiting - state[ALIVE], next_end, ready, out)
        started = start_observed(space, model, observed, by_start, started, tolerance, out)


@inner
def next_observed(
    space: Space, model: Model, observed: Observed, by_start: Ints, started: int
) -> int:
    """The next instant of the observed schedule, or NEVER."""
    jobs, state = model.jobs, space.state
    while state[ARRIVING] < state[UNTIL] and jobs.rank[state[ARRIVING]] < 0:
        state[ARRIVING] += 1  # who is never queued makes no instant
    instant: int = state[NEXT_END]
    if state[ARRIVING] < state[UNTIL]:
        instant = min(instant, jobs.arrival[state[ARRIVING]])
    if started < len(by_start):
        instant = min(instant, observed.start[by_start[started]])
    if state[STEP] < model.steps.number:
        instant = min(instant, model.steps.time[state[STEP]])
    instant = min(instant, edge_at(jobs.limits.edges, state[EDGE], state[LATER]))
    due: int = min(instant, state[DUE])
    return due


@inner
def pass_is_due(space: Space, rules: Rules, starting: bool) -> bool:
    """Whether there is a pass now; if not, notes when the next one is.

    Where others lie ``between`` those at intervals, nobody knows the phase of these: one was made
    where somebody is ``starting``, and some time within an interval after anything that happens.
    """
    state = space.state
    now = state[NOW]
    if rules.between:
        if not starting and state[DUE] != now:
            state[DUE] = min(state[DUE], now + rules.every)
            return False
    else:
        state[DUE] = next_multiple(now, rules.every, rules.origin)
        if state[DUE] != now:
            return False
    state[DUE] = NEVER
    return True


@inner
def pass_once(space: Space, model: Model) -> None:
    """One pass over the observed state; owners are ranked by what was observed."""
    rules, state = model.rules, space.state
    if (rules.order != RANK or rules.backfill == REPLAN) and not any_can_start(space, model.jobs):
        return
    if rules.order == NUWT:
        space.ledger.state[SINCE] = state[NOW]
        space.ledger.state[SERIAL] += 1
        state[ARRANGED] = OUT_OF_ORDER
    elif rules.order == MULTIFACTOR:
        books = space.ledger.books
        if books.rated[0] != tick_of(books, state[NOW]):
            open_accounts(model.owners.slurm, books, state[NOW])
    arrange(space, model)
    if rules.backfill == REPLAN:
        pass_replan(space, model)
    else:
        state[FRESH] = 0  # all are looked at: nothing that an earlier pass did holds here
        pass_greedy(space, model)


@inner
def take_back(
    space: Space,
    model: Model,
    observed: Observed,
    number: int,
    next_end: int,
    ready: int,
    out: Decided,
) -> int:
    """Notes whom a pass has started, and lets those wait on that were not observed to start.

    ``number`` is how many it has started, ``next_end`` the next end of the others; ``ready`` would
    have started before this instant. Gives how many would have by now.
    """
    run, state = space.run, space.state
    now = state[NOW]
    i = state[RUNNING]
    while number > 0:
        i -= 1
        job = run[JOB, i]
        if space.begun[job] != now:
            continue
        number -= 1
        if out.ready[job] == NEVER:
            out.ready[job] = now
            out.told[ready] = job
            ready += 1
            if len(out.withheld) > 0:
                out.watched[0] += 1
                out.watched[out.watched[0]] = job
        if observed.start[job] == now:
            next_end = min(next_end, run[END, i])
        else:
            take_out(space, i, model.jobs)
            put_back(space, job, model)
    state[NEXT_END] = next_end
    return ready


@inner
def take_out(space: Space, i: int, jobs: Jobs) -> None:
    """Takes what runs at place ``i`` of ``run`` from there, and gives back what it holds."""
    state = space.state
    add_amounts(space.free, 0, space.held, i, 1, space.resources)
    count(jobs.limits, space.used, space.run[JOB, i], -1)
    move_down(space, i + 1, state[RUNNING], 1)
    state[RUNNING] -= 1


@inner
def put_back(space: Space, job: int, model: Model) -> None:
    """Lets an attempt wait again where it did, between those before and after it in the order.

    There it left a gap, which others that were put back may have moved to.
    """
    jobs, rules = model.jobs, model.rules
    state, waiting = space.state, space.queue[WAITING]
    i = state[HEAD]
    while i < state[TAIL]:
        other = waiting[i]
        if other != GAP:
            if rules.order == RANK:
                comes_after = jobs.rank[other] > jobs.rank[job]
            else:
                comes_after = comes_first(job, other, space, model)
            if comes_after:
                break
        i += 1
    gap = i - 1
    while waiting[gap] != GAP:
        gap -= 1
    for moved in range(gap + 1, i):
        move(space, moved, moved - 1)
    make_stale(space, gap, i)
    place(space, i - 1, job, jobs)
    state[HEAD] = min(state[HEAD], gap)
    state[ALIVE] += 1


@inner
def find(space: Space, job: int) -> int:
    """The place at which an attempt waits."""
    i: int = space.state[HEAD]
    while space.queue[WAITING, i] != job:
        i += 1
    return i


@inner
def is_aside(job: int, now: int, tolerance: int, out: Decided) -> bool:
    """Whether an attempt would have started so long ago that it takes no part in passes."""
    long_ago: bool = out.ready[job] != NEVER and out.ready[job] + tolerance < now
    return long_ago


@inner
def watch(space: Space, limits: Limits, observed: Observed, out: Decided) -> None:
    """Notes what does not allow those to start now that would have before, and wait."""
    now = space.state[NOW]
    kept = 0
    for i in range(1, out.watched[0] + 1):
        job = out.watched[i]
        if observed.start[job] <= now:
            continue
        kept += 1
        out.watched[kept] = job
        for k in range(limits.first[job], limits.first[job + 1]):
            counter = limits.counter[k]
            if limits.binding[k] and space.used[counter] + limits.amount[k] > limits.most[counter]:
                by = BY_WINDOW if limits.most[counter] >= ANY_NUMBER else BY_LIMIT
                out.withheld[job] = max(out.withheld[job], by)
    out.watched[0] = kept


@inner
def start_aside(
    space: Space,
    model: Model,
    observed: Observed,
    by_start: Ints,
    started: int,
    tolerance: int,
    out: Decided,
) -> None:
    """Lets those run that had been put aside and start now: what they take nobody else can."""
    now = space.state[NOW]
    for i in range(started, len(by_start)):
        job = by_start[i]
        if observed.start[job] > now:
            break
        if is_aside(job, now, tolerance, out) and observed.end[job] > now:
            run_on(space, job, model.jobs, observed)


@inner
def start_observed(
    space: Space,
    model: Model,
    observed: Observed,
    by_start: Ints,
    started: int,
    tolerance: int,
    out: Decided,
) -> int:
    """Lets the others run that start now; gives how many have started by then."""
    jobs, state = model.jobs, space.state
    now = state[NOW]
    first = started
    while started < len(by_start) and observed.start[by_start[started]] == now:
        job = by_start[started]
        started += 1
        if is_aside(job, now, tolerance, out) or space.begun[job] == now:
            continue  # it runs already
        if jobs.rank[job] >= 0:
            leave(space, find(space, job))
        if observed.end[job] > now:
            run_on(space, job, jobs, observed)
    if state[NEXT_END] <= now:  # what takes no time
        release(space, model.jobs)
    over = False
    for x in range(space.resources):
        over |= space.free[x, 0] < 0
    for i in range(first, started):
        out.over[by_start[i]] = over
    return started
