"""A whole schedule simulated anew, from an empty pool or from what the observed one held once."""

from typing import Any

from audit.kernels.jit import lean
from audit.kernels.scheduling.fair_start import Observed, run_on
from audit.kernels.scheduling.owners import Owners
from audit.kernels.scheduling.passes import (
    ARRIVING,
    BY_OWNER,
    CONSERVATIVE,
    NOW,
    UNTIL,
    Bools,
    Jobs,
    Rules,
    Space,
    Steps,
    enqueue,
    follow,
    foresee,
    open_books,
    reset,
)
from audit.kernels.scheduling.space import NEVER, Ints


@lean
def replay(
    jobs: Jobs,
    observed: Observed,
    taking_part: Bools,
    capacity: Ints,
    steps: Steps,
    rules: Rules,
    owners: Owners,
    since: int,
    goes_on: bool,
    space: Space,
    begun: Ints,
    planned: Ints,
    resources: Any,
) -> None:
    """Simulates all that happens from ``since`` on, with what ran and waited then.

    Args:
        jobs, observed: the attempts; nobody with rank < 0 is queued.
        taking_part: who is simulated at all.
        capacity: before any step.
        steps: of the capacity and of blocked attempts.
        rules, owners: the policy.
        since: from when on. Who started before it is as observed.
        goes_on: whether what the observed schedule used before counts.
        space: room for all attempts.
        begun: gets the starts; NEVER: none.
        planned: gets the first planned starts, where it has elements.
        resources: see ``kernels.scheduling.space``.
    """
    for j in range(len(begun)):
        begun[j] = NEVER
    reset(space, capacity, resources)
    space.at[NOW] = since
    count = len(begun)
    space.at[ARRIVING] = count
    space.at[UNTIL] = count
    for j in range(count):
        if jobs.arrival[j] >= since:
            space.at[ARRIVING] = j
            break
        if not taking_part[j]:
            continue
        if observed.start[j] < since:
            begun[j] = observed.start[j]
            if observed.end[j] > since:
                run_on(space, j, jobs, observed, resources)
        elif jobs.rank[j] >= 0:
            enqueue(space, j, jobs, rules, resources)
    if rules.backfill == CONSERVATIVE:
        foresee(space, steps, resources)
    if rules.order >= BY_OWNER:
        open_books(space, jobs, rules, since if goes_on else since - 1)
    follow(space, jobs, steps, rules, owners, begun, planned, resources)
