"""The command line: arguments in, one call into ``service``, results on stdout, the rest on stderr.

Exit codes are in README.md. Modules that take long to import are imported where they are used.
"""

from __future__ import annotations

import gc
import logging
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, cast

import typer

from audit import __version__
from audit.errors import AuditError, LockedError
from audit.progress import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from audit.config import Config
    from audit.experiments.sensitivity import By
    from audit.formats.dialects import Reading
    from audit.service import studies
    from audit.service.opening import Log

DEFAULT_OUT = Path("fairaudit-out")

app = typer.Typer(
    name="fairaudit",
    help="Is your batch scheduler fair, to whom is it not, and why?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
experiment = typer.Typer(
    help="Repeat a study of the papers.", no_args_is_help=True, add_completion=False
)
app.add_typer(experiment, name="experiment")

Resource = StrEnum("Resource", ["cpus", "nodes", "gpus"])
Format = StrEnum("Format", ["table", "csv", "json", "parquet"])
Order = StrEnum("Order", ["fcfs", "sjf", "lxf", "recorded", "fairshare", "nuwt"])
Backfill = StrEnum(
    "Backfill", ["none", "no_guarantee", "easy", "conservative", "conservative_replan"]
)

Algorithm = StrEnum("Algorithm", ["fair_tree", "classic"])
ShareFormat = StrEnum("ShareFormat", ["psv", "csv"])

ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="A config.toml; without it, its defaults.")
]


def main() -> NoReturn:
    """Runs the command; errors that a user can act on end without a traceback."""
    # A command makes much that lives to its end (a PDF's layout above all): looking for garbage
    # among it every 700 objects takes a tenth of an audit.
    gc.set_threshold(100_000, 20, 20)
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    try:
        code = app(standalone_mode=False)
    except AuditError as error:
        _say(f"fairaudit: {error}")
        code = error.exit_code
    except typer.Exit as done:
        code = done.exit_code
    except (typer.Abort, KeyboardInterrupt):
        _say("fairaudit: interrupted; nothing was replaced")
        code = 130
    except OSError as error:
        _say(f"fairaudit: {error}; is the disk full? Nothing was replaced")
        code = AuditError.exit_code
    except Exception as error:
        if not _is_usage(error):
            raise
        _say(f"fairaudit: {error.format_message()}; see 'fairaudit --help'")  # type: ignore[attr-defined]
        code = 2
    sys.exit(code if isinstance(code, int) else 0)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(f"fairaudit {__version__}")
        raise typer.Exit


@app.command()
def audit(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Accounting logs, or .gz.")],
    out: Annotated[Path, typer.Option(help="Folder for the report and database.")] = DEFAULT_OUT,
    db: Annotated[
        Path | None,
        typer.Option(help="Database to add to, instead of a new audit.duckdb in --out."),
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="Name of the cluster.")] = None,
    pool_size: Annotated[
        int | None, typer.Option(min=1, help="Capacity of the pool, in --resource.")
    ] = None,
    resource: Annotated[Resource, typer.Option(help="What sizes count.")] = Resource.cpus,
    order: Annotated[
        Order, typer.Option(help="Order of the queue that fair start times assume.")
    ] = Order.fcfs,
    backfill: Annotated[
        Backfill, typer.Option(help="Who they assume may start before those ahead.")
    ] = Backfill.easy,
    zone: Annotated[
        str | None, typer.Option(help="The cluster's time zone, like Europe/Berlin.")
    ] = None,
    from_day: Annotated[
        str | None, typer.Option("--from", metavar="DAY", help="First day of the period.")
    ] = None,
    to_day: Annotated[
        str | None, typer.Option("--to", metavar="DAY", help="Day after its last.")
    ] = None,
    dialect: Annotated[
        str | None, typer.Option(help="Dialect of the logs; without it, it is detected.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns of a log without header row: JobID,User,…")
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="What separates them; without it, it is found out.")
    ] = None,
    no_pdf: Annotated[bool, typer.Option("--no-pdf", help="Make no PDF.")] = False,
    config: ConfigFile = None,
) -> None:
    """Audit accounting logs once: report.html, report.pdf and audit.duckdb."""
    from audit import model
    from audit.kernels import jit
    from audit.progress import Progress
    from audit.service import runs

    settings = _config(config)
    jit.on_first_compile = _say
    request = runs.Request(
        logs=logs,
        out=out,
        database=db,
        dialect=dialect,
        reading=_reading(columns, separator, zone),
        cluster=cluster,
        pool_size=pool_size,
        resource=model.Resource(resource.value),
        policy=model.Policy(model.Order(order.value), model.Backfill(backfill.value)),
        zone=zone,
        from_day=from_day,
        to_day=to_day,
        pdf=not no_pdf,
    )
    with Progress() as progress:
        outcome = runs.audit(
            request,
            settings,
            progress.update,
            lambda fact: progress.say(f"{fact.what}: {fact.value} (from {fact.source})"),
        )
    for warning in outcome.warnings:
        _say(f"warning: {warning}")
    for finding in outcome.main_findings:
        print(f"- {printable(finding)}")
    print()
    for made in (outcome.html, outcome.pdf, outcome.database):
        if made is not None:
            print(made)


