"""``fairaudit audit``: logs to a report and a database, without a configuration."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from audit.cluster import spans
from audit.cluster.fairshare import Fairshare
from audit.cluster.identity import Identity
from audit.cluster.inference import Fact
from audit.cluster.setting import ASSUMED
from audit.config import Config, Usage
from audit.files import privacy
from audit.ingest.ingest import Progress
from audit.model import Period, Policy
from audit.pipeline import drawing
from audit.pipeline.computing import Task, compute_and_keep
from audit.pipeline.opening import Asked, Held, name_of, take_in
from audit.pipeline.workplace import replacing, workplace
from audit.report.contents import Contents
from audit.report.judgement.page_one import page_one
from audit.report.text.notices import notices
from audit.store import compaction, migrations, publish
from audit.store.database import Connection
from audit.words import Resource

Inferred = Callable[[Fact], None]
"""Told each thing that was inferred about a cluster, and from what."""


@dataclass(frozen=True, kw_only=True)
class Request(Asked):
    """What ``fairaudit audit`` was asked for; None lets the log decide."""

    out: Path
    """Folder for the report."""
    database: Path | None = None
    """A database to add to. None makes ``audit.duckdb`` in ``out`` anew."""
    resource: Resource = Resource.cpus
    policy: Policy = ASSUMED
    """What fair start times assume."""
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
    logs = request.open()
    drawing.prepare(config, pdf=request.pdf)
    new = not request.out.exists()
    with workplace(request.out) as work, replacing(request.target):
        store = work / "store.duckdb"
        seed = request.database if request.target.exists() else None
        with migrations.migrated(store, config.store.memory_limit, seed) as con:
            naming = partial(name_of, logs, request.cluster)
            held = take_in(con, logs, naming, config, progress)
            cluster = held.cluster.value
            period = _compute(con, held, request, config, inferred, progress)
            del held  # its attempts are as large as the log
            report = drawing.draw(
                con, config, cluster, period, work, pdf=request.pdf, progress=progress
            )
            crowded = compaction.free(con).worth_it
        if crowded:  # figures that were there before left room
            compaction.compact(store, config.store.memory_limit)
        with_group = config.output.shared_with_group
        publish.hand_over(store, request.target, with_group=with_group)
        report = drawing.put_in_place(report, request.out)
        if new:
            privacy.share(request.out, with_group=with_group)
    if report.failure is not None:
        raise report.failure
    return Outcome(
        html=report.html,
        pdf=report.pdf,
        database=request.target,
        main_findings=_told(report.contents),
        warnings=_warnings(report.contents),
    )


def _compute(
    con: Connection,
    held: Held,
    request: Request,
    config: Config,
    inferred: Inferred,
    progress: Progress,
) -> Period:
    """Computes all figures of a cluster from what the store holds of it; gives their period."""
    setting = request.setting(held, request.policy)
    for fact in setting.facts:
        inferred(fact)
    period = whole = spans.whole_log(held.attempts, setting.now)
    if request.from_day or request.to_day:
        period = spans.between_days(request.from_day, request.to_day, whole, setting.zone)
    usage = Usage(penalty="cpu" if request.resource is Resource.cpus else "max")
    asked = {
        "pool_size": request.pool_size,
        "resource": request.resource.value,
        "zone": request.zone,
        "usage": usage.model_dump(),
        "policy": request.policy._asdict(),
    }
    # nothing on which no figure depends, and nothing that a secret might stand in
    chosen = config.model_dump(mode="json", include={"metrics", "uncertainty"})
    in_force = json.dumps({"config": chosen, "asked": asked})
    identity = Identity.of(con, setting.cluster, period, in_force)
    task = Task(held.attempts, setting, Fairshare(usage), [identity])
    compute_and_keep(con, task, config, progress=progress)
    for stage in ("ingest", "report", "publish"):  # done all together or not at all
        identity.note(con, stage)
    return period


_TOLD = 5
"""So many findings are told beside the verdict."""


def _told(contents: Contents) -> tuple[str, ...]:
    """The verdict, how far to trust it, and the weightiest findings; nothing where none ended."""
    said = page_one(contents)
    if said is None:
        return ()
    trust = (f"{of.title}: {of.text}." for of in said.trust)
    found = (finding.text for finding in said.findings[:_TOLD])
    return (said.verdict.sentence, *trust, *found)


def _warnings(contents: Contents) -> tuple[str, ...]:
    warnings = tuple(notice.text for notice in notices(contents))
    if not contents.empty:
        return warnings
    period = contents.span.name
    return (f"no attempt ended in the period {period}: there is nothing to measure", *warnings)
