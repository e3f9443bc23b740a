"""The tabu search for a better plan of those that wait ([K] §4; SPEC §8, *TS*).

A simulation lives in a ``Space``; what the search needs beside it is in ``Room``. A *slot* is one
of those that wait with a planned start, by place in the queue. ``slots[START]`` is the schedule
that is being tried, ``slots[BEST]`` the best so far, ``slots[ORDER]`` the slots by their start in
the latter. The profile of the space goes with the former, that of the room with the latter.
"""

from typing import NamedTuple

import numpy as np

from audit.kernels.arrays import Floats, FloatTable, Ints, IntTable, Words
from audit.kernels.compiled import inner
from audit.kernels.scheduling.profile import (
    BEYOND,
    FIRST,
    NEVER,
    Profile,
    add_between,
    copy_amounts,
    earlier,
    earliest,
)
from audit.kernels.scheduling.space import (
    FREED,
    GAP,
    HEAD,
    NOW,
    TAIL,
    UNPLANNED,
    WAITING,
    Jobs,
    Space,
)

# Registers: elements of Room.state. Of a simulation:
TAKEN = 0  # how many of the random words have been used
LACKING = 1  # how many the search needs that is due
INTERRUPTED = 2  # 1: a search is due, and the caller is asked for words, or to watch the clock
CEASE = 3  # 1: the caller's clock has run out
MET = 4  # how many have arrived and not been seen to end
# of the search that goes on:
SLOTS = 5  # how many slots there are
OWNERS = 6  # how many owners have been seen
HELD = 7  # length of the tabu list so far
OLDEST = 8  # place of its oldest element
# and what searches came to:
SEARCHES = 9
TRIED = 10  # plans that were made by moving an attempt
ACCEPTED = 11  # those of them that were better
REGISTERS = 12

# Rows of Room.slots.
JOB = 0
PLACE = 1  # in the queue
START = 2  # in the schedule that is tried
BEST = 3  # in the best schedule
ORDER = 4  # no property of a slot: the slots in order of BEST
TABU = 5  # 1: on the tabu list
ROWS = 6

# Rows of Room.met: attempts that have arrived and not ended.
WHO = 0
RUNS = 1  # 1: it has been seen to run

# Columns of Room.measures.
SLOWDOWN, WAIT, RESPONSE, FAIRNESS, MEASURES = range(5)
# Its rows.
BEST_OF = 0
TRIED_OF = 1

MARGIN = 1e-9
"""A weight up to this is none: rounding decides nothing."""


class Room(NamedTuple):
    """Where a search lives, and what it knows of owners."""

    state: Ints
    """The registers."""
    slots: IntTable  # JOB, … TABU × slots
    tabu: Ints
    """The slots moved last, a ring; as long as the tabu list."""
    profile: Profile
    """Of the best schedule."""
    met: IntTable  # WHO, RUNS × attempts
    waited: Ints
    """By owner: of what has ended or runs."""
    used: Floats
    """By owner, resource·s: of what has ended, and by estimate of what runs."""
    seen: Ints
    """By owner: how many have ended or run."""
    waits: Ints
    """By owner: ``waited`` and what the schedule adds to it."""
    area: Floats
    """By owner: ``used`` and what waits, by estimate."""
    owners: Ints
    """Those seen, what waits included."""
    nuwt: Floats
    """Of each of those."""
    measures: FloatTable  # BEST_OF, TRIED_OF × the four measures


class Search(NamedTuple):
    """How it is searched."""

    origin: int
    every: int
    """A search at each multiple of this since ``origin``, s."""
    turns: int
    """Iterations for each that waits."""
    timed: bool
    """Whether to return before each search, so that the caller can bound its time."""


def room(space: Space, attempts: int, owners: int, tabu: int) -> Room:
    """Room for so many attempts and owners beside a space, and a tabu list."""
    return Room(
        state=np.zeros(REGISTERS, np.int64),
        slots=np.zeros((ROWS, attempts + 1), np.int64),
        tabu=np.zeros(tabu, np.int64),
        profile=Profile(
            times=np.zeros_like(space.profile.times),
            levels=np.zeros_like(space.profile.levels),
            bounds=np.zeros_like(space.profile.bounds),
            resources=space.resources,
        ),
        met=np.zeros((2, attempts + 1), np.int64),
        waited=np.zeros(owners, np.int64),
        used=np.zeros(owners),
        seen=np.zeros(owners, np.int64),
        waits=np.zeros(owners, np.int64),
        area=np.zeros(owners),
        owners=np.zeros(owners, np.int64),
        nuwt=np.zeros(owners),
        measures=np.zeros((2, MEASURES)),
    )


