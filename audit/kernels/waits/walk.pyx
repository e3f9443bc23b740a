"""Book each second of each wait to one cause (SPEC §11, *Walk at t*).

Attempts are numbered in the order of the queue: (arrival, submit, sequence), unless priorities are
known. Times are in s. Time is cut where an attempt arrives, starts, ends or leaves the queue, where
the capacity changes, at the given ``cut`` (edges of rules and holds), and where an attempt lapses.
Between two such instants decisions stand.

What lacks a resource, what has lapsed and what waits behind others is booked by sums of its class
(line.pxi, shares.pxi); only what may start is visited at each instant, and of what cannot start what
reserves (plan.pxi). Where rules may forbid something, all blocks are visited.

All parts are one module: as seven (facts, plan, floor, line, shares, blocks, walk) the same walks
take 4 to 6 % more CPU in deep and shallow queues, as few of their calls are coarse.
"""

cimport cython
from libc.math cimport fabs, rint
from libc.stdint cimport INT64_MAX as NEVER, int32_t, int64_t, uint8_t

import numpy as np

from audit.kernels.choice cimport Choice, add_candidate, choose_by_key, choose_by_runs
from audit.kernels.fenwick cimport add_at, sum_to
from audit.kernels.growing cimport GrowingTable, add_row
from audit.kernels.rows cimport parts_on
from audit.kernels.sweeps cimport first_above, time_at

include "facts.pxi"
include "plan.pxi"


@cython.final
cdef class PoolAt:
    """The pool at an instant."""

    cdef int64_t now
    cdef int64_t[::1] capacity  # [kinds]: resources; where there are nodes, of each set of them
    cdef int64_t[::1] free  # capacity − use; may be negative
    cdef int64_t[::1] used
    cdef int64_t[::1] moved  # by the attempt that starts or ends
    cdef int64_t[:, ::1] by_user  # kinds × users: use by each
    cdef int64_t[::1] outage  # [parts of the machine]: the one that lasts, or the next one
    cdef int64_t out  # the sum of 2 ** part over those in which an outage lasts
    cdef int64_t walk  # number of the last walk

    def __cinit__(
        self, const int64_t[::1] capacity, Py_ssize_t users, const int64_t[::1] first_outage
    ):
        """Make a pool of this capacity in which nothing runs."""
        cdef Py_ssize_t resources = capacity.shape[0]
        self.capacity, self.free = np.array(capacity), np.array(capacity)
        self.used, self.moved = np.zeros((2, resources), np.int64)
        self.by_user = np.zeros((resources, users), np.int64)
        self.walk = self.now = 0
        self.outage = np.array(first_outage[: first_outage.shape[0] - 1])
        self.out = 0


cdef Py_ssize_t short_of(
    const int64_t[:, ::1] request, Py_ssize_t k, int64_t kind, PoolAt state
) noexcept nogil:
    """Return the first resource that lacks most of its capacity; FITS; or EXCEEDS.

    A request, column ``k``, that exceeds a capacity does so even where that resource is not the
    short one. Its first kind is ``kind``.
    """
    cdef Py_ssize_t short = FITS, x
    cdef double most = 0.0, lack
    for x in range(request.shape[0]):
        if request[x, k] > state.free[kind + x] and request[x, k] > 0:
            if request[x, k] > state.capacity[kind + x]:
                return EXCEEDS
            lack = <double> (request[x, k] - state.free[kind + x]) / state.capacity[kind + x]
            if lack > most:
                most = lack
                short = x
    return short


include "floor.pxi"
include "line.pxi"
include "shares.pxi"


cdef double ROUNDING = 1e-7  # of sums of divided seconds, s


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Bookings:
    """Output of the sweep, which adds to it."""

    cdef double[:, ::1] seconds  # causes × attempts
    cdef int64_t[:, ::1] forbidden  # rules × attempts: s in which each forbids it
    # (resources + 2) × attempts: s in which it would fit on nodes but for this
    cdef int64_t[:, ::1] lacking
    cdef uint8_t[::1] lapsed  # [attempts]
    cdef double[::1] idle  # [attempts]: its part of the free amount that could have been used
    # Stretches of one cause in the waits of blocks, in the order in which they begin: the first and
    # the last member, cause, begin, end. The cause of a divided stretch is its greatest part. A traced
    # attempt has LAPSED for UNEXPLAINED, and LAPSED + 1 + k, for rule k, for RULE.
    cdef GrowingTable spans
    # If it is not None, nothing is booked above; stretches in which attempts could start are UNEXPLAINED
    # ones, and those in which the request of a class was free are added here: class, begin, end.
    cdef GrowingTable room
    # Starts, those that waited, behind, both, broken, stretches, lapses; empty: nothing is counted
    cdef int64_t[::1] counts


