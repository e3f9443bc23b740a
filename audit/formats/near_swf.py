"""Tables of numbers that are nearly SWF: more columns behind its 18, or other separators.

What differs is undone line by line, and what comes of it is read as SWF (``swf``). Columns beyond
the 18th are left out; an empty field is unknown. It is said which (``Header.problems``). Whether
the columns mean what SWF's do no line tells, so the first thousand are looked at: where they
cannot, the log is refused, with the reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from audit.errors import DialectError
from audit.formats import swf
from audit.formats.dialects import PLAIN, Dialect, Header, Parsed, Reading
from audit.formats.lines import Block, cut
from audit.formats.shaping import refused, shaped
from audit.model import RefusalCode

SEPARATORS: Final[Mapping[str, str]] = {
    " ": "blanks",
    ",": "commas",
    ";": "semicolons",
    "|": "bars",
}
"""What may separate columns (a tab is a blank), and its name."""
MOST: Final = 24
"""Of a table of more columns nobody knows whether the first are SWF's."""

_SEPARATOR: Final = "separator of the columns"
_COLUMNS: Final = "number of columns"
"""Entries of ``Header``, in the place of labels that no log has."""

_SAMPLE: Final = 1000
_FEW: Final = 20
"""Fewer records show no order."""
_UNKNOWN: Final = -1
_COMMENTS: Final = (b";", b"#")
_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")

Table = npt.NDArray[np.float64]


class Layout(NamedTuple):
    """How the lines of a log are written."""

    separator: str
    columns: int


def recognises(head: bytes) -> bool:
    """Whether most of the first hundred records are rows of as many numbers as SWF has, or more.

    What is SWF itself is not.
    """
    return _layout(head) is not None


def header(head: bytes, reading: Reading = PLAIN) -> Header:
    """Reads the comments as SWF's, and says what is read otherwise than it stands there.

    Raises:
        DialectError: columns cannot be those of SWF, or there are none.
    """
    layout = _layout(head)
    if layout is None:
        raise DialectError("most of its first lines are no rows of SWF's columns")
    lines = _records(head)
    fault = next(_faults(_table(lines, layout)), None)
    if fault is not None:
        raise DialectError(
            f"nearly SWF ({layout.columns} columns separated by {SEPARATORS[layout.separator]}), "
            f"but {fault}: are the columns in SWF's order (job number, submit time, wait time, "
            "run time, …)?"
        )
    of_swf = swf.header(b"\n".join(_as_comment(line) for line in head.split(b"\n")), reading)
    notes = []
    if layout.separator != " ":
        notes.append(f"columns are separated by {SEPARATORS[layout.separator]}, in SWF by blanks")
    if layout.columns > swf.FIELD_COUNT:
        first = swf.FIELD_COUNT + 1
        beyond = f"{first} to {layout.columns}" if layout.columns > first else str(first)
        which = "columns" if layout.columns > first else "column"
        notes.append(
            f"{layout.columns} columns, SWF has {swf.FIELD_COUNT}: {which} {beyond} left out"
        )
    if lines and _names_columns(lines[0], layout.separator):
        notes.append("the first row names columns: left out")
    return Header(
        zone=of_swf.zone,
        capacity=of_swf.capacity,
        entries={
            **of_swf.entries,
            _SEPARATOR: layout.separator,
            _COLUMNS: str(layout.columns),
        },
        problems=(*(f"nearly SWF: {note}" for note in notes), *of_swf.problems),
    )


def needed(entries: Mapping[str, str]) -> dict[str, str]:
    """Those of SWF, and how the columns are cut."""
    return {**swf.needed(entries), **{key: entries[key] for key in (_SEPARATOR, _COLUMNS)}}


def parse(block: Block, header: Header) -> Parsed:
    """Takes in whole lines; see the module's docstring."""
    layout = Layout(header.entries[_SEPARATOR], int(header.entries[_COLUMNS]))
    rows, other = _as_swf(block, layout)
    bad = refused(
        (number, f"{width} fields, this log has {layout.columns}", RefusalCode.SHAPE)
        for number, width in other.items()
    )
    spans = cut(np.frombuffer(block.data, dtype=np.uint8))
    return shaped(block, spans, [*swf.read(rows, header), bad])


