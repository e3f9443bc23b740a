"""Gives readers a database of their own, and back to the disk what a store no longer uses."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from audit.errors import UNWRITABLE, StoreError, UnwritableError
from audit.files import privacy, replace
from audit.store.database import Connection, attach, execute, open_store, rows


def publish(con: Connection, path: Path, *, with_group: bool = False) -> None:
    """Writes all that the store of ``con`` holds to ``path``, replacing what was there.

    A reader that has the old file open keeps it; a new reader sees the whole of the new one. A
    failure leaves the old file as it was, and nothing beside it.

    Args:
        path: the file; its folder must exist.

    Raises:
        StoreError: the file cannot be written.
    """
    with _drafting(path, with_group) as draft:
        attach(con, draft, "snapshot")
        try:
            execute(con, "COPY FROM DATABASE store TO snapshot")
        finally:
            execute(con, "DETACH snapshot")


def hand_over(store: Path, path: Path, *, with_group: bool = False) -> None:
    """Gives the file of a store away: what was worked in becomes what is at ``path``.

    For a store that is needed no more, when no connection to it is open. Spares a large one the
    copy that ``publish`` makes; otherwise as that. Afterwards there is no file at ``store``.

    Args:
        path: where it goes; its folder must exist.

    Raises:
        StoreError: it cannot be put there, or was not closed in order.
    """
    if _log_of(store).exists():
        raise StoreError(f"{_log_of(store)}: is left: the database is not whole")
    with _drafting(path, with_group) as draft:
        shutil.move(store, draft)  # copies where that is another file system


@contextmanager
def _drafting(path: Path, with_group: bool) -> Iterator[Path]:
    """Yield where to write what replaces the published ``path``: a read-only file without a log.

    A log that lies beside ``path`` belongs to another file: DuckDB would replay it into this one.
    """
    try:
        with replace.drafting(path, also=(".wal",)) as draft:
            yield draft
            privacy.seal(draft, with_group=with_group)
            _log_of(path).unlink(missing_ok=True)
    except OSError as error:
        kind = UnwritableError if error.errno in UNWRITABLE else StoreError
        raise kind(f"{path}: cannot be written: {error.strerror}") from error


def _log_of(path: Path) -> Path:
    return path.with_name(path.name + ".wal")


LEAST_BYTES: Final = 64 * 1024 * 1024
"""What must be free for a copy of the store to be worth it."""


class Size(NamedTuple):
    """Of a store's file, in bytes."""

    whole: int
    free: int

    @property
    def worth_it(self) -> bool:
        """Whether half of it, and more than LEAST_BYTES, is free."""
        return self.free > max(LEAST_BYTES, self.whole // 2)


def free(con: Connection) -> Size:
    """How much of the store's file is not used."""
    execute(con, "CHECKPOINT")
    (row,) = rows(
        con,
        "SELECT block_size * total_blocks AS whole, block_size * free_blocks AS free "
        "FROM pragma_database_size() WHERE database_name = 'store'",
    )
    return Size(*row)


def compact(path: Path, memory_limit: str = "512MB") -> None:
    """Writes the store at ``path`` anew, and puts that in its place in one step.

    For the holder of the store's lock, when no connection to it is open. Killed on the way, the
    store is as it was; what was begun is overwritten the next time. Published snapshots are other
    files, so their readers notice nothing.

    Raises:
        StoreError: it cannot be copied or replaced; it is as it was.
    """
    log = path.with_name(path.name + ".wal")
    try:
        with replace.drafting(path, alone=True, also=(".wal",)) as draft:
            con = open_store(path, memory_limit)
            try:
                attach(con, draft, "compact")
                execute(con, "COPY FROM DATABASE store TO compact")
                execute(con, "DETACH compact")
            finally:
                con.close()
            if log.exists():  # it could not be worked in, and must never meet another file
                raise StoreError(f"{log}: is left; the database is not compacted")
    except OSError as error:
        raise StoreError(f"{path}: cannot be compacted: {error.strerror}") from error
