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
from bisect import bisect_right
from typing import Final

from audit.formats.broken_json import as_bytes, damage, may_go_on
from audit.formats.dialects import Dialect, Header, Parsed, Reading
from audit.formats.htcondor.ads import Found, texts_of
from audit.formats.lines import Block
from audit.model import RefusalCode

_BEGIN: Final = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*\[?\s*\{")
_MARKS: Final = (
    re.compile(rb'(?i)"ClusterId"\s*:\s*\d'),
    re.compile(rb'(?i)"(?:ProcId|QDate|GlobalJobId)"\s*:\s*["\d]'),
)
_PARTED: Final = re.compile(rb"\s*(?:,\s*|\n\s*)\{")
_SEEMS_PARTED: Final = re.compile(rb"\}(?:\s*,)?[ \t\r]*\n\s*(?:,\s*)?\{")
_BETWEEN: Final = re.compile(rb"(?:[\s,\[\]]|\xef\xbb\xbf)*")
_USUAL: Final = "}\n,\n{"
_TRIES: Final = 8
"""So many seeming ends of an ad are read past."""

_decode: Final = json.JSONDecoder().raw_decode


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
    declared = reading.columns is not None
    problems = ("JSON names its attributes: --columns is not used",) if declared else ()
    return Header(zone=reading.zone, entries={"parted": parted}, problems=problems)


def _behind_first(head: bytes) -> bytes:
    """What stands behind the ad that ``head`` begins with; nothing where it cannot be read."""
    text = head.decode("utf-8", errors="surrogateescape")
    try:
        _, length = _decode(text)
    except (ValueError, RecursionError):
        return b""
    return as_bytes(text[length:])


def whole(data: bytes, header: Header) -> int:
    """How many of the first bytes of ``data`` end with the last ad that another one follows."""
    return data.rfind(header.entries["parted"].encode()) + 1


def parse(block: Block, header: Header) -> Parsed:
    """Takes in a stretch of ads; see the module's docstring."""
    data, found = block.data, Found(block)
    starts = _starts(data, header.entries["parted"].encode())
    at = 0
    while True:
        before, at = at, _BETWEEN.match(data, at).end()  # type: ignore[union-attr]
        if at >= len(data):
            if b"," in data[before:at]:
                found.refuse(before, at, "the log ends before an ad", RefusalCode.CUT)
            return found.parsed()
        number = bisect_right(starts, at)
        if data[at : at + 1] != b"{":
            end = starts[number] if number < len(starts) else len(data)
            found.refuse(at, end, "is no ad", RefusalCode.SHAPE)
            at = end
        else:
            at = _take(data, at, [*starts[number : number + _TRIES], len(data)], found)


def _starts(data: bytes, parted: bytes) -> list[int]:
    """Where ads begin, by what stands before them."""
    starts, at = [], -1
    while (at := data.find(parted, at + 1)) >= 0:
        starts.append(at + len(parted) - 1)
    return starts


def _take(data: bytes, at: int, ends: list[int], found: Found) -> int:
    """Takes in the ad that begins at ``at``; gives where it ends.

    Args:
        data: the block.
        at: where it begins.
        ends: where the next one may begin: the first of these at which it is whole.
        found: what it becomes part of.
    """
    first = Exception()
    for number, end in enumerate(ends):
        text = data[at:end].decode("utf-8", errors="surrogateescape")
        try:
            ad, length = _decode(text)
        except (ValueError, RecursionError) as error:
            first = error if number == 0 else first
            if not may_go_on(error, text):
                break
            continue
        stop = end - len(as_bytes(text[length:]))
        found.take(at, stop, texts_of(ad))
        return stop
    last = len(ends) == 1
    text = data[at : ends[0]].decode("utf-8", errors="surrogateescape")
    what = "the log ends within this ad"
    found.refuse(at, ends[0], *damage(first, text, last=last, what=what))
    return ends[0]


DIALECT: Final = Dialect(
    name="htcondor-json",
    title="HTCondor's history (condor_history -json)",
    recognises=recognises,
    header=header,
    parse=parse,
    whole=whole,
)
