"""Text as a cell of a CSV file that is safe in spreadsheets and on terminals.

Names in logs may begin like a formula, hold escape sequences that control a terminal, or marks that
reverse the direction of writing.
"""

import re
import unicodedata
from typing import Final

_BLANK: Final = (
    r" \x00\x0b\x0c\x1c-\x1f\x85\xa0"
    "\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
)
_SIGNS: Final = r"=+\-@" "\uff1d\uff0b\uff0d\uff20"
PATTERN: Final = rf"(^|[;|\t\r\n])([{_BLANK}]*[{_SIGNS}])"
"""Where a formula can begin, as a regular expression of Python and of RE2 (DuckDB).

Some spreadsheets strip blanks first, accept the wide forms of the signs, and split a file at
semicolons, tabs or bars, also within cells that are quoted for commas.
"""
STEERING: Final = r"^[\t\r\n\x00]"
"""Texts that begin with what spreadsheets skip, in the same form."""
HARMLESS: Final = r"\1'\2"
"""What replaces each match of ``PATTERN``."""
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def cell(text: str | None) -> str:
    """Return ``text`` defused and visible; NULL gives an empty cell."""
    return "" if text is None else visible(defused(text))


def defused(text: str) -> str:
    """Put an apostrophe before each part of a text that a spreadsheet would run as a formula."""
    safe = re.sub(PATTERN, HARMLESS, text)
    return "'" + safe if re.match(STEERING, text) else safe


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
