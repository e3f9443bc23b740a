"""A night, by config.toml: pull, ingest, compute, report, publish, deliver.

The store decides what has to be done. A file is read if it differs from when it was read, a period
is computed if its figures have other inputs, a report is made if its run made none, and the
database is published if the store differs from it. So a run that finds nothing new changes nothing,
and the next run finishes one that was killed. If a stage fails, only what depends on it is left
undone.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial

from audit.config import Cluster
from audit.config.places import Site
from audit.errors import AuditError, StoreError, UsageError, withholding
from audit.files import state_folder
from audit.nightly import metrics_file, pinging, pulling, stages
from audit.nightly.history import WHOLE, RunHistory
from audit.nightly.keeping import archiving
from audit.nightly.stages import STAGES, Night, StoppedError, Work, own_state
from audit.progress import OnProgress, silent
from audit.store import archive, database, migrations, publish, queries


def run(
    site: Site,
    now: int,
    only: str | None = None,
    on_progress: OnProgress = silent,
    cluster: str | None = None,
    stages: Sequence[str] = STAGES,
    stopping: Callable[[], bool] = lambda: False,
) -> Night:
    """Do all that is due.

    Args:
        now: epoch s, to record when things were done; no figure depends on it.
        only: the name of the one period to compute and report; None: all.
        cluster: the name of the one cluster to work on; None: all.

    Raises:
        LockedError: another run is at work.
        UsageError: there is no such cluster or period, or the archive belongs to another store.
        StoppedError: ``stopping`` returned true. The work of its current step was undone.
        AuditError: the store itself fails. Other failures are kept in the result instead.
    """
    config = site.config
    if not config.clusters:
        raise UsageError("run: the configuration has no [[clusters]]; 'fairaudit init' writes one")
    state = own_state(site)
    begun = time.monotonic()

    def watched(what: str, done: int, of: int) -> None:
        if stopping():
            raise StoppedError
        on_progress(what, done, of)

    night = Night()
    what = WHOLE if tuple(stages) == STAGES else "part"
    clusters = [one for one in config.clusters if cluster in (None, one.name)]
    pinged = [one.name for one in clusters] if what == WHOLE and only is None else []
    who = f"fairaudit {WHOLE if what == WHOLE else stages[-1]}"
    with (
        pinging.pinged(config, pinged, night) as begins,
        state_folder.held(state, who) as store,
        closing(RunHistory(state, lambda: now + int(time.monotonic() - begun))) as past,
        past.noted(what, cluster, only, night.failures) as number,
        withholding(when=config.hides(cluster)),
    ):
        begins()
        limit = config.store.memory_limit
        with migrations.migrated(store, limit, base=site.database.parent) as con:
            work = Work(con, site, now, only, night, watched, stages, past, number, stopping)
            _do(work, clusters)
            _tell_monitors(work)
            compact = config.retention.compact and publish.free(con).worth_it
        if compact:
            try:
                publish.compact(store, limit)
            except AuditError as error:
                night.failures.append(error)
    return night


def _do(work: Work, clusters: Sequence[Cluster]) -> None:
    archiving.claim(work.con, work.site)
    for cluster in clusters:
        # an unreadable log does not fail the stage; an error of the store does
        for stage, do in (("ingest", pulling.ingest), ("compute", _compute), ("report", _report)):
            if not work.stage(stage, cluster.name, partial(do, work, cluster)):
                break
    doubt = archiving.doubtful_clock(work.con, work.past, work.now)
    if doubt is None:
        archiving.forget(work.con, work.past, work.site.config.retention, clusters, work.now)
    else:
        work.night.warnings.append(doubt)
    work.stage("publish", None, lambda: _publish(work))
    if work.site.config.mail.via != "none":
        work.stage("deliver", None, lambda: _deliver(work))
    try:
        if doubt is None:
            archiving.remove_reports(work.con, work.site, work.now)
    except AuditError as error:
        work.night.failures.append(error)


def _compute(work: Work, cluster: Cluster) -> None:
    """Compute what is due, unless nothing is known to be due."""
    if work.only is None and stages.figures(work, cluster).settled:
        return
    from audit.nightly import due

    if due.compute(work, cluster) and work.only is None:
        stages.figures(work, cluster).settle()


def _report(work: Work, cluster: Cluster) -> None:
    thresholds = stages.thresholds(work, cluster)
    if not thresholds.settled:
        if thresholds.changed:
            archiving.forget_reports(work.con, work.site, cluster.name)
        thresholds.settle()
    if work.only is not None:
        archiving.forget_reports(work.con, work.site, cluster.name, lost=work.only)
    missing = queries.rows(work.con, "unreported", cluster=cluster.name)
    if missing or work.site.lacks_index or not stages.index(work).settled:
        from audit.nightly import due

        due.report(work, cluster, missing)
        due.write_index(work.con, work.site)
        stages.index(work).settle()


def _publish(work: Work) -> None:
    site = work.site
    archiving.remove_drafts(site.database)
    work.past.copy(work.con)
    work.night.published = _renew(work)
    for cluster in site.config.clusters:
        archive.tidy(work.con, site.database.parent, site.cluster_archive(cluster.name))


def _deliver(work: Work) -> None:
    """Send what is due, and publish the outcome."""
    if stages.mails(work).settled:
        return
    from audit.mail import delivery

    pause = delivery.pausing(stopping=work.stopping)
    done = delivery.deliver(work.con, work.site, work.now, pause=pause)
    work.night.sent += done.sent
    work.night.failures += done.failures
    if done.changed:
        _renew(work)
    elif not done.failures:
        stages.mails(work).settle()


def _tell_monitors(work: Work) -> None:
    """Replace the file of metrics, if the configuration names one."""
    target = work.site.metrics_file
    if target is None:
        return
    try:
        accounts = work.site.config.service.metrics_accounts
        failures = len(work.night.failures)
        metrics_file.write(work.con, target, work.now, failures, accounts=accounts)
    except OSError as error:
        why = f"{target}: cannot be replaced: {error.strerror} (service.metrics_file)"
        work.night.failures.append(StoreError(why))


def _renew(work: Work) -> bool:
    """Publish the store unless its content is published already; return whether it was."""
    con, target = work.con, work.site.database
    if target.exists():
        with database.looking_into(con, target):
            try:
                published = queries.rows(con, "published_state")
            except AuditError:  # of an older version
                published = None
        if published == queries.rows(con, "published_state"):
            return False
    publish.publish(con, target, with_group=work.site.shared)
    return True
