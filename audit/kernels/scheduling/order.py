"""The order of the queue, where it changes with time (SPEC §4, *Queue order*).

Most is in order from one pass to the next, but for those that came last. So they are put among the
others one by one where they are few; else the queue is dealt out by owner, or merged.
"""

from audit.kernels.arrays import Ints
from audit.kernels.compiled import inner
from audit.kernels.scheduling.multifactor import priority_of, rate_users, tick_of
from audit.kernels.scheduling.owners import (
    DEALT,
    SEEN,
    Ledger,
    Owners,
    compare,
    rate_owner,
    rate_waits,
)
from audit.kernels.scheduling.queue import close_gaps, make_stale
from audit.kernels.scheduling.space import (
    ALIVE,
    ARRANGED,
    EXPANSION,
    FAIRSHARE,
    HEAD,
    MULTIFACTOR,
    NOW,
    NUWT,
    QUEUE_ROWS,
    RANK,
    TAIL,
    WAITING,
    Jobs,
    Model,
    Space,
)

FEW = 16  # attempts that are put in order one by one
MANY = 64  # owners that it takes no longer to sort by comparison


@inner
def arrange(space: Space, model: Model) -> None:
    """Puts the queue in order, if it may be out of it; ties by index."""
    jobs, _, rules, owners = model
    state = space.state
    now = state[NOW]
    if rules.order == RANK or state[ALIVE] < 2:
        return
    arranged = now
    if rules.order == FAIRSHARE:
        arranged = (now - owners.origin) // owners.recalculation
    elif rules.order == NUWT:
        arranged = 0
    elif rules.order == MULTIFACTOR:
        arranged = tick_of(space.ledger.books, now)
    if state[ARRANGED] == arranged:
        return
    state[ARRANGED] = arranged
    if state[TAIL] - state[HEAD] > state[ALIVE]:
        close_gaps(space)
    head = state[HEAD]
    count = state[TAIL] - head
    waiting = space.queue[WAITING]
    if rules.order == MULTIFACTOR:
        rate_users(owners.slurm, space.ledger.books, now)
    elif rules.order != EXPANSION:
        for i in range(head, state[TAIL]):
            rate(rules.order, owners, space.ledger, jobs.owner[waiting[i]], now)
    order = space.spare[0]
    for i in range(count):
        order[i] = head + i
    ordered = 1
    while ordered < count and comes_first(
        waiting[head + ordered - 1], waiting[head + ordered], space, model
    ):
        ordered += 1
    if ordered == count:
        return
    first = 0
    by_attempt = rules.order == EXPANSION or rules.order >= MULTIFACTOR
    if count - ordered <= FEW:
        first = insert(space, ordered, count, model)
    elif by_attempt or not deal(space, count, jobs):
        merge(space, count, model)
    for row in range(QUEUE_ROWS):
        rearrange(space.queue[row], order, space.spare[1], head, first, count)
    for x in range(space.resources):
        rearrange(space.asked[x], order, space.spare[1], head, first, count)
    rearrange(space.plan, order, space.spare[1], head, first, count)
    rearrange(space.freed, order, space.spare[1], head, first, count)
    make_stale(space, head + first, state[TAIL])


@inner
def rate(by: int, owners: Owners, ledger: Ledger, owner: int, now: int) -> None:
    """Writes the keys by which an owner is compared: under FAIRSHARE, or NUWT."""
    if by == FAIRSHARE:
        rate_owner(owners, ledger, owner, now)
    else:
        rate_waits(owners, ledger, owner)


@inner
def insert(space: Space, ordered: int, count: int, model: Model) -> int:
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
            if comes_first(waiting[order[middle]], waiting[moving], space, model):
                low = middle + 1
            else:
                high = middle
        for k in range(i, low, -1):
            order[k] = order[k - 1]
        order[low] = moving
        first = min(first, low)
    return first


@inner
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


@inner
def merge(space: Space, count: int, model: Model) -> None:
    """Sorts ``spare[0]`` by merging, which leaves alone what is in order already."""
    order = space.spare[0]
    merged = space.spare[1]
    waiting = space.queue[WAITING]
    width = 1
    while width < count:
        low = 0
        while low < count:
            middle = min(low + width, count)
            high = min(low + 2 * width, count)
            left = low
            right = middle
            if middle == high or comes_first(
                waiting[order[middle - 1]], waiting[order[middle]], space, model
            ):
                low = high
                continue
            for k in range(low, high):
                if right == high or (
                    left < middle
                    and comes_first(waiting[order[left]], waiting[order[right]], space, model)
                ):
                    merged[k] = order[left]
                    left += 1
                else:
                    merged[k] = order[right]
                    right += 1
            for k in range(low, high):
                order[k] = merged[k]
            low = high
        width *= 2


@inner
def comes_first(one: int, other: int, space: Space, model: Model) -> bool:
    """Whether attempt ``one`` is served before ``other``."""
    jobs = model.jobs
    if model.rules.order == EXPANSION:
        return expands_more(one, other, space.state[NOW], jobs)
    if model.rules.order == MULTIFACTOR:
        return has_priority(one, other, space, model)
    turn = compare(space.ledger, jobs.owner[one], jobs.owner[other])
    return turn > 0 or (turn == 0 and one < other)


@inner
def has_priority(one: int, other: int, space: Space, model: Model) -> bool:
    """Whether Slurm puts attempt ``one`` before ``other``: tier, then priority; ties by index."""
    jobs, slurm, books = model.jobs, model.owners.slurm, space.ledger.books
    if slurm.tier[one] != slurm.tier[other]:
        higher: bool = slurm.tier[one] > slurm.tier[other]
        return higher
    left = priority_of(slurm, books, one, jobs.owner[one], jobs.arrival[one])
    right = priority_of(slurm, books, other, jobs.owner[other], jobs.arrival[other])
    return left > right or (left == right and one < other)


@inner
def expands_more(one: int, other: int, now: int, jobs: Jobs) -> bool:
    """Whether attempt ``one`` has the greater (waited + estimate)/estimate; ties by index.

    Fractions are compared by their cross-products, which are exact.
    """
    left = (now - jobs.arrival[one]) * jobs.estimate[other]
    right = (now - jobs.arrival[other]) * jobs.estimate[one]
    return left > right or (left == right and one < other)


@inner
def rearrange(row: Ints, order: Ints, spare: Ints, head: int, first: int, count: int) -> None:
    """Puts elements ``first`` to ``count``, counted from place ``head``, of ``row`` into order."""
    for i in range(first, count):
        spare[i] = row[order[i]]
    for i in range(first, count):
        row[head + i] = spare[i]
