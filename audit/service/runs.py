"""What the commands do, as plain functions: stages of a run, one after the other."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from audit import __version__, periods
from audit.config import Config
from audit.errors import ReportError, StoreError, UsageError
from audit.ingest.ingest import Opened, Progress, open_logs, refuse_beyond, take_in
from audit.model import Period, Resource
from audit.report import build, contents, findings, render
from audit.service import compute, inference, lock
from audit.service.inference import Fact
from audit.store import database, migrations, publish, queries
from audit.store.database import Connection

STAGES: Final = ("ingest", "compute", "report", "publish")


@dataclass(frozen=True)
class Request:
    """What ``fairaudit audit`` was asked for; None lets the log decide."""

    logs: Sequence[Path]
    out: Path
    database: Path | None = None
    """A database to add to. None makes ``audit.duckdb`` in ``out`` anew."""
    dialect: str | None = None
    cluster: str | None = None
    pool_size: int | None = None
    resource: Resource = Resource.cpus
    zone: str | None = None
    from_day: str | None = None
    to_day: str | None = None
    pdf: bool = True


@dataclass(frozen=True)
class Outcome:
    """What an audit made and found."""

    html: Path
    pdf: Path | None
    database: Path
    main_findings: tuple[str, ...]
    facts: tuple[Fact, ...]
    warnings: tuple[str, ...]


def audit(
    request: Request,
    config: Config,
    progress: Progress = lambda what, done, of: None,
    inferred: Callable[[Fact], None] = lambda fact: None,
) -> Outcome:
    """Audits logs once: reads them, computes every figure, and writes report and database.

    What it writes replaces what was there in one step each, and only when all of it is made. No
    clock is read: the same logs and configuration give the same report.

    Args:
        request: which logs, and what to make of them.
        config: the configuration in force.
        progress: told how far it is.
        inferred: told each thing that was inferred about the cluster, and from what.

    Raises:
        AuditError: see the classes of ``audit.errors``, with their exit codes. Where only the PDF
            fails, the page and the database are there nevertheless.
    """
    target = request.database or request.out / "audit.duckdb"
    logs = open_logs(request.logs, request.dialect)
    with _workplace(request.out) as work, _target_held(target):
        con = database.open_store(work / "store.duckdb", config.store.memory_limit)
        try:
            if request.database is not None and target.exists():
                publish.seed(con, target)
            migrations.migrate(con)
            outcome, failure = _audit(con, logs, request, config, target, work, progress, inferred)
        finally:
            con.close()
    if failure is not None:
        raise failure
    return outcome


def _audit(
    con: Connection,
    logs: Sequence[Opened],
    request: Request,
    config: Config,
    target: Path,
    work: Path,
    progress: Progress,
    inferred: Callable[[Fact], None],
) -> tuple[Outcome, ReportError | None]:
    """The stages of ``audit``, in a store of its own; also why there is no PDF, if it failed."""
    cluster = request.cluster or _name_of(logs)
    take_in(con, cluster, logs, progress=progress)
    refuse_beyond(con, cluster, logs, config.ingest.refused_limit)

    progress("computing", 0, 1)
    attempts = queries.run(con, "attempts", cluster=cluster)
    now = compute.latest_instant(attempts) or 0
    headers = {log.source.path.name: log.header for log in logs}
    zone_fact = inference.zone(request.zone, list(headers.values()))
    zone = periods.zone(zone_fact.value)
    pool, pool_fact = inference.pool(
        attempts, list(headers.values()), request.resource, request.pool_size, now
    )
    facts = (Fact("cluster", cluster, "--cluster" if request.cluster else "the log's name"),)
    facts += (zone_fact, pool_fact)
    for fact in facts:
        inferred(fact)
    problems = [fact.warning for fact in facts if fact.warning]
    problems += [f"{file}: {said}" for file, log in headers.items() for said in log.problems]
    if (mixed := inference.same_machine(headers)) is not None:
        problems.append(mixed)
    whole = compute.whole_log(attempts, now)
    period = whole
    if request.from_day or request.to_day:
        period = compute.midnight_to_midnight(request.from_day, request.to_day, whole, zone)

    run = _Run.of(con, cluster, period, request, config)
    results = compute.compute(attempts, cluster, pool, [period], zone, now, run.seed, config)
    del attempts
    notes = {"notes": [f"{f.what}: {f.value} ({f.source})" for f in facts], "warnings": problems}
    with database.transaction(con):
        _forget(con, cluster)
        clusters = {"cluster": cluster, "zone": zone.key, "notes": json.dumps(notes)}
        database.insert(con, "clusters", pl.DataFrame([clusters]))
        pools = {"cluster": cluster, "pool": pool.name, "resource": pool.resource.value}
        database.insert(con, "pools", pl.DataFrame([{**pools, "capacity": pool.capacity}]))
        for table, rows in vars(results).items():
            with_run = rows if table == "coverage_result" else rows.with_columns(
                run_id=pl.lit(run.run_id)
            )
            database.insert(con, table, with_run)
        database.execute(
            con,
            "INSERT INTO coverage_result SELECT cluster, NULL, count(*), count(*), 'partial' "
            "FROM refused WHERE cluster = ? GROUP BY cluster",
            [cluster],
        )
        run.note(con)
    if failed := queries.failed_checks(con):
        name, rows = next(iter(failed.items()))
        raise StoreError(f"sql/checks/{name}.sql found {len(rows)} rows: a defect of fairaudit")

    progress("computing", 1, 1)
    progress("making the report", 0, 3)
    options = contents.Options(rows=config.report.rows, examples=config.report.examples)
    page = build.build(con, cluster, period, options)
    drawn = render.draw(page)
    progress("making the report", 1, 3)
    html = work / "report.html"
    html.write_text(render.render_html(page, drawn), encoding="utf-8")
    progress("making the report", 2, 3)
    pdf = work / "report.pdf"
    failure = None
    if request.pdf:
        try:
            pdf.write_bytes(render.render_pdf(page, drawn))
        except ReportError as error:
            failure = error
    publish.publish(con, target)
    for draft in (html, pdf):
        final = request.out / draft.name
        if draft.exists():
            os.replace(draft, final)
        else:
            final.unlink(missing_ok=True)  # one of an earlier audit would speak of other figures
    progress("making the report", 3, 3)
    return (
        Outcome(
            html=request.out / html.name,
            pdf=request.out / pdf.name if request.pdf and failure is None else None,
            database=target,
            main_findings=tuple(found.text for found in findings.findings(page)),
            facts=facts,
            warnings=_warnings(page),
        ),
        failure,
    )


def _warnings(page: contents.Contents) -> tuple[str, ...]:
    said = tuple(notice.text for notice in findings.notices(page))
    if page.empty:
        return (f"no attempt ended in the period {page.span.name}: there is nothing to measure", *said)
    return said


@dataclass(frozen=True)
class _Run:
    """The identity of a computation: what it was made of decides it, no clock does."""

    run_id: str
    cluster: str
    period: Period
    config_hash: str
    input_hash: str

    @classmethod
    def of(
        cls, con: Connection, cluster: str, period: Period, request: Request, config: Config
    ) -> _Run:
        asked = [config.digest(), request.pool_size, request.resource.value, request.zone]
        config_hash = hashlib.sha256(json.dumps(asked).encode()).hexdigest()
        inputs = queries.run(con, "input_ids", cluster=cluster)["input_id"].to_list()
        input_hash = hashlib.sha256("".join(inputs).encode()).hexdigest()
        identity = [__version__, config_hash, input_hash, cluster, *period]
        run_id = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]
        return cls(run_id, cluster, period, config_hash, input_hash)

    @property
    def seed(self) -> int:
        """Of everything random in this run (SPEC §5)."""
        return int(self.run_id[:15], 16)

    def note(self, con: Connection) -> None:
        """Records the stages as done; they are published all together or not at all."""
        row = {
            "run_id": self.run_id,
            "cluster": self.cluster,
            "period": self.period.name,
            "from_time": self.period.from_time,
            "to_time": self.period.to_time,
            "state": "done",
            "version": __version__,
            "config_hash": self.config_hash,
            "input_hash": self.input_hash,
        }
        database.insert(con, "run", pl.DataFrame([{**row, "stage": stage} for stage in STAGES]))


def _forget(con: Connection, cluster: str) -> None:
    """Removes what an earlier run computed for a cluster."""
    tables = ("clusters", "pools", "job_result", "entity_result", "summary_result")
    for table in (*tables, "coverage_result", "run"):
        database.execute(con, f"DELETE FROM {table} WHERE cluster = ?", [cluster])


def _name_of(logs: Sequence[Opened]) -> str:
    """What a cluster is called that nobody named: as its first log, by name."""
    name = min(log.source.path.name for log in logs)
    for suffix in (".gz", ".swf", ".txt", ".log"):
        name = name.removesuffix(suffix)
    return name or "cluster"


@contextmanager
def _workplace(out: Path) -> Iterator[Path]:
    """A folder inside ``out`` for what is not finished; gone when the block ends.

    Raises:
        UsageError: ``out`` cannot be made or written.
        LockedError: another run is writing a report there.
    """
    made = [folder for folder in (out, *out.parents) if not folder.exists()]
    work = out / ".fairaudit"
    try:
        out.mkdir(parents=True, exist_ok=True)
        with lock.held(out / "report.html"):
            shutil.rmtree(work, ignore_errors=True)  # of a run that was killed
            work.mkdir()
            try:
                yield work
            finally:
                shutil.rmtree(work, ignore_errors=True)
    except (PermissionError, FileExistsError, NotADirectoryError) as error:
        raise UsageError(
            f"{out}: cannot be written ({error.strerror}); choose another place with --out"
        ) from error
    finally:
        for folder in made:  # leave no empty folder where nothing came of it
            try:
                folder.rmdir()
            except OSError:
                break


@contextmanager
def _target_held(target: Path) -> Iterator[None]:
    """Holds the right to replace ``target``.

    Raises:
        LockedError: another run holds it, or another program is writing it.
        UsageError: what is there is no database of fairaudit, or its folder cannot be written.
    """
    try:
        with lock.held(target):
            if target.exists():
                _check_replaceable(target)
            yield
    except PermissionError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror}") from error
    except FileNotFoundError as error:
        raise UsageError(f"{target}: its folder does not exist; create it first") from error


def _check_replaceable(target: Path) -> None:
    try:
        con = database.open_snapshot(target)
    except database.LockedError:
        raise
    except StoreError as error:
        raise UsageError(f"{error}; fairaudit does not replace it") from error
    try:
        database.fetch(con, "SELECT number FROM migrations")
    except StoreError as error:
        raise UsageError(
            f"{target}: a database, but not one of fairaudit: it is not replaced"
        ) from error
    finally:
        con.close()
