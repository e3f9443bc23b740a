"""Ranking of a cluster's attempts by usage, as configured, for orders that need it."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from audit.cluster.fairshare import FairshareInputs, decay_method
from audit.cluster.setting import ClusterSettings
from audit.errors import ConfigError
from audit.formats.slurm import scontrol
from audit.metrics.fairshare import trees
from audit.metrics.fairshare.usage import HalfLife, Kind, Windows
from audit.metrics.slurm.multifactor import Scale
from audit.metrics.slurm.usage import RESET_S, SlurmUsage
from audit.model import BY_OWNER, Order, Policy
from audit.scenario import ownership
from audit.scenario.multifactor import Multifactor
from audit.words import Algorithm

_SAME_ORDER: Final = {"fair_tree": "slurm"}
"""Operators with the same order within a tree: 2^(1 − s/t) − 1 grows with LevelFS = t/s."""


def of(
    fairshare: FairshareInputs,
    setting: ClusterSettings,
    policies: Iterable[Policy],
    *,
    nearest_decay: bool = False,
) -> ownership.Fairshare:
    """Return how attempts are ranked under these policies and the pools' fair orders.

    Args:
        nearest_decay: if the configured decay cannot order a queue, use the nearest that can:
            trailing for calendar windows, and one window as long as the time between two resets.

    Raises:
        ConfigError: an order needs usage, and the simulation does not support the configuration.
    """
    orders = {policy.order for policy in policies} | {pool.fair_order for pool in setting.pools}
    ranked = ownership.EQUAL_SHARES
    where = f"clusters.usage of cluster {setting.cluster!r}"
    if orders & set(BY_OWNER):
        ranked = _configured(fairshare, setting, where, nearest_decay)
    if Order.multifactor in orders:
        ranked = ranked._replace(multifactor=_multifactor(fairshare, setting, where))
    return ranked


def of_candidates(
    fairshare: FairshareInputs, setting: ClusterSettings, ranked: ownership.Fairshare
) -> ownership.Fairshare:
    """Return ``ranked`` with what the configuration knows of shares and of Slurm's priorities.

    Orders by them may then be compared with the log, whatever the pools' policies are.
    """
    where = f"clusters.usage of cluster {setting.cluster!r}"
    with suppress(ConfigError):
        if ranked == ownership.EQUAL_SHARES:
            found = _configured(fairshare, setting, where, nearest_decay=True)
            ranked = ranked if found.tree is None else found
    with suppress(ConfigError):
        if ranked.multifactor is None:
            ranked = ranked._replace(multifactor=_multifactor(fairshare, setting, where))
    return ranked


def _multifactor(fairshare: FairshareInputs, setting: ClusterSettings, where: str) -> Multifactor:
    """Return how slurmctld computes priorities, by the files of ``[clusters.usage]``."""
    chosen, conf, tree = fairshare.chosen, fairshare.conf, fairshare.tree
    partitions = fairshare.hardware
    where += ': order "multifactor"'
    if chosen.method != "slurm":
        raise ConfigError(f'{where} needs method = "slurm"')
    if conf is None or tree is None or not partitions or chosen.qos is None:
        raise ConfigError(f"{where} needs four files: slurm_conf, associations, qos and partitions")
    if not conf.fair_tree and "DEPTH_OBLIVIOUS" in conf.flags:
        raise ConfigError(f"{where} does not know the flag DEPTH_OBLIVIOUS")
    usage = decay_method(fairshare, setting)
    assert isinstance(usage, SlurmUsage)

    def unit(what: str, greatest: int) -> int:
        """Return what a factor is divided by: the greatest one, unless a flag forbids it."""
        return 1 if f"NO_NORMAL_{what}" in conf.flags else greatest

    amounts = scontrol.capacity(partitions)
    return Multifactor(
        tree=tree,
        usage=usage,
        weights={**conf.weights, **chosen.priority_weights.given},
        scale=Scale(
            cpus=amounts.get("cpus", 1),
            nodes=amounts.get("nodes", 1),
            max_age_s=conf.max_age_s,
            job_factor=unit("PART", max(each.job_factor for each in partitions)),
            qos_priority=unit("QOS", max(fairshare.qos.values(), default=0)),
            favor_small=conf.favor_small,
            relative_to_time="SMALL_RELATIVE_TO_TIME" in conf.flags,
        ),
        algorithm=Algorithm.fair_tree if conf.fair_tree else Algorithm.classic,
        dampening=fairshare.dampening,
        job_factors={each.name: each.job_factor for each in partitions},
        tiers={each.name: each.tier for each in partitions},
        qos=fairshare.qos,
        tres=conf.tres_weights,
        totals={each.name: each.total for each in partitions},
    )


def _configured(
    fairshare: FairshareInputs, setting: ClusterSettings, where: str, nearest_decay: bool
) -> ownership.Fairshare:
    """Return the configured targets, operator and decay for a simulation.

    Of Slurm's own decay, the half-life is used without ticks and resets.
    """
    usage = fairshare.chosen
    operator = _SAME_ORDER.get(usage.operator, usage.operator)
    if operator == "classic":
        raise ConfigError(
            f'{where}: operator = "classic" cannot order a queue; use "slurm" or "fair_tree"'
        )
    tree = fairshare.tree
    if tree is None and usage.users:
        tree = trees.flat(usage.users, usage.users)
    elif tree is None and usage.accounts:
        tree = trees.flat(usage.accounts, usage.accounts, kind="account")
    if tree is None and operator != "absolute":
        raise ConfigError(
            f'{where}: operator = "{usage.operator}" compares usage with shares, and there are '
            'none: configure shares or associations, or use "absolute"'
        )
    kind: Kind = "account" if usage.accounts and not usage.users else "user"
    method = _decay(fairshare, setting, where, nearest=nearest_decay)
    return ownership.Fairshare(kind, method, operator, tree, usage.recalculation_s)


def _decay(
    fairshare: FairshareInputs, setting: ClusterSettings, where: str, *, nearest: bool
) -> Windows | HalfLife:
    """Return the configured decay, or the nearest one that can order a queue."""
    method = decay_method(fairshare, setting)
    if isinstance(method, SlurmUsage):
        if method.half_life_s > 0:
            return HalfLife(half_life_s=method.half_life_s)
        if nearest:
            return Windows(interval_s=RESET_S[method.reset], depth=1, decay=1.0)
        raise ConfigError(f"{where}: usage without decay cannot order a queue; set a half-life")
    if isinstance(method, Windows) and method.alignment != "trailing":
        if nearest:
            return replace(method, alignment="trailing")
        raise ConfigError(f'{where}: alignment = "calendar" cannot order a queue; use "trailing"')
    assert isinstance(method, Windows | HalfLife)
    return method
