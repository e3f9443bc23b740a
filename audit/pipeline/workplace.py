"""Where an audit works, and its right to replace what is there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from audit.errors import LockedError, StoreError, UsageError
from audit.files import lock
from audit.store import database


@contextmanager
def workplace(out: Path) -> Iterator[Path]:
    """A folder inside ``out`` for what is not finished; gone when the block ends.

    Raises:
        UsageError: ``out`` cannot be made or written.
        LockedError: another run is writing a report there.
    """
    made = [folder for folder in (out, *out.parents) if not folder.exists()]
    work = out / ".fairaudit"
    try:
        out.mkdir(parents=True, exist_ok=True)
        with lock.held(out / "report.html"):
            shutil.rmtree(work, ignore_errors=True)  # of a run that was killed
            work.mkdir()
            try:
                yield work
            finally:
                shutil.rmtree(work, ignore_errors=True)
    except (PermissionError, FileExistsError, NotADirectoryError) as error:
        raise UsageError(
            f"{out}: cannot be written ({error.strerror}); choose another place with --out"
        ) from error
    finally:
        for folder in made:  # leave no empty folder where nothing came of it
            try:
                folder.rmdir()
            except OSError:
                break


@contextmanager
def replacing(target: Path) -> Iterator[None]:
    """Holds the right to replace the database ``target`` while the block runs.

    Raises:
        LockedError: another run holds it, or another program is writing it.
        UsageError: what is there is no database of fairaudit, or its folder cannot be written.
    """
    try:
        with lock.held(target):
            if target.exists():
                _check_replaceable(target)
            yield
    except PermissionError as error:
        raise UsageError(f"{target}: cannot be written: {error.strerror}") from error
    except FileNotFoundError as error:
        raise UsageError(f"{target}: its folder does not exist; create it first") from error


def _check_replaceable(target: Path) -> None:
    try:
        con = database.open_snapshot(target)
    except LockedError:
        raise
    except StoreError as error:
        raise UsageError(f"{error}; fairaudit does not replace it") from error
    try:
        database.fetch(con, "SELECT number FROM migrations")
    except StoreError as error:
        raise UsageError(
            f"{target}: a database, but not one of fairaudit: it is not replaced"
        ) from error
    finally:
        con.close()
