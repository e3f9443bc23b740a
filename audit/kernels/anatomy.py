"""Takes waits apart: the sweep of ``audit.metrics.attempts.anatomy``, which says what a part is.

Attempts are numbered in the order (arrival, submit, sequence), 0, 1, …; there are R resources.
Time is cut where something starts, ends, leaves the queue, or the capacity changes. What came to
the queue since the last cut stands behind all that waits, so it changes nothing for the others, and
its own second count from its arrival.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from audit.kernels.arrays import Floats, Ints, IntTable
from audit.kernels.compiled import inner, kernel
from audit.kernels.sweeps import time_at

NEVER = np.iinfo(np.int64).max
UNKNOWN = 0  # the number of a user whom nobody knows: nothing is known to be its own
DOWN = -1


class Log(NamedTuple):
    """The attempts of a pool; in it over [arrival, leave) in the queue, over [start, end) at work.

    The orders leave out who has no such span, and those of no length.
    """

    arrival: Ints
    leave: Ints
    start: Ints
    end: Ints
    user: Ints
    """A number from 1 on, or UNKNOWN."""
    request: IntTable  # R × attempts, ≥ 0
    ready: Ints
    """From when on a policy would have started it, or NEVER; before that, it keeps the room."""
    by_arrival: Ints  # of those that wait: ascending
    by_leave: Ints  # of the same
    by_start: Ints
    by_end: Ints


class Steps(NamedTuple):
    """What the capacity changes by, and when; ascending."""

    time: Ints
    change: IntTable  # steps × R


class Pool(NamedTuple):
    """What there is at an instant, [R]."""

    capacity: Ints
    free: Ints
    """The capacity less what is in use; may be negative."""
    left: Ints
    """Working space: what is free less what those before in the queue have taken of it."""
    ahead: Ints
    """The same: what is in use by those before in the order."""
    used: Ints
    by_user: IntTable
    """R × users: what is in use by each."""


class Line(NamedTuple):
    """Those that wait, in their order, between ``ends[HEAD]`` and ``ends[TAIL]``.

    It has more than twice the places that are ever taken at one time, so that it seldom has to be
    moved to its beginning.
    """

    attempt: Ints
    user: Ints
    asked: IntTable  # R × places: their requests
    ahead: IntTable
    """R × places: what is in use by attempts that arrived before this one, and not before the one
    in the place before."""
    total: Ints
    """[R], the sum of these."""
    ends: Ints
    own_ahead: IntTable
    """R × attempts: what is in use by attempts of the same user that arrived before."""
    last: Ints
    """Of each user, who came last of those that wait, or NOBODY."""
    before: Ints
    """Of each attempt that waits, who of the same user came before it, or NOBODY."""
    after: Ints
    """The other way round."""


NOBODY = -1
HEAD = 0
TAIL = 1


class Parts(NamedTuple):
    """Seconds of each attempt's wait; what the sweep adds to."""

    room: Ints
    kept: Ints  # part of room, before ``Log.ready``
    shared: Ints
    down: Ints
    own: Floats
    earlier: Floats
    later: Floats


def take_waits_apart(
    log: Log, steps: Steps, capacity: NDArray[np.int64], most: int, parts: Parts
) -> None:
    """Adds each second of each wait to one of its parts.

    Args:
        log: the attempts of one pool.
        steps: how its capacity changes.
        capacity: what it has before any step, [R].
        most: how many ever wait at one time; where they are more, memory is overwritten.
        parts: what is added to.
    """
    several, count = log.request.shape
    users, places = int(log.user.max(initial=UNKNOWN)) + 1, 2 * most + 1
    pool = Pool(
        capacity=capacity.copy(),
        free=capacity.copy(),
        left=np.empty(several, np.int64),
        ahead=np.empty(several, np.int64),
        used=np.zeros(several, np.int64),
        by_user=np.zeros((several, users), np.int64),
    )
    line = Line(
        attempt=np.empty(places, np.int64),
        user=np.empty(places, np.int64),
        asked=np.empty((several, places), np.int64),
        ahead=np.empty((several, places), np.int64),
        total=np.zeros(several, np.int64),
        ends=np.zeros(2, np.int64),
        own_ahead=np.empty((several, count), np.int64),
        last=np.full(users, NOBODY, np.int64),
        before=np.empty(count, np.int64),
        after=np.empty(count, np.int64),
    )
    take_apart(log, steps, pool, line, parts)


