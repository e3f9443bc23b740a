"""Options that several commands share, the values they are made into, and the output.

typer knows single options only. A *group* is a parameter of a command that replaces several
options; ``grouped`` puts these options into the signature that typer reads. Results go to stdout,
everything else to stderr.
"""

from __future__ import annotations

import inspect
import shlex
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeAlias

from typer import Argument, BadParameter, Option

from audit.policies import MOST, SETTINGS, Backfill, Order, choices
from audit.progress import Progress, printable_lines
from audit.words import AnswerFormat, Resource

if TYPE_CHECKING:
    from audit.config import Config, places
    from audit.pipeline.opening import LogRequest, Session
    from audit.report.contents import Who
    from audit.scenario.scenario import ScenarioChange

DEFAULT_OUT = Path("fairaudit-out")
SITE = Path("config.toml")
_KIND = inspect.Parameter.POSITIONAL_OR_KEYWORD

ClusterName = Annotated[str | None, Option(help="Name of the cluster.")]
ConfigFile = Annotated[Path | None, Option("--config", help="Configuration file; default: none.")]
SiteConfig = Annotated[Path, Option("--config", help="Configuration file of the site.")]
NoFit = Annotated[bool, Option("--no-fit", help="Infer no rules and no policy from the log.")]
OfAnswer = Annotated[AnswerFormat, Option("--format", help="Output format.")]
Out = Annotated[Path, Option(help="Folder for the page and its tables.")]
OfUsers = Annotated[
    list[str] | None,
    Option("--user", metavar="USER", help="Make a page for this user; repeatable."),
]
OfAccounts = Annotated[
    list[str] | None,
    Option("--account", metavar="ACCOUNT", help="Make a page for this account; repeatable."),
]


@dataclass(frozen=True)
class OptionGroup:
    """Several options, and the function that makes a value of them."""

    make: Callable[..., Any]
    options: Mapping[str, inspect.Parameter]

    @classmethod
    def of(cls, make: Callable[..., Any]) -> OptionGroup:
        """Return the group of the options that are parameters of ``make``."""
        return cls(make, inspect.signature(make, eval_str=True).parameters)


def grouped(function: Callable[..., Any]) -> Callable[..., Any]:
    """Replace the groups among a function's parameters by their options."""
    own = inspect.signature(function, eval_str=True).parameters
    groups = {
        name: group
        for name, parameter in own.items()
        for group in getattr(parameter.annotation, "__metadata__", ())
        if isinstance(group, OptionGroup)
    }
    single = [
        option.replace(kind=_KIND)
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
    single.sort(key=lambda option: option.default is not option.empty)
    run.__signature__ = inspect.Signature(single)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in single}
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    return run


def options(**annotations: Any) -> dict[str, inspect.Parameter]:
    """Return parameters with the default None, by name."""
    return {
        name: inspect.Parameter(name, _KIND, default=None, annotation=annotation)
        for name, annotation in annotations.items()
    }


def _countable(value: int | None) -> int | None:
    """Return a number of things; the help of an option does not show this bound."""
    if value is not None and value > MOST:
        raise BadParameter(f"{value} is more than {MOST:,}")
    return value


Count: Final = partial(Option, min=1, callback=_countable)
"""An option that is a number of things."""


def optional(kind: Any, text: str, *flags: str, **settings: Any) -> Any:
    """Return the annotation of an option of this type with this help text."""
    return Annotated[kind | None, Option(*flags, help=text, **settings)]


def gone(flag: str) -> Any:
    """Return an option that no longer exists; using it is an error that names the remedy."""

    def refuse(value: str | None) -> None:
        if value is not None:
            from audit.errors import UsageError
            from audit.registry.gone import OPTIONS

            raise UsageError(f"{flag}: {OPTIONS[flag]}")

    return Option(flag, hidden=True, callback=refuse)


def file(text: str, kind: Any = Path) -> Any:
    """Return the annotation of an option that names a file; ``list[Path]``: several."""
    return optional(kind, text, metavar="FILE")


class SiteOptions(NamedTuple):
    """The configuration in force."""

    config: Config
    folder: Path
    """Its paths are relative to this folder."""
    file: Path | None

    def database(self, given: Path | None) -> Path:
        """Return the database that an option names, else that of the configuration."""
        return given or published(self.file, self.config)

    def session(self, request: LogRequest, progress: Progress, **more: Any) -> Session:
        """Return the session of a command that reports its progress and what it infers."""
        from audit.pipeline.opening import Session

        given = {"config": self.config, "folder": self.folder, "on_inferred": tell(progress)}
        return Session(request, on_progress=progress.update, **{**given, **more})


