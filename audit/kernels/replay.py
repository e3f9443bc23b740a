"""A whole schedule simulated anew, from nothing or from what the observed one held at an instant."""

from typing import Any

from audit.kernels.fair_start import Observed, run_on
from audit.kernels.free import NEVER, Ints
from audit.kernels.jit import kernel
from audit.kernels.passes import (
    NEXT_END,
    NOBODY,
    NOW,
    Bools,
    Jobs,
    Rules,
    Space,
    Steps,
    enqueue,
    follow,
)


@kernel
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
        steps: of the capacity and of blocked attempts that start at ``since`` or later.
        rules: the policy.
        since: from when on. Who started before it is as observed.
        space: room for all attempts.
        begun: gets the starts; NEVER: none.
        planned: gets the first planned starts, where it has elements.
        resources: see ``kernels.free``.
    """
    begun[:] = NEVER
    space.at[:] = 0
    space.at[NEXT_END] = NEVER
    space.at[NOW] = since
    space.free[:] = capacity
    count = len(begun)
    first = count
    for j in range(count):
        if jobs.arrival[j] >= since:
            first = j
            break
        if not taking_part[j]:
            continue
        if observed.start[j] < since:
            begun[j] = observed.start[j]
            if observed.end[j] > since:
                run_on(space, j, jobs, observed, resources)
        elif jobs.rank[j] >= 0:
            enqueue(space, j, jobs, rules, resources)
    follow(
        space,
        jobs,
        steps,
        rules,
        first,
        count,
        NOBODY,
        NOBODY,
        NOBODY,
        True,
        begun,
        planned,
        resources,
    )
