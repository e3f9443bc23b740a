"""The state folder: one process writes it at a time; a restore replaces all of it or nothing."""

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
from audit.files.replace import sync

STORE: Final = "store.duckdb"
HISTORY: Final = "history.sqlite"

_RESTORED: Final = "restored"  # the folder of files that will replace those of the state folder

_SIDE_FILES: Final = (".wal", "-wal", "-journal", "-shm")
"""Files that DuckDB and SQLite leave beside theirs; a new file must not be opened with them."""


@contextmanager
def held(state: Path, who: str) -> Iterator[Path]:
    """Hold the right to write the store in the folder ``state``; yield the store's file.

    First, a restore that was killed after it took effect is finished, and leftovers of killed
    processes are removed. Raises LockedError if another process holds it.
    """
    store = state / STORE
    with lock.held(store, who):
        _finish(state)
        sweep_scratch(state)
        yield store


def begun(state: Path) -> bool:
    """Return whether there is a store."""
    return any((folder / STORE).exists() for folder in (state, state / _RESTORED))


def replace(state: Path, new: Path) -> None:
    """Replace the store and the history by those in the folder ``new``.

    One rename decides: before it, the old files are unchanged; after it, ``held`` of the next
    process finishes the rest. ``new`` contains both files and nothing else. It is on the same file
    system, and synced. Raises OSError if a file cannot be replaced.
    """
    sync(new)
    new.rename(state / _RESTORED)
    sync(state)
    _finish(state)


def _finish(state: Path) -> None:
    restored = state / _RESTORED
    if not restored.is_dir():
        return
    for name in (STORE, HISTORY):
        if (restored / name).exists():
            for ending in _SIDE_FILES:
                (state / f"{name}{ending}").unlink(missing_ok=True)
            (restored / name).replace(state / name)
    sync(state)
    restored.rmdir()


_PREFIX: Final = ".fairaudit-scratch-"
_WORK: Final = "work"  # the lock of a scratch folder is in it and named after this


@contextmanager
def scratch(parent: Path) -> Iterator[Path]:
    """Yield a new folder in ``parent`` that is removed when the block ends.

    Folders that killed processes left there are removed first. Raises OSError if nothing can be
    written in ``parent``; one without a file's name, as of a full disk, gets that of ``parent``.
    """
    sweep_scratch(parent)
    with ExitStack() as until:
        while True:
            place = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            try:
                until.enter_context(lock.held(place / _WORK))
                break
            except (FileNotFoundError, LockedError):  # another process swept it before it was held
                continue
        until.callback(shutil.rmtree, place, ignore_errors=True)
        try:
            yield place
        except OSError as error:
            if error.filename is None:
                error.filename = str(parent)
            raise


def sweep_scratch(parent: Path) -> None:
    """Remove the folders in ``parent`` that this user's killed processes left."""
    for place in parent.glob(f"{_PREFIX}*"):
        try:
            found = place.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid():
                with lock.held(place / _WORK):
                    shutil.rmtree(place, ignore_errors=True)
        except (OSError, LockedError):  # another process works there, or has just removed it
            continue
