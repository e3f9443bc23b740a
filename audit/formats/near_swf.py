"""Tables of numbers that are nearly SWF: more columns after its 18, or other separators.

Each line is converted to SWF and read by ``swf``. A mapping (``config.table``) may name columns by
their numbers; without one, those after the 18th are skipped and reported (``Header.problems``). An
empty field is unknown. The first thousand lines are checked for whether
the columns can have SWF's meaning: if not, the log is refused, with the reason.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from audit.config.table import NULLS, TableMapping, of_json
from audit.errors import DialectError
from audit.formats import swf
from audit.formats.dialects import PLAIN, Dialect, Header, Parsed, Reading
from audit.formats.lines import Block, cut
from audit.formats.shaping import refused, shaped
from audit.formats.table.proposals import by_name, propose
from audit.formats.table.values import added
from audit.model import RefusalCode

SEPARATORS: Final = {" ": "blanks", ",": "commas", ";": "semicolons", "|": "bars"}
"""Column separators (a tab is a blank), and their names."""
MOST: Final = 24  # maximum number of columns: beyond, the first may not be SWF's

_SEPARATOR: Final = "separator of the columns"
_COLUMNS: Final = "number of columns"  # keys of entries of ``Header`` that no log has
_MAPPING: Final = "mapping of columns by their numbers"

_LIKELY_WIDTHS: Final = range(12, 41)
_FIRST: Final = 100  # number of lines that determine the layout
_SAMPLE: Final = 1000  # number of lines whose content is checked
_FEW: Final = 20  # fewer records do not show an order
_COMMENTS: Final = (b";", b"#")
_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")

Table = npt.NDArray[np.float64]


class SwfLayout(NamedTuple):
    """Separator and number of columns of a log."""

    separator: str
    columns: int


_GWF: Final = SwfLayout(" ", 29)
_AS_SWF: Final = """awk '/^[^#]/ { NF = 18; $17 = $18 = -1; gsub(/[A-Za-z]/, ""); print }' LOG"""


def recognises(head: bytes) -> bool:
    """Return whether most of the first hundred records have 18 to ``MOST`` numbers; not SWF."""
    return _layout(head) is not None


def header(head: bytes, reading: Reading = PLAIN) -> Header:
    """Read the comments as SWF's, and report the differences from SWF, or raise DialectError."""
    layout = _layout(head)
    if layout is None:
        raise DialectError("most of its first lines are not rows of SWF columns")
    lines = _records(head)
    fault = next(_faults(_table(lines, layout)), None)
    if fault is not None:
        raise DialectError(
            f"nearly SWF ({layout.columns} columns separated by {SEPARATORS[layout.separator]}), "
            f"but {fault}: are the columns in SWF's order (job number, submit time, wait time, "
            "run time, …)?"
        )
    of_swf = swf.header(b"\n".join(map(_as_comment, head.split(b"\n"))), reading)
    notes = ["comments begin with #, in SWF with ;"] if _has_other_comments(head) else []
    if layout.separator != " ":
        notes.append(f"columns are separated by {SEPARATORS[layout.separator]}, in SWF by blanks")
    mapped, last = _mapped(reading), swf.FIELD_COUNT
    if odd := [number for number in mapped if not 0 < number <= layout.columns]:
        raise DialectError(f"the mapping names column {odd[0]}, and this log has {layout.columns}")
    if mapped:
        notes.append(f"columns {', '.join(map(str, mapped))} are read as the mapping says")
    elif layout.columns > last:
        several = layout.columns > last + 1
        which = f"columns {last + 1} to {layout.columns}" if several else f"column {last + 1}"
        notes.append(f"{layout.columns} columns, SWF has {last}: {which} left out")
    if lines and _names_columns(_cut(lines[0], layout.separator)):
        notes.append("the first row names columns: left out")
    entries = {**of_swf.entries, _SEPARATOR: layout.separator, _COLUMNS: str(layout.columns)}
    if reading.table is not None:
        entries[_MAPPING] = reading.table.as_json
    problems = (*(f"nearly SWF: {note}" for note in notes), *of_swf.problems)
    return Header(of_swf.zone, of_swf.capacity, entries, problems)


def _mapped(reading: Reading) -> list[int]:
    """Return the columns of the user's mapping, by their numbers."""
    names = [] if reading.table is None else reading.table.columns
    if odd := [name for name in names if not (name.isascii() and name.isdecimal())]:
        raise DialectError(f"the mapping names column {odd[0]!r}: here, columns are numbers")
    return sorted(map(int, names))


