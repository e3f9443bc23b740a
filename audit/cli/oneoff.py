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
    OfAccounts,
    OfUsers,
    Partitions,
    PoolSize,
    Qos,
    Separator,
    SlurmConf,
    Window,
    Zone,
    advising,
    configuration,
    folder_of,
    owners,
    published,
    reading,
    within,
)
from audit.cli.output import at_work, say, show, tell, warn
from audit.words import Algorithm, Backfill, Order

if TYPE_CHECKING:
    import polars as pl

    from audit.cluster.fitted import Fit, Fitted
    from audit.model import Pool
    from audit.oneoff.audit import Outcome

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


def audit(
    logs: Logs,
    out: Annotated[Path, typer.Option(help="Folder for the report and database.")] = DEFAULT_OUT,
    db: Database = None,
    cluster: ClusterName = None,
    pool_size: PoolSize = None,
    resource: Counted = None,
    order: AssumedOrder = None,
    backfill: AssumedBackfill = None,
    zone: Zone = None,
    from_day: FromDay = None,
    to_day: ToDay = None,
    dialect: Dialect = None,
    columns: Columns = None,
    separator: Separator = None,
    budget: FairBudget = None,
    fit_budget: FitBudget = 10.0,
    no_fit: NoFit = False,
    advice_budget: AdviceBudget = None,
    no_advice: NoAdvice = False,
    user: OfUsers = None,
    account: OfAccounts = None,
    no_pdf: Annotated[bool, typer.Option("--no-pdf", help="Make no PDF.")] = False,
    config: ConfigFile = None,
) -> None:
    """Audit accounting logs once: report.html, report.pdf and audit.duckdb."""
    from audit.oneoff.audit import Request
    from audit.oneoff.audit import audit as run_audit

    settings = within(configuration(config), budget)
    settings = advising(settings, config is not None, advice_budget, no_advice)
    request = Request(
        logs=logs,
        out=out,
        database=db,
        dialect=dialect,
        reading=reading(columns, separator, zone),
        cluster=cluster,
        pool_size=pool_size,
        resource=resource,
        order=order,
        backfill=backfill,
        zone=zone,
        from_day=from_day,
        to_day=to_day,
        pdf=not no_pdf,
        owners=owners(user, account),
    )
    fit = None if no_fit else fitting(fit_budget, settings.uncertainty.resamples)
    with at_work() as progress:
        outcome = run_audit(
            request, settings, progress.update, tell(progress), fit, folder_of(config)
        )
    _show_audit(outcome)


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


def simulate(
    logs: Logs,
    order: Annotated[
        Order | None, typer.Option(help="Who is served first; without it, fcfs or as configured.")
    ] = None,
    backfill: Annotated[
        Backfill | None,
        typer.Option(help="Who may start before others; without it, easy or as configured."),
    ] = None,
    depth: Depth = None,
    window: Window = None,
    interval: Interval = None,
    limit: Bounds = None,
    lift: Lift = None,
    pool_size: PoolSize = None,
    resource: Counted = None,
    zone: Zone = None,
    columns: Columns = None,
    separator: Separator = None,
    dialect: Dialect = None,
    cluster: ClusterName = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the schedule: FILE.swf or FILE.parquet."),
    ] = None,
    config: ConfigFile = None,
) -> None:
    """Simulate a scheduling policy on logs: how would they have waited?"""
    from audit.oneoff import simulate as simulation
    from audit.scenario.whatif import bounds as limits

    settings = configuration(config)
    request = simulation.Request(
        logs=logs,
        out=out,
        order=order,
        backfill=backfill,
        depth=depth,
        window_s=window,
        interval_s=interval,
        lift=tuple(lift or ()),
        limits=limits.asked(limit or []),
        dialect=dialect,
        reading=reading(columns, separator, zone),
        cluster=cluster,
        pool_size=pool_size,
        resource=resource,
        zone=zone,
    )
    with at_work() as progress:
        outcome = simulation.simulate(
            request, settings, progress.update, tell(progress), folder_of(config)
        )
    warn(outcome.warnings)
    if outcome.written is not None:
        show(outcome.written)
    else:
        print("\n".join(simulation.table(pool) for pool in outcome.comparisons), end="")


def sshare(
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
    config: ConfigFile = None,
) -> None:
    """Print fairshare as Slurm's 'sshare -alP' does, for any instant and any settings."""
    from audit.oneoff.sshare.recompute import recompute
    from audit.oneoff.sshare.site import Request
    from audit.oneoff.sshare.table import comma_separated, psv

    request = Request(
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
    settings = configuration(config)
    with at_work() as progress:
        outcome = recompute(request, settings, folder_of(config), progress.update)
    for fact in outcome.facts:
        say(fact)
    warn(outcome.warnings)
    write = psv if form is ShareFormat.psv else comma_separated
    sys.stdout.write(write(outcome))


def explain(
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job's id, as the log writes it.")],
    logs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="LOG...", help="Accounting logs; else the database."),
    ] = None,
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
    pool_size: PoolSize = None,
    resource: Counted = None,
    zone: Zone = None,
    columns: Columns = None,
    separator: Separator = None,
    dialect: Dialect = None,
    cluster: ClusterName = None,
    config: ConfigFile = None,
) -> None:
    """Explain why one job waited: what ran, who went ahead, what a model makes of it."""
    from audit.oneoff.explain import shown
    from audit.oneoff.explain.explain import Request
    from audit.oneoff.explain.explain import explain as explain_wait

    settings = configuration(config)
    request = Request(
        job=job,
        attempt=attempt,
        logs=logs or (),
        database=db or published(config, settings),
        dialect=dialect,
        reading=reading(columns, separator, zone),
        cluster=cluster,
        pool_size=pool_size,
        resource=resource,
        zone=zone,
    )
    with at_work() as progress:
        story = explain_wait(request, settings, progress.update, tell(progress), folder_of(config))
    told = {"text": shown.as_text, "html": shown.as_html, "json": shown.as_json}
    sys.stdout.write(told[form](story))


def verify(
    report: Annotated[Path, typer.Argument(help="A report.html or report.pdf.")],
    db: Annotated[
        Path | None,
        typer.Option(help="Its database; else audit.duckdb beside it, or that of --config."),
    ] = None,
    config: ConfigFile = None,
) -> None:
    """Make a report again from its database, and compare it byte for byte."""
    from audit.oneoff.verify import verify as compare

    verdict = compare(report, db, configuration(config), folder_of(config))
    show(f"{'ok' if verdict.same else 'DIFFERS'}  {verdict.text}")
    if not verdict.same:
        raise typer.Exit(1)
