"""The queue: joining, starting, bounds that show where nothing can start; and its order, where that
changes with time (SPEC §4, *Queue order*).
"""

from libc.stdint cimport int64_t

from audit.kernels.rows cimport copy_column, move
from audit.kernels.scheduling.instants cimport NEVER, floor_divide
from audit.kernels.scheduling.model cimport WIDTHS, Jobs, Model, Order, Rules
from audit.kernels.scheduling.multifactor cimport book_start, priority_of, rate_users, tick_of
from audit.kernels.scheduling.nodes cimport Where, choose_nodes
from audit.kernels.scheduling.owners cimport OwnerBalance, Ledger, charge_owner, compare
from audit.kernels.scheduling.pool cimport (
    BOOKED, CHARGED, GAP, HUGE, LOOSE, OUT_OF_ORDER, STALE, TIGHT, UNKNOWN, UNPLANNED, Pool,
    PoolState,
    count_queued, fits_free, hold, may_start
)


cdef enum:
    FEW = 16  # attempts that are inserted one by one
    MANY = 64  # owners: from this number on, sorting them takes longer than merging the queue


cdef void enqueue(Pool pool, int64_t job, Jobs jobs, Rules rules) noexcept nogil:
    """Let an attempt join the queue at its rank."""
    cdef PoolState *state = &pool.state
    cdef int64_t i, moved
    cdef bint longer
    if state.waiting == 0:
        state.head = state.tail = 0
    elif state.tail == pool.queue_job.shape[0] or mostly_gaps(pool):
        close_gaps(pool)
    i = state.tail
    if rules.order == Order.RANK:
        while i > state.head and (
            pool.queue_job[i - 1] == GAP or jobs.rank[pool.queue_job[i - 1]] > jobs.rank[job]
        ):
            i -= 1
    longer = i == state.tail or pool.queue_job[i] != GAP
    if longer and i < state.tail:
        for moved in range(state.tail, i, -1):
            move_place(pool, moved - 1, moved)
        make_stale(pool, i, state.tail)
    place(pool, i, job, jobs)
    state.fresh = min(state.fresh, i)
    state.tail += longer
    state.waiting += 1
    state.sorted_for = OUT_OF_ORDER


cdef void place(Pool pool, int64_t i, int64_t job, Jobs jobs) noexcept nogil:
    """Write an attempt to place ``i`` of the queue."""
    cdef int64_t block = i >> pool.block_bits, width
    count_queued(pool, job, 1, jobs.limits)
    pool.queue_job[i] = job
    pool.queue_estimate[i] = jobs.estimate[job]
    pool.queue_width[i] = jobs.width[job]
    copy_column(pool.queue_request, i, jobs.request, job)
    pool.plan[i] = UNPLANNED
    pool.freed[i] = 0
    if i == block << pool.block_bits:
        pool.bounds[block] = STALE
    elif pool.bounds[block] != STALE:
        for width in range(jobs.width[job], WIDTHS):
            pool.shortest[width, block] = min(pool.shortest[width, block], jobs.estimate[job])
        pool.least[block] = min(pool.least[block], pool.queue_request[0, i])


cdef void leave(Pool pool, int64_t i, Jobs jobs) noexcept nogil:
    """Make place ``i`` of the queue a gap."""
    cdef PoolState *state = &pool.state
    cdef int64_t x, block = i >> pool.block_bits
    count_queued(pool, pool.queue_job[i], -1, jobs.limits)
    pool.queue_job[i] = GAP
    pool.queue_estimate[i] = HUGE
    for x in range(pool.queue_request.shape[0]):
        pool.queue_request[x, i] = HUGE
    pool.plan[i] = NEVER
    if pool.bounds[block] == TIGHT:
        pool.bounds[block] = LOOSE
    state.waiting -= 1
    while state.head < state.tail and pool.queue_job[state.head] == GAP:
        state.head += 1


cdef bint begin(Pool pool, int64_t i, Jobs jobs, Where where) noexcept nogil:
    """Start the attempt at place ``i``; return whether it ends at once.

    The attempt ``state.ghost`` leaves the queue without occupying anything.
    """
    cdef PoolState *state = &pool.state
    cdef int64_t job = pool.queue_job[i], end
    pool.begun[job] = state.now
    if pool.first_begun.shape[0] > 0 and pool.first_begun[job] == NEVER:
        pool.first_begun[job] = state.now
    leave(pool, i, jobs)
    if job == state.ghost:
        return False
    if pool.by_nodes:
        choose_nodes(pool.places, job, where)
    if state.charging == CHARGED:
        charge_owner(pool.ledger, jobs.owner[job], jobs.charge[job], state.now)
    elif state.charging == BOOKED and jobs.occupancy[job] > 0:
        book_start(pool.ledger.books, jobs.owner[job], jobs.charge[job], state.now)
    end = state.now + jobs.occupancy[job]
    hold(pool, job, state.now + jobs.estimate[job], end, jobs)
    return end == state.now


cdef void close_gaps(Pool pool) noexcept nogil:
    """Move the queued attempts to the front, in their order."""
    cdef PoolState *state = &pool.state
    cdef int64_t kept = 0, fresh = state.fresh, i
    for i in range(state.head, state.tail):
        if i == fresh:
            state.fresh = kept
        if pool.queue_job[i] != GAP:
            if kept != i:
                move_place(pool, i, kept)
            kept += 1
    if fresh >= state.tail:
        state.fresh = kept
    state.head = 0
    state.tail = kept
    make_stale(pool, 0, kept)


