"""The stages of a run: what each is told, what came of it, and how it is noted in the history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from audit.config import Config, places
from audit.errors import UNWRITABLE, AuditError, UsageError, failed, withholding
from audit.files import caches, folders, privacy
from audit.nightly.history import History
from audit.store.database import Connection

if TYPE_CHECKING:
    from audit.ingest.ingest import Progress

STAGES: Final = ("ingest", "compute", "report", "publish", "deliver")
"""What a run does, in this order."""


class StoppedError(KeyboardInterrupt):
    """The run was asked to stop; the next one goes on from here."""


@dataclass
class Night:
    """What a run did; filled while it runs."""

    read: list[str] = field(default_factory=list)
    """Logs that were taken in."""
    computed: list[str] = field(default_factory=list)
    """Cluster and period of what was computed."""
    sent: list[str] = field(default_factory=list)
    """Mails that went out: report and address."""
    reports: list[Path] = field(default_factory=list)
    """Pages that were made."""
    published: bool = False
    warnings: list[str] = field(default_factory=list)
    exceeded: list[str] = field(default_factory=list)
    """Figures above a threshold of config.toml, in periods that were computed."""
    failures: list[AuditError] = field(default_factory=list)
    """What could not be done; the rest was."""

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        return max((failure.exit_code for failure in self.failures), default=0)


@dataclass(frozen=True)
class Work:
    """What the stages of a run are told."""

    con: Connection
    config: Config
    folder: Path
    """What paths of the configuration are relative to."""
    now: int
    """Epoch s, to note when things were done."""
    only: str | None
    """Name of the one period to compute and report; None: all."""
    night: Night
    progress: Progress
    stages: Sequence[str]
    """Those to do, of STAGES."""
    past: History
    number: int
    """Of the run, in the history."""
    stopping: Callable[[], bool]
    """Whether to stop."""

    def prepare(self) -> None:
        """Begins what reports wait for, in the background: something is new, so some are due."""
        from audit.pipeline import drawing

        if "report" in self.stages:
            drawing.prepare(self.config, pdf=self.config.report.pdf)

    def stage(self, name: str, cluster: str | None, do: Callable[[], None]) -> bool:
        """Does a stage and notes what became of it; whether it came to its end."""
        if name not in self.stages:
            return True
        if self.stopping():
            raise StoppedError
        failures = self.night.failures
        before = len(failures)
        row = self.past.begin(name, cluster, self.only, self.number)
        ended = False
        try:
            with withholding(when=self.config.hides(cluster)):
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
    """Check that no other user can change a config.toml.

    Raises:
        UsageError: another user can, or the path cannot be followed.
    """
    try:
        folders.require(path)
    except OSError as error:
        raise UsageError(
            f"{path}: the commands in it run as this user, but {error.strerror}"
        ) from error


def require_own_outputs(config: Config, folder: Path) -> None:
    """Check that no other user can change a folder that runs write to.

    Raises:
        UsageError: another user can, or a path cannot be followed.
    """
    published = places.published_folder(config, folder)
    for key, place in (
        ("state", folder / config.output.state),
        ("database", published),
        ("reports", folder / config.output.reports),
        ("archive", folder / config.output.archive),
    ):
        try:
            folders.require(place)
        except OSError as error:
            raise UsageError(f"{place}: cannot be used: {error.strerror} (output.{key})") from error


def own_state(config: Config, folder: Path) -> Path:
    """The folder of the store, this user's alone; made where there is none.

    Raises:
        UsageError: it cannot be made or written to, or as ``require_own_outputs``.
    """
    require_own_outputs(config, folder)
    state = folder / config.output.state
    try:
        privacy.own_folder(state)
    except OSError as error:
        raise UsageError(f"{state}: cannot be made: {error.strerror} (output.state)") from error
    refused = caches.refused(state)
    if refused is not None and refused.errno in UNWRITABLE:
        raise UsageError(f"{state}: cannot be written to: {refused.strerror} (output.state)")
    return state
