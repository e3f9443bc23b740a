"""What was used below each node of a share tree, and who comes first (SPEC §7; [R] §2).

A node's state is its part of what it and its siblings used (0/0 = 0). An operator F (``operators``)
of target and state is applied node by node; the priorities on the path from the root to a node are
its vector. Vectors of other depths are padded with 0, which is balance, and compare component by
component from the root on.

Conventions: usage of an account is its own (of users that the tree does not know) and that of all
below; its own takes no part in its children's states. A node without a share of its own has no
component and takes no part in its siblings' states (``trees``).

Functions take any number of leading axes before that of the nodes (instants above all), and keep
them. All are pure.

Sources: [R] G. Rodrigo, P.-O. Östberg, E. Elmroth, Priority Operators for Fairshare Scheduling,
§2 and §4.4.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from audit.metrics.fairshare import operators, trees
from audit.metrics.fairshare.trees import Floats, Ints, Tree


class History(NamedTuple):
    """All nodes at all instants, a row per instant and a column per node."""

    usage: Floats
    """Of the node and all below it, in the unit that was given."""
    states: Floats
    """Part of what its siblings used, 0 to 1; NaN for the root, and without a share of its own."""
    priorities: Floats
    """F(target, state) of the node itself, −1 to 1; NaN as for states."""
    ranks: Ints
    """Among users, or among accounts, by their vectors: 1 is served first; 0 for the root."""


class Shape:
    """What stays the same about a tree at all instants, as the kernels take it.

    Its methods take rows of instants and columns of nodes: float64, C-contiguous.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.above = trees.groups(tree)
        self.shared = trees.shared(tree)
        self.depths = trees.depths(tree)
        self.targets = trees.targets(tree)
        self.is_user = tree.is_user
        self.members = np.argsort(self.above, kind="stable")[1:]  # the root is nobody's
        counts = np.bincount(self.above[1:], minlength=len(self.above))
        self.offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def ranks(self, priorities: Floats) -> Ints:
        """See ``ranks_of``."""
        from audit.kernels import trees as kernels

        places = np.empty_like(priorities, np.int64, order="C")
        kinds = self.is_user.astype(np.int64)
        kernels.rank(self.offsets, self.members, self.depths, kinds, priorities, places)
        return places

    def history(self, own: Floats, operator: str) -> History:
        """See ``history``; ``own`` becomes the usage of it."""
        from audit.kernels import trees as kernels

        states, priorities = np.empty_like(own), np.empty_like(own)
        kernels.climb(self.tree.parents, self.above, self.shared, own, states)
        kernels.apply(operators.code(operator), self.targets, states, priorities)
        return History(own, states, priorities, self.ranks(priorities))


def vectors(tree: Tree, priorities: Floats) -> Floats:
    """The priorities on the path from the root to each node, padded with 0.

    Args:
        tree: the tree.
        priorities: of each node, a column per node.

    Returns:
        A further last axis of as many components as the tree has levels.
    """
    depth = trees.depths(tree)
    above = trees.groups(tree)
    paths = np.zeros((*np.shape(priorities), max(1, int(depth.max()))))
    for node in range(1, len(above)):
        paths[..., node, :] = paths[..., above[node], :]
        if not math.isnan(tree.shares[node]):
            paths[..., node, depth[node] - 1] = priorities[..., node]
    return paths


def ranks_of(tree: Tree, priorities: Floats) -> Ints:
    """Ranks among users, and among accounts, by their vectors, the greatest first; 0 for the root.

    Who ties shares the better rank (1, 2, 2, 4).

    Args:
        tree: the tree.
        priorities: of each node, a column per node.
    """
    return Shape(tree).ranks(_rows(tree, priorities)).reshape(np.shape(priorities))


def serialise(vectors: Floats, resolution: int, *, as_published: bool = False) -> NDArray[np.str_]:
    """Vectors as texts of digits, which compare as the vectors do, up to the resolution.

    Each component is a number of fixed width (``operators.digits``), and the text all of them, the
    first in front ([R] fig. 4): components 0 and −0.4 at 10,000 give "49992999".

    Args:
        vectors: components from −1 to 1 on the last axis.
        resolution: how many values of a component can be told apart, ≥ 2.
        as_published: as ``operators.digits``.

    Raises:
        ValueError: the resolution, or a component, is out of range.
    """
    numbers = operators.digits(vectors, resolution, as_published=as_published)
    width = len(str(resolution - 1))
    texts = np.empty(numbers.shape[:-1], f"<U{max(1, width * numbers.shape[-1])}")
    for row in np.ndindex(texts.shape):
        texts[row] = "".join(f"{number:0{width}d}" for number in numbers[row])
    return texts


def history(tree: Tree, usage: Floats, operator: str) -> History:
    """Usage, states, priorities and ranks of all nodes, in one sweep over the instants.

    Args:
        tree: the tree.
        usage: what each node used itself, ≥ 0, in any unit; a column per node. Leaves used most,
            if not all of it.
        operator: one of ``operators.OPERATORS``.

    Raises:
        ValueError: not a column per node, usage below 0, or no such operator.

    Cost: instants · nodes · log(the most siblings).
    """
    own = _rows(tree, usage).copy()  # what is below is added to it
    if not (own >= 0).all():
        raise ValueError("usage: must not be below 0")
    used, state, priority, rank = Shape(tree).history(own, operator)
    shape = np.shape(usage)
    return History(
        used.reshape(shape), state.reshape(shape), priority.reshape(shape), rank.reshape(shape)
    )


def _rows(tree: Tree, values: Floats) -> Floats:
    """As the kernels take them: any leading axes as one."""
    columns = np.shape(values)[-1]
    if columns != len(tree.names):
        raise ValueError(f"{columns} columns for {len(tree.names)} nodes")
    return np.ascontiguousarray(values, np.float64).reshape(-1, columns)
