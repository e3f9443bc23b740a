"""Commands of a configured site: ``run`` and its stages, ``service``, ``status``, ``deliver``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from audit.cli.options import (
    SITE,
    ClusterName,
    OfAccounts,
    OfUsers,
    SiteConfig,
    configuration,
    owners,
    site,
)
from audit.cli.output import at_work, say, show, warn
from audit.errors import UsageError
from audit.progress import stopped_by_signals

if TYPE_CHECKING:
    from audit.mail.delivery import Delivered
    from audit.nightly.stages import Night

OnlyPeriod = Annotated[
    str | None, typer.Option("--period", help="Only this period, like 2026-10 (as in the reports).")
]


def run(config: SiteConfig = SITE, period: OnlyPeriod = None) -> None:
    """Do what the night does: read new logs, compute, report, publish, deliver."""
    from audit.nightly.stages import STAGES

    _stages(config, period, STAGES)


def ingest(config: SiteConfig = SITE) -> None:
    """One stage of a run: read new logs."""
    _stages(config, None, ("ingest",))


def report(
    config: SiteConfig = SITE,
    period: OnlyPeriod = None,
    user: OfUsers = None,
    account: OfAccounts = None,
    cluster: ClusterName = None,
) -> None:
    """One stage of a run: compute and report what was read, and publish it.

    With --user or --account only their pages are made, from what was published.
    """
    if whose := owners(user, account):
        from audit.oneoff.owners import from_published

        for page in from_published(configuration(config), config.parent, whose, cluster, period):
            show(page)
        return
    if cluster is not None:
        raise UsageError("--cluster goes with --user or --account")
    _stages(config, period, ("compute", "report", "publish"))


def _stages(config: Path, period: str | None, stages: tuple[str, ...]) -> None:
    """Does these stages of a run, and says what came of them."""
    from audit.nightly.service import by_hand
    from audit.nightly.stages import require_own_config

    require_own_config(config)
    of, now = site(config), int(time.time())
    with at_work() as progress:
        night = by_hand(of, now, period, progress.say, progress.update, stages)
    _show_night(night)
    if "publish" in stages:
        show(f"published {of.config.output.database}" if night.published else "nothing to publish")
    for exceeded in night.exceeded:
        say(f"threshold: {exceeded}")
    for failure in night.failures:
        say(f"fairaudit: {failure}")
    if night.failures:
        raise typer.Exit(night.exit_code)
    if night.exceeded:
        raise typer.Exit(1)


def _show_night(night: Night) -> None:
    warn(night.warnings)
    for line in (
        *night.read,
        *(f"computed {period}" for period in night.computed),
        *night.reports,
        *(f"sent {mail}" for mail in night.sent),
    ):
        show(line)


def service(config: SiteConfig = SITE) -> None:
    """Run at the times of config.toml, catching up after an outage, until stopped."""
    import threading

    from audit.nightly.service import serve
    from audit.nightly.stages import require_own_config

    require_own_config(config)
    of, stop = site(config), threading.Event()
    with stopped_by_signals(stop):
        serve(of, time.time, stop, say)


def status(
    config: SiteConfig = SITE,
    check: Annotated[
        bool, typer.Option("--check", help="End with 1 if a run failed or is overdue.")
    ] = False,
    rows: Annotated[int, typer.Option(min=0, help="Show so many of the newest stages.")] = 20,
    as_json: Annotated[
        bool, typer.Option("--json", help="As JSON, for programs: docs/service.md says its keys.")
    ] = False,
) -> None:
    """Show the runs, what became of them, and when the next is due."""
    import json

    from audit.nightly import status

    of = site(config)
    if not of.config.clusters:
        raise UsageError("status: the configuration has no [[clusters]]")
    runs = status.look(of, int(time.time()))
    if as_json:
        print(json.dumps(status.as_json(runs, of, rows), indent=2))
    else:
        for line in status.lines(runs, rows):
            show(line)
    if check and any(cluster.problem for cluster in runs.clusters):
        raise typer.Exit(1)


def backup(
    target: Annotated[
        Path, typer.Argument(metavar="FILE|DIR", help="The file to write, or a folder for it.")
    ],
    config: SiteConfig = SITE,
) -> None:
    """Save the store and the history of runs in one file; runs may be at work meanwhile."""
    from audit.nightly.keeping.backup import save

    file, saved = save(site(config), target, int(time.time()))
    warn(f"the store does not pass the check {name}" for name in saved.failing)
    show(f"saved {sum(saved.rows.values()):,} rows in {file}")


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What 'backup' wrote.")],
    config: SiteConfig = SITE,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the store if there is one.")
    ] = False,
) -> None:
    """Put what was saved in the place of the store and the history of runs."""
    from audit.nightly.keeping.backup import restore as put_back

    back = put_back(site(config), file, force=force)
    warn(f"the store does not pass the check {name}" for name in back.failing)
    show(f"restored {sum(back.rows.values()):,} rows, as saved {back.made_at}")


def archive(
    cluster: ClusterName = None,
    back: Annotated[
        str | None,
        typer.Option(metavar="DAY", help="Put what ended on this day or later back, for the run."),
    ] = None,
    config: SiteConfig = SITE,
) -> None:
    """List the months that lie beside the database (retention.archive_months); --back undoes it."""
    from audit.nightly.keeping import archiving
    from audit.periods import parse_day

    of = site(config)
    if back is None:
        for line in archiving.listed(of, cluster) or ["nothing is archived"]:
            show(line)
        return
    if cluster is None:
        if len(of.config.clusters) != 1:
            raise UsageError("--back: say of which cluster (--cluster)")
        cluster = of.config.clusters[0].name
    months = archiving.bring_back(of, cluster, parse_day(back))
    records = sum(month.records for month in months)
    show(f"{records:,} records of {len(months):,} months came back; 'fairaudit run' computes them")


def deliver(
    config: SiteConfig = SITE,
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
    from audit.mail import delivery

    of, now = site(config), int(time.time())
    if test_send is not None:
        delivery.try_out(of, test_send, now)
        show(f"sent a test mail to {test_send}")
        return
    if unknown and not failed:
        raise UsageError("--unknown goes with --failed: it may send a mail for the second time")
    which = {"failed": failed, "unknown": unknown, "dry_run": dry_run}
    outcome = delivery.by_hand(of, now, **which, say=say)
    _show_delivery(outcome, dry_run=dry_run)


def _show_delivery(outcome: Delivered, *, dry_run: bool) -> None:
    for mail in outcome.sent:
        show(f"sent {mail}")
    for mail in outcome.due if dry_run else ():
        show(f"would send {mail}")
    if not (outcome.sent or outcome.due or outcome.failures):
        print("nothing to send")
    for failure in outcome.failures:
        say(f"fairaudit: {failure}")
    if outcome.failures:
        raise typer.Exit(max(failure.exit_code for failure in outcome.failures))
