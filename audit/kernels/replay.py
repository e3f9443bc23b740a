"""A whole schedule simulated anew, from an empty pool or from what the observed one held once."""

from typing import Any

from audit.kernels.fair_start import Observed, run_on
from audit.kernels.free import NEVER, Ints
from audit.kernels.jit import lean
from audit.kernels.passes import (
    ARRIVING,
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
    reset,
)


@lean
def replay(
    jobs: Jobs,
    observed: Observed,
    taking_part: Bools,
    capacity: Ints,
    steps: Steps,
    rules: Rules,
    since: int,
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
        rules: the policy.
        since: from when on. Who started before it is as observed.
        space: room for all attempts.
        begun: gets the starts; NEVER: none.
        planned: gets the first planned starts, where it has elements.
        resources: see ``kernels.free``.
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
    follow(space, jobs, steps, rules, begun, planned, resources)
