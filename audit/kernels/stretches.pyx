"""Find the hours that are worth most as a window, of all stretches of a circle of hours."""

import numpy as np


cdef struct Best:
    Py_ssize_t begin
    Py_ssize_t extent
    double score


def best_stretch(
    const double[:, :, ::1] base,
    const double[:, :, :, :] hours,
    double[:, ::1] chance,
    double least,
    double raw,
):
    """Return begin, hours − 1 and score of the stretch of hours that is worth most as a window.

    A stretch is worth chance · (starts + occasions) − starts of the class in a run of blocks.
    It must hold ``least`` of both, of the class and of its neighbours, and the class' share of
    starts be at most ``raw`` of the neighbours'. Of stretches worth the same, the shortest.

    Args:
        base: occasions and starts of the class, then of the neighbours, of each beginning: what a
            stretch of no hours holds, [begin, 4, blocks].
        hours: what each further hour adds, [begin, hours, 4, blocks].
        chance: the share of starts to be expected of a rule in a run, [blocks, blocks + 1].
        least, raw: see above.

    Returns:
        They; the score is 0 if no stretch is worth anything.
    """
    cdef Py_ssize_t blocks = base.shape[2], begin, extent, row, block
    cdef Best best = Best(0, 0, 0.0)
    cdef double[:, ::1] sums = np.zeros((4, blocks + 1))
    cdef double[:, ::1] held = np.zeros((4, blocks))
    with nogil:
        for begin in range(hours.shape[0]):
            held[:, :] = base[begin]
            for extent in range(hours.shape[1]):
                for row in range(4):
                    for block in range(blocks):
                        held[row, block] += hours[begin, extent, row, block]
                        sums[row, block + 1] = sums[row, block] + held[row, block]
                best = _better(best, sums, chance, least, raw, begin, extent)
    return best.begin, best.extent, best.score


cdef Best _better(
    Best best,
    double[:, ::1] sums,
    double[:, ::1] chance,
    double least,
    double raw,
    Py_ssize_t begin,
    Py_ssize_t extent,
) noexcept nogil:
    """Return a stretch if it is worth more, in some run of blocks, than the best so far."""
    cdef Py_ssize_t first, behind
    cdef double withheld, starts, idle, served, score
    for first in range(sums.shape[1] - 1):
        for behind in range(first + 1, sums.shape[1]):
            withheld = sums[0, behind] - sums[0, first]
            starts = sums[1, behind] - sums[1, first]
            idle = sums[2, behind] - sums[2, first]
            served = sums[3, behind] - sums[3, first]
            if withheld + starts < least or idle + served < least:
                continue
            if starts * (idle + served) > raw * served * (withheld + starts):
                continue
            score = chance[first, behind] * (withheld + starts) - starts
            if score > best.score + 1e-9 or (
                score > best.score - 1e-9 and score > 0 and extent < best.extent
            ):
                best = Best(begin, extent, score)
    return best
