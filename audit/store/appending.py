"""Rows for several tables, inserted in pieces that DuckDB can write to the file as they are.

Histories of fairshare have one row per user and account, whose number identifies its days.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from audit.store import database
from audit.store.database import Connection

AT_ONCE: Final = 122_880
"""Rows of an insert: a row group of DuckDB, which it writes to the file as it is.

Rows become whole columns first, also of single values: 0.8 kB for each attempt.
"""


class Appending:
    """Collects rows of a store's tables, within a transaction, until an insert is worthwhile."""

    def __init__(self, con: Connection) -> None:
        self._con = con
        self._waiting: dict[str, pl.DataFrame] = {}

    def add(self, table: str, rows: pl.DataFrame) -> None:
        """Append rows to ``table``, at once or later; all rows of a table have the same columns."""
        before = self._waiting.pop(table, None)
        if before is not None:
            rows = pl.concat([before, rows.select(before.columns)])
        if rows.height < AT_ONCE:
            self._waiting[table] = rows
            return
        for part in rows.iter_slices(AT_ONCE):
            database.insert(self._con, table, part)
        database.drop_cache(self._con)  # they are not read again soon

    def finish(self) -> None:
        """Insert the remaining rows."""
        for table, rows in self._waiting.items():
            database.insert(self._con, table, rows)
        self._waiting.clear()


ENTITY: Final = (
    *("cluster", "period", "method", "entity_kind", "entity", "parent", "partition", "run_id"),
)
"""The key of a row of ``fairshare_entity``."""


class Histories:
    """Appends histories to a store, within a transaction; ``rows`` takes the days."""

    def __init__(self, con: Connection, rows: Appending) -> None:
        self._con = con
        self._rows = rows
        ((greatest,),) = database.rows(con, "SELECT max(entity_id) FROM fairshare_entity")
        self._next = (greatest or 0) + 1
        self._known = pl.DataFrame(
            schema={**dict.fromkeys(ENTITY, pl.String), "entity_id": pl.Int64}
        )

    def add(self, rows: pl.DataFrame) -> None:
        """Append rows: columns ``ENTITY`` and those of ``fairshare_day`` except its number."""
        if rows.is_empty():
            return
        key = [name for name in ENTITY if _differs(rows[name])] or ["entity"]
        distinct = rows.unique(key).select(pl.col(ENTITY).cast(pl.String)).sort(key)
        new = distinct.join(self._known, on=ENTITY, how="anti", nulls_equal=True)
        end = self._next + new.height
        numbered = new.with_columns(entity_id=pl.int_range(self._next, end))
        database.insert(self._con, "fairshare_entity", numbered)
        self._next = end
        self._known = pl.concat([self._known, numbered])
        numbers = distinct.join(self._known, on=ENTITY, nulls_equal=True).select(*key, "entity_id")
        days = rows.drop(name for name in ENTITY if name not in key)
        days = days.join(numbers, on=key, how="left", nulls_equal=True, maintain_order="left")
        self._rows.add("fairshare_day", days.drop(key))


def _differs(column: pl.Series) -> bool:
    """Return whether not all values are the same; faster than counting distinct texts."""
    first = column.head(1).new_from_index(0, len(column))
    return not bool(column.eq_missing(first).all())


def delete_histories(con: Connection, *, cluster: str, keep: Sequence[str] = ()) -> None:
    """Remove the histories of one cluster, except those of the periods in ``keep``."""
    which = "cluster = ? AND NOT list_contains(?::VARCHAR[], period)"
    entities = f"SELECT entity_id FROM fairshare_entity WHERE {which}"  # noqa: S608
    delete = f"DELETE FROM fairshare_day WHERE entity_id IN ({entities})"  # noqa: S608
    database.execute(con, delete, [cluster, list(keep)])
    database.delete(con, "fairshare_entity", cluster=cluster, keep=keep)
