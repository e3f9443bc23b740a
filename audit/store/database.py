"""The only module that opens DuckDB: the service's store, and read-only connections.

DuckDB lets one process write or many read, never both. So a run writes a store that no other
process opens, and publishes a snapshot of it (``audit.store.publish``), which readers can keep.
polars is loaded only when a frame is made, because reading a few rows does not need it.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import duckdb

from audit.errors import UNWRITABLE, LockedError, StoreError, UnwritableError
from audit.store.streams import ArrowStream

if TYPE_CHECKING:
    import polars as pl

STORAGE_VERSION: Final = "v1.5.0"
"""On-disk format of every file written: one version behind, so that older clients can read it."""

Connection = duckdb.DuckDBPyConnection

_FULL: Final = re.compile(r'file "([^"]+)"[^"]*: (?:No space left on device|Disk quota exceeded)')
"""DuckDB's error on a full disk, also if it is quoted as the reason of a later error."""

_SPARE_BYTES: Final = 64_000_000
"""Free space that a write-ahead log and a checkpoint of a small store need."""

_CACHE_KEPT: Final = "64MB"

_OFFLINE: Final[dict[str, str | bool | int | float | list[str]]] = {
    # Extensions cannot be fetched where fairaudit runs; looking for them costs seconds each time.
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}

CLOSED: Final[dict[str, str | bool | int | float | list[str]]] = {
    **_OFFLINE,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    # DuckDB would look for other names among the variables of this program.
    "python_enable_replacements": False,
}
"""Options of a connection that will be locked."""

STORE: Final = "store"
"""Name of the file that ``open_store`` opens, within its connection."""

SNAPSHOT: Final = "fairaudit"
"""Name of a published database, within a connection that reads it."""

LONGEST_S: Final = 900
"""Default limit of a statement over a published database, in seconds."""


class TimeLimitError(StoreError):
    """A statement took longer than the connection allows."""


class MemoryLimitError(StoreError):
    """A statement needs more memory than the connection allows."""


class FullDiskError(StoreError):
    """There is no space left for a database or its temporary files."""


def open_store(path: Path, memory_limit: str = "512MB") -> Connection:
    """Open the database file at ``path`` for writing; it is created if it does not exist.

    Above ``memory_limit`` DuckDB spills to disk beside the file, whose folder must exist.

    Raises:
        LockedError: another process has the file open.
        StoreError: the file is not a database, or cannot be written.
    """
    con = duckdb.connect(
        config={
            **_OFFLINE,
            "memory_limit": memory_limit,
            "threads": 1,  # others would mostly wait for work, at a cost
            "allocator_background_threads": True,
        }
    )
    try:
        con.execute(f"SET temp_directory = {quote_text(str(path) + '.tmp')}")
        attach(con, path, STORE)
        con.execute(f"USE {STORE}")
        con.execute("SET TimeZone = 'UTC'")
    except BaseException:
        con.close()
        raise
    return con


def attach(con: Connection, path: Path, name: str, *, read_only: bool = False) -> None:
    """Attach the file at ``path`` under ``name``; errors as of ``open_store``."""
    mode = "READ_ONLY" if read_only else f"STORAGE_VERSION '{STORAGE_VERSION}'"
    try:
        con.execute(f"ATTACH {quote_text(str(path))} AS {name} ({mode})")
    except duckdb.Error as error:
        raise _opening_error(path, error) from error


@contextmanager
def looking_into(con: Connection, path: Path) -> Iterator[None]:
    """While the block runs, statements of a store read the database at ``path`` instead.

    Eight times faster than a new connection. Errors as of ``open_store``.
    """
    attach(con, path, "other", read_only=True)
    try:
        execute(con, "USE other")
        yield
    finally:
        execute(con, f"USE {STORE}")
        execute(con, "DETACH other")


def open_locked(path: Path, memory_limit: str, timeout_s: int, *reach: Any) -> Connection:
    """Open the database at ``path`` read-only, without checks, and lock the connection.

    ``reach`` names further files that can be read, and the folder to which they are relative.
    Errors as of ``open_store``.
    """
    con = duckdb.connect(config=CLOSED)
    try:
        attach(con, path, SNAPSHOT, read_only=True)
        _lock(con, memory_limit, timeout_s, *reach)
    except BaseException:
        con.close()
        raise
    return con


