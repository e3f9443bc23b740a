"""Compare attempts with later ones that request at least as much.

Attempts come in blocks: those that follow each other in the queue, of one stratum, user, entity,
arrival and need. So an array of equal tasks costs little more than one job. Times are in s.
"""

cimport cython
from libc.math cimport exp, expm1
from libc.stdint cimport INT64_MAX as NEVER, int32_t, int64_t, uint8_t

from audit.kernels.sweeps cimport first_above


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class OwnerUsage:
    """Decayed usage of owners over time, as what they had used at each of their starts and ends."""

    cdef const int64_t[::1] first  # events of owner o: first[o], …, first[o + 1] − 1
    cdef const int64_t[::1] time  # of each event, ascending within an owner
    cdef const double[::1] rate  # use per second from each event on
    cdef double[::1] used  # decayed usage at each event: ``accumulate`` fills it
    cdef const double[::1] share  # of each owner, > 0: usage counts in multiples of it
    cdef double decay  # per second: ln 2 / half-life


def accumulate(OwnerUsage usage):
    """Fill ``used`` from times and rates."""
    cdef Py_ssize_t owner, i
    with nogil:
        for owner in range(usage.share.shape[0]):
            for i in range(usage.first[owner], usage.first[owner + 1]):
                usage.used[i] = 0.0
                if i > usage.first[owner]:
                    usage.used[i] = _later(usage, i - 1, usage.time[i])


def used_at(
    OwnerUsage usage, const int32_t[::1] owner, const int64_t[::1] instant, double[::1] used
):
    """Write what each owner (−1: unknown) had used at each instant."""
    cdef Py_ssize_t k
    with nogil:
        for k in range(instant.shape[0]):
            used[k] = _used(usage, owner[k], instant[k])


cdef inline double _used(OwnerUsage usage, int64_t owner, int64_t instant) noexcept nogil:
    cdef Py_ssize_t place
    if owner < 0:
        return 0.0
    place = first_above(usage.time, usage.first[owner], usage.first[owner + 1], instant)
    if place == usage.first[owner]:
        return 0.0
    return _later(usage, place - 1, instant) / usage.share[owner]


cdef inline double _later(OwnerUsage usage, Py_ssize_t event, int64_t instant) noexcept nogil:
    """Return what is left at an instant of the usage at an event, and what has been used since."""
    cdef double decay = usage.decay * (instant - usage.time[event])
    return usage.used[event] * exp(-decay) - usage.rate[event] * expm1(-decay) / usage.decay


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class PairedAttempts:
    """n attempts by stratum, then in the order of the queue, in m blocks."""

    cdef const int64_t[::1] begin  # [m + 1], the first attempt of each block
    cdef const int64_t[::1] stratum  # [m]: only attempts of the same one make pairs
    cdef const int32_t[::1] user
    cdef const int32_t[::1] entity  # −1: unknown
    cdef const int32_t[::1] owner  # whose usage counts; −1: unknown
    cdef const int64_t[::1] arrival
    cdef const int64_t[:, ::1] need  # [m, resources]
    cdef const int64_t[::1] run  # [m]: the first block behind those of equal owner and need
    cdef const int64_t[::1] start  # [n]
    cdef const uint8_t[::1] subject  # [n]: whether its pairs are counted
    cdef const double[::1] weight  # [n]
    cdef const int64_t[::1] midnight  # [n]: the local one before its arrival
    cdef const double[::1] used  # [n]: what its owner had used then
    cdef const int64_t[::1] marked_from  # [n]; NEVER: not marked


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class BarredSpans:
    """Closed intervals in which attempts could not start; ascending within each."""

    cdef const int64_t[::1] first  # [n + 1]
    cdef const int64_t[::1] from_time
    cdef const int64_t[::1] to_time


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class PairSums:
    """Sums of each subject over its pairs; all sums come as 0, and ``since`` as −1.

    Rows of ``pairs`` and ``lost``: pairs in which neither owner had used much more than the other,
    in which the subject's had, and in which the rival's had.
    """

    cdef double[:, ::1] pairs  # [3, n], weights of the rivals
    cdef double[:, ::1] lost  # [3, n], of those that passed the subject
    cdef int64_t[:, ::1] since  # [2, n], the first start of one of these; 1: without row 1
    cdef double[:, :, ::1] between  # [2, entities, entities]: pairs, lost of subject and rival


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class PairChoice:
    """Which pairs there are, and which of them count."""

    cdef OwnerUsage usage
    cdef double much  # factor from which an owner had used more than another
    cdef int64_t lead  # a rival that starts at most this long before a subject did not pass it
    cdef int64_t most  # of more rivals, evenly spaced ones count
    cdef bint own  # whether rivals are those of the same user, instead of others


cdef struct RivalWindow:
    Py_ssize_t count
    int64_t rivals


