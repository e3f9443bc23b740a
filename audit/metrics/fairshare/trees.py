"""Share trees: who may use which part of what is its account's, and to whom an attempt belongs.

Among siblings a target is a node's share of all theirs (0/0 = 0). SPEC §7; [R] §2.

Conventions: a node without a share of its own (Slurm's ``fairshare=parent``) stands where its
account does: it takes no part in its siblings' targets, and the children of such an account compete
one level up.

All functions are pure. Sources: [R] G. Rodrigo, P.-O. Östberg, E. Elmroth, Priority Operators for
Fairshare Scheduling, §2 and §4.4.

A node's state is its part of what it and its siblings used (0/0 = 0). An operator F (``operators``)
of target and state is applied node by node; the priorities on the path from the root to a node are
its vector. Vectors of other depths are padded with 0, which is balance, and compare component by
component from the root on. Usage of an account is its own (of users that the tree does not know)
and that of all below; its own takes no part in its children's states.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.fairshare import operators

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Kind = Literal["account", "user"]

ROOT: Final = "root"
NO_SHARE: Final = math.nan
"""The share of a node that has none of its own."""


class Node(NamedTuple):
    """An account or user, before it has its place in a tree."""

    name: str
    kind: Kind
    share: float
    """≥ 0, relative to those of its siblings; ``NO_SHARE``: it has none of its own."""
    parent: str | None = None
    """Its account; None, or the root's name: the root."""
    partition: str | None = None
    """Of a user: the one partition whose attempts it is for; None: all others."""


class Tree(NamedTuple):
    """Accounts and users, each below its account; node 0 is the root, which is an account.

    A user is a leaf below each account that it belongs to, so its name may stand at several nodes.
    Parents come before their children; siblings stand together, in the order they were given.
    """

    names: tuple[str, ...]
    """Of account or user."""
    kinds: tuple[Kind, ...]
    """``"account"`` or ``"user"``."""
    partitions: tuple[str | None, ...]
    """Of a user's node: the one partition whose attempts it is for; None: all others."""
    parents: Ints
    """Index of each node's account; −1: the root."""
    shares: Floats
    """Raw shares ≥ 0, relative to those of the siblings; NaN: none of its own (Slurm's
    fairshare=parent), so that it stands where its account does."""

    @property
    def is_user(self) -> Bools:
        """Whether a node is a user."""
        return np.array([kind == "user" for kind in self.kinds], np.bool_)

    @property
    def lists_users(self) -> Bools:
        """Whether a node is an account some of whose users have a node."""
        lists = np.zeros(len(self.names), np.bool_)
        lists[self.parents[self.is_user]] = True
        return lists


class Leaves(NamedTuple):
    """To which node of a tree each attempt belongs."""

    nodes: Ints
    """Index of a node; −1: its account is not in the tree."""
    unknown_users: int
    """Attempts of users whom their account does not list: they are the account's own."""
    unknown_accounts: int
    """Attempts whose account, or without accounts whose user, the tree does not have."""


# --- making one ----------------------------------------------------------------------------------


def build(nodes: Iterable[Node], *, root: str = ROOT, all_zero: bool = False) -> Tree:
    """A tree of these accounts and users, in any order.

    Args:
        nodes: accounts with names of their own, and users, each once per account and partition.
        root: name of the root, which is not among the nodes; that of Slurm's by default.
        all_zero: accept siblings none of whom has a share above 0, as dumps of real sites have
            them; all of their targets are 0 then.

    Raises:
        ValueError: *all* that keeps them from being one tree, a line each: an empty name, a share
            that is below 0 or infinite, an account twice or named like the root, a user twice, a
            parent that is unknown or a user, a cycle, siblings whose shares are all 0, no node.
    """
    given = list(nodes)
    faults = list(_faults(given, root, all_zero=all_zero))
    if faults:
        raise ValueError("\n".join(faults))
    below: dict[str | None, list[Node]] = {}
    for node in given:
        below.setdefault(None if node.parent == root else node.parent, []).append(node)
    ordered: list[Node] = [Node(root, "account", 1.0)]
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


def written(tree: Tree) -> str:
    """All of a tree in a text: equal where trees are."""
    return str([*zip(*tree[:3], tree.parents.tolist(), tree.shares.tolist(), strict=True)])


