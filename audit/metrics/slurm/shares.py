"""Slurm's Fair Tree and classic fairshare: the columns of ``sshare`` (SPEC §7).

With S the raw shares of an association, and U its raw usage (``usage``) with all below it:

    Fair Tree   NormShares   = S / ΣS of the siblings
                EffectvUsage = U / U of the account; 0 where that is 0
                LevelFS      = NormShares / EffectvUsage; ∞ where unused, 0 where S = 0
                FairShare    = rank / users, 1 the best
    classic     NormShares   = Π of S / ΣS of the siblings, from the association up to root
                EffectvUsage = U_E,account + … : U_A + (U_E,account − U_A) · S / ΣS; U_A on top
                FairShare    = 2^(−EffectvUsage / NormShares / dampening); 0 where NormShares = 0
    both        NormUsage    = U_A = U / U of root; 0 where that is 0

Ranks are depth first, greatest LevelFS first, users before accounts where it is equal. Users that
tie share the better rank, and a user that ties with an account shares the rank of that account's
best user. Where accounts tie, Slurm's documentation merges their members before descending.
slurmctld, and so ``sshare``, does not: it takes them in the order of ``sshare``, and the next
account's best user shares the rank of the last user ranked.

An association with fairshare=parent (NaN) is measured against the account above, and counts in no
ΣS. Such a user ranks first in its account; members of such an account compete with its siblings,
and come after them.

Between two ticks of slurmctld (``usage``) RawUsage includes ends since the last one; NormUsage,
EffectvUsage, LevelFS and FairShare do not change. In classic fairshare the figures of accounts are
from before the last tick booked anything, while those of users are of the instant itself.

Sources: Slurm's documentation "Fair Tree Fairshare Algorithm", "Classic Fairshare Algorithm" and
"Depth Oblivious Fair-share Factor"; observed in 22.05 (docs/sshare.md).
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Bools, Floats, Ints
from audit.metrics.fairshare.trees import Tree, TreeNode, build, groups, leaf_of
from audit.metrics.fairshare.usage import Grouped
from audit.metrics.slurm.usage import SlurmUsage

_UNSET: Final = 4_294_967_294.0  # LevelFS of an account with fairshare=parent (Slurm's NO_VAL)


class Shares(NamedTuple):
    """The columns of ``sshare``, one element per node; NaN where it prints nothing."""

    norm_shares: Floats  # 0 to 1
    norm_usage: Floats  # 0 to 1; NaN of root
    effective_usage: Floats  # 0 to 1; 1 of root
    level_fs: Floats
    """≥ 0, ∞ where unused; NaN of root, of fairshare=parent, and in classic fairshare."""
    fairshare: Floats  # 0 to 1; in Fair Tree NaN of accounts


class ChargedNodes(NamedTuple):
    """The node to which each attempt is charged; counts are of attempts that started."""

    nodes: Ints  # −1: none, since its account is unknown
    strange_users: dict[str, int]
    """Attempts of users without an association there (any more), by the account that is charged."""
    strange_accounts: dict[str, int]
    """Attempts charged to root, by account without an association (any more)."""
    nameless: int  # attempts without an account


def tree_of(associations: Iterable[TreeNode]) -> Tree:
    """Return associations as a share tree (``fairshare.trees``), in the order of ``sshare``.

    Below each account its users come first, then its accounts, by name; a user's associations for
    several partitions in the given order. Associations are all but root, with raw shares.

    Raises:
        ValueError: as ``trees.build``, but siblings may all have a share of 0.
    """
    ordered = sorted(associations, key=lambda node: (node.kind != "user", node.name))
    return build(ordered, all_zero=True)


def printed(tree: Tree) -> list[int]:
    """Return the nodes in the order of ``sshare``: each followed by all below it."""
    below = _children(tree.parents, range(len(tree.parents)))
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += reversed(below[node])
    return order


def places(tree: Tree, attempts: pl.DataFrame) -> ChargedNodes:
    """Return the association of each attempt, by its user, account and partition."""
    nodes = leaf_of(tree, attempts["user"], attempts["account"], attempts["partition"])
    has_account = attempts["account"].is_not_null()
    unknown = nodes < 0
    nodes = np.where(unknown & has_account.to_numpy(), 0, nodes)
    is_account = ~tree.is_user
    started = attempts["start_time"].is_not_null()

    def by_account(strange: Bools) -> dict[str, int]:
        names = attempts["account"].filter(started & has_account & pl.Series(strange))
        return dict(sorted(names.value_counts().iter_rows()))

    return ChargedNodes(
        nodes,
        by_account(~unknown & is_account[nodes]),
        by_account(unknown),
        int((started & ~has_account).sum()),
    )


def summed(tree: Tree, own: Floats) -> Floats:
    """Return the usage of each node with all below it; nodes are the last axis."""
    total = own.copy()
    for node in range(len(tree.parents) - 1, 0, -1):
        total[..., tree.parents[node]] += total[..., node]
    return total


def level_shares(tree: Tree) -> Floats:
    """Return ΣS of each node's siblings and itself; of root its own."""
    counted = np.nan_to_num(tree.shares, nan=0.0)
    over = groups(tree)
    total = np.zeros(len(counted))
    np.add.at(total, over[1:], counted[1:])
    return np.concatenate([counted[:1], total[over[1:]]])


