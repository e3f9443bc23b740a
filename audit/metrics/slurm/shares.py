"""Slurm's Fair Tree and classic fairshare: the columns of ``sshare`` (SPEC §7).

With S the raw shares and U the raw usage (``usage``) of an association, its own and that of
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
best user. Where accounts tie, Slurm's documentation and SPEC merge their members before descending;
slurmctld does not: it takes them in the order of ``sshare``, and ranks the next account's best user
with whoever was ranked last. It is slurmctld that ``sshare`` prints, so that is the default here
(``merge_tied``).

What has fairshare=parent (NaN) is measured against the account above, and counts in no ΣS; such a
user ranks first in its account, and members of such an account compete with its siblings, after
which they stand.

Sources: Slurm's documentation "Fair Tree Fairshare Algorithm", "Classic Fairshare Algorithm" and
"Depth Oblivious Fair-share Factor"; observed in 22.05 (docs/sshare.md).

Between two ticks of slurmctld (``usage``) RawUsage holds what has ended since; NormUsage,
EffectvUsage, LevelFS and FairShare stand still. In classic fairshare accounts are a tick behind:
their figures were made before that tick booked anything, while those of users are made when
somebody asks for them, which is taken to be the instant itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.metrics.fairshare.trees import Bools, Floats, Ints, Node, Tree, build, groups, leaf_of
from audit.metrics.fairshare.usage import Grouped
from audit.metrics.slurm.usage import SlurmUsage

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


def tree_of(associations: Iterable[Node]) -> Tree:
    """Associations as a share tree (``metrics.fairshare.trees``), in the order of ``sshare``.

    Below each account its users come first, then its accounts, by name; a user's associations for
    several partitions in the order given.

    Args:
        associations: accounts and users of one cluster, all but root; shares are raw.

    Raises:
        ValueError: as ``trees.build``, but that siblings may all have a share of 0.
    """
    ordered = sorted(associations, key=lambda node: (node.kind != "user", node.name))
    return build(ordered, all_zero=True)


def printed(tree: Tree) -> list[int]:
    """The nodes in the order of ``sshare``: each followed by all below it."""
    below = _children(tree.parents, range(len(tree.parents)))
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += reversed(below[node])
    return order


def places(tree: Tree, attempts: pl.DataFrame) -> Places:
    """The association of each attempt, as slurmctld picks it.

    That of its user, account and partition, else of its user and account; else see ``Places``.

    Args:
        attempts: user, account, partition, start_time.
    """
    nodes = leaf_of(tree, attempts["user"], attempts["account"], attempts["partition"]).nodes
    has_account = attempts["account"].is_not_null()
    unknown = nodes < 0
    nodes = np.where(unknown & has_account.to_numpy(), 0, nodes)
    is_account = ~tree.is_user
    started = attempts["start_time"].is_not_null()

    def by_account(strange: Bools) -> dict[str, int]:
        names = attempts["account"].filter(started & has_account & pl.Series(strange))
        return dict(sorted(names.value_counts().iter_rows()))

    return Places(
        nodes,
        by_account(~unknown & is_account[nodes]),
        by_account(unknown),
        int((started & ~has_account).sum()),
    )


def summed(tree: Tree, own: Floats) -> Floats:
    """Usage of each node with all below it; own usage and result are ``[…, nodes]``."""
    total = own.copy()
    for node in range(len(tree.parents) - 1, 0, -1):
        total[..., tree.parents[node]] += total[..., node]
    return total


def level_shares(tree: Tree) -> Floats:
    """ΣS of each node's siblings and itself; of root its own."""
    counted = np.nan_to_num(tree.shares, nan=0.0)
    over = groups(tree)
    total = np.zeros(len(counted))
    np.add.at(total, over[1:], counted[1:])
    return np.concatenate([counted[:1], total[over[1:]]])


def fair_tree(tree: Tree, usage: Floats, *, merge_tied: bool = False) -> Shares:
    """Fair Tree for one instant.

    Args:
        usage: of each node with all below it (``summed``), ≥ 0.
        merge_tied: whether users of accounts that tie are ranked together, as Slurm documents;
            slurmctld ranks those of one account after those of the other, in the tree's order.
    """
    over, level, is_parent = groups(tree), level_shares(tree), np.isnan(tree.shares)
    norm = _ratio(np.nan_to_num(tree.shares, nan=0.0), level)
    norm[0] = 0.0  # root competes with nobody
    norm[is_parent] = norm[over[is_parent]]
    effective = _ratio(usage, usage[over])
    effective[0] = 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        level_fs = np.where(norm == 0.0, 0.0, norm / effective)
    ranked = level_fs.copy()
    is_user = tree.is_user
    ranked[is_parent] = np.where(is_user[is_parent], math.inf, _UNSET)
    level_fs[is_parent] = math.nan
    level_fs[0] = math.nan
    return Shares(
        norm,
        _normalised(usage),
        effective,
        level_fs,
        _ranked(_children(over, printed(tree)), ranked, is_user, merge_tied=merge_tied),
    )


