"""Share trees: targets, states, priorities and ranks of accounts and users (SPEC §7; [R] §2).

A node's target is its share as a part of its siblings' shares, its state its part of their usage
(0/0 = 0). An operator F (``operators``) of target and state is applied node by node. The priorities
on the path from the root to a node are its vector. Vectors are padded with 0, which is balance, and
compare component by component from the root on.

Conventions: a node with Slurm's ``fairshare=parent`` has no share. It takes no part in its
siblings' targets, and the children of such an account compete one level up. Usage of an account is
its own (of users that the tree does not list) and that of all below; its own takes no part in its
children's states.

Sources: [R] G. Rodrigo, P.-O. Östberg, E. Elmroth, Priority Operators for Fairshare Scheduling, §2
and §4.4.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Bools, Floats, Ints
from audit.kernels import trees as kernels
from audit.metrics.fairshare import operators

Kind = Literal["account", "user"]

ROOT: Final = "root"
NO_SHARE: Final = math.nan  # the share of a node with Slurm's ``fairshare=parent``


class TreeNode(NamedTuple):
    """An account or user, before it has its place in a tree."""

    name: str
    kind: Kind
    share: float  # ≥ 0, relative to the siblings' shares; or ``NO_SHARE``
    parent: str | None = None  # its account; None, or the root's name: the root
    partition: str | None = None
    """Of a user: the only partition that it counts for; None: all others."""


class Tree(NamedTuple):
    """Accounts and users, each below its account; node 0 is the root, which is an account.

    A user has a node below each of its accounts. Parents precede their children; siblings are
    adjacent, in the given order.
    """

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    partitions: tuple[str | None, ...]  # as ``TreeNode.partition``
    parents: Ints  # index of each node's account; −1: the root
    shares: Floats  # as ``TreeNode.share``; NaN: ``NO_SHARE``

    @property
    def is_user(self) -> Bools:
        """Whether a node is a user."""
        return np.array([kind == "user" for kind in self.kinds], np.bool_)

    @property
    def lists_users(self) -> Bools:
        """Whether a node is an account with users in the tree."""
        lists = np.zeros(len(self.names), np.bool_)
        lists[self.parents[self.is_user]] = True
        return lists


# --- making one ----------------------------------------------------------------------------------


def build(nodes: Iterable[TreeNode], *, all_zero: bool = False) -> Tree:
    """Return a tree of these accounts and users, in any order.

    Args:
        all_zero: accept siblings whose shares are all 0, as real sites have; their targets are 0.

    Raises:
        ValueError: *all* faults, a line each: no node, an empty name, a share below 0 or infinite,
            an account twice or named like the root, a user twice, an unknown parent or one that is
            a user, a cycle, siblings whose shares are all 0.
    """
    given = list(nodes)
    if faults := list(_faults(given, all_zero=all_zero)):
        raise ValueError("\n".join(faults))
    below: dict[str | None, list[TreeNode]] = {}
    for node in given:
        below.setdefault(_above(node), []).append(node)
    ordered: list[TreeNode] = [TreeNode(ROOT, "account", 1.0)]
    parents = [-1]
    for k, node in enumerate(ordered):  # which grows meanwhile
        if node.kind == "account":
            children = below.get(node.name if k else None, [])
            ordered += children
            parents += [k] * len(children)
    return Tree(
        tuple(node.name for node in ordered),
        tuple(node.kind for node in ordered),
        tuple(node.partition for node in ordered),
        np.array(parents, np.int64),
        np.array([node.share for node in ordered], np.float64),
    )


def flat(
    entities: Iterable[str], shares: Mapping[str, float] | None = None, *, kind: Kind = "user"
) -> Tree:
    """Return a tree of one level: users, or accounts, side by side.

    Args:
        shares: by name; the others have 0. None: all have the same.

    Raises:
        ValueError: as ``build``; or a share is of none of the entities.
    """
    names = list(entities)
    if shares is None:
        return build([TreeNode(name, kind, 1.0) for name in names])
    if strangers := sorted(set(shares) - set(names)):
        raise ValueError("\n".join(f"share of {name!r}: no such {kind}" for name in strangers))
    return build([TreeNode(name, kind, float(shares.get(name, 0.0))) for name in names])


def _above(node: TreeNode) -> str | None:
    return None if node.parent == ROOT else node.parent


def _faults(nodes: Sequence[TreeNode], *, all_zero: bool) -> Iterator[str]:
    if not nodes:
        yield "the tree has no account and no user"
    accounts = {node.name: node for node in nodes if node.kind == "account"}
    users = {node.name for node in nodes if node.kind == "user"}
    seen = set()
    for node in nodes:
        called = _called(node)
        if not node.name:
            yield f"{called}: its name is empty"
        if node.share < 0 or math.isinf(node.share):
            yield f"{called}: share {node.share:g}: must be a number of at least 0"
        if node.kind == "account" and node.name == ROOT:
            yield f"{called}: is the root itself, which has no share: leave it out"
        if node.kind == "account" and node.partition is not None:
            yield f"{called}: partition {node.partition!r}: only users have shares by partition"
        place = (node.parent, node.partition) if node.kind == "user" else None
        if (identity := (node.kind, node.name, place)) in seen:
            yield f"{called}: is given twice"
        seen.add(identity)
        if node.parent not in (None, ROOT) and node.parent not in accounts:
            reason = "is a user, and has no children" if node.parent in users else "is not given"
            yield f"{called}: its account {node.parent!r} {reason}"
    for circle in _circles(accounts):
        yield f"accounts {' → '.join(map(repr, circle))}: a cycle"
    if not all_zero:
        yield from _without_share(nodes)


def _circles(accounts: Mapping[str, TreeNode]) -> Iterator[list[str]]:
    """Yield each cycle once, from its first account in the given order back to it."""
    settled: set[str] = set()
    for name in accounts:
        path: list[str] = []
        at: str | None = name
        while at is not None and at in accounts and at not in settled and at not in path:
            path.append(at)
            at = accounts[at].parent
        if at is not None and at in path:
            yield [*path[path.index(at) :], at]
        settled.update(path)


def _without_share(nodes: Sequence[TreeNode]) -> Iterator[str]:
    """Yield siblings that all have a share of 0, so that none of them may use anything."""
    siblings: dict[str | None, list[float]] = {}
    for node in nodes:
        if not math.isnan(node.share):
            siblings.setdefault(_above(node), []).append(node.share)
    for above, shares in siblings.items():
        if not any(shares):
            where = "directly below the root" if above is None else f"of account {above!r}"
            yield f"children {where}: all shares are 0; give one of them a share above 0"


def _called(node: TreeNode) -> str:
    if node.kind == "account":
        return f"account {node.name!r}"
    where = "" if node.parent is None else f" of account {node.parent!r}"
    only = "" if node.partition is None else f" in partition {node.partition!r}"
    return f"user {node.name!r}{where}{only}"


# --- its shape -----------------------------------------------------------------------------------


def groups(tree: Tree) -> Ints:
    """Return the account among whose children each node competes; −1 for the root.

    It is the node's parent, or the next above that has a share.
    """
    above = tree.parents.copy()
    for node in range(1, len(above)):
        while above[node] > 0 and math.isnan(tree.shares[above[node]]):
            above[node] = above[above[node]]
    return above


def shared(tree: Tree) -> Bools:
    """Return whether a node has a share; the root does not."""
    has: Bools = ~np.isnan(tree.shares)
    has[0] = False
    return has


def depths(tree: Tree) -> Ints:
    """Return the length of each node's vector before it is padded; 0 for the root."""
    levels = np.zeros(len(tree.names), np.int64)
    above = groups(tree)
    for node in range(1, len(levels)):
        levels[node] = levels[above[node]] + 1
    levels[1:] -= ~shared(tree)[1:]
    return levels


