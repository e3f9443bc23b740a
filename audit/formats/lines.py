"""The lines of a block of a log, found by numpy without a loop over them."""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

NEWLINE: Final = 0x0A


class Block(NamedTuple):
    """Whole lines of a log."""

    data: bytes  # ends with a newline, unless the log does not
    byte_offset: int  # in the decompressed log
    first_line: int  # from 1
    overlong: bool = False  # it holds only the beginning of a line that is too long


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


UNQUOTED: Final = "\x1f"  # separator of fields without their quotes


def unquoted(data: bytes, separator: str) -> bytes:
    """Return lines of CSV without quotes, their fields separated by ``UNQUOTED``.

    Lines stay the same. A quote within a field is dropped too, and a field ends with its line.
    """
    text = np.frombuffer(bytearray(data.replace(b'""', b"")), dtype=np.uint8)
    quotes = text == ord('"')
    seen = np.cumsum(quotes)
    within = seen - np.maximum.accumulate(np.where(text == NEWLINE, seen, 0))
    text[(text == ord(separator)) & (within % 2 == 0)] = ord(UNQUOTED)
    kept: Bytes = text[~quotes]
    return kept.tobytes()


def cut(data: Bytes) -> Lines:
    """Cut ``data`` at its newlines; a last line without one counts."""
    breaks = np.flatnonzero(data == NEWLINE)
    if len(data) and (not len(breaks) or breaks[-1] != len(data) - 1):
        breaks = np.append(breaks, len(data))
    return Lines(np.append(-1, breaks[:-1])[: len(breaks)] + 1, breaks)


def select(data: Bytes, lines: Lines, chosen: Mask) -> bytes:
    """Return the chosen lines of ``data``, each with a newline."""
    if chosen.all():
        return data.tobytes()
    mask = np.repeat(chosen, lines.ends - lines.starts + 1)
    return data[mask[: len(data)]].tobytes()
