"""What the observed schedule holds at an instant, kept by a sweep over the attempts (SPEC §5).

The sweep goes through the attempts in the order (arrival, submit, sequence) and keeps, in a space,
who runs and who waits. Those that are never queued stand *aside*, an array whose element 0 says how
many they are: the blocked as long as they last, those too large until they have started.
"""

from typing import NamedTuple

from audit.kernels.arrays import Bools, Ints
from audit.kernels.compiled import inner
from audit.kernels.scheduling.profile import BEYOND, FIRST, NEVER, copy_amounts
from audit.kernels.scheduling.queue import enqueue, make_stale
from audit.kernels.scheduling.space import (
    ALIVE,
    NEXT_END,
    NOW,
    QUEUE_ROWS,
    REGISTERS,
    RUN_ROWS,
    RUNNING,
    STEP,
    TAIL,
    WAITING,
    Jobs,
    Model,
    Space,
    Steps,
    add_steps,
    ending,
    hold,
    let_edges_pass,
    release,
)


class Observed(NamedTuple):
    """What the schedule says of the attempts, in their order."""

    start: Ints  # NEVER: it has not started
    end: Ints
    held: Bools  # blocked: takes up its request without having queued
    present: Bools  # whether snapshots hold it at all


@inner
def enter(
    snapshot: Space, job: int, now: int, model: Model, observed: Observed, aside: Ints
) -> None:
    """Puts an attempt that arrived earlier into the snapshot of ``now``."""
    if not observed.present[job]:
        return
    if observed.start[job] < now and not observed.held[job]:
        if observed.end[job] > now:
            run_on(snapshot, job, model.jobs, observed)
    elif model.jobs.rank[job] < 0:
        aside[0] += 1
        aside[aside[0]] = job
    else:
        enqueue(snapshot, job, model.jobs, model.rules)


@inner
def run_on(snapshot: Space, job: int, jobs: Jobs, observed: Observed) -> None:
    """Enters an attempt that has started among those that run."""
    expected = observed.start[job] + jobs.estimate[job]
    hold(snapshot, job, expected, observed.end[job], jobs)


@inner
def move_on(
    snapshot: Space, now: int, next_change: int, model: Model, observed: Observed, aside: Ints
) -> int:
    """Brings the snapshot to ``now``.

    ``next_change`` is the last instant up to which all that wait in it do so, or stand aside; gives
    the same for what is left.
    """
    state = snapshot.state
    state[NOW] = now
    steps = model.steps
    state[STEP] = add_steps(steps, state[STEP], now, snapshot.free, snapshot.resources)
    let_edges_pass(snapshot, model.jobs)
    if next_change < now:
        next_change = min(
            start_queued(snapshot, model.jobs, observed),
            start_aside(snapshot, model.jobs, observed, aside),
        )
    if state[NEXT_END] <= now:
        release(snapshot, model.jobs)
    return next_change


@inner
def start_queued(snapshot: Space, jobs: Jobs, observed: Observed) -> int:
    """Takes those that have started from the queue; gives the first start of the others."""
    state, queue = snapshot.state, snapshot.queue
    now = state[NOW]
    next_start = NEVER
    kept = 0
    for i in range(state[TAIL]):
        job = queue[WAITING, i]
        if observed.start[job] < now:
            if observed.end[job] > now:
                run_on(snapshot, job, jobs, observed)
            continue
        next_start = min(next_start, observed.start[job])
        if kept != i:
            for row in range(QUEUE_ROWS):
                queue[row, kept] = queue[row, i]
            copy_amounts(snapshot.asked, kept, snapshot.asked, i, snapshot.resources)
        kept += 1
    state[TAIL] = kept
    state[ALIVE] = kept
    return next_start


