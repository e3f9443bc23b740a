"""Usage over time, owner by owner: windows and exponential decay.

An *owner* is a user or account to which attempts are charged. Attempts come grouped by owner: those
of owner o are the elements ``offsets[o]``, …, ``offsets[o + 1] − 1`` of ``start``, ``end`` (s) and
``penalty``, in any order, but fastest in that of time. Instants, and the edges between spans of
time, ascend. Tables have a row per instant and a column per owner.

An attempt is entered where it starts and ends, and as a rate for the spans that it fills, so the
cost is attempts + owners · instants. Sums are pairs of doubles, rounded once at the end, so they do
not depend on the order of attempts or owners; a rate is exactly 0 where nothing fills a span.
"""

cimport cython
from libc.math cimport M_LN2, exp, expm1, pow
from libc.stdint cimport int64_t, uint32_t

import numpy as np

from audit.kernels.sums cimport Sum, add, plus


def number(
    const int64_t[::1] hashes, uint32_t[::1] codes, int64_t[::1] firsts, int64_t[::1] counts
):
    """Number the distinct hashes in the order of their appearance; return how many there are.

    Args:
        codes: written, the number of each element.
        firsts, counts: written, per number, where it occurs first and how often.
    """
    cdef int64_t[::1] slots
    cdef int64_t size = 4_096, distinct = -1
    while distinct < 0:
        slots = np.full(size, -1)
        with nogil:
            distinct = _number_in(slots, hashes, codes, firsts, counts)
        size *= 4
    return distinct


cdef int64_t _number_in(
    int64_t[::1] slots, const int64_t[::1] hashes, uint32_t[::1] codes, int64_t[::1] firsts,
    int64_t[::1] counts
) noexcept nogil:
    """Do this in an open-addressed table; −1: it is too small.

    ``slots`` is the table, all −1; its size is a power of two, at most half of which is used.
    """
    cdef int64_t size = slots.shape[0], distinct = 0, slot, code
    cdef Py_ssize_t j
    for j in range(hashes.shape[0]):
        slot = hashes[j] & (size - 1)
        while slots[slot] >= 0 and hashes[firsts[slots[slot]]] != hashes[j]:
            slot = (slot + 1) & (size - 1)
        code = slots[slot]
        if code < 0:
            code = distinct
            slots[slot] = code
            firsts[code] = j
            counts[code] = 0
            distinct += 1
        codes[j] = code
        counts[code] += 1
        if 2 * distinct > size:
            return -1
    return distinct


def group_by_owner(
    const uint32_t[::1] codes, const int64_t[::1] start, const int64_t[::1] end,
    const double[::1] penalty, int64_t[::1] places, int64_t[::1] start_out, int64_t[::1] end_out,
    double[::1] penalty_out
):
    """Write the attempts owner by owner, keeping their order.

    Args:
        codes: the owner of each attempt.
        places: where the attempts of each owner go; afterwards, where they end.
    """
    cdef int64_t place
    cdef Py_ssize_t j
    with nogil:
        for j in range(codes.shape[0]):
            place = places[codes[j]]
            places[codes[j]] = place + 1
            start_out[place] = start[j]
            end_out[place] = end[j]
            penalty_out[place] = penalty[j]


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Attempts:
    """Attempts grouped by owner, as described above."""

    cdef const int64_t[::1] offsets
    cdef const int64_t[::1] start
    cdef const int64_t[::1] end
    cdef const double[::1] penalty


@cython.final
cdef class Spans:
    """The spans between edges, and what one owner uses in each; sums of two doubles."""

    cdef const int64_t[::1] edges
    cdef double[::1] part  # by attempts that fill a span in part, decayed to its end
    cdef double[::1] part_low
    cdef double[::1] rate  # change of the use per second, by attempts that fill spans
    cdef double[::1] rate_low
    cdef int64_t[::1] filling  # change of their number

    def __cinit__(self, const int64_t[::1] edges):
        cdef Py_ssize_t count = edges.shape[0] - 1
        self.edges = edges
        self.part, self.part_low, self.rate, self.rate_low = np.empty((4, count))
        self.filling = np.empty(count, np.int64)


cdef struct Flow:
    # Use per second by attempts that fill a span, and their number.
    Sum rate
    int64_t attempts


