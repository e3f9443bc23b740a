"""HTCondor's history files, and what `condor_history -long` prints of them: `Attribute = value`.

    ClusterId = 5
    Owner = "ana"
    *** Offset = 0 ClusterId = 5 ProcId = 0 Owner = "ana" CompletionDate = 1795235666

Records end with a banner in the files of a schedd and of epochs, with an empty line in what the
programs print (`condor_q -long` too). The last of equal attributes holds; their order, and the case
of their names, mean nothing. A record without its end was cut. Only lines that may hold what is
read are looked at more closely.
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

_MARKS: Final = (
    re.compile(rb"(?im)^ClusterId[ \t]*=[ \t]*\d+[ \t\r]*$"),
    re.compile(rb"(?im)^ProcId[ \t]*=[ \t]*\d+[ \t\r]*$"),
)
_END: Final = re.compile(rb"(?m)^(?:\r?|\*\*\*.*)\n")
_EPOCH: Final = re.compile(rb"\*\*\* (?:([A-Z_]+) )?ClusterId=.*?(?: CurrentTime=(\d+))?\s*$")
_STAR: Final = ord("*")
_NAME: Final = re.compile(rb"[A-Za-z_]")
_STARTS_NAME: Final = np.array([_NAME.match(bytes([n])) is not None for n in range(256)])
_STAND_INS: Final = (b"\x1f", b"\x1e", b"\x1d", b"\x1c", b"\x01", b"\x02", b"\x03", b"\x04")
"""Bytes that may separate the columns of a table that has one."""

_MOST_BLANKS: Final = 4
"""Before a sign."""

_OF_ONE: Final = ("ClusterId", "ProcId")
"""Attributes that differ between any two records that stand side by side."""

_PADDING: Final = 32
_LOWER: Final = np.uint64(0x2020202020202020)
"""Sets the bit that makes eight letters lower case."""

_FIRST_OF: Final = np.array([(1 << 8 * letters) - 1 for letters in range(9)], dtype=np.uint64)
"""Lets so many of eight letters through."""

_LONGEST: Final = max(map(len, KEYS))


def recognises(head: bytes) -> bool:
    """Whether these are the first bytes of a history."""
    return all(mark.search(head) for mark in _MARKS)


def header(head: bytes, reading: Reading) -> Header:
    """Nothing is said before the records."""
    return named_by_log("HTCondor's history names its attributes", reading)


def whole(data: bytes, header: Header) -> int:
    """How many of the first bytes of ``data`` are whole records: up to the last banner or empty
    line.
    """
    stop = data.rfind(b"\n") + 1
    banner, empty = data.rfind(b"\n***", 0, stop), data.rfind(b"\n\n", 0, stop)
    returned = data.rfind(b"\n\r\n", 0, stop)
    after = max(banner, empty, returned)
    if after < 0:
        found = _END.match(data[:stop])
        return found.end() if found else 0
    return data.index(b"\n", after + 1, stop) + 1


def parse(block: Block, header: Header) -> Parsed:
    """Takes in whole records; see the module's docstring."""
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
        stars = [self.data[begins + n] == _STAR for n in range(3)]
        length = ends - begins
        empty = (length == 0) | ((length == 1) & (self.first == ord("\r")))
        # one damaged star leaves a banner what it is
        self.banner: Mask = (length >= 3) & (np.sum(stars, axis=0, dtype=np.int8) >= 2)
        self.banner &= ends < len(raw)  # else it is cut
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
        """Which records have such a line."""
        return np.bincount(self.record[lines], minlength=self.count) > 0

    def attributes(self) -> pl.DataFrame:
        """``number`` of each record that holds anything, the values of ``ATTRIBUTES``."""
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
        ads = pl.DataFrame(columns).filter(pl.lit(pl.Series(self.filled)))
        return self._with_banners(ads)

    def _named(self) -> tuple[Offsets, Offsets]:
        """Lines that hold one of ``ATTRIBUTES``, and which."""
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
        """What stands behind the sign; null where it is nothing."""
        begins, ends = self.signs[lines], self.lines.ends[lines]
        length = ends - begins + 1  # with the sign, so that none is empty, and a line break
        stops = np.cumsum(length)
        kept = np.arange(stops[-1] if len(stops) else 0) + np.repeat(
            begins - stops + length, length
        )
        buffer = self.data[kept]
        buffer[stops - 1] = NEWLINE
        text = buffer.tobytes()
        mark = next((byte for byte in _STAND_INS if byte not in text), None)
        if mark is None or not text:
            texts = text.decode("utf-8", errors="backslashreplace").split("\n")[:-1]
            values = pl.Series(texts, dtype=pl.String)
        else:
            if not text.isascii():
                text = text.decode("utf-8", errors="backslashreplace").encode()
            values = pl.read_csv(
                text,
                separator=mark.decode(),
                has_header=False,
                schema={"value": pl.String},
                quote_char=None,
            )["value"]
        values = values.str.slice(1).str.strip_chars()
        nothing = values.str.len_bytes().is_in([len(word) for word in NOTHING])
        if nothing.any():
            values = values.set(nothing & values.str.to_lowercase().is_in(NOTHING), None)
        return values

    def _with_banners(self, ads: pl.DataFrame) -> pl.DataFrame:
        """What the banners of epoch files say: of what an ad is, and when it was written."""
        said: list[tuple[int, str, str | None]] = []
        history = self.data[self.lines.starts + 4] == ord("O")  # Offset
        outputs = self.data[self.lines.starts + 5] == ord("U")
        for line in np.flatnonzero(self.banner & (~history | outputs)):
            text = self.raw[self.lines.starts[line] : self.lines.ends[line]]
            if match := _EPOCH.match(text):
                kind, when = match[1] or b"EPOCH", match[2]
                written = when.decode() if when else None
                said.append((int(self.record[line]), f'"{kind.decode()}"', written))
        if not said:
            return ads
        told = pl.DataFrame(
            said, schema={"number": pl.Int64, "kind": pl.String, "when": pl.String}, orient="row"
        )
        joined = ads.join(told, on="number", how="left", maintain_order="left")
        return joined.with_columns(
            EpochAdType=pl.coalesce("EpochAdType", "kind"),
            EpochWriteDate=pl.coalesce("EpochWriteDate", "when"),
        ).drop("kind", "when")

    def wrong(self) -> dict[int, tuple[str, RefusalCode]]:
        """Why records are refused as they stand: by number, reason and code."""
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
    """A number for each name, whatever its case; for names of ``ATTRIBUTES`` by all their letters.

    ``_PADDING`` stands behind the bytes.
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
    """Fingerprints of ``ATTRIBUTES``, ascending, and which each is of."""
    data = np.frombuffer("".join(KEYS).encode() + bytes(_PADDING), dtype=np.uint8)
    ends = np.cumsum([len(key) for key in KEYS])
    names = _fingerprints(data, ends - [len(key) for key in KEYS], ends)
    order = np.argsort(names)
    return names[order], order


def _beginnings() -> tuple[Mask, Mask]:
    """Which pairs of bytes are the first and second, the third and fourth letter of a name."""
    found = np.zeros((2, 1 << 16), dtype=np.bool_)
    for key in KEYS:
        for which in range(2):
            one, two = [(letter, letter.upper()) for letter in key[2 * which : 2 * which + 2]]
            for first, second in product(one, two):
                found[which, ord(first) + (ord(second) << 8)] = True
    return found[0], found[1]


_FINGERPRINTS, _ORDER = _known()
_BEGINNINGS: Final = _beginnings()

DIALECT: Final = Dialect(
    name="htcondor",
    title="HTCondor's history (condor_history -long)",
    recognises=recognises,
    header=header,
    parse=parse,
    whole=whole,
)
