"""Scheduling passes: a pool simulated from instant to instant (SPEC §4).

A simulation lives in a ``Space``: arrays that are allotted once and used for many simulations. The
attempts that run stand in ``run``, by expected end. Those that wait stand in ``queue`` between
``at[HEAD]`` and ``at[TAIL]``, in the order in which they are served; one that has started stays as
a gap, which fits nowhere, until gaps are the greater part. For each BLOCK places ``least`` has
bounds, so that a pass can leave out what cannot start: the least estimate of those up to each width
(of the first resource, in powers of two), then the least request of each resource; STALE where some
of them joined since a pass last looked.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from audit.kernels.jit import inlined, lean
from audit.kernels.scheduling.owners import (
    DEALT,
    SEEN,
    SINCE,
    USED,
    WAITED,
    Floats,
    Ledger,
    Owners,
    charge_owner,
    compare,
    open_ledger,
    rate_owner,
    rate_waits,
)
from audit.kernels.scheduling.space import (
    BEYOND,
    FIRST,
    NEVER,
    Ints,
    add,
    earlier,
    earliest,
    forget_past,
)

Bools = NDArray[np.bool_]

NONE, NO_GUARANTEE, EASY, CONSERVATIVE, REPLAN = range(5)  # backfilling
RANK, EXPANSION, FAIRSHARE, NUWT = range(4)  # what the order of the queue goes by
BY_OWNER = FAIRSHARE  # this and those after it

EXPECTED, END, JOB = range(3)  # rows of run; then one row for each resource
WAITING, ESTIMATE, WIDTH = range(3)  # rows of queue; then one row for each resource
REQUESTS = 3
HELD = 3

# Elements of at: the state, and up to where it goes.
NOW, RUNNING, NEXT_END, HEAD, TAIL, ALIVE, STEP, FREED = range(8)
ARRIVING, UNTIL, TARGET, GHOST, CHARGING, ARRANGED, ELEMENTS = range(8, 15)
UNPLANNED = -1
UNKNOWN = -1
GAP = -1
HUGE = 1 << 62
NOBODY = -1
OUT_OF_ORDER = -(1 << 62)
BLOCK_BITS = 6
BLOCK = 1 << BLOCK_BITS
WIDTHS = 24
FEW = 16  # places that it takes no longer to look at than to bound
STALE = -1
MANY = 64  # owners that it takes no longer to sort by comparison


class Jobs(NamedTuple):
    """The attempts of a pool in the order (arrival, submit, sequence)."""

    arrival: Ints
    occupancy: Ints
    estimate: Ints
    rank: Ints
    """Place in the order of the queue, where that does not change with time; < 0: never queued."""
    width: Ints
    """Bits of the request of the first resource, at most WIDTHS − 1."""
    request: Ints  # resources × attempts
    owner: Ints
    """A node of the share tree (``fairshare``), or a number (``nuwt``)."""
    charge: Floats
    """What it uses per second (``fairshare``) or in all (``nuwt``)."""


class Steps(NamedTuple):
    """How much is added to what is free, and when; ascending."""

    time: Ints
    change: Ints  # resources × steps
    planned: Bools
    job: Ints
    """The blocked attempt that begins with it, ``ending(job)`` of one that ends, or NOBODY."""
    number: int


class Rules(NamedTuple):
    """A policy; without a limit ``depth`` and ``window`` are NEVER."""

    order: int
    fair: int
    """What a fair order goes by: FAIRSHARE or NUWT; RANK: arrival."""
    latest_last: bool
    """First come first served."""
    backfill: int
    depth: int
    window: int


class Space(NamedTuple):
    """Where a simulation lives; room for as many attempts as can be in it at one time."""

    at: Ints
    free: Ints
    extra: Ints
    run: Ints
    queue: Ints
    least: Ints
    plan: Ints
    dirty: Ints
    spare: Ints
    bounds: Ints
    times: Ints
    levels: Ints
    ledger: Ledger


def space(resources: int, attempts: int, steps: int, ledger: Ledger) -> Space:
    """Room for ``attempts`` of ``resources``, and for ``steps`` planned steps."""
    room = attempts + 2
    breakpoints = 4 * room + 2 * steps + 8
    return Space(
        at=np.zeros(ELEMENTS, np.int64),
        free=np.zeros(resources, np.int64),
        extra=np.zeros(resources, np.int64),
        run=np.zeros((HELD + resources, room), np.int64),
        queue=np.zeros((REQUESTS + resources, room), np.int64),
        least=np.zeros((WIDTHS + resources, (room >> BLOCK_BITS) + 2), np.int64),
        plan=np.zeros(room, np.int64),
        dirty=np.zeros(room, np.int64),
        spare=np.zeros((2, room), np.int64),
        bounds=np.zeros(2, np.int64),
        times=np.zeros(breakpoints, np.int64),
        levels=np.zeros((resources, breakpoints), np.int64),
        ledger=ledger,
    )


@inlined
def ending(job: int) -> int:
    """How ``Steps.job`` says that an attempt ends; its own inverse."""
    return -2 - job


@inlined
def hold(
    run: Ints, at: Ints, job: int, expected: int, end: int, request: Ints, resources: Any
) -> None:
    """Enters an attempt among those that run; what is free is the caller's business."""
    i = at[RUNNING]
    while i > 0 and run[EXPECTED, i - 1] > expected:
        run[EXPECTED, i] = run[EXPECTED, i - 1]
        run[END, i] = run[END, i - 1]
        run[JOB, i] = run[JOB, i - 1]
        for x in range(len(resources)):
            run[HELD + x, i] = run[HELD + x, i - 1]
        i -= 1
    run[EXPECTED, i] = expected
    run[END, i] = end
    run[JOB, i] = job
    for x in range(len(resources)):
        run[HELD + x, i] = request[x, job]
    at[RUNNING] += 1
    at[NEXT_END] = min(at[NEXT_END], end)


