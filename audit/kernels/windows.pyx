"""Find the spans of time in which a waiting attempt would have fitted, and hours without starts.

The sweep goes from instant to instant of the observed schedule. At each instant it walks the
waiting attempts in their order (SPEC §11, *Procedure at t*): one that a rule forbids claims
nothing; one that fits into the free capacity that the attempts before it left claims its request
until the next instant. Times are in s.
"""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t, uint8_t
from libc.stdlib cimport free, realloc

import numpy as np

from audit.kernels.rows cimport add, fits
from audit.kernels.sweeps cimport time_at


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Log:
    """The attempts of a pool in the order (arrival, submit, sequence), and its capacity steps."""

    cdef const int64_t[::1] arrival
    cdef const int64_t[::1] start  # the greatest int64: it has not started
    cdef const int64_t[::1] end
    cdef const int64_t[:, ::1] request  # resources × attempts
    cdef const uint8_t[::1] waits  # 1: it queues
    cdef const int64_t[::1] by_start  # attempts that have started, by start
    cdef const int64_t[::1] by_end  # the same, by end
    cdef const int64_t[::1] step_time  # ascending
    cdef const int64_t[:, ::1] step_change  # resources × steps, added to the free capacity


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Rules:
    """Limits and windows in force, as counters (``scenario.limits.Limits``), and outages."""

    cdef const int64_t[::1] first  # [attempts + 1], the first element of each in the next three
    cdef const int64_t[::1] counter
    cdef const int64_t[::1] amount
    cdef const uint8_t[::1] binding
    cdef const int64_t[::1] most  # [counters]
    cdef const int64_t[::1] edge_time  # ascending
    cdef const int64_t[::1] edge_counter
    cdef const int64_t[::1] edge_change
    cdef const int64_t[:, ::1] outage  # since, until; disjoint and ascending: no attempt waits then


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Trial:
    """A window to be judged: attempts that it forbids claim nothing."""

    cdef const uint8_t[::1] inside  # [attempts], 1: the window applies
    cdef const int64_t[::1] reach  # [attempts], how far before the window closes it forbids starts
    cdef const int64_t[::1] closes  # when the window closes, ascending
    cdef const int64_t[::1] opens  # when it opens again, the same number


include "growing.pxi"


cdef struct Next:
    # The next event of each kind.
    Py_ssize_t arrival  # attempt
    Py_ssize_t start  # index into by_start
    Py_ssize_t end  # index into by_end
    Py_ssize_t step
    Py_ssize_t edge
    Py_ssize_t outage
    Py_ssize_t window  # of the trial, the first that opens later


cdef enum State:
    OUT  # does not fit, or is forbidden
    FITS
    CLAIMS


@cython.final
cdef class Walk:
    """State of a sweep between instants."""

    cdef int64_t[::1] free  # [resources]
    cdef int64_t[::1] left  # [resources], free capacity after the claims of the current walk
    cdef int64_t[::1] used  # [counters], what runs
    cdef int64_t[::1] claimed  # [counters], claims of the current walk
    cdef int64_t[::1] queue
    cdef uint8_t[::1] state  # [attempts], a State
    cdef int64_t[::1] since  # [attempts], of the state
    cdef int64_t[::1] stretch  # [attempts], 0: its request is not free
    cdef int64_t waiting, stretches
    cdef int64_t least  # no waiting attempt requests less of the first resource
    cdef bint idle  # the last walk found nothing free for any


