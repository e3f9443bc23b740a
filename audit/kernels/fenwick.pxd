"""Sums over the first elements of an array that changes, in logarithmic time (Fenwick trees).

An array may hold many trees: that of a segment has the segment's own places.
"""

from libc.stdint cimport int64_t

ctypedef fused Amount:
    int64_t
    double


cdef inline void add_at(
    Amount[::1] tree, int64_t begin, int64_t end, int64_t place, Amount amount
) noexcept nogil:
    """Add to the element at ``place`` of the segment from ``begin`` to before ``end``."""
    cdef int64_t k = place - begin + 1
    while k <= end - begin:
        tree[begin + k - 1] += amount
        k += k & -k


cdef inline Amount sum_to(Amount[::1] tree, int64_t begin, int64_t place) noexcept nogil:
    """Return the sum of a segment's elements up to and including that at ``place``."""
    cdef int64_t k = place - begin + 1
    cdef Amount total = 0
    while k > 0:
        total += tree[begin + k - 1]
        k -= k & -k
    return total
