"""Names shared by config.toml, the command line and the database; imports nothing heavy."""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final

ARCHIVE: Final = "fairaudit-archive"
"""Default folder of the archive."""

RESEND: Final = "'fairaudit deliver --failed --unknown' sends it again, perhaps for the second time"
"""The remedy for mails that may have arrived."""


class Resource(StrEnum):
    """Resources that a pool can count (SPEC §1, *size*)."""

    cpus = "cpus"
    nodes = "nodes"
    gpus = "gpus"


class Placement(StrEnum):
    """On which of the nodes where a job fits it starts; the first of them in either case."""

    packed = "packed"  # those with least of the counted resource free
    least_loaded = "least_loaded"  # those with most
    consecutive = "consecutive"  # as Slurm's default: by runs of consecutive nodes


class Population(StrEnum):
    """Which jobs of its cluster a source has (SPEC §14, *A part of the workload*)."""

    ALL = "all"
    PART = "part"
    LENGTH_BIASED = "length-biased"


class EvidenceKind(StrEnum):
    """Statements of a scheduler about jobs and nodes at instants: samples, and its own logs."""

    SQUEUE = "squeue"
    SPRIO = "sprio"
    CTLD_LOG = "ctld-log"
    PBS_LOG = "pbs-log"
    GE_SCHEDULE = "ge-schedule"


AMOUNTS: Final = ("cpus", "mem_bytes", "gpus", "nodes")
"""Columns of ``model.ATTEMPTS`` with the amounts of a request or a pool."""

OF_TYPE: Final = "gpus:"
"""Beginning of the resource that consists of the GPUs of one type, such as ``gpus:a100``."""
_TYPED: Final = re.compile(rf"{OF_TYPE}[^\s:,=A-Z]+")


def is_amount(name: str) -> bool:
    """Return whether a name is one of ``AMOUNTS`` or a type of GPUs, in lower case."""
    return name in AMOUNTS or _TYPED.fullmatch(name) is not None


def kind_of(resource: str) -> str:
    """Return ``gpus`` for ``gpus:a100``, and ``gres/gpu`` for ``gres/gpu:a100``."""
    return resource.partition(":")[0]


def gpu_type(resource: str) -> str:
    """Return the type of ``gpus:TYPE``; empty for other resources."""
    return resource.partition(":")[2]


def plural(number: float, word: str) -> str:
    """Return ``1 node``, ``2 nodes``, ``1,204 nodes``."""
    return f"{round(number):,} {word}{'' if number == 1 else 's'}"


class SetAsideCode(StrEnum):
    """Why a whole log was set aside."""

    EMPTY = "empty"
    DAMAGED = "damaged"  # it cannot be read to its end
    UNKNOWN = "unknown"  # no dialect recognises it
    LIMIT = "limit"  # too many of its source's new records were refused
    CLUSTERS = "clusters"  # records of several clusters, and none was chosen
    UNREADABLE = "unreadable"  # the system refused to read it


class Algorithm(StrEnum):
    """Slurm's fairshare algorithms."""

    fair_tree = "fair_tree"
    classic = "classic"


class AnswerFormat(StrEnum):
    """Output formats of an answer (docs/machines.md)."""

    text = "text"
    json = "json"


class Format(StrEnum):
    """Output formats of a query."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"


def first_of(texts: Sequence[str], most: int = 10, line: str = "") -> str:
    """List the first ``most`` texts, and how many more there are; ``line``: what begins a line."""
    more = f"{line or ' '}and {len(texts) - most:,} more" if len(texts) > most else ""
    return (line or ", ").join(texts[:most]) + more


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the rows of a table as lines, with cells aligned at the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(map(str.ljust, row, widths)).rstrip()