cdef enum:
    STARTS, WAITED, BEHIND, WAITED_BEHIND, BROKEN, STRETCHES, LAPSES, COUNTS


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Idle:
    """Stretches in which nothing runs in a part of the machine."""

    cdef int64_t open  # the sum of 2 ** part over those in which nothing runs
    cdef int64_t[::1] running  # [parts], attempts
    cdef int64_t[::1] begin  # [parts]: of the stretch that lasts
    cdef int64_t[::1] waited  # s in which an attempt waits that fits and that nothing forbids
    cdef GrowingTable found  # part, begin, end, waited


@cython.final
cdef class Walk:
    """The decisions of the last walk."""

    cdef int64_t depth  # the most reservations
    cdef bint strict  # nobody starts behind one that cannot
    cdef bint all  # whether each block is visited, as rules may forbid it
    cdef bint failed  # whether a live block could not start
    cdef int64_t first_user  # of the first reservation
    cdef int64_t parted, member  # a block of which members start, and the next one to look at
    cdef int64_t first_place  # the last attempt of its block; NEVER: there is none
    cdef double idle  # the free part of what could have used the counted resource, ≤ 1
    # Classes
    cdef int64_t[::1] short  # the short resource, FITS, EXCEEDS or SCATTERED
    cdef uint8_t[::1] fits  # whether it fits in what is left
    cdef int64_t[::1] cut  # the first attempt from which on it does not, as others claimed; NEVER: none
    cdef int64_t[::1] cut_before  # that of the walk before
    cdef int64_t[::1] opened  # the last walk in which it fit in free(t)
    cdef int64_t[::1] tally
    cdef int64_t[::1] lacks  # without which resource a SCATTERED one would fit
    cdef int64_t[::1] sized  # after which change of nodes ``too_small`` was found
    cdef uint8_t[::1] too_small  # whether it does not fit on available nodes, were they empty
    cdef int64_t[::1] upcoming  # the next seat to be visited; NOBODY: none
    cdef int64_t[::1] alive  # classes with blocks that may claim or reserve, each once
    cdef int64_t[::1] alive_in  # the last walk of ``Counting`` in which a class was one of them
    cdef Py_ssize_t alives
    # Blocks
    cdef int64_t[::1] step  # that could start
    cdef Py_ssize_t steps
    cdef int64_t[::1] step_before  # of the walk before
    cdef Py_ssize_t steps_before
    cdef int64_t[::1] noted  # held by a recorded reason
    cdef Py_ssize_t notes
    cdef int64_t[::1] barred  # forbidden by a rule
    cdef Py_ssize_t bars
    cdef int64_t[::1] fresh  # that joined since the walk before
    cdef Py_ssize_t freshes
    # Stretches of groups whose own claims alone are in the way
    cdef int64_t[::1] range_group
    cdef int64_t[::1] range_from
    cdef int64_t[::1] range_to
    cdef Py_ssize_t ranges
    cdef int64_t[::1] user_seen  # [users], the last walk in which it claimed
    cdef int64_t traced  # NOBODY: no attempt

    def __cinit__(
        self, WaitLog log, Waitlist line, Py_ssize_t users, Py_ssize_t most, int64_t depth,
        bint strict,
        bint all
    ):
        """Decide nothing yet."""
        cdef Py_ssize_t classes = line.live.shape[0], groups = line.class_of.shape[0]
        self.depth, self.strict, self.all = depth, strict, all
        self.short, self.cut, self.cut_before, self.upcoming = np.zeros((4, classes), np.int64)
        self.opened = np.full(classes, -2)
        self.tally, self.alive, self.alive_in, self.lacks = np.zeros((4, classes), np.int64)
        self.fits, self.too_small = np.zeros((2, classes), np.uint8)
        self.sized = np.full(classes, -1)
        self.step, self.step_before, self.noted, self.barred = np.zeros((4, most + 1), np.int64)
        self.fresh = np.zeros(2 * most + 1, np.int64)
        self.range_group, self.range_from, self.range_to = np.zeros((3, groups + 1), np.int64)
        self.user_seen = np.zeros(users, np.int64)
        self.alives = self.steps = self.steps_before = self.notes = self.bars = 0
        self.freshes = self.ranges = 0
        waiting, traced = np.asarray(log.by_arrival), np.asarray(log.flags) & TRACED > 0
        self.traced = max(waiting[traced[waiting]], default=NOBODY)
        self.failed = False
        self.first_user, self.first_place, self.idle = UNKNOWN, NEVER, 0.0
        self.parted = self.member = NOBODY


