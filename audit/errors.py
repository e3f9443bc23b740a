"""Errors that a user can act on, one class per remedy.

Each class carries the exit code of the command (README, "Exit codes"). A message says what
happened, where (``file:line`` or key path) and what to do; the command prints it without a
traceback. Any other exception is a defect of fairaudit.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Self

_PERMISSIONS: Final = "permission is missing: change the permissions or choose another place"
_REMEDIES: Final = {
    errno.ENOSPC: "the disk is full: free some space there",
    errno.EDQUOT: "the quota is used up: free some space there or ask for more",
    errno.EACCES: _PERMISSIONS,
    errno.EPERM: _PERMISSIONS,
    errno.EROFS: "nothing can be written there: choose another place",
}
UNWRITABLE: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""Error numbers that the user can avoid by choosing another place."""
WITHHELD: Final = "; the rest is withheld because it may contain names (clusters.people.key_file)"


def of_system(error: OSError) -> str:
    """Return the files, the message and, where known, the remedy of a system error."""
    names = [
        os.fsdecode(name)
        for name in (error.filename, error.filename2)
        if isinstance(name, (str, bytes, os.PathLike))
    ]
    where = f"{' → '.join(names)}: " if names else ""
    what = error.strerror or str(error) or type(error).__name__
    remedy = _REMEDIES.get(error.errno or 0)
    return f"{where}{what}" + (f"; {remedy}" if remedy else "")


class AuditError(Exception):
    """Base of all errors that a user can act on.

    Text written by a command or a log may contain names of people. It is passed as ``outside``, and
    ``withheld`` replaces it by ``instead``.
    """

    exit_code = 4

    def __init__(self, text: str, outside: str = "", instead: str = WITHHELD) -> None:
        super().__init__(text, outside, instead)

    def __str__(self) -> str:
        text, outside, _ = self.args
        return f"{text}{outside}"

    def withheld(self) -> Self:
        """Return the same error without text from outside."""
        text, outside, instead = self.args
        return type(self)(f"{text}{instead}") if outside else self


class UsageError(AuditError):
    """Wrong flags, paths or files."""

    exit_code = 2


class SeveralClustersError(UsageError):
    """The records belong to several clusters, and no cluster was chosen."""


class ConfigError(UsageError):
    """Wrong keys in config.toml; the message lists them all."""


class LogError(AuditError):
    """A whole log cannot be read: empty, binary, truncated or refused beyond the limit."""

    exit_code = 3


class EmptyLogError(LogError):
    """The log is empty, for example just after rotation."""


class TruncatedLogError(LogError):
    """A compressed log is damaged or still being written."""


class ChangedLogError(LogError):
    """The log was rewritten while it was read."""


class RefusedError(LogError):
    """Too many records of a log, or of a source's new logs, were refused."""


class DialectError(LogError):
    """No dialect, or not the named one, recognises the log."""

    exit_code = 2


class SourceError(AuditError):
    """The command of a source failed."""


class SilentError(AuditError):
    """A source has had no new records for longer than config.toml allows."""

    exit_code = 1


class StoreError(AuditError):
    """The database cannot be opened, read or written, or refused a statement."""


class LockedError(StoreError):
    """Another run or reader holds the lock: nothing was changed, try again later."""

    exit_code = 75


class OtherVersionError(StoreError):
    """Another version of fairaudit made the database, or it was changed."""


class UnwritableError(StoreError):
    """The database's place lacks permissions: change them or choose another place."""

    exit_code = 2


class SimulationError(AuditError):
    """A schedule cannot be simulated, or the simulated schedule fails its check."""


class WorkersError(AuditError):
    """Workers (config.toml, [compute]) are unreachable, gone or of another version."""


class ReportError(AuditError):
    """A report could not be made."""


class DeliveryError(AuditError):
    """A report could not be delivered."""


class DefectError(Exception):
    """A defect of fairaudit whose message is withheld; the traceback is the original one."""


def no_database(path: object) -> UsageError:
    """Return the error about a published database that does not exist."""
    remedy = "make one with 'fairaudit audit LOG', or pass --config FILE for that of a site"
    return UsageError(f"{path}: no such database; {remedy}")


def unpublished(path: object) -> UsageError:
    """Return the error about a site that published no database yet."""
    return UsageError(f"{path}: nothing is published yet; 'fairaudit run' does so")


def failed(what: str, error: OSError) -> AuditError:
    """Return a system error in ``what`` as an error with the exit code of its remedy."""
    kind = UsageError if error.errno in UNWRITABLE else AuditError
    return kind(f"{what}: {of_system(error)}")


@contextmanager
def refusals(kind: type[AuditError], where: object, what: str, key: str = "") -> Iterator[None]:
    """Raise system errors in the block as ``kind``, with the text ``WHERE: WHAT: reason (KEY)``."""
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise kind(f"{where}: {what}: {why}{key and f' ({key})'}") from error


@contextmanager
def withholding(*, when: bool) -> Iterator[None]:
    """If ``when``, withhold text from outside in every error that leaves the block.

    The whole message of a defect counts as text from outside. System errors name only files.
    """
    try:
        yield
    except Exception as error:
        if not when or isinstance(error, (OSError, DefectError)):
            raise
        hidden: Exception = (
            error.withheld()
            if isinstance(error, AuditError)
            else DefectError(f"{type(error).__name__}{WITHHELD}")
        )
        raise hidden.with_traceback(error.__traceback__) from None
