"""The event loop: a pool simulated from instant to instant (SPEC §4, docs/simulation.md)."""

from audit.kernels.compiled import inner
from audit.kernels.scheduling.books import enter_blocked, enter_ended
from audit.kernels.scheduling.limits import edge_at
from audit.kernels.scheduling.order import arrange
from audit.kernels.scheduling.passes.greedy import pass_front, pass_greedy, settles
from audit.kernels.scheduling.passes.planned import (
    pass_conservative,
    pass_replan,
    release_early,
)
from audit.kernels.scheduling.profile import NEVER, add_between, fits, forget_past, next_multiple
from audit.kernels.scheduling.queue import any_can_start, close_gaps, enqueue, mostly_gaps
from audit.kernels.scheduling.space import (
    ALIVE,
    ARRIVING,
    BY_OWNER,
    CONSERVATIVE,
    DUE,
    EDGE,
    FREED,
    FRESH,
    HEAD,
    LATER,
    NEWS,
    NEXT_END,
    NOBODY,
    NOW,
    PAUSE,
    QUIET,
    RANK,
    REPLAN,
    SOONEST,
    STEP,
    TAIL,
    TARGET,
    UNTIL,
    Model,
    Space,
    Steps,
    let_edges_pass,
    release,
    take_steps,
)

PATIENCE = 3  # of the periods of edges


@inner
def follow(space: Space, model: Model) -> None:
    """Simulates a pool from ``state[NOW]`` on, until nothing waits and nobody arrives any more.

    Those from index ``state[ARRIVING]`` up to ``state[UNTIL]`` are still to arrive. It stops as
    soon as ``state[TARGET]`` has started, and before the first instant from ``state[PAUSE]`` on.

    Args:
        space: the state, in which all that happened before is entered; under ``conservative`` after
            ``foresee``, under ``fairshare`` and ``nuwt`` after ``open_books``.
        model: what is simulated.
    """
    state = space.state
    while True:
        state[NEWS] |= happen(space, model)
        arrive(space, model)
        state[DUE] = next_multiple(state[NOW], model.rules.every, model.rules.origin)
        if state[DUE] == state[NOW]:
            run_passes(space, model, state[NEWS] > 0, False)
            state[NEWS] = 0
            state[DUE] = NEVER
        elif model.rules.between:
            run_passes(space, model, False, True)
        if state[TARGET] != NOBODY and space.begun[state[TARGET]] != NEVER:
            return
        let_wait(space, model)
        if not advance(space, model):
            return


@inner
def advance(space: Space, model: Model) -> bool:
    """Goes on to the next instant; False: there is none, or none before ``state[PAUSE]``."""
    instant = next_instant(space, model)
    if instant >= space.state[PAUSE]:
        return False
    space.state[NOW] = instant
    return True


@inner
def follow_on(space: Space, model: Model) -> None:
    """Goes on with a simulation that has paused; see ``follow``."""
    state = space.state
    state[PAUSE] = NEVER
    while state[ARRIVING] < state[UNTIL] and model.jobs.rank[state[ARRIVING]] < 0:
        state[ARRIVING] += 1  # who is never queued makes no instant
    if advance(space, model):
        follow(space, model)


@inner
def happen(space: Space, model: Model) -> bool:
    """What comes before arrivals at an instant: (0) steps of the capacity and edges, (1) ends.

    Returns:
        Whether a step was taken or something ended before it was expected to: where a plan is kept,
        it is compressed then.
    """
    jobs, steps, rules, _ = model
    state = space.state
    first = state[STEP]
    take_steps(space, steps, jobs)
    let_edges_pass(space, jobs)
    for step in range(first, state[STEP]):
        if rules.order >= BY_OWNER:
            enter_blocked(space, steps.job[step], steps.time[step], jobs, rules)
        if rules.backfill == CONSERVATIVE:
            show_step(space, steps, step)
    news: bool = state[STEP] > first
    if state[NEXT_END] <= state[NOW]:
        news |= end_due(space, model)
    return news


@inner
def show_step(space: Space, steps: Steps, step: int) -> None:
    """Shows a step that is taken now to those who keep a plan, unless they knew of it."""
    now = space.state[NOW]
    forget_past(space.profile, now)
    if not steps.planned[step]:
        add_between(space.profile, now, NEVER, steps.change, step, 1)
        for x in range(space.resources):
            if steps.change[x, step] > 0:
                space.state[FREED] = NEVER


