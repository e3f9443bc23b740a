"""Whose attempts they are, for the orders ``fairshare`` and ``nuwt`` (SPEC §4, *Queue order*).

``fairshare`` serves first whose owner has the highest priority. An owner is a leaf of a share tree;
its priority is the vector of F(target, state) of the nodes on the way to it (SPEC §7), the state
being a node's part of its siblings' decayed usage. Usage is up to the last multiple of the
recalculation interval since the first arrival: of the observed schedule until a simulation begins,
of what the simulation ran and runs from then on, blocked attempts included. Reserved attempts leave
the pool, and do not count. Without a tree, all users (accounts) are siblings with the same share.
Priorities are compared in steps of 2^−32, so that rounding does not decide ties.

``nuwt`` serves first whose owner has the largest NUWT (SPEC §6) over the attempts that have ended
so far, one-job owners too; without any, or without usage, 0.
"""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.errors import SimulationError
from audit.kernels.scheduling.simulation import Owners, Slurm, sum_up
from audit.kernels.scheduling.simulation import Owners as Known
from audit.metrics.fairshare import trees
from audit.metrics.fairshare.operators import OPERATORS
from audit.metrics.fairshare.trees import Tree
from audit.metrics.fairshare.usage import HalfLife, Kind, Method, Windows
from audit.model import Order
from audit.scenario import multifactor
from audit.scenario.multifactor import NO_CLOCK, Clock, Multifactor, Priorities

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

WEEK_S: Final = 7 * 86_400


class Fairshare(NamedTuple):
    """How owners are ranked."""

    kind: Kind = "user"
    """Whose NUWT counts, and who has a share where there is no tree."""
    method: Method = Windows(interval_s=WEEK_S, depth=7, decay=0.7)
    operator: str = "absolute"
    tree: Tree | None = None
    """Without one, all have the same share, and only ``absolute`` has a meaning."""
    recalculation_s: int = 300
    multifactor: Multifactor | None = None
    """How slurmctld is configured, for the order of that name."""


EQUAL_SHARES: Final = Fairshare()


class Ownership(NamedTuple):
    """The owners of n attempts; see ``Fairshare``."""

    leaf: Ints  # [n], a node of the tree
    name: Ints  # [n], numbers the users (accounts)
    fingerprint: Ints  # [n], of their names
    charge: Floats  # [n] ≥ 0, usage per second
    used: Floats  # [n] ≥ 0, runtime · size
    tree: Tree
    fairshare: Fairshare
    priorities: Priorities | None = None
    """For the order ``multifactor``."""

    def first(self, count: int) -> Ownership:
        """Those of the first ``count`` attempts."""
        return Ownership(
            self.leaf[:count],
            self.name[:count],
            self.fingerprint[:count],
            self.charge[:count],
            self.used[:count],
            self.tree,
            self.fairshare,
            None if self.priorities is None else self.priorities.first(count),
        )