def compare(
    PairedAttempts attempts, BarredSpans held, BarredSpans forbidden, PairChoice choice,
    int64_t[::1] block, int64_t[::1] behind, PairSums found
):
    """Fill ``found``.

    Args:
        block: for use by the kernel, [m]: blocks of rivals of a subject.
        behind: the same, [m]: rivals up to each of these blocks.
    """
    cdef Py_ssize_t b, i
    cdef int64_t latest
    cdef RivalWindow window
    with nogil:
        for b in range(attempts.arrival.shape[0]):
            latest = attempts.arrival[b]
            for i in range(attempts.begin[b], attempts.begin[b + 1]):
                if attempts.subject[i] and attempts.start[i] > latest:
                    latest = attempts.start[i]
            if attempts.entity[b] < 0 or latest == attempts.arrival[b]:
                continue
            window = _rivals(b, latest, attempts, choice, block, behind)
            if window.rivals == 0:
                continue
            for i in range(attempts.begin[b], attempts.begin[b + 1]):
                if attempts.subject[i]:
                    _count(
                        i, b, window.count, attempts, held, forbidden, choice, block, behind, found
                    )


cdef RivalWindow _rivals(
    Py_ssize_t b, int64_t latest, PairedAttempts attempts, PairChoice choice, int64_t[::1] block,
    int64_t[::1] behind
) noexcept nogil:
    """List the blocks of rivals that arrived after block ``b``, and before ``latest``."""
    cdef Py_ssize_t k = b + 1
    cdef RivalWindow window
    window.count, window.rivals = 0, 0
    while (
        k < attempts.arrival.shape[0]
        and attempts.stratum[k] == attempts.stratum[b]
        and attempts.arrival[k] < latest
    ):
        if not _is_rival(b, k, attempts, choice.own):
            k = attempts.run[k]
            continue
        if attempts.arrival[k] > attempts.arrival[b]:
            window.rivals += attempts.begin[k + 1] - attempts.begin[k]
            block[window.count] = k
            behind[window.count] = window.rivals
            window.count += 1
        k += 1
    return window


cdef inline bint _is_rival(
    Py_ssize_t b, Py_ssize_t k, PairedAttempts attempts, bint own
) noexcept nogil:
    """Return whether block ``k`` is of the right owner, and requests at least as much."""
    cdef Py_ssize_t resource
    if own:
        if attempts.user[k] != attempts.user[b]:
            return False
    elif (
        attempts.user[k] == attempts.user[b]
        or attempts.entity[k] == attempts.entity[b]
        or attempts.entity[k] < 0
    ):
        return False
    for resource in range(attempts.need.shape[1]):
        if attempts.need[k, resource] < attempts.need[b, resource]:
            return False
    return True


cdef void _count(
    Py_ssize_t i, Py_ssize_t b, Py_ssize_t count, PairedAttempts attempts, BarredSpans held,
    BarredSpans forbidden, PairChoice choice, int64_t[::1] block, int64_t[::1] behind,
    PairSums found
) noexcept nogil:
    """Count the pairs of subject ``i`` of block ``b`` with those that arrived before it started."""
    cdef int64_t start = attempts.start[i], rivals, step, number = 0
    cdef Py_ssize_t low = 0, high = count, middle, place = 0, k
    cdef int64_t midnight = NEVER
    cdef double mine = 0.0
    while low < high:
        middle = (low + high) >> 1
        if attempts.arrival[block[middle]] < start:
            low = middle + 1
        else:
            high = middle
    rivals = behind[low - 1] if low else 0
    step = max((rivals + choice.most - 1) // choice.most, 1)
    while number < rivals:
        while behind[place] <= number:
            place += 1
        k = attempts.begin[block[place] + 1] - (behind[place] - number)
        if attempts.midnight[k] != midnight:
            midnight = attempts.midnight[k]
            mine = _used(choice.usage, attempts.owner[b], midnight)
        _pair(i, b, k, block[place], mine, attempts, held, forbidden, choice, found)
        number += step


cdef inline void _pair(
    Py_ssize_t i, Py_ssize_t b, Py_ssize_t k, Py_ssize_t of, double mine,
    PairedAttempts attempts, BarredSpans held, BarredSpans forbidden, PairChoice choice,
    PairSums found
) noexcept nogil:
    """Count the pair of subject ``i`` and rival ``k``, of blocks ``b`` and ``of``.

    Args:
        mine: what the subject's owner had used at the midnight before the rival's arrival.
    """
    cdef int64_t then = attempts.start[k]
    cdef bint lost = then < attempts.start[i] - choice.lead
    cdef Py_ssize_t more = 0
    cdef double theirs = attempts.used[k], weight = attempts.weight[k]
    if lost:
        if (
            then >= attempts.marked_from[i]
            or _within(held, i, then)
            or _within(forbidden, i, then)
        ):
            return
    elif attempts.marked_from[i] != NEVER:
        return
    more = 1 if mine > choice.much * theirs else 2 if theirs > choice.much * mine else 0
    found.pairs[more, i] += weight
    if lost:
        found.lost[more, i] += weight
        if found.since[0, i] < 0 or then < found.since[0, i]:
            found.since[0, i] = then
        if more != 1 and (found.since[1, i] < 0 or then < found.since[1, i]):
            found.since[1, i] = then
    if found.between.shape[1] and more != 1:
        weight *= attempts.weight[i]
        found.between[0, attempts.entity[b], attempts.entity[of]] += weight
        if lost:
            found.between[1, attempts.entity[b], attempts.entity[of]] += weight


cdef inline bint _within(BarredSpans spans, Py_ssize_t i, int64_t instant) noexcept nogil:
    cdef int64_t first = spans.first[i]
    cdef int64_t place = first_above(spans.from_time, first, spans.first[i + 1], instant)
    return place > first and instant <= spans.to_time[place - 1]
