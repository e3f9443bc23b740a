"""HTCondor's history files, and the output of `condor_history -long`: `Attribute = value`.

    ClusterId = 5
    Owner = "ana"
    *** Offset = 0 ClusterId = 5 ProcId = 0 Owner = "ana" CompletionDate = 1795235666

Records end with a banner in the files of a schedd and of epochs, with an empty line in the output
of programs (also `condor_q -long`). The last of equal attributes counts; their order and the case
of their names do not matter. A record without its end was cut. For speed, only lines whose first
letters are those of an attribute that is read are examined.
"""

from __future__ import annotations

import re
from itertools import product
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from audit.formats.dialects import Dialect, Header, Parsed, Reading, named_by_log
from audit.formats.htcondor.records import ATTRIBUTES, KEYS, NOTHING, typed
from audit.formats.lines import NEWLINE, Block, Bytes, Lines, Mask, Offsets, cut
from audit.formats.shaping import refused, shaped
from audit.model import RefusalCode

Words = npt.NDArray[np.uint64]

_MARKS: Final = [
    re.compile(rb"(?im)^%s[ \t]*=[ \t]*\d+[ \t\r]*$" % n) for n in (b"ClusterId", b"ProcId")
]
_END: Final = re.compile(rb"(?m)^(?:\r?|\*\*\*.*)\n")
_EPOCH: Final = re.compile(rb"\*\*\* (?:([A-Z_]+) )?ClusterId=.*?(?: CurrentTime=(\d+))?\s*$")
_STARTS_NAME: Final = np.array(
    [chr(n).isalpha() or n == ord("_") for n in range(128)] + [False] * 128
)
_MOST_BLANKS: Final = 4
"""Maximum number of blanks before a sign."""
_OF_ONE: Final = ("ClusterId", "ProcId")
"""Attributes whose values differ between adjacent records."""

_PADDING: Final = 32
_LOWER: Final = np.uint64(0x2020202020202020)
"""The bit that makes a letter lower case, for eight letters."""
_FIRST_OF: Final = np.array([(1 << 8 * letters) - 1 for letters in range(9)], dtype=np.uint64)
"""Masks of the first n of eight letters."""
_LONGEST: Final = max(map(len, KEYS))


def recognises(head: bytes) -> bool:
    """Return whether a history begins with ``head``."""
    return all(mark.search(head) for mark in _MARKS)


def header(head: bytes, reading: Reading) -> Header:
    """Return an empty header: nothing precedes the records."""
    return named_by_log("HTCondor's history names its attributes", reading)


def whole(data: bytes, header: Header) -> int:
    """Return the length of ``data`` up to its last banner or empty line."""
    stop = data.rfind(b"\n") + 1
    after = max(data.rfind(mark, 0, stop) for mark in (b"\n***", b"\n\n", b"\n\r\n"))
    if after < 0:
        found = _END.match(data[:stop])
        return found.end() if found else 0
    return data.index(b"\n", after + 1, stop) + 1


def parse(block: Block, header: Header) -> Parsed:
    """Read whole records."""
    view = _View(block.data)
    ads = view.attributes()
    wrong = view.wrong()
    found, others = typed(ads.filter(~pl.col("number").is_in(list(wrong))))
    bad = refused((number, *reason) for number, reason in wrong.items())
    return shaped(block, view.spans, [found, bad], steps=others)