def fitting_spans(
    Log log not None, Rules rules not None, Trial trial not None, const int64_t[::1] capacity,
    Table out not None
):
    """Add the spans in which attempts would have fitted and no rule forbade their start.

    Args:
        log: the attempts.
        rules: what is in force.
        trial: what is judged.
        capacity: capacity before any step, [resources].
        out: a row is added for each span, by ``until``: attempt, since, until, stretch, and 1 if it
            claims. A *stretch* numbers the time, without a gap, in which the attempt's request was
            free. A span claims if the request also fitted beside the claims of those before it; one
            of an attempt that the trial forbids, if it would claim without it.

    Raises:
        MemoryError: there is no memory for the spans.
    """
    cdef Walk walk = Walk()
    cdef Py_ssize_t count = log.arrival.shape[0]
    walk.free = np.array(capacity)
    walk.left = np.empty_like(walk.free)
    walk.used = np.zeros(rules.most.shape[0], np.int64)
    walk.claimed = np.zeros(rules.most.shape[0], np.int64)
    walk.queue = np.empty(count, np.int64)
    walk.state = np.zeros(count, np.uint8)
    walk.since = np.zeros(count, np.int64)
    walk.stretch = np.zeros(count, np.int64)
    with nogil:
        _sweep(log, rules, trial, walk, out)
    if out.places < 0:
        raise MemoryError("no memory for the spans of waits")


cdef void _sweep(Log log, Rules rules, Trial trial, Walk walk, Table out) noexcept nogil:
    cdef Next coming = Next(0, 0, 0, 0, 0, 0, 0)
    cdef int64_t now
    cdef Py_ssize_t k
    while True:
        now = _next_time(log, rules, trial, coming)
        if now == NEVER:
            return
        coming = _happen(log, rules, trial, walk, coming, now, out)
        if walk.waiting == 0 or _next_time(log, rules, trial, coming) == NEVER:
            continue
        while coming.outage < rules.outage.shape[1] and rules.outage[1, coming.outage] <= now:
            coming.outage += 1
        if coming.outage < rules.outage.shape[1] and rules.outage[0, coming.outage] <= now:
            for k in range(walk.waiting):
                _change(walk, walk.queue[k], OUT, now, out)
                walk.stretch[walk.queue[k]] = 0
            walk.idle = False
        else:
            _queue_claims(log, rules, trial, walk, coming, now, out)


cdef int64_t _next_time(Log log, Rules rules, Trial trial, Next coming) noexcept nogil:
    """Return the next instant at which something happens, or NEVER."""
    cdef int64_t instant = time_at(log.start, log.by_start, coming.start)
    instant = min(instant, time_at(log.end, log.by_end, coming.end))
    if coming.arrival < log.arrival.shape[0]:
        instant = min(instant, log.arrival[coming.arrival])
    if coming.step < log.step_time.shape[0]:
        instant = min(instant, log.step_time[coming.step])
    if instant != NEVER and coming.edge < rules.edge_time.shape[0]:
        instant = min(instant, rules.edge_time[coming.edge])
    if instant != NEVER and coming.window < trial.opens.shape[0]:
        instant = min(instant, trial.opens[coming.window])
    return instant


cdef Next _happen(
    Log log, Rules rules, Trial trial, Walk walk, Next coming, int64_t now, Table out
) noexcept nogil:
    """Do what happens until ``now``: steps and edges, ends, arrivals, starts."""
    cdef bint started = False
    while coming.step < log.step_time.shape[0] and log.step_time[coming.step] <= now:
        add(walk.free, log.step_change, coming.step, 1)
        coming.step += 1
    while coming.edge < rules.edge_time.shape[0] and rules.edge_time[coming.edge] <= now:
        walk.used[rules.edge_counter[coming.edge]] += rules.edge_change[coming.edge]
        coming.edge += 1
    while coming.window < trial.opens.shape[0] and trial.opens[coming.window] <= now:
        coming.window += 1
    while time_at(log.end, log.by_end, coming.end) <= now:
        _occupy(log, rules, walk, log.by_end[coming.end], -1)
        coming.end += 1
    while coming.arrival < log.arrival.shape[0] and log.arrival[coming.arrival] <= now:
        if log.waits[coming.arrival] and log.start[coming.arrival] > now:
            walk.queue[walk.waiting] = coming.arrival
            walk.waiting += 1
            walk.least = min(walk.least, log.request[0, coming.arrival])
        coming.arrival += 1
    while time_at(log.start, log.by_start, coming.start) <= now:
        _occupy(log, rules, walk, log.by_start[coming.start], 1)
        coming.start += 1
        started = True
    if started:
        _leave_queue(log, walk, now, out)
    return coming


