"""Rows for several tables, inserted in pieces that DuckDB can write to the file as they are.

Histories of fairshare name each user and account once, and their days by its number.
"""

from __future__ import annotations

from collections.abc import Sequence
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


ENTITY: Final = (
    *("cluster", "period", "method", "entity_kind", "entity", "parent", "partition", "run_id"),
)
"""What a row of ``fairshare_entity`` is of."""


class Histories:
    """Appends histories to a store."""

    def __init__(self, con: Connection, rows: Appending) -> None:
        """For an open store, within a transaction; ``rows`` takes the days."""
        self._con = con
        self._rows = rows
        greatest = database.fetch(con, "SELECT max(entity_id) AS greatest FROM fairshare_entity")
        self._next = (greatest.item() or 0) + 1
        self._known = pl.DataFrame(
            schema={**dict.fromkeys(ENTITY, pl.String), "entity_id": pl.Int64}
        )

    def add(self, rows: pl.DataFrame) -> None:
        """Appends rows: columns ``ENTITY`` and those of ``fairshare_day`` but for its number."""
        if rows.is_empty():
            return
        told = [name for name in ENTITY if _differs(rows[name])] or ["entity"]
        distinct = rows.unique(told).select(pl.col(ENTITY).cast(pl.String)).sort(told)
        self._name(distinct.join(self._known, on=ENTITY, how="anti", nulls_equal=True))
        numbers = distinct.join(self._known, on=ENTITY, nulls_equal=True).select(*told, "entity_id")
        days = rows.drop(name for name in ENTITY if name not in told)
        self._rows.add("fairshare_day", _numbered(days, numbers, told).drop(told))

    def _name(self, new: pl.DataFrame) -> None:
        if new.is_empty():
            return
        end = self._next + new.height
        numbered = new.with_columns(entity_id=pl.int_range(self._next, end))
        database.insert(self._con, "fairshare_entity", numbered)
        self._next = end
        self._known = pl.concat([self._known, numbered])


def _differs(column: pl.Series) -> bool:
    """Whether not all values are the same: texts are compared sooner than told apart."""
    first = column.head(1).new_from_index(0, len(column))
    return not bool(column.eq_missing(first).all())


def _numbered(rows: pl.DataFrame, numbers: pl.DataFrame, on: Sequence[str]) -> pl.DataFrame:
    return rows.join(numbers, on=on, how="left", nulls_equal=True, maintain_order="left")


def delete_histories(con: Connection, *, cluster: str, keep: Sequence[str] = ()) -> None:
    """Removes the histories of one cluster, but for those of the periods in ``keep``."""
    database.execute(
        con,
        "DELETE FROM fairshare_day WHERE entity_id IN (SELECT entity_id FROM fairshare_entity "
        "WHERE cluster = ? AND NOT list_contains(?::VARCHAR[], period))",
        [cluster, list(keep)],
    )
    database.delete(con, "fairshare_entity", cluster=cluster, keep=keep)
