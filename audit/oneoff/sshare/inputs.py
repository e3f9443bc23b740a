"""Everything that ``fairaudit sshare`` reads: accounts and settings of the site, and jobs.

They come from the files of the flags; without a file, from config.toml and the database.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import polars as pl

from audit.cluster import fairshare
from audit.cluster.fairshare import FairshareInputs
from audit.cluster.setting import latest_instant
from audit.config import Cluster, Config, places
from audit.errors import UsageError, refusals
from audit.formats.dialects import PLAIN, Reading
from audit.formats.sacct import text as sacct
from audit.formats.slurm import sacctmgr
from audit.formats.slurm.fields import tres_columns
from audit.formats.slurm.sacctmgr import Association, Fault
from audit.formats.slurm.slurm_conf import SlurmConf
from audit.ingest.attempts import attempts_of
from audit.ingest.ingest import called_by
from audit.ingest.logs import Opened, open_logs, parsed_blocks
from audit.ingest.quarantine import EXAMPLES, Counted, beyond_limit
from audit.metrics.slurm.shares import ChargedNodes
from audit.metrics.slurm.usage import COUNTED, Charged, stored, uncounted
from audit.progress import OnProgress, printable
from audit.store import queries, snapshots
from audit.words import Algorithm, first_of

_ALLOCATED: Final = "AllocTRES"
_MOST: Final = 20  # maximum number of faults that are listed

T = TypeVar("T")
Weights = Mapping[str, float]
"""TRESBillingWeights by Slurm's name of the resource, per base unit."""


@dataclass(frozen=True)
class SshareRequest:
    """Jobs, settings and instant; None leaves the value to the configuration or Slurm."""

    sacct: Sequence[Path] = ()  # if empty, jobs come from the published database
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
    by_partition: bool = False  # adds the column Partition (``sshare -m``)


def text_of(path: Path) -> str:
    """Return the text of a file, with bytes escaped that are not UTF-8, or raise UsageError."""
    with refusals(UsageError, path, "cannot be read"):
        return path.read_bytes().decode("utf-8", errors="backslashreplace")


@dataclass(frozen=True)
class SshareSite:
    """Accounts and settings of a cluster."""

    associations: tuple[Association, ...]
    factors: Mapping[str, float]  # UsageFactor by QOS
    weights: Mapping[str, Weights]  # by partition
    everywhere: Weights  # of all partitions, if there are none by partition
    conf: SlurmConf
    cluster: Cluster | None
    warnings: tuple[str, ...] = ()

    def with_partitions(self, names: Iterable[str]) -> "SshareSite":
        """Return the same site with the weights of all partitions set for each of ``names``."""
        if not self.everywhere:
            return self
        return replace(self, weights=dict.fromkeys(names, self.everywhere))


def read_site(request: SshareRequest, config: Config, folder: Path) -> SshareSite:
    """Return accounts and settings from the files of the flags, else from the configuration.

    Raises:
        UsageError: files are missing or wrong (all faults are listed), or there are no accounts.
        ConfigError: files named in the configuration are missing or wrong.
    """
    cluster = _cluster(request, config)
    base = fairshare.read(cluster.usage, folder, cluster.name) if cluster else None
    faults: list[str] = []

    def content(path: Path | None, reader: Callable[[str], tuple[T, Sequence[Fault]]]) -> T | None:
        if path is None:
            return None
        parsed, wrong = reader(text_of(path))
        faults.extend(f"{path}:{fault.line or 1}: {fault.text}" for fault in wrong)
        return parsed

    conf = content(request.slurm_conf, fairshare.slurm_settings)
    name = request.cluster or (cluster and cluster.name) or (conf.cluster if conf else None)
    associations = content(request.associations, lambda text: sacctmgr.associations(text, name))
    qos = content(request.qos, sacctmgr.qualities)
    listed = content(request.partitions, fairshare.partitions)
    if faults:
        raise UsageError("sshare:\n  " + first_of(faults, _MOST, line="\n  "))
    factors: Mapping[str, float] | None = (
        None if qos is None else {quality.name: quality.usage_factor for quality in qos}
    )
    weights: Mapping[str, Weights] | None = (
        None if listed is None else fairshare.billing_weights(listed)
    )
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
    noted = tuple(warnings)
    return SshareSite(associations, factors or {}, weights, everywhere, conf, cluster, noted)


def _of_config(base: FairshareInputs) -> SlurmConf | None:
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


def _cluster(request: SshareRequest, config: Config) -> Cluster | None:
    """Return the configured cluster, None if jobs come from files, or raise UsageError."""
    configured = {cluster.name: cluster for cluster in config.clusters}
    if request.cluster in configured:
        return configured[request.cluster]
    only = config.clusters[0] if len(configured) == 1 and request.cluster is None else None
    if request.sacct or only is not None:
        return only
    if not configured:
        raise UsageError("sshare: give --sacct and --assoc files, or --config with a cluster")
    raise UsageError(f"sshare: choose a cluster with --cluster: {', '.join(sorted(configured))}")


# --- jobs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ChargedJobs:
    """Attempts of one cluster."""

    attempts: pl.DataFrame  # columns of ``model.ATTEMPTS``, or those of records
    amounts: Mapping[str, pl.Series]  # allocated amounts, by Slurm's name of the resource
    zone: str
    warnings: tuple[str, ...] = ()

    @property
    def known_to(self) -> int:
        """The latest time of any attempt, epoch s."""
        return latest_instant(self.attempts) or 0

    @property
    def run_on(self) -> bool:
        """Whether an attempt is still running at ``known_to``."""
        runs = pl.col("start_time").is_not_null() & pl.col("end_time").is_null()
        return bool(self.attempts.select(runs.any()).item())


