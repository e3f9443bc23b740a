"""Fair start times: each attempt's snapshot, taken by one sweep, and simulated forward (SPEC §5).

The sweep goes through the attempts in the order (arrival, submit, sequence) and keeps what a
snapshot holds: who runs, by expected end; who waits, by rank; who is blocked. A subject's
simulations begin from a copy of that. Subjects do not depend on one another, so a range of them is
computed by itself, with the sweep begun where the range begins.
"""

from typing import Any, NamedTuple

from audit.kernels.jit import inlined, lean, within
from audit.kernels.scheduling.owners import Owners, compare, rate_owner, rate_waits
from audit.kernels.scheduling.passes import (
    ALIVE,
    BY_OWNER,
    CONSERVATIVE,
    END,
    FAIRSHARE,
    GHOST,
    HEAD,
    HELD,
    NEXT_END,
    NOBODY,
    NOW,
    RANK,
    REQUESTS,
    RUNNING,
    STEP,
    TAIL,
    TARGET,
    UNPLANNED,
    WAITING,
    Bools,
    Jobs,
    Rules,
    Space,
    Steps,
    arrange,
    close_gaps,
    ending,
    enqueue,
    follow,
    foresee,
    hold,
    leave,
    make_stale,
    open_books,
    plan_waiting,
    release,
    reset,
)
from audit.kernels.scheduling.space import BEYOND, FIRST, NEVER, Ints


class Observed(NamedTuple):
    """What the schedule says of the attempts, in their order."""

    start: Ints  # NEVER: it has not started
    end: Ints
    held: Bools  # blocked: takes up its request without having queued
    present: Bools  # whether snapshots hold it at all


