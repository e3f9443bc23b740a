"""Reads logs, through a store, into the attempts of a cluster and its setting.

``take_in`` is for a store that is kept, ``open_log`` for what-ifs and studies, whose store is not.
A ``Session`` has the arguments of a command for the functions that do its work.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import polars as pl

from audit import periods
from audit.cluster import declared, inference, slurm_files
from audit.cluster.declared import NodeFiles
from audit.cluster.inference import OF_RECORDS, Fact
from audit.cluster.log_begin import LogBegin, log_begin
from audit.cluster.setting import ClusterSettings, configured, one_off
from audit.cluster.slurm_files import SlurmFiles
from audit.config import Cluster, Config, PeopleConfig
from audit.errors import EmptyLogError, LogError, UsageError
from audit.formats.dialects import PLAIN, Header, Reading
from audit.ingest import evidence
from audit.ingest.evidence import EvidenceFile, about_nodes
from audit.ingest.ingest import Named, Naming, called_by, take_in_by_name
from audit.ingest.logs import Opened, Unread, logs_in, open_each, open_logs
from audit.metrics.attempts import population
from audit.metrics.attempts.recorded import with_evidence
from audit.model import ATTEMPTS, EVIDENCE, SEQUENCE, Declared, Policy, Pool
from audit.on_disk import on_disk, result
from audit.pipeline.completeness import with_completeness
from audit.progress import OnProgress, silent
from audit.store import database, migrations, queries
from audit.store.database import Connection
from audit.words import Resource, first_of

_BY_ARRIVAL: Final = ("arrival_time", "submit_time", *SEQUENCE, "job_id")


def recorded_attempts(
    con: Connection, cluster: str, since: int | None = None, until: int | None = None
) -> pl.DataFrame:
    """Return the attempts that the store holds of a cluster, archived ones too, by arrival.

    Args:
        since: epoch s; only attempts that ended then or later, or not at all. None: no bound.
        until: epoch s; only attempts that arrived before, or at an unknown time. None: no bound.

    Returns:
        Columns of ``model.ATTEMPTS``, in the order that ``population.describe`` gives them, and
        what was recorded of waits.
    """
    of = {"cluster": cluster, "since": since, "until": until}
    attempts = result(con, "attempts", ATTEMPTS.names(), _BY_ARRIVAL, **of)
    ready = pl.coalesce("eligible_time", "submit_time")
    first = attempts.select(pl.min_horizontal(ready, "start_time", "end_time").min()).item()
    of = {"cluster": cluster, "since": first, "until": None if until is None else until - 1}
    return with_evidence(attempts, queries.run(con, "evidence_between", **of))


PLANS_DAYS: Final = 30


def planned_starts(con: Connection, cluster: str) -> pl.DataFrame:
    """Return the scheduler's planned starts of the last days: job_id, instant, expected_start."""
    return queries.run(con, "evidence_planned", cluster=cluster, days=PLANS_DAYS)


def dated(con: Connection, cluster: str, nodes: Declared) -> Declared:
    """Return declared nodes with their drains dated by statements of schedulers."""
    return declared.dated(nodes, evidence.about_nodes(con, cluster))