@inner
def copy_profile(source: Profile, target: Profile) -> None:
    """Copies a profile."""
    first = source.bounds[FIRST]
    target.bounds[FIRST] = 0
    target.bounds[BEYOND] = source.bounds[BEYOND] - first
    for k in range(target.bounds[BEYOND]):
        target.times[k] = source.times[first + k]
        copy_amounts(target.levels, k, source.levels, first + k, source.resources)


@inner
def gather(space: Space, room: Room, jobs: Jobs) -> None:
    """Makes the slots of what waits with a planned start, and finds the owners seen."""
    slots = room.slots
    count = 0
    for i in range(space.state[HEAD], space.state[TAIL]):
        plan = space.plan[i]
        if space.queue[WAITING, i] == GAP or plan in (UNPLANNED, NEVER):
            continue
        slots[JOB, count] = space.queue[WAITING, i]
        slots[PLACE, count] = i
        slots[START, count] = plan
        slots[BEST, count] = plan
        slots[ORDER, count] = count
        slots[TABU, count] = 0
        count += 1
    for owner in range(len(room.area)):
        room.area[owner] = room.used[owner]
        room.waits[owner] = room.seen[owner]
    for slot in range(count):
        job = slots[JOB, slot]
        room.area[jobs.owner[job]] += float(jobs.estimate[job] * jobs.request[0, job])
        room.waits[jobs.owner[job]] += 1
    known = 0
    for owner in range(len(room.area)):
        if room.waits[owner] > 0:
            room.owners[known] = owner
            known += 1
    room.state[SLOTS] = count
    room.state[OWNERS] = known
    sort(room)


@inner
def sort(room: Room) -> None:
    """Puts ``slots[ORDER]`` in order of the best schedule's starts; ties by slot."""
    slots = room.slots
    for i in range(1, room.state[SLOTS]):
        slot = slots[ORDER, i]
        start = slots[BEST, slot]
        k = i
        while k > 0:
            before = slots[ORDER, k - 1]
            if slots[BEST, before] < start or (slots[BEST, before] == start and before < slot):
                break
            slots[ORDER, k] = before
            k -= 1
        slots[ORDER, k] = slot


@inner
def measure(room: Room, jobs: Jobs, row: int) -> None:
    """Writes the four measures of the schedule that is tried to a row of ``measures``.

    Sums over the slots in place of means: only ratios between schedules of the same slots matter.
    """
    slots = room.slots
    owners = room.owners
    known = room.state[OWNERS]
    for k in range(known):
        room.waits[owners[k]] = room.waited[owners[k]]
    slowdown = 0.0
    waited: int = 0
    ran: int = 0
    for slot in range(room.state[SLOTS]):
        job = slots[JOB, slot]
        wait = slots[START, slot] - jobs.arrival[job]
        estimate = jobs.estimate[job]
        slowdown += (wait + estimate) / estimate  # ≥ 1, and estimates are ≥ 1 s
        waited += wait
        ran += estimate
        room.waits[jobs.owner[job]] += wait
    mean = 0.0
    for k in range(known):
        area = room.area[owners[k]]
        room.nuwt[k] = room.waits[owners[k]] / area if area > 0 else 0.0
        mean += room.nuwt[k]
    mean /= max(known, 1)
    spread = 0.0
    for k in range(known):
        off = room.nuwt[k] - mean
        spread += off * off
    room.measures[row, SLOWDOWN] = slowdown
    room.measures[row, WAIT] = float(waited)
    room.measures[row, RESPONSE] = float(waited + ran)
    room.measures[row, FAIRNESS] = spread


@inner
def better(measures: FloatTable) -> bool:
    """SELECTBETTER ([K] Algorithm 1): whether the schedule that is tried is the better one."""
    weight = 0.0
    for k in range(MEASURES):
        had = measures[BEST_OF, k]
        has = measures[TRIED_OF, k]
        if had > 0:
            weight += (had - has) / had
        elif has > 0:
            weight -= 1.0
    return weight > MARGIN


@inner
def draw(room: Room, words: Words) -> int:
    """A slot that is not tabu, at random, or −1; in the order of the best schedule."""
    slots = room.slots
    count = room.state[SLOTS]
    left = 0
    for k in range(count):
        left += 1 - slots[TABU, k]
    if left == 0:
        return -1
    word = words[room.state[TAKEN]] >> np.uint64(32)
    room.state[TAKEN] += 1
    index = np.int64((word * np.uint64(left)) >> np.uint64(32))
    i = 0
    while True:
        slot: int = slots[ORDER, i]
        index -= 1 - slots[TABU, slot]
        if index < 0:
            return slot
        i += 1


