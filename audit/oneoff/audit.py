"""``fairaudit audit``: makes a report and a database from logs, without a configuration."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import InstanceOf, PlainSerializer

from audit.cluster import declared, fairshare, fitted, results
from audit.cluster.compute import Task
from audit.cluster.fairshare import FairshareInputs
from audit.cluster.identity import Identity
from audit.cluster.inference import NOTHING
from audit.cluster.setting import ASSUMED, between_days
from audit.config import Cluster, Config, UsageConfig
from audit.errors import EmptyLogError, UsageError
from audit.files import privacy
from audit.ingest import evidence
from audit.ingest.logs import Unread
from audit.json_answers import JsonAnswer
from audit.metrics.attempts import population
from audit.metrics.verdict import Word
from audit.model import Period, Policy, Pool
from audit.on_disk import on_disk, release
from audit.pipeline import drawing
from audit.pipeline.completeness import with_completeness
from audit.pipeline.computing import compute_and_keep
from audit.pipeline.inferring import inferred
from audit.pipeline.opening import ClusterFinder, Ingested, Session, take_in
from audit.pipeline.workplace import replacing, workplace
from audit.policies import Backfill, Order
from audit.report import index
from audit.report.contents import Who
from audit.report.sections.registry import notices
from audit.report.standing import no_verdict
from audit.store import archive, database, migrations, publish
from audit.store.database import Connection
from audit.words import Resource


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """Options of ``fairaudit audit``; None leaves the value to the log."""

    out: Path
    database: Path | None = None  # a database to add to; default: a new ``audit.duckdb`` in ``out``
    order: Order | None = None
    backfill: Backfill | None = None
    from_day: str | None = None
    to_day: str | None = None
    log_from: str | None = None  # when the logs begin
    pdf: bool = True
    predict: bool = False  # predict starts also in pools without pending jobs
    owners: Sequence[Who] = ()  # users and accounts that also get a page

    @property
    def policy(self) -> Policy | None:
        """The policy of fair start times, if the options set one."""
        if self.order is None and self.backfill is None:
            return None
        return ASSUMED.changed(order=self.order, backfill=self.backfill)

    @property
    def target(self) -> Path:
        """The database that is written."""
        return self.database or self.out / "audit.duckdb"


@dataclass(frozen=True, kw_only=True)
class AuditResult(JsonAnswer):
    """Results of an audit; the answer of ``fairaudit audit --format json``."""

    cluster: str
    verdict: str  # fair, mixed, unfair, cannot tell or quiet
    sentence: str
    lines: tuple[tuple[str, str], ...] = ()  # page one in a few lines, each with its title
    fails: bool = False  # whether the verdict counts as a failure (verdict.fail)
    warnings: tuple[str, ...]
    html: Path
    pdf: Path | None
    database: Path
    owners: tuple[Path, ...]  # pages of users and accounts
    missing: tuple[
        Annotated[InstanceOf[Unread], PlainSerializer(lambda one: str(one.error), return_type=str)],
        ...,
    ]
    """Logs that could not be read, and are left out."""

    @property
    def summary(self) -> tuple[str, ...]:
        """The verdict, and page one in a few lines."""
        others = [path.name for path in (self.pdf, *self.owners) if path is not None]
        database = self.database
        beside = database.parent == self.html.parent
        others.append(database.name if beside else str(database))
        lines = [*self.lines, ("Report", ", ".join([str(self.html), *others]))]
        return (self.sentence, *(f"{title:8} {text}" for title, text in lines))


@dataclass(frozen=True)
class _Audit:
    """The computation, and the settings that its figures depend on."""

    task: Task
    in_force: Mapping[str, Any]
    period: Period
    silent: Sequence[Pool]  # pools whose policy neither the options nor the configuration set

    def identity(self, con: Connection) -> Identity:
        in_force = json.dumps(self.in_force)
        return Identity.of(con, self.task.setting.cluster, self.period, in_force)


def audit(session: Session, options: AuditOptions) -> AuditResult:
    """Read logs, compute all figures, and write report and database, each in one step.

    The same logs and configuration give the same report. With ``session.fit``, rules are
    inferred, and policies that are not set.

    Raises:
        AuditError: see ``audit.errors``. If only the PDF fails, the page and the database have been
            written. A log that cannot be read is an error only if there is no other.
    """
    session = replace(session, request=session.request.of_site(session.config))
    request, config, on_progress = session.request, session.config, session.on_progress
    logs, unread = request.open_each()
    drawing.prepare(config, pdf=options.pdf)
    new = not options.out.exists()
    with workplace(options.out) as work, replacing(options.target):
        store = work / "store.duckdb"
        seed = options.database if options.target.exists() else None
        with migrations.migrated(store, config.store.memory_limit, seed) as con:
            if archive.months(con):
                raise UsageError(
                    f"{options.target}: has months in the archive of 'fairaudit run'; choose "
                    "another database with --db"
                )
            site = ClusterFinder(logs, request.cluster, config)
            said = (request.evidence, request.zone)
            taken = take_in(con, logs, site, config, on_progress, *said)
            cluster = taken.cluster.value
            missing = (*unread, *taken.kept_out)
            chosen = site.configured
            plan = _planned(con, taken, missing, session, options, chosen)
            del taken  # its attempts are as large as the log
            plan = _fitted(plan, session, work)
            of = (cluster, _compute(con, plan, session), work)
            del plan
            database.drop_cache(con)
            release()
            report = drawing.draw(
                con, config, *of, pdf=options.pdf, also=options.owners, on_progress=on_progress
            )
            index.keep(con, report.contents)
            crowded = publish.free(con).worth_it
        if crowded:  # replaced figures left free space
            publish.compact(store, config.store.memory_limit)
        shared = config.output.shared_with_group
        publish.hand_over(store, options.target, with_group=shared)
        report = drawing.put_in_place(report, options.out)
        if new:
            privacy.share(options.out, with_group=shared)
    if report.failure is not None:
        raise report.failure
    return _outcome(report, options.target, missing, config)


def _compute(con: Connection, plan: _Audit, session: Session) -> Period:
    """Compute and store all figures, and return their period."""
    for fact in plan.task.setting.facts:
        session.on_inferred(fact)
    identity = plan.identity(con)
    task = replace(plan.task, due=[identity])
    compute_and_keep(con, task, session.config, on_progress=session.on_progress)
    results.check(con)
    with database.transaction(con):
        for stage in ("ingest", "report", "publish"):  # they are done together
            identity.note(con, stage)
    return plan.period


def _planned(
    con: Connection,
    taken: Ingested,
    missing: Sequence[Unread],
    session: Session,
    options: AuditOptions,
    site: Cluster | None,
) -> _Audit:
    request, config, folder = session.request, session.config, session.folder
    if options.owners:
        drawing.EntityNames(taken.attempts.select("user", "account").iter_rows()).require(
            options.owners
        )
    setting = request.setting(taken, site, options.policy, folder, options.log_from)
    if site is not None and options.policy is not None:
        setting = setting.stating(options.order, options.backfill)
    elif options.backfill is not None:
        setting = setting.stating_backfill()
    setting = with_completeness(setting, con, () if site is None else site.populations)
    period = setting.log
    if options.from_day or options.to_day:
        period = between_days(options.from_day, options.to_day, setting.log, setting.zone)
    # a pool in which all jobs ran for 0 s has no CPUs
    counted = all("cpus" in dict(pool.amounts) for pool in setting.pools)
    cpus = counted and request.resource in (None, Resource.cpus)
    usage = UsageConfig(penalty="cpu" if cpus else "max")
    shares = FairshareInputs(usage) if site is None else fairshare.of_site(site, folder)
    in_force: dict[str, Any] = {
        # only settings that figures depend on, and none that may contain a secret
        "config": config.model_dump(mode="json", include={"metrics", "uncertainty"})
    }
    if site is None:
        in_force["asked"] = {
            "pool_size": request.pool_size,
            "resource": request.resource and request.resource.value,
            "zone": request.zone,
            "usage": usage.model_dump(),
            "policy": (options.policy or ASSUMED)._asdict(),
            "states_backfill": options.backfill is not None,
        }
    else:
        in_force |= site.in_force
        in_force["files"] = shares.in_force
        if options.policy is not None:
            in_force["stated"] = [options.order, options.backfill]
    if options.predict:
        in_force["predict"] = True
    if options.log_from is not None:
        in_force["log_begin"] = setting.log.from_time
    if setting.declared != NOTHING:
        in_force["declared"] = declared.stored(setting.declared)
    in_force |= evidence.in_force(con, setting.cluster)
    listed = [[log.name, log.reason] for log in missing if not isinstance(log.error, EmptyLogError)]
    if listed:  # the report names them
        in_force["missing"] = sorted(listed)
    silent = [] if options.policy is not None else fitted.silent(setting, site)
    pages = bool(options.owners) or config.report.owner_pages == "named"
    attempts = population.compact(taken.attempts)
    task = Task(attempts, setting, shares, [], pages=pages, predict=options.predict)
    return _Audit(task, in_force, period, silent)


def _fitted(plan: _Audit, session: Session, folder: Path) -> _Audit:
    """Return the plan with what the log shows."""
    task, setting = plan.task, plan.task.setting
    found = fitted.nothing(setting)
    if session.fit:
        described = population.describe(
            task.attempts, setting.pools, setting.partition_pool, tau_s=session.config.metrics.tau_s
        )
        described = on_disk(population.compact(described), folder)
        release()
        found = inferred(described, setting, task.fairshare, plan.silent, session.on_progress)
    return replace(
        plan,
        task=replace(task, setting=fitted.assuming(setting, found)),
        in_force={**plan.in_force, "assumed": fitted.in_force(setting, found)},
    )


def _outcome(
    report: drawing.WrittenReport, database: Path, missing: tuple[Unread, ...], config: Config
) -> AuditResult:
    contents = report.contents
    if contents.first:
        page = contents.first[0]
        word, sentence, lines = page.word.value, page.verdict, page.lines
    else:
        word, sentence, lines = Word.CANNOT_TELL.value, no_verdict(contents), ()
    warnings = [notice.text for notice in notices(contents)]
    if contents.empty and not contents.unplaced:
        empty = f"no attempt ended in the period {contents.span.name}: there is nothing to measure"
        warnings = [empty, *warnings]
    return AuditResult(
        cluster=contents.cluster,
        verdict=word,
        sentence=sentence,
        lines=lines,
        fails=word in config.verdict.fail,
        warnings=tuple(warnings),
        html=report.html,
        pdf=report.pdf,
        database=database,
        owners=report.pages,
        missing=missing,
    )