SiteConfig = Annotated[Path, typer.Option("--config", help="The site's config.toml.")]
OnlyPeriod = Annotated[
    str | None, typer.Option("--period", help="Only this period, like 2026-10 (as in the reports).")
]


@app.command("run")
def run_(config: SiteConfig = Path("config.toml"), period: OnlyPeriod = None) -> None:
    """Do what the night does: read new logs, compute, report, publish, deliver."""
    from audit.service import night

    _stages(config, period, night.STAGES)


@app.command()
def ingest(config: SiteConfig = Path("config.toml")) -> None:
    """One stage of a run: read new logs."""
    _stages(config, None, ("ingest",))


@app.command()
def report(config: SiteConfig = Path("config.toml"), period: OnlyPeriod = None) -> None:
    """One stage of a run: compute and report what was read, and publish it."""
    _stages(config, period, ("compute", "report", "publish"))


def _stages(config: Path, period: str | None, stages: tuple[str, ...]) -> None:
    """Does these stages of a run, and says what came of them."""
    import time

    from audit.kernels import jit
    from audit.progress import Progress
    from audit.service import night, service

    settings = _config(config)
    jit.on_first_compile = _say
    try:
        with Progress() as progress:
            done = night.run(
                settings,
                config.parent,
                int(time.time()),
                period,
                progress.update,
                stages=stages,
            )
    except LockedError:
        raise
    except AuditError as error:
        service.tell(settings, config.parent, [error], _say, "fairaudit")
        raise
    for said in done.warnings:
        _say(f"warning: {said}")
    made = [*done.read, *(f"computed {name}" for name in done.computed), *done.reports]
    for line in [*made, *(f"sent {name}" for name in done.sent)]:
        print(printable(str(line)))
    if "publish" in stages:
        print(f"published {settings.output.database}" if done.published else "nothing to publish")
    for found in done.exceeded:
        _say(f"threshold: {found}")
    for failure in done.failures:
        _say(f"fairaudit: {failure}")
    if done.failures:
        service.tell(settings, config.parent, done.failures, _say, "fairaudit")
        raise typer.Exit(done.exit_code)
    if done.exceeded:
        raise typer.Exit(1)


@app.command("service")
def service_(config: SiteConfig = Path("config.toml")) -> None:
    """Run at the times of config.toml, catching up after an outage, until stopped."""
    import threading
    import time

    from audit.kernels import jit
    from audit.service import service

    settings = _config(config)
    jit.on_first_compile = _say
    stop = threading.Event()
    with service.stopped_by_signals(stop):
        service.serve(settings, config.parent, time.time, stop, _say)


@app.command()
def status(
    config: SiteConfig = Path("config.toml"),
    check: Annotated[
        bool, typer.Option("--check", help="End with 1 if a run failed or is overdue.")
    ] = False,
    rows: Annotated[int, typer.Option(min=0, help="Show so many of the newest stages.")] = 20,
) -> None:
    """Show the runs, what became of them, and when the next is due."""
    import time

    from audit.errors import UsageError
    from audit.service import status as service

    settings = _config(config)
    if not settings.clusters:
        raise UsageError("status: the configuration has no [[clusters]]")
    found = service.look(settings, config.parent, int(time.time()))
    for line in service.lines(found, rows):
        print(printable(line))
    if check and any(standing.problem for standing in found.clusters):
        raise typer.Exit(1)


