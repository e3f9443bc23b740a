"""Text as a cell of a CSV file, which people open in spreadsheets and look at on terminals.

Names in logs may hold anything. A cell that begins like a formula would be run; an escape sequence
would steer a terminal; a mark that turns the direction of writing would show another name.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_FORMULA: Final = tuple("=+-@＝＋－＠")  # noqa: RUF001 (some take the wide forms for the others)
_BLANK: Final = tuple("\t\r\n\0")
PATTERN: Final = r"^([\t\r\n\x{0}]|[\s\p{Z}]*[=+\-@\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}])"
"""Which cells ``defused`` changes, as a regular expression of RE2, which is DuckDB's."""
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_PLAIN: Final = frozenset("\n\t")


def cell(text: str | None) -> str:
    """``text`` as a cell that no spreadsheet runs and that steers nothing; NULL is nothing."""
    if text is None:
        return ""
    return visible(defused(text))


def defused(text: str) -> str:
    """``text`` with an apostrophe before it, where a spreadsheet would take it for a formula."""
    bare = text.lstrip()  # some drop what is blank before they look
    return "'" + text if bare.startswith(_FORMULA) or text.startswith(_BLANK) else text


def visible(text: str) -> str:
    r"""``text`` with what cannot be seen as its code point (``\x1b``), but for LF and tab."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode()
        if char not in _PLAIN and unicodedata.category(char) in _UNSEEN
        else char
        for char in text
    )