@kernel
def take_apart(log: Log, steps: Steps, pool: Pool, line: Line, parts: Parts) -> None:
    """As ``take_waits_apart``; ``pool`` and ``line``, which is empty, are working space.

    ``pool`` is as it is before any step, when nothing runs.
    """
    coming = 0
    starting = 0
    ending = 0
    leaving = 0
    step = 0
    since = 0
    while leaving < len(log.by_leave):
        now = time_at(log.leave, log.by_leave, leaving)
        now = min(now, time_at(log.start, log.by_start, starting))
        now = min(now, time_at(log.end, log.by_end, ending))
        if step < len(steps.time):
            now = min(now, steps.time[step])
        new = line.ends[TAIL] - line.ends[HEAD]
        coming = join(log, pool, line, coming, now)
        spend(log, pool, line, parts, new, since, now)
        since = now
        while step < len(steps.time) and steps.time[step] == now:
            for x in range(len(pool.free)):
                pool.capacity[x] += steps.change[step, x]
                pool.free[x] += steps.change[step, x]
            step += 1
        while time_at(log.leave, log.by_leave, leaving) == now:
            part_with(log, line, log.by_leave[leaving])
            leaving += 1
        while time_at(log.end, log.by_end, ending) == now:
            occupy(log, pool, line, log.by_end[ending], -1)
            ending += 1
        coming = join(log, pool, line, coming, now + 1)
        while time_at(log.start, log.by_start, starting) == now:
            occupy(log, pool, line, log.by_start[starting], 1)
            starting += 1


@inner
def join(log: Log, pool: Pool, line: Line, coming: int, before: int) -> int:
    """Puts those that arrive before an instant behind all that wait; returns who comes next.

    All that runs arrived before them.
    """
    while time_at(log.arrival, log.by_arrival, coming) < before:
        if line.ends[TAIL] == len(line.attempt):
            move_up(line)
        place = line.ends[TAIL]
        i = log.by_arrival[coming]
        user = log.user[i]
        line.attempt[place] = i
        line.user[place] = user
        for x in range(len(pool.free)):
            line.asked[x, place] = log.request[x, i]
            line.ahead[x, place] = pool.used[x] - line.total[x]
            line.total[x] = pool.used[x]
            line.own_ahead[x, i] = pool.by_user[x, user]
        previous = line.last[user]
        line.before[i] = previous
        line.after[i] = NOBODY
        if previous != NOBODY:
            line.after[previous] = i
        line.last[user] = i
        line.ends[TAIL] += 1
        coming += 1
    return coming


@inner
def part_with(log: Log, line: Line, i: int) -> None:
    """Closes the gap that attempt ``i`` leaves, from the end that is nearer."""
    head = line.ends[HEAD]
    tail = line.ends[TAIL]
    place = place_of(line, i)
    for x in range(len(line.total)):
        if place + 1 < tail:
            line.ahead[x, place + 1] += line.ahead[x, place]
        else:
            line.total[x] -= line.ahead[x, place]
    if place - head < tail - place:
        for gap in range(place, head, -1):
            copy_place(line, gap - 1, gap)
        line.ends[HEAD] += 1
    else:
        for gap in range(place, tail - 1):
            copy_place(line, gap + 1, gap)
        line.ends[TAIL] -= 1
    previous = line.before[i]
    following = line.after[i]
    if previous != NOBODY:
        line.after[previous] = following
    if following != NOBODY:
        line.before[following] = previous
    else:
        line.last[log.user[i]] = previous


@inner
def place_of(line: Line, i: int) -> int:
    """The place of attempt ``i``, or else of the first that comes after it."""
    low: int = line.ends[HEAD]
    high = line.ends[TAIL]
    while low < high:
        middle = (low + high) // 2
        if line.attempt[middle] < i:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def move_up(line: Line) -> None:
    """Moves all that wait to the beginning of the line."""
    head = line.ends[HEAD]
    for place in range(head, line.ends[TAIL]):
        copy_place(line, place, place - head)
    line.ends[TAIL] -= head
    line.ends[HEAD] = 0


@inner
def copy_place(line: Line, source: int, target: int) -> None:
    """Writes what stands at one place to another."""
    line.attempt[target] = line.attempt[source]
    line.user[target] = line.user[source]
    for x in range(len(line.asked)):
        line.asked[x, target] = line.asked[x, source]
        line.ahead[x, target] = line.ahead[x, source]


