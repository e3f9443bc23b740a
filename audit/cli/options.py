"""Options that several commands have, and what they are made into."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from audit.progress import printable
from audit.words import Resource

if TYPE_CHECKING:
    from audit.config import Config
    from audit.formats.dialects import Reading

DEFAULT_OUT = Path("fairaudit-out")

Logs = Annotated[list[Path], typer.Argument(metavar="LOG...", help="Accounting logs, or .gz.")]
Dialect = Annotated[
    str | None, typer.Option(help="Dialect of the logs; without it, it is detected.")
]
Columns = Annotated[
    str | None, typer.Option(help="Columns of a log without header row: JobID,User,…")
]
Separator = Annotated[
    str | None, typer.Option(help="What separates them; without it, it is found out.")
]
Zone = Annotated[str | None, typer.Option(help="The cluster's time zone, like Europe/Berlin.")]
ClusterName = Annotated[str | None, typer.Option(help="Name of the cluster.")]
PoolSize = Annotated[int | None, typer.Option(min=1, help="Capacity of the pool, in --resource.")]
Counted = Annotated[Resource | None, typer.Option(help="What sizes count; without it, cpus.")]
Depth = Annotated[int | None, typer.Option(min=1, help="Look at so many of the queue at a time.")]
Window = Annotated[
    int | None, typer.Option(min=1, help="Longest walltime that may overtake, in seconds.")
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="A config.toml; without it, its defaults.")
]


def configuration(path: Path | None) -> Config:
    """The configuration in a file, or its defaults."""
    from audit import config

    return config.Config() if path is None else config.load(path)


def reading(columns: str | None, separator: str | None, zone: str | None = None) -> Reading:
    """How the logs are to be read."""
    from audit.formats.dialects import Reading

    names = tuple(name.strip() for name in columns.split(",")) if columns else None
    return Reading(names, separator, zone)


def say(text: str) -> None:
    """Says something on stderr, whatever it is made of."""
    print(printable(text), file=sys.stderr)
