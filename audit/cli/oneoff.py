"""Commands that need no configuration: ``audit``, ``simulate``, ``explain``, ``whatif``…"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from typer import Argument, Exit, Option

from audit.cli import options as opt
from audit.cli.analyst import Published
from audit.cli.options import at_work, say, show, tell, warn
from audit.errors import UsageError
from audit.policies import Backfill, Order
from audit.words import Algorithm, AnswerFormat

if TYPE_CHECKING:
    from audit.oneoff.audit import AuditOptions
    from audit.oneoff.sshare.inputs import SshareRequest

BUDGET_S = 5
"""Default CPU seconds for strict and relaxed fair start times without a configuration."""
ADVICE_S = 10
"""Default CPU seconds for advice without a configuration."""

Seconds = partial(Option, min=1, metavar="SECONDS")
ShareFormat = StrEnum("ShareFormat", ["psv", "csv"])
StoryFormat = StrEnum("StoryFormat", ["text", "html", "json"])
NoFit = Annotated[bool, Option("--no-fit", help="Infer no rules and no policy from the log.")]
OfAnswer = Annotated[AnswerFormat, Option("--format", help="Output format.")]


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
    no_fit: NoFit = False,
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
    form: OfAnswer = AnswerFormat.text,
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
        for line in outcome.summary:
            show(line)
    if outcome.missing:
        raise Exit(max(error.exit_code for _, error in outcome.missing))
    if outcome.fails:
        say(f"verdict: {outcome.verdict} is in verdict.fail of the configuration")
        raise Exit(1)


@opt.grouped
def simulate(
    *,
    change: Changes,
    out: Annotated[
        Path | None, Option(metavar="FILE", help="Schedule to write: FILE.swf or FILE.parquet.")
    ] = None,
    no_fit: NoFit = False,
    logs: opt.OfLogs,
    site: opt.Configured,
) -> None:
    """Simulate a scheduling policy on logs, and compare its waits with those observed."""
    from audit.oneoff import simulate as simulation

    with at_work() as progress:
        session = site.session(logs, progress, fit=not no_fit)
        outcome = simulation.simulate(session, change, out)
    warn(outcome.warnings)
    if outcome.written is not None:
        show(outcome.written)
    else:
        print("\n".join(simulation.table(pool) for pool in outcome.comparisons), end="")


def _request(
    *,
    sacct: list[Path] | None,
    assoc: Path | None,
    by_partition: bool | None,
    columns: str | None,
    separator: str | None,
    table: str | None,
    maps: list[str] | None,
    **more: Any,
) -> Any:
    from audit.oneoff.sshare.inputs import SshareRequest

    return SshareRequest(
        sacct=sacct or (),
        associations=assoc,
        by_partition=bool(by_partition),
        reading=opt.reading(columns=columns, separator=separator, table=table, maps=maps),
        **more,
    )


OfSshare: TypeAlias = Annotated[
    "SshareRequest",
    opt.OptionGroup(
        _request,
        opt.options(
            sacct=opt.optional(
                list[Path], "Output of 'sacct -X -D -P'; default: the database.", metavar="FILE"
            )
        )
        | opt.SLURM_FILES
        | opt.options(
            as_of=opt.optional(
                str, "Instant of the figures; default: the last known.", metavar="TIME"
            ),
            half_life=opt.optional(str, "New half-life, such as 14-0.", metavar="LENGTH"),
            algorithm=opt.optional(Algorithm, "Fairshare algorithm; default: that of slurm.conf."),
            phase=opt.optional(str, "Time of one recalculation by slurmctld.", metavar="TIME"),
            sample=opt.file("Output of sshare, to infer when slurmctld recalculates."),
            sample_time=opt.optional(str, "Time of --sample; default: --as-of.", metavar="TIME"),
            cluster=opt.ClusterName,
            by_partition=opt.optional(
                bool, "Show partitions, as 'sshare -m' does.", "--partition-column", "-m"
            ),
        )
        | opt.READING,
    ),
]


@opt.grouped
def sshare(
    *,
    request: OfSshare,
    form: Annotated[ShareFormat, Option("--format", help="Output format.")] = ShareFormat.psv,
    explain: Annotated[
        str | None, Option(metavar="USER", help="Explain why this user's FairShare changed.")
    ] = None,
    since: Annotated[
        str | None,
        Option(
            metavar="TIME",
            help="With --explain: begin of the change; default: one half-life earlier.",
        ),
    ] = None,
    back_at: Annotated[
        float | None,
        Option(
            min=0, max=1, help="With --explain: FairShare to return to; default: that at --since."
        ),
    ] = None,
    site: opt.Configured,
) -> None:
    """Print fairshare as Slurm's 'sshare -alP' does, for any instant and any settings."""
    from audit.oneoff.sshare import explain as explained
    from audit.oneoff.sshare import recompute

    if explain is None and not (since is None is back_at):
        raise UsageError("sshare: --since and --back-at require --explain")
    if explain is not None:
        question = explained.FairShareQuestion(explain, since, back_at)
        with at_work() as progress:
            lines, facts, warnings = explained.explain(
                request, question, site.config, site.folder, progress.update
            )
        for fact in facts:
            say(fact)
        warn(warnings)
        for line in lines:
            show(line)
        return
    with at_work() as progress:
        outcome = recompute.recompute(request, site.config, site.folder, progress.update)
    for fact in outcome.facts:
        say(fact)
    warn(outcome.warnings)
    write = recompute.psv if form is ShareFormat.psv else recompute.comma_separated
    sys.stdout.write(write(outcome))