cdef struct Coming:
    # The next event of each kind: indices into the orders of the log.
    Py_ssize_t arrival
    Py_ssize_t start
    Py_ssize_t starter
    Py_ssize_t end
    Py_ssize_t leave
    Py_ssize_t step
    Py_ssize_t node
    Py_ssize_t cut
    Py_ssize_t hold
    Py_ssize_t release
    Py_ssize_t cycle
    Py_ssize_t planned


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Sweep:
    """All that one sweep works on."""

    cdef WaitLog log
    cdef LogCourse course
    cdef Ruled rules
    cdef WalkNodes nodes
    cdef Floor floor
    cdef PoolAt state
    cdef Counting counting
    cdef Waitlist line
    cdef Holders shares
    cdef WalkPlan plan
    cdef Walk walk
    cdef Bookings made
    cdef Idle idle  # None: waits are booked
    cdef int64_t[::1] mark  # [attempts], the age when the last cycle began


def book_account(
    WaitLog log, LogCourse course, Ruled rules, WalkNodes nodes, const int64_t[::1] capacity,
    Py_ssize_t most,
    int64_t lapse_s, int64_t depth, bint strict, Bookings made
):
    """Add each second of each wait to one of its causes, and count starts beside the plan.

    Args:
        nodes: the pool's nodes; none: its sums decide.
        capacity: capacity before any step; where there are nodes, of each set of them.
        most: the greatest number of attempts that wait, or start, at one time.
        lapse_s: the age at which an attempt lapses.
        depth: the most reservations of a walk.
        strict: nobody starts behind one that cannot; ``depth`` is 0.

    Raises:
        MemoryError: there is no memory for the claims.
    """
    cdef Sweep sweep = _sweep_of(
        log, course, rules, nodes, capacity, most, lapse_s, depth, strict, made, None
    )
    with nogil:
        _run(sweep)
    if sweep.floor.taken.places < 0:
        raise MemoryError


def find_idle(
    WaitLog log, LogCourse course, Ruled rules, WalkNodes nodes, const int64_t[::1] capacity,
    Py_ssize_t most, Py_ssize_t parts
):
    """Return the stretches in which nothing runs in a part of the machine while the log lasts.

    Returns:
        part, begin, end, waited: s in which an attempt waited that the part could hold; [k, 4].

    Raises:
        MemoryError: there is no memory for them.
    """
    running, begin, waited = np.zeros((3, parts), np.int64)
    cdef Idle idle = Idle(0, running, begin, waited, GrowingTable(4))
    cdef Sweep sweep = _sweep_of(
        log, course, rules, nodes, capacity, most, NEVER, 0, False, None, idle
    )
    with nogil:
        _run(sweep)
    return idle.found.taken()


cdef Sweep _sweep_of(
    WaitLog log, LogCourse course, Ruled rules, WalkNodes nodes, const int64_t[::1] capacity,
    Py_ssize_t most,
    int64_t lapse_s, int64_t depth, bint strict, Bookings made, Idle idle
):
    cdef Py_ssize_t users = int(np.max(log.user, initial=UNKNOWN)) + 1
    cdef Py_ssize_t count = rules.most.shape[0] + rules.first_span.shape[0] - 1 + rules.recorded
    cdef Waitlist line = Waitlist(log, nodes, users, most, count, lapse_s)
    cdef Floor floor = Floor(nodes, log.by_end.shape[0], most, depth)
    line.books = made is not None and made.room is None
    cdef Holders shares = Holders(log, nodes, floor, line, users)
    cdef Py_ssize_t sums = 0 if floor.on else capacity.shape[0]
    return Sweep(
        log, course, rules, nodes, floor, PoolAt(capacity, users, course.first_outage),
        Counting(rules), line, shares,
        WalkPlan(sums, log.expected.shape[0], most, depth),
        Walk(log, line, users, most, depth, strict, count > 0), made, idle, np.zeros(log.user.shape[0], np.int64)
    )