def _site(config: ConfigFile = None) -> SiteOptions:
    return SiteOptions(configuration(config), config.parent if config else Path(), config)


Configured: TypeAlias = Annotated[SiteOptions, OptionGroup.of(_site)]

READING = options(
    zone=optional(str, "Time zone of the cluster, such as Europe/Berlin."),
    columns=optional(str, "Columns of a log without a header row: JobID,User,…"),
    separator=optional(str, "Separator of the columns; default: detected."),
    table=optional(
        str, "Mapping of the log's columns: the name of a preset, or a file.", metavar="NAME|FILE"
    ),
    maps=optional(
        list[str],
        "Column of one field, with its unit: walltime=timelimit:min; repeatable.",
        "--map",
        metavar="FIELD=COLUMN[:UNIT]",
    ),
)
SLURM_FILES = options(
    partitions=file("Output of 'scontrol show partition'."),
    assoc=file("Output of 'sacctmgr -P show assoc' or 'sacctmgr dump'."),
    qos=file("Output of 'sacctmgr -P show qos'."),
    slurm_conf=file("slurm.conf, or the output of 'scontrol show config'."),
)

NODE_FILES = options(
    nodes=file("Output of 'scontrol show node', 'sinfo' with headings or 'pbsnodes -a'."),
    events=file("Output of 'sacctmgr -P show event': when nodes were down or drained."),
    reservations=file("Output of 'scontrol' or 'sacctmgr -P show reservation'."),
    qmgr=file("Output of qmgr -c 'print server': limits of PBS."),
)
EVIDENCE_FILES = options(
    squeue=file("Samples of squeue, each below a line with its time.", list[Path]),
    sprio=file("Samples of 'sprio -l', each below a line with its time.", list[Path]),
    ctld_log=file("Log of slurmctld (slurmctld.log).", list[Path]),
    pbs_log=file("A file of PBS's sched_logs or server_logs.", list[Path]),
    ge_schedule=file("Grid Engine's file schedule (params MONITOR=1).", list[Path]),
)
"""Output of schedulers about jobs and nodes at instants; each option may be repeated."""


def reading(
    *,
    columns: str | None,
    separator: str | None,
    table: str | None,
    maps: list[str] | None,
    zone: str | None,
) -> Any:
    """Return how to read logs (``formats.dialects.Reading``)."""
    from audit.formats.dialects import Reading

    names = tuple(name.strip() for name in columns.split(",")) if columns else None
    mapping = None
    if table is not None or maps:
        from audit.config.table import of_options

        mapping = of_options(table, maps or ())
    return Reading(names, separator, zone, mapping)


def taken(given: dict[str, Any], options: Iterable[str]) -> dict[str, Any]:
    """Remove the values of some options from those that were given, and return them."""
    return {name: given.pop(name) for name in options}


def node_files(**files: Path | None) -> Any:
    """Return the files about nodes and limits (``cluster.declared.NodeFiles``)."""
    from audit.cluster.declared import NodeFiles

    return NodeFiles(**files)


def slurm_files(*, assoc: Path | None, **files: Path | None) -> Any:
    """Return files with the output of Slurm's programs (``cluster.slurm_files.SlurmFiles``)."""
    from audit.cluster.slurm_files import SlurmFiles

    return SlurmFiles(associations=assoc, **files)


def _request(*, logs: list[Path] | None, zone: str | None, **given: Any) -> Any:
    """Return the logs and how to read them (``pipeline.opening.LogRequest``)."""
    from audit.ingest import evidence
    from audit.pipeline.opening import LogRequest

    how = reading(zone=zone, **taken(given, READING.keys() - {"zone"}))
    if given.keys() >= _ABOUT_NODES.keys():
        given["files"] = node_files(**taken(given, NODE_FILES))
        given["slurm"] = slurm_files(**taken(given, SLURM_FILES))
        given["evidence"] = evidence.given(**taken(given, EVIDENCE_FILES))
    return LogRequest(logs=logs or (), reading=how, zone=zone, **given)


