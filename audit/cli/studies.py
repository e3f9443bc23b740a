"""The commands ``whatif`` and ``fit-policy``, and the options of all studies of logs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

from typer import Option

from audit.cli import options as opt
from audit.cli.output import at_work, show, tell

if TYPE_CHECKING:
    from collections.abc import Callable

    from audit.metrics.draws import Draws
    from audit.oneoff.study import Plan
    from audit.pipeline.opening import Log
    from audit.scenario.scenario import Change

CHANGES = opt.RULES | opt.options(
    targets=opt.optional(str, "Other target shares of users or accounts.", metavar="NAME=SHARE,…"),
    weight=opt.optional(list[str], "Another weight of Slurm's priority.", metavar="FACTOR=N"),
    half_life=opt.optional(float, "Half-life of usage, in days.", min=0.001, metavar="DAYS"),
    walltimes=opt.optional(
        str,
        "Requested walltimes: the runtime, or at most FACTOR times the runtime.",
        metavar="exact|FACTOR",
    ),
    walltimes_of=opt.optional(
        list[str], "Only the walltimes of this user; repeatable.", metavar="USER"
    ),
    capacity=opt.optional(str, "Another capacity of the pool.", metavar="N|+N|-N"),
    nodes=opt.optional(str, "Another number of nodes, each with its resources.", metavar="N|+N|-N"),
    max_walltime=opt.optional(
        list[str], "Another maximum walltime of a partition.", metavar="PARTITION=D-HH:MM:SS"
    ),
    without_user=opt.optional(list[str], "Leave out the jobs of this user.", metavar="NAME"),
)
"""The changes that ``simulate`` and ``whatif`` can make."""
Changes: TypeAlias = Annotated["Change", opt.Group(opt.change, CHANGES)]


@dataclass(frozen=True)
class Given:
    """The options of every study of logs."""

    request: opt.OfLogs
    site: opt.Configured
    out: opt.Out = opt.DEFAULT_OUT
    db: Annotated[
        Path | None, Option(help="Database to add the results to; default: a new one in --out.")
    ] = None
    pool: Annotated[str | None, Option(help="Only this pool.")] = None
    threads: Annotated[
        int | None, Option(min=1, help="Number of threads; default: one per core.")
    ] = None

    def conduct(self, key: str, plan: Callable[[Log, Draws], Plan]) -> None:
        """Make a study and print its files."""
        from audit.oneoff.study import Target, conduct

        prepare(self.out)
        with at_work() as progress:
            files = conduct(
                key,
                self.request,
                Target(self.out, self.db, self.threads),
                self.site.config,
                plan,
                progress.update,
                tell(progress),
                lambda warning: progress.say(f"warning: {warning}"),
            )
        for file in files:
            show(file)


OfStudy: TypeAlias = Annotated[Given, opt.Group.of(opt.grouped(Given))]


def prepare(out: Path) -> None:
    """Refuse a folder that cannot be written before anything is computed for it."""
    from audit.oneoff.study import refuse_unfit

    refuse_unfit(out)


@opt.grouped
def whatif(change: Changes, given: OfStudy) -> None:
    """Show which users and accounts would gain or lose from a change."""
    from audit.oneoff.whatif import plan as study

    site = given.site
    given.conduct(study.KEY, study.plan(change, given.pool, site.config, site.folder))


@opt.grouped
def fit_policy(
    *,
    budget: Annotated[
        float, Option(min=1.0, help="Maximum CPU seconds for the search, as estimated.")
    ] = 60.0,
    write: Annotated[
        Path | None, Option(metavar="config.toml", help="New file for the fitted policy.")
    ] = None,
    given: OfStudy,
) -> None:
    """Infer the site's policy from a log: order, backfilling, limits and windows."""
    from audit.oneoff.fit_policy import plan as study_plan

    given.conduct(study_plan.KEY, study_plan.plan(given.pool, budget, write))
