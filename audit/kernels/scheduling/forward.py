"""Forward starts: each attempt's snapshot, simulated with all that arrives later (SPEC §10).

The sweep that keeps the snapshot is that of fair start times. Here all blocked attempts are steps,
whenever they came, so snapshots hold none.
"""

from typing import NamedTuple

from audit.kernels.arrays import Bools, Ints
from audit.kernels.compiled import inner, kernel
from audit.kernels.scheduling.books import enter_blocked, open_books
from audit.kernels.scheduling.limits import count
from audit.kernels.scheduling.loop import await_pass, follow, follow_on
from audit.kernels.scheduling.order import arrange
from audit.kernels.scheduling.passes.planned import foresee, plan_waiting
from audit.kernels.scheduling.profile import NEVER
from audit.kernels.scheduling.queue import enqueue
from audit.kernels.scheduling.snapshot import (
    Observed,
    changes_after,
    copy_plans,
    copy_state,
    copy_step,
    enter,
    move_on,
)
from audit.kernels.scheduling.space import (
    ALIVE,
    ARRIVING,
    BY_OWNER,
    CONSERVATIVE,
    FREED,
    NEWS,
    NOBODY,
    NOW,
    PAUSE,
    STEP,
    TAIL,
    TARGET,
    UNPLANNED,
    UNTIL,
    Jobs,
    Model,
    Space,
    Steps,
    ending,
    reset,
)


class Trials(NamedTuple):
    """Where forward starts are worked out."""

    snapshot: Space
    """With room for a snapshot, in which steps are taken up to, not including, its instant."""
    space: Space
    """One simulation; room for all attempts."""
    branch: Space
    """Where it stood when the first later attempt of the same user was to come; as much room."""
    aside: Ints
    """Room for one more than can wait at one time; see ``snapshot``."""
    lasting: Ints
    """Element 0 says how many blocked attempts last, those after it which; room for all of them."""
    steps: Steps
    """Room for all steps."""


class Later(NamedTuple):
    """What is known of later attempts beside what they ask for; an element per attempt."""

    own: Ints  # the next attempt of the same user, or how many attempts there are
    user: Ints
    blocked: Bools
    start: Ints  # observed


class ForwardStarts(NamedTuple):
    """What is found out; an element per attempt, NEVER: it does not start."""

    start: Ints
    without_own: Ints  # the same without the later arrivals of its user


@kernel
def forward_starts(
    model: Model,
    observed: Observed,
    taken_after: Ints,
    capacity: Ints,
    later: Later,
    subject: Bools,
    low: int,
    high: int,
    trials: Trials,
    out: ForwardStarts,
) -> None:
    """Writes the forward starts of the subjects from index ``low`` to ``high``.

    Args:
        model: the attempts, of which nobody with rank < 0 is queued; steps of the capacity and of
            blocked attempts; the policy. Ranks are changed, and changed back.
        observed: their schedule, in which the blocked are not present.
        taken_after: one second after each step.
        capacity: before any step.
        later: see there.
        subject: whose forward starts are asked for.
        low, high: the range of indices; ``low`` < ``high``.
        trials: where they are worked out.
        out: gets them.
    """
    jobs, steps, rules, owners = model
    late = Steps(taken_after, steps.change, steps.planned, steps.job, steps.number)
    sweep = Model(jobs, late, rules, owners)
    snapshot, aside = trials.snapshot, trials.aside
    reset(snapshot, capacity)
    aside[0] = 0
    trials.lasting[0] = 0
    next_change = NEVER
    now = jobs.arrival[low]
    for j in range(low):
        if observed.start[j] >= now or observed.end[j] > now:
            enter(snapshot, j, now, sweep, observed, aside)
            if observed.present[j] and observed.start[j] >= now:
                next_change = min(next_change, changes_after(j, observed))
    for j in range(low, high):
        now = jobs.arrival[j]
        taken = snapshot.state[STEP]
        next_change = move_on(snapshot, now, next_change, sweep, observed, aside)
        note_lasting(snapshot, model, taken, trials.lasting)
        if subject[j]:
            forward_start(trials, j, model, later, out)
        enter(snapshot, j, now, sweep, observed, aside)
        if observed.present[j]:
            next_change = min(next_change, changes_after(j, observed))


