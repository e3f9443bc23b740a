"""A whole schedule simulated anew, from an empty pool or from what the observed one held once."""

from audit.kernels.arrays import Bools, Ints
from audit.kernels.compiled import kernel
from audit.kernels.scheduling.books import open_books
from audit.kernels.scheduling.loop import follow
from audit.kernels.scheduling.passes.planned import foresee
from audit.kernels.scheduling.profile import NEVER
from audit.kernels.scheduling.queue import enqueue
from audit.kernels.scheduling.snapshot import Observed, run_on
from audit.kernels.scheduling.space import (
    ARRIVING,
    BY_OWNER,
    CONSERVATIVE,
    NOW,
    UNTIL,
    Model,
    Space,
    reset,
)


@kernel
def replay(
    model: Model,
    observed: Observed,
    taking_part: Bools,
    capacity: Ints,
    since: int,
    goes_on: bool,
    space: Space,
) -> None:
    """Simulates all that happens from ``since`` on, with what ran and waited then.

    Args:
        model: the attempts, of which nobody with rank < 0 is queued; steps of the capacity and of
            blocked attempts; the policy.
        observed: the schedule of the attempts.
        taking_part: who is simulated at all.
        capacity: before any step.
        since: from when on. Who started before it is as observed.
        goes_on: whether what the observed schedule used before counts.
        space: room for all attempts; ``begun`` gets the starts, NEVER: none.
    """
    jobs, rules = model.jobs, model.rules
    state, begun = space.state, space.begun
    reset(space, capacity)
    count = len(begun)
    for j in range(count):
        begun[j] = NEVER
    state[NOW] = since
    state[ARRIVING] = count
    state[UNTIL] = count
    for j in range(count):
        if jobs.arrival[j] >= since:
            state[ARRIVING] = j
            break
        if not taking_part[j]:
            continue
        if observed.start[j] < since:
            begun[j] = observed.start[j]
            if observed.end[j] > since:
                run_on(space, j, jobs, observed)
        elif jobs.rank[j] >= 0:
            enqueue(space, j, jobs, rules)
    if rules.backfill == CONSERVATIVE:
        foresee(space, model)
    if rules.order >= BY_OWNER:
        open_books(space, model, since if goes_on else since - 1)
    follow(space, model)