@inlined
def release(run: Ints, at: Ints, free: Ints, now: int, resources: Any) -> None:
    """Frees what has ended by ``now``."""
    kept = 0
    next_end = NEVER
    for i in range(at[RUNNING]):
        if run[END, i] <= now:
            for x in range(len(resources)):
                free[x] += run[HELD + x, i]
            continue
        next_end = min(next_end, run[END, i])
        if kept != i:
            run[EXPECTED, kept] = run[EXPECTED, i]
            run[END, kept] = run[END, i]
            run[JOB, kept] = run[JOB, i]
            for x in range(len(resources)):
                run[HELD + x, kept] = run[HELD + x, i]
        kept += 1
    at[RUNNING] = kept
    at[NEXT_END] = next_end


@lean
def release_plans(space: Space, jobs: Jobs, resources: Any) -> bool:
    """Frees in the profile what has ended before it was expected to; whether there was any."""
    at = space.at
    run = space.run
    now = at[NOW]
    early = False
    for i in range(at[RUNNING]):
        if run[END, i] <= now and run[EXPECTED, i] > now:
            early = True
            at[FREED] = max(at[FREED], run[EXPECTED, i])
            add(
                space.times,
                space.levels,
                space.bounds,
                now,
                run[EXPECTED, i],
                jobs.request,
                run[JOB, i],
                1,
                resources,
            )
    return early


@inlined
def place(space: Space, i: int, job: int, jobs: Jobs, resources: Any) -> None:
    """Writes attempt ``job`` to place ``i`` of the queue."""
    space.queue[WAITING, i] = job
    space.queue[ESTIMATE, i] = jobs.estimate[job]
    space.queue[WIDTH, i] = jobs.width[job]
    for x in range(len(resources)):
        space.queue[REQUESTS + x, i] = jobs.request[x, job]
    space.least[0, i >> BLOCK_BITS] = STALE
    space.plan[i] = UNPLANNED
    space.dirty[i] = 0


@lean
def reset(space: Space, capacity: Ints, resources: Any) -> None:
    """Makes an empty pool of a space."""
    at = space.at
    for i in range(ELEMENTS):
        at[i] = 0
    at[NEXT_END] = NEVER
    at[TARGET] = NOBODY
    at[GHOST] = NOBODY
    for x in range(len(resources)):
        space.free[x] = capacity[x]


@lean
def move(space: Space, source: int, target: int, resources: Any) -> None:
    """Copies one place of the queue to another."""
    queue = space.queue
    queue[WAITING, target] = queue[WAITING, source]
    queue[ESTIMATE, target] = queue[ESTIMATE, source]
    queue[WIDTH, target] = queue[WIDTH, source]
    for x in range(len(resources)):
        queue[REQUESTS + x, target] = queue[REQUESTS + x, source]
    space.plan[target] = space.plan[source]
    space.dirty[target] = space.dirty[source]


@lean
def make_stale(space: Space, begin: int, end: int) -> None:
    """Says that the bounds of the places from ``begin`` to ``end`` hold no longer."""
    for block in range(begin >> BLOCK_BITS, (end >> BLOCK_BITS) + 1):
        space.least[0, block] = STALE