def read_jobs(
    request: SshareRequest, config: Config, folder: Path, site: SshareSite, on_progress: OnProgress
) -> ChargedJobs:
    """Return the jobs in the files of the request, else in the published database.

    Raises:
        UsageError: no job has started, or the cluster is unknown.
        AuditError: a log or the database cannot be read, see ``audit.errors``.
    """
    if request.sacct:
        jobs = _from_files(request, config, site, on_progress)
    else:
        jobs = _from_database(config, folder, site)
    if not jobs.attempts["start_time"].count():
        raise UsageError("sshare: no job has started, so there is no usage")
    return jobs


def _from_files(
    request: SshareRequest, config: Config, site: SshareSite, on_progress: OnProgress
) -> ChargedJobs:
    zone = request.zone or (site.cluster.zone if site.cluster else None)
    logs = open_logs(request.sacct, sacct.DIALECT.name, replace(request.reading, zone=zone))
    frames, refused, warnings = [], [], []
    for done, log in enumerate(logs):
        on_progress("reading sacct", done, len(logs))
        records, refusals = _with_allocated(log)
        count = len(records) + len(refusals)
        first = tuple((log.name, line, reason) for line, reason in refusals[:EXAMPLES])
        counted = Counted(log.where, log.dialect.title, count, len(refusals), first)
        if len(refusals) > config.ingest.refused_limit * count:
            raise beyond_limit(counted, config.ingest.refused_limit)
        frames.append(records.with_columns(input_id=pl.lit(log.source.sha256)))
        refused += [f"{log.where}:{line}: {reason}" for line, reason in refusals]
        warnings += [f"{log.where}: {problem}" for problem in log.header.problems]
        if log.header.local_times:
            warnings.append(f"{log.where}: times are read as UTC; --zone sets another zone")
    on_progress("reading sacct", len(logs), len(logs))
    if refused:
        warnings.append(f"{len(refused):,} records were refused, the first: {refused[0]}")
    records = pl.concat(frames)
    names = records["cluster"].drop_nulls().unique().sort().to_list()
    called = called_by(request.cluster or site.conf.cluster, names, "--cluster")
    if called is not None:
        records = records.filter((pl.col("cluster") == called).fill_null(value=True))
    attempts = attempts_of(records.with_columns(cluster=pl.lit(called or "")))
    allocated = attempts[_ALLOCATED]
    if allocated.null_count() == len(allocated):
        warnings.append(
            f"the log has no column {_ALLOCATED}: only CPUs, nodes, GPUs and memory are known"
        )
        amounts = stored(attempts)
    else:
        common = {"cpu", "mem", "node", "billing", "gres/gpu", *site.conf.tres}
        needed = common.union(site.everywhere, *site.weights.values())
        amounts = tres_columns(allocated, sorted(needed))
    return ChargedJobs(attempts, amounts, zone or "UTC", tuple(warnings))


def _with_allocated(log: Opened) -> tuple[pl.DataFrame, list[tuple[int, str]]]:
    """Return records with their AllocTRES, and line and reason of the refused ones."""
    reader = replace(log.dialect, parse=partial(sacct.parse, also=(_ALLOCATED,)))
    parts = [part for _, part in parsed_blocks(log._replace(dialect=reader))]
    refusals = [row for part in parts for row in part.refusals.select("line", "reason").rows()]
    return pl.concat([part.records for part in parts], how="diagonal"), refusals


def _from_database(config: Config, folder: Path, site: SshareSite) -> ChargedJobs:
    assert site.cluster is not None  # checked in read_site
    path = folder / config.output.database
    archive = places.Site(config, folder).archive_of(path)
    with closing(snapshots.open_snapshot(path, archive=archive)) as con:
        attempts = queries.run(con, "attempts", cluster=site.cluster.name, since=None, until=None)
    if attempts.is_empty():
        raise UsageError(
            f"{path}: has no job of cluster {site.cluster.name!r}; 'fairaudit run' reads its logs"
        )
    return ChargedJobs(attempts, stored(attempts), site.cluster.zone)


def assumed(
    site: SshareSite, jobs: ChargedJobs, charged: Charged, places: ChargedNodes
) -> list[str]:
    """Return the assumptions about jobs as sentences."""
    lines = []
    if unknown := uncounted(site.weights, jobs.amounts):
        listed = ", ".join(unknown)
        lines.append(f"not counted, since the database lacks them: {listed} (--sacct reads them)")
    unknown_partitions = site.weights and charged.unknown_partitions
    for text, counts in (
        ("billed their CPUs, since the partition is unknown", unknown_partitions),
        ("usage factor 1, since the QOS is unknown", site.factors and charged.unknown_qos),
        ("charged to the account only, since the user has no association", places.strange_users),
        ("charged to root only, since the account is unknown", places.strange_accounts),
    ):
        if counts:
            shown = first_of([f"{printable(name)} ({n:,})" for name, n in counts.items()], EXAMPLES)
            lines.append(f"{text}: {sum(counts.values()):,} jobs, of {shown}")
    if places.nameless:
        lines.append(f"not charged, since the account is missing: {places.nameless:,} jobs")
    return lines
