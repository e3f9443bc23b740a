"""Where a simulation lives: what is simulated, and the arrays that every step of it works on.

The arrays of a ``Space`` are allotted once and used for many simulations. The attempts that run
stand in ``run`` and ``held``, by expected end. Those that wait stand in ``queue`` and ``asked``
between ``state[HEAD]`` and ``state[TAIL]``, in the order in which they are served; one that has
started stays as a gap, which fits nowhere, until gaps are the greater part.
"""

from typing import NamedTuple

import numpy as np

from audit.kernels.arrays import Bools, Floats, Ints, IntTable
from audit.kernels.compiled import inner
from audit.kernels.scheduling.limits import Limits, allowed, count, pass_edges
from audit.kernels.scheduling.owners import Ledger, Owners
from audit.kernels.scheduling.profile import NEVER, Profile, add_amounts, copy_amounts, fits

# Codes of Rules.backfill.
NONE, NO_GUARANTEE, EASY, CONSERVATIVE, REPLAN = range(5)

# Codes of Rules.order and Rules.fair: what the order of the queue goes by.
RANK, EXPANSION, FAIRSHARE, NUWT, MULTIFACTOR = range(5)
BY_OWNER = FAIRSHARE  # this and those after it

# Registers: elements of Space.state. Of all that happens:
NOW = 0  # the instant, epoch s
STEP = 1  # how many of the steps have been taken
ARRIVING = 2  # index of the next attempt to arrive
UNTIL = 3  # index behind the last one that does
# of those that run:
RUNNING = 4  # how many they are
NEXT_END = 5  # when the first of them ends, or NEVER
# of those that wait:
HEAD = 6  # the first place of the queue that is none of its gaps, if any waits
TAIL = 7  # the place behind its last one
ALIVE = 8  # how many they are, gaps not counted
ARRANGED = 9  # for which instant (or tick) the queue is in order; else OUT_OF_ORDER
FREED = 10  # conservative: until when what has been freed since the last compression is free
# of this simulation:
TARGET = 11  # it stops when this attempt has started; NOBODY: it does not
GHOST = 12  # this attempt leaves the queue when it would start, and occupies nothing; or NOBODY
CHARGING = 13  # what the ledger is told of what starts: NOTHING_CHARGED, …
# of its passes and windows:
DUE = 14  # when the next pass is, where something has happened since the last one; or NEVER
NEWS = 15  # 1: something ended early, or capacity stepped, since the last pass
EDGE = 16  # index of the next edge of a window
LATER = 17  # by how much it is later than it says
QUIET = 18  # until when edges are waited for where nothing else is to come; NEVER: it is
SOONEST = 19  # conservative: the first planned start of those that wait, or NEVER
PAUSE = 20  # it stops before the first instant from here on, and can go on; NEVER: it does not
# of its passes by rank, which need not look again at whom the last one could not start:
FRESH = 21  # the first place that may have changed since; 0: all may, for more may be free
SHADOW = 22  # easy: the head's shadow, if its ``extra`` is known too; NEVER: none; or UNKNOWN
REGISTERS = 23

# Rows of Space.run.
EXPECTED = 0  # the expected end
END = 1  # the actual one
JOB = 2
RUN_ROWS = 3
# Rows of Space.queue.
WAITING = 0  # the attempt, or GAP
ESTIMATE = 1
WIDTH = 2  # see Jobs.width
QUEUE_ROWS = 3

# Values of state[CHARGING].
NOTHING_CHARGED, CHARGED, BOOKED = range(3)

NOBODY = -1
GAP = -1
UNKNOWN = -1  # when the shadow is, or how long it is to it
HUGE = 1 << 62  # what a gap asks for
UNPLANNED = -1
LOST = -2
OUT_OF_ORDER = -(1 << 62)

# The queue is bounded in blocks of 64 places: see Space.bounds.
BLOCK_BITS = 6
WIDTHS = 24
# Values of Space.bounds: what is known of a block.
STALE = 0  # nothing
LOOSE = 1  # bounds, some of which are too low: who had them has left
TIGHT = 2


class Jobs(NamedTuple):
    """The attempts of a pool in the order (arrival, submit, sequence)."""

    arrival: Ints
    occupancy: Ints
    estimate: Ints
    rank: Ints
    """Place in the order of the queue, where that does not change with time; < 0: never queued."""
    width: Ints
    """Bits of the request of the first resource, at most WIDTHS − 1."""
    request: IntTable  # resources × attempts
    owner: Ints
    """A node of the share tree (``fairshare``, ``multifactor``), or a number (``nuwt``)."""
    charge: Floats
    """What it uses per second (``fairshare``, ``multifactor``) or in all (``nuwt``)."""
    limits: Limits


