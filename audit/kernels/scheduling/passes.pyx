"""Passes that examine the queue once, in its order (SPEC §4): NONE, NO_GUARANTEE and EASY."""

from libc.stdint cimport int64_t, uint64_t

from audit.kernels.rows cimport add, fits, move
from audit.kernels.scheduling.instants cimport NEVER
from audit.kernels.scheduling.model cimport WIDTHS, Backfill, Jobs, Model, Steps
from audit.kernels.scheduling.nodes cimport (
    ANYWHERE, BESIDE, KEPT_FIRST, Places, Where, add_nodes_ahead, choose_planned, fits_beside,
    fits_nodes, keep_home, keep_none, see_nodes_ahead
)
from audit.kernels.scheduling.pool cimport (
    GAP, HUGE, LOOSE, STALE, UNKNOWN, Pool, PoolState, expected_end, fits_free, may_start,
    next_expected, next_planned
)
from audit.kernels.scheduling.queue cimport begin, bound, next_able


cdef bint pass_greedy(Pool pool, Model model) noexcept nogil:
    """Make a pass of NONE, NO_GUARANTEE or EASY; return whether anything started ends at once."""
    cdef PoolState *state = &pool.state
    cdef int64_t head, looked
    cdef bint again = False
    if state.fresh > state.head and settles(pool, model):  # only later arrivals can start
        if model.rules.backfill != Backfill.NONE and state.fresh < state.tail:
            again = fill_behind(pool, model, state.head, state.fresh)
        state.fresh = state.tail
        return again
    state.shadow = UNKNOWN
    again, head, looked = start_front(pool, model.jobs, model.rules.depth)
    looked += 1  # at the head, which does not fit
    if (
        model.rules.backfill != Backfill.NONE
        and head + 1 < state.tail
        and looked < model.rules.depth
    ):
        if model.rules.depth == NEVER:
            again |= fill_behind(pool, model, head, head + 1)
        else:
            again |= fill_first(pool, model, head, looked)
    state.fresh = state.tail
    return again


cdef (bint, int64_t, int64_t) start_front(Pool pool, Jobs jobs, int64_t depth) noexcept nogil:
    """Start attempts in front, up to the first that does not fit, the head, or ``depth`` of them.

    Attempts held by a limit are skipped, and do not count. Return whether any ends at once, the
    place of the head, and the number started.
    """
    cdef PoolState *state = &pool.state
    cdef int64_t head = state.head, looked = 0
    cdef bint again = False
    while head < state.tail and looked < depth:
        if pool.queue_job[head] != GAP and may_start(pool, head, jobs):
            if not fits_free(pool, head):
                break
            again |= begin(pool, head, jobs, ANYWHERE)
            looked += 1
        head += 1
    return again, head, looked


cdef inline int64_t longest(Model model) noexcept nogil:
    """Return the longest estimate that may overtake the head."""
    return model.rules.window if model.rules.backfill == Backfill.EASY else NEVER


cdef bint fill_first(Pool pool, Model model, int64_t head, int64_t looked) noexcept nogil:
    """Backfill where a pass examines ``depth`` attempts, ``looked`` so far; see ``fill_behind``."""
    cdef int64_t left = UNKNOWN, i
    cdef bint again = False
    for i in range(head + 1, pool.state.tail):
        if looked >= model.rules.depth:
            break
        if pool.queue_job[i] != GAP and may_start(pool, i, model.jobs):
            looked += 1
            if fits_free(pool, i) and pool.queue_estimate[i] <= longest(model):
                if left == UNKNOWN:
                    left = left_to_shadow(pool, model, head)
                if spares_head(pool, i, left):
                    again |= begin(pool, i, model.jobs, where_by(pool, i, left))
    return again