cdef void _occupy(
    Log log, Rules rules, Walk walk, Py_ssize_t job, int64_t sign
) noexcept nogil:
    """Take ``sign`` times the request of an attempt, and count it towards its limits."""
    cdef Py_ssize_t x
    add(walk.free, log.request, job, -sign)
    for x in range(rules.first[job], rules.first[job + 1]):
        walk.used[rules.counter[x]] += sign * rules.amount[x]


cdef void _leave_queue(Log log, Walk walk, int64_t now, Table out) noexcept nogil:
    """Remove started attempts from the queue."""
    cdef int64_t kept = 0, job
    cdef Py_ssize_t k
    for k in range(walk.waiting):
        job = walk.queue[k]
        if log.start[job] > now:
            walk.queue[kept] = job
            kept += 1
        else:
            _change(walk, job, OUT, now, out)
    walk.waiting = kept


cdef void _queue_claims(
    Log log, Rules rules, Trial trial, Walk walk, Next coming, int64_t now, Table out
) noexcept nogil:
    """Walk the queue at ``now``."""
    cdef int64_t job
    cdef int64_t closing = NEVER  # how long until a window of the trial closes; ≤ 0: it is closed
    cdef State state
    cdef bint free
    cdef Py_ssize_t k
    if walk.idle and walk.free[0] < walk.least and walk.least > 0:
        return
    walk.idle, walk.least = True, NEVER
    if coming.window < trial.opens.shape[0]:
        closing = trial.closes[coming.window] - now
    walk.left[:] = walk.free
    for k in range(walk.waiting):
        job = walk.queue[k]
        state = OUT
        walk.least = min(walk.least, log.request[0, job])
        free = fits(log.request, job, walk.free)
        if free:
            walk.idle = False
            if walk.stretch[job] == 0:
                walk.stretches += 1
                walk.stretch[job] = walk.stretches
            if not _forbidden(rules, walk, job):
                state = FITS
                if fits(log.request, job, walk.left):
                    state = CLAIMS
                    if not _withheld(trial, job, closing):
                        _claim(log, rules, walk, job)
        _change(walk, job, state, now, out)
        if not free:
            walk.stretch[job] = 0  # not before: its last span tells its stretch
    if walk.claimed.shape[0] > 0:
        walk.claimed[:] = 0


cdef inline void _claim(Log log, Rules rules, Walk walk, Py_ssize_t job) noexcept nogil:
    """Let an attempt claim its request."""
    cdef Py_ssize_t x
    add(walk.left, log.request, job, -1)
    for x in range(rules.first[job], rules.first[job + 1]):
        walk.claimed[rules.counter[x]] += rules.amount[x]


cdef inline bint _withheld(Trial trial, Py_ssize_t job, int64_t closing) noexcept nogil:
    """Return whether the trial forbids a start."""
    return trial.inside[job] and closing < trial.reach[job]


cdef inline bint _forbidden(Rules rules, Walk walk, Py_ssize_t job) noexcept nogil:
    """Return whether a rule forbids a start, given what runs and what has claimed."""
    cdef Py_ssize_t x
    cdef int64_t counter
    for x in range(rules.first[job], rules.first[job + 1]):
        counter = rules.counter[x]
        if (
            rules.binding[x]
            and walk.used[counter] + walk.claimed[counter] + rules.amount[x] > rules.most[counter]
        ):
            return True
    return False


cdef inline void _change(
    Walk walk, int64_t job, State state, int64_t now, Table out
) noexcept nogil:
    """Set the state of an attempt from ``now`` on, and write the span of the one before."""
    cdef uint8_t before = walk.state[job]
    if before == state:
        return
    if before != OUT:
        _keep(out, job, walk.since[job], now, walk.stretch[job], before == CLAIMS)
    walk.state[job] = state
    walk.since[job] = now


