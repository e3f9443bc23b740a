"""Owners of attempts, for the orders ``fairshare`` and ``nuwt`` (SPEC §4, *Queue order*).

``fairshare``: an owner is a leaf of a share tree. Its priority is the vector of F(target, state) of
the nodes on the path to it (SPEC §7); a node's state is its part of its siblings' decayed usage.
Usage counts up to the last multiple of the recalculation interval since the first arrival: observed
until a simulation begins, then simulated; blocked attempts count, reserved ones do not. Without a
tree, all users (accounts) are siblings with equal shares. Priorities are compared in steps of
2^−32, so that rounding does not decide ties.

``nuwt``: largest NUWT (SPEC §6) over the attempts that have ended, one-job owners included; 0
without such attempts or usage.
"""

from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Bools, Floats, Ints
from audit.errors import SimulationError
from audit.kernels.scheduling.multifactor import Books
from audit.kernels.scheduling.owners import Ledger, Owners, sum_up
from audit.metrics.attempts.contention import ints
from audit.metrics.fairshare import trees
from audit.metrics.fairshare.operators import OPERATORS
from audit.metrics.fairshare.trees import Tree
from audit.metrics.fairshare.usage import HalfLife, Kind, Method, Windows
from audit.model import Order
from audit.scenario import multifactor
from audit.scenario.multifactor import NO_CLOCK, Clock, Multifactor, Priorities

WEEK_S: Final = 7 * 86_400


class Fairshare(NamedTuple):
    """How owners are ranked."""

    kind: Kind = "user"  # owners under ``nuwt``, and under ``fairshare`` without a tree
    method: Method = Windows(interval_s=WEEK_S, depth=7, decay=0.7)
    operator: str = "absolute"
    tree: Tree | None = None  # None: equal shares, under which only ``absolute`` has a meaning
    recalculation_s: int = 300
    multifactor: Multifactor | None = None  # for the order of that name


EQUAL_SHARES: Final = Fairshare()


class Ownership(NamedTuple):
    """The owners of n attempts."""

    leaf: Ints  # [n], a node of the tree
    name: Ints  # [n], number of the user (account)
    charge: Floats  # [n] ≥ 0, usage per second
    used: Floats  # [n] ≥ 0, runtime · size
    tree: Tree
    fairshare: Fairshare
    priorities: Priorities | None = None  # for the order ``multifactor``

    def of_those(self, chosen: Bools) -> "Ownership":
        """Return the owners of the ``chosen`` attempts."""
        return self._replace(
            leaf=self.leaf[chosen],
            name=self.name[chosen],
            charge=self.charge[chosen],
            used=self.used[chosen],
            priorities=None if self.priorities is None else self.priorities.of_those(chosen),
        )


def owners_of(attempts: pl.DataFrame, fairshare: Fairshare) -> Ownership:
    """Return the owners of attempts.

    Args:
        attempts: user, account, partition, size, occupancy (s) and suspended_s; ``penalty`` where
            usage per second is not the size (``metrics.fairshare.penalty``).

    Raises:
        SimulationError: the settings conflict.
    """
    if fairshare.operator not in OPERATORS:
        raise SimulationError(
            f"operator {fairshare.operator!r}: the order fairshare supports {', '.join(OPERATORS)}"
        )
    if fairshare.tree is None and fairshare.operator != "absolute":
        raise SimulationError(
            f"operator {fairshare.operator!r} compares usage with shares, and there are none"
        )
    if isinstance(fairshare.method, Windows) and fairshare.method.alignment != "trailing":
        raise SimulationError("the order fairshare supports trailing windows only")
    slurm = fairshare.multifactor
    kind = attempts.select(fairshare.kind)
    numbers = kind.unique().sort(fairshare.kind).with_row_index("number")
    joined = kind.join(numbers, fairshare.kind, "left", nulls_equal=True, maintain_order="left")
    names, name = numbers[fairshare.kind], ints(joined["number"])
    if fairshare.tree is None:
        tree, leaf = _siblings(names, fairshare.kind), name + 1
    else:
        tree, leaf = _placed(attempts, fairshare.tree)
    size = attempts["size"].fill_null(0).cast(pl.Float64)
    charge = attempts["penalty"] if "penalty" in attempts.columns else size
    runtime = attempts["occupancy"] - attempts["suspended_s"].fill_null(0)
    return Ownership(
        leaf.astype(np.int64),
        name,
        charge.to_numpy().astype(np.float64),
        (runtime.clip(0) * size).to_numpy().astype(np.float64),
        tree,
        fairshare,
        None if slurm is None else multifactor.priorities(attempts, slurm),
    )


def unowned(count: int) -> Ownership:
    """Return ``count`` attempts of one owner that is charged nothing."""
    return Ownership(
        leaf=np.ones(count, np.int64),
        name=np.zeros(count, np.int64),
        charge=np.zeros(count),
        used=np.zeros(count),
        tree=_siblings(pl.Series([None], dtype=pl.String), "user"),
        fairshare=EQUAL_SHARES,
    )


class _History(NamedTuple):
    """Observed usage (``scheduling.owners.Owners``)."""

    first: Ints
    time: Ints
    value: Floats
    rate: Floats


