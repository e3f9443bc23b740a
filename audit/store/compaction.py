"""Gives back what a store no longer uses: a DuckDB file never shrinks by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from audit.errors import StoreError
from audit.files import replace
from audit.store.database import Connection, attach, execute, open_store, rows

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
