"""What a site's files say of its accounts and settings; where one is not given, config.toml."""

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
"""So many faults are listed."""

T = TypeVar("T")
Weights = Mapping[str, float]
"""TRESBillingWeights by Slurm's name of the resource, per base unit."""


@dataclass(frozen=True)
class Site:
    """Accounts and settings of a cluster."""

    associations: tuple[Association, ...]
    factors: Mapping[str, float]
    """UsageFactor by QOS."""
    weights: Mapping[str, Weights]
    """By partition."""
    everywhere: Weights
    """The same for all partitions, where nothing is said of single ones."""
    conf: SlurmConf
    cluster: config.Cluster | None
    warnings: tuple[str, ...] = ()

    def with_partitions(self, names: Iterable[str]) -> Site:
        """What holds everywhere said of each partition."""
        if not self.everywhere:
            return self
        return replace(self, weights=dict.fromkeys(names, self.everywhere))


def read_site(request: Request, chosen: config.Config, folder: Path) -> Site:
    """What the files of the flags say; where there is none, what the configuration says.

    Raises:
        UsageError: files are missing or wrong, or nothing says who belongs where.
        ConfigError: files that the configuration names are.
    """
    cluster = _cluster(request, chosen)
    base = fairshare.read(cluster.usage, folder, cluster.name) if cluster else None
    given = _given(request, cluster.name if cluster else None)
    associations, weights, conf = given.associations, given.weights, given.conf
    factors, everywhere = given.factors, {}
    if base is not None:
        associations = base.associations if associations is None else associations
        factors = base.factors if factors is None else factors
        weights = base.partitions if weights is None else weights
        conf = base.conf or _of_config(base) if conf is None else conf
        if not weights:
            everywhere = _by_base_unit(base.chosen.billing_weights.given)
    if not associations:
        raise UsageError(
            "sshare: nothing says who belongs to which account: --assoc FILE with what "
            f"'sacctmgr -P show assoc format={sacctmgr.FORMAT}' prints, or "
            "clusters.usage.associations in config.toml"
        )
    warnings = []
    if conf is None:
        conf = SlurmConf()
        warnings.append(
            "without --slurm-conf Slurm's defaults are used: half-life 7 days, recalculated every "
            "5 minutes, no reset, Fair Tree"
        )
    warnings += [f"{request.slurm_conf}: {note}" for note in conf.notes]
    if not factors:
        warnings.append("without --qos every QOS has usage factor 1")
    weights = weights or conf.partitions
    if not (weights or everywhere):
        warnings.append("without --partitions jobs are billed their CPUs")
    return Site(associations, factors or {}, weights, everywhere, conf, cluster, tuple(warnings))


@dataclass(frozen=True)
class _Given:
    """What the files of the flags say; None: there is no such file."""

    associations: tuple[Association, ...] | None
    factors: Mapping[str, float] | None
    weights: Mapping[str, Weights] | None
    conf: SlurmConf | None


def _given(request: Request, configured: str | None) -> _Given:
    """Reads the files of the flags.

    Args:
        configured: the name of the cluster in the configuration.
    """
    faults: list[str] = []

    def content(path: Path | None, reader: Callable[[str], tuple[T, Sequence[Fault]]]) -> T | None:
        if path is None:
            return None
        read_, wrong = reader(text_of(path))
        faults.extend(f"{path}:{fault.line or 1}: {fault.text}" for fault in wrong)
        return read_

    conf = content(request.slurm_conf, fairshare.slurm_settings)
    name = request.cluster or configured or (conf.cluster if conf else None)
    rows = content(request.associations, lambda text: sacctmgr.associations(text, name))
    qos = content(request.qos, sacctmgr.qualities)
    listed = content(request.partitions, fairshare.partitions)
    weights = None if listed is None else fairshare.billing_weights(listed)
    if faults:
        more = f"\n  and {len(faults) - _MOST} more" if len(faults) > _MOST else ""
        raise UsageError("sshare:\n  " + "\n  ".join(faults[:_MOST]) + more)
    factors = None if qos is None else {quality.name: quality.usage_factor for quality in qos}
    return _Given(rows, factors, weights, conf)


def _of_config(base: Fairshare) -> SlurmConf | None:
    """What the configuration says in the place of slurm.conf; None if it is of another method."""
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
    """Weights by the columns of attempts as Slurm counts these resources."""
    by_column = {column: (name, units) for name, (column, units) in COUNTED.items()}
    return {by_column[key][0]: weight / by_column[key][1] for key, weight in weights.items()}


def _cluster(request: Request, chosen: config.Config) -> config.Cluster | None:
    """The cluster of the configuration that is meant; None where jobs come from files."""
    configured = {cluster.name: cluster for cluster in chosen.clusters}
    if request.cluster in configured:
        return configured[request.cluster]
    only = chosen.clusters[0] if len(configured) == 1 and request.cluster is None else None
    if request.sacct or only is not None:
        return only
    if not configured:
        raise UsageError(
            "sshare: whose? Give --sacct and --assoc files, or --config with a cluster"
        )
    raise UsageError(f"sshare: choose a cluster with --cluster: {', '.join(sorted(configured))}")


@dataclass(frozen=True)
class Request:
    """Which jobs, settings and instant; None lets the configuration or Slurm decide."""

    sacct: Sequence[Path] = ()
    """What sacct printed; none: jobs come from the database that ``config`` publishes."""
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
    """Whether a column Partition is added (``sshare -m``)."""


def instant(text: str, zone: ZoneInfo, flag: str) -> int:
    """An instant as the user writes it: epoch seconds, a day, or ``2026-10-25T12:00[:00]``.

    Raises:
        UsageError: it is none.
    """
    if re.fullmatch(r"[0-9]{1,10}", text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{flag} {text!r}: write it as 2026-10-25, 2026-10-25T12:00:00 or epoch seconds"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    return int(moment.timestamp())


def text_of(path: Path) -> str:
    """A file that the user named; bytes that are no UTF-8 are escaped.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        return path.read_bytes().decode("utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error
