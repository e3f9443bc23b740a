"""Takes logs into the store: each once, whole or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from audit.errors import DialectError, LogError, UsageError
from audit.formats import dialects
from audit.formats.dialects import PLAIN, Dialect, Header, Parsed, Reading
from audit.formats.lines import Block
from audit.ingest import files
from audit.ingest.attempts import outdated_arrays, resolve
from audit.ingest.files import Source
from audit.store import queries
from audit.store.database import Connection, execute, insert, transaction

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and of how much (bytes, steps)."""

BATCH_ROWS: Final = 2 * 122_880
"""Records that are inserted at once, at least, but for the last of a log: two groups of those that
DuckDB stores together."""

EXAMPLES: Final = 5
"""Refused lines that an error shows."""


class Opened(NamedTuple):
    """A log whose dialect is known."""

    source: Source
    dialect: Dialect
    header: Header


class Taken(NamedTuple):
    """What became of one log."""

    file: str
    records: int
    refused: int
    known: bool  # its bytes were in the store already, so it was not read again
    steps: int = 0  # records of parts of jobs, which are no attempts
    elsewhere: int = 0  # records of other clusters, left where they are


def open_logs(
    paths: Sequence[Path], dialect: str | None = None, reading: Reading = PLAIN
) -> list[Opened]:
    """Looks at each log and tells its dialect, before anything is taken in.

    Args:
        paths: the logs.
        dialect: their dialect; None detects it for each.
        reading: what the user says of them.

    Raises:
        UsageError, LogError: as ``files.inspect``.
        DialectError: no dialect, or not the one named, recognises a log; or it must be told more
            (its columns).
    """
    opened = []
    for path in paths:
        source = files.inspect(path)
        found = dialects.detect(source.head, str(path), reading)
        if dialect is not None and found.name != dialect:
            raise DialectError(f"{path}: looks like {found.title}, not {dialect}")
        try:
            header = found.header(source.head, reading)
        except DialectError as error:
            raise DialectError(f"{path}: {error}") from error
        opened.append(Opened(source, found, header))
    return opened


def clusters(log: Opened) -> dict[str, int]:
    """The clusters that a log names in its records, and how many records each has.

    Reads all of the log. Empty where it names none, as most dialects do not.
    """
    counted: dict[str, int] = {}
    if not log.dialect.names_clusters:
        return counted
    for _, parsed in parsed_blocks(log):
        for name, count in parsed.records["cluster"].drop_nulls().value_counts().iter_rows():
            counted[name] = counted.get(name, 0) + count
    return dict(sorted(counted.items()))


def called_by(asked: str | None, named: Sequence[str], flag: str) -> str | None:
    """What the records of logs call the cluster that is asked for.

    That name itself, where they name it; their only name, which then goes by the asked one here.

    Args:
        asked: the cluster's name here; None takes the only one there is.
        named: the clusters that the records name.
        flag: where the name is chosen.

    Raises:
        UsageError: they name several, and not that one.
    """
    if asked in named:
        return asked
    if len(named) > 1:
        raise UsageError(
            f"the records are of several clusters: {', '.join(named)}; choose one ({flag})"
        )
    return named[0] if named else None


class Named(NamedTuple):
    """What a cluster is called."""

    cluster: str  # here
    source: str  # who says so
    called: str | None  # in the records of logs that name several: those of others are left out


Naming = Callable[[Sequence[str]], Named]
"""Given the clusters that the records of all logs name, in order, what theirs is called.

Raises UsageError where that must be chosen. It is asked again when later records name more.
"""


def take_in(
    con: Connection,
    cluster: str,
    logs: Sequence[Opened],
    *,
    now: int | None = None,
    called: str | None = None,
    progress: Progress = lambda what, done, of: None,
) -> list[Taken]:
    """Brings logs of a cluster whose name is known into the store; see ``take_in_by_name``.

    Args:
        con: an open store.
        cluster: whose logs these are.
        logs: see ``open_logs``.
        now: epoch second to note beside refused lines; None where no clock may show.
        called: what the logs call the cluster, where they name several: records of the others are
            counted, and left for an audit of theirs. None takes logs that name one at most.
        progress: told after each block, in bytes.

    Raises:
        StoreError: the store cannot be written.
        UsageError: a log names several clusters and none was chosen.
    """
    named = Named(cluster, "the caller", called)
    return take_in_by_name(con, logs, lambda names: named, now=now, progress=progress)[1]


