"""The state of runs, for people and for a monitor."""

import errno
import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal
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
from audit.words import RESEND


@dataclass(frozen=True)
class ClusterStatus:
    """The state of one cluster's runs; times are epoch s."""

    cluster: str
    zone: str
    last: Entry | None  # the last whole run that has ended
    due: int | None  # when the run after it is due; None if none ever ran or was planned
    coming: int  # the next time of the timetable
    overdue: bool
    hindrance: str | None  # why runs cannot write to a folder; None if they can
    doubtful: Sequence[str]  # mails that may not have arrived, as ``REPORT to ADDRESS``

    @property
    def problem(self) -> str | None:
        """The problem that a monitor should report; None if all is well."""
        if self.last is not None and self.last.state != "done":
            why, *_ = (self.last.error or "").splitlines() or [""]
            return f"the last run {self.last.state}{why and f': {why}'}"
        if self.hindrance is not None:
            return f"no run can finish: {self.hindrance}"
        if self.overdue and self.due is None:
            return "has never run"
        if self.overdue and self.due is not None:
            return f"overdue: a run was due on {_shown(self.due, periods.zone(self.zone))}"
        if self.doubtful:
            others = f" and {len(self.doubtful) - 1} more" if len(self.doubtful) > 1 else ""
            return f"a mail may not have arrived: {self.doubtful[0]}{others}; {RESEND}"
        return None


@dataclass(frozen=True)
class Status:
    """The state of a site's runs."""

    entries: Sequence[Entry]  # newest first
    clusters: Sequence[ClusterStatus]
    holder: str | None  # the process that holds the store


def look(site: Site, now: int) -> Status:
    """Return the state of a site's runs at ``now``; raise StoreError if there is no history."""
    entries = history.read(site.state)
    planned = history.planned(site.state)
    doubtful = _doubtful(site)
    hindrance = _hindrance([site.state, site.database.parent, site.reports])
    standings = []
    for cluster in site.config.clusters:
        instant = due(site.config, cluster, entries, planned)
        ended = (one for one in entries if _covers(one, cluster) and one.state != "running")
        times = timetable.times_of(site.config, cluster)
        standings.append(
            ClusterStatus(
                cluster.name,
                cluster.zone,
                next(ended, None),
                instant,
                timetable.next_after(times, cluster.zone, now),
                instant is None or instant + site.config.service.overdue_s < now,
                hindrance,
                [mail for of, mail in doubtful if of == cluster.name],
            )
        )
    return Status(entries, standings, lock.holder(site.state / state_folder.STORE))


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
    config: Config, cluster: Cluster, entries: Sequence[Entry], planned: Mapping[str, int]
) -> int | None:
    """Return when the run after the last is due, epoch s; None if none ever ran or was planned.

    A run that failed counts, because the next one retries the rest. A run that was killed or
    stopped does not: the rest is due at once. ``planned`` has the first runs of clusters that
    never ran.
    """
    for entry in entries:
        if _covers(entry, cluster) and entry.state in {"done", "failed"}:
            times = timetable.times_of(config, cluster)
            return timetable.next_after(times, cluster.zone, entry.started_at)
    return planned.get(cluster.name)


def lines(status: Status, most: int) -> Iterator[str]:
    """Yield the status as lines of text, with the newest ``most`` entries."""
    zones = {standing.cluster: periods.zone(standing.zone) for standing in status.clusters}
    usual = next(iter(zones.values()))
    shown = [_row(entry, zones.get(entry.cluster or "", usual)) for entry in status.entries[:most]]
    if shown:
        table = [("began", "took", "cluster", "stage", "state", "error"), *shown]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for row in table:
            yield "  ".join(map(str.ljust, row, widths)).rstrip()
        yield ""
    if status.holder is not None:
        yield f"at work: {status.holder}"
    for standing in status.clusters:
        coming = _shown(standing.coming, zones[standing.cluster])
        yield f"{standing.cluster}: {standing.problem or 'in order'}; next time {coming}"


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


def answer(status: Status, site: Site, most: int) -> StatusAnswer:
    """Return the status for programs, with the newest ``most`` entries."""
    of_cluster = {cluster.name: cluster.sources for cluster in site.config.clusters}
    return StatusAnswer(
        in_order=not any(standing.problem for standing in status.clusters),
        at_work=status.holder,
        clusters=tuple(
            ClusterAnswer(
                name=standing.cluster,
                zone=standing.zone,
                in_order=standing.problem is None,
                problem=standing.problem,
                overdue=standing.overdue,
                due=standing.due,
                next=standing.coming,
                last_run=standing.last,
                sources=tuple(_source(one, site.folder) for one in of_cluster[standing.cluster]),
            )
            for standing in status.clusters
        ),
        runs=tuple(status.entries[:most]),
    )


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
