"""Search of a table of classes by hour of the week for hours in which a class rarely starts."""

from libc.stdint cimport int64_t

import numpy as np


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


def best_stretches(
    const double[:, :, :, :, ::1] tail, const int64_t[:, ::1] row, const int64_t[:, ::1] circle,
    Py_ssize_t longest, const int64_t[::1] which, const double[:, :, ::1] chance, double least,
    double raw, int64_t[:, ::1] out
):
    """Write the best window for each class among all stretches of hours.

    The score is chance · (starts + occasions) − starts of the class in a run of blocks. The class
    and its neighbours need ``least`` starts + occasions, and the class at most ``raw`` times the
    neighbours' share of starts. Ties go to the shortest.

    Args:
        tail: occasions and starts, which other rows may follow, by the hour of the week and the
            least reach, [168, reaches, 2, classes, blocks]; the first class is the sum of all.
        row: [begins, 168], the least reach with which a stretch forbids starts in the hours before
            it, by its first hour; with the last reach it forbids none.
        circle: [days, begins], the hours that are closed alike, one of each begin.
        longest: the most hours of a stretch.
        which: [k], the classes; the neighbours of each are all others.
        chance: the share of starts to be expected of a rule in a run, [k, blocks, blocks + 1].
        least, raw: see above.
        out: [k, 2], the first hour and the hours of each; no hours: no stretch has a score > 0.
    """
    cdef Py_ssize_t begin, hours, hour, day, k, x, blocks = tail.shape[4]
    cdef Py_ssize_t width = tail.shape[3] * blocks
    cdef double bound
    cdef double[::1] most = np.repeat(np.max(chance, (1, 2)), blocks)
    cdef double[::1] held = np.zeros(2 * width), score = np.zeros(len(which))
    cdef double[:, ::1] sums = np.zeros((4, blocks + 1))
    out[:] = 0
    with nogil:
        for begin in range(circle.shape[1]):
            held[:] = 0.0
            for hour in range(tail.shape[0]):
                _add(tail, hour, row[begin, hour], 1.0, held)
            for hours in range(1, longest + 1):
                for day in range(circle.shape[0]):
                    hour = circle[day, (begin + hours - 1) % circle.shape[1]]
                    _add(tail, hour, 0, 1.0, held)
                    _add(tail, hour, row[begin, hour], -1.0, held)
                for k in range(which.shape[0]):
                    bound = 0.0  # no run has a greater score
                    for x in range(which[k] * blocks, (which[k] + 1) * blocks):
                        bound += max(most[k * blocks] * (held[x] + held[width + x]) - held[width + x], 0.0)
                    if bound <= 0 or bound < score[k] - 1e-6:
                        continue
                    _sum_blocks(held, which[k] * blocks, sums)
                    _choose(sums, chance[k], least, raw, begin, hours, &score[k], out[k])


cdef inline void _add(
    const double[:, :, :, :, ::1] tail, Py_ssize_t hour, Py_ssize_t reach, double sign,
    double[::1] held
) noexcept nogil:
    """Add the occasions and starts in an hour, with at least a reach, to what a stretch holds."""
    cdef const double* table = &tail[hour, reach, 0, 0, 0]
    cdef Py_ssize_t x
    if reach + 1 < tail.shape[1]:
        for x in range(held.shape[0]):
            held[x] += sign * table[x]


cdef inline void _sum_blocks(
    const double[::1] held, Py_ssize_t own, double[:, ::1] sums
) noexcept nogil:
    """Write the sums up to each block: occasions and starts of a class, and those of all others."""
    cdef Py_ssize_t width = held.shape[0] // 2, row, block
    for row in range(2):
        for block in range(sums.shape[1] - 1):
            sums[row, block + 1] = sums[row, block] + held[row * width + own + block]
            sums[2 + row, block + 1] = sums[2 + row, block] + (
                held[row * width + block] - held[row * width + own + block]
            )


cdef void _choose(
    const double[:, ::1] sums, const double[:, ::1] chance, double least, double raw,
    Py_ssize_t begin, Py_ssize_t hours, double* best, int64_t[::1] out
) noexcept nogil:
    """Write a stretch, and its score in its best run of blocks, if it is better than the best one."""
    cdef Py_ssize_t first, behind, blocks = sums.shape[1] - 1
    cdef double withheld, starts, idle, served, score
    for first in range(blocks):
        for behind in range(first + 1, blocks + 1):
            withheld = sums[0, behind] - sums[0, first]
            starts = sums[1, behind] - sums[1, first]
            score = chance[first, behind] * (withheld + starts) - starts
            if score <= 0 or score < best[0] - 1e-9 or withheld + starts < least:
                continue
            idle = sums[2, behind] - sums[2, first]
            served = sums[3, behind] - sums[3, first]
            if idle + served < least or starts * (idle + served) > raw * served * (withheld + starts):
                continue
            if score > best[0] + 1e-9 or hours < out[1]:
                best[0], out[0], out[1] = score, begin, hours
