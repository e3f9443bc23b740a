"""Lines with named columns, such as CSV, read by column and without a loop over the lines.

A record is a line: one whose text contains a line break is refused, since it has fewer fields.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.formats.lines import UNQUOTED, Block, Lines, as_text, cut, select, unquoted
from audit.formats.shaping import refused
from audit.model import RefusalCode

SEPARATORS: Final = f",\t;|{UNQUOTED}"


class DelimitedRows(NamedTuple):
    """The lines of a block."""

    texts: pl.DataFrame  # ``number`` and the chosen columns, as texts
    odd: pl.DataFrame  # columns of ``REFUSED``: lines with another number of fields
    origin: Lines


def names_of(line: bytes, separator: str) -> list[str]:
    """Return the fields of a row of names, without quotes."""
    quoted = separator not in ("\t", UNQUOTED) and b'"' in line
    text = (unquoted(line, separator) if quoted else line).decode("utf-8", "backslashreplace")
    return [name.strip() for name in text.split(UNQUOTED if quoted else separator)]


def rows(
    block: Block,
    names: Sequence[str],
    separator: str,
    nulls: Sequence[str],
    chosen: Sequence[str] | None = None,
    before: int = 1,
) -> DelimitedRows:
    """Return the lines of a block after its ``before`` first ones, if it begins the log.

    Args:
        names: of all columns; of equal ones, the first is read.
        separator: one character; with a tab (`mysql --batch`) or ``UNQUOTED``, quotes are part of
            the text.
        nulls: texts that mean unknown.
        chosen: the columns that are read; None: all.
    """
    text = as_text(block.data)
    if separator not in ("\t", UNQUOTED) and b'"' in text:
        text, separator = unquoted(text, separator), UNQUOTED
    data = np.frombuffer(text, dtype=np.uint8)
    lines = cut(data)
    marks = np.flatnonzero(data == ord(separator))
    fields = np.diff(np.searchsorted(marks, lines.ends), prepend=0) + 1
    filled = lines.ends > lines.starts
    if block.byte_offset == 0:
        filled[:before] = False
    whole = filled & (fields == len(names))
    if whole.any() and not text.endswith(b"\n"):
        whole[-1] = False
    wanted = dict.fromkeys(names if chosen is None else chosen)
    places = {name: names.index(name) for name in wanted}
    read = pl.DataFrame(schema=dict.fromkeys(wanted, pl.String))
    if whole.any():
        read = pl.read_csv(
            select(data, lines, whole),
            separator=separator,
            has_header=False,
            columns=sorted(places.values()),
            schema={f"column_{number}": pl.String for number in range(1, len(names) + 1)},
            quote_char=None,
            null_values=list(nulls),
        ).select(pl.col(f"column_{place + 1}").alias(name) for name, place in places.items())
    wrong = f"fields, not the {len(names)} of the columns"
    odd = refused(
        (int(number), f"{fields[number]} {wrong}", RefusalCode.SHAPE)
        for number in np.flatnonzero(filled & ~whole)
    )
    same = text is block.data
    origin = lines if same else cut(np.frombuffer(block.data, dtype=np.uint8))
    numbers = pl.Series("number", np.flatnonzero(whole), dtype=pl.Int64)
    return DelimitedRows(read.insert_column(0, numbers), odd, origin)


_NAME: Final = re.compile(r"[^\W\d][\w .:/()%#\[\]-]*")


def names_row(line: bytes) -> tuple[list[str], str] | None:
    """Return the names and their separator if a line seems to name columns, else None.

    Names begin with a letter and are distinct; the first may be empty.
    """
    best: tuple[list[str], str] | None = None
    for separator in SEPARATORS:
        names = names_of(line.rstrip(b"\r"), separator)
        first, *rest = names
        good = all(map(_NAME.fullmatch, [*rest, *([first] if first else [])]))
        if len(rest) > 1 and good and len(set(names)) == len(names) > len(best[0] if best else ()):
            best = names, separator
    return best
