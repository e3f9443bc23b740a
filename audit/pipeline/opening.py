"""Logs, by way of a store, to the attempts of a cluster and what must be known of it.

``take_in`` does so for a store that is kept, ``open_log`` for what-ifs and studies, whose store is
thrown away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from audit import config
from audit.cluster.inference import Fact
from audit.cluster.setting import Setting, configured, one_off
from audit.errors import EmptyLogError, LogError, UsageError
from audit.formats.dialects import PLAIN, Header, Reading
from audit.ingest.ingest import Progress, take_in_by_name
from audit.ingest.logs import Opened, Unread, open_each, open_logs
from audit.ingest.naming import Named, Naming, called_by
from audit.metrics.attempts import population
from audit.model import Policy, Pool
from audit.store import migrations
from audit.store.attempts import read_attempts
from audit.store.database import Connection
from audit.words import Resource


@dataclass(frozen=True, kw_only=True)
class Request:
    """Which logs, and what is said of them; None lets the configuration or the log decide."""

    logs: Sequence[Path]
    dialect: str | None = None
    reading: Reading = PLAIN
    cluster: str | None = None
    pool_size: int | None = None
    resource: Resource | None = None
    zone: str | None = None

    def open(self) -> list[Opened]:
        """The logs, their dialects known; errors as ``logs.open_logs``."""
        return open_logs(self.logs, self.dialect, self.reading)

    def open_each(self) -> tuple[list[Opened], list[Unread]]:
        """The same, but one that is no good stops no other.

        Raises:
            UsageError: a log is not there, or may not be read.
            LogError: none is any good; of the first it is said.
        """
        opened, unread = open_each(self.logs, self.dialect, self.reading)
        for one in unread:
            if not opened or not isinstance(one.error, LogError):
                raise one.error
        return opened, unread

    def setting(
        self, taken: TakenIn, cluster: config.Cluster | None = None, policy: Policy | None = None
    ) -> Setting:
        """The cluster as it is configured; without that, as these flags say, else as its logs do.

        Raises:
            UsageError: flags say what the configuration says already.
        """
        if cluster is not None:
            return _configured_setting(taken, cluster, self)
        resource = self.resource or Resource.cpus
        return one_off(
            taken.cluster,
            taken.attempts,
            taken.headers,
            resource,
            self.pool_size,
            self.zone,
            policy,
        )


@dataclass(frozen=True)
class TakenIn:
    """What a store holds of a cluster whose logs were taken in."""

    cluster: Fact
    """What it is called, and who says so."""
    attempts: pl.DataFrame
    """Columns of ``model.ATTEMPTS``: all its attempts, of logs that came before, too."""
    headers: Mapping[str, Header]
    """Of the logs, by name of the file."""
    kept_out: Sequence[Unread] = ()
    """Logs of which too much was refused."""


@dataclass(frozen=True)
class Log:
    """What logs hold of a cluster."""

    described: pl.DataFrame
    """Columns of ``model.DESCRIBED``: all attempts of all pools."""
    setting: Setting
    """Pools, zone and instant."""
    cluster: config.Cluster | None
    """The cluster in the configuration, if it has any."""
    sha256: tuple[str, ...]
    """Of the logs' decompressed bytes, sorted."""


def take_in(
    con: Connection,
    logs: Sequence[Opened],
    naming: Naming,
    chosen: config.Config,
    progress: Progress = lambda what, done, of: None,
) -> TakenIn:
    """Take logs into an open store.

    Raises:
        AuditError: as ``ingest.take_in_by_name``; EmptyLogError where no log holds a record.
    """
    limit = chosen.ingest.refused_limit
    named, taken, kept_out = take_in_by_name(con, logs, naming, limit=limit, progress=progress)
    if not any(one.records for one in taken):
        raise EmptyLogError(f"{logs[0].where}: empty: it holds comments but no record")
    left = {one.path for one in kept_out}
    return TakenIn(
        Fact("cluster", named.cluster, named.source),
        read_attempts(con, named.cluster),
        {log.name: log.header for log in logs if log.source.path not in left},
        kept_out,
    )


def open_log(
    request: Request,
    chosen: config.Config,
    progress: Progress = lambda what, done, of: None,
) -> Log:
    """Read logs, and find what must be known of their cluster.

    Args:
        request: which logs, and what is said of them.
        chosen: the configuration in force. Pools, steps and policies are those of the cluster of
            this name in it, if it has any.

    Raises:
        AuditError: see the classes of ``audit.errors``, with their exit codes; UsageError also
            where nobody knows when any attempt arrived.
    """
    logs = request.open()
    naming = Site(logs, request.cluster, chosen)
    with migrations.temporary(chosen.store.memory_limit) as con:
        taken = take_in(con, logs, naming, chosen, progress)
    for one in taken.kept_out:
        raise one.error
    cluster = naming.configured
    setting = request.setting(taken, cluster)
    described = population.describe(
        taken.attempts, setting.pools, setting.partition_pool, tau_s=chosen.metrics.tau_s
    )
    if described.height and described["arrival_time"].is_null().all():
        raise UsageError(
            "the logs do not say when jobs arrived (sacct: columns Submit and Eligible); schedules "
            "cannot be simulated or studied without that"
        )
    return Log(described, setting, cluster, tuple(sorted(log.source.sha256 for log in logs)))


