"""The statements of ``sql/queries`` as functions with declared parameters.

A query has the name of its file below that folder: ``waits/walltimes``. A file opens with comment
lines: its result, then, if it takes any, ``-- parameters: cluster VARCHAR, since BIGINT``. Its body
uses them as ``$cluster``. ``run`` checks that declaration and use agree.

A query over ``all_records`` or ``all_results`` reads archived attempts too: those of ``$cluster``,
from the files of all months, or of fewer if the declaration says so. ``-- archive: since, until``
names the parameters (numbers or lists of them, epoch s; NULL: no bound) between which the attempts
were queued or running.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from audit import resources
from audit.errors import StoreError
from audit.store import archive, database
from audit.store.database import Connection, FullDiskError, fetch, quote_name

if TYPE_CHECKING:
    import polars as pl

Result = TypeVar("Result")

_HEAD: Final = re.compile(r"-- (parameters|archive): (.*)")
_OVER_ARCHIVE: Final = re.compile(rf"(?<=FROM |JOIN )({'|'.join(archive.OVER_ARCHIVE)})\b")

_USED: Final = re.compile(r"^ *--.*|\$([a-z]\w*)", re.MULTILINE)
"""Comments, and parameters: DuckDB's parser, which finds them too, costs as much as a query."""


class Query(NamedTuple):
    """One file of ``sql/queries`` or ``sql/checks``."""

    name: str
    doc: str
    parameters: dict[str, str]  # name → SQL type
    archive: tuple[str, ...]  # parameters that select the months whose files are opened
    used: frozenset[str]  # parameters in the statement
    sql: str


@cache
def load(name: str, folder: str = "sql/queries") -> Query:
    """Read the query ``name``; raises StoreError if a line of its declaration cannot be read."""
    path = resources.path(f"{folder}/{name}.sql")
    text = path.read_text(encoding="utf-8")
    doc: list[str] = []
    parameters: dict[str, str] = {}
    bounds: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith("--"):
            break
        declared = _HEAD.fullmatch(line)
        if declared is None:
            doc.append(line.removeprefix("--").strip())
        elif declared[1] == "archive":
            bounds = tuple(declared[2].split(", "))
        else:
            for item in declared[2].split(","):
                try:
                    parameter, kind = item.split()
                except ValueError:
                    wrong = f"a parameter is declared as 'name TYPE', not {item.strip()!r}"
                    raise StoreError(f"{path.name}:{number}: {wrong}") from None
                parameters[parameter] = kind
    used = frozenset(filter(None, _USED.findall(text)))
    return Query(name, " ".join(doc), parameters, bounds, used, text)


def names() -> list[str]:
    """Return the names of all queries."""
    folder = resources.path("sql/queries")
    files = resources.files("sql/queries", ".sql")
    return [file.relative_to(folder).with_suffix("").as_posix() for file in files]


def run(con: Connection, name: str, /, **arguments: object) -> pl.DataFrame:
    """Return the result of the query ``name`` with these arguments.

    Raises StoreError if an argument is missing or not declared, or the query fails; its file is
    named.
    """
    return run_for(con, name, None, **arguments)


def run_for(
    con: Connection, name: str, columns: Sequence[str] | None, /, **arguments: object
) -> pl.DataFrame:
    """As ``run``, but only these columns of the result (None: all) are read."""
    if columns is None:
        return _done(fetch, con, name, arguments)
    names = ", ".join(map(quote_name, columns))
    return _done(fetch, con, name, arguments, f"SELECT {names} FROM ({{}})")  # noqa: S608


def count(con: Connection, name: str, /, **arguments: object) -> int:
    """Return the number of rows of the result; errors as of ``run``."""
    ((number,),) = _done(database.rows, con, name, arguments, "SELECT count(*) FROM ({})")
    return int(number)


def columns(con: Connection, name: str, /, **arguments: object) -> list[str]:
    """Return the names of the columns of the result; errors as of ``run``."""
    return _done(fetch, con, name, arguments, "FROM ({}) LIMIT 0").columns


def rows(con: Connection, name: str, /, **arguments: object) -> list[tuple[Any, ...]]:
    """As ``run``, for a few rows and without polars."""
    return _done(database.rows, con, name, arguments)


def failed_checks(con: Connection) -> dict[str, pl.DataFrame]:
    """Return the rows that files of ``sql/checks`` return, by name of the file."""
    names = [file.stem for file in resources.files("sql/checks", ".sql")]
    found = {name: fetch(con, load(name, "sql/checks").sql) for name in names}
    return {name: rows for name, rows in found.items() if not rows.is_empty()}


def _done(
    do: Callable[[Connection, str, dict[str, object]], Result],
    con: Connection,
    name: str,
    arguments: Mapping[str, object],
    of: str = "{}",
) -> Result:
    """Return what one of the functions of ``database`` makes of a query.

    ``of``: the statement, with braces for the query.
    """
    try:
        query = load(name)
        if query.used | {*query.archive} != set(query.parameters):
            raise StoreError(f"declares {sorted(query.parameters)} but uses {sorted(query.used)}")
        if set(arguments) != set(query.parameters):
            raise StoreError(f"takes {sorted(query.parameters)}, was given {sorted(arguments)}")
        sql = _of_months(con, query, arguments)
        sql = of.replace("{}", sql if of == "{}" else f"\n{sql}\n")  # comments end with a line
        return do(con, sql, {parameter: arguments[parameter] for parameter in query.used})
    except FullDiskError:  # no fault of the query
        raise
    except StoreError as error:
        raise StoreError(f"sql/queries/{name}.sql: {error}") from error


def _of_months(con: Connection, query: Query, arguments: Mapping[str, object]) -> str:
    """Return the text of a query that opens only the archived files that its arguments select.

    Without any, it reads the tables themselves: DuckDB takes 1 ms to bind the views over them.
    """
    if _OVER_ARCHIVE.search(query.sql) is None:
        return query.sql
    if not (every := archive.months(con)):
        return _OVER_ARCHIVE.sub(lambda view: archive.OVER_ARCHIVE[view[0]], query.sql)
    cluster = str(arguments["cluster"])
    months = [month for month in every if month.cluster == cluster]
    if query.archive:
        since, until = (arguments[name] for name in query.archive)
        first, last = _edge(min, since), _edge(max, until)
        months = [month for month in months if month.touches(first, last)]
    if len(months) == len(every):
        return query.sql
    rows_of = {
        view: archive.over_archive(table, [month.files[position] for month in months])
        for position, (view, table) in enumerate(archive.OVER_ARCHIVE.items())
    }
    return _OVER_ARCHIVE.sub(lambda view: f"({rows_of[view[0]]})", query.sql)


def _edge(pick: Callable[[Iterable[int]], int], given: Any) -> int | None:
    """Return an instant, or the outermost of a list of them; None: no bound."""
    return pick(given) if isinstance(given, list) and given else given or None