def fair_tree(tree: Tree, usage: Floats) -> Shares:
    """Return Fair Tree's shares for one instant.

    Args:
        usage: of each node with all below it (``summed``), ≥ 0.
    """
    over, level, is_parent = groups(tree), level_shares(tree), np.isnan(tree.shares)
    norm = _ratio(np.nan_to_num(tree.shares, nan=0.0), level)
    norm[0] = 0.0  # root has no siblings
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
        _ranked(_children(over, printed(tree)), ranked, is_user),
    )


def classic(
    tree: Tree,
    usage: Floats,
    dampening: float = 1.0,
    *,
    depth_oblivious: bool = False,
    accounts: Floats | None = None,
) -> Shares:
    """Return the shares of classic fairshare (NO_FAIR_TREE) for one instant.

    Args:
        usage: of each node with all below it (``summed``), ≥ 0.
        dampening: FairShareDampeningFactor, > 0.
        accounts: usage for the figures of accounts, if different.
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
    """Write effective usage so that R = R_account · r^k, r the usage per share among siblings.

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
    below: list[list[int]] = [[] for _ in above]
    parents = above.tolist()
    for node in order:
        if parents[node] >= 0:
            below[parents[node]].append(node)
    return below


def _ranked(children: list[list[int]], level_fs: Floats, is_user: Bools) -> Floats:
    """Return FairShare of each user: rank / users, depth first; NaN of accounts."""
    users = int(is_user.sum())
    factor = np.full(len(children), math.nan)
    rank = untied = users
    waiting = [(0, False)]  # a node; whether it ties with the last user
    while waiting:
        node, tied = waiting.pop()
        if is_user[node]:
            rank = rank if tied else untied
            factor[node] = rank / users
            untied -= 1
            continue
        level: list[tuple[int, bool]] = []
        for one in sorted(children[node], key=lambda one: (-level_fs[one], not is_user[one])):
            ties = level_fs[one] == level_fs[level[-1][0]] if level else tied
            level.append((one, bool(ties)))
        waiting += reversed(level)
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
    """Return RawUsage by node at an instant, and the figures that slurmctld had computed from it.

    Args:
        grouped: attempts by node (``fairshare.usage.by_number``), open ones beyond all instants.
        algorithm: ``"fair_tree"`` or ``"classic"``.
        just_recalculated: whether figures of accounts are of the last tick, too.
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
    period_s: int,
) -> Floats:
    """Return TRESRunMins: the use left to jobs running ``at`` by their walltimes, as of ``tick``.

    slurmctld subtracts what ran at each tick, one every ``period_s``. It multiplies the seconds by
    the QOS factor and rounds them down each time.

    Args:
        nodes: to which each attempt is charged; −1: none.
        charged: start_time, end_time, walltime_s (null counts 0), usage_factor.
        amounts: allocated amount of each resource, by Slurm's name; others count 0.

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
    factor = jobs["usage_factor"].to_numpy()
    booked = np.floor(passed % period_s * factor) + passed // period_s * np.floor(period_s * factor)
    allowed = np.floor(jobs["walltime_s"].fill_null(0).to_numpy() * factor)
    seconds = np.maximum(allowed - booked, 0)
    left = np.zeros((len(resources), len(tree.names)))
    for row, name in enumerate(resources):
        if name in amounts:
            amount = amounts[name].fill_null(0.0).to_numpy()[running]
            np.add.at(left[row], nodes[running], np.floor(amount * seconds))
    return summed(tree, left) // 60
