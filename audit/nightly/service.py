"""``fairaudit service``: runs at their times, until it is asked to stop."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

from audit.config import Config
from audit.errors import AuditError, LockedError, StoreError, UsageError
from audit.files import lock
from audit.nightly.run import run
from audit.nightly.stages import STAGES, Night, StoppedError, own_state

if TYPE_CHECKING:
    from audit.ingest.ingest import Progress

Say = Callable[[str], None]

WAIT_S: Final = 60
"""Between two tries while another run is at work."""


def serve(config: Config, folder: Path, clock: Callable[[], float], stop: Event, say: Say) -> None:
    """Runs the timetable until ``stop`` is set.

    A run that was missed, or that was killed or stopped, is begun at once. One that is under way
    when ``stop`` is set is left after its next step; the next start begins it anew.

    Args:
        clock: tells the epoch second.

    Raises:
        LockedError: another service is at work there.
        UsageError: there is no cluster, or the state folder cannot be made.
        StoreError: the timetable cannot be kept.
    """
    from audit.nightly import history, status, timetable

    if not config.clusters:
        raise UsageError("service: the configuration has no [[clusters]]")
    state = own_state(config, folder)

    def do(cluster: str) -> None:
        attend(config, folder, cluster, clock, stop, say)

    with lock.held(state / "service", "fairaudit service", "another service is at work here"):
        path = status.timetable_in(state)
        kept = timetable.stored(path)
        entries = history.read(state)
        late = {
            cluster.name: instant
            for cluster in config.clusters
            if (instant := status.due(config, cluster, entries, kept)) is not None
        }
        table = timetable.Timetable(path, config, do)
        coming = table.start(late, int(clock()))
        for cluster in config.clusters:
            missed = coming[cluster.name] <= clock()
            say(f"{cluster.name}: next run {'now: one was missed' if missed else 'is planned'}")
        try:
            while not stop.wait(1.0) and not table.ended.is_set():
                pass
        finally:
            stop.set()
            table.stop()
        if table.error is not None:
            why = getattr(table.error, "orig", table.error)  # else with SQL and links
            raise StoreError(
                f"{path}: the timetable failed: {why}; start the service again when the "
                "cause is gone"
            ) from table.error
    say("stopped")


def by_hand(
    config: Config,
    folder: Path,
    now: int,
    only: str | None,
    say: Say,
    progress: Progress = lambda what, done, of: None,
    stages: Sequence[str] = STAGES,
) -> Night:
    """What ``fairaudit run`` and its stages do: a run, of whose failures the operators are told.

    Args and raises as ``run.run``; ``say`` is told where the operators could not be.
    """
    try:
        night = run(config, folder, now, only, progress, stages=stages)
    except LockedError:
        raise
    except AuditError as error:
        tell(config, folder, [error], say, "fairaudit")
        raise
    if night.failures:
        tell(config, folder, night.failures, say, "fairaudit")
    return night


def attend(
    config: Config,
    folder: Path,
    cluster: str,
    clock: Callable[[], float],
    stop: Event,
    say: Say,
) -> Night | None:
    """Does the run of a cluster, when no other is at work; gives None where it came to nothing.

    Whatever goes wrong is said here and to the operators; nothing is raised.
    """
    waited = False
    while not stop.is_set():
        try:
            say(f"{cluster}: run begins")
            done = run(config, folder, int(clock()), cluster=cluster, stopping=stop.is_set)
        except LockedError as error:
            if not waited:
                say(f"{cluster}: {error}; trying every {WAIT_S} s")
            waited = True
            stop.wait(WAIT_S)
            continue
        except StoppedError:
            say(f"{cluster}: left off; the next start goes on")
            return None
        except AuditError as error:
            say(f"{cluster}: failed: {error}")
            tell(config, folder, [error], say, cluster)
            return None
        except Exception as error:
            say(f"{cluster}: failed: a defect of fairaudit:\n{traceback.format_exc()}")
            tell(config, folder, [error], say, cluster)
            return None
        for line in (*done.warnings, *done.exceeded, *map(str, done.failures)):
            say(f"{cluster}: {line}")
        counts = f"{len(done.read)} logs, {len(done.computed)} periods, {len(done.reports)} reports"
        say(f"{cluster}: run ended: {counts}, {len(done.sent)} mails")
        if done.failures:
            tell(config, folder, done.failures, say, cluster)
        return done
    return None


def tell(
    config: Config, folder: Path, failures: list[AuditError] | list[Exception], say: Say, what: str
) -> None:
    """Writes to the operators that a run failed; where that fails too, it is said."""
    if config.mail.via == "none" or not config.mail.operators:
        return
    from audit.mail import delivery

    text = "\n\n".join(map(str, failures))
    subject = f"fairaudit: the run of {what} failed"
    try:
        wrong = delivery.tell_operator(
            config, subject, f"{text}\n\n'fairaudit status' shows all runs.\n", folder
        )
    except AuditError as error:
        wrong = str(error)
    if wrong is not None:
        say(f"the operators could not be told: {wrong}")