cdef void _keep(
    Table out, int64_t job, int64_t since, int64_t until, int64_t stretch, bint claims
) noexcept nogil:
    """Add a span, unless enough are kept."""
    cdef int64_t* place = add_row(out)
    if place == NULL:
        return
    place[0], place[1], place[2], place[3], place[4] = job, since, until, stretch, claims


cdef struct Best:
    Py_ssize_t begin
    Py_ssize_t extent
    double score
    double seconds


def best_stretch(
    const double[:, :, :, ::1] base, const double[:, :, :, :, ::1] hours, Py_ssize_t which,
    const double[:, ::1] chance, double least, double raw
):
    """Return the best window for a class among all stretches of hours.

    The score is chance · (starts + occasions) − starts of the class in a run of blocks, or 0 if no
    stretch has a positive one. The class and its neighbours need ``least`` starts + occasions, and
    the class at most ``raw`` times the neighbours' share of starts. Ties go to the shortest.

    Args:
        base: occasions, starts and seconds that a stretch of no hours holds, by the hour before
            which it begins, [begin, 3, classes, blocks]; the last class is the sum of all.
        hours: what each further hour adds, [begin, hours, 3, classes, blocks]; if it is the same
            for all begins, [1, hours, …] from the first hour of the circle on.
        which: the class; its neighbours are all others.
        chance: the share of starts to be expected of a rule in a run, [blocks, blocks + 1].
        least, raw: see above.

    Returns:
        Its first hour, its hours − 1, its score (0: no stretch is worth anything), its seconds.
    """
    cdef Py_ssize_t blocks = base.shape[3], circle = base.shape[0], whole = base.shape[2] - 1
    cdef Py_ssize_t begin, extent, row, block, first, hour
    cdef bint same = hours.shape[0] == 1
    cdef double own
    cdef Best best = Best(0, 0, 0.0, 0.0)
    cdef double[:, ::1] sums = np.zeros((5, blocks + 1))
    cdef double[:, ::1] held = np.zeros((5, blocks))
    with nogil:
        for begin in range(circle):
            for row in range(3):
                for block in range(blocks):
                    own = base[begin, row, which, block]
                    held[row, block] = own
                    if row < 2:
                        held[3 + row, block] = base[begin, row, whole, block] - own
            for extent in range(circle - 1):
                first = 0 if same else begin
                hour = (begin + extent) % circle if same else extent
                for row in range(3):
                    for block in range(blocks):
                        own = hours[first, hour, row, which, block]
                        held[row, block] += own
                        sums[row, block + 1] = sums[row, block] + held[row, block]
                        if row < 2:
                            held[3 + row, block] += hours[first, hour, row, whole, block] - own
                            sums[3 + row, block + 1] = sums[3 + row, block] + held[3 + row, block]
                best = _better(best, sums, chance, least, raw, begin, extent)
    return best.begin, best.extent, best.score, best.seconds


cdef Best _better(
    Best best, const double[:, ::1] sums, const double[:, ::1] chance, double least, double raw,
    Py_ssize_t begin, Py_ssize_t extent
) noexcept nogil:
    """Return the better of a stretch, in its best run of blocks, and the best one."""
    cdef Py_ssize_t first, behind, blocks = sums.shape[1] - 1
    cdef double withheld, starts, idle, served, score
    for first in range(blocks):
        for behind in range(first + 1, blocks + 1):
            withheld = sums[0, behind] - sums[0, first]
            starts = sums[1, behind] - sums[1, first]
            score = chance[first, behind] * (withheld + starts) - starts
            if score <= 0 or score < best.score - 1e-9 or withheld + starts < least:
                continue
            idle = sums[3, behind] - sums[3, first]
            served = sums[4, behind] - sums[4, first]
            if idle + served < least or starts * (idle + served) > raw * served * (withheld + starts):
                continue
            if score > best.score + 1e-9 or extent < best.extent:
                best = Best(begin, extent, score, sums[2, blocks])
    return best
