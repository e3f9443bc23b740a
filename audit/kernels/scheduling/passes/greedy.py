"""Passes that go down the queue once: ``none``, ``no_guarantee`` and ``easy`` (SPEC §4)."""

from audit.kernels.compiled import inner
from audit.kernels.scheduling.passes.expected import add_expected, next_expected, next_planned
from audit.kernels.scheduling.profile import NEVER, add_amounts, copy_amounts, fits
from audit.kernels.scheduling.queue import begin, bound
from audit.kernels.scheduling.space import (
    ALIVE,
    BLOCK_BITS,
    EASY,
    ESTIMATE,
    GAP,
    HEAD,
    NONE,
    NOW,
    STALE,
    STEP,
    TAIL,
    WAITING,
    WIDTHS,
    Model,
    Space,
    Steps,
    fits_free,
)

FEW = 16  # places that it takes no longer to look at than to bound
UNKNOWN = -1


@inner
def pass_greedy(space: Space, model: Model) -> bool:
    """A pass of ``none``, ``no_guarantee`` or ``easy``; whether what it starts ends at once."""
    state = space.state
    rules = model.rules
    again = False
    looked = 0
    while state[ALIVE] > 0 and looked < rules.depth and fits_free(space, state[HEAD]):
        again |= begin(space, state[HEAD], model.jobs)
        looked += 1
    looked += 1  # at the head, which does not fit
    if rules.backfill != NONE and state[ALIVE] >= 2 and looked < rules.depth:
        again |= fill_behind_head(space, model, looked)
    return again


@inner
def fill_behind_head(space: Space, model: Model, looked: int) -> bool:
    """Starts those behind the head of the queue that may; whether any of them ends at once.

    ``looked``: at how many this pass has looked already. Blocks of places where nothing can start
    are passed over; where ``depth`` counts places, each is looked at.
    """
    state = space.state
    rules = model.rules
    longest = rules.window if rules.backfill == EASY else NEVER
    left = UNKNOWN  # the longest that ends by the shadow
    width = 0  # the bits of what is free
    while width < WIDTHS - 1 and space.free[0, 0] >> width > 0:
        width += 1
    again = False
    i = state[HEAD] + 1
    tail = state[TAIL]
    while i < tail and looked < rules.depth:
        block = i >> BLOCK_BITS
        stop = min((block + 1) << BLOCK_BITS, tail)
        if rules.depth == NEVER and stop - i > FEW:
            if space.shortest[0, block] == STALE:
                bound(space, block, i, stop)
            if none_can_start(space, block, width, longest, left):
                i = stop
                continue
        started = False
        while i < stop and looked < rules.depth:
            if space.queue[WAITING, i] != GAP:
                looked += 1
                if fits_free(space, i) and space.queue[ESTIMATE, i] <= longest:
                    if left == UNKNOWN:
                        left = left_to_shadow(space, model)
                    if spares_head(space, i, left):
                        again |= begin(space, i, model.jobs)
                        started = True
            i += 1
        if started:
            space.shortest[0, block] = STALE
            while width > 0 and space.free[0, 0] >> (width - 1) <= 0:
                width -= 1
    return again


@inner
def none_can_start(space: Space, block: int, width: int, longest: int, left: int) -> bool:
    """Whether the bounds of a block exclude all of it.

    Nothing there fits in what is free, or is short enough for the window, or is either short enough
    to end by the shadow or small enough for what the head leaves then.
    """
    shortest = space.shortest[width, block]
    return (
        not fits(space.least, block, space.free, 0, False, space.resources)
        or shortest > longest
        or (
            left != UNKNOWN
            and shortest > left
            and not fits(space.least, block, space.extra, 0, False, space.resources)
        )
    )


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
def left_to_shadow(space: Space, model: Model) -> int:
    """The seconds left to the shadow under ``easy``; NEVER: there is none."""
    shadow = NEVER
    if model.rules.backfill == EASY:
        shadow = shadow_of_head(space, model.steps)
    return NEVER if shadow == NEVER else shadow - space.state[NOW]


@inner
def shadow_of_head(space: Space, steps: Steps) -> int:
    """When the head of the queue is expected to fit, or NEVER; ``extra`` is what it leaves then."""
    head = space.state[HEAD]
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
