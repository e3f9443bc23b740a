"""Tables with one row per resource."""

from libc.stdint cimport int64_t
from libc.string cimport memmove


cdef inline bint fits(
    const int64_t[:, ::1] request, int64_t k, const int64_t[::1] free
) noexcept nogil:
    """Return whether column ``k`` of ``request`` fits in ``free`` (SPEC §4, *fits*)."""
    cdef int64_t x
    for x in range(request.shape[0]):
        if request[x, k] > free[x] and request[x, k] > 0:
            return False
    return True


cdef inline int64_t parts_on(
    const int64_t[:, ::1] part, int64_t k, int64_t most, const int64_t[:, ::1] free, int64_t node,
    int64_t but
) noexcept nogil:
    """Return how many parts of attempt ``k``, at most ``most``, fit in what is free on a node.

    Resource ``but`` does not count; −1: all do.
    """
    cdef int64_t count = most, x
    for x in range(free.shape[0]):
        if part[x, k] > 0 and x != but:
            if free[x, node] < part[x, k]:
                return 0
            if most > 1:
                count = min(count, free[x, node] // part[x, k])
    return count


cdef inline void add(
    int64_t[::1] free, const int64_t[:, ::1] amounts, int64_t k, int64_t sign
) noexcept nogil:
    """Add ``sign`` times column ``k`` of ``amounts`` to ``free``."""
    cdef int64_t x
    for x in range(amounts.shape[0]):
        free[x] += sign * amounts[x, k]


cdef inline void copy_column(
    int64_t[:, ::1] target, int64_t to, const int64_t[:, ::1] source, int64_t k
) noexcept nogil:
    """Copy column ``k`` of ``source`` to column ``to`` of ``target``."""
    cdef int64_t x
    for x in range(source.shape[0]):
        target[x, to] = source[x, k]


cdef inline void move(
    int64_t[::1] target, int64_t to, const int64_t[::1] source, int64_t k, int64_t count
) noexcept nogil:
    """Copy ``count`` elements of ``source`` from ``k`` on; the two ranges may overlap."""
    if count > 0:
        assert 0 <= to <= target.shape[0] - count and 0 <= k <= source.shape[0] - count
        memmove(&target[to], &source[k], count * sizeof(int64_t))


cdef inline void move_rows(
    int64_t[:, ::1] target, int64_t to, const int64_t[:, ::1] source, int64_t k, int64_t count
) noexcept nogil:
    """Copy ``count`` columns of ``source`` from ``k`` on; the two ranges may overlap."""
    cdef int64_t x
    if count > 0:
        assert 0 <= to <= target.shape[1] - count and 0 <= k <= source.shape[1] - count
        for x in range(source.shape[0]):
            memmove(&target[x, to], &source[x, k], count * sizeof(int64_t))
