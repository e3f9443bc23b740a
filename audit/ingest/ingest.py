"""Takes logs into the store: each once, whole or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from audit.errors import RefusedError, SeveralClustersError
from audit.formats.dialects import Parsed
from audit.ingest import files, people
from audit.ingest.attempts import settle_new
from audit.ingest.logs import Opened, Unread, clusters, parsed_blocks
from audit.ingest.naming import Named, Names, Naming, RenamedError
from audit.ingest.quarantine import EXAMPLES, Counted, check_refused, weigh_ages, weigh_dates
from audit.model import REFUSALS, RefusalCode
from audit.store import queries
from audit.store.database import Connection, insert, transaction

Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and of how much (bytes, steps)."""

BATCH_ROWS: Final = 2 * 122_880
"""Records that are inserted at once, at least, but for the last of a log: two groups of those that
DuckDB stores together."""


class Taken(NamedTuple):
    """What became of one log."""

    file: str
    records: int
    refused: int
    known: bool  # its bytes were in the store already, so it was not read again
    steps: int = 0  # records of parts of jobs, which are no attempts
    elsewhere: int = 0  # records of other clusters, left where they are


def take_in(
    con: Connection,
    cluster: str,
    logs: Sequence[Opened],
    *,
    now: int | None = None,
    called: str | None = None,
    limit: float = 1.0,
    progress: Progress = lambda what, done, of: None,
) -> list[Taken]:
    """Bring logs of a cluster whose name is known into the store; see ``take_in_by_name``.

    ``called`` is what the logs call the cluster, where they name several: records of the others are
    counted, and left out. Without it, logs may name one cluster only.

    Raises:
        RefusedError: too much of a log was refused; otherwise as ``take_in_by_name``.
    """
    named = Named(cluster, "the caller", called)
    intake = take_in_by_name(
        con, logs, lambda names: named, limit=limit, now=now, progress=progress
    )
    for log in intake.kept_out:
        raise log.error
    return intake.taken


class Intake(NamedTuple):
    """What became of logs."""

    named: Named
    taken: list[Taken]
    kept_out: list[Unread]
    """Those of which too much was refused: nothing of them, and of their source's other new logs,
    is in the store."""


def take_in_by_name(
    con: Connection,
    logs: Sequence[Opened],
    naming: Naming,
    *,
    limit: float = 1.0,
    now: int | None = None,
    progress: Progress = lambda what, done, of: None,
) -> Intake:
    """Bring logs into the store under the name that their records, or the caller, give.

    All logs go in within one transaction; one that the store holds already changes nothing and is
    not read. Of one that has grown only what is new goes in, as an input of its own. What several
    logs share counts once, and the content of the store does not depend on their order
    (``attempts.resolve``).

    Each log is parsed once: its first records name the cluster. Only where records that come after
    an insert change the name, or too much of a source is refused, is everything undone and read
    again under the right name, or without that source.

    Args:
        con, logs: an open store, and ``open_logs``.
        naming: what the cluster is called.
        limit: the part of a source's new records that may be refused, 0 to 1.
        now: epoch second to note beside refused lines; None where no clock may show.
        progress: called after each block, in bytes.

    Raises:
        StoreError: the store cannot be written. It is as it was before.
        UsageError: what ``naming`` raises; or a log names several clusters and none was chosen.
        RefusedError: too much of every source was refused; this is the error of the first.
    """
    left = list(logs)
    kept_out: list[Unread] = []
    names = Names(left, naming)
    while True:
        try:
            with transaction(con):
                taken = _take_in_all(con, left, names, now, progress)
                named = names.now()
                _refuse_beyond(con, named.cluster, left, taken, limit)
                people.check(con, named.cluster)
                _weigh(con, named, left, taken, now)
                return Intake(named, taken, kept_out)
        except RenamedError:
            names.used = False
        except _BeyondLimitError as beyond:
            kept_out += [
                Unread(log.source.path, beyond.error) for log in left if log.part == beyond.part
            ]
            left = [log for log in left if log.part != beyond.part]
            if not left:
                raise kept_out[0].error from None
            names = Names(left, naming)


def _weigh(
    con: Connection, named: Named, logs: Sequence[Opened], taken: Sequence[Taken], now: int | None
) -> None:
    """Sets aside what came too late, or of doubtful dates."""
    paths = _paths(named, logs)
    both = zip(logs, taken, strict=True)
    new = [identify(named.cluster, log) for log, of in both if not of.known]
    weigh_ages(con, named.cluster, new, paths, now)
    weigh_dates(con, named.cluster, paths, now)


def _paths(named: Named, logs: Sequence[Opened]) -> dict[str, Path]:
    """Where logs are, by what the store calls them; none where no text of theirs is to be kept."""
    if named.people_filter.hides:
        return {}
    return {
        identify_text(named.cluster, text.sha256): log.source.path
        for log in logs
        for text in (log.source, log.source.known)
        if text is not None
    }


class _BeyondLimitError(Exception):
    """Too much of one source's new part was refused."""

    def __init__(self, part: str, error: RefusedError) -> None:
        super().__init__(part)
        self.part = part
        self.error = error


