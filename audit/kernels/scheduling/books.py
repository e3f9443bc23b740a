"""What a simulation enters in the ledger of owners, for the orders that go by them."""

from audit.kernels.compiled import inner
from audit.kernels.scheduling.multifactor import book_end, book_start, open_accounts
from audit.kernels.scheduling.owners import SINCE, USED, WAITED, charge_owner, open_ledger
from audit.kernels.scheduling.space import (
    ARRANGED,
    BOOKED,
    BY_OWNER,
    CHARGED,
    CHARGING,
    END,
    FAIRSHARE,
    JOB,
    MULTIFACTOR,
    NOBODY,
    NOTHING_CHARGED,
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
    jobs, steps, rules, owners = model
    state = space.state
    open_ledger(space.ledger, since)
    state[ARRANGED] = OUT_OF_ORDER
    state[CHARGING] = NOTHING_CHARGED
    if rules.order == MULTIFACTOR:
        state[CHARGING] = BOOKED
        open_accounts(owners.slurm, space.ledger.books, since)
        for i in range(state[RUNNING]):
            job = space.run[JOB, i]
            start = space.run[END, i] - jobs.occupancy[job]
            book_start(space.ledger.books, jobs.owner[job], jobs.charge[job], start)
    if rules.order == FAIRSHARE:
        state[CHARGING] = CHARGED
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
            elif rules.order == MULTIFACTOR:
                book_ended(space, job, run[END, i], jobs)
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
    elif rules.order == MULTIFACTOR:
        if step_job < NOBODY:
            book_ended(space, ending(step_job), time, jobs)
        elif jobs.occupancy[step_job] > 0:
            book_start(space.ledger.books, jobs.owner[step_job], jobs.charge[step_job], time)
    elif step_job < NOBODY:
        job = ending(step_job)
        gone = time + 1 if jobs.occupancy[job] == 0 else time
        if gone > space.ledger.state[SINCE]:  # else the observed schedule has counted it
            count_ended(space, job, time, jobs)


@inner
def book_ended(space: Space, job: int, end: int, jobs: Jobs) -> None:
    """Books what an attempt used until it ended; the observed schedule has what ended before."""
    if jobs.occupancy[job] > 0:
        start = end - jobs.occupancy[job]
        counts = end > space.ledger.state[SINCE]
        book_end(space.ledger.books, jobs.owner[job], jobs.charge[job], start, end, counts)


@inner
def count_ended(space: Space, job: int, end: int, jobs: Jobs) -> None:
    """Adds what an attempt waited and used to what its owner did."""
    sums = space.ledger.sums
    owner = jobs.owner[job]
    sums[WAITED, owner] += end - jobs.occupancy[job] - jobs.arrival[job]
    sums[USED, owner] += jobs.charge[job]
    space.state[ARRANGED] = OUT_OF_ORDER
