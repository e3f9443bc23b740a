"""Commands that study logs: ``whatif`` and ``fit-policy``; and what all studies of logs share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias

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
from audit.cli.output import at_work, show, tell

if TYPE_CHECKING:
    from collections.abc import Callable

    from audit.config import Config
    from audit.metrics.draws import Draws
    from audit.oneoff.study import Plan
    from audit.pipeline.opening import Log, Request
    from audit.scenario.scenario import Change

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
        "walltimes_of": Annotated[
            list[str] | None,
            typer.Option(metavar="USER", help="Whose walltimes; repeatable. Default: all users."),
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
"""What ``simulate`` and ``whatif`` can change."""
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

        prepare(self.out)
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


def prepare(out: Path) -> None:
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