def _as_swf(block: Block, layout: Layout) -> tuple[bytes, dict[int, int]]:
    """The lines of a block as SWF's, and the numbers of those of another width, with that.

    These, comments and the row of names are empty lines.
    """
    rows: list[bytes] = []
    other: dict[int, int] = {}
    at_top = block.first_line == 1
    for number, line in enumerate(block.data.removesuffix(b"\n").split(b"\n")):
        row = b""
        if _is_record(line):
            fields = _cut(line, layout.separator)
            names = at_top and _names_columns(line, layout.separator)
            at_top = False
            if len(fields) == layout.columns and not names:
                row = b" ".join(field or b"-1" for field in fields[: swf.FIELD_COUNT])
            elif not names:
                other[number] = len(fields)
        rows.append(row)
    return b"".join(row + b"\n" for row in rows), other


def _is_record(line: bytes) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(_COMMENTS)


def _cut(line: bytes, separator: str) -> list[bytes]:
    """The fields of a line. A blank within one would make two of it: it is no number then."""
    if separator == " ":
        return line.split()
    return [b"_".join(field.split()) for field in line.split(separator.encode())]


def _layout(head: bytes) -> Layout | None:
    """How most of the first records are written; None where they are SWF, or something else."""
    lines = _records(head)[:100]
    found = Counter(
        Layout(separator, len(fields))
        for line in lines
        for separator in SEPARATORS
        if swf.FIELD_COUNT <= len(fields := _cut(line, separator)) <= MOST
        and all(map(_NUMBER.fullmatch, filter(None, fields[: swf.FIELD_COUNT])))
        and sum(map(bool, fields)) * 2 > len(fields)
    )
    for layout, alike in found.most_common(1):
        if alike * 2 > len(lines) and layout != Layout(" ", swf.FIELD_COUNT):
            return layout
    return None


def _records(head: bytes) -> list[bytes]:
    """The lines that are no comments, but for the last, which may be cut short."""
    lines = head.split(b"\n")
    if len(lines) > 1:
        lines.pop()
    return [line for line in lines if _is_record(line)]


def _as_comment(line: bytes) -> bytes:
    """A comment as SWF's; nothing of what is none: it would end the header."""
    text = line.lstrip()
    return b";" + text.lstrip(b"#;") if text.startswith(_COMMENTS) else b""


def _names_columns(line: bytes, separator: str) -> bool:
    """Whether no field of a row is a number."""
    return not any(_NUMBER.fullmatch(field) for field in _cut(line, separator))


def _table(lines: list[bytes], layout: Layout) -> Table:
    """The first records of a log as numbers; NaN where there is none."""
    rows = [
        [float(field) if _NUMBER.fullmatch(field) else np.nan for field in fields]
        for line in lines[:_SAMPLE]
        if len(fields := [field or b"-1" for field in _cut(line, layout.separator)])
        == layout.columns
        and not _names_columns(line, layout.separator)
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, layout.columns)[:, : swf.FIELD_COUNT]


def _faults(table: Table) -> Iterator[str]:
    """Why columns cannot be those of SWF."""
    column = {name: table[:, index] for index, (name, _) in swf.FIELDS.items()}
    known = {name: values[values >= 0] for name, values in column.items()}
    last = max(swf.STATES)
    for index, (name, title) in swf.FIELDS.items():
        values = column[name][~np.isnan(column[name])]
        shown = f"column {index + 1}, where SWF has the {title}, holds"
        if _mostly(values < _UNKNOWN):
            yield f"{shown} numbers below −1"
        whole = name not in ("wait", "run", "submit", "memory", "walltime")
        if whole and _mostly(values != np.floor(values)):
            yield f"{shown} fractions"
    if _mostly(~np.isin(column["status"], [_UNKNOWN, *swf.STATES])):
        least, most = np.nanmin(column["status"]), np.nanmax(column["status"])
        yield f"column 11, where SWF has the status (−1 to {last}), holds {least:g} to {most:g}"
    if len(table) and not (known["allocated"] > 0).any() and not (known["requested"] > 0).any():
        yield "columns 5 and 8, where SWF has the processors, hold none"
    if len(table) >= _FEW:
        counted = _mostly(np.diff(column["submit"]) == 1)
        if counted and bool((np.diff(column["wait"]) >= 0).all()):
            yield (
                "column 2, where SWF has the submit time, counts by one, as job numbers do, and "
                "column 3, the wait time, never falls, as submit times do not"
            )
    limited = (column["walltime"] > 0) & (column["run"] >= 0)
    if _mostly(column["run"][limited] > 2 * column["walltime"][limited]):
        yield "column 4, where SWF has the run time, is beyond twice the requested time (column 9)"


def _mostly(holds: npt.NDArray[np.bool_]) -> bool:
    return bool(holds.sum() * 2 > len(holds))


DIALECT = Dialect(
    name="near-swf",
    title="tables of numbers that are nearly SWF",
    recognises=recognises,
    header=header,
    parse=parse,
    needed=needed,
)