@app.command()
def deliver(
    config: Annotated[Path, typer.Option("--config", help="The site's config.toml.")] = Path(
        "config.toml"
    ),
    failed: Annotated[
        bool, typer.Option("--failed", help="Also send what a mail server refused.")
    ] = False,
    unknown: Annotated[
        bool,
        typer.Option(
            "--unknown", help="With --failed: also what may have arrived; it may then come twice."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what would be sent to whom.")
    ] = False,
    test_send: Annotated[
        str | None,
        typer.Option("--test-send", metavar="ADDRESS", help="Only send a mail that says it works."),
    ] = None,
) -> None:
    """Mail the reports that are due; 'run' does so too."""
    import time

    from audit.errors import UsageError
    from audit.service import delivery

    settings = _config(config)
    now = int(time.time())
    if test_send is not None:
        delivery.try_out(settings, config.parent, test_send, now)
        print(f"sent a test mail to {printable(test_send)}")
        return
    if unknown and not failed:
        raise UsageError("--unknown goes with --failed: it may send a mail for the second time")
    done = delivery.by_hand(
        settings,
        config.parent,
        now,
        failed=failed,
        unknown=unknown,
        dry_run=dry_run,
        say=_say,
    )
    for mail in done.sent:
        print(printable(f"sent {mail}"))
    for mail in done.due if dry_run else ():
        print(printable(f"would send {mail}"))
    if not (done.sent or done.due or done.failures):
        print("nothing to send")
    for failure in done.failures:
        _say(f"fairaudit: {failure}")
    if done.failures:
        raise typer.Exit(max(failure.exit_code for failure in done.failures))


@app.command()
def init(
    logs: Annotated[
        list[Path] | None, typer.Argument(metavar="LOG", help="Accounting logs, or folders.")
    ] = None,
    partitions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What 'scontrol show partition' prints.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the cluster.")] = None,
    zone: Annotated[
        str | None, typer.Option(help="The cluster's time zone, like Europe/Berlin.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns of logs without header row: JobID,User,…")
    ] = None,
    separator: Annotated[str | None, typer.Option(help="What separates the columns.")] = None,
    output: Annotated[Path, typer.Option(help="The file to write.")] = Path("config.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a commented config.toml for this site, from its logs and partitions."""
    from audit.errors import UsageError
    from audit.kernels import jit
    from audit.progress import Progress
    from audit.service import initial

    initial.refuse_existing(output, force=force)
    jit.on_first_compile = _say
    with Progress() as progress:
        draft = initial.infer(
            logs or [],
            partitions,
            name,
            zone,
            _reading(columns, separator),
            output.parent,
            progress.update,
        )
    if draft.name is None:
        if not sys.stdin.isatty():
            raise UsageError("init: nothing says what the cluster is called: name it with --name")
        draft = draft.named(typer.prompt("Name of the cluster", err=True))
    for fact in draft.facts:
        _say(f"{fact.what}: {fact.value} (from {fact.source})")
    for warning in (fact.warning for fact in draft.facts if fact.warning):
        _say(f"warning: {warning}")
    initial.save(output, initial.write(draft), force=force)
    print(output)


@app.command()
def sshare(
    sacct: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="What 'sacct -X -D -P' prints; else the database."),
    ] = None,
    assoc: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What 'sacctmgr -P show assoc' or 'dump' prints."),
    ] = None,
    qos: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What 'sacctmgr -P show qos' prints.")
    ] = None,
    partitions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What 'scontrol show partition' prints.")
    ] = None,
    slurm_conf: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="slurm.conf, or what 'scontrol show config' prints."),
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="The instant; without it, the last that is known."),
    ] = None,
    half_life: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="Another half-life, like 14-0.")
    ] = None,
    algorithm: Annotated[
        Algorithm | None, typer.Option(help="Another algorithm than slurm.conf says.")
    ] = None,
    phase: Annotated[
        str | None, typer.Option(metavar="TIME", help="When slurmctld recalculated, once.")
    ] = None,
    sample: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What sshare printed: tells when it recalculated."),
    ] = None,
    sample_time: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="When it printed that; without it, --as-of."),
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="Name of the cluster.")] = None,
    zone: Annotated[
        str | None, typer.Option(help="The cluster's time zone, like Europe/Berlin.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns of sacct's text without header row.")
    ] = None,
    separator: Annotated[str | None, typer.Option(help="What separates them.")] = None,
    partition_column: Annotated[
        bool, typer.Option("--partition-column", "-m", help="Show partitions, as 'sshare -m'.")
    ] = False,
    form: Annotated[ShareFormat, typer.Option("--format", help="How to write it.")] = (
        ShareFormat.psv
    ),
    config: ConfigFile = None,
) -> None:
    """Print fairshare as Slurm's 'sshare -alP' does, for any instant and any settings."""
    from audit.progress import Progress
    from audit.service import sshare as service

    request = service.Request(
        sacct=sacct or (),
        associations=assoc,
        qos=qos,
        partitions=partitions,
        slurm_conf=slurm_conf,
        as_of=as_of,
        half_life=half_life,
        algorithm=service.Algorithm(algorithm.value) if algorithm else None,
        phase=phase,
        sample=sample,
        sample_time=sample_time,
        cluster=cluster,
        zone=zone,
        reading=_reading(columns, separator),
        by_partition=partition_column,
    )
    settings = _config(config)
    with Progress() as progress:
        outcome = service.recompute(
            request, settings, config.parent if config else Path(), progress.update
        )
    for fact in outcome.facts:
        _say(fact)
    for warning in outcome.warnings:
        _say(f"warning: {warning}")
    write = service.psv if form is ShareFormat.psv else service.comma_separated
    sys.stdout.write(write(outcome))


