r"""Parquet files as text: a row of names, then a line for each row.

The text is part of what fairaudit promises: its hash identifies a log in the store, so it must not
change with the version of a library (a test holds a hash). Columns are separated by the unit
separator, as in the output of ``sacct --delimiter=$'\x1f'``; nothing is quoted:

- whole numbers are decimal; others have six digits after the point, or Python's shortest form from
  10^15 on; booleans are ``true`` and ``false``
- times are ISO 8601 to the second, with ``Z`` if the column has a zone; durations are seconds
- the items of a list of texts, whole numbers or booleans are separated by commas
- line breaks, NUL and the separator within texts become ``\n``, ``\r``, ``\0`` and a blank
- null, and columns of any other type (lists of fractions, structures, bytes) are empty
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

import polars as pl

from audit.ingest.streams import UndecodableError

SEPARATOR: Final = "\x1f"
_ROWS: Final = 1 << 16  # of a piece
_EXACT: Final = 10**15  # from there on, six digits after the point may not be exact
_ODD: Final = {"\n": "\\n", "\r": "\\r", "\0": "\\0", SEPARATOR: " "}
_DAY: Final = "%Y-%m-%d"
_SECOND: Final = "%Y-%m-%dT%H:%M:%S"


class Text:
    """The text of a Parquet file, read piece by piece; see ``streams.ArrowStream``."""

    def __init__(self, raw: BinaryIO) -> None:
        self._pieces = _pieces(Path(f"/dev/fd/{raw.fileno()}"))
        self._rest = b""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes; none at the end. Raises UndecodableError."""
        try:
            self._rest = self._rest or next(self._pieces, b"")
        except (pl.exceptions.PolarsError, OSError, ValueError) as error:
            raise UndecodableError(str(error).splitlines()[0]) from error
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            raise UndecodableError("its pages cannot be decoded") from None
        found, self._rest = self._rest[:size], self._rest[size:]
        return found


def _pieces(path: Path) -> Iterator[bytes]:
    scanned = pl.scan_parquet(path)
    schema = scanned.collect_schema()
    names = (_plain(name) for name in schema)
    yield (SEPARATOR.join(names) + "\n").encode("utf-8", "backslashreplace")
    known = [name for name, kind in schema.items() if _readable(kind)]
    chosen = scanned.select(known) if known else scanned.select(pl.first())
    for batch in chosen.collect_batches(chunk_size=_ROWS, maintain_order=True):
        for frame in batch.iter_slices(_ROWS):
            texts = {name: _text(frame[name]) for name in known}
            empty = pl.repeat("", frame.height, eager=True)
            lines = pl.DataFrame([texts.get(name, empty).alias(name) for name in schema])
            yield lines.write_csv(
                include_header=False, separator=SEPARATOR, quote_style="never", null_value=""
            ).encode()


def _plain(text: str) -> str:
    for odd, instead in _ODD.items():
        text = text.replace(odd, instead)
    return text


def _readable(kind: pl.DataType) -> bool:
    if isinstance(kind, pl.List | pl.Array):
        inner: Any = kind.inner
        return bool(inner in (pl.String, pl.Boolean) or inner.is_integer())
    return bool(kind.is_numeric() or isinstance(kind, (*_TEXTS, *_TIMES)))


_TEXTS: Final = (pl.String, pl.Categorical, pl.Enum, pl.Boolean)
_TIMES: Final = (pl.Date, pl.Datetime, pl.Duration)


def _text(values: pl.Series) -> pl.Series:
    kind = values.dtype
    match kind:
        case pl.List() | pl.Array():
            listed = values.cast(pl.List(pl.String)).list.join(",", ignore_nulls=True)
            return _one_line(listed)
        case pl.Datetime():
            zoned = kind.time_zone is not None
            instants = values.dt.convert_time_zone("UTC") if zoned else values
            return instants.dt.to_string(_SECOND + "Z" * zoned)
        case pl.Date():
            return values.dt.to_string(_DAY)
        case pl.Duration():
            return values.dt.total_seconds().cast(pl.String)
    if kind.is_float() or kind.is_decimal():
        return _fractions(values.cast(pl.Float64))
    text = values.cast(pl.String)
    return text if kind.is_integer() or kind == pl.Boolean else _one_line(text)


def _one_line(text: pl.Series) -> pl.Series:
    for odd, instead in _ODD.items():
        if text.str.contains(odd, literal=True).any():
            text = text.str.replace_all(odd, instead, literal=True)
    return text


def _fractions(values: pl.Series) -> pl.Series:
    """Return numbers as texts; not by the library, whose form may change."""
    value = values.set(~values.is_finite().fill_null(value=True), None)
    small = value.abs() < _EXACT
    near = value.set(~small.fill_null(value=False), None)
    whole = near.abs().floor().cast(pl.Int64)
    parts = ((near.abs() - whole) * 10**6).round().cast(pl.Int64)
    whole, parts = whole + parts // 10**6, parts % 10**6
    sign = pl.select(pl.when(pl.lit(near) < 0).then(pl.lit("-")).otherwise(pl.lit(""))).to_series()
    digits = parts.cast(pl.String).str.zfill(6)
    end = pl.select(
        pl.when(pl.lit(parts) == 0).then(pl.lit("")).otherwise("." + pl.lit(digits))
    ).to_series()
    text = pl.select(pl.concat_str(sign, whole.cast(pl.String), end)).to_series()
    if small.all():
        return text
    large = value.map_elements(partial(repr), return_dtype=pl.String)
    return text.zip_with(small.fill_null(value=True), large)
