"""Texts that a log can write and no column can hold, by their escapes."""

from __future__ import annotations


def holdable(text: str) -> str:
    r"""The same text; NUL, bytes that were no UTF-8 (surrogateescape) and halves of pairs escaped.

    ``\x00``, ``\xff`` and ``\ud800`` stand for these, as elsewhere for bytes that are no UTF-8.
    """
    if "\0" in text:
        text = text.replace("\0", "\\x00")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(map(_escaped, text))
    return text


def _escaped(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("utf-8", errors="backslashreplace").decode()
