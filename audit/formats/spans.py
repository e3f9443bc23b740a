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
_OF_NUMBERS: Final = np.zeros(256, dtype=np.int64)
_OF_NUMBERS[list(b"0123456789+-.eE")] = 1


class Numbers(NamedTuple):
    """Fields read as whole numbers."""

    values: Offsets  # 0 where there is none
    good: Mask  # whether there is one


def whole_numbers(data: Bytes, starts: Offsets, ends: Offsets) -> Numbers:
    """Reads fields of digits, with a minus before them or without.

    Args:
        data: the log.
        starts: where each field begins, of any shape.
        ends: where it ends, of the same shape.
    """
    padded = np.append(data, np.uint8(0))  # a field may begin behind the last byte
    minus = (ends > starts) & (padded[starts] == _MINUS)
    starts = starts + minus
    lengths = ends - starts
    good = (lengths > 0) & (lengths <= DIGITS)
    values = np.zeros(starts.shape, dtype=np.int64)
    for place in range(int(lengths[good].max(initial=0))):
        within = good & (lengths > place)
        digit = padded[np.where(within, starts + place, 0)].astype(np.int64) - _ZERO
        good &= ~within | ((digit >= 0) & (digit <= 9))
        values = np.where(within, values * 10 + digit, values)
    return Numbers(np.where(good, np.where(minus, -values, values), 0), good)


def look_like_numbers(data: Bytes, starts: Offsets, ends: Offsets) -> Mask:
    """Whether fields hold something, and nothing but what numbers are written with."""
    before = np.concatenate([[0], np.cumsum(_OF_NUMBERS[data])])
    alike: Mask = (before[ends] - before[starts] == ends - starts) & (ends > starts)
    return alike


def texts(data: bytes, starts: Offsets, ends: Offsets) -> list[str | None]:
    r"""Fields as texts, None where one is empty; bytes that are no UTF-8 are escaped (`\\xff`)."""
    known: dict[bytes, str | None] = {b"": None}
    found = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        field = data[start:end]
        if field not in known:
            known[field] = field.decode("utf-8", errors="backslashreplace")
        found.append(known[field])
    return found
