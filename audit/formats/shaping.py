"""Typed records of a block → what every dialect hands out.

A dialect reads its records as a table, a row each, with the columns of ``RECORDS`` that it can
fill; the rest is the same for all of them and stands here.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from audit.formats.dialects import Header, Parsed
from audit.formats.lines import Block, Lines
from audit.model import RECORDS, REFUSALS, RefusalCode


def shaped(
    block: Block,
    spans: Lines,
    found: pl.DataFrame,
    *,
    steps: int = 0,
    header: Header | None = None,
) -> Parsed:
    """The records and refusals of a block.

    Args:
        block: the bytes.
        spans: where each record begins and ends within ``block.data``: its lines, or stretches of
            lines. A span without a row in ``found`` (a comment, a banner) is nothing.
        found: a row for each record: ``number`` (of its span, from 0), ``problem`` (why it is
            refused, in words that name the field and show its value; null where it is good),
            ``code`` (a ``RefusalCode``, where there is a problem; without the column all are
            ``VALUE``), and columns of ``RECORDS`` but for line and offset. Those that are not there
            are unknown; others are left out.
        steps: see ``Parsed``.
        header: see ``Parsed``.
    """
    found = found.sort("number")
    if "code" not in found.columns:
        found = found.with_columns_seq(code=pl.lit(RefusalCode.VALUE.value))
    begins = spans.starts[found["number"].to_numpy()]
    breaks = np.flatnonzero(np.frombuffer(block.data, dtype=np.uint8) == ord("\n"))
    # One after the other: side by side is slower for what takes no time.
    placed = found.with_columns_seq(
        line=pl.Series(np.searchsorted(breaks, begins) + block.first_line, dtype=pl.Int64),
        byte_offset=pl.Series(begins + block.byte_offset, dtype=pl.Int64),
    )
    refusals = pl.DataFrame(schema=REFUSALS)
    if placed["problem"].null_count() < placed.height:
        refusals = _refusals(block, spans, placed.filter(pl.col("problem").is_not_null()))
        placed = placed.filter(pl.col("problem").is_null())
    records = placed.match_to_schema(RECORDS, missing_columns="insert", extra_columns="ignore")
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