cdef void _run(Sweep s) noexcept nogil:
    cdef Coming coming = Coming(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    cdef int64_t now, lapse_at = NEVER
    while coming.leave < s.log.by_leave.shape[0] or (
        coming.starter < s.log.starters.shape[0] if s.idle is None
        else s.idle.open != 0 and coming.start < s.log.by_start.shape[0]
    ):
        now = min(_next_time(s, coming), lapse_at)
        if s.idle is None:
            if s.line.books:
                coming.cycle = _mark_cycles(s, coming.cycle, now)
                _pass(s, now)
            else:
                _note_room(s, now)
        else:
            _watch(s, now)
        s.state.now = now
        if s.idle is None:
            _lapse_all(s)
        coming = _happen(s, coming, now)
        if s.idle is not None:
            _note_idle(s.idle, now, s.course.begin)
            continue
        _walk(s, now, _next_time(s, coming))
        s.walk.freshes = 0
        lapse_at = _next_lapse(s, now)
    if s.idle is not None:
        _end_idle(s.idle, s.idle.open, NEVER)


cdef int64_t _next_time(Sweep s, Coming coming) noexcept nogil:
    """Return the next instant, unless something lapses before it."""
    cdef int64_t now = time_at(s.log.leave, s.log.by_leave, coming.leave)
    now = min(now, time_at(s.log.arrival, s.log.by_arrival, coming.arrival))
    now = min(now, time_at(s.log.start, s.log.by_start, coming.start))
    now = min(now, time_at(s.log.start, s.log.starters, coming.starter))
    now = min(now, time_at(s.log.end, s.log.by_end, coming.end))
    if coming.step < s.course.step.shape[0]:
        now = min(now, s.course.step[coming.step])
    if coming.cut < s.course.cut.shape[0]:
        now = min(now, s.course.cut[coming.cut])
    if coming.node < s.nodes.change.shape[0]:
        now = min(now, s.nodes.change_time[coming.node])
    return now


cdef void _watch(Sweep s, int64_t now) noexcept nogil:
    """Add the time in which an attempt waits that fits the capacity and that nothing forbids."""
    cdef int64_t slot = s.line.front_slot, open = s.idle.open, home
    cdef Py_ssize_t part
    s.counting.walk += 1
    while slot != NOBODY and open:
        home = home_of(s, s.line.first[slot]) & open
        if (
            home
            and state_of(s, s.line.of[slot]) == FITS
            and not is_forbidden(s.rules, s.counting, s.line.first[slot], s.state.now)
            and recorded_rule(s.log, s.course, s.line.first[slot], s.state.now) == NOTHING
        ):
            for part in range(s.idle.waited.shape[0]):
                s.idle.waited[part] += (home >> part & 1) * (now - s.state.now)
            open &= ~home
        slot = s.line.behind[slot]


cdef Py_ssize_t state_of(Sweep s, int64_t c) noexcept nogil:
    """Return the short resource of a class; FITS, EXCEEDS or SCATTERED."""
    cdef Py_ssize_t short = short_of(s.line.request, c, s.line.kind[c], s.state)
    if not s.floor.on or short == EXCEEDS:
        return short
    if short == FITS and fits_on(s.nodes, s.floor, s.floor.free_on, s.line.sample[c]):
        return FITS
    if _is_too_small(s, c):
        return EXCEEDS
    return SCATTERED if short == FITS else short


cdef inline int64_t home_of(Sweep s, int64_t i) noexcept nogil:
    """Return the sum of 2 ** part over the parts of the machine that attempt ``i`` may use."""
    return s.nodes.home[s.nodes.set_of[i]] if s.floor.on else 1


cdef inline bint is_out(Sweep s, int64_t c) noexcept nogil:
    """Return whether an outage lasts in all parts of the machine that a class may use."""
    return home_of(s, s.line.sample[c]) & ~s.state.out == 0


cdef bint _is_too_small(Sweep s, int64_t c) noexcept nogil:
    """Return whether a class would not fit on its available nodes if they were empty."""
    if s.walk.sized[c] != s.floor.changes:
        s.walk.sized[c] = s.floor.changes
        s.walk.too_small[c] = not fits_on(s.nodes, s.floor, s.nodes.capacity, s.line.sample[c])
    return s.walk.too_small[c]


cdef void _note_idle(Idle idle, int64_t now, int64_t begin) noexcept nogil:
    """Begin or end stretches in which nothing runs; before the log begins the use is unknown."""
    cdef Py_ssize_t part
    cdef int64_t bit
    for part in range(idle.running.shape[0]):
        bit = <int64_t> 1 << part
        if idle.running[part] > 0:
            _end_idle(idle, idle.open & bit, now)
        elif now >= begin and not idle.open & bit:
            idle.open |= bit
            idle.begin[part], idle.waited[part] = now, 0


cdef void _end_idle(Idle idle, int64_t ended, int64_t now) noexcept nogil:
    """End the stretches of the parts ``ended``, the sum of 2 ** part."""
    cdef Py_ssize_t part
    cdef int64_t* row
    idle.open &= ~ended
    for part in range(idle.running.shape[0] if ended else 0):
        row = add_row(idle.found) if ended >> part & 1 else NULL
        if row != NULL:
            row[0], row[1], row[2], row[3] = part, idle.begin[part], now, idle.waited[part]


include "happen.pxi"
include "decide.pxi"
include "pass.pxi"