@inner
def note_lasting(snapshot: Space, model: Model, first: int, lasting: Ints) -> None:
    """Keeps the list of blocked attempts that last, through the steps from ``first`` on.

    What they are counts towards limits.
    """
    steps, limits = model.steps, model.jobs.limits
    for step in range(first, snapshot.state[STEP]):
        job = steps.job[step]
        if job >= 0:
            count(limits, snapshot.used, job, 1)
            lasting[0] += 1
            lasting[lasting[0]] = job
        elif job < NOBODY:
            gone = ending(job)
            count(limits, snapshot.used, gone, -1)
            kept = 0
            for i in range(1, lasting[0] + 1):
                if lasting[i] != gone:
                    kept += 1
                    lasting[kept] = lasting[i]
            lasting[0] = kept


@inner
def forward_start(trials: Trials, job: int, model: Model, later: Later, out: ForwardStarts) -> None:
    """Writes the forward start of ``job`` from its snapshot, with and without its user's.

    Until the first of these comes both are one simulation, which pauses there.
    """
    space, branch = trials.space, trials.branch
    begin_forward(trials, job, model, later, len(out.start))
    mine = later.own[job]
    if mine < len(out.start) and may_pause(model):
        space.state[PAUSE] = model.jobs.arrival[mine]
    branches = space.state[NOW] < space.state[PAUSE] < NEVER
    if not branches:
        space.state[PAUSE] = NEVER
    follow(space, model)
    branches = branches and space.begun[job] == NEVER
    if branches:
        copy_simulation(space, branch, model)
        follow_on(space, model)
    start = space.begun[job]
    out.start[job] = start
    out.without_own[job] = start
    differs = own_matter(space, job, start, model, later)
    forget(space, job)
    if differs:
        out.without_own[job] = without_own(trials, job, start, branches, model, later)


@inner
def may_pause(model: Model) -> bool:
    """Whether a simulation is all in its space, and does not depend on how far it looked ahead."""
    return model.rules.order < BY_OWNER and len(model.jobs.limits.edges.time) == 0


@inner
def copy_simulation(source: Space, target: Space, model: Model) -> None:
    """Copies a simulation, see ``may_pause``, but for what has started in it."""
    copy_state(source, target)
    if model.rules.backfill == CONSERVATIVE:
        copy_plans(source, target)


@inner
def forget(space: Space, job: int) -> None:
    """Forgets whom a simulation for ``job`` has started of those that came later."""
    for k in range(job + 1, space.state[ARRIVING]):
        space.begun[k] = NEVER


@inner
def begin_forward(trials: Trials, job: int, model: Model, later: Later, until: int) -> None:
    """Begins with the snapshot and ``job``; those up to index ``until`` are to arrive."""
    space, state = trials.space, trials.space.state
    if model.rules.backfill == CONSERVATIVE:
        plan_ahead(trials, job, model, later)
    else:
        copy_state(trials.snapshot, space)
        enqueue(space, job, model.jobs, model.rules)
        if model.rules.order >= BY_OWNER:
            open_here(space, model, trials.snapshot.state[STEP], trials.lasting, later)
    space.begun[job] = NEVER
    state[ARRIVING] = job + 1
    state[UNTIL] = until
    state[TARGET] = job


@inner
def plan_ahead(trials: Trials, job: int, model: Model, later: Later) -> None:
    """Begins with the snapshot, its queue planned afresh in its order, ``job`` last.

    Plans are made at the first pass; who comes later has none yet.
    """
    space, state = trials.space, trials.space.state
    copy_state(trials.snapshot, space)
    first = state[STEP]
    foresee(space, model)
    if model.rules.order >= BY_OWNER:
        open_here(space, model, first, trials.lasting, later)
    for i in range(state[TAIL]):
        space.plan[i] = UNPLANNED
        space.freed[i] = 0
    alone = state[ALIVE] == 0
    if alone:
        enqueue(space, job, model.jobs, model.rules)
    await_pass(space, model)
    arrange(space, model)
    plan_waiting(space, model)
    if not alone:
        enqueue(space, job, model.jobs, model.rules)
        plan_waiting(space, model)
    state[FREED] = 0
    state[NEWS] = 0


