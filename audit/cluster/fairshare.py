"""Usage and fairshare of a cluster as configured: how usage is charged and decays, and its targets.

``[clusters.usage]`` may name files that Slurm's programs printed. They are read here, once per
run; all faults in them are reported together, by key and line.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from audit import config
from audit.cluster.setting import ClusterSettings
from audit.errors import ConfigError
from audit.formats.slurm import sacctmgr, scontrol, slurm_conf
from audit.formats.slurm.sacctmgr import ROOT, Association, Fault
from audit.formats.slurm.scontrol import Partition
from audit.formats.slurm.slurm_conf import SlurmConf
from audit.metrics.attempts.summary import KINDS
from audit.metrics.fairshare.history import day_ends, history_parts, tree_history
from audit.metrics.fairshare.trees import Tree, TreeNode
from audit.metrics.fairshare.usage import HalfLife, Method, Windows
from audit.metrics.slurm.shares import tree_of
from audit.metrics.slurm.usage import SlurmUsage
from audit.model import Period
from audit.words import plural

LARGEST: Final = 1 << 26
"""Maximum bytes of a file; Slurm prints far less."""

_SHOWN: Final = 10
"""Maximum number of faults listed per file."""

DAY_S: Final = 86_400

_FORGOTTEN: Final = 30
"""Half-lives after which a second of use counts 1e-9 of what it did."""

_LONGEST_RESET_S: Final = 366 * DAY_S


@dataclass(frozen=True)
class FairshareInputs:
    """Settings and files that usage and fairshare of a cluster are computed from."""

    chosen: config.UsageConfig
    associations: tuple[Association, ...] = ()  # those of the share tree; empty: no tree
    partitions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """TRESBillingWeights by partition."""
    factors: Mapping[str, float] = field(default_factory=dict)  # UsageFactor by QOS
    conf: SlurmConf | None = None
    hardware: tuple[Partition, ...] = ()
    qos: Mapping[str, int] = field(default_factory=dict)  # priority by QOS

    @cached_property
    def tree(self) -> Tree | None:
        """The share tree; None if targets are flat or absent."""
        return share_tree(self.associations) if self.associations else None

    @cached_property
    def of_all(self) -> Mapping[str, Mapping[str, float]]:
        """Known shares of everything by kind and name."""
        if self.tree is not None:
            return shares_of_all(self.tree)
        return {"user": self.chosen.users, "account": self.chosen.accounts}

    @cached_property
    def lower_priority(self) -> Mapping[str, frozenset[str]]:
        """Names by kind for which a lower priority is configured than for most others."""
        if (conf := self.conf) and not (conf.multifactor and conf.weights.get("assoc")):
            return {}
        return lower_priorities(self.associations)

    @property
    def flags(self) -> frozenset[str]:
        """Slurm's PriorityFlags."""
        flags = self.conf.flags if self.conf else frozenset()
        return flags | {"MAX_TRES"} if self.chosen.max_tres else flags

    @property
    def half_life_s(self) -> float:
        """Half-life of method ``slurm``, in s; 0: no decay."""
        return self.conf.half_life_s if self.conf else self.chosen.half_life_days * DAY_S

    @property
    def period_s(self) -> int:
        """Seconds between two recalculations of method ``slurm``."""
        return self.conf.period_s if self.conf else self.chosen.recalculation_s

    @property
    def reset(self) -> str:
        """When method ``slurm`` resets all usage."""
        return self.conf.reset if self.conf else self.chosen.reset

    @property
    def dampening(self) -> float:
        """Dampening factor of classic fairshare, > 0."""
        return self.conf.dampening if self.conf else 1.0

    @property
    def in_force(self) -> dict[str, Any]:
        """The content of the files that figures depend on, for JSON; empty without files."""
        by_file: dict[str, Any] = {}
        if self.chosen.associations is not None:
            by_file["associations"] = [
                (
                    *row[:4],
                    "parent" if math.isnan(row.share) else row.share,
                    *([] if row.priority is None else [row.priority]),
                )
                for row in self.associations
            ]
        if self.chosen.partitions is not None or self.partitions:
            by_file["partitions"] = self.partitions
        if self.chosen.qos is not None:
            by_file["qos"] = self.factors
        if (conf := self.conf) is not None:
            by_file["slurm_conf"] = [
                *(self.half_life_s, self.period_s, self.reset, self.dampening),
                sorted(conf.flags),
            ]
            if conf.multifactor:
                by_file["priorities"] = [
                    *(dict(conf.weights), dict(conf.tres_weights), conf.max_age_s, self.qos),
                    conf.favor_small,
                    [[each.name, each.job_factor, each.tier] for each in self.hardware],
                ]
        return by_file


def share_tree(associations: Iterable[Association]) -> Tree:
    """Return the share tree of one cluster's associations.

    Raises ValueError if there is nothing below root.
    """
    return tree_of(
        TreeNode(row.account, "account", row.share, row.parent)
        if row.user is None
        else TreeNode(row.user, "user", row.share, row.account, row.partition)
        for row in associations
        if (row.account, row.user) != (ROOT, None)
    )


