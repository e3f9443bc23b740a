"""Publishes a database for readers, and returns unused space of a store to the disk."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from audit.errors import UNWRITABLE, StoreError, UnwritableError, refusals
from audit.files import privacy, replace
from audit.store.database import (
    Connection,
    FullDiskError,
    attach,
    execute,
    full_disk,
    open_store,
    rows,
)


def publish(con: Connection, path: Path, *, with_group: bool = False) -> None:
    """Write the content of the store of ``con`` to ``path``, replacing the file in one step.

    Readers keep the old file that they have open; new readers see the complete new one. A failure
    leaves the old file unchanged, and nothing beside it. Raises StoreError if the file cannot be
    written.
    """
    try:
        with _drafting(path, with_group) as draft:
            _copy(con, draft)
    except FullDiskError as error:  # it names the draft, which is gone
        raise full_disk(path, free(con).whole) from error


def hand_over(store: Path, path: Path, *, with_group: bool = False) -> None:
    """Publish a store's own file, which saves the copy; afterwards there is no file at ``store``.

    For a store that is no longer needed, when no connection to it is open. Otherwise as
    ``publish``. Raises StoreError if it cannot be put there, or was not closed in order.
    """
    if _log_of(store).exists():
        raise StoreError(f"{_log_of(store)}: still exists: the database is incomplete")
    with _drafting(path, with_group) as draft:
        shutil.move(store, draft)  # copies to another file system


def _copy(con: Connection, target: Path) -> None:
    attach(con, target, "snapshot")
    try:
        execute(con, "COPY FROM DATABASE store TO snapshot")
    finally:
        execute(con, "DETACH snapshot")


@contextmanager
def _drafting(path: Path, with_group: bool) -> Iterator[Path]:
    """Yield the path of a draft that replaces the published ``path``, read-only and without a log.

    A log beside ``path`` belongs to another file: DuckDB would replay it into this one.
    """
    try:
        with replace.drafting(path, also=(".wal",)) as draft:
            yield draft
            privacy.seal(draft, with_group=with_group)
            _log_of(path).unlink(missing_ok=True)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise full_disk(path, 0) from error
        kind = UnwritableError if error.errno in UNWRITABLE else StoreError
        raise kind(f"{path}: cannot be written: {error.strerror}") from error


def _log_of(path: Path) -> Path:
    return path.with_name(path.name + ".wal")


LEAST_BYTES: Final = 64 * 1024 * 1024
"""Free space above which a store may be compacted."""


class Size(NamedTuple):
    """Bytes of a store's file."""

    whole: int
    free: int

    @property
    def worth_it(self) -> bool:
        """Whether half of it, and more than LEAST_BYTES, is free."""
        return self.free > max(LEAST_BYTES, self.whole // 2)


def free(con: Connection) -> Size:
    """Return the size of the store's file, and how much of it is unused."""
    execute(con, "CHECKPOINT")
    sizes = "block_size * total_blocks, block_size * free_blocks"
    (row,) = rows(
        con,
        f"SELECT {sizes} FROM pragma_database_size() WHERE database_name = 'store'",  # noqa: S608
    )
    return Size(*row)


def compact(path: Path, memory_limit: str = "512MB") -> None:
    """Replace the store at ``path`` by a copy of itself without unused space.

    For the holder of the store's lock, when no connection to it is open. If it is killed, the store
    is unchanged. Readers of published databases are not affected. Raises StoreError if it cannot be
    copied or replaced; the store is then unchanged.
    """
    with (
        refusals(StoreError, path, "cannot be compacted"),
        replace.drafting(path, alone=True, also=(".wal",)) as draft,
    ):
        with closing(open_store(path, memory_limit)) as con:
            _copy(con, draft)
        if (log := _log_of(path)).exists():  # its rows are not in the file, nor in the copy
            raise StoreError(f"{log}: still exists; the database is not compacted")