def leaf_of(
    tree: Tree, user: pl.Series, account: pl.Series | None, partition: pl.Series | None = None
) -> Ints:
    """Return the index of each attempt's node, the most specific one that the tree has; −1: none.

    In this order: its user below its account for its partition; its user below its account; its
    account.

    Args:
        user: of each attempt, or null.
        account: of each attempt. None: all users are directly below the root.
    """
    attempts = pl.DataFrame([user.alias("user")]).with_columns(
        account=pl.lit(tree.names[0]) if account is None else account,
        partition=pl.lit(None, pl.String) if partition is None else partition,
    )
    nodes = _nodes(tree)
    users = nodes.filter("is_user").rename({"name": "user", "above": "account"})
    of_one = pl.col("partition").is_not_null()
    found = _find(attempts, users.filter(of_one), ["account", "user", "partition"])
    found = found.fill_null(_find(attempts, users.filter(~of_one), ["account", "user"]))
    if account is None:
        return found.fill_null(-1).to_numpy()
    accounts = nodes.filter(~pl.col("is_user")).rename({"name": "account"})
    return found.fill_null(_find(attempts, accounts, ["account"])).fill_null(-1).to_numpy()


def _nodes(tree: Tree) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "node": np.arange(len(tree.names)),
            "is_user": tree.is_user,
            "name": tree.names,
            "above": [None if parent < 0 else tree.names[parent] for parent in tree.parents],
            "partition": tree.partitions,
        },
        schema_overrides={"above": pl.String, "partition": pl.String},
    )


