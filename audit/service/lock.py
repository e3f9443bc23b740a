"""One run at a time for each database."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from audit.errors import LockedError


@contextmanager
def held(database: Path) -> Iterator[None]:
    """Holds the right to write ``database`` while the block runs.

    The operating system lets go of it when the process ends, however it ends. The lock file goes
    with the block; one that a killed process left behind does no harm.

    Raises:
        LockedError: another run holds it.
    """
    path = database.with_name(f".{database.name}.lock")
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            raise LockedError(
                f"{database}: another run is writing this database; try again when it has finished"
            ) from error
        if _is_still(path, descriptor):
            break
        os.close(descriptor)  # its holder removed it between our open and our lock
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
