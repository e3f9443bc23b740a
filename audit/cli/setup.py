"""Commands that set up a site: ``init``, ``doctor`` and ``pseudonym``."""

from __future__ import annotations

import shlex
import shutil
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from typer import Argument, Option

from audit.cli import options as opt
from audit.cli.options import at_work, described, passed, say, show, warn
from audit.errors import UsageError

if TYPE_CHECKING:
    from audit.cluster.declared import NodeFiles
    from audit.cluster.slurm_files import SlurmFiles
    from audit.formats.dialects import Reading
    from audit.setup.asking import CommandPlan, SlurmOutput
    from audit.setup.init import Draft


def _how(*, table: str | None, maps: list[str] | None, **given: Any) -> Any:
    """Return how to read logs, and the name of the mapping; one to be written is not read."""
    from audit.config.table import is_new

    new = table is not None and not maps and is_new(table)
    reading = opt.reading(table=None if new else table, maps=maps, **given)
    return reading, None if maps else table


OfSlurm: TypeAlias = Annotated["SlurmFiles", opt.OptionGroup(opt.slurm_files, opt.SLURM_FILES)]
OfNodes: TypeAlias = Annotated["NodeFiles", opt.OptionGroup(opt.node_files, opt.NODE_FILES)]
HowToRead: TypeAlias = Annotated["tuple[Reading, str | None]", opt.OptionGroup(_how, opt.READING)]


