"""Commands on logs that nobody configured: ``audit``, ``simulate``, ``sshare``, ``verify``."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from audit.cli.options import (
    DEFAULT_OUT,
    Associations,
    ClusterName,
    Columns,
    Configured,
    OfAccounts,
    OfLogs,
    OfSomeLogs,
    OfUsers,
    Partitions,
    Qos,
    Separator,
    SlurmConf,
    Zone,
    grouped,
    owners,
    published,
    reading,
)
from audit.cli.output import at_work, say, show, tell, warn
from audit.cli.studies import Changes
from audit.errors import UsageError
from audit.policies import Backfill, Order
from audit.words import Algorithm

if TYPE_CHECKING:
    import polars as pl

    from audit.cluster.fitted import Fit, Fitted
    from audit.config import Config
    from audit.model import Pool
    from audit.oneoff.audit import Outcome

ADVICE_S = 10
"""CPU seconds for the advice of an audit that nobody configured."""

ShareFormat = StrEnum("ShareFormat", ["psv", "csv"])
StoryFormat = StrEnum("StoryFormat", ["text", "html", "json"])

FromDay = Annotated[
    str | None, typer.Option("--from", metavar="DAY", help="First day of the period.")
]
ToDay = Annotated[str | None, typer.Option("--to", metavar="DAY", help="Day after its last.")]
Database = Annotated[
    Path | None, typer.Option(help="Database to add to, instead of a new audit.duckdb in --out.")
]

AssumedOrder = Annotated[
    Order | None,
    typer.Option(help="Order of the queue that fair start times assume; else as fitted."),
]
AssumedBackfill = Annotated[
    Backfill | None,
    typer.Option(help="Who they assume may start before those ahead; else as fitted."),
]
FairBudget = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="SECONDS",
        help="CPU seconds for fair and forward start times, else a sample of them; "
        "without it, 300 or as configured.",
    ),
]
FitBudget = Annotated[
    float,
    typer.Option(
        min=1,
        metavar="SECONDS",
        help="CPU seconds for finding out how jobs are started, where nobody says it.",
    ),
]
NoFit = Annotated[
    bool, typer.Option("--no-fit", help="Assume fcfs and easy where nobody says otherwise.")
]
AdviceBudget = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="SECONDS", help="CPU seconds for advice; without it, 10 or as configured."
    ),
]
NoAdvice = Annotated[bool, typer.Option("--no-advice", help="Replay no changes for advice.")]

Sacct = Annotated[
    list[Path] | None,
    typer.Option(metavar="FILE", help="What 'sacct -X -D -P' prints; else the database."),
]
AsOf = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="The instant; without it, the last that is known."),
]
HalfLife = Annotated[
    str | None, typer.Option(metavar="LENGTH", help="Another half-life, like 14-0.")
]
Phase = Annotated[
    str | None, typer.Option(metavar="TIME", help="When slurmctld recalculated, once.")
]
Sample = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="What sshare printed: tells when it recalculated."),
]
SampleTime = Annotated[
    str | None, typer.Option(metavar="TIME", help="When it printed that; without it, --as-of.")
]


@grouped
def audit(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the report and database.")] = DEFAULT_OUT,
    db: Database = None,
    order: AssumedOrder = None,
    backfill: AssumedBackfill = None,
    from_day: FromDay = None,
    to_day: ToDay = None,
    budget: FairBudget = None,
    fit_budget: FitBudget = 10.0,
    no_fit: NoFit = False,
    advice_budget: AdviceBudget = None,
    no_advice: NoAdvice = False,
    user: OfUsers = None,
    account: OfAccounts = None,
    no_pdf: Annotated[bool, typer.Option("--no-pdf", help="Make no PDF.")] = False,
    logs: OfLogs,
    site: Configured,
) -> None:
    """Audit accounting logs once: report.html, report.pdf and audit.duckdb."""
    from audit.oneoff.audit import Options
    from audit.oneoff.audit import audit as run_audit

    if no_advice and advice_budget is not None:
        raise UsageError("--no-advice and --advice-budget: give one of them")
    advice_s = advice_budget or (ADVICE_S if site.file is None else None)
    settings = _within(site.config, budget, 0 if no_advice else advice_s)
    options = Options(
        out=out,
        database=db,
        order=order,
        backfill=backfill,
        from_day=from_day,
        to_day=to_day,
        pdf=not no_pdf,
        owners=owners(user, account),
    )
    fit = None if no_fit else fitting(fit_budget, settings.uncertainty.resamples)
    with at_work() as progress:
        outcome = run_audit(
            logs, options, settings, progress.update, tell(progress), fit, site.folder
        )
    _show_audit(outcome)


def _within(settings: Config, budget_s: int | None, advice_budget_s: int | None) -> Config:
    """The configuration with these budgets; None: its own."""
    budgets = {"budget_s": budget_s, "advice_budget_s": advice_budget_s}
    given = {key: seconds for key, seconds in budgets.items() if seconds is not None}
    simulation = settings.simulation.model_copy(update=given)
    return settings.model_copy(update={"simulation": simulation})


def _show_audit(outcome: Outcome) -> None:
    warn(outcome.warnings)
    for finding in outcome.main_findings:
        show(f"- {finding}")
    print()
    for path in filter(None, (outcome.html, outcome.pdf, *outcome.owners, outcome.database)):
        show(path)
    for _, error in outcome.missing:
        say(f"fairaudit: {error}")
    if outcome.missing:
        raise typer.Exit(max(error.exit_code for _, error in outcome.missing))


def fitting(seconds: float, resamples: int) -> Fit:
    """Finds out how a pool decides within so many seconds; see ``oneoff.fit_policy.assumed``."""

    def fit(described: pl.DataFrame, pool: Pool, now: int, seed: int) -> Fitted:
        from audit.oneoff.fit_policy.assumed import assumed

        return assumed(described, pool, now, seed, seconds=seconds, resamples=resamples)

    return fit


@grouped
def simulate(
    *,
    change: Changes,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the schedule: FILE.swf or FILE.parquet."),
    ] = None,
    logs: OfLogs,
    site: Configured,
) -> None:
    """Simulate a scheduling policy on logs: how would they have waited?"""
    from audit.oneoff import simulate as simulation

    with at_work() as progress:
        outcome = simulation.simulate(
            logs, change, site.config, out, progress.update, tell(progress), site.folder
        )
    warn(outcome.warnings)
    if outcome.written is not None:
        show(outcome.written)
    else:
        print("\n".join(simulation.table(pool) for pool in outcome.comparisons), end="")


@grouped
def sshare(
    *,
    sacct: Sacct = None,
    assoc: Associations = None,
    qos: Qos = None,
    partitions: Partitions = None,
    slurm_conf: SlurmConf = None,
    as_of: AsOf = None,
    half_life: HalfLife = None,
    algorithm: Annotated[
        Algorithm | None, typer.Option(help="Another algorithm than slurm.conf says.")
    ] = None,
    phase: Phase = None,
    sample: Sample = None,
    sample_time: SampleTime = None,
    cluster: ClusterName = None,
    zone: Zone = None,
    columns: Columns = None,
    separator: Separator = None,
    partition_column: Annotated[
        bool, typer.Option("--partition-column", "-m", help="Show partitions, as 'sshare -m'.")
    ] = False,
    form: Annotated[ShareFormat, typer.Option("--format", help="How to write it.")] = (
        ShareFormat.psv
    ),
    site: Configured,
) -> None:
    """Print fairshare as Slurm's 'sshare -alP' does, for any instant and any settings."""
    from audit.oneoff.sshare.recompute import recompute
    from audit.oneoff.sshare.request import Request
    from audit.oneoff.sshare.table import comma_separated, psv

    wanted = Request(
        sacct=sacct or (),
        associations=assoc,
        qos=qos,
        partitions=partitions,
        slurm_conf=slurm_conf,
        as_of=as_of,
        half_life=half_life,
        algorithm=algorithm,
        phase=phase,
        sample=sample,
        sample_time=sample_time,
        cluster=cluster,
        zone=zone,
        reading=reading(columns, separator),
        by_partition=partition_column,
    )
    with at_work() as progress:
        outcome = recompute(wanted, site.config, site.folder, progress.update)
    for fact in outcome.facts:
        say(fact)
    warn(outcome.warnings)
    write = psv if form is ShareFormat.psv else comma_separated
    sys.stdout.write(write(outcome))


