"""Bytes of a log, cut into lines that know where they stood."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from audit.model import REFUSALS, RefusalCode

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]

NEWLINE = 0x0A


class Block(NamedTuple):
    """Whole lines of a log, as they lie in it."""

    data: bytes  # ends with a newline, but for the last block of a log that lacks one
    byte_offset: int  # of its first byte in the decompressed log
    first_line: int  # number of its first line, from 1


class Lines(NamedTuple):
    """Where each line of a buffer begins and ends; the newline is in neither."""

    starts: Offsets
    ends: Offsets


def cut(data: Bytes) -> Lines:
    """Cuts ``data`` at its newlines. A last line without one counts; an empty buffer has none."""
    breaks = np.flatnonzero(data == NEWLINE)
    if len(data) and (not len(breaks) or breaks[-1] != len(data) - 1):
        breaks = np.append(breaks, len(data))
    starts = np.empty_like(breaks)
    if len(breaks):
        starts[0] = 0
        starts[1:] = breaks[:-1] + 1
    return Lines(starts, breaks)


def select(data: Bytes, lines: Lines, chosen: npt.NDArray[np.bool_]) -> bytes:
    """The chosen lines of ``data``, each with a newline behind it, as one buffer."""
    if chosen.all():
        return data.tobytes()
    mask = np.repeat(chosen, lines.ends - lines.starts + 1)
    return data[mask[: len(data)]].tobytes()


def refusals(
    block: Block,
    numbers: Offsets,
    reasons: pl.Series,
    codes: pl.Series | str = RefusalCode.VALUE.value,
) -> pl.DataFrame:
    """A ``REFUSALS`` frame for some lines of a block, with their text as it stands in the log.

    Args:
        block: the lines.
        numbers: which of them, counted from 0 within the block, ascending.
        reasons: why, one per number.
        codes: of which kind, one per number or one for all.
    """
    if not len(numbers):
        return pl.DataFrame(schema=REFUSALS)
    data = np.frombuffer(block.data, dtype=np.uint8)
    lines = cut(data)
    texts = [
        block.data[lines.starts[n] : lines.ends[n]]
        .rstrip(b"\r")
        .decode("utf-8", errors="backslashreplace")
        for n in numbers
    ]
    return pl.DataFrame(
        {
            "line": numbers + block.first_line,
            "byte_offset": lines.starts[numbers] + block.byte_offset,
            "code": codes,
            "reason": reasons,
            "text": texts,
        },
        schema=REFUSALS,
    )
