"""The records of an lsb.acct, cut into fields: separated by blanks, texts in quotes.

A quote within a text is doubled; a text may have line ends in it. A record begins with the name of
its event in quotes, which no line within a text does: its quotes would be doubled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from audit.formats.lines import Bytes, Lines, Offsets, cut
from audit.formats.spans import Mask, Numbers, byte_at, whole_numbers

_QUOTE, _BLANK, _RETURN, _COMMENT = (ord(char) for char in '" \r#')
_LETTER_A, _LETTER_Z = ord("A"), ord("Z")


class Cut(NamedTuple):
    """What stands in a block."""

    records: Lines
    """Where each record begins and ends, without what ends its last line."""
    strays: Lines
    """Lines that belong to no record, and are more than blank or a comment."""


def cut_records(data: Bytes) -> Cut:
    """Finds the records."""
    lines = cut(data)
    opening, second = byte_at(data, lines.starts), byte_at(data, lines.starts + 1)
    begins = (opening == _QUOTE) & (second >= _LETTER_A) & (second <= _LETTER_Z)
    first = np.flatnonzero(begins)
    after = np.append(first[1:], len(lines.starts))[: len(first)]
    last = first.copy()
    stray = ~begins
    for at in np.flatnonzero(after - first > 1):  # few have lines behind them
        last[at] = _last_line(data, lines, int(first[at]), int(after[at]))
        stray[first[at] : last[at] + 1] = False
    ends = _without_return(data, lines)
    stray &= (ends > lines.starts) & (opening != _COMMENT)
    for at in np.flatnonzero(stray):
        stray[at] = bool(data[lines.starts[at] : ends[at]].tobytes().strip())
    return Cut(Lines(lines.starts[first], ends[last]), Lines(lines.starts[stray], ends[stray]))


def last_record(data: bytes) -> int:
    """Where the last record of a buffer begins; −1 where none does."""
    end = len(data)
    while end > 0:
        at = data.rfind(b'\n"', 0, end) + 1  # 0: the buffer begins with a record, or none is left
        if data[at : at + 1] == b'"' and data[at + 1 : at + 2].isupper():
            return at
        end = at
    return -1


class Fields(NamedTuple):
    """The fields of some records: record i has ``width[i]`` of them, from ``first[i]`` on.

    Field k stands between the breaks k and k + 1.
    """

    data: Bytes
    raw: bytes  # the same
    breaks: Offsets
    first: Offsets
    width: Offsets
    closed: Mask  # whether each record's quotes are

    def of(self, chosen: Offsets) -> Fields:
        """Those of some records alone."""
        kept = (self.first[chosen], self.width[chosen], self.closed[chosen])
        return Fields(self.data, self.raw, self.breaks, *kept)

    def spans(self, place: Offsets | int) -> Lines:
        """Where a field of each record stands, by its place from 0; nothing where there is none."""
        there = (place < self.width) & (place >= 0)
        at = np.where(there, self.first + place, 0)
        return Lines((self.breaks[at] + 1) * there, self.breaks[at + 1] * there)

    def numbers(self, place: Offsets | int) -> Numbers:
        """A field of each record as a whole number."""
        return whole_numbers(self.data, *self.spans(place))

    def quoted(self, place: Offsets | int) -> Mask:
        """Whether a field of each record is a text."""
        starts, ends = self.spans(place)
        first, last = byte_at(self.data, starts), byte_at(self.data, np.maximum(ends - 1, 0))
        around: Mask = (first == _QUOTE) & (last == _QUOTE) & (ends - starts >= 2)
        return around

    def are(self, place: Offsets | int, field: bytes) -> Mask:
        """Whether a field of each record stands there exactly so."""
        starts, ends = self.spans(place)
        wanted = np.frombuffer(field, dtype=np.uint8)
        found = byte_at(self.data, starts[:, None] + np.arange(len(wanted)))
        alike: Mask = (found == wanted).all(axis=1) & (ends - starts == len(wanted))
        return alike

    def texts(self, place: Offsets | int) -> list[str | None]:
        """A field of each record as a text, None where it is empty or there is none."""
        starts, ends = self.spans(place)
        lengths = ends - starts
        if not ((lengths > 2) | (lengths > 0) & (byte_at(self.data, starts) != _QUOTE)).any():
            return [None] * len(starts)
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        fields = [self.raw[start:end] for start, end in pairs]
        known = {field: unquoted(field) or None for field in set(fields)}
        return [known[field] for field in fields]

    def stretch(self, place: Offsets, length: Offsets) -> list[bytes]:
        """Several fields of each record as they stand; empty where not all of them are there."""
        there = (length > 0) & (place + length <= self.width)
        at = np.where(there, self.first + place, 0)
        starts = (self.breaks[at] + 1) * there
        ends = self.breaks[at + length * there] * there
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        return [self.raw[start:end] for start, end in pairs]


def unquoted(field: bytes) -> str:
    r"""What a field says; bytes that are no UTF-8 are escaped (``\xff``)."""
    if len(field) >= 2 and field[:1] == field[-1:] == b'"':
        field = field[1:-1].replace(b'""', b'"')
    return field.decode("utf-8", errors="backslashreplace")


def fields_of(raw: bytes, data: Bytes, records: Lines) -> Fields:
    """Cuts records at the blanks that stand in no text."""
    quotes = data == _QUOTE
    within = _odd_before(quotes)
    before = _bits(within, records.starts)  # whether a record begins within a text, by damage
    if before.any():
        turned = records.starts[before != np.append(False, before[:-1])]
        quotes[turned - 1] ^= True
        within = _odd_before(quotes)
    limits = np.unpackbits(_packed(data == _BLANK) & ~within, bitorder="little")
    limits[records.ends] = 1
    limits[records.starts[records.starts > 0] - 1] = 1
    breaks = np.append(-1, np.flatnonzero(limits.view(np.bool_)))
    first, last = np.searchsorted(breaks, records.starts - 1), np.searchsorted(breaks, records.ends)
    return Fields(data, raw, breaks, first, last - first, ~_bits(within, records.ends))


def _packed(flags: Mask) -> Bytes:
    """A bit for each flag, the first lowest, and at least one more: whole words of 64."""
    packed = np.zeros(len(flags) // 64 * 8 + 8, dtype=np.uint8)
    packed[: -(-len(flags) // 8)] = np.packbits(flags, bitorder="little")
    return packed


def _bits(packed: Bytes, places: Offsets) -> Mask:
    """Some flags out of those packed."""
    chosen: Mask = (packed[places >> 3] >> (places & 7).astype(np.uint8) & 1) == 1
    return chosen


def _odd_before(flags: Mask) -> Bytes:
    """Packed: whether the number of flags before each place is odd.

    64 places at a time, by doubling (Langdale and Lemire, Parsing gigabytes of JSON per second,
    VLDB Journal 28, 2019, section 3.1.1).
    """
    words = _packed(flags).view("<u8")
    odd = words << np.uint64(1)
    for step in (1, 2, 4, 8, 16, 32):
        odd ^= odd << np.uint64(step)
    last = (odd ^ words) >> np.uint64(63)  # whether all of a word's flags are an odd number
    before = np.bitwise_xor.accumulate(last) ^ last
    odd ^= np.uint64(0) - before  # all bits of a word, or none
    return odd.view(np.uint8)


def _last_line(data: Bytes, lines: Lines, first: int, after: int) -> int:
    """The line in which a record ends whose texts may have line ends in them."""
    quotes = 0
    for line in range(first, after):
        quotes += int((data[lines.starts[line] : lines.ends[line]] == _QUOTE).sum())
        if quotes % 2 == 0:
            return line
    return after - 1


def _without_return(data: Bytes, lines: Lines) -> Offsets:
    if not (data == _RETURN).any():
        return lines.ends
    returned = (lines.ends > lines.starts) & (data[np.maximum(lines.ends - 1, 0)] == _RETURN)
    ends: Offsets = lines.ends - returned
    return ends
