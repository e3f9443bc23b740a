"""Slurm's Fair Tree and classic fairshare: the columns of ``sshare`` (SPEC §7).

With S the raw shares and U the raw usage (``metrics.slurm``) of an association, its own and that of
all below it, and its siblings those that share an account:

    Fair Tree   NormShares   = S / ΣS of the siblings
                EffectvUsage = U / U of the account; 0 where that is 0
                LevelFS      = NormShares / EffectvUsage; ∞ where unused, 0 where S = 0
                FairShare    = rank / users, 1 the best
    classic     NormShares   = Π of S / ΣS of the siblings, from the association up to root
                EffectvUsage = U_E,account + … : U_A + (U_E,account − U_A) · S / ΣS; U_A on top
                FairShare    = 2^(−EffectvUsage / NormShares / dampening); 0 where NormShares = 0
    both        NormUsage    = U_A = U / U of root; 0 where that is 0

Ranks go depth first, greatest LevelFS first, users before accounts where it is equal. Users that
tie share the better rank, and a user that ties with an account shares the rank of that account's
best user. What has fairshare=parent (NaN) is measured against the account above, and counts
in no ΣS; such a user ranks first in its account, and members of such an account compete with its
siblings.

Sources: Slurm's documentation "Fair Tree Fairshare Algorithm", "Classic Fairshare Algorithm" and
"Depth Oblivious Fair-share Factor"; observed in 22.05 (docs/sshare.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.formats.sacctmgr import ROOT, Association
from audit.metrics.trees import Floats, Ints, Tree

ACCOUNT: Final = "account"
USER: Final = "user"

_UNSET: Final = 4_294_967_294.0
"""LevelFS of an account with fairshare=parent (Slurm's NO_VAL): it has no members of its own."""


class Shares(NamedTuple):
    """What ``sshare`` says, one element per node; NaN where it prints nothing."""

    norm_shares: Floats
    """0 to 1."""
    norm_usage: Floats
    """0 to 1; NaN of root."""
    effective_usage: Floats
    """0 to 1; 1 of root."""
    level_fs: Floats
    """≥ 0, ∞ where unused; NaN of root, of fairshare=parent, and in classic fairshare."""
    fairshare: Floats
    """0 to 1; in Fair Tree NaN of accounts."""


class Places(NamedTuple):
    """To which node each attempt is charged."""

    nodes: Ints
    """−1: to none, since the log does not name its account."""
    strange_users: dict[str, int]
    """Attempts that started, by account: of users who have no association there (any more). They
    are charged to the account, as Slurm keeps there what users had used who were removed."""
    strange_accounts: dict[str, int]
    """Attempts that started, by account that has no association (any more): charged to root."""
    nameless: int
    """Attempts that started and have no account."""


def tree_of(rows: Iterable[Association]) -> Tree:
    """Associations as a share tree, in the order in which ``sshare`` prints them.

    Below each account its users come first, then its accounts with all below them, by name.

    Args:
        rows: of one cluster, without faults (``formats.sacctmgr.associations``).
    """
    above: dict[str, list[Association]] = {}
    top = None
    for row in rows:
        if row.user is None and row.account == ROOT:
            top = row
        else:
            parent = row.account if row.user is not None else row.parent or ROOT
            above.setdefault(parent, []).append(row)
    names, kinds, partitions, parents, shares = [ROOT], [ACCOUNT], [None], [-1], [1.0]
    if top is not None and not math.isnan(top.share):
        shares[0] = top.share
    waiting: list[tuple[int, Association]] = _below(0, above.get(ROOT, ()))
    found: list[str | None] = [*partitions]
    while waiting:
        parent_node, row = waiting.pop()
        node = len(names)
        names.append(row.user if row.user is not None else row.account)
        kinds.append(USER if row.user is not None else ACCOUNT)
        found.append(row.partition)
        parents.append(parent_node)
        shares.append(row.share)
        if row.user is None:
            waiting += _below(node, above.get(row.account, ()))
    return Tree(
        tuple(names),
        tuple(kinds),
        tuple(found),
        np.array(parents, np.int64),
        np.array(shares, np.float64),
    )


def _below(node: int, rows: Sequence[Association]) -> list[tuple[int, Association]]:
    """Those directly below a node, the last to be taken first."""
    in_order = sorted(
        rows, key=lambda row: (row.user is None, row.user or row.account, row.partition or "")
    )
    return [(node, row) for row in reversed(in_order)]


def places(tree: Tree, attempts: pl.DataFrame) -> Places:
    """The association of each attempt, as slurmctld picks it.

    That of its user, account and partition, else of its user and account; else see ``Places``.

    Args:
        tree: see ``tree_of``.
        attempts: user, account, partition, start_time.
    """
    nodes = pl.DataFrame(
        {
            "node": range(len(tree.names)),
            "name": tree.names,
            "is_user": [kind == USER for kind in tree.kinds],
            "own": tree.partitions,
            "account": [tree.names[max(parent, 0)] for parent in tree.parents.tolist()],
        },
        schema={
            "node": pl.Int64, "name": pl.String, "is_user": pl.Boolean, "own": pl.String,
            "account": pl.String,
        },
    )  # fmt: skip
    users = nodes.filter("is_user").select("account", pl.col("name").alias("user"), "own", "node")
    accounts = nodes.filter(~pl.col("is_user")).select(account="name", its="node")
    joined = (
        attempts.select("user", "account", "partition", "start_time")
        .join(
            users.filter(pl.col("own").is_not_null()).rename({"own": "partition", "node": "exact"}),
            ["account", "user", "partition"],
            "left",
            maintain_order="left",
        )
        .join(
            users.filter(pl.col("own").is_null()).select("account", "user", "node"),
            ["account", "user"],
            "left",
            maintain_order="left",
        )
        .join(accounts, "account", "left", maintain_order="left")
    )
    found = pl.coalesce("exact", "node")
    placed = joined.with_columns(
        place=pl.coalesce(found, "its", pl.when(pl.col("account").is_not_null()).then(0), -1).cast(
            pl.Int64
        ),
        strange_user=found.is_null() & pl.col("its").is_not_null(),
        strange_account=pl.col("account").is_not_null() & pl.col("its").is_null(),
    )
    started = placed.filter(pl.col("start_time").is_not_null())

    def by_account(which: str) -> dict[str, int]:
        return dict(sorted(started.filter(which)["account"].value_counts().iter_rows()))

    return Places(
        placed["place"].to_numpy(),
        by_account("strange_user"),
        by_account("strange_account"),
        started["account"].null_count(),
    )


def summed(tree: Tree, own: Floats) -> Floats:
    """Usage of each node with all below it; own usage and result are ``[…, nodes]``."""
    total = own.copy()
    for node in range(len(tree.parents) - 1, 0, -1):
        total[..., tree.parents[node]] += total[..., node]
    return total


def above(tree: Tree) -> Ints:
    """The account that each node is measured against: past those with fairshare=parent."""
    found = tree.parents.copy()
    # parents come before their children: the one above a parent is final already
    for node in range(1, len(found)):
        parent = int(tree.parents[node])
        if parent > 0 and math.isnan(tree.shares[parent]):
            found[node] = found[parent]
    return found


def level_shares(tree: Tree) -> Floats:
    """ΣS of each node's siblings and itself; of root its own."""
    counted = np.nan_to_num(tree.shares, nan=0.0)
    over = above(tree)
    total = np.zeros(len(counted))
    np.add.at(total, over[1:], counted[1:])
    return np.concatenate([counted[:1], total[over[1:]]])


def fair_tree(tree: Tree, usage: Floats) -> Shares:
    """Fair Tree for one instant.

    Args:
        tree: the associations.
        usage: of each node with all below it (``summed``), ≥ 0.
    """
    over, level, is_parent = above(tree), level_shares(tree), np.isnan(tree.shares)
    norm = _ratio(np.nan_to_num(tree.shares, nan=0.0), level)
    norm[0] = 0.0  # root competes with nobody
    norm[is_parent] = norm[over[is_parent]]
    effective = _ratio(usage, usage[over])
    effective[0] = 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        level_fs = np.where(norm == 0.0, 0.0, norm / effective)
    ranked = level_fs.copy()
    is_user = np.array([kind == USER for kind in tree.kinds])
    ranked[is_parent] = np.where(is_user[is_parent], math.inf, _UNSET)
    level_fs[is_parent] = math.nan
    level_fs[0] = math.nan
    return Shares(norm, _normalised(usage), effective, level_fs, _ranked(over, ranked, is_user))


def classic(
    tree: Tree, usage: Floats, dampening: float = 1.0, *, depth_oblivious: bool = False
) -> Shares:
    """Classic fairshare (NO_FAIR_TREE) for one instant.

    Args:
        tree: the associations.
        usage: of each node with all below it (``summed``), ≥ 0.
        dampening: FairShareDampeningFactor, > 0.
        depth_oblivious: whether the flag DEPTH_OBLIVIOUS is set.
    """
    over, level, is_parent = above(tree), level_shares(tree), np.isnan(tree.shares)
    part = _ratio(np.nan_to_num(tree.shares, nan=0.0), level)
    norm_usage = _normalised(usage)
    norm = np.ones(len(part))
    effective = np.ones(len(part))
    for node in range(1, len(part)):
        parent = int(over[node])
        norm[node] = norm[parent] * (1.0 if is_parent[node] else part[node])
        if parent == 0:
            effective[node] = norm_usage[node]
        elif is_parent[node]:
            effective[node] = effective[parent]
        elif not depth_oblivious:
            own = norm_usage[node]
            own += (effective[parent] - own) * part[node]
            effective[node] = own if level[node] else effective[parent]
    if depth_oblivious:
        _oblivious(over, is_parent, norm, norm_usage, effective)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(norm > 0.0, 2.0 ** -(effective / norm / dampening), 0.0)
    return Shares(norm, norm_usage, effective, np.full(len(norm), math.nan), factor)


def _oblivious(
    over: Ints, is_parent: np.ndarray, norm: Floats, norm_usage: Floats, effective: Floats
) -> None:
    """Effective usage so that R = R_account · r^k, r the usage against shares among siblings.

    k = 1, or 1/(1 + (5 ln R_account)²) where r would bring R back towards 1.
    """
    siblings = np.zeros(len(norm))
    np.add.at(siblings, over[1:], np.where(is_parent, 0.0, norm_usage)[1:])
    for node in range(1, len(norm)):
        parent = int(over[node])
        if parent == 0 or is_parent[node]:
            effective[node] = norm_usage[node] if parent == 0 else effective[parent]
            continue
        if not (norm[node] and norm[parent] and effective[parent] and norm_usage[node]):
            effective[node] = norm_usage[node]
            continue
        above_ = effective[parent] / norm[parent]
        among = (norm_usage[node] / norm[node]) / (siblings[parent] / norm[parent])
        towards = math.log(above_) * math.log(among) < 0.0
        exponent = 1.0 / (1.0 + (5.0 * math.log(above_)) ** 2) if towards else 1.0
        effective[node] = above_ * among**exponent * norm[node]


def _normalised(usage: Floats) -> Floats:
    norm = np.minimum(_ratio(usage, np.full(len(usage), usage[0])), 1.0)
    norm[0] = math.nan
    return norm


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


class _Level:
    """Siblings in the order in which they are ranked, and how far that is done."""

    def __init__(self, nodes: list[int], *, tied: bool) -> None:
        self.nodes = nodes
        self.tied = tied  # with the user that was ranked last
        self.at = 0
        self.before = math.nan


def _ranked(over: Ints, level_fs: Floats, is_user: np.ndarray) -> Floats:
    """FairShare of each user: rank / users, depth first; NaN of accounts."""
    children: list[list[int]] = [[] for _ in over]
    for node in range(1, len(over)):
        children[over[node]].append(node)

    def sort(nodes: list[int]) -> list[int]:
        return sorted(nodes, key=lambda node: (-level_fs[node], not is_user[node]))

    users = int(is_user.sum())
    factor = np.full(len(over), math.nan)
    rank = untied = users
    levels = [_Level(sort(children[0]), tied=False)]
    while levels:
        level = levels[-1]
        if level.at == len(level.nodes):
            levels.pop()
            continue
        node = level.nodes[level.at]
        tied = level.tied if level.at == 0 and level.tied else level.before == level_fs[node]
        level.at += 1
        level.before = level_fs[node]
        if is_user[node]:
            if not tied:
                rank = untied
            factor[node] = rank / users
            untied -= 1
            continue
        merged = list(children[node])
        while level.at < len(level.nodes) and level_fs[level.nodes[level.at]] == level_fs[node]:
            merged += children[level.nodes[level.at]]
            level.at += 1
        levels.append(_Level(sort(merged), tied=tied))
    return factor
