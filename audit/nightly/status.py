"""The state of runs, for people and for a monitor."""

import errno
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, Literal
from zoneinfo import ZoneInfo

from audit import periods
from audit.config import Cluster, Config, SourceConfig
from audit.config.places import Site
from audit.errors import AuditError
from audit.files import caches, lock, state_folder
from audit.json_answers import Instant, JsonAnswer
from audit.nightly import history, sources, timetable
from audit.nightly.history import WHOLE, Entry
from audit.store import queries, snapshots
from audit.words import RESEND, aligned

_AHEAD_S: Final = 3_600  # by which a last run lies ahead if the clock was wrong


@dataclass(frozen=True)
class SourceAnswer:
    """Where logs come from."""

    kind: Literal["command", "files"]
    what: str  # of a command only its program, because arguments may contain a secret
    files: int | None  # number of matches
    newest: Instant | None  # time of the latest change


@dataclass(frozen=True)
class ClusterAnswer:
    """The state of one cluster's runs."""

    name: str
    zone: str
    in_order: bool
    problem: str | None
    overdue: bool
    due: Instant | None  # of the run after the last
    next: Instant  # by the timetable
    last_run: Entry | None
    sources: tuple[SourceAnswer, ...]


@dataclass(frozen=True, kw_only=True)
class StatusAnswer(JsonAnswer):
    """The answer of ``fairaudit status --format json``."""

    in_order: bool
    at_work: str | None  # the process that has locked the store
    clusters: tuple[ClusterAnswer, ...]
    runs: tuple[Entry, ...]  # the newest first


def look(site: Site, now: int) -> StatusAnswer:
    """Return the state of a site's runs at ``now``; raise StoreError if there is no history."""
    entries = history.read(site.state)
    planned = history.planned(site.state)
    doubtful = _doubtful(site)
    hindrance = _hindrance([site.state, site.database.parent, site.reports])
    clusters = []
    for cluster in site.config.clusters:
        instant = due(site.config, cluster, entries, planned, now)
        overdue = instant is None or instant + site.config.service.overdue_s < now
        ended = (one for one in entries if _covers(one, cluster) and one.state != "running")
        last = next(ended, None)
        lost = [mail for of, mail in doubtful if of == cluster.name]
        wrong = last and _not_done(last, cluster.name, entries)
        problem = _problem(wrong, hindrance, instant if overdue else 0, cluster.zone, lost)
        if problem is None and last is not None and last.started_at > now + _AHEAD_S:
            began = _shown(last.started_at, periods.zone(cluster.zone))
            problem = f"the last run began on {began}, which is still to come: check the clock"
        clusters.append(
            ClusterAnswer(
                name=cluster.name,
                zone=cluster.zone,
                in_order=problem is None,
                problem=problem,
                overdue=overdue,
                due=instant,
                next=timetable.next_run(site.config, cluster, now),
                last_run=last,
                sources=tuple(_source(one, site.folder) for one in cluster.sources),
            )
        )
    return StatusAnswer(
        in_order=all(of.in_order for of in clusters),
        at_work=lock.holder(site.state / state_folder.STORE),
        clusters=tuple(clusters),
        runs=tuple(entries),
    )


def _problem(
    wrong: Entry | None, hindrance: str | None, missed: int | None, zone: str, lost: Sequence[str]
) -> str | None:
    """Return the problem that a monitor should report; None if all is well.

    Args:
        wrong: the last run, or its stage, that was not completed.
        hindrance: why runs cannot write to a folder.
        missed: when an overdue run was due, epoch s; None: none ever ran or was planned; 0: none is
            overdue.
        lost: mails that may not have arrived, as ``REPORT to ADDRESS``.
    """
    if wrong is not None:
        why, *_ = (wrong.error or "").splitlines() or [""]
        return f"the last run {wrong.state}{why and f': {why}'}"
    if hindrance is not None:
        return f"no run can finish: {hindrance}"
    if missed is None:
        return "has never run"
    if missed:
        return f"overdue: a run was due on {_shown(missed, periods.zone(zone))}"
    if lost:
        others = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        return f"a mail may not have arrived: {lost[0]}{others}; {RESEND}"
    return None