def classic(
    tree: Tree,
    usage: Floats,
    dampening: float = 1.0,
    *,
    depth_oblivious: bool = False,
    accounts: Floats | None = None,
) -> Shares:
    """Classic fairshare (NO_FAIR_TREE) for one instant.

    Args:
        usage: of each node with all below it (``summed``), ≥ 0.
        dampening: FairShareDampeningFactor, > 0.
        accounts: what figures of accounts are made of instead. slurmctld makes these when a tick
            begins, and those of users when it is asked for them.
    """
    over, level, is_parent = groups(tree), level_shares(tree), np.isnan(tree.shares)
    part = _ratio(np.nan_to_num(tree.shares, nan=0.0), level)
    norm_usage = _normalised(usage)
    if accounts is not None:
        norm_usage = np.where(tree.is_user, norm_usage, _normalised(accounts))
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
            used = norm_usage[node]
            used += (effective[parent] - used) * part[node]
            effective[node] = used if level[node] else effective[parent]
    if depth_oblivious:
        _oblivious(over, is_parent, norm, norm_usage, effective)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(norm > 0.0, 2.0 ** -(effective / norm / dampening), 0.0)
    return Shares(norm, norm_usage, effective, np.full(len(norm), math.nan), factor)


def _oblivious(
    over: Ints, is_parent: Bools, norm: Floats, norm_usage: Floats, effective: Floats
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


def _children(above: Ints, order: Iterable[int]) -> list[list[int]]:
    """The nodes right below each node, in this order."""
    below: list[list[int]] = [[] for _ in above]
    parents = above.tolist()
    for node in order:
        if parents[node] >= 0:
            below[parents[node]].append(node)
    return below


class _Level:
    """Siblings in the order in which they are ranked, and how far that is done."""

    def __init__(self, nodes: list[int], *, tied: bool) -> None:
        self.nodes = nodes
        self.tied = tied  # with the user that was ranked last
        self.at = 0
        self.before = math.nan


def _ranked(
    children: list[list[int]], level_fs: Floats, is_user: Bools, *, merge_tied: bool
) -> Floats:
    """FairShare of each user: rank / users, depth first; NaN of accounts."""

    def sort(nodes: list[int]) -> list[int]:
        return sorted(nodes, key=lambda node: (-level_fs[node], not is_user[node]))

    users = int(is_user.sum())
    factor = np.full(len(children), math.nan)
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
        members = list(children[node])
        while merge_tied and level.at < len(level.nodes):
            other = level.nodes[level.at]
            if level_fs[other] != level_fs[node]:
                break
            members += children[other]
            level.at += 1
        levels.append(_Level(sort(members), tied=tied))
    return factor


def usage_and_shares(
    tree: Tree,
    grouped: Grouped,
    method: SlurmUsage,
    at: int,
    *,
    algorithm: str = "fair_tree",
    dampening: float = 1.0,
    depth_oblivious: bool = False,
    just_recalculated: bool = False,
) -> tuple[Floats, Shares]:
    """RawUsage at an instant, and the figures that slurmctld had made of it.

    Args:
        grouped: attempts by node (``fairshare.usage.by_number``), open ones beyond all instants.
        algorithm: ``"fair_tree"`` or ``"classic"``.
        just_recalculated: all figures are as of a tick that has booked what it had to.

    Returns:
        Billing-seconds ≥ 0 by node, with all below it; and the figures by node.
    """
    tick = method.tick(at)
    before = tick if just_recalculated else tick - 1  # that tick had booked nothing yet
    instants = sorted({before, tick, at})
    swept = summed(tree, method.sweep(grouped, np.array(instants, np.int64))[0])
    usage = dict(zip(instants, swept, strict=True))
    if algorithm == "fair_tree":
        return usage[at], fair_tree(tree, usage[tick])
    return usage[at], classic(
        tree, usage[at], dampening, depth_oblivious=depth_oblivious, accounts=usage[before]
    )


def run_minutes(
    tree: Tree,
    nodes: Ints,
    charged: pl.DataFrame,
    amounts: Mapping[str, pl.Series],
    resources: Sequence[str],
    at: int,
    tick: int,
) -> Floats:
    """TRESRunMins: what running jobs may still use up to their walltime, as of the last tick.

    Args:
        nodes: to which each attempt is charged; −1: none.
        charged: start_time, end_time, walltime_s (null counts 0), usage_factor.
        amounts: of each resource that an attempt was allocated, by Slurm's name.
        resources: which to look at; what ``amounts`` does not name counts 0.
        at: the instant at which they run, epoch s.

    Returns:
        Whole minutes times amount, a row per resource and a column per node, with all below it.
    """
    runs = charged.select(
        (pl.col("start_time") <= at).fill_null(value=False)
        & (pl.col("end_time") > at).fill_null(value=True)
    ).to_series()
    running = np.flatnonzero(runs.to_numpy() & (nodes >= 0))
    jobs = charged[running]
    passed = np.maximum(tick - jobs["start_time"].to_numpy(), 0)
    seconds = np.maximum(jobs["walltime_s"].fill_null(0).to_numpy() - passed, 0)
    seconds = seconds * jobs["usage_factor"].to_numpy()
    left = np.zeros((len(resources), len(tree.names)))
    for row, name in enumerate(resources):
        if name in amounts:
            amount = amounts[name].fill_null(0.0).to_numpy()[running]
            np.add.at(left[row], nodes[running], np.floor(amount * seconds))
    return summed(tree, left) // 60
