"""Numbered scripts that bring a store's tables up to this version, and the views on top."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from audit.errors import AuditError, StoreError
from audit.files import folders
from audit.store import archive, catalogue
from audit.store.database import (
    LONGEST_S,
    STORE,
    Connection,
    attach,
    execute,
    open_store,
    rows,
)
from audit.words import ARCHIVE


@contextmanager
def migrated(
    path: Path,
    memory_limit: str = "512MB",
    seed: Path | None = None,
    base: Path | None = None,
) -> Iterator[Connection]:
    """The store at ``path``, made where there is none, up to date, and open while the block runs.

    Args:
        path: the file; its folder must exist.
        seed: a published database, with whose content a new store begins.
        base: the folder of the published database, to which names in its archive are relative.

    Raises:
        LockedError, UsageError, StoreError: as ``database.open_store``, ``migrate``.
    """
    con = open_store(path, memory_limit)
    try:
        if base is not None:
            archive.reach(con, base)
        if seed is not None:
            archive.reach(con, seed.parent)
            _begin_with(con, seed)
        migrate(con)
        yield con
    finally:
        con.close()


@contextmanager
def temporary(memory_limit: str = "512MB", seed: Path | None = None) -> Iterator[Connection]:
    """As ``migrated``, but the store is thrown away when the block ends."""
    with (
        tempfile.TemporaryDirectory(prefix="fairaudit-") as folder,
        migrated(_own(folder) / "store.duckdb", memory_limit, seed) as con,
    ):
        yield con


def _own(folder: str) -> Path:
    path = Path(folder)
    folders.require(path)
    return path


def migrate(con: Connection) -> None:
    """Bring a store's tables up to this version, then renew its views if they are others.

    Views hold no data: they are made anew, with their comments, whenever a script of theirs or of a
    table, or an entry in the registry of columns, is another than when they were made, or a view is
    another than these make. Tables then get the columns of the registry that they lack.

    Raises:
        UsageError: the store was made by a newer fairaudit.
        StoreError: a script fails (it is named), or the store has macros.
    """
    catalogue.refuse_programs(con, STORE)
    done = catalogue.make_tables(con, catalogue.newest())
    catalogue.refuse_newer(max(done, default=0))
    catalogue.make_views(con, done)


def _begin_with(con: Connection, path: Path) -> None:
    """Fills the empty store of ``con`` with the rows of the tables that were published at ``path``.

    Nothing else is taken from there, as anyone may have made it: tables are made by the scripts
    that its version had.
    """
    attach(con, path, "published", read_only=True)
    execute(con, f"SET max_execution_time = {LONGEST_S * 1000}")
    try:
        catalogue.refuse_programs(con, "published")
        files = [file for pair in catalogue.archived(con, "published") for file in pair]
        catalogue.close(catalogue.open_files(path.parent / ARCHIVE, path.parent, files))
        ((of,),) = rows(con, "SELECT max(number)::BIGINT FROM published.main.migrations")
        if of is None:
            raise StoreError("it has no migration")
        catalogue.refuse_newer(of)
        catalogue.make_tables(con, of)
        catalogue.add_columns(con, catalogue.declared_columns(con, "published"))
        tables = rows(
            con,
            "SELECT table_name, string_agg('\"' || column_name || '\"', ', ') "
            "FROM system.main.duckdb_columns() "
            "WHERE database_name = $store AND table_name <> 'migrations' GROUP BY ALL",
            {"store": STORE},
        )
        for table, columns in tables:
            taken = f"SELECT {columns} FROM published.main.{table}"  # noqa: S608
            execute(con, f"INSERT INTO {STORE}.main.{table} ({columns}) {taken}")
    except AuditError as error:
        raise type(error)(f"{path}: not a database of fairaudit: {error}") from error
    finally:
        execute(con, "RESET max_execution_time")
        execute(con, "DETACH published")
