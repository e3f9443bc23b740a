"""Reads the attempts of a cluster, and its setting, from a published database or from logs."""

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import TypeAdapter

from audit.cluster import declared, fitted
from audit.cluster.inference import Fact
from audit.cluster.log_begin import LogBegin, log_begin
from audit.cluster.setting import ClusterSettings, Extent, configured, one_off
from audit.cluster.windows import by_history
from audit.config import Cluster, Config, places
from audit.errors import UsageError
from audit.formats.dialects import Header
from audit.metrics.attempts import population
from audit.metrics.attempts.similar import LEAD_S
from audit.model import BY_USAGE, Policy
from audit.pipeline.inferring import in_force
from audit.pipeline.opening import ClusterLog, Session, open_log, planned_starts, recorded_attempts
from audit.policies import Backfill, Order
from audit.progress import printable
from audit.store import archive, database, queries, snapshots
from audit.store.database import Connection
from audit.words import Resource


def open_published(
    path: Path,
    config: Config,
    name: str | None = None,
    job: str | None = None,
    archive: Path | None = None,
    *,
    fit: bool = True,
) -> ClusterLog:
    """Return the attempts of a cluster, and its pools as its figures were computed with them.

    Args:
        chosen: if it has the cluster, its pools are as described there; otherwise as they were
            when figures were computed.
        name: the cluster; None: the only one.
        job: what was inferred for the period in which this job ended is in force. If a part of the
            cluster is archived, only the attempts around it are read, from ``LEAD_S`` before it
            came to its end, unless the order of the queue needs more (``by_history``). None: all
            are.
        fit: whether what was inferred when figures were computed is in force.

    Raises:
        UsageError: there is no such database, cluster or job, or it has several clusters.
        LockedError: a run is writing the file.
        StoreError: the file is not a database.
    """
    opened = snapshots.open_snapshot(path, memory_limit=config.sql.memory_limit, archive=archive)
    with closing(opened) as con:
        names = database.fetch(con, "SELECT cluster FROM clusters ORDER BY ALL")["cluster"]
        cluster = _named(path, names.to_list(), name)
        site = next((each for each in config.clusters if each.name == cluster), None)
        attempts, setting = _read(con, cluster, site, job, fit=fit)
        setting = replace(setting, part=_part(con, cluster))
        read = queries.run(con, "records/inputs", cluster=cluster, whole=True, inputs=[])
        planned = planned_starts(con, cluster)
    tau_s = config.metrics.tau_s
    described = population.describe(attempts, setting.pools, setting.partition_pool, tau_s=tau_s)
    return ClusterLog(described, setting, site, tuple(sorted(read["content_sha256"])), planned)


def open_either(session: Session, job: str | None = None) -> ClusterLog:
    """Return the attempts of the logs of a session; without logs, those of its database.

    ``job`` as of ``open_published``. Raises the errors of ``open_log`` or ``open_published``.
    """
    request, config, folder = session.request, session.config, session.folder
    on_progress, fit = session.on_progress, session.fit
    if request.logs:
        log = in_force(open_log(request, config, on_progress, folder), on_progress, folder, fit=fit)
        for fact in log.setting.facts:
            session.on_inferred(fact)
        return log
    assert session.database is not None  # a command without logs has one
    on_progress("reading", 0, 1)
    kept = places.Site(config, folder).archive_of(session.database)
    return open_published(session.database, config, request.cluster, job, kept, fit=fit)


def _read(
    con: Connection, cluster: str, site: Cluster | None, job: str | None, *, fit: bool
) -> tuple[pl.DataFrame, ClusterSettings]:
    """Return the attempts and the setting; see ``open_published``."""

    def setting_of(attempts: pl.DataFrame, known: Extent | None = None) -> ClusterSettings:
        settings = _settings(con, cluster, last)
        try:
            setting = _stated(con, cluster, attempts, site, settings, known)
            if fit:
                return fitted.again(setting, settings.get("assumed", {}))
        except (KeyError, TypeError, ValueError) as error:
            why = "was computed by another version of fairaudit: audit its logs again"
            raise UsageError(f"cluster {cluster!r} {why}") from error
        return fitted.assuming(setting, fitted.nothing(setting))

    last = None
    if job is not None:
        ((first, last),) = queries.rows(con, "span_of_job", cluster=cluster, job_id=job)
        if archive.months(con, cluster):
            if first is None:
                raise UsageError(f"cluster {cluster!r} has no job {printable(job)!r}")
            since, until = first - LEAD_S, None if last is None else last + 1
            attempts = recorded_attempts(con, cluster, since, until)
            setting = setting_of(attempts, extent(con, cluster))
            if not any(by_history(pool) for pool in setting.pools):
                return attempts, setting
    attempts = recorded_attempts(con, cluster)
    return attempts, setting_of(attempts)


