"""What the night does, by config.toml: pull, ingest, compute, report, publish, deliver.

What is to be done is always worked out anew from the store: a file is read if it was not read as it
is, a period is computed if what it rests on is not what its figures were made of, a report is made
if its run made none, and the database is published if it is not what the store holds. So a run that
finds nothing new changes nothing, and one that was killed is finished by the next.

Each stage is noted in the history before it begins and when it has ended. One that fails leaves
what does not rest on it to be done.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import polars as pl

from audit import periods
from audit.cluster import compute, fairshare, results
from audit.cluster.identity import Identity
from audit.cluster.setting import Setting, configured
from audit.config import Cluster, Config, Source, Threshold, places
from audit.errors import (
    AuditError,
    LogError,
    ReportError,
    StoreError,
    UsageError,
    of_system,
)
from audit.files import lock, privacy, replace
from audit.formats.dialects import Header, Reading
from audit.ingest.ingest import (
    Named,
    Progress,
    called_by,
    identify,
    open_logs,
    refuse_beyond,
    take_in_by_name,
)
from audit.mail import delivery
from audit.model import Period
from audit.nightly import history, retention, sources
from audit.nightly.history import WHOLE, History
from audit.report import build, contents
from audit.report.render import page as render
from audit.report.render import sandbox
from audit.report.text.notices import notices
from audit.store import compaction, database, migrations, publish, queries
from audit.store.database import Connection

STAGES: Final = ("ingest", "compute", "report", "publish", "deliver")
"""What a run does, in this order."""

SETTLED_S: Final = 3600
"""A log that ends in the middle of a line is complete after so long without a change."""


UNSOUND: Final = LogError.exit_code
"""The exit code of an ingest on which no results can rest."""


class StoppedError(KeyboardInterrupt):
    """The run was asked to stop; the next one goes on from here."""


@dataclass
class Night:
    """What a run did; filled while it runs."""

    read: list[str] = field(default_factory=list)
    """Logs that were taken in."""
    computed: list[str] = field(default_factory=list)
    """Cluster and period of what was computed."""
    sent: list[str] = field(default_factory=list)
    """Mails that went out: report and address."""
    reports: list[Path] = field(default_factory=list)
    """Pages that were made."""
    published: bool = False
    warnings: list[str] = field(default_factory=list)
    exceeded: list[str] = field(default_factory=list)
    """Figures above a threshold of config.toml, in periods that were computed."""
    failures: list[AuditError] = field(default_factory=list)
    """What could not be done; the rest was."""

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        return max((failure.exit_code for failure in self.failures), default=0)


@dataclass(frozen=True)
class _Work:
    """What the stages of a run are told."""

    con: Connection
    config: Config
    folder: Path
    now: int
    only: str | None
    night: Night
    progress: Progress
    stages: Sequence[str]
    past: History
    number: int
    """Of the run, in the history."""
    stopping: Callable[[], bool]

    def stage(self, name: str, cluster: str | None, do: Callable[[], bool | None]) -> bool:
        """Does a stage and notes what became of it; whether what rests on it can be done."""
        if name not in self.stages:
            return True
        if self.stopping():
            raise StoppedError
        failures = self.night.failures
        before = len(failures)
        row = self.past.begin(name, cluster, self.only, self.number)
        sound: bool | None = None
        broken = True
        try:
            sound = do()
            broken = False
        except AuditError as error:
            failures.append(error)
        except OSError as error:
            failures.append(AuditError(f"{name}: {of_system(error)}"))
        except BaseException as error:
            _note(self.past, row, error)
            raise
        mine = failures[before:]
        if mine:
            code = UNSOUND if sound is False else max(failure.exit_code for failure in mine)
            _end(self.past, row, code, "\n".join(map(str, mine)))
        else:
            self.past.end(row, "done")
        return sound is not False and not broken


@privacy.private()
def run(
    config: Config,
    folder: Path,
    now: int,
    only: str | None = None,
    progress: Progress = lambda what, done, of: None,
    cluster: str | None = None,
    stages: Sequence[str] = STAGES,
    stopping: Callable[[], bool] = lambda: False,
) -> Night:
    """Does all that is to be done, for every cluster.

    Args:
        config: the configuration in force.
        folder: what its paths are relative to.
        now: epoch s, to note when things were done; no figure depends on it.
        only: the name of the one period to compute and report; None takes all.
        progress: told how far it is.
        cluster: the name of the only one to work for; None takes all.
        stages: which of STAGES.
        stopping: asked often whether to stop.

    Raises:
        LockedError: another run is at work.
        UsageError: there is no cluster, or no such period.
        StoppedError: ``stopping`` said so. What was begun was taken back.
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
    begun = time.monotonic()

    def clock() -> int:
        return now + int(time.monotonic() - begun)

    def watched(what: str, done: int, of: int) -> None:
        if stopping():
            raise StoppedError
        progress(what, done, of)

    night = Night()
    what = WHOLE if tuple(stages) == STAGES else "part"
    with (
        lock.held(store, f"fairaudit {WHOLE if what == WHOLE else stages[-1]}"),
        history.opened(state, clock) as past,
    ):
        number = past.begin(what, cluster, only)
        try:
            con = database.open_store(store, config.store.memory_limit)
            try:
                migrations.migrate(con)
                work = _Work(
                    con, config, folder, now, only, night, watched, stages, past, number, stopping
                )
                _all(work, [one for one in config.clusters if cluster in (None, one.name)])
                crowded = config.retention.compact and compaction.free(con).worth_it
            finally:
                con.close()
            if crowded:
                _compact(store, config, night)
        except BaseException as error:
            _note(past, number, error)
            raise
        if night.failures:
            _end(past, number, night.exit_code, "\n".join(map(str, night.failures)))
        else:
            past.end(number, "done")
    return night


