"""Lines of a PBS accounting log → their heads, and a table of the keys that are read.

A line is `MM/DD/YYYY HH:MM:SS;TYPE;ID;key=value key=value …`. A value with a blank is in quotes
(`"`, or `'` if it contains a `"`); nothing is escaped (OpenPBS, accounting.c). All keys of a block
are found at once, by their last bytes and their length. Lines with a blank within quotes, or with
bytes that are not UTF-8, are read one by one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.formats.lines import NEWLINE, Bytes, Lines, Mask, Offsets

_BREAK: Final = 0x1F
"""Separator of the values of a line."""
_MARK, _SIGN = 1, 2
_ROLES: Final = bytes(
    _MARK if byte in (ord(" "), NEWLINE, _BREAK) else _SIGN * (byte == ord("="))
    for byte in range(256)
)
"""Whether each byte ends a value, or a key."""
_HEAD_LENGTH: Final = 19
_TAIL: Final = 8
"""Number of last bytes by which a key is found."""
_ODD_LENGTH: Final = np.uint64(0x9E3779B97F4A7C15)

_ITEM: Final = re.compile(
    r"""(?:^|(?<=\ ))(?P<key>[A-Za-z][\w.]*)=
        (?:"(?P<double>[^"]*)"(?=\ |$)|'(?P<single>[^']*)'(?=\ |$)|(?P<bare>[^ ]*))""",
    re.VERBOSE,
)


class Heads(NamedTuple):
    """The first three fields of each line; null where they are missing."""

    frame: pl.DataFrame
    """``time`` (as text), ``type`` and ``id``."""
    messages: Offsets
    """Beginning of each line's keys."""


def heads(raw: bytes, lines: Lines) -> Heads:
    """Cut the heads of lines, none of which is blank or includes its line end."""
    data = np.frombuffer(raw, dtype=np.uint8)
    cuts = np.append(np.flatnonzero(data == ord(";")), [len(data)] * 3)
    first = np.searchsorted(cuts, lines.starts)
    ends = [cuts[first + k] for k in range(3)]
    breaks = np.append(np.flatnonzero(data == _BREAK), len(data))
    good = (ends[2] < lines.ends) & (ends[0] - lines.starts == _HEAD_LENGTH)
    good &= breaks[np.searchsorted(breaks, lines.starts)] > ends[2]
    starts = np.stack([lines.starts, ends[0] + 1, ends[1] + 1], axis=1)
    stops = np.stack(ends, axis=1)
    starts[~good] = stops[~good] = 0
    frame = _table(data, starts, stops - starts, ("time", "type", "id"))
    for number in np.flatnonzero(good & _undecodable(raw, lines)):
        text = raw[starts[number, 2] : stops[number, 2]].decode("utf-8", errors="backslashreplace")
        frame[int(number), "id"] = text
    return Heads(frame, np.where(good, ends[2] + 1, lines.ends))


def values(raw: bytes, lines: Lines, messages: Offsets, keys: Sequence[str]) -> pl.DataFrame:
    """Return the values of ``keys`` (at most 64 bytes long), a row per line; null where missing.

    ``messages`` are the beginnings of each line's keys. The last of equal keys counts.
    """
    if not len(messages):
        return pl.DataFrame(schema=dict.fromkeys(keys, pl.String))
    data = np.frombuffer(raw, dtype=np.uint8)
    starts, sizes, odd = _places(raw, lines, messages, keys)
    odd |= _undecodable(raw, lines)
    sizes[odd] = 0
    filled = np.asarray(sizes.any(axis=0))
    filled[:2] = True  # a table of one column cannot hold empty values
    names = [key for key, holds in zip(keys, filled, strict=True) if holds]
    found = _table(data, starts[:, filled], sizes[:, filled], names)
    nothing = pl.Series([None], dtype=pl.String).new_from_index(0, len(messages))
    found = found.with_columns(nothing.alias(key) for key in keys if key not in names).select(keys)
    if not odd.any():
        return found
    numbers = np.flatnonzero(odd)
    items = [_items(raw[messages[number] : lines.ends[number]]) for number in numbers]
    rows = [[of.get(key) for key in keys] for of in items]
    read = pl.DataFrame(rows, schema=dict.fromkeys(keys, pl.String), orient="row")
    return found.with_columns(
        found[key].scatter(numbers, read[key]) for key in keys if read[key].null_count() < len(read)
    )


def _items(message: bytes) -> dict[str, str | None]:
    """Return the keys and values of one line; None for an empty value."""
    items: dict[str, str | None] = {}
    for match in _ITEM.finditer(message.decode("utf-8", errors="backslashreplace")):
        items[match["key"]] = match["double"] or match["single"] or match["bare"] or None
    return items