@dataclass(frozen=True, kw_only=True)
class LogRequest:
    """Which logs, and how to read them; None lets the configuration or the log decide."""

    logs: Sequence[Path]  # files, or folders of them
    dialect: str | None = None
    reading: Reading = PLAIN
    cluster: str | None = None
    pool_size: int | None = None
    resource: Resource | None = None
    zone: str | None = None
    files: NodeFiles = declared.NO_FILES
    slurm: SlurmFiles = slurm_files.NO_FILES
    evidence: Sequence[EvidenceFile] = ()

    @property
    def paths(self) -> list[Path]:
        """The logs; of a folder, those in it. UsageError if there are none."""
        return [file for path in self.logs for file in (logs_in(path) if path.is_dir() else [path])]

    def of_site(self, config: Config) -> "LogRequest":
        """Return the request with the zone in which ``config`` reads local times of the logs.

        If clusters that the logs may be of have several zones, it is that of the request.
        """
        zones = {one.zone for one in config.clusters if self.cluster in (None, one.name)}
        if self.zone is not None or len(zones) != 1:
            return self
        return replace(self, reading=replace(self.reading, zone=zones.pop()))

    def open(self) -> list[Opened]:
        """Return the logs with their dialects; errors as of ``logs.open_logs``."""
        opened = open_logs(self.paths, self.dialect, self.reading)
        self._check_schedulers(opened)
        return opened

    def open_each(self) -> tuple[list[Opened], list[Unread]]:
        """Return the logs with their dialects, and the logs that cannot be read.

        Raises UsageError if a log does not exist or may not be read, LogError if none can be read.
        """
        opened, unread = open_each(self.paths, self.dialect, self.reading)
        for one in unread:
            if not opened or not isinstance(one.error, LogError):
                raise one.error
        self._check_schedulers(opened)
        return opened, unread

    def _check_schedulers(self, opened: Sequence[Opened]) -> None:
        """Raise UsageError if logs of several schedulers would become one cluster unasked."""
        files: dict[str, list[str]] = {}
        for log in opened:
            files.setdefault(log.dialect.scheduler or log.dialect.title, []).append(log.name)
        if len(files) > 1 and self.cluster is None:
            listed = "; ".join(
                f"{name}: {first_of(names, _SHOWN)}" for name, names in files.items()
            )
            raise UsageError(
                f"the logs are of several schedulers ({listed}): audit those of each by "
                "themselves, or pass --cluster NAME if all are of one cluster"
            )

    def setting(
        self,
        taken: "Ingested",
        cluster: Cluster | None = None,
        policy: Policy | None = None,
        folder: Path = Path(),
        log_from: str | None = None,
    ) -> ClusterSettings:
        """Return the cluster's setting by the configuration, or by these flags and its logs.

        Args:
            folder: that of the configuration, to which its paths are relative.
            log_from: the time at which the logs begin; None: their records decide.

        Raises:
            UsageError: a flag contradicts the configuration, or a file about nodes is useless.
            ConfigError: a file about nodes that the configuration names is useless.
        """
        of_logs, begin = (taken.attempts, taken.headers), taken.begin
        zone = inference.zone(self.zone, list(taken.headers.values())).value
        if log_from is not None:
            in_zone = periods.zone(zone if cluster is None else cluster.zone)
            instant = periods.instant(log_from, in_zone, "--log-from")
            begin = LogBegin(instant, "--log-from", by_end=begin is not None and begin.by_end)
        if cluster is None:
            size, zone_name = self.pool_size, self.zone
            nodes = declared.read(self.files, zone, taken.cluster.value)
            nodes, facts = slurm_files.with_files(nodes, self.slurm, taken.cluster.value)
            nodes = declared.dated(nodes, taken.of_nodes)
            asked = (taken.cluster, *of_logs, self.resource, size, zone_name)
            setting = one_off(*asked, policy, nodes).begun(begin)
            warnings = (*setting.warnings, *taken.doubts)
            return replace(setting, facts=(*setting.facts, *facts), warnings=warnings)
        flags: dict[str, object] = {
            "--pool-size": self.pool_size,
            "--resource": self.resource,
            "--zone": self.zone,
            **{f"--{key}": path for key, path in self.files.given.items()},
            **{slurm_files.FLAGS[key]: path for key, path in self.slurm.given.items()},
        }
        for flag, value in flags.items():
            if value is not None:
                described = f"the configuration describes cluster {cluster.name!r}"
                raise UsageError(f"{flag}: {described}; change it there")
        if any(of.local_times for of in taken.headers.values()):
            raise UsageError(
                f"the log has local times, and it is of cluster {cluster.name!r}: pass "
                f"--cluster {cluster.name}, so that they are read in its zone"
            )
        nodes = declared.dated(declared.configured(cluster, folder), taken.of_nodes)
        setting = configured(cluster, *of_logs, declared=nodes).begun(begin)
        of_zone = Fact("time zone", cluster.zone, "config.toml")
        facts = (taken.cluster, of_zone, *setting.facts)
        return replace(setting, facts=facts, warnings=(*setting.warnings, *taken.doubts))


