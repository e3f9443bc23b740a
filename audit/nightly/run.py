"""What the night does, by config.toml: pull, ingest, compute, report, publish, deliver.

What is to be done is always worked out anew from the store: a file is read if it was not read as it
is, a period is computed if what it rests on is not what its figures were made of, a report is made
if its run made none, and the database is published if it is not what the store holds. So a run that
finds nothing new changes nothing, and one that was killed is finished by the next.

Each stage is noted in the history before it begins and when it has ended. One that fails leaves
what does not rest on it to be done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from audit.config import Cluster, Config, places
from audit.errors import AuditError, UsageError, withholding
from audit.files import state_folder
from audit.nightly import history, pinging, pulling, settled
from audit.nightly.history import WHOLE
from audit.nightly.keeping import archiving, retention
from audit.nightly.stages import STAGES, Night, StoppedError, Work, own_state
from audit.store import archive, database, migrations, publish, queries
from audit.store.database import Connection

if TYPE_CHECKING:
    from audit.ingest.ingest import Progress


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
        now: epoch s, to note when things were done; no figure depends on it.
        only: the name of the one period to compute and report; None takes all.
        cluster: the name of the only one to work for; None takes all.

    Raises:
        LockedError: another run is at work.
        UsageError: there is no such cluster or period, or the archive belongs to another store.
        StoppedError: ``stopping`` said so. What was begun was taken back.
        AuditError: the store itself fails. Other failures are kept in the result instead.
    """
    if not config.clusters:
        raise UsageError("run: the configuration has no [[clusters]]; 'fairaudit init' writes one")
    state = own_state(config, folder)
    clock = _clock(now)

    def watched(what: str, done: int, of: int) -> None:
        if stopping():
            raise StoppedError
        progress(what, done, of)

    night = Night()
    what = WHOLE if tuple(stages) == STAGES else "part"
    clusters = [one for one in config.clusters if cluster in (None, one.name)]
    told = [one.name for one in clusters] if what == WHOLE and only is None else []
    with (
        pinging.pinged(config, told, night) as begins,
        state_folder.held(state, f"fairaudit {WHOLE if what == WHOLE else stages[-1]}") as store,
        history.opened(state, clock) as past,
        past.noted(what, cluster, only, night.failures) as number,
        withholding(when=config.hides(cluster)),
    ):
        begins()
        with _opened(store, config, folder) as con:
            work = Work(
                con, config, folder, now, only, night, watched, stages, past, number, stopping
            )
            _do(work, clusters)
            crowded = config.retention.compact and publish.free(con).worth_it
        if crowded:
            _compact(store, config, night)
    return night


def _opened(store: Path, config: Config, folder: Path) -> AbstractContextManager[Connection]:
    """The store, while the block runs."""
    base = places.published_folder(config, folder)
    return migrations.migrated(store, config.store.memory_limit, base=base)


def _clock(now: int) -> Callable[[], int]:
    """Tells the epoch second, from ``now`` on."""
    begun = time.monotonic()
    return lambda: now + int(time.monotonic() - begun)


def _do(work: Work, clusters: Sequence[Cluster]) -> None:
    """The stages of a run."""
    archiving.claim(work.con, work.config, work.folder)
    for cluster in clusters:
        _do_for(work, cluster)
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
        publish.compact(store, config.store.memory_limit)
    except AuditError as error:
        night.failures.append(error)


def _do_for(work: Work, cluster: Cluster) -> None:
    """The stages for one cluster."""
    if not work.stage("ingest", cluster.name, lambda: pulling.ingest(work, cluster)):
        return  # the store itself fails; a log that does stops nothing
    if work.stage("compute", cluster.name, lambda: _compute(work, cluster)):
        work.stage("report", cluster.name, lambda: _report(work, cluster))


def _compute(work: Work, cluster: Cluster) -> None:
    """Computes what is due, if anything may be."""
    if work.only is None and settled.figures(work, cluster).settled:
        return
    from audit.nightly import due

    if due.compute(work, cluster) and work.only is None:
        settled.figures(work, cluster).settle()


def _report(work: Work, cluster: Cluster) -> None:
    """Makes the reports that are missing, if any are."""
    if missing := queries.rows(work.con, "unreported", cluster=cluster.name):
        from audit.nightly import reports

        reports.report(work, cluster, missing)
        reports.write_index(work.con, work.config, work.folder)


def _publish(work: Work) -> None:
    """Gives readers what the store holds."""
    retention.remove_drafts(work.folder / work.config.output.database)
    work.past.copy(work.con)
    work.night.published = _renew(work)
    base = places.published_folder(work.config, work.folder)
    for cluster in work.config.clusters:
        archive.tidy(work.con, base, places.of_archive(work.config, work.folder, cluster.name))


def _deliver(work: Work) -> None:
    """Sends what is due, and lets readers see what became of it."""
    if settled.mails(work).settled:
        return
    from audit.mail import delivery

    pause = delivery.pausing(stopping=work.stopping)
    done = delivery.deliver(work.con, work.config, work.folder, work.now, pause=pause)
    work.night.sent += done.sent
    work.night.failures += done.failures
    if done.changed:
        _renew(work)
    elif not done.failures:
        settled.mails(work).settle()


def _renew(work: Work) -> bool:
    """Publishes what the store holds, unless readers have it already; whether it did."""
    output = work.config.output
    if _is_published(work.con, work.folder / output.database):
        return False
    publish.publish(work.con, work.folder / output.database, with_group=output.shared_with_group)
    return True


def _is_published(con: Connection, target: Path) -> bool:
    """Whether a reader finds at ``target`` what the store holds."""
    if not target.exists():
        return False
    with database.looking_into(con, target):
        try:
            published = queries.rows(con, "published_state")
        except AuditError:
            return False  # of an older version
    return published == queries.rows(con, "published_state")
