"""Ranks at many instants. Tables have a row per instant and a column per entity."""

from libc.stdint cimport int64_t, uint8_t, uint32_t

import numpy as np

from audit.kernels.sorting cimport sort_by

cdef enum:
    CROWD = 32  # more keys than this in one bucket are sorted by merging


def ranks(const double[:, ::1] keys, const uint8_t[:, ::1] ranked, int64_t[:, ::1] out):
    """Write each row's ranks: one more than the number of smaller keys.

    Args:
        keys: ≥ 0; neither −0 nor NaN.
        ranked: 1: the key takes part; the others get rank 0.
        out: written.
    """
    cdef Py_ssize_t columns = keys.shape[1], k
    # The bits of numbers ≥ 0, as integers, are in the same order as the numbers.
    cdef const int64_t[:, ::1] bits = np.asarray(keys).view(np.int64)
    cdef int64_t[::1] places, members, order, spare
    places = np.empty(1 << max(4, (2 * columns - 1).bit_length()), np.int64)
    members, order, spare = np.empty((3, columns), np.int64)
    with nogil:
        for k in range(keys.shape[0]):
            _rank_row(keys[k], bits[k], ranked[k], members, order, places, spare, out[k])


cdef void _rank_row(
    const double[::1] keys,
    const int64_t[::1] bits,
    const uint8_t[::1] ranked,
    int64_t[::1] members,
    int64_t[::1] order,
    int64_t[::1] places,
    int64_t[::1] spare,
    int64_t[::1] out,
) noexcept nogil:
    """Write the ranks of one row; ``members``, ``order``, ``places``, ``spare`` are working space."""
    cdef Py_ssize_t count = 0, column, i
    cdef int64_t zeros = 0, rank = 0
    for column in range(keys.shape[0]):
        if not ranked[column]:
            out[column] = 0
        elif bits[column] == 0:
            out[column] = 1
            zeros += 1
        else:
            members[count] = column
            count += 1
    if count == 0:
        return
    _sort_members(keys, bits, members[:count], order, places, spare)
    for i in range(count):
        if i == 0 or bits[order[i]] != bits[order[i - 1]]:
            rank = zeros + i + 1
        out[order[i]] = rank


cdef void _sort_members(
    const double[::1] keys,
    const int64_t[::1] bits,
    const int64_t[::1] members,
    int64_t[::1] order,
    int64_t[::1] places,
    int64_t[::1] spare,
) noexcept nogil:
    """Write ``members``, indices of keys > 0, to ``order``, sorted by their keys.

    They are put into buckets over the range of their bits, which is that of their logarithms, and
    then sorted by insertion; if a bucket is crowded, by merging. The number of ``places`` is a power
    of two; ``places`` and ``spare`` are working space.
    """
    cdef int64_t lowest = bits[members[0]], highest = lowest, shift = 0, place = 0, crowd = 0
    cdef int64_t here, moving
    cdef Py_ssize_t count = members.shape[0], bucket, i, k
    for i in range(1, count):
        lowest = min(lowest, bits[members[i]])
        highest = max(highest, bits[members[i]])
    while (highest - lowest) >> shift >= places.shape[0]:
        shift += 1
    places[:] = 0
    for i in range(count):
        places[(bits[members[i]] - lowest) >> shift] += 1
    for bucket in range(places.shape[0]):
        here = places[bucket]
        places[bucket] = place
        place += here
        crowd = max(crowd, here)
    if crowd > CROWD and highest > lowest:
        order[:count] = members
        sort_by(keys, order, spare, count)
        return
    for i in range(count):
        bucket = (bits[members[i]] - lowest) >> shift
        order[places[bucket]] = members[i]
        places[bucket] += 1
    for i in range(1, count):
        moving = order[i]
        k = i
        while k > 0 and bits[order[k - 1]] > bits[moving]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = moving


def keep_present(
    const uint8_t[:, ::1] present,
    const int64_t[::1] instants,
    const double[:, ::1] usage,
    const double[:, ::1] fraction,
    const int64_t[:, ::1] rank,
    int64_t[::1] as_of,
    uint32_t[::1] column,
    double[::1] usage_out,
    double[::1] fraction_out,
    int64_t[::1] rank_out,
):
    """Write the elements of tables that ``present`` marks, with their instants and columns.

    They come row by row; the last five arguments are written, one element for each mark.
    """
    cdef Py_ssize_t place = 0, k, c
    with nogil:
        for k in range(present.shape[0]):
            for c in range(present.shape[1]):
                if present[k, c]:
                    as_of[place] = instants[k]
                    column[place] = c
                    usage_out[place] = usage[k, c]
                    fraction_out[place] = fraction[k, c]
                    rank_out[place] = rank[k, c]
                    place += 1