def owners_of(held: pl.DataFrame, fairshare: Fairshare) -> Ownership:
    """The owners of attempts.

    Args:
        held: user, account, partition, size, occupancy (s) and suspended_s; ``penalty`` where
            something else than the size is charged for each second (``metrics.fairshare.penalty``).

    Raises:
        SimulationError: the settings do not go together.
    """
    if fairshare.operator not in OPERATORS:
        raise SimulationError(
            f"operator {fairshare.operator!r}: the order fairshare knows {', '.join(OPERATORS)}"
        )
    if fairshare.tree is None and fairshare.operator != "absolute":
        raise SimulationError(
            f"operator {fairshare.operator!r} compares usage with shares, and there are none"
        )
    if isinstance(fairshare.method, Windows) and fairshare.method.alignment != "trailing":
        raise SimulationError("the order fairshare knows trailing windows only")
    slurm = fairshare.multifactor
    named = held[fairshare.kind]
    names = named.unique().sort()
    number = pl.DataFrame({"name": names}).with_row_index("number")
    of = pl.DataFrame({"name": named}).join(
        number, on="name", how="left", nulls_equal=True, maintain_order="left"
    )
    name = of["number"].cast(pl.Int64).to_numpy()
    if fairshare.tree is None:
        tree, leaf = _siblings(names, fairshare.kind), name + 1
    else:
        tree, leaf = _placed(held, fairshare.tree)
    size = held["size"].fill_null(0).cast(pl.Float64)
    charge = held["penalty"] if "penalty" in held.columns else size
    runtime = held["occupancy"] - held["suspended_s"].fill_null(0)
    names_of = held.select("user", "account", "partition")
    told = names_of.unique()
    fingerprint = names_of.join(
        told.with_columns(_fingerprint=pl.Series(_fingerprints(told), dtype=pl.Int64)),
        on=["user", "account", "partition"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )["_fingerprint"]
    return Ownership(
        leaf.astype(np.int64),
        name.astype(np.int64),
        fingerprint.to_numpy(),
        charge.to_numpy().astype(np.float64),
        (runtime.clip(0) * size).to_numpy().astype(np.float64),
        tree,
        fairshare,
        None if slurm is None else multifactor.priorities(held, slurm),
    )


def unowned(count: int) -> Ownership:
    """So many attempts, all of one owner that is charged nothing."""
    return Ownership(
        np.ones(count, np.int64),
        *(np.zeros(count, np.int64), np.zeros(count, np.int64)),
        *(np.zeros(count), np.zeros(count)),
        _siblings(pl.Series([None], dtype=pl.String), "user"),
        EQUAL_SHARES,
    )


class _History(NamedTuple):
    """What the observed schedule used (``scheduling.owners.Owners``)."""

    first: Ints
    time: Ints
    value: Floats
    rate: Floats


def kernel_owners(
    order: Order, ownership: Ownership, arrival: Ints, start: Ints, end: Ints, counted: Bools
) -> tuple[Ints, Owners, Ints, Ints, Clock]:
    """Owners as the kernels take them.

    Args:
        order: what goes by them; what is not among ``model.BY_USAGE`` needs none.
        counted: whose observed start is known.

    Returns:
        Each attempt's owner; all that is known of them; the way to each, nodes × levels; the
        account of each and its siblings; and when Slurm recalculates.

    Raises:
        SimulationError: the order is ``multifactor``, and nothing says how Slurm is configured.
    """
    fairshare = ownership.fairshare
    method = fairshare.method
    slurm, clock = _slurm(order, ownership, start, end, counted)
    windows = isinstance(method, Windows) and order is Order.fairshare
    weights = [method.decay**i for i in range(method.depth)] if isinstance(method, Windows) else []
    if order is Order.fairshare:
        owner = ownership.leaf
        path, target = paths(ownership.tree), trees.targets(ownership.tree)
        siblings = len(path) + trees.groups(ownership.tree)
        history = _used(path, siblings, ownership, start, end, counted, _half_life(method))
    elif order is Order.nuwt:
        owner = ownership.name
        count = int(owner.max(initial=-1)) + 1
        path = np.full((count, 1), -1)
        history = _waited(count, ownership, arrival, start, end, counted)
        target, siblings = np.zeros(count), np.zeros(count, np.int64)
    else:
        owner = np.zeros(len(start), np.int64)
        if order is Order.multifactor and ownership.priorities is not None:
            owner = ownership.priorities.node
        path = np.full((1, 1), -1)
        history = _History(np.zeros(2, np.int64), np.zeros(0, np.int64), *np.zeros((2, 0)))
        target, siblings = np.zeros(1), np.zeros(1, np.int64)
    return (
        owner,
        Known(
            target=target,
            operator=OPERATORS.index(fairshare.operator),
            weights=np.array(weights if windows else [], np.float64),
            interval=method.interval_s if isinstance(method, Windows) else 0,
            origin=int(arrival.min(initial=2**62)) if len(arrival) else 0,
            recalculation=fairshare.recalculation_s,
            slurm=slurm,
            **history._asdict(),
        ),
        path,
        siblings,
        clock,
    )


def _slurm(
    order: Order, ownership: Ownership, start: Ints, end: Ints, counted: Bools
) -> tuple[Slurm, Clock]:
    if order is not Order.multifactor:
        return multifactor.no_slurm(), NO_CLOCK
    settings, own = ownership.fairshare.multifactor, ownership.priorities
    if settings is None or own is None:
        raise SimulationError("order multifactor: nothing says how Slurm is configured")
    return multifactor.kernel_slurm(settings, own, ownership.charge, start, end, counted)


def half_life(order: Order, ownership: Ownership) -> float:
    """In which usage loses half of its weight, s; 0: it is counted in windows."""
    return _half_life(ownership.fairshare.method) if order is Order.fairshare else 0.0


def settings(ownership: Ownership) -> str:
    """All that two rankings must have in common, owners aside, to rank alike."""
    fairshare, tree = ownership.fairshare, ownership.fairshare.tree
    slurm = "" if fairshare.multifactor is None else multifactor.described(fairshare.multifactor)
    nodes = "" if tree is None else trees.written(tree)
    return f"{fairshare._replace(tree=None, multifactor=None)} {nodes} {slurm}"


def paths(tree: Tree) -> Ints:
    """The nodes on the way to each node, from below the root on; −1 beyond it, nodes × levels.

    Who has no share of its own stands where its account does: its way ends there.
    """
    shared, ways = trees.shared(tree), list[list[int]]()
    for node, above in enumerate(trees.groups(tree).tolist()):
        ways.append((ways[above] if above >= 0 else []) + ([node] if shared[node] else []))
    levels = max(1, *map(len, ways))
    return np.array([way + [-1] * (levels - len(way)) for way in ways], np.int64)


def _half_life(method: Method) -> float:
    return float(method.half_life_s) if isinstance(method, HalfLife) else 0.0


def _siblings(names: pl.Series, kind: Kind) -> Tree:
    """A tree of one level; who has no name is a sibling too."""
    count = len(names)
    return Tree(
        ("", *(name or "" for name in names)),
        ("account", *[kind] * count),
        (None,) * (count + 1),
        np.array([-1, *[0] * count], np.int64),
        np.array([1.0, *[0.0] * count]),
    )


def _placed(held: pl.DataFrame, tree: Tree) -> tuple[Tree, Ints]:
    """The tree, and each attempt's leaf; one without a share is added for whom it does not know."""
    of_accounts = "account" in tree.kinds[1:]
    account = held["account"] if of_accounts else None
    leaf = trees.leaf_of(tree, held["user"], account, held["partition"]).nodes
    unknown = leaf < 0
    if not unknown.any():
        return tree, leaf
    more = Tree(
        (*tree.names, ""),
        (*tree.kinds, "user"),
        (*tree.partitions, None),
        np.append(tree.parents, 0),
        np.append(tree.shares, 0.0),
    )
    return more, np.where(unknown, len(tree.names), leaf)


def _used(
    path: Ints,
    siblings: Ints,
    ownership: Ownership,
    start: Ints,
    end: Ints,
    counted: Bools,
    half_life: float,
) -> _History:
    """When each account's rate of use changed, as observed; see ``scheduling.owners.Owners``."""
    ran = np.flatnonzero(counted & (end > start))
    account, attempt = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for node in path[ownership.leaf[ran]].T:
        on = node >= 0
        account += [node[on], siblings[node[on]]]
        attempt += [ran[on]] * 2
    at, of = np.concatenate(account), np.concatenate(attempt)
    at = np.concatenate((at, at))
    time = np.concatenate((start[of], end[of]))
    change = np.concatenate((ownership.charge[of], -ownership.charge[of]))
    order = np.lexsort((time, at))
    at, time = at[order], time[order]
    rate, value = change[order], np.zeros(len(order))
    first = np.searchsorted(at, np.arange(2 * len(path) + 1))
    sum_up(first, time, value, rate, half_life)
    return _History(first, time, value, rate)


def _waited(
    count: int, ownership: Ownership, arrival: Ints, start: Ints, end: Ints, counted: Bools
) -> _History:
    """What each owner's attempts waited and used, as they ended, as observed.

    What took no time has ended only after the instant at which it started.
    """
    ran = np.flatnonzero(counted)
    gone = np.maximum(end[ran], start[ran] + 1)
    order = np.lexsort((gone, ownership.name[ran]))
    ran, time = ran[order], gone[order]
    first = np.searchsorted(ownership.name[ran], np.arange(count + 1))
    waited, used = (start - arrival)[ran].astype(np.float64), ownership.used[ran]
    for low, high in pairwise(first.tolist()):
        np.cumsum(waited[low:high], out=waited[low:high])
        np.cumsum(used[low:high], out=used[low:high])
    return _History(first, time, waited, used)


def _fingerprints(told: pl.DataFrame) -> list[int]:
    return [
        int.from_bytes(hashlib.sha256(repr(row).encode()).digest()[:8], "big", signed=True)
        for row in told.iter_rows()
    ]
