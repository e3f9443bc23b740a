"""HTCondor's histories as JSON: arrays (`condor_history -json`) or an ad per line (`-jsonl`).

The ads are in one array, in several, or outside arrays. The text between two of them (``}``, a
comma or a line break or both, ``{``) is the same throughout, and taken from the first two.
HTCondor's own output has a line break in it, which no text within an ad can contain; in JSON on a
single line, a text that looks like the end of an ad is skipped. So damage costs one ad, and blocks
may end after any ad.
"""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from audit.formats.dialects import Dialect, Header, Parsed, Reading
from audit.formats.elements import BlockElements, Row, Words, as_bytes, decode, holdable, starts_of
from audit.formats.htcondor.records import ATTRIBUTES, KEYS, defined, quoted, typed
from audit.formats.lines import Block

_BEGIN: Final = re.compile(rb"\A(?:\xef\xbb\xbf)?(?:\s*\[\s*\])*\s*\[?\s*\{")
_MARKS: Final = (
    re.compile(rb'(?i)"ClusterId"\s*:\s*\d'),
    re.compile(rb'(?i)"(?:ProcId|QDate|GlobalJobId)"\s*:\s*["\d]'),
)
_PARTED: Final = re.compile(rb"\s*(?:,\s*|\n\s*)\{")
_SEEMS_PARTED: Final = re.compile(rb"\}(?:\s*,)?[ \t\r]*\n\s*(?:,\s*)?\{")
_BETWEEN: Final = re.compile(rb"(?:[\s,\[\]]|\xef\xbb\xbf)*")
_USUAL: Final = "}\n,\n{"
_TRIES: Final = 9  # maximum number of places tried as the end of an ad
_WORDS: Final = Words("the log ends before an ad", "the log ends within this ad", "is not an ad")
_EXPRESSION: Final = re.compile(r"(?s)/Expr\((.*)\)/")
_PLACES: Final = {key: place for place, key in enumerate(KEYS)}


def recognises(head: bytes) -> bool:
    """Return whether a history as JSON begins with ``head``."""
    return bool(_BEGIN.match(head)) and all(mark.search(head) for mark in _MARKS)


def header(head: bytes, reading: Reading) -> Header:
    """Return the text between ads (entry ``parted``)."""
    parted = _USUAL
    begin = _BEGIN.match(head)
    if begin and (between := _PARTED.match(_behind_first(head[begin.end() - 1 :]))):
        parted = "}" + between[0].decode()
    elif seen := _SEEMS_PARTED.search(head):  # the first ad is damaged, or the only one
        parted = seen[0].decode()
    return Header(zone=reading.zone, entries={"parted": parted})


def _behind_first(head: bytes) -> bytes:
    text = head.decode("utf-8", errors="surrogateescape")
    try:
        _, length = decode(text)
    except (ValueError, RecursionError):
        return b""
    return as_bytes(text[length:])


def whole(data: bytes, header: Header) -> int:
    """Return the length of ``data`` up to the end of the last ad that another one follows."""
    return data.rfind(header.entries["parted"].encode()) + 1


def parse(block: Block, header: Header) -> Parsed:
    """Read a stretch of ads."""
    found, parted = BlockElements(block), header.entries["parted"].encode()
    starts = [at + len(parted) - 1 for at in starts_of(block.data, parted)]
    found.walk(0, starts, _BETWEEN, lambda ad: [texts_of(ad)], _WORDS, _TRIES)
    return found.parsed(*typed(found.texts(ATTRIBUTES)))


def texts_of(ad: Mapping[str, Any]) -> Row:
    """Return the ``ATTRIBUTES`` of an ad as the long form writes them."""
    texts: list[str | None] = [None] * len(KEYS)
    for name, place in _read(tuple(ad)):
        value = ad[name]
        texts[place] = str(value) if type(value) is int else _text(value)
    return tuple(texts)


@lru_cache(maxsize=1 << 10)
def _read(names: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """Return the attributes that are read, and their places; many ads have the same names."""
    places = ((name, _PLACES.get(name.lower())) for name in names)
    return tuple((name, place) for name, place in places if place is not None)


def _text(value: Any) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case str():
            expression = _EXPRESSION.fullmatch(value)
            return defined(holdable(expression[1])) if expression else quoted(value)
        case int() | float():
            return str(value)
        case _:
            return holdable(json.dumps(value, ensure_ascii=False))


_TITLE: Final = "HTCondor's history (condor_history -json)"
DIALECT: Final = Dialect(
    "htcondor-json", _TITLE, recognises, header, parse, whole, scheduler="HTCondor"
)