@dataclass(frozen=True)
class Ingested:
    """The data of a cluster in a store into which its logs were taken."""

    cluster: Fact  # its name, and where that is from
    attempts: pl.DataFrame
    """All its attempts, those of earlier logs too; columns of ``model.ATTEMPTS``."""
    headers: Mapping[str, Header]  # by name of the log's file
    begin: LogBegin | None  # that of all its logs; None: they have no times
    kept_out: Sequence[Unread] = ()  # see ``ingest.ingest.Intake``
    of_nodes: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=EVIDENCE))
    """Statements of the scheduler about nodes; columns of ``model.EVIDENCE``."""
    doubts: Sequence[str] = ()  # warnings about files of evidence


@dataclass(frozen=True)
class ClusterLog:
    """The content of a cluster's logs."""

    described: pl.DataFrame  # all attempts of all pools; columns of ``model.DESCRIBED``
    setting: ClusterSettings
    cluster: Cluster | None  # the cluster in the configuration, if it is there
    sha256: tuple[str, ...]  # of the logs' decompressed bytes, sorted
    planned: pl.DataFrame = field(default_factory=pl.DataFrame)  # as of ``planned_starts``


def take_in(
    con: Connection,
    logs: Sequence[Opened],
    naming: Naming,
    config: Config,
    on_progress: OnProgress = silent,
    said: Sequence[EvidenceFile] = (),
    zone: str | None = None,
) -> Ingested:
    """Take logs, and files of what the scheduler ``said``, into an open store.

    Args:
        zone: time zone of files of evidence, if the configuration has none; None: that of the logs.

    Raises AuditError as of ``ingest.ingest.take_in_by_name`` and ``ingest.evidence.take_in``;
    EmptyLogError if no log contains a record.
    """
    limit = config.ingest.refused_limit
    named, taken, kept_out = take_in_by_name(
        con, logs, naming, limit=limit, on_progress=on_progress
    )
    if not any(one.records for one in taken):
        raise EmptyLogError(f"{logs[0].where}: empty: it contains no records of jobs")
    left = {one.path for one in kept_out}
    kept = (log for log in logs if log.source.path not in left)
    headers = {
        log.name: replace(log.header, problems=(*of.problems, *(_GREW,) * log.source.has_grown))
        for log, of in zip(kept, taken, strict=True)
    }
    site = _configured_cluster(config, None, named.cluster) if said and zone is None else None
    in_zone = inference.zone(zone, list(headers.values())).value if site is None else site.zone
    doubts = tuple(evidence.take_in(con, named.cluster, file, in_zone) for file in said)
    return Ingested(
        Fact("cluster", named.cluster, named.source),
        on_disk(recorded_attempts(con, named.cluster), database.folder(con)),
        headers,
        log_begin(con, named.cluster),
        kept_out,
        about_nodes(con, named.cluster),
        tuple(filter(None, doubts)),
    )


_GREW = "grew while it was read: what was added is left out; audit it again when it is complete"
_SHOWN = 3  # maximum number of files of a scheduler that an error names


def open_log(
    request: LogRequest,
    config: Config,
    on_progress: OnProgress = silent,
    folder: Path = Path(),
) -> ClusterLog:
    """Read logs, and find the setting of their cluster: by ``config``, if the cluster is in it.

    ``folder`` is that of the configuration.

    Raises the errors of ``audit.errors``; UsageError also if no arrival is known.
    """
    request = request.of_site(config)
    logs = request.open()
    naming = ClusterFinder(logs, request.cluster, config)
    with migrations.temporary(config.store.memory_limit) as con:
        taken = take_in(con, logs, naming, config, on_progress, request.evidence, request.zone)
        for one in taken.kept_out:
            raise one.error
        cluster = naming.configured
        setting = request.setting(taken, cluster, folder=folder)
        stated = () if cluster is None else cluster.populations
        setting = with_completeness(setting, con, stated)
        planned = planned_starts(con, taken.cluster.value)
    described = population.describe(
        taken.attempts, setting.pools, setting.partition_pool, tau_s=config.metrics.tau_s
    )
    if described.height and described["arrival_time"].is_null().all():
        raise UsageError(
            "the logs do not say when jobs arrived (sacct: columns Submit and Eligible); schedules "
            "cannot be simulated or studied without that"
        )
    sha256 = tuple(sorted(log.source.sha256 for log in logs))
    return ClusterLog(described, setting, cluster, sha256, planned)


