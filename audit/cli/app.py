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
from typing import Annotated, NoReturn

import typer

from audit import __version__
from audit.cli.options import (
    DEFAULT_OUT,
    ClusterName,
    Columns,
    ConfigFile,
    Counted,
    Depth,
    Dialect,
    Logs,
    PoolSize,
    Separator,
    Window,
    Zone,
    configuration,
    reading,
    say,
)
from audit.cli.studies import experiment, whatif
from audit.errors import AuditError, LockedError
from audit.progress import printable, stopped_by_signals
from audit.words import Backfill, Order, Resource

app = typer.Typer(
    name="fairaudit",
    help="Is your batch scheduler fair, to whom is it not, and why?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
Format = StrEnum("Format", ["table", "csv", "json", "parquet"])
Algorithm = StrEnum("Algorithm", ["fair_tree", "classic"])
ShareFormat = StrEnum("ShareFormat", ["psv", "csv"])


def main() -> NoReturn:
    """Runs the command; errors that a user can act on end without a traceback."""
    # A command makes much that lives to its end (a PDF's layout above all): looking for garbage
    # among it every 700 objects takes a tenth of an audit.
    gc.set_threshold(100_000, 20, 20)
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    try:
        code = app(standalone_mode=False)
    except AuditError as error:
        say(f"fairaudit: {error}")
        code = error.exit_code
    except typer.Exit as done:
        code = done.exit_code
    except (typer.Abort, KeyboardInterrupt):
        say("fairaudit: interrupted; nothing was replaced")
        code = 130
    except OSError as error:
        say(f"fairaudit: {error}; is the disk full? Nothing was replaced")
        code = AuditError.exit_code
    except Exception as error:
        if not _is_usage(error):
            raise
        say(f"fairaudit: {error.format_message()}; see 'fairaudit --help'")  # type: ignore[attr-defined]
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
    logs: Logs,
    out: Annotated[Path, typer.Option(help="Folder for the report and database.")] = DEFAULT_OUT,
    db: Annotated[
        Path | None,
        typer.Option(help="Database to add to, instead of a new audit.duckdb in --out."),
    ] = None,
    cluster: ClusterName = None,
    pool_size: PoolSize = None,
    resource: Annotated[Resource, typer.Option(help="What sizes count.")] = Resource.cpus,
    order: Annotated[
        Order, typer.Option(help="Order of the queue that fair start times assume.")
    ] = Order.fcfs,
    backfill: Annotated[
        Backfill, typer.Option(help="Who they assume may start before those ahead.")
    ] = Backfill.easy,
    zone: Zone = None,
    from_day: Annotated[
        str | None, typer.Option("--from", metavar="DAY", help="First day of the period.")
    ] = None,
    to_day: Annotated[
        str | None, typer.Option("--to", metavar="DAY", help="Day after its last.")
    ] = None,
    dialect: Dialect = None,
    columns: Columns = None,
    separator: Separator = None,
    no_pdf: Annotated[bool, typer.Option("--no-pdf", help="Make no PDF.")] = False,
    config: ConfigFile = None,
) -> None:
    """Audit accounting logs once: report.html, report.pdf and audit.duckdb."""
    from audit.kernels import jit
    from audit.model import Policy
    from audit.oneoff import audit as runs
    from audit.progress import Progress

    settings = configuration(config)
    jit.on_first_compile = say
    request = runs.Request(
        logs=logs,
        out=out,
        database=db,
        dialect=dialect,
        reading=reading(columns, separator, zone),
        cluster=cluster,
        pool_size=pool_size,
        resource=resource,
        policy=Policy(order, backfill),
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
        say(f"warning: {warning}")
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
    from audit.nightly import run as night

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
    from audit.nightly import run as night
    from audit.nightly import service
    from audit.progress import Progress

    settings = configuration(config)
    jit.on_first_compile = say
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
        service.tell(settings, config.parent, [error], say, "fairaudit")
        raise
    for said in done.warnings:
        say(f"warning: {said}")
    made = [*done.read, *(f"computed {name}" for name in done.computed), *done.reports]
    for line in [*made, *(f"sent {name}" for name in done.sent)]:
        print(printable(str(line)))
    if "publish" in stages:
        print(f"published {settings.output.database}" if done.published else "nothing to publish")
    for found in done.exceeded:
        say(f"threshold: {found}")
    for failure in done.failures:
        say(f"fairaudit: {failure}")
    if done.failures:
        service.tell(settings, config.parent, done.failures, say, "fairaudit")
        raise typer.Exit(done.exit_code)
    if done.exceeded:
        raise typer.Exit(1)


@app.command("service")
def service_(config: SiteConfig = Path("config.toml")) -> None:
    """Run at the times of config.toml, catching up after an outage, until stopped."""
    import threading
    import time

    from audit.kernels import jit
    from audit.nightly import service

    settings = configuration(config)
    jit.on_first_compile = say
    stop = threading.Event()
    with stopped_by_signals(stop):
        service.serve(settings, config.parent, time.time, stop, say)


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
    from audit.nightly import status as service

    settings = configuration(config)
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
    from audit.mail import delivery

    settings = configuration(config)
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
        say=say,
    )
    for mail in done.sent:
        print(printable(f"sent {mail}"))
    for mail in done.due if dry_run else ():
        print(printable(f"would send {mail}"))
    if not (done.sent or done.due or done.failures):
        print("nothing to send")
    for failure in done.failures:
        say(f"fairaudit: {failure}")
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
    zone: Zone = None,
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
    from audit.setup import init as initial

    initial.refuse_existing(output, force=force)
    jit.on_first_compile = say
    with Progress() as progress:
        draft = initial.infer(
            logs or [],
            partitions,
            name,
            zone,
            reading(columns, separator),
            output.parent,
            progress.update,
        )
    if draft.name is None:
        if not sys.stdin.isatty():
            raise UsageError("init: nothing says what the cluster is called: name it with --name")
        draft = draft.named(typer.prompt("Name of the cluster", err=True))
    for fact in draft.facts:
        say(f"{fact.what}: {fact.value} (from {fact.source})")
    for warning in (fact.warning for fact in draft.facts if fact.warning):
        say(f"warning: {warning}")
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
    cluster: ClusterName = None,
    zone: Zone = None,
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
    from audit.oneoff import sshare as service
    from audit.progress import Progress

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
        reading=reading(columns, separator),
        by_partition=partition_column,
    )
    settings = configuration(config)
    with Progress() as progress:
        outcome = service.recompute(
            request, settings, config.parent if config else Path(), progress.update
        )
    for fact in outcome.facts:
        say(fact)
    for warning in outcome.warnings:
        say(f"warning: {warning}")
    write = service.psv if form is ShareFormat.psv else service.comma_separated
    sys.stdout.write(write(outcome))


