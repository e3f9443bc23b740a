"""What is free of each resource, now and as planners expect it.

Amounts are int64. ``free`` has one element per resource; ``request`` a row per resource and a
column per attempt. ``resources`` only says how many there are: where there is one, the tuple
``(0,)``, which the compiler unrolls; else an array of as many elements.

A *profile* tells what is expected to be free from now on: ``times[k]`` to ``times[k + 1]`` leaves
``levels[:, k]``, for k from ``first`` to ``last``; the last level lasts for ever. ``bounds`` holds
``first`` and ``last`` + 1. Levels may be negative.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from audit.kernels.jit import inlined, lean

Ints = NDArray[np.int64]

NEVER = np.iinfo(np.int64).max
FIRST = 0  # of bounds
BEYOND = 1


@inlined
def fits_level(request: Ints, k: int, levels: Ints, at: int, resources: Any) -> bool:
    """Whether attempt ``k`` fits in level ``at`` of a profile."""
    for x in range(len(resources)):
        if request[x, k] > levels[x, at] and request[x, k] > 0:
            return False
    return True


@inlined
def fits_beside_itself(
    request: Ints, k: int, levels: Ints, at: int, itself: bool, resources: Any
) -> bool:
    """The same, where the level may hold attempt ``k`` itself."""
    for x in range(len(resources)):
        asked = request[x, k]
        if asked > 0 and asked > levels[x, at] + (asked if itself else 0):
            return False
    return True


@inlined
def forget_past(times: Ints, bounds: Ints, now: int) -> None:
    """Lets a profile begin at ``now``."""
    first = bounds[FIRST]
    while first + 1 < bounds[BEYOND] and times[first + 1] <= now:
        first += 1
    times[first] = max(times[first], now)
    bounds[FIRST] = first


@inlined
def cut(times: Ints, levels: Ints, bounds: Ints, instant: int, resources: Any) -> int:
    """Makes ``instant`` a breakpoint of a profile, not before its beginning; gives its index."""
    low: int = bounds[FIRST]
    high = bounds[BEYOND]
    while low < high:
        middle = (low + high) >> 1
        if times[middle] < instant:
            low = middle + 1
        else:
            high = middle
    if low < bounds[BEYOND] and times[low] == instant:
        return low
    if bounds[BEYOND] == len(times):  # make room where the past was
        gap = bounds[FIRST]
        for i in range(gap, bounds[BEYOND]):
            times[i - gap] = times[i]
            for x in range(len(resources)):
                levels[x, i - gap] = levels[x, i]
        bounds[FIRST] = 0
        bounds[BEYOND] -= gap
        low -= gap
    for i in range(bounds[BEYOND], low, -1):
        times[i] = times[i - 1]
    for x in range(len(resources)):
        for i in range(bounds[BEYOND], low - 1, -1):
            levels[x, i] = levels[x, i - 1]
    times[low] = instant
    bounds[BEYOND] += 1
    return low


@inlined
def join(times: Ints, levels: Ints, bounds: Ints, at: int, resources: Any) -> None:
    """Removes breakpoint ``at`` where nothing changes there."""
    if at <= bounds[FIRST] or at >= bounds[BEYOND]:
        return
    for x in range(len(resources)):
        if levels[x, at] != levels[x, at - 1]:
            return
    bounds[BEYOND] -= 1
    for i in range(at, bounds[BEYOND]):
        times[i] = times[i + 1]
    for x in range(len(resources)):
        for i in range(at, bounds[BEYOND]):
            levels[x, i] = levels[x, i + 1]


@lean
def add(
    times: Ints,
    levels: Ints,
    bounds: Ints,
    begin: int,
    end: int,
    request: Ints,
    k: int,
    sign: int,
    resources: Any,
) -> None:
    """Adds ``sign`` times the request of attempt ``k`` to a profile over [begin, end).

    ``end`` may be NEVER. Nothing before the beginning of the profile changes.
    """
    begin = max(begin, times[bounds[FIRST]])
    if begin >= end:
        return
    a = cut(times, levels, bounds, begin, resources)
    first = bounds[FIRST]
    b = bounds[BEYOND]
    if end != NEVER:
        b = cut(times, levels, bounds, end, resources)
        a -= first - bounds[FIRST]  # cutting may have moved everything
    for x in range(len(resources)):
        change = sign * request[x, k]
        for i in range(a, b):
            levels[x, i] += change
    join(times, levels, bounds, b, resources)
    join(times, levels, bounds, a, resources)


@lean
def earliest(
    times: Ints,
    levels: Ints,
    bounds: Ints,
    begin: int,
    duration: int,
    request: Ints,
    k: int,
    resources: Any,
) -> int:
    """The first instant from ``begin`` on where attempt ``k`` fits for ``duration``, or NEVER."""
    beyond = bounds[BEYOND]
    i = bounds[FIRST]
    while i + 1 < beyond and times[i + 1] <= begin:
        i += 1
    while True:
        while i < beyond and not fits_level(request, k, levels, i, resources):
            i += 1
        if i == beyond:
            return NEVER
        start: int = max(begin, times[i])
        until = start + duration
        i += 1
        while i < beyond and times[i] < until and fits_level(request, k, levels, i, resources):
            i += 1
        if i == beyond or times[i] >= until:
            return start


@lean
def earlier(
    times: Ints,
    levels: Ints,
    bounds: Ints,
    now: int,
    plan: int,
    before: int,
    duration: int,
    request: Ints,
    k: int,
    resources: Any,
) -> int:
    """The first instant before ``plan``, and before ``before``, at which attempt ``k`` fits.

    It is planned from ``plan`` on for ``duration``, which the profile holds and which is free for
    itself. Gives ``plan`` where there is none.
    """
    own_end = plan if plan == NEVER else plan + duration
    limit = min(plan, before)
    beyond = bounds[BEYOND]
    i = bounds[FIRST]
    while True:
        while i < beyond and times[i] < limit and not fits_level(request, k, levels, i, resources):
            i += 1
        if i == beyond:
            return plan
        start: int = max(now, times[i])
        if start >= limit:
            return plan
        until = start + duration
        i += 1
        while (
            i < beyond
            and times[i] < until
            and fits_beside_itself(
                request, k, levels, i, plan <= times[i] and times[i] < own_end, resources
            )
        ):
            i += 1
        if i == beyond or times[i] >= until:
            return start