@inner
def occupy(log: Log, pool: Pool, line: Line, i: int, sign: int) -> None:
    """Attempt ``i``, which does not wait, takes what it asked for (1), or gives it back (−1)."""
    user = log.user[i]
    place = place_of(line, i)
    for x in range(len(pool.free)):
        amount = sign * log.request[x, i]
        pool.used[x] += amount
        pool.free[x] -= amount
        if place < line.ends[TAIL]:
            line.ahead[x, place] += amount
            line.total[x] += amount
        if user != UNKNOWN:
            pool.by_user[x, user] += amount
            own = line.last[user]
            while own > i:
                line.own_ahead[x, own] += amount
                own = line.before[own]


@inner
def spend(log: Log, pool: Pool, line: Line, parts: Parts, new: int, since: int, now: int) -> None:
    """Adds the time up to ``now`` to the parts of all that wait.

    The first ``new`` of them have waited ``since`` the last cut, the others from their arrivals.
    """
    for x in range(len(pool.free)):
        pool.left[x] = pool.free[x]
        pool.ahead[x] = 0
    new += line.ends[HEAD]
    spend_alike(log, pool, line, parts, line.ends[HEAD], new, since, now)
    for place in range(new, line.ends[TAIL]):
        arrival = log.arrival[line.attempt[place]]
        spend_alike(log, pool, line, parts, place, place + 1, arrival, now)


@inner
def spend_alike(
    log: Log, pool: Pool, line: Line, parts: Parts, first: int, last: int, since: int, now: int
) -> None:
    """Adds the time ``since`` then to the parts of all from place ``first`` to before ``last``."""
    if len(pool.free) == 1:
        spend_of_one(log, pool, line, parts, first, last, since, now)
        return
    time = now - since
    for place in range(first, last):
        i = line.attempt[place]
        for x in range(len(pool.ahead)):
            pool.ahead[x] += line.ahead[x, place]
        if not fits(line.asked, place, pool.free):
            x = short_of(line.asked, place, pool)
            if x == DOWN:
                parts.down[i] += time
                continue
            own = pool.by_user[x, line.user[place]]
            earlier = pool.ahead[x] - line.own_ahead[x, i]
            each = time / pool.used[x]
            parts.own[i] += each * own
            parts.earlier[i] += each * earlier
            parts.later[i] += each * (pool.used[x] - own - earlier)
        elif fits(line.asked, place, pool.left):
            parts.room[i] += time
            parts.kept[i] += min(max(log.ready[i] - since, 0), time)
            for x in range(len(pool.left)):
                pool.left[x] -= line.asked[x, place]
        else:
            parts.shared[i] += time


@inner
def spend_of_one(
    log: Log, pool: Pool, line: Line, parts: Parts, first: int, last: int, since: int, now: int
) -> None:
    """The same where there is one resource."""
    time = now - since
    asked_by = line.asked[0]
    more_ahead = line.ahead[0]
    own_ahead = line.own_ahead[0]
    by_user = pool.by_user[0]
    free = pool.free[0]
    left = pool.left[0]
    capacity = pool.capacity[0]
    used = pool.used[0]
    ahead = pool.ahead[0]
    each = time / used if used > 0 else 0.0
    for place in range(first, last):
        i = line.attempt[place]
        asked = asked_by[place]
        ahead += more_ahead[place]
        if asked > free and asked > 0:
            if asked > capacity:
                parts.down[i] += time
                continue
            own = by_user[line.user[place]]
            earlier = ahead - own_ahead[i]
            parts.own[i] += each * own
            parts.earlier[i] += each * earlier
            parts.later[i] += each * (used - own - earlier)
        elif asked <= left or asked == 0:
            parts.room[i] += time
            parts.kept[i] += min(max(log.ready[i] - since, 0), time)
            left -= asked
        else:
            parts.shared[i] += time
    pool.left[0] = left
    pool.ahead[0] = ahead


@inner
def fits(asked: IntTable, place: int, amounts: Ints) -> bool:
    """Whether there is enough of all that is asked for."""
    for x in range(len(amounts)):
        if asked[x, place] > amounts[x] and asked[x, place] > 0:
            return False
    return True


@inner
def short_of(asked: IntTable, place: int, pool: Pool) -> int:
    """The resource that lacks most of its capacity, the first of them; DOWN where there is less.

    It asks for no more of it than there is, so something of it is in use.
    """
    short = DOWN
    most = 0.0
    for x in range(len(pool.free)):
        if asked[x, place] > pool.free[x] and asked[x, place] > 0:
            if asked[x, place] > pool.capacity[x]:
                return DOWN
            lack = (asked[x, place] - pool.free[x]) / pool.capacity[x]
            if lack > most:
                most = lack
                short = x
    return short
