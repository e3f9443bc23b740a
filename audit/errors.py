"""Everything that can go wrong by a user's doing or a site's circumstances, sorted by remedy.

Each class carries the exit code that the command line ends with (docs: README, "Exit codes").
A message says what, where (``file:line`` or key path) and the likely remedy; the command line
prints it without a traceback. Anything else that is raised is a defect of fairaudit.
"""


class AuditError(Exception):
    """Base of all errors that a user can act on."""

    exit_code = 4


class UsageError(AuditError):
    """The command was called in a way that cannot work: flags, paths, missing files."""

    exit_code = 2


class ConfigError(UsageError):
    """One or more keys of config.toml are wrong; the message lists them all."""


class LogError(AuditError):
    """A log, as a whole, cannot be taken in: empty, binary, truncated, refused beyond the limit."""

    exit_code = 3


class DialectError(LogError):
    """No dialect recognises the log, or the one that was named does not."""

    exit_code = 2


class SourceError(AuditError):
    """A command that logs come from could not be run, or failed."""


class StoreError(AuditError):
    """The database refused a statement or cannot be opened, read or written."""


class LockedError(StoreError):
    """Another run or reader holds the lock: nothing was changed, try again later."""

    exit_code = 75


class SimulationError(AuditError):
    """A schedule cannot be simulated, or a simulated schedule fails its check."""


class ReportError(AuditError):
    """A report could not be made."""


class DeliveryError(AuditError):
    """A report could not be delivered."""
