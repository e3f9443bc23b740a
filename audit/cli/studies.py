"""Commands that study logs: ``whatif``, and ``experiment``, which repeats the papers' studies."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias, cast

import typer

from audit.cli.options import (
    DEFAULT_OUT,
    RULES,
    Configured,
    Group,
    OfLogs,
    change,
    grouped,
    options,
)
from audit.cli.output import at_work, say, show, tell
from audit.policies import Backfill

if TYPE_CHECKING:
    from collections.abc import Callable

    from audit.config import Config
    from audit.metrics.draws import Draws
    from audit.oneoff.study import Plan
    from audit.pipeline.opening import Log, Request
    from audit.scenario.scenario import Change
    from audit.studies.sensitivity.compute import By

experiment = typer.Typer(
    help="Repeat a study of the papers.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

GroupBy = StrEnum("GroupBy", ["account", "user", "width_class"])

Out = Annotated[Path, typer.Option(help="Folder for the page and its tables.")]

CHANGES = RULES | options(
    {
        "targets": Annotated[
            str | None,
            typer.Option(metavar="NAME=SHARE,…", help="Other shares of users or accounts."),
        ],
        "weight": Annotated[
            list[str] | None,
            typer.Option(metavar="FACTOR=N", help="Another weight of Slurm's priority."),
        ],
        "half_life": Annotated[
            float | None,
            typer.Option(min=0.001, metavar="DAYS", help="Usage is halved in so long."),
        ],
        "walltimes": Annotated[
            str | None,
            typer.Option(
                metavar="exact|FACTOR", help="Nobody asks for more than so many run times."
            ),
        ],
        "capacity": Annotated[
            str | None,
            typer.Option(metavar="N|+N|-N", help="Another size of the pool, as counted."),
        ],
        "nodes": Annotated[
            str | None, typer.Option(metavar="N|+N|-N", help="Other nodes, and all that they hold.")
        ],
        "max_walltime": Annotated[
            list[str] | None,
            typer.Option(
                metavar="PARTITION=D-HH:MM:SS", help="Nobody runs longer in the partition."
            ),
        ],
        "without_user": Annotated[
            list[str] | None, typer.Option(metavar="NAME", help="This user's jobs never come.")
        ],
    }
)
"""What ``whatif`` can change."""
Changes: TypeAlias = Annotated["Change", Group(change, CHANGES)]


class Given(NamedTuple):
    """What every study of logs is given."""

    request: Request
    config: Config
    folder: Path
    """That of the configuration, which files that it names are relative to."""
    out: Path
    database: Path | None
    pool: str | None
    threads: int | None

    def conduct(self, key: str, plan: Callable[[Log, Draws], Plan]) -> None:
        """Make a study, showing how far it is, and say where it is."""
        from audit.oneoff.study import Target, conduct

        _prepare(self.out)
        with at_work() as progress:
            files = conduct(
                key,
                self.request,
                Target(self.out, self.database, self.threads),
                self.config,
                plan,
                progress.update,
                tell(progress),
                lambda warning: progress.say(f"warning: {warning}"),
            )
        for file in files:
            show(file)


def _given(
    *,
    out: Out = DEFAULT_OUT,
    db: Annotated[
        Path | None, typer.Option(help="Database to add to, instead of a new one in --out.")
    ] = None,
    pool: Annotated[str | None, typer.Option(help="Only this pool.")] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="How many work on it; without it, one per core.")
    ] = None,
    logs: OfLogs,
    site: Configured,
) -> Given:
    return Given(logs, site.config, site.folder, out, db, pool, threads)


OfStudy: TypeAlias = Annotated[Given, Group.of(grouped(_given))]
"""The options that every study of logs has."""


def _prepare(out: Path) -> None:
    """Refuses a folder that cannot be written before anything is computed for it."""
    from audit.oneoff.study import refuse_unfit

    refuse_unfit(out)


@grouped
def whatif(change: Changes, given: OfStudy) -> None:
    """Who would win and who would lose if something were changed?"""
    from audit.oneoff.whatif import plan as study

    given.conduct(study.KEY, study.plan(change, given.pool, given.config, given.folder))


@grouped
def fit_policy(
    *,
    budget: Annotated[
        float, typer.Option(min=1.0, help="Seconds of a processor for trying, counted.")
    ] = 60.0,
    write: Annotated[
        Path | None, typer.Option(metavar="config.toml", help="A new file for what was found.")
    ] = None,
    given: OfStudy,
) -> None:
    """How does the site decide? Order, backfilling, limits, windows, as far as the log tells."""
    from audit.oneoff.fit_policy import plan as study_plan

    given.conduct(study_plan.KEY, study_plan.plan(given.pool, budget, write))


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
@grouped
def grid(
    *,
    attempts: Annotated[
        int, typer.Option(min=1, help="Simulate the first so many that started.")
    ] = 5_000,
    loads: Annotated[
        str, typer.Option(help="Offered loads, as shares of the capacity.")
    ] = "0.70,0.80,0.90,0.95,0.98",
    widest: Annotated[
        int, typer.Option(help="Upper end of the last bounded width class, a power of two.")
    ] = 128,
    given: OfStudy,
) -> None:
    """How unfair each queue order and backfilling is, at each load, in the busiest pool."""
    from audit.errors import UsageError
    from audit.studies.grid import plan as study_plan

    if widest & (widest - 1) or widest < 1:
        raise UsageError(f"--widest {widest}: not a power of two")
    options = study_plan.Options(given.pool, attempts, study_plan.loads(loads), widest)
    given.conduct(study_plan.KEY, lambda log, draws: study_plan.plan(log, draws, options))


@experiment.command("users")
@grouped
def users(
    *,
    search_seconds: Annotated[
        float | None,
        typer.Option(min=0.0, help="Stop each search of TS after so long; results then vary."),
    ] = None,
    given: OfStudy,
) -> None:
    """How six policies treat users: FCFS, BF, BF-EASY, BF-CONS, BF-FAIR, and TS."""
    from audit.studies.users import plan as study_plan

    given.conduct(study_plan.KEY, study_plan.plan(given.pool, search_seconds))


@experiment.command("sensitivity")
@grouped
def sensitivity(
    *,
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
    given: OfStudy,
) -> None:
    """How far fairshare's settings matter: interval, depth, decay, targets, arrivals."""
    from audit.studies.sensitivity import plan as study_plan

    by = cast("By | None", group_by.value if group_by else None)
    given.conduct(study_plan.KEY, study_plan.plan(given.pool, by, groups, backfill))


@experiment.command("workload")
@grouped
def workload(
    *,
    clusters: Annotated[
        int | None,
        typer.Option(min=1, max=50, help="How many classes k-means makes; without it, 2 to 9."),
    ] = None,
    given: OfStudy,
) -> None:
    """Who asks for what, and when: a log as a small model, from which others can be drawn."""
    from audit.studies.workload import plan as study_plan

    given.conduct(study_plan.KEY, study_plan.plan(given.pool, clusters))


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
