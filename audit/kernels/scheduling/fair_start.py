"""Fair start times: each attempt's snapshot, simulated forward (SPEC §5).

Subjects do not depend on one another, so a range of them is computed by itself, with the sweep that
keeps the snapshot begun where the range begins.
"""

from typing import NamedTuple

from audit.kernels.arrays import Bools, Ints, IntTable
from audit.kernels.compiled import inner, kernel
from audit.kernels.scheduling.books import open_books
from audit.kernels.scheduling.loop import await_pass, follow
from audit.kernels.scheduling.order import arrange, rate
from audit.kernels.scheduling.owners import compare
from audit.kernels.scheduling.passes.planned import foresee, plan_waiting
from audit.kernels.scheduling.profile import NEVER, add_amounts, copy_amounts, fits
from audit.kernels.scheduling.queue import close_gaps, enqueue, leave
from audit.kernels.scheduling.snapshot import (
    Observed,
    changes_after,
    copy_plans,
    copy_state,
    enter,
    holds_too_much,
    move_on,
    with_blocked,
)
from audit.kernels.scheduling.space import (
    ALIVE,
    BY_OWNER,
    CONSERVATIVE,
    END,
    FREED,
    GHOST,
    HEAD,
    NEWS,
    NOBODY,
    NOW,
    RANK,
    RUNNING,
    STEP,
    TAIL,
    TARGET,
    UNPLANNED,
    WAITING,
    Jobs,
    Model,
    Space,
    Steps,
    add_steps,
    reset,
)


class Trials(NamedTuple):
    """Where fair start times are worked out; spaces with room for a snapshot and its subject."""

    snapshot: Space
    start: Space
    """What all simulations from the snapshot begin with, where that is more than the snapshot."""
    space: Space
    """One simulation."""
    steps: Steps
    """Room for all steps, and two for each blocked attempt that can wait at one time."""
    aside: Ints
    """Room for one more than can wait at one time; see ``snapshot``."""


class FairStarts(NamedTuple):
    """What is found out; an element per attempt."""

    strict: Ints  # or NEVER
    relaxed: Ints  # or NEVER
    over: Bools  # whether the snapshot holds more than the capacity


@kernel
def fair_starts(
    model: Model,
    observed: Observed,
    capacity: Ints,
    at_once: bool,
    subject: Bools,
    low: int,
    high: int,
    trials: Trials,
    out: FairStarts,
) -> None:
    """Writes the fair start times of the subjects from index ``low`` to ``high``.

    Args:
        model: the attempts and how the pool decides; see ``follow``.
        observed: their schedule.
        capacity: before any step.
        at_once: whether who waits alone starts as soon as it fits: nothing is limited, passes are
            at all instants, and no policy that plans ahead sees steps that are planned.
        subject: whose fair start times are asked for.
        low, high: the range of indices; ``low`` < ``high``.
        trials: where they are worked out.
        out: gets them.
    """
    jobs, steps = model.jobs, model.steps
    snapshot, aside = trials.snapshot, trials.aside
    state = snapshot.state
    reset(snapshot, capacity)
    aside[0] = 0
    next_change = NEVER
    now = jobs.arrival[low]
    for j in range(low):
        if observed.start[j] >= now or observed.end[j] > now:
            enter(snapshot, j, now, model, observed, aside)
            if observed.present[j] and (observed.start[j] >= now or observed.held[j]):
                next_change = min(next_change, changes_after(j, observed))
    for j in range(low, high):
        now = jobs.arrival[j]
        next_change = move_on(snapshot, now, next_change, model, observed, aside)
        if subject[j]:
            taken = state[STEP]
            here = model
            if any_held(aside, observed):
                room = trials.steps
                number = with_blocked(steps, taken, aside, jobs, observed, room)
                here_steps = Steps(room.time, room.change, room.planned, room.job, number)
                here = Model(jobs, here_steps, model.rules, model.owners)
                state[STEP] = 0
            out.over[j] = holds_too_much(snapshot, here.steps)
            out.strict[j], out.relaxed[j] = fair_start(trials, j, here, at_once)
            state[STEP] = taken
        enter(snapshot, j, now, model, observed, aside)
        if observed.present[j]:
            next_change = min(next_change, changes_after(j, observed))


@inner
def any_held(aside: Ints, observed: Observed) -> bool:
    """Whether any of those that stand aside is blocked."""
    held = False
    for i in range(1, aside[0] + 1):
        held |= observed.held[aside[i]]
    return held


@inner
def fair_start(trials: Trials, job: int, model: Model, at_once: bool) -> tuple[int, int]:
    """The strict and relaxed fair start time of ``job`` from its snapshot; NEVER: none.

    Where the last to arrive stands last, it touches nobody before it starts: as a ghost it shows
    its start, and the others go on as if it were not there. Plans that last, others must heed; and
    where passes look at few, a ghost may not be looked at though it is the only one left.
    """
    source, space, rules = trials.snapshot, trials.space, model.rules
    if source.state[ALIVE] == 0 and at_once:
        alone = earliest_alone(source, job, model.jobs, model.steps)
        return alone, alone
    conservative = rules.backfill == CONSERVATIVE
    if conservative or rules.fair != RANK:
        prepare(trials.snapshot, trials.start, job, model)
        source = trials.start
    with_ghost = rules.latest_last and not conservative and rules.depth == NEVER
    begin_again(source, space, job, model, with_ghost)
    if with_ghost:
        space.state[GHOST] = job
    follow(space, model)
    strict = space.begun[job]
    relaxed = joined_last(space, job, model, at_once)
    if not with_ghost:
        begin_again(source, space, job, model, True)
        space.state[TARGET] = job
        follow(space, model)
        strict = space.begun[job]
    return strict, relaxed