@app.command()
def simulate(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Accounting logs, or .gz.")],
    order: Annotated[
        Order | None, typer.Option(help="Who is served first; without it, fcfs or as configured.")
    ] = None,
    backfill: Annotated[
        Backfill | None,
        typer.Option(help="Who may start before others; without it, easy or as configured."),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=1, help="Look at so many of the queue at a time.")
    ] = None,
    window: Annotated[
        int | None, typer.Option(min=1, help="Longest walltime that may overtake, in seconds.")
    ] = None,
    pool_size: Annotated[
        int | None, typer.Option(min=1, help="Capacity of the pool, in --resource.")
    ] = None,
    resource: Annotated[
        Resource | None, typer.Option(help="What sizes count; without it, cpus.")
    ] = None,
    zone: Annotated[
        str | None, typer.Option(help="The cluster's time zone, like Europe/Berlin.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns of a log without header row: JobID,User,…")
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="What separates them; without it, it is found out.")
    ] = None,
    dialect: Annotated[
        str | None, typer.Option(help="Dialect of the logs; without it, it is detected.")
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="Name of the cluster.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the schedule: FILE.swf or FILE.parquet."),
    ] = None,
    config: ConfigFile = None,
) -> None:
    """Simulate a scheduling policy on logs: how would they have waited?"""
    from audit import model
    from audit.kernels import jit
    from audit.progress import Progress
    from audit.service import simulate as service

    settings = _config(config)
    jit.on_first_compile = _say
    request = service.Request(
        logs=logs,
        out=out,
        order=model.Order(order.value) if order else None,
        backfill=model.Backfill(backfill.value) if backfill else None,
        depth=depth,
        window_s=window,
        dialect=dialect,
        reading=_reading(columns, separator, zone),
        cluster=cluster,
        pool_size=pool_size,
        resource=model.Resource(resource.value) if resource else None,
        zone=zone,
    )
    with Progress() as progress:
        outcome = service.simulate(
            request,
            settings,
            progress.update,
            lambda fact: progress.say(f"{fact.what}: {fact.value} (from {fact.source})"),
            config.parent if config else Path(),
        )
    for warning in outcome.warnings:
        _say(f"warning: {warning}")
    if outcome.written is not None:
        print(printable(str(outcome.written)))
    else:
        print("\n".join(service.table(pool) for pool in outcome.comparisons), end="")