class _View:
    """A block, cut into records."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.data: Bytes = np.frombuffer(raw + bytes(_PADDING), dtype=np.uint8)
        self.lines = cut(self.data[: len(raw)])
        begins, ends = self.lines
        self.first = self.data[begins]
        length = ends - begins
        empty = (length == 0) | ((length == 1) & (self.first == ord("\r")))
        # a banner with one damaged star is still a banner
        stars = np.sum([self.data[begins + n] == ord("*") for n in range(3)], axis=0, dtype=np.int8)
        self.banner: Mask = (length >= 3) & (stars >= 2) & (ends < len(raw))  # else it was cut
        self.over: Mask = empty | self.banner
        self.record: Offsets = np.cumsum(self.over) - self.over
        self.count = int(self.record[-1]) + 1 if len(begins) else 0
        places = np.searchsorted(self.record, np.arange(self.count + 1))
        self.spans = Lines(begins[places[:-1]], ends[places[1:] - 1])
        self.filled = self._any(~self.over)
        signs = np.append(np.flatnonzero(self.data == ord("=")), len(raw))
        self.signs: Offsets = signs[np.searchsorted(signs, begins)]
        self._twofold: set[int] = set()

    def _any(self, lines: Mask) -> Mask:
        """Return which records have such a line."""
        return np.bincount(self.record[lines], minlength=self.count) > 0

    def attributes(self) -> pl.DataFrame:
        """Return ``number`` and ``ATTRIBUTES`` of each record that is not empty."""
        lines, key = self._named()
        values = self._values(lines)
        record = self.record[lines]
        last = np.full((len(KEYS), self.count), -1, dtype=np.int64)
        last[key, record] = np.arange(len(key))  # of equal ones the last
        places = pl.Series(last.reshape(-1))
        table = values.gather(places.set(places < 0, None))
        columns = {"number": pl.Series(np.arange(self.count))}
        for number, name in enumerate(ATTRIBUTES):
            columns[name] = table.slice(number * self.count, self.count)
        for name in _OF_ONE:
            at = np.flatnonzero(key == KEYS.index(name.lower()))
            same = values.gather(at).eq_missing(columns[name].gather(record[at]))
            self._twofold.update(record[at][~same.to_numpy()].tolist())
        return self._with_banners(pl.DataFrame(columns).filter(pl.Series(self.filled)))

    def _named(self) -> tuple[Offsets, Offsets]:
        """Return the lines with one of ``ATTRIBUTES``, and which."""
        begins = self.lines.starts
        pairs = np.ndarray((len(self.data) - 1,), dtype="<u2", buffer=self.data, strides=(1,))
        likely = _BEGINNINGS[0][pairs[begins]] & _BEGINNINGS[1][pairs[begins + 2]] & ~self.over
        lines = np.flatnonzero(likely)
        begins, ends = begins[lines], self.signs[lines]
        for _ in range(_MOST_BLANKS):
            before = self.data[ends - 1]
            blank = (before == ord(" ")) | (before == ord("\t"))
            if not blank.any():
                break
            ends = ends - blank
        names = _fingerprints(self.data, begins, ends)
        place = np.minimum(np.searchsorted(_FINGERPRINTS, names), len(KEYS) - 1)
        known = (_FINGERPRINTS[place] == names) & (self.signs[lines] < self.lines.ends[lines])
        return lines[known], _ORDER[place[known]]

    def _values(self, lines: Offsets) -> pl.Series:
        """Return the text after each sign; null where there is no value."""
        begins, ends = self.signs[lines], self.lines.ends[lines]
        length = ends - begins + 1  # with the sign and the line break
        stops = np.cumsum(length)
        offsets = np.repeat(begins - stops + length, length)
        buffer = self.data[np.arange(len(offsets)) + offsets]
        buffer[stops - 1] = NEWLINE
        text = pl.Series([buffer.tobytes().decode("utf-8", errors="backslashreplace")])
        values = text.str.split("\n").explode().head(len(lines)).str.slice(1).str.strip_chars()
        nothing = values.str.len_bytes().is_in([len(word) for word in NOTHING])
        if nothing.any():
            values = values.set(nothing & values.str.to_lowercase().is_in(NOTHING), None)
        return values

    def _with_banners(self, ads: pl.DataFrame) -> pl.DataFrame:
        """Add the kind of each ad and its time of writing, from the banners of epoch files."""
        stated: list[tuple[int, str, str | None]] = []
        history = self.data[self.lines.starts + 4] == ord("O")  # Offset
        outputs = self.data[self.lines.starts + 5] == ord("U")
        for line in np.flatnonzero(self.banner & (~history | outputs)):
            text = self.raw[self.lines.starts[line] : self.lines.ends[line]]
            if match := _EPOCH.match(text):
                kind, when = match[1] or b"EPOCH", match[2]
                written = when.decode() if when else None
                stated.append((int(self.record[line]), f'"{kind.decode()}"', written))
        if not stated:
            return ads
        schema = {"number": pl.Int64, "kind": pl.String, "when": pl.String}
        banners = pl.DataFrame(stated, schema=schema, orient="row")
        joined = ads.join(banners, on="number", how="left", maintain_order="left")
        return joined.with_columns(
            EpochAdType=pl.coalesce("EpochAdType", "kind"),
            EpochWriteDate=pl.coalesce("EpochWriteDate", "when"),
        ).drop("kind", "when")

    def wrong(self) -> dict[int, tuple[str, RefusalCode]]:
        """Return the reason and code of each malformed record, by number."""
        begins, ends = self.lines
        odd = ~self.over & (~_STARTS_NAME[self.first] | (self.signs >= ends))
        found: dict[int, tuple[str, RefusalCode]] = {}
        for line in np.flatnonzero(odd)[::-1]:
            shown = self.raw[begins[line] : ends[line]][:40].decode(errors="backslashreplace")
            reason = f"a line of it is no attribute: {shown!r}"
            found[int(self.record[line])] = (reason, RefusalCode.SHAPE)
        for twice in self._twofold:
            found[twice] = ("two records run into each other", RefusalCode.SHAPE)
        for number in np.flatnonzero(self.filled & ~self._any(self.over)):
            found[int(number)] = ("the log ends within this record", RefusalCode.CUT)
        return found


def _fingerprints(data: Bytes, begins: Offsets, ends: Offsets) -> Words:
    """Return a hash of each name (of its first ``_LONGEST`` letters), whatever its case.

    ``_PADDING`` follows the bytes.
    """
    words = np.ndarray((len(data) - 7,), dtype="<u8", buffer=data, strides=(1,))
    length = ends - begins
    found: Words = length.astype(np.uint64)
    for offset in range(0, _LONGEST, 8):
        letters = np.clip(length - offset, 0, 8)
        part = (words[np.minimum(begins + offset, len(words) - 1)] | _LOWER) & _FIRST_OF[letters]
        found = (found ^ part) * np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(29)
    return found


def _known() -> tuple[Words, Offsets]:
    """Return the fingerprints of ``ATTRIBUTES``, ascending, and the attribute of each."""
    data = np.frombuffer("".join(KEYS).encode() + bytes(_PADDING), dtype=np.uint8)
    ends = np.cumsum([len(key) for key in KEYS])
    names = _fingerprints(data, ends - [len(key) for key in KEYS], ends)
    order = np.argsort(names)
    return names[order], order


def _beginnings() -> Mask:
    """Return which pairs of bytes are the letters 1 and 2, and 3 and 4, of an attribute."""
    found = np.zeros((2, 1 << 16), dtype=np.bool_)
    for key in KEYS:
        for which in range(2):
            one, two = [(letter, letter.upper()) for letter in key[2 * which : 2 * which + 2]]
            for first, second in product(one, two):
                found[which, ord(first) + (ord(second) << 8)] = True
    return found


_FINGERPRINTS, _ORDER = _known()
_BEGINNINGS: Final = _beginnings()

_TITLE: Final = "HTCondor's history (condor_history -long)"
DIALECT: Final = Dialect("htcondor", _TITLE, recognises, header, parse, whole)
