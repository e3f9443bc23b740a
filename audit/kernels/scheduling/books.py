"""What a simulation enters in the ledger of owners, for the orders that go by them."""

from audit.kernels.compiled import inner
from audit.kernels.scheduling.owners import SINCE, USED, WAITED, charge_owner, open_ledger
from audit.kernels.scheduling.space import (
    ARRANGED,
    BY_OWNER,
    CHARGING,
    END,
    FAIRSHARE,
    JOB,
    NOBODY,
    NOW,
    OUT_OF_ORDER,
    RUNNING,
    STEP,
    Jobs,
    Model,
    Rules,
    Space,
    ending,
)


@inner
def open_books(space: Space, model: Model, since: int) -> None:
    """Begins the ledger of a simulation that goes on from the observed schedule at ``since``.

    Steps that have been taken by then are those that planners were shown (``foresee``): what
    blocked attempts hold since, or gave back, is entered too.
    """
    jobs, steps, rules, _ = model
    state = space.state
    open_ledger(space.ledger, since)
    state[ARRANGED] = OUT_OF_ORDER
    state[CHARGING] = 0
    if rules.order == FAIRSHARE:
        state[CHARGING] = 1
        for i in range(state[RUNNING]):
            job = space.run[JOB, i]
            charge_owner(space.ledger, jobs.owner[job], jobs.charge[job], since)
    if rules.order >= BY_OWNER:
        for step in range(state[STEP]):
            enter_blocked(space, steps.job[step], steps.time[step], jobs, rules)


@inner
def enter_ended(space: Space, jobs: Jobs, rules: Rules) -> None:
    """Enters in the ledger what ends now."""
    state = space.state
    run = space.run
    now = state[NOW]
    for i in range(state[RUNNING]):
        if run[END, i] <= now:
            job = run[JOB, i]
            if rules.order == FAIRSHARE:
                charge_owner(space.ledger, jobs.owner[job], -jobs.charge[job], now)
            else:
                count_ended(space, job, run[END, i], jobs)


@inner
def enter_blocked(space: Space, step_job: int, time: int, jobs: Jobs, rules: Rules) -> None:
    """Enters a blocked attempt that begins or ends now; see ``Steps.job``."""
    if step_job == NOBODY:
        return
    if rules.order == FAIRSHARE:
        job = step_job if step_job >= 0 else ending(step_job)
        charge = jobs.charge[job] if step_job >= 0 else -jobs.charge[job]
        charge_owner(space.ledger, jobs.owner[job], charge, space.state[NOW])
    elif step_job < NOBODY:
        job = ending(step_job)
        gone = time + 1 if jobs.occupancy[job] == 0 else time
        if gone > space.ledger.state[SINCE]:  # else the observed schedule has counted it
            count_ended(space, job, time, jobs)


@inner
def count_ended(space: Space, job: int, end: int, jobs: Jobs) -> None:
    """Adds what an attempt waited and used to what its owner did."""
    sums = space.ledger.sums
    owner = jobs.owner[job]
    sums[WAITED, owner] += end - jobs.occupancy[job] - jobs.arrival[job]
    sums[USED, owner] += jobs.charge[job]
    space.state[ARRANGED] = OUT_OF_ORDER
