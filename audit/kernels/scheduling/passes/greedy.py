"""Passes that go down the queue once: ``none``, ``no_guarantee`` and ``easy`` (SPEC §4)."""

from audit.kernels.compiled import inner
from audit.kernels.scheduling.passes.expected import add_expected, next_expected, next_planned
from audit.kernels.scheduling.profile import NEVER, add_amounts, copy_amounts, fits
from audit.kernels.scheduling.queue import begin, bound, next_able
from audit.kernels.scheduling.space import (
    ALIVE,
    BLOCK_BITS,
    EASY,
    ESTIMATE,
    FRESH,
    GAP,
    HEAD,
    HUGE,
    LOOSE,
    NONE,
    NOW,
    RANK,
    SHADOW,
    STALE,
    STEP,
    TAIL,
    UNKNOWN,
    WAITING,
    WIDTHS,
    Jobs,
    Model,
    Space,
    Steps,
    fits_free,
    may_start,
)

MANY = 192  # places that it takes longer to look at than to bound


@inner
def pass_greedy(space: Space, model: Model) -> bool:
    """A pass of ``none``, ``no_guarantee`` or ``easy``; whether what it starts ends at once."""
    state, rules = space.state, model.rules
    if state[FRESH] > state[HEAD] and settles(space, model):
        return pass_fresh(space, model)
    state[SHADOW] = UNKNOWN
    again, head, looked = start_front(space, model.jobs, rules.depth)
    looked += 1  # at the head, which does not fit
    if rules.backfill != NONE and head + 1 < state[TAIL] and looked < rules.depth:
        longest = rules.window if rules.backfill == EASY else NEVER
        if rules.depth == NEVER:
            again |= fill_behind(space, model, head, head + 1, longest)
        else:
            again |= fill_first(space, model, head, longest, looked)
    state[FRESH] = state[TAIL]
    return again


@inner
def settles(space: Space, model: Model) -> bool:
    """Whether those whom a pass did not start wait until something ends or capacity steps.

    Until then less is free, and the head waits for the same instant with as much to spare: what
    has been started ends before that, or took its request from what is to spare. Not so where
    limits decide who is the head, or passes look at few, or the order changes with time.
    """
    rules = model.rules
    return rules.order == RANK and rules.depth == NEVER and len(space.used) == 0


@inner
def pass_fresh(space: Space, model: Model) -> bool:
    """A pass that looks only at those that have joined behind the head since the last one."""
    state, rules = space.state, model.rules
    first = state[FRESH]
    again = False
    if rules.backfill != NONE and first < state[TAIL]:
        longest = rules.window if rules.backfill == EASY else NEVER
        again = fill_behind(space, model, state[HEAD], first, longest)
    state[FRESH] = state[TAIL]
    return again


@inner
def pass_front(space: Space, model: Model) -> bool:
    """A pass of ``none``, whatever the backfilling; whether what it starts ends at once."""
    again, _head, _looked = start_front(space, model.jobs, NEVER)
    return again


@inner
def start_front(space: Space, jobs: Jobs, depth: int) -> tuple[bool, int, int]:
    """Starts those in front, up to the first that does not fit, or ``depth`` of them.

    Whom a limit holds is passed over, and none of these. Gives whether any ends at once, the place
    of that first one, the head, and how many have started.
    """
    state = space.state
    again = False
    looked = 0
    head = state[HEAD]
    while head < state[TAIL] and looked < depth:
        if space.queue[WAITING, head] != GAP and may_start(space, head, jobs):
            if not fits_free(space, head):
                break
            again |= begin(space, head, jobs)
            looked += 1
        head += 1
    return again, head, looked


@inner
def fill_first(space: Space, model: Model, head: int, longest: int, looked: int) -> bool:
    """As ``fill_behind``, where a pass looks at ``depth`` places, at ``looked`` of them so far."""
    left = UNKNOWN
    again = False
    for i in range(head + 1, space.state[TAIL]):
        if looked >= model.rules.depth:
            break
        if space.queue[WAITING, i] != GAP and may_start(space, i, model.jobs):
            looked += 1
            if fits_free(space, i) and space.queue[ESTIMATE, i] <= longest:
                if left == UNKNOWN:
                    left = left_to_shadow(space, model, head)
                if spares_head(space, i, left):
                    again |= begin(space, i, model.jobs)
    return again


