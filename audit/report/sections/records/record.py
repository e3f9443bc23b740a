"""The records of the section *records*."""

from dataclasses import dataclass
from typing import NamedTuple

from audit.report.figures import Figure


class Gap(NamedTuple):
    """Consecutive days on which no record ended."""

    first: str  # ISO date
    last: str
    days: int


class Coverage(NamedTuple):
    """The days of the period between the log's first and last record."""

    days: int
    empty: int  # without any record
    partial: int  # with refused lines
    undated: int  # refused lines of unknown day, in the whole log
    gaps: tuple[Gap, ...]  # longest first


class RefusedLine(NamedTuple):
    """A refused line, verbatim."""

    file: str
    line: int
    text: str


class Refusal(NamedTuple):
    """The lines refused for one reason."""

    reason: str
    lines: int
    examples: tuple[RefusedLine, ...]


class MissingLog(NamedTuple):
    """A log that could not be read."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Input:
    """One log that was read."""

    file: str
    dialect: str
    sha256: str
    size: int  # bytes, decompressed
    records: int
    refused: int
    duplicates: int
    notes: tuple[str, ...] = ()  # of its header
    columns: tuple[str, ...] = ()  # of a text with names of columns


class Restated(NamedTuple):
    """A figure of a whole pool that changed."""

    label: str
    before: Figure
    now: Figure


class Restatement(NamedTuple):
    """The changes since the figures of the period were last computed."""

    because: str
    figures: int  # figures of whole pools that changed
    largest: tuple[Restated, ...]


class UnplacedOf(NamedTuple):
    """Such attempts of one user or account."""

    name: str | None  # None: not named in the log
    jobs: int
    consumed: float  # size × run time, resource-seconds


@dataclass(frozen=True, slots=True)
class Unplaced:
    """All such attempts of a pool."""

    pool: str
    resource: str  # cpus | nodes | gpus
    jobs: int
    measured: int  # with a known size and run time
    consumed: float  # size × run time, resource-seconds
    users: tuple[UnplacedOf, ...]  # largest first
    accounts: tuple[UnplacedOf, ...]
