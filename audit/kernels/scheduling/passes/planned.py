"""Passes that plan ahead: ``conservative`` and ``conservative_replan`` (SPEC §4)."""

from audit.kernels.compiled import inner
from audit.kernels.scheduling.passes.expected import add_expected, next_expected, next_planned
from audit.kernels.scheduling.profile import (
    BEYOND,
    FIRST,
    NEVER,
    add_between,
    copy_amounts,
    earlier,
    earliest,
    forget_past,
)
from audit.kernels.scheduling.queue import begin
from audit.kernels.scheduling.space import (
    END,
    ESTIMATE,
    EXPECTED,
    FREED,
    GAP,
    HEAD,
    JOB,
    LOST,
    NOW,
    RUNNING,
    SOONEST,
    STEP,
    TAIL,
    UNPLANNED,
    WAITING,
    Jobs,
    Model,
    Space,
    Steps,
    fits_free,
    may_start,
    take_steps,
)


@inner
def expect(space: Space, steps: Steps) -> None:
    """Makes the profile: what is free now, what runs until its expected end, planned steps."""
    times, levels, bounds, resources = space.profile
    last = 0
    times[0] = space.state[NOW]
    copy_amounts(levels, 0, space.free, 0, resources)
    ended = 0
    step = next_planned(steps, space.state[STEP])
    while True:
        instant = next_expected(space, steps, ended, step)
        if instant == NEVER:
            break
        if instant > times[last]:
            last += 1
            times[last] = instant
            copy_amounts(levels, last, levels, last - 1, resources)
        ended, step = add_expected(space, steps, ended, step, instant, levels, last)
    bounds[FIRST] = 0
    bounds[BEYOND] = last + 1


@inner
def foresee(space: Space, model: Model) -> None:
    """Makes the first profile of a simulation under ``conservative``, with the steps up to now."""
    take_steps(space, model.steps, model.jobs)
    space.state[FREED] = 0
    expect(space, model.steps)


@inner
def release_early(space: Space, jobs: Jobs) -> bool:
    """Frees in the profile what has ended before it was expected to; whether there was any."""
    state = space.state
    run = space.run
    now = state[NOW]
    early = False
    for i in range(state[RUNNING]):
        expected = run[EXPECTED, i]
        if run[END, i] <= now and expected > now:
            early = True
            state[FREED] = max(state[FREED], expected)
            add_between(space.profile, now, expected, jobs.request, run[JOB, i], 1)
    return early


# conservative


@inner
def pass_conservative(space: Space, model: Model, news: bool) -> bool:
    """A pass of ``conservative``; whether what it starts ends at once.

    ``news``: whether something ended early, or capacity stepped, since the last pass. What those
    leave whose plans are lost, the others get at once.
    """
    forget_past(space.profile, space.state[NOW])
    again = False
    lost = True
    while lost:
        if news:
            compress(space, model)
        plan_waiting(space, model)
        lost = False
        if space.state[SOONEST] <= space.state[NOW]:
            ends, lost = start_planned(space, model)
            again |= ends
            news = lost
    return again


@inner
def start_planned(space: Space, model: Model) -> tuple[bool, bool]:
    """Starts those planned for now; whether any ends at once, and whether any lost its plan.

    That is lost where limits or windows do not allow the start.
    """
    state, jobs = space.state, model.jobs
    now = state[NOW]
    again, lost = False, False
    for i in range(state[HEAD], state[TAIL]):
        if space.plan[i] > now or space.plan[i] < 0:
            continue
        if not may_start(space, i, jobs):
            state[FREED] = max(state[FREED], retract(space, i, jobs))
            space.plan[i] = LOST
            if len(space.planned) > 0:
                space.planned[space.queue[WAITING, i]] = NEVER
            lost = True
        elif fits_free(space, i):
            again |= begin(space, i, jobs)
        else:  # the capacity has dropped since it was planned
            end = retract(space, i, jobs)
            promise(space, i, now + 1, model)
            for k in range(state[HEAD], state[TAIL]):
                space.freed[k] = max(space.freed[k], end)
    state[SOONEST] = next_plan(space)
    return again, lost


