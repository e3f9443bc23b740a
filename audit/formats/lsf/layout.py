"""The records of an lsb.acct, cut into fields, and the places of fields in a JOB_FINISH record.

Fields are separated by blanks, texts in quotes. A quote within a text is doubled, and a text may
contain line ends. A record begins with its event's name in quotes, which no line within a text
does: its quotes would be doubled.

The order of fields is the same in all versions from 5.1 to 10.1, which only append. Each list is
preceded by its length and shifts later fields. Source: "lsb.acct" in IBM's and Platform's
configuration references, of versions 6.2 to 10.1, and records of 9.1 and 10.1, which differ in two
ways: the run limit precedes options3, and each host's usage has a sixth field, the number of pairs
that follow it.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

import numpy as np

from audit.formats.lines import (
    Bytes,
    Lines,
    Mask,
    Numbers,
    Offsets,
    byte_at,
    cut,
    stretches,
    whole_numbers,
    without_return,
)
from audit.formats.shaping import SHOWN

_QUOTE, _BLANK, _COMMENT = b'" #'
_LETTER_A, _LETTER_Z = ord("A"), ord("Z")


class Cut(NamedTuple):
    """The records of a block."""

    records: Lines
    """Without the end of the last line."""
    strays: Lines
    """Lines outside records that are neither blank nor a comment."""


def cut_records(data: Bytes) -> Cut:
    """Find the records."""
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
    ends = without_return(data, lines)
    stray &= (ends > lines.starts) & (opening != _COMMENT)
    for at in np.flatnonzero(stray):
        stray[at] = bool(data[lines.starts[at] : ends[at]].tobytes().strip())
    return Cut(Lines(lines.starts[first], ends[last]), Lines(lines.starts[stray], ends[stray]))


def last_record(data: bytes) -> int:
    """Return the beginning of the last record of a buffer; −1 for none."""
    end = len(data)
    while end > 0:
        at = data.rfind(b'\n"', 0, end) + 1  # 0: the buffer's beginning
        if data[at : at + 1] == b'"' and data[at + 1 : at + 2].isupper():
            return at
        end = at
    return -1


class Fields(NamedTuple):
    """The fields of records: record i has ``width[i]``, from ``first[i]`` on.

    Field k is between the breaks k and k + 1.
    """

    data: Bytes
    raw: bytes  # the same
    breaks: Offsets
    first: Offsets
    width: Offsets
    closed: Mask  # whether each record's quotes are closed

    def of(self, chosen: Offsets) -> Fields:
        """Return the fields of some records."""
        kept = (self.first[chosen], self.width[chosen], self.closed[chosen])
        return Fields(self.data, self.raw, self.breaks, *kept)

    def spans(self, place: Offsets | int) -> Lines:
        """Return the span of a field of each record, by its place from 0; empty where missing."""
        there = (place < self.width) & (place >= 0)
        at = np.where(there, self.first + place, 0)
        return Lines((self.breaks[at] + 1) * there, self.breaks[at + 1] * there)

    def numbers(self, place: Offsets | int) -> Numbers:
        """Return a field of each record as a whole number."""
        return whole_numbers(self.data, *self.spans(place))

    def quoted(self, place: Offsets | int) -> Mask:
        """Return whether a field of each record is in quotes."""
        starts, ends = self.spans(place)
        first, last = byte_at(self.data, starts), byte_at(self.data, np.maximum(ends - 1, 0))
        around: Mask = (first == _QUOTE) & (last == _QUOTE) & (ends - starts >= 2)
        return around

    def are(self, place: Offsets | int, field: bytes) -> Mask:
        """Return whether a field of each record equals ``field``."""
        starts, ends = self.spans(place)
        wanted = np.frombuffer(field, dtype=np.uint8)
        found = byte_at(self.data, starts[:, None] + np.arange(len(wanted)))
        alike: Mask = (found == wanted).all(axis=1) & (ends - starts == len(wanted))
        return alike

    def texts(self, place: Offsets | int) -> list[str | None]:
        """Return a field of each record as a text, None where empty or missing."""
        starts, ends = self.spans(place)
        lengths = ends - starts
        if not ((lengths > 2) | (lengths > 0) & (byte_at(self.data, starts) != _QUOTE)).any():
            return [None] * len(starts)
        fields = stretches(self.raw, starts, ends)
        known = {field: unquoted(field) or None for field in set(fields)}
        return [known[field] for field in fields]

    def stretch(self, place: Offsets, length: Offsets) -> list[bytes]:
        """Return several fields of each record as bytes; empty where one is missing."""
        there = (length > 0) & (place + length <= self.width)
        at = np.where(there, self.first + place, 0)
        starts = (self.breaks[at] + 1) * there
        ends = self.breaks[at + length * there] * there
        return stretches(self.raw, starts, ends)


def unquoted(field: bytes) -> str:
    r"""Return the text of a field; bytes that are not UTF-8 are escaped (``\xff``)."""
    if len(field) >= 2 and field[:1] == field[-1:] == b'"':
        field = field[1:-1].replace(b'""', b'"')
    return field.decode("utf-8", errors="backslashreplace")


def fields_of(raw: bytes, data: Bytes, records: Lines) -> Fields:
    """Cut records at the blanks outside texts."""
    quotes = data == _QUOTE
    within = _odd_before(quotes)
    before = _bits(within, records.starts)  # a record begins within a text: damage
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
    """Pack flags into words of 64 bits, the first lowest, with at least one bit more."""
    packed = np.zeros(len(flags) // 64 * 8 + 8, dtype=np.uint8)
    packed[: -(-len(flags) // 8)] = np.packbits(flags, bitorder="little")
    return packed


def _bits(packed: Bytes, places: Offsets) -> Mask:
    """Return some of the packed flags."""
    chosen: Mask = (packed[places >> 3] >> (places & 7).astype(np.uint8) & 1) == 1
    return chosen


def _odd_before(flags: Mask) -> Bytes:
    """Return, packed, whether the number of flags before each place is odd.

    64 places at a time, by doubling (Langdale and Lemire, Parsing gigabytes of JSON per second,
    VLDB Journal 28, 2019, section 3.1.1).
    """
    words = _packed(flags).view("<u8")
    odd = words << np.uint64(1)
    for step in (1, 2, 4, 8, 16, 32):
        odd ^= odd << np.uint64(step)
    last = (odd ^ words) >> np.uint64(63)  # parity of a word
    before = np.bitwise_xor.accumulate(last) ^ last
    odd ^= np.uint64(0) - before  # all bits of a word, or none
    return odd.view(np.uint8)


def _last_line(data: Bytes, lines: Lines, first: int, after: int) -> int:
    """Return the last line of a record whose texts may contain line ends."""
    quotes = 0
    for line in range(first, after):
        quotes += int((data[lines.starts[line] : lines.ends[line]] == _QUOTE).sum())
        if quotes % 2 == 0:
            return line
    return after - 1


class Part(Enum):
    """Origin of the places of fields."""

    HEAD = "the event itself"
    HOSTS = "the number of execution hosts"
    BODY = "jStatus, behind the lists of hosts"
    TAIL = "runLimit, behind the usage of hosts (8.3 and newer)"


class Field(NamedTuple):
    """The place of a field, and its type if this is checked."""

    part: Part
    place: int  # from 0
    holds: type[int] | type[str] | None = None


FIELDS: Final = {
    "version": Field(Part.HEAD, 1),
    "eventTime": Field(Part.HEAD, 2, int),
    "jobId": Field(Part.HEAD, 3, int),
    "options": Field(Part.HEAD, 5),
    "numProcessors": Field(Part.HEAD, 6, int),
    "submitTime": Field(Part.HEAD, 7, int),
    "beginTime": Field(Part.HEAD, 8, int),
    "termTime": Field(Part.HEAD, 9, int),
    "startTime": Field(Part.HEAD, 10, int),
    "userName": Field(Part.HEAD, 11, str),
    "queue": Field(Part.HEAD, 12, str),
    "numAskedHosts": Field(Part.HEAD, 22, int),
    "numExHosts": Field(Part.HOSTS, 0, int),
    "jStatus": Field(Part.BODY, 0, int),
    "jobName": Field(Part.BODY, 2, str),
    "command": Field(Part.BODY, 3, str),
    "mailUser": Field(Part.BODY, 23, str),
    "projectName": Field(Part.BODY, 24, str),
    "exitStatus": Field(Part.BODY, 25, int),
    "maxNumProcessors": Field(Part.BODY, 26, int),
    "loginShell": Field(Part.BODY, 27, str),
    "idx": Field(Part.BODY, 29, int),
    "rsvId": Field(Part.BODY, 34),
    "sla": Field(Part.BODY, 35),
    "exitInfo": Field(Part.BODY, 38),
    "chargedSAAP": Field(Part.BODY, 41),
    "longRsvId": Field(Part.BODY, 51),
    "submitExt": Field(Part.BODY, 53),
    "runLimit": Field(Part.TAIL, 0),
    "options3": Field(Part.TAIL, 1),
    "avgMem": Field(Part.TAIL, 2),
    "effectiveResReq": Field(Part.TAIL, 3),
    "runTime": Field(Part.TAIL, 13),
    "numNetworks": Field(Part.TAIL, 15),
}

_HOSTS: Final = FIELDS["numAskedHosts"].place + 1
"""Place of the first requested host."""
_USAGE: Final = 6
_UNUSED_BEHIND_NETWORKS: Final = 6  # affinity, energy and four rates


class Layout(NamedTuple):
    """Places of fields from 0; −1 where missing."""

    body: Offsets  # jStatus
    hosts: Offsets  # the first of the execution hosts
    host_count: Offsets
    tail: Offsets  # runLimit
    slots: Offsets  # the first of the hosts with slots
    slot_count: Offsets
    ineligible: Offsets  # seconds that it was not eligible
    requeued: Offsets  # when it was requeued
    head: dict[str, Numbers]  # the numbers before the lists of hosts

    def place(self, name: str) -> Offsets:
        """Return the place of one of ``FIELDS`` in each record."""
        part, place, _ = FIELDS[name]
        begins = {Part.HOSTS: self.hosts - 1, Part.BODY: self.body, Part.TAIL: self.tail}
        return _behind(begins.get(part, np.zeros_like(self.body)), place)


def _behind(place: Offsets, more: Offsets | int) -> Offsets:
    """Return places plus an offset; −1 stays −1."""
    return np.where(place < 0, -1, place + more)


def laid_out(fields: Fields) -> tuple[Layout, list[str | None]]:
    """Return the places of the fields of JOB_FINISH records, and the problem of each record."""
    head = {
        name: fields.numbers(field.place)
        for name, field in FIELDS.items()
        if field.part is Part.HEAD and field.holds is int
    }
    asked = head["numAskedHosts"].values
    hosts = _HOSTS + 1 + asked
    count = fields.numbers(hosts - 1).values
    body = hosts + count
    # some records with requested hosts lack the list of execution hosts
    good = _body_fits(fields, body)
    if (lacking := (asked > 0) & ~good).any():
        lacking &= _body_fits(fields, hosts - 1)
        body = np.where(lacking, hosts - 1, body)
        hosts = np.where(lacking, hosts - 1 - asked, hosts)
        count = np.where(lacking, asked, count)
    good = (good | lacking) & (count >= 0) & (asked >= 0)
    tail, broken = _tail(fields, body, good)
    place = FIELDS["numNetworks"].place
    networks = fields.numbers(_behind(tail, place))
    slots = np.where(
        networks.good & (networks.values >= 0),
        tail + place + 1 + 2 * networks.values + _UNUSED_BEHIND_NETWORKS + 1,
        -1,
    )
    slot_count, found = fields.numbers(_behind(slots, -1))
    slots = np.where(found & (slot_count >= 0), slots, -1)
    ineligible = _behind(slots, slot_count)
    ranges, ranged = fields.numbers(_behind(ineligible, 1))
    requeued = np.where(ranged & (ranges >= 0), ineligible + 2 + 3 * ranges, -1)
    slot_count = np.where(slots < 0, 0, slot_count)
    layout = Layout(body, hosts, count, tail, slots, slot_count, ineligible, requeued, head)
    bad = ~good | broken | ~fields.quoted(layout.place("userName"))
    bad |= ~fields.quoted(layout.place("queue"))
    for read in head.values():
        bad |= ~read.good | (read.values < 0)
    problems: list[str | None] = [None] * len(bad)
    for record in np.flatnonzero(bad).tolist():
        problems[record] = _problem(fields.of(np.array([record])), layout, record)
    return layout, problems


def _body_fits(fields: Fields, body: Offsets) -> Mask:
    """Return whether the fields from jStatus on have their types."""
    fits = fields.width > body + FIELDS["idx"].place
    for part, place, holds in FIELDS.values():
        if part is Part.BODY and holds is not None:
            read = fields.quoted if holds is str else lambda at: fields.numbers(at).good
            fits &= read(body + place)
    return fits


def _tail(fields: Fields, body: Offsets, good: Mask) -> tuple[Offsets, Mask]:
    """Return the place of runLimit, and which records are malformed before it."""
    nowhere = np.full(len(body), -1)
    extension = FIELDS["submitExt"].place
    extended = good & (fields.width > body + extension)
    pairs, counted = fields.numbers(np.where(extended, body + extension, -1))
    usage = body + extension + 1 + 2 * pairs
    broken = extended & (~counted | (pairs < 0) | (usage > fields.width))
    used = extended & ~broken & (fields.width > usage)
    hosts, listed = fields.numbers(np.where(used, usage, -1))
    broken |= used & (~listed | (hosts < 0))
    tail = np.where(used & ~broken, usage + 1 + _USAGE * hosts, nowhere)
    fits = _tail_fits(fields, tail)
    if (odd := used & ~broken & ~fits & (hosts > 0)).any():
        for record in np.flatnonzero(odd).tolist():
            tail[record] = _behind_usage(fields, record, int(usage[record]) + 1, int(hosts[record]))
        fits = _tail_fits(fields, tail)
    broken |= used & ~broken & ~fits & (fields.width != tail)
    return np.where(fits, tail, nowhere), broken


def _tail_fits(fields: Fields, tail: Offsets) -> Mask:
    """Return whether three numbers and a text are there."""
    fits = fields.quoted(_behind(tail, 3))
    for place in range(3):
        fits &= fields.numbers(_behind(tail, place)).good
    return fits


def _behind_usage(fields: Fields, record: int, place: int, hosts: int) -> int:
    """Return the end of the usage of hosts, each with its own pairs."""
    one = fields.of(np.array([record]))
    for _ in range(min(hosts, int(one.width[0]))):
        pairs = int(one.numbers(np.array([place + _USAGE - 1])).values[0])
        place += _USAGE + 2 * max(pairs, 0)
        if place >= one.width[0]:
            break
    return place


def _problem(one: Fields, layout: Layout, record: int) -> str:
    """Return the problem of one record: its first invalid number, else text."""
    width = int(one.width[0])
    for name, field in sorted(FIELDS.items(), key=lambda item: item[1].holds is str):
        at = layout.place(name)[record : record + 1]
        skipped = name == "numExHosts" and layout.hosts[record] < _HOSTS - 1
        if field.holds is None or skipped:
            continue
        if at[0] >= width:
            return f"{width} fields: {name} is missing"
        shown = f"field {at[0] + 1} ({name}): '{(one.texts(at)[0] or '')[:SHOWN]}'"
        value, good = one.numbers(at)
        in_body = field.part is Part.BODY
        if field.holds is int and not (good[0] and (value[0] >= 0 or in_body)):
            return f"{shown} is no whole number"
        if field.holds is str and not one.quoted(at)[0]:
            return f"{shown} is no text in quotes"
    return f"{width} fields: those behind submitExt are not where they should be"
