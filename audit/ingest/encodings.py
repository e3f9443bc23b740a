r"""Text encodings of logs: what is not UTF-8 with ``\n`` becomes so as it is read."""

from __future__ import annotations

import codecs
from typing import Final, Protocol

_LOOK: Final = 1 << 12
"""So many bytes tell UTF-16 from other text where no mark does, ..."""
_LOOK_FOR_BREAK: Final = 1 << 18
"""... and so many how its lines end."""

_MARKS: Final = (
    (codecs.BOM_UTF8, None),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

MOSTLY: Final = 0.8
"""Text in UTF-16 has a NUL in this part of its pairs at least: their characters are ASCII."""


class Stream(Protocol):
    """What is read piece by piece."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, about as many as ``size``; none at the end."""
        ...


def as_utf8(stream: Stream) -> Stream:
    r"""A log's text as UTF-8, its lines ending with ``\n``.

    - A byte order mark is left out. Without one, UTF-16 is told by a NUL at every other byte.
    - Halves of surrogate pairs that stand alone, and half a character at the end, are escaped.
    - Where a text has CR and no LF (old Macs), CR is the line break. CRLF stays as it is.
    - Any other text comes through byte by byte, also if it is no UTF-8.
    """
    first = _Peeked(stream)
    head = first.peek(_LOOK)
    mark, encoding = next(
        ((mark, name) for mark, name in _MARKS if head.startswith(mark)), (b"", _by_nuls(head))
    )
    first.skip(len(mark))
    text = first if encoding is None else _Peeked(_Transcoded(first, encoding))
    start = text.peek(_LOOK_FOR_BREAK)
    return _Mac(text) if b"\r" in start and b"\n" not in start else text


def _by_nuls(head: bytes) -> str | None:
    """The kind of UTF-16 that a text without a mark is in, if any."""
    pairs = len(head) // 2
    if pairs < 4:
        return None
    low, high = head[0 : 2 * pairs : 2].count(0), head[1 : 2 * pairs : 2].count(0)
    if high >= MOSTLY * pairs and low <= (1 - MOSTLY) * pairs:
        return "utf-16-le"
    if low >= MOSTLY * pairs and high <= (1 - MOSTLY) * pairs:
        return "utf-16-be"
    return None


class _Peeked:
    """A stream whose next bytes can be looked at."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._held = b""

    def peek(self, size: int) -> bytes:
        """The next bytes, ``size`` of them if there are so many; they stay to be read."""
        while len(self._held) < size and (more := self._stream.read(size - len(self._held))):
            self._held += more
        return self._held[:size]

    def skip(self, size: int) -> None:
        """Leaves out bytes that were looked at."""
        self._held = self._held[size:]

    def read(self, size: int, /) -> bytes:
        if not self._held:
            return self._stream.read(size)
        found, self._held = self._held[:size], self._held[size:]
        return found


class _Transcoded:
    """UTF-16 as UTF-8."""

    def __init__(self, stream: Stream, encoding: str) -> None:
        self._stream = stream
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")

    def read(self, size: int, /) -> bytes:
        while chunk := self._stream.read(size):
            if text := self._decoder.decode(chunk):
                return text.encode("utf-8", errors="backslashreplace")
        half, _ = self._decoder.getstate()
        self._decoder.reset()
        return half.decode(self._encoding, errors="backslashreplace").encode(
            "utf-8", errors="backslashreplace"
        )


class _Mac:
    """Lines that end with CR alone, as lines that end with LF."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        return self._stream.read(size).replace(b"\r", b"\n")