def _all(work: _Work, clusters: Sequence[Cluster]) -> None:
    """The stages of a run."""
    if "report" in work.stages:
        # in the background, while logs are read
        limits = sandbox.limits(work.config.report) if work.config.report.pdf else None
        render.prepare(limits)
    for cluster in clusters:
        _one(work, cluster)
    retention.forget(work.con, work.past, work.config.retention, work.now)
    work.stage("publish", None, lambda: _publish(work))
    if work.config.mail.via != "none":
        work.stage("deliver", None, lambda: _deliver(work))
    try:
        retention.remove_reports(work.con, work.config, work.folder, work.now)
    except AuditError as error:
        work.night.failures.append(error)


def _compact(store: Path, config: Config, night: Night) -> None:
    try:
        compaction.compact(store, config.store.memory_limit)
    except AuditError as error:
        night.failures.append(error)


def _one(work: _Work, cluster: Cluster) -> None:
    """The stages for one cluster."""
    if "ingest" not in work.stages:
        last = work.past.last("ingest", cluster.name)
        if last is not None and last.exit_code == UNSOUND:
            work.night.failures.append(LogError(f"cluster {cluster.name!r}: {last.error}"))
            return
    if not work.stage("ingest", cluster.name, lambda: _ingest(work, cluster)):
        return  # what was good is kept; no results rest on a log that was mostly refused
    if work.stage("compute", cluster.name, lambda: _compute(work, cluster)):
        work.stage("report", cluster.name, lambda: _report(work, cluster))


def _publish(work: _Work) -> None:
    """Gives readers what the store holds, unless they have it."""
    target = work.folder / work.config.output.database
    retention.remove_drafts(target)
    work.past.copy(work.con)
    if not _is_published(work.con, target):
        _replace(work, target)
        work.night.published = True


def _deliver(work: _Work) -> None:
    """Sends what is due, and lets readers see what became of it."""
    pause = delivery.pausing(stopping=work.stopping)
    done = delivery.deliver(work.con, work.config, work.folder, work.now, pause=pause)
    work.night.sent += done.sent
    work.night.failures += done.failures
    if done.changed and not _is_published(
        work.con, target := work.folder / work.config.output.database
    ):
        _replace(work, target)


def _replace(work: _Work, target: Path) -> None:
    publish.publish(work.con, target)
    privacy.share(target, with_group=work.config.output.shared_with_group)


def _end(past: History, number: int, code: int, said: str) -> None:
    """Notes a failure. Where even that fails, the next run notes that this one was abandoned."""
    with suppress(StoreError):
        past.end(number, "failed", code, said)


