"""What the night does, by config.toml: pull, ingest, compute, report, publish.

What is to be done is always worked out anew from the store: a file is read if it was not read as it
is, a period is computed if what it rests on is not what its figures were made of, a report is made
if its run made none, and the database is published if it is not what the store holds. So a run that
finds nothing new changes nothing, and one that was killed is finished by the next.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from audit import periods
from audit.config import Cluster, Config, Source, Threshold
from audit.errors import AuditError, ReportError, UsageError
from audit.formats.dialects import Header, Reading
from audit.ingest.ingest import (
    Progress,
    called_by,
    clusters,
    identify,
    open_logs,
    refuse_beyond,
    take_in,
)
from audit.model import Period
from audit.report import build, contents, findings, render, sandbox
from audit.service import compute, lock, places, privacy, results, sources
from audit.service.identity import Identity
from audit.service.setting import Setting, configured
from audit.store import database, migrations, publish, queries
from audit.store.database import Connection


@dataclass
class Night:
    """What a run did; filled while it runs."""

    read: list[str] = field(default_factory=list)
    """Logs that were taken in."""
    computed: list[str] = field(default_factory=list)
    """Cluster and period of what was computed."""
    reports: list[Path] = field(default_factory=list)
    """Pages that were made."""
    published: bool = False
    warnings: list[str] = field(default_factory=list)
    exceeded: list[str] = field(default_factory=list)
    """Figures above a threshold of config.toml, in periods that were computed."""
    failures: list[AuditError] = field(default_factory=list)
    """What could not be done; the rest was."""


@privacy.private()
def run(
    config: Config,
    folder: Path,
    now: int,
    only: str | None = None,
    progress: Progress = lambda what, done, of: None,
) -> Night:
    """Does all that is to be done, for every cluster.

    Args:
        config: the configuration in force.
        folder: what its paths are relative to.
        now: epoch s, to note when things were done; no figure depends on it.
        only: the name of the one period to compute and report; None takes all.
        progress: told how far it is.

    Raises:
        LockedError: another run is at work.
        UsageError: there is no cluster, or no such period.
        AuditError: the store itself fails. Failures of a source, a cluster or a report are kept in
            the result instead, and the rest is done.
    """
    if not config.clusters:
        raise UsageError("run: the configuration has no [[clusters]]; 'fairaudit init' writes one")
    state = folder / config.output.state
    store = state / "store.duckdb"
    try:
        privacy.own_folder(state)
    except OSError as error:
        raise UsageError(f"{state}: cannot be made: {error.strerror} (output.state)") from error
    night = Night()
    with lock.held(store):
        con = database.open_store(store, config.store.memory_limit)
        try:
            migrations.migrate(con)
            # in the background, while logs are read
            render.prepare(sandbox.limits(config.report) if config.report.pdf else None)
            for cluster in config.clusters:
                _one(con, cluster, config, folder, now, only, night, progress)
            target = folder / config.output.database
            if not _is_published(con, target):
                publish.publish(con, target)
                privacy.share(target, with_group=config.output.shared_with_group)
                night.published = True
        finally:
            con.close()
    return night


def _one(
    con: Connection,
    cluster: Cluster,
    config: Config,
    folder: Path,
    now: int,
    only: str | None,
    night: Night,
    progress: Progress,
) -> None:
    """The stages for one cluster. One that fails leaves the others to be done."""
    sound = _ingest(con, cluster, config, folder, now, night, progress)
    if not sound:
        return  # what was good is kept; no results rest on a log that was mostly refused
    try:
        _compute(con, cluster, config, now, only, night, progress)
        _report(con, cluster, config, folder, now, night, progress)
    except AuditError as error:
        night.failures.append(error)


def _ingest(
    con: Connection,
    cluster: Cluster,
    config: Config,
    folder: Path,
    now: int,
    night: Night,
    progress: Progress,
) -> bool:
    """Takes in what is new; whether all of it could be built on."""
    sound = True
    seen = {
        path: (size, modified)
        for path, size, modified, _ in queries.run(con, "seen", cluster=cluster.name).iter_rows()
    }
    for number, source in enumerate(cluster.sources):
        if source.command is not None:
            spool = folder / config.output.state / f"{places.file_name(cluster.name)}-{number}.log"
            try:
                with sources.printed(source, folder, spool) as path:
                    if path.stat().st_size:
                        _take(con, cluster, source, path, config, now, night, progress)
            except AuditError as error:
                night.failures.append(error)
                sound = sound and error.exit_code != 3
            continue
        found = sources.files(source, folder)
        if not found:
            night.warnings.append(f"cluster {cluster.name!r}: no file matches {source.files!r}")
        for path in found:
            look = (path.stat().st_size, path.stat().st_mtime_ns)
            if seen.get(str(path)) == look:
                continue
            try:
                taken = _take(con, cluster, source, path, config, now, night, progress)
            except AuditError as error:
                night.failures.append(error)
                sound = sound and error.exit_code != 3
                continue
            row = {"cluster": cluster.name, "path": str(path), "input_id": taken}
            with database.transaction(con):
                database.execute(
                    con,
                    "DELETE FROM seen WHERE cluster = ? AND path = ?",
                    [cluster.name, str(path)],
                )
                database.insert(
                    con, "seen", pl.DataFrame([{**row, "size": look[0], "modified_ns": look[1]}])
                )
    return sound


def _take(
    con: Connection,
    cluster: Cluster,
    source: Source,
    path: Path,
    config: Config,
    now: int,
    night: Night,
    progress: Progress,
) -> str:
    """Takes in one log; gives its input."""
    reading = Reading(source.columns, source.separator, cluster.zone)
    logs = open_logs([path], source.dialect, reading)
    called = called_by(cluster.name, sorted(clusters(logs[0])), "clusters.name")
    (taken,) = take_in(con, cluster.name, logs, now=now, called=called, progress=progress)
    if not taken.known:
        night.read.append(f"{taken.file}: {taken.records:,} records, {taken.refused:,} refused")
    refuse_beyond(con, cluster.name, logs, config.ingest.refused_limit)
    return identify(cluster.name, logs[0])


def _compute(
    con: Connection,
    cluster: Cluster,
    config: Config,
    now: int,
    only: str | None,
    night: Night,
    progress: Progress,
) -> None:
    """Computes the periods whose figures are not of what the store holds now."""
    attempts = queries.run(con, "attempts", cluster=cluster.name)
    if attempts.is_empty():
        night.warnings.append(f"cluster {cluster.name!r}: no records yet, so nothing to report")
        return
    setting = configured(cluster, attempts, _headers(con, cluster.name))
    current = dict.fromkeys(_periods(attempts, cluster, setting))
    if only is not None and only not in {period.name for period in current}:
        names = [period.name for period in current]
        raise UsageError(
            f"--period {only!r}: cluster {cluster.name!r} has {names[0]} to {names[-1]}"
        )
    done = {
        Period(name, start, end): run_id
        for name, start, end, run_id in queries.run(
            con, "computed", cluster=cluster.name
        ).iter_rows()
    }
    in_force = json.dumps(
        {
            "config": config.model_dump(mode="json", include={"metrics", "uncertainty"}),
            "cluster": cluster.model_dump(mode="json", exclude={"sources"}),
            "pools": setting.pools,
        },
        sort_keys=True,
    )
    identities = [Identity.of(con, cluster.name, period, in_force) for period in current]
    due = [
        identity
        for identity in identities
        if done.get(identity.period) != identity.run_id and only in (None, identity.period.name)
    ]
    kept = {
        period: run_id
        for period, run_id in done.items()
        if period in current and period not in {identity.period for identity in due}
    }
    if not due and len(kept) == len(done):
        return
    progress(f"computing {cluster.name}", 0, 1)
    computed = compute.compute(
        attempts,
        setting,
        {identity.period: identity.seed for identity in due},
        config,
        cluster.usage,
        queries.run(con, "known_fair_starts", cluster=cluster.name),
        lambda done, of: progress(f"fair start times of {cluster.name}", done, of),
    )
    results.replace(con, setting, computed, due, kept, now)
    progress(f"computing {cluster.name}", 1, 1)
    night.warnings += [f"cluster {cluster.name!r}: {said}" for said in setting.warnings]
    night.computed += [f"{cluster.name} {identity.period.name}" for identity in due]
    for threshold in config.thresholds:
        for identity in due:
            night.exceeded += _exceeded(con, identity, threshold)


def _exceeded(con: Connection, identity: Identity, limit: Threshold) -> list[str]:
    found = queries.run(
        con,
        "exceeded",
        cluster=identity.cluster,
        period=identity.period.name,
        metric=limit.metric,
        dimension=limit.dimension,
        above=limit.above,
    )
    return [
        f"{identity.cluster} {identity.period.name}, pool {pool}: {limit.metric}"
        f"{'' if part is None else f' of {limit.dimension} {part}'} is {value:g} {unit}, "
        f"above {limit.above:g}"
        for pool, part, value, unit in found.iter_rows()
    ]


def _report(
    con: Connection,
    cluster: Cluster,
    config: Config,
    folder: Path,
    now: int,
    night: Night,
    progress: Progress,
) -> None:
    """Makes the reports that are missing; they replace what was there in one step each."""
    options = contents.Options(rows=config.report.rows, examples=config.report.examples)
    due = queries.run(con, "unreported", cluster=cluster.name).rows()
    what = f"reports of {cluster.name}"
    for number, (name, start, end, run_id) in enumerate(due):
        progress(what, number, len(due))
        period = Period(name, start, end)
        place = places.of_report(config, folder, cluster.name, name)
        privacy.shared_folder(place, with_group=config.output.shared_with_group)
        page = build.build(con, cluster.name, period, options)
        drawn = render.draw(page)
        _write(place / "report.html", render.render_html(page, drawn).encode())
        if config.report.pdf:
            try:
                _write(
                    place / "report.pdf",
                    render.render_pdf(page, drawn, sandbox.limits(config.report)),
                )
            except ReportError as error:
                night.failures.append(error)
                (place / "report.pdf").unlink(missing_ok=True)
                continue
        for made in place.glob("report.*"):
            privacy.share(made, with_group=config.output.shared_with_group)
        _note_report(con, cluster.name, name, run_id, now)
        night.reports.append(place / "report.html")
        if page.empty:
            night.warnings.append(f"{cluster.name} {name}: no attempt ended in this period")
        night.warnings += [
            f"{cluster.name} {name}: {notice.text}"
            for notice in findings.notices(page)
            if notice.grave
        ]
    if due:
        progress(what, len(due), len(due))


def _note_report(con: Connection, cluster: str, period: str, run_id: str, now: int) -> None:
    with database.transaction(con):
        database.execute(
            con,
            "DELETE FROM run WHERE cluster = ? AND period = ? AND stage = 'report'",
            [cluster, period],
        )
        database.execute(
            con,
            "INSERT INTO run SELECT * REPLACE ('report' AS stage, ? AS ended_at) FROM run "
            "WHERE cluster = ? AND period = ? AND stage = 'compute' AND run_id = ?",
            [now, cluster, period, run_id],
        )


def _write(path: Path, content: bytes) -> None:
    draft = path.with_name(f".{path.name}.draft")
    draft.write_bytes(content)
    draft.replace(path)


def _periods(attempts: pl.DataFrame, cluster: Cluster, setting: Setting) -> list[Period]:
    """The periods from the first in which an attempt ended, or left the queue, to the last."""
    instants = attempts.select(
        pl.coalesce("end_time", "start_time", "eligible_time", "submit_time").alias("instant")
    )["instant"].drop_nulls()
    if instants.is_empty():
        return []
    first, last = instants.sort().gather([0, -1]).to_list()
    return periods.covering(cluster.period, first, last, setting.zone)


def _headers(con: Connection, cluster: str) -> dict[str, Header]:
    found = {}
    for file, _, text in queries.run(con, "headers", cluster=cluster).iter_rows():
        said = json.loads(text)
        found[file] = Header(
            zone=said["zone"],
            capacity=said["capacity"],
            entries=said["entries"],
            problems=tuple(said["problems"]),
        )
    return found


def _is_published(con: Connection, target: Path) -> bool:
    """Whether a reader finds at ``target`` what the store holds."""
    if not target.exists():
        return False
    reader = database.open_snapshot(target)
    try:
        state = [queries.run(of, "published_state") for of in (reader, con)]
        return state[0].equals(state[1], null_equal=True)
    except AuditError:
        return False  # of an older version
    finally:
        reader.close()