@inner
def fill_behind(space: Space, model: Model, head: int, first: int, longest: int) -> bool:
    """Starts those from place ``first``, behind the head, that may; whether any ends at once.

    ``longest``: the greatest estimate of whom may be started. In a long queue, blocks of places
    where nothing can start are passed over.
    """
    state = space.state
    tail = state[TAIL]
    left = state[SHADOW]
    if left != UNKNOWN and left != NEVER:  # noqa: PLR1714 (numbers, one by one)
        left -= state[NOW]
    if tail - first < MANY:
        again, left = fill_between(space, model, head, first, tail, longest, left)
    else:
        again, left = fill_blocks(space, model, head, first, longest, left)
    state[SHADOW] = left
    if left != UNKNOWN and left != NEVER:  # noqa: PLR1714 (numbers, one by one)
        state[SHADOW] += state[NOW]
    return again


@inner
def fill_blocks(
    space: Space, model: Model, head: int, first: int, longest: int, left: int
) -> tuple[bool, int]:
    """As ``fill_between``, to the end of the queue, past blocks where nothing can start."""
    state, bounds = space.state, space.bounds
    tail = state[TAIL]
    again = False
    last = ((tail - 1) >> BLOCK_BITS) + 1
    block = next_open(space, first >> BLOCK_BITS, last, longest, left)
    while block < last:
        stop = min((block + 1) << BLOCK_BITS, tail)
        if bounds[block] == STALE:
            bound(space, block, stop)
        else:
            waiting = state[ALIVE]
            i = max(block << BLOCK_BITS, first)
            ends, left = fill_between(space, model, head, i, stop, longest, left)
            again |= ends
            if bounds[block] == LOOSE and state[ALIVE] == waiting:
                bounds[block] = STALE
            block += 1
        block = next_open(space, block, last, longest, left)
    return again, left


@inner
def fill_between(
    space: Space, model: Model, head: int, i: int, stop: int, longest: int, left: int
) -> tuple[bool, int]:
    """Starts those from place ``i`` to ``stop`` that may; whether any of them ends at once.

    ``left``: the longest that ends by the shadow, or UNKNOWN; gives that too, where it was needed.
    """
    again = False
    limited = len(space.used) > 0
    i = next_able(space, i, stop, longest, left)
    while i < stop:
        if fits_free(space, i) and (not limited or may_start(space, i, model.jobs)):
            if left == UNKNOWN:
                left = left_to_shadow(space, model, head)
            if spares_head(space, i, left):
                again |= begin(space, i, model.jobs)
        i = next_able(space, i + 1, stop, longest, left)
    return again, left


@inner
def next_open(space: Space, block: int, stop: int, longest: int, left: int) -> int:
    """The first block from ``block`` on, before ``stop``, whose bounds do not exclude all of it.

    They do if nothing there fits in what is free, or is short enough for the window, or is either
    short enough to end by the shadow or small enough for what the head leaves then.
    """
    free = max(space.free[0, 0], 0)
    spare = HUGE if left == UNKNOWN else max(space.extra[0, 0], 0)
    width = 0  # the bits of what is free
    while width < WIDTHS - 1 and free >> width > 0:
        width += 1
    bounds, shortest, least = space.bounds, space.shortest[width], space.least
    while (
        block < stop
        and bounds[block] != STALE
        and (
            least[block] > free
            or shortest[block] > longest
            or (shortest[block] > left and least[block] > spare)
        )
    ):
        block += 1
    return block


@inner
def spares_head(space: Space, i: int, left: int) -> bool:
    """Whether what waits at place ``i`` ends by the shadow, or fits in what the head leaves then.

    In the latter case it takes its request from that.
    """
    if space.queue[ESTIMATE, i] <= left:
        return True
    if not fits(space.asked, i, space.extra, 0, False, space.resources):
        return False
    add_amounts(space.extra, 0, space.asked, i, -1, space.resources)
    return True


@inner
def left_to_shadow(space: Space, model: Model, head: int) -> int:
    """The seconds left to the shadow under ``easy``; NEVER: there is none."""
    shadow = NEVER
    if model.rules.backfill == EASY:
        shadow = shadow_of(head, space, model.steps)
    return NEVER if shadow == NEVER else shadow - space.state[NOW]


@inner
def shadow_of(head: int, space: Space, steps: Steps) -> int:
    """When the head, a place, is expected to fit, or NEVER; ``extra`` is what it leaves then."""
    extra, resources = space.extra, space.resources
    copy_amounts(extra, 0, space.free, 0, resources)
    ended = 0
    step = next_planned(steps, space.state[STEP])
    while True:
        shadow = next_expected(space, steps, ended, step)
        if shadow == NEVER:
            return NEVER
        ended, step = add_expected(space, steps, ended, step, shadow, extra, 0)
        if fits(space.asked, head, extra, 0, False, resources):
            add_amounts(extra, 0, space.asked, head, -1, resources)
            return shadow
