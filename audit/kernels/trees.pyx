"""States and ranks of all nodes of a share tree over time (SPEC §7).

Node 0 is the root; parents come before their children. ``groups`` names the account among whose
children a node competes: its parent, except below accounts without a share of their own, whose
children compete one level up. Tables have a row per instant and a column per node.
"""

cimport cython
from libc.math cimport NAN, isnan
from libc.stdint cimport int64_t, uint8_t

import numpy as np

from audit.kernels.operators cimport priority
from audit.kernels.sorting cimport sort_by

cdef enum:
    FEW = 64  # at most as many items are sorted by insertion


def climb(
    const int64_t[::1] parents,
    const int64_t[::1] groups,
    const uint8_t[::1] shared,
    double[:, ::1] usage,
    double[:, ::1] states,
):
    """Add the usage below each node to its own, and write its fraction of its siblings' usage.

    Args:
        shared: 1: the node has a share of its own.
        usage: comes as what each node itself used.
        states: written; NaN for nodes without a share of their own.
    """
    cdef double[::1] sums = np.empty(parents.shape[0])
    cdef Py_ssize_t k
    with nogil:
        for k in range(usage.shape[0]):
            _climb(parents, groups, shared, usage[k], sums, states[k])


cdef void _climb(
    const int64_t[::1] parents,
    const int64_t[::1] groups,
    const uint8_t[::1] shared,
    double[::1] usage,
    double[::1] sums,
    double[::1] states,
) noexcept nogil:
    """Do this at one instant; ``sums`` is working space, one element per node."""
    cdef Py_ssize_t nodes = parents.shape[0], node
    for node in range(nodes - 1, 0, -1):
        usage[parents[node]] += usage[node]
    sums[:] = 0.0
    for node in range(1, nodes):
        if shared[node]:
            sums[groups[node]] += usage[node]
    for node in range(nodes):
        if not shared[node]:
            states[node] = NAN
        elif sums[groups[node]] > 0.0:
            states[node] = min(usage[node] / sums[groups[node]], 1.0)
        else:
            states[node] = 0.0


def priorities(
    int64_t operator, const double[::1] targets, const double[::1] states, double[::1] out
):
    """Write F of each pair of a target and a state; ``operator`` is an ``operators.Operator``."""
    cdef Py_ssize_t k
    with nogil:
        for k in range(targets.shape[0]):
            out[k] = priority(operator, targets[k], states[k])


def apply(
    int64_t operator,
    const double[::1] targets,
    const double[:, ::1] states,
    double[:, ::1] priorities,
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
    """Nodes, with those that tie so far next to each other."""

    cdef int64_t[::1] nodes
    cdef uint8_t[::1] first  # 1: the node is the first of its class

    def __cinit__(self, Py_ssize_t nodes):
        """Make working space for so many nodes."""
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
    cdef int64_t[:, ::1] counts  # 2 × kinds

    def __cinit__(
        self, const int64_t[::1] offsets, int64_t[::1] members, const int64_t[::1] depths
    ):
        """Make working space for a tree."""
        cdef Py_ssize_t nodes = depths.shape[0]
        self.offsets, self.members, self.depths = offsets, members, depths
        self.keys, self.spare_keys = np.empty((2, nodes))
        self.spare, self.counts = np.empty((3, nodes), np.int64), np.empty((2, 2), np.int64)


def rank(
    const int64_t[::1] offsets,
    int64_t[::1] members,
    const int64_t[::1] depths,
    const int64_t[::1] kinds,
    const double[:, ::1] priorities,
    int64_t[:, ::1] ranks,
):
    """Write each node's rank among those of its kind, by its vector of priorities.

    Vectors are compared from the root down, missing components counting as 0. Nodes that tie share
    the better rank; the root has rank 0.

    Level by level, nodes that tie so far form a class. Each level replaces a class by its members
    whose vectors end here and by their children, and splits it by their priorities. So a level
    costs no more than sorting the children of each account, and those of tied accounts together.

    Args:
        offsets: the children that compete below an account are ``members[offsets[account]]``, …,
            ``members[offsets[account + 1] − 1]``.
        members: left in the order of the last ranks, which speeds up the next call.
        kinds: 0 or 1.
    """
    cdef Ranking tree = Ranking(offsets, members, depths)
    cdef Classes classes = Classes(depths.shape[0]), split = Classes(depths.shape[0])
    cdef int64_t levels = 1
    cdef Py_ssize_t node, k
    with nogil:
        for node in range(depths.shape[0]):
            if offsets[node + 1] > offsets[node]:
                levels = max(levels, depths[node] + 1)
        for k in range(priorities.shape[0]):
            _rank(tree, classes, split, levels, kinds, priorities[k], ranks[k])


cdef void _rank(
    Ranking tree,
    Classes even,
    Classes odd,
    int64_t levels,
    const int64_t[::1] kinds,
    const double[::1] priorities,
    int64_t[::1] ranks,
) noexcept nogil:
    """Write the ranks at one instant; classes of even and odd levels take turns."""
    cdef Py_ssize_t count = 1
    cdef int64_t level
    even.nodes[0] = 0
    even.first[0] = True
    for level in range(levels):
        if level % 2 == 0:
            count = _split(tree, even, count, level, priorities, odd)
        else:
            count = _split(tree, odd, count, level, priorities, even)
    if levels % 2 == 0:
        _write_ranks(even, count, kinds, tree.counts, ranks)
    else:
        _write_ranks(odd, count, kinds, tree.counts, ranks)


cdef Py_ssize_t _split(
    Ranking tree,
    Classes classes,
    Py_ssize_t count,
    int64_t level,
    const double[::1] priorities,
    Classes out,
) noexcept nogil:
    """Write the classes of the next level; return the number of nodes in them.

    ``count`` is the number of nodes in ``classes``.
    """
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
        key = tree.keys[i]
        node = classes.nodes[i]
        k = i
        while k > begin and tree.keys[k - 1] < key:
            tree.keys[k] = tree.keys[k - 1]
            classes.nodes[k] = classes.nodes[k - 1]
            k -= 1
        tree.keys[k] = key
        classes.nodes[k] = node


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
    Classes classes,
    Py_ssize_t count,
    const int64_t[::1] kinds,
    int64_t[:, ::1] counts,
    int64_t[::1] ranks,
) noexcept nogil:
    """Write each node's rank; ``counts`` is working space: those before, and those tied."""
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
