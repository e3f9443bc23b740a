"""How the orders ``fairshare`` and ``nuwt`` rank the owners of a cluster's attempts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from audit.cluster import decayed
from audit.cluster.fairshare import Fairshare
from audit.cluster.setting import Setting
from audit.errors import ConfigError
from audit.metrics.fairshare import trees
from audit.metrics.fairshare.trees import Tree
from audit.metrics.fairshare.usage import HalfLife, Kind, Method, Windows
from audit.metrics.slurm.usage import SlurmUsage
from audit.model import BY_OWNER, Policy
from audit.simulation import ownership

_LIKE: Final = {"fair_tree": "slurm"}
"""Operators that put the leaves of a tree into the same order: LevelFS = t/s, and 2^(1 − s/t) − 1
grows with it."""
RESET_DAYS: Final[Mapping[str, int]] = {
    "daily": 1,
    "weekly": 7,
    "monthly": 30,
    "quarterly": 91,
    "yearly": 365,
}
"""Days between two resets of usage, about."""


def of(
    fairshare: Fairshare,
    setting: Setting,
    policies: Iterable[Policy],
    *,
    nearest_decay: bool = False,
) -> ownership.Fairshare:
    """How owners are ranked where any of the policies, or a fair order, goes by them.

    Args:
        fairshare: how usage is charged and compared.
        setting: of the cluster.
        policies: what queues may be ordered by.
        nearest_decay: where the configured decay cannot order a queue, take the one nearest to it
            that can: trailing windows for calendar ones, and for usage that only a reset forgets
            one window as long as the time between two resets.

    Raises:
        ConfigError: one goes by owners, and the simulation does not know what is configured.
    """
    orders = {policy.order for policy in policies} | {pool.fair_order for pool in setting.pools}
    if not orders & {*BY_OWNER}:
        return ownership.EQUAL_SHARES
    return _configured(fairshare, setting, nearest_decay)


def _configured(fairshare: Fairshare, setting: Setting, nearest_decay: bool) -> ownership.Fairshare:
    """The configured targets, operator and decay, as a simulation takes them.

    Slurm's own usage is decayed by the half-life, without its ticks and resets.
    """
    usage = fairshare.chosen
    where = f"clusters.usage of cluster {setting.cluster!r}"
    operator = _LIKE.get(usage.operator, usage.operator)
    if operator == "classic":
        raise ConfigError(
            f'{where}: operator = "classic" cannot order a queue; take "slurm" or "fair_tree"'
        )
    method = decayed.method(fairshare, setting)
    method = _nearest(method) if nearest_decay else _continuous(method, where)
    tree = _tree(fairshare)
    if tree is None and operator != "absolute":
        raise ConfigError(
            f'{where}: operator = "{usage.operator}" compares usage with shares, and there are '
            'none: give shares or associations, or take "absolute"'
        )
    kind: Kind = "account" if usage.accounts and not usage.users else "user"
    return ownership.Fairshare(kind, method, operator, tree, usage.recalculation_s)


def _continuous(method: Method | SlurmUsage, where: str) -> Windows | HalfLife:
    if isinstance(method, SlurmUsage):
        if method.half_life_s <= 0:
            raise ConfigError(
                f"{where}: usage that only a reset forgets cannot order a queue; give a half-life"
            )
        return HalfLife(half_life_s=method.half_life_s)
    if isinstance(method, Windows) and method.alignment != "trailing":
        raise ConfigError(f'{where}: alignment = "calendar" cannot order a queue; take "trailing"')
    assert isinstance(method, Windows | HalfLife)
    return method


def _nearest(method: Method | SlurmUsage) -> Windows | HalfLife:
    if isinstance(method, SlurmUsage) and method.half_life_s <= 0:
        return Windows(interval_s=RESET_DAYS[method.reset] * decayed.DAY_S, depth=1, decay=1.0)
    if isinstance(method, Windows):
        return replace(method, alignment="trailing")
    return _continuous(method, "")


def _tree(fairshare: Fairshare) -> Tree | None:
    usage = fairshare.chosen
    if fairshare.tree is not None:
        return fairshare.tree
    if usage.users:
        return trees.flat(usage.users, usage.users)
    if usage.accounts:
        return trees.flat(usage.accounts, usage.accounts, kind="account")
    return None
