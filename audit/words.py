"""Names that config.toml, the command line and the database share; nothing heavy is imported."""

from enum import StrEnum
from typing import Final

ARCHIVE: Final = "fairaudit-archive"
"""The folder of the archive where no configuration names another."""


class Resource(StrEnum):
    """What a pool can count (SPEC §1, *size*)."""

    cpus = "cpus"
    nodes = "nodes"
    gpus = "gpus"


AMOUNTS: Final = ("cpus", "mem_bytes", "gpus", "nodes")
"""Of what a request, or a pool, has an amount; the columns of ``model.ATTEMPTS``."""


class SetAsideCode(StrEnum):
    """Why a whole log was set aside."""

    EMPTY = "empty"
    """Nothing is in it."""
    DAMAGED = "damaged"
    """It cannot be read to its end."""
    UNKNOWN = "unknown"
    """It is no log that fairaudit reads."""
    LIMIT = "limit"
    """Too many of its source's new records were refused."""
    CLUSTERS = "clusters"
    """Its records are of several clusters, and nothing says which is meant."""
    UNREADABLE = "unreadable"
    """The system did not let it be read."""


class Algorithm(StrEnum):
    """How Slurm makes fairshare of shares and usage."""

    fair_tree = "fair_tree"
    classic = "classic"


class Format(StrEnum):
    """How rows that an analyst asked for are written."""

    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"