def _places(
    raw: bytes, lines: Lines, messages: Offsets, keys: Sequence[str]
) -> tuple[Offsets, Offsets, Mask]:
    """Return the beginning and length of each key's value in each line, and which lines are odd."""
    data = np.frombuffer(raw, dtype=np.uint8)
    roles = np.frombuffer(bytearray(raw.translate(_ROLES)), dtype=np.uint8)
    roles[messages - 1] = _MARK
    roles[lines.ends[lines.ends < len(raw)]] = _MARK
    places = np.flatnonzero(roles != 0)
    marks = roles[places] == _MARK
    stops = np.append(places[marks], len(raw))
    signs, behind = places[~marks], np.cumsum(marks)[~marks]  # next stop of each sign
    low, high = np.searchsorted(signs, messages), np.searchsorted(signs, lines.ends)
    line = np.repeat(np.arange(len(messages)), high - low)
    if len(line) < len(signs):  # some are outside the messages
        gaps = low - np.cumsum(high - low) + high - low
        inside = np.arange(len(line)) + np.repeat(gaps, high - low)
        signs, behind = signs[inside], behind[inside]
    first = np.ones(len(signs), dtype=np.bool_)  # of those between two blanks
    first[1:] = behind[1:] != behind[:-1]
    signs, line, behind = signs[first], line[first], behind[first]
    key = _known(data, signs, signs - stops[behind - 1] - 1, keys)
    known = key >= 0
    starts = np.zeros((len(lines.starts), len(keys)), dtype=np.int64)
    sizes = np.zeros_like(starts)
    row, column = line[known], key[known]
    at = signs[known] + 1
    size = stops[behind[known]] - at
    quote = data[np.minimum(at, len(data) - 1)]
    quoted = (size > 0) & ((quote == ord('"')) | (quote == ord("'")))
    closed = quoted & (size > 1) & (data[np.maximum(at + size - 1, 0)] == quote)
    starts[row, column] = at + closed
    sizes[row, column] = size - 2 * closed
    odd = np.zeros(len(lines.starts), dtype=np.bool_)
    odd[row[quoted & ~closed]] = True
    # a quoted value of another key may contain these keys
    opener = data[np.minimum(signs + 1, len(data) - 1)]
    loose = np.flatnonzero(((opener == ord('"')) | (opener == ord("'"))) & ~known)
    ends = stops[behind[loose]]
    odd[line[loose][(data[ends - 1] != opener[loose]) | (ends - signs[loose] == 2)]] = True
    breaks = np.flatnonzero(data == _BREAK) if bytes([_BREAK]) in raw else places[:0]
    odd[np.searchsorted(lines.starts, breaks, side="right") - 1] = True
    return starts, sizes, odd


def _known(data: Bytes, signs: Offsets, lengths: Offsets, keys: Sequence[str]) -> Offsets:
    """Return which of ``keys`` precedes each sign; -1 for others."""
    if not len(signs):
        return np.zeros(0, dtype=np.int64)
    eights = np.ndarray((len(data) - _TAIL + 1,), dtype="<u8", buffer=data, strides=(1,))
    missing = np.maximum(_TAIL - lengths, 0).astype(np.uint64) * np.uint64(8)
    tails = np.where(lengths > 0, eights[signs - _TAIL] >> np.minimum(missing, np.uint64(63)), 0)
    codes = tails ^ (lengths.astype(np.uint64) * _ODD_LENGTH)
    wanted = np.array([_code(key) for key in keys], dtype=np.uint64)
    order = np.argsort(wanted)
    place = np.minimum(np.searchsorted(wanted[order], codes), len(keys) - 1)
    found = np.where(wanted[order][place] == codes, order[place], -1)
    for number, key in enumerate(keys):
        if len(key) > _TAIL:  # the rest of it
            rows = np.flatnonzero(found == number)
            text = np.frombuffer(key.encode(), dtype=np.uint8)
            begins = signs[rows] - len(text)
            same = (data[begins[:, None] + np.arange(len(text) - _TAIL)] == text[:-_TAIL]).all(1)
            found[rows[~same]] = -1
    return found


def _code(key: str) -> int:
    text = key.encode()
    tail = int.from_bytes(text[-_TAIL:], "little")
    return tail ^ (len(text) * int(_ODD_LENGTH) & 0xFFFF_FFFF_FFFF_FFFF)


def _undecodable(raw: bytes, lines: Lines) -> Mask:
    """Return which lines are not UTF-8."""
    odd = np.zeros(len(lines.starts), dtype=np.bool_)
    try:
        raw.decode()
    except UnicodeDecodeError:
        beyond = np.flatnonzero(np.frombuffer(raw, dtype=np.uint8) >= 0x80)
        numbers = np.unique(np.searchsorted(lines.starts, beyond, side="right") - 1)
        for number in numbers[numbers >= 0]:
            try:
                raw[lines.starts[number] : lines.ends[number]].decode()
            except UnicodeDecodeError:
                odd[number] = True
    return odd


def _table(data: Bytes, starts: Offsets, sizes: Offsets, names: Sequence[str]) -> pl.DataFrame:
    """Return stretches of ``data``, a row per line and a column per name; null where empty."""
    height, width = starts.shape
    if height * width == 0:
        return pl.DataFrame(schema=dict.fromkeys(names, pl.String))
    flat, lengths = starts.ravel(), sizes.ravel()
    total = int(lengths.sum())
    before = np.cumsum(lengths) - lengths
    gaps = np.arange(height * width)
    text = np.full(total + height * width, _BREAK, dtype=np.uint8)
    text[(before + gaps + lengths)[width - 1 :: width]] = NEWLINE
    filled = lengths > 0
    each, before, size = flat[filled], before[filled], lengths[filled]
    places = np.arange(total)
    source = np.repeat(each - before, size)
    source += places
    places += np.repeat(gaps[filled], size)
    text[places] = data[source]
    return pl.read_csv(
        text.tobytes(),
        separator=chr(_BREAK),
        has_header=False,
        schema=dict.fromkeys(names, pl.String),
        quote_char=None,
        encoding="utf8-lossy",
        truncate_ragged_lines=True,
    )
