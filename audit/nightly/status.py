"""What ran, what became of it, and what is due: for people, and for a monitor."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from audit import __version__, periods
from audit.config import Cluster, Config, Source
from audit.files import caches, lock, state_folder
from audit.nightly import history, sources, timetable
from audit.nightly.history import WHOLE, Entry


@dataclass(frozen=True)
class Standing:
    """How it stands with the runs of one cluster; times are epoch s."""

    cluster: str
    zone: str
    last: Entry | None
    """The last whole run that is not under way."""
    due: int | None
    """When the run after it was due, or will be; None where none ever ran or was planned."""
    coming: int
    """The next time of the timetable."""
    overdue: bool
    hindrance: str | None = None
    """What keeps every run from noting, or leaving, anything; None where nothing does."""

    @property
    def problem(self) -> str | None:
        """What a monitor should know; None where all is well."""
        if self.last is not None and self.last.state != "done":
            why, *_ = (self.last.error or "").splitlines() or [""]
            return f"the last run {self.last.state}{why and f': {why}'}"
        if self.hindrance is not None:
            return f"no run can do its work: {self.hindrance}"
        if self.overdue:
            if self.due is None:
                return "has never run"
            return f"overdue: a run was due on {_shown(self.due, periods.zone(self.zone))}"
        return None


@dataclass(frozen=True)
class Status:
    """All that there is to say."""

    entries: Sequence[Entry]
    """Newest first."""
    clusters: Sequence[Standing]
    holder: str | None
    """Who is at work."""


def look(config: Config, folder: Path, now: int) -> Status:
    """How it stands at ``now``.

    Raises:
        StoreError: the history cannot be read.
    """
    state = folder / config.output.state
    entries = history.read(state)
    kept = timetable.stored(timetable_in(state))
    hindrance = _hindrance(
        [state, (folder / config.output.database).parent, folder / config.output.reports]
    )
    return Status(
        entries=entries,
        clusters=[
            replace(_standing(config, cluster, entries, kept, now), hindrance=hindrance)
            for cluster in config.clusters
        ],
        holder=lock.holder(state / state_folder.STORE),
    )


def _hindrance(places: Sequence[Path]) -> str | None:
    """Why one of the folders that runs write to cannot be written to; those that exist."""
    for place in places:
        if not place.is_dir():
            continue
        if (error := caches.refused(place)) is not None:
            return f"{place}: cannot be written to: {error.strerror}"
        if os.statvfs(place).f_bavail == 0 < os.statvfs(place).f_blocks:
            return f"{place}: {os.strerror(errno.ENOSPC)}"
    return None


def timetable_in(state: Path) -> Path:
    """The job store's file in the folder of the store."""
    return state / "timetable.sqlite"


def due(
    config: Config, cluster: Cluster, entries: Sequence[Entry], kept: dict[str, int]
) -> int | None:
    """When the run is due that follows the last; None where none ever ran or was planned.

    A run that failed counts: what it left is retried with the next. One that was killed or stopped
    does not: what it left is due at once.

    Args:
        kept: what the timetable knew last, for clusters that never ran.
    """
    for entry in entries:
        if _covers(entry, cluster) and entry.state in {"done", "failed"}:
            times = timetable.times_of(config, cluster)
            return timetable.next_after(times, cluster.zone, entry.started_at)
    return kept.get(cluster.name)


def lines(status: Status, most: int) -> Iterator[str]:
    """The status as lines of text, of the newest ``most`` entries."""
    zones = {standing.cluster: periods.zone(standing.zone) for standing in status.clusters}
    usual = next(iter(zones.values()))
    shown = [_row(entry, zones.get(entry.cluster or "", usual)) for entry in status.entries[:most]]
    if shown:
        table = [("began", "took", "cluster", "stage", "state", "error"), *shown]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for row in table:
            cells = zip(row, widths, strict=True)
            yield "  ".join(cell.ljust(width) for cell, width in cells).rstrip()
        yield ""
    if status.holder is not None:
        yield f"at work: {status.holder}"
    for standing in status.clusters:
        coming = _shown(standing.coming, zones[standing.cluster])
        yield f"{standing.cluster}: {standing.problem or 'in order'}; next time {coming}"


def as_json(status: Status, config: Config, folder: Path, most: int) -> dict[str, object]:
    """Return the status as docs/service.md describes it; keys are only ever added."""
    configured = {cluster.name: cluster for cluster in config.clusters}
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
                "sources": [
                    _source(source, folder) for source in configured[standing.cluster].sources
                ],
            }
            for standing in status.clusters
        ],
        "runs": [_entry(entry) for entry in status.entries[:most]],
    }


def _source(source: Source, folder: Path) -> dict[str, object]:
    """Where logs come from; of a command its program alone, as its words may hold a secret."""
    if source.command is not None:
        return {"kind": "command", "what": source.command[0], "files": None, "newest": None}
    changed = []
    for path in sources.files(source, folder):
        with suppress(OSError):  # gone meanwhile
            changed.append(int(path.stat().st_mtime))
    newest = _instant(max(changed, default=None))
    return {"kind": "files", "what": source.files, "files": len(changed), "newest": newest}


def _entry(entry: Entry) -> dict[str, object]:
    times = {"started_at": _instant(entry.started_at), "ended_at": _instant(entry.ended_at)}
    return {**vars(entry), **times}


def _instant(instant: int | None) -> str | None:
    return None if instant is None else datetime.fromtimestamp(instant, UTC).isoformat()


def _standing(
    config: Config, cluster: Cluster, entries: Sequence[Entry], kept: dict[str, int], now: int
) -> Standing:
    instant = due(config, cluster, entries, kept)
    finished = (entry for entry in entries if _covers(entry, cluster) and entry.state != "running")
    times = timetable.times_of(config, cluster)
    return Standing(
        cluster=cluster.name,
        zone=cluster.zone,
        last=next(finished, None),
        due=instant,
        coming=timetable.next_after(times, cluster.zone, now),
        overdue=instant is None or instant + config.service.overdue_s < now,
    )


def _covers(entry: Entry, cluster: Cluster) -> bool:
    """Whether it is a whole run that did all there was to do for the cluster."""
    return entry.stage == WHOLE and entry.cluster in {None, cluster.name} and entry.period is None


def _row(entry: Entry, zone: ZoneInfo) -> tuple[str, ...]:
    took = "" if entry.ended_at is None else f"{entry.ended_at - entry.started_at:,} s"
    stage = entry.stage if entry.stage == WHOLE else f"  {entry.stage}"
    why = (entry.error or "").replace("\n", " ")
    return (
        _shown(entry.started_at, zone),
        took,
        entry.cluster or "all",
        stage + (f" {entry.period}" if entry.period else ""),
        entry.state,
        why if len(why) <= 200 else why[:199] + "…",
    )


def _shown(instant: int, zone: ZoneInfo) -> str:
    return datetime.fromtimestamp(instant, zone).strftime("%Y-%m-%d %H:%M %Z")
