"""States, priorities and ranks of entities, and of all nodes of a share tree, over time (SPEC §7).

Tables have a row per instant and a column per entity or node. Node 0 is the root; parents come
before their children. ``groups`` names the account among whose children a node competes: its
parent, except below accounts without a share, whose children compete one level up.
"""

cimport cython
from libc.math cimport INFINITY, NAN, isnan
from libc.stdint cimport int64_t, uint8_t, uint32_t

import numpy as np

from audit.kernels.operators cimport priority

cdef enum:
    FEW = 64  # items up to this number are sorted by insertion


# --- entities side by side -----------------------------------------------------------------------


def ranks(const double[:, ::1] keys, const uint8_t[:, ::1] ranked, int64_t[:, ::1] out):
    """Write each row's ranks, one more than the number of smaller keys; 0: not ``ranked``.

    No key is NaN. The order changes little from row to row, so each sort starts with the last one.
    """
    cdef Py_ssize_t columns = keys.shape[1], row, column, i
    cdef int64_t[::1] order = np.arange(columns), spare = np.empty(columns, np.int64)
    cdef double[::1] used = np.empty(columns)
    cdef int64_t rank = 0
    with nogil:
        for row in range(keys.shape[0]):
            for column in range(columns):
                used[column] = keys[row, column] if ranked[row, column] else INFINITY
            sort_by(used, order, spare, columns)
            for i in range(columns):
                column = order[i]
                if i == 0 or used[column] != used[order[i - 1]]:
                    rank = i + 1
                out[row, column] = rank if ranked[row, column] else 0


