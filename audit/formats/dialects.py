"""The table of log dialects. A dialect is one module of this package with a ``DIALECT``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Final

import polars as pl

from audit.errors import DialectError
from audit.formats import foreign
from audit.formats.lines import Block


@dataclass(frozen=True)
class Reading:
    """What the user says of a log that the log itself does not."""

    columns: tuple[str, ...] | None = None
    """Names of its columns, where it has no header row; ``_`` for one that is not to be read."""
    separator: str | None = None
    """What separates its columns; None finds out."""
    zone: str | None = None
    """IANA name of the zone that its local times are of; None: the log says, or UTC."""


PLAIN = Reading()
"""Nothing is said."""


@dataclass(frozen=True)
class Header:
    """What a log says about itself and the cluster, before its first record."""

    zone: str | None = None
    """IANA name of the cluster's time zone."""
    capacity: Mapping[str, int] = field(default_factory=dict)
    """Amount of each counted resource that the log claims for the cluster."""
    entries: Mapping[str, str] = field(default_factory=dict)
    """Every labelled entry, for provenance and for the dialect's own use."""
    problems: tuple[str, ...] = ()
    """What could not be used of it, in words for the user."""
    local_times: bool = False
    """Whether its times are local ones of a zone that nobody has said; they are read as UTC."""


@dataclass(frozen=True)
class Parsed:
    """What became of the lines of a block."""

    records: pl.DataFrame  # model.RECORDS
    refusals: pl.DataFrame  # model.REFUSALS
    steps: int = 0
    """Records of parts of a job (Slurm's steps), which are no attempts: counted, not kept."""
    header: Header | None = None
    """How the blocks behind this one are to be read, where the log said so in this one."""


def last_line(data: bytes, header: Header) -> int:
    """How many of the first bytes of ``data`` are whole lines."""
    return data.rfind(b"\n") + 1


@dataclass(frozen=True)
class Dialect:
    """One kind of accounting log: bytes in, records and refusals out."""

    name: str
    title: str
    recognises: Callable[[bytes], bool]
    """Whether the first bytes of a log (up to ``HEAD_BYTES``, maybe cut within a line) are its."""
    header: Callable[[bytes, Reading], Header]
    """Reads those first bytes, with what the user says of them."""
    parse: Callable[[Block, Header], Parsed]
    """Takes in whole records; never raises for what they hold."""
    whole: Callable[[bytes, Header], int] = last_line
    """How many of the first bytes of a buffer are whole records, whatever comes behind them."""
    block_bytes: int = 1 << 23
    """How much of a log it takes in best at once."""
    names_clusters: bool = False
    """Whether its records may say of which cluster they are."""
    needed: Callable[[Mapping[str, str]], dict[str, str]] = dict
    """Those entries of a header by which records are read, without anything else that the log's
    writer put there, such as a comment."""


HEAD_BYTES = 1 << 18
"""How much of a log is looked at to tell its dialect and to read its header."""


_MODULES: Final = (
    *("sacct.json", "sacct.text", "pbs.reader", "lsf.acct", "gridengine.accounting"),
    *("htcondor.long", "htcondor.json", "htcondor.xml", "swf", "near_swf"),
)
"""The modules of this package that have a ``DIALECT``, in the order in which they are asked."""


@lru_cache(maxsize=1)
def table() -> Mapping[str, Dialect]:
    """Every dialect by name, in alphabetical order."""
    modules = [import_module(f"audit.formats.{name}") for name in _MODULES]
    return {module.DIALECT.name: module.DIALECT for module in modules}


def detect(head: bytes, where: str, reading: Reading = PLAIN) -> Dialect:
    """The dialect of the log that begins with ``head``.

    Columns are declared for sacct's text alone, so where they are no other dialect's log is it.

    Args:
        head: its first ``HEAD_BYTES`` bytes, decompressed.
        where: what to call the log in an error.
        reading: what the user says of it.

    Raises:
        DialectError: no dialect recognises it; the message says what it looks like, or shows its
            first line that is not blank.
    """
    for dialect in table().values():
        if dialect.recognises(head):
            return dialect
    if reading.columns is not None:
        return table()["sacct"]
    known = ", ".join(dialect.title for dialect in table().values())
    if (description := foreign.describe(head)) is not None:
        raise DialectError(f"{where}: {description} (fairaudit reads: {known})")
    first = next((line for line in head.splitlines() if line.strip()), b"")
    shown = first[:120].decode("utf-8", errors="backslashreplace")
    raise DialectError(
        f"{where}: not a log that fairaudit reads (known: {known})",
        f". It begins with: {shown!r}",
        "",
    )
