"""Commands that need no configuration: ``audit``, ``simulate``, ``whatif``…"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from typer import Argument, Exit, Option

from audit.cli import options as opt
from audit.cli.options import at_work, passed, say, show, tell, warn
from audit.errors import UsageError
from audit.policies import Backfill, Order
from audit.words import AnswerFormat

if TYPE_CHECKING:
    from audit.oneoff.audit import AuditOptions

BUDGET_S = 5
"""Default CPU seconds for strict and relaxed fair start times without a configuration."""
ADVICE_S = 10
"""Default CPU seconds for advice without a configuration."""

Seconds = partial(opt.Count, metavar="SECONDS")

CHANGES = opt.RULES | opt.options(
    targets=opt.optional(str, "New target shares of users or accounts.", metavar="NAME=SHARE,…"),
    weight=opt.optional(list[str], "New weight in Slurm's priority.", metavar="FACTOR=N"),
    half_life=opt.optional(float, "Half-life of usage, in days.", min=0.001, metavar="DAYS"),
    walltimes=opt.optional(
        str,
        "Requested walltimes: the runtime, or at most FACTOR times the runtime.",
        metavar="exact|FACTOR",
    ),
    walltimes_of=opt.optional(
        list[str], "Change only the walltimes of this user; repeatable.", metavar="USER"
    ),
    capacity=opt.optional(str, "New capacity of the pool.", metavar="N|+N|-N"),
    nodes=opt.optional(str, "New number of nodes, each with its resources.", metavar="N|+N|-N"),
    placement=opt.optional(
        str,
        "Nodes on which jobs start: those with least or most free capacity, or whole nodes.",
        metavar="packed|least_loaded|consecutive|exclusive",
    ),
    per_node=opt.optional(
        list[str],
        "Maximum that a job requests per node; larger jobs get more nodes.",
        metavar="RESOURCE=N",
    ),
    max_walltime=opt.optional(
        list[str], "New maximum walltime of a partition.", metavar="PARTITION=D-HH:MM:SS"
    ),
    without_user=opt.optional(list[str], "Omit the jobs of this user.", metavar="NAME"),
)
"""The changes that ``simulate`` and ``whatif`` can make."""
Changes: TypeAlias = Annotated["ScenarioChange", opt.OptionGroup(opt.change, CHANGES)]


def _options(
    *,
    out: Path | None,
    db: Path | None,
    user: list[str] | None,
    account: list[str] | None,
    no_pdf: bool | None,
    predict: bool | None,
    **more: Any,
) -> Any:
    from audit.oneoff.audit import AuditOptions

    named = opt.owners(user, account)
    given = {"database": db, "owners": named, **more}
    return AuditOptions(out=out or opt.DEFAULT_OUT, pdf=not no_pdf, predict=bool(predict), **given)


Audited: TypeAlias = Annotated[
    "AuditOptions",
    opt.OptionGroup(
        _options,
        opt.options(
            out=opt.optional(Path, "Folder for the report and database; default: fairaudit-out."),
            db=opt.optional(Path, "Database to add to; default: a new audit.duckdb in --out."),
            order=opt.optional(
                Order, "Queue order of replays; default: inferred from the log, else fcfs."
            ),
            backfill=opt.optional(
                Backfill, "Backfilling of replays; default: inferred from the log, else easy."
            ),
            from_day=opt.optional(str, "First day of the period.", "--from", metavar="DAY"),
            to_day=opt.optional(str, "Day after the last day.", "--to", metavar="DAY"),
            log_from=opt.optional(
                str,
                "Time from which the logs are complete; default: inferred from them.",
                metavar="TIME",
            ),
            user=opt.OfUsers,
            account=opt.OfAccounts,
            no_pdf=opt.optional(bool, "Make no PDF.", "--no-pdf"),
            predict=opt.optional(
                bool,
                "Predict starts, and show how good the predictions are, even if no job is pending.",
                "--predict",
            ),
        ),
    ),
]


@opt.grouped
def audit(
    *,
    options: Audited,
    budget: Annotated[
        int | None,
        Seconds(
            help="CPU seconds for strict and relaxed fair start times; above it, a sample is "
            "computed. Default: as configured, or 5."
        ),
    ] = None,
    fit_budget: Annotated[str | None, opt.gone("--fit-budget")] = None,
    no_fit: opt.NoFit = False,
    advice_budget: Annotated[
        int | None, Seconds(help="CPU seconds for advice; default: as configured, or 10.")
    ] = None,
    no_advice: Annotated[bool, Option("--no-advice", help="Give no advice.")] = False,
    verbose: Annotated[
        bool, Option("--verbose", help="Also print the inferred policy and rules.")
    ] = False,
    timings: Annotated[
        bool, Option("--timings", help="Print CPU, elapsed time and peak memory of each stage.")
    ] = False,
    form: opt.OfAnswer = AnswerFormat.text,
    logs: opt.OfLogsAndNodes,
    site: opt.Configured,
) -> None:
    """Audit accounting logs and write report.html, report.pdf and audit.duckdb."""
    from audit import json_answers
    from audit.oneoff.audit import audit as run_audit

    if no_advice and advice_budget is not None:
        raise UsageError("give either --no-advice or --advice-budget, not both")
    advice_s = 0 if no_advice else advice_budget or (None if site.file else ADVICE_S)
    fair_s = budget or (None if site.file else BUDGET_S)
    budgets = {"budget_s": fair_s, "advice_budget_s": advice_s}
    given = {key: seconds for key, seconds in budgets.items() if seconds is not None}
    config = site.config.model_copy(
        update={"simulation": site.config.simulation.model_copy(update=given)}
    )
    with at_work(timings=timings) as progress:
        heard, fit = tell(progress, verbose=verbose), not no_fit
        session = site.session(logs, progress, config=config, on_inferred=heard, fit=fit)
        outcome = run_audit(session, options)
    warn(outcome.warnings)
    if form is AnswerFormat.json:
        print(json_answers.written(outcome), end="")
    else:
        show(*outcome.summary)
    if outcome.missing:
        raise Exit(max(error.exit_code for _, error in outcome.missing))
    if outcome.fails:
        say(f"verdict: {outcome.verdict} is in verdict.fail of the configuration")
        raise Exit(1)
    if form is AnswerFormat.text:
        of = passed("--db", outcome.database, opt.DEFAULT_OUT / "audit.duckdb")
        say(f"next: open the report; 'fairaudit explain JOB{of}' shows why a job waited")


@opt.grouped
def simulate(
    *,
    change: Changes,
    out: Annotated[
        Path | None, Option(metavar="FILE", help="Schedule to write: FILE.swf or FILE.parquet.")
    ] = None,
    no_fit: opt.NoFit = False,
    logs: opt.OfLogs,
    site: opt.Configured,
) -> None:
    """Simulate a scheduling policy on logs, and compare its waits with those observed."""
    from audit.oneoff import simulate as simulation

    with at_work() as progress:
        session = site.session(logs, progress, fit=not no_fit)
        outcome = simulation.simulate(session, change, out)
    warn(outcome.warnings)
    if out is not None:
        show(out)
    else:
        print("\n".join(simulation.table(pool) for pool in outcome.comparisons), end="")


@opt.grouped
def verify(
    *,
    report: Annotated[Path, Argument(help="A report.html or report.pdf.")],
    db: Annotated[
        Path | None,
        Option(help="Database; default: audit.duckdb beside the report, or that of --config."),
    ] = None,
    site: opt.Configured,
) -> None:
    """Recreate a report from its database, and compare the two byte by byte."""
    from audit.oneoff.verify import verify as compare

    verdict = compare(report, db, site.config, site.folder)
    show(f"{'ok' if verdict.same else 'DIFFERS'}  {verdict.text}")
    if not verdict.same:
        raise Exit(1)


if TYPE_CHECKING:
    from collections.abc import Callable

    from audit.metrics.draws import Draws
    from audit.oneoff.study import StudyPlan
    from audit.pipeline.opening import ClusterLog
    from audit.scenario.scenario import ScenarioChange


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
    threads: Annotated[int | None, opt.Count(help="Number of threads; default: one per core.")] = (
        None
    )

    def conduct(self, key: str, plan: Callable[[ClusterLog, Draws], StudyPlan]) -> None:
        """Make a study, and print its result and its files."""
        from audit.oneoff.study import StudyTarget, conduct

        prepare(self.out)
        with at_work() as progress:
            session = self.site.session(self.request, progress)
            target = StudyTarget(self.out, self.db, self.threads)
            found: list[str] = []
            files = conduct(
                *(session, key, target, plan),
                warned=lambda text: progress.say(f"warning: {text}"),
                found=found.append,
            )
        show(*found, *files)


OfStudy: TypeAlias = Annotated[Given, opt.OptionGroup.of(opt.grouped(Given))]


def prepare(out: Path) -> None:
    """Refuse a folder that cannot be written before anything is computed for it."""
    from audit.oneoff.study import refuse_unfit

    refuse_unfit(out)


@opt.grouped
def whatif(*, change: Changes, no_fit: opt.NoFit = False, given: OfStudy) -> None:
    """Show which users and accounts would gain or lose from a change."""
    from audit.oneoff.whatif import page, plan

    site = given.site
    planned = plan.plan(change, given.pool, site.config, site.folder, fit=not no_fit)
    given.conduct(page.KEY, planned)


@opt.grouped
def fit_policy(
    *,
    budget: Annotated[str | None, opt.gone("--budget")] = None,
    write: Annotated[
        Path | None, Option(metavar="config.toml", help="New file for the inferred configuration.")
    ] = None,
    given: OfStudy,
) -> None:
    """Infer the site's policy from a log: order, backfilling, limits and windows."""
    from audit.oneoff.fit_policy import plan

    given.conduct(plan.KEY, plan.plan(given.pool, write, given.site.folder))
    if write is not None:
        of = passed("--config", write)
        say(f"next: 'fairaudit audit LOG{of}' audits with what was found")