def take_in_by_name(
    con: Connection,
    logs: Sequence[Opened],
    naming: Naming,
    *,
    now: int | None = None,
    progress: Progress = lambda what, done, of: None,
) -> tuple[Named, list[Taken]]:
    """Brings logs into the store under the name that their records, or the caller, give.

    All logs go in within one transaction; one that the store holds already changes nothing and is
    not read. What several logs share counts once, and the content of the store does not depend on
    their order (``attempts.resolve``).

    Each log is parsed once: its first records name the cluster. Only where records that come after
    an insert change the name is everything undone and read again under the right one.

    Args:
        con: an open store.
        logs: see ``open_logs``.
        naming: what the cluster is called.
        now: epoch second to note beside refused lines; None where no clock may show.
        progress: told after each block, in bytes.

    Raises:
        StoreError: the store cannot be written. It is as it was before.
        UsageError: what ``naming`` raises; or a log names several clusters and none was chosen.
    """
    names = _Names(logs, naming)
    while True:
        try:
            with transaction(con):
                taken = _take_in_all(con, logs, names, now, progress)
                return names.now(), taken
        except _RenamedError:
            names.used = False


class _RenamedError(Exception):
    """Records give the cluster another name than that under which some went in."""


class _Names:
    """The clusters that records have named so far, and what follows for the name."""

    def __init__(self, logs: Sequence[Opened], naming: Naming) -> None:
        self.used = False  # whether anything has gone in under the name
        self._logs = logs
        self._naming = naming
        self._names: set[str] = set()
        self._named: Named | None = None

    def now(self, more: Iterable[str] = ()) -> Named:
        """What the cluster is called once ``more`` names are known, too."""
        more = set(more)
        if self._named is None or not more <= self._names:
            self._names |= more
            before, self._named = self._named, self._ask()
            if self.used and self._named != before:
                raise _RenamedError
        return self._named

    def _ask(self) -> Named:
        try:
            return self._naming(sorted(self._names))
        except UsageError:
            # records that come later may settle it, and an error lists all names
            self._names.update(*map(clusters, self._logs))
            return self._naming(sorted(self._names))


def _take_in_all(
    con: Connection, logs: Sequence[Opened], names: _Names, now: int | None, progress: Progress
) -> list[Taken]:
    taken = []
    size = sum(log.source.size for log in logs)
    done = 0
    for log in logs:
        what = f"reading {log.source.path.name}"
        progress(what, done, size)
        held = queries.run(con, "inputs_of_content", content_sha256=log.source.sha256)
        if not held.is_empty():
            names.now(_names_held(held, log))
        known = not held.is_empty() and identify(names.now().cluster, log) in held["input_id"]
        if not known:
            for position in _take_in_one(con, log, names, now):
                progress(what, done + position, size)
        done += log.source.size
        progress(what, done, size)
        input_id = identify(names.now().cluster, log)
        row = queries.run(con, "input", input_id=input_id).row(0, named=True)
        counts = (row["records"], row["refused"])
        taken.append(Taken(row["file"], *counts, known, row["steps"], row["elsewhere"]))
    return taken


def _names_held(held: pl.DataFrame, log: Opened) -> Iterable[str]:
    """The clusters that the records of a log name, which the store holds for some cluster."""
    if (held["elsewhere"] > 0).any():
        return clusters(log)
    return held["log_cluster"].drop_nulls().to_list()


def refuse_beyond(con: Connection, cluster: str, logs: Sequence[Opened], limit: float) -> None:
    """Checks that each log was taken in well enough to build on.

    Args:
        limit: the part of a log's records that may be refused, 0 to 1.

    Raises:
        LogError: a log holds no record, or more of them were refused; reasons and lines are shown.
    """
    for log in logs:
        input_id = identify(cluster, log)
        row = queries.run(con, "input", input_id=input_id).row(0, named=True)
        refused = queries.run(con, "refused_lines", input_id=input_id, most=EXAMPLES)
        check_refused(log, row["records"], row["refused"], refused.rows(), limit)


def check_refused(
    log: Opened, records: int, refused: int, first: Iterable[tuple[int, str]], limit: float
) -> None:
    """Checks that few enough of a log's records were refused.

    Args:
        log: the log.
        records: how many it holds, with those that were refused.
        refused: how many were refused.
        first: line and reason of the first ``EXAMPLES`` of them.
        limit: the part that may be refused, 0 to 1.

    Raises:
        LogError: it holds no record, or more of them were refused.
    """
    path = log.source.path
    if records == 0:
        raise LogError(f"{path}: empty: it holds comments but no record")
    if refused > limit * records:
        examples = "".join(f"\n  {path.name}:{line}: {reason}" for line, reason in first)
        raise LogError(
            f"{path}: {refused:,} of {records:,} records were refused, more than the limit of "
            f"{limit:.0%} (ingest.refused_limit): is it complete, and really {log.dialect.title}? "
            f"The first of them:{examples}"
        )


def identify(cluster: str, log: Opened) -> str:
    """What the store calls a log of a cluster."""
    return hashlib.sha256(f"{cluster}\0{log.source.sha256}".encode()).hexdigest()


