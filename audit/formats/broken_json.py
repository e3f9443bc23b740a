"""What is wrong with text that should be JSON, in words for its user.

Texts are bytes decoded as UTF-8 with ``surrogateescape``, so that none is lost.
"""

from __future__ import annotations

import json

from audit.model import RefusalCode

_SHOWN = 20
"""So many characters from where it breaks are shown."""


def may_go_on(error: Exception, text: str) -> bool:
    """Whether a value is whole as far as it goes, so that what comes behind may end it."""
    if not isinstance(error, json.JSONDecodeError):
        return False
    return error.msg.startswith("Unterminated") or error.pos >= len(text.rstrip().rstrip(","))


def damage(error: Exception, text: str, *, last: bool, what: str) -> tuple[str, RefusalCode]:
    """Why a value is refused, and of which kind that is.

    Args:
        error: what its decoder said.
        text: the value.
        last: whether nothing comes behind it.
        what: how its end is missed, as in "the log ends within this ad".
    """
    if last and may_go_on(error, text):
        return what, RefusalCode.CUT
    if isinstance(error, json.JSONDecodeError):
        shown = as_bytes(text[error.pos : error.pos + _SHOWN])
        before = shown.decode("utf-8", errors="backslashreplace")
        return f"is no JSON: {error.msg} before {before!r}", RefusalCode.SHAPE
    return f"is no JSON: {error}", RefusalCode.SHAPE


def as_bytes(text: str) -> bytes:
    """The bytes that a text was decoded from."""
    return text.encode("utf-8", errors="surrogateescape")