@inner
def plan(space: Space, slot: int, room: Room, start: int, sign: int, jobs: Jobs) -> None:
    """Adds (sign > 0) to what is free, or takes, what a slot holds when it starts at ``start``."""
    job = room.slots[JOB, slot]
    add_between(space.profile, start, start + jobs.estimate[job], jobs.request, job, sign)


@inner
def tighten(space: Space, room: Room, leaving: int, jobs: Jobs) -> bool:
    """Puts all slots but ``leaving``, in order of start, at the earliest start that fits.

    None moves later. Whether any has moved.
    """
    slots = room.slots
    now = space.state[NOW]
    moved = False
    for i in range(room.state[SLOTS]):
        slot = slots[ORDER, i]
        planned = slots[START, slot]
        if slot == leaving or planned <= now:
            continue
        job = slots[JOB, slot]
        start = earlier(
            space.profile, now, planned, NEVER, jobs.estimate[job], jobs.request, job, 0, 0
        )
        if start < planned:
            plan(space, slot, room, planned, 1, jobs)
            plan(space, slot, room, start, -1, jobs)
            slots[START, slot] = start
            moved = True
    return moved


@inner
def try_out(space: Space, room: Room, slot: int, jobs: Jobs) -> bool:
    """Takes a slot out, compresses, and puts it back at the earliest start that is left.

    Whether this makes another schedule.
    """
    job = room.slots[JOB, slot]
    planned = room.slots[START, slot]
    plan(space, slot, room, planned, 1, jobs)
    moved = tighten(space, room, slot, jobs)
    now = space.state[NOW]
    start = earliest(space.profile, now, jobs.estimate[job], jobs.request, job, 0, 0)
    room.slots[START, slot] = start
    if start != NEVER:
        plan(space, slot, room, start, -1, jobs)
    return moved or start != planned


@inner
def choose(space: Space, room: Room, slot: int, jobs: Jobs) -> bool:
    """Keeps the schedule that is tried where it is better than the best; whether it is."""
    slots = room.slots
    count = room.state[SLOTS]
    taken = False
    if slots[START, slot] != NEVER:
        measure(room, jobs, TRIED_OF)
        taken = better(room.measures)
    if taken:
        for i in range(count):
            slots[BEST, i] = slots[START, i]
        for k in range(MEASURES):
            room.measures[BEST_OF, k] = room.measures[TRIED_OF, k]
        copy_profile(space.profile, room.profile)
        sort(room)
    else:
        for i in range(count):
            slots[START, i] = slots[BEST, i]
        copy_profile(room.profile, space.profile)
    return taken


@inner
def forbid(room: Room, slot: int) -> None:
    """Puts a slot on the tabu list, from which the oldest goes where it is full."""
    state, tabu = room.state, room.tabu
    length = len(tabu)
    if state[HELD] == length:
        room.slots[TABU, tabu[state[OLDEST]]] = 0
        tabu[state[OLDEST]] = slot
        state[OLDEST] = (state[OLDEST] + 1) % length
    else:
        tabu[(state[OLDEST] + state[HELD]) % length] = slot
        state[HELD] += 1
    room.slots[TABU, slot] = 1


@inner
def allow_all(room: Room) -> None:
    """Empties the tabu list."""
    for slot in range(room.state[SLOTS]):
        room.slots[TABU, slot] = 0
    room.state[HELD] = 0
    room.state[OLDEST] = 0


@inner
def optimise(space: Space, room: Room, jobs: Jobs, search: Search, words: Words) -> None:
    """TABUSEARCH ([K] Algorithm 2) over what waits; the best schedule becomes the plan."""
    state = room.state
    gather(space, room, jobs)
    measure(room, jobs, BEST_OF)
    copy_profile(space.profile, room.profile)
    allow_all(room)
    state[SEARCHES] += 1
    accepted = 0
    for _ in range(search.turns * state[SLOTS]):
        if state[CEASE] > 0:
            break
        slot = draw(room, words)
        if slot < 0:
            allow_all(room)
            continue
        state[TRIED] += 1
        if try_out(space, room, slot, jobs):
            accepted += int(choose(space, room, slot, jobs))
        forbid(room, slot)
    if accepted > 0:
        state[ACCEPTED] += accepted
        space.state[FREED] = NEVER  # any of them may move at the next compression
        for i in range(state[SLOTS]):
            space.plan[room.slots[PLACE, i]] = room.slots[BEST, i]
