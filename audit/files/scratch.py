"""Working folders that no killed process leaves behind for long."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from audit.errors import LockedError
from audit.files import lock

_PREFIX: Final = ".fairaudit-scratch-"
_WORK: Final = "work"
"""The lock of a folder lies in it and is named after this."""


@contextmanager
def folder(parent: Path) -> Iterator[Path]:
    """Yield a new folder in ``parent`` that is removed when the block ends.

    Folders that killed processes left in ``parent`` are removed first.

    Raises:
        OSError: nothing can be written in ``parent``.
    """
    sweep(parent)
    with ExitStack() as until:
        while True:
            place = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            try:
                until.enter_context(lock.held(place / _WORK))
                break
            except (FileNotFoundError, LockedError):  # another process swept it before it was held
                continue
        until.callback(shutil.rmtree, place, ignore_errors=True)
        yield place


def sweep(parent: Path) -> None:
    """Remove the folders in ``parent`` that this user's killed processes left."""
    for place in parent.glob(f"{_PREFIX}*"):
        try:
            found = place.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
                with lock.held(place / _WORK):
                    shutil.rmtree(place, ignore_errors=True)
        except (OSError, LockedError):  # another process works there, or has just removed it
            continue
