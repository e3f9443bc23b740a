"""Search of a table of classes by hour of the week for hours in which a class rarely starts."""

from libc.stdint cimport int64_t

import numpy as np


cdef struct Best:
    Py_ssize_t begin
    Py_ssize_t extent
    double score
    double seconds


def add_tails(double[:, :, :, :, ::1] table, bint bounded):
    """Add to each reach of a table the greater reaches, and to each class those above it.

    Args:
        table: [hours of the week, reaches, 3, classes, blocks].
        bounded: whether classes are added too.
    """
    cdef Py_ssize_t hour, reach, row, k, blocks = table.shape[4]
    cdef Py_ssize_t width = table.shape[3] * blocks
    cdef double* own
    cdef const double* above
    with nogil:
        for hour in range(table.shape[0]):
            for reach in range(table.shape[1] - 1, -1, -1):
                for row in range(table.shape[2]):
                    own = &table[hour, reach, row, 0, 0]
                    if bounded:
                        for k in range(width - blocks - 1, -1, -1):
                            own[k] += own[k + blocks]
                    if reach + 1 < table.shape[1]:
                        above = &table[hour, reach + 1, row, 0, 0]
                        for k in range(width):
                            own[k] += above[k]


def stretches_of_overlap(
    const double[:, :, ::1] tail, const int64_t[:, ::1] row, const int64_t[:, ::1] circle,
    double[:, ::1] base, double[:, :, ::1] hours
):
    """Add what stretches of hours forbid that also forbid starts before them.

    Args:
        tail: sums by the hour of the week and the least reach, [168, reaches, width].
        row: [begins, 168], the least reach in the table from each hour to the begin of a stretch.
        circle: [days, begins], the hours that are closed alike, one of each begin.
        base: [begins, width], what is forbidden before a stretch.
        hours: [begins, hours of a stretch, width], what each further hour adds.
    """
    cdef Py_ssize_t begin, hour, day, k, x, begins = circle.shape[1], width = tail.shape[2]
    with nogil:
        for begin in range(begins):
            for hour in range(tail.shape[0]):
                for x in range(width):
                    base[begin, x] += tail[hour, row[begin, hour], x]
            for k in range(hours.shape[1]):
                for day in range(circle.shape[0]):
                    hour = circle[day, (begin + k) % begins]
                    for x in range(width):
                        hours[begin, k, x] += tail[hour, 0, x] - tail[hour, row[begin, hour], x]


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
    cdef Py_ssize_t blocks = base.shape[3], circle = base.shape[0], width = 5 * base.shape[3]
    cdef Py_ssize_t begin, extent, hour, block, x
    cdef bint same = hours.shape[0] == 1
    cdef Py_ssize_t extents = circle - 1 if same else hours.shape[1]
    cdef double most = np.max(chance), bound, positive
    cdef Best best = Best(0, 0, 0.0, 0.0)
    cdef double[:, ::1] sums = np.zeros((5, blocks + 1))
    cdef double[::1] held = np.zeros(width)
    cdef double[:, ::1] added = np.zeros((hours.shape[1], width))
    with nogil:
        for begin in range(circle):
            _divide(base[begin], which, held)
            if begin == 0 or not same:
                for hour in range(hours.shape[1]):
                    _divide(hours[begin, hour], which, added[hour])
            for extent in range(extents):
                hour = (begin + extent) % circle if same else extent
                for x in range(width):
                    held[x] += added[hour, x]
                bound = 0.0  # no run has a greater score
                for block in range(blocks):
                    positive = most * (held[block] + held[blocks + block]) - held[blocks + block]
                    bound += max(positive, 0.0)
                if bound <= 0 or bound < best.score - 1e-6:
                    continue
                for x in range(5):
                    for block in range(blocks):
                        sums[x, block + 1] = sums[x, block] + held[x * blocks + block]
                best = _better(best, sums, chance, least, raw, begin, extent)
    return best.begin, best.extent, best.score, best.seconds


cdef inline void _divide(
    const double[:, :, ::1] table, Py_ssize_t which, double[::1] out
) noexcept nogil:
    """Write the occasions, starts and seconds of a class, and the first two of all others."""
    cdef Py_ssize_t row, block, blocks = table.shape[2]
    for row in range(3):
        for block in range(blocks):
            out[row * blocks + block] = table[row, which, block]
            if row < 2:
                out[(3 + row) * blocks + block] = (
                    table[row, 0, block] - table[row, which, block]
                )


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
