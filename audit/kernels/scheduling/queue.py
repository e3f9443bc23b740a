"""Those that wait: joining the queue, starting, and bounds that say where nothing can start."""

from audit.kernels.compiled import inner
from audit.kernels.scheduling.multifactor import book_start
from audit.kernels.scheduling.owners import charge_owner
from audit.kernels.scheduling.profile import copy_amounts
from audit.kernels.scheduling.space import (
    ALIVE,
    ARRANGED,
    BLOCK,
    BLOCK_BITS,
    BOOKED,
    CHARGED,
    CHARGING,
    ESTIMATE,
    GAP,
    GHOST,
    HEAD,
    HUGE,
    NOW,
    OUT_OF_ORDER,
    RANK,
    STALE,
    TAIL,
    UNPLANNED,
    WAITING,
    WIDTH,
    WIDTHS,
    Jobs,
    Rules,
    Space,
    fits_free,
    hold,
    may_start,
)


@inner
def enqueue(space: Space, job: int, jobs: Jobs, rules: Rules) -> None:
    """Lets an attempt join the queue at its rank."""
    state = space.state
    queue = space.queue
    if state[ALIVE] == 0:
        state[HEAD] = 0
        state[TAIL] = 0
    elif state[TAIL] == queue.shape[1] or state[TAIL] - state[HEAD] > 2 * state[ALIVE] + BLOCK:
        close_gaps(space)
    i = state[TAIL]
    if rules.order == RANK:
        while i > state[HEAD] and (
            queue[WAITING, i - 1] == GAP or jobs.rank[queue[WAITING, i - 1]] > jobs.rank[job]
        ):
            i -= 1
    longer = i == state[TAIL] or queue[WAITING, i] != GAP
    if longer and i < state[TAIL]:
        for moved in range(state[TAIL], i, -1):
            move(space, moved - 1, moved)
        make_stale(space, i, state[TAIL])
    place(space, i, job, jobs)
    state[TAIL] += longer
    state[ALIVE] += 1
    state[ARRANGED] = OUT_OF_ORDER


@inner
def place(space: Space, i: int, job: int, jobs: Jobs) -> None:
    """Writes attempt ``job`` to place ``i`` of the queue."""
    space.queue[WAITING, i] = job
    space.queue[ESTIMATE, i] = jobs.estimate[job]
    space.queue[WIDTH, i] = jobs.width[job]
    copy_amounts(space.asked, i, jobs.request, job, space.resources)
    space.shortest[0, i >> BLOCK_BITS] = STALE
    space.plan[i] = UNPLANNED
    space.freed[i] = 0


@inner
def leave(space: Space, i: int) -> None:
    """Makes place ``i`` of the queue a gap, which fits nowhere."""
    state = space.state
    queue = space.queue
    queue[WAITING, i] = GAP
    queue[ESTIMATE, i] = HUGE
    for x in range(space.resources):
        space.asked[x, i] = HUGE
    state[ALIVE] -= 1
    while state[HEAD] < state[TAIL] and queue[WAITING, state[HEAD]] == GAP:
        state[HEAD] += 1


@inner
def begin(space: Space, i: int, jobs: Jobs) -> bool:
    """Starts what waits at place ``i``; whether it ends at once.

    The attempt ``state[GHOST]`` leaves the queue without occupying anything.
    """
    state = space.state
    now: int = state[NOW]
    job = space.queue[WAITING, i]
    space.begun[job] = now
    leave(space, i)
    if job == state[GHOST]:
        return False
    if state[CHARGING] == CHARGED:
        charge_owner(space.ledger, jobs.owner[job], jobs.charge[job], now)
    elif state[CHARGING] == BOOKED and jobs.occupancy[job] > 0:
        book_start(space.ledger.books, jobs.owner[job], jobs.charge[job], now)
    end: int = now + jobs.occupancy[job]
    hold(space, job, now + jobs.estimate[job], end, jobs)
    return end == now


@inner
def close_gaps(space: Space) -> None:
    """Moves those that wait to the front of the queue, in their order."""
    state = space.state
    kept = 0
    for i in range(state[HEAD], state[TAIL]):
        if space.queue[WAITING, i] != GAP:
            if kept != i:
                move(space, i, kept)
            kept += 1
    state[HEAD] = 0
    state[TAIL] = kept
    make_stale(space, 0, kept)


@inner
def move(space: Space, source: int, target: int) -> None:
    """Copies one place of the queue to another."""
    queue = space.queue
    queue[WAITING, target] = queue[WAITING, source]
    queue[ESTIMATE, target] = queue[ESTIMATE, source]
    queue[WIDTH, target] = queue[WIDTH, source]
    copy_amounts(space.asked, target, space.asked, source, space.resources)
    space.plan[target] = space.plan[source]
    space.freed[target] = space.freed[source]


@inner
def any_can_start(space: Space, jobs: Jobs) -> bool:
    """Whether any of those that wait fits in what is free now, and may start."""
    for i in range(space.state[HEAD], space.state[TAIL]):
        if fits_free(space, i) and may_start(space, i, jobs):
            return True
    return False


@inner
def make_stale(space: Space, begin: int, end: int) -> None:
    """Says that the bounds of the places from ``begin`` to ``end`` hold no longer."""
    for block in range(begin >> BLOCK_BITS, (end >> BLOCK_BITS) + 1):
        space.shortest[0, block] = STALE


@inner
def bound(space: Space, block: int, begin: int, end: int) -> None:
    """Finds the bounds of a block, of which only the places from ``begin`` to ``end`` matter."""
    queue, shortest, least = space.queue, space.shortest, space.least
    for width in range(WIDTHS):
        shortest[width, block] = HUGE
    for x in range(space.resources):
        least[x, block] = HUGE
    for i in range(begin, end):
        if queue[WAITING, i] == GAP:
            continue
        width = queue[WIDTH, i]
        shortest[width, block] = min(shortest[width, block], queue[ESTIMATE, i])
        for x in range(space.resources):
            least[x, block] = min(least[x, block], space.asked[x, i])
    for width in range(1, WIDTHS):
        shortest[width, block] = min(shortest[width, block], shortest[width - 1, block])
