"""Find the levels at which entities stop, and count the evidence for and against each (SPEC §11).

A *series* is a run of entities, judged together: one user, or all users. Stops and climbs are sorted
by entity and time. ``level`` is U of a stop, and V of a climb; ``adds`` is what one more job, or
the job itself, adds. Elements that add nothing do not count. Days are whole numbers.
"""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t

import numpy as np


# Columns of the counts, in the order of ``audit.scenario.plateaus.judging.COUNTS``.
cdef enum:
    AT, WITHHELD, NEAR, CLIMBS_NEAR, BROKEN, NEXT, NEXT_BESIDE, STARTS, DAYS, ENTITIES
    MOST_AT, MOST_BROKEN, UNITS, FIRST_DAY, LAST_DAY, ALWAYS, HIGHEST
    COUNTS  # their number


cdef enum:
    QUANTILES = 4_000
    BEST = 2  # levels with most at − 2B, and
    FREQUENT = 3  # most frequent levels after a start


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False, kw_only=True)
cdef class Traces:
    """The stops and climbs of E entities, in one measure."""

    cdef const int64_t[::1] first_stop  # E + 1
    cdef const int64_t[::1] stop_level
    cdef const int64_t[::1] stop_adds
    cdef const int64_t[::1] stop_day
    cdef const int64_t[::1] first_climb  # E + 1
    cdef const int64_t[::1] climb_level
    cdef const int64_t[::1] climb_adds
    cdef const int64_t[::1] climb_day


@cython.final
cdef class Workspace:
    """Working space for the levels of a series."""

    cdef int64_t[::1] value
    cdef int64_t[::1] other
    cdef int64_t[::1] score
    cdef int64_t[::1] often
    cdef int64_t[::1] count  # of radix sort

    def __init__(self, Py_ssize_t most):
        """Allocate space for this number of elements."""
        self.value, self.other, self.score, self.often = np.zeros((4, most + 1), np.int64)
        self.count = np.zeros(1 << 11, np.int64)


def candidates(Traces traces, const int64_t[::1] begin, const int64_t[::1] end, int64_t[:, ::1] found):
    """Write the levels to judge, [series, 5], −1: none; the same one may come twice.

    Args:
        begin, end: the entities of each series are begin ≤ e < end.
    """
    cdef Py_ssize_t k, most = 0
    for k in range(begin.shape[0]):
        most = max(
            most,
            traces.first_stop[end[k]] - traces.first_stop[begin[k]]
            + traces.first_climb[end[k]] - traces.first_climb[begin[k]],
        )
    cdef Workspace space = Workspace(most)
    found[:, :] = -1
    with nogil:
        for k in range(begin.shape[0]):
            _candidates(traces, begin[k], end[k], space, found, k)


cdef void _candidates(
    Traces traces, int64_t begin, int64_t end, Workspace space, int64_t[:, ::1] found, Py_ssize_t k
) noexcept nogil:
    cdef Py_ssize_t i, count = 0, values, place, x
    cdef int64_t stops = traces.first_stop[end], climbs = traces.first_climb[end]
    for i in range(traces.first_climb[begin], climbs):
        if traces.climb_adds[i] > 0:
            space.value[count] = traces.climb_level[i]
            count += 1
    _sort(space, count)
    _most_frequent(space, count, found, k)
    for i in range(traces.first_stop[begin], stops):
        if traces.stop_adds[i] > 0:
            space.value[count] = traces.stop_level[i]
            count += 1
    _sort(space, count)
    values = _distinct(space, count)
    for place in range(values + 1):
        space.score[place] = 0
    for i in range(traces.first_stop[begin], stops):
        if traces.stop_adds[i] > 0:
            space.score[_place(space, values, max(traces.stop_adds[i], traces.stop_level[i]))] += 1
            space.score[_place(space, values, traces.stop_level[i] + traces.stop_adds[i])] -= 1
    for i in range(traces.first_climb[begin], climbs):
        if traces.climb_adds[i] > 0:
            space.score[_place(space, values, traces.climb_adds[i])] -= 2
            # a job that ended in the second of its start may add more than the level
            space.score[_place(space, values, max(traces.climb_adds[i], traces.climb_level[i]))] += 2
    for place in range(1, values):
        space.score[place] += space.score[place - 1]
    for x in range(BEST):
        count = -1
        for place in range(values):
            if space.score[place] > 0 and (count < 0 or space.score[place] > space.score[count]):
                count = place
        if count < 0:
            return
        found[k, x] = space.value[count]
        space.score[count] = 0


cdef void _most_frequent(Workspace space, Py_ssize_t count, int64_t[:, ::1] found, Py_ssize_t k) noexcept nogil:
    """Write the most frequent of the values, ascending; of equally frequent ones the lowest."""
    cdef Py_ssize_t i, since = 0, x, y
    cdef int64_t times[FREQUENT]
    for x in range(FREQUENT):
        times[x] = 0
    for i in range(1, count + 1):
        if i < count and space.value[i] == space.value[since]:
            continue
        for x in range(FREQUENT):
            if i - since > times[x]:
                for y in range(FREQUENT - 1, x, -1):
                    times[y] = times[y - 1]
                    found[k, BEST + y] = found[k, BEST + y - 1]
                times[x], found[k, BEST + x] = i - since, space.value[since]
                break
        since = i


