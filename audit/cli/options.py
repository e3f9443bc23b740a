"""Options that several commands have, and what they are made into."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from audit.errors import UsageError
from audit.words import Resource

if TYPE_CHECKING:
    from audit.config import Config
    from audit.formats.dialects import Reading
    from audit.report.owner.who import Who

DEFAULT_OUT = Path("fairaudit-out")
SITE = Path("config.toml")
ADVICE_S = 10
"""CPU seconds for the advice of an audit that nobody configured."""

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

OfUsers = Annotated[
    list[str] | None,
    typer.Option("--user", metavar="USER", help="Also a page for this user; may be repeated."),
]
OfAccounts = Annotated[
    list[str] | None,
    typer.Option("--account", metavar="ACCOUNT", help="The same for an account."),
]

PoolSize = Annotated[int | None, typer.Option(min=1, help="Capacity of the pool, in --resource.")]
Counted = Annotated[Resource | None, typer.Option(help="What sizes count; without it, cpus.")]
Depth = Annotated[int | None, typer.Option(min=1, help="Look at so many of the queue at a time.")]
Window = Annotated[
    int | None, typer.Option(min=1, help="Longest walltime that may overtake, in seconds.")
]
Reservations = Annotated[
    int | None,
    typer.Option(min=1, help="conservative_replan keeps places for so many only; 1 is easy."),
]
Interval = Annotated[
    int | None,
    typer.Option(min=1, max=3_600, help="Look at the queue every so many seconds only."),
]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WHO=N", help="So much may run at one time: PARTITION=64, user:*=4jobs, …"
    ),
]
Lift = Annotated[
    list[str] | None,
    typer.Option(
        metavar="N|limits|windows|all", help="Without a limit of config.toml, or all of them."
    ),
]

# What Slurm's programs print.
Associations = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="What 'sacctmgr -P show assoc' or 'dump' prints."),
]
Qos = Annotated[
    Path | None, typer.Option(metavar="FILE", help="What 'sacctmgr -P show qos' prints.")
]
Partitions = Annotated[
    Path | None, typer.Option(metavar="FILE", help="What 'scontrol show partition' prints.")
]
SlurmConf = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="slurm.conf, or what 'scontrol show config' prints."),
]

ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="A config.toml; without it, its defaults.")
]
SiteConfig = Annotated[Path, typer.Option("--config", help="The site's config.toml.")]


def configuration(path: Path | None) -> Config:
    """The configuration in a file, or its defaults."""
    from audit import config

    return config.Config() if path is None else config.load(path)


def within(settings: Config, budget_s: int | None) -> Config:
    """The configuration with another budget for fair start times, where there is one."""
    if budget_s is None:
        return settings
    simulation = settings.simulation.model_copy(update={"budget_s": budget_s})
    return settings.model_copy(update={"simulation": simulation})


def advising(settings: Config, configured: bool, budget_s: int | None, none: bool) -> Config:
    """The configuration with another budget for advice: without a file, less than by night.

    Args:
        settings: the configuration in force.
        configured: whether it is that of a file.
        budget_s: as asked for; None: as configured.
        none: whether no advice is wanted.

    Raises:
        UsageError: a budget for no advice.
    """
    if none and budget_s is not None:
        raise UsageError("--no-advice and --advice-budget: give one of them")
    if budget_s is None:
        budget_s = settings.simulation.advice_budget_s if configured else ADVICE_S
    simulation = settings.simulation.model_copy(update={"advice_budget_s": 0 if none else budget_s})
    return settings.model_copy(update={"simulation": simulation})


def owners(users: list[str] | None, accounts: list[str] | None) -> tuple[Who, ...]:
    """Of whom pages are wanted; each once."""
    from audit.report.owner.who import Who

    asked = [*(Who("user", name) for name in users or ())]
    asked += [Who("account", name) for name in accounts or ()]
    return tuple(dict.fromkeys(asked))


def folder_of(path: Path | None) -> Path:
    """What the paths in a configuration are relative to."""
    return path.parent if path else Path()


def published(path: Path | None, settings: Config) -> Path:
    """The database that a configuration publishes; without clusters, that of a one-off audit."""
    if path is None or not settings.clusters:
        return DEFAULT_OUT / "audit.duckdb"
    return path.parent / settings.output.database


def archive_of(database: Path, path: Path | None, settings: Config) -> Path | None:
    """The archive of a published database, where a configuration says it."""
    from audit.config import places

    return None if path is None else places.archive(settings, path.parent, database)


def reading(columns: str | None, separator: str | None, zone: str | None = None) -> Reading:
    """How the logs are to be read."""
    from audit.formats.dialects import Reading

    names = tuple(name.strip() for name in columns.split(",")) if columns else None
    return Reading(names, separator, zone)
