"""One run at a time for each database."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from audit.errors import LockedError

_TRIES: Final = 4


@contextmanager
def held(
    database: Path, who: str = "fairaudit", busy: str = "another run is writing this database"
) -> Iterator[None]:
    """Holds the right to write ``database`` while the block runs.

    The operating system lets go of it when the process ends, however it ends. The lock file goes
    with the block; one that a killed process left behind does no harm.

    Args:
        database: what is protected; the lock lies beside it.
        who: told to others that want it, with the number of this process.
        busy: told where another has it.

    Raises:
        LockedError: another run holds it; the message names it.
    """
    path = _beside(database)
    tries = 0
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            other = _written(descriptor)
            os.close(descriptor)
            tries += 1
            if tries < _TRIES:  # it may be one that only asks who holds it
                time.sleep(0.05)
                continue
            raise LockedError(
                f"{database}: {busy}{other and f' ({other})'}; try again when it has finished"
            ) from error
        if _is_still(path, descriptor):
            break
        os.close(descriptor)  # its holder removed it between our open and our lock
    try:
        with suppress(OSError):  # a full disk: then others are not told who
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{who}, process {os.getpid()}".encode(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def holder(database: Path) -> str | None:
    """Who holds the right to write ``database``; None where nobody does.

    Raises:
        OSError: it cannot be told, for want of permission.
    """
    try:
        descriptor = os.open(_beside(database), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _written(descriptor) or "another process"
    else:
        return None
    finally:
        os.close(descriptor)


def _beside(database: Path) -> Path:
    return database.with_name(f".{database.name}.lock")


def _written(descriptor: int) -> str:
    text = os.pread(descriptor, 200, 0).decode(errors="replace")
    return "".join(char for char in text if char.isprintable())


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