cdef bint fill_behind(Pool pool, Model model, int64_t head, int64_t first) noexcept nogil:
    """Start the attempts from place ``first``, behind the head, that may be started.

    In a long queue, skip blocks of places where nothing can start. Return whether any ends at once.
    """
    cdef PoolState *state = &pool.state
    cdef int64_t tail = state.tail, left = state.shadow
    cdef bint again
    if left != UNKNOWN and left != NEVER:
        left -= state.now
    if tail - first < pool.long_queue:
        again, left = fill_between(pool, model, head, first, tail, left)
    else:
        again, left = fill_blocks(pool, model, head, first, left)
    if left != UNKNOWN and left != NEVER:
        left += state.now
    state.shadow = left
    return again


cdef (bint, int64_t) fill_blocks(
    Pool pool, Model model, int64_t head, int64_t first, int64_t left
) noexcept nogil:
    """Do as ``fill_between`` to the end of the queue, skipping blocks where nothing can start."""
    cdef int64_t tail = pool.state.tail, last = ((tail - 1) >> pool.block_bits) + 1
    cdef int64_t block = next_open(pool, first >> pool.block_bits, last, longest(model), left)
    cdef int64_t start, stop, waiting
    cdef bint again = False, ends
    while block < last:
        start = max(block << pool.block_bits, first)
        stop = min((block + 1) << pool.block_bits, tail)
        if pool.bounds[block] == STALE:
            bound(pool, block, stop)
        else:
            waiting = pool.state.waiting
            ends, left = fill_between(pool, model, head, start, stop, left)
            again |= ends
            if pool.bounds[block] == LOOSE and pool.state.waiting == waiting:
                pool.bounds[block] = STALE
            block += 1
        block = next_open(pool, block, last, longest(model), left)
    return again, left


cdef (bint, int64_t) fill_between(
    Pool pool, Model model, int64_t head, int64_t i, int64_t stop, int64_t left
) noexcept nogil:
    """Start the attempts from place ``i`` to ``stop`` that may be started.

    ``left``: the longest estimate that ends by the shadow, or UNKNOWN. Return whether any attempt
    ends at once, and ``left``, which is computed on demand.
    """
    cdef int64_t window = longest(model)
    cdef bint again = False
    i = next_able(pool, i, stop, window, left)
    while i < stop:
        if fits_free(pool, i) and may_start(pool, i, model.jobs):
            if left == UNKNOWN:
                left = left_to_shadow(pool, model, head)
            if spares_head(pool, i, left):
                again |= begin(pool, i, model.jobs, where_by(pool, i, left))
        i = next_able(pool, i + 1, stop, window, left)
    return again, left


cdef int64_t next_open(
    Pool pool, int64_t block, int64_t stop, int64_t window, int64_t left
) noexcept nogil:
    """Return the first block from ``block`` on, before ``stop``, not excluded by its bounds.

    See ``next_able`` for what excludes an attempt.
    """
    cdef int64_t free = max(pool.free[0], 0)
    cdef int64_t spare = HUGE if left == UNKNOWN else max(pool.spare[0], 0)
    cdef int64_t width = 0  # the bits of what is free
    while width < WIDTHS - 1 and free >> width > 0:
        width += 1
    while (
        block < stop
        and pool.bounds[block] != STALE
        and (
            pool.least[block] > free
            or pool.shortest[width, block] > window
            or (pool.shortest[width, block] > left and pool.least[block] > spare)
        )
    ):
        block += 1
    return block


cdef bint spares_head(Pool pool, int64_t i, int64_t left) noexcept nogil:
    """Return whether the attempt at place ``i`` ends by the shadow, or fits beside the head then.

    In the latter case it takes its request from what the head leaves.
    """
    if pool.queue_estimate[i] <= left:
        return True
    if pool.by_nodes and not fits_beside(pool.places, pool.queue_job[i]):
        return False
    if not fits(pool.queue_request, i, pool.spare):
        return False
    add(pool.spare, pool.queue_request, i, -1)
    return True


