"""How the orders ``fairshare`` and ``nuwt`` rank the owners of a cluster's attempts."""

from __future__ import annotations

from collections.abc import Iterable
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


def of(fairshare: Fairshare, setting: Setting, policies: Iterable[Policy]) -> ownership.Fairshare:
    """How owners are ranked where any of the policies, or a fair order, goes by them.

    Raises:
        ConfigError: one does, and the simulation does not know what is configured.
    """
    orders = {policy.order for policy in policies} | {pool.fair_order for pool in setting.pools}
    return _asked(fairshare, setting) if orders & {*BY_OWNER} else ownership.EQUAL_SHARES


def _asked(fairshare: Fairshare, setting: Setting) -> ownership.Fairshare:
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
    method = _continuous(decayed.method(fairshare, setting), where)
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


def _tree(fairshare: Fairshare) -> Tree | None:
    usage = fairshare.chosen
    if fairshare.tree is not None:
        return fairshare.tree
    if usage.users:
        return trees.flat(usage.users, usage.users)
    if usage.accounts:
        return trees.flat(usage.accounts, usage.accounts, kind="account")
    return None