@inner
def open_here(space: Space, model: Model, first: int, lasting: Ints, later: Later) -> None:
    """Begins the ledger of a simulation that goes on from a snapshot; see ``open_books``.

    Of the steps that have been taken it is told of those from index ``first`` on, and of the
    blocked attempts that last since before.
    """
    jobs, steps, rules, _ = model
    state = space.state
    taken = state[STEP]
    state[STEP] = 0
    open_books(space, model, state[NOW])
    state[STEP] = taken
    for i in range(1, lasting[0] + 1):
        enter_blocked(space, lasting[i], later.start[lasting[i]], jobs, rules)
    for step in range(first, taken):
        enter_blocked(space, steps.job[step], steps.time[step], jobs, rules)


@inner
def own_matter(space: Space, job: int, start: int, model: Model, later: Later) -> bool:
    """Whether ``job``, simulated to start at ``start``, may start at another time without its own.

    Where the last to come is served last and no plan is kept, who waits behind it changes nothing:
    only who has started does.
    """
    jobs, rules = model.jobs, model.rules
    if_started = rules.latest_last and rules.backfill != CONSERVATIVE
    k = later.own[job]
    while k < len(later.own) and jobs.arrival[k] <= start:
        if later.blocked[k] or (jobs.rank[k] >= 0 and not if_started) or space.begun[k] != NEVER:
            return True
        k = later.own[k]
    return False


@inner
def without_own(
    trials: Trials, job: int, start: int, branches: bool, model: Model, later: Later
) -> int:
    """When ``job``, simulated to start at ``start``, does without its user's later ones, or NEVER.

    Left out is what comes by ``start``, and nobody arrives after it any more from the user's next
    on. Where the simulation comes as far as that, more is left out, and it is done again, from the
    branch if it ``branches``.
    """
    jobs, count, space = model.jobs, len(later.own), trials.space
    number = leave_out_steps(trials, job, model.steps, later)
    room = trials.steps
    kept = Steps(room.time, room.change, room.planned, room.job, number)
    here = Model(jobs, kept, model.rules, model.owners)
    until = start
    while True:
        beyond = later.own[job]
        while beyond < count and jobs.arrival[beyond] <= until:
            beyond = later.own[beyond]
        change_ranks(job, beyond, jobs, later)
        if branches:
            copy_simulation(trials.branch, space, here)
            space.begun[job] = NEVER
            space.state[UNTIL] = beyond
            follow_on(space, here)
        else:
            begin_forward(trials, job, here, later, beyond)
            follow(space, here)
        change_ranks(job, beyond, jobs, later)
        forget(space, job)
        found: int = space.begun[job]
        if beyond == count or found < jobs.arrival[beyond]:
            return found
        until = found


@inner
def change_ranks(job: int, beyond: int, jobs: Jobs, later: Later) -> None:
    """Lets the attempts of a user between ``job`` and ``beyond`` be queued never, or again."""
    k = later.own[job]
    while k < beyond:
        jobs.rank[k] = -2 - jobs.rank[k]  # −1, of who is never queued, stays
        k = later.own[k]


@inner
def leave_out_steps(trials: Trials, job: int, steps: Steps, later: Later) -> int:
    """Writes the steps that a snapshot has not taken, without those of the user's later attempts.

    They stand from the index on that the next one had; gives the index behind them.
    """
    out = trials.steps
    number: int = trials.snapshot.state[STEP]
    for step in range(number, steps.number):
        of = steps.job[step]
        if of < NOBODY:
            of = ending(of)
        if of > job and later.user[of] == later.user[job]:
            continue
        copy_step(steps, step, out, number)
        number += 1
    return number
