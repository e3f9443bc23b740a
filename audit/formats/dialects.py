"""The registry of log dialects, and what a dialect is.

A dialect is one module or folder of this package with a ``DIALECT``, and one line of ``MODULES``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Final

import polars as pl

from audit.errors import DialectError
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


def named_by_log(what: str, reading: Reading, entries: Mapping[str, str] = {}) -> Header:
    """The header of a log whose records name their fields, so that declared columns are not used.

    ``what`` names them, such as ``XML names its attributes``.
    """
    problems = () if reading.columns is None else (f"{what}: --columns is not used",)
    return Header(zone=reading.zone, entries=entries, problems=problems)


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
    differs: Callable[[bytes], str | None] = lambda head: None
    """How a log that no dialect recognises, but is nearly one of these, differs from them."""
    needed: Callable[[Mapping[str, str]], dict[str, str]] = dict
    """Those entries of a header by which records are read, without anything else that the log's
    writer put there, such as a comment."""


HEAD_BYTES = 1 << 18
"""How much of a log is looked at to tell its dialect and to read its header."""


MODULES: Final = (
    "sacct.json",
    "sacct.text",
    "pbs.reader",
    "lsf.acct",
    "gridengine.accounting",
    "htcondor.long",
    "htcondor.json",
    "htcondor.xml",
    "swf",
    "near_swf",
)
"""The modules of this package that have a ``DIALECT``; the first that recognises a log reads it."""


@lru_cache(maxsize=1)
def table() -> Mapping[str, Dialect]:
    """Every dialect by name, in the order of ``MODULES``."""
    modules = [import_module(f"{__package__}.{name}") for name in MODULES]
    return {module.DIALECT.name: module.DIALECT for module in modules}


def detect(head: bytes, where: str, reading: Reading = PLAIN) -> Dialect:
    """Return the dialect of the log that begins with ``head``, called ``where`` in errors.

    Declared columns are those of sacct's text, so a log that no other dialect recognises is that.

    Raises:
        DialectError: no dialect recognises it; the message says what it looks like.
    """
    for dialect in table().values():
        if dialect.recognises(head):
            return dialect
    if reading.columns is not None:
        return table()["sacct"]
    known = ", ".join(dialect.title for dialect in table().values())
    if (description := describe(head)) is not None:
        raise DialectError(f"{where}: {description} (fairaudit reads: {known})")
    first = next((line for line in head.splitlines() if line.strip()), b"")
    shown = first[:120].decode("utf-8", errors="backslashreplace")
    raise DialectError(
        f"{where}: not a log that fairaudit reads (known: {known})",
        f". It begins with: {shown!r}",
        "",
    )


_TO_SWF: Final = "until then its jobs can be written as SWF, 18 numbers a line"

FOREIGN: Final = (
    # what it is, what to do, and what stands in it: all of these, the first of which is shown
    (
        "LSF's log of events (lsb.events)",
        "the file lsb.acct, beside it, is read",
        r'^"[A-Z][A-Z0-9_]+" "\d+(?:\.\d+)*" \d{9,11} ',
    ),
    (
        "what LSF's bacct prints",
        "its source, the file lsb.acct, is",
        r"^Accounting information about jobs that are:|^Job <\d+(?:\[\d+\])?>, .*User <",
    ),
    (
        "Grid Engine's reporting file",
        "the file called accounting, beside it, is read",
        r"^\d{9,13}:(?:new_job|job_log|acct|queue|host|host_consumable|queue_consumable):",
    ),
    (
        "an accounting file of Gridware or Open Cluster Scheduler 9, in JSON lines",
        "with old_accounting=true in its reporting_params it writes columns, which are read",
        r'^\{"job_number": *\d+, *"task_number": *\d+',
    ),
    (
        "what Grid Engine's qacct prints",
        "its source, the file called accounting, is",
        r"^=+\nqname +\S|^OWNER +WALLCLOCK +UTIME",
    ),
    (
        "an HTCondor job event log",
        "condor_history knows more of each job; " + _TO_SWF,
        r"^\d{3} \(\d+\.\d+\.\d+\) \d",
    ),
    (
        "what Slurm's sacct --yaml prints",
        "let sacct write text or JSON: sacct -X -D -P, sacct -X -D --json",
        r"\A%YAML",
        r"\ballocation_nodes:|openapi\\?/db",
    ),
    (
        "Slurm's job completion log (jobcomp/filetxt)",
        "the accounting database knows more: sacct -X -D -P",
        r"^JobId=\d+ UserId=",
    ),
)


def describe(head: bytes) -> str | None:
    """What the log that begins with ``head`` looks like, and what to do; None if nobody knows.

    Logs of other schedulers, and other outputs of Slurm, are recognised by what stands in them.
    """
    text = head.decode("utf-8", errors="backslashreplace").replace("\r\n", "\n")
    for name, remedy, *evidence in FOREIGN:
        places = [re.search(pattern, text, re.MULTILINE) for pattern in evidence]
        if places[0] is not None and all(places):
            line = text.count("\n", 0, places[0].start()) + 1
            looks = f"this looks like {name} (line {line})"
            return f"{looks}; fairaudit does not read those yet: {remedy}"
    return next(filter(None, (dialect.differs(head) for dialect in table().values())), None)
