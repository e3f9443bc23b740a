"""Sort indices by their keys."""

from libc.stdint cimport int64_t


cdef inline void sort_by(
    const double[::1] keys, int64_t[::1] order, int64_t[::1] spare, Py_ssize_t count
) noexcept nogil:
    """Sort the first ``count`` elements of ``order``, which are indices of ``keys``, stably.

    No key is NaN; ``spare`` is working space as long as ``order``. O(n log n) by merging; runs that
    are in order already take a single pass per level.
    """
    cdef Py_ssize_t width = 1, low, middle, high
    while width < count:
        low = 0
        while low < count:
            middle = min(low + width, count)
            high = min(low + 2 * width, count)
            if middle < high and keys[order[middle - 1]] > keys[order[middle]]:
                merge(keys, order, spare, low, middle, high)
            low = high
        width *= 2


cdef inline void merge(
    const double[::1] keys,
    int64_t[::1] order,
    int64_t[::1] spare,
    Py_ssize_t low,
    Py_ssize_t middle,
    Py_ssize_t high,
) noexcept nogil:
    """Merge two neighbouring sorted parts of ``order``."""
    cdef Py_ssize_t left = low, right = middle, k
    for k in range(low, high):
        if right == high or (left < middle and keys[order[left]] <= keys[order[right]]):
            spare[k] = order[left]
            left += 1
        else:
            spare[k] = order[right]
            right += 1
    for k in range(low, high):
        order[k] = spare[k]