class Steps(NamedTuple):
    """How much is added to what is free, and when; ascending."""

    time: Ints
    change: IntTable  # resources × steps
    planned: Bools
    job: Ints
    """The blocked attempt that begins with it, ``ending(job)`` of one that ends, or NOBODY."""
    number: int


class Rules(NamedTuple):
    """A policy; without a limit ``depth``, ``window`` and ``reservations`` are NEVER."""

    order: int
    fair: int
    """What a fair order goes by: FAIRSHARE or NUWT; RANK: arrival."""
    latest_last: bool
    """First come first served."""
    backfill: int
    depth: int
    window: int
    every: int
    """Passes are at multiples of so many seconds since ``origin``; 0: whenever something is."""
    origin: int
    between: bool
    """Whether passes from the front of the queue are at all other instants."""
    reservations: int
    """For how many that cannot start passes that plan afresh keep a place."""


class Model(NamedTuple):
    """What is simulated."""

    jobs: Jobs
    steps: Steps
    rules: Rules
    owners: Owners


class Space(NamedTuple):
    """Where a simulation lives; room for as many attempts as can be in it at one time."""

    state: Ints
    """The registers."""
    free: IntTable  # resources × 1
    """What is free now; may be negative."""
    extra: IntTable  # resources × 1
    """Under ``easy``: what the head of the queue leaves at the shadow; else working space."""
    used: Ints  # [counters]
    """What counts in each, see ``limits``."""
    run: IntTable  # EXPECTED, END, JOB × those that run, ascending by EXPECTED
    held: IntTable  # resources × those that run
    queue: IntTable  # WAITING, ESTIMATE, WIDTH × places
    asked: IntTable  # resources × places: what those that wait ask for
    bounds: Ints  # [blocks]
    """Of each block of places, so that a pass can leave out what cannot start: whether the next two
    hold. Whoever leaves lets them be lower than they need be, which does no harm."""
    shortest: IntTable  # WIDTHS × blocks
    """The least estimate of those up to each width."""
    least: Ints  # [blocks]
    """The least request of the first resource."""
    plan: Ints  # [places]
    """Under ``conservative``: the planned start; NEVER: nowhere, or of a gap; UNPLANNED: not yet;
    LOST: a limit did not allow it. The latter two are below 0."""
    freed: Ints  # [places]
    """As ``state[FREED]``, for one place: what those behind it in the queue gave up."""
    spare: IntTable  # 2 × places: working space
    profile: Profile
    ledger: Ledger
    begun: Ints  # [attempts]
    """Gets the start of each attempt that starts."""
    planned: Ints  # [attempts] or none
    """Gets the first plan of each attempt under ``conservative``, unless that is lost."""
    resources: int
    """How many there are."""


def space(
    resources: int,
    attempts: int,
    steps: int,
    counters: int,
    ledger: Ledger,
    begun: Ints,
    planned: Ints,
) -> Space:
    """Room for ``attempts`` at one time, and for ``steps`` planned steps."""
    places = attempts + 2
    blocks = (places >> BLOCK_BITS) + 2
    breakpoints = 4 * places + 2 * steps + 8
    return Space(
        state=np.zeros(REGISTERS, np.int64),
        free=np.zeros((resources, 1), np.int64),
        extra=np.zeros((resources, 1), np.int64),
        used=np.zeros(counters, np.int64),
        run=np.zeros((RUN_ROWS, places), np.int64),
        held=np.zeros((resources, places), np.int64),
        queue=np.zeros((QUEUE_ROWS, places), np.int64),
        asked=np.zeros((resources, places), np.int64),
        bounds=np.zeros(blocks, np.int64),
        shortest=np.zeros((WIDTHS, blocks), np.int64),
        least=np.zeros(blocks, np.int64),
        plan=np.zeros(places, np.int64),
        freed=np.zeros(places, np.int64),
        spare=np.zeros((2, places), np.int64),
        profile=Profile(
            times=np.zeros(breakpoints, np.int64),
            levels=np.zeros((resources, breakpoints), np.int64),
            bounds=np.zeros(2, np.int64),
            resources=resources,
        ),
        ledger=ledger,
        begun=begun,
        planned=planned,
        resources=resources,
    )


@inner
def ending(job: int) -> int:
    """How ``Steps.job`` says that an attempt ends; its own inverse."""
    return -2 - job


@inner
def reset(space: Space, capacity: Ints) -> None:
    """Makes an empty pool of a space."""
    state = space.state
    for register in range(REGISTERS):
        state[register] = 0
    state[NEXT_END] = NEVER
    state[TARGET] = NOBODY
    state[GHOST] = NOBODY
    state[DUE] = NEVER
    state[QUIET] = NEVER
    state[SOONEST] = NEVER
    state[PAUSE] = NEVER
    space.used[:] = 0
    for x in range(space.resources):
        space.free[x, 0] = capacity[x]


