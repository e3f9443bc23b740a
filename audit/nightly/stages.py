"""The stages of a run: their input, their results, and how the history records them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from audit.config.places import Site
from audit.errors import UNWRITABLE, AuditError, UsageError, failed, refusals, withholding
from audit.files import caches, folders, privacy
from audit.nightly.history import History
from audit.store.database import Connection

if TYPE_CHECKING:
    from audit.ingest.ingest import Progress

STAGES: Final = ("ingest", "compute", "report", "publish", "deliver")
"""The stages of a run, in order."""


class StoppedError(KeyboardInterrupt):
    """The run was asked to stop; the next one continues from here."""


@dataclass
class Night:
    """The results of a run; filled while it runs."""

    read: list[str] = field(default_factory=list)  # logs that were taken in
    computed: list[str] = field(default_factory=list)  # cluster and period
    sent: list[str] = field(default_factory=list)  # report and address of each mail
    reports: list[Path] = field(default_factory=list)
    published: bool = False
    warnings: list[str] = field(default_factory=list)
    exceeded: list[str] = field(default_factory=list)
    """Figures of the computed periods that are above a threshold of config.toml."""
    failures: list[AuditError] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return max((failure.exit_code for failure in self.failures), default=0)


@dataclass(frozen=True)
class Work:
    """The input of the stages of a run."""

    con: Connection
    site: Site
    now: int  # epoch s, to record when things were done
    only: str | None  # the one period to compute and report; None: all
    night: Night
    progress: Progress
    stages: Sequence[str]  # those of STAGES to do
    past: History
    number: int  # of the run, in the history
    stopping: Callable[[], bool]

    def prepare(self) -> None:
        """Start in the background what reports need; call it when there is something new."""
        from audit.pipeline import drawing

        if "report" in self.stages:
            drawing.prepare(self.site.config, pdf=self.site.config.report.pdf)

    def stage(self, name: str, cluster: str | None, do: Callable[[], None]) -> bool:
        """Do a stage and record its outcome; return whether it ran to its end."""
        if name not in self.stages:
            return True
        if self.stopping():
            raise StoppedError
        failures = self.night.failures
        before = len(failures)
        row = self.past.begin(name, cluster, self.only, self.number)
        ended = False
        try:
            with withholding(when=self.site.config.hides(cluster)):
                do()
            ended = True
        except AuditError as error:
            failures.append(error)
        except OSError as error:
            failures.append(failed(name, error))
        except BaseException as error:
            self.past.break_off(row, error)
            raise
        self.past.conclude(row, failures[before:])
        return ended


def require_own_config(path: Path) -> None:
    """Check that no other user can change a config.toml; raise UsageError otherwise."""
    try:
        folders.require(path)
    except OSError as error:
        why = error.strerror
        raise UsageError(f"{path}: the commands in it run as this user, but {why}") from error


def require_own_outputs(site: Site) -> None:
    """Check that no other user can change a folder that runs write to.

    Raises UsageError if another user can, or a path cannot be followed.
    """
    for key, place in (
        ("state", site.state),
        ("database", site.database.parent),
        ("reports", site.reports),
        ("archive", site.archive),
    ):
        with refusals(UsageError, place, "cannot be used", f"output.{key}"):
            folders.require(place)


def own_state(site: Site) -> Path:
    """The folder of the store, private to this user; it is made if it does not exist.

    Raises UsageError if it cannot be made or written to, or as ``require_own_outputs``.
    """
    require_own_outputs(site)
    with refusals(UsageError, site.state, "cannot be made", "output.state"):
        privacy.own_folder(site.state)
    refused = caches.refused(site.state)
    if refused is not None and refused.errno in UNWRITABLE:
        why = f"cannot be written to: {refused.strerror} (output.state)"
        raise UsageError(f"{site.state}: {why}")
    return site.state