@lean
def close_gaps(space: Space, resources: Any) -> None:
    """Moves those that wait to the front of the queue, in their order."""
    at = space.at
    kept = 0
    for i in range(at[HEAD], at[TAIL]):
        if space.queue[WAITING, i] != GAP:
            if kept != i:
                move(space, i, kept, resources)
            kept += 1
    at[HEAD] = 0
    at[TAIL] = kept
    make_stale(space, 0, kept)


@inlined
def enqueue(space: Space, job: int, jobs: Jobs, rules: Rules, resources: Any) -> None:
    """Lets an attempt join the queue at its rank."""
    at = space.at
    queue = space.queue
    if at[ALIVE] == 0:
        at[HEAD] = 0
        at[TAIL] = 0
    elif at[TAIL] == queue.shape[1] or at[TAIL] - at[HEAD] > 2 * at[ALIVE] + BLOCK:
        close_gaps(space, resources)
    i = at[TAIL]
    if rules.order == RANK:
        while i > at[HEAD] and (
            queue[WAITING, i - 1] == GAP or jobs.rank[queue[WAITING, i - 1]] > jobs.rank[job]
        ):
            i -= 1
    longer = i == at[TAIL] or queue[WAITING, i] != GAP
    if longer and i < at[TAIL]:
        for moved in range(at[TAIL], i, -1):
            move(space, moved - 1, moved, resources)
        make_stale(space, i, at[TAIL])
    place(space, i, job, jobs, resources)
    at[TAIL] += longer
    at[ALIVE] += 1
    at[ARRANGED] = OUT_OF_ORDER


@inlined
def leave(space: Space, i: int, resources: Any) -> None:
    """Makes place ``i`` of the queue a gap, which fits nowhere."""
    at = space.at
    queue = space.queue
    queue[WAITING, i] = GAP
    space.queue[ESTIMATE, i] = HUGE
    for x in range(len(resources)):
        space.queue[REQUESTS + x, i] = HUGE
    at[ALIVE] -= 1
    while at[HEAD] < at[TAIL] and queue[WAITING, at[HEAD]] == GAP:
        at[HEAD] += 1


@inlined
def begin(
    space: Space,
    i: int,
    jobs: Jobs,
    begun: Ints,
    resources: Any,
) -> bool:
    """Starts what waits at place ``i``; whether it ends at once.

    The attempt ``at[GHOST]`` leaves the queue without occupying anything.
    """
    at = space.at
    now: int = at[NOW]
    job = space.queue[WAITING, i]
    begun[job] = now
    leave(space, i, resources)
    if job == at[GHOST]:
        return False
    for x in range(len(resources)):
        space.free[x] -= jobs.request[x, job]
    if at[CHARGING] > 0:
        charge_owner(space.ledger, jobs.owner[job], jobs.charge[job], now)
    end: int = now + jobs.occupancy[job]
    hold(space.run, at, job, now + jobs.estimate[job], end, jobs.request, resources)
    return end == now


@lean
def arrange(space: Space, jobs: Jobs, rules: Rules, owners: Owners, resources: Any) -> None:
    """Puts the queue in an order that changes with time, if it may be out of it; ties by index.

    Most is in order from one pass to the next, but for those that came last.
    """
    at = space.at
    now = at[NOW]
    if rules.order == RANK or at[ALIVE] < 2:
        return
    arranged = now
    if rules.order == FAIRSHARE:
        arranged = (now - owners.origin) // owners.recalculation
    elif rules.order == NUWT:
        arranged = 0
    if at[ARRANGED] == arranged:
        return
    at[ARRANGED] = arranged
    if at[TAIL] - at[HEAD] > at[ALIVE]:
        close_gaps(space, resources)
    head = at[HEAD]
    count = at[TAIL] - head
    queue = space.queue
    if rules.order != EXPANSION:
        for i in range(head, at[TAIL]):
            owner = jobs.owner[queue[WAITING, i]]
            if rules.order == FAIRSHARE:
                rate_owner(owners, space.ledger, owner, now)
            else:
                rate_waits(owners, space.ledger, owner)
    order = space.spare[0]
    for i in range(count):
        order[i] = head + i
    ordered = 1
    while ordered < count and comes_first(
        queue[WAITING, head + ordered - 1], queue[WAITING, head + ordered], space, jobs, rules
    ):
        ordered += 1
    if ordered == count:
        return
    first = 0
    if count - ordered <= FEW:
        first = insert(space, ordered, count, jobs, rules)
    elif rules.order == EXPANSION or not deal(space, count, jobs):
        merge(space, count, jobs, rules)
    for row in range(REQUESTS + len(resources)):
        rearrange(queue[row], order, space.spare[1], head, first, count)
    rearrange(space.plan, order, space.spare[1], head, first, count)
    rearrange(space.dirty, order, space.spare[1], head, first, count)
    make_stale(space, head + first, at[TAIL])


