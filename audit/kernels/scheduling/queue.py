"""Those that wait: joining the queue, starting, and bounds that say where nothing can start."""

from audit.kernels.compiled import inner
from audit.kernels.scheduling.multifactor import book_start
from audit.kernels.scheduling.owners import charge_owner
from audit.kernels.scheduling.profile import NEVER, copy_amounts
from audit.kernels.scheduling.space import (
    ALIVE,
    ARRANGED,
    BLOCK_BITS,
    BOOKED,
    CHARGED,
    CHARGING,
    ESTIMATE,
    FRESH,
    GAP,
    GHOST,
    HEAD,
    HUGE,
    LOOSE,
    NOW,
    OUT_OF_ORDER,
    RANK,
    STALE,
    TAIL,
    TIGHT,
    UNKNOWN,
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

FEW = 8  # gaps that it takes no longer to look at than to close


@inner
def enqueue(space: Space, job: int, jobs: Jobs, rules: Rules) -> None:
    """Lets an attempt join the queue at its rank."""
    state = space.state
    queue = space.queue
    if state[ALIVE] == 0:
        state[HEAD] = 0
        state[TAIL] = 0
    elif state[TAIL] == queue.shape[1] or mostly_gaps(space):
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
    state[FRESH] = min(state[FRESH], i)
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
    space.plan[i] = UNPLANNED
    space.freed[i] = 0
    block = i >> BLOCK_BITS
    if i == block << BLOCK_BITS:
        space.bounds[block] = STALE
    elif space.bounds[block] != STALE:
        include(space, block, i)


@inner
def leave(space: Space, i: int) -> None:
    """Makes place ``i`` of the queue a gap, which fits nowhere."""
    state = space.state
    queue = space.queue
    queue[WAITING, i] = GAP
    queue[ESTIMATE, i] = HUGE
    for x in range(space.resources):
        space.asked[x, i] = HUGE
    space.plan[i] = NEVER
    block = i >> BLOCK_BITS
    if space.bounds[block] == TIGHT:
        space.bounds[block] = LOOSE
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
def mostly_gaps(space: Space) -> bool:
    """Whether gaps are the greater part of the queue."""
    state = space.state
    many: bool = state[TAIL] - state[HEAD] > 2 * state[ALIVE] + FEW
    return many


@inner
def close_gaps(space: Space) -> None:
    """Moves those that wait to the front of the queue, in their order."""
    state = space.state
    kept = 0
    fresh = state[FRESH]
    for i in range(state[HEAD], state[TAIL]):
        if i == fresh:
            state[FRESH] = kept
        if space.queue[WAITING, i] != GAP:
            if kept != i:
                move(space, i, kept)
            kept += 1
    if fresh >= state[TAIL]:
        state[FRESH] = kept
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
def next_able(space: Space, i: int, stop: int, longest: int, left: int) -> int:
    """The first place from ``i`` on, before ``stop``, at which one waits that may be able to start.

    Of the first resource it asks for no more than is free, it takes no longer than ``longest``, and
    it ends in the ``left`` seconds to the shadow or asks for no more than the head leaves then
    (UNKNOWN: nobody has asked). It is no gap. Who asks for nothing fits even where less than
    nothing is free.
    """
    asked, estimate = space.asked[0], space.queue[ESTIMATE]
    free = max(space.free[0, 0], 0)
    spare = HUGE if left == UNKNOWN else max(space.extra[0, 0], 0)
    while i < stop and (
        asked[i] > free or estimate[i] > longest or (estimate[i] > left and asked[i] > spare)
    ):
        i += 1
    return i


@inner
def any_can_start(space: Space, jobs: Jobs) -> bool:
    """Whether any of those that wait fits in what is free now, and may start."""
    tail = space.state[TAIL]
    i = next_able(space, space.state[HEAD], tail, NEVER, UNKNOWN)
    while i < tail:
        if fits_free(space, i) and may_start(space, i, jobs):
            return True
        i = next_able(space, i + 1, tail, NEVER, UNKNOWN)
    return False


@inner
def make_stale(space: Space, begin: int, end: int) -> None:
    """Says that the bounds of the places from ``begin`` to ``end`` hold no longer."""
    for block in range(begin >> BLOCK_BITS, (end >> BLOCK_BITS) + 1):
        space.bounds[block] = STALE


@inner
def bound(space: Space, block: int, stop: int) -> None:
    """Finds the bounds of a block, which ends before place ``stop``."""
    queue, shortest = space.queue, space.shortest
    for width in range(WIDTHS):
        shortest[width, block] = HUGE
    least = HUGE
    for i in range(block << BLOCK_BITS, stop):
        if queue[WAITING, i] != GAP:
            width = queue[WIDTH, i]
            shortest[width, block] = min(shortest[width, block], queue[ESTIMATE, i])
            least = min(least, space.asked[0, i])
    for width in range(1, WIDTHS):
        shortest[width, block] = min(shortest[width, block], shortest[width - 1, block])
    space.least[block] = least
    space.bounds[block] = TIGHT


@inner
def include(space: Space, block: int, i: int) -> None:
    """Lowers the bounds of a block to what waits at place ``i`` in it."""
    for width in range(space.queue[WIDTH, i], WIDTHS):
        shortest = min(space.shortest[width, block], space.queue[ESTIMATE, i])
        space.shortest[width, block] = shortest
    space.least[block] = min(space.least[block], space.asked[0, i])