@inner
def end_due(space: Space, model: Model) -> bool:
    """Ends what ends by now; whether any of it was expected to run on, where a plan is kept."""
    early = False
    if model.rules.backfill == CONSERVATIVE:
        forget_past(space.profile, space.state[NOW])
        early = release_early(space, model.jobs)
    if model.rules.order >= BY_OWNER:
        enter_ended(space, model.jobs, model.rules)
    release(space, model.jobs)
    return early


@inner
def arrive(space: Space, model: Model) -> None:
    """(2) Lets those that arrive by now join the queue."""
    jobs = model.jobs
    state = space.state
    while state[ARRIVING] < state[UNTIL] and (
        jobs.rank[state[ARRIVING]] < 0 or jobs.arrival[state[ARRIVING]] <= state[NOW]
    ):
        if jobs.rank[state[ARRIVING]] >= 0:  # who is never queued makes no instant either
            enqueue(space, state[ARRIVING], jobs, model.rules)
        state[ARRIVING] += 1


@inner
def let_wait(space: Space, model: Model) -> None:
    """Lets those join behind the others who do not fit when they come, up to the next other event.

    Where only a new arrival could start (see ``settles``), and that does not fit, nothing else
    happens at its arrival, so it needs no instant.
    """
    jobs, steps, rules, _ = model
    state = space.state
    all_tried = state[HEAD] < state[FRESH] and state[FRESH] == state[TAIL]
    if not (all_tried and rules.latest_last and rules.every == 0 and settles(space, model)):
        return
    before = min(state[NEXT_END], state[PAUSE])
    if state[STEP] < steps.number:
        before = min(before, steps.time[state[STEP]])
    while state[ARRIVING] < state[UNTIL]:
        job = state[ARRIVING]
        if jobs.rank[job] >= 0:
            fitting = fits(jobs.request, job, space.free, 0, False, space.resources)
            if jobs.arrival[job] >= before or fitting:
                return
            enqueue(space, job, jobs, rules)
            state[FRESH] = state[TAIL]
        state[ARRIVING] += 1


@inner
def run_passes(space: Space, model: Model, news: bool, front: bool) -> None:
    """(3) Passes, until one starts nothing that ends at once; ``front``: of those in between."""
    rules = model.rules
    conservative = rules.backfill == CONSERVATIVE
    # Whether it is worth asking first if anything can start: the order or a plan would cost more.
    in_question = not conservative and (rules.order != RANK or rules.backfill == REPLAN)
    again = space.state[ALIVE] > 0
    if mostly_gaps(space):
        close_gaps(space)
    while again:
        if in_question and not any_can_start(space, model.jobs):
            break
        if rules.order != RANK:
            arrange(space, model)
        if front:
            again = pass_front(space, model)
        elif conservative:
            again = pass_conservative(space, model, news)
        elif rules.backfill == REPLAN:
            again = pass_replan(space, model)
        else:
            again = pass_greedy(space, model)
        if again:
            news = end_due(space, model)


@inner
def next_instant(space: Space, model: Model) -> int:
    """The next instant, or NEVER: nothing waits and nobody arrives any more, or it is the last.

    Edges of windows never end. Where nothing else is to come, a few of their periods decide.
    """
    state = space.state
    some_arrive = state[ARRIVING] < state[UNTIL]
    if state[ALIVE] == 0 and not some_arrive:
        return NEVER
    instant: int = state[NEXT_END]
    if some_arrive:
        instant = min(instant, model.jobs.arrival[state[ARRIVING]])
    if state[STEP] < model.steps.number:
        instant = min(instant, model.steps.time[state[STEP]])
    if model.rules.backfill == CONSERVATIVE:
        instant = min(instant, state[SOONEST])
    edges = model.jobs.limits.edges
    edge = edge_at(edges, state[EDGE], state[LATER])
    if instant != NEVER:
        state[QUIET] = NEVER
    elif edge != NEVER and state[QUIET] == NEVER:
        state[QUIET] = state[NOW] + PATIENCE * edges.period
    if edge <= state[QUIET]:
        instant = min(instant, edge)
    soonest: int = min(instant, state[DUE])
    return soonest


@inner
def await_pass(space: Space, model: Model) -> None:
    """Goes on to the next pass, which is still to come, where anybody waits for it."""
    state, rules = space.state, model.rules
    state[DUE] = next_multiple(state[NOW], rules.every, rules.origin)
    while state[ALIVE] > 0 and state[NOW] < state[DUE]:
        state[NOW] = next_instant(space, model)
        happen(space, model)
    state[DUE] = NEVER