@inner
def add_steps(steps: Steps, step: int, instant: int, free: IntTable, resources: int) -> int:
    """Adds to ``free`` the steps from index ``step`` to an instant; gives the index behind them."""
    while step < steps.number and steps.time[step] <= instant:
        add_amounts(free, 0, steps.change, step, 1, resources)
        step += 1
    return step


@inner
def fits_free(space: Space, i: int) -> bool:
    """Whether what waits at place ``i`` fits in what is free now."""
    return fits(space.asked, i, space.free, 0, False, space.resources)


@inner
def may_start(space: Space, i: int, jobs: Jobs) -> bool:
    """Whether limits and windows allow what waits at place ``i``, which is no gap, to start now."""
    return allowed(jobs.limits, space.used, space.queue[WAITING, i])


@inner
def take_steps(space: Space, steps: Steps, jobs: Jobs) -> None:
    """Takes the steps up to now; what begins or ends with them counts, or does no longer."""
    state = space.state
    first = state[STEP]
    state[STEP] = add_steps(steps, first, state[NOW], space.free, space.resources)
    if state[STEP] > first:
        state[FRESH] = 0
    for step in range(first, state[STEP]):
        if steps.job[step] > NOBODY:
            count(jobs.limits, space.used, steps.job[step], 1)
        elif steps.job[step] < NOBODY:
            count(jobs.limits, space.used, ending(steps.job[step]), -1)


@inner
def let_edges_pass(space: Space, jobs: Jobs) -> None:
    """Opens and closes windows up to now."""
    state = space.state
    state[EDGE], state[LATER] = pass_edges(
        jobs.limits.edges, state[EDGE], state[LATER], state[NOW], space.used
    )


@inner
def hold(space: Space, job: int, expected: int, end: int, jobs: Jobs) -> None:
    """Enters an attempt among those that run, and takes its request from what is free."""
    run, state, resources = space.run, space.state, space.resources
    add_amounts(space.free, 0, jobs.request, job, -1, resources)
    i = state[RUNNING]
    while i > 0 and run[EXPECTED, i - 1] > expected:
        i -= 1
    move_up(space, i)
    run[EXPECTED, i] = expected
    run[END, i] = end
    run[JOB, i] = job
    copy_amounts(space.held, i, jobs.request, job, resources)
    state[RUNNING] += 1
    state[NEXT_END] = min(state[NEXT_END], end)
    count(jobs.limits, space.used, job, 1)


@inner
def release(space: Space, jobs: Jobs) -> None:
    """Frees what has ended by now."""
    run, state = space.run, space.state
    now, running = state[NOW], state[RUNNING]
    kept = running
    for i in range(running):
        if run[END, i] <= now:
            kept = i
            break
    first = kept  # of those that may stay, and are not at their place
    for i in range(kept, running):
        if run[END, i] <= now:
            add_amounts(space.free, 0, space.held, i, 1, space.resources)
            count(jobs.limits, space.used, run[JOB, i], -1)
            move_down(space, first, i, first - kept)
            kept += i - first
            first = i + 1
    move_down(space, first, running, first - kept)
    state[RUNNING] = kept + running - first
    state[NEXT_END] = first_end(space)
    state[FRESH] = 0


@inner
def first_end(space: Space) -> int:
    """When the first of those that run ends, or NEVER."""
    run = space.run
    first = NEVER
    for i in range(space.state[RUNNING]):
        first = min(first, run[END, i])
    return first


@inner
def move_up(space: Space, first: int) -> None:
    """Makes room at place ``first`` of those that run; row by row, for that is a copy of memory."""
    run, held, running = space.run, space.held, space.state[RUNNING]
    for row in range(RUN_ROWS):
        for i in range(running, first, -1):
            run[row, i] = run[row, i - 1]
    for x in range(space.resources):
        for i in range(running, first, -1):
            held[x, i] = held[x, i - 1]


@inner
def move_down(space: Space, first: int, beyond: int, by: int) -> None:
    """Moves those that run from place ``first`` to before ``beyond`` down by so many places."""
    run, held = space.run, space.held
    if by == 1:  # the compiler makes this a copy of memory only where it knows how far
        for row in range(RUN_ROWS):
            for i in range(first, beyond):
                run[row, i - 1] = run[row, i]
        for x in range(space.resources):
            for i in range(first, beyond):
                held[x, i - 1] = held[x, i]
    elif by > 1:
        for row in range(RUN_ROWS):
            for i in range(first, beyond):
                run[row, i - by] = run[row, i]
        for x in range(space.resources):
            for i in range(first, beyond):
                held[x, i - by] = held[x, i]