def _lock(
    con: Connection,
    memory_limit: str,
    timeout_s: int,
    files: Sequence[str] = (),
    base: Path | None = None,
) -> None:
    """Make an attached ``SNAPSHOT`` the only thing that a connection can reach, for good.

    A function of its own, because tests/security leave it out to try the layers below it alone.
    """
    settings = {
        "TimeZone": "'UTC'",
        "memory_limit": quote_text(memory_limit),
        "temp_directory": "''",
        "max_temp_directory_size": "'0KB'",
        "max_execution_time": int(timeout_s) * 1000,
    }
    if files and base is not None:
        paths = ", ".join(quote_text(path) for file in files for path in (file, f"{base}/{file}"))
        settings |= {"file_search_path": quote_text(str(base)), "allowed_paths": f"[{paths}]"}
    for name, value in settings.items():
        con.execute(f"SET {name} = {value}")
    con.execute(f"USE {SNAPSHOT}")
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")


def _opening_error(path: Path, error: duckdb.Error) -> StoreError:
    text = str(error).splitlines()[0]
    if _FULL.search(str(error)):
        return refusal(error)
    if "set lock on file" in text or "already attached" in text:
        busy = "another run or reader has this database open; try again when it has finished"
        return LockedError(f"{path}: {busy}")
    if isinstance(error, duckdb.IOException) and "not a valid DuckDB" in text:
        return StoreError(f"{path}: not a DuckDB database; name another file or remove this one")
    why = f"{path}: cannot be opened as a database: {text}"
    if "Corrupt database" in text:
        return StoreError(
            f"{why}; if it is the store, restore a backup; if it is the published database, remove "
            "it, and the next run publishes it again"
        )
    if any(os.strerror(number) in text for number in UNWRITABLE):
        return UnwritableError(f"{why}; choose another place, or change its permissions")
    return StoreError(why)


def refusal(error: Exception) -> StoreError:
    """Return DuckDB's error as an error of this project."""
    if isinstance(error, duckdb.InterruptException) and "maximum execution time" in str(error):
        return TimeLimitError("the time limit was reached")
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        return MemoryLimitError("the memory limit was reached (store.memory_limit)")
    if full := _FULL.search(str(error)):
        file = Path(full[1])
        return full_disk(file, file.stat().st_size if file.exists() else 0)
    return StoreError(str(error))


def full_disk(file: Path, size: int) -> FullDiskError:
    """Return the error of a full disk; ``size`` is that of the database in bytes, as far as known.

    The message names the place, the space that is needed, and what is safe.
    """
    least = max(_SPARE_BYTES, 2 * size)
    return FullDiskError(
        f"{file.absolute().parent}: the disk is full: {file.name} could not be written. Free at "
        f"least {math.ceil(least / 1e6):,} MB there and run the command again. What earlier runs "
        "stored and published is unchanged; only the current step is lost"
    )


def usable(con: Connection) -> bool:
    """Return whether a connection still works; after a fatal error, it refuses all statements."""
    try:
        con.execute("SELECT 1").fetchall()
    except duckdb.Error:
        return False
    return True


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        raise refusal(error) from error


def fetch(
    con: Connection, sql: str, parameters: Mapping[str, object] | None = None
) -> pl.DataFrame:
    """Return the result of one statement.

    Raises StoreError if DuckDB refused it; the message has its reason.
    """
    import polars as pl

    with _refusals():
        relation = con.sql(sql, params=dict(parameters) if parameters else None)
        if relation is None:  # a statement without a result, whatever the stubs say
            return pl.DataFrame()  # type: ignore[unreachable]
        rows: Any = ArrowStream(relation.__arrow_c_stream__())
        return pl.DataFrame(rows)


def rows(
    con: Connection, sql: str, parameters: Mapping[str, object] | None = None
) -> list[tuple[Any, ...]]:
    """Return the result of one statement, as a few rows; errors as of ``fetch``."""
    with _refusals():
        return con.execute(sql, dict(parameters) if parameters else None).fetchall()


def execute(con: Connection, sql: str, parameters: Sequence[object] = ()) -> None:
    """Run one statement for its effect; errors as of ``fetch``."""
    with _refusals():
        con.execute(sql, list(parameters))


