"""Names for the comparison: renames, columns left out, columns of prose, sort keys."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Renames(NamedTuple):
    """Names of the committed reference, each mapped to its name in the current code.

    A table or column mapped to None was removed on purpose.
    """

    tables: Mapping[str, str | None] = {}
    """Tables and views."""
    columns: Mapping[str, str | None] = {}
    """Columns, as "table.column", or "*.column" in every table; the table by its old name."""
    values: Mapping[str, Mapping[str, str]] = {}
    """By old name of a text column, in every table: its values."""

    def old_table(self, table: str) -> str:
        """The reference's name of a table of the current code."""
        return next((old for old, new in self.tables.items() if new == table), table)

    def old_column(self, table: str, column: str) -> str:
        """The reference's name of a column of the current code; ``table`` by its old name."""
        for old, new in self.columns.items():
            where, name = old.split(".")
            if new == column and where in {"*", table}:
                return name
        return column

    def removed(self, table: str, column: str = "") -> bool:
        """Whether a table of the reference, or one of its columns, was removed on purpose."""
        names = (f"{table}.{column}", f"*.{column}")
        return None in (self.tables.get(table, table), *(self.columns.get(n, n) for n in names))


RENAMES: Final = Renames()
"""Renames since the reference was written. `make same WRITE=1` makes them obsolete: empty it."""

_NAMES = "hashes the names of configuration keys"
_VERSION = "hashes the version"
_CLOCK = "the clock"
LEFT_OUT: Final[Mapping[str, str]] = {
    # by name of a column, in every table: why it is not compared
    "run_id": f"{_NAMES} and {_VERSION}",
    "old_run_id": f"{_NAMES} and {_VERSION}",
    "config": "holds the names of configuration keys",
    "config_hash": _NAMES,
    "input_hash": "hashes the ids of inputs, which are compared themselves",
    "version": "the version",
    "started_at": _CLOCK,
    "ended_at": _CLOCK,
    "updated_at": _CLOCK,
    "made_at": _CLOCK,
    "pulled_at": _CLOCK,
    "refused_at": _CLOCK,
    "replayed_at": _CLOCK,
    "found_at": _CLOCK,
    "modified_ns": _CLOCK,
    "path": "a place on this machine",
    "source": "a place on this machine",
}
TABLES_LEFT_OUT: Final[Mapping[str, str]] = {"migrations": "names of the files in sql/schema"}
PROSE: Final = frozenset({"header", "notes", "sentence", "title"})
"""Text columns that may be reworded: only the numbers in them are compared."""

KEYS: Final = (
    "cluster", "pool", "schedule", "period", "study", "log", "setting", "job_id", "attempt",
    "day", "as_of", "method", "penalty", "configured", "resource", "entity_id", "entity_kind",
    "entity", "parent", "partition", "user", "account", "stage", "order", "backfill",
    "fair_order", "metric", "change", "dimension", "dimension_value", "input_id", "file", "line",
    "byte_offset",
)  # fmt: skip
"""Rows are sorted by those of these columns that a table has."""
