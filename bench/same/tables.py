"""The tables of an audit's database, under their old names, sorted, and one hash per column."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from audit.store.database import LONGEST_S, fetch, open_locked, quote_name
from bench.same.names import KEYS, LEFT_OUT, PROSE, RENAMES, TABLES_LEFT_OUT, Renames
from bench.same.numbers import numbers


def tables(database: Path, renames: Renames = RENAMES) -> Iterator[tuple[str, pl.DataFrame]]:
    """Each base table and view under its old names, without the columns that are left out."""
    with open_locked(database, "2GB", LONGEST_S) as con:
        names = fetch(con, "SELECT table_name FROM information_schema.tables")["table_name"]
        for name in sorted(names, key=renames.old_table):
            table = renames.old_table(name)
            if table not in TABLES_LEFT_OUT:
                frame = fetch(con, f"SELECT * FROM {quote_name(name)}")
                yield table, _compared(table, frame, renames)


def _compared(table: str, frame: pl.DataFrame, renames: Renames) -> pl.DataFrame:
    columns = []
    for series in frame:
        name = renames.old_column(table, series.name)
        if name in LEFT_OUT:
            continue
        one = series.alias(name)
        if name in renames.values:
            one = one.replace({new: old for old, new in renames.values[name].items()})
        if name in PROSE:
            texts = (text and " ".join(numbers(text)) for text in one.to_list())
            one = pl.Series(name, list(texts), pl.String)
        columns.append(one)
    return pl.DataFrame(columns)


def _bits(series: pl.Series) -> pl.Series:
    """The same as integers, of which those of doubles are their bits, or as text."""
    kind = series.dtype
    if kind.is_float():
        bits = pl.Series(series.cast(pl.Float64).fill_null(0.0).to_numpy().view("int64"))
        return bits.set(series.is_null(), None)
    if kind.is_temporal():
        return series.to_physical().cast(pl.Int64)
    if kind.is_integer() or kind == pl.Boolean:
        return series.cast(pl.Int64)
    if kind == pl.String:
        return series
    if isinstance(kind, pl.List):
        return series.cast(pl.List(pl.String)).list.join(", ")
    raise TypeError(f"column {series.name}: no way to compare values of type {kind}")


def hashes(frame: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Each column's name and SHA-256, over rows sorted by key; rows of equal keys by value."""
    keys = _keys(frame)
    unique = bool(keys) and not frame.select(keys).is_duplicated().any()
    frame = frame.sort(keys) if keys else frame
    for name in frame.columns:
        series = _bits((frame if unique else frame.sort([*keys, name]))[name])
        if series.dtype == pl.String:
            content = json.dumps(series.to_list()).encode()
        else:
            content = series.fill_null(0).to_numpy().tobytes()
            content += series.is_null().cast(pl.UInt8).to_numpy().tobytes()
        yield name, hashlib.sha256(content).hexdigest()


def _keys(frame: pl.DataFrame) -> list[str]:
    return [key for key in KEYS if key in frame.columns]


def rows(then: pl.DataFrame, now: pl.DataFrame, column: str, most: int = 3) -> Sequence[str]:
    """The first rows of a table in which a column differs, each as its key and both values."""
    keys = [key for key in _keys(then) if key in now.columns and key != column]
    sides = []
    for frame in (then, now):
        ordered = frame.sort([*keys, column])
        row = pl.int_range(pl.len()).over(keys) if keys else pl.int_range(pl.len())
        one = ordered.select(*keys, row=row, value=column, there=True)
        sides.append(one.with_columns(_bits(ordered[column]).alias("bits")))
    on = [*keys, "row"]
    both = sides[0].join(sides[1], on=on, how="full", nulls_equal=True, coalesce=True)
    apart = [pl.col(name).ne_missing(pl.col(f"{name}_right")) for name in ("bits", "there")]
    return [
        ", ".join(f"{key} {row[key]}" for key in keys if row[key] is not None)
        + f": {_said(row['there'], row['value'])} → {_said(row['there_right'], row['value_right'])}"
        for row in both.filter(pl.any_horizontal(apart)).sort(on).head(most).iter_rows(named=True)
    ]


def _said(there: bool | None, value: object) -> str:
    return str(value) if there else "no such row"
