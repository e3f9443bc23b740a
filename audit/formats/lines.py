"""Lines of a log and their fields, read by numpy without a loop over records."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NEWLINE: Final = 0x0A
DIGITS: Final = 18
"""Maximum number of digits: longer numbers might not fit."""

_RETURN, _ZERO, _MINUS = b"\r0-"
_EACH: Final = 0x0101010101010101
"""Factor that repeats a byte in a word of eight."""
_OF_NUMBERS: Final = np.zeros(256, dtype=np.bool_)
_OF_NUMBERS[list(b"0123456789+-.eE")] = True
_LONGEST: Final = 40


class Block(NamedTuple):
    """Whole lines of a log."""

    data: bytes  # ends with a newline, unless the log does not
    byte_offset: int  # in the decompressed log
    first_line: int  # from 1


class Lines(NamedTuple):
    """The beginning and end of each line of a buffer, without the newline."""

    starts: Offsets
    ends: Offsets


def as_text(data: bytes) -> bytes:
    """Return the lines in UTF-8 with LF; bytes that are not UTF-8 are escaped."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("utf-8", errors="backslashreplace").encode()
    return data


def cut(data: Bytes) -> Lines:
    """Cut ``data`` at its newlines; a last line without one counts."""
    breaks = np.flatnonzero(data == NEWLINE)
    if len(data) and (not len(breaks) or breaks[-1] != len(data) - 1):
        breaks = np.append(breaks, len(data))
    return Lines(np.append(-1, breaks[:-1])[: len(breaks)] + 1, breaks)


def without_return(data: Bytes, lines: Lines) -> Offsets:
    """Return the ends of lines without a carriage return."""
    if not (data == _RETURN).any():
        return lines.ends
    returned = (lines.ends > lines.starts) & (byte_at(data, lines.ends - 1) == _RETURN)
    ends: Offsets = lines.ends - returned
    return ends


def select(data: Bytes, lines: Lines, chosen: Mask) -> bytes:
    """Return the chosen lines of ``data``, each with a newline."""
    if chosen.all():
        return data.tobytes()
    mask = np.repeat(chosen, lines.ends - lines.starts + 1)
    return data[mask[: len(data)]].tobytes()


class Numbers(NamedTuple):
    """Whole numbers."""

    values: Offsets  # 0 where invalid
    good: Mask


def byte_at(data: Bytes, places: Offsets) -> Bytes:
    """Return the bytes at some places; any byte for places beyond the end."""
    if not len(data):
        return np.zeros_like(places, np.uint8)
    found: Bytes = data[np.minimum(places, len(data) - 1)]
    return found


def whole_numbers(data: Bytes, starts: Offsets, ends: Offsets) -> Numbers:
    """Read fields as integers, with or without a minus; arrays of any shape."""
    minus = (ends > starts) & (byte_at(data, starts) == _MINUS)
    lengths = ends - starts - minus
    good = (lengths > 0) & (lengths <= DIGITS)
    values = np.zeros(starts.shape, dtype=np.int64)
    for behind in range(0, int(lengths[good].max(initial=0)), 8):
        part, digits = _eight_digits(data, ends - behind, np.clip(lengths - behind, 0, 8))
        values += part * 10**behind
        good &= digits
    return Numbers(np.where(good, np.where(minus, -values, values), 0), good)


def _eight_digits(data: Bytes, ends: Offsets, lengths: Offsets) -> Numbers:
    """Read fields of up to eight digits, each as one word of eight bytes.

    Adjacent digits are combined, then pairs, then fours (Lemire, Quickly parsing eight digits,
    2018).
    """
    if len(data) < 8:
        data = np.append(data, np.zeros(8, dtype=np.uint8))
    words: npt.NDArray[np.uint64] = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))
    places = np.maximum(ends - 8, 0)
    text = words[places] << (8 * (places + 8 - ends)).astype(np.uint64)  # its last byte is highest
    within = np.uint64(_EACH * 0xFF) << (64 - 8 * lengths).astype(np.uint64)
    text = (text & within) | (np.uint64(_EACH * _ZERO) & ~within)
    kind, beyond = np.uint64(_EACH * 0xF0), np.uint64(_EACH * 6)  # 0x30 to 0x39 and no others
    good = ((text & kind) | ((text + beyond & kind) >> np.uint64(4))) == np.uint64(_EACH * 0x33)
    values: npt.NDArray[np.uint64] = text & np.uint64(_EACH * 0x0F)
    for digits, mask in ((1, 0x00FF00FF00FF00FF), (2, 0x0000FFFF0000FFFF), (4, 0xFFFFFFFF)):
        width = np.uint64(8 * digits)
        values = (values * np.uint64(10**digits) + (values >> width)) & np.uint64(mask)
    return Numbers(values.astype(np.int64), good)


def look_like_numbers(data: Bytes, starts: Offsets, ends: Offsets) -> Mask:
    """Return which fields consist of characters of numbers and are not empty."""
    lengths = ends - starts
    alike: Mask = (lengths > 0) & (lengths <= _LONGEST)
    for place in range(int(lengths[alike].max(initial=0))):
        within = alike & (lengths > place)
        alike &= ~within | _OF_NUMBERS[byte_at(data, np.where(within, starts + place, 0))]
    return alike


def stretches(data: bytes, starts: Offsets, ends: Offsets) -> list[bytes]:
    """Return fields as bytes."""
    return [data[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def texts(data: bytes, starts: Offsets, ends: Offsets) -> list[str | None]:
    r"""Return fields as texts, None where empty; bytes that are not UTF-8 are escaped (`\xff`)."""
    fields = stretches(data, starts, ends)
    known = {field: field.decode("utf-8", "backslashreplace") or None for field in set(fields)}
    return [known[field] for field in fields]