@grouped
def explain(
    *,
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job's id, as the log writes it.")],
    attempt: Annotated[
        int | None,
        typer.Option(min=1, help="Which attempt; without it, the one that waited longest."),
    ] = None,
    db: Annotated[
        Path | None,
        typer.Option(help="A published database; else that of --config, or fairaudit-out's."),
    ] = None,
    form: Annotated[StoryFormat, typer.Option("--format", help="How to tell it.")] = (
        StoryFormat.text
    ),
    logs: OfSomeLogs,
    site: Configured,
) -> None:
    """Explain why one job waited: what ran, who went ahead, what a model makes of it."""
    from audit.oneoff.explain import shown
    from audit.oneoff.explain.explain import Subject
    from audit.oneoff.explain.explain import explain as explain_wait

    database = db or published(site.file, site.config)
    with at_work() as progress:
        story = explain_wait(
            logs,
            Subject(job, attempt),
            database,
            site.config,
            progress.update,
            tell(progress),
            site.folder,
        )
    write = {"text": shown.as_text, "html": shown.as_html, "json": shown.as_json}[form]
    sys.stdout.write(write(story))


@grouped
def verify(
    *,
    report: Annotated[Path, typer.Argument(help="A report.html or report.pdf.")],
    db: Annotated[
        Path | None,
        typer.Option(help="Its database; else audit.duckdb beside it, or that of --config."),
    ] = None,
    site: Configured,
) -> None:
    """Make a report again from its database, and compare it byte for byte."""
    from audit.oneoff.verify import verify as compare

    verdict = compare(report, db, site.config, site.folder)
    show(f"{'ok' if verdict.same else 'DIFFERS'}  {verdict.text}")
    if not verdict.same:
        raise typer.Exit(1)