def needed(entries: Mapping[str, str]) -> dict[str, str]:
    """Return those of SWF, and the layout."""
    own = (_SEPARATOR, _COLUMNS, _MAPPING)
    return {**swf.needed(entries), **{key: entries[key] for key in own if key in entries}}


def parse(block: Block, header: Header) -> Parsed:
    """Read whole lines."""
    layout = SwfLayout(header.entries[_SEPARATOR], int(header.entries[_COLUMNS]))
    rows: list[bytes] = []  # as SWF; empty for others, comments and the row of names
    other: list[tuple[int, str, RefusalCode]] = []
    stated = header.entries.get(_MAPPING)
    mapping = None if stated is None else of_json(stated)
    more: list[tuple[int | str | None, ...]] = []
    at_top = block.first_line == 1
    for number, line in enumerate(block.data.removesuffix(b"\n").split(b"\n")):
        row = b""
        if _is_record(line):
            fields = _cut(line, layout.separator)
            names = at_top and _names_columns(fields)
            at_top = False
            if len(fields) == layout.columns and not names:
                row = b" ".join(field or b"-1" for field in fields[: swf.FIELD_COUNT])
                if mapping is not None:
                    more.append((number, *_texts(fields, mapping)))
            elif not names:
                why = f"{len(fields)} fields, this log has {layout.columns}"
                other.append((number, why, RefusalCode.SHAPE))
        rows.append(row)
    read = swf.read(b"".join(row + b"\n" for row in rows), header)
    if mapping is not None:
        read = [_with(read[0], more, mapping), *read[1:]]
    spans = cut(np.frombuffer(block.data, dtype=np.uint8))
    return shaped(block, spans, [*read, refused(other)], by_line=True)


def _texts(fields: list[bytes], mapping: TableMapping) -> Iterator[str | None]:
    for name in mapping.columns:
        text = fields[int(name) - 1].decode("utf-8", "backslashreplace")
        yield None if text in (*NULLS, "-1") else text


def _with(
    read: pl.DataFrame, more: list[tuple[int | str | None, ...]], mapping: TableMapping
) -> pl.DataFrame:
    schema = {"number": pl.Int64, **dict.fromkeys(mapping.columns, pl.String)}
    found = added(pl.DataFrame(more, schema=schema, orient="row"), mapping)
    both = read.drop(set(found.columns) - {"number", "remarks"}, strict=False).join(
        found, on="number", how="left", maintain_order="left"
    )
    doubts = [pl.col(name).fill_null([]) for name in ("remarks", "remarks_right")]
    return both.with_columns(remarks=pl.concat_list(doubts)).drop("remarks_right")


def _is_record(line: bytes) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(_COMMENTS)


def _cut(line: bytes, separator: str) -> list[bytes]:
    if separator == " ":
        return line.split()
    return [b"_".join(field.split()) for field in line.split(separator.encode())]


def _layout(head: bytes) -> SwfLayout | None:
    """Return the layout of most of the first records; None for SWF and other logs."""
    found = _usual(_records(head)[:_FIRST], SEPARATORS, _may_be_read)
    if found is not None and _names_times(head, found):
        return None
    is_swf = found == SwfLayout(" ", swf.FIELD_COUNT) and not _has_other_comments(head)
    return None if is_swf else found


def _names_times(head: bytes, layout: SwfLayout) -> bool:
    """Return whether the first row names a start or an end, where SWF has the wait and run time."""
    first = _cut(next(iter(_records(head)), b""), layout.separator)
    names = [name.decode("utf-8", "backslashreplace") for name in first]
    return _names_columns(first) and not {"start_time", "end_time"}.isdisjoint(by_name(names))


def _has_other_comments(head: bytes) -> bool:
    return head.lstrip().startswith(b"#")


def _usual(
    lines: list[bytes], separators: Iterable[str], fits: Callable[[list[bytes]], bool]
) -> SwfLayout | None:
    """Return the layout of most lines in which their fields fit."""
    found = Counter(
        SwfLayout(separator, len(fields))
        for separator in separators
        for line in lines
        if fits(fields := _cut(line, separator))
    )
    return next((one for one, alike in found.most_common(1) if alike * 2 > len(lines)), None)


def _may_be_read(fields: list[bytes]) -> bool:
    return (
        swf.FIELD_COUNT <= len(fields) <= MOST
        and all(map(_NUMBER.fullmatch, filter(None, fields[: swf.FIELD_COUNT])))
        and sum(map(bool, fields)) * 2 > len(fields)
    )


