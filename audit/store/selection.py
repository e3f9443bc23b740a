"""One statement that a person typed: it must select, and its rows are read piece by piece.

``database.open_snapshot`` takes files, network and settings away. What it leaves (temporary tables,
variables, a second ATTACH of the same file) is refused here, by the kind of the statement as
DuckDB's own parser sees it. The statement is then read as a subquery, so that DuckDB itself makes
text of the values: other libraries do not know all of its types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import duckdb

from audit.errors import StoreError
from audit.store import database
from audit.store.database import Connection

if TYPE_CHECKING:
    import polars as pl

_BATCH: Final = 2048  # rows held at a time

# What a semicolon does not end: literals, names, comments.
_SEALED: Final = (
    r"(?<!\w)[eE]'(?:\\.|''|[^'\\])*'"
    r"|(?:(?<![eE])|(?<=\w[eE]))'(?:[^']|'')*'"
    r'|"(?:[^"]|"")*"'
    r"|\$(?P<tag>\w*)\$.*?\$(?P=tag)\$"
    r"|--[^\n]*"
    r"|/\*.*?\*/"
)
_SEALED_OR_END: Final = re.compile(rf"{_SEALED}|;", re.DOTALL)
_OPEN: Final = re.compile(r"['\"]|\$\w*\$|/\*")
_EXPLAIN: Final = re.compile(r"\s*EXPLAIN\b(\s+ANALYZE\b)?(\s*\([^)]*\))?", re.IGNORECASE)


# What tells where this machine keeps things (DuckDB's settings, folders, open files), and what runs
# text that it is given, which might name these.
_PLACES: Final = re.compile(
    r"\b(duckdb_(?:databases|settings|extensions|extension_repositories|secrets|logs|log_contexts"
    r"|logs_parsed|external_file_cache|external_resources|temporary_files|prepared_statements)"
    r"|(?:pragma_)?database_list|pg_settings|which_secret|current_setting|allowed_paths"
    r"|allowed_directories|secret_directory|extension_directory|temp_directory|home_directory"
    r'|json_execute_serialized_sql)\b|\b(query|query_table)"?\s*(?:\(|/\*|--)',
    re.IGNORECASE,
)


class Column(NamedTuple):
    """A column of a result."""

    name: str
    kind: str
    """Its SQL type."""


@dataclass(frozen=True)
class Selection:
    """A statement that selects; its columns are called ``c0``, ``c1``, … where it is read."""

    query: str
    columns: tuple[Column, ...]
    parameters: Mapping[str, object] = field(default_factory=dict)


def is_complete(text: str) -> bool:
    """Whether ``text`` ends with a semicolon that ends a statement."""
    rest = _SEALED_OR_END.sub(lambda found: ";" if found[0] == ";" else "", text)
    return _OPEN.search(rest) is None and rest.rstrip().endswith(";")


def select(con: Connection, text: str, parameters: Mapping[str, object]) -> Selection:
    """The one statement of ``text``, if it selects.

    Args:
        con: where it is to be read.
        text: SQL; a semicolon may end it.
        parameters: values of its ``$name`` parameters; they never become part of the text.

    Raises:
        StoreError: it is wrong, several, or does something else than select.
    """
    with _refusals():
        try:
            parts = con.extract_statements(text)
            kinds = [part.type.name for part in parts]
        except ValueError as error:  # a kind that the parser knows and its bindings do not
            raise StoreError("only statements that select are allowed") from error
        if len(parts) != 1:
            raise StoreError(f"give one statement at a time, not {len(parts)}")
        if (found := _PLACES.search(text)) is not None:
            raise StoreError(
                f"{found[1] or found[2]} is not allowed here: it could show where this machine "
                "keeps things; duckdb_tables(), duckdb_views() and duckdb_columns() are"
            )
        kind = kinds[0]
        query = _SEALED_OR_END.sub(lambda found: " " if found[0] == ";" else found[0], text)
        if kind == "EXPLAIN":
            return _explained(con, query, parameters)
        if kind not in ("SELECT", "MULTI"):  # PIVOT is made of several
            raise StoreError(
                f"only statements that select are allowed (SELECT, FROM, VALUES, DESCRIBE, "
                f"SUMMARIZE, PIVOT, EXPLAIN), not {kind}"
            )
        relation = con.sql(query, params=dict(parameters) or None)
        columns = tuple(map(Column, relation.columns, map(str, relation.types)))
    return Selection(query, columns, parameters)


def _explained(con: Connection, query: str, parameters: Mapping[str, object]) -> Selection:
    """The plan of a statement that selects, as a selection of its own."""
    inner = con.extract_statements(_EXPLAIN.sub("", query, count=1))
    if [part.type.name for part in inner] != ["SELECT"]:
        raise StoreError("only statements that select can be explained")
    key, plan = con.execute(query, dict(parameters) or None).fetchall()[-1][:2]
    return Selection(
        "SELECT $explain_key AS explain_key, $explain_value AS explain_value",
        (Column("explain_key", "VARCHAR"), Column("explain_value", "VARCHAR")),
        {"explain_key": key, "explain_value": plan},
    )


def rows(
    con: Connection, selection: Selection, cells: Sequence[str], most: int | None
) -> Iterator[list[tuple[str | None, ...]]]:
    """The first ``most`` rows (None: all), some at a time.

    Args:
        con: where to read.
        selection: what to read.
        cells: SQL expressions over ``c0``, ``c1``, … that each give text.
        most: at most so many rows.

    Raises:
        StoreError: it fails on the way; TimeLimitError and MemoryLimitError where a limit ends it.
    """
    with _refusals():
        con.execute(_reading(selection, cells, most), dict(selection.parameters) or None)
        try:
            while batch := con.fetchmany(_BATCH):
                yield batch
        finally:
            while most is not None and con.fetchmany(_BATCH):
                pass  # a result that is not read to its end keeps the connection


def frame(
    con: Connection, selection: Selection, cells: Sequence[str], most: int | None
) -> pl.DataFrame:
    """As ``rows``, but whole and with the types of ``cells``; columns are ``c0``, ``c1``, …

    It is gathered within DuckDB first, whose limits hold for it.
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
    """Turns what DuckDB raises into errors of this project."""
    try:
        yield
    except (duckdb.Error, MemoryError) as error:
        raise database.refusal(error) from error
    except RuntimeError as error:
        if "interrupted" in str(error):  # by Ctrl-C
            raise KeyboardInterrupt from error
        raise


def _reading(selection: Selection, cells: Sequence[str], most: int | None) -> str:
    names = ", ".join(f"c{number}" for number in range(len(selection.columns)))
    limit = "" if most is None else f"\nLIMIT {int(most)}"
    # The statement stands between lines of its own: it may end with a comment.
    return f"SELECT {', '.join(cells)}\nFROM (\n{selection.query}\n) AS answer ({names}){limit}"