def _find(attempts: pl.DataFrame, known: pl.DataFrame, key: list[str]) -> pl.Series:
    """Return the node of each attempt whose key is known; else null."""
    keys, nodes = attempts.select(key), known.select("node", *key)
    return keys.join(nodes, on=key, how="left", maintain_order="left")["node"]


# --- targets -------------------------------------------------------------------------------------


def targets(tree: Tree) -> Floats:
    """Return each node's share as a part of its siblings', 0 to 1; 0 where these are 0.

    NaN for the root, and without a share.
    """
    return _parts(tree, np.where(shared(tree), tree.shares, np.nan))


def redistributed(tree: Tree, active: Bools) -> Floats:
    """Return virtual targets: inactive nodes' shares, divided among their siblings ([R] eq. 15).

    t'_i = t_i / Σ t_j over the active siblings j. An account is active when it, or any node below
    it, is. ``active`` tells, a column per node, which nodes submit attempts themselves. Targets are
    0 for inactive nodes, and NaN as in ``targets``.
    """
    busy = np.array(active, np.bool_)
    for node in range(len(tree.names) - 1, 0, -1):
        busy[..., tree.parents[node]] |= busy[..., node]
    return _parts(tree, np.where(shared(tree), np.where(busy, tree.shares, 0.0), np.nan))


def _parts(tree: Tree, values: Floats) -> Floats:
    """Return each value as a part of the sum over its siblings; 0/0 = 0, NaN stays."""
    above = groups(tree)
    sums = np.zeros_like(values)
    counted = np.nan_to_num(values)
    for node in range(1, len(above)):
        sums[..., above[node]] += counted[..., node]
    of_siblings = sums[..., above]  # of the root: any
    parts = np.divide(values, of_siblings, out=np.zeros_like(values), where=of_siblings > 0)
    return np.where(np.isnan(values), np.nan, parts)


# --- priorities and ranks ------------------------------------------------------------------------


class History(NamedTuple):
    """All nodes at all instants, a row per instant and a column per node."""

    usage: Floats  # of the node and all below it, in the given unit
    states: Floats  # part of the siblings' usage, 0 to 1; NaN for the root, and without a share
    priorities: Floats  # F(target, state) of the node itself, −1 to 1; NaN as for states
    ranks: Ints
    """Among users, or among accounts, by their vectors: 1 is served first; 0 for the root."""