def keep_present(
    const uint8_t[:, ::1] present, const int64_t[::1] instants, const double[:, ::1] usage,
    const double[:, ::1] fraction, const int64_t[:, ::1] rank, int64_t[::1] as_of,
    uint32_t[::1] column, double[::1] usage_out, double[::1] fraction_out, int64_t[::1] rank_out
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


def priorities(
    int64_t operator, const double[::1] targets, const double[::1] states, double[::1] out
):
    """Write F of each pair of a target and a state; ``operator`` is an ``operators.Operator``."""
    cdef Py_ssize_t k
    with nogil:
        for k in range(targets.shape[0]):
            out[k] = priority(operator, targets[k], states[k])


cdef void sort_by(
    const double[::1] keys, int64_t[::1] order, int64_t[::1] spare, Py_ssize_t count
) noexcept nogil:
    """Sort the first ``count`` elements of ``order``, which are indices of ``keys``, stably.

    No key is NaN; ``spare`` is working space as long as ``order``. O(n log n) by merging; parts
    that are in order already take a single pass per level.
    """
    cdef Py_ssize_t width = 1, low, middle, high, left, right, k
    while width < count:
        low = 0
        while low < count:
            middle, high = min(low + width, count), min(low + 2 * width, count)
            if middle < high and keys[order[middle - 1]] > keys[order[middle]]:
                left, right = low, middle
                for k in range(low, high):
                    if right == high or (left < middle and keys[order[left]] <= keys[order[right]]):
                        spare[k] = order[left]
                        left += 1
                    else:
                        spare[k] = order[right]
                        right += 1
                for k in range(low, high):
                    order[k] = spare[k]
            low = high
        width *= 2


# --- a share tree --------------------------------------------------------------------------------


def climb(
    const int64_t[::1] parents, const int64_t[::1] groups, const uint8_t[::1] shared,
    double[:, ::1] usage, double[:, ::1] states
):
    """Add the usage below each node to its own, and write its fraction of its siblings' usage.

    Args:
        shared: 1: the node has a share.
        usage: comes as each node's own usage.
        states: written; NaN for nodes without a share.
    """
    cdef double[::1] sums = np.empty(parents.shape[0])
    cdef Py_ssize_t nodes = parents.shape[0], node, k
    with nogil:
        for k in range(usage.shape[0]):
            for node in range(nodes - 1, 0, -1):
                usage[k, parents[node]] += usage[k, node]
            sums[:] = 0.0
            for node in range(1, nodes):
                if shared[node]:
                    sums[groups[node]] += usage[k, node]
            for node in range(nodes):
                if not shared[node]:
                    states[k, node] = NAN
                elif sums[groups[node]] > 0.0:
                    states[k, node] = min(usage[k, node] / sums[groups[node]], 1.0)
                else:
                    states[k, node] = 0.0


def apply(
    int64_t operator, const double[::1] targets, const double[:, ::1] states,
    double[:, ::1] priorities
):
    """Write each node's priority among its siblings; NaN where its target is."""
    cdef Py_ssize_t k, node
    with nogil:
        for k in range(states.shape[0]):
            for node in range(targets.shape[0]):
                if isnan(targets[node]):
                    priorities[k, node] = NAN
                else:
                    priorities[k, node] = priority(operator, targets[node], states[k, node])


@cython.final
cdef class Classes:
    """Nodes of a level; those that tie stand together."""

    cdef int64_t[::1] nodes
    cdef uint8_t[::1] first  # 1: the node is the first of its class

    def __cinit__(self, Py_ssize_t nodes):
        self.nodes, self.first = np.empty(nodes, np.int64), np.empty(nodes, np.uint8)


@cython.final
cdef class Ranking:
    """A tree, and working space to rank its nodes."""

    cdef const int64_t[::1] offsets
    cdef int64_t[::1] members
    cdef const int64_t[::1] depths
    cdef double[::1] keys
    cdef int64_t[:, ::1] spare  # 3 × nodes
    cdef double[::1] spare_keys
    cdef int64_t[:, ::1] counts  # 2 × kinds: nodes of earlier classes, and of the current one

    def __cinit__(
        self, const int64_t[::1] offsets, int64_t[::1] members, const int64_t[::1] depths
    ):
        cdef Py_ssize_t nodes = depths.shape[0]
        self.offsets, self.members, self.depths = offsets, members, depths
        self.keys, self.spare_keys = np.empty((2, nodes))
        self.spare, self.counts = np.empty((3, nodes), np.int64), np.empty((2, 2), np.int64)


def rank(
    const int64_t[::1] offsets, int64_t[::1] members, const int64_t[::1] depths,
    const int64_t[::1] kinds, const double[:, ::1] priorities, int64_t[:, ::1] ranks
):
    """Write each node's rank among those of its kind, by its vector of priorities.

    Vectors are compared from the root down, missing components counting as 0. Nodes that tie share
    the better rank; the root has rank 0.

    Level by level, nodes that tie form a class. Each level replaces a class by its members
    whose vectors end here and by their children, and splits it by their priorities. So a level
    costs no more than sorting the children of each account, and those of tied accounts together.

    Args:
        offsets: the children that compete below an account are ``members[offsets[account]]``, …,
            ``members[offsets[account + 1] − 1]``.
        members: left in the order of the last ranks, which speeds up the next call.
        kinds: 0 or 1.
    """
    cdef Ranking tree = Ranking(offsets, members, depths)
    cdef Classes even = Classes(depths.shape[0]), odd = Classes(depths.shape[0])
    cdef int64_t levels = 1, level
    cdef Py_ssize_t node, count, k
    with nogil:
        for node in range(depths.shape[0]):
            if offsets[node + 1] > offsets[node]:
                levels = max(levels, depths[node] + 1)
        for k in range(priorities.shape[0]):
            even.nodes[0], even.first[0] = 0, True
            count = 1
            for level in range(levels):  # classes of even and odd levels take turns
                if level % 2 == 0:
                    count = _split(tree, even, count, level, priorities[k], odd)
                else:
                    count = _split(tree, odd, count, level, priorities[k], even)
            if levels % 2 == 0:
                _write_ranks(even, count, kinds, tree.counts, ranks[k])
            else:
                _write_ranks(odd, count, kinds, tree.counts, ranks[k])


cdef Py_ssize_t _split(
    Ranking tree, Classes classes, Py_ssize_t count, int64_t level, const double[::1] priorities,
    Classes out
) noexcept nogil:
    """Split the first ``count`` nodes into the classes of the next level; return their number."""
    cdef Py_ssize_t place = 0, begin = 0, end, start, i, m
    cdef int64_t node, child
    while begin < count:
        end = begin + 1
        while end < count and not classes.first[end]:
            end += 1
        start = place
        for i in range(begin, end):
            node = classes.nodes[i]
            if node != 0:
                out.nodes[place] = node
                tree.keys[place] = 0.0
                place += 1
            if tree.depths[node] == level:
                for m in range(tree.offsets[node], tree.offsets[node + 1]):
                    child = tree.members[m]
                    out.nodes[place] = child
                    tree.keys[place] = 0.0 if isnan(priorities[child]) else priorities[child]
                    place += 1
        if place - start > end - begin or level == 0:
            _sort_falling(tree, out, start, place)
            if end == begin + 1:
                _keep_order(tree, classes.nodes[begin], out, start, place)
        for i in range(start, place):
            out.first[i] = i == start or tree.keys[i] != tree.keys[i - 1]
        begin = end
    return place


cdef void _sort_falling(
    Ranking tree, Classes classes, Py_ssize_t begin, Py_ssize_t end
) noexcept nogil:
    """Sort the nodes at places ``begin``, …, ``end`` − 1 by falling keys, stably, and the keys."""
    cdef Py_ssize_t count = end - begin, i, k
    cdef double key
    cdef int64_t node
    if count > FEW:
        for i in range(count):
            tree.spare[0, i] = i
            tree.spare[2, i] = classes.nodes[begin + i]
            tree.spare_keys[i] = -tree.keys[begin + i]
        sort_by(tree.spare_keys, tree.spare[0], tree.spare[1], count)
        for i in range(count):
            tree.keys[begin + i] = -tree.spare_keys[tree.spare[0, i]]
            classes.nodes[begin + i] = tree.spare[2, tree.spare[0, i]]
        return
    for i in range(begin + 1, end):
        key, node = tree.keys[i], classes.nodes[i]
        k = i
        while k > begin and tree.keys[k - 1] < key:
            tree.keys[k] = tree.keys[k - 1]
            classes.nodes[k] = classes.nodes[k - 1]
            k -= 1
        tree.keys[k], classes.nodes[k] = key, node


cdef void _keep_order(
    Ranking tree, int64_t account, Classes classes, Py_ssize_t begin, Py_ssize_t end
) noexcept nogil:
    """Store the children of an account in their order, which changes little between instants."""
    cdef Py_ssize_t place = tree.offsets[account], i
    for i in range(begin, end):
        if classes.nodes[i] != account:
            tree.members[place] = classes.nodes[i]
            place += 1


cdef void _write_ranks(
    Classes classes, Py_ssize_t count, const int64_t[::1] kinds, int64_t[:, ::1] counts,
    int64_t[::1] ranks
) noexcept nogil:
    """Write each node's rank; ``counts`` is working space."""
    cdef Py_ssize_t i, kind
    cdef int64_t node
    counts[:] = 0
    ranks[0] = 0
    for i in range(count):
        node = classes.nodes[i]
        if classes.first[i]:
            for kind in range(counts.shape[1]):
                counts[0, kind] += counts[1, kind]
                counts[1, kind] = 0
        ranks[node] = counts[0, kinds[node]] + 1
        counts[1, kinds[node]] += 1
