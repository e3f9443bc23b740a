"""Fields of a log as stretches of its bytes, read without a loop over its records.

A field is known by where it begins and ends; so many columns are read as there are arrays of both.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from audit.formats.lines import Bytes, Offsets

Mask = npt.NDArray[np.bool_]

DIGITS: Final = 18
"""A whole number of more is none: it might not fit."""

_ZERO, _MINUS = ord("0"), ord("-")
_OF_NUMBERS: Final = np.zeros(256, dtype=np.bool_)
_OF_NUMBERS[list(b"0123456789+-.eE")] = True
_LONGEST: Final = 40


class Numbers(NamedTuple):
    """Fields read as whole numbers."""

    values: Offsets  # 0 where there is none
    good: Mask  # whether there is one


def byte_at(data: Bytes, places: Offsets) -> Bytes:
    """The bytes at some places; of a place behind the last, any."""
    found: Bytes = (
        data[np.minimum(places, len(data) - 1)] if len(data) else np.zeros_like(places, np.uint8)
    )
    return found


def whole_numbers(data: Bytes, starts: Offsets, ends: Offsets) -> Numbers:
    """Reads fields of digits, with a minus before them or without.

    Args:
        data: the log.
        starts: where each field begins, of any shape.
        ends: where it ends, of the same shape.
    """
    minus = (ends > starts) & (byte_at(data, starts) == _MINUS)
    starts = starts + minus
    lengths = ends - starts
    good = (lengths > 0) & (lengths <= DIGITS)
    values = np.zeros(starts.shape, dtype=np.int64)
    for place in range(int(lengths[good].max(initial=0))):
        within = good & (lengths > place)
        digit = byte_at(data, np.where(within, starts + place, 0)).astype(np.int64) - _ZERO
        good &= ~within | ((digit >= 0) & (digit <= 9))
        values = np.where(within, values * 10 + digit, values)
    return Numbers(np.where(good, np.where(minus, -values, values), 0), good)


def look_like_numbers(data: Bytes, starts: Offsets, ends: Offsets) -> Mask:
    """Whether fields hold something, and nothing but what numbers are written with."""
    lengths = ends - starts
    alike: Mask = (lengths > 0) & (lengths <= _LONGEST)
    for place in range(int(lengths[alike].max(initial=0))):
        within = alike & (lengths > place)
        alike &= ~within | _OF_NUMBERS[byte_at(data, np.where(within, starts + place, 0))]
    return alike


def texts(data: bytes, starts: Offsets, ends: Offsets) -> list[str | None]:
    r"""Fields as texts, None where one is empty; bytes that are no UTF-8 are escaped (`\\xff`)."""
    fields = [data[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    known = {field: field.decode("utf-8", "backslashreplace") or None for field in set(fields)}
    return [known[field] for field in fields]