@lean
def insert(space: Space, ordered: int, count: int, jobs: Jobs, rules: Rules) -> int:
    """Puts the last few of ``spare[0]`` among the first ``ordered``; gives the first new place."""
    order = space.spare[0]
    waiting = space.queue[WAITING]
    first = count
    for i in range(ordered, count):
        moving = order[i]
        low = 0
        high = i
        while low < high:
            middle = (low + high) // 2
            if comes_first(waiting[order[middle]], waiting[moving], space, jobs, rules):
                low = middle + 1
            else:
                high = middle
        for k in range(i, low, -1):
            order[k] = order[k - 1]
        order[low] = moving
        first = min(first, low)
    return first


@lean
def deal(space: Space, count: int, jobs: Jobs) -> bool:
    """Sorts ``spare[0]`` by owner; not if they are many, or if two of them tie.

    Attempts of one owner stand by index already, and stay so.
    """
    ledger = space.ledger
    order = space.spare[0]
    owners = space.spare[1]
    waiting = space.queue[WAITING]
    number = 0
    for i in range(count):
        owner = jobs.owner[waiting[order[i]]]
        if ledger.place[SEEN, owner] > 0:
            ledger.place[SEEN, owner] += 1
            continue
        ledger.place[SEEN, owner] = 1
        k = number
        while k > 0 and compare(ledger, owner, owners[k - 1]) > 0:
            owners[k] = owners[k - 1]
            k -= 1
        owners[k] = owner
        number += 1
        if number == MANY:
            break
    sortable = number < MANY
    for k in range(1, number):
        sortable &= compare(ledger, owners[k - 1], owners[k]) > 0
    place = 0
    for k in range(number):
        waiters = ledger.place[SEEN, owners[k]]
        ledger.place[SEEN, owners[k]] = 0
        ledger.place[DEALT, owners[k]] = place
        place += waiters
    if sortable:
        for i in range(count):
            owners[i] = order[i]
        for i in range(count):
            owner = jobs.owner[waiting[owners[i]]]
            order[ledger.place[DEALT, owner]] = owners[i]
            ledger.place[DEALT, owner] += 1
    return sortable


@lean
def merge(space: Space, count: int, jobs: Jobs, rules: Rules) -> None:
    """Sorts ``spare[0]`` by merging, which leaves alone what is in order already."""
    order = space.spare[0]
    merged = space.spare[1]
    waiting = space.queue[WAITING]
    width = 1
    while width < count:
        for low in range(0, count, 2 * width):
            middle = min(low + width, count)
            high = min(low + 2 * width, count)
            if middle == high or comes_first(
                waiting[order[middle - 1]], waiting[order[middle]], space, jobs, rules
            ):
                continue
            left = low
            right = middle
            for k in range(low, high):
                if right == high or (
                    left < middle
                    and comes_first(waiting[order[left]], waiting[order[right]], space, jobs, rules)
                ):
                    merged[k] = order[left]
                    left += 1
                else:
                    merged[k] = order[right]
                    right += 1
            for k in range(low, high):
                order[k] = merged[k]
        width *= 2


@inlined
def comes_first(one: int, other: int, space: Space, jobs: Jobs, rules: Rules) -> bool:
    """Whether attempt ``one`` is served before ``other``."""
    if rules.order == EXPANSION:
        return expands_more(one, other, space.at[NOW], jobs)
    turn = compare(space.ledger, jobs.owner[one], jobs.owner[other])
    return turn > 0 or (turn == 0 and one < other)


@inlined
def expands_more(one: int, other: int, now: int, jobs: Jobs) -> bool:
    """Whether attempt ``one`` has the greater (waited + estimate)/estimate; ties by index.

    Fractions are compared by their cross-products, which are exact.
    """
    left = (now - jobs.arrival[one]) * jobs.estimate[other]
    right = (now - jobs.arrival[other]) * jobs.estimate[one]
    return left > right or (left == right and one < other)


@lean
def rearrange(row: Ints, order: Ints, spare: Ints, head: int, first: int, count: int) -> None:
    """Puts elements ``first`` to ``count``, counted from place ``head``, of ``row`` into order."""
    for i in range(first, count):
        spare[i] = row[order[i]]
    for i in range(first, count):
        row[head + i] = spare[i]


