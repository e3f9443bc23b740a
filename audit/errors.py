"""Everything that can go wrong by a user's doing or a site's circumstances, sorted by remedy.

Each class carries the exit code that the command line ends with (docs: README, "Exit codes").
A message says what, where (``file:line`` or key path) and the likely remedy; the command line
prints it without a traceback. Anything else that is raised is a defect of fairaudit.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Self

_REMEDIES: Final = {
    errno.ENOSPC: "the disk is full: free some space there",
    errno.EDQUOT: "the quota is used up: free some space there, or ask for more",
    errno.EACCES: "this user may not use it: change its permissions, or choose another place",
    errno.EPERM: "this user may not use it: change its permissions, or choose another place",
    errno.EROFS: "nothing can be written there: choose another place",
}


UNWRITABLE: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""Where a place may not be written to: to choose another one is up to the user."""


def of_system(error: OSError) -> str:
    """What the system refused, of which file, and what may help, where its number says it."""
    names = [
        os.fsdecode(name)
        for name in (error.filename, error.filename2)
        if isinstance(name, (str, bytes, os.PathLike))
    ]
    parts = [f"{' → '.join(names)}: "] if names else []
    parts.append(error.strerror or str(error) or type(error).__name__)
    if remedy := _REMEDIES.get(error.errno or 0):
        parts.append(f"; {remedy}")
    return "".join(parts)


WITHHELD: Final = "; the rest is withheld because it may hold names (clusters.people.key_file)"


class AuditError(Exception):
    """Base of all errors that a user can act on.

    Text that fairaudit did not write, such as what a command or a log says, is passed as
    ``outside``: it may hold names of people, and ``withheld`` leaves it out.
    """

    exit_code = 4

    def __init__(self, text: str, outside: str = "", instead: str = WITHHELD) -> None:
        """The error.

        Args:
            text: in the words of fairaudit.
            outside: what follows in the words of others.
            instead: what follows where those are withheld: how to find them.
        """
        super().__init__(text, outside, instead)

    def __str__(self) -> str:
        """The whole message."""
        text, outside, _ = self.args
        return f"{text}{outside}"

    def withheld(self) -> Self:
        """The same error, without text from outside."""
        text, outside, instead = self.args
        return type(self)(f"{text}{instead}") if outside else self


class UsageError(AuditError):
    """The command was called in a way that cannot work: flags, paths, missing files."""

    exit_code = 2


class SeveralClustersError(UsageError):
    """Records are of several clusters, and nothing says which is meant."""


class ConfigError(UsageError):
    """One or more keys of config.toml are wrong; the message lists them all."""


class LogError(AuditError):
    """A log, as a whole, cannot be taken in: empty, binary, truncated, refused beyond the limit."""

    exit_code = 3


class EmptyLogError(LogError):
    """There is nothing in a log, as where it was rotated a moment ago."""


class TruncatedLogError(LogError):
    """A compressed log ends in the middle of its data: it is damaged, or still being written."""


class RefusedError(LogError):
    """Too many records of a log, or of a source's new logs, were refused."""


class DialectError(LogError):
    """No dialect recognises the log, or the one that was named does not."""

    exit_code = 2


class SourceError(AuditError):
    """A command that logs come from could not be run, or failed."""


class SilentError(AuditError):
    """A source has brought nothing new for longer than config.toml allows."""

    exit_code = 1


class StoreError(AuditError):
    """The database refused a statement or cannot be opened, read or written."""


class LockedError(StoreError):
    """Another run or reader holds the lock: nothing was changed, try again later."""

    exit_code = 75


class UnwritableError(StoreError):
    """The place of a database may not be used: choose another, or change its permissions."""

    exit_code = 2


class SimulationError(AuditError):
    """A schedule cannot be simulated, or a simulated schedule fails its check."""


class WorkersError(AuditError):
    """Workers cannot be reached, are gone, or are not as they must be (config.toml, [compute])."""


class ReportError(AuditError):
    """A report could not be made."""


class DeliveryError(AuditError):
    """A report could not be delivered."""


class DefectError(Exception):
    """A defect of fairaudit whose message is withheld; the traceback is that of the original."""


def failed(what: str, error: OSError) -> AuditError:
    """What the system refused in ``what``, as an error with the exit code of its remedy."""
    kind = UsageError if error.errno in UNWRITABLE else AuditError
    return kind(f"{what}: {of_system(error)}")


@contextmanager
def refusals(kind: type[AuditError], where: object, what: str, key: str = "") -> Iterator[None]:
    """Raise what the system refuses in the block as ``kind``: ``WHERE: WHAT: reason (KEY)``."""
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise kind(f"{where}: {what}: {why}{key and f' ({key})'}") from error


@contextmanager
def withholding(*, when: bool) -> Iterator[None]:
    """Withholds text from outside, if ``when``, from any error that leaves the block.

    The message of a defect is text from outside as a whole: it may show any value. Its traceback
    stays. A message of the system names files alone.
    """
    try:
        yield
    except Exception as error:
        if not when or isinstance(error, OSError):
            raise
        raise _withheld(error).with_traceback(error.__traceback__) from None


def _withheld(error: Exception) -> Exception:
    if isinstance(error, AuditError):
        return error.withheld()
    if isinstance(error, DefectError):
        return error
    return DefectError(f"{type(error).__name__}{WITHHELD}")
