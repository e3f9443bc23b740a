"""Columns of texts → typed columns, and records of a block → what every dialect hands out.

A dialect reads its records as a table, a row each, with the columns of ``RECORDS`` that it can
fill. The converters that dialects share stand here; times are read by ``instants``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import polars as pl

from audit.formats.dialects import Header, Parsed
from audit.formats.lines import NEWLINE, Block, Lines
from audit.model import RECORDS, REFUSALS, RefusalCode

LARGEST: Final = 1 << 28
"""No count of CPUs, nodes or GPUs is larger: products with seconds stay within int64."""
LARGEST_ID: Final = 1 << 53
"""Numbers of jobs and users up to here are read exactly."""
MIB: Final = 1 << 20
SHOWN: Final = 40
"""Characters of a value that a refusal shows."""

Fault = tuple[pl.Expr, RefusalCode, pl.Expr | str]
"""When a record is refused, and why."""

REFUSED: Final = pl.Schema({"number": pl.Int64, "problem": pl.String, "code": pl.String})
"""Records that cannot be read: ``number`` of the span, why, and a ``RefusalCode``."""


def positive(name: str) -> pl.Expr:
    """A column, null where it is not above 0."""
    return pl.when(pl.col(name) > 0).then(name)


def clock(text: pl.Expr, pattern: str) -> pl.Expr:
    """Lengths of time in s: the four groups of a pattern are days, hours, minutes and seconds.

    Null where the last group is not there.
    """
    parts = text.str.extract_groups(pattern)
    whole = [parts.struct.field(str(n)).cast(pl.Int64, strict=False) for n in range(1, 5)]
    factors = (86_400, 3_600, 60)
    larger = (part.fill_null(0) * f for part, f in zip(whole[:3], factors, strict=True))
    return pl.when(whole[3].is_not_null()).then(sum(larger, start=whole[3]))


@lru_cache(maxsize=64)
def _of_no_text(convert: Callable[[pl.Series], pl.DataFrame]) -> pl.DataFrame:
    """The columns that ``convert`` makes: most of the columns that may be there are not."""
    return convert(pl.Series(dtype=pl.String))


def by_distinct(text: pl.Series, convert: Callable[[pl.Series], pl.DataFrame]) -> pl.DataFrame:
    """``convert`` applied once to each distinct text: columns repeat the same few values."""
    if text.null_count() == len(text):
        return _of_no_text(convert).clear(len(text))
    distinct = text.drop_nulls().unique()
    values = convert(distinct).with_columns(text=distinct)
    return (
        text.alias("text")
        .to_frame()
        .join(values, on="text", how="left", maintain_order="left")
        .drop("text")
    )


def table(rows: Iterable[Sequence[int | None]], names: Sequence[str]) -> pl.DataFrame:
    """Whole numbers, row by row, as columns."""
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    pairs = zip(names, columns, strict=True)
    return pl.DataFrame([pl.Series(name, column, dtype=pl.Int64) for name, column in pairs])


class Texts:
    """The columns of texts that a log has, and what of them cannot be read."""

    def __init__(self, texts: pl.DataFrame, label: str) -> None:
        """``label`` is what refusals call a column."""
        self._texts = texts
        self._label = label
        self._problems: list[pl.Series] = []
        self._codes: list[pl.Series] = []
        self._nothing = pl.Series([None], dtype=pl.String).new_from_index(0, len(texts))

    def __contains__(self, name: str) -> bool:
        return name in self._texts.columns

    def text(self, name: str) -> pl.Series:
        """A column; nulls where the log does not have it."""
        return self._texts[name] if name in self else self._nothing

    def check(
        self,
        name: str,
        bad: pl.Series,
        what: str | pl.Series,
        code: RefusalCode = RefusalCode.VALUE,
    ) -> None:
        """Notes what is wrong with a column in the rows that are ``bad``; null counts as fine."""
        if bad.any():
            reason = pl.lit(what) if isinstance(what, str) else what
            value = pl.lit(self.text(name).fill_null("").str.slice(0, SHOWN))
            self.note(
                bad,
                pl.format("{} {}: '{}' {}", pl.lit(self._label), pl.lit(name), value, reason),
                code,
            )

    def note(
        self, bad: pl.Series, reason: pl.Expr | str, code: RefusalCode = RefusalCode.VALUE
    ) -> None:
        """Notes what is wrong with rows."""
        if bad.any():
            bad = bad.fill_null(value=False)
            why = pl.lit(reason) if isinstance(reason, str) else reason
            both = pl.select(pl.lit(bad).alias("bad"), why.alias("why"))
            self._problems.append(both["why"].zip_with(bad, self._nothing))
            kind = pl.Series([code.value]).new_from_index(0, len(bad))
            self._codes.append(kind.zip_with(bad, self._nothing))

    def faults(self) -> dict[str, pl.Series]:
        """``problem`` and ``code`` of the first that is wrong with each row; null: nothing is."""
        found = {"problem": self._problems, "code": self._codes}
        return {
            name: pl.coalesce(*(each.alias(str(n)) for n, each in enumerate(some)), eager=True)
            if some
            else self._nothing
            for name, some in found.items()
        }


def faulted(faults: Iterable[Fault], *known: str) -> dict[str, pl.Expr]:
    """``problem`` and ``code`` of the first fault that holds; null where none does.

    The columns ``known`` (a problem and its code), if they are given, go first.
    """
    cases = [
        (pl.when(bad), pl.lit(code.value), pl.lit(why) if isinstance(why, str) else why)
        for bad, code, why in faults
    ]
    return {
        "problem": pl.coalesce(*known[:1], *(bad.then(why) for bad, _, why in cases)),
        "code": pl.coalesce(*known[1:], *(bad.then(code) for bad, code, _ in cases)),
    }


def refused(rows: Iterable[tuple[int, str, RefusalCode]]) -> pl.DataFrame:
    """Rows of ``REFUSED``."""
    return pl.DataFrame([(n, why, code.value) for n, why, code in rows], REFUSED, orient="row")


def shaped(
    block: Block,
    spans: Lines,
    found: pl.DataFrame | Sequence[pl.DataFrame],
    *,
    steps: int = 0,
    header: Header | None = None,
    schema: pl.Schema = RECORDS,
) -> Parsed:
    """Return the records and refusals of a block.

    Args:
        block: the bytes.
        spans: where each record begins and ends in the block. A span without a row in ``found`` (a
            comment, a banner) is nothing.
        found: columns of ``REFUSED`` and of ``RECORDS``, in one frame or several. Columns that are
            missing are unknown; others are left out.
        steps, header: see ``Parsed``.
        schema: of the records.
    """
    if not isinstance(found, pl.DataFrame):
        found = pl.concat(found, how="diagonal")
    if not found["number"].is_sorted():
        found = found.sort("number")
    begins = spans.starts[found["number"].to_numpy()]
    breaks = np.flatnonzero(np.frombuffer(block.data, dtype=np.uint8) == NEWLINE)
    # One after the other: side by side is slower for what takes no time.
    placed = found.with_columns_seq(
        line=pl.Series(np.searchsorted(breaks, begins) + block.first_line, dtype=pl.Int64),
        byte_offset=pl.Series(begins + block.byte_offset, dtype=pl.Int64),
    )
    refusals = pl.DataFrame(schema=REFUSALS)
    if placed["problem"].null_count() < placed.height:
        refusals = _refusals(block, spans, placed.filter(pl.col("problem").is_not_null()))
        placed = placed.filter(pl.col("problem").is_null())
    records = placed.match_to_schema(schema, missing_columns="insert", extra_columns="ignore")
    return Parsed(records, refusals, steps, header)


def _refusals(block: Block, spans: Lines, bad: pl.DataFrame) -> pl.DataFrame:
    """The refusals of placed records that have a problem."""
    texts = [
        block.data[spans.starts[number] : spans.ends[number]]
        .rstrip(b"\r\n")
        .decode("utf-8", errors="backslashreplace")
        for number in bad["number"]
    ]
    return bad.select_seq(
        "line",
        "byte_offset",
        "code",
        pl.col("problem").alias("reason"),
        pl.Series("text", texts, dtype=pl.String),
    ).match_to_schema(REFUSALS)