def flat(
    entities: Iterable[str], shares: Mapping[str, float] | None = None, *, kind: Kind = "user"
) -> Tree:
    """A tree of one level: users, or accounts, side by side.

    Args:
        shares: the share of each that has one; the others have 0. Without any, all have the same.

    Raises:
        ValueError: as ``build``; or a share is of nobody among the entities.
    """
    names = list(entities)
    if shares is None:
        return build([Node(name, kind, 1.0) for name in names])
    strangers = sorted(set(shares) - set(names))
    if strangers:
        raise ValueError("\n".join(f"share of {name!r}: no such {kind}" for name in strangers))
    return build([Node(name, kind, float(shares.get(name, 0.0))) for name in names])


def _faults(nodes: Sequence[Node], root: str, *, all_zero: bool) -> Iterator[str]:
    """All that keeps nodes from being one tree."""
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
            yield f"{called}: share {node.share:g}: must be a number from 0 on"
        if node.kind == "account" and node.name == root:
            yield f"{called}: is the root itself, which has no share: leave it out"
        if node.kind == "account" and node.partition is not None:
            yield f"{called}: partition {node.partition!r}: only users have shares by partition"
        place = (node.parent, node.partition) if node.kind == "user" else None
        if (identity := (node.kind, node.name, place)) in seen:
            yield f"{called}: is given twice"
        seen.add(identity)
        if node.parent not in (None, root) and node.parent not in accounts:
            reason = "is a user, and has no children" if node.parent in users else "is not given"
            yield f"{called}: its account {node.parent!r} {reason}"
    for circle in _circles(accounts):
        yield f"accounts {' → '.join(map(repr, circle))}: a cycle"
    if not all_zero:
        yield from _without_share(nodes, root)


def _circles(accounts: Mapping[str, Node]) -> Iterator[list[str]]:
    """Each cycle once, from its first account in the order given, back to it."""
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


def _without_share(nodes: Sequence[Node], root: str) -> Iterator[str]:
    """Siblings that all have a share of 0, so that none of them may use anything."""
    siblings: dict[str | None, list[float]] = {}
    for node in nodes:
        if not math.isnan(node.share):
            above = None if node.parent == root else node.parent
            siblings.setdefault(above, []).append(node.share)
    for above, shares in siblings.items():
        if not any(shares):
            where = "directly below the root" if above is None else f"of account {above!r}"
            yield f"children {where}: all shares are 0; give one of them a share above 0"


def _called(node: Node) -> str:
    """A node as an error names it."""
    if node.kind == "account":
        return f"account {node.name!r}"
    where = "" if node.parent is None else f" of account {node.parent!r}"
    return f"user {node.name!r}{where}" + (
        f" in partition {node.partition!r}" if node.partition is not None else ""
    )


# --- its shape -----------------------------------------------------------------------------------


def groups(tree: Tree) -> Ints:
    """The account among whose children each node competes; −1 for the root.

    Its parent, or the next above that has a share of its own.
    """
    above = tree.parents.copy()
    for node in range(1, len(above)):
        while above[node] > 0 and math.isnan(tree.shares[above[node]]):
            above[node] = above[above[node]]
    return above


def shared(tree: Tree) -> Bools:
    """Whether a node has a share of its own; the root has none."""
    has: Bools = ~np.isnan(tree.shares)
    has[0] = False
    return has


def depths(tree: Tree) -> Ints:
    """How many components each node's vector has before it is padded; 0 for the root."""
    levels = np.zeros(len(tree.names), np.int64)
    above = groups(tree)
    for node in range(1, len(levels)):
        levels[node] = levels[above[node]] + 1
    levels[1:] -= ~shared(tree)[1:]
    return levels


def leaf_of(
    tree: Tree, user: pl.Series, account: pl.Series | None, partition: pl.Series | None = None
) -> Leaves:
    """The node of each attempt: the most specific one that the tree has.

    In this order: its user below its account for its partition; its user below its account; its
    account, which then has usage of its own. A user below an account for one partition alone is not
    meant for others. Where accounts are listed without users, none of these is unknown.

    Args:
        user: of each attempt; null: not named.
        account: of each attempt. None: users stand directly below the root, whatever account
            their attempts name.
        partition: of each attempt.
    """
    attempts = pl.DataFrame([user.alias("user")]).with_columns(
        account=pl.lit(tree.names[0]) if account is None else account,
        partition=pl.lit(None, pl.String) if partition is None else partition,
    )
    places = _places(tree)
    users = places.filter(pl.col("kind") == "user")
    steps = (
        (users.filter(pl.col("partition").is_not_null()), ["account", "user", "partition"]),
        (users.filter(pl.col("partition").is_null()), ["account", "user"]),
    )
    nodes = np.full(attempts.height, -1, np.int64)
    for known, key in steps:
        _find(attempts, known, key, nodes)
    if account is None:
        return Leaves(nodes, 0, int((nodes < 0).sum()))
    left = np.flatnonzero(nodes < 0)
    _find(attempts, places.filter(pl.col("kind") == "account"), ["account"], nodes)
    unknown_users = tree.lists_users[nodes[left[nodes[left] >= 0]]].sum()
    return Leaves(nodes, int(unknown_users), int((nodes < 0).sum()))


