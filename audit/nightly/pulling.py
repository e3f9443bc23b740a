"""The stage ``ingest``: what a cluster's sources have that is new, into the store.

A file is read unless it was, looking as it does; a command is run, window by window where it has
some. What cannot be read is set aside, kept as a failure, and stops nothing else: the other files
are taken in, and what they hold is computed and published.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from audit import periods
from audit.config import Cluster, Source, places
from audit.errors import (
    AuditError,
    EmptyLogError,
    LogError,
    SilentError,
    TruncatedLogError,
    UsageError,
    withholding,
)
from audit.files.folders import readable
from audit.ingest import streams
from audit.nightly import setting_aside, sources
from audit.nightly.stages import Work
from audit.store import database, queries
from audit.store.database import Connection

if TYPE_CHECKING:
    from audit.ingest.logs import Unread
    from audit.ingest.naming import Named

SETTLED_S: Final = 3600
"""A log that ends in the middle of a line, or of its compressed data, is complete after so long
without a change."""

_DAY_S: Final = 86_400


class _Seen(NamedTuple):
    """How a file looked when it was taken in, and what the store calls that."""

    size: int
    modified_ns: int
    input_id: str


def ingest(work: Work, cluster: Cluster) -> None:
    """Takes in what is new, as far as it can be read."""
    night = work.night
    seen = {
        path: _Seen(*look) for path, *look in queries.rows(work.con, "seen", cluster=cluster.name)
    }
    there: set[str] = set()
    for number, source in enumerate(cluster.sources):
        stem = f"{places.file_name(cluster.name)}-{number}"
        if source.command is not None:
            there.update(map(str, _spools(work, cluster, source, stem)))
            try:
                with withholding(when=work.config.hides(cluster.name)):
                    _pull(work, cluster, source, stem)
            except AuditError as error:
                night.failures.append(error)
        else:
            paths = sources.files(source, work.folder)
            if not paths:
                night.warnings.append(f"cluster {cluster.name!r}: no file matches {source.files!r}")
            _take_files(work, cluster, source, paths, seen)
            there.update(map(readable, paths))
        _listen(work, cluster, source, stem)
    setting_aside.forget_others(work.con, cluster.name, there)


def _listen(work: Work, cluster: Cluster, source: Source, stem: str) -> None:
    """Raises the alarm where a source has been silent for longer than it may."""
    if source.silent_days is None:
        return
    if source.files is not None:
        shown, named = f"{source.files!r}", source.files
    else:
        assert source.command is not None  # it has either
        shown, named = f"command {source.command[0]!r}", f"{stem}.log"
    ((newest,),) = queries.rows(
        work.con,
        "newest_of_source",
        cluster=cluster.name,
        source=named,
        now=work.now,
    )
    if newest is not None and work.now - newest <= source.silent_days * _DAY_S:
        return
    last = "" if newest is None else f": its newest record is of {_minute(newest, cluster.zone)}"
    what = "has brought no record yet" if newest is None else "is silent"
    work.night.failures.append(
        SilentError(
            f"cluster {cluster.name!r}: source {shown} {what}{last} "
            f"(clusters.sources.silent_days = {source.silent_days:g}): are logs still written "
            "there, and found?"
        )
    )


def _minute(instant: int, zone: str) -> str:
    return datetime.fromtimestamp(instant, periods.zone(zone)).strftime("%Y-%m-%d %H:%M")


def _spools(work: Work, cluster: Cluster, source: Source, stem: str) -> list[Path]:
    """Where what a command prints lies while it is taken in, window by window where it has some."""
    state = work.folder / work.config.output.state
    if not source.in_windows:
        return [state / f"{stem}.log"]
    every = sources.windows(source, cluster.zone, work.now)
    return [state / f"{stem}-{window.day}.log" for window in every]


def _pull(work: Work, cluster: Cluster, source: Source, stem: str) -> None:
    """Takes in what a command prints, window by window where it has some."""
    state = work.folder / work.config.output.state
    if not source.in_windows:
        watch = partial(work.progress, f"pulling {cluster.name}", 0, 1)
        spool = state / f"{stem}.log"
        with sources.printed(source, work.folder, spool, cluster.zone, watch=watch) as path:
            if path.stat().st_size:
                _take(work, cluster, source, [path], f"{stem}.log")
        return
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
            if path.stat().st_size and not _take(work, cluster, source, [path], f"{stem}.log"):
                continue
        key = {
            "cluster": cluster.name,
            "source": command,
            "from_time": window.from_time,
            "to_time": window.to_time,
        }
        _note(work.con, "pulled", key, {"pulled_at": work.now})
    work.progress(f"pulling {cluster.name}", len(due), len(due))


def _take_files(
    work: Work, cluster: Cluster, source: Source, paths: Sequence[Path], seen: Mapping[str, _Seen]
) -> None:
    """Takes in the files of a source that are new, or look otherwise than when they were seen."""
    looks: dict[Path, os.stat_result] = {}
    held: dict[str, str] = {}  # what the store calls each file's text, as it is now
    for path in paths:
        with _unless_unreadable(work, cluster, source, path):
            look = streams.check_is_file(path)
            before = seen.get(readable(path))
            if before and before[:2] == (look.st_size, look.st_mtime_ns):
                held[readable(path)] = before.input_id
                continue
            if _is_new(work, look) and not streams.ends_with_line(path):
                _leave(work, path, "a line")
                continue
            looks[path] = look
    taken = _take(work, cluster, source, list(looks), source.files)
    for path, texts in taken.items():
        held[readable(path)] = texts[0]
        look = looks[path]
        values = {
            "input_id": texts[0],
            "size": look.st_size,
            "modified_ns": look.st_mtime_ns,
        }
        _note(work.con, "seen", {"cluster": cluster.name, "path": readable(path)}, values)
    kept = {*held.values(), *(text for texts in taken.values() for text in texts)}
    for path in taken:
        before = seen.get(readable(path))
        if before and looks[path].st_size < before.size and before.input_id not in kept:
            work.night.warnings.append(
                f"{readable(path)}: was replaced by a smaller one: what was read of it stays"
            )


def _is_new(work: Work, look: os.stat_result) -> bool:
    """Whether a file changed so lately that it may still be being written."""
    return work.now - look.st_mtime < SETTLED_S


def _leave(work: Work, path: Path, within: str) -> None:
    work.night.warnings.append(
        f"{readable(path)}: ends in the middle of {within}, so it is still being written: left for "
        f"the next run (such a log is judged as it is {SETTLED_S // 60} minutes after its last "
        "change)"
    )


@contextmanager
def _unless_unreadable(work: Work, cluster: Cluster, source: Source, path: Path) -> Iterator[None]:
    """Sets a file aside that is none, or that the system does not let be looked at."""
    failure: UsageError
    try:
        yield
        return
    except UsageError as error:
        failure = error
    except OSError as error:
        failure = UsageError(f"{readable(path)}: cannot be read: {error.strerror}")
    from audit.ingest.logs import Unread

    _set_aside(work, cluster, source, [Unread(path, failure)])


def _take(
    work: Work, cluster: Cluster, source: Source, paths: Sequence[Path], origin: str | None
) -> dict[Path, list[str]]:
    """Takes in new logs of one source.

    Returns:
        What the store calls each of those that it holds now, and the part that it held before.
    """
    if not paths:
        return {}
    from audit.formats.dialects import Reading
    from audit.ingest import people
    from audit.ingest.files import Part
    from audit.ingest.ingest import identify_text, take_in_by_name
    from audit.ingest.logs import Unread, open_each
    from audit.ingest.naming import called_by

    work.prepare()
    people_filter = people.filter_of(cluster, work.folder)
    reading = Reading(source.columns, source.separator, cluster.zone)
    texts = queries.rows(work.con, "texts_of_inputs", cluster=cluster.name)
    earlier = [Part(size, sha256) for size, sha256 in texts]
    logs, unread = open_each(paths, source.dialect, reading, origin, earlier)

    def naming(names: Sequence[str]) -> Named:
        from audit.ingest.naming import Named

        called = called_by(cluster.name, names, f"clusters.name of {cluster.name!r}")
        return Named(cluster.name, "config.toml", called, people_filter)

    limit = work.config.ingest.refused_limit
    try:
        if logs:
            intake = take_in_by_name(
                work.con, logs, naming, limit=limit, now=work.now, progress=work.progress
            )
            for taken in intake.taken:
                if not taken.known and (taken.records or source.files):
                    counts = f"{taken.records:,} records, {taken.refused:,} refused"
                    others = f", {taken.elsewhere:,} of other clusters" if taken.elsewhere else ""
                    work.night.read.append(f"{taken.file}: {counts}{others}")
                if not taken.records and source.files:
                    work.night.warnings.append(f"{taken.file}: holds comments but no record")
    except AuditError as error:
        if not isinstance(error, LogError | UsageError):
            raise
        unread += [Unread(log.source.path, error) for log in logs]
        logs = []
    _set_aside(work, cluster, source, unread)
    setting_aside.forget(work.con, cluster.name, [log.source.path for log in logs])
    return {
        log.source.path: [
            identify_text(cluster.name, text.sha256)
            for text in (log.source, log.source.known)
            if text is not None
        ]
        for log in logs
    }


def _set_aside(work: Work, cluster: Cluster, source: Source, unread: Sequence[Unread]) -> None:
    """Keeps in mind which logs could not be taken in, and why."""
    said = {str(failure) for failure in work.night.failures}
    hides = work.config.hides(cluster.name)
    for log in (one.withheld() if hides else one for one in unread):
        cut = source.files is not None and isinstance(log.error, TruncatedLogError)
        if cut and _is_new(work, log.path.stat()):
            _leave(work, log.path, "its compressed data")
            continue
        setting_aside.note(work.con, cluster.name, source.files or log.name, log, work.now)
        if isinstance(log.error, EmptyLogError):  # as logrotate leaves them: nothing is missing
            work.night.warnings.append(str(log.error))
        elif str(log.error) not in said:
            said.add(str(log.error))
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
