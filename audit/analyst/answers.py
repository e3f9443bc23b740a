"""Writes the rows of an analyst's query as table, csv, json or parquet.

SQL expressions convert the values to text in DuckDB, so that every type can be written, and csv and
json of any length are streamed.
"""

import io
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import BinaryIO, Final

from audit import spreadsheets
from audit.errors import StoreError, UsageError
from audit.progress import printable, printable_lines
from audit.store import database, selection
from audit.store.database import SNAPSHOT, Connection, quote_text
from audit.store.selection import SelectedColumn, SelectStatement
from audit.words import Format, plural

CELL_WIDTH: Final = 200
"""Maximum characters of a cell in a table."""

_NUMBER: Final = re.compile(r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|BIGNUM|FLOAT|DOUBLE|DECIMAL\(.*\)")
_PLAIN: Final = re.compile(r"BOOLEAN|DATE|TIME.*|INTERVAL")
_KEPT_IN_PARQUET: Final = re.compile(
    r"BOOLEAN|VARCHAR|BLOB|DATE|TIME|TIMESTAMP|TIMESTAMP WITH TIME ZONE|FLOAT|DOUBLE"
    r"|DECIMAL\(.*\)|U?(TINY|SMALL|BIG)?INT(EGER)?"
)
_Row = tuple[str | None, ...]


def write(
    con: Connection,
    select: SelectStatement,
    form: Format,
    out: BinaryIO,
    *,
    most: int | None,
    raw: bool = False,
) -> tuple[str, ...]:
    """Write at most ``most`` rows, and return remarks on what was left out.

    ``raw`` leaves csv cells unchanged that a spreadsheet would run as formulas.

    Raises:
        UsageError: this result cannot be written in this format.
        StoreError: reading the rows fails.
    """
    rows = _ResultRows(con, select, most)
    if form is Format.parquet:
        _parquet(rows, out)
    elif form is Format.table:
        return _table(rows, out)
    elif form is Format.csv:
        _csv(rows, out, printable_lines if out.isatty() else str, raw=raw)
    else:
        _json(rows, out, _escaped if out.isatty() else str)
    return rows.remarks()


class _ResultRows:
    """The rows of a query, up to a maximum."""

    def __init__(self, con: Connection, select: SelectStatement, most: int | None) -> None:
        self.columns = select.columns
        self.con = con
        self._select = select
        self._most = most
        self._limit = None if most is None else most + 1
        self._more = False

    def batches(self, cells: Sequence[str]) -> Iterator[list[_Row]]:
        """Yield rows of these SQL expressions."""
        left = self._most
        for batch in selection.rows(self.con, self._select, cells, self._limit):
            if left is not None and len(batch) > left:
                self._more = True
                yield batch[:left]
                return
            yield batch
            left = None if left is None else left - len(batch)

    def parquet(self, cells: Sequence[str]) -> bytes:
        """Return the rows of these SQL expressions as a Parquet file."""
        found = selection.frame(self.con, self._select, cells, self._limit)
        found.columns = [column.name for column in self.columns]
        if self._most is not None:
            self._more = found.height > self._most
            found = found.head(self._most)
        buffer = io.BytesIO()
        found.write_parquet(buffer)
        return buffer.getvalue()

    def remarks(self) -> tuple[str, ...]:
        """Return whether rows were left out."""
        if not self._more:
            return ()
        return (f"only the first {self._most:,} rows are shown; --rows N shows more",)


def _table(rows: _ResultRows, out: BinaryIO) -> tuple[str, ...]:
    zone = _zone(rows.con) if any(map(_is_instant, rows.columns)) else "UTC"
    cells = [
        _varchar(
            f"c{number} AT TIME ZONE {quote_text(zone)}" if _is_instant(column) else f"c{number}"
        )
        for number, column in enumerate(rows.columns)
    ]
    found = [row for batch in rows.batches(cells) for row in batch]
    remarks = rows.remarks()
    if [column.name for column in rows.columns] == ["explain_key", "explain_value"]:
        out.write("".join(f"{printable_lines(row[1] or '')}\n" for row in found).encode())
        return remarks
    if cut := sum(len(cell or "") > CELL_WIDTH for row in found for cell in row):
        many = f"{plural(cut, 'cell')} {'is' if cut == 1 else 'are'}"
        text = f"{many} cut at {CELL_WIDTH} characters; csv and json are complete"
        remarks = (*remarks, text)
    titled = [
        column._replace(name=f"{column.name} ({zone})") if _is_instant(column) else column
        for column in rows.columns
    ]
    lines = _ruled(titled, [[_shown(cell) for cell in row] for row in found])
    lines.append(f"({len(found):,} row{'' if len(found) == 1 else 's'})")
    lines += (f"-- {text}" for text in remarks)
    out.write(("\n".join(lines) + "\n").encode())
    return remarks


def _is_instant(column: SelectedColumn) -> bool:
    return column.kind == "TIMESTAMP WITH TIME ZONE"


def _zone(con: Connection) -> str:
    """Return the time zone of the database's clusters; UTC if they differ."""
    one = (
        f"SELECT min(zone) FROM {SNAPSHOT}.main.clusters HAVING count(DISTINCT zone) = 1 "  # noqa: S608
        "AND min(zone) IN (SELECT name FROM pg_timezone_names())"
    )
    with suppress(StoreError):  # a database of nothing has no such table
        for (zone,) in database.rows(con, one):
            return str(zone)
    return "UTC"


def _shown(cell: str | None) -> str:
    if cell is None:
        return "NULL"
    text = cell if len(cell) <= CELL_WIDTH else cell[:CELL_WIDTH] + "…"
    return printable(text)


def _ruled(columns: Sequence[SelectedColumn], rows: Sequence[Sequence[str]]) -> list[str]:
    names = [_shown(column.name) for column in columns]
    widths = [max(map(_width, cells)) for cells in zip(names, *rows, strict=True)]

    def padded(cell: str, width: int, column: SelectedColumn) -> str:
        blank = " " * (width - _width(cell))
        return blank + cell if _NUMBER.fullmatch(column.kind) else cell + blank

    def line(cells: Sequence[str]) -> str:
        return " " + " │ ".join(map(padded, cells, widths, columns)).rstrip()

    rule = "┼".join("─" * (width + 2) for width in widths)
    return [line(names), rule, *map(line, rows)]


def _width(text: str) -> int:
    """Return the columns that ``text`` takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )


def _csv(rows: _ResultRows, out: BinaryIO, show: Callable[[str], str], *, raw: bool) -> None:
    """Write RFC 4180 with LF: NULL is empty, an empty text is ``""``, times are ISO 8601 in UTC.

    Unless ``raw``, cells are made safe as by ``audit.spreadsheets``.
    """
    names = [column.name if raw else spreadsheets.defused(column.name) for column in rows.columns]
    if not raw and show is str:
        show = spreadsheets.visible
    out.write((show(",".join(map(_quoted, names))) + "\n").encode())
    nothing = "''" if len(rows.columns) > 1 else "'\"\"'"  # an empty line is not a row
    cells = []
    for number, column in enumerate(rows.columns):
        text = _text(f"c{number}", column)
        if not raw and not _NUMBER.fullmatch(column.kind) and not _PLAIN.fullmatch(column.kind):
            text = _defused(text)
        cells.append(
            f"CASE WHEN c{number} IS NULL THEN {nothing} "
            f"WHEN {text} = '' OR regexp_matches({text}, '[\",\\r\\n]') "
            f"THEN '\"' || replace({text}, '\"', '\"\"') || '\"' ELSE {text} END"
        )
    for batch in rows.batches([f"concat_ws(',', {', '.join(cells)})"]):
        out.write("".join(f"{show(row[0] or '')}\n" for row in batch).encode())


def _defused(text: str) -> str:
    """Return SQL that does to a text what ``spreadsheets.defused`` does."""
    pattern, steering, harmless = map(
        quote_text, (spreadsheets.PATTERN, spreadsheets.STEERING, spreadsheets.HARMLESS)
    )
    safe = f"regexp_replace({text}, {pattern}, {harmless}, 'g')"
    return f"CASE WHEN regexp_matches({text}, {steering}) THEN '''' ELSE '' END || {safe}"


def _quoted(text: str) -> str:
    special = not text or any(char in text for char in '",\r\n')
    return '"' + text.replace('"', '""') + '"' if special else text


def _json(rows: _ResultRows, out: BinaryIO, show: Callable[[str], str]) -> None:
    """Write an array with one object per row and line."""
    _refuse_duplicates(rows.columns, "json")
    pairs = []
    for number, column in enumerate(rows.columns):
        value = f"c{number}"
        if column.kind in ("DOUBLE", "FLOAT"):  # JSON has no infinity
            value = f"CASE WHEN isfinite({value}) THEN {value} END"
        elif _PLAIN.fullmatch(column.kind) and column.kind != "BOOLEAN":
            value = _text(value, column)
        pairs.append(f"{quote_text(column.name)}, {value}")
    between = "["
    for batch in rows.batches([f"json_object({', '.join(pairs)})::VARCHAR"]):
        for row in batch:
            out.write((between + show(row[0] or "")).encode())
            between = ",\n"
    out.write(b"[]\n" if between == "[" else b"]\n")


def _escaped(text: str) -> str:
    """Escape characters that a terminal may act on, as JSON does."""
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


def _varchar(cell: str) -> str:
    return f"CAST({cell} AS VARCHAR)"


def _text(cell: str, column: SelectedColumn) -> str:
    """Return SQL that gives a value as text; instants as ISO 8601."""
    if _is_instant(column):  # the connection's zone is UTC
        return f"regexp_replace(replace({_varchar(cell)}, ' ', 'T'), '\\+00$', 'Z')"
    return _varchar(cell)


def _refuse_duplicates(columns: Sequence[SelectedColumn], form: str) -> None:
    name, times = Counter(column.name for column in columns).most_common(1)[0]
    if times > 1:
        raise UsageError(
            f"sql: {times} columns are called {name!r}, which {form} does not allow; rename them "
            "with AS"
        )


def _parquet(rows: _ResultRows, out: BinaryIO) -> None:
    """Write Parquet; types that it or its readers lack become text, HUGEINT decimals."""
    _refuse_duplicates(rows.columns, "parquet")
    cells = []
    for number, column in enumerate(rows.columns):
        kind = re.sub(r"(\[\d*\])+$", "", column.kind)
        cell = f"c{number}"
        if kind == "HUGEINT":
            cell = f"CAST({cell} AS DECIMAL(38, 0))"
        elif not _KEPT_IN_PARQUET.fullmatch(kind):
            cell = _varchar(cell)
        cells.append(cell)
    out.write(rows.parquet(cells))