cdef inline Py_ssize_t _last_at_or_before(
    const int64_t[::1] times, int64_t instant, Py_ssize_t near
) noexcept nogil:
    """Return the index of the last of the ascending ``times`` ≤ ``instant``; −1: none.

    The search starts at index ``near`` and doubles its steps: fast for neighbours, and never worse
    than twice a bisection.
    """
    cdef Py_ssize_t low = -1  # times[low] ≤ instant
    cdef Py_ssize_t high = times.shape[0]  # times[high] > instant
    cdef Py_ssize_t step = 1, middle
    if times[near] <= instant:
        low = near
        while low + step < high and times[low + step] <= instant:
            low += step
            step *= 2
        high = min(high, low + step)
    else:
        high = near
        while high - step > low and times[high - step] > instant:
            high -= step
            step *= 2
        low = max(low, high - step)
    while high - low > 1:
        middle = (low + high) // 2
        if times[middle] <= instant:
            low = middle
        else:
            high = middle
    return low


cdef inline double _remaining(double age, double length, double decay) noexcept nogil:
    """Return decay · ∫ exp(−decay · t) dt for t from ``age`` to ``age + length``.

    This is what remains of constant use.
    """
    return -exp(-age * decay) * expm1(-length * decay)


cdef void _enter(Attempts attempts, Py_ssize_t owner, double decay, Spans spans) noexcept nogil:
    """Write what the attempts of one owner add to the spans.

    With decay, penalties are divided by ``decay`` (per second), by which ``_remaining`` multiplies.
    """
    cdef Py_ssize_t last_edge = spans.edges.shape[0] - 1, near = 0, last, j
    cdef int64_t begin, stop
    cdef double penalty
    spans.part[:] = 0.0
    spans.part_low[:] = 0.0
    spans.rate[:] = 0.0
    spans.rate_low[:] = 0.0
    spans.filling[:] = 0
    for j in range(attempts.offsets[owner], attempts.offsets[owner + 1]):
        begin = max(attempts.start[j], spans.edges[0])
        stop = min(attempts.end[j], spans.edges[last_edge])
        if stop <= begin:
            continue
        penalty = attempts.penalty[j] / decay if decay > 0.0 else attempts.penalty[j]
        near = _last_at_or_before(spans.edges, begin, near)
        if stop <= spans.edges[near + 1]:
            _add_part(spans, near, penalty, begin, stop, decay)
            continue
        _add_part(spans, near, penalty, begin, spans.edges[near + 1], decay)
        last = _last_at_or_before(spans.edges, stop - 1, near)
        _add_part(spans, last, penalty, spans.edges[last], stop, decay)
        if near + 1 < last:
            add(spans.rate, spans.rate_low, near + 1, penalty)
            add(spans.rate, spans.rate_low, last, -penalty)
            spans.filling[near + 1] += 1
            spans.filling[last] -= 1


cdef inline void _add_part(
    Spans spans, Py_ssize_t span, double penalty, int64_t begin, int64_t stop, double decay
) noexcept nogil:
    """Add the use over [begin, stop), a part of one span, decayed to the span's end."""
    cdef double lasts = <double> (stop - begin)
    if decay != 0.0:
        lasts = _remaining(<double> (spans.edges[span + 1] - stop), lasts, decay)
    add(spans.part, spans.part_low, span, penalty * lasts)


cdef inline Flow _flow_through(Spans spans, Py_ssize_t span, Flow flow) noexcept nogil:
    """Return the use by attempts that fill a span; ``flow`` is that of the span before.

    It is exactly 0 where nothing fills the span.
    """
    flow.attempts += spans.filling[span]
    if flow.attempts == 0:
        return Flow(Sum(0.0, 0.0), 0)
    flow.rate.low += spans.rate_low[span]
    flow.rate = plus(flow.rate, spans.rate[span])
    return flow


def window_usage(
    Attempts attempts not None, const int64_t[::1] edges, const int64_t[:, ::1] bounds,
    const double[::1] weights, double[:, ::1] usage, double[::1] total
):
    """Write each owner's weighted sum over windows at each instant, and everyone's.

    Args:
        edges: at least one.
        bounds: instants × (windows + 1), indices of the edges of the windows, the latest first.
        weights: of each window, the latest first.
        usage: table; overwritten.
        total: per instant; overwritten.
    """
    cdef Spans spans = Spans(edges)
    cdef double[::1] everyone, everyone_low, high, low
    everyone, everyone_low = np.zeros((2, edges.shape[0] - 1))
    high, low = np.zeros((2, edges.shape[0]))
    cdef Py_ssize_t owner, k
    with nogil:
        for owner in range(attempts.offsets.shape[0] - 1):
            _enter(attempts, owner, 0.0, spans)
            _fill(spans, everyone, everyone_low)
            _run_up(spans.part, spans.part_low, high, low)
            for k in range(bounds.shape[0]):
                usage[k, owner] = _window_sum(spans.part, high, low, bounds[k], weights)
        _run_up(everyone, everyone_low, high, low)
        for k in range(bounds.shape[0]):
            total[k] = _window_sum(everyone, high, low, bounds[k], weights)


