"""What brings a store's tables up to this version: numbered scripts, then columns of the registry.

The views are made on top.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from audit import resources
from audit.errors import StoreError, UsageError
from audit.files import folders
from audit.registry import columns
from audit.store import archive, publish, queries
from audit.store.database import (
    Connection,
    execute,
    open_store,
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
        LockedError, StoreError: as ``database.open_store``, ``publish.seed`` and ``migrate``.
    """
    con = open_store(path, memory_limit)
    try:
        if base is not None:
            archive.reach(con, base)
        if seed is not None:
            archive.reach(con, seed.parent)
            publish.seed(con, seed)
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
    """Apply every script of ``sql/schema`` that the store has not seen, then renew the views.

    Each script runs in one transaction together with the record that it ran. If a script of a table
    or view, or an entry in the registry of columns, differs from when the views were made, tables
    get the columns that they lack, and all views are made anew.

    Raises:
        StoreError: the store was made by a newer fairaudit, or a script fails (it is named).
    """
    done = _apply_scripts(con, newest())
    views = done.pop(_VIEWS, None)
    if unknown := sorted(number for number in done if number > newest()):
        raise StoreError(
            f"this database has migration {unknown[-1]}, which this fairaudit does not know: "
            "it was made by a newer version; upgrade fairaudit"
        )
    _renew_views(con, views)


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
    names of others. Views are not looked at: see ``distrust_views``.

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
    if queries.rows(con, "catalog") != _catalog(number, tuple(_declared_columns(con))):
        raise foreign
    return number


def _declared_columns(con: Connection) -> list[tuple[str, str]]:
    """Table and name of the columns that the registry declares and a store has, in its order."""
    declared = columns.tables()
    found = rows(
        con,
        "SELECT table_name, column_name FROM system.main.duckdb_columns() "
        "WHERE NOT internal ORDER BY table_name, column_index",
    )
    return [(table, name) for table, name in found if name in declared.get(table, ())]


@cache
def _catalog(until: int, present: tuple[tuple[str, str], ...]) -> list[tuple[Any, ...]]:
    """The catalog of a store that has the scripts up to a number, and these declared columns."""
    with (
        tempfile.TemporaryDirectory(prefix="fairaudit-") as folder,
        closing(open_store(Path(folder) / "store.duckdb")) as con,
    ):
        _apply_scripts(con, until)
        _add_columns(con, present)
        return queries.rows(con, "catalog")


def _add_columns(con: Connection, wanted: Iterable[tuple[str, str]]) -> None:
    """Add columns of the registry, each of a table, that the tables lack."""
    declared, present = columns.tables(), set(_declared_columns(con))
    for table, name in wanted:
        if (table, name) not in present:
            execute(con, f'ALTER TABLE {table} ADD COLUMN "{name}" {declared[table][name]}')


def distrust_views(path: Path) -> None:
    """Let the next ``migrate`` of a store from elsewhere make all views anew.

    Args:
        path: the store, which passed ``check_catalog`` and which nobody has open.

    Raises:
        StoreError: it cannot be written.
    """
    with closing(open_store(path)) as con:
        execute(con, "DELETE FROM migrations WHERE number = ?", [_VIEWS])


def _renew_views(con: Connection, made_of: str | None) -> None:
    """Make columns and views anew, unless they are as scripts and registry make them."""
    declared = [(table, name) for table, of in columns.tables().items() for name in of]
    views = [
        *((view.name, view.script) for view in columns.views()),
        *((file.name, file.read_text(encoding="utf-8")) for file in _files("sql/views")),
    ]
    rest = [(file.name, file.read_text(encoding="utf-8")) for file in _files("sql/schema")]
    digest = hashlib.sha256(repr((columns.tables(), views, rest)).encode()).hexdigest()
    scripts = f"views made of scripts {digest}"
    if made_of == scripts:
        return
    with transaction(con):
        _add_columns(con, declared)
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