@lean
def settle(space: Space, jobs: Jobs, rules: Rules) -> None:
    """Enters in the ledger what ends now."""
    at = space.at
    now = at[NOW]
    run = space.run
    for i in range(at[RUNNING]):
        if run[END, i] <= now:
            job = run[JOB, i]
            if rules.order == FAIRSHARE:
                charge_owner(space.ledger, jobs.owner[job], -jobs.charge[job], now)
            else:
                count_ended(space, job, run[END, i], jobs)


@lean
def count_ended(space: Space, job: int, end: int, jobs: Jobs) -> None:
    """Adds what an attempt waited and used to what its owner did."""
    sums = space.ledger.sums
    owner = jobs.owner[job]
    sums[WAITED, owner] += end - jobs.occupancy[job] - jobs.arrival[job]
    sums[USED, owner] += jobs.charge[job]
    space.at[ARRANGED] = OUT_OF_ORDER


@lean
def settle_blocked(space: Space, told: int, time: int, jobs: Jobs, rules: Rules) -> None:
    """Enters a blocked attempt that begins or ends now; see ``Steps.job``."""
    now = space.at[NOW]
    if rules.order == FAIRSHARE:
        job = told if told >= 0 else ending(told)
        charge = jobs.charge[job] if told >= 0 else -jobs.charge[job]
        charge_owner(space.ledger, jobs.owner[job], charge, now)
    elif told < NOBODY:
        job = ending(told)
        gone = time + 1 if jobs.occupancy[job] == 0 else time
        if gone > space.ledger.state[SINCE]:  # else the observed schedule has counted it
            count_ended(space, job, time, jobs)


@lean
def open_books(space: Space, jobs: Jobs, rules: Rules, since: int) -> None:
    """Begins the ledger of a simulation that goes on from the observed schedule at ``since``."""
    at = space.at
    open_ledger(space.ledger, since)
    at[ARRANGED] = OUT_OF_ORDER
    at[CHARGING] = 0
    if rules.order == FAIRSHARE:
        at[CHARGING] = 1
        for i in range(at[RUNNING]):
            job = space.run[JOB, i]
            charge_owner(space.ledger, jobs.owner[job], jobs.charge[job], since)


@inlined
def fits_at(queue: Ints, i: int, free: Ints, resources: Any) -> bool:
    """Whether what waits at place ``i`` fits in ``free``."""
    for x in range(len(resources)):
        if queue[REQUESTS + x, i] > free[x] and queue[REQUESTS + x, i] > 0:
            return False
    return True


@lean
def any_fits(space: Space, resources: Any) -> bool:
    """Whether any of those that wait fits in what is free now."""
    for i in range(space.at[HEAD], space.at[TAIL]):
        if fits_at(space.queue, i, space.free, resources):
            return True
    return False


@inlined
def excluded(least: Ints, block: int, free: Ints, resources: Any) -> bool:
    """Whether nothing in a block of the queue fits in ``free``, by its bounds."""
    for x in range(len(resources)):
        if least[WIDTHS + x, block] > free[x] and least[WIDTHS + x, block] > 0:
            return True
    return False


@inlined
def bound(space: Space, block: int, begin: int, end: int, resources: Any) -> None:
    """Finds the bounds of a block, of which only the places from ``begin`` to ``end`` matter."""
    queue = space.queue
    least = space.least
    for row in range(WIDTHS + len(resources)):
        least[row, block] = HUGE
    for i in range(begin, end):
        if queue[WAITING, i] == GAP:
            continue
        width = queue[WIDTH, i]
        least[width, block] = min(least[width, block], queue[ESTIMATE, i])
        for x in range(len(resources)):
            least[WIDTHS + x, block] = min(least[WIDTHS + x, block], queue[REQUESTS + x, i])
    for width in range(1, WIDTHS):
        least[width, block] = min(least[width, block], least[width - 1, block])


@inlined
def shadow_of(space: Space, steps: Steps, resources: Any) -> int:
    """When the head of the queue is expected to fit, or NEVER; ``extra`` is what it leaves then."""
    at = space.at
    extra = space.extra
    for x in range(len(resources)):
        extra[x] = space.free[x]
    i = 0
    step = at[STEP]
    while True:
        while step < steps.number and not steps.planned[step]:
            step += 1
        shadow = NEVER
        if i < at[RUNNING]:
            shadow = space.run[EXPECTED, i]
        if step < steps.number:
            shadow = min(shadow, steps.time[step])
        if shadow == NEVER:
            return NEVER
        while i < at[RUNNING] and space.run[EXPECTED, i] == shadow:
            for x in range(len(resources)):
                extra[x] += space.run[HELD + x, i]
            i += 1
        while step < steps.number and steps.time[step] == shadow:
            if steps.planned[step]:
                for x in range(len(resources)):
                    extra[x] += steps.change[x, step]
            step += 1
        if fits_at(space.queue, at[HEAD], extra, resources):
            for x in range(len(resources)):
                extra[x] -= space.queue[REQUESTS + x, at[HEAD]]
            return shadow


