"""The stage ``ingest``: what a cluster's sources have that is new, into the store.

A file is read unless it was, looking as it does; a command is run, window by window where it has
some. What cannot be read is set aside, kept as a failure, and stops nothing else: the other files
are taken in, and what they hold is computed and published.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from audit.config import Cluster, Source, places
from audit.errors import AuditError, EmptyLogError, LogError, UsageError
from audit.nightly import setting_aside, sources
from audit.nightly.stages import Work
from audit.store import database, queries
from audit.store.database import Connection

if TYPE_CHECKING:
    from audit.ingest.logs import Unread
    from audit.ingest.naming import Named

SETTLED_S: Final = 3600
"""A log that ends in the middle of a line is complete after so long without a change."""


def ingest(work: Work, cluster: Cluster) -> None:
    """Takes in what is new, as far as it can be read."""
    night = work.night
    seen = {
        path: (size, modified)
        for path, size, modified, _ in queries.rows(work.con, "seen", cluster=cluster.name)
    }
    there: set[str] = set()
    for number, source in enumerate(cluster.sources):
        if source.command is not None:
            try:
                there |= _pull(work, cluster, source, number)
            except AuditError as error:
                night.failures.append(error)
            continue
        paths = sources.files(source, work.folder)
        if not paths:
            night.warnings.append(f"cluster {cluster.name!r}: no file matches {source.files!r}")
        _take_files(work, cluster, source, paths, seen)
        there.update(map(str, paths))
    setting_aside.forget_others(work.con, cluster.name, there)


def _pull(work: Work, cluster: Cluster, source: Source, number: int) -> set[str]:
    """Takes in what a command prints, window by window where it has some; gives their names."""
    stem = f"{places.file_name(cluster.name)}-{number}"
    state = work.folder / work.config.output.state
    if not source.in_windows:
        watch = partial(work.progress, f"pulling {cluster.name}", 0, 1)
        spool = state / f"{stem}.log"
        with sources.printed(source, work.folder, spool, cluster.zone, watch=watch) as path:
            if path.stat().st_size:
                _take_printed(work, cluster, source, path)
        return {str(spool)}
    command = sources.identify(source, cluster.zone)
    known = queries.rows(work.con, "pulled", cluster=cluster.name, source=command)
    pulled = {(start, end): at for start, end, at in known}
    due = sources.due(source, cluster.zone, work.now, pulled)
    for done, window in enumerate(due):
        watch = partial(work.progress, f"pulling {cluster.name}", done, len(due))
        watch()
        spool = state / f"{stem}-{window.day}.log"
        with sources.printed(
            source, work.folder, spool, cluster.zone, window, work.now, watch
        ) as path:
            # the other windows may be good; this one is asked for again
            if path.stat().st_size and not _take_printed(work, cluster, source, path):
                continue
        key = {
            "cluster": cluster.name,
            "source": command,
            "from_time": window.from_time,
            "to_time": window.to_time,
        }
        _note(work.con, "pulled", key, {"pulled_at": work.now})
    work.progress(f"pulling {cluster.name}", len(due), len(due))
    every = sources.windows(source, cluster.zone, work.now)
    return {str(state / f"{stem}-{window.day}.log") for window in every}


def _take_printed(work: Work, cluster: Cluster, source: Source, path: Path) -> bool:
    """Takes in what a command printed; whether it could be."""
    return bool(_take(work, cluster, source, [path], path.name))


def _take_files(
    work: Work,
    cluster: Cluster,
    source: Source,
    paths: Sequence[Path],
    seen: Mapping[str, tuple[int, int]],
) -> None:
    """Takes in the files of a source that are new, or look otherwise than when they were seen."""
    looks: dict[Path, os.stat_result] = {}
    for path in paths:
        with _unless_unreadable(work, cluster, source, path):
            stat = path.stat()
            if seen.get(str(path)) == (stat.st_size, stat.st_mtime_ns):
                continue
            if work.now - stat.st_mtime < SETTLED_S and not _ends_with_line(path):
                work.night.warnings.append(
                    f"{path}: ends in the middle of a line, so it is still being written: left for "
                    f"the next run (a log without a last line break is read {SETTLED_S // 60} "
                    "minutes after its last change)"
                )
                continue
            looks[path] = stat
    for path, input_id in _take(work, cluster, source, list(looks), source.files).items():
        look = {
            "input_id": input_id,
            "size": looks[path].st_size,
            "modified_ns": looks[path].st_mtime_ns,
        }
        _note(work.con, "seen", {"cluster": cluster.name, "path": str(path)}, look)


@contextmanager
def _unless_unreadable(work: Work, cluster: Cluster, source: Source, path: Path) -> Iterator[None]:
    """Sets a file aside that the system does not let be looked at."""
    try:
        yield
    except OSError as error:
        from audit.ingest.logs import Unread

        failure = LogError(f"{path}: cannot be read: {error.strerror}")
        _set_aside(work, cluster, source, [Unread(path, failure)])


def _ends_with_line(path: Path) -> bool:
    """Whether a log ends where a line does; of compressed and empty ones their reader judges."""
    with path.open("rb") as log:
        if log.read(2) in (b"\x1f\x8b", b""):
            return True
        log.seek(-1, 2)
        return log.read(1) in b"\r\n"


def _take(
    work: Work, cluster: Cluster, source: Source, paths: Sequence[Path], origin: str | None
) -> dict[Path, str]:
    """Takes in new logs of one source; gives the inputs of those that are in the store now."""
    if not paths:
        return {}
    from audit.formats.dialects import Reading
    from audit.ingest import people
    from audit.ingest.ingest import identify, take_in_by_name
    from audit.ingest.logs import Unread, open_each
    from audit.ingest.naming import called_by

    work.prepare()
    door = people.door(cluster, work.folder)
    reading = Reading(source.columns, source.separator, cluster.zone)
    logs, unread = open_each(paths, source.dialect, reading, origin)
    if door is not None:
        unread = [door.unread(log) for log in unread]

    def naming(names: Sequence[str]) -> Named:
        from audit.ingest.naming import Named

        called = called_by(cluster.name, names, "clusters.name")
        return Named(cluster.name, "config.toml", called, door)

    limit = work.config.ingest.refused_limit
    try:
        if logs:
            intake = take_in_by_name(
                work.con, logs, naming, limit=limit, now=work.now, progress=work.progress
            )
            for taken in intake.taken:
                if not taken.known and (taken.records or source.files):
                    counts = f"{taken.records:,} records, {taken.refused:,} refused"
                    work.night.read.append(f"{taken.file}: {counts}")
                if not taken.records and source.files:
                    work.night.warnings.append(f"{taken.file}: holds comments but no record")
    except AuditError as error:
        if not isinstance(error, LogError | UsageError):
            raise
        unread += [Unread(log.source.path, error) for log in logs]
        logs = []
    _set_aside(work, cluster, source, unread)
    setting_aside.forget(work.con, cluster.name, [log.source.path for log in logs])
    return {log.source.path: identify(cluster.name, log) for log in logs}


def _set_aside(work: Work, cluster: Cluster, source: Source, unread: Sequence[Unread]) -> None:
    """Keeps in mind which logs could not be taken in, and why."""
    for log in unread:
        setting_aside.note(work.con, cluster.name, source.files or log.path.name, log, work.now)
        if isinstance(log.error, EmptyLogError):  # as logrotate leaves them: nothing is missing
            work.night.warnings.append(str(log.error))
        elif log.error not in work.night.failures:
            work.night.failures.append(log.error)


def _note(
    con: Connection, table: str, key: Mapping[str, object], values: Mapping[str, object]
) -> None:
    """Notes what was taken in, in the place of what was noted under this key."""
    import polars as pl

    where = " AND ".join(f"{database.quote_name(column)} = ?" for column in key)
    with database.transaction(con):
        database.execute(con, f"DELETE FROM {table} WHERE {where}", list(key.values()))  # noqa: S608
        database.insert(con, table, pl.DataFrame([{**key, **values}]))
