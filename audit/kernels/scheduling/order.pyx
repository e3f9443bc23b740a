"""The order of the queue, where it changes with time (SPEC §4, *Queue order*).

Most of the queue stays in order from one pass to the next, except the latest arrivals. If these are
few, they are inserted one by one; else the queue is dealt out by owner, or merged.
"""

from audit.kernels.scheduling.model cimport Jobs
from audit.kernels.scheduling.multifactor cimport priority_of, rate_users, tick_of
from audit.kernels.scheduling.owners cimport Account, compare, rate_owner, rate_waits
from audit.kernels.scheduling.pool cimport State
from audit.kernels.scheduling.queue cimport close_gaps, make_stale
from audit.kernels.scheduling.rows cimport floor_divide, move


cdef enum:
    FEW = 16  # attempts that are inserted one by one
    MANY = 64  # owners: from so many on, sorting them takes longer than merging the queue


cdef void arrange(Pool pool, Model model) noexcept nogil:
    """Put the queue in order, if it may be out of it; ties by index."""
    cdef State *state = &pool.state
    cdef Order order = model.rules.order
    cdef int64_t sorted_for, count, head, ordered = 1, first = 0, i
    if order == Order.RANK or state.waiting < 2:
        return
    sorted_for = period_of(order, pool, model)
    if state.sorted_for == sorted_for:
        return
    state.sorted_for = sorted_for
    if state.tail - state.head > state.waiting:
        close_gaps(pool)
    head = state.head
    count = state.tail - head
    if order == Order.MULTIFACTOR:
        rate_users(model.owners.slurm, pool.ledger.books, state.now)
    elif order != Order.EXPANSION:
        for i in range(head, state.tail):
            rate(
                order,
                model.owners,
                pool.ledger,
                model.jobs.owner[pool.queue_job[i]],
                state.now,
            )
    for i in range(count):
        pool.order[i] = head + i
    while ordered < count and comes_first(
        pool.queue_job[head + ordered - 1], pool.queue_job[head + ordered], pool, model
    ):
        ordered += 1
    if ordered == count:
        return
    if count - ordered <= FEW:
        first = insert(pool, ordered, count, model)
    elif order in (Order.EXPANSION, Order.MULTIFACTOR) or not deal(pool, count, model.jobs):
        merge(pool, count, model)
    rearrange(pool, head, first, count)
    make_stale(pool, head + first, state.tail)


cdef int64_t period_of(Order order, Pool pool, Model model) noexcept nogil:
    """Return a number of the time during which the order of the queue does not change by itself."""
    if order == Order.FAIRSHARE:
        return floor_divide(pool.state.now - model.owners.origin, model.owners.recalculation)
    if order == Order.NUWT:
        return 0
    if order == Order.MULTIFACTOR:
        return tick_of(pool.ledger.books, pool.state.now)
    return pool.state.now


cdef void rate(Order by, Owners owners, Ledger ledger, int64_t owner, int64_t now) noexcept nogil:
    """Write the keys by which an owner is compared under FAIRSHARE or NUWT."""
    if by == Order.FAIRSHARE:
        rate_owner(owners, ledger, owner, now)
    else:
        rate_waits(owners, ledger, owner)


cdef int64_t insert(Pool pool, int64_t ordered, int64_t count, Model model) noexcept nogil:
    """Insert the last of ``pool.order`` into its first ``ordered``; return the first new place."""
    cdef int64_t first = count, moving, low, high, middle, i, k
    for i in range(ordered, count):
        moving = pool.order[i]
        low, high = 0, i
        while low < high:
            middle = (low + high) >> 1
            if comes_first(
                pool.queue_job[pool.order[middle]], pool.queue_job[moving], pool, model
            ):
                low = middle + 1
            else:
                high = middle
        for k in range(i, low, -1):
            pool.order[k] = pool.order[k - 1]
        pool.order[low] = moving
        first = min(first, low)
    return first


cdef bint deal(Pool pool, int64_t count, Jobs jobs) noexcept nogil:
    """Sort ``pool.order`` by owner; return False if there are too many owners, or two tie.

    The attempts of an owner are in order of their index already, and stay so.
    """
    cdef int64_t owner, number = 0, next_place = 0, i, k
    cdef Account *account
    cdef bint sortable
    for i in range(count):
        owner = jobs.owner[pool.queue_job[pool.order[i]]]
        account = &pool.ledger.accounts[owner]
        account.seen += 1
        if account.seen > 1:
            continue
        k = number
        while k > 0 and compare(pool.ledger, owner, pool.scratch[k - 1]) > 0:
            pool.scratch[k] = pool.scratch[k - 1]
            k -= 1
        pool.scratch[k] = owner
        number += 1
        if number == MANY:
            break
    sortable = number < MANY
    for k in range(1, number):
        sortable &= compare(pool.ledger, pool.scratch[k - 1], pool.scratch[k]) > 0
    for k in range(number):
        account = &pool.ledger.accounts[pool.scratch[k]]
        account.dealt = next_place
        next_place += account.seen
        account.seen = 0
    if sortable:
        move(pool.scratch, 0, pool.order, 0, count)
        for i in range(count):
            account = &pool.ledger.accounts[jobs.owner[pool.queue_job[pool.scratch[i]]]]
            pool.order[account.dealt] = pool.scratch[i]
            account.dealt += 1
    return sortable


