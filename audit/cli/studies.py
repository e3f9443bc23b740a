"""Commands that study logs: ``whatif``, and ``experiment``, which repeats the papers' studies."""

from __future__ import annotations

import inspect
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

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
from audit.cli.output import at_work, say, show, tell
from audit.words import Backfill, Order

if TYPE_CHECKING:
    from collections.abc import Callable

    from audit.config import Config
    from audit.metrics.draws import Draws
    from audit.oneoff.study import Plan, Request
    from audit.pipeline.opening import Log
    from audit.studies.sensitivity.compute import By

experiment = typer.Typer(
    help="Repeat a study of the papers.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

GroupBy = StrEnum("GroupBy", ["account", "user", "width_class"])

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

    _prepare(given.request.out)
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


def _prepare(out: Path) -> None:
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


@experiment.command()
def penalties(out: Out = DEFAULT_OUT) -> None:
    """What a second of a job should cost: which rules each penalty keeps, what breaks others."""
    from audit.oneoff.study import write
    from audit.studies.penalties.page import study

    _prepare(out)
    for file in write(study(), out):
        show(file)


@experiment.command()
def operators(
    out: Out = DEFAULT_OUT,
    bits: Annotated[
        int, typer.Option(min=3, max=20, help="Study priorities of 3 to so many bits.")
    ] = 20,
) -> None:
    """Who comes first: what each priority operator keeps, and how finely it tells users apart."""
    from audit.oneoff.study import write
    from audit.studies.operators.compute.resolution import Setting
    from audit.studies.operators.page import study

    _prepare(out)
    with at_work() as progress:
        page = study(Setting(bits=range(3, bits + 1)), progress.update)
    for file in write(page, out):
        show(file)


@experiment.command("grid")
@of_logs
def grid(
    given: Given,
    attempts: Annotated[
        int, typer.Option(min=1, help="Simulate the first so many that started.")
    ] = 5_000,
    loads: Annotated[
        str, typer.Option(help="Offered loads, as shares of the capacity.")
    ] = "0.70,0.80,0.90,0.95,0.98",
    widest: Annotated[
        int, typer.Option(help="Upper end of the last bounded width class, a power of two.")
    ] = 128,
) -> Study:
    """How unfair each queue order and backfilling is, at each load, in the busiest pool."""
    from audit.errors import UsageError
    from audit.studies.grid import plan as study_plan

    if widest & (widest - 1) or widest < 1:
        raise UsageError(f"--widest {widest}: not a power of two")
    options = study_plan.Options(given.pool, attempts, study_plan.loads(loads), widest)
    return Study(study_plan.KEY, lambda log, draws: study_plan.plan(log, draws, options))


@experiment.command("users")
@of_logs
def users(
    given: Given,
    search_seconds: Annotated[
        float | None,
        typer.Option(min=0.0, help="Stop each search of TS after so long; results then vary."),
    ] = None,
) -> Study:
    """How six policies treat users: FCFS, BF, BF-EASY, BF-CONS, BF-FAIR, and TS."""
    from audit.studies.users import plan as study_plan

    return Study(study_plan.KEY, study_plan.plan(given.pool, search_seconds))


@experiment.command("sensitivity")
@of_logs
def sensitivity(
    given: Given,
    group_by: Annotated[
        GroupBy | None,
        typer.Option(help="What makes a group; without it, account or width class."),
    ] = None,
    groups: Annotated[
        int, typer.Option(min=2, max=6, help="So many groups; the smallest become one.")
    ] = 6,
    backfill: Annotated[
        Backfill | None,
        typer.Option(help="Who may start before others; without it, easy or as configured."),
    ] = None,
) -> Study:
    """How far fairshare's settings matter: interval, depth, decay, targets, arrivals."""
    from audit.studies.sensitivity import plan as study_plan

    by = cast("By | None", group_by.value if group_by else None)
    return Study(study_plan.KEY, study_plan.plan(given.pool, by, groups, backfill))


@experiment.command("workload")
@of_logs
def workload(
    given: Given,
    clusters: Annotated[
        int | None,
        typer.Option(min=1, max=50, help="How many classes k-means makes; without it, 2 to 9."),
    ] = None,
) -> Study:
    """Who asks for what, and when: a log as a small model, from which others can be drawn."""
    from audit.studies.workload import plan as study_plan

    return Study(study_plan.KEY, study_plan.plan(given.pool, clusters))


@experiment.command()
def synthetic(
    model: Annotated[Path, typer.Argument(metavar="MODEL.toml", help="Made by `workload`.")],
    out: Annotated[Path, typer.Argument(metavar="OUT", help=".swf, or .psv for sacct's text.")],
    jobs: Annotated[
        int | None, typer.Option(min=1, help="So many jobs; without it, as long as the model's.")
    ] = None,
    machine: Annotated[
        float, typer.Option(help="How many times as large, and as busy, the machine is.")
    ] = 1.0,
    intensity: Annotated[
        float, typer.Option(help="How many times as often jobs arrive on the same machine.")
    ] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same log.")] = 0,
) -> None:
    """A made-up log that is like a real one, as short or as large as it is needed."""
    from audit.studies.workload.plan import Wanted, make_log

    wanted = Wanted(
        model=model, out=out, seed=seed, jobs=jobs, intensity=intensity, machine=machine
    )
    say(make_log(wanted))
