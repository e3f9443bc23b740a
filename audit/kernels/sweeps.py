"""Sweeps over the events of a pool: orders of times, resource equality, integrals, overtakes.

Arrays are int64 or float64, one element per attempt, in any order unless said. An attempt is in the
pool over ``[arrival, end)``, queued until ``start`` and running from then on; callers see to
arrival ≤ start ≤ end. ``by_arrival``, ``by_start`` and ``by_end`` are the attempts' indices in the
order of those times. All that happens at one instant is applied together, so ties need no rule.
"""

import numpy as np

from audit.kernels.arrays import Floats, Ints, IntTable
from audit.kernels.compiled import inner, kernel
from audit.kernels.sums import two_sum

DIGIT_BITS = 11  # of the radix sort: 2,048 counters stay in the first-level cache
NEVER = np.iinfo(np.int64).max


def time_order(times: Ints, order: Ints, spare: Ints) -> None:
    """Writes to ``order`` the indices that sort ``times``, stably; ``spare`` is working space.

    A radix sort from the least digit on; times that are in order already cost one look.
    """
    sort_times(times, order, spare, np.empty(1 << DIGIT_BITS, np.int64))


@kernel
def sort_times(times: Ints, order: Ints, spare: Ints, places: Ints) -> None:
    """As ``time_order``; ``places`` is working space with an element per value of a digit."""
    count = len(times)
    for i in range(count):
        order[i] = i
    if count == 0:
        return
    lowest = times[0]
    highest = times[0]
    in_order = True
    for i in range(1, count):
        if times[i] < times[i - 1]:
            in_order = False
        lowest = min(lowest, times[i])
        highest = max(highest, times[i])
    if in_order:
        return
    span = highest - lowest
    mask = len(places) - 1
    source = order
    target = spare
    shift = 0
    while shift < 63 and (span >> shift) > 0:
        places[:] = 0
        for i in range(count):
            places[((times[i] - lowest) >> shift) & mask] += 1
        place = 0
        for digit in range(len(places)):
            here = places[digit]
            places[digit] = place
            place += here
        for i in range(count):
            index = source[i]
            digit = ((times[index] - lowest) >> shift) & mask
            target[places[digit]] = index
            places[digit] += 1
        source, target = target, source
        shift += DIGIT_BITS
    if (shift // DIGIT_BITS) % 2 == 1:
        for i in range(count):  # the last of them were written to ``spare``
            order[i] = spare[i]


@kernel
def waiting_shares(
    arrival: Ints,
    start: Ints,
    end: Ints,
    size: Ints,
    by_arrival: Ints,
    by_start: Ints,
    by_end: Ints,
    share: Floats,
    share_low: Floats,
) -> None:
    """Writes to ``share`` each attempt's ∫ over [arrival, end) of queued(t)/active(t) dt.

    The running integral is kept as an unevaluated sum of two doubles, so that a
    difference of two of its values is as exact as if it had started at the arrival. ``share_low``
    is working space.
    """
    count = len(arrival)
    high = 0.0
    low = 0.0
    active = 0
    queued = 0
    now = 0
    a = 0
    s = 0
    next_arrival = arrival[by_arrival[0]] if count > 0 else NEVER
    next_start = start[by_start[0]] if count > 0 else NEVER
    for e in range(count):
        ending = by_end[e]
        instant = end[ending]
        while next_arrival <= instant or next_start <= instant:
            then = min(next_arrival, next_start)
            if queued > 0 and then > now:
                step = float(then - now) * float(queued) / float(active)
                high, low = two_sum(high, low, step)
            now = then
            if next_arrival == then:
                arriving = by_arrival[a]
                share[arriving] = high
                share_low[arriving] = low
                active += size[arriving]
                queued += size[arriving]
                a += 1
                next_arrival = arrival[by_arrival[a]] if a < count else NEVER
            else:
                queued -= size[by_start[s]]
                s += 1
                next_start = start[by_start[s]] if s < count else NEVER
        if queued > 0 and instant > now:
            step = float(instant - now) * float(queued) / float(active)
            high, low = two_sum(high, low, step)
        now = instant
        share[ending] = (high - share[ending]) + (low - share_low[ending])
        active -= size[ending]


@kernel
def capped_job_shares(
    arrival: Ints,
    start: Ints,
    end: Ints,
    size: Ints,
    by_arrival: Ints,
    by_start: Ints,
    by_end: Ints,
    cap: int,
    share: Floats,
    share_low: Floats,
) -> None:
    """Writes to ``share``, for each attempt of size ``cap``, ∫ of min(used(t)/N(t), cap) dt.

    N(t) is the number of attempts in the pool. Other attempts' elements are left alone. One sweep
    serves all attempts of one size.
    """
    count = len(arrival)
    high = 0.0
    low = 0.0
    present = 0
    used = 0
    now = 0
    a = 0
    s = 0
    for e in range(count):
        ending = by_end[e]
        instant = end[ending]
        while True:
            then = instant
            if a < count:
                then = min(then, arrival[by_arrival[a]])
            if s < count:
                then = min(then, start[by_start[s]])
            if used > 0 and then > now:
                each = min(float(used) / float(present), float(cap))
                high, low = two_sum(high, low, float(then - now) * each)
            now = then
            if a < count and arrival[by_arrival[a]] == then:
                arriving = by_arrival[a]
                if size[arriving] == cap:
                    share[arriving] = high
                    share_low[arriving] = low
                present += 1
                a += 1
            elif s < count and start[by_start[s]] == then:
                used += size[by_start[s]]
                s += 1
            else:
                break
        if size[ending] == cap:
            share[ending] = (high - share[ending]) + (low - share_low[ending])
        present -= 1
        used -= size[ending]


@kernel
def integrals(
    arrival: Ints,
    start: Ints,
    end: Ints,
    size: Ints,
    by_arrival: Ints,
    by_start: Ints,
    by_end: Ints,
    capacity: Ints,
    edges: Ints,
    out: IntTable,
) -> int:
    """Adds up, between each two ``edges``, what the pool did; returns the most that was in use.

    ``capacity`` has one element per span between edges. ``out`` has one row per span, set to 0 by
    the caller, and gets the resource-seconds used, queued, and lost (∫ min(idle, queued) dt), and
    the seconds over capacity. The peak is that of states that lasted, between the first edge and
    the last.
    """
    spans = len(edges) - 1
    if spans < 1:
        return 0
    span = 0
    now = edges[0]
    used = 0
    queued = 0
    peak = 0
    a = 0
    s = 0
    e = 0
    while now < edges[spans]:
        a, arrived = sum_until(arrival, by_arrival, size, a, now)
        s, started = sum_until(start, by_start, size, s, now)
        e, ended = sum_until(end, by_end, size, e, now)
        queued += arrived - started
        used += started - ended
        then = edges[span + 1]
        then = min(then, time_at(arrival, by_arrival, a))
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


@inner
def time_at(times: Ints, order: Ints, k: int) -> int:
    """The k-th of ``times`` in their order, or NEVER."""
    return times[order[k]] if k < len(order) else NEVER


@inner
def sum_until(times: Ints, order: Ints, size: Ints, k: int, now: int) -> tuple[int, int]:
    """Σ size of those from the k-th on, in order, whose time is not after now; which k comes next.

    Gives the latter first.
    """
    total = 0
    while k < len(order) and times[order[k]] <= now:
        total += size[order[k]]
        k += 1
    return k, total


@kernel
def overtakes(
    arrival: Ints,
    start_rank: Ints,
    by_arrival: Ints,
    tree: Ints,
    overtaken_by: Ints,
    overtook: Ints,
) -> None:
    """Counts, for each attempt, who arrived later and started earlier, and the other way round.

    ``start_rank`` counts the distinct starts from 1 on; ``tree`` is a Fenwick tree over them, one
    element longer than their number, set to 0 by the caller. Attempts that arrived together are
    looked up before any of them is entered: neither overtakes the other.
    """
    count = len(arrival)
    last = count
    while last > 0:  # from the latest arrival back: who came later has been entered
        first = last - 1
        while first > 0 and arrival[by_arrival[first - 1]] == arrival[by_arrival[last - 1]]:
            first -= 1
        for k in range(first, last):
            overtaken_by[by_arrival[k]] = entered_up_to(tree, start_rank[by_arrival[k]] - 1)
        for k in range(first, last):
            enter(tree, start_rank[by_arrival[k]])
        last = first
    tree[:] = 0
    first = 0
    while first < count:  # from the earliest arrival on: who came earlier has been entered
        last = first + 1
        while last < count and arrival[by_arrival[last]] == arrival[by_arrival[first]]:
            last += 1
        for k in range(first, last):
            overtook[by_arrival[k]] = first - entered_up_to(tree, start_rank[by_arrival[k]])
        for k in range(first, last):
            enter(tree, start_rank[by_arrival[k]])
        first = last


@inner
def enter(tree: Ints, place: int) -> None:
    """Counts one more at a place of a Fenwick tree."""
    while place < len(tree):
        tree[place] += 1
        place += place & -place


@inner
def entered_up_to(tree: Ints, place: int) -> int:
    """How many have been entered at the places up to one of a Fenwick tree."""
    total = 0
    while place > 0:
        total += tree[place]
        place -= place & -place
    return total
