"""Sweep over the events of a pool: orders of times, resource equality, integrals, overtakes.

Arrays have one element per attempt. An attempt is in the pool over [arrival, end), queued until its
start and running from then on; callers ensure arrival ≤ start ≤ end. ``by_arrival``, ``by_start``
and ``by_end`` are the indices of the attempts in the order of those times. Times are in s.
Everything that happens at one instant is applied together, so ties need no rule.
"""

from libc.stdint cimport INT64_MAX as NEVER, int64_t

import numpy as np

from audit.kernels.sums cimport Sum, plus
from audit.kernels.sweeps cimport time_at

cdef enum:
    DIGIT_BITS = 11  # of the radix sort: its 2,048 counters stay in the first-level cache


def time_order(const int64_t[::1] times, int64_t[::1] order, int64_t[::1] spare):
    """Write the indices that sort ``times`` stably, by a radix sort; linear.

    Args:
        times: sorted times take a single pass.
        order: written.
        spare: working space as long as ``order``.
    """
    cdef int64_t[::1] places = np.empty(1 << DIGIT_BITS, np.int64)
    cdef int64_t[::1] source = order, target = spare
    cdef Py_ssize_t count = times.shape[0], i
    cdef int64_t lowest = NEVER, highest = -NEVER - 1, shift = 0
    cdef bint in_order = True
    with nogil:
        for i in range(count):
            order[i] = i
            if i > 0 and times[i] < times[i - 1]:
                in_order = False
            lowest = min(lowest, times[i])
            highest = max(highest, times[i])
        while not in_order and shift < 63 and (highest - lowest) >> shift > 0:
            _sort_by_digit(times, lowest, shift, source, target, places)
            source, target = target, source
            shift += DIGIT_BITS
        if shift // DIGIT_BITS % 2 == 1:
            order[:] = spare


cdef void _sort_by_digit(
    const int64_t[::1] times, int64_t lowest, int64_t shift, const int64_t[::1] source,
    int64_t[::1] target, int64_t[::1] places
) noexcept nogil:
    """Write the indices of ``source`` to ``target``, sorted stably by one digit of their times."""
    cdef int64_t mask = places.shape[0] - 1, place = 0, here
    cdef Py_ssize_t i, digit
    places[:] = 0
    for i in range(times.shape[0]):
        places[((times[i] - lowest) >> shift) & mask] += 1
    for digit in range(places.shape[0]):
        here = places[digit]
        places[digit] = place
        place += here
    for i in range(times.shape[0]):
        digit = ((times[source[i]] - lowest) >> shift) & mask
        target[places[digit]] = source[i]
        places[digit] += 1


def shares(
    const int64_t[::1] arrival, const int64_t[::1] start, const int64_t[::1] end,
    const int64_t[::1] size, const int64_t[::1] by_arrival, const int64_t[::1] by_start,
    const int64_t[::1] by_end, int64_t cap, double[::1] share, double[::1] share_low
):
    """Write integrals over each attempt's [arrival, end) to ``share``.

    The running integral is a sum of two doubles, so the difference of two of its values is as exact
    as if it had started at the arrival.

    Args:
        cap: < 0: ∫ queued(t)/active(t) dt. Else ∫ min(used(t)/N(t), cap) dt, with N(t) attempts in
            the pool, of the attempts of size ``cap``: one sweep serves all of one size.
        share: written where an attempt has an integral.
        share_low: working space.
    """
    cdef Py_ssize_t a = 0, s = 0, e, arriving, ending
    cdef int64_t present = 0, used = 0, queued = 0, now = 0, then, instant
    cdef int64_t next_arrival, next_start
    cdef Sum total = Sum(0.0, 0.0)
    cdef double each
    with nogil:
        next_arrival = time_at(arrival, by_arrival, 0)
        next_start = time_at(start, by_start, 0)
        for e in range(arrival.shape[0]):
            ending = by_end[e]
            instant = end[ending]
            while True:
                then = min(instant, next_arrival, next_start)
                if then > now and cap < 0 and queued > 0:
                    each = <double> (then - now) * <double> queued / <double> (queued + used)
                    total = plus(total, each)
                elif then > now and cap >= 0 and used > 0:
                    each = min(<double> used / <double> present, <double> cap)
                    total = plus(total, <double> (then - now) * each)
                now = then
                if next_arrival == then:
                    arriving = by_arrival[a]
                    if cap < 0 or size[arriving] == cap:
                        share[arriving], share_low[arriving] = total.high, total.low
                    present += 1
                    queued += size[arriving]
                    a += 1
                    next_arrival = time_at(arrival, by_arrival, a)
                elif next_start == then:
                    queued -= size[by_start[s]]
                    used += size[by_start[s]]
                    s += 1
                    next_start = time_at(start, by_start, s)
                else:
                    break
            if cap < 0 or size[ending] == cap:
                share[ending] = (total.high - share[ending]) + (total.low - share_low[ending])
            present -= 1
            used -= size[ending]