_OF_LOGS = {
    **options(
        pool_size=Annotated[
            int | None, Count(help="Capacity of the pool, in units of --resource.")
        ],
        resource=optional(Resource, "Resource in which job sizes are counted; default: cpus."),
    ),
    **READING,
    **options(
        dialect=optional(str, "Dialect of the logs; default: detected."), cluster=ClusterName
    ),
}


_ABOUT_NODES = {**NODE_FILES, **SLURM_FILES, **EVIDENCE_FILES}


def _of_logs(text: str, files: Mapping[str, Any], **default: Any) -> OptionGroup:
    annotation = Annotated[list[Path] | None, Argument(metavar="LOG...", help=text)]
    logs = inspect.Parameter("logs", _KIND, annotation=annotation, **default)
    return OptionGroup(_request, {"logs": logs, **_OF_LOGS, **files})


_LOGS = "Accounting logs, or folders of them; they may be compressed."
_SOME_LOGS = "Accounting logs, or folders of them; default: the database."
OfLogs: TypeAlias = Annotated["LogRequest", _of_logs(_LOGS, {})]
OfLogsAndNodes: TypeAlias = Annotated["LogRequest", _of_logs(_LOGS, _ABOUT_NODES)]
OfSomeLogsAndNodes: TypeAlias = Annotated[
    "LogRequest", _of_logs(_SOME_LOGS, _ABOUT_NODES, default=None)
]


def change(**given: Any) -> ScenarioChange:
    """Return the change of a pool that these options describe."""
    from audit.scenario.whatif import options

    return options.change(**given)


RULES = options(
    order=optional(Order, f"Queue order: {choices(Order)}."),
    backfill=optional(Backfill, f"Backfilling: {choices(Backfill)}."),
    **{
        key: Annotated[int | None, Count(setting.flag, help=setting.help, max=setting.most)]
        for key, setting in SETTINGS.items()
    },
    limit=optional(
        list[str],
        "Maximum that may run at one time: PARTITION=64, user:*=4jobs, …",
        metavar="WHO=N",
    ),
    relax=optional(
        list[str], "New bound of a limit or window of config.toml.", metavar="N=M|windowN=M"
    ),
    lift=optional(
        list[str],
        "Remove a limit (or windowN) of config.toml, or all of them.",
        metavar="N|windowN|limits|windows|all",
    ),
)
"""The policy and rules of a pool."""


def configuration(path: Path | None) -> Config:
    """Return the configuration in a file, or the defaults."""
    from audit import config

    return config.Config() if path is None else config.load(path)


def site(path: Path) -> places.Site:
    """Return the configuration in a file with the folder of its paths."""
    from audit.config import places

    return places.Site(configuration(path), path.parent)


def owners(users: list[str] | None, accounts: list[str] | None) -> tuple[Who, ...]:
    """Return the users and accounts that get pages, each once."""
    from audit.report.contents import Who

    named = [*(Who("user", name) for name in users or ())]
    named += [Who("account", name) for name in accounts or ()]
    return tuple(dict.fromkeys(named))


def published(path: Path | None, settings: Config) -> Path:
    """Return the database that a configuration publishes, else that of a one-off audit."""
    if path is None or not settings.clusters:
        return DEFAULT_OUT / "audit.duckdb"
    return path.parent / settings.output.database


if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from audit.cluster.inference import Fact

at_work = Progress
"""Shows the progress of long work in a ``with`` block."""


def show(*lines: object) -> None:
    """Print lines of the result."""
    for line in lines:
        print(printable_lines(str(line)))


def say(*lines: str) -> None:
    """Print lines on stderr."""
    for line in lines:
        with suppress(OSError):  # the exit code matters more than a full disk here
            print(printable_lines(line), file=sys.stderr)


def warn(warnings: Iterable[str]) -> None:
    """Print warnings on stderr."""
    say(*(f"warning: {warning}" for warning in warnings))


def passed(flag: str, file: Path, default: Path | None = None) -> str:
    """Return an option as a shell reads it, after a blank; empty if the file is the default."""
    return "" if file == default else f" {flag} {shlex.quote(str(file))}"


def described(fact: Fact) -> str:
    """Return an inferred value and its source."""
    return f"{fact.what}: {fact.value} (from {fact.source})"


def tell(progress: Progress, *, verbose: bool = True) -> Callable[[Fact], None]:
    """Return a callback that prints facts above the progress bars.

    Those about the policy and rules are left out unless ``verbose``.
    """

    def print_fact(fact: Fact) -> None:
        if verbose or not fact.detail:
            progress.say(described(fact))

    return print_fact
