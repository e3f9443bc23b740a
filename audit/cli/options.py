"""Options that several commands have, and what they are made into.

A *group* is a parameter of a command that stands for several options. ``grouped`` spells groups out
for typer, which knows no such thing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

import typer

from audit.policies import SETTINGS, Backfill, Order, choices
from audit.words import Resource

if TYPE_CHECKING:
    from audit.config import Config
    from audit.formats.dialects import Reading
    from audit.pipeline.opening import Request
    from audit.report.record.page import Who
    from audit.scenario.scenario import Change

DEFAULT_OUT = Path("fairaudit-out")
SITE = Path("config.toml")

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


# --- groups --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Group:
    """Several options, and what makes a value of them."""

    make: Callable[..., Any]
    options: Mapping[str, inspect.Parameter]

    @classmethod
    def of(cls, make: Callable[..., Any]) -> Group:
        """The options that are parameters of ``make``."""
        return cls(make, inspect.signature(make, eval_str=True).parameters)


def grouped(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, with the options of its groups as parameters, each in its place."""
    own = inspect.signature(function, eval_str=True).parameters
    groups = {
        name: group
        for name, parameter in own.items()
        for group in getattr(parameter.annotation, "__metadata__", ())
        if isinstance(group, Group)
    }
    spelled = [
        option.replace(kind=option.POSITIONAL_OR_KEYWORD)
        for name, parameter in own.items()
        for option in (groups[name].options.values() if name in groups else (parameter,))
    ]

    def run(**given: Any) -> Any:
        made = {
            name: group.make(**{option: given.pop(option) for option in group.options})
            for name, group in groups.items()
        }
        return function(**given, **made)

    # arguments, which have no default, come first
    spelled.sort(key=lambda option: option.default is not option.empty)
    run.__signature__ = inspect.Signature(spelled)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in spelled}
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    return run


class Site(NamedTuple):
    """The configuration in force."""

    config: Config
    folder: Path
    """What its paths are relative to."""
    file: Path | None


def _site(config: ConfigFile = None) -> Site:
    return Site(configuration(config), config.parent if config else Path(), config)


Configured: TypeAlias = Annotated[Site, Group.of(_site)]


def request(
    logs: Logs,
    pool_size: PoolSize = None,
    resource: Counted = None,
    zone: Zone = None,
    columns: Columns = None,
    separator: Separator = None,
    dialect: Dialect = None,
    cluster: ClusterName = None,
) -> object:
    """Logs, and what is said of them: a ``Request``, which is known only once it is needed."""
    from audit.pipeline.opening import Request

    return Request(
        logs=logs or (),
        dialect=dialect,
        reading=reading(columns, separator, zone),
        cluster=cluster,
        pool_size=pool_size,
        resource=resource,
        zone=zone,
    )


OfLogs: TypeAlias = Annotated["Request", Group.of(request)]
_LOGS = inspect.signature(request, eval_str=True).parameters
_MAYBE = Annotated[
    list[Path] | None,
    typer.Argument(metavar="LOG...", help="Accounting logs; else the database."),
]
OfSomeLogs: TypeAlias = Annotated[
    "Request",
    Group(request, {**_LOGS, "logs": _LOGS["logs"].replace(annotation=_MAYBE, default=None)}),
]


def options(annotations: Mapping[str, Any]) -> dict[str, inspect.Parameter]:
    """Options that need not be given, by name and annotation."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return {
        name: inspect.Parameter(name, kind, default=None, annotation=annotation)
        for name, annotation in annotations.items()
    }


def change(**given: Any) -> Change:
    """What is changed of a pool."""
    from audit.scenario.whatif import options

    return options.change(**given)


RULES = options(
    {
        "order": Annotated[Order | None, typer.Option(help=f"Queue order: {choices(Order)}.")],
        "backfill": Annotated[
            Backfill | None, typer.Option(help=f"Backfilling: {choices(Backfill)}.")
        ],
        **{
            key: Annotated[
                int | None,
                typer.Option(setting.flag, min=1, max=setting.most, help=setting.help),
            ]
            for key, setting in SETTINGS.items()
        },
        "limit": Annotated[
            list[str] | None,
            typer.Option(
                metavar="WHO=N", help="So much may run at one time: PARTITION=64, user:*=4jobs, …"
            ),
        ],
        "relax": Annotated[
            list[str] | None,
            typer.Option(metavar="N=M|windowN=M", help="Another bound of a limit or a window."),
        ],
        "lift": Annotated[
            list[str] | None,
            typer.Option(
                metavar="N|windowN|limits|windows|all",
                help="Without a limit (or windowN) of config.toml, or all of them.",
            ),
        ],
    }
)
"""How a pool decides."""


# --- what else options are made into -------------------------------------------------------------


def configuration(path: Path | None) -> Config:
    """The configuration in a file, or its defaults."""
    from audit import config

    return config.Config() if path is None else config.load(path)


def owners(users: list[str] | None, accounts: list[str] | None) -> tuple[Who, ...]:
    """Of whom pages are wanted; each once."""
    from audit.report.record.page import Who

    named = [*(Who("user", name) for name in users or ())]
    named += [Who("account", name) for name in accounts or ()]
    return tuple(dict.fromkeys(named))


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
