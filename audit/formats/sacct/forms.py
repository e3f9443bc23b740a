"""The forms of sacct's text that are rewritten, line by line, before they are cut into columns.

A header's entry ``quoted`` names the form: nothing, the separator of a CSV with quotes, blanks
around a separator, a table for people (``ruled``), or a job completion log (``completion``).
"""

import re
from dataclasses import replace
from typing import Final

from audit.formats.lines import unquoted
from audit.formats.sacct import completion, ruled
from audit.formats.sacct.columns import SacctLayout
from audit.formats.sacct.heads import Head

_PADDED: Final = "padded "  # how the entry begins; the separator follows


def padding(head: Head) -> tuple[SacctLayout, str]:
    """Return the layout and the form of a log with this header row.

    The form is empty if no blanks are around names.
    """
    separator = head.layout.separator
    bare = separator.strip(" ")
    if not bare or not any(map(_has_blanks, head.row.text.split(separator))):
        return head.layout, ""
    return replace(head.layout, separator=bare), f"{_PADDED}{bare}"


def _has_blanks(text: str) -> bool:
    return text != text.strip(" ")


def plain(data: bytes, form: str) -> bytes:
    """Return lines without quotes and padding; those of another form with ``UNQUOTED``."""
    if form.startswith(_PADDED):
        between = re.escape(form.removeprefix(_PADDED).encode())
        blanks = rb"(?:^|(?<=%s)) +|(?<! ) +(?=%s|\r?$)" % (between, between)
        return re.sub(blanks, b"", data, flags=re.MULTILINE)
    if form == completion.FORM:
        return completion.rewritten(data)
    if form.startswith(ruled.FORM):
        return ruled.rewritten(data, form)
    return unquoted(data, form) if form else data
