"""Commands of a configured site: ``run`` and its stages, ``service``, ``status``, ``deliver``…"""

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from audit.cli import options as opt
from audit.cli.options import at_work, say, show, warn
from audit.errors import UsageError
from audit.progress import stopped_by_signals
from audit.words import AnswerFormat

OnlyPeriod = Annotated[str | None, Option(help="Only this period, such as 2026-10.")]
Verbose = Annotated[bool, Option("--verbose", help="Print each step, even without a terminal.")]
Quiet = Annotated[bool, Option("--quiet", help="Print warnings and failures only.")]


def run(
    config: opt.SiteConfig = opt.SITE,
    period: OnlyPeriod = None,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> None:
    """Read new logs, compute, write reports, publish and deliver."""
    from audit.nightly.stages import STAGES

    _stages(config, period, STAGES, verbose=verbose, quiet=quiet)


def ingest(
    config: opt.SiteConfig = opt.SITE, verbose: Verbose = False, quiet: Quiet = False
) -> None:
    """Read new logs: the first stage of a run."""
    _stages(config, None, ("ingest",), verbose=verbose, quiet=quiet)


def report(
    config: opt.SiteConfig = opt.SITE,
    period: OnlyPeriod = None,
    user: opt.OfUsers = None,
    account: opt.OfAccounts = None,
    cluster: opt.ClusterName = None,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> None:
    """Compute, report and publish what was read; or make pages of users and accounts.

    With --user or --account, only their pages are made, from the published database.
    """
    if whose := opt.owners(user, account):
        from audit.oneoff.owners import from_published

        show(*from_published(opt.configuration(config), config.parent, whose, cluster, period))
        return
    if cluster is not None:
        raise UsageError("--cluster requires --user or --account")
    _stages(config, period, ("compute", "report", "publish"), verbose=verbose, quiet=quiet)


def _stages(
    config: Path, period: str | None, stages: tuple[str, ...], *, verbose: bool, quiet: bool
) -> None:
    from audit.nightly.service import by_hand
    from audit.nightly.stages import require_own_config

    require_own_config(config)
    site, now = opt.site(config), int(time.time())
    with at_work(lines=verbose) as progress:
        night = by_hand(site, now, period, progress.say, progress.update, stages)
    warn(night.warnings)
    if not quiet:
        show(*night.read, *(f"computed {period}" for period in night.computed))
        show(*night.reports, *(f"sent {mail}" for mail in night.sent))
        if "publish" in stages:
            database = site.config.output.database
            show(f"published {database}" if night.published else "nothing to publish")
    say(*(f"failure by configuration: {exceeded}" for exceeded in night.exceeded))
    say(*(f"fairaudit: {failure}" for failure in night.failures))
    if night.failures or night.exceeded:
        raise Exit(night.exit_code if night.failures else 1)


def service(config: opt.SiteConfig = opt.SITE) -> None:
    """Run at the times of config.toml until stopped; catch up after an outage."""
    import threading

    from audit.nightly.service import serve
    from audit.nightly.stages import require_own_config

    require_own_config(config)
    site, stop = opt.site(config), threading.Event()
    with stopped_by_signals(stop):
        serve(site, time.time, stop, say)


def status(
    config: opt.SiteConfig = opt.SITE,
    check: Annotated[
        bool, Option("--check", help="Exit with 1 on a failed or overdue run.")
    ] = False,
    rows: Annotated[int, opt.Count(min=0, help="Number of latest stages shown.")] = 20,
    form: Annotated[AnswerFormat, Option("--format", help="Output format.")] = AnswerFormat.text,
) -> None:
    """Show past runs, their results, and when the next run is due."""
    from audit import json_answers
    from audit.nightly import status

    site = opt.site(config)
    if not site.config.clusters:
        raise UsageError("status: the configuration has no [[clusters]]")
    runs = status.look(site, int(time.time()))
    if form is AnswerFormat.json:
        print(json_answers.written(replace(runs, runs=runs.runs[:rows])), end="")
    else:
        show(*status.lines(runs, rows))
    if check and any(cluster.problem for cluster in runs.clusters):
        raise Exit(1)


def backup(
    target: Annotated[str, Argument(metavar="FILE.tar|DIR/", help="File to write, or its folder.")],
    config: opt.SiteConfig = opt.SITE,
) -> None:
    """Save the store and the history of runs to one file, even during a run."""
    from audit.nightly.keeping.backup import save

    file, saved = save(opt.site(config), target, int(time.time()))
    warn(f"the store does not pass the check {name}" for name in saved.failing)
    show(f"saved {sum(saved.rows.values()):,} rows in {file}")


def restore(
    file: Annotated[Path, Argument(metavar="FILE", help="Backup to restore.")],
    config: opt.SiteConfig = opt.SITE,
    force: Annotated[bool, Option("--force", help="Replace an existing store.")] = False,
) -> None:
    """Replace the store and the history of runs by a backup."""
    from audit.nightly.keeping.backup import restore as put_back

    back = put_back(opt.site(config), file, force=force)
    warn(f"the store does not pass the check {name}" for name in back.failing)
    show(f"restored {sum(back.rows.values()):,} rows, as saved {back.made_at}")


def erase(
    user: Annotated[str, Option(metavar="NAME", help="The user's name in the logs.")],
    config: opt.SiteConfig = opt.SITE,
) -> None:
    """Replace a user's name by a random one in everything that is kept; figures stay."""
    from audit.nightly.keeping import erasing

    site = opt.site(config)
    done = erasing.erase(site, user, int(time.time()))
    show(
        f"{done.token} replaces the name in {done.records:,} records, {done.lines:,} refused lines "
        f"and {done.months:,} archived months"
    )
    show(*done.night.reports, f"published {site.database}")
    show(*(f"removed {file}: its figures are no longer in the store" for file in done.removed))
    warn(f"the {kind} of this name has jobs of others, and stays" for kind in done.shared)
    show("not reached:", *(f"  {place}" for place in erasing.beyond(site, config, user)))
    say(*(f"fairaudit: {failure}; 'fairaudit run' tries again" for failure in done.night.failures))
    if done.night.failures:
        raise Exit(done.night.exit_code)


def archive(
    cluster: opt.ClusterName = None,
    back: Annotated[
        str | None, Option(metavar="DAY", help="Move jobs that ended since DAY back to the store.")
    ] = None,
    config: opt.SiteConfig = opt.SITE,
) -> None:
    """List the months in the archive (retention.archive_months), or move some back."""
    from audit.nightly.keeping import archiving
    from audit.periods import parse_day

    site = opt.site(config)
    if back is None:
        show(*(archiving.listed(site, cluster) or ["nothing is archived"]))
        return
    if cluster is None:
        if len(site.config.clusters) != 1:
            raise UsageError("--back: choose a cluster (--cluster)")
        cluster = site.config.clusters[0].name
    months = archiving.bring_back(site, cluster, parse_day(back))
    records = sum(month.records for month in months)
    done = f"moved {records:,} records of {len(months):,} months back"
    show(f"{done}; run 'fairaudit run' to compute them" if months else done)


def deliver(
    config: opt.SiteConfig = opt.SITE,
    failed: Annotated[bool, Option("--failed", help="Also send mails that were refused.")] = False,
    unknown: Annotated[
        bool, Option("--unknown", help="With --failed: also mails that may have arrived.")
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Only print mails and recipients.")] = False,
    test_send: Annotated[
        str | None, Option(metavar="ADDRESS", help="Only send a test mail.")
    ] = None,
) -> None:
    """Mail the reports that are due; 'run' does this too."""
    from audit.mail import delivery

    site, now = opt.site(config), int(time.time())
    if test_send is not None:
        delivery.try_out(site, test_send, now)
        show(f"sent a test mail to {test_send}")
        return
    if unknown and not failed:
        raise UsageError("--unknown requires --failed: it may send a mail twice")
    outcome = delivery.by_hand(site, now, failed=failed, unknown=unknown, dry_run=dry_run, say=say)
    show(*(f"sent {mail}" for mail in outcome.sent))
    if dry_run:
        show(*(f"would send {mail}" for mail in outcome.due))
    if not (outcome.sent or outcome.due or outcome.failures):
        print("nothing to send")
    say(*(f"fairaudit: {failure}" for failure in outcome.failures))
    if outcome.failures:
        raise Exit(max(failure.exit_code for failure in outcome.failures))
