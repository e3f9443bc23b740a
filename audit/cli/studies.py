"""Commands that study logs: ``whatif`` and ``fit-policy``; and what all studies of logs share."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from audit.cli.options import (
    DEFAULT_OUT,
    Bounds,
    ClusterName,
    Columns,
    ConfigFile,
    Counted,
    Depth,
    Dialect,
    Interval,
    Lift,
    Logs,
    PoolSize,
    Reservations,
    Separator,
    Window,
    Zone,
    configuration,
    folder_of,
    reading,
)
from audit.cli.output import at_work, show, tell
from audit.words import Backfill, Order

if TYPE_CHECKING:
    from collections.abc import Callable

    from audit.config import Config
    from audit.metrics.draws import Draws
    from audit.oneoff.study import Plan, Request
    from audit.pipeline.opening import Log

Weight = Annotated[
    list[str] | None, typer.Option(metavar="FACTOR=N", help="Another weight of Slurm's priority.")
]
WithoutUser = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="This user's jobs never come.")
]
Out = Annotated[Path, typer.Option(help="Folder for the page and its tables.")]


class Given(NamedTuple):
    """What every study of logs is given."""

    request: Request
    settings: Config
    folder: Path
    """That of the configuration, which files that it names are relative to."""
    pool: str | None


class Study(NamedTuple):
    """What a command asks for: a study's name, and what it does with a log."""

    key: str
    plan: Callable[[Log, Draws], Plan]


def _given(
    logs: Logs,
    out: Out = DEFAULT_OUT,
    db: Annotated[
        Path | None, typer.Option(help="Database to add to, instead of a new one in --out.")
    ] = None,
    pool: Annotated[str | None, typer.Option(help="Only this pool.")] = None,
    pool_size: PoolSize = None,
    resource: Counted = None,
    zone: Zone = None,
    columns: Columns = None,
    separator: Separator = None,
    dialect: Dialect = None,
    cluster: ClusterName = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="How many work on it; without it, one per core.")
    ] = None,
    config: ConfigFile = None,
) -> Given:
    """The options that every study of logs has."""
    from audit.oneoff.study import Request

    request = Request(
        logs=logs,
        out=out,
        database=db,
        dialect=dialect,
        reading=reading(columns, separator, zone),
        cluster=cluster,
        pool_size=pool_size,
        resource=resource,
        zone=zone,
        threads=threads,
    )
    return Given(request, configuration(config), folder_of(config), pool)


def of_logs(study: Callable[..., Study]) -> Callable[..., None]:
    """A command that makes a study of logs.

    Its options are those of ``study``, whose first parameter is what every study is given, and
    those of ``_given``.
    """
    shared = inspect.signature(_given, eval_str=True).parameters
    _, *options_of_study = inspect.signature(study, eval_str=True).parameters.values()

    def command(**options: Any) -> None:
        given = _given(**{name: options.pop(name) for name in shared})
        _conduct(given, study(given, **options))

    logs, *others = shared.values()
    parameters = [logs, *options_of_study, *others]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.annotation for option in parameters}
    command.__name__, command.__doc__ = study.__name__, study.__doc__
    return command


def _conduct(given: Given, asked: Study) -> None:
    """Makes a study of logs, showing how far it is, and says where it is."""
    from audit.oneoff.study import conduct

    prepare(given.request.out)
    with at_work() as progress:
        files = conduct(
            asked.key,
            given.request,
            given.settings,
            asked.plan,
            progress.update,
            tell(progress),
            lambda warning: progress.say(f"warning: {warning}"),
        )
    for file in files:
        show(file)


def prepare(out: Path) -> None:
    """Refuses a folder that cannot be written before anything is computed for it."""
    from audit.oneoff.study import refuse_unfit

    refuse_unfit(out)


@of_logs
def whatif(
    given: Given,
    order: Annotated[Order | None, typer.Option(help="Another order of the queue.")] = None,
    backfill: Annotated[
        Backfill | None, typer.Option(help="Others may start before those ahead.")
    ] = None,
    depth: Depth = None,
    window: Window = None,
    reservations: Reservations = None,
    targets: Annotated[
        str | None,
        typer.Option(metavar="NAME=SHARE,…", help="Other shares of users or accounts."),
    ] = None,
    weight: Weight = None,
    half_life: Annotated[
        float | None, typer.Option(min=0.001, metavar="DAYS", help="Usage is halved in so long.")
    ] = None,
    walltimes: Annotated[
        str | None,
        typer.Option(metavar="exact|FACTOR", help="Nobody asks for more than so many run times."),
    ] = None,
    capacity: Annotated[
        str | None, typer.Option(metavar="N|+N|-N", help="Another size of the pool, as counted.")
    ] = None,
    nodes: Annotated[
        str | None, typer.Option(metavar="N|+N|-N", help="Other nodes, and all that they hold.")
    ] = None,
    limit: Bounds = None,
    lift: Lift = None,
    interval: Interval = None,
    max_walltime: Annotated[
        list[str] | None,
        typer.Option(metavar="PARTITION=D-HH:MM:SS", help="Nobody runs longer in the partition."),
    ] = None,
    without_user: WithoutUser = None,
) -> Study:
    """Who would win and who would lose if something were changed?"""
    from audit.oneoff.whatif import plan as study_plan
    from audit.scenario.whatif import bounds as limits
    from audit.scenario.whatif.change import Change

    change = Change(
        order=order,
        backfill=backfill,
        depth=depth,
        window_s=window,
        reservations=reservations,
        targets=study_plan.shares(targets),
        weights=study_plan.weights(weight or []),
        half_life_s=None if half_life is None else half_life * 86_400,
        walltimes=study_plan.walltimes(walltimes),
        capacity=study_plan.amount(capacity, "--capacity"),
        nodes=study_plan.amount(nodes, "--nodes"),
        limits=limits.asked(limit or []),
        lift=tuple(lift or ()),
        interval_s=interval,
        walltime_limits=study_plan.walltime_limits(max_walltime or []),
        without=tuple(without_user or ()),
    )
    return Study(study_plan.KEY, study_plan.plan(change, given.pool, given.settings, given.folder))


@of_logs
def fit_policy(
    given: Given,
    budget: Annotated[
        float, typer.Option(min=1.0, help="Seconds of a processor for trying, counted.")
    ] = 60.0,
    write: Annotated[
        Path | None, typer.Option(metavar="config.toml", help="A new file for what was found.")
    ] = None,
) -> Study:
    """How does the site decide? Order, backfilling, limits, windows, as far as the log tells."""
    from audit.oneoff.fit_policy import plan as study_plan

    return Study(study_plan.KEY, study_plan.plan(given.pool, budget, write))
