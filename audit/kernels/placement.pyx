"""Split what attempts use over their nodes (SPEC §12)."""

from libc.stdint cimport int64_t

import numpy as np

from audit.kernels.sweeps cimport time_at


def split(
    const int64_t[::1] start, const int64_t[::1] end,
    const int64_t[::1] by_start, const int64_t[::1] by_end,
    const int64_t[:, ::1] request, const int64_t[:, ::1] capacity,
    const int64_t[::1] first, const int64_t[::1] node, const unsigned char[:, ::1] stated,
    const int64_t[::1] kind, const unsigned char[::1] in_order,
    int64_t[:, ::1] amount, unsigned char[::1] guessed,
):
    """Write what each attempt uses on each of its nodes.

    Stated amounts are kept. An attempt on one node uses everything there. Attempts that use all of
    their nodes use what each has. Of others, CPUs fill the nodes in their order: each gets what is
    free at the start, while at least one unit remains for each node after it. Each other resource
    is split in proportion to what the nodes have, and evenly where none has any. GPUs that all have
    a type are the sums of their types.

    Args:
        start, end: of n attempts, s.
        by_start, by_end: attempts that occupy nodes, in the order of these times.
        request: [R, n].
        capacity: [R, N], of the nodes.
        first: [n + 1]: attempt k has the places first[k], …, first[k + 1] − 1 of ``node``.
        node: the nodes of the attempts, in the order of their lists.
        stated: [R, n]: 1 where ``amount`` is given.
        kind: [R]: the resource of which each is a type, or itself.
        in_order: [R]: 1 where nodes are filled in order.
        amount: [R, places], written where it is not.
        guessed: [n], set to 1 where nodes are filled in order, or get different amounts.
    """
    cdef Py_ssize_t resources = request.shape[0], s = 0, e = 0, place, x, last
    cdef int64_t i, now
    cdef bint of_types
    cdef int64_t[:, ::1] free = np.array(capacity)
    with nogil:
        while s < by_start.shape[0]:
            now = start[by_start[s]]
            while time_at(end, by_end, e) <= now:
                i = by_end[e]
                for place in range(first[i], first[i + 1]):
                    for x in range(resources):
                        free[x, node[place]] += amount[x, place]
                e += 1
            i = by_start[s]
            last = first[i + 1] - 1
            for of_types in (True, False):  # the sums of types follow them
                for x in range(resources):
                    if (kind[x] != x) == of_types and not stated[x, i]:
                        guessed[i] |= _place(
                            free, capacity, node, first[i], last, request, kind, in_order, amount,
                            x, i
                        )
            for x in range(resources):
                for place in range(first[i], last + 1):
                    free[x, node[place]] -= amount[x, place]
            s += 1


cdef bint _place(
    const int64_t[:, ::1] free, const int64_t[:, ::1] capacity, const int64_t[::1] node,
    Py_ssize_t begin, Py_ssize_t last, const int64_t[:, ::1] request, const int64_t[::1] kind,
    const unsigned char[::1] in_order, int64_t[:, ::1] amount, Py_ssize_t x, int64_t i
) noexcept nogil:
    """Write what attempt i uses of resource x on its nodes; return whether that is a guess."""
    cdef Py_ssize_t place
    cdef bint guessed = False
    if last == begin:
        amount[x, last] = request[x, i]
    elif _has_types(request, kind, x, i):
        _sum_types(amount, kind, begin, last, x)
    elif _whole(capacity, node, begin, last, x) == request[x, i]:
        for place in range(begin, last + 1):
            amount[x, place] = capacity[x, node[place]]
    elif in_order[x]:
        guessed = True
        _fill(free, node, amount, begin, last, x, request[x, i])
    else:
        _share(capacity, node, amount, begin, last, x, request[x, i])
        for place in range(begin, last):
            guessed |= amount[x, place] != amount[x, last]
    return guessed


cdef bint _has_types(
    const int64_t[:, ::1] request, const int64_t[::1] kind, Py_ssize_t x, int64_t i
) noexcept nogil:
    """Return whether an attempt requests a resource, and all of it by type."""
    cdef int64_t total = 0
    cdef Py_ssize_t other
    for other in range(kind.shape[0]):
        if other != x and kind[other] == x:
            total += request[other, i]
    return total > 0 and total == request[x, i]


cdef void _sum_types(
    int64_t[:, ::1] amount, const int64_t[::1] kind, Py_ssize_t begin, Py_ssize_t last, Py_ssize_t x
) noexcept nogil:
    """Give each node the sum of the types of a resource."""
    cdef Py_ssize_t place, other
    for place in range(begin, last + 1):
        amount[x, place] = 0
        for other in range(kind.shape[0]):
            if other != x and kind[other] == x:
                amount[x, place] += amount[other, place]


cdef int64_t _whole(
    const int64_t[:, ::1] capacity, const int64_t[::1] node, Py_ssize_t begin, Py_ssize_t last,
    Py_ssize_t x
) noexcept nogil:
    """Return what the nodes have together."""
    cdef int64_t total = 0
    cdef Py_ssize_t place
    for place in range(begin, last + 1):
        total += capacity[x, node[place]]
    return total


cdef void _fill(
    const int64_t[:, ::1] free, const int64_t[::1] node, int64_t[:, ::1] amount,
    Py_ssize_t begin, Py_ssize_t last, Py_ssize_t x, int64_t request
) noexcept nogil:
    """Give the nodes what is free on them, in their order; the last gets the rest."""
    cdef Py_ssize_t place
    cdef int64_t left = request, most
    for place in range(begin, last):
        most = max(left - (last - place), 0)
        amount[x, place] = min(max(free[x, node[place]], min(most, 1)), most)
        left -= amount[x, place]
    amount[x, last] = left


cdef void _share(
    const int64_t[:, ::1] capacity, const int64_t[::1] node, int64_t[:, ::1] amount,
    Py_ssize_t begin, Py_ssize_t last, Py_ssize_t x, int64_t request
) noexcept nogil:
    """Give the nodes a request in proportion to what they have; sums up to each are rounded."""
    cdef Py_ssize_t place
    cdef int64_t total = _whole(capacity, node, begin, last, x)
    cdef int64_t weights = total if total > 0 else last + 1 - begin
    cdef int64_t weight = 0, given = 0, until
    for place in range(begin, last):
        weight += capacity[x, node[place]] if total > 0 else 1
        until = <int64_t>(<double>request * weight / weights + 0.5)
        amount[x, place] = until - given
        given = until
    amount[x, last] = request - given
