"""Rows for several tables, inserted in pieces that DuckDB can write to the file as they are."""

from __future__ import annotations

from typing import Final

import polars as pl

from audit.store import database
from audit.store.database import Connection

AT_ONCE: Final = 4 * 122_880
"""Rows of an insert: some whole groups as DuckDB stores them, in little memory."""


class Appending:
    """Gathers rows until there are enough of a table to be worth an insert."""

    def __init__(self, con: Connection) -> None:
        """For the tables of an open store, within a transaction."""
        self._con = con
        self._waiting: dict[str, pl.DataFrame] = {}

    def add(self, table: str, rows: pl.DataFrame) -> None:
        """Appends rows to ``table``, now or later; all of a table have the same columns."""
        before = self._waiting.pop(table, None)
        if before is not None:
            rows = pl.concat([before, rows.select(before.columns)])
        if rows.height < AT_ONCE:
            self._waiting[table] = rows
            return
        for part in rows.iter_slices(AT_ONCE):
            database.insert(self._con, table, part)

    def finish(self) -> None:
        """Inserts what is left."""
        for table, rows in self._waiting.items():
            database.insert(self._con, table, rows)
        self._waiting.clear()
