"""HTCondor's histories as XML: `condor_history -xml`.

    <c>
        <a n="ClusterId"><i>5</i></a>
        <a n="Owner"><s>ana</s></a>
    </c>

An ad begins with a ``<c>`` alone on a line: nested ones follow the tag that names them, and no
text can contain one (``<`` is escaped). Each ad is read by itself, so damage costs one ad, no
entity can be declared, and blocks may end after any ad.

Source: ClassAd's ``xmlSink.cpp``, ``classads.dtd``.
"""

import re
from itertools import pairwise
from typing import Final
from xml.etree import ElementTree

from audit.formats.dialects import Dialect, Header, Parsed, Reading
from audit.formats.elements import BlockElements, Row
from audit.formats.htcondor.records import ATTRIBUTES, KEYS, defined, quoted, typed
from audit.formats.lines import Block
from audit.model import RefusalCode

_BEGINS: Final = re.compile(rb"(?m)^[ \t]*<c>[ \t\r]*$")
_ENDS: Final = re.compile(rb"(?m)^[ \t]*</c>[ \t\r]*$")
_MARKS: Final = (
    re.compile(rb'(?i)<a n="ClusterId">\s*<i>\d'),
    re.compile(rb'(?i)<a n="(?:ProcId|QDate|GlobalJobId)">'),
)
_AROUND: Final = re.compile(rb"(?s)(?:\s|\xef\xbb\xbf|<\?.*?\?>|<!DOCTYPE[^>]*>|</?classads>)*")
"""The frame of the document: before, between and after ads."""


def recognises(head: bytes) -> bool:
    """Return whether a history as XML begins with ``head``."""
    return bool(_BEGINS.search(head)) and all(mark.search(head) for mark in _MARKS)


def header(head: bytes, reading: Reading) -> Header:
    """Return an empty header: nothing precedes the ads."""
    return Header(zone=reading.zone)


def whole(data: bytes, header: Header) -> int:
    """Return the length of ``data`` up to the end of its last whole ad."""
    at = len(data)
    while (at := data.rfind(b"</c>", 0, at)) >= 0:
        line = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at) + 1
        if end and not data[line:at].strip() and not data[at + 4 : end].strip():
            return end
    return 0


def parse(block: Block, header: Header) -> Parsed:
    """Read a stretch of ads."""
    data, found = block.data, BlockElements(block)
    begins = [match.start() for match in _BEGINS.finditer(data)]
    _around(data, 0, begins[0] if begins else len(data), found)
    for begin, limit in pairwise([*begins, len(data)]):
        close = _ENDS.search(data, begin, limit)
        end = close.end() if close else limit
        if close is None and limit == len(data):
            found.refuse(begin, end, "the log ends within this ad", RefusalCode.CUT)
        else:
            _take(data, begin, end, found)
        _around(data, end, limit, found)
    return found.parsed(*typed(found.texts(ATTRIBUTES)))


def _around(data: bytes, begin: int, end: int, found: BlockElements) -> None:
    """Refuse what is between ads, where it is more than the frame of the document."""
    at = _AROUND.match(data, begin, end).end()  # type: ignore[union-attr]
    if at < end == len(data):
        found.refuse(at, end, "the document ends here", RefusalCode.CUT)
    elif at < end:
        found.refuse(at, end, "is not an ad", RefusalCode.SHAPE)


def _take(data: bytes, begin: int, end: int, found: BlockElements) -> None:
    try:
        text = data[begin:end].decode("utf-8", errors="backslashreplace")
        ad = ElementTree.fromstring(text.strip())  # noqa: S314 (no document type precedes it)
        found.take(begin, end, _texts(ad))
    except (ElementTree.ParseError, ValueError, RecursionError) as error:
        found.refuse(begin, end, f"is not valid XML: {error}", RefusalCode.SHAPE)


def _texts(ad: ElementTree.Element) -> Row:
    values = {at.get("n", "").lower(): at[0] for at in ad if len(at)}
    return tuple(_value(values[key]) if key in values else None for key in KEYS)


def _value(element: ElementTree.Element) -> str | None:
    match element.tag:
        case "s":
            return quoted(element.text or "")
        case "un" | "er":
            return None
        case "b":
            return "true" if element.get("v", element.text) in {"t", "true"} else "false"
        case "c" | "l":
            return "[ ]"
        case _:
            return defined(element.text or "")


_TITLE: Final = "HTCondor's history (condor_history -xml)"
DIALECT: Final = Dialect(
    "htcondor-xml", _TITLE, recognises, header, parse, whole, scheduler="HTCondor"
)
