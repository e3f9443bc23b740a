"""The stage ``ingest``: what a cluster's sources have that is new, into the store.

A file is read unless it was, looking as it does; a command is run, window by window where it has
some. What cannot be read is kept as a failure, and the rest is done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from audit.config import Cluster, Source, places
from audit.errors import AuditError, LogError
from audit.nightly import sources
from audit.nightly.stages import UNSOUND, Work
from audit.store import database, queries
from audit.store.database import Connection

if TYPE_CHECKING:
    from audit.ingest.ingest import Named

SETTLED_S: Final = 3600
"""A log that ends in the middle of a line is complete after so long without a change."""


def ingest(work: Work, cluster: Cluster) -> bool:
    """Takes in what is new; whether all of it could be built on."""
    night = work.night
    sound = True
    seen = {
        path: (size, modified)
        for path, size, modified, _ in queries.rows(work.con, "seen", cluster=cluster.name)
    }
    for number, source in enumerate(cluster.sources):
        if source.command is not None:
            try:
                sound = _pull(work, cluster, source, number) and sound
            except AuditError as error:
                night.failures.append(error)
                sound = sound and error.exit_code != UNSOUND
            continue
        paths = sources.files(source, work.folder)
        if not paths:
            night.warnings.append(f"cluster {cluster.name!r}: no file matches {source.files!r}")
        for path in paths:
            try:
                _take_file(work, cluster, source, path, seen.get(str(path)))
            except OSError as error:
                night.failures.append(LogError(f"{path}: cannot be read: {error.strerror}"))
            except AuditError as error:
                night.failures.append(error)
                sound = sound and error.exit_code != UNSOUND
    return sound


def _pull(work: Work, cluster: Cluster, source: Source, number: int) -> bool:
    """Takes in what a command prints, window by window where it has some; whether all is sound."""
    stem = f"{places.file_name(cluster.name)}-{number}"
    state = work.folder / work.config.output.state
    if not source.in_windows:
        watch = partial(work.progress, f"pulling {cluster.name}", 0, 1)
        with sources.printed(
            source, work.folder, state / f"{stem}.log", cluster.zone, watch=watch
        ) as path:
            if path.stat().st_size:
                _take(work, cluster, source, path)
        return True
    command = sources.identify(source, cluster.zone)
    known = queries.rows(work.con, "pulled", cluster=cluster.name, source=command)
    pulled = {(start, end): at for start, end, at in known}
    due = sources.due(source, cluster.zone, work.now, pulled)
    sound = True
    for done, window in enumerate(due):
        watch = partial(work.progress, f"pulling {cluster.name}", done, len(due))
        watch()
        spool = state / f"{stem}-{window.day}.log"
        with sources.printed(
            source, work.folder, spool, cluster.zone, window, work.now, watch
        ) as path:
            try:
                if path.stat().st_size:
                    _take(work, cluster, source, path, may_be_empty=True)
            except LogError as error:  # the other windows may be good; this one is asked for again
                work.night.failures.append(error)
                sound = sound and error.exit_code != UNSOUND
                continue
        key = {
            "cluster": cluster.name,
            "source": command,
            "from_time": window.from_time,
            "to_time": window.to_time,
        }
        _note(work.con, "pulled", key, {"pulled_at": work.now})
    work.progress(f"pulling {cluster.name}", len(due), len(due))
    return sound


def _take_file(
    work: Work, cluster: Cluster, source: Source, path: Path, seen: tuple[int, int] | None
) -> None:
    """Takes in one file, unless it was ``seen`` of this size and time, or is still written."""
    stat = path.stat()
    if seen == (stat.st_size, stat.st_mtime_ns):
        return
    if work.now - stat.st_mtime < SETTLED_S and not _ends_with_line(path):
        work.night.warnings.append(
            f"{path}: ends in the middle of a line, so it is still being written: left for the "
            f"next run (a log without a last line break is read {SETTLED_S // 60} minutes after "
            "its last change)"
        )
        return
    look = {
        "input_id": _take(work, cluster, source, path),
        "size": stat.st_size,
        "modified_ns": stat.st_mtime_ns,
    }
    _note(work.con, "seen", {"cluster": cluster.name, "path": str(path)}, look)


def _ends_with_line(path: Path) -> bool:
    """Whether a log ends where a line does; of compressed and empty ones their reader judges."""
    with path.open("rb") as log:
        if log.read(2) in (b"\x1f\x8b", b""):
            return True
        log.seek(-1, 2)
        return log.read(1) in b"\r\n"


def _take(
    work: Work, cluster: Cluster, source: Source, path: Path, *, may_be_empty: bool = False
) -> str:
    """Takes in one log; gives its input."""
    from audit.formats.dialects import Reading
    from audit.ingest.ingest import (
        Named,
        called_by,
        identify,
        open_logs,
        refuse_beyond,
        take_in_by_name,
    )

    work.prepare()
    con, night = work.con, work.night
    reading = Reading(source.columns, source.separator, cluster.zone)
    logs = open_logs([path], source.dialect, reading)

    def naming(names: Sequence[str]) -> Named:
        called = called_by(cluster.name, names, "clusters.name")
        return Named(cluster.name, "config.toml", called)

    _, (taken,) = take_in_by_name(con, logs, naming, now=work.now, progress=work.progress)
    if taken.records or not may_be_empty:
        if not taken.known:
            night.read.append(f"{taken.file}: {taken.records:,} records, {taken.refused:,} refused")
        refuse_beyond(con, cluster.name, logs, work.config.ingest.refused_limit)
    return identify(cluster.name, logs[0])


def _note(
    con: Connection, table: str, key: Mapping[str, object], values: Mapping[str, object]
) -> None:
    """Notes what was taken in, in the place of what was noted under this key."""
    import polars as pl

    where = " AND ".join(f"{database.quote_name(column)} = ?" for column in key)
    with database.transaction(con):
        database.execute(con, f"DELETE FROM {table} WHERE {where}", list(key.values()))  # noqa: S608
        database.insert(con, table, pl.DataFrame([{**key, **values}]))