@opt.grouped
def explain(
    *,
    job: Annotated[str, Argument(metavar="JOB", help="Id of the job, as written in the log.")],
    attempt: Annotated[
        int | None,
        Option(min=1, help="Number of the attempt; default: that with the longest wait."),
    ] = None,
    db: Published = None,
    form: Annotated[StoryFormat, Option("--format", help="Output format.")] = StoryFormat.text,
    no_fit: NoFit = False,
    logs: opt.OfSomeLogsAndNodes,
    site: opt.Configured,
) -> None:
    """Explain why one job waited: a timeline of causes, similar jobs, and a model if it fits."""
    from audit.oneoff.explain import shown
    from audit.oneoff.explain.explain import WaitToExplain
    from audit.oneoff.explain.explain import explain as explain_wait

    with at_work() as progress:
        session = site.session(logs, progress, database=site.database(db), fit=not no_fit)
        story = explain_wait(session, WaitToExplain(job, attempt))
    write = {"text": shown.as_text, "html": shown.as_html, "json": shown.as_json}[form]
    sys.stdout.write(write(story))


@opt.grouped
def when(
    *,
    job: Annotated[
        str | None,
        Argument(
            metavar="[JOB]",
            help="Id of a pending job, or the first log; default: all pending jobs.",
        ),
    ] = None,
    user: Annotated[str | None, Option(help="Only this user's pending jobs.")] = None,
    form: OfAnswer = AnswerFormat.text,
    no_fit: NoFit = False,
    db: Published = None,
    logs: opt.OfSomeLogsAndNodes,
    site: opt.Configured,
) -> None:
    """Predict when pending jobs will start, with an 80 % interval.

    The predictions hold for the time of the newest records.
    """
    from audit import json_answers
    from audit.oneoff import when as predicted

    if job is not None and (Path(job).is_file() or Path(job).is_dir()):
        logs, job = replace(logs, logs=[Path(job), *logs.logs]), None
    if job is not None and user is not None:
        raise UsageError("when: give either JOB or --user, not both")
    with at_work() as progress:
        session = site.session(logs, progress, database=site.database(db), fit=not no_fit)
        answer = predicted.when(session, predicted.PendingJobs(job, user))
    if form is AnswerFormat.json:
        print(json_answers.written(answer), end="")
        return
    for sentence in predicted.lines(answer, user):
        show(sentence)


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
    threads: Annotated[
        int | None, Option(min=1, help="Number of threads; default: one per core.")
    ] = None

    def conduct(self, key: str, plan: Callable[[ClusterLog, Draws], StudyPlan]) -> None:
        """Make a study and print its files."""
        from audit.oneoff.study import StudyTarget, conduct

        prepare(self.out)
        with at_work() as progress:
            session = self.site.session(self.request, progress)
            target = StudyTarget(self.out, self.db, self.threads)
            files = conduct(
                session, key, target, plan, lambda text: progress.say(f"warning: {text}")
            )
        for file in files:
            show(file)


OfStudy: TypeAlias = Annotated[Given, opt.OptionGroup.of(opt.grouped(Given))]


def prepare(out: Path) -> None:
    """Refuse a folder that cannot be written before anything is computed for it."""
    from audit.oneoff.study import refuse_unfit

    refuse_unfit(out)


@opt.grouped
def whatif(*, change: Changes, no_fit: NoFit = False, given: OfStudy) -> None:
    """Show which users and accounts would gain or lose from a change."""
    from audit.oneoff.whatif import plan as study

    site = given.site
    planned = study.plan(change, given.pool, site.config, site.folder, fit=not no_fit)
    given.conduct(study.KEY, planned)


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
    from audit.oneoff.fit_policy import plan as study_plan

    given.conduct(study_plan.KEY, study_plan.plan(given.pool, write, given.site.folder))