@app.command()
def whatif(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Accounting logs, or .gz.")],
    order: Annotated[Order | None, typer.Option(help="Another order of the queue.")] = None,
    backfill: Annotated[
        Backfill | None, typer.Option(help="Others may start before those ahead.")
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=1, help="Look at so many of the queue at a time.")
    ] = None,
    window: Annotated[
        int | None, typer.Option(min=1, help="Longest walltime that may overtake, in seconds.")
    ] = None,
    targets: Annotated[
        str | None,
        typer.Option(metavar="NAME=SHARE,…", help="Other shares of users or accounts."),
    ] = None,
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
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="PARTITION=N", help="The partition may hold so much at one time."),
    ] = None,
    without_user: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="This user's jobs never come.")
    ] = None,
    pool: Annotated[str | None, typer.Option(help="Only this pool.")] = None,
    out: StudyOut = DEFAULT_OUT,
    db: Annotated[
        Path | None, typer.Option(help="Database to add to, instead of whatif.duckdb.")
    ] = None,
    pool_size: Annotated[
        int | None, typer.Option(min=1, help="Capacity of the pool today, in --resource.")
    ] = None,
    resource: Annotated[
        Resource | None, typer.Option(help="What sizes count; without it, cpus.")
    ] = None,
    zone: Annotated[
        str | None, typer.Option(help="The cluster's time zone, like Europe/Berlin.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns of a log without header row: JobID,User,…")
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="What separates them; without it, it is found out.")
    ] = None,
    dialect: Annotated[
        str | None, typer.Option(help="Dialect of the logs; without it, it is detected.")
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="Name of the cluster.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="How many work on it.")] = None,
    config: ConfigFile = None,
) -> None:
    """Who would win and who would lose if something were changed?"""
    from audit import model
    from audit.experiments.whatif import Change
    from audit.kernels import jit
    from audit.progress import Progress
    from audit.report import charts
    from audit.service import studies
    from audit.service import whatif as service

    change = Change(
        order=model.Order(order.value) if order else None,
        backfill=model.Backfill(backfill.value) if backfill else None,
        depth=depth,
        window_s=window,
        targets=service.shares(targets),
        half_life_s=None if half_life is None else half_life * 86_400,
        walltimes=service.walltimes(walltimes),
        capacity=service.amount(capacity, "--capacity"),
        nodes=service.amount(nodes, "--nodes"),
        limits=service.limits(limit or []),
        without=tuple(without_user or ()),
    )
    settings = _config(config)
    plan = service.plan(change, pool, settings, config.parent if config else Path())
    jit.on_first_compile = _say
    charts.prepare()
    request = studies.Request(
        logs=logs,
        out=out,
        database=db,
        dialect=dialect,
        reading=_reading(columns, separator, zone),
        cluster=cluster,
        pool_size=pool_size,
        resource=model.Resource(resource.value) if resource else None,
        zone=zone,
        threads=threads,
    )
    with Progress() as progress:
        made = studies.conduct(
            service.KEY,
            request,
            settings,
            plan,
            progress.update,
            lambda fact: progress.say(f"{fact.what}: {fact.value} (from {fact.source})"),
        )
    for file in made:
        print(printable(str(file)))


@app.command()
def sql(
    query: Annotated[
        str | None,
        typer.Argument(help="One SQL statement over the published views, or a saved query's name."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", help="Read the statement from a file.")
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", metavar="NAME=VALUE", help="Value of its parameter $NAME."),
    ] = None,
    show_saved: Annotated[
        bool, typer.Option("--list", help="List the saved queries and their parameters.")
    ] = False,
    db: Annotated[
        Path | None,
        typer.Option(help="A published database; else that of --config, or fairaudit-out's."),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How to write rows.")] = Format.table,
    rows: Annotated[int | None, typer.Option(min=1, help="Write at most so many rows.")] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="csv: leave cells that look like formulas as they are.")
    ] = False,
    private: Annotated[
        bool, typer.Option("--private", help="Interactive: neither read nor keep a history.")
    ] = False,
    config: ConfigFile = None,
) -> None:
    """Query a published database, read-only and locked down; without a query, interactively."""
    from audit.service import analyst, repl

    if show_saved:
        print(analyst.describe_saved(), end="")
        return
    settings = _config(config)
    limits = analyst.Limits(settings.sql.timeout_s, settings.sql.memory_limit)
    published = DEFAULT_OUT / "audit.duckdb"
    if config is not None and settings.clusters:
        published = config.parent / settings.output.database
    chosen = analyst.Format(form.value)
    if query is None and file is None and sys.stdin.isatty() and sys.stdout.isatty():
        with analyst.confined(limits, chosen):
            repl.converse(
                db or published,
                chosen,
                rows=rows or settings.sql.rows,
                limits=limits,
                history=None if private else repl.history_file(),
                say=_say,
            )
        return
    statement = _statement(query, file)
    with analyst.confined(limits, chosen):
        con = analyst.open_database(db or published, limits)
        try:
            analyst.query(
                con,
                statement,
                analyst.values(param or []),
                chosen,
                sys.stdout.buffer,
                rows=rows or (settings.sql.rows if form is Format.table else None),
                limits=limits,
                say=_say,
                raw=raw,
            )
        except BrokenPipeError:  # "fairaudit sql … | head" has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        finally:
            con.close()


