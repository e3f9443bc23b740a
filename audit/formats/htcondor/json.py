"""HTCondor's histories as JSON: arrays (`condor_history -json`) or an ad on each line (`-jsonl`).

Ads follow each other in one array, in several, or in none. What stands between two of them (``}``,
a comma or a line break or both, ``{``) is the same throughout, and told from the first two. In what
HTCondor prints a line break is part of it, which no text within an ad can imitate; in JSON that was
put on one line, what looks like an end within an ad is read past. So damage costs the ad that it is
in, and blocks may end behind any ad.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from audit.formats.dialects import Dialect, Header, Parsed, Reading, named_by_log
from audit.formats.elements import Found, Row, Words, as_bytes, decode, holdable, starts_of
from audit.formats.htcondor.records import ATTRIBUTES, KEYS, defined, quoted, typed
from audit.formats.lines import Block

_BEGIN: Final = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*\[?\s*\{")
_MARKS: Final = (
    re.compile(rb'(?i)"ClusterId"\s*:\s*\d'),
    re.compile(rb'(?i)"(?:ProcId|QDate|GlobalJobId)"\s*:\s*["\d]'),
)
_PARTED: Final = re.compile(rb"\s*(?:,\s*|\n\s*)\{")
_SEEMS_PARTED: Final = re.compile(rb"\}(?:\s*,)?[ \t\r]*\n\s*(?:,\s*)?\{")
_BETWEEN: Final = re.compile(rb"(?:[\s,\[\]]|\xef\xbb\xbf)*")
_USUAL: Final = "}\n,\n{"
_TRIES: Final = 9
"""Places at which an ad may seem to end."""
_WORDS: Final = Words("the log ends before an ad", "the log ends within this ad", "is no ad")
_EXPRESSION: Final = ("/Expr(", ")/")
"""What stands around an expression."""
_PLACES: Final = {key: place for place, key in enumerate(KEYS)}


def recognises(head: bytes) -> bool:
    """Whether these are the first bytes of a history as JSON."""
    return bool(_BEGIN.match(head)) and all(mark.search(head) for mark in _MARKS)


def header(head: bytes, reading: Reading) -> Header:
    """How ads are parted (entry ``parted``)."""
    begin = _BEGIN.match(head)
    first = _behind_first(head[begin.end() - 1 :]) if begin else b""
    if between := _PARTED.match(first):
        parted = "}" + between[0].decode()
    else:  # the first is damaged, or alone
        seen = _SEEMS_PARTED.search(head)
        parted = seen[0].decode() if seen else _USUAL
    return named_by_log("JSON names its attributes", reading, {"parted": parted})


def _behind_first(head: bytes) -> bytes:
    """What stands behind the ad that ``head`` begins with; nothing where it cannot be read."""
    text = head.decode("utf-8", errors="surrogateescape")
    try:
        _, length = decode(text)
    except (ValueError, RecursionError):
        return b""
    return as_bytes(text[length:])


def whole(data: bytes, header: Header) -> int:
    """How many of the first bytes of ``data`` end with the last ad that another one follows."""
    return data.rfind(header.entries["parted"].encode()) + 1


def parse(block: Block, header: Header) -> Parsed:
    """Takes in a stretch of ads; see the module's docstring."""
    found, parted = Found(block), header.entries["parted"].encode()
    starts = [at + len(parted) - 1 for at in starts_of(block.data, parted)]
    found.walk(0, starts, _BETWEEN, texts_of, _WORDS, _TRIES)
    return found.parsed(*typed(found.texts(ATTRIBUTES)))


def texts_of(ad: Mapping[str, Any]) -> Row:
    """The values of ``ATTRIBUTES`` of an ad as the long form has them."""
    texts: list[str | None] = [None] * len(KEYS)
    for name, value in ad.items():
        if (place := _place(name)) is not None:
            texts[place] = str(value) if type(value) is int else _text(value)
    return tuple(texts)


@lru_cache(maxsize=1 << 12)
def _place(name: str) -> int | None:
    return _PLACES.get(name.lower())


def _text(value: Any) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case str():
            before, behind = _EXPRESSION
            if value.startswith(before) and value.endswith(behind):
                return defined(holdable(value[len(before) : -len(behind)]))
            return quoted(value)
        case int() | float():
            return str(value)
        case _:
            return holdable(json.dumps(value, ensure_ascii=False))


DIALECT: Final = Dialect(
    name="htcondor-json",
    title="HTCondor's history (condor_history -json)",
    recognises=recognises,
    header=header,
    parse=parse,
    whole=whole,
)
