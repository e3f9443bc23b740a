"""``fairaudit audit``: logs to a report and a database, without a configuration."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from audit.cluster import fairshare, fitted, results
from audit.cluster.fairshare import Fairshare
from audit.cluster.fitted import Fit, Fitted
from audit.cluster.identity import Identity
from audit.cluster.inference import Fact
from audit.cluster.setting import ASSUMED, Setting, between_days, whole_log
from audit.config import Cluster, Config, Usage
from audit.errors import EmptyLogError, UsageError
from audit.files import privacy
from audit.ingest.ingest import Progress
from audit.ingest.logs import Unread
from audit.metrics.attempts import population
from audit.model import Period, Policy, Pool
from audit.pipeline import drawing, owners
from audit.pipeline.computing import Task, compute_and_keep
from audit.pipeline.drawing import Report
from audit.pipeline.opening import Request, Site, TakenIn, take_in
from audit.pipeline.workplace import replacing, workplace
from audit.policies import Backfill, Order
from audit.report import index
from audit.report.judgement.page_one import page_one
from audit.report.record.page import Contents, Who
from audit.report.text.notices import notices
from audit.store import archive, migrations, publish
from audit.store.database import Connection
from audit.words import Resource

Inferred = Callable[[Fact], None]
"""Told each thing that was inferred about a cluster, and from what."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What ``fairaudit audit`` makes of logs; None lets the log decide."""

    out: Path
    """Folder for the report."""
    database: Path | None = None
    """A database to add to. None makes ``audit.duckdb`` in ``out`` anew."""
    order: Order | None = None
    backfill: Backfill | None = None
    """What fair start times assume; None: as configured, or as the log tells."""
    from_day: str | None = None
    to_day: str | None = None
    pdf: bool = True
    owners: Sequence[Who] = ()
    """Users and accounts of whom a page is made, too."""

    @property
    def policy(self) -> Policy | None:
        """What was said of it; None: nothing."""
        if self.order is None and self.backfill is None:
            return None
        return ASSUMED.changed(order=self.order, backfill=self.backfill)

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
    owners: tuple[Path, ...] = ()
    """Pages of single users and accounts."""
    missing: tuple[Unread, ...] = ()
    """Logs that could not be taken in: all this is without them."""


def audit(
    request: Request,
    options: Options,
    config: Config,
    progress: Progress = lambda what, done, of: None,
    inferred: Inferred = lambda fact: None,
    fit: Fit | None = None,
    folder: Path = Path(),
) -> Outcome:
    """Read logs, compute every figure, and write report and database, each in one step.

    No clock is read: the same logs and configuration give the same report.

    Args:
        options: what to make of them.
        config: the configuration in force; its cluster of this name says what it says of it.
        fit: finds out how pools decide of which nobody says it; None: the default is assumed.

    Raises:
        AuditError: see ``audit.errors``. Where only the PDF fails, the page and the database are
            there nevertheless. A log that is no good stops nothing while another is.
    """
    logs, unread = request.open_each()
    drawing.prepare(config, pdf=options.pdf)
    new = not options.out.exists()
    with workplace(options.out) as work, replacing(options.target):
        store = work / "store.duckdb"
        seed = options.database if options.target.exists() else None
        with migrations.migrated(store, config.store.memory_limit, seed) as con:
            _refuse_archived(con, options)
            site = Site(logs, request.cluster, config)
            taken = take_in(con, logs, site, config, progress)
            cluster = taken.cluster.value
            missing = (*unread, *taken.kept_out)
            asked = _asked(taken, request, options, config, site.configured, folder)
            asked = _without(asked, missing)
            del taken  # its attempts are as large as the log
            asked = _fitted(con, asked, config, fit, progress)
            period = _compute(con, asked, config, inferred, progress)
            del asked
            of = (cluster, period, work)
            report = drawing.draw(
                con, config, *of, pdf=options.pdf, also=options.owners, progress=progress
            )
            index.keep(con, report.contents)
            crowded = publish.free(con).worth_it
        if crowded:  # figures that were there before left room
            publish.compact(store, config.store.memory_limit)
        shared = config.output.shared_with_group
        publish.hand_over(store, options.target, with_group=shared)
        report = drawing.put_in_place(report, options.out)
        if new:
            privacy.share(options.out, with_group=shared)
    if report.failure is not None:
        raise report.failure
    return _outcome(report, options.target, missing)


def _without(asked: _Asked, missing: Sequence[Unread]) -> _Asked:
    """The same, where the report is to say that logs are missing."""
    told = sorted(
        [one.name, one.reason] for one in missing if not isinstance(one.error, EmptyLogError)
    )
    return replace(asked, in_force={**asked.in_force, "missing": told}) if told else asked