@opt.grouped
def init(
    *,
    logs: Annotated[
        list[Path] | None, Argument(metavar="LOG", help="Accounting logs, or folders of them.")
    ] = None,
    slurm: Annotated[
        bool, Option("--slurm", help="Ask the running Slurm, and make a first audit.")
    ] = False,
    weeks: Annotated[
        int, Option(min=1, max=520, help="With --slurm: weeks of jobs to ask for.")
    ] = 4,
    yes: Annotated[
        bool, Option("--yes", help="With --slurm: run the commands without a question.")
    ] = False,
    files: OfSlurm,
    machines: OfNodes,
    name: Annotated[str | None, Option(help="Name of the cluster.")] = None,
    how: HowToRead,
    output: Annotated[Path, Option(help="File to write.")] = opt.SITE,
    force: Annotated[bool, Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a commented config.toml for a site, from its logs and the output of Slurm.

    With --table FILE, where FILE does not exist, write a mapping of the log's columns to confirm.
    """
    from audit.setup import asking
    from audit.setup import init as initial

    reading, table = how
    if table is not None and reading.table is None:
        _propose_table(Path(table), logs or [])
        return
    initial.refuse_existing(output, force=force)
    if not (slurm or logs or files.given or machines.given or name):
        remedy = "'fairaudit init LOG', or 'fairaudit init --slurm' on a machine with Slurm"
        raise UsageError(f"init: there is nothing to infer a configuration from: {remedy}")
    plan = None
    if slurm:
        if logs or files.given or machines.given or reading.columns or reading.separator or table:
            raise UsageError("--slurm asks Slurm itself: omit logs, files and columns")
        plan = asking.plan(datetime.now(UTC), weeks, reading.zone or asking.machine_zone())
        answers = _answers(plan, output.parent / asking.FOLDER, yes=yes)
        logs, files, machines = [answers.log], answers.files, answers.machines
    zone = reading.zone if plan is None else plan.zone
    with at_work() as progress:
        draft = initial.infer(
            *(logs or [], files, name, zone, reading, output.parent, progress.update),
            machines=machines,
        )
    if plan is not None:
        draft = asking.pulled(draft, plan, answers, zone_of_machine=reading.zone is None)
    if draft.name is None:
        if not sys.stdin.isatty():
            raise UsageError("init: the name of the cluster is unknown: give it with --name")
        draft = replace(draft, name=typer.prompt("Name of the cluster", err=True))
    initial.save(output, _written(initial.with_table(draft, table, output.parent)), force=force)
    if slurm:
        _first_audit(output, logs or [], draft.name)
    else:
        _print_written(output)


def _propose_table(path: Path, logs: list[Path]) -> None:
    from audit.setup import init as initial

    initial.write_table(path, logs)
    say("Check every line of it, answer what it asks, and run the same command again.")
    show(path)


def _print_written(file: Path) -> None:
    """Print the new file, and what to do next."""
    show(file)
    check, run = passed("--config", file), passed("--config", file, opt.SITE)
    say(f"next: 'fairaudit doctor{check}' checks the file; 'fairaudit run{run}' is the first run")


def _written(draft: Draft) -> str:
    """Print where values are from, and return the text of config.toml."""
    from audit.setup import init as initial

    say(*map(described, draft.facts))
    warn(fact.warning for fact in draft.facts if fact.warning)
    return initial.write(draft)


def _answers(plan: CommandPlan, folder: Path, *, yes: bool) -> SlurmOutput:
    """Show the commands, run them if the user agrees, and return their output."""
    from audit.setup import asking

    say("These commands only read, and their output stays on this machine:")
    say(*(f"  {query.shown}" for query in plan.queries))
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("init --slurm: nothing was run; --yes runs these commands")
        typer.confirm("Run them?", abort=True, err=True)
    with at_work() as progress:
        answers = asking.ask(plan, folder, progress.update)
    warn(answers.warnings)
    say(f"To repeat this without Slurm: {answers.repeated}")
    return answers


def _first_audit(site: Path, logs: list[Path], cluster: str | None) -> None:
    """Audit the logs under a new configuration, and print what to do next."""
    from audit.oneoff.audit import AuditOptions, audit
    from audit.pipeline.opening import LogRequest, Session

    config = opt.configuration(site)
    options = AuditOptions(out=site.parent / opt.DEFAULT_OUT)
    with at_work() as progress:
        request = LogRequest(logs=logs, cluster=cluster)
        session = Session(request, config, site.parent, on_progress=progress.update)
        outcome = audit(session, options)
    warn(outcome.warnings)
    found = shutil.which(sys.argv[0])
    program = [str(Path(found).absolute())] if found else [sys.executable, "-m", "audit"]
    run = shlex.join([*program, "run", "--config", str(site.absolute())])
    show(f"Found: {outcome.sentence}")
    show(f"Look at: {outcome.html} (settings: {site})")
    show(f"Schedule: 'fairaudit service', or each night from cron or a systemd timer: {run}")


def pseudonym(
    config: opt.SiteConfig = opt.SITE,
    user: Annotated[
        list[str] | None, Option(metavar="USER", help="Name of a user; repeatable.")
    ] = None,
    account: Annotated[
        list[str] | None, Option(metavar="ACCOUNT", help="Name of an account; repeatable.")
    ] = None,
    cluster: opt.ClusterName = None,
) -> None:
    """Print the pseudonyms of names under the key of clusters.people."""
    from audit.setup.doctor import pseudonyms

    names = [("user", name) for name in user or ()] + [("account", name) for name in account or ()]
    for column, name, pseudonym in pseudonyms(
        opt.configuration(config), config.parent, cluster, names
    ):
        show(f"{column} {name}: {pseudonym}")


def doctor(
    db: Annotated[Path | None, Option(help="Also check this published database.")] = None,
    config: opt.ConfigFile = None,
) -> None:
    """Check the installation and the configuration, and print remedies."""
    from audit.setup.doctor import examine

    findings = examine(config, db)
    for finding in findings:
        show(f"{'ok' if finding.ok else 'WRONG':5}  {finding.what}: {finding.found}")
        if not finding.ok:
            show(f"       {finding.remedy}")
    if wrong := sum(not finding.ok for finding in findings):
        say(f"fairaudit: {wrong} of {len(findings)} checks failed")
        raise typer.Exit(2)
    if config is not None:
        say(f"next: 'fairaudit run{passed('--config', config, opt.SITE)}' reads and reports")
