"""One run at a time for each database."""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from audit.errors import LockedError, UsageError
from audit.files import folders

_TRIES: Final = 4
_SAFELY: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Do not follow links, and do not wait for the other end of a pipe."""


@contextmanager
def held(
    database: Path, who: str = "fairaudit", busy: str = "another run is writing this database"
) -> Iterator[None]:
    """Hold the right to write ``database`` while the block runs.

    The operating system releases the lock when the process ends, however it ends. The lock file,
    beside the database, is removed with the block; one left by a killed process is harmless.

    Args:
        who: shown to others that want the lock, with the number of this process.
        busy: the message if another process holds it.

    Raises:
        LockedError: another process holds it; the message names the process.
        PermissionError: another user can change the folder, or the lock is not this user's file.
        UsageError: ``database`` is a folder, which may have no name that a lock could have.
    """
    if database.is_dir():
        raise UsageError(f"{database}: is a folder: name a file")
    folders.require(database.parent)
    path = _beside(database)
    descriptor = _locked(path, database, busy)
    try:
        with suppress(OSError):  # on a full disk the holder is not named
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{who}, process {os.getpid()}".encode(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _locked(path: Path, database: Path, busy: str) -> int:
    tries = 0
    while True:
        descriptor = _open_own(path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            other = _written(descriptor)
            os.close(descriptor)
            tries += 1
            if tries < _TRIES:  # it may be a process that only checks who holds it
                time.sleep(0.05)
                continue
            why = f"{busy}{other and f' ({other})'}; try again when it has finished"
            raise LockedError(f"{database}: {why}") from error
        with suppress(FileNotFoundError):
            if os.path.samestat(path.stat(), os.fstat(descriptor)):
                return descriptor
        os.close(descriptor)  # its holder removed it between our open and our lock


def _open_own(path: Path) -> int:
    """Open the lock file, or make it; only an ordinary file of this user may be written to."""
    foreign = f"{path.name} is a link or belongs to another user: remove it"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _SAFELY, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise PermissionError(errno.EPERM, foreign, str(path)) from error
        raise
    seen = os.fstat(descriptor)
    # the holder may just have removed it
    if stat.S_ISREG(seen.st_mode) and seen.st_uid == os.geteuid() and seen.st_nlink <= 1:
        return descriptor
    os.close(descriptor)
    raise PermissionError(errno.EPERM, foreign, str(path))


def holder(database: Path) -> str | None:
    """Return the process that holds the right to write ``database``; None if it is free.

    Raises OSError if the lock may not be read.
    """
    try:
        descriptor = os.open(_beside(database), os.O_RDONLY | _SAFELY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _written(descriptor) or "another process"
    finally:
        os.close(descriptor)
    return None


def _beside(database: Path) -> Path:
    return database.with_name(f".{database.name}.lock")


def _written(descriptor: int) -> str:
    text = os.pread(descriptor, 200, 0).decode(errors="replace")
    return "".join(char for char in text if char.isprintable())
