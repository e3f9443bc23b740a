"""States and ranks of all nodes of a share tree over time (SPEC §7).

Node 0 is the root; ``parents`` come before their children. ``groups`` names the account among whose
children a node competes: its parent, but for children of accounts that have no share of their own,
which compete one level up. ``shared`` marks the nodes that have one.
"""

import math
from typing import NamedTuple

import numpy as np

from audit.kernels.arrays import Bools, Floats, FloatTable, Ints, IntTable
from audit.kernels.compiled import inner, kernel
from audit.kernels.operators import priority
from audit.kernels.sorting import sort_by

FEW = 64  # items that are sorted by moving them one by one


def climb(
    parents: Ints, groups: Ints, shared: Bools, usage: FloatTable, states: FloatTable
) -> None:
    """Adds to each node what was used below it, and writes its part of what its siblings used.

    ``usage`` comes with what each node used itself, a row per instant. States of nodes without a
    share of their own are NaN.
    """
    write_states(parents, groups, shared, usage, np.empty(len(parents)), states)


@kernel
def write_states(
    parents: Ints,
    groups: Ints,
    shared: Bools,
    usage: FloatTable,
    sums: Floats,
    states: FloatTable,
) -> None:
    """As ``climb``; ``sums`` is working space with an element per node."""
    nodes = len(parents)
    for k in range(usage.shape[0]):
        for node in range(nodes - 1, 0, -1):
            usage[k, parents[node]] += usage[k, node]
        sums[:] = 0.0
        for node in range(1, nodes):
            if shared[node]:
                sums[groups[node]] += usage[k, node]
        for node in range(nodes):
            if not shared[node]:
                states[k, node] = np.nan
            elif sums[groups[node]] > 0.0:
                states[k, node] = min(usage[k, node] / sums[groups[node]], 1.0)
            else:
                states[k, node] = 0.0


@kernel
def apply(operator: int, targets: Floats, states: FloatTable, priorities: FloatTable) -> None:
    """Writes each node's priority among its siblings; NaN where it has no share of its own."""
    for k in range(states.shape[0]):
        for node in range(len(targets)):
            if math.isnan(targets[node]):
                priorities[k, node] = np.nan
            else:
                priorities[k, node] = priority(operator, targets[node], states[k, node])


@inner
def sort_falling(keys: Floats, items: Ints, spare: IntTable, spare_keys: Floats) -> None:
    """Sorts keys, the greatest first, and items with them; the others are working space."""
    count = len(keys)
    if count > FEW:
        for i in range(count):
            spare[0, i] = i
            spare[2, i] = items[i]
            spare_keys[i] = -keys[i]
        sort_by(spare_keys, spare[0], spare[1], count)
        for i in range(count):
            keys[i] = -spare_keys[spare[0, i]]
            items[i] = spare[2, spare[0, i]]
        return
    for i in range(1, count):
        key = keys[i]
        item = items[i]
        k = i
        while k > 0 and keys[k - 1] < key:
            keys[k] = keys[k - 1]
            items[k] = items[k - 1]
            k -= 1
        keys[k] = key
        items[k] = item


@inner
def keep_order(node: int, offsets: Ints, members: Ints, ranked: Ints) -> None:
    """Puts the children of ``node`` into their order, much the same later on."""
    place = offsets[node]
    for i in range(len(ranked)):
        if ranked[i] != node:
            members[place] = ranked[i]
            place += 1


class Classes(NamedTuple):
    """Nodes, those that tie so far beside each other."""

    nodes: Ints
    first: Bools  # of its class


class Room(NamedTuple):
    """Working space to rank the nodes of a tree."""

    classes: Classes
    split: Classes
    keys: Floats  # [nodes]
    spare: IntTable  # 3 × nodes
    spare_keys: Floats  # [nodes]
    counts: IntTable  # 2 × kinds


def rank(
    offsets: Ints,
    members: Ints,
    depths: Ints,
    kinds: Ints,
    priorities: FloatTable,
    ranks: IntTable,
) -> None:
    """Writes each node's rank among those of its kind, by its vector of priorities.

    The children that compete below an account are ``members[offsets[account] :
    offsets[account + 1]]``. Vectors are compared from the root down, missing components counting
    as 0; who ties shares the better rank. The root has rank 0. ``members`` is left in order.

    Level by level, nodes that tie so far form a class. A class is replaced by its members, whose
    vectors end here, and their children, and split by their priorities: so every level costs no
    more than sorting the children of each account, and those of tied accounts together.
    """
    nodes = len(depths)
    room = Room(
        Classes(np.empty(nodes, np.int64), np.empty(nodes, np.bool_)),
        Classes(np.empty(nodes, np.int64), np.empty(nodes, np.bool_)),
        np.empty(nodes),
        np.empty((3, nodes), np.int64),
        np.empty(nodes),
        np.empty((2, 2), np.int64),
    )
    rank_all(offsets, members, depths, kinds, priorities, room, ranks)


@kernel
def rank_all(
    offsets: Ints,
    members: Ints,
    depths: Ints,
    kinds: Ints,
    priorities: FloatTable,
    room: Room,
    ranks: IntTable,
) -> None:
    """As ``rank``."""
    nodes = len(depths)
    last_level = 0
    for node in range(nodes):
        if offsets[node + 1] > offsets[node]:
            last_level = max(last_level, depths[node])
    for k in range(priorities.shape[0]):
        classes = room.classes
        split = room.split
        classes.nodes[0] = 0
        classes.first[0] = True
        count = 1
        for level in range(last_level + 1):
            count = split_classes(
                classes, count, level, offsets, members, depths, priorities[k], room, split
            )
            classes, split = split, classes
        write_ranks(classes, count, kinds, room.counts, ranks[k])


@inner
def split_classes(
    classes: Classes,
    count: int,
    level: int,
    offsets: Ints,
    members: Ints,
    depths: Ints,
    priorities: Floats,
    room: Room,
    out: Classes,
) -> int:
    """Writes to ``out`` the classes of the next level; gives how many nodes they hold.

    ``count`` says the same of ``classes``.
    """
    keys = room.keys
    place = 0
    begin = 0
    while begin < count:
        end = begin + 1
        while end < count and not classes.first[end]:
            end += 1
        start = place
        for i in range(begin, end):
            node = classes.nodes[i]
            if node != 0:
                out.nodes[place] = node
                keys[place] = 0.0
                place += 1
            if depths[node] == level:
                for m in range(offsets[node], offsets[node + 1]):
                    child = members[m]
                    out.nodes[place] = child
                    keys[place] = 0.0 if math.isnan(priorities[child]) else priorities[child]
                    place += 1
        if place - start > end - begin or level == 0:
            sort_falling(keys[start:place], out.nodes[start:place], room.spare, room.spare_keys)
            if end == begin + 1:
                keep_order(classes.nodes[begin], offsets, members, out.nodes[start:place])
        for i in range(start, place):
            out.first[i] = i == start or keys[i] != keys[i - 1]
        begin = end
    return place


@inner
def write_ranks(classes: Classes, count: int, kinds: Ints, counts: IntTable, ranks: Ints) -> None:
    """Writes each node's rank among those of its kind; ``counts`` is working space."""
    before = counts[0]
    tied = counts[1]
    before[:] = 0
    tied[:] = 0
    ranks[0] = 0
    for i in range(count):
        node = classes.nodes[i]
        if classes.first[i]:
            for kind in range(len(before)):
                before[kind] += tied[kind]
            tied[:] = 0
        ranks[node] = before[kinds[node]] + 1
        tied[kinds[node]] += 1