def _places(tree: Tree) -> pl.DataFrame:
    """By which account, user and partition attempts find each node."""
    nodes = pl.DataFrame(
        {
            "node": np.arange(len(tree.names)),
            "kind": tree.kinds,
            "name": tree.names,
            "above": [None if parent < 0 else tree.names[parent] for parent in tree.parents],
            "partition": tree.partitions,
        },
        schema_overrides={"above": pl.String, "partition": pl.String},
    )
    is_user = pl.col("kind") == "user"
    return nodes.select(
        "node",
        "kind",
        pl.when(is_user).then("name").alias("user"),
        pl.when(is_user).then("above").otherwise("name").alias("account"),
        "partition",
    )


def _find(attempts: pl.DataFrame, known: pl.DataFrame, key: list[str], nodes: Ints) -> None:
    """Enters the nodes of those attempts that have none and whose key is known."""
    if known.is_empty():
        return
    left = np.flatnonzero(nodes < 0)
    asking = attempts.select(key)
    if len(left) < len(nodes):
        asking = asking[left]
    matched = asking.join(known.select("node", *key), on=key, how="left", maintain_order="left")
    nodes[left] = matched["node"].fill_null(-1).to_numpy()


# --- targets -------------------------------------------------------------------------------------


def targets(tree: Tree) -> Floats:
    """Each node's share as a part of all of its siblings', 0 to 1; 0 where these are 0.

    NaN for the root, and without a share of its own.
    """
    return _parts(tree, np.where(shared(tree), tree.shares, np.nan))


def redistributed(tree: Tree, active: Bools) -> Floats:
    """Virtual targets: the share of those who use nothing, divided among their siblings.

    t'_i = t_i / Σ t_j over the active siblings j ([R] eq. 15). An account is active when it, or
    anybody below it, is.

    Args:
        active: of each node, whether it submits attempts itself; a column per node.

    Returns:
        Targets from 0 to 1 in the shape of ``active``; 0 for who is not active; NaN for the root,
        and without a share of its own.
    """
    busy = np.array(active, np.bool_)
    for node in range(len(tree.names) - 1, 0, -1):
        busy[..., tree.parents[node]] |= busy[..., node]
    return _parts(tree, np.where(shared(tree), np.where(busy, tree.shares, 0.0), np.nan))


def _parts(tree: Tree, values: Floats) -> Floats:
    """Each value as a part of the sum over its siblings; 0/0 = 0, NaN stays."""
    above = groups(tree)
    sums = np.zeros_like(values)
    counted = np.nan_to_num(values)
    for node in range(1, len(above)):
        sums[..., above[node]] += counted[..., node]
    of_siblings = sums[..., above]  # of the root: any
    parts = np.divide(values, of_siblings, out=np.zeros_like(values), where=of_siblings > 0)
    return np.where(np.isnan(values), np.nan, parts)


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
        self.above = groups(tree)
        self.shared = shared(tree)
        self.depths = depths(tree)
        self.targets = targets(tree)
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

    Returns:
        A further last axis of as many components as the tree has levels.
    """
    depth = depths(tree)
    above = groups(tree)
    paths = np.zeros((*np.shape(priorities), max(1, int(depth.max()))))
    for node in range(1, len(above)):
        paths[..., node, :] = paths[..., above[node], :]
        if not math.isnan(tree.shares[node]):
            paths[..., node, depth[node] - 1] = priorities[..., node]
    return paths


def ranks_of(tree: Tree, priorities: Floats) -> Ints:
    """Ranks among users, and among accounts, by their vectors, the greatest first; 0 for the root.

    Who ties shares the better rank (1, 2, 2, 4).
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
