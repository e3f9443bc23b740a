"""The stage ``ingest``: new logs of a cluster's sources, and its evidence, into the store.

A file is read unless it looks as it did when it was last read; a command is run, window by window
if it has windows. A log that cannot be read is set aside and recorded as a failure; the others are
read.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from audit import errors, periods
from audit.config import Cluster, EvidenceConfig, SourceConfig, places
from audit.config.table import fingerprint, resolved
from audit.errors import AuditError, withholding
from audit.files.folders import readable
from audit.ingest import streams
from audit.nightly import sources
from audit.nightly.stages import Work
from audit.store import database, queries
from audit.store.database import Connection
from audit.words import SetAsideCode, plural

if TYPE_CHECKING:
    from audit.config.table import TableMapping
    from audit.ingest.ingest import Named
    from audit.ingest.logs import Unread


def pull_evidence(work: Work, cluster: Cluster) -> None:
    """Read samples and logs of a cluster's scheduler: output of commands, and files that changed.

    What cannot be read is a failure, and the rest is read.
    """
    site = work.site
    for number, origin in enumerate(cluster.evidence):
        if origin.command is not None:
            spool = site.state / f"{places.file_name(cluster.name)}-evidence-{number}.txt"
            watch = partial(work.progress, f"pulling {cluster.name}", 0, 1)
            printed = sources.printed(origin, site.folder, spool, cluster.zone, watch=watch)
            with _failing(work), withholding(when=site.config.hides(cluster.name)), printed as path:
                _take_evidence(work, cluster, origin, path, work.now)
            continue
        paths = sources.files(origin, site.folder)
        if not paths:
            why = f"cluster {cluster.name!r}: no file matches {origin.files!r}"
            work.night.warnings.append(why)
        for path in paths:
            with _failing(work):
                look = streams.check_is_file(path)
                key = {"cluster": cluster.name, "kind": origin.kind, "path": readable(path)}
                looks = {"size": look.st_size, "modified_ns": look.st_mtime_ns}
                if queries.rows(work.con, "evidence_seen", **key) != [tuple(looks.values())]:
                    _take_evidence(work, cluster, origin, path, None)
                    database.put(work.con, "evidence_seen", key, looks)


def _take_evidence(
    work: Work, cluster: Cluster, origin: EvidenceConfig, path: Path, taken: int | None
) -> None:
    from audit.ingest.evidence import EvidenceFile, take_in  # an idle run loads no frames

    doubt = take_in(work.con, cluster.name, EvidenceFile(origin.kind, path), cluster.zone, taken)
    if doubt is not None:
        work.night.warnings.append(f"cluster {cluster.name!r}: {doubt}")


@contextmanager
def _failing(work: Work) -> Iterator[None]:
    """Record an error of the block as a failure of the run."""
    try:
        yield
    except AuditError as error:
        work.night.failures.append(error)


SETTLED_S: Final = 3600
"""Seconds without a change after which a log that ends in the middle of a line, or of its
compressed data, is taken to be complete.
"""

_DAY_S: Final = 86_400

_CODES: Final = (
    (errors.EmptyLogError, SetAsideCode.EMPTY),
    (errors.DialectError, SetAsideCode.UNKNOWN),
    (errors.RefusedError, SetAsideCode.LIMIT),
    (errors.SeveralClustersError, SetAsideCode.CLUSTERS),
    (errors.LogError, SetAsideCode.DAMAGED),
    (errors.AuditError, SetAsideCode.UNREADABLE),
)
"""Kinds of error, the narrower first, and their codes in the store."""

_UNFINISHED: Final[Mapping[type[errors.AuditError], str]] = {
    errors.TruncatedLogError: "ends in the middle of its compressed data",
    errors.ChangedLogError: "changed while it was read",
}
"""Errors of a log that may still be written to."""


class _Seen(NamedTuple):
    """A file as it looked when it was read, and the id of its text in the store."""

    size: int
    modified_ns: int
    input_id: str
    reading: str  # see ``Reading.fingerprint``


def ingest(work: Work, cluster: Cluster) -> None:
    """Read new logs; those that cannot be read are set aside."""
    _warn_if_renamed(work, cluster)
    there: set[str] = set()
    for number, source in enumerate(cluster.sources):
        pull = _Pull(work, cluster, source, sources.origin(cluster, number))
        there |= pull.logs()
        pull.check_silence()
    _forget(work.con, cluster.name, there, others=True)
    pull_evidence(work, cluster)


def _warn_if_renamed(work: Work, cluster: Cluster) -> None:
    """Warn that a new cluster may be one of the store under another name."""
    known = {name for (name,) in database.rows(work.con, "SELECT DISTINCT cluster FROM inputs")}
    left = known - {one.name for one in work.site.config.clusters}
    if left and cluster.name not in known:
        work.night.warnings.append(
            f"cluster {cluster.name!r} is new, and the store also has {', '.join(sorted(left))}, "
            "no longer configured: if it was renamed, its jobs now count under both names. Give "
            "it its old name (clusters.name), or begin a new store (output.state, output.database)"
        )


@dataclass(frozen=True)
class _Pull:
    """One source of a cluster."""

    work: Work
    cluster: Cluster
    source: SourceConfig
    origin: str  # its name in the store

    @cached_property
    def mapping(self) -> TableMapping | None:
        """The mapping of its columns; ConfigError if its file is wrong."""
        return resolved(self.source.table, self.work.site.folder)

    @property
    def _shown(self) -> str:
        """The pattern of its files, or its program: other words may hold a secret."""
        command = self.source.command
        return f"{self.source.files!r}" if command is None else f"command {command[0]!r}"

    def logs(self) -> set[str]:
        """Read what is new, and again what was read in another zone; return the logs' paths."""
        work, source, name = self.work, self.source, self.cluster.name
        zone = (self.mapping and self.mapping.zone) or self.cluster.zone
        before = self._read_again(zone)
        there = self.files() if source.command is None else self.command()
        left = self._read_again(zone) if before else before
        # what a command prints in its TZ is right, whatever the zone was
        if left and (source.command is None or len(left) < len(before)):
            work.night.warnings.append(
                f"cluster {name!r}: the local times of {plural(len(left), 'log')} of {self._shown} "
                f"were read in zone {min(left.values())}, not {zone}, and stay: their texts are "
                "gone or changed, or their records are in the archive. If the times are wrong, "
                "begin a new store (output.state, output.database)"
            )
        return there

    def _read_again(self, zone: str) -> dict[str, str]:
        """Have logs read again, if found, whose local times were read in another zone than this.

        Returns the other zones by input id, also of archived logs, which stay as they are.
        """
        con, cluster = self.work.con, self.cluster.name
        of = {"cluster": cluster, "source": self.origin, "zone": zone}
        found = queries.rows(con, "read_in_other_zone", **of)
        if new := [name for name, _, marked in found if marked is False]:
            mark = """header = json_merge_patch(header, '{"reading": "outdated"}')"""
            where = "input_id IN (SELECT unnest(?))"
            with database.transaction(con):
                database.execute(con, f"UPDATE inputs SET {mark} WHERE {where}", [new])  # noqa: S608
                database.execute(con, "DELETE FROM seen WHERE cluster = ?", [cluster])
        return {name: other for name, other, _ in found}

    def command(self) -> set[str]:
        """Read the command's output, window by window; return the paths of its logs."""
        work, cluster, source = self.work, self.cluster, self.source
        windows: list[sources.SourceWindow | None] = [None]
        if source.in_windows:
            windows = [*sources.windows(source, cluster.zone, work.now)]
        with _failing(work), withholding(when=work.site.config.hides(cluster.name)):
            self._run_command()
        return {str(self._spool(window)) for window in windows}

    def _spool(self, window: sources.SourceWindow | None) -> Path:
        day = "" if window is None else f"-{window.day}"
        return self.work.site.state / f"{self.origin.removesuffix('.log')}{day}.log"

    def _run_command(self) -> None:
        work, cluster, source = self.work, self.cluster, self.source
        command = sources.identify(source, cluster.zone)
        due: list[sources.SourceWindow | None] = [None]
        if source.in_windows:
            known = queries.rows(work.con, "pulled", cluster=cluster.name, source=command)
            pulled = {(start, end): at for start, end, at in known}
            due = [*sources.due(source, cluster.zone, work.now, pulled)]
        for done, window in enumerate(due):
            watch = partial(work.progress, f"pulling {cluster.name}", done, len(due))
            watch()
            spool = self._spool(window)
            with sources.printed(
                source, work.site.folder, spool, cluster.zone, window, work.now, watch
            ) as path:
                # the other windows may be good; this one is requested again
                if path.stat().st_size and not self._take([path]):
                    continue
            if window is not None:
                key = {"cluster": cluster.name, "source": command}
                edges = {"from_time": window.from_time, "to_time": window.to_time}
                database.put(work.con, "pulled", {**key, **edges}, {"pulled_at": work.now})
        work.progress(f"pulling {cluster.name}", len(due), len(due))

    def files(self) -> set[str]:
        """Read the files that are new or look different; return their paths."""
        work, cluster = self.work, self.cluster
        pattern = work.site.folder / str(self.source.files)
        listed: list[list[Path]] = []
        with self._unless_unreadable(pattern):
            listed.append(sources.files(self.source, work.site.folder))
        if not listed:
            return {readable(pattern)}
        (paths,) = listed
        if not paths:
            why = f"cluster {cluster.name!r}: no file matches {self.source.files!r}"
            work.night.warnings.append(why)
        own = fingerprint(self.mapping, self.source.columns, self.source.separator)
        rows = queries.rows(work.con, "seen", cluster=cluster.name)
        seen = {path: _Seen(*look) for path, *look in rows}
        looks: dict[Path, os.stat_result] = {}
        stored: set[str] = set()  # ids of the files' texts as they are now
        for path in paths:
            with self._unless_unreadable(path):
                look = streams.check_is_file(path)
                before = seen.get(readable(path))
                same = before is not None and before.reading == own
                if before and before[:2] == (look.st_size, look.st_mtime_ns) and same:
                    stored.add(before.input_id)
                elif self._is_recent(look) and not streams.ends_with_line(path):
                    self._leave(path, "ends in the middle of a line")
                else:
                    looks[path] = look
        taken = self._take([*looks])
        for path, texts in taken.items():
            stored |= {*texts}
            look = looks[path]
            if _changed(look, path):  # its next look might equal this one
                continue
            key = {"cluster": cluster.name, "path": readable(path)}
            values = _Seen(look.st_size, look.st_mtime_ns, texts[0], own)._asdict()
            database.put(work.con, "seen", key, values)
        for path in taken:
            before = seen.get(readable(path))
            if before and looks[path].st_size < before.size and before.input_id not in stored:
                work.night.warnings.append(
                    f"{readable(path)}: was replaced by a smaller file; earlier records are kept"
                )
        return {*map(readable, paths)}

    def check_silence(self) -> None:
        """Record a failure if the source has been silent for longer than it may be."""
        source, work, cluster = self.source, self.work, self.cluster
        if source.silent_days is None:
            return
        of = {"cluster": cluster.name, "source": self.origin, "now": work.now}
        ((newest,),) = queries.rows(work.con, "newest_of_source", **of)
        if newest is None:
            what = "has provided no records yet"
        elif work.now - newest > source.silent_days * _DAY_S:
            last = datetime.fromtimestamp(newest, periods.zone(cluster.zone))
            what = f"is silent: its newest record is of {last:%Y-%m-%d %H:%M}"
        else:
            return
        work.night.failures.append(
            errors.SilentError(
                f"cluster {cluster.name!r}: source {self._shown} {what} "
                f"(clusters.sources.silent_days = {source.silent_days:g}): check that logs are "
                "still written there and found"
            )
        )

    def _is_recent(self, look: os.stat_result) -> bool:
        """Return whether a file changed so recently that it may still be written to."""
        return self.work.now - look.st_mtime < SETTLED_S

    def _leave(self, path: Path, why: str) -> None:
        self.work.night.warnings.append(
            f"{readable(path)}: {why}, so it is still being written: left for the next run (it is "
            f"read {SETTLED_S // 60} minutes after its last change)"
        )

    @contextmanager
    def _unless_unreadable(self, path: Path) -> Iterator[None]:
        """Set a path aside if it is not a file, or may not be examined."""
        try:
            with errors.refusals(errors.UsageError, readable(path), "cannot be read"):
                yield
        except errors.UsageError as error:
            from audit.ingest.logs import Unread  # an idle run loads no frames

            self._set_aside([Unread(path, error)])

    def _take(self, paths: Sequence[Path]) -> dict[Path, list[str]]:
        """Read new logs into the store.

        Returns, for each log that the store now has, the ids of its text and, if it has grown, of
        the part that the store already had.
        """
        if not paths:
            return {}
        from audit.formats.dialects import Reading
        from audit.ingest import people
        from audit.ingest.ingest import Named, called_by, take_in_by_name
        from audit.ingest.logs import LogHead, Unread, open_each
        from audit.ingest.rereading import identify_text

        work, cluster, source = self.work, self.cluster, self.source
        work.prepare()
        people_filter = people.filter_of(cluster, work.site.folder)
        zone = cluster.zone if self.mapping is None else self.mapping.zone or cluster.zone
        reading = Reading(source.columns, source.separator, zone, self.mapping)
        texts = queries.rows(work.con, "texts_of_inputs", cluster=cluster.name)
        parts = [LogHead(*text) for text in texts]
        logs, unread = open_each(paths, source.dialect, reading, self.origin, parts)

        def naming(names: Sequence[str]) -> Named:
            called = called_by(cluster.name, names, f"clusters.name of {cluster.name!r}")
            return Named(cluster.name, "config.toml", called, people_filter)

        take_in = partial(take_in_by_name, now=work.now, on_progress=work.progress)
        limit = work.site.config.ingest.refused_limit
        try:
            intake = take_in(work.con, logs, naming, limit=limit) if logs else None
            for taken in intake.taken if intake else ():
                if not taken.known and (taken.records or source.files):
                    counts = f"{taken.records:,} records, {taken.refused:,} refused"
                    others = f", {taken.elsewhere:,} of other clusters" if taken.elsewhere else ""
                    work.night.read.append(f"{taken.file}: {counts}{others}")
                if taken.lost:
                    work.night.warnings.append(f"{taken.file}: {taken.lost}")
                if source.files and not (taken.records or taken.known):
                    work.night.warnings.append(f"{taken.file}: contains no records of jobs")
            if intake and intake.kept_out:
                unread += intake.kept_out
                left = {one.path for one in intake.kept_out}
                logs = [log for log in logs if log.source.path not in left]
        except (errors.LogError, errors.UsageError) as error:
            unread += [Unread(log.source.path, error) for log in logs]
            logs = []
        self._set_aside(unread)
        _forget(work.con, cluster.name, {readable(log.source.path) for log in logs})
        return {
            log.source.path: [
                identify_text(cluster.name, text.sha256, log.reading)
                for text in (log.source, log.source.known)
                if text is not None
            ]
            for log in logs
        }

    def _set_aside(self, unread: Sequence[Unread]) -> None:
        work, source = self.work, self.source
        known = {str(failure) for failure in work.night.failures}
        hides = work.site.config.hides(self.cluster.name)
        for log in (one.withheld() if hides else one for one in unread):
            why = _UNFINISHED.get(type(log.error)) if source.files is not None else None
            if why is not None and log.path.exists() and self._is_recent(log.path.stat()):
                self._leave(log.path, why)
                continue
            self._note_aside(log)
            if isinstance(log.error, errors.EmptyLogError):  # as logrotate leaves them
                work.night.warnings.append(str(log.error))
                continue
            error = self._of_command(log) if source.command else log.error
            if str(error) not in known:
                known.add(str(error))
                work.night.failures.append(error)

    def _of_command(self, log: Unread) -> errors.AuditError:
        """Return the error about a command's output, which no file has any more."""
        text, outside, instead = log.error.args
        program, *_ = self.source.command or ("",)  # the other words may hold a secret
        said = text.replace(log.where, f"output of command {program!r} ({log.name})")
        remedy = f"; run it by hand to see what it prints ({self.source.section})"
        return type(log.error)(said if outside else said + remedy, outside, instead)

    def _note_aside(self, log: Unread) -> None:
        """Record a log that was not read; the time of the first record stays."""
        con, cluster = self.work.con, self.cluster.name
        found = dict(queries.rows(con, "set_aside_since", cluster=cluster))
        code = next(code.value for kind, code in _CODES if isinstance(log.error, kind))
        values = {
            "source": self.source.files or log.name,
            "file": log.name,
            "code": code,
            "reason": log.reason,
            "found_at": found.get(log.where, self.work.now),
        }
        database.put(con, "set_aside", {"cluster": cluster, "path": log.where}, values)


def _changed(look: os.stat_result, path: Path) -> bool:
    try:
        now = path.stat()
    except OSError:
        return True
    looks = [(of.st_size, of.st_mtime_ns, of.st_ctime_ns) for of in (look, now)]
    return looks[0] != looks[1]


def _forget(con: Connection, cluster: str, paths: Set[str], *, others: bool = False) -> None:
    """Remove records of logs that were set aside: those with these paths, or all others."""
    noted = {path for path, _ in queries.rows(con, "set_aside_since", cluster=cluster)}
    if gone := noted - paths if others else noted & paths:
        where = "cluster = ? AND path IN (SELECT unnest(?))"
        database.execute(con, f"DELETE FROM set_aside WHERE {where}", [cluster, sorted(gone)])  # noqa: S608
