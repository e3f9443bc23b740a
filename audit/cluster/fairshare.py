"""How a cluster's usage is charged, decays and is compared with targets: config.toml and its files.

``[clusters.usage]`` may name what Slurm's own programs printed. That is read here, once for a run,
and refused as config.toml itself is: everything at once, by key and line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from audit import config
from audit.cluster.setting import Setting
from audit.errors import ConfigError
from audit.formats.slurm import sacctmgr, scontrol, slurm_conf
from audit.formats.slurm.sacctmgr import ROOT, Association, Fault
from audit.formats.slurm.scontrol import Partition
from audit.formats.slurm.slurm_conf import SlurmConf
from audit.metrics.attempts.summary import KINDS
from audit.metrics.fairshare.history import day_ends, history_parts, tree_history
from audit.metrics.fairshare.trees import Node, Tree
from audit.metrics.fairshare.usage import HalfLife, Method, Windows
from audit.metrics.slurm.shares import tree_of
from audit.metrics.slurm.usage import SlurmUsage
from audit.model import Period

LARGEST: Final = 1 << 26
"""Bytes of a file that is named; none of them comes near."""

_SHOWN: Final = 10
"""So many faults of one file are listed."""


@dataclass(frozen=True)
class Fairshare:
    """All that usage and fairshare of a cluster are made of."""

    chosen: config.Usage
    """As config.toml says."""
    associations: tuple[Association, ...] = ()
    """Of the share tree; none: there is no tree."""
    partitions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """TRESBillingWeights by partition, as ``metrics.slurm.usage.charge`` takes them."""
    factors: Mapping[str, float] = field(default_factory=dict)
    """UsageFactor by QOS."""
    conf: SlurmConf | None = None
    """What slurm.conf says."""
    hardware: tuple[Partition, ...] = ()
    """Partitions with their nodes, factors and tiers."""
    qos: Mapping[str, int] = field(default_factory=dict)
    """Priority by QOS."""

    @cached_property
    def tree(self) -> Tree | None:
        """The share tree; None where targets are flat, or there are none."""
        return share_tree(self.associations) if self.associations else None

    @cached_property
    def of_all(self) -> Mapping[str, Mapping[str, float]]:
        """Shares of everything by kind and name, of those that have one of their own."""
        if self.tree is not None:
            return shares_of_all(self.tree)
        return {"user": self.chosen.users, "account": self.chosen.accounts}

    @property
    def flags(self) -> frozenset[str]:
        """Slurm's PriorityFlags that matter to billing."""
        flags = self.conf.flags if self.conf else frozenset()
        return flags | {"MAX_TRES"} if self.chosen.max_tres else flags

    @property
    def half_life_s(self) -> float:
        """Of method ``slurm``, s; 0: no decay."""
        return self.conf.half_life_s if self.conf else self.chosen.half_life_days * 86_400

    @property
    def period_s(self) -> int:
        """Seconds between two recalculations of method ``slurm``."""
        return self.conf.period_s if self.conf else self.chosen.recalculation_s

    @property
    def reset(self) -> str:
        """When method ``slurm`` forgets all usage."""
        return self.conf.reset if self.conf else self.chosen.reset

    @property
    def dampening(self) -> float:
        """Of classic fairshare, > 0."""
        return self.conf.dampening if self.conf else 1.0

    @property
    def in_force(self) -> dict[str, Any]:
        """What the files say that figures rest on, as JSON knows it; empty where none is named."""
        by_file: dict[str, Any] = {}
        if self.chosen.associations is not None:
            by_file["associations"] = [
                [row.account, row.user, row.partition, row.parent, _share(row.share)]
                for row in self.associations
            ]
        if self.chosen.partitions is not None or self.partitions:
            by_file["partitions"] = self.partitions
        if self.chosen.qos is not None:
            by_file["qos"] = self.factors
        if self.conf is not None:
            by_file["slurm_conf"] = [
                *(self.half_life_s, self.period_s, self.reset, self.dampening),
                sorted(self.conf.flags),
            ]
            conf = self.conf
            if conf.multifactor:
                by_file["priorities"] = [
                    *(dict(conf.weights), dict(conf.tres_weights), conf.max_age_s, self.qos),
                    conf.favor_small,
                    [[each.name, each.job_factor, each.tier] for each in self.hardware],
                ]
        return by_file


