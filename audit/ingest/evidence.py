"""Evidence of schedulers about instants, from files and outputs of commands into the store."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from audit import periods
from audit.errors import UsageError
from audit.files.folders import readable
from audit.ingest import streams
from audit.store import database, queries
from audit.store.database import Connection
from audit.words import EvidenceKind

_LONGEST: Final = 1 << 24
"""Bytes of a line; a longer one is cut into several, of which none is read."""
_NAMED: Final = re.compile(r"(?<![0-9])([0-9]{10})(?![0-9])")
_LARGEST: Final = 1 << 31
"""Bytes of a text."""


class EvidenceFile(NamedTuple):
    """A file with evidence."""

    kind: EvidenceKind
    path: Path


def take_in(
    con: Connection, cluster: str, file: EvidenceFile, zone: str, taken: int | None = None
) -> str | None:
    """Add what a file says to the store, each statement once.

    Args:
        zone: time zone of the file, an IANA name.
        taken: when it was written (epoch s); None: epoch seconds in its name, if there are any.

    Returns:
        A warning, if nothing or not all of it could be read.

    Raises:
        UsageError: there is no such file, or it may not be read. LogError: it is damaged.
    """
    from audit.formats.evidence.read import WRITES, parts  # most audits have no evidence
    from audit.formats.evidence.statements import SAMPLES

    if taken is None and (named := _NAMED.findall(file.path.name)):
        taken = int(named[-1])
    problem, skipped, any_read = None, 0, False
    for part in parts(file.kind, _lines(file.path), zone, taken):
        _add(con, cluster, part.rows)
        problem, skipped = problem or part.problem, skipped + part.skipped
        any_read = any_read or part.rows.height > 0
    if problem is not None and not any_read:
        return f"{readable(file.path)}: {problem}"
    if file.kind in SAMPLES and skipped:
        return (
            f"{readable(file.path)}: {skipped:,} lines are left out: let "
            f"{WRITES[file.kind]} write it"
        )
    return None


def _add(con: Connection, cluster: str, rows: pl.DataFrame) -> None:
    """Add statements that the store does not have, unless they are as old as those it removed."""
    ((_, removed),) = queries.rows(con, "evidence_first", cluster=cluster)
    if removed is not None:
        rows = rows.filter((pl.col("instant") >= removed) | pl.col("node").is_not_null())
    known = queries.run(
        con,
        "evidence_between",
        cluster=cluster,
        since=rows["instant"].min(),
        until=rows["instant"].max(),
    )
    new = rows.join(known, on=rows.columns, how="anti", nulls_equal=True)
    database.insert(con, "evidence_record", new, {"cluster": cluster})


def remove(con: Connection, cluster: str, zone: ZoneInfo, before: int) -> None:
    """Remove statements about jobs of whole days before an instant (epoch s).

    ``digest`` stays the same where days of ``zone`` begin. Those about nodes stay.
    """
    ((first, _),) = queries.rows(con, "evidence_first", cluster=cluster)
    end = periods.day_start(periods.day_of(before, zone), zone)
    if first is None or first >= end:
        return
    begin = periods.day_start(periods.day_of(first, zone), zone)
    with database.transaction(con):
        for since, until in pairwise(periods.day_edges(begin, end, zone)):
            of = {"cluster": cluster, "since": since, "until": until}
            ((statements, mixed),) = queries.rows(con, "evidence_day", **of)
            if not statements:
                continue
            values = [cluster, until, statements, mixed]
            database.execute(con, "INSERT INTO evidence_removed VALUES (?, ?, ?, ?)", values)
        delete = "DELETE FROM evidence_record WHERE cluster = ? AND node IS NULL AND instant < ?"
        database.execute(con, delete, [cluster, end])


def about_nodes(con: Connection, cluster: str) -> pl.DataFrame:
    """Return statements about nodes, by instant; columns of ``model.EVIDENCE``."""
    return queries.run(con, "evidence_of_nodes", cluster=cluster)


def digest(con: Connection, cluster: str, until: int | None = None) -> str | None:
    """Return a hash of the evidence before an instant (epoch s); None without any."""
    of = {"cluster": cluster, "until": until}
    ((count, mixed),) = queries.rows(con, "evidence_digest", **of)
    if not count:
        return None
    return hashlib.sha256(f"{count} {mixed}".encode()).hexdigest()[:16]


def in_force(con: Connection, cluster: str, until: int | None = None) -> dict[str, str]:
    """Return ``digest`` as a part of the configuration in force; empty without evidence."""
    found = digest(con, cluster, until)
    return {} if found is None else {"evidence": found}


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, decompressed; errors as of ``streams.opened``."""
    size, rest = 0, b""
    with streams.opened(path) as stream:
        while chunk := stream.read(1 << 20):
            size += len(chunk)
            if size > _LARGEST:
                raise UsageError(
                    f"{readable(path)}: larger than {_LARGEST >> 30} GiB: pass the part of it that "
                    "is about the time of the logs"
                )
            whole, newline, rest = (rest + chunk).rpartition(b"\n")
            if newline:
                yield from _texts(whole)
            if len(rest) > _LONGEST:
                yield from _texts(rest)
                rest = b""
    if rest:
        yield from _texts(rest)


def _texts(lines: bytes) -> list[str]:
    text = lines.decode("utf-8", errors="backslashreplace")
    return text.replace("\r\n", "\n").removesuffix("\r").split("\n")


def given(**files: Sequence[Path] | None) -> tuple[EvidenceFile, ...]:
    """Return the files that options name, by kind: ``ctld_log`` and so on."""
    return tuple(
        EvidenceFile(EvidenceKind(name.replace("_", "-")), path)
        for name, paths in files.items()
        for path in paths or ()
    )
