"""What a report says of the logs that it was made from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gap:
    """Days in a row on which no record ended."""

    first: str  # ISO date
    last: str
    days: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """The days of the period from the log's first record to its last."""

    days: int
    empty: int  # without any record
    partial: int  # with refused lines
    undated: int  # refused lines whose day is not known, of the whole log
    gaps: tuple[Gap, ...]  # the longest of the empty days, longest first


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """A line that could not be taken, as it stands in the log."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason for which lines were refused."""

    reason: str
    lines: int
    examples: tuple[RefusedLine, ...]


@dataclass(frozen=True, slots=True)
class MissingLog:
    """A log of which nothing could be taken in."""

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