class OwnerRanking(NamedTuple):
    """Owners and how they are ranked, as the kernels take them."""

    owner: Ints  # [n], of each attempt
    owners: Owners
    path: Ints  # nodes × levels, to each owner
    siblings: Ints  # the account of each group of siblings
    clock: Clock
    half_life: float  # of usage, s; 0: it is counted in windows

    def ledger(self, attempts: int, steps: int) -> Ledger:
        """Return space for starts and ends of ``attempts``, and of blocked ones by ``steps``."""
        charged = self.path.max(initial=-1) >= 0
        changes = 2 * attempts + steps if charged else 0
        books = Books(*self.clock)
        return Ledger(self.owners, self.path, self.siblings, changes, self.half_life, books)


def ranking(
    order: Order, ownership: Ownership, arrival: Ints, start: Ints, end: Ints, counted: Bools
) -> OwnerRanking:
    """Return the ranking of owners under an order; one outside ``model.BY_USAGE`` needs none.

    ``counted`` are attempts whose observed start is known.

    Raises:
        SimulationError: the order is ``multifactor``, and Slurm's configuration is unknown.
    """
    fairshare, own = ownership.fairshare, ownership.priorities
    method = fairshare.method
    slurm, clock, half_life = multifactor.no_slurm(), NO_CLOCK, 0.0
    windows = isinstance(method, Windows) and order is Order.fairshare
    if order is Order.fairshare:
        owner = ownership.leaf
        path, target = paths(ownership.tree), trees.targets(ownership.tree)
        siblings = len(path) + trees.groups(ownership.tree)
        half_life = float(method.half_life_s) if isinstance(method, HalfLife) else 0.0
        history = _used(path, siblings, ownership, start, end, counted, half_life)
    else:
        owner = np.zeros(len(start), np.int64)
        history = _History(np.zeros(2, np.int64), np.zeros(0, np.int64), *np.zeros((2, 0)))
        count = 1
        if order is Order.nuwt:
            owner = ownership.name
            count = int(owner.max(initial=-1)) + 1
            history = _waited(count, ownership, arrival, start, end, counted)
        elif order is Order.multifactor:
            if fairshare.multifactor is None or own is None:
                raise SimulationError("order multifactor: Slurm's configuration is missing")
            owner = own.node
            slurm, clock = multifactor.kernel_slurm(
                fairshare.multifactor, own, ownership.charge, start, end, counted
            )
        path, target = np.full((count, 1), -1), np.zeros(count)
        siblings = np.zeros(count, np.int64)
    weights = [method.decay**i for i in range(method.depth)] if isinstance(method, Windows) else []
    owners = Owners(
        target=target,
        operator=OPERATORS.index(fairshare.operator),
        weights=np.array(weights if windows else [], np.float64),
        interval=method.interval_s if isinstance(method, Windows) else 0,
        origin=int(arrival.min(initial=2**62)) if len(arrival) else 0,
        recalculation=fairshare.recalculation_s,
        slurm=slurm,
        **history._asdict(),
    )
    owner, path, siblings = map(np.ascontiguousarray, (owner, path, siblings))
    return OwnerRanking(owner, owners, path, siblings, clock, half_life)


def paths(tree: Tree) -> Ints:
    """Return the nodes from below the root to each node, nodes × levels; −1 after its end.

    The path of a user without a share ends at its account.
    """
    shared, ways = trees.shared(tree), list[list[int]]()
    for node, above in enumerate(trees.groups(tree).tolist()):
        ways.append((ways[above] if above >= 0 else []) + ([node] if shared[node] else []))
    levels = max(1, *map(len, ways))
    return np.array([way + [-1] * (levels - len(way)) for way in ways], np.int64)


def _siblings(names: pl.Series, kind: Kind) -> Tree:
    """Return a tree of one level; unnamed owners are one sibling."""
    count = len(names)
    return Tree(
        names=("", *(name or "" for name in names)),
        kinds=("account", *[kind] * count),
        partitions=(None,) * (count + 1),
        parents=np.array([-1, *[0] * count], np.int64),
        shares=np.array([1.0, *[0.0] * count]),
    )


def _placed(attempts: pl.DataFrame, tree: Tree) -> tuple[Tree, Ints]:
    """Return the tree, with a leaf without share for unknown owners, and each attempt's leaf."""
    of_accounts = "account" in tree.kinds[1:]
    account = attempts["account"] if of_accounts else None
    leaf = trees.leaf_of(tree, attempts["user"], account, attempts["partition"])
    unknown = leaf < 0
    if not unknown.any():
        return tree, leaf
    more = Tree(
        names=(*tree.names, ""),
        kinds=(*tree.kinds, "user"),
        partitions=(*tree.partitions, None),
        parents=np.append(tree.parents, 0),
        shares=np.append(tree.shares, 0.0),
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
    """Return the observed changes of each account's rate of use (``scheduling.owners.Owners``)."""
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
    """Return the observed waits and usage of each owner's attempts, at their ends.

    An attempt without occupancy ends after the instant of its start.
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
