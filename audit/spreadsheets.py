"""Text as a cell of a CSV file that is safe in spreadsheets and on terminals.

Names in logs may begin like a formula, hold escape sequences that control a terminal, or marks that
reverse the direction of writing.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_FORMULA: Final = tuple("=+-@＝＋－＠")  # noqa: RUF001 (some spreadsheets accept the wide forms)
_BLANK: Final = tuple("\t\r\n\0")
PATTERN: Final = r"^([\t\r\n\x{0}]|[\s\p{Z}]*[=+\-@\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}])"
"""Cells that ``defused`` changes, as a regular expression of RE2 (DuckDB)."""
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def cell(text: str | None) -> str:
    """Return ``text`` defused and visible; NULL gives an empty cell."""
    return "" if text is None else visible(defused(text))


def defused(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would run as a formula."""
    bare = text.lstrip()  # some spreadsheets strip blanks first
    return "'" + text if bare.startswith(_FORMULA) or text.startswith(_BLANK) else text


def visible(text: str) -> str:
    r"""Replace invisible characters, except LF and tab, by their code points (``\x1b``)."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode()
        if char not in "\n\t" and unicodedata.category(char) in _UNSEEN
        else char
        for char in text
    )
