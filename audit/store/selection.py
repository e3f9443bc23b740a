"""One statement that a person typed: it must select, and its rows are read in batches.

``audit.store.grammar`` checks it and returns the text that runs instead. That text is read as a
subquery, so that DuckDB itself formats the values: other libraries do not know all of its types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import duckdb

from audit.store import database
from audit.store.database import SNAPSHOT, Connection
from audit.store.grammar import SEALED, Grammar, Statement, Values

if TYPE_CHECKING:
    import polars as pl

_BATCH: Final = 2048  # rows

_SEALED_OR_END: Final = re.compile(rf"{SEALED}|;", re.DOTALL)
_OPEN: Final = re.compile(r"['\"]|\$\w*\$|/\*")


class SelectedColumn(NamedTuple):
    """A column of a result, and its SQL type."""

    name: str
    kind: str


@dataclass(frozen=True)
class SelectStatement:
    """A statement that selects; its columns are called ``c0``, ``c1``, … where it is read."""

    query: str
    columns: tuple[SelectedColumn, ...]
    parameters: Mapping[str, object] = field(default_factory=dict)


def is_complete(text: str) -> bool:
    """Return whether ``text`` ends with a semicolon that ends a statement."""
    rest = _SEALED_OR_END.sub(lambda found: ";" if found[0] == ";" else "", text)
    return _OPEN.search(rest) is None and rest.rstrip().endswith(";")


def select(
    con: Connection,
    grammar: Grammar,
    names: frozenset[str],
    text: str,
    parameters: Mapping[str, object],
) -> SelectStatement:
    """Return the one statement of ``text``, if it selects; a semicolon may end it.

    Values of its ``$name`` parameters never become part of the text. Raises StoreError if it is
    wrong, more than one, or does not select.
    """
    with _refusals():
        checked = grammar.check(text, names)
        if isinstance(checked, Values):
            values = [_values(con, query, parameters) for query in checked.queries]
            checked = Statement(grammar.pivoted(checked, values, names), checked.explain)
        if checked.explain:
            return _explained(con, f"{checked.explain} {checked.query}", parameters)
        if checked.table:
            return _kept(con, grammar, checked, parameters)
        relation = con.sql(checked.query, params=dict(parameters) or None)
        columns = tuple(map(SelectedColumn, relation.columns, map(str, relation.types)))
    return SelectStatement(checked.query, columns, parameters)


def readable(con: Connection, database_name: str = SNAPSHOT) -> frozenset[str]:
    """Return the names of the tables and views of a database, in lower case."""
    found = con.execute(
        "SELECT table_name FROM system.main.duckdb_tables() WHERE database_name = $name "
        "UNION ALL SELECT view_name FROM system.main.duckdb_views() WHERE database_name = $name",
        {"name": database_name},
    ).fetchall()
    return frozenset(name.lower() for (name,) in found)


def _values(con: Connection, query: str, parameters: Mapping[str, object]) -> list[str]:
    """Return the distinct values of a column, in order, as text."""
    used = database.named_parameters(con, query)
    given = {name: value for name, value in parameters.items() if name in used}
    values = f"SELECT DISTINCT v FROM (\n{query}\n) AS of (v) WHERE v IS NOT NULL ORDER BY v"  # noqa: S608
    found = con.execute(f"SELECT v::VARCHAR FROM ({values})", given or None).fetchall()  # noqa: S608
    return [value for (value,) in found]


def _kept(
    con: Connection, grammar: Grammar, checked: Statement, parameters: Mapping[str, object]
) -> SelectStatement:
    """Make a temporary table, and return how many rows it has, as a selection."""
    used = database.named_parameters(con, checked.query)
    given = {name: value for name, value in parameters.items() if name in used}
    table = f"temp.main.{database.quote_name(checked.table)}"
    con.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS {checked.query}", given or None)
    grammar.keep(checked.table)
    rows = SelectedColumn("rows", "BIGINT")
    return SelectStatement(f"SELECT count(*) AS rows FROM {table}", (rows,))  # noqa: S608


def _explained(con: Connection, query: str, parameters: Mapping[str, object]) -> SelectStatement:
    """Return the plan of a statement that selects, as another selection."""
    key, plan = con.execute(query, dict(parameters) or None).fetchall()[-1][:2]
    return SelectStatement(
        "SELECT $explain_key AS explain_key, $explain_value AS explain_value",
        (SelectedColumn("explain_key", "VARCHAR"), SelectedColumn("explain_value", "VARCHAR")),
        {"explain_key": key, "explain_value": plan},
    )


def rows(
    con: Connection, selection: SelectStatement, cells: Sequence[str], most: int | None
) -> Iterator[list[tuple[str | None, ...]]]:
    """Yield the first ``most`` rows (None: all), in batches.

    ``cells`` are SQL expressions over ``c0``, ``c1``, … that each return text. Raises StoreError if
    it fails; TimeLimitError and MemoryLimitError if a limit ends it.
    """
    with _refusals():
        con.execute(_reading(selection, cells, most), dict(selection.parameters) or None)
        try:
            while batch := con.fetchmany(_BATCH):
                yield batch
        finally:
            while most is not None and con.fetchmany(_BATCH):
                pass  # a result that is not read to its end blocks the connection


def frame(
    con: Connection, selection: SelectStatement, cells: Sequence[str], most: int | None
) -> pl.DataFrame:
    """As ``rows``, but complete and with the types of ``cells``; columns are ``c0``, ``c1``, …

    DuckDB collects it first, so that its limits hold.
    """
    named = [f"{cell} AS c{number}" for number, cell in enumerate(cells)]
    reading = _reading(selection, named, most)
    with _refusals():
        con.execute(f"CREATE OR REPLACE TEMP TABLE answer AS {reading}", dict(selection.parameters))
        try:
            return database.fetch(con, "FROM temp.answer")
        finally:
            con.execute("DROP TABLE temp.answer")


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn DuckDB's errors into errors of this project."""
    try:
        yield
    except (duckdb.Error, MemoryError) as error:
        raise database.refusal(error) from error
    except RuntimeError as error:
        if "interrupted" in str(error):  # by Ctrl-C
            raise KeyboardInterrupt from error
        raise


def _reading(selection: SelectStatement, cells: Sequence[str], most: int | None) -> str:
    names = ", ".join(f"c{number}" for number in range(len(selection.columns)))
    limit = "" if most is None else f"\nLIMIT {int(most)}"
    # on separate lines, as it may end with a comment
    return f"SELECT {', '.join(cells)}\nFROM (\n{selection.query}\n) AS answer ({names}){limit}"
