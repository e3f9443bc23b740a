"""Order statistics of ranges of a sequence, by a wavelet matrix.

A level of the matrix has a bit of each number, the highest first. The numbers of the next level are
those with a 0 there, then those with a 1, in the order of this level.

Source: F. Claude, G. Navarro, A. Ordóñez, The wavelet matrix (2015).
"""

cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t

import numpy as np

cdef enum:
    BITS = 5  # of the places of a word


@cython.final
cdef class Ranges:
    """A sequence of n < 2^32 whole numbers ≥ 0, below 2^``bits``."""

    cdef int64_t bits
    cdef uint64_t[:, ::1] words
    """Levels × words: how many numbers before a word's places have a 0 · 2^32, and a bit for each
    of its places with a 0."""
    cdef int64_t[::1] zeros  # [levels], numbers with a 0

    def __init__(self, const int64_t[::1] values, int64_t bits):
        count = len(values)
        self.bits = bits
        self.words = np.zeros((bits, (count >> BITS) + 1), np.uint64)
        self.zeros = np.zeros(bits, np.int64)
        cdef int64_t[:, ::1] sides = np.empty((2, count), np.int64)
        sides[0, :] = values
        with nogil:
            _divide(self, sides)

    def below(
        self, const int64_t[::1] begin, const int64_t[::1] end, const int64_t[::1] bounds
    ):
        """Return how many numbers at places [begin, end) are below the bounds, at most 2^bits."""
        made = np.zeros(len(begin), np.int64)
        cdef int64_t[::1] out = made
        cdef int64_t low, high, low_zeros, high_zeros, level
        cdef Py_ssize_t k
        with nogil:
            for k in range(begin.shape[0]):
                low, high = begin[k], end[k]
                if bounds[k] >> self.bits > 0:
                    out[k] = high - low
                    continue
                for level in range(self.bits):
                    low_zeros = _zeros(self, level, low)
                    high_zeros = _zeros(self, level, high)
                    if (bounds[k] >> (self.bits - 1 - level)) & 1:
                        out[k] += high_zeros - low_zeros
                        low += self.zeros[level] - low_zeros
                        high += self.zeros[level] - high_zeros
                    else:
                        low, high = low_zeros, high_zeros
        return made

    def nth_without(
        self, const int64_t[::1] begin, const int64_t[::1] end, Ranges other not None,
        const int64_t[::1] left, const int64_t[::1] right, const int64_t[::1] nth
    ):
        """Return the nth smallest numbers (from 0) of ranges without those of others.

        Args:
            begin, end: places of each range.
            other: a sequence with as many bits.
            left, right: places of ranges of ``other``, whose numbers are all in [begin, end).
            nth: below the number of those that are left.
        """
        made = np.zeros(len(nth), np.int64)
        cdef int64_t[::1] out = made
        cdef int64_t low, high, from_, to, low_zeros, high_zeros, from_zeros, to_zeros
        cdef int64_t rank, few, level
        cdef Py_ssize_t k
        with nogil:
            for k in range(nth.shape[0]):
                low, high, from_, to, rank = begin[k], end[k], left[k], right[k], nth[k]
                for level in range(self.bits):
                    low_zeros, high_zeros = _zeros(self, level, low), _zeros(self, level, high)
                    from_zeros, to_zeros = _zeros(other, level, from_), _zeros(other, level, to)
                    few = high_zeros - low_zeros - (to_zeros - from_zeros)
                    if rank < few:
                        low, high, from_, to = low_zeros, high_zeros, from_zeros, to_zeros
                        continue
                    rank -= few
                    out[k] += <int64_t> 1 << (self.bits - 1 - level)
                    low += self.zeros[level] - low_zeros
                    high += self.zeros[level] - high_zeros
                    from_ += other.zeros[level] - from_zeros
                    to += other.zeros[level] - to_zeros
        return made


cdef void _divide(Ranges self, int64_t[:, ::1] sides) noexcept nogil:
    """Write the levels; ``sides``, 2 × n, has the numbers in its first row."""
    cdef int64_t level, bit, zeros, ones
    cdef Py_ssize_t i
    for level in range(self.bits):
        bit = self.bits - 1 - level
        zeros = ones = 0
        for i in range(sides.shape[1]):
            if i & ((1 << BITS) - 1) == 0:
                self.words[level, i >> BITS] = <uint64_t> zeros << 32
            if (sides[0, i] >> bit) & 1:
                sides[1, ones] = sides[0, i]
                ones += 1
            else:
                self.words[level, i >> BITS] |= <uint64_t> 1 << (i & ((1 << BITS) - 1))
                sides[0, zeros] = sides[0, i]
                zeros += 1
        if sides.shape[1] & ((1 << BITS) - 1) == 0:
            self.words[level, sides.shape[1] >> BITS] = <uint64_t> zeros << 32
        self.zeros[level] = zeros
        for i in range(ones):
            sides[0, zeros + i] = sides[1, i]


cdef inline int64_t _zeros(Ranges ranges, int64_t level, int64_t place) noexcept nogil:
    """Return how many of the first ``place`` numbers of a level have a 0."""
    cdef uint64_t word = ranges.words[level, place >> BITS]
    cdef uint32_t bits = <uint32_t> word & ((<uint32_t> 1 << (place & ((1 << BITS) - 1))) - 1)
    bits -= (bits >> 1) & 0x55555555
    bits = (bits & 0x33333333) + ((bits >> 2) & 0x33333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F
    return <int64_t> (word >> 32) + ((bits * <uint32_t> 0x01010101) >> 24)