@inner
def compress(space: Space, model: Model) -> None:
    """Moves plans to earlier starts, in the order of the queue (SPEC §4, *conservative*).

    Only what has been freed since an attempt was last looked at can let it move, so only starts
    before the end of that are tried: ``state[FREED]`` for all, ``freed`` for one.
    """
    state, jobs, rules = space.state, model.jobs, model.rules
    now = state[NOW]
    given_up = space.spare[0]  # until when each that moved had been planned
    freed = state[FREED]
    moved = False
    for i in range(state[HEAD], state[TAIL]):
        if space.queue[WAITING, i] == GAP or space.plan[i] < 0:
            continue
        until = max(freed, space.freed[i])
        space.freed[i] = 0
        given_up[i] = 0
        plan = space.plan[i]
        if until <= now or plan <= now:
            continue
        job = space.queue[WAITING, i]
        estimate = jobs.estimate[job]
        start = earlier(
            space.profile, now, plan, until, estimate, jobs.request, job, rules.every, rules.origin
        )
        if start < plan:
            end = retract(space, i, jobs)
            occupy(space, i, start, jobs)
            if plan != NEVER:
                freed = max(freed, end)
                given_up[i] = end
                moved = True
    if moved:  # what later ones gave up is news to those before them
        later = 0
        for i in range(state[TAIL] - 1, state[HEAD] - 1, -1):
            if space.queue[WAITING, i] != GAP and space.plan[i] >= 0:
                space.freed[i] = max(space.freed[i], later)
                later = max(later, given_up[i])
    state[FREED] = 0


@inner
def plan_waiting(space: Space, model: Model) -> None:
    """Plans all that wait without a plan, in the order of the queue; who lost it, if allowed."""
    state = space.state
    first = NEVER
    for i in range(state[HEAD], state[TAIL]):
        start = space.plan[i]
        if start == UNPLANNED:
            start = promise(space, i, state[NOW], model)
            if len(space.planned) > 0:
                space.planned[space.queue[WAITING, i]] = start
        elif start == LOST and may_start(space, i, model.jobs):
            start = promise(space, i, state[NOW], model)
        if start >= 0:
            first = min(first, start)
    state[SOONEST] = first


@inner
def promise(space: Space, i: int, since: int, model: Model) -> int:
    """Plans what waits at place ``i`` for the earliest start from ``since`` on that is left.

    It begins at an instant of a pass.
    """
    jobs, rules = model.jobs, model.rules
    job = space.queue[WAITING, i]
    start = earliest(
        space.profile, since, jobs.estimate[job], jobs.request, job, rules.every, rules.origin
    )
    occupy(space, i, start, jobs)
    return start


@inner
def occupy(space: Space, i: int, start: int, jobs: Jobs) -> None:
    """Plans what waits at place ``i`` for ``start``; NEVER plans nothing."""
    space.plan[i] = start
    if start != NEVER:
        job = space.queue[WAITING, i]
        add_between(space.profile, start, start + jobs.estimate[job], jobs.request, job, -1)


@inner
def retract(space: Space, i: int, jobs: Jobs) -> int:
    """Takes the plan of what waits at place ``i`` back; gives the end of what that frees."""
    start = space.plan[i]
    if start == NEVER:
        return NEVER
    job = space.queue[WAITING, i]
    end: int = start + jobs.estimate[job]
    add_between(space.profile, start, end, jobs.request, job, 1)
    return end


@inner
def next_plan(space: Space) -> int:
    """The first planned start, or NEVER."""
    first = NEVER
    for i in range(space.state[HEAD], space.state[TAIL]):
        if space.plan[i] >= 0:
            first = min(first, space.plan[i])
    return first


# conservative_replan


@inner
def pass_replan(space: Space, model: Model) -> bool:
    """A pass of ``conservative_replan``; whether what it starts ends at once.

    Whom a limit holds is not looked at: a plan for it would hold up others. Once enough have a
    place in the plan, others start now or not at all.
    """
    jobs, steps, rules, _ = model
    state = space.state
    now = state[NOW]
    expect(space, steps)
    again = False
    left_behind = False
    looked = 0
    reserved = 0
    for i in range(state[HEAD], state[TAIL]):
        if space.queue[WAITING, i] == GAP:
            continue
        if not may_start(space, i, jobs):
            continue
        if looked == rules.depth:
            break
        looked += 1
        if left_behind and space.queue[ESTIMATE, i] > rules.window:
            continue
        job = space.queue[WAITING, i]
        estimate = jobs.estimate[job]
        if reserved < rules.reservations:
            start = earliest(space.profile, now, estimate, jobs.request, job, 0, 0)
        elif fits_free(space, i):
            start = earlier(space.profile, now, NEVER, now + 1, estimate, jobs.request, job, 0, 0)
        else:
            start = NEVER
        if start == now:
            occupy(space, i, start, jobs)
            again |= begin(space, i, jobs)
            continue
        left_behind = True
        if reserved < rules.reservations:
            occupy(space, i, start, jobs)
            reserved += 1
    return again