@inlined
def pass_greedy(
    space: Space,
    jobs: Jobs,
    steps: Steps,
    rules: Rules,
    begun: Ints,
    resources: Any,
) -> bool:
    """A pass of ``none``, ``no_guarantee`` or ``easy``; whether what it starts ends at once."""
    at = space.at
    queue = space.queue
    free = space.free
    now = at[NOW]
    again = False
    looked = 0
    while at[ALIVE] > 0 and looked < rules.depth and fits_at(queue, at[HEAD], free, resources):
        again |= begin(space, at[HEAD], jobs, begun, resources)
        looked += 1
    looked += 1
    if rules.backfill == NONE or at[ALIVE] < 2 or looked >= rules.depth:
        return again
    i = at[HEAD] + 1
    tail = at[TAIL]
    longest = rules.window if rules.backfill == EASY else NEVER
    left = UNKNOWN  # the longest that ends by the shadow
    extra = space.extra
    width = 0
    while width < WIDTHS - 1 and free[0] >> width > 0:
        width += 1
    while i < tail and looked < rules.depth:
        block = i >> BLOCK_BITS
        stop = min((block + 1) << BLOCK_BITS, tail)
        if rules.depth == NEVER and stop - i > FEW:
            if space.least[0, block] == STALE:
                bound(space, block, i, stop, resources)
            shortest = space.least[width, block]
            if (
                excluded(space.least, block, free, resources)
                or shortest > longest
                or (
                    left != UNKNOWN
                    and shortest > left
                    and excluded(space.least, block, extra, resources)
                )
            ):
                i = stop
                continue
        started = False
        while i < stop and looked < rules.depth:
            if queue[WAITING, i] != GAP:
                looked += 1
                if fits_at(queue, i, free, resources) and queue[ESTIMATE, i] <= longest:
                    if left == UNKNOWN:
                        shadow = NEVER
                        if rules.backfill == EASY:
                            shadow = shadow_of(space, steps, resources)
                        left = NEVER if shadow == NEVER else shadow - now
                    late = queue[ESTIMATE, i] > left
                    if not late or fits_at(queue, i, extra, resources):
                        if late:
                            for x in range(len(resources)):
                                extra[x] -= queue[REQUESTS + x, i]
                        again |= begin(space, i, jobs, begun, resources)
                        started = True
            i += 1
        if started:
            space.least[0, block] = STALE
            while width > 0 and free[0] >> (width - 1) <= 0:
                width -= 1
    return again


@lean
def expect(space: Space, steps: Steps, resources: Any) -> None:
    """Makes the profile: what is free now, what runs until its expected end, planned steps."""
    at = space.at
    times = space.times
    levels = space.levels
    last = 0
    times[0] = at[NOW]
    for x in range(len(resources)):
        levels[x, 0] = space.free[x]
    i = 0
    step = at[STEP]
    while True:
        while step < steps.number and not steps.planned[step]:
            step += 1
        instant = NEVER
        if i < at[RUNNING]:
            instant = space.run[EXPECTED, i]
        if step < steps.number:
            instant = min(instant, steps.time[step])
        if instant == NEVER:
            break
        if instant > times[last]:
            last += 1
            times[last] = instant
            for x in range(len(resources)):
                levels[x, last] = levels[x, last - 1]
        while i < at[RUNNING] and space.run[EXPECTED, i] == instant:
            for x in range(len(resources)):
                levels[x, last] += space.run[HELD + x, i]
            i += 1
        while step < steps.number and steps.time[step] == instant:
            if steps.planned[step]:
                for x in range(len(resources)):
                    levels[x, last] += steps.change[x, step]
            step += 1
    space.bounds[FIRST] = 0
    space.bounds[BEYOND] = last + 1


@lean
def foresee(space: Space, steps: Steps, resources: Any) -> None:
    """Makes the first profile of a simulation under ``conservative``, with the steps up to now."""
    at = space.at
    while at[STEP] < steps.number and steps.time[at[STEP]] <= at[NOW]:
        for x in range(len(resources)):
            space.free[x] += steps.change[x, at[STEP]]
        at[STEP] += 1
    at[FREED] = 0
    expect(space, steps, resources)