def shares_of_all(tree: Tree) -> dict[str, dict[str, float]]:
    """Return the share of everything of each user and account, summed over its nodes.

    Names with a node that has no share (fairshare=parent), or is below such a node, are left out.
    """
    of_all = tree.shares.copy()
    of_all[0] = 1.0
    siblings = np.bincount(tree.parents[1:], np.nan_to_num(tree.shares[1:]), len(of_all))
    for node in range(1, len(of_all)):  # parents come first
        above = tree.parents[node]
        of_all[node] *= of_all[above] / siblings[above] if siblings[above] > 0 else 0.0
    found: dict[str, dict[str, float]] = {"user": {}, "account": {}}
    for name, kind, share in zip(tree.names[1:], tree.kinds[1:], of_all[1:].tolist(), strict=True):
        found[kind][name] = found[kind].get(name, 0.0) + share
    return {
        kind: {name: share for name, share in of_kind.items() if not math.isnan(share)}
        for kind, of_kind in found.items()
    }


def lower_priorities(associations: Sequence[Association]) -> dict[str, frozenset[str]]:
    """Return the users and the accounts with a lower priority than more than half of the others.

    Theirs is the greatest of a user's associations, or of those of an account's users. An
    association without one has that of the account above it, or else 0.
    """
    above = {row.account: row for row in associations if row.user is None}
    greatest: dict[str, dict[str, int]] = {"user": {}, "account": {}}
    for row in associations:
        if row.user is None:
            continue
        priority, account = row.priority, above.get(row.account)
        while priority is None and account is not None:
            priority = account.priority
            account = above.get(account.parent or ROOT) if account.account != ROOT else None
        for kind, name in (("user", row.user), ("account", row.account)):
            greatest[kind][name] = max(greatest[kind].get(name, 0), priority or 0)
    found = {}
    for kind, of in greatest.items():
        ascending = sorted(of.values())
        higher = {name: len(of) - bisect_right(ascending, mine) for name, mine in of.items()}
        found[kind] = frozenset(name for name, n in higher.items() if 2 * n > len(of) - 1)
    return found


def of_site(site: config.Cluster | None, folder: Path) -> FairshareInputs:
    """Return how usage is charged and compared today; the defaults where nothing is configured.

    Raises ConfigError as of ``read``.
    """
    if site is None:
        return FairshareInputs(config.UsageConfig())
    return read(site.usage, folder, site.name)


def read(chosen: config.UsageConfig, folder: Path, cluster: str) -> FairshareInputs:
    """Return the settings of a cluster's ``[clusters.usage]``, with the content of its files.

    Raises ConfigError with all faults of all files.
    """
    wrong: list[tuple[str, str]] = []  # place, and what the file says there
    of_cluster = f"of cluster {cluster!r}"

    def content(key: str, reader: Callable[[str], tuple[Any, Sequence[Fault]]]) -> Any:
        """Return the content of a key's file; None without one, or if it is wrong."""
        if (name := getattr(chosen, key)) is None:
            return None
        where = f"clusters.usage.{key} {of_cluster}: {folder / name}"
        try:
            found, faults = reader(text(folder / name))
        except OSError as error:
            wrong.append((f"{where}: {error.strerror or error}", ""))
            return None
        for fault in faults[:_SHOWN]:
            wrong.append((f"{where}:{fault.line}" if fault.line else where, f": {fault.text}"))
        if len(faults) > _SHOWN:
            wrong.append((f"{where}: and {len(faults) - _SHOWN} more", ""))
        return None if faults else found

    rows = content("associations", lambda printed: associations(printed, cluster))
    qos = content("qos", sacctmgr.qualities) or ()
    listed = content("partitions", partitions) or ()
    conf = content("slurm_conf", slurm_settings)
    weights = billing_weights(listed)
    if conf is not None:
        if _billed_by_partition(chosen) and chosen.partitions is None:
            weights = conf.partitions
        where = f"clusters.usage.slurm_conf {of_cluster}"
        wrong += ((f"{where}: {why}", "") for why in _faults(chosen, conf))
    if wrong:
        details = "".join(f"\n  {where}{said}" for where, said in wrong)
        places = "".join(f"\n  {where}" for where, _ in wrong)
        raise ConfigError(
            f"{plural(len(wrong), 'fault')} in the files that config.toml names:", details, places
        )
    return FairshareInputs(
        chosen,
        _configured(chosen.shares) if rows is None else tuple(rows),
        weights,
        {quality.name: quality.usage_factor for quality in qos},
        conf,
        tuple(listed),
        {quality.name: quality.priority for quality in qos},
    )


def _billed_by_partition(chosen: config.UsageConfig) -> bool:
    return chosen.penalty == "billing" and not chosen.billing_weights.given


