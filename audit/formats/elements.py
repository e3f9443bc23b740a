"""Records that are elements of a document: ads and jobs in JSON or XML.

JSON is decoded as UTF-8 with ``surrogateescape``, so that no byte is lost.
"""

from __future__ import annotations

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

_SHOWN: Final = 20
"""Characters that are shown from where a value breaks."""

decode: Final = json.JSONDecoder().raw_decode


class DamageError(Exception):
    """Why an element cannot be read: words, and a ``RefusalCode``."""


class Words(NamedTuple):
    """Why something is refused, in a dialect's words."""

    before: str  # the log ends before an element
    within: str  # the log ends within one
    other: str  # something else stands in its place


class Found:
    """What became of the elements of a block, in their order."""

    def __init__(self, block: Block) -> None:
        self.data = block.data
        self._block = block
        self._spans: list[tuple[int, int]] = []
        self._taken: list[tuple[int | str | None, ...]] = []
        self._refused: list[tuple[int, str, RefusalCode]] = []

    def take(self, begin: int, end: int, row: Row) -> None:
        """An element that stands from ``begin`` to ``end``."""
        self._taken.append((len(self._spans), *row))
        self._spans.append((begin, end))

    def refuse(self, begin: int, end: int, reason: str, code: RefusalCode) -> None:
        """What is no element; a comma behind it is left out."""
        kept = self.data[begin:end].rstrip().removesuffix(b",")
        self._refused.append((len(self._spans), reason, code))
        self._spans.append((begin, begin + len(kept)))

    def texts(self, columns: Iterable[str]) -> pl.DataFrame:
        """What was taken: ``number`` and the columns that ``take`` was given."""
        schema = {"number": pl.Int64, **dict.fromkeys(columns, pl.String)}
        found: Sequence[Sequence[Any]] = list(zip(*self._taken, strict=True)) or [()] * len(schema)
        return pl.DataFrame(dict(zip(schema, found, strict=True)), schema=schema)

    def parsed(self, records: pl.DataFrame, steps: int) -> Parsed:
        """All of it, ``records`` being what became of ``texts``."""
        spans = Lines(*np.array(self._spans, dtype=np.int64).reshape(-1, 2).T)
        return shaped(self._block, spans, [records, refused(self._refused)], steps=steps)

    def walk(
        self,
        at: int,
        starts: Sequence[int],
        between: re.Pattern[bytes],
        row: Callable[[Any], Row],
        words: Words,
        tries: int = 1,
    ) -> int:
        """Take in the elements of a JSON array from ``at`` on; return where it or the block ends.

        Args:
            at: where to begin.
            starts: where elements may begin, ascending; one ends at one of the next ``tries``.
            between: what stands between two elements.
            row: makes a row of an element; it raises ValueError for one that is none.
            words: reasons of refusals.
            tries: see ``starts``.
        """
        data = self.data
        while True:
            before, at = at, between.match(data, at).end()  # type: ignore[union-attr]
            if at >= len(data):
                if b"," in data[before:at]:
                    self.refuse(before, at, words.before, RefusalCode.CUT)
                return at
            mark = data[at : at + 1]
            if mark == b"]":
                return at
            number = bisect_right(starts, at)
            ends = [*starts[number : number + tries], len(data)][:tries]
            if mark != b"{":
                self.refuse(at, ends[0], words.other, RefusalCode.SHAPE)
                at = ends[0]
                continue
            try:
                value, stop = _decoded(data, at, ends, words.within)
            except DamageError as damage:
                self.refuse(at, ends[0], *damage.args)
                at = ends[0]
                continue
            try:
                self.take(at, stop, row(value))
            except ValueError as error:
                self.refuse(at, stop, str(error), RefusalCode.VALUE)
            at = stop


def starts_of(data: bytes, mark: bytes) -> list[int]:
    """Where ``mark`` stands, ascending; it may overlap."""
    starts, at = [], -1
    while (at := data.find(mark, at + 1)) >= 0:
        starts.append(at)
    return starts


def _decoded(data: bytes, at: int, ends: Sequence[int], within: str) -> tuple[Any, int]:
    """Return the value that begins at ``at`` and where it ends, or raise DamageError.

    The value ends before the first of ``ends`` at which it is whole.
    """
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
    if isinstance(broken, json.JSONDecodeError):
        shown = as_bytes(text[broken.pos : broken.pos + _SHOWN])
        before = shown.decode("utf-8", errors="backslashreplace")
        raise DamageError(f"is no JSON: {broken.msg} before {before!r}", RefusalCode.SHAPE)
    raise DamageError(f"is no JSON: {broken}", RefusalCode.SHAPE)


def _may_go_on(error: Exception, text: str) -> bool:
    """Whether a value is whole as far as it goes, so that what comes behind may end it."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated") or error.pos >= len(text.rstrip().rstrip(","))


def as_bytes(text: str) -> bytes:
    """The bytes that a text was decoded from."""
    return text.encode("utf-8", errors="surrogateescape")


def holdable(text: str) -> str:
    r"""The same text; NUL, bytes that were no UTF-8 (surrogateescape) and halves of pairs escaped.

    ``\x00``, ``\xff`` and ``\ud800`` stand for these, as elsewhere for bytes that are no UTF-8.
    """
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
