"""Fair start times: each attempt's snapshot, taken by one sweep, and simulated forward (SPEC §5).

The sweep goes through the attempts in the order (arrival, submit, sequence) and keeps what a
snapshot holds: who runs, by expected end; who waits, by rank; who is blocked. A subject's
simulations begin from a copy of that. Subjects do not depend on one another, so a range of them is
computed by itself, with the sweep begun where the range begins.
"""

from typing import Any, NamedTuple

from audit.kernels.free import NEVER, Ints
from audit.kernels.jit import kernel
from audit.kernels.passes import (
    ALIVE,
    CONSERVATIVE,
    END,
    HELD,
    NEXT_END,
    NOBODY,
    NOW,
    REQUESTS,
    RUNNING,
    STEP,
    TAIL,
    WAITING,
    Bools,
    Jobs,
    Rules,
    Space,
    Steps,
    enqueue,
    expect_anything,
    follow,
    hold,
    release,
)


class Observed(NamedTuple):
    """What the schedule says of the attempts, in their order."""

    start: Ints  # NEVER: it has not started
    end: Ints
    held: Bools  # blocked: takes up its request without having queued
    present: Bools  # whether snapshots hold it at all


@kernel
def earliest_alone(
    space: Space, job: int, jobs: Jobs, steps: Steps, heap: Ints, resources: Any
) -> int:
    """When ``job`` starts with nobody beside it in the queue: as soon as it fits, or NEVER.

    Actual ends and steps are gone through in their order; ``heap`` is working space.
    """
    free = space.extra
    for x in range(len(resources)):
        free[x] = space.free[x]
    now = space.at[NOW]
    if fits_alone(jobs, job, free, resources):
        return now
    count = space.at[RUNNING]
    for i in range(count):
        heap[i] = i
    for i in range(count // 2 - 1, -1, -1):
        sink(heap, i, count, space.run[END])
    step = space.at[STEP]
    while True:
        then = NEVER
        if count > 0:
            then = space.run[END, heap[0]]
        if step < steps.number:
            then = min(then, steps.time[step])
        if then == NEVER:
            return NEVER
        while step < steps.number and steps.time[step] == then:
            for x in range(len(resources)):
                free[x] += steps.change[x, step]
            step += 1
        while count > 0 and space.run[END, heap[0]] == then:
            for x in range(len(resources)):
                free[x] += space.run[HELD + x, heap[0]]
            count -= 1
            heap[0] = heap[count]
            sink(heap, 0, count, space.run[END])
        if fits_alone(jobs, job, free, resources):
            return max(now, then)


@kernel
def fits_alone(jobs: Jobs, job: int, free: Ints, resources: Any) -> bool:
    """Whether ``job`` fits in ``free``."""
    for x in range(len(resources)):
        if jobs.request[x, job] > free[x] and jobs.request[x, job] > 0:
            return False
    return True


@kernel
def sink(heap: Ints, i: int, count: int, keys: Ints) -> None:
    """Lets element ``i`` of a heap, smallest key first, sink to its place."""
    sinking = heap[i]
    while True:
        child = 2 * i + 1
        if child >= count:
            break
        if child + 1 < count and keys[heap[child + 1]] < keys[heap[child]]:
            child += 1
        if keys[heap[child]] >= keys[sinking]:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = sinking


@kernel
def copy_state(source: Space, target: Space, resources: Any) -> None:
    """Copies who runs, who waits and what is free."""
    at = source.at
    target.at[:] = at
    for x in range(len(resources)):
        target.free[x] = source.free[x]
    for row in range(HELD + len(resources)):
        for i in range(at[RUNNING]):
            target.run[row, i] = source.run[row, i]
    for row in range(REQUESTS + len(resources)):
        for i in range(at[TAIL]):
            target.queue[row, i] = source.queue[row, i]
    expect_anything(target, 0, at[TAIL], resources)


@kernel
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
    """Puts an attempt that arrived earlier into the snapshot of ``now``."""
    if not observed.present[job]:
        return
    if observed.start[job] < now:
        if observed.end[job] > now:
            run_on(snapshot, job, jobs, observed, resources)
    elif observed.held[job] or jobs.rank[job] < 0:
        aside[0] += 1
        aside[aside[0]] = job
    else:
        enqueue(snapshot, job, jobs, rules, resources)


@kernel
def run_on(snapshot: Space, job: int, jobs: Jobs, observed: Observed, resources: Any) -> None:
    """Enters an attempt that has started among those that run."""
    for x in range(len(resources)):
        snapshot.free[x] -= jobs.request[x, job]
    expected = observed.start[job] + jobs.estimate[job]
    hold(snapshot.run, snapshot.at, job, expected, observed.end[job], jobs.request, resources)


@kernel
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
            if observed.start[job] < now:
                if observed.end[job] > now:
                    run_on(snapshot, job, jobs, observed, resources)
                continue
            next_start = min(next_start, observed.start[job])
            kept += 1
            aside[kept] = job
        aside[0] = kept
    if at[NEXT_END] <= now:
        release(snapshot.run, at, snapshot.free, now, resources)
    return next_start


@kernel
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
                for x in range(len(resources)):
                    own.change[x, place] = own.change[x, place - 1]
                place -= 1
            own.time[place] = instant
            own.planned[place] = False
            for x in range(len(resources)):
                own.change[x, place] = sign * jobs.request[x, job]
            count += 1
    return count


@kernel
def fair_start(
    snapshot: Space,
    space: Space,
    job: int,
    jobs: Jobs,
    steps: Steps,
    rules: Rules,
    foresee: bool,
    begun: Ints,
    nothing: Ints,
    resources: Any,
) -> tuple[int, int]:
    """The strict and relaxed fair start time of ``job`` from its snapshot; NEVER: none.

    ``foresee``: whether the policy plans ahead while planned steps may lie ahead.
    """
    heap = space.spare[0]
    if snapshot.at[ALIVE] == 0 and not foresee:
        alone = earliest_alone(snapshot, job, jobs, steps, heap, resources)
        return alone, alone
    # Where the last to arrive stands last, it touches nobody before it starts: as a ghost it shows
    # its start, and the others go on as if it were not there. Plans that last, others must heed.
    ghost = rules.latest_last and rules.backfill != CONSERVATIVE
    strict = NEVER
    copy_state(snapshot, space, resources)
    if ghost:
        begun[job] = NEVER
        enqueue(space, job, jobs, rules, resources)
    follow(
        space,
        jobs,
        steps,
        rules,
        0,
        0,
        NOBODY,
        job if ghost else NOBODY,
        NOBODY,
        True,
        begun,
        nothing,
        resources,
    )
    relaxed = NEVER
    if space.at[ALIVE] == 0:
        if foresee:
            strict = begun[job]
            begun[job] = NEVER
            enqueue(space, job, jobs, rules, resources)
            follow(
                space,
                jobs,
                steps,
                rules,
                0,
                0,
                job,
                NOBODY,
                NOBODY,
                False,
                begun,
                nothing,
                resources,
            )
            relaxed = begun[job]
            begun[job] = strict
        else:
            relaxed = earliest_alone(space, job, jobs, steps, heap, resources)
    if ghost:
        return begun[job], relaxed
    copy_state(snapshot, space, resources)
    begun[job] = NEVER
    enqueue(space, job, jobs, rules, resources)
    follow(space, jobs, steps, rules, 0, 0, job, NOBODY, job, True, begun, nothing, resources)
    return begun[job], relaxed


@kernel
def fair_starts(
    jobs: Jobs,
    observed: Observed,
    capacity: Ints,
    steps: Steps,
    rules: Rules,
    foresee: bool,
    subject: Bools,
    low: int,
    high: int,
    snapshot: Space,
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
        steps, rules, foresee: see ``follow`` and ``fair_start``.
        subject: whose fair start times are asked for.
        low, high: the range of indices; ``low`` < ``high``.
        snapshot, space: room for as many attempts as can be in the pool at one time.
        own: room for all steps, and two for each blocked attempt that can wait at one time.
        aside: room for one more than can wait at one time.
        begun: working space; one element per attempt.
        strict, relaxed: get the fair start times, or NEVER.
        over: gets whether the snapshot holds more than the capacity.
        resources: see ``kernels.free``.
    """
    at = snapshot.at
    at[:] = 0
    at[NEXT_END] = NEVER
    aside[0] = 0
    snapshot.free[:] = capacity
    nothing = begun[:0]
    now = jobs.arrival[low]
    next_start = NEVER
    for j in range(low):
        if observed.start[j] >= now or observed.end[j] > now:
            enter(snapshot, j, now, jobs, observed, rules, aside, resources)
            if observed.present[j] and observed.start[j] >= now:
                next_start = min(next_start, observed.start[j])
    for j in range(low, high):
        now = jobs.arrival[j]
        next_start = move_on(snapshot, now, next_start, jobs, steps, observed, aside, resources)
        if subject[j]:
            for x in range(len(resources)):
                over[j] |= snapshot.free[x] < 0
            held = False
            for i in range(1, aside[0] + 1):
                held |= observed.held[aside[i]]
            if held:
                since = at[STEP]
                count = with_blocked(steps, since, aside, jobs, observed, own, resources)
                at[STEP] = 0
                mine = Steps(own.time, own.change, own.planned, count)
                strict[j], relaxed[j] = fair_start(
                    snapshot, space, j, jobs, mine, rules, foresee, begun, nothing, resources
                )
                at[STEP] = since
            else:
                strict[j], relaxed[j] = fair_start(
                    snapshot, space, j, jobs, steps, rules, foresee, begun, nothing, resources
                )
        enter(snapshot, j, now, jobs, observed, rules, aside, resources)
        if observed.present[j]:
            next_start = min(next_start, observed.start[j])