@inner
def prepare(snapshot: Space, start: Space, job: int, model: Model) -> None:
    """Makes of a snapshot what the simulations for ``job`` begin with.

    Under a fair order those behind ``job`` are left out; under ``conservative`` the others are
    planned, for their plans are the same with and without it, if there is a pass at once.
    """
    rules = model.rules
    copy_state(snapshot, start)
    if rules.fair != RANK:
        open_books(start, model, start.state[NOW])
        leave_those_behind(start, job, model)
    if rules.backfill == CONSERVATIVE and rules.every == 0:
        foresee(start, model)
        if rules.order >= BY_OWNER:
            open_books(start, model, start.state[NOW])
        plan_afresh(start, model)


@inner
def plan_afresh(space: Space, model: Model) -> None:
    """Plans all that wait at the first pass, as if none had been planned before."""
    state = space.state
    for i in range(state[TAIL]):
        space.plan[i] = UNPLANNED
        space.freed[i] = 0
    await_pass(space, model)
    arrange(space, model)
    plan_waiting(space, model)
    state[FREED] = 0
    state[NEWS] = 0


@inner
def leave_those_behind(space: Space, job: int, model: Model) -> None:
    """Takes from the queue those whose turn, in the fair order, comes after that of ``job``."""
    jobs, _, rules, owners = model
    state, ledger = space.state, space.ledger
    rate(rules.fair, owners, ledger, jobs.owner[job], state[NOW])
    for i in range(state[HEAD], state[TAIL]):
        rate(rules.fair, owners, ledger, jobs.owner[space.queue[WAITING, i]], state[NOW])
    for i in range(state[HEAD], state[TAIL]):
        waiting = space.queue[WAITING, i]
        if compare(ledger, jobs.owner[waiting], jobs.owner[job]) < 0:
            leave(space, i)
    close_gaps(space)


@inner
def begin_again(source: Space, space: Space, job: int, model: Model, joins: bool) -> None:
    """Lets a simulation begin from ``source``, where ``job`` has not joined; whether it does.

    Where passes are not at all instants, plans are made at the first one, which is still to come.
    """
    space.begun[job] = NEVER
    copy_state(source, space)
    conservative = model.rules.backfill == CONSERVATIVE
    planned = model.rules.every == 0
    if conservative and planned:
        copy_plans(source, space)
    elif conservative:
        foresee(space, model)
    if model.rules.order >= BY_OWNER:
        open_books(space, model, space.state[NOW])
    if conservative and not planned:
        plan_afresh(space, model)
    if joins:
        enqueue(space, job, model.jobs, model.rules)


@inner
def joined_last(space: Space, job: int, model: Model, at_once: bool) -> int:
    """When ``job`` starts that joins a simulation once all others have started; NEVER: they do not.

    The simulation has come to that instant, if there is one.
    """
    if space.state[ALIVE] > 0:
        return NEVER
    if at_once:
        return earliest_alone(space, job, model.jobs, model.steps)
    space.begun[job] = NEVER
    space.state[GHOST] = NOBODY
    space.state[TARGET] = job
    enqueue(space, job, model.jobs, model.rules)
    follow(space, model)
    start: int = space.begun[job]
    return start


@inner
def earliest_alone(space: Space, job: int, jobs: Jobs, steps: Steps) -> int:
    """When ``job`` starts with nobody beside it in the queue: as soon as it fits, or NEVER.

    Actual ends and steps are gone through in their order.
    """
    run, held, resources = space.run, space.held, space.resources
    free = space.extra
    copy_amounts(free, 0, space.free, 0, resources)
    instant: int = space.state[NOW]
    heap = space.spare[0]  # places of those that run, by end
    running = space.state[RUNNING]
    step = add_steps(steps, space.state[STEP], instant, free, resources)
    if fits(jobs.request, job, free, 0, False, resources):
        return instant
    for i in range(running):
        heap[i] = i
    for i in range(running // 2 - 1, -1, -1):
        sink(heap, i, running, run)
    while True:
        instant = NEVER
        if running > 0:
            instant = run[END, heap[0]]
        if step < steps.number:
            instant = min(instant, steps.time[step])
        if instant == NEVER:
            return NEVER
        step = add_steps(steps, step, instant, free, resources)
        while running > 0 and run[END, heap[0]] == instant:
            add_amounts(free, 0, held, heap[0], 1, resources)
            running -= 1
            heap[0] = heap[running]
            sink(heap, 0, running, run)
        if fits(jobs.request, job, free, 0, False, resources):
            return instant


@inner
def sink(heap: Ints, i: int, count: int, run: IntTable) -> None:
    """Lets element ``i`` of a heap, first end on top, sink to its place."""
    sinking = heap[i]
    while True:
        child = 2 * i + 1
        if child >= count:
            break
        if child + 1 < count and run[END, heap[child + 1]] < run[END, heap[child]]:
            child += 1
        if run[END, heap[child]] >= run[END, sinking]:
            break
        heap[i] = heap[child]
        i = child
    heap[i] = sinking