def _note(past: History, number: int, error: BaseException) -> None:
    """Notes what ended a stage or a run from within."""
    if isinstance(error, KeyboardInterrupt):
        with suppress(StoreError):
            past.end(number, "abandoned", AuditError.exit_code, "asked to stop")
    elif isinstance(error, AuditError):
        _end(past, number, error.exit_code, str(error))
    elif isinstance(error, Exception):
        _end(past, number, AuditError.exit_code, f"{type(error).__name__}: {error}")


def _ingest(work: _Work, cluster: Cluster) -> bool:
    """Takes in what is new; whether all of it could be built on."""
    night = work.night
    sound = True
    seen = {
        path: (size, modified)
        for path, size, modified, _ in queries.run(
            work.con, "seen", cluster=cluster.name
        ).iter_rows()
    }
    for number, source in enumerate(cluster.sources):
        if source.command is not None:
            try:
                sound = _pull(work, cluster, source, number) and sound
            except AuditError as error:
                night.failures.append(error)
                sound = sound and error.exit_code != UNSOUND
            continue
        found = sources.files(source, work.folder)
        if not found:
            night.warnings.append(f"cluster {cluster.name!r}: no file matches {source.files!r}")
        for path in found:
            try:
                sound = _take_file(work, cluster, source, path, seen.get(str(path))) and sound
            except OSError as error:
                night.failures.append(LogError(f"{path}: cannot be read: {error.strerror}"))
            except AuditError as error:
                night.failures.append(error)
                sound = sound and error.exit_code != UNSOUND
    return sound


def _pull(work: _Work, cluster: Cluster, source: Source, number: int) -> bool:
    """Takes in what a command prints, window by window where it has some; whether all is sound."""
    stem = f"{places.file_name(cluster.name)}-{number}"
    state = work.folder / work.config.output.state
    if not source.in_windows:
        watch = partial(work.progress, f"pulling {cluster.name}", 0, 1)
        with sources.printed(
            source, work.folder, state / f"{stem}.log", cluster.zone, watch=watch
        ) as path:
            if path.stat().st_size:
                _take(work, cluster, source, path)
        return True
    name = sources.identify(source, cluster.zone)
    known = queries.run(work.con, "pulled", cluster=cluster.name, source=name).rows()
    pulled = {(start, end): at for start, end, at in known}
    due = sources.due(source, cluster.zone, work.now, pulled)
    sound = True
    for done, window in enumerate(due):
        watch = partial(work.progress, f"pulling {cluster.name}", done, len(due))
        watch()
        spool = state / f"{stem}-{window.day}.log"
        with sources.printed(
            source, work.folder, spool, cluster.zone, window, work.now, watch
        ) as path:
            try:
                if path.stat().st_size:
                    _take(work, cluster, source, path, may_be_empty=True)
            except LogError as error:  # the other windows may be good; this one is asked for again
                work.night.failures.append(error)
                sound = sound and error.exit_code != UNSOUND
                continue
        _note_pulled(work, cluster.name, name, window)
    work.progress(f"pulling {cluster.name}", len(due), len(due))
    return sound


def _note_pulled(work: _Work, cluster: str, source: str, window: sources.Window) -> None:
    row = {
        "cluster": cluster,
        "source": source,
        "from_time": window.from_time,
        "to_time": window.to_time,
        "pulled_at": work.now,
    }
    with database.transaction(work.con):
        database.execute(
            work.con,
            "DELETE FROM pulled WHERE cluster = ? AND source = ? AND from_time = ? AND to_time = ?",
            [cluster, source, window.from_time, window.to_time],
        )
        database.insert(work.con, "pulled", pl.DataFrame([row]))


def _take_file(
    work: _Work, cluster: Cluster, source: Source, path: Path, look: tuple[int, int] | None
) -> bool:
    """Takes in one file unless it was, looking like this; whether it is settled."""
    stat = path.stat()
    if look == (stat.st_size, stat.st_mtime_ns):
        return True
    if work.now - stat.st_mtime < SETTLED_S and not _ends_with_line(path):
        work.night.warnings.append(
            f"{path}: ends in the middle of a line, so it is still being written: left for the "
            f"next run (a log without a last line break is read {SETTLED_S // 60} minutes after "
            "its last change)"
        )
        return True
    row = {
        "cluster": cluster.name,
        "path": str(path),
        "input_id": _take(work, cluster, source, path),
        "size": stat.st_size,
        "modified_ns": stat.st_mtime_ns,
    }
    with database.transaction(work.con):
        database.execute(
            work.con,
            "DELETE FROM seen WHERE cluster = ? AND path = ?",
            [cluster.name, str(path)],
        )
        database.insert(work.con, "seen", pl.DataFrame([row]))
    return True