cdef void merge(Pool pool, int64_t count, Model model) noexcept nogil:
    """Sort ``pool.order`` by merging, which leaves alone what is in order already."""
    cdef int64_t width = 1, low, middle, high, left, right, k
    while width < count:
        low = 0
        while low < count:
            middle = min(low + width, count)
            high = min(low + 2 * width, count)
            left, right = low, middle
            if middle == high or comes_first(
                pool.queue_job[pool.order[middle - 1]],
                pool.queue_job[pool.order[middle]],
                pool,
                model,
            ):
                low = high
                continue
            for k in range(low, high):
                if right == high or (
                    left < middle
                    and comes_first(
                        pool.queue_job[pool.order[left]],
                        pool.queue_job[pool.order[right]],
                        pool,
                        model,
                    )
                ):
                    pool.scratch[k] = pool.order[left]
                    left += 1
                else:
                    pool.scratch[k] = pool.order[right]
                    right += 1
            move(pool.order, low, pool.scratch, low, high - low)
            low = high
        width *= 2


cdef bint comes_first(int64_t one, int64_t other, Pool pool, Model model) noexcept nogil:
    """Return whether attempt ``one`` is served before ``other``."""
    cdef Order order = model.rules.order
    if order == Order.EXPANSION:
        return expands_more(one, other, pool.state.now, model.jobs)
    if order == Order.MULTIFACTOR:
        return has_priority(one, other, pool, model)
    return has_turn(one, other, pool, model.jobs)


cdef bint has_turn(int64_t one, int64_t other, Pool pool, Jobs jobs) noexcept nogil:
    """Return whether the turn of attempt ``one``'s owner comes first; ties by index."""
    cdef int64_t turn = compare(pool.ledger, jobs.owner[one], jobs.owner[other])
    return turn > 0 or (turn == 0 and one < other)


cdef bint has_priority(int64_t one, int64_t other, Pool pool, Model model) noexcept nogil:
    """Return whether Slurm serves ``one`` before ``other``: tier, then priority; ties by index."""
    cdef double left, right
    if model.owners.slurm.tier[one] != model.owners.slurm.tier[other]:
        return model.owners.slurm.tier[one] > model.owners.slurm.tier[other]
    left = priority(one, pool, model)
    right = priority(other, pool, model)
    return left > right or (left == right and one < other)


cdef double priority(int64_t job, Pool pool, Model model) noexcept nogil:
    """Return Slurm's priority of an attempt."""
    return priority_of(
        model.owners.slurm,
        pool.ledger.books,
        job,
        model.jobs.owner[job],
        model.jobs.arrival[job],
    )


cdef bint expands_more(int64_t one, int64_t other, int64_t now, Jobs jobs) noexcept nogil:
    """Return whether attempt ``one`` has the greater (waited + estimate) / estimate; ties by index.

    Fractions are compared by their cross-products, which are exact.
    """
    cdef int64_t left = (now - jobs.arrival[one]) * jobs.estimate[other]
    cdef int64_t right = (now - jobs.arrival[other]) * jobs.estimate[one]
    return left > right or (left == right and one < other)


cdef void rearrange(Pool pool, int64_t head, int64_t first, int64_t count) noexcept nogil:
    """Put the places from ``head + first`` up to ``head + count`` of the queue in order."""
    cdef int64_t x, i
    arrange_line(pool.queue_job, pool, head, first, count)
    arrange_line(pool.queue_estimate, pool, head, first, count)
    arrange_line(pool.queue_width, pool, head, first, count)
    arrange_line(pool.plan, pool, head, first, count)
    arrange_line(pool.freed, pool, head, first, count)
    for x in range(pool.queue_request.shape[0]):
        for i in range(first, count):
            pool.scratch[i] = pool.queue_request[x, pool.order[i]]
        for i in range(first, count):
            pool.queue_request[x, head + i] = pool.scratch[i]


cdef void arrange_line(
    int64_t[::1] line, Pool pool, int64_t head, int64_t first, int64_t count
) noexcept nogil:
    """Put elements ``first`` to ``count``, counted from place ``head``, in order."""
    cdef int64_t i
    for i in range(first, count):
        pool.scratch[i] = line[pool.order[i]]
    move(line, head + first, pool.scratch, first, count - first)
