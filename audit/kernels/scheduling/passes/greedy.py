"""Passes that go down the queue once: ``none``, ``no_guarantee`` and ``easy`` (SPEC §4)."""

from audit.kernels.compiled import inner
from audit.kernels.scheduling.passes.expected import add_expected, next_expected, next_planned
from audit.kernels.scheduling.profile import NEVER, add_amounts, copy_amounts, fits
from audit.kernels.scheduling.queue import begin, bound
from audit.kernels.scheduling.space import (
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
    may_start,
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
    head = state[HEAD]
    while head < state[TAIL] and looked < rules.depth:
        if space.queue[WAITING, head] != GAP and may_start(space, head, model.jobs):
            if not fits_free(space, head):
                break
            again |= begin(space, head, model.jobs)
            looked += 1
        head += 1
    looked += 1  # at the head, which does not fit
    if rules.backfill != NONE and head + 1 < state[TAIL] and looked < rules.depth:
        again |= fill_behind(space, model, head, looked)
    return again


@inner
def pass_front(space: Space, model: Model) -> bool:
    """A pass of ``none``, whatever the backfilling; whether what it starts ends at once."""
    state = space.state
    again = False
    for i in range(state[HEAD], state[TAIL]):
        if space.queue[WAITING, i] != GAP and may_start(space, i, model.jobs):
            if not fits_free(space, i):
                break
            again |= begin(space, i, model.jobs)
    return again


@inner
def fill_behind(space: Space, model: Model, head: int, looked: int) -> bool:
    """Starts those behind place ``head`` that may; whether any of them ends at once.

    ``looked``: at how many this pass has looked already; whom a limit holds is none of them. Blocks
    of places where nothing fits are passed over; where ``depth`` counts, each place is looked at.
    """
    state = space.state
    rules = model.rules
    longest = rules.window if rules.backfill == EASY else NEVER
    left = UNKNOWN  # the longest that ends by the shadow
    width = 0  # the bits of what is free
    while width < WIDTHS - 1 and space.free[0, 0] >> width > 0:
        width += 1
    limited = len(space.used) > 0
    again = False
    i = head + 1
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
            if space.queue[WAITING, i] != GAP and (not limited or may_start(space, i, model.jobs)):
                looked += 1
                if fits_free(space, i) and space.queue[ESTIMATE, i] <= longest:
                    if left == UNKNOWN:
                        left = left_to_shadow(space, model, head)
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
