"""What fits, and what is expected to be free of each resource from now on.

Amounts are int64 and stand in columns: ``free`` has a row per resource and often a single column,
``request`` a column per attempt. ``resources`` says how many rows there are.
"""

from typing import NamedTuple

import numpy as np

from audit.kernels.arrays import Ints, IntTable
from audit.kernels.compiled import inner

NEVER = np.iinfo(np.int64).max

# Elements of Profile.bounds.
FIRST = 0  # the first breakpoint
BEYOND = 1  # the place behind the last one


class Profile(NamedTuple):
    """What planners expect to be free: ``levels[:, k]`` from ``times[k]`` to ``times[k + 1]``.

    That is so for k from ``bounds[FIRST]`` up to ``bounds[BEYOND]``; the last level lasts for ever.
    Levels may be negative.
    """

    times: Ints  # [breakpoints], ascending, epoch s
    levels: IntTable  # resources × breakpoints
    bounds: Ints
    resources: int


@inner
def fits(
    request: IntTable, k: int, free: IntTable, column: int, holds_it: bool, resources: int
) -> bool:
    """Whether attempt ``k`` fits in a column of ``free`` (SPEC §4, *fits*).

    ``holds_it``: the column has been lessened by the request of this very attempt.
    """
    for x in range(resources):
        asked = request[x, k]
        if asked > free[x, column] + (asked if holds_it else 0) and asked > 0:
            return False
    return True


@inner
def add_amounts(
    free: IntTable, column: int, amounts: IntTable, k: int, sign: int, resources: int
) -> None:
    """Adds ``sign`` times column ``k`` of ``amounts`` to a column of ``free``."""
    for x in range(resources):
        free[x, column] += sign * amounts[x, k]


@inner
def copy_amounts(target: IntTable, to: int, source: IntTable, column: int, resources: int) -> None:
    """Copies a column of ``source`` to column ``to`` of ``target``."""
    for x in range(resources):
        target[x, to] = source[x, column]


@inner
def forget_past(profile: Profile, now: int) -> None:
    """Lets a profile begin at ``now``."""
    times, bounds = profile.times, profile.bounds
    first = bounds[FIRST]
    while first + 1 < bounds[BEYOND] and times[first + 1] <= now:
        first += 1
    times[first] = max(times[first], now)
    bounds[FIRST] = first


@inner
def cut(profile: Profile, instant: int) -> int:
    """Makes ``instant`` a breakpoint of a profile, not before its beginning; gives its index."""
    times, levels, bounds, resources = profile
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
            copy_amounts(levels, i - gap, levels, i, resources)
        bounds[FIRST] = 0
        bounds[BEYOND] -= gap
        low -= gap
    for i in range(bounds[BEYOND], low, -1):
        times[i] = times[i - 1]
    for x in range(resources):
        for i in range(bounds[BEYOND], low - 1, -1):
            levels[x, i] = levels[x, i - 1]
    times[low] = instant
    bounds[BEYOND] += 1
    return low


@inner
def join(profile: Profile, at: int) -> None:
    """Removes breakpoint ``at`` where nothing changes there."""
    times, levels, bounds, resources = profile
    if at <= bounds[FIRST] or at >= bounds[BEYOND]:
        return
    for x in range(resources):
        if levels[x, at] != levels[x, at - 1]:
            return
    bounds[BEYOND] -= 1
    for i in range(at, bounds[BEYOND]):
        times[i] = times[i + 1]
    for x in range(resources):
        for i in range(at, bounds[BEYOND]):
            levels[x, i] = levels[x, i + 1]


@inner
def add_between(
    profile: Profile, begin: int, end: int, request: IntTable, k: int, sign: int
) -> None:
    """Adds ``sign`` times the request of attempt ``k`` to a profile over [begin, end).

    ``end`` may be NEVER. Nothing before the beginning of the profile changes.
    """
    levels, bounds = profile.levels, profile.bounds
    begin = max(begin, profile.times[bounds[FIRST]])
    if begin >= end:
        return
    a = cut(profile, begin)
    first = bounds[FIRST]
    b = bounds[BEYOND]
    if end != NEVER:
        b = cut(profile, end)
        a -= first - bounds[FIRST]  # cutting may have moved everything
    for x in range(profile.resources):
        change = sign * request[x, k]
        for i in range(a, b):
            levels[x, i] += change
    join(profile, b)
    join(profile, a)


@inner
def level_at(profile: Profile, i: int, instant: int) -> int:
    """The index, from ``i`` on, of the level at an instant that is not before ``times[i]``."""
    while i + 1 < profile.bounds[BEYOND] and profile.times[i + 1] <= instant:
        i += 1
    return i


@inner
def next_multiple(instant: int, every: int, origin: int) -> int:
    """The first multiple of ``every`` since ``origin`` from ``instant`` on; of 0: ``instant``."""
    return instant + (origin - instant) % every if every > 0 else instant


@inner
def earliest(
    profile: Profile,
    begin: int,
    duration: int,
    request: IntTable,
    k: int,
    every: int,
    origin: int,
) -> int:
    """The first instant from ``begin`` on where attempt ``k`` fits for ``duration``, or NEVER.

    One that is a multiple of ``every`` since ``origin``; 0: any.
    """
    times, levels, bounds, resources = profile
    beyond = bounds[BEYOND]
    i = level_at(profile, bounds[FIRST], begin)
    while True:
        while i < beyond and not fits(request, k, levels, i, False, resources):
            i += 1
        if i == beyond:
            return NEVER
        start: int = max(begin, times[i])
        if every > 0:
            start = next_multiple(start, every, origin)
            if i + 1 < beyond and times[i + 1] <= start:  # perhaps it does not fit there any more
                begin = start
                i = level_at(profile, i, start)
                continue
        until = start + duration
        i += 1
        while i < beyond and times[i] < until and fits(request, k, levels, i, False, resources):
            i += 1
        if i == beyond or times[i] >= until:
            return start


@inner
def earlier(
    profile: Profile,
    now: int,
    plan: int,
    before: int,
    duration: int,
    request: IntTable,
    k: int,
    every: int,
    origin: int,
) -> int:
    """The first instant before ``plan``, and before ``before``, at which attempt ``k`` fits.

    It is planned from ``plan`` on for ``duration``, which the profile holds and which is free for
    itself. Gives ``plan`` where there is none. For ``every`` and ``origin`` see ``earliest``.
    """
    times, levels, bounds, resources = profile
    own_end = plan if plan == NEVER else plan + duration
    limit = min(plan, before)
    beyond = bounds[BEYOND]
    i = bounds[FIRST]
    while True:
        while i < beyond and times[i] < limit and not fits(request, k, levels, i, False, resources):
            i += 1
        if i == beyond:
            return plan
        start: int = max(now, times[i])
        if every > 0:
            start = next_multiple(start, every, origin)
        if start >= limit:
            return plan
        if every > 0 and i + 1 < beyond and times[i + 1] <= start:
            now = start
            i = level_at(profile, i, start)
            continue
        until = start + duration
        i += 1
        while i < beyond and times[i] < until:
            planned_there = plan <= times[i] and times[i] < own_end
            if not fits(request, k, levels, i, planned_there, resources):
                break
            i += 1
        if i == beyond or times[i] >= until:
            return start