class Shape:
    """The constant properties of a tree, as the kernels take them.

    Its methods take rows of instants and columns of nodes: float64, C-contiguous.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.above = groups(tree)
        self.shared = shared(tree)
        self.depths = depths(tree)
        self.targets = targets(tree)
        self.is_user = tree.is_user
        self.members = np.argsort(self.above, kind="stable")[1:]  # the root is no member
        counts = np.bincount(self.above[1:], minlength=len(self.above))
        self.offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)

    def ranks(self, priorities: Floats) -> Ints:
        """Return ranks among users, and among accounts, by their vectors, the greatest first.

        Nodes that tie share the better rank (1, 2, 2, 4). 0 for the root.
        """
        places = np.empty_like(priorities, np.int64, order="C")
        kinds = self.is_user.astype(np.int64)
        kernels.rank(self.offsets, self.members, self.depths, kinds, priorities, places)
        return places

    def history(self, own: Floats, operator: str) -> History:
        """Return the ``history`` of the tree; ``own`` becomes the usage in it."""
        states, priorities = np.empty_like(own), np.empty_like(own)
        kernels.climb(self.tree.parents, self.above, self.shared, own, states)
        kernels.apply(operators.code(operator), self.targets, states, priorities)
        return History(own, states, priorities, self.ranks(priorities))


def vectors(tree: Tree, priorities: Floats) -> Floats:
    """Return the priorities on the path from the root to each node, padded with 0.

    The result has a further last axis, as long as the tree has levels.
    """
    depth = depths(tree)
    above = groups(tree)
    paths = np.zeros((*np.shape(priorities), max(1, int(depth.max()))))
    for node in range(1, len(above)):
        paths[..., node, :] = paths[..., above[node], :]
        if not math.isnan(tree.shares[node]):
            paths[..., node, depth[node] - 1] = priorities[..., node]
    return paths


def serialise(vectors: Floats, resolution: int, *, as_published: bool = False) -> NDArray[np.str_]:
    """Return vectors as texts of digits, which compare as the vectors do, up to the resolution.

    Each component on the last axis, from −1 to 1, becomes a number of fixed width
    (``operators.digits``), the first in front ([R] fig. 4): 0 and −0.4 at 10,000 give "49992999".
    """
    numbers = operators.digits(vectors, resolution, as_published=as_published)
    width = len(str(resolution - 1))
    texts = np.empty(numbers.shape[:-1], f"<U{max(1, width * numbers.shape[-1])}")
    for row in np.ndindex(texts.shape):
        texts[row] = "".join(f"{number:0{width}d}" for number in numbers[row])
    return texts


def history(tree: Tree, usage: Floats, operator: str) -> History:
    """Return usage, states, priorities and ranks of all nodes, in one sweep over the instants.

    Args:
        usage: each node's own usage, ≥ 0, in any unit; a column per node.
        operator: one of ``operators.OPERATORS``.

    Raises:
        ValueError: not a column per node, usage below 0, or no such operator.

    Cost: instants · nodes · log(the most siblings).
    """
    own = _rows(tree, usage).copy()  # usage below is added to it
    if not (own >= 0).all():
        raise ValueError("usage: must not be below 0")
    used, state, priority, rank = Shape(tree).history(own, operator)
    shape = np.shape(usage)
    return History(
        used.reshape(shape), state.reshape(shape), priority.reshape(shape), rank.reshape(shape)
    )


def _rows(tree: Tree, values: Floats) -> Floats:
    """Return the values as the kernels take them: leading axes as one."""
    columns = np.shape(values)[-1]
    if columns != len(tree.names):
        raise ValueError(f"{columns} columns for {len(tree.names)} nodes")
    return np.ascontiguousarray(values, np.float64).reshape(-1, columns)
