"""The registry of log dialects, and what a dialect is.

A dialect is one module or folder of this package with a ``DIALECT``, and one line of ``MODULES``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Final, NamedTuple

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
    if (description := describe(head)) is not None:
        raise DialectError(f"{where}: {description} (fairaudit reads: {known})")
    first = next((line for line in head.splitlines() if line.strip()), b"")
    shown = first[:120].decode("utf-8", errors="backslashreplace")
    raise DialectError(
        f"{where}: not a log that fairaudit reads (known: {known})",
        f". It begins with: {shown!r}",
        "",
    )


_ANY_LINE = re.MULTILINE


class Foreign(NamedTuple):
    """One kind of log that is known by sight, and not read."""

    name: str
    evidence: tuple[re.Pattern[str], ...]
    """What must stand in its first bytes; the first of these is shown by its line."""
    remedy: str


def _foreign(name: str, remedy: str, *evidence: str) -> Foreign:
    return Foreign(name, tuple(re.compile(text, _ANY_LINE) for text in evidence), remedy)


_TO_SWF: Final = "until then its jobs can be written as SWF, 18 numbers a line"

FOREIGN: Final = (
    _foreign(
        "LSF's log of events (lsb.events)",
        "the file lsb.acct, beside it, is read",
        r'^"[A-Z][A-Z0-9_]+" "\d+(?:\.\d+)*" \d{9,11} ',
    ),
    _foreign(
        "what LSF's bacct prints",
        "its source, the file lsb.acct, is",
        r"^Accounting information about jobs that are:|^Job <\d+(?:\[\d+\])?>, .*User <",
    ),
    _foreign(
        "Grid Engine's reporting file",
        "the file called accounting, beside it, is read",
        r"^\d{9,13}:(?:new_job|job_log|acct|queue|host|host_consumable|queue_consumable):",
    ),
    _foreign(
        "an accounting file of Gridware or Open Cluster Scheduler 9, in JSON lines",
        "with old_accounting=true in its reporting_params it writes columns, which are read",
        r'^\{"job_number": *\d+, *"task_number": *\d+',
    ),
    _foreign(
        "what Grid Engine's qacct prints",
        "its source, the file called accounting, is",
        r"^=+\nqname +\S|^OWNER +WALLCLOCK +UTIME",
    ),
    _foreign(
        "an HTCondor job event log",
        "condor_history knows more of each job; " + _TO_SWF,
        r"^\d{3} \(\d+\.\d+\.\d+\) \d",
    ),
    _foreign(
        "what Slurm's sacct --yaml prints",
        "let sacct write text or JSON: sacct -X -D -P, sacct -X -D --json",
        r"\A%YAML",
        r"\ballocation_nodes:|openapi\\?/db",
    ),
    _foreign(
        "Slurm's job completion log (jobcomp/filetxt)",
        "the accounting database knows more: sacct -X -D -P",
        r"^JobId=\d+ UserId=",
    ),
)

_SWF_FIELDS: Final = 18
_LIKELY_WIDTHS: Final = range(12, 41)
_SAMPLE: Final = 100
_SEPARATORS: Final = {None: "blanks", ",": "commas", ";": "semicolons", "|": "bars", ":": "colons"}
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def describe(head: bytes) -> str | None:
    """What the log that begins with ``head`` looks like, and what to do; None if nobody knows.

    Args:
        head: its first bytes, decompressed.
    """
    text = head.decode("utf-8", errors="backslashreplace").replace("\r\n", "\n")
    for kind in FOREIGN:
        places = [pattern.search(text) for pattern in kind.evidence]
        if places[0] is not None and all(places):
            line = text.count("\n", 0, places[0].start()) + 1
            return (
                f"this looks like {kind.name} (line {line}); fairaudit does not read those yet: "
                f"{kind.remedy}"
            )
    return _nearly_swf(text)


def _nearly_swf(text: str) -> str | None:
    """How a table of numbers differs from SWF."""
    lines = [
        (number, line)
        for number, line in enumerate(text.split("\n"), start=1)
        if line.strip() and not line.lstrip().startswith((";", "#"))
    ][:_SAMPLE]
    best: tuple[int, str | None, int] = (0, None, 0)  # lines, separator, columns
    for separator in _SEPARATORS:
        widths = Counter(
            len(fields) for _, line in lines if _are_numbers(fields := _cut(line, separator))
        )
        if widths:
            width, alike = widths.most_common(1)[0]
            best = max(best, (alike, separator, width), key=lambda found: found[0])
    alike, separator, width = best
    if alike * 2 <= len(lines):
        return None
    number, fields = next(
        (number, fields)
        for number, line in lines
        if len(fields := _cut(line, separator)) == width and _are_numbers(fields)
    )
    return f"nearly SWF: {_difference(number, fields, separator)}"


def _cut(line: str, separator: str | None) -> list[str]:
    return [field.strip() for field in line.split(separator)]


def _are_numbers(fields: list[str]) -> bool:
    """Whether most fields are numbers, and nearly as many as SWF has."""
    numbers = sum(_NUMBER.fullmatch(field) is not None for field in fields)
    return len(fields) in _LIKELY_WIDTHS and numbers * 4 >= len(fields) * 3


def _difference(line: int, fields: list[str], separator: str | None) -> str:
    width = len(fields)
    words = [
        place
        for place, field in enumerate(fields[:_SWF_FIELDS], start=1)
        if _NUMBER.fullmatch(field) is None
    ]
    seen = f"line {line} has {width} columns separated by {_SEPARATORS[separator]}"
    wanted = "SWF has 18 numbers separated by blanks (job number, submit time, wait time, …)"
    steps = []
    if separator is not None:
        steps.append(f"write blanks instead of {_SEPARATORS[separator]}")
    if width > _SWF_FIELDS:
        first = _SWF_FIELDS + 1
        beyond = f"column {first}" if width == first else f"columns {first} to {width}"
        steps.append(f"leave out {beyond}, or whichever SWF does not have")
    elif width < _SWF_FIELDS:
        steps.append("write -1 for each of the columns that are missing")
    if words:
        steps.append(f"write numbers in column {', '.join(map(str, words))} (names become numbers)")
    return f"{seen}, where {wanted}: {'; '.join(steps)}"