@app.command()
def verify(
    report: Annotated[Path, typer.Argument(help="A report.html or report.pdf.")],
    db: Annotated[
        Path | None,
        typer.Option(help="Its database; else audit.duckdb beside it, or that of --config."),
    ] = None,
    config: ConfigFile = None,
) -> None:
    """Make a report again from its database, and compare it byte for byte."""
    from audit.service import verification

    verdict = verification.verify(report, db, _config(config), config.parent if config else Path())
    print(f"{'ok' if verdict.same else 'DIFFERS'}  {printable(verdict.text)}")
    if not verdict.same:
        raise typer.Exit(1)


@app.command()
def doctor(
    db: Annotated[Path | None, typer.Option(help="Also check this published database.")] = None,
    config: ConfigFile = None,
) -> None:
    """Check the set-up, and say what to do about what is wrong."""
    from audit.service import diagnosis

    findings = diagnosis.examine(config, db)
    for finding in findings:
        print(f"{'ok' if finding.ok else 'WRONG':5}  {finding.what}: {finding.found}")
        if not finding.ok:
            print(f"       {finding.remedy}")
    wrong = sum(not finding.ok for finding in findings)
    if wrong:
        _say(f"fairaudit: {wrong} of {len(findings)} checks failed")
        raise typer.Exit(2)


StudyOut = Annotated[Path, typer.Option("--out", help="Folder for the page and its tables.")]
StudyLogs = Annotated[list[Path], typer.Argument(metavar="LOG...", help="Accounting logs, or .gz.")]
StudyDatabase = Annotated[
    Path | None,
    typer.Option("--db", help="Database to add the results to, instead of a new one in --out."),
]
StudyPoolSize = Annotated[
    int | None, typer.Option("--pool-size", min=1, help="Capacity of the pool, in --resource.")
]
StudyResource = Annotated[
    Resource | None, typer.Option("--resource", help="What sizes count (else: cpus).")
]
StudyZone = Annotated[
    str | None, typer.Option("--zone", help="The cluster's time zone, like Europe/Berlin.")
]
StudyColumns = Annotated[
    str | None,
    typer.Option("--columns", help="Columns of a log without header row: JobID,User,…"),
]
StudySeparator = Annotated[
    str | None,
    typer.Option("--separator", help="What separates them; without it, it is found out."),
]
StudyDialect = Annotated[
    str | None, typer.Option("--dialect", help="Dialect of the logs; without it, it is detected.")
]
StudyCluster = Annotated[str | None, typer.Option("--cluster", help="Name of the cluster.")]
StudyThreads = Annotated[
    int | None, typer.Option("--threads", min=1, help="How many work on it; else one per core.")
]


@experiment.command()
def penalties(out: StudyOut = DEFAULT_OUT) -> None:
    """What a second of a job should cost: which rules each penalty keeps, what breaks others."""
    from audit.report import charts, penalty_study
    from audit.service import studies

    charts.prepare()
    for made in studies.write(penalty_study.study(), out):
        print(made)


@experiment.command("operators")
def operators_(
    out: StudyOut = DEFAULT_OUT,
    bits: Annotated[
        int, typer.Option(min=3, max=20, help="Study priorities of 3 to so many bits.")
    ] = 20,
) -> None:
    """Who comes first: what each priority operator keeps, and how finely it tells users apart."""
    from audit.experiments.operators import Setting
    from audit.kernels import jit
    from audit.progress import Progress
    from audit.report import charts, operator_study
    from audit.service import studies

    studies.refuse_unfit(out)
    jit.on_first_compile = _say
    charts.prepare()
    with Progress() as progress:
        study = operator_study.study(Setting(bits=range(3, bits + 1)), progress.update)
    for made in studies.write(study, out):
        print(printable(str(made)))


GroupBy = StrEnum("GroupBy", ["account", "user", "width_class"])