cdef inline Where where_by(Pool pool, int64_t i, int64_t left) noexcept nogil:
    """Return which nodes the attempt at place ``i`` may use if it starts before the head."""
    if left == NEVER:
        return ANYWHERE
    return KEPT_FIRST if pool.queue_estimate[i] <= left else BESIDE


cdef int64_t left_to_shadow(Pool pool, Model model, int64_t head) noexcept nogil:
    """Return the seconds left to the shadow under EASY; NEVER: there is none."""
    cdef int64_t shadow = NEVER
    if model.rules.backfill == Backfill.EASY:
        if pool.by_nodes:
            shadow = keep_nodes(pool, pool.places, pool.queue_job[head])
        else:
            shadow = shadow_of(head, pool, model.steps)
    return NEVER if shadow == NEVER else shadow - pool.state.now


cdef int64_t shadow_of(int64_t head, Pool pool, Steps steps) noexcept nogil:
    """Return when the head, a place, is expected to fit, or NEVER; ``spare`` is what it leaves."""
    cdef int64_t ended = 0, step = next_planned(steps, pool.state.step), shadow
    move(pool.spare, 0, pool.free, 0, pool.free.shape[0])
    while True:
        shadow = next_expected(pool, steps, ended, step)
        if shadow == NEVER:
            return NEVER
        while ended < pool.state.running and expected_end(pool, ended) == shadow:
            add(pool.spare, pool.run_request, ended, 1)
            ended += 1
        while step < steps.number and steps.time[step] == shadow:
            add(pool.spare, steps.change, step, 1)
            step = next_planned(steps, step + 1)
        if fits(pool.queue_request, head, pool.spare):
            add(pool.spare, pool.queue_request, head, -1)
            return shadow


cdef int64_t keep_nodes(Pool pool, Places on, int64_t head) noexcept nogil:
    """Return when the head is expected to fit, or NEVER; let it keep whole nodes from then on.

    They are those with least free now, so that others can start on as much as possible. The choice
    is kept until anything is returned. The pool's ``spare`` is a bound of what is free on others.
    """
    cdef int64_t ended = 0, x, place, node
    if on.head != head or on.since != on.returns:
        on.head, on.since = head, on.returns
        on.serial += 1
        on.shadow = NEVER
        on.kept[:] = 0
        on.held[head] = 0
        see_nodes_ahead(on, head)
        while on.total < on.nodes.parts[head] and ended < pool.state.running:
            on.shadow = expected_end(pool, ended)
            while ended < pool.state.running and expected_end(pool, ended) == on.shadow:
                add_nodes_ahead(on, pool.run_job[ended], 1, head)
                ended += 1
        if on.total < on.nodes.parts[head]:
            on.shadow = NEVER
        else:
            on.closed[:] = 0
            choose_planned(on, head, False)
    for x in range(on.free.shape[0]):
        pool.spare[x] = HUGE
    pool.spare[0] = pool.free[0]
    for place in range(on.nodes.first[head], on.nodes.first[head] + on.held[head]):
        node = on.node[place]
        on.kept[node >> 6] |= (<uint64_t> 1) << (node & 63)
        pool.spare[0] -= max(on.free[0, node], 0)
    return on.shadow


# --- slurmctld's main scheduler ------------------------------------------------------------------


cdef bint start_fronts(Pool pool, Places on, Jobs jobs) noexcept nogil:
    """Start attempts in front of their partitions; return whether any ends at once.

    As in slurmctld's main scheduler, an attempt that does not fit closes the nodes of its partition
    to those behind it. Attempts held by a limit are skipped.
    """
    cdef PoolState *state = &pool.state
    cdef int64_t i, job
    cdef bint again = False
    keep_none(on)
    for i in range(state.head, state.tail):
        job = pool.queue_job[i]
        if job == GAP or not may_start(pool, i, jobs):
            continue
        if fits_nodes(on, job) and fits_beside(on, job):
            again |= begin(pool, i, jobs, BESIDE)
        else:
            keep_home(on, job)
    return again