@dataclass
class ClusterFinder:
    """Names the cluster of logs, once their records are known, and finds its configuration."""

    logs: Sequence[Opened]
    option: str | None  # ``--cluster``
    config: Config
    configured: Cluster | None = None
    """The cluster in the configuration, if it is there; set once it is named."""

    def __call__(self, names: Sequence[str]) -> Named:
        """Return the name of the cluster, given the names in the logs' records.

        Raises UsageError if the configuration has other clusters, or if there are several names or
        clusters and none was chosen.
        """
        named = self._named(names)
        self.configured = _configured_cluster(self.config, self.option, named.called)
        if self.configured is not None and self.configured.people != PeopleConfig():
            raise UsageError(
                f"cluster {self.configured.name!r} has clusters.people in config.toml, which "
                "replaces names or groups. Use 'fairaudit run' to read its logs, or omit --config "
                "to read them unchanged"
            )
        if self.configured is not None and self.configured.name != named.cluster:
            return Named(self.configured.name, "the only one that is configured", named.called)
        return named

    def _named(self, names: Sequence[str]) -> Named:
        called = called_by(self.option, names, "--cluster")
        if self.option is not None:
            return Named(self.option, "--cluster", called)
        if called is not None:
            return Named(called, OF_RECORDS, called)
        servers = {log.header.server for log in self.logs} - {None}
        if len(servers) == 1 and (server := servers.pop()) is not None:
            return Named(server, OF_RECORDS, None)
        name = min(log.name for log in self.logs)
        for suffix in (
            *(".gz", ".bz2", ".xz", ".zst", ".swf", ".txt", ".log"),
            *(".csv", ".tsv", ".psv", ".parquet", ".json", ".jsonl"),
        ):
            name = name.removesuffix(suffix)
        return Named(name or "cluster", "the log's name", None)


def pools(log: ClusterLog, only: str | None = None) -> list[Pool]:
    """Return the pools with attempts in the log, or the one ``only``.

    Raise UsageError without one.
    """
    known = {pool.name: pool for pool in log.setting.pools}
    if only is not None and only not in known:
        raise UsageError(f"--pool {only}: no such pool; there is: {', '.join(known)}")
    chosen = [pool for name, pool in known.items() if only in (None, name)]
    used = [pool for pool in chosen if (log.described["pool"] == pool.name).any()]
    if not used:
        raise UsageError("the log has no attempts" + (f" of pool {only!r}" if only else ""))
    return used


def largest_pool(log: ClusterLog, name: str | None = None) -> Pool:
    """Return the pool ``name``, or the one in which most attempts ended."""
    counts = dict(population.ended(log.described)["pool"].value_counts().iter_rows())
    return max(pools(log, name), key=lambda pool: counts.get(pool.name, 0))


def _configured_cluster(config: Config, option: str | None, called: str | None) -> Cluster | None:
    """Return the configured cluster with the chosen name, the log's name, or the only one."""
    if not config.clusters:
        return None
    clusters = {cluster.name: cluster for cluster in config.clusters}
    listed = ", ".join(clusters)
    name = called if option is None else option
    if name in clusters:
        return clusters[name]
    if option is not None:
        raise UsageError(f"the configuration has no cluster {option!r}; it has: {listed}")
    if len(clusters) > 1:
        raise UsageError(f"the configuration has several clusters: {listed}; choose (--cluster)")
    return config.clusters[0]


@dataclass(frozen=True)
class Session:
    """The data and the configuration of a command, and where it reports to."""

    request: LogRequest  # the logs, if any
    config: Config = field(default_factory=Config)
    folder: Path = Path()  # the folder of the configuration, to which its paths are relative
    database: Path | None = None
    """A published database, which is read where the request names no logs."""
    on_progress: OnProgress = silent
    on_inferred: Callable[[Fact], None] = lambda fact: None
    """Called with each value that is inferred from the logs."""
    fit: bool = True  # whether what the logs show of rules and policies is in force