def share_tree(associations: Iterable[Association]) -> Tree:
    """Associations of one cluster, without faults, as metrics know them.

    Raises:
        ValueError: there is nothing below root.
    """
    return tree_of(
        Node(row.account, "account", row.share, row.parent)
        if row.user is None
        else Node(row.user, "user", row.share, row.account, row.partition)
        for row in associations
        if (row.account, row.user) != (ROOT, None)
    )


def shares_of_all(tree: Tree) -> dict[str, dict[str, float]]:
    """Return the share of everything of each user and account, those of all its nodes together.

    It is unknown, and left out, of names with a node that has no share of its own
    (fairshare=parent), or is below one.
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


def read(chosen: config.Usage, folder: Path, cluster: str) -> Fairshare:
    """Settings of a cluster, with what the files say that they name.

    Args:
        chosen: its ``[clusters.usage]``.
        cluster: its name, which files may give too.

    Raises:
        ConfigError: a file is missing or not what its key says; all faults of all files are listed.
    """
    wrong: list[tuple[str, str]] = []  # where, and what its file says there
    named = partial(_named, chosen, folder, cluster, wrong)
    rows = named("associations", lambda content: associations(content, cluster))
    qos = named("qos", sacctmgr.qualities)
    listed = named("partitions", partitions)
    weights = None if listed is None else billing_weights(listed)
    conf = named("slurm_conf", slurm_settings)
    billed = chosen.penalty == "billing" and not chosen.billing_weights.given
    if billed and chosen.partitions is None and conf is not None:
        weights = conf.partitions
        if not weights:
            where = (
                f"clusters.usage.slurm_conf of cluster {cluster!r}: no partition in it, so nothing "
                "says what jobs are billed: name the file of 'scontrol show partition' "
                "(clusters.usage.partitions), or give billing_weights"
            )
            wrong.append((where, ""))
    forgets = conf is None or conf.half_life_s > 0 or conf.reset not in ("none", "now")
    if chosen.method == "slurm" and not forgets:
        where = (
            f"clusters.usage.slurm_conf of cluster {cluster!r}: PriorityDecayHalfLife is 0 and "
            "PriorityUsageResetPeriod is none: nothing would ever be forgotten"
        )
        wrong.append((where, ""))
    if wrong:
        raise ConfigError(
            f"{len(wrong)} wrong in the files that config.toml names:",
            "".join(f"\n  {where}{said}" for where, said in wrong),
            "".join(f"\n  {where}" for where, _ in wrong),
        )
    return Fairshare(
        chosen,
        _of_config(chosen.shares) if rows is None else tuple(rows),
        weights or {},
        {quality.name: quality.usage_factor for quality in qos or ()},
        conf,
        tuple(listed or ()),
        {quality.name: quality.priority for quality in qos or ()},
    )


def _named(
    chosen: config.Usage,
    folder: Path,
    cluster: str,
    wrong: list[tuple[str, str]],
    key: str,
    reader: Callable[[str], tuple[Any, Sequence[Fault]]],
) -> Any:
    """What the file of a key says; None where none is named, or it is wrong, which is noted."""
    name: str | None = getattr(chosen, key)
    if name is None:
        return None
    where = f"clusters.usage.{key} of cluster {cluster!r}: {folder / name}"
    try:
        content, faults = reader(text(folder / name))
    except OSError as error:
        wrong.append((f"{where}: {error.strerror or error}", ""))
        return None
    wrong.extend(
        (f"{where}:{fault.line}" if fault.line else where, f": {fault.text}")
        for fault in faults[:_SHOWN]
    )
    if len(faults) > _SHOWN:
        wrong.append((f"{where}: and {len(faults) - _SHOWN} more", ""))
    return None if faults else content


def text(path: Path) -> str:
    """The text of a file that Slurm's programs printed.

    Raises:
        OSError: it is missing, cannot be read, or is larger than any of them.
    """
    with path.open("rb") as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(0, f"larger than {LARGEST >> 20} MiB: not what is meant")
    return data.decode("utf-8", errors="backslashreplace")


def associations(
    content: str, cluster: str | None
) -> tuple[Sequence[Association], Sequence[Fault]]:
    """Associations of a cluster, as sacctmgr prints them, and what keeps them from being a tree."""
    rows, faults = sacctmgr.associations(content, cluster)
    if not faults:
        try:
            share_tree(rows)
        except ValueError as error:
            return (), [Fault(0, line) for line in str(error).splitlines()]
    return rows, faults


def partitions(content: str) -> tuple[Sequence[Partition], Sequence[Fault]]:
    """Partitions as ``scontrol show partition`` prints them, and what is wrong with their bills."""
    listing = scontrol.read(content)
    faults = [Fault(0, problem) for problem in listing.problems if "TRESBillingWeights" in problem]
    if not listing.partitions:
        faults.append(Fault(0, "no partition in it: is it what 'scontrol show partition' prints?"))
    return listing.partitions, faults


def billing_weights(listed: Iterable[Partition]) -> dict[str, dict[str, float]]:
    """TRESBillingWeights by partition."""
    return {each.name: dict(each.billing_weights) for each in listed}


def slurm_settings(content: str) -> tuple[SlurmConf, Sequence[Fault]]:
    """What slurm.conf says, and what is wrong with it."""
    conf = slurm_conf.read(content)
    return conf, conf.faults


def _of_config(shares: Sequence[config.Share]) -> tuple[Association, ...]:
    """Shares of config.toml as Slurm knows them."""
    return tuple(
        Association(
            share.account,
            share.user,
            share.partition,
            share.parent,
            math.nan if isinstance(share.share, str) else share.share,
            "",
            None,
            0,
        )
        for share in shares
    )


def _share(share: float) -> float | str:
    return "parent" if math.isnan(share) else share


DAY_S: Final = 86_400


def decay_method(fairshare: Fairshare, setting: Setting) -> Method:
    """How usage decays.

    Raises:
        ConfigError: the configured values do not go together.
    """
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


_FORGOTTEN: Final = 30
"""After so many half-lives a second of use counts a thousand-millionth of what it did."""

_LONGEST_RESET_S: Final = 366 * DAY_S


def lead_s(fairshare: Fairshare, setting: Setting) -> int:
    """For how long use is remembered, s: what ended longer before an instant does not matter to it.

    Of a half-life, ``_FORGOTTEN`` of them, which leaves less than 1e-9 of the use out.
    """
    decay = decay_method(fairshare, setting)
    if isinstance(decay, Windows):
        return (decay.depth + 1) * decay.interval_s
    if isinstance(decay, HalfLife | SlurmUsage) and decay.half_life_s:
        return math.ceil(_FORGOTTEN * decay.half_life_s)
    return _LONGEST_RESET_S


def label(fairshare: Fairshare) -> str:
    """What histories call it: method and penalty, and the operator where there are targets."""
    usage = fairshare.chosen
    parts: list[str] = [usage.method, usage.penalty]
    if usage.users or usage.accounts or usage.has_tree:
        parts.append(usage.operator)
    return ":".join(parts)


def histories(
    with_penalty: pl.DataFrame, setting: Setting, period: Period, fairshare: Fairshare
) -> Iterator[pl.DataFrame]:
    """Usage against targets of users and accounts at the end of each day of a period, in parts."""
    usage = fairshare.chosen
    instants = day_ends(period, setting.zone, setting.now)
    decay = decay_method(fairshare, setting)
    if fairshare.tree is not None:
        yield tree_history(
            with_penalty,
            fairshare.tree,
            decay,
            instants,
            setting.now,
            operator=usage.operator,
            dampening=fairshare.dampening,
            label=label(fairshare),
        )
        return
    targets = {"user": usage.users, "account": usage.accounts}
    for kind in KINDS:
        yield from history_parts(
            with_penalty,
            kind,
            decay,
            instants,
            setting.now,
            targets=targets[kind],
            operator=usage.operator,
            label=label(fairshare),
        )
