"""What a published database holds of a cluster: its attempts, and what must be known of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import TypeAdapter

from audit import config
from audit.cluster import fitted
from audit.cluster.inference import Fact
from audit.cluster.setting import Setting, configured, one_off
from audit.errors import UsageError
from audit.formats.dialects import Header
from audit.metrics.attempts import population
from audit.model import BY_USAGE, Policy
from audit.pipeline.opening import Log
from audit.store import database, queries
from audit.store.attempts import read_attempts
from audit.store.database import Connection
from audit.words import Resource


def open_published(path: Path, chosen: config.Config, name: str | None = None) -> Log:
    """The attempts of a cluster, and its pools as its figures were computed with them.

    Args:
        path: a published database.
        chosen: the configuration in force. If it has the cluster, its pools are as described
            there; else as they were when figures were computed.
        name: the cluster; None: the only one.

    Raises:
        UsageError: there is no such database or cluster, or it holds several.
        LockedError: a run is writing the file.
        StoreError: the file is no database.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such database; make one with 'fairaudit audit LOG'")
    with closing(database.open_snapshot(path, memory_limit=chosen.sql.memory_limit)) as con:
        names = database.fetch(con, "SELECT cluster FROM clusters ORDER BY ALL")["cluster"]
        cluster = _named(path, names.to_list(), name)
        attempts = read_attempts(con, cluster)
        site = next((each for each in chosen.clusters if each.name == cluster), None)
        setting = _setting(con, cluster, attempts, site)
        read = queries.run(con, "report_inputs", cluster=cluster, whole=True, inputs=[])
    tau_s = chosen.metrics.tau_s
    described = population.describe(attempts, setting.pools, setting.partition_pool, tau_s=tau_s)
    return Log(described, setting, site, tuple(sorted(read["content_sha256"])))


def headers(con: Connection, cluster: str) -> dict[str, Header]:
    """What the logs' own headers said, by name of the file."""
    found = {}
    for file, _, text in queries.run(con, "headers", cluster=cluster).iter_rows():
        header = json.loads(text)
        found[file] = Header(
            zone=header["zone"],
            capacity=header["capacity"],
            entries=header["entries"],
            problems=tuple(header["problems"]),
        )
    return found


def _named(path: Path, names: list[str], name: str | None) -> str:
    if name in names:
        return str(name)
    if name is not None:
        raise UsageError(f"{path}: no cluster {name!r}; it has: {', '.join(names) or 'none'}")
    if len(names) != 1:
        raise UsageError(f"{path}: choose a cluster (--cluster): {', '.join(names) or 'none'}")
    return names[0]


def _setting(
    con: Connection, cluster: str, attempts: pl.DataFrame, site: config.Cluster | None
) -> Setting:
    """Pools, zone and instant: as configured, else as they were when figures were computed."""
    of_logs = headers(con, cluster)
    if site is not None:
        return configured(site, attempts, of_logs)
    kept = queries.run(con, "settings_in_force", cluster=cluster)
    settings: Mapping[str, Any] = json.loads(kept.item()) if kept.height else {}
    try:
        if "cluster" in settings:
            known = {key: settings["cluster"][key] for key in ("name", "zone", "pools")}
            site = config.Cluster.model_validate_json(json.dumps(known))
            _refuse_owners(site)
            return fitted.again(configured(site, attempts, of_logs), settings.get("assumed", {}))
        asked = settings["asked"]
        policy = TypeAdapter(Policy).validate_python(asked["policy"])
        resource = Resource(asked["resource"])
        fact = Fact("cluster", cluster, "the database")
        size, zone = asked["pool_size"], asked["zone"]
        inferred = one_off(fact, attempts, of_logs, resource, size, zone, policy)
        return fitted.again(inferred, settings.get("assumed", {}))
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"cluster {cluster!r} was computed by another version of fairaudit: audit its logs "
            "again"
        ) from error


def _refuse_owners(site: config.Cluster) -> None:
    """Raises UsageError where a queue goes by usage: files beside config.toml say how."""
    for pool in site.pools:
        if {pool.order, pool.fair_order} & {*BY_USAGE}:
            raise UsageError(
                f"pool {pool.name!r} of cluster {site.name!r} is ordered by {pool.order.value}, "
                "and how usage is charged stands in its config.toml: give --config"
            )
