"""The statements of ``sql/queries`` as functions with declared parameters.

A file opens with comment lines: what it gives, then, where it takes any,
``-- parameters: cluster VARCHAR, from_time BIGINT``. Its body uses them as ``$cluster``. What is
declared and what is used must agree, which ``load`` checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from audit import resources
from audit.errors import StoreError
from audit.store import database
from audit.store.database import Connection, fetch, named_parameters, quote_name

if TYPE_CHECKING:
    import polars as pl

_DECLARATION = "-- parameters:"

_USED: dict[str, set[str]] = {}  # the parameters of each statement that was run


class Query(NamedTuple):
    """One file of ``sql/queries`` or ``sql/checks``."""

    name: str
    doc: str
    parameters: dict[str, str]  # name → SQL type
    sql: str


@cache
def load(name: str, folder: str = "sql/queries") -> Query:
    """Reads the query ``name``.

    Raises:
        StoreError: a line of its declaration cannot be read.
        AuditError: there is no such file.
    """
    path = resources.path(f"{folder}/{name}.sql")
    text = path.read_text(encoding="utf-8")
    doc: list[str] = []
    parameters: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith("--"):
            break
        if line.startswith(_DECLARATION):
            for item in line.removeprefix(_DECLARATION).split(","):
                words = item.split()
                if len(words) != 2:
                    raise StoreError(
                        f"{path.name}:{number}: a parameter is declared as 'name TYPE', "
                        f"not {item.strip()!r}"
                    )
                parameters[words[0]] = words[1]
        else:
            doc.append(line.removeprefix("--").strip())
    return Query(name, " ".join(doc), parameters, text)


def run(con: Connection, name: str, /, **arguments: object) -> pl.DataFrame:
    """The result of the query ``name`` with these arguments.

    Raises:
        StoreError: an argument is missing or not declared, or the query fails; its file is named.
    """
    return run_for(con, name, None, **arguments)


def run_for(
    con: Connection, name: str, columns: Sequence[str] | None, /, **arguments: object
) -> pl.DataFrame:
    """As ``run``, but only some columns of the result (None: all); those alone are read."""
    sql = _checked(con, name, arguments)
    if columns is not None:
        sql = f"SELECT {', '.join(map(quote_name, columns))} FROM (\n{sql}\n)"  # noqa: S608
    try:
        return fetch(con, sql, arguments)
    except StoreError as error:
        raise StoreError(f"sql/queries/{name}.sql: {error}") from error


def rows(con: Connection, name: str, /, **arguments: object) -> list[tuple[Any, ...]]:
    """As ``run``, for a few rows and without polars."""
    sql = _checked(con, name, arguments)
    try:
        return database.rows(con, sql, arguments)
    except StoreError as error:
        raise StoreError(f"sql/queries/{name}.sql: {error}") from error


def failed_checks(con: Connection) -> dict[str, pl.DataFrame]:
    """Runs every file of ``sql/checks``; gives the rows of those that return any, by name."""
    found = {}
    for file in resources.files("sql/checks", ".sql"):
        rows = fetch(con, load(file.stem, "sql/checks").sql)
        if not rows.is_empty():
            found[file.stem] = rows
    return found


def _checked(con: Connection, name: str, arguments: dict[str, object]) -> str:
    """The statement of a query that takes these arguments."""
    query = load(name)
    if query.sql not in _USED:  # to be asked of DuckDB's parser takes it as long as a small query
        _USED[query.sql] = named_parameters(con, query.sql)
    used = _USED[query.sql]
    if used != set(query.parameters):
        raise StoreError(
            f"sql/queries/{query.name}.sql: declares {sorted(query.parameters)} "
            f"but uses {sorted(used)}"
        )
    if set(arguments) != used:
        raise StoreError(
            f"sql/queries/{query.name}.sql: takes {sorted(used)}, was given {sorted(arguments)}"
        )
    return query.sql