@app.command()
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
    from audit.kernels import jit
    from audit.oneoff import simulate as service
    from audit.progress import Progress

    settings = configuration(config)
    jit.on_first_compile = say
    request = service.Request(
        logs=logs,
        out=out,
        order=order,
        backfill=backfill,
        depth=depth,
        window_s=window,
        dialect=dialect,
        reading=reading(columns, separator, zone),
        cluster=cluster,
        pool_size=pool_size,
        resource=resource,
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
        say(f"warning: {warning}")
    if outcome.written is not None:
        print(printable(str(outcome.written)))
    else:
        print("\n".join(service.table(pool) for pool in outcome.comparisons), end="")


app.command("whatif")(whatif)


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
    from audit.analyst import repl
    from audit.analyst import sql as analyst

    if show_saved:
        print(analyst.describe_saved(), end="")
        return
    settings = configuration(config)
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
                say=say,
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
                say=say,
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
    from audit.oneoff import verify as verification

    verdict = verification.verify(
        report, db, configuration(config), config.parent if config else Path()
    )
    print(f"{'ok' if verdict.same else 'DIFFERS'}  {printable(verdict.text)}")
    if not verdict.same:
        raise typer.Exit(1)


@app.command()
def doctor(
    db: Annotated[Path | None, typer.Option(help="Also check this published database.")] = None,
    config: ConfigFile = None,
) -> None:
    """Check the set-up, and say what to do about what is wrong."""
    from audit.setup import doctor as diagnosis

    findings = diagnosis.examine(config, db)
    for finding in findings:
        print(f"{'ok' if finding.ok else 'WRONG':5}  {finding.what}: {finding.found}")
        if not finding.ok:
            print(f"       {finding.remedy}")
    wrong = sum(not finding.ok for finding in findings)
    if wrong:
        say(f"fairaudit: {wrong} of {len(findings)} checks failed")
        raise typer.Exit(2)


app.add_typer(experiment, name="experiment")


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
