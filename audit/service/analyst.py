"""Ad hoc SQL by analysts, over a published database."""

from __future__ import annotations

import io
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

import polars as pl

from audit.errors import StoreError, UsageError
from audit.store import database

Format = StrEnum("Format", ["table", "csv", "json", "parquet"])


def query(
    statement: str,
    path: Path,
    form: Format,
    out: BinaryIO,
    *,
    rows: int | None,
    timeout_s: int,
    memory_limit: str,
    say: Callable[[str], None],
) -> None:
    """Runs one statement over a published database and writes its rows.

    Args:
        statement: SQL; anything but reading the database is refused by the database itself.
        path: the published database.
        form: how to write the rows.
        out: where to.
        rows: at most so many; ``say`` is told when some were left out.
        timeout_s: the statement is interrupted after so many seconds.
        memory_limit: what it may hold in memory.
        say: told what is not part of the result.

    Raises:
        UsageError: the database does not exist, or the statement is wrong or not allowed.
        LockedError: a run is writing the file.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such database; make one with 'fairaudit audit LOG'")
    con = database.open_snapshot(path, memory_limit=memory_limit, timeout_s=timeout_s)
    try:
        if (count := len(database.statements(con, statement))) != 1:
            raise UsageError(f"sql: give one statement at a time, not {count}")
        limit = None if rows is None else rows + 1
        found = database.fetch(con, statement, most=limit)
    except StoreError as error:
        raise UsageError(f"sql: {error}") from error
    finally:
        con.close()
    if rows is not None and found.height > rows:
        found = found.head(rows)
        say(f"only the first {rows:,} rows are shown; --rows N shows more")
    out.write(_written(found, form))
    out.flush()


def _written(rows: pl.DataFrame, form: Format) -> bytes:
    match form:
        case Format.csv:
            return rows.write_csv(null_value="").encode()
        case Format.json:
            return rows.write_json().encode() + b"\n"
        case Format.parquet:
            buffer = io.BytesIO()
            rows.write_parquet(buffer)
            return buffer.getvalue()
        case _:
            with pl.Config(
                tbl_rows=-1,
                tbl_cols=-1,
                tbl_width_chars=10_000,
                fmt_str_lengths=200,
                tbl_hide_dataframe_shape=True,
                tbl_hide_column_data_types=True,
            ):
                return f"{rows}\n({rows.height:,} rows)\n".encode()