def _outcome(report: Report, database: Path, missing: tuple[Unread, ...]) -> Outcome:
    return Outcome(
        html=report.html,
        pdf=report.pdf,
        database=database,
        main_findings=_told(report.contents),
        warnings=_warnings(report.contents),
        owners=report.pages,
        missing=missing,
    )


@dataclass(frozen=True)
class _Asked:
    """What is to be computed of a cluster, and on what its figures rest."""

    task: Task
    in_force: Mapping[str, Any]
    period: Period
    silent: Sequence[Pool]
    """The pools of which neither options nor the configuration say how they decide."""


def _asked(
    taken: TakenIn,
    request: Request,
    options: Options,
    config: Config,
    site: Cluster | None,
    folder: Path,
) -> _Asked:
    if options.owners:
        owners.Names(taken.attempts.select("user", "account").iter_rows()).require(options.owners)
    setting = request.setting(taken, site, options.policy)
    stated = [] if site is None else _stated(setting, options)
    setting = fitted.assuming(setting, stated)
    period = whole = whole_log(taken.attempts, setting.now)
    if options.from_day or options.to_day:
        period = between_days(options.from_day, options.to_day, whole, setting.zone)
    resource = request.resource or Resource.cpus
    usage = Usage(penalty="cpu" if resource is Resource.cpus else "max")
    shares = Fairshare(usage) if site is None else fairshare.read(site.usage, folder, site.name)
    asked = {
        "pool_size": request.pool_size,
        "resource": resource.value,
        "zone": request.zone,
        "usage": usage.model_dump(),
        "policy": (options.policy or ASSUMED)._asdict(),
    }
    in_force: dict[str, Any] = {
        # nothing on which no figure depends, and nothing that a secret might stand in
        "config": config.model_dump(mode="json", include={"metrics", "uncertainty"}),
        "asked": asked,
    }
    if site is not None:
        in_force = {
            "config": in_force["config"],
            "cluster": site.model_dump(mode="json", exclude={"sources"}),
            "files": shares.in_force,
            "assumed": fitted.in_force(stated),
        }
    silent = [] if options.policy is not None else fitted.silent(setting, site)
    pages = bool(options.owners) or config.report.owner_pages == "named"
    task = Task(taken.attempts, setting, shares, [], pages=pages)
    return _Asked(task, in_force, period, silent)


def _refuse_archived(con: Connection, options: Options) -> None:
    """Raises UsageError where months of the database are archived: nights work on such a one."""
    if archive.months(con):
        raise UsageError(
            f"{options.target}: a part of it lies in an archive, as 'fairaudit run' keeps it; give "
            "another database with --db"
        )


def _stated(setting: Setting, options: Options) -> list[Fitted]:
    """The pools with the policy that the command's options say."""
    if options.policy is None:
        return []
    changed = [
        pool.policy.changed(order=options.order, backfill=options.backfill)
        for pool in setting.pools
    ]
    return [
        Fitted(
            pool._replace(policy=policy),
            (Fact("policy", policy.name, "--order and --backfill"),),
            {},
        )
        for pool, policy in zip(setting.pools, changed, strict=True)
    ]


def _fitted(
    con: Connection,
    asked: _Asked,
    config: Config,
    fit: Fit | None,
    progress: Progress,
) -> _Asked:
    """The same with pools that are taken to decide as their log tells, where nobody says it."""
    setting, pools = asked.task.setting, asked.silent
    if fit is None or not pools:
        return asked
    described = population.describe(
        asked.task.attempts, setting.pools, setting.partition_pool, tau_s=config.metrics.tau_s
    )
    seed = _identity(con, asked).seed
    found = []
    for number, pool in enumerate(pools):
        progress("fitting how jobs are started", number, len(pools))
        if (described["pool"] == pool.name).any():
            found.append(fit(described, pool, setting.now, seed))
    progress("fitting how jobs are started", len(pools), len(pools))
    return replace(
        asked,
        task=replace(asked.task, setting=fitted.assuming(setting, found)),
        in_force={**asked.in_force, "assumed": fitted.in_force(found)},
    )


def _identity(con: Connection, asked: _Asked) -> Identity:
    return Identity.of(con, asked.task.setting.cluster, asked.period, json.dumps(asked.in_force))


def _compute(
    con: Connection,
    asked: _Asked,
    config: Config,
    inferred: Inferred,
    progress: Progress,
) -> Period:
    """Computes all figures of a cluster and keeps them; gives their period."""
    for fact in asked.task.setting.facts:
        inferred(fact)
    identity = _identity(con, asked)
    compute_and_keep(con, replace(asked.task, due=[identity]), config, progress=progress)
    results.check(con)
    for stage in ("ingest", "report", "publish"):  # done all together or not at all
        identity.note(con, stage)
    return asked.period


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
