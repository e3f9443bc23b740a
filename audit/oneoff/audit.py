"""What the commands do, as plain functions: the stages of a run, one after the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from audit.cluster import compute, results, spans
from audit.cluster.fairshare import Fairshare
from audit.cluster.identity import Identity
from audit.cluster.inference import Fact
from audit.cluster.setting import ASSUMED, one_off
from audit.config import Config, Usage
from audit.errors import ReportError
from audit.files import privacy
from audit.formats.dialects import PLAIN, Reading
from audit.ingest.ingest import (
    Opened,
    Progress,
    open_logs,
    refuse_beyond,
    take_in_by_name,
)
from audit.model import Period, Policy, Resource
from audit.pipeline.opening import name_of
from audit.pipeline.workplace import replacing, workplace
from audit.report import build, contents
from audit.report.contents import Contents
from audit.report.render import page as render
from audit.report.render import sandbox
from audit.report.text.findings import findings
from audit.report.text.notices import notices
from audit.store import database, migrations, publish, queries
from audit.store.database import Connection

Inferred = Callable[[Fact], None]
"""Told each thing that was inferred about a cluster, and from what."""


@dataclass(frozen=True)
class Request:
    """What ``fairaudit audit`` was asked for; None lets the log decide."""

    logs: Sequence[Path]
    out: Path
    database: Path | None = None
    """A database to add to. None makes ``audit.duckdb`` in ``out`` anew."""
    dialect: str | None = None
    reading: Reading = PLAIN
    cluster: str | None = None
    pool_size: int | None = None
    resource: Resource = Resource.cpus
    policy: Policy = ASSUMED
    """What fair start times assume."""
    zone: str | None = None
    from_day: str | None = None
    to_day: str | None = None
    pdf: bool = True

    @property
    def target(self) -> Path:
        """The database that is written."""
        return self.database or self.out / "audit.duckdb"


@dataclass(frozen=True)
class Outcome:
    """What an audit made and found."""

    html: Path
    pdf: Path | None
    database: Path
    main_findings: tuple[str, ...]
    warnings: tuple[str, ...]


@privacy.private()
def audit(
    request: Request,
    config: Config,
    progress: Progress = lambda what, done, of: None,
    inferred: Inferred = lambda fact: None,
) -> Outcome:
    """Audits logs once: reads them, computes every figure, and writes report and database.

    What it writes replaces what was there in one step each, and only when all of it is made. No
    clock is read: the same logs and configuration give the same report.

    Args:
        request: which logs, and what to make of them.
        config: the configuration in force.
        progress: told how far it is.
        inferred: told what was inferred.

    Raises:
        AuditError: see the classes of ``audit.errors``, with their exit codes. Where only the PDF
            fails, the page and the database are there nevertheless.
    """
    logs = open_logs(request.logs, request.dialect, request.reading)
    # in the background, while the log is read
    render.prepare(sandbox.limits(config.report) if request.pdf else None)
    new = not request.out.exists()
    with workplace(request.out) as work, replacing(request.target):
        con = database.open_store(work / "store.duckdb", config.store.memory_limit)
        try:
            if request.database is not None and request.target.exists():
                publish.seed(con, request.target)
            migrations.migrate(con)
            (cluster, source, _), _ = take_in_by_name(
                con,
                logs,
                lambda names: name_of(logs, request.cluster, names),
                progress=progress,
            )
            refuse_beyond(con, cluster, logs, config.ingest.refused_limit)
            progress("computing", 0, 1)
            named = Fact("cluster", cluster, source)
            period = _compute(con, named, logs, request, config, inferred, progress)
            progress("computing", 1, 1)
            page, failure = _report(con, cluster, period, request, config, work, progress)
            publish.publish(con, request.target)
            privacy.share(request.target, with_group=config.output.shared_with_group)
        finally:
            con.close()
        html, pdf = _put_in_place(work, request.out)
        for made in (*([request.out] if new else []), html, *([pdf] if pdf else [])):
            privacy.share(made, with_group=config.output.shared_with_group)
    if failure is not None:
        raise failure
    return Outcome(
        html=html,
        pdf=pdf,
        database=request.target,
        main_findings=tuple(found.text for found in findings(page)),
        warnings=_warnings(page),
    )


def _compute(
    con: Connection,
    named: Fact,
    logs: Sequence[Opened],
    request: Request,
    config: Config,
    inferred: Inferred,
    progress: Progress,
) -> Period:
    """Computes all figures of a cluster from what the store holds of it; gives their period."""
    attempts = queries.run(con, "attempts", cluster=named.value)
    headers = {log.source.path.name: log.header for log in logs}
    setting = one_off(
        named,
        attempts,
        headers,
        request.resource,
        request.pool_size,
        request.zone,
        request.policy,
    )
    for fact in setting.facts:
        inferred(fact)
    period = whole = spans.whole_log(attempts, setting.now)
    if request.from_day or request.to_day:
        period = spans.between_days(request.from_day, request.to_day, whole, setting.zone)
    usage = Usage(penalty="cpu" if request.resource is Resource.cpus else "max")
    asked = [
        *(request.pool_size, request.resource.value, request.zone, usage.model_dump()),
        request.policy,
    ]
    # nothing on which no figure depends, and nothing that a secret might stand in
    chosen = config.model_dump(mode="json", include={"metrics", "uncertainty"})
    in_force = json.dumps({"config": chosen, "asked": asked})
    identity = Identity.of(con, named.value, period, in_force)
    computed = compute.compute(
        attempts,
        setting,
        {period: identity.seed},
        config,
        Fairshare(usage),
        told=lambda done, of: progress("fair start times", done, of),
    )
    results.replace(con, setting, computed, [identity], {})
    for stage in ("ingest", "report", "publish"):  # done all together or not at all
        identity.note(con, stage)
    return period


def _report(
    con: Connection,
    cluster: str,
    period: Period,
    request: Request,
    config: Config,
    work: Path,
    progress: Progress,
) -> tuple[Contents, ReportError | None]:
    """Makes the report's files in ``work``; says why there is no PDF, if that failed."""
    what = "making the report"
    progress(what, 0, 3)
    options = contents.Options(rows=config.report.rows, examples=config.report.examples)
    page = build.build(con, cluster, period, options)
    drawn = render.draw(page)
    progress(what, 1, 3)
    (work / "report.html").write_text(render.render_html(page, drawn), encoding="utf-8")
    progress(what, 2, 3)
    failure = None
    if request.pdf:
        try:
            (work / "report.pdf").write_bytes(
                render.render_pdf(page, drawn, sandbox.limits(config.report))
            )
        except ReportError as error:
            failure = error
    progress(what, 3, 3)
    return page, failure


def _warnings(page: Contents) -> tuple[str, ...]:
    said = tuple(notice.text for notice in notices(page))
    nothing = f"no attempt ended in the period {page.span.name}: there is nothing to measure"
    return (nothing, *said) if page.empty else said


def _put_in_place(work: Path, out: Path) -> tuple[Path, Path | None]:
    """Moves the report to where it belongs; gives the page, and the PDF if there is one.

    A PDF of an earlier audit would speak of other figures: where there is no new one, it goes.
    """
    html = (work / "report.html").replace(out / "report.html")
    draft, pdf = work / "report.pdf", out / "report.pdf"
    if draft.exists():
        return html, draft.replace(pdf)
    pdf.unlink(missing_ok=True)
    return html, None
