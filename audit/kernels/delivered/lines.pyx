"""Attempts in the order of a key."""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t

import numpy as np

from audit.kernels.delivered.model cimport ObservedPool


@cython.final
cdef class JobLine:
    """Attempts in the order of a key; a gap keeps the key of the attempt that left."""

    def __init__(self, int64_t space):
        self.key, self.job, self.size, self.estimate = np.zeros((4, space + 2), np.int64)
        parts = (space + 2 >> BITS) + 1
        self.bounds, self.shortest = np.zeros(parts, np.uint8), np.zeros((WIDTHS, parts), np.int64)
        rows = (parts >> BITS) + 1
        self.row_bounds = np.zeros(rows, np.uint8)
        self.row_shortest = np.zeros((WIDTHS, rows), np.int64)


cdef void bound(JobLine line, int64_t part) noexcept nogil:
    """Find the bounds of a part of a line."""
    cdef int64_t bits, least = NEVER, i, begin = part << BITS
    for bits in range(WIDTHS):
        line.shortest[bits, part] = NEVER
    for i in range(max(begin, line.head), min(begin + (1 << BITS), line.tail)):
        if line.size[i] != HUGE:
            bits = width(line.size[i])
            line.shortest[bits, part] = min(line.shortest[bits, part], line.estimate[i])
    for bits in range(WIDTHS):
        least = line.shortest[bits, part] = min(least, line.shortest[bits, part])
    line.bounds[part] = TIGHT


cdef void bound_row(JobLine line, int64_t row) noexcept nogil:
    """Find the bounds of 2**BITS parts of a line."""
    cdef int64_t bits, part, begin = row << BITS
    for bits in range(WIDTHS):
        line.row_shortest[bits, row] = NEVER
    for part in range(begin, min(begin + (1 << BITS), ((line.tail - 1) >> BITS) + 1)):
        if line.bounds[part] == STALE:
            bound(line, part)
        for bits in range(WIDTHS):
            line.row_shortest[bits, row] = min(
                line.row_shortest[bits, row], line.shortest[bits, part]
            )
    line.row_bounds[row] = TIGHT


cdef int64_t first_from(JobLine line, int64_t key) noexcept nogil:
    """Return the first place with this key or a greater one."""
    cdef int64_t low = line.head, high = line.tail, middle
    while low < high:
        middle = (low + high) >> 1
        if line.key[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


cdef inline void move_place(JobLine line, int64_t source, int64_t target) noexcept nogil:
    line.key[target], line.job[target] = line.key[source], line.job[source]
    line.size[target], line.estimate[target] = line.size[source], line.estimate[source]


cdef void close_gaps(JobLine line) noexcept nogil:
    """Move the attempts to the front."""
    cdef int64_t kept = 0, i
    for i in range(line.head, line.tail):
        if line.job[i] != GAP:
            move_place(line, i, kept)
            kept += 1
    line.head, line.tail = 0, kept
    stale(line, 0, kept)


cdef void insert(JobLine line, int64_t key, int64_t job, ObservedPool log) noexcept nogil:
    """Add an attempt behind those with the same key."""
    cdef int64_t place, gap, i
    if line.live == 0:
        clear(line)
    elif line.tail + 1 >= line.key.shape[0] or line.tail - line.head > 2 * line.live + 64:
        close_gaps(line)
    place = first_from(line, key + 1)
    if place == line.tail:
        append(line, key, job, log)
        return
    gap = place
    while gap < line.tail and line.job[gap] != GAP:
        gap += 1
    if gap == line.tail:
        line.tail += 1
    for i in range(gap, place, -1):
        move_place(line, i - 1, i)
    stale(line, place, gap)
    line.key[place], line.job[place] = key, job
    line.size[place], line.estimate[place] = log.request[0, job], log.estimate[job]
    line.live += 1


cdef void remove(JobLine line, int64_t key, int64_t job) noexcept nogil:
    """Make the place of an attempt a gap."""
    cdef int64_t i = line.head
    if line.job[i] != job:
        i = first_from(line, key)
    while line.job[i] != job:
        i += 1
    line.job[i] = GAP
    loosen(line, i)
    line.live -= 1
    while line.head < line.tail and line.job[line.head] == GAP:
        line.head += 1


@cython.final
cdef class JobHeap:
    """Attempts of which the one with the least key comes first."""

    def __init__(self, int64_t space):
        self.key, self.job = np.zeros((2, space + 1), np.int64)
