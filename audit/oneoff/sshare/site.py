"""The request of ``fairaudit sshare``, and the accounts and settings of the site.

These come from the files of the flags; without a file, from config.toml.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar
from zoneinfo import ZoneInfo

from audit import config
from audit.cluster import fairshare
from audit.cluster.fairshare import Fairshare
from audit.errors import UsageError
from audit.formats.dialects import PLAIN, Reading
from audit.formats.slurm import sacctmgr
from audit.formats.slurm.sacctmgr import Association, Fault
from audit.formats.slurm.slurm_conf import SlurmConf
from audit.metrics.slurm.usage import COUNTED
from audit.words import Algorithm

_MOST: Final = 20
"""Maximum number of faults that are listed."""

T = TypeVar("T")
Weights = Mapping[str, float]
"""TRESBillingWeights by Slurm's name of the resource, per base unit."""


@dataclass(frozen=True)
class Request:
    """Jobs, settings and instant; None leaves the value to the configuration or Slurm."""

    sacct: Sequence[Path] = ()
    """Output of sacct; if empty, jobs come from the published database."""
    associations: Path | None = None
    qos: Path | None = None
    partitions: Path | None = None
    slurm_conf: Path | None = None
    as_of: str | None = None
    half_life: str | None = None
    algorithm: Algorithm | None = None
    phase: str | None = None
    sample: Path | None = None
    sample_time: str | None = None
    cluster: str | None = None
    zone: str | None = None
    reading: Reading = PLAIN
    by_partition: bool = False
    """Whether to add the column Partition (``sshare -m``)."""


def instant(text: str, zone: ZoneInfo, flag: str) -> int:
    """Return the epoch second of a text: epoch seconds, a day, or ``2026-10-25T12:00[:00]``.

    Raises:
        UsageError: the text has another form.
    """
    if re.fullmatch(r"[0-9]{1,10}", text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{flag} {text!r}: write it as 2026-10-25, 2026-10-25T12:00:00 or epoch seconds"
        ) from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp())


def text_of(path: Path) -> str:
    """Return the text of a file, with bytes escaped that are not UTF-8, or raise UsageError."""
    try:
        return path.read_bytes().decode("utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error


@dataclass(frozen=True)
class Site:
    """Accounts and settings of a cluster."""

    associations: tuple[Association, ...]
    factors: Mapping[str, float]
    """UsageFactor by QOS."""
    weights: Mapping[str, Weights]
    """By partition."""
    everywhere: Weights
    """Weights of all partitions, if there are none by partition."""
    conf: SlurmConf
    cluster: config.Cluster | None
    warnings: tuple[str, ...] = ()

    def with_partitions(self, names: Iterable[str]) -> Site:
        """Return the same site with the weights of all partitions set for each of ``names``."""
        if not self.everywhere:
            return self
        return replace(self, weights=dict.fromkeys(names, self.everywhere))


def read_site(request: Request, chosen: config.Config, folder: Path) -> Site:
    """Return accounts and settings from the files of the flags, else from the configuration.

    Raises:
        UsageError: files are missing or wrong (all faults are listed), or there are no accounts.
        ConfigError: files named in the configuration are missing or wrong.
    """
    cluster = _cluster(request, chosen)
    base = fairshare.read(cluster.usage, folder, cluster.name) if cluster else None
    faults: list[str] = []

    def content(path: Path | None, reader: Callable[[str], tuple[T, Sequence[Fault]]]) -> T | None:
        if path is None:
            return None
        parsed, wrong = reader(text_of(path))
        faults.extend(f"{path}:{fault.line or 1}: {fault.text}" for fault in wrong)
        return parsed

    conf = content(request.slurm_conf, fairshare.slurm_settings)
    name = (
        request.cluster or (cluster.name if cluster else None) or (conf.cluster if conf else None)
    )
    associations = content(request.associations, lambda text: sacctmgr.associations(text, name))
    qos = content(request.qos, sacctmgr.qualities)
    listed = content(request.partitions, fairshare.partitions)
    if faults:
        more = f"\n  and {len(faults) - _MOST} more" if len(faults) > _MOST else ""
        raise UsageError("sshare:\n  " + "\n  ".join(faults[:_MOST]) + more)
    factors: Mapping[str, float] | None = None
    if qos is not None:
        factors = {quality.name: quality.usage_factor for quality in qos}
    weights: Mapping[str, Weights] | None = None
    if listed is not None:
        weights = fairshare.billing_weights(listed)
    everywhere: Weights = {}
    if base is not None:
        associations = base.associations if associations is None else associations
        factors = base.factors if factors is None else factors
        weights = base.partitions if weights is None else weights
        conf = base.conf or _of_config(base) if conf is None else conf
        everywhere = {} if weights else _by_base_unit(base.chosen.billing_weights.given)
    if not associations:
        raise UsageError(
            "sshare: no associations: give --assoc FILE with the output of 'sacctmgr -P show assoc "
            f"format={sacctmgr.FORMAT}', or set clusters.usage.associations in config.toml"
        )
    warnings = []
    if conf is None:
        conf = SlurmConf()
        warnings.append(
            "without --slurm-conf, Slurm's defaults are used: half-life 7 days, recalculated every "
            "5 minutes, no reset, Fair Tree"
        )
    warnings += [f"{request.slurm_conf}: {note}" for note in conf.notes]
    if not factors:
        warnings.append("without --qos, every QOS has usage factor 1")
    weights = weights or conf.partitions
    if not (weights or everywhere):
        warnings.append("without --partitions, jobs are billed their CPUs")
    return Site(associations, factors or {}, weights, everywhere, conf, cluster, tuple(warnings))


def _of_config(base: Fairshare) -> SlurmConf | None:
    """Return the settings of the configuration; None if it does not use method "slurm"."""
    if base.chosen.method != "slurm":
        return None
    return SlurmConf(
        half_life_s=base.half_life_s,
        period_s=base.period_s,
        reset=base.reset,
        dampening=base.dampening,
        flags=base.flags | ({"NO_FAIR_TREE"} if base.chosen.operator == "classic" else set()),
    )


def _by_base_unit(weights: Mapping[str, float]) -> dict[str, float]:
    """Return weights by columns of attempts as weights by Slurm's resources and units."""
    by_column = {column: (name, units) for name, (column, units) in COUNTED.items()}
    return {by_column[key][0]: weight / by_column[key][1] for key, weight in weights.items()}


def _cluster(request: Request, chosen: config.Config) -> config.Cluster | None:
    """Return the configured cluster; None if the jobs come from files instead.

    Raises:
        UsageError: no such cluster, or several.
    """
    configured = {cluster.name: cluster for cluster in chosen.clusters}
    if request.cluster in configured:
        return configured[request.cluster]
    only = chosen.clusters[0] if len(configured) == 1 and request.cluster is None else None
    if request.sacct or only is not None:
        return only
    if not configured:
        raise UsageError("sshare: give --sacct and --assoc files, or --config with a cluster")
    raise UsageError(f"sshare: choose a cluster with --cluster: {', '.join(sorted(configured))}")