def _faults(chosen: config.UsageConfig, conf: SlurmConf) -> Iterator[str]:
    if _billed_by_partition(chosen) and chosen.partitions is None and not conf.partitions:
        yield (
            "no partition in it, so nothing says what jobs are billed: name the file of "
            "'scontrol show partition' (clusters.usage.partitions), or give billing_weights"
        )
    resets = conf.reset not in ("none", "now")
    if chosen.method == "slurm" and conf.half_life_s <= 0 and not resets:
        yield (
            "PriorityDecayHalfLife is 0 and PriorityUsageResetPeriod is none: usage would never "
            "decrease; set one of them"
        )


def text(path: Path) -> str:
    """Return the text of a file that Slurm's programs printed.

    Raises OSError if it cannot be read, or has more than ``LARGEST`` bytes.
    """
    with path.open("rb") as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(0, f"larger than {LARGEST >> 20} MiB: not a file of Slurm's settings")
    return data.decode("utf-8", errors="backslashreplace")


def associations(
    content: str, cluster: str | None, *, shares: bool = True
) -> tuple[Sequence[Association], Sequence[Fault]]:
    """Return a cluster's associations as sacctmgr prints them, and faults of the share tree.

    Without ``shares``, only their limits are needed.
    """
    rows, faults = sacctmgr.associations(content, cluster, shares=shares)
    if shares and not faults:
        try:
            share_tree(rows)
        except ValueError as error:
            return (), [Fault(0, line) for line in str(error).splitlines()]
    return rows, faults


def partitions(content: str) -> tuple[Sequence[Partition], Sequence[Fault]]:
    """Return partitions as ``scontrol show partition`` prints them, and faults of their weights."""
    listing = scontrol.read(content)
    faults = [Fault(0, problem) for problem in listing.problems if "TRESBillingWeights" in problem]
    if not listing.partitions:
        faults.append(Fault(0, "no partition in it: is it what 'scontrol show partition' prints?"))
    return listing.partitions, faults


def billing_weights(listed: Iterable[Partition]) -> dict[str, dict[str, float]]:
    """Return TRESBillingWeights by partition."""
    return {each.name: dict(each.billing_weights) for each in listed}


def slurm_settings(content: str) -> tuple[SlurmConf, Sequence[Fault]]:
    """Return the settings of slurm.conf, and its faults."""
    conf = slurm_conf.read(content)
    return conf, conf.faults


def _configured(shares: Sequence[config.Share]) -> tuple[Association, ...]:
    return tuple(
        Association(
            *(share.account, share.user, share.partition, share.parent),
            share=math.nan if isinstance(share.share, str) else share.share,
            grp_tres_mins="",
            cluster=None,
            line=0,
        )
        for share in shares
    )


def decay_method(fairshare: FairshareInputs, setting: ClusterSettings) -> Method:
    """Return how usage decays; raises ConfigError if the configured values do not fit together."""
    usage = fairshare.chosen
    try:
        if usage.method == "half_life":
            return HalfLife(half_life_s=usage.half_life_days * DAY_S)
        if usage.method == "slurm":
            return SlurmUsage(
                half_life_s=fairshare.half_life_s,
                period_s=fairshare.period_s,
                phase_s=usage.phase_s,
                reset=fairshare.reset,
                zone=setting.zone,
            )
        return Windows(
            interval_s=usage.interval_days * DAY_S,
            depth=usage.depth,
            decay=usage.decay,
            alignment=usage.alignment,
            zone=setting.zone,
        )
    except ValueError as error:
        raise ConfigError(f"clusters.usage of cluster {setting.cluster!r}: {error}") from error


def lead_s(fairshare: FairshareInputs, setting: ClusterSettings) -> int:
    """Return after how many seconds past use no longer matters.

    With a half-life this is ``_FORGOTTEN`` half-lives, which neglects less than 1e-9 of the use.
    """
    decay = decay_method(fairshare, setting)
    if isinstance(decay, Windows):
        return (decay.depth + 1) * decay.interval_s
    if isinstance(decay, HalfLife | SlurmUsage) and decay.half_life_s:
        return math.ceil(_FORGOTTEN * decay.half_life_s)
    return _LONGEST_RESET_S


def histories(
    with_penalty: pl.DataFrame, setting: ClusterSettings, period: Period, fairshare: FairshareInputs
) -> Iterator[pl.DataFrame]:
    """Yield, in parts, usage against targets of all entities at the end of each day of a period."""
    usage = fairshare.chosen
    method: list[str] = [usage.method, usage.penalty]
    if usage.users or usage.accounts or usage.has_tree:
        method.append(usage.operator)
    decay = decay_method(fairshare, setting)
    instants = day_ends(period, setting.zone, setting.now)
    when = (decay, instants, setting.now)
    named: dict[str, Any] = {"operator": usage.operator, "label": ":".join(method)}
    if (tree := fairshare.tree) is not None:
        yield tree_history(with_penalty, tree, *when, dampening=fairshare.dampening, **named)
        return
    targets = {"user": usage.users, "account": usage.accounts}
    for kind in KINDS:
        yield from history_parts(with_penalty, kind, *when, targets=targets[kind], **named)
