"""How the orders that go by usage rank the attempts of a cluster, as it is configured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from audit.cluster.fairshare import DAY_S, Fairshare, decay_method
from audit.cluster.setting import Setting
from audit.errors import ConfigError
from audit.formats.slurm import scontrol
from audit.formats.slurm.slurm_conf import SlurmConf
from audit.metrics.fairshare import trees
from audit.metrics.fairshare.trees import Tree
from audit.metrics.fairshare.usage import HalfLife, Kind, Method, Windows
from audit.metrics.slurm.multifactor import Scale
from audit.metrics.slurm.usage import SlurmUsage
from audit.model import BY_OWNER, Order, Policy
from audit.scenario import ownership
from audit.scenario.multifactor import Multifactor
from audit.words import Algorithm

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
    """How attempts are ranked where any of the policies, or a fair order, goes by usage.

    Args:
        nearest_decay: where the configured decay cannot order a queue, take the one nearest to it
            that can: trailing windows for calendar ones, and for usage that only a reset forgets
            one window as long as the time between two resets.

    Raises:
        ConfigError: one goes by usage, and the simulation does not know what is configured.
    """
    orders = {policy.order for policy in policies} | {pool.fair_order for pool in setting.pools}
    ranked = ownership.EQUAL_SHARES
    if orders & {*BY_OWNER}:
        ranked = _configured(fairshare, setting, nearest_decay)
    if Order.multifactor in orders:
        ranked = ranked._replace(multifactor=_multifactor(fairshare, setting))
    return ranked


def _multifactor(fairshare: Fairshare, setting: Setting) -> Multifactor:
    """How slurmctld makes priorities, by the files that ``[clusters.usage]`` names."""
    chosen, conf, tree = fairshare.chosen, fairshare.conf, fairshare.tree
    where = f"clusters.usage of cluster {setting.cluster!r}"
    if chosen.method != "slurm":
        raise ConfigError(f'{where}: order "multifactor" goes by usage of method "slurm"')
    if conf is None or tree is None or not fairshare.hardware or chosen.qos is None:
        raise ConfigError(
            f'{where}: order "multifactor" needs four files: slurm_conf, associations, qos and '
            "partitions"
        )
    if not conf.fair_tree and "DEPTH_OBLIVIOUS" in conf.flags:
        raise ConfigError(f'{where}: order "multifactor" does not know the flag DEPTH_OBLIVIOUS')
    usage = decay_method(fairshare, setting)
    assert isinstance(usage, SlurmUsage)
    amounts = scontrol.capacity(fairshare.hardware)
    greatest = max(fairshare.qos.values(), default=0)
    return Multifactor(
        tree,
        usage,
        {**conf.weights, **chosen.priority_weights.given},
        Scale(
            cpus=amounts.get("cpus", 1),
            nodes=amounts.get("nodes", 1),
            max_age_s=conf.max_age_s,
            job_factor=_unit(conf, "PART", max(each.job_factor for each in fairshare.hardware)),
            qos_priority=_unit(conf, "QOS", greatest),
            favor_small=conf.favor_small,
            relative_to_time="SMALL_RELATIVE_TO_TIME" in conf.flags,
        ),
        Algorithm.fair_tree if conf.fair_tree else Algorithm.classic,
        fairshare.dampening,
        {each.name: each.job_factor for each in fairshare.hardware},
        {each.name: each.tier for each in fairshare.hardware},
        fairshare.qos,
        conf.tres_weights,
        {each.name: each.total for each in fairshare.hardware},
    )


def _unit(conf: SlurmConf, what: str, greatest: int) -> int:
    """What a factor is relative to: the greatest one, unless slurmctld is not to normalise it."""
    return 1 if f"NO_NORMAL_{what}" in conf.flags else greatest


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
    decay = decay_method(fairshare, setting)
    method = _nearest(decay) if nearest_decay else _continuous(decay, where)
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
        return Windows(interval_s=RESET_DAYS[method.reset] * DAY_S, depth=1, decay=1.0)
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