@lean
def occupy(space: Space, i: int, start: int, jobs: Jobs, resources: Any) -> None:
    """Plans what waits at place ``i`` for ``start``; NEVER plans nothing."""
    space.plan[i] = start
    if start != NEVER:
        job = space.queue[WAITING, i]
        end = start + jobs.estimate[job]
        add(space.times, space.levels, space.bounds, start, end, jobs.request, job, -1, resources)


@lean
def promise(space: Space, i: int, since: int, jobs: Jobs, resources: Any) -> int:
    """Plans what waits at place ``i`` for the earliest start from ``since`` on that is left."""
    job = space.queue[WAITING, i]
    start = earliest(
        space.times,
        space.levels,
        space.bounds,
        since,
        jobs.estimate[job],
        jobs.request,
        job,
        resources,
    )
    occupy(space, i, start, jobs, resources)
    return start


@lean
def retract(space: Space, i: int, jobs: Jobs, resources: Any) -> int:
    """Takes the plan of what waits at place ``i`` back; gives the end of what that frees."""
    start = space.plan[i]
    if start == NEVER:
        return NEVER
    job = space.queue[WAITING, i]
    end: int = start + jobs.estimate[job]
    add(space.times, space.levels, space.bounds, start, end, jobs.request, job, 1, resources)
    return end


@lean
def compress(space: Space, jobs: Jobs, resources: Any) -> None:
    """Moves plans to earlier starts, in the order of the queue (SPEC §4, *conservative*).

    Only what has been freed since an attempt was last looked at can let it move, so only starts
    before the end of that are tried: ``at[FREED]`` for all, ``dirty`` for one.
    """
    at = space.at
    now = at[NOW]
    freed = at[FREED]
    moved = False
    for i in range(at[HEAD], at[TAIL]):
        if space.queue[WAITING, i] == GAP or space.plan[i] == UNPLANNED:
            continue
        until = max(freed, space.dirty[i])
        space.dirty[i] = 0
        space.spare[0, i] = 0
        plan = space.plan[i]
        if until <= now or plan <= now:
            continue
        job = space.queue[WAITING, i]
        start = earlier(
            space.times,
            space.levels,
            space.bounds,
            now,
            plan,
            until,
            jobs.estimate[job],
            jobs.request,
            job,
            resources,
        )
        if start < plan:
            end = retract(space, i, jobs, resources)
            occupy(space, i, start, jobs, resources)
            if plan != NEVER:
                freed = max(freed, end)
                space.spare[0, i] = end
                moved = True
    if moved:  # what later ones gave up is news to those before them
        later = 0
        for i in range(at[TAIL] - 1, at[HEAD] - 1, -1):
            if space.queue[WAITING, i] != GAP and space.plan[i] != UNPLANNED:
                space.dirty[i] = max(space.dirty[i], later)
                later = max(later, space.spare[0, i])
    at[FREED] = 0


@lean
def plan_waiting(space: Space, jobs: Jobs, planned: Ints, resources: Any) -> None:
    """Plans all that wait without a plan, in the order of the queue."""
    at = space.at
    for i in range(at[HEAD], at[TAIL]):
        if space.queue[WAITING, i] != GAP and space.plan[i] == UNPLANNED:
            start = promise(space, i, at[NOW], jobs, resources)
            if len(planned) > 0:
                planned[space.queue[WAITING, i]] = start


@lean
def pass_conservative(
    space: Space, jobs: Jobs, news: bool, begun: Ints, planned: Ints, resources: Any
) -> bool:
    """A pass of ``conservative``; whether what it starts ends at once.

    ``news``: whether something ended early, or capacity stepped, since the last pass. ``planned``
    gets each first plan, where it has elements.
    """
    at = space.at
    now = at[NOW]
    queue = space.queue
    forget_past(space.times, space.bounds, now)
    if news:
        compress(space, jobs, resources)
    plan_waiting(space, jobs, planned, resources)
    again = False
    for i in range(at[HEAD], at[TAIL]):
        if queue[WAITING, i] == GAP or space.plan[i] > now:
            continue
        if fits_at(queue, i, space.free, resources):
            again |= begin(space, i, jobs, begun, resources)
        else:  # the capacity has dropped since it was planned
            end = retract(space, i, jobs, resources)
            promise(space, i, now + 1, jobs, resources)
            for k in range(at[HEAD], at[TAIL]):
                space.dirty[k] = max(space.dirty[k], end)
    return again


