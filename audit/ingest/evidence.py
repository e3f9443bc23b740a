"""Evidence of schedulers about instants, from files and outputs of commands into the store."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from audit.errors import UsageError
from audit.files.folders import readable
from audit.formats.evidence.read import WRITES, read
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
    if taken is None and (named := _NAMED.findall(file.path.name)):
        taken = int(named[-1])
    found = read(file.kind, _lines(file.path), zone, taken)
    known = queries.run(
        con,
        "evidence_between",
        cluster=cluster,
        since=found.rows["instant"].min(),
        until=found.rows["instant"].max(),
    )
    new = found.rows.join(known, on=found.rows.columns, how="anti", nulls_equal=True)
    database.insert(con, "evidence_record", new, {"cluster": cluster})
    if found.problem is not None:
        return f"{readable(file.path)}: {found.problem}"
    samples = file.kind in (EvidenceKind.SQUEUE, EvidenceKind.SPRIO)
    if samples and found.skipped:
        return (
            f"{readable(file.path)}: {found.skipped:,} lines are left out: let "
            f"{WRITES[file.kind]} write it"
        )
    return None


def about_nodes(con: Connection, cluster: str) -> pl.DataFrame:
    """Return statements about nodes, by instant; columns of ``model.EVIDENCE``."""
    return queries.run(con, "evidence_of_nodes", cluster=cluster)


def digest(con: Connection, cluster: str, until: int | None = None) -> str | None:
    """Return a hash of the evidence before an instant (epoch s); None if there is none."""
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
            *whole, rest = (rest + chunk).split(b"\n")
            yield from map(_text, whole)
            if len(rest) > _LONGEST:
                yield _text(rest)
                rest = b""
    if rest:
        yield _text(rest)


def _text(line: bytes) -> str:
    return line.rstrip(b"\r").decode("utf-8", errors="backslashreplace")


def given(**files: Sequence[Path] | None) -> tuple[EvidenceFile, ...]:
    """Return the files that options name, by kind: ``ctld_log`` and so on."""
    return tuple(
        EvidenceFile(EvidenceKind(name.replace("_", "-")), path)
        for name, paths in files.items()
        for path in paths or ()
    )
