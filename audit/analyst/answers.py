"""How the rows of an analyst's query are written: table, csv, json, parquet.

DuckDB makes text of the values, by the expressions made here, so that every type of its can be
written, and csv and json of any length pass through without being held.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, Final

from audit import spreadsheets
from audit.errors import UsageError
from audit.progress import printable
from audit.store import selection
from audit.store.database import Connection, quote_text
from audit.store.selection import Column, Selection
from audit.words import Format

CELL_WIDTH: Final = 200
"""Characters of a cell that a table shows."""

_NUMBER: Final = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|BIGNUM|FLOAT|DOUBLE|DECIMAL\(.*\)")
_PLAIN: Final = re.compile(r"BOOLEAN|DATE|TIME.*|INTERVAL")
_KEPT_IN_PARQUET: Final = re.compile(
    r"BOOLEAN|VARCHAR|BLOB|DATE|TIME|TIMESTAMP|TIMESTAMP WITH TIME ZONE|FLOAT|DOUBLE"
    r"|DECIMAL\(.*\)|U?(TINY|SMALL|BIG)?INT(EGER)?"
)


def write(
    con: Connection,
    asked: Selection,
    form: Format,
    out: BinaryIO,
    *,
    most: int | None,
    raw: bool = False,
) -> tuple[str, ...]:
    """Writes the rows of ``asked``; gives what has to be said about what is missing.

    Args:
        raw: in csv, leave cells that a spreadsheet takes for formulas as they are.

    Raises:
        UsageError: this result cannot be written so.
        StoreError: reading it fails on the way.
    """
    if form is Format.parquet:
        return _parquet(con, asked, out, most)
    if form is Format.table:
        return _table(con, asked, out, most)
    show = printable if out.isatty() else str
    return (_csv if form is Format.csv else _json)(con, asked, out, most, show, raw=raw)


def _cut(most: int) -> tuple[str, ...]:
    return (f"only the first {most:,} rows are shown; --rows N shows more",)


def _lines(
    con: Connection, asked: Selection, cells: Sequence[str], most: int | None
) -> Iterator[tuple[list[tuple[str | None, ...]], bool]]:
    """Rows, some at a time, and whether more were left out; ends after what is left out."""
    left = most
    for batch in selection.rows(con, asked, cells, None if most is None else most + 1):
        if left is not None and len(batch) > left:
            yield batch[:left], True
            return
        yield batch, False
        left = None if left is None else left - len(batch)


# table ---------------------------------------------------------------------------------------


def _table(con: Connection, asked: Selection, out: BinaryIO, most: int | None) -> tuple[str, ...]:
    cells = [f"CAST(c{number} AS VARCHAR)" for number in range(len(asked.columns))]
    found: list[tuple[str | None, ...]] = []
    more = False
    for batch, more in _lines(con, asked, cells, most):  # noqa: B007
        found += batch
    remarks = _cut(most) if more and most is not None else ()
    if [column.name for column in asked.columns] == ["explain_key", "explain_value"]:
        out.write("".join(f"{printable(row[1] or '')}\n" for row in found).encode())
        return remarks
    shown = [[_shown(cell) for cell in row] for row in found]
    cut = sum(len(cell or "") > CELL_WIDTH for row in found for cell in row)
    if cut:
        remarks = (
            *remarks,
            f"{cut:,} cells are cut at {CELL_WIDTH} characters; csv and json are whole",
        )
    lines = _ruled(asked.columns, shown)
    lines.append(f"({len(found):,} row{'' if len(found) == 1 else 's'})")
    lines += (f"-- {text}" for text in remarks)
    out.write(("\n".join(lines) + "\n").encode())
    return remarks


def _shown(cell: str | None) -> str:
    if cell is None:
        return "NULL"
    text = cell if len(cell) <= CELL_WIDTH else cell[:CELL_WIDTH] + "…"
    return printable(text).replace("\n", "\\n")


def _ruled(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    names = [_shown(column.name) for column in columns]
    widths = [
        max(map(_width, (name, *(row[place] for row in rows)))) for place, name in enumerate(names)
    ]
    to_right = [_NUMBER.fullmatch(column.kind) is not None for column in columns]

    def line(cells: Sequence[str]) -> str:
        padded = (
            " " * (width - _width(cell)) + cell if right else cell + " " * (width - _width(cell))
            for cell, width, right in zip(cells, widths, to_right, strict=True)
        )
        return " " + " │ ".join(padded).rstrip()

    rule = "┼".join("─" * (width + 2) for width in widths)
    return [line(names), rule, *map(line, rows)]


def _width(text: str) -> int:
    """Columns that a terminal gives ``text``."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


# csv and json --------------------------------------------------------------------------------


