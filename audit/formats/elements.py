"""Records that are elements of a document: ads and jobs in JSON or XML.

JSON is decoded as UTF-8 with ``surrogateescape``, so that no byte is lost.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from audit.formats.dialects import Parsed
from audit.formats.lines import Block, Lines
from audit.formats.shaping import refused, shaped
from audit.model import RefusalCode

Row = tuple[str | None, ...]

_SHOWN: Final = 20  # number of characters shown from where JSON becomes invalid

decode: Final = json.JSONDecoder().raw_decode


class DamageError(Exception):
    """An element cannot be read; ``args`` are the reason and a ``RefusalCode``."""


class Words(NamedTuple):
    """A dialect's reasons for refusals."""

    before: str  # the log ends before an element
    within: str  # the log ends within an element
    other: str  # there is something else in its place


class BlockElements:
    """The elements of a block, in order."""

    def __init__(self, block: Block) -> None:
        self.data = block.data
        self._block = block
        self._spans: list[tuple[int, int]] = []
        self._taken: list[tuple[int | str | None, ...]] = []
        self._refused: list[tuple[int, str, RefusalCode]] = []

    def take(self, begin: int, end: int, row: Row) -> None:
        """Add an element."""
        self._taken.append((len(self._spans), *row))
        self._spans.append((begin, end))

    def refuse(self, begin: int, end: int, reason: str, code: RefusalCode) -> None:
        """Add something that is not an element, without a comma after it."""
        kept = self.data[begin:end].rstrip().removesuffix(b",")
        self._refused.append((len(self._spans), reason, code))
        self._spans.append((begin, begin + len(kept)))

    def texts(self, columns: Iterable[str]) -> pl.DataFrame:
        """Return ``number`` and the rows that were taken."""
        schema = {"number": pl.Int64, **dict.fromkeys(columns, pl.String)}
        found: Sequence[Sequence[Any]] = list(zip(*self._taken, strict=True)) or [()] * len(schema)
        return pl.DataFrame(dict(zip(schema, found, strict=True)), schema=schema)

    def parsed(self, records: pl.DataFrame, steps: int) -> Parsed:
        """Return the result of the block; ``records`` are the converted ``texts``."""
        spans = Lines(*np.array(self._spans, dtype=np.int64).reshape(-1, 2).T)
        return shaped(self._block, spans, [records, refused(self._refused)], steps=steps)

    def walk(
        self,
        at: int,
        starts: Sequence[int],
        between: re.Pattern[bytes],
        rows: Callable[[Any], Iterable[Row]],
        words: Words,
        tries: int = 1,
    ) -> int:
        """Read the elements of a JSON array from ``at`` on; return the end of the array or block.

        ``starts`` are possible beginnings of elements, ascending; an element ends at one of the
        next ``tries``. ``between`` matches what is between two elements. ``rows`` converts an
        element and raises ValueError for an invalid one.
        """
        data = self.data
        while True:
            before, at = at, between.match(data, at).end()  # type: ignore[union-attr]
            if at >= len(data):
                if b"," in data[before:at]:
                    self.refuse(before, at, words.before, RefusalCode.CUT)
                return at
            if data[at : at + 1] == b"]":
                return at
            number = bisect_right(starts, at)
            ends = [*starts[number : number + tries], len(data)][:tries]
            try:
                if data[at : at + 1] != b"{":
                    raise DamageError(words.other, RefusalCode.SHAPE)
                value, stop = _decoded(data, at, ends, words.within)
            except DamageError as damage:
                self.refuse(at, ends[0], *damage.args)
                at = ends[0]
                continue
            try:
                for row in [*rows(value)]:
                    self.take(at, stop, row)
            except ValueError as error:
                self.refuse(at, stop, str(error), RefusalCode.VALUE)
            at = stop


def starts_of(data: bytes, mark: bytes) -> list[int]:
    """Return the places of ``mark``, ascending; they may overlap."""
    starts, at = [], -1
    while (at := data.find(mark, at + 1)) >= 0:
        starts.append(at)
    return starts


def _decoded(data: bytes, at: int, ends: Sequence[int], within: str) -> tuple[Any, int]:
    """Return the value up to the first of ``ends`` at which it is complete, and its end."""
    first: tuple[Exception, str] | None = None
    for end in ends:
        text = data[at:end].decode("utf-8", errors="surrogateescape")
        try:
            value, length = decode(text)
        except (ValueError, RecursionError) as error:
            first = first or (error, text)
            if not _may_go_on(error, text):
                break
        else:
            rest = text[length:]
            return value, end - (len(rest) if rest.isascii() else len(as_bytes(rest)))
    assert first is not None
    broken, text = first
    if ends[0] == len(data) and _may_go_on(broken, text):
        raise DamageError(within, RefusalCode.CUT)
    why = str(broken)
    if isinstance(broken, json.JSONDecodeError):
        shown = as_bytes(text[broken.pos : broken.pos + _SHOWN])
        why = f"{broken.msg} before {shown.decode('utf-8', errors='backslashreplace')!r}"
    raise DamageError(f"is not JSON: {why}", RefusalCode.SHAPE)


def _may_go_on(error: Exception, text: str) -> bool:
    """Return whether a value is valid as far as it goes."""
    return isinstance(error, json.JSONDecodeError) and (
        error.msg.startswith("Unterminated") or error.pos >= len(text.rstrip().rstrip(","))
    )


def as_bytes(text: str) -> bytes:
    """Return the bytes from which a text was decoded."""
    return text.encode("utf-8", errors="surrogateescape")


def holdable(text: str) -> str:
    r"""Return a text with NUL, bytes that are not UTF-8 and surrogates escaped (``\x00``)."""
    if "\0" in text:
        text = text.replace("\0", "\\x00")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(map(_escaped, text))
    return text


def _escaped(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("utf-8", errors="backslashreplace").decode()
