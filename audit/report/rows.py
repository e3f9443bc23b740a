"""The content of a report, read from the database: rows of queries as records."""

from collections.abc import Iterable
from typing import TypeVar

import polars as pl

Record = TypeVar("Record")


def records(kind: type[Record], rows: pl.DataFrame, /, **constant: object) -> tuple[Record, ...]:
    """Return one ``kind`` for each row, its fields filled from the columns of the same names.

    Args:
        kind: a dataclass or a NamedTuple.
        rows: may have other columns too.
        constant: fields with the same value in every record.
    """
    names = [name for name in kind.__annotations__ if name in rows.columns]
    return tuple(kind(**row, **constant) for row in rows.select(names).iter_rows(named=True))


def by_value(rows: pl.DataFrame, column: str, values: Iterable[str]) -> dict[str, pl.DataFrame]:
    """Return the rows of each of ``values``, without that column."""
    return {value: rows.filter(pl.col(column) == value).drop(column) for value in values}


def by_width(label: str) -> tuple[int, int]:
    """Sort key: ``1`` before ``2`` before ``9-16`` before ``>128`` before ``unknown``."""
    if label.startswith(">"):
        return (1, 0)
    lowest = label.partition("-")[0]
    return (0, int(lowest)) if lowest.isdecimal() else (2, 0)