@lean
def earliest_alone(
    space: Space, job: int, jobs: Jobs, steps: Steps, heap: Ints, resources: Any
) -> int:
    """When ``job`` starts with nobody beside it in the queue: as soon as it fits, or NEVER.

    Actual ends and steps are gone through in their order; ``heap`` is working space.
    """
    free = space.extra
    for x in range(len(resources)):
        free[x] = space.free[x]
    now: int = space.at[NOW]
    step = space.at[STEP]
    while step < steps.number and steps.time[step] <= now:
        for x in range(len(resources)):
            free[x] += steps.change[x, step]
        step += 1
    if fits_alone(jobs, job, free, resources):
        return now
    count = space.at[RUNNING]
    for i in range(count):
        heap[0, i] = i
    for i in range(count // 2 - 1, -1, -1):
        sink(heap, i, count, space.run)
    while True:
        then = NEVER
        if count > 0:
            then = space.run[END, heap[0, 0]]
        if step < steps.number:
            then = min(then, steps.time[step])
        if then == NEVER:
            return NEVER
        while step < steps.number and steps.time[step] == then:
            for x in range(len(resources)):
                free[x] += steps.change[x, step]
            step += 1
        while count > 0 and space.run[END, heap[0, 0]] == then:
            for x in range(len(resources)):
                free[x] += space.run[HELD + x, heap[0, 0]]
            count -= 1
            heap[0, 0] = heap[0, count]
            sink(heap, 0, count, space.run)
        if fits_alone(jobs, job, free, resources):
            return then


@lean
def fits_alone(jobs: Jobs, job: int, free: Ints, resources: Any) -> bool:
    """Whether ``job`` fits in ``free``."""
    for x in range(len(resources)):
        if jobs.request[x, job] > free[x] and jobs.request[x, job] > 0:
            return False
    return True


@lean
def sink(heap: Ints, i: int, count: int, run: Ints) -> None:
    """Lets element ``i`` of a heap, first end on top, sink to its place."""
    sinking = heap[0, i]
    while True:
        child = 2 * i + 1
        if child >= count:
            break
        if child + 1 < count and run[END, heap[0, child + 1]] < run[END, heap[0, child]]:
            child += 1
        if run[END, heap[0, child]] >= run[END, sinking]:
            break
        heap[0, i] = heap[0, child]
        i = child
    heap[0, i] = sinking


@lean
def copy_state(source: Space, target: Space, resources: Any) -> None:
    """Copies who runs, who waits and what is free."""
    at = source.at
    for i in range(len(at)):
        target.at[i] = at[i]
    for x in range(len(resources)):
        target.free[x] = source.free[x]
    for row in range(HELD + len(resources)):
        for i in range(at[RUNNING]):
            target.run[row, i] = source.run[row, i]
    for row in range(REQUESTS + len(resources)):
        for i in range(at[TAIL]):
            target.queue[row, i] = source.queue[row, i]
    make_stale(target, 0, at[TAIL])


@lean
def copy_plans(source: Space, target: Space, resources: Any) -> None:
    """Copies plans and their profile."""
    for i in range(source.at[TAIL]):
        target.plan[i] = source.plan[i]
        target.dirty[i] = source.dirty[i]
    for i in range(len(source.bounds)):
        target.bounds[i] = source.bounds[i]
    for i in range(source.bounds[FIRST], source.bounds[BEYOND]):
        target.times[i] = source.times[i]
        for x in range(len(resources)):
            target.levels[x, i] = source.levels[x, i]


@lean
def enter(
    snapshot: Space,
    job: int,
    now: int,
    jobs: Jobs,
    observed: Observed,
    rules: Rules,
    aside: Ints,
    resources: Any,
) -> None:
    """Puts an attempt that arrived earlier into the snapshot of ``now``.

    Those that are never queued stand ``aside``: the blocked as long as they last, those too large
    until they have started.
    """
    if not observed.present[job]:
        return
    if observed.start[job] < now and not observed.held[job]:
        if observed.end[job] > now:
            run_on(snapshot, job, jobs, observed, resources)
    elif jobs.rank[job] < 0:
        aside[0] += 1
        aside[aside[0]] = job
    else:
        enqueue(snapshot, job, jobs, rules, resources)


@lean
def run_on(snapshot: Space, job: int, jobs: Jobs, observed: Observed, resources: Any) -> None:
    """Enters an attempt that has started among those that run."""
    for x in range(len(resources)):
        snapshot.free[x] -= jobs.request[x, job]
    expected = observed.start[job] + jobs.estimate[job]
    hold(snapshot.run, snapshot.at, job, expected, observed.end[job], jobs.request, resources)


@lean
def move_on(
    snapshot: Space,
    now: int,
    next_start: int,
    jobs: Jobs,
    steps: Steps,
    observed: Observed,
    aside: Ints,
    resources: Any,
) -> int:
    """Brings the snapshot to ``now``; gives the first start of those that wait in it."""
    at = snapshot.at
    at[NOW] = now
    while at[STEP] < steps.number and steps.time[at[STEP]] <= now:
        for x in range(len(resources)):
            snapshot.free[x] += steps.change[x, at[STEP]]
        at[STEP] += 1
    if next_start < now:
        next_start = NEVER
        kept = 0
        queue = snapshot.queue
        for i in range(at[TAIL]):
            job = queue[WAITING, i]
            if observed.start[job] < now:
                if observed.end[job] > now:
                    run_on(snapshot, job, jobs, observed, resources)
                continue
            next_start = min(next_start, observed.start[job])
            if kept != i:
                for row in range(REQUESTS + len(resources)):
                    queue[row, kept] = queue[row, i]
            kept += 1
        at[TAIL] = kept
        at[ALIVE] = kept
        kept = 0
        for i in range(1, aside[0] + 1):
            job = aside[i]
            next_change = changes_next(job, observed)
            if next_change < now:
                if not observed.held[job] and observed.end[job] > now:
                    run_on(snapshot, job, jobs, observed, resources)
                continue
            next_start = min(next_start, next_change)
            kept += 1
            aside[kept] = job
        aside[0] = kept
    if at[NEXT_END] <= now:
        release(snapshot.run, at, snapshot.free, now, resources)
    return next_start


@inlined
def changes_next(job: int, observed: Observed) -> int:
    """The last instant at which an attempt that has not run yet is where it is in a snapshot."""
    last: int = observed.start[job]
    if observed.held[job] and last != NEVER:
        last = max(last, observed.end[job] - 1)
    return last


@lean
def with_blocked(
    steps: Steps,
    since: int,
    aside: Ints,
    jobs: Jobs,
    observed: Observed,
    own: Steps,
    resources: Any,
) -> int:
    """Writes to ``own`` the steps from index ``since`` on, and those of the blocked; their number.

    A blocked attempt takes its request at its observed start, and gives it back at its end.
    """
    count = 0
    for step in range(since, steps.number):
        own.time[count] = steps.time[step]
        own.planned[count] = steps.planned[step]
        own.job[count] = steps.job[step]
        for x in range(len(resources)):
            own.change[x, count] = steps.change[x, step]
        count += 1
    for i in range(1, aside[0] + 1):
        job = aside[i]
        if not observed.held[job]:
            continue
        for sign in (-1, 1):
            instant = observed.start[job] if sign < 0 else observed.end[job]
            if instant == NEVER:
                continue
            place = count
            while place > 0 and own.time[place - 1] > instant:
                own.time[place] = own.time[place - 1]
                own.planned[place] = own.planned[place - 1]
                own.job[place] = own.job[place - 1]
                for x in range(len(resources)):
                    own.change[x, place] = own.change[x, place - 1]
                place -= 1
            own.time[place] = instant
            own.planned[place] = False
            own.job[place] = job if sign < 0 else ending(job)
            for x in range(len(resources)):
                own.change[x, place] = sign * jobs.request[x, job]
            count += 1
    return count


@lean
def holds_too_much(snapshot: Space, steps: Steps, resources: Any) -> bool:
    """Whether more is held than there is, with what the blocked take at this very instant."""
    for x in range(len(resources)):
        free = snapshot.free[x]
        step = snapshot.at[STEP]
        while step < steps.number and steps.time[step] <= snapshot.at[NOW]:
            free += steps.change[x, step]
            step += 1
        if free < 0:
            return True
    return False


@lean
def leave_those_behind(
    space: Space, job: int, jobs: Jobs, rules: Rules, owners: Owners, resources: Any
) -> None:
    """Takes from the queue those whose turn, in the fair order, comes after that of ``job``."""
    at = space.at
    fair = rules.fair
    for i in range(at[HEAD], at[TAIL] + 1):
        waiting = job if i == at[TAIL] else space.queue[WAITING, i]
        if fair == FAIRSHARE:
            rate_owner(owners, space.ledger, jobs.owner[waiting], at[NOW])
        else:
            rate_waits(owners, space.ledger, jobs.owner[waiting])
    for i in range(at[HEAD], at[TAIL]):
        waiting = space.queue[WAITING, i]
        if compare(space.ledger, jobs.owner[waiting], jobs.owner[job]) < 0:
            leave(space, i, resources)
    close_gaps(space, resources)


@within
def fair_start(
    snapshot: Space,
    plans: Space,
    space: Space,
    job: int,
    jobs: Jobs,
    steps: Steps,
    rules: Rules,
    owners: Owners,
    steps_foreseen: bool,
    begun: Ints,
    nothing: Ints,
    resources: Any,
) -> tuple[int, int]:
    """The strict and relaxed fair start time of ``job`` from its snapshot; NEVER: none."""
    if snapshot.at[ALIVE] == 0 and not steps_foreseen:
        alone = earliest_alone(snapshot, job, jobs, steps, space.spare, resources)
        return alone, alone
    # Where the last to arrive stands last, it touches nobody before it starts: as a ghost it shows
    # its start, and the others go on as if it were not there. Plans that last, others must heed;
    # and where passes look at few, a ghost may not be looked at though it is the only one left.
    conservative = rules.backfill == CONSERVATIVE
    keeps_books = rules.order >= BY_OWNER
    alone_last = rules.latest_last and not conservative and rules.depth == NEVER
    ghost = job if alone_last else NOBODY
    source = snapshot
    if conservative or rules.fair != RANK:
        copy_state(snapshot, plans, resources)
        source = plans
    if rules.fair != RANK:
        open_books(plans, jobs, rules, plans.at[NOW])
        leave_those_behind(plans, job, jobs, rules, owners, resources)
    if conservative:  # the others' plans are the same with and without it
        foresee(plans, steps, resources)
        if keeps_books:
            open_books(plans, jobs, rules, plans.at[NOW])
        arrange(plans, jobs, rules, owners, resources)
        for i in range(plans.at[TAIL]):
            plans.plan[i] = UNPLANNED
            plans.dirty[i] = 0
        plan_waiting(plans, jobs, nothing, resources)
    strict = NEVER
    relaxed = NEVER
    for turn in range(2):  # without it, or with its ghost; then with it
        begun[job] = NEVER
        copy_state(source, space, resources)
        if conservative:
            copy_plans(plans, space, resources)
        if turn == 1:
            space.at[TARGET] = job
        else:
            space.at[GHOST] = ghost
        if turn == 1 or ghost == job:
            enqueue(space, job, jobs, rules, resources)
        if keeps_books:
            open_books(space, jobs, rules, space.at[NOW])
        while True:
            follow(space, jobs, steps, rules, owners, begun, nothing, resources)
            if turn == 0 and space.at[TARGET] == NOBODY:
                strict = begun[job]  # of the ghost
            if space.at[TARGET] == job or space.at[ALIVE] > 0:
                break
            if not steps_foreseen:
                relaxed = earliest_alone(space, job, jobs, steps, space.spare, resources)
                break
            # The others have all started: now it joins.
            begun[job] = NEVER
            space.at[GHOST] = NOBODY
            space.at[TARGET] = job
            enqueue(space, job, jobs, rules, resources)
        if turn == 1:
            strict = begun[job]
        elif space.at[TARGET] == job:
            relaxed = begun[job]
        if ghost == job:
            break
    return strict, relaxed


@lean
def fair_starts(
    jobs: Jobs,
    observed: Observed,
    capacity: Ints,
    steps: Steps,
    rules: Rules,
    owners: Owners,
    steps_foreseen: bool,
    subject: Bools,
    low: int,
    high: int,
    snapshot: Space,
    plans: Space,
    space: Space,
    own: Steps,
    aside: Ints,
    begun: Ints,
    strict: Ints,
    relaxed: Ints,
    over: Bools,
    resources: Any,
) -> None:
    """Writes the fair start times of the subjects from index ``low`` to ``high``.

    Args:
        jobs, observed: the attempts.
        capacity: before any step.
        steps, rules, owners: see ``follow``.
        steps_foreseen: whether the policy plans ahead, and planned steps may lie ahead.
        subject: whose fair start times are asked for.
        low, high: the range of indices; ``low`` < ``high``.
        snapshot, plans, space: room for as many attempts as can be in the pool at one time.
        own: room for all steps, and two for each blocked attempt that can wait at one time.
        aside: room for one more than can wait at one time.
        begun: working space; one element per attempt.
        strict, relaxed: get the fair start times, or NEVER.
        over: gets whether the snapshot holds more than the capacity.
        resources: see ``kernels.scheduling.space``.
    """
    at = snapshot.at
    reset(snapshot, capacity, resources)
    aside[0] = 0
    nothing = begun[:0]
    now = jobs.arrival[low]
    next_start = NEVER
    for j in range(low):
        if observed.start[j] >= now or observed.end[j] > now:
            enter(snapshot, j, now, jobs, observed, rules, aside, resources)
            if observed.present[j] and (observed.start[j] >= now or observed.held[j]):
                next_start = min(next_start, changes_next(j, observed))
    for j in range(low, high):
        now = jobs.arrival[j]
        next_start = move_on(snapshot, now, next_start, jobs, steps, observed, aside, resources)
        if subject[j]:
            held = False
            for i in range(1, aside[0] + 1):
                held |= observed.held[aside[i]]
            since = at[STEP]
            mine = steps
            if held:
                number = with_blocked(steps, since, aside, jobs, observed, own, resources)
                mine = Steps(own.time, own.change, own.planned, own.job, number)
                at[STEP] = 0
            over[j] = holds_too_much(snapshot, mine, resources)
            strict[j], relaxed[j] = fair_start(
                snapshot,
                plans,
                space,
                j,
                jobs,
                mine,
                rules,
                owners,
                steps_foreseen,
                begun,
                nothing,
                resources,
            )
            at[STEP] = since
        enter(snapshot, j, now, jobs, observed, rules, aside, resources)
        if observed.present[j]:
            next_start = min(next_start, changes_next(j, observed))