def _are_numbers(fields: list[bytes]) -> bool:
    """Return whether most fields are numbers, and nearly as many as SWF has."""
    numbers = sum(_NUMBER.fullmatch(field) is not None for field in fields)
    return len(fields) in _LIKELY_WIDTHS and numbers * 4 >= len(fields) * 3


def differs(head: bytes) -> str | None:
    """Return how a table of numbers that is not read differs from SWF; None for other logs."""
    numbered = enumerate(head.split(b"\n"), start=1)
    lines = [(number, line) for number, line in numbered if _is_record(line)][:_FIRST]
    if propose(head) is not None:
        return None  # its columns have names, which a mapping can use
    separators = {**SEPARATORS, ":": "colons"}
    layout = _usual([line for _, line in lines], separators, _are_numbers)
    if layout is None:
        return None
    number, fields = next(
        (number, fields)
        for number, line in lines
        if len(fields := _cut(line, layout.separator)) == layout.columns and _are_numbers(fields)
    )
    if layout == _GWF:
        return (
            f"line {number} has the 29 columns of the Grid Workloads Archive (GWF), of which the "
            f"first 16 are SWF's: {_AS_SWF} writes SWF. Names such as U7 become numbers"
        )
    between, first = separators[layout.separator], swf.FIELD_COUNT + 1
    few = enumerate(fields[: swf.FIELD_COUNT], start=1)
    words = [str(place) for place, field in few if _NUMBER.fullmatch(field) is None]
    steps = []
    if layout.separator != " ":
        steps.append(f"write blanks instead of {between}")
    if layout.columns >= first:
        several = f"columns {first} to {layout.columns}"
        beyond = f"column {first}" if layout.columns == first else several
        steps.append(f"leave out {beyond}, or whichever SWF does not have")
    elif layout.columns < swf.FIELD_COUNT:
        steps.append("write -1 for each of the columns that are missing")
    if words:
        steps.append(f"write numbers in column {', '.join(words)} (names become numbers)")
    return (
        f"nearly SWF: line {number} has {layout.columns} columns separated by {between}, where SWF "
        "has 18 numbers separated by blanks (job number, submit time, wait time, …): "
        + "; ".join(steps)
    )


def _records(head: bytes) -> list[bytes]:
    lines = head.split(b"\n")
    return [line for line in lines[: max(len(lines) - 1, 1)] if _is_record(line)]


def _as_comment(line: bytes) -> bytes:
    """Return a comment as SWF's; nothing for other lines, which would end the header."""
    text = line.lstrip()
    return b";" + text.lstrip(b"#;") if text.startswith(_COMMENTS) else b""


def _names_columns(fields: list[bytes]) -> bool:
    return not any(map(_NUMBER.fullmatch, fields))


def _table(lines: list[bytes], layout: SwfLayout) -> Table:
    cut_lines = (_cut(line, layout.separator) for line in lines[:_SAMPLE])
    rows = [
        [float(field) if _NUMBER.fullmatch(field or b"-1") else np.nan for field in padded]
        for fields in cut_lines
        if len(fields) == layout.columns and not _names_columns(fields)
        for padded in [[field or b"-1" for field in fields]]
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, layout.columns)[:, : swf.FIELD_COUNT]


def _faults(table: Table) -> Iterator[str]:
    column = {name: table[:, index] for index, (name, _) in swf.FIELDS.items()}
    last = max(swf.STATES)
    for index, (name, title) in swf.FIELDS.items():
        values = column[name][~np.isnan(column[name])]
        shown = f"column {index + 1}, where SWF has the {title}, holds"
        if _mostly(values < -1):
            yield f"{shown} numbers below −1"
        whole = name not in ("wait", "run", "submit", "memory", "walltime")
        if whole and _mostly(values != np.floor(values)):
            yield f"{shown} fractions"
    if _mostly(~np.isin(column["status"], [-1, *swf.STATES])):
        least, most = np.nanmin(column["status"]), np.nanmax(column["status"])
        yield f"column 11, where SWF has the status (−1 to {last}), holds {least:g} to {most:g}"
    if len(table) and not ((column["allocated"] > 0) | (column["requested"] > 0)).any():
        yield "columns 5 and 8, where SWF has the processors, hold none"
    counted = len(table) >= _FEW and _mostly(np.diff(column["submit"]) == 1)
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


_TITLE: Final = "tables of numbers that are nearly SWF"
DIALECT = Dialect(
    *("near-swf", _TITLE, recognises, header, parse),
    needed=needed,
    takes_mapping=True,
    differs=differs,
    scheduler="SWF",
)