def _not_done(last: Entry, cluster: str, entries: Sequence[Entry]) -> Entry | None:
    """Return what the last run did not do for a cluster; a failed stage of another is not its."""
    failed = [one for one in entries if one.run == last.run and one.state == "failed"]
    stages = [one for one in failed if one.stage != WHOLE]
    if last.state == "failed" and stages:
        return next((one for one in stages if one.cluster in {None, cluster}), None)
    return None if last.state == "done" else last


def _hindrance(places: Sequence[Path]) -> str | None:
    """Return why one of these folders, if it exists, cannot be written to."""
    for place in filter(Path.is_dir, places):
        if (error := caches.refused(place)) is not None:
            return f"{place}: cannot be written to: {error.strerror}"
        if os.statvfs(place).f_bavail == 0 < os.statvfs(place).f_blocks:
            return f"{place}: {os.strerror(errno.ENOSPC)}"
    return None


def _doubtful(site: Site) -> list[tuple[str, str]]:
    """Return cluster and name of each mail of which the published ledger has no outcome.

    Mails that were sent again, or to recipients that are no longer configured, are left out.
    """
    if site.config.mail.via == "none" or not site.database.exists():
        return []
    named = itertools.chain.from_iterable(of.addresses for of in site.config.recipients)
    addresses = [address.lower() for address in named]
    with suppress(AuditError):  # of another version, or just being replaced
        archive = site.archive_of(site.database)
        with closing(snapshots.open_snapshot(site.database, archive=archive)) as con:
            found = queries.rows(con, "doubtful_mails", addresses=addresses)
            return [(cluster, f"{report} to {recipient}") for cluster, report, recipient in found]
    return []


def due(
    config: Config,
    cluster: Cluster,
    entries: Sequence[Entry],
    planned: Mapping[str, int],
    now: int,
) -> int | None:
    """Return when the run after the last is due, epoch s; None if none ever ran or was planned.

    A run that failed counts, because the next one retries the rest. A run that was killed or
    stopped does not: the rest is due at once. ``planned`` has the first runs of clusters that
    never ran. A last run in the future, of a clock that was ahead, counts as one at ``now``.
    """
    for entry in entries:
        if _covers(entry, cluster) and entry.state in {"done", "failed"}:
            return timetable.next_run(config, cluster, min(entry.started_at, now))
    return planned.get(cluster.name)


def lines(status: StatusAnswer, most: int) -> Iterator[str]:
    """Yield the status as lines of text, with the newest ``most`` entries."""
    zones = {of.name: periods.zone(of.zone) for of in status.clusters}
    usual = next(iter(zones.values()))
    shown = [_row(entry, zones.get(entry.cluster or "", usual)) for entry in status.runs[:most]]
    if shown:
        yield from aligned([("began", "took", "cluster", "stage", "state", "error"), *shown])
        yield ""
    if status.at_work is not None:
        yield f"at work: {status.at_work}"
    for of in status.clusters:
        coming = _shown(of.next, zones[of.name])
        yield f"{of.name}: {of.problem or 'in order'}; next time {coming}"


def _source(source: SourceConfig, folder: Path) -> SourceAnswer:
    if source.command is not None:
        return SourceAnswer("command", source.command[0], None, None)
    changed = []
    for path in sources.files(source, folder):
        with suppress(OSError):  # it may be gone by now
            changed.append(int(path.stat().st_mtime))
    return SourceAnswer("files", source.files or "", len(changed), max(changed, default=None))


def _covers(entry: Entry, cluster: Cluster) -> bool:
    """Return whether an entry is a whole run that did everything for the cluster."""
    return entry.stage == WHOLE and entry.cluster in {None, cluster.name} and entry.period is None


def _row(entry: Entry, zone: ZoneInfo) -> tuple[str, ...]:
    took = "" if entry.ended_at is None else f"{entry.ended_at - entry.started_at:,} s"
    stage = entry.stage if entry.stage == WHOLE else f"  {entry.stage}"
    why = (entry.error or "").replace("\n", " ")
    return (
        *(_shown(entry.started_at, zone), took, entry.cluster or "all"),
        stage + (f" {entry.period}" if entry.period else ""),
        entry.state,
        why if len(why) <= 200 else why[:199] + "…",
    )


def _shown(instant: int, zone: ZoneInfo) -> str:
    return datetime.fromtimestamp(instant, zone).strftime("%Y-%m-%d %H:%M %Z")