cdef Py_ssize_t _distinct(Workspace space, Py_ssize_t count) noexcept nogil:
    """Keep the distinct ones of ascending values, or of their quantiles; return their number."""
    cdef Py_ssize_t i, values = 0
    for i in range(count):
        if values == 0 or space.value[i] != space.other[values - 1]:
            space.other[values] = space.value[i]
            values += 1
    if values > QUANTILES:
        values = 0
        for i in range(QUANTILES):
            if values == 0 or space.value[i * (count - 1) // (QUANTILES - 1)] != space.other[values - 1]:
                space.other[values] = space.value[i * (count - 1) // (QUANTILES - 1)]
                values += 1
    space.value, space.other = space.other, space.value
    return values


cdef inline Py_ssize_t _place(Workspace space, Py_ssize_t values, int64_t value) noexcept nogil:
    """Return the place of the first of the values that is at least ``value``."""
    cdef Py_ssize_t low = 0, high = values, middle
    while low < high:
        middle = (low + high) >> 1
        if space.value[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


cdef void _sort(Workspace space, Py_ssize_t count) noexcept nogil:
    """Sort values ≥ 0, digit by digit."""
    cdef int64_t greatest = 0, total, number
    cdef Py_ssize_t i, digit, shift = 0
    for i in range(count):
        greatest = max(greatest, space.value[i])
    while (greatest >> shift) > 0:
        space.count[:] = 0
        for i in range(count):
            space.count[(space.value[i] >> shift) & 2_047] += 1
        total = 0
        for digit in range(2_048):
            number = space.count[digit]
            space.count[digit] = total
            total += number
        for i in range(count):
            digit = (space.value[i] >> shift) & 2_047
            space.other[space.count[digit]] = space.value[i]
            space.count[digit] += 1
        space.value, space.other = space.other, space.value
        shift += 11


def weigh(
    Traces traces, const int64_t[::1] begin, const int64_t[::1] end, const int64_t[::1] level,
    const int64_t[:, ::1] period, int64_t[:, ::1] counts, double[::1] concentration
):
    """Write the counts of levels in their periods.

    Args:
        begin, end: the entities of each series, as for ``candidates``.
        level: of each series; −1: none, the counts are 0.
        period: first and last day, [2, series]; first > last: to be found.
        counts: [series, COUNTS].
        concentration: mean of W ÷ (W + N) over entity-days; 0 without any.
    """
    cdef Py_ssize_t k
    cdef int64_t low = NEVER, high = -NEVER
    for k in range(traces.stop_day.shape[0]):
        low, high = min(low, traces.stop_day[k]), max(high, traces.stop_day[k])
    for k in range(traces.climb_day.shape[0]):
        low, high = min(low, traces.climb_day[k]), max(high, traces.climb_day[k])
    cdef int64_t[::1] score = np.zeros(max(high - low + 1, 0) if low <= high else 0, np.int64)
    cdef int64_t[::1] seen = np.full(score.shape[0], -1)
    counts[:, :] = 0
    concentration[:] = 0.0
    with nogil:
        for k in range(level.shape[0]):
            if level[k] < 0:
                continue
            if period[0, k] <= period[1, k]:
                counts[k, FIRST_DAY], counts[k, LAST_DAY] = period[0, k], period[1, k]
            elif not _find_period(traces, begin[k], end[k], level[k], low, score, counts, k):
                continue
            _count(traces, begin[k], end[k], level[k], low, seen, counts, concentration, k)


cdef inline bint _is_at(Traces traces, Py_ssize_t i, int64_t level) noexcept nogil:
    cdef int64_t adds = traces.stop_adds[i], used = traces.stop_level[i]
    return 0 < adds <= level < used + adds and used <= level


cdef inline bint _is_broken(Traces traces, Py_ssize_t i, int64_t level) noexcept nogil:
    return 0 < traces.climb_adds[i] <= level < traces.climb_level[i]


cdef inline bint _is_next(Traces traces, Py_ssize_t i, int64_t level) noexcept nogil:
    cdef int64_t adds = traces.climb_adds[i], used = traces.climb_level[i]
    return adds > 0 and used <= level < used + adds


cdef bint _find_period(
    Traces traces, int64_t begin, int64_t end, int64_t level, int64_t low, int64_t[::1] score,
    int64_t[:, ::1] counts, Py_ssize_t k
) noexcept nogil:
    """Find the run of days with most at − 2B, or all days; return whether there is one."""
    cdef int64_t first = NEVER, last = -NEVER, at = 0, broken = 0, day, total = 0, best = 0, since
    cdef int64_t following = 0
    cdef Py_ssize_t i
    for i in range(traces.first_stop[begin], traces.first_stop[end]):
        if traces.stop_adds[i] > 0:
            first, last = min(first, traces.stop_day[i]), max(last, traces.stop_day[i])
    for i in range(traces.first_climb[begin], traces.first_climb[end]):
        if traces.climb_adds[i] > 0:
            first, last = min(first, traces.climb_day[i]), max(last, traces.climb_day[i])
    if first > last:
        return False
    for day in range(first, last + 1):
        score[day - low] = 0
    for i in range(traces.first_stop[begin], traces.first_stop[end]):
        if _is_at(traces, i, level):
            score[traces.stop_day[i] - low] += 1
            at += 1
    for i in range(traces.first_climb[begin], traces.first_climb[end]):
        if _is_broken(traces, i, level):
            score[traces.climb_day[i] - low] -= 2
            broken += 1
        following += _is_next(traces, i, level)
    since = first
    for day in range(first, last + 1):
        total += score[day - low]
        if total < 0:
            total, since = 0, day + 1
        elif total > best:
            best, counts[k, FIRST_DAY], counts[k, LAST_DAY] = total, since, day
    if best == 0:
        return False
    total = 0
    for i in range(traces.first_stop[begin], traces.first_stop[end]):
        if _is_at(traces, i, level):
            total += counts[k, FIRST_DAY] <= traces.stop_day[i] <= counts[k, LAST_DAY]
    if end - begin == 1:  # of several entities, a deep queue's many stops do not outweigh breaks
        following = at
    if 20 * total >= 19 * at and 10 * broken <= 3 * (broken + min(at, following)):
        counts[k, FIRST_DAY], counts[k, LAST_DAY], counts[k, ALWAYS] = first, last, 1
    return True


cdef void _count(
    Traces traces, int64_t begin, int64_t end, int64_t level, int64_t low, int64_t[::1] seen,
    int64_t[:, ::1] counts, double[::1] concentration, Py_ssize_t k
) noexcept nogil:
    """Add up the counts of the period, entity by entity."""
    cdef int64_t e, at, broken, from_day = counts[k, FIRST_DAY], to_day = counts[k, LAST_DAY]
    cdef int64_t adds, used
    cdef Py_ssize_t i
    cdef double units = 0.0
    for e in range(begin, end):
        at = _count_stops(traces, e, level, low, seen, counts, &units, k)
        broken = 0
        for i in range(traces.first_climb[e], traces.first_climb[e + 1]):
            adds, used = traces.climb_adds[i], traces.climb_level[i]
            if adds <= 0 or not from_day <= traces.climb_day[i] <= to_day:
                continue
            counts[k, STARTS] += 1
            if used <= level:
                counts[k, HIGHEST] = max(counts[k, HIGHEST], used)
                counts[k, CLIMBS_NEAR] += 2 * used > level
                counts[k, NEXT] += level < used + adds
                counts[k, NEXT_BESIDE] += level < used + adds and used > adds
            broken += adds <= level < used
        counts[k, AT] += at
        counts[k, BROKEN] += broken
        counts[k, ENTITIES] += at >= 5
        if at > counts[k, MOST_AT]:
            counts[k, MOST_AT], counts[k, MOST_BROKEN] = at, broken
    if counts[k, UNITS] > 0:
        concentration[k] = units / counts[k, UNITS]


cdef int64_t _count_stops(
    Traces traces, int64_t e, int64_t level, int64_t low, int64_t[::1] seen, int64_t[:, ::1] counts,
    double* units, Py_ssize_t k
) noexcept nogil:
    """Add up the stops of an entity in the period; return the number of those at the level."""
    cdef int64_t at = 0, withheld = 0, near = 0, day = NEVER, adds, used
    cdef Py_ssize_t i
    for i in range(traces.first_stop[e], traces.first_stop[e + 1]):
        adds, used = traces.stop_adds[i], traces.stop_level[i]
        if adds <= 0 or not counts[k, FIRST_DAY] <= traces.stop_day[i] <= counts[k, LAST_DAY]:
            continue
        if traces.stop_day[i] != day:
            _add_unit(counts, units, k, withheld, near)
            day, withheld, near = traces.stop_day[i], 0, 0
        if adds <= level < used + adds:
            withheld += 1
            at += used <= level
            if seen[day - low] != k:
                seen[day - low] = k
                counts[k, DAYS] += 1
        elif level < 2 * (used + adds) and used + adds <= level:
            near += 1
    _add_unit(counts, units, k, withheld, near)
    return at


cdef inline void _add_unit(
    int64_t[:, ::1] counts, double* units, Py_ssize_t k, int64_t withheld, int64_t near
) noexcept nogil:
    """Add an entity-day."""
    counts[k, WITHHELD] += withheld
    counts[k, NEAR] += near
    if withheld + near > 0:
        counts[k, UNITS] += 1
        units[0] += <double> withheld / (withheld + near)
