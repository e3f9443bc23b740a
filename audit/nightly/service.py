"""``fairaudit service``: runs at their times, until it is stopped."""

import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import Final

from audit import memory
from audit.config import Config
from audit.config.places import Site
from audit.errors import AuditError, LockedError, StoreError, UsageError
from audit.files import lock
from audit.nightly.run import run
from audit.nightly.stages import STAGES, Night, StoppedError, own_state
from audit.progress import OnProgress, silent

Say = Callable[[str], None]

WAIT_S: Final = 60
"""Seconds between two attempts while another run is in progress."""

SET_BACK_S: Final = 60
"""Seconds by which a clock goes back to count as set back."""


def serve(site: Site, clock: Callable[[], float], stop: Event, say: Say) -> None:
    """Follow the timetable until ``stop`` is set; ``clock`` returns the epoch second.

    A run that was missed, killed or stopped begins at once. A run in progress when ``stop`` is set
    ends after its current step; the next start begins it anew.

    Raises:
        LockedError: another service is at work there.
        UsageError: there is no cluster, or the state folder cannot be made.
        StoreError: the history cannot be read or written.
    """
    from audit.nightly import timetable

    config = site.config
    if not config.clusters:
        raise UsageError("service: the configuration has no [[clusters]]")
    state = own_state(site)

    def do(cluster: str) -> None:
        attend(site, cluster, clock, stop, say)

    with lock.held(state / "service", "fairaudit service", "another service is running here"):
        now = int(clock())
        coming = planned(config, state, now)
        table = timetable.Timetable(config, do)
        for cluster, begin in coming.items():
            missed = begin <= now
            say(f"{cluster}: next run {'now: one was missed' if missed else 'is planned'}")
        table.start(coming)
        try:
            while not stop.wait(1.0) and not table.ended.is_set():
                before, now = now, int(clock())
                if now < before - SET_BACK_S:
                    say("the clock was set back: the next runs are planned anew")
                    table.plan(planned(config, state, now))
        finally:
            stop.set()
            table.stop()
        if table.error is not None:
            remedy = "start the service again"
            raise StoreError(f"the timetable ended: {table.error}; {remedy}") from table.error
    say("stopped")


def planned(config: Config, state: Path, now: int) -> dict[str, int]:
    """Return when each cluster's next run is due (epoch s), and record the first runs.

    An instant that has passed is that of a run that was missed. Raises StoreError if the history
    cannot be read or written.
    """
    from audit.nightly import history, status, timetable

    old = state / "timetable.sqlite"  # earlier versions planned there, in APScheduler's own format
    entries, earlier = history.read(state), history.planned(state)
    coming, first = {}, {}
    for cluster in config.clusters:
        due = status.due(config, cluster, entries, {}, now)
        if due is None:
            due = earlier.get(cluster.name, now if old.exists() else None)
            if due is None or due > now:  # the times may have been changed since
                due = timetable.next_run(config, cluster, now)
            first[cluster.name] = due
        coming[cluster.name] = due
    history.plan(state, first)
    for ending in ("", "-journal"):
        old.with_name(old.name + ending).unlink(missing_ok=True)
    return coming


def by_hand(
    site: Site,
    now: int,
    only: str | None,
    say: Say,
    on_progress: OnProgress = silent,
    stages: Sequence[str] = STAGES,
) -> Night:
    """Do a run for ``fairaudit run`` and its stages, and mail its failures to the operators.

    Arguments and errors are those of ``run.run``; ``say`` reports that no mail could be sent.
    """
    try:
        night = run(site, now, only, on_progress, stages=stages)
    except LockedError:
        raise
    except AuditError as error:
        tell(site, [error], say, "fairaudit")
        raise
    tell(site, night.failures, say, "fairaudit")
    return night


def attend(
    site: Site, cluster: str, clock: Callable[[], float], stop: Event, say: Say
) -> Night | None:
    """Do the run of a cluster when no other is in progress; return None if it did not end.

    Errors are reported here and to the operators, never raised.
    """
    waited = False
    while not stop.is_set():
        try:
            say(f"{cluster}: run begins")
            done = run(site, int(clock()), cluster=cluster, stopping=stop.is_set)
        except LockedError as error:
            if not waited:
                say(f"{cluster}: {error}; trying every {WAIT_S} s")
            waited = True
            stop.wait(WAIT_S)
            continue
        except StoppedError:
            say(f"{cluster}: stopped; the next start continues")
            return None
        except Exception as error:
            known = error if isinstance(error, AuditError) else memory.shortage(error)
            defect = f"a defect of fairaudit:\n{traceback.format_exc()}"
            say(f"{cluster}: failed: {known or defect}")
            tell(site, [error], say, cluster)
            return None
        for line in (*done.warnings, *done.exceeded, *map(str, done.failures)):
            say(f"{cluster}: {line}")
        counts = f"{len(done.read)} logs, {len(done.computed)} periods, {len(done.reports)} reports"
        say(f"{cluster}: run ended: {counts}, {len(done.sent)} mails")
        tell(site, done.failures, say, cluster)
        return done
    return None


def tell(site: Site, failures: Sequence[Exception], say: Say, what: str) -> None:
    """Mail the failures of a run to the operators; ``say`` reports if that fails too."""
    if not failures or site.config.mail.via == "none" or not site.config.mail.operators:
        return
    from audit.mail import delivery

    text = "\n\n".join(map(str, failures)) + "\n\n'fairaudit status' shows all runs.\n"
    try:
        wrong = delivery.tell_operator(site, f"fairaudit: the run of {what} failed", text)
    except AuditError as error:
        wrong = str(error)
    if wrong is not None:
        say(f"the operators could not be notified: {wrong}")