def extent(con: Connection, cluster: str) -> Extent:
    """Return the facts about a cluster's attempts that its setting needs, without reading them."""
    ((latest,),) = queries.rows(con, "latest_instant", cluster=cluster)
    return Extent([row for (row,) in queries.rows(con, "partitions", cluster=cluster)], latest)


def headers(con: Connection, cluster: str) -> dict[str, Header]:
    """Return the logs' own headers, by name of the file."""
    found = {}
    for file, _, text, _ in queries.rows(con, "headers", cluster=cluster):
        header = json.loads(text)
        known = {name: header[name] for name in ("zone", "capacity", "entries")}
        found[file] = Header(**known, problems=tuple(header["problems"]))
    return found


def _part(con: Connection, cluster: str) -> str:
    """Return ``ClusterSettings.part`` as it was when figures were last computed."""
    ((_, notes),) = queries.rows(con, "report/cluster", cluster=cluster, period="")
    noted = json.loads(notes)
    return str(noted.get("part", "")) if isinstance(noted, dict) else ""


def _named(path: Path, names: list[str], name: str | None) -> str:
    if name in names:
        return str(name)
    listed = ", ".join(map(printable, names)) or "none"
    if name is not None:
        raise UsageError(f"{path}: no cluster {printable(name)!r}; it has: {listed}")
    if len(names) != 1:
        raise UsageError(f"{path}: choose a cluster (--cluster): {listed}")
    return names[0]


def _settings(con: Connection, cluster: str, at: int | None) -> dict[str, Any]:
    """Return the configuration with which the figures of an instant's period were computed."""
    kept = queries.rows(con, "settings_in_force", cluster=cluster, at=at)
    return dict(json.loads(kept[0][0])) if kept else {}


def _stated(
    con: Connection,
    cluster: str,
    attempts: pl.DataFrame,
    site: Cluster | None,
    settings: Mapping[str, Any],
    known: Extent | None,
) -> ClusterSettings:
    """Return the setting without what was inferred: as configured, or as figures had it."""
    of_logs, begin = headers(con, cluster), _begin(con, cluster)
    nodes = declared.restored(settings.get("declared", {}))
    if site is not None:
        return configured(site, attempts, of_logs, known, nodes).begun(begin)
    if "cluster" in settings:
        described = {key: settings["cluster"][key] for key in ("name", "zone", "pools")}
        site = Cluster.model_validate_json(json.dumps(described))
        for pool in site.pools:
            for key, order in (("order", pool.order), ("fair_order", pool.fair_order)):
                if order in BY_USAGE:  # by files beside config.toml
                    of = f"pool {pool.name!r} of cluster {site.name!r} has {key} {order.value}"
                    raise UsageError(f"{of}: pass --config, which says how to charge usage")
        found = configured(site, attempts, of_logs, known, nodes).begun(begin)
        if "stated" in settings:
            order, backfill = settings["stated"]
            found = found.stating(order and Order(order), backfill and Backfill(backfill))
        return found
    options = settings["asked"]
    policy = TypeAdapter(Policy).validate_python(options["policy"])
    resource = Resource(options["resource"]) if options["resource"] else None
    fact = Fact("cluster", cluster, "the database")
    asked = (resource, options["pool_size"], options["zone"], policy)
    found = one_off(fact, attempts, of_logs, *asked, nodes).begun(begin)
    return found.stating_backfill() if options["states_backfill"] else found


def _begin(con: Connection, cluster: str) -> LogBegin | None:
    """Return the begin of the log with which figures were computed; without any, of its records."""
    ((known,),) = queries.rows(con, "log_begin_in_force", cluster=cluster)
    return log_begin(con, cluster) if known is None else LogBegin(known, "the database")