@dataclass
class Site:
    """Names the cluster of logs, once their records are known, and finds its configuration."""

    logs: Sequence[Opened]
    asked: str | None
    """``--cluster``."""
    chosen: config.Config
    configured: config.Cluster | None = None
    """The cluster in the configuration, if it has any; known once it is named."""

    def __call__(self, names: Sequence[str]) -> Named:
        """What the cluster is called, of which the logs' records name ``names``.

        Raises:
            UsageError: the configuration has clusters, but not that one, or several to choose from;
                also as ``name_of``.
        """
        named = name_of(self.logs, self.asked, names)
        self.configured = _configured_cluster(self.chosen, self.asked, named.called)
        if self.configured is not None and self.configured.people != config.People():
            raise UsageError(
                f"cluster {self.configured.name!r} has clusters.people in config.toml, by "
                "which people have other names or groups: 'fairaudit run' reads its logs; leave "
                "--config out to read them as they are"
            )
        if self.configured is not None and self.configured.name != named.cluster:
            return Named(self.configured.name, "the only one that is configured", named.called)
        return named


def name_of(logs: Sequence[Opened], asked: str | None, named: Sequence[str]) -> Named:
    """What the cluster is called, of which the logs' records name ``named``.

    Raises:
        UsageError: the logs' records name several, and none of them was chosen.
    """
    called = called_by(asked, named, "--cluster")
    if asked is not None:
        return Named(asked, "--cluster", called)
    if called is not None:
        return Named(called, "the log's records", called)
    name = min(log.name for log in logs)
    for suffix in (".gz", ".bz2", ".xz", ".zst", ".swf", ".txt", ".log", ".csv", ".psv"):
        name = name.removesuffix(suffix)
    return Named(name or "cluster", "the log's name", None)


def pools(log: Log, only: str | None = None) -> list[Pool]:
    """The pools that the log holds attempts of: all of them, or the one called ``only``.

    Raises:
        UsageError: there is none.
    """
    known = {pool.name: pool for pool in log.setting.pools}
    if only is not None and only not in known:
        raise UsageError(f"--pool {only}: no such pool; there is: {', '.join(known)}")
    chosen = [pool for name, pool in known.items() if only in (None, name)]
    held = [pool for pool in chosen if (log.described["pool"] == pool.name).any()]
    if not held:
        raise UsageError("the log holds no attempts" + (f" of pool {only!r}" if only else ""))
    return held


def largest_pool(log: Log, name: str | None = None) -> Pool:
    """The pool called ``name``; without a name, the one in which most attempts ended.

    Raises:
        UsageError: there is none.
    """
    counts = dict(population.ended(log.described)["pool"].value_counts().iter_rows())
    return max(pools(log, name), key=lambda pool: counts.get(pool.name, 0))


def _configured_cluster(
    chosen: config.Config, asked: str | None, called: str | None
) -> config.Cluster | None:
    """The cluster in the configuration: the one asked for, else of the log's name, else the only.

    Raises:
        UsageError: it has clusters, but not that one, or several to choose from.
    """
    if not chosen.clusters:
        return None
    clusters = {cluster.name: cluster for cluster in chosen.clusters}
    listed = ", ".join(clusters)
    if asked is not None:
        if asked not in clusters:
            raise UsageError(f"the configuration has no cluster {asked!r}; it has: {listed}")
        return clusters[asked]
    if called in clusters:
        return clusters[called]
    if len(clusters) > 1:
        raise UsageError(f"the configuration has several clusters: {listed}; choose (--cluster)")
    return chosen.clusters[0]


def _configured_setting(taken: TakenIn, cluster: config.Cluster, request: Request) -> Setting:
    """The cluster as the configuration describes it.

    Raises:
        UsageError: flags say what the configuration says already.
    """
    flags = (
        ("--pool-size", request.pool_size),
        ("--resource", request.resource),
        ("--zone", request.zone),
    )
    for flag, value in flags:
        if value is not None:
            raise UsageError(
                f"{flag}: the configuration describes cluster {cluster.name!r}; change it there"
            )
    setting = configured(cluster, taken.attempts, taken.headers)
    zone = Fact("time zone", cluster.zone, "config.toml")
    return replace(setting, facts=(taken.cluster, zone, *setting.facts))