def _ends_with_line(path: Path) -> bool:
    """Whether a log ends where a line does; of compressed and empty ones their reader judges."""
    with path.open("rb") as log:
        if log.read(2) in (b"\x1f\x8b", b""):
            return True
        log.seek(-1, 2)
        return log.read(1) in b"\r\n"


def _take(
    work: _Work, cluster: Cluster, source: Source, path: Path, *, may_be_empty: bool = False
) -> str:
    """Takes in one log; gives its input."""
    con, night = work.con, work.night
    reading = Reading(source.columns, source.separator, cluster.zone)
    logs = open_logs([path], source.dialect, reading)

    def naming(names: Sequence[str]) -> Named:
        called = called_by(cluster.name, names, "clusters.name")
        return Named(cluster.name, "config.toml", called)

    _, (taken,) = take_in_by_name(con, logs, naming, now=work.now, progress=work.progress)
    if not taken.known and (taken.records or not may_be_empty):
        night.read.append(f"{taken.file}: {taken.records:,} records, {taken.refused:,} refused")
    if taken.records or not may_be_empty:
        refuse_beyond(con, cluster.name, logs, work.config.ingest.refused_limit)
    return identify(cluster.name, logs[0])


def _compute(work: _Work, cluster: Cluster) -> None:
    """Computes the periods whose figures are not of what the store holds now."""
    con, config, only, night = work.con, work.config, work.only, work.night
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
    settings = fairshare.read(cluster.usage, work.folder, cluster.name)
    in_force = json.dumps(
        {
            "config": config.model_dump(mode="json", include={"metrics", "uncertainty"}),
            "cluster": cluster.model_dump(mode="json", exclude={"sources"}),
            "pools": setting.pools,
            **({"files": settings.in_force} if settings.in_force else {}),
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
    work.progress(f"computing {cluster.name}", 0, 1)
    computed = compute.compute(
        attempts,
        setting,
        {identity.period: identity.seed for identity in due},
        config,
        settings,
        queries.run(con, "known_fair_starts", cluster=cluster.name),
        lambda done, of: work.progress(f"fair start times of {cluster.name}", done, of),
    )
    results.replace(con, setting, computed, due, kept, work.now)
    work.progress(f"computing {cluster.name}", 1, 1)
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


def _report(work: _Work, cluster: Cluster) -> None:
    """Makes the reports that are missing; they replace what was there in one step each."""
    con, config, night = work.con, work.config, work.night
    options = contents.Options(rows=config.report.rows, examples=config.report.examples)
    due = queries.run(con, "unreported", cluster=cluster.name).rows()
    what = f"reports of {cluster.name}"
    for number, (name, start, end, run_id) in enumerate(due):
        work.progress(what, number, len(due))
        period = Period(name, start, end)
        place = places.of_report(config, work.folder, cluster.name, name)
        privacy.shared_folder(place, with_group=config.output.shared_with_group)
        page = build.build(con, cluster.name, period, options)
        drawn = render.draw(page)
        html = render.render_html(page, drawn).encode()
        replace.write(place / "report.html", html, alone=True)
        if config.report.pdf:
            try:
                pdf = render.render_pdf(page, drawn, sandbox.limits(config.report))
                replace.write(place / "report.pdf", pdf, alone=True)
            except ReportError as error:
                night.failures.append(error)
                (place / "report.pdf").unlink(missing_ok=True)
                continue
        for made in place.glob("report.*"):
            privacy.share(made, with_group=config.output.shared_with_group)
        _note_report(con, cluster.name, name, run_id, work.now)
        night.reports.append(place / "report.html")
        if page.empty:
            night.warnings.append(f"{cluster.name} {name}: no attempt ended in this period")
        night.warnings += [
            f"{cluster.name} {name}: {notice.text}" for notice in notices(page) if notice.grave
        ]
    if due:
        work.progress(what, len(due), len(due))


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
