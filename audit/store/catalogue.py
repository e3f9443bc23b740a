"""What a database that someone hands over may consist of: tables, and the views of fairaudit.

Tables are data. Views and macros are programs: they run in the process that asks, and a macro may
stand in for a function of DuckDB. So a database is read only if it has no macro and every view is
the one that ``sql/views`` makes. DuckDB's own functions are named in full here, so that nothing in
the database stands in for them.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import duckdb

from audit import resources
from audit.errors import StoreError
from audit.store.database import Connection, quote_text

ARCHIVED: Final = {
    "cluster": "VARCHAR",
    "from_time": "BIGINT",
    "to_time": "BIGINT",
    "first_arrival": "BIGINT",
    "records": "BIGINT",
    "results": "BIGINT",
    "records_file": "VARCHAR",
    "results_file": "VARCHAR",
    "records_sha256": "VARCHAR",
    "results_sha256": "VARCHAR",
}
"""The columns of the table ``archived``, and their types."""

OVER_ARCHIVE: Final = {"all_records": "records", "all_results": "job_result"}
"""The views over tables and files: view → the table of what is not archived."""

_VIEW: Final = re.compile(r"CREATE OR REPLACE VIEW (\w+) AS\s", re.IGNORECASE)


def archived(con: Connection, name: str) -> list[tuple[str, str]]:
    """The files that the table ``archived`` of the database ``name`` names: records and results.

    There are none where there is no such table, as in a database of an older version.

    Raises:
        StoreError: what is called so is no such table.
    """
    columns = _ask(
        con,
        "SELECT column_name, data_type FROM system.main.duckdb_columns() "
        "WHERE database_name = $name AND table_name = 'archived' AND schema_name = 'main'",
        name=name,
    )
    if not columns:
        return []
    if sorted(columns) != sorted(ARCHIVED.items()):
        raise StoreError("'archived' is not the table that fairaudit makes; it is not read")
    files = f"SELECT records_file, results_file FROM {name}.main.archived"  # noqa: S608
    return _ask(con, f"{files} ORDER BY cluster, to_time")


def check(con: Connection, name: str, files: Sequence[tuple[str, str]]) -> None:
    """See to it that the database ``name`` has no programs but the views of this version.

    Args:
        con: a connection that has attached it.
        name: of the database.
        files: what ``archived`` gave.

    Raises:
        StoreError: it has a macro, or another view.
    """
    refuse_programs(con, name)
    if strange := strange_views(con, name, files):
        raise StoreError(
            f"the view {strange[0][1]!r} is not the one that this version of fairaudit makes: "
            "another version made the database, or somebody changed it. Audit the logs again, or "
            "let 'fairaudit run' publish anew; 'fairaudit sql' reads it as it is"
        )


def refuse_programs(con: Connection, name: str) -> None:
    """See to it that the database ``name`` has no macro, and no view instead of a table.

    Raises:
        StoreError: it has one.
    """
    found = _ask(
        con,
        "SELECT 'macro', function_name FROM system.main.duckdb_functions() "
        "WHERE database_name = $name "
        "UNION ALL SELECT 'view', view_name FROM system.main.duckdb_views() "
        "WHERE database_name = $name AND view_name IN ('archived', 'migrations')",
        name=name,
    )
    if found:
        kind, called = found[0]
        raise StoreError(f"the {kind} {called!r} is not of fairaudit; the database is not read")


def strange_views(
    con: Connection, name: str, files: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """The views of the database ``name`` that this version would not make so: schema and name."""
    expected = _views(con)
    for position, (view, table) in enumerate(OVER_ARCHIVE.items()):
        body = over_archive(table, [pair[position] for pair in files])
        expected = {**expected, view: _written(con, view, body)}
    found = _ask(
        con,
        "SELECT schema_name, view_name, sql FROM system.main.duckdb_views() "
        "WHERE database_name = $name",
        name=name,
    )
    return [
        (schema, view)
        for schema, view, sql in found
        if schema != "main" or expected.get(view) != sql
    ]


def over_archive(table: str, files: Sequence[str]) -> str:
    """The query that reads a table, and files of the archive with the same rows."""
    rows = f"SELECT * FROM {table}"  # noqa: S608
    if files:
        named = ", ".join(map(quote_text, files))
        rows += f" UNION ALL BY NAME SELECT * FROM read_parquet([{named}])"  # noqa: S608
    return rows


def open_files(folder: Path, base: Path, names: Sequence[str]) -> list[int]:
    """Open files of an archive for reading; gives their descriptors, which the caller closes.

    Args:
        folder: the archive.
        base: the folder of the published database, to which names are relative.
        names: of the files, as ``archived`` has them.

    Raises:
        StoreError: a name leads elsewhere, or to no regular file; symbolic links are not followed.
    """
    opened: list[int] = []
    try:
        for name in names:
            parts = _below(folder, base, name)
            if parts is None:
                raise StoreError(
                    f"'archived' names {name!r}, which is not in the archive {folder} "
                    "(output.archive); the database is not read"
                )
            try:
                opened.append(_open_below(folder, parts))
            except OSError as error:
                raise StoreError(
                    f"the archive's file {name!r} cannot be read in {folder} (output.archive): "
                    f"{error.strerror}; restore it, or name the archive with --config"
                ) from error
    except BaseException:
        close(opened)
        raise
    return opened


def close(descriptors: Sequence[int]) -> None:
    """Close what ``open_files`` opened."""
    for descriptor in descriptors:
        os.close(descriptor)


def _below(folder: Path, base: Path, name: str | None) -> tuple[str, ...] | None:
    """The way from an archive to a file that is called so from ``base``; None: there is none."""
    if not name or "\0" in name:
        return None
    parts = Path(os.path.relpath(base / name, folder)).parts
    outside = not parts or parts[0] == os.pardir
    return None if outside or name != os.path.relpath(folder.joinpath(*parts), base) else parts


def _open_below(folder: Path, parts: Sequence[str]) -> int:
    """Open a regular file below a folder; no link below it is followed, and no FIFO waited for."""
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for position, part in enumerate(parts):
        kind = os.O_NONBLOCK if position == len(parts) - 1 else os.O_DIRECTORY
        try:
            inner = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | kind, dir_fd=at)
        finally:
            os.close(at)
        at = inner
    if not stat.S_ISREG(os.fstat(at).st_mode):
        os.close(at)
        raise OSError(0, "it is no regular file")
    return at


_made: dict[str, str] = {}


def _views(con: Connection) -> dict[str, str]:
    """The views of ``sql/views`` as DuckDB writes them: name → statement."""
    if not _made:
        for file in resources.files("sql/views", ".sql"):
            for part in con.extract_statements(file.read_text(encoding="utf-8")):
                if head := _VIEW.search(part.query):
                    _made[head[1]] = _written(con, head[1], part.query[head.end() :])
    return _made


def _written(con: Connection, view: str, query: str) -> str:
    """The statement that makes a view, as DuckDB writes it."""
    normal = "SELECT system.main.json_deserialize_sql(system.main.json_serialize_sql($query))"
    ((text,),) = _ask(con, normal, query=query)
    return f"CREATE VIEW {view} AS {text};"


def _ask(con: Connection, sql: str, **parameters: object) -> list[tuple[Any, ...]]:
    try:
        return con.execute(sql, parameters or None).fetchall()
    except duckdb.Error as error:
        raise StoreError(str(error)) from error