def _csv(
    con: Connection,
    asked: Selection,
    out: BinaryIO,
    most: int | None,
    show: Callable[[str], str],
    *,
    raw: bool,
) -> tuple[str, ...]:
    """RFC 4180 with LF; NULL is nothing, an empty text is two quotes; times are ISO 8601 in UTC.

    Unless it is to be raw, cells are those of ``audit.spreadsheets``.
    """
    names = [column.name if raw else spreadsheets.defused(column.name) for column in asked.columns]
    if not raw and show is str:
        show = spreadsheets.visible
    out.write((show(",".join(map(_quoted, names))) + "\n").encode())
    cells = []
    for number, column in enumerate(asked.columns):
        text = _text(f"c{number}", column)
        if not raw and not _NUMBER.fullmatch(column.kind) and not _PLAIN.fullmatch(column.kind):
            begins = f"regexp_matches({text}, {quote_text(spreadsheets.PATTERN)})"
            text = f"CASE WHEN {begins} THEN '''' || {text} ELSE {text} END"
        nothing = "''" if len(asked.columns) > 1 else "'\"\"'"  # an empty line is no row
        cells.append(
            f"CASE WHEN c{number} IS NULL THEN {nothing} "
            f"WHEN {text} = '' OR regexp_matches({text}, '[\",\\r\\n]') "
            f"THEN '\"' || replace({text}, '\"', '\"\"') || '\"' ELSE {text} END"
        )
    more = False
    for batch, more in _lines(con, asked, [f"concat_ws(',', {', '.join(cells)})"], most):  # noqa: B007
        out.write("".join(f"{show(row[0] or '')}\n" for row in batch).encode())
    return _cut(most) if more and most is not None else ()


def _quoted(text: str) -> str:
    special = not text or any(char in text for char in '",\r\n')
    return '"' + text.replace('"', '""') + '"' if special else text


def _json(
    con: Connection,
    asked: Selection,
    out: BinaryIO,
    most: int | None,
    show: Callable[[str], str],
    *,
    raw: bool,
) -> tuple[str, ...]:
    """An array with an object for each row, one on each line."""
    _check_names(asked, "json")
    pairs = []
    for number, column in enumerate(asked.columns):
        value = f"c{number}"
        if column.kind in ("DOUBLE", "FLOAT"):  # JSON has no infinity
            value = f"CASE WHEN isfinite({value}) THEN {value} END"
        elif _PLAIN.fullmatch(column.kind) and column.kind != "BOOLEAN":
            value = _text(value, column)
        pairs.append(f"{quote_text(column.name)}, {value}")
    between, more = "[", False
    for batch, more in _lines(con, asked, [f"json_object({', '.join(pairs)})::VARCHAR"], most):  # noqa: B007
        for row in batch:
            out.write((between + show(row[0] or "")).encode())
            between = ",\n"
    out.write(b"[]\n" if between == "[" else b"]\n")
    return _cut(most) if more and most is not None else ()


def _text(cell: str, column: Column) -> str:
    """SQL that gives a value as text; instants as ISO 8601."""
    text = f"CAST({cell} AS VARCHAR)"
    if column.kind == "TIMESTAMP WITH TIME ZONE":  # the connection's zone is UTC
        return f"regexp_replace(replace({text}, ' ', 'T'), '\\+00$', 'Z')"
    return text


def _check_names(asked: Selection, form: str) -> None:
    for name, times in Counter(column.name for column in asked.columns).items():
        if times > 1:
            raise UsageError(
                f"sql: {times} columns are called {name!r}, which {form} cannot hold: "
                "name them apart with AS"
            )


# parquet -------------------------------------------------------------------------------------


def _parquet(con: Connection, asked: Selection, out: BinaryIO, most: int | None) -> tuple[str, ...]:
    """Types that Parquet and its readers lack become text; whole numbers of 128 bits, decimals."""
    _check_names(asked, "parquet")
    cells = []
    for number, column in enumerate(asked.columns):
        kind = re.sub(r"(\[\d*\])+$", "", column.kind)
        if kind == "HUGEINT":
            cells.append(f"CAST(c{number} AS DECIMAL(38, 0))")
        elif _KEPT_IN_PARQUET.fullmatch(kind):
            cells.append(f"c{number}")
        else:
            cells.append(f"CAST(c{number} AS VARCHAR)")
    found = selection.frame(con, asked, cells, None if most is None else most + 1)
    found.columns = [column.name for column in asked.columns]
    more = most is not None and found.height > most
    buffer = io.BytesIO()
    (found.head(most) if more and most is not None else found).write_parquet(buffer)
    out.write(buffer.getbuffer())
    return _cut(most) if more and most is not None else ()