cdef void move_place(Pool pool, int64_t source, int64_t target) noexcept nogil:
    """Copy one place of the queue to another."""
    pool.queue_job[target] = pool.queue_job[source]
    pool.queue_estimate[target] = pool.queue_estimate[source]
    pool.queue_width[target] = pool.queue_width[source]
    copy_column(pool.queue_request, target, pool.queue_request, source)
    pool.plan[target] = pool.plan[source]
    pool.freed[target] = pool.freed[source]


cdef bint any_can_start(Pool pool, Jobs jobs) noexcept nogil:
    """Return whether any queued attempt fits in what is free now, and may start."""
    cdef int64_t tail = pool.state.tail, i = next_able(pool, pool.state.head, tail, NEVER, UNKNOWN)
    while i < tail:
        if fits_free(pool, i) and may_start(pool, i, jobs):
            return True
        i = next_able(pool, i + 1, tail, NEVER, UNKNOWN)
    return False


cdef void make_stale(Pool pool, int64_t begin, int64_t end) noexcept nogil:
    """Mark the bounds of the places from ``begin`` to ``end`` as no longer valid."""
    cdef int64_t block
    for block in range(begin >> pool.block_bits, (end >> pool.block_bits) + 1):
        pool.bounds[block] = STALE


cdef void bound(Pool pool, int64_t block, int64_t stop) noexcept nogil:
    """Find the bounds of a block, which ends before place ``stop``."""
    cdef int64_t width, least = HUGE, shortest = HUGE, i
    for width in range(WIDTHS):
        pool.shortest[width, block] = HUGE
    for i in range(block << pool.block_bits, stop):
        if pool.queue_job[i] != GAP:
            width = pool.queue_width[i]
            pool.shortest[width, block] = min(pool.shortest[width, block], pool.queue_estimate[i])
            least = min(least, pool.queue_request[0, i])
    for width in range(WIDTHS):
        shortest = pool.shortest[width, block] = min(pool.shortest[width, block], shortest)
    pool.least[block] = least
    pool.bounds[block] = TIGHT


# --- order ---------------------------------------------------------------------------------------


cdef void arrange(Pool pool, Model model) noexcept nogil:
    """Put the queue in order, if it may be out of it; ties by index.

    Most of it stays in order from one pass to the next, except the latest arrivals. If these are
    few, they are inserted one by one; else the queue is sorted by owner, or merged.
    """
    cdef PoolState *state = &pool.state
    cdef Order order = model.rules.order
    cdef int64_t sorted_for, count, head, job, ordered = 1, first = 0, i
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
            job = pool.queue_job[i]
            rate_owner(order, model.owners, pool.ledger, model.jobs.owner[job], state.now)
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


cdef inline bint in_front(Pool pool, int64_t i, int64_t k, Model model) noexcept nogil:
    """Return whether the attempt at place ``i`` of the queue is served before that at ``k``."""
    return comes_first(pool.queue_job[i], pool.queue_job[k], pool, model)


cdef int64_t insert(Pool pool, int64_t ordered, int64_t count, Model model) noexcept nogil:
    """Insert the last of ``pool.order`` into its first ``ordered``; return the first new place."""
    cdef int64_t first = count, moving, low, high, middle, i, k
    for i in range(ordered, count):
        moving = pool.order[i]
        low, high = 0, i
        while low < high:
            middle = (low + high) >> 1
            if in_front(pool, pool.order[middle], moving, model):
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

    An owner's attempts keep their order, which is that of their indices.
    """
    cdef int64_t owner, number = 0, next_place = 0, i, k
    cdef OwnerBalance *account
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
    """Sort ``pool.order`` by merging; parts that are in order stay as they are."""
    cdef int64_t width = 1, low, middle, high, left, right, k
    while width < count:
        low = 0
        while low < count:
            middle = min(low + width, count)
            high = min(low + 2 * width, count)
            left, right, k = low, middle, low
            if middle == high or in_front(pool, pool.order[middle - 1], pool.order[middle], model):
                k = high
            while k < high:
                if right == high or (
                    left < middle and in_front(pool, pool.order[left], pool.order[right], model)
                ):
                    pool.scratch[k] = pool.order[left]
                    left += 1
                else:
                    pool.scratch[k] = pool.order[right]
                    right += 1
                k += 1
            if right > middle:
                move(pool.order, low, pool.scratch, low, high - low)
            low = high
        width *= 2


cdef bint comes_first(int64_t one, int64_t other, Pool pool, Model model) noexcept nogil:
    """Return whether attempt ``one`` is served before ``other``; ties by index.

    The fractions of EXPANSION are compared by their cross-products, which are exact. MULTIFACTOR
    compares tiers before priorities.
    """
    cdef Order order = model.rules.order
    cdef int64_t left, right, turn
    cdef double first, second
    if order == Order.RANK:
        return model.jobs.rank[one] < model.jobs.rank[other]
    if order == Order.EXPANSION:
        left = (pool.state.now - model.jobs.arrival[one]) * model.jobs.estimate[other]
        right = (pool.state.now - model.jobs.arrival[other]) * model.jobs.estimate[one]
        return left > right or (left == right and one < other)
    if order == Order.MULTIFACTOR:
        left, right = model.owners.slurm.tier[one], model.owners.slurm.tier[other]
        if left != right:
            return left > right
        first, second = slurm_priority(one, pool, model), slurm_priority(other, pool, model)
        return first > second or (first == second and one < other)
    turn = compare(pool.ledger, model.jobs.owner[one], model.jobs.owner[other])
    return turn > 0 or (turn == 0 and one < other)


cdef inline double slurm_priority(int64_t job, Pool pool, Model model) noexcept nogil:
    """Return Slurm's priority of an attempt."""
    cdef int64_t owner = model.jobs.owner[job], arrival = model.jobs.arrival[job]
    return priority_of(model.owners.slurm, pool.ledger.books, job, owner, arrival)


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
