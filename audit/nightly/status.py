"""The state of runs, for people and for a monitor."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from audit import __version__, periods
from audit.config import Cluster, Config, Source
from audit.config.places import Site
from audit.files import caches, lock, state_folder
from audit.nightly import history, sources, timetable
from audit.nightly.history import WHOLE, Entry


@dataclass(frozen=True)
class Standing:
    """The state of one cluster's runs; times are epoch s."""

    cluster: str
    zone: str
    last: Entry | None  # the last whole run that has ended
    due: int | None  # when the run after it is due; None if none ever ran or was planned
    coming: int  # the next time of the timetable
    overdue: bool
    hindrance: str | None  # why runs cannot write to a folder; None if they can

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
        return None


@dataclass(frozen=True)
class Status:
    """The state of a site's runs."""

    entries: Sequence[Entry]  # newest first
    clusters: Sequence[Standing]
    holder: str | None  # the process that holds the store


def look(site: Site, now: int) -> Status:
    """Return the state of a site's runs at ``now``; raise StoreError if there is no history."""
    entries = history.read(site.state)
    stored = timetable.stored(timetable_in(site.state))
    hindrance = _hindrance([site.state, site.database.parent, site.reports])
    standings = []
    for cluster in site.config.clusters:
        instant = due(site.config, cluster, entries, stored)
        ended = (one for one in entries if _covers(one, cluster) and one.state != "running")
        times = timetable.times_of(site.config, cluster)
        standings.append(
            Standing(
                cluster.name,
                cluster.zone,
                next(ended, None),
                instant,
                timetable.next_after(times, cluster.zone, now),
                instant is None or instant + site.config.service.overdue_s < now,
                hindrance,
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


def timetable_in(state: Path) -> Path:
    """Return the job store's file in the folder of the store."""
    return state / "timetable.sqlite"


def due(
    config: Config, cluster: Cluster, entries: Sequence[Entry], stored: Mapping[str, int]
) -> int | None:
    """Return when the run after the last is due, epoch s; None if none ever ran or was planned.

    A run that failed counts, because the next one retries the rest. A run that was killed or
    stopped does not: the rest is due at once. ``stored`` is what the timetable had for clusters
    that never ran.
    """
    for entry in entries:
        if _covers(entry, cluster) and entry.state in {"done", "failed"}:
            times = timetable.times_of(config, cluster)
            return timetable.next_after(times, cluster.zone, entry.started_at)
    return stored.get(cluster.name)


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


def as_json(status: Status, site: Site, most: int) -> dict[str, object]:
    """Return the status in the form that docs/service.md describes; keys are only ever added."""
    of_cluster = {cluster.name: cluster.sources for cluster in site.config.clusters}
    return {
        "shape": 1,
        "version": __version__,
        "in_order": not any(standing.problem for standing in status.clusters),
        "at_work": status.holder,
        "clusters": [
            {
                "name": standing.cluster,
                "zone": standing.zone,
                "in_order": standing.problem is None,
                "problem": standing.problem,
                "overdue": standing.overdue,
                "due": _instant(standing.due),
                "next": _instant(standing.coming),
                "last_run": standing.last and _entry(standing.last),
                "sources": [_source(one, site.folder) for one in of_cluster[standing.cluster]],
            }
            for standing in status.clusters
        ],
        "runs": [_entry(entry) for entry in status.entries[:most]],
    }


def _source(source: Source, folder: Path) -> dict[str, object]:
    """Return where logs come from.

    For a command, only its program, because arguments may contain a secret.
    """
    if source.command is not None:
        return {"kind": "command", "what": source.command[0], "files": None, "newest": None}
    changed = []
    for path in sources.files(source, folder):
        with suppress(OSError):  # it may be gone by now
            changed.append(int(path.stat().st_mtime))
    newest = _instant(max(changed, default=None))
    return {"kind": "files", "what": source.files, "files": len(changed), "newest": newest}


def _entry(entry: Entry) -> dict[str, object]:
    times = {"started_at": _instant(entry.started_at), "ended_at": _instant(entry.ended_at)}
    return {**vars(entry), **times}


def _instant(instant: int | None) -> str | None:
    return None if instant is None else datetime.fromtimestamp(instant, UTC).isoformat()


def _covers(entry: Entry, cluster: Cluster) -> bool:
    """Return whether an entry is a whole run that did everything for the cluster."""
    return entry.stage == WHOLE and entry.cluster in {None, cluster.name} and entry.period is None


def _row(entry: Entry, zone: ZoneInfo) -> tuple[str, ...]:
    took = "" if entry.ended_at is None else f"{entry.ended_at - entry.started_at:,} s"
    stage = entry.stage if entry.stage == WHOLE else f"  {entry.stage}"
    why = (entry.error or "").replace("\n", " ")
    return (
        *(_shown(entry.started_at, zone), took, entry.cluster or "all"),
        *(stage + (f" {entry.period}" if entry.period else ""), entry.state),
        why if len(why) <= 200 else why[:199] + "…",
    )


def _shown(instant: int, zone: ZoneInfo) -> str:
    return datetime.fromtimestamp(instant, zone).strftime("%Y-%m-%d %H:%M %Z")