def insert(
    con: Connection,
    table: str,
    frame: pl.DataFrame,
    constants: Mapping[str, object] | None = None,
) -> None:
    """Append the rows of ``frame`` to ``table``, matching columns by name.

    Columns of the table that are neither in ``frame`` nor in ``constants`` become NULL. Raises
    StoreError if a row breaks a constraint.
    """
    if frame.is_empty():
        return
    nulls = zip(frame.columns, frame.null_count().row(0), strict=True)
    filled = [name for name, number in nulls if number < frame.height]
    own = dict(constants or {})
    names = ", ".join(map(quote_name, [*filled, *own]))
    values = ", ".join([*map(quote_name, filled), *("?" for _ in own)])
    sql = f"INSERT INTO {quote_name(table)} ({names}) SELECT {values} FROM fairaudit_rows"  # noqa: S608
    _execute_over(con, frame.select(filled), sql, list(own.values()))


def folder(con: Connection) -> Path | None:
    """Return the folder for temporary files of a connection; None: it may write none."""
    ((place,),) = rows(con, "SELECT current_setting('temp_directory')")
    return Path(place).parent if place else None


def drop_cache(con: Connection) -> None:
    """Free the pages of the store that are on disk; DuckDB would keep them up to its limit."""
    ((limit,),) = rows(con, "SELECT current_setting('memory_limit')")
    with suppress(StoreError):  # it needs more at present
        execute(con, f"SET memory_limit = '{_CACHE_KEPT}'")
    execute(con, f"SET memory_limit = {quote_text(limit)}")


def put(
    con: Connection, table: str, key: Mapping[str, object], values: Mapping[str, object]
) -> None:
    """Write a row in place of the one with this key."""
    import polars as pl  # an idle run loads no frames

    where = " AND ".join(f"{quote_name(column)} = ?" for column in key)
    with transaction(con):
        execute(con, f"DELETE FROM {quote_name(table)} WHERE {where}", list(key.values()))  # noqa: S608
        insert(con, table, pl.DataFrame([{**key, **values}]))


def keep(con: Connection, table: str, frame: pl.DataFrame) -> None:
    """Make a temporary table of the rows of ``frame``."""
    _execute_over(con, frame, f"CREATE TEMP TABLE {quote_name(table)} AS FROM fairaudit_rows")


def _execute_over(
    con: Connection, frame: pl.DataFrame, sql: str, parameters: Sequence[object] = ()
) -> None:
    """Run a statement for which the rows of ``frame`` are the view ``fairaudit_rows``."""
    con.register("fairaudit_rows", ArrowStream(frame.__arrow_c_stream__(None)))
    try:
        execute(con, sql, parameters)
    except BaseException:
        with suppress(duckdb.Error):  # its transaction was aborted, which would hide the error
            con.unregister("fairaudit_rows")
        raise
    con.unregister("fairaudit_rows")


def delete(con: Connection, table: str, *, cluster: str, keep: Sequence[str] = ()) -> None:
    """Remove the rows of one cluster from ``table``, except those of the periods in ``keep``."""
    where = "cluster = ?" + (" AND period NOT IN (SELECT unnest(?))" if keep else "")
    values = [cluster, list(keep)] if keep else [cluster]
    execute(con, f"DELETE FROM {quote_name(table)} WHERE {where}", values)  # noqa: S608


@contextmanager
def transaction(con: Connection) -> Iterator[None]:
    """Commit when the block ends, roll back when it raises."""
    execute(con, "BEGIN")
    try:
        yield
    except BaseException:
        with suppress(StoreError):  # if DuckDB has rolled back by itself
            execute(con, "ROLLBACK")
        raise
    execute(con, "COMMIT")


def statements(con: Connection, script: str) -> list[str]:
    """Split a script into its statements, by DuckDB's own parser."""
    with _refusals():
        return [statement.query for statement in con.extract_statements(script)]


def named_parameters(con: Connection, sql: str) -> set[str]:
    """Return the ``$name`` parameters of one statement."""
    with _refusals():
        return {name for part in con.extract_statements(sql) for name in part.named_parameters}


def quote_text(text: str) -> str:
    """``text`` as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def quote_name(name: str) -> str:
    """``name`` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
