"""Numbered scripts that bring a store's tables up to this version, and the views on top."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from audit import resources
from audit.errors import StoreError, UsageError
from audit.files import folders
from audit.store import archive, catalogue, queries
from audit.store.database import (
    LONGEST_S,
    STORE,
    Connection,
    attach,
    execute,
    open_store,
    quote_name,
    rows,
    statements,
    transaction,
)


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
        memory_limit: as in ``database.open_store``.
        seed: a published database, with whose content a new store begins.
        base: the folder of the published database, to which names in its archive are relative.

    Raises:
        LockedError, StoreError: as ``database.open_store``, ``migrate``.
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


_VIEWS: Final = 0
"""The row of ``migrations`` that tells of which scripts the views were made. A comment would do,
but to look for one DuckDB takes longer than for all else that opening a store needs."""


def _files(folder: str) -> list[Path]:
    return resources.files(folder, ".sql")


def newest() -> int:
    """The number of the newest script of ``sql/schema``."""
    return max(map(_number, _files("sql/schema")))


def _number(script: Path) -> int:
    return int(script.stem.split("_")[0])


def migrate(con: Connection) -> None:
    """Applies every script of ``sql/schema`` that the store has not seen, then renews the views.

    Each script runs in one transaction together with the record that it ran. Views hold no data:
    they are made anew, with their comments, whenever a script of theirs or of a table is another
    than when they were made, or a view is another than these scripts make.

    Raises:
        StoreError: the store was made by a newer fairaudit, a script fails (it is named), or the
            store has macros.
    """
    catalogue.refuse_programs(con, STORE)
    done = _apply_scripts(con, newest())
    views = done.pop(_VIEWS, None)
    if unknown := sorted(number for number in done if number > newest()):
        raise _newer(unknown[-1])
    _renew_views(con, views)


def _newer(number: int | None) -> StoreError:
    return StoreError(
        f"this database has migration {number}, which this fairaudit does not know: "
        "it was made by a newer version; upgrade fairaudit"
    )


def _begin_with(con: Connection, path: Path) -> None:
    """Fills the empty store of ``con`` with the rows of the tables that were published at ``path``.

    Nothing else is taken from there, as anyone may have made it: tables are made by the scripts
    that its version had.

    Raises:
        LockedError: a process is writing ``path``.
        StoreError: it is no database of fairaudit.
    """
    attach(con, path, "published", read_only=True)
    execute(con, f"SET max_execution_time = {LONGEST_S * 1000}")
    try:
        catalogue.refuse_programs(con, "published")
        files = [file for pair in catalogue.archived(con, "published") for file in pair]
        catalogue.close(catalogue.open_files(path.parent, path.parent, files))
        ((of,),) = rows(con, "SELECT max(number)::BIGINT FROM published.main.migrations")
        if of is None or of > newest():
            raise _newer(of)
        _apply_scripts(con, of)
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
    except StoreError as error:
        raise StoreError(f"{path}: not a database of fairaudit: {error}") from error
    finally:
        execute(con, "RESET max_execution_time")
        execute(con, "DETACH published")


def _apply_scripts(con: Connection, until: int) -> dict[int, str]:
    """Applies the scripts up to a number; gives the rows of ``migrations`` that were there."""
    execute(con, "CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY, name VARCHAR)")
    done: dict[int, str] = dict(rows(con, "SELECT number, name FROM migrations"))
    for file in _files("sql/schema"):
        number = _number(file)
        if number not in done and number <= until:
            with transaction(con):
                _run_script(con, file.name, file.read_text(encoding="utf-8"))
                execute(con, "INSERT INTO migrations VALUES (?, ?)", [number, file.name])
    return done


def check_catalog(con: Connection) -> int:
    """Check that a database holds the tables of a store, exactly as the scripts make them.

    A database from elsewhere may hold tables that compute when they are read, or functions with the
    names of others. Views are not looked at: ``migrate`` makes foreign ones anew.

    Args:
        con: a snapshot.

    Returns:
        The number of its newest script.

    Raises:
        UsageError: the store was made by a newer fairaudit.
        StoreError: it holds anything else.
    """
    foreign = StoreError("a database, but not one of fairaudit")
    try:
        ((number,),) = rows(con, "SELECT max(number) FROM migrations")
    except StoreError as error:
        raise foreign from error
    if not isinstance(number, int):
        raise foreign
    if number > newest():
        raise UsageError(
            f"its store has migration {number}, this fairaudit knows {newest()}: it was made by a "
            "newer version; upgrade fairaudit"
        )
    if queries.rows(con, "catalog") != _catalog(number):
        raise foreign
    return number


@cache
def _catalog(until: int) -> list[tuple[Any, ...]]:
    """The catalog of a store that has the scripts up to a number."""
    with (
        tempfile.TemporaryDirectory(prefix="fairaudit-") as folder,
        closing(open_store(Path(folder) / "store.duckdb")) as con,
    ):
        _apply_scripts(con, until)
        return queries.rows(con, "catalog")


def _renew_views(con: Connection, made_of: str | None) -> None:
    """Makes the views anew, unless they are as these scripts make them."""
    views = [(file.name, file.read_text(encoding="utf-8")) for file in _files("sql/views")]
    rest = [(file.name, file.read_text(encoding="utf-8")) for file in _files("sql/schema")]
    digest = hashlib.sha256(repr((views, rest)).encode()).hexdigest()
    scripts = f"views made of scripts {digest}"
    strange = catalogue.strange_views(con, STORE, catalogue.archived(con, STORE))
    if made_of == scripts and not strange:
        return
    with transaction(con):
        for schema, view in strange:
            execute(con, f"DROP VIEW {quote_name(schema)}.{quote_name(view)}")
        if any(name == archive.SCHEMA for name, _ in rest):
            archive.renew_views(con)
        for name, script in views:
            _run_script(con, name, script)
        execute(con, "INSERT OR REPLACE INTO migrations VALUES (?, ?)", [_VIEWS, scripts])


def _run_script(con: Connection, name: str, script: str) -> None:
    for statement in statements(con, script):
        try:
            execute(con, statement)
        except StoreError as error:
            raise StoreError(f"sql {name}: {error}\n{statement.strip()}") from error