@experiment.command()
def sensitivity(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Accounting logs, or .gz.")],
    out: StudyOut = DEFAULT_OUT,
    db: Annotated[
        Path | None, typer.Option(help="Database to add to, instead of sensitivity.duckdb.")
    ] = None,
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
    pool_size: Annotated[
        int | None, typer.Option(min=1, help="Capacity of the pool, in --resource.")
    ] = None,
    resource: Annotated[
        Resource | None, typer.Option(help="What sizes count; without it, cpus.")
    ] = None,
    zone: Annotated[
        str | None, typer.Option(help="The cluster's time zone, like Europe/Berlin.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns of a log without header row: JobID,User,…")
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="What separates them; without it, it is found out.")
    ] = None,
    dialect: Annotated[
        str | None, typer.Option(help="Dialect of the logs; without it, it is detected.")
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="Name of the cluster.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="How many work on it.")] = None,
    config: ConfigFile = None,
) -> None:
    """How far fairshare's settings matter: interval, depth, decay, targets, arrivals."""
    from audit import model
    from audit.kernels import jit
    from audit.progress import Progress
    from audit.report import charts
    from audit.service import sensitivity as service
    from audit.service import studies

    jit.on_first_compile = _say
    charts.prepare()
    request = studies.Request(
        logs=logs,
        out=out,
        database=db,
        dialect=dialect,
        reading=_reading(columns, separator, zone),
        cluster=cluster,
        pool_size=pool_size,
        resource=model.Resource(resource.value) if resource else None,
        zone=zone,
        threads=threads,
    )
    plan = service.plan(
        cast("By | None", group_by.value if group_by else None),
        groups,
        model.Backfill(backfill.value) if backfill else None,
    )
    with Progress() as progress:
        made = studies.conduct(
            service.KEY,
            request,
            _config(config),
            plan,
            progress.update,
            lambda fact: progress.say(f"{fact.what}: {fact.value} (from {fact.source})"),
        )
    for file in made:
        print(printable(str(file)))


@experiment.command("grid")
def grid_(
    logs: StudyLogs,
    out: StudyOut = DEFAULT_OUT,
    db: StudyDatabase = None,
    attempts: Annotated[
        int, typer.Option(min=1, help="Simulate the first so many that started.")
    ] = 5_000,
    loads: Annotated[
        str, typer.Option(help="Offered loads, as shares of the capacity.")
    ] = "0.70,0.80,0.90,0.95,0.98",
    widest: Annotated[
        int, typer.Option(help="Upper end of the last bounded width class, a power of two.")
    ] = 128,
    pool: Annotated[str | None, typer.Option(help="Which pool; else the busiest.")] = None,
    pool_size: StudyPoolSize = None,
    resource: StudyResource = None,
    zone: StudyZone = None,
    columns: StudyColumns = None,
    separator: StudySeparator = None,
    dialect: StudyDialect = None,
    cluster: StudyCluster = None,
    threads: StudyThreads = None,
    config: ConfigFile = None,
) -> None:
    """How unfair each queue order and backfilling is, at each load; after Sabin and Sadayappan."""
    from audit import model
    from audit.errors import UsageError
    from audit.service import grid, studies

    if widest & (widest - 1) or widest < 1:
        raise UsageError(f"--widest {widest}: not a power of two")
    settings = _config(config)
    options = grid.Options(
        pool, attempts, grid.loads(loads), widest, settings.uncertainty.resamples
    )
    request = studies.Request(
        logs=logs,
        dialect=dialect,
        reading=_reading(columns, separator, zone),
        cluster=cluster,
        pool_size=pool_size,
        resource=model.Resource(resource.value) if resource else None,
        zone=zone,
        out=out,
        database=db,
        threads=threads,
    )
    _conduct("grid", request, settings, lambda log, seed: grid.plan(log, seed, options))


def _conduct(
    key: str, request: studies.Request, settings: Config, plan: Callable[[Log, int], studies.Plan]
) -> None:
    """Makes a study of logs, showing how far it is, and says where it is."""
    from audit.kernels import jit
    from audit.progress import Progress
    from audit.report import charts
    from audit.service import studies

    studies.refuse_unfit(request.out)
    jit.on_first_compile = _say
    charts.prepare()
    with Progress() as progress:
        files = studies.conduct(
            key,
            request,
            settings,
            plan,
            progress.update,
            lambda fact: progress.say(f"{fact.what}: {fact.value} (from {fact.source})"),
            lambda warning: progress.say(f"warning: {warning}"),
        )
    for made in files:
        print(printable(str(made)))


