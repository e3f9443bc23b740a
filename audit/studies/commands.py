"""``fairaudit experiment``: the papers' studies, found by the entry point of this module."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from audit.cli.oneoff import OfStudy, prepare
from audit.cli.options import DEFAULT_OUT, Count, Out, at_work, grouped, say, show
from audit.policies import Backfill

if TYPE_CHECKING:
    from audit.studies.sensitivity.compute import By

experiment = typer.Typer(
    help="Repeat a study from the literature on a log.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

GroupBy = StrEnum("GroupBy", ["account", "user", "width_class"])


@experiment.command()
def penalties(out: Out = DEFAULT_OUT) -> None:
    """Check which rules of fairness each penalty keeps, with counterexamples."""
    from audit.oneoff.study import write
    from audit.studies.penalties.page import study

    prepare(out)
    for file in write(study(), out):
        show(file)


@experiment.command()
def operators(
    out: Out = DEFAULT_OUT,
    bits: Annotated[
        int, typer.Option(min=3, max=20, help="Maximum number of bits of a priority.")
    ] = 20,
) -> None:
    """Check which rules each priority operator keeps, and how finely it distinguishes users."""
    from audit.oneoff.study import write
    from audit.studies.operators.page import study

    prepare(out)
    with at_work() as progress:
        page = study(range(3, bits + 1), progress.update)
    for file in write(page, out):
        show(file)


@experiment.command()
@grouped
def grid(
    *,
    attempts: Annotated[int, Count(help="Number of attempts to simulate.")] = 5_000,
    loads: Annotated[
        str, typer.Option(help="Offered loads, as shares of the capacity.")
    ] = "0.70,0.80,0.90,0.95,0.98",
    widest: Annotated[
        int, typer.Option(help="Upper end of the last bounded width class, a power of two.")
    ] = 128,
    given: OfStudy,
) -> None:
    """Measure the unfairness of queue orders and backfilling at several loads."""
    from audit.errors import UsageError
    from audit.studies import plans

    if widest & (widest - 1) or widest < 1:
        raise UsageError(f"--widest {widest}: give a power of two, such as 128")
    given.conduct("grid", plans.grid(given.pool, attempts, plans.loads(loads), widest))


@experiment.command()
@grouped
def users(
    *,
    search_seconds: Annotated[
        float | None,
        typer.Option(
            min=0.0, help="Time limit of each search of TS, in seconds; results then vary."
        ),
    ] = None,
    given: OfStudy,
) -> None:
    """Compare how six policies treat users: FCFS, BF, BF-EASY, BF-CONS, BF-FAIR, TS."""
    from audit.studies import plans

    given.conduct("users", plans.users(given.pool, search_seconds))


@experiment.command()
@grouped
def sensitivity(
    *,
    group_by: Annotated[
        GroupBy | None, typer.Option(help="Groups of attempts; default: account or width class.")
    ] = None,
    groups: Annotated[
        int, typer.Option(min=2, max=6, help="Number of groups; the smallest are merged.")
    ] = 6,
    backfill: Annotated[
        Backfill | None, typer.Option(help="Backfilling; default: easy, or as configured.")
    ] = None,
    given: OfStudy,
) -> None:
    """Vary fairshare's settings: interval, depth, decay, targets, arrivals."""
    from audit.studies import plans

    by = cast("By | None", group_by.value if group_by else None)
    given.conduct("sensitivity", plans.sensitivity(given.pool, by, groups, backfill))


@experiment.command()
@grouped
def workload(
    *,
    clusters: Annotated[
        int | None,
        typer.Option(min=1, max=50, help="Number of clusters by k-means; default: 2 to 9."),
    ] = None,
    given: OfStudy,
) -> None:
    """Reduce a log to a small model of its workload, from which logs can be drawn."""
    from audit.studies import plans

    given.conduct("workload", plans.workload(given.pool, clusters))


@experiment.command()
def synthetic(
    model: Annotated[Path, typer.Argument(metavar="MODEL.toml", help="Output of 'workload'.")],
    out: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="File to write: .swf, or .psv for the text of sacct."),
    ],
    jobs: Annotated[
        int | None, Count(help="Number of jobs; default: as long as the model's log.")
    ] = None,
    machine: Annotated[
        float,
        typer.Option(
            min=0.001,
            max=1_000,
            help="Factor of the size of the machine and of the rate of arrivals.",
        ),
    ] = 1.0,
    intensity: Annotated[
        float,
        typer.Option(
            min=0.001, max=1_000, help="Factor of the rate of arrivals on the same machine."
        ),
    ] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed; the same seed gives the same log.")] = 0,
) -> None:
    """Draw a log of any length from a model of a workload."""
    from audit.studies.plans import make_log

    say(make_log(model, out, seed=seed, jobs=jobs, intensity=intensity, machine=machine))