def integrals(
    const int64_t[::1] arrival, const int64_t[::1] start, const int64_t[::1] end,
    const int64_t[::1] size, const int64_t[::1] by_arrival, const int64_t[::1] by_start,
    const int64_t[::1] by_end, const int64_t[::1] capacity, const int64_t[::1] edges,
    int64_t[:, ::1] out
):
    """Integrate the use of a pool between each two ``edges``; return the peak of its use.

    The peak is that of states that lasted, between the first edge and the last.

    Args:
        capacity: one element per span between edges.
        edges: ascending.
        out: one row per span, added to: resource-seconds used, queued, and lost
            (∫ min(idle, queued) dt), and seconds over capacity.
    """
    cdef Py_ssize_t spans = edges.shape[0] - 1, span = 0, a = 0, s = 0, e = 0
    cdef int64_t now, then, lasted, arrived, started, used = 0, queued = 0, peak = 0
    if spans < 1:
        return 0
    with nogil:
        now = edges[0]
        while now < edges[spans]:
            arrived = _sum_until(arrival, by_arrival, size, &a, now)
            started = _sum_until(start, by_start, size, &s, now)
            queued += arrived - started
            used += started - _sum_until(end, by_end, size, &e, now)
            then = min(edges[span + 1], time_at(arrival, by_arrival, a))
            then = min(then, time_at(start, by_start, s))
            then = min(then, time_at(end, by_end, e))
            lasted = then - now
            out[span, 0] += used * lasted
            out[span, 1] += queued * lasted
            out[span, 2] += min(max(capacity[span] - used, 0), queued) * lasted
            if used > capacity[span]:
                out[span, 3] += lasted
            peak = max(peak, used)
            now = then
            if now == edges[span + 1]:
                span += 1
    return peak


cdef inline int64_t _sum_until(
    const int64_t[::1] times, const int64_t[::1] order, const int64_t[::1] size, Py_ssize_t *k,
    int64_t now
) noexcept nogil:
    """Return Σ size of the attempts from the k-th on with times up to ``now``; advance k."""
    cdef int64_t total = 0
    while time_at(times, order, k[0]) <= now:
        total += size[order[k[0]]]
        k[0] += 1
    return total


def overtakes(
    const int64_t[::1] arrival, const int64_t[::1] start_rank, const int64_t[::1] by_arrival,
    int64_t[::1] overtaken_by, int64_t[::1] overtook
):
    """Count, for each attempt, later arrivals with earlier starts, and the reverse.

    Attempts that arrived together do not overtake each other. O(n log n).

    Args:
        start_rank: number of the start among the distinct ones, from 1 on.
        overtaken_by: written, the number of attempts that arrived later and started earlier.
        overtook: written, the number of attempts that arrived earlier and started later.
    """
    cdef Py_ssize_t count = arrival.shape[0], first, last = count, k
    cdef int64_t[::1] tree = np.zeros(count + 1, np.int64)
    with nogil:
        while last > 0:  # from the latest arrival back: the tree counts later arrivals
            first = last - 1
            while first > 0 and arrival[by_arrival[first - 1]] == arrival[by_arrival[last - 1]]:
                first -= 1
            for k in range(first, last):
                overtaken_by[by_arrival[k]] = _counted(tree, start_rank[by_arrival[k]] - 1)
            for k in range(first, last):
                _count(tree, start_rank[by_arrival[k]])
            last = first
        tree[:] = 0
        first = 0
        while first < count:  # from the earliest arrival on: the tree counts earlier arrivals
            last = first + 1
            while last < count and arrival[by_arrival[last]] == arrival[by_arrival[first]]:
                last += 1
            for k in range(first, last):
                overtook[by_arrival[k]] = first - _counted(tree, start_rank[by_arrival[k]])
            for k in range(first, last):
                _count(tree, start_rank[by_arrival[k]])
            first = last


cdef inline void _count(int64_t[::1] tree, int64_t place) noexcept nogil:
    """Count one more at a place of a Fenwick tree."""
    while place < tree.shape[0]:
        tree[place] += 1
        place += place & -place


cdef inline int64_t _counted(const int64_t[::1] tree, int64_t place) noexcept nogil:
    """Return the total count at places 1, …, ``place`` of a Fenwick tree."""
    cdef int64_t total = 0
    while place > 0:
        total += tree[place]
        place -= place & -place
    return total