@experiment.command()
def workload(
    logs: StudyLogs,
    out: StudyOut = DEFAULT_OUT,
    db: StudyDatabase = None,
    clusters: Annotated[
        int | None,
        typer.Option(min=1, max=50, help="How many classes k-means makes; without it, 2 to 9."),
    ] = None,
    pool_size: StudyPoolSize = None,
    resource: StudyResource = None,
    zone: StudyZone = None,
    columns: StudyColumns = None,
    separator: StudySeparator = None,
    dialect: StudyDialect = None,
    cluster: StudyCluster = None,
    threads: StudyThreads = None,
    config: ConfigFile = None,
) -> None:
    """Who asks for what, and when: a log as a small model, from which others can be drawn."""
    from audit import model
    from audit.kernels import jit
    from audit.progress import Progress
    from audit.report import charts
    from audit.service import studies
    from audit.service import workload as service

    studies.refuse_unfit(out)
    jit.on_first_compile = _say
    charts.prepare()
    request = studies.Request(
        logs=logs,
        out=out,
        database=db,
        dialect=dialect,
        reading=_reading(columns, separator, zone),
        cluster=cluster,
        pool_size=pool_size,
        resource=model.Resource(resource.value) if resource else None,
        zone=zone,
        threads=threads,
    )
    with Progress() as progress:
        made = service.study(
            request,
            _config(config),
            clusters,
            progress.update,
            lambda fact: progress.say(f"{fact.what}: {fact.value} (from {fact.source})"),
        )
    for file in made:
        print(printable(str(file)))


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
    from audit.kernels import jit
    from audit.service import workload as service

    jit.on_first_compile = _say
    wanted = service.Wanted(
        model=model, out=out, seed=seed, jobs=jobs, intensity=intensity, machine=machine
    )
    _say(service.make_log(wanted))


@experiment.command("users")
def users_(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Accounting logs, or .gz.")],
    out: StudyOut = DEFAULT_OUT,
    db: Annotated[
        Path | None, typer.Option(help="Database to add to, instead of users.duckdb.")
    ] = None,
    pool_size: Annotated[
        int | None, typer.Option(min=1, help="Capacity of the pool, in --resource.")
    ] = None,
    resource: Annotated[
        Resource | None, typer.Option(help="What sizes count; without it, cpus.")
    ] = None,
    zone: Annotated[
        str | None, typer.Option(help="The cluster's time zone, like Europe/Berlin.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="Columns of a log without header row: JobID,User,…")
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="What separates them; without it, it is found out.")
    ] = None,
    dialect: Annotated[
        str | None, typer.Option(help="Dialect of the logs; without it, it is detected.")
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="Name of the cluster.")] = None,
    threads: Annotated[int | None, typer.Option(min=1, help="How many work on it.")] = None,
    config: ConfigFile = None,
) -> None:
    """How six policies treat users: FCFS, BF, BF-EASY, BF-CONS, BF-FAIR, and TS."""
    from audit import model
    from audit.kernels import jit
    from audit.progress import Progress
    from audit.report import charts
    from audit.service import studies
    from audit.service import users as service

    jit.on_first_compile = _say
    charts.prepare()
    request = studies.Request(
        logs=logs,
        out=out,
        database=db,
        dialect=dialect,
        reading=_reading(columns, separator, zone),
        cluster=cluster,
        pool_size=pool_size,
        resource=model.Resource(resource.value) if resource else None,
        zone=zone,
        threads=threads,
    )
    with Progress() as progress:
        made = studies.conduct(
            service.KEY,
            request,
            _config(config),
            service.plan,
            progress.update,
            lambda fact: progress.say(f"{fact.what}: {fact.value} (from {fact.source})"),
        )
    for file in made:
        print(printable(str(file)))


def _reading(columns: str | None, separator: str | None, zone: str | None = None) -> Reading:
    from audit.formats.dialects import Reading

    names = tuple(name.strip() for name in columns.split(",")) if columns else None
    return Reading(names, separator, zone)


def _config(path: Path | None) -> Config:
    from audit import config

    return config.Config() if path is None else config.load(path)


def _statement(query: str | None, file: Path | None) -> str:
    from audit.errors import UsageError

    if (query is None) == (file is None):
        raise UsageError(
            "sql: give one statement, a saved query's name, or a file with -f; on a terminal, "
            "nothing at all"
        )
    if file is None:
        return query or ""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read: {error}") from error


def _is_usage(error: Exception) -> bool:
    """Whether typer's parser refused the arguments."""
    return hasattr(error, "format_message") and hasattr(error, "exit_code")


def _say(text: str) -> None:
    print(printable(text), file=sys.stderr)
