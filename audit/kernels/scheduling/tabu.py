"""Conservative backfilling whose plan is optimised by a tabu search ([K] §4; SPEC §8, *TS*).

A simulation lives in a ``passes.Space``; what the search needs beside it is in ``Room``. A *slot*
is one of those that wait with a planned start, by place in the queue. ``slots[START]`` is the
schedule that is being tried, ``slots[BEST]`` the best so far, ``slots[ORDER]`` the slots by their
start in the latter. The profile in the space goes with the former, ``times``, ``levels`` and
``bounds`` of the room with the latter.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from audit.kernels.jit import inlined, lean
from audit.kernels.scheduling.owners import Floats
from audit.kernels.scheduling.passes import (
    ALIVE,
    ARRIVING,
    FREED,
    GAP,
    HEAD,
    NEXT_END,
    NOW,
    STEP,
    TAIL,
    UNPLANNED,
    UNTIL,
    WAITING,
    Jobs,
    Rules,
    Space,
    Steps,
    enqueue,
    next_plan,
    pass_conservative,
    release,
    release_plans,
)
from audit.kernels.scheduling.space import (
    BEYOND,
    FIRST,
    NEVER,
    Ints,
    add,
    earlier,
    earliest,
    forget_past,
)

Words = NDArray[np.uint64]

# Elements of state.
TAKEN, LACKING, INTERRUPTED, CEASE, MET, SLOTS, TRIED, ACCEPTED, SEARCHES, STATES = range(10)
# Rows of slots.
JOB, PLACE, START, BEST, ORDER, TABU, ROWS = range(7)
# Rows of met: attempts that have arrived and not ended, and whether they have been seen to run.
WHO, RUNS = range(2)
# Columns of measures; the rows are the best schedule and the one that is tried.
SLOWDOWN, WAIT, RESPONSE, FAIRNESS, MEASURES = range(5)
BEST_OF, TRIED_OF = range(2)

MARGIN = 1e-9
"""A weight up to this is none: rounding decides nothing."""


class Room(NamedTuple):
    """Where a search lives, and what it knows of owners."""

    state: Ints
    slots: Ints
    tabu: Ints
    """The slots moved last, a ring; as long as the tabu list."""
    times: Ints
    levels: Ints
    bounds: Ints
    met: Ints
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
    measures: Floats


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
        state=np.zeros(STATES, np.int64),
        slots=np.zeros((ROWS, attempts + 1), np.int64),
        tabu=np.zeros(tabu, np.int64),
        times=np.zeros_like(space.times),
        levels=np.zeros_like(space.levels),
        bounds=np.zeros_like(space.bounds),
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


@inlined
def copy_profile(
    times: Ints, levels: Ints, bounds: Ints, to_times: Ints, to_levels: Ints, to_bounds: Ints
) -> None:
    """Copies a profile."""
    first = bounds[FIRST]
    to_bounds[FIRST] = 0
    to_bounds[BEYOND] = bounds[BEYOND] - first
    for k in range(to_bounds[BEYOND]):
        to_times[k] = times[first + k]
        for x in range(len(levels)):
            to_levels[x, k] = levels[x, first + k]


@lean
def account(room: Room, jobs: Jobs, begun: Ints, now: int) -> None:
    """Enters with their owners who has started or ended by now."""
    met = room.met
    kept = 0
    for i in range(room.state[MET]):
        job = met[WHO, i]
        runs = met[RUNS, i]
        if begun[job] <= now:
            owner = jobs.owner[job]
            expected = float(jobs.estimate[job] * jobs.request[0, job])
            if runs == 0:
                runs = 1
                room.seen[owner] += 1
                room.waited[owner] += begun[job] - jobs.arrival[job]
                room.used[owner] += expected
            if begun[job] + jobs.occupancy[job] <= now:
                room.used[owner] += jobs.charge[job] - expected
                continue
        met[WHO, kept] = job
        met[RUNS, kept] = runs
        kept += 1
    room.state[MET] = kept


@lean
def gather(space: Space, room: Room, jobs: Jobs) -> int:
    """Makes the slots of what waits with a planned start, and the owners; gives their number."""
    at = space.at
    slots = room.slots
    count = 0
    for i in range(at[HEAD], at[TAIL]):
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
    sort(room)
    return known


@lean
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


@lean
def measure(room: Room, jobs: Jobs, known: int, of: int) -> None:
    """The four measures of the schedule that is tried, to row ``of`` of ``measures``.

    Sums over the slots in place of means: only ratios between schedules of the same slots matter.
    """
    slots = room.slots
    owners = room.owners
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
        spread += (room.nuwt[k] - mean) ** 2
    room.measures[of, SLOWDOWN] = slowdown
    room.measures[of, WAIT] = float(waited)
    room.measures[of, RESPONSE] = float(waited + ran)
    room.measures[of, FAIRNESS] = spread


@inlined
def better(measures: Floats) -> bool:
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


@inlined
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


@lean
def move(space: Space, room: Room, slot: int, start: int, jobs: Jobs, resources: Any) -> None:
    """Plans a slot for another start, where it is planned."""
    job = room.slots[JOB, slot]
    had = room.slots[START, slot]
    lasts = jobs.estimate[job]
    times, levels, bounds = space.times, space.levels, space.bounds
    add(times, levels, bounds, had, had + lasts, jobs.request, job, 1, resources)
    add(times, levels, bounds, start, start + lasts, jobs.request, job, -1, resources)
    room.slots[START, slot] = start


@lean
def tighten(space: Space, room: Room, leaving: int, jobs: Jobs, resources: Any) -> bool:
    """Puts all slots but ``leaving``, in order of start, at the earliest start that fits.

    None moves later. Whether any has moved.
    """
    slots = room.slots
    now = space.at[NOW]
    moved = False
    for i in range(room.state[SLOTS]):
        slot = slots[ORDER, i]
        plan = slots[START, slot]
        if slot == leaving or plan <= now:
            continue
        job = slots[JOB, slot]
        start = earlier(
            space.times,
            space.levels,
            space.bounds,
            now,
            plan,
            NEVER,
            jobs.estimate[job],
            jobs.request,
            job,
            resources,
        )
        if start < plan:
            move(space, room, slot, start, jobs, resources)
            moved = True
    return moved


@lean
def try_out(space: Space, room: Room, slot: int, jobs: Jobs, resources: Any) -> bool:
    """Takes a slot out, compresses, and puts it back at the earliest start that is left.

    Whether this makes another schedule.
    """
    job = room.slots[JOB, slot]
    had = room.slots[START, slot]
    lasts = jobs.estimate[job]
    times, levels, bounds = space.times, space.levels, space.bounds
    add(times, levels, bounds, had, had + lasts, jobs.request, job, 1, resources)
    moved = tighten(space, room, slot, jobs, resources)
    start = earliest(times, levels, bounds, space.at[NOW], lasts, jobs.request, job, resources)
    room.slots[START, slot] = start
    if start != NEVER:
        add(times, levels, bounds, start, start + lasts, jobs.request, job, -1, resources)
    return moved or start != had


@lean
def optimise(
    space: Space, room: Room, jobs: Jobs, search: Search, words: Words, resources: Any
) -> None:
    """TABUSEARCH ([K] Algorithm 2) over what waits; the best schedule becomes the plan."""
    state = room.state
    slots = room.slots
    known = gather(space, room, jobs)
    count = state[SLOTS]
    measure(room, jobs, known, BEST_OF)
    copy_profile(space.times, space.levels, space.bounds, room.times, room.levels, room.bounds)
    state[SEARCHES] += 1
    length = len(room.tabu)
    oldest = 0
    held = 0
    accepted = 0
    for _ in range(search.turns * count):
        if state[CEASE] > 0:  # the caller's clock has run out
            break
        slot = draw(room, words)
        if slot < 0:
            for i in range(count):
                slots[TABU, i] = 0
            held = 0
            oldest = 0
            continue
        state[TRIED] += 1
        if try_out(space, room, slot, jobs, resources):
            taken = False
            if slots[START, slot] != NEVER:
                measure(room, jobs, known, TRIED_OF)
                taken = better(room.measures)
            if taken:
                for i in range(count):
                    slots[BEST, i] = slots[START, i]
                for k in range(MEASURES):
                    room.measures[BEST_OF, k] = room.measures[TRIED_OF, k]
                copy_profile(
                    space.times, space.levels, space.bounds, room.times, room.levels, room.bounds
                )
                sort(room)
                accepted += 1
            else:
                for i in range(count):
                    slots[START, i] = slots[BEST, i]
                copy_profile(
                    room.times, room.levels, room.bounds, space.times, space.levels, space.bounds
                )
        if held == length:
            slots[TABU, room.tabu[oldest]] = 0
            room.tabu[oldest] = slot
            oldest = (oldest + 1) % length
        else:
            room.tabu[(oldest + held) % length] = slot
            held += 1
        slots[TABU, slot] = 1
    if accepted > 0:
        state[ACCEPTED] += accepted
        space.at[FREED] = NEVER  # any of them may move at the next compression
        for i in range(count):
            space.plan[slots[PLACE, i]] = slots[BEST, i]


@lean
def pass_on(
    space: Space, jobs: Jobs, news: bool, begun: Ints, planned: Ints, resources: Any
) -> None:
    """Passes, until one starts nothing that ends at once."""
    at = space.at
    again = at[ALIVE] > 0
    while again:
        again = pass_conservative(space, jobs, news, begun, planned, resources)
        if again:
            news = release_plans(space, jobs, resources)
            release(space.run, at, space.free, at[NOW], resources)


@lean
def pursue(
    space: Space,
    room: Room,
    jobs: Jobs,
    steps: Steps,
    rules: Rules,
    search: Search,
    words: Words,
    begun: Ints,
    planned: Ints,
    resources: Any,
) -> bool:
    """Simulates a pool from ``at[NOW]`` on, until nothing waits and nobody arrives any more.

    Args:
        space: the state, after ``passes.foresee``.
        room: for the search; ``state[TAKEN]`` random words have been used.
        jobs, steps, rules: what is simulated: first come first served, ``conservative``. ``owner``
            numbers users and ``charge`` is what an attempt uses in all.
        search: when and how long.
        words: random.
        begun: gets the start of each attempt that starts; holds those of blocked ones.
        planned: gets the first plan of each attempt.
        resources: see ``kernels.scheduling.space``.

    Returns:
        Whether it came to the end. Else a search is due that needs ``state[LACKING]`` words: call
        it again with them, ``state[TAKEN]`` reset. While it searches, another thread may set
        ``state[CEASE]``: the search then ends with the best plan so far.
    """
    at = space.at
    state = room.state
    while True:
        now = at[NOW]
        resumed = state[INTERRUPTED] > 0
        if not resumed:
            news = False
            while at[STEP] < steps.number and steps.time[at[STEP]] <= now:
                step = at[STEP]
                rises = False
                for x in range(len(resources)):
                    space.free[x] += steps.change[x, step]
                    rises |= steps.change[x, step] > 0
                at[STEP] += 1
                news = True
                forget_past(space.times, space.bounds, now)
                if not steps.planned[step]:
                    add(
                        space.times,
                        space.levels,
                        space.bounds,
                        now,
                        NEVER,
                        steps.change,
                        step,
                        1,
                        resources,
                    )
                    if rises:
                        at[FREED] = NEVER
            if at[NEXT_END] <= now:
                forget_past(space.times, space.bounds, now)
                news |= release_plans(space, jobs, resources)
                release(space.run, at, space.free, now, resources)
            while at[ARRIVING] < at[UNTIL] and (
                jobs.rank[at[ARRIVING]] < 0 or jobs.arrival[at[ARRIVING]] <= now
            ):
                job = at[ARRIVING]
                if jobs.rank[job] >= 0:
                    enqueue(space, job, jobs, rules, resources)
                if jobs.rank[job] >= 0 or begun[job] != NEVER:
                    room.met[WHO, state[MET]] = job
                    room.met[RUNS, state[MET]] = 0
                    state[MET] += 1
                at[ARRIVING] += 1
            pass_on(space, jobs, news, begun, planned, resources)
        if at[ALIVE] > 0 and (now - search.origin) % search.every == 0:
            state[LACKING] = search.turns * at[ALIVE]
            lacks = state[TAKEN] + state[LACKING] > len(words)
            state[INTERRUPTED] = int(lacks or (search.timed and not resumed))
            if state[INTERRUPTED] > 0:
                return False
            forget_past(space.times, space.bounds, now)
            account(room, jobs, begun, now)
            optimise(space, room, jobs, search, words, resources)
            pass_on(space, jobs, False, begun, planned, resources)
        if at[ALIVE] == 0 and at[ARRIVING] == at[UNTIL]:
            return True
        then = min(at[NEXT_END], next_plan(space))
        if at[ARRIVING] < at[UNTIL]:
            then = min(then, jobs.arrival[at[ARRIVING]])
        if at[STEP] < steps.number:
            then = min(then, steps.time[at[STEP]])
        if then == NEVER:
            return True
        if at[ALIVE] > 0:
            then = min(then, now + search.every - (now - search.origin) % search.every)
        at[NOW] = then