cdef void _fill(Spans spans, double[::1] everyone, double[::1] everyone_low) noexcept nogil:
    """Add the use by attempts that fill spans to an owner's parts, and these to everyone's."""
    cdef Flow flow = Flow(Sum(0.0, 0.0), 0)
    cdef Py_ssize_t s
    cdef double rate
    for s in range(spans.part.shape[0]):
        flow = _flow_through(spans, s, flow)
        if flow.attempts > 0:
            rate = flow.rate.high + flow.rate.low
            add(spans.part, spans.part_low, s, rate * (spans.edges[s + 1] - spans.edges[s]))
        if spans.part[s] > 0.0:
            add(everyone, everyone_low, s, spans.part[s])
            everyone_low[s] += spans.part_low[s]


cdef void _run_up(
    double[::1] amount, const double[::1] amount_low, double[::1] up_to, double[::1] up_to_low
) noexcept nogil:
    """Write what was used up to each edge, and round what was used in each span."""
    cdef Sum total = Sum(0.0, 0.0)
    cdef Py_ssize_t s
    for s in range(amount.shape[0]):
        if amount[s] > 0.0:
            total.low += amount_low[s]
            total = plus(total, amount[s])
            amount[s] += amount_low[s]
        up_to[s + 1] = total.high
        up_to_low[s + 1] = total.low


cdef double _window_sum(
    const double[::1] amount, const double[::1] high, const double[::1] low,
    const int64_t[::1] bounds, const double[::1] weights
) noexcept nogil:
    """Return Σ weights[i] · (what was used from edge bounds[i + 1] to edge bounds[i]).

    ``amount`` is what was used in each span, and ``high`` + ``low`` what was used up to each edge.
    """
    cdef double total = 0.0
    cdef Sum used
    cdef Py_ssize_t i, until, since
    for i in range(weights.shape[0]):
        until = bounds[i]
        since = bounds[i + 1]
        if until == since + 1:
            total += weights[i] * amount[since]
        elif until > since:
            used = plus(Sum(high[until], low[until]), -high[since])
            total += weights[i] * (used.high + (used.low - low[since]))
    return total


def half_life_usage(
    Attempts attempts not None, const int64_t[::1] instants, double half_life, double[:, ::1] usage,
    double[::1] total
):
    """Write each owner's exponentially decayed usage at each instant, and everyone's.

    Span k reaches from the instant before up to instant k; span 0 has no beginning.

    Args:
        instants: at least one.
        half_life: s.
        usage: table; overwritten.
        total: per instant; overwritten.
    """
    cdef Spans spans = Spans(np.concatenate(([-(1 << 62)], instants)))  # from before every start
    cdef Py_ssize_t count = instants.shape[0], owner, k
    cdef double[::1] keeps, fills, total_low
    keeps, fills, total_low = np.zeros((3, count))
    cdef double decay = M_LN2 / half_life, lasts
    with nogil:
        total[:] = 0.0
        for k in range(1, count):
            lasts = <double> (instants[k] - instants[k - 1])
            keeps[k] = pow(2.0, -lasts / half_life)
            fills[k] = _remaining(0.0, lasts, decay)
        for owner in range(attempts.offsets.shape[0] - 1):
            _enter(attempts, owner, decay, spans)
            _decay(spans, keeps, fills, owner, usage, total, total_low)
        for k in range(count):
            total[k] += total_low[k]


cdef void _decay(
    Spans spans, const double[::1] keeps, const double[::1] fills, Py_ssize_t owner,
    double[:, ::1] usage, double[::1] total, double[::1] total_low
) noexcept nogil:
    """Write one owner's usage at each instant, and add it to everyone's.

    ``keeps`` is the fraction of earlier use that remains at the end of each span, ``fills`` what
    remains there of use at a rate of 1 throughout the span.
    """
    cdef Flow flow = Flow(Sum(0.0, 0.0), 0)
    cdef double used = 0.0
    cdef Py_ssize_t k
    for k in range(keeps.shape[0]):
        flow = _flow_through(spans, k, flow)
        used = (
            used * keeps[k]
            + (spans.part[k] + spans.part_low[k])
            + (flow.rate.high + flow.rate.low) * fills[k]
        )
        usage[k, owner] = used
        add(total, total_low, k, used)