@lean
def pass_replan(
    space: Space,
    jobs: Jobs,
    steps: Steps,
    rules: Rules,
    begun: Ints,
    resources: Any,
) -> bool:
    """A pass of ``conservative_replan``; whether what it starts ends at once."""
    at = space.at
    now = at[NOW]
    queue = space.queue
    expect(space, steps, resources)
    again = False
    left_behind = False
    looked = 0
    for i in range(at[HEAD], at[TAIL]):
        if queue[WAITING, i] == GAP:
            continue
        if looked == rules.depth:
            break
        looked += 1
        if left_behind and space.queue[ESTIMATE, i] > rules.window:
            continue
        if promise(space, i, now, jobs, resources) == now:
            again |= begin(space, i, jobs, begun, resources)
        else:
            left_behind = True
    return again


@lean
def next_plan(space: Space) -> int:
    """The first planned start, or NEVER."""
    first = NEVER
    for i in range(space.at[HEAD], space.at[TAIL]):
        if space.queue[WAITING, i] != GAP and space.plan[i] != UNPLANNED:
            first = min(first, space.plan[i])
    return first


@lean
def follow(
    space: Space,
    jobs: Jobs,
    steps: Steps,
    rules: Rules,
    owners: Owners,
    begun: Ints,
    planned: Ints,
    resources: Any,
) -> None:
    """Simulates a pool from ``at[NOW]`` on, until nothing waits and nobody arrives any more.

    Those from index ``at[ARRIVING]`` up to ``at[UNTIL]`` are still to arrive. It stops as soon as
    ``at[TARGET]`` has started; ``at[GHOST]`` leaves the queue when it would start, and occupies
    nothing. Either may be NOBODY.

    Args:
        space: the state, in which all that happened before is entered; under ``conservative`` after
            ``foresee``, under ``fairshare`` and ``nuwt`` after ``open_books``.
        jobs, steps, rules, owners: what is simulated.
        begun: gets the start of each attempt that starts.
        planned: gets the first plan of each attempt, where it has elements.
        resources: see ``kernels.scheduling.space``.
    """
    at = space.at
    conservative = rules.backfill == CONSERVATIVE
    keeps_books = rules.order >= BY_OWNER
    # Whether it is worth asking first if anything can start: the order or a plan would cost more.
    in_question = not conservative and (rules.order != RANK or rules.backfill == REPLAN)
    while True:
        now = at[NOW]
        news = False
        while at[STEP] < steps.number and steps.time[at[STEP]] <= now:
            step = at[STEP]
            rises = False
            for x in range(len(resources)):
                space.free[x] += steps.change[x, step]
                rises |= steps.change[x, step] > 0
            at[STEP] += 1
            news = True
            if keeps_books and steps.job[step] != NOBODY:
                settle_blocked(space, steps.job[step], steps.time[step], jobs, rules)
            if conservative:
                forget_past(space.times, space.bounds, now)
                if not steps.planned[step]:
                    add(
                        space.times,
                        space.levels,
                        space.bounds,
                        now,
                        NEVER,
                        steps.change,
                        step,
                        1,
                        resources,
                    )
                    if rises:
                        at[FREED] = NEVER
        if at[NEXT_END] <= now:
            if conservative:
                forget_past(space.times, space.bounds, now)
                news |= release_plans(space, jobs, resources)
            if keeps_books:
                settle(space, jobs, rules)
            release(space.run, at, space.free, now, resources)
        while at[ARRIVING] < at[UNTIL] and (
            jobs.rank[at[ARRIVING]] < 0 or jobs.arrival[at[ARRIVING]] <= now
        ):
            if jobs.rank[at[ARRIVING]] >= 0:  # who is never queued makes no instant either
                enqueue(space, at[ARRIVING], jobs, rules, resources)
            at[ARRIVING] += 1
        again = at[ALIVE] > 0
        while again:
            if in_question and not any_fits(space, resources):
                break
            arrange(space, jobs, rules, owners, resources)
            if conservative:
                again = pass_conservative(space, jobs, news, begun, planned, resources)
            elif rules.backfill == REPLAN:
                again = pass_replan(space, jobs, steps, rules, begun, resources)
            else:
                again = pass_greedy(space, jobs, steps, rules, begun, resources)
            if again:
                if conservative:
                    news = release_plans(space, jobs, resources)
                if keeps_books:
                    settle(space, jobs, rules)
                release(space.run, at, space.free, now, resources)
        if at[ALIVE] == 0 and at[ARRIVING] == at[UNTIL]:
            return
        if at[TARGET] != NOBODY and begun[at[TARGET]] != NEVER:
            return
        then = at[NEXT_END]
        if at[ARRIVING] < at[UNTIL]:
            then = min(then, jobs.arrival[at[ARRIVING]])
        if at[STEP] < steps.number:
            then = min(then, steps.time[at[STEP]])
        if conservative:
            then = min(then, next_plan(space))
        if then == NEVER:
            return
        at[NOW] = then
