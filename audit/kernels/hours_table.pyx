"""Search of a table of classes by hour of the week for hours in which a class rarely starts."""

import numpy as np


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