def _take_in_one(con: Connection, log: Opened, names: _Names, now: int | None) -> Iterator[int]:
    """Inserts one log block by block, yielding the position after each."""
    counted = {"records": 0, "refused": 0, "steps": 0, "elsewhere": 0}
    kept_names: set[str] = set()
    file = log.source.path.name
    for position, parsed in _batches(parsed_blocks(log)):
        named = names.now(parsed.records["cluster"].drop_nulls().unique().to_list())
        records = parsed.records
        if named.called is not None:
            records = records.filter((pl.col("cluster") == named.called).fill_null(value=True))
        kept_names.update(records["cluster"].drop_nulls().unique().to_list())
        if len(kept_names) > 1:
            listed = ", ".join(clusters(log))
            raise UsageError(
                f"{log.source.path}: holds records of several clusters ({listed}): choose one"
            )
        names.used = True
        labels = {"cluster": named.cluster, "input_id": identify(named.cluster, log)}
        records = records.drop("cluster")
        insert(con, "records", records, {**labels, "attempt": 1, "superseded": False})
        insert(con, "refused", parsed.refusals, {**labels, "file": file, "refused_at": now})
        counted["records"] += len(parsed.records) + len(parsed.refusals) + parsed.steps
        counted["refused"] += len(parsed.refusals)
        counted["steps"] += parsed.steps
        counted["elsewhere"] += len(parsed.records) - len(records)
        yield position
    names.used = True
    cluster = names.now().cluster
    input_id = identify(cluster, log)
    header = {
        "zone": log.header.zone,
        "capacity": dict(log.header.capacity),
        "entries": dict(log.header.entries),
        "problems": log.header.problems,
    }
    row = {
        "input_id": input_id,
        "cluster": cluster,
        "file": file,
        "dialect": log.dialect.name,
        "content_sha256": log.source.sha256,
        "bytes": log.source.size,
        "log_cluster": min(kept_names, default=None),
        **counted,
        "duplicates": 0,
        "header": json.dumps(header, sort_keys=True),
    }
    insert(con, "inputs", pl.DataFrame([row]))
    _resolve_repeated(con, cluster, input_id)


def _batches(blocks: Iterator[tuple[int, Parsed]]) -> Iterator[tuple[int, Parsed]]:
    """Joins blocks until they are worth an insert.

    DuckDB writes whole row groups of 122,880 rows straight to the file; what several small inserts
    bring it writes twice.
    """
    held: list[Parsed] = []
    position = 0
    for position, parsed in blocks:
        held.append(parsed)
        if sum(part.records.height for part in held) >= BATCH_ROWS:
            yield position, _joined(held)
            held = []
    if held:
        yield position, _joined(held)


def _joined(parts: list[Parsed]) -> Parsed:
    return Parsed(
        pl.concat(part.records for part in parts),
        pl.concat(part.refusals for part in parts),
        sum(part.steps for part in parts),
    )


def parsed_blocks(log: Opened) -> Iterator[tuple[int, Parsed]]:
    """Each block of a log, parsed, and the position behind it.

    While the caller stores one block, a thread parses the next: neither holds Python's lock.
    """
    header = log.header

    def parse(block: Block) -> Parsed:
        nonlocal header
        parsed = log.dialect.parse(block, header)
        header = parsed.header or header
        return parsed

    with ThreadPoolExecutor(1, thread_name_prefix="fairaudit-parse") as reader:
        waiting: tuple[int, Future[Parsed]] | None = None
        for block in files.blocks(
            log.source.path, log.dialect.block_bytes, lambda data: log.dialect.whole(data, header)
        ):
            begun = (
                block.byte_offset + len(block.data),
                reader.submit(parse, block),
            )
            if waiting is not None:
                yield waiting[0], waiting[1].result()
            waiting = begun
        if waiting is not None:
            yield waiting[0], waiting[1].result()


def _resolve_repeated(con: Connection, cluster: str, input_id: str) -> None:
    """Settles the jobs of a new input of which the store holds more than one record."""
    repeated = queries.run(con, "records_of_repeated_jobs", cluster=cluster, input_id=input_id)
    if not repeated.is_empty():
        _settle(con, cluster, repeated)
    arrays = queries.run(con, "pending_arrays", cluster=cluster)
    if not arrays.is_empty():
        tasks = queries.run(con, "tasks_of_pending_arrays", cluster=cluster)
        execute(
            con,
            """
            UPDATE records SET superseded = TRUE, attempt = 0
            WHERE cluster = ? AND job_id IN (SELECT unnest(?)) AND end_time IS NULL
            """,
            [cluster, outdated_arrays(arrays, tasks)],
        )


def _settle(con: Connection, cluster: str, repeated: pl.DataFrame) -> None:
    settled = resolve(repeated)
    execute(
        con,
        "DELETE FROM records WHERE cluster = ? AND job_id IN (SELECT unnest(?))",
        [cluster, settled["job_id"].unique().to_list()],
    )
    insert(con, "records", settled)
    execute(
        con,
        """
        UPDATE inputs SET duplicates = records - refused - steps - elsewhere - (
            SELECT count(*) FROM records AS kept WHERE kept.input_id = inputs.input_id
        ) WHERE cluster = ?
        """,
        [cluster],
    )
