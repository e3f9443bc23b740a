"""Attempts in the order of a key."""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t, uint8_t

from audit.kernels.delivered.model cimport ObservedPool


cdef enum:
    GAP = -1
    BITS = 5  # of the places of a part of a line
    WIDTHS = 17  # bits of sizes that are told apart; larger ones count as these


cdef enum Bounds:
    """How well the bounds of a part of a line are known."""
    STALE
    LOOSE
    TIGHT


cdef extern from *:
    int64_t leading_zeros "__builtin_clzll"(int64_t) nogil


cdef extern from *:
    const int64_t HUGE "(INT64_C(1) << 60)"  # the size of a gap; no attempt is as large


@cython.final
cdef class JobLine:
    cdef int64_t[::1] key
    cdef int64_t[::1] job
    cdef int64_t[::1] size
    cdef int64_t[::1] estimate
    cdef int64_t head, tail, live
    cdef int64_t due  # the number from which on those that have ended are taken out
    cdef uint8_t[::1] bounds  # of parts of 2**BITS places
    cdef int64_t[:, ::1] shortest  # WIDTHS × parts: least estimate of the sizes of so many bits
    cdef uint8_t[::1] row_bounds  # of rows of 2**BITS parts
    cdef int64_t[:, ::1] row_shortest  # WIDTHS × rows


@cython.final
cdef class JobHeap:
    cdef int64_t[::1] key
    cdef int64_t[::1] job
    cdef int64_t number


cdef void bound(JobLine line, int64_t part) noexcept nogil
cdef void bound_row(JobLine line, int64_t row) noexcept nogil
cdef int64_t first_from(JobLine line, int64_t key) noexcept nogil
cdef void close_gaps(JobLine line) noexcept nogil
cdef void insert(JobLine line, int64_t key, int64_t job, ObservedPool log) noexcept nogil
cdef void remove(JobLine line, int64_t key, int64_t job) noexcept nogil


cdef inline void clear(JobLine line) noexcept nogil:
    """Empty a line."""
    line.head = line.tail = line.live = 0


cdef inline int64_t width(int64_t size) noexcept nogil:
    """Return the number of bits of a size, at most WIDTHS - 1."""
    return 0 if size <= 0 else min(64 - leading_zeros(size), WIDTHS - 1)


cdef inline void stale(JobLine line, int64_t first, int64_t last) noexcept nogil:
    """Forget the bounds of the parts with places ``first`` to ``last``."""
    cdef int64_t part
    for part in range(first >> BITS, (last >> BITS) + 1):
        line.bounds[part] = line.row_bounds[part >> BITS] = STALE


cdef inline void loosen(JobLine line, int64_t i) noexcept nogil:
    """Note that place ``i`` will not start."""
    line.size[i] = HUGE
    if line.bounds[i >> BITS] == TIGHT:
        line.bounds[i >> BITS] = LOOSE
    if line.row_bounds[i >> 2 * BITS] == TIGHT:
        line.row_bounds[i >> 2 * BITS] = LOOSE


cdef inline void append(JobLine line, int64_t key, int64_t job, ObservedPool log) noexcept nogil:
    """Add an attempt whose key is not below the last one."""
    cdef int64_t i = line.tail
    line.key[i], line.job[i] = key, job
    line.size[i], line.estimate[i] = log.request[0, job], log.estimate[job]
    stale(line, i, i)
    line.tail += 1
    line.live += 1


cdef inline void append_place(JobLine line, JobLine other, int64_t i) noexcept nogil:
    """Add the attempt at place ``i`` of another line, whose key is not below the last one."""
    cdef int64_t k = line.tail
    line.key[k], line.job[k] = other.key[i], other.job[i]
    line.size[k], line.estimate[k] = other.size[i], other.estimate[i]
    stale(line, k, k)
    line.tail += 1
    line.live += 1


cdef inline void push(JobHeap heap, int64_t key, int64_t job) noexcept nogil:
    cdef int64_t i = heap.number, above
    heap.number += 1
    while i > 0:
        above = (i - 1) >> 1
        if heap.key[above] <= key:
            break
        heap.key[i], heap.job[i] = heap.key[above], heap.job[above]
        i = above
    heap.key[i], heap.job[i] = key, job


cdef inline void pop(JobHeap heap) noexcept nogil:
    """Remove the first attempt."""
    cdef int64_t i = 0, below, key, job
    heap.number -= 1
    key, job = heap.key[heap.number], heap.job[heap.number]
    while True:
        below = 2 * i + 1
        if below >= heap.number:
            break
        if below + 1 < heap.number and heap.key[below + 1] < heap.key[below]:
            below += 1
        if heap.key[below] >= key:
            break
        heap.key[i], heap.job[i] = heap.key[below], heap.job[below]
        i = below
    heap.key[i], heap.job[i] = key, job


cdef inline int64_t next_able(
    JobLine line, int64_t i, int64_t most, int64_t left, int64_t spare
) noexcept nogil:
    """Return the first place from ``i`` on that may start; parts without any are skipped.

    It requests at most ``most``, and it takes no longer than ``left`` or requests at most
    ``spare``.
    """
    cdef int64_t bits = width(most), spared = width(min(most, spare)), stop = i
    cdef int64_t longest = min(left, NEVER - 1), part = -1, row = -1
    if most == HUGE - 1:  # the first one may, in most cases
        stop = min(((i >> BITS) + 1) << BITS, line.tail)
    while i < line.tail:
        while i < stop and (
            line.size[i] > most or (line.estimate[i] > left and line.size[i] > spare)
        ):
            i += 1
        if i < stop:
            return i
        if part >= 0 and line.bounds[part] == LOOSE:
            line.bounds[part] = STALE
        part = -1
        while i == stop and i < line.tail:
            if i & ((1 << 2 * BITS) - 1) == 0:
                if row >= 0 and line.row_bounds[row] == LOOSE:
                    line.row_bounds[row] = STALE
                row = i >> 2 * BITS
                if line.row_bounds[row] == STALE:
                    bound_row(line, row)
                if line.row_shortest[bits, row] > longest and (
                    line.row_shortest[spared, row] == NEVER
                ):
                    row = -1
                    i = stop = i + (1 << 2 * BITS)
                    continue
            if line.bounds[i >> BITS] == STALE:
                bound(line, i >> BITS)
            stop = min(((i >> BITS) + 1) << BITS, line.tail)
            if line.shortest[bits, i >> BITS] > longest and (
                line.shortest[spared, i >> BITS] == NEVER
            ):
                i = stop
            elif i & ((1 << BITS) - 1) == 0:
                part = i >> BITS
    return line.tail
