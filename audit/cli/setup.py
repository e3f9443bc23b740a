"""Commands that set up a site: ``init``, ``doctor`` and ``pseudonym``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from typer import Argument, Option

from audit.cli import options as opt
from audit.cli.options import at_work, described, say, show, warn
from audit.errors import UsageError

if TYPE_CHECKING:
    from audit.cluster.declared import NodeFiles
    from audit.formats.dialects import Reading
    from audit.setup.slurm import SlurmFiles


def _slurm_files(*, assoc: Path | None, **files: Path | None) -> Any:
    from audit.setup.slurm import SlurmFiles

    return SlurmFiles(associations=assoc, **files)


OfSlurm: TypeAlias = Annotated["SlurmFiles", opt.Group(_slurm_files, opt.SLURM_FILES)]
OfNodes: TypeAlias = Annotated["NodeFiles", opt.Group(opt.node_files, opt.NODE_FILES)]
HowToRead: TypeAlias = Annotated["Reading", opt.Group(opt.reading, opt.READING)]


@opt.grouped
def init(
    *,
    logs: Annotated[
        list[Path] | None, Argument(metavar="LOG", help="Accounting logs, or folders of them.")
    ] = None,
    files: OfSlurm,
    machines: OfNodes,
    name: Annotated[str | None, Option(help="Name of the cluster.")] = None,
    how: HowToRead,
    output: Annotated[Path, Option(help="File to write.")] = opt.SITE,
    force: Annotated[bool, Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a commented config.toml for a site, from its logs and the output of Slurm."""
    from audit.setup import init as initial

    initial.refuse_existing(output, force=force)
    with at_work() as progress:
        draft = initial.infer(
            *(logs or [], files, name, how.zone, how, output.parent, progress.update),
            machines=machines,
        )
    if draft.name is None:
        if not sys.stdin.isatty():
            raise UsageError("init: the name of the cluster is unknown: give it with --name")
        draft = draft.named(typer.prompt("Name of the cluster", err=True))
    for fact in draft.facts:
        say(described(fact))
    warn(fact.warning for fact in draft.facts if fact.warning)
    initial.save(output, initial.write(draft), force=force)
    show(output)


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
