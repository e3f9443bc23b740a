"""The folder where an audit works, and its right to replace files there."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from audit.errors import LockedError, StoreError, UsageError
from audit.files import folders, lock
from audit.store import database, snapshots


@contextmanager
def workplace(out: Path) -> Iterator[Path]:
    """Yield a folder inside ``out`` for unfinished files, which is removed when the block ends.

    Raises UsageError if ``out`` cannot be made or written, or another user can change it;
    LockedError if another run is writing a report there.
    """
    new_folders = [folder for folder in (out, *out.parents) if not folder.exists()]
    work = out / ".fairaudit"
    with ExitStack() as undo:
        undo.callback(_remove_empty, new_folders)
        try:
            folders.make(out)
            undo.enter_context(lock.held(out / "report.html"))
            undo.callback(shutil.rmtree, work, ignore_errors=True)
            shutil.rmtree(work, ignore_errors=True)  # of a run that was killed
            work.mkdir(mode=0o700)
        except (PermissionError, FileExistsError, NotADirectoryError) as error:
            why = f"cannot be written ({error.strerror}); choose another place with --out"
            raise UsageError(f"{out}: {why}") from error
        yield work


def _remove_empty(folders: list[Path]) -> None:
    """Remove folders, innermost first, up to the first that is not empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


@contextmanager
def replacing(target: Path) -> Iterator[None]:
    """Hold the right to replace the database ``target`` while the block runs.

    Raises LockedError if another run holds it, or another program is writing it; UsageError if the
    file is not a database of fairaudit, or its folder cannot be written.
    """
    with ExitStack() as held:
        try:
            held.enter_context(lock.held(target))
            if target.exists():
                _check_replaceable(target)
        except PermissionError as error:
            raise UsageError(f"{target}: cannot be written: {error.strerror}") from error
        except FileNotFoundError as error:
            raise UsageError(f"{target}: its folder does not exist; create it first") from error
        yield


def _check_replaceable(target: Path) -> None:
    try:
        with closing(snapshots.open_snapshot(target, tables_only=True)) as con:
            try:
                database.rows(con, "SELECT number FROM migrations")
            except StoreError as error:
                why = "a database, but not one of fairaudit: it is not replaced"
                raise UsageError(f"{target}: {why}") from error
    except LockedError:
        raise
    except StoreError as error:
        raise UsageError(f"{error}; fairaudit does not replace it") from error