def _refuse_beyond(
    con: Connection, cluster: str, logs: Sequence[Opened], taken: Sequence[Taken], limit: float
) -> None:
    """Raise _BeyondLimitError where too many of a source's new records were refused."""
    new = [(log, of) for log, of in zip(logs, taken, strict=True) if not of.known]
    for name in dict.fromkeys(log.part for log, _ in new):
        part = [(log, of) for log, of in new if log.part == name]
        first: list[tuple[str, int, str]] = []
        for log, of in part:
            if of.refused and len(first) < EXAMPLES:
                input_id = identify(cluster, log)
                lines = queries.rows(con, "refused_lines", input_id=input_id, most=EXAMPLES)
                first += [(log.name, line, reason) for line, reason in lines]
        where = name if len(part) > 1 else part[0][0].where
        title = part[0][0].dialect.title
        counted = Counted(
            where,
            title,
            sum(of.records for _, of in part),
            sum(of.refused for _, of in part),
            tuple(first[:EXAMPLES]),
        )
        try:
            check_refused(counted, limit)
        except RefusedError as error:
            raise _BeyondLimitError(name, error) from error


def _take_in_all(
    con: Connection, logs: Sequence[Opened], names: Names, now: int | None, progress: Progress
) -> list[Taken]:
    taken, new = [], []
    size = sum(log.source.size for log in logs)
    done = 0
    for log in logs:
        what = f"reading {log.name}"
        progress(what, done, size)
        held = queries.run(con, "inputs_of_content", content_sha256=log.source.sha256)
        if not held.is_empty():
            names.now(_names_held(held, log))
        known = not held.is_empty() and identify(names.now().cluster, log) in held["input_id"]
        if not known:
            for position in _take_in_one(con, log, names, now):
                progress(what, done + position, size)
            new.append(identify(names.now().cluster, log))
        done += log.source.size
        progress(what, done, size)
        input_id = identify(names.now().cluster, log)
        row = queries.run(con, "input", input_id=input_id).row(0, named=True)
        counts = (row["records"], row["refused"])
        taken.append(Taken(row["file"], *counts, known, row["steps"], row["elsewhere"]))
    if new:
        settle_new(con, names.now().cluster, new)
    return taken


def _names_held(held: pl.DataFrame, log: Opened) -> Iterable[str]:
    """The clusters that the records of a log name, which the store holds for some cluster."""
    if (held["elsewhere"] > 0).any():
        return clusters(log)
    return held["log_cluster"].drop_nulls().to_list()


def identify(cluster: str, log: Opened) -> str:
    """What the store calls a log of a cluster."""
    return identify_text(cluster, log.source.sha256)


def identify_text(cluster: str, sha256: str) -> str:
    """The same, of a log whose text has this hash."""
    return hashlib.sha256(f"{cluster}\0{sha256}".encode()).hexdigest()


def _take_in_one(con: Connection, log: Opened, names: Names, now: int | None) -> Iterator[int]:
    """Inserts one log block by block, yielding the position after each."""
    counted = {"records": 0, "refused": 0, "steps": 0, "elsewhere": 0}
    kept_names: set[str] = set()
    file = log.name
    for position, parsed in _batches(parsed_blocks(log)):
        named = names.now(parsed.records["cluster"].drop_nulls().unique().to_list())
        strayed = pl.col("cluster").is_in(list(names.strays)).fill_null(value=False)
        records, lost = parsed.records.filter(~strayed), parsed.records.filter(strayed)
        elsewhere = len(records)
        if named.called is not None:
            records = records.filter((pl.col("cluster") == named.called).fill_null(value=True))
        elsewhere -= len(records)
        kept_names.update(records["cluster"].drop_nulls().unique().to_list())
        if len(kept_names) > 1:
            listed = ", ".join(clusters(log))
            raise SeveralClustersError(
                f"{log.where}: holds records of several clusters",
                f" ({listed}): choose one",
                ": choose one (clusters.name)",
            )
        names.used = True
        labels = {"cluster": named.cluster, "input_id": identify(named.cluster, log)}
        refused = pl.concat([parsed.refusals, _strays(log, lost, named.called)])
        refused = named.people_filter.refusals(refused)
        records = named.people_filter.records(records).drop("cluster")
        insert(con, "records", records, {**labels, "attempt": 1, "superseded": False})
        insert(con, "refused", refused, {**labels, "file": file, "refused_at": now})
        counted["records"] += len(parsed.records) + len(parsed.refusals) + parsed.steps
        counted["refused"] += len(refused)
        counted["steps"] += parsed.steps
        counted["elsewhere"] += elsewhere
        yield position
    names.used = True
    cluster, _, _, people_filter = names.now()
    input_id = identify(cluster, log)
    said = people_filter.header(log)
    header = {
        "people": people_filter.fingerprint,
        "zone": said.zone,
        "capacity": dict(said.capacity),
        "entries": dict(said.entries),
        "problems": said.problems,
    }
    row = {
        "input_id": input_id,
        "cluster": cluster,
        "file": file,
        "source": log.origin or file,
        "dialect": log.dialect.name,
        "content_sha256": log.source.sha256,
        "bytes": log.source.size,
        "log_cluster": min(kept_names, default=None),
        **counted,
        "duplicates": 0,
        "header": json.dumps(header, sort_keys=True),
    }
    insert(con, "inputs", pl.DataFrame([row]))


def _strays(log: Opened, lost: pl.DataFrame, called: str | None) -> pl.DataFrame:
    """Refusals of records that name a cluster which nearly no other record of the logs names."""
    if lost.is_empty():
        return pl.DataFrame(schema=REFUSALS)
    texts = files.lines_at(log.source.path, lost["byte_offset"])
    reason = pl.format(
        "names the cluster '{}', nearly all others '{}': damaged?", "cluster", pl.lit(called)
    )
    return lost.select(
        "line",
        "byte_offset",
        code=pl.lit(RefusalCode.CLUSTER.value),
        reason=reason,
        text=pl.Series([texts[offset] for offset in lost["byte_offset"]], dtype=pl.String),
    )


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
