"""Commands that set a site up: ``init`` writes its configuration, ``doctor`` examines all of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from audit.cli.options import (
    SITE,
    Associations,
    ClusterName,
    Columns,
    ConfigFile,
    Partitions,
    Qos,
    Separator,
    SiteConfig,
    SlurmConf,
    Zone,
    configuration,
    reading,
)
from audit.cli.output import at_work, described, say, show, warn
from audit.errors import UsageError


def init(
    logs: Annotated[
        list[Path] | None, typer.Argument(metavar="LOG", help="Accounting logs, or folders.")
    ] = None,
    partitions: Partitions = None,
    assoc: Associations = None,
    qos: Qos = None,
    slurm_conf: SlurmConf = None,
    name: Annotated[str | None, typer.Option(help="Name of the cluster.")] = None,
    zone: Zone = None,
    columns: Columns = None,
    separator: Separator = None,
    output: Annotated[Path, typer.Option(help="The file to write.")] = Path("config.toml"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a commented config.toml for this site, from its logs and what Slurm says."""
    from audit.setup import init as initial
    from audit.setup.slurm import SlurmFiles

    initial.refuse_existing(output, force=force)
    with at_work() as progress:
        draft = initial.infer(
            logs or [],
            SlurmFiles(partitions, assoc, qos, slurm_conf),
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
        say(described(fact))
    warn(fact.warning for fact in draft.facts if fact.warning)
    initial.save(output, initial.write(draft), force=force)
    show(output)


def pseudonym(
    config: SiteConfig = SITE,
    user: Annotated[
        list[str] | None, typer.Option(metavar="USER", help="A user's name; may be repeated.")
    ] = None,
    account: Annotated[
        list[str] | None, typer.Option(metavar="ACCOUNT", help="The same for an account.")
    ] = None,
    cluster: ClusterName = None,
) -> None:
    """Tell what names become by the key of clusters.people, for config.toml and for inquiries."""
    from audit.setup.doctor import pseudonyms

    asked = [("user", name) for name in user or ()] + [("account", name) for name in account or ()]
    for column, name, told in pseudonyms(configuration(config), config.parent, cluster, asked):
        show(f"{column} {name}: {told}")


def doctor(
    db: Annotated[Path | None, typer.Option(help="Also check this published database.")] = None,
    config: ConfigFile = None,
) -> None:
    """Check the set-up, and say what to do about what is wrong."""
    from audit.setup.doctor import examine

    findings = examine(config, db)
    for finding in findings:
        show(f"{'ok' if finding.ok else 'WRONG':5}  {finding.what}: {finding.found}")
        if not finding.ok:
            show(f"       {finding.remedy}")
    wrong = sum(not finding.ok for finding in findings)
    if wrong:
        say(f"fairaudit: {wrong} of {len(findings)} checks failed")
        raise typer.Exit(2)