@inner
def start_aside(snapshot: Space, jobs: Jobs, observed: Observed, aside: Ints) -> int:
    """Lets go of those aside that stand there no longer; gives how long all the others do."""
    now = snapshot.state[NOW]
    next_change = NEVER
    kept = 0
    for i in range(1, aside[0] + 1):
        job = aside[i]
        last = changes_after(job, observed)
        if last < now:
            if not observed.held[job] and observed.end[job] > now:
                run_on(snapshot, job, jobs, observed)
            continue
        next_change = min(next_change, last)
        kept += 1
        aside[kept] = job
    aside[0] = kept
    return next_change


@inner
def changes_after(job: int, observed: Observed) -> int:
    """The last instant at which an attempt that has not run yet is where it is in a snapshot."""
    last: int = observed.start[job]
    if observed.held[job] and last != NEVER:
        last = max(last, observed.end[job] - 1)
    return last


@inner
def with_blocked(
    steps: Steps, since: int, aside: Ints, jobs: Jobs, observed: Observed, out: Steps
) -> int:
    """Writes to ``out`` the steps from index ``since`` on, and those of the blocked; their number.

    A blocked attempt takes its request at its observed start, and gives it back at its end.
    """
    number = 0
    for step in range(since, steps.number):
        copy_step(steps, step, out, number)
        number += 1
    for i in range(1, aside[0] + 1):
        job = aside[i]
        if not observed.held[job]:
            continue
        for sign in range(-1, 2, 2):
            instant = observed.start[job] if sign < 0 else observed.end[job]
            if instant == NEVER:
                continue
            place = number
            while place > 0 and out.time[place - 1] > instant:
                copy_step(out, place - 1, out, place)
                place -= 1
            out.time[place] = instant
            out.planned[place] = False
            out.job[place] = job if sign < 0 else ending(job)
            for x in range(len(out.change)):
                out.change[x, place] = sign * jobs.request[x, job]
            number += 1
    return number


@inner
def copy_step(source: Steps, step: int, target: Steps, place: int) -> None:
    """Copies one step to another place."""
    target.time[place] = source.time[step]
    target.planned[place] = source.planned[step]
    target.job[place] = source.job[step]
    for x in range(len(target.change)):
        target.change[x, place] = source.change[x, step]


@inner
def holds_too_much(snapshot: Space, steps: Steps) -> bool:
    """Whether more is held than there is, with what the blocked take at this very instant."""
    free, resources = snapshot.extra, snapshot.resources
    copy_amounts(free, 0, snapshot.free, 0, resources)
    add_steps(steps, snapshot.state[STEP], snapshot.state[NOW], free, resources)
    for x in range(resources):  # noqa: SIM110 (kernels know no any)
        if free[x, 0] < 0:
            return True
    return False


@inner
def copy_state(source: Space, target: Space) -> None:
    """Copies who runs, who waits and what is free."""
    state, resources = source.state, source.resources
    for register in range(REGISTERS):
        target.state[register] = state[register]
    copy_amounts(target.free, 0, source.free, 0, resources)
    copy_amounts(target.extra, 0, source.extra, 0, resources)
    for counter in range(len(source.used)):
        target.used[counter] = source.used[counter]
    for row in range(RUN_ROWS):
        for i in range(state[RUNNING]):
            target.run[row, i] = source.run[row, i]
    for row in range(QUEUE_ROWS):
        for i in range(state[TAIL]):
            target.queue[row, i] = source.queue[row, i]
    for x in range(resources):
        for i in range(state[RUNNING]):
            target.held[x, i] = source.held[x, i]
        for i in range(state[TAIL]):
            target.asked[x, i] = source.asked[x, i]
    make_stale(target, 0, state[TAIL])


@inner
def copy_plans(source: Space, target: Space) -> None:
    """Copies plans and their profile."""
    for i in range(source.state[TAIL]):
        target.plan[i] = source.plan[i]
        target.freed[i] = source.freed[i]
    first = source.profile.bounds[FIRST]
    beyond = source.profile.bounds[BEYOND]
    target.profile.bounds[FIRST] = first
    target.profile.bounds[BEYOND] = beyond
    for k in range(first, beyond):
        target.profile.times[k] = source.profile.times[k]
        copy_amounts(target.profile.levels, k, source.profile.levels, k, source.resources)
