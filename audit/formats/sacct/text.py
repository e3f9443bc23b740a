"""Text of Slurm's `sacct -P` (or `-p`): a header row or declared columns, any separator.

``columns`` lists the columns that are read; ``fields`` and ``instants`` convert their values:

- Rows with the id of a step (`7.batch`, `7.0`) are counted and skipped. Of a job on two nodes, the
  row `7.batch` after its own gives the amounts on the first node, and so on both.
- A job that never started has no start (`None`, `Unknown`), or took no time and had no node:
  NodeList is `None assigned`, or both it and AllocNodes are empty, whatever AllocTRES contains
  (several versions fill it with the request). Where both columns are missing: it took no time and
  was allocated nothing, or was cancelled.
- RUNNING, SUSPENDED, PENDING and the like are open: an `End` is ignored (`-T` clips times to its
  window).
- Amounts are those of AllocTRES, else AllocGRES, AllocCPUS, NCPUS, AllocNodes and NNodes where
  above 0, else the requested ones. The same holds for types of GPUs.
- Suspended is its column, else End − Start − Elapsed. Without a column Start or End, Elapsed and
  Suspended give it from the other.
- A time in the hour that a clock change repeats is read so that the record's own times agree: End −
  Start = Elapsed + Suspended, and nothing is before Submit. Jobs with higher numbers are not
  submitted earlier (``repeated``). If both instances remain possible, the first is used, and
  counted.
- Each record is one *execution*, identified by job id and submit time, as in Slurm's own database.

Damage in fields that no record needs costs nothing. ``sacct`` escapes nothing: see columns
for separators and line breaks in names. Times clipped by `sacct -T` cannot be recognised. Source:
sacct's manual page, Slurm 17.11 to 25.05.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

import numpy as np
import polars as pl

from audit.errors import DialectError
from audit.formats.delimited import names_row
from audit.formats.dialects import HEAD_BYTES, Dialect, Header, Parsed, Reading
from audit.formats.instants import is_zone
from audit.formats.lines import (
    UNQUOTED,
    Block,
    Bytes,
    Lines,
    Mask,
    Offsets,
    as_text,
    cut,
    select,
    unquoted,
)
from audit.formats.sacct import completion, heads, proposals, ruled
from audit.formats.sacct.columns import BY_NAME, SKIPPED, SacctLayout, fits, header_row, split
from audit.formats.sacct.forms import padding, plain
from audit.formats.sacct.heads import Head, TextLine
from audit.formats.sacct.records import BATCH, typed
from audit.formats.shaping import REFUSED, refused, shaped
from audit.model import RECORDS, RefusalCode

_STAND_INS: Final = (0x1F, 0x1E, 0x1D, 0x1C, *range(0x01, 0x09), *range(0x0E, 0x1C))
"""Bytes that may replace a separator of several bytes while a block is cut."""

_STEP: Final = r"^[0-9][^.]*\.[0-9A-Za-z_+.-]+$"  # id of a step
_LOCAL_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?!\.?\d*(?:Z|[+-]\d\d))")

_MARK: Final = "JobID"  # part of every row that repeats the header, or states another
_LAYOUT: Final = ("columns", "separator", "trailing", "short")
"""Entries of ``Header`` that hold a ``SacctLayout``."""

_TAIL: Final = 1_000
"""Number of lines at the end of a block that are searched for the beginning of a record."""


def recognises(head: bytes) -> bool:
    """Return whether sacct's text, with or without a header row, begins with ``head``."""
    lines = _head_lines(head)
    if not lines:
        return False
    if ruled.find(lines) is not None or re.match(completion.BEGINS, lines[0].text):
        return True
    if heads.find(lines) is not None:
        return heads.table_for_people(lines) is None
    if lines[0].text.lstrip().startswith((";", "#", "{", "[", "<")):
        return False
    if names_row(lines[0].text.encode()) is not None:
        return False  # a table of other names
    return differs(head) is None and proposals.sniff(_texts(lines)) is not None


def differs(head: bytes) -> str | None:
    """Return what is wrong with sacct's output; None: nothing, or it is no such output."""
    lines = _head_lines(head)
    if heads.find(lines) is not None:
        return heads.table_for_people(lines)
    return heads.table_for_people(lines) or heads.aligned(lines) or heads.misnamed(lines)


def header(head: bytes, reading: Reading) -> Header:
    """Find the columns and the separator, from the header row or as they are declared.

    Raises DialectError if there is neither (the message proposes ``--columns``), if the columns
    name no job or no time, if nothing separates them, or if the form of times was changed.
    """
    lines = _head_lines(head)
    found = heads.find(lines, reading.separator)
    layout, entries, problems = _laid_out(lines, found, reading)
    if problem := layout.problem():
        said = f"sacct's columns {', '.join(layout.names)}: {problem}"
        raise DialectError(f"{said}; let sacct write all columns: {heads.COMMAND}")
    problems += heads.absent(layout.position)
    begin = 0 if found is None else lines.index(found.row) + 1
    if entries["quoted"]:
        bare = plain("\n".join(_texts(lines)).encode(), entries["quoted"]).decode().split("\n")
        lines = [TextLine(line.number, text) for line, text in zip(lines, bare, strict=True)]
    if wrong := heads.formatted_times(lines, layout, begin):
        raise DialectError(wrong)
    texts = _texts(lines)
    if restarted := _restarted(texts, layout):
        entries["restarted"] = str(restarted)
    zone = reading.zone or "UTC"
    if not is_zone(zone):
        raise DialectError(
            f"time zone {zone!r}: not in the IANA database; write it like Europe/Berlin"
        )
    local = reading.zone is None and any(map(_LOCAL_TIME.search, texts[:100]))
    stated = Header(reading.zone, {}, {**entries, "zone": zone}, tuple(problems), local)
    return _stated(layout, stated)


def _laid_out(
    lines: Sequence[TextLine], found: Head | None, reading: Reading
) -> tuple[SacctLayout, dict[str, str], list[str]]:
    """Return the layout, and entries and problems of the header."""
    entries = {"before": "0", "quoted": ""}
    problems: list[str] = []
    if (table := ruled.find(lines)) is not None:
        entries = {"before": str(table.row.number - 1), "quoted": table.form}
        return table.layout, entries, [table.problem]
    if found is not None:
        entries["before"] = str(found.row.number - 1 if found.before else 0)
        problems += found.problems
        layout = found.layout
        declared = [name.lower() for name in reading.columns or ()]
        if declared and declared != [name.lower() for name in layout.names]:
            problems.append("the log has a header row, which is used instead of --columns")
        if found.quoted or _has_quotes(lines, layout):
            entries["quoted"] = layout.separator
            layout = replace(layout, separator=UNQUOTED)
        else:
            layout, entries["quoted"] = padding(found)
        return layout, entries, problems
    texts = _texts(lines)
    if texts and re.match(completion.BEGINS, texts[0]):
        entries["quoted"] = completion.FORM
        problems.append(completion.REMARK)
        return SacctLayout(completion.names(texts), UNQUOTED), entries, problems
    if reading.columns is not None:
        layout = _declared(texts, reading.columns, reading.separator)
        return _with_short_rows(texts, layout, problems), entries, problems
    export = None if reading.separator else proposals.xdmod(texts)
    if export is None:
        raise DialectError(_proposal(texts, reading.separator))
    problems.append("no header row: the columns are those of Open XDMoD's export")
    return export, entries, problems


def _has_quotes(lines: Sequence[TextLine], layout: SacctLayout) -> bool:
    """Return whether fields of a CSV are in quotes where they contain its separator."""
    if layout.separator != ",":
        return False
    odd = [text for _, text in lines if '"' in text and text.count(",") + 1 != len(layout.columns)]
    bare = [unquoted(text.encode(), ",").decode() for text in odd]
    return any(text.count(UNQUOTED) + 1 == len(layout.columns) for text in bare)


def parse(block: Block, header: Header, also: Sequence[str] = ()) -> Parsed:
    """Read whole lines; ``also`` names columns whose texts are returned beside ``RECORDS``."""
    view = _TextView(block, header, also)
    stated_first = layout = _layout(header)
    begin = 0
    found: list[pl.DataFrame] = []
    for line, stated in view.header_rows():
        if line > begin:
            found += view.section(begin, line, layout)
        if stated.names != layout.names and stated.problem() is None:
            layout = stated
        begin = line + 1
    found += view.section(begin, len(view.filled), layout)
    return shaped(
        block,
        view.origin,
        found,
        steps=view.steps,
        header=None if layout == stated_first else _stated(layout, header),
        schema=pl.Schema([*RECORDS.items(), *((name, pl.String()) for name in also)]),
        by_line=True,
    )


def whole(data: bytes, header: Header) -> int:
    """Return the length of ``data`` before its last job, whose record or steps may continue."""
    layout, quoted = _layout(header), header.entries["quoted"]
    end = data.rfind(b"\n") + 1
    stop, tried, step = end, 0, None
    while stop > 0 and (tried := tried + 1) <= _TAIL:
        start = data.rfind(b"\n", 0, stop - 1) + 1
        raw = data[start:stop].rstrip(b"\r\n")
        raw = plain(raw, quoted)
        line = raw.decode("utf-8", errors="backslashreplace")
        is_step = re.match(_STEP, "".join(line.split(layout.separator)[layout.id_column :][:1]))
        if not (is_step and step) and fits(line, layout):
            if not is_step:
                return start
            step = start
        stop = start
    if len(data) <= HEAD_BYTES:
        return 0
    return end if step is None else step


class _TextView:
    """A block in UTF-8, with its columns separated by one byte."""

    def __init__(self, block: Block, header: Header, also: Sequence[str] = ()) -> None:
        self.also = also
        self.steps = 0
        self.at_top = block.byte_offset == 0
        self.zone = header.entries["zone"]
        self.separator = _layout(header).separator
        text = as_text(block.data)
        self.quoted = header.entries["quoted"]
        text = plain(text, self.quoted)
        self.byte = self._single(text)
        if self.byte is not None and len(self.separator.encode()) > 1:
            text = text.replace(self.separator.encode(), bytes([self.byte]))
        self.text = text
        self.data: Bytes = np.frombuffer(text, dtype=np.uint8)
        self.lines: Lines = cut(self.data)
        same = text is block.data
        self.origin = self.lines if same else cut(np.frombuffer(block.data, dtype=np.uint8))
        self.fields = np.ones(len(self.lines.starts), dtype=np.int64)
        if self.byte is not None:
            marks = np.flatnonzero(self.data == self.byte)
            before_end = np.searchsorted(marks, self.lines.ends)  # a line end is no mark
            self.fields += np.diff(before_end, prepend=0)
        lengths = self.lines.ends - self.lines.starts
        self.filled = lengths > 0
        for line in np.flatnonzero(self.filled & (self.fields == 1)):
            self.filled[line] = bool(self.line(int(line)).strip())
        if self.at_top:
            self.filled[: int(header.entries["before"])] = False

    def _single(self, text: bytes) -> int | None:
        """Return the byte that separates columns; None where each line must be split by itself."""
        mark = self.separator.encode()
        if len(mark) == 1:
            return mark[0] if mark not in b'"\r' else None
        return next((byte for byte in _STAND_INS if bytes([byte]) not in text), None)

    def line(self, number: int) -> str:
        """Return a line with the log's own separator."""
        raw = self.text[self.lines.starts[number] : self.lines.ends[number]]
        text = raw.decode("utf-8", errors="backslashreplace")
        return text if self.byte is None else text.replace(chr(self.byte), self.separator)

    def header_rows(self) -> list[tuple[int, SacctLayout]]:
        """Return the lines that state columns."""
        layouts: dict[int, SacctLayout] = {}
        mark, at = _MARK.encode(), -1
        while (at := self.text.find(mark, at + 1)) >= 0:
            number = int(np.searchsorted(self.lines.starts, at, side="right")) - 1
            if stated := header_row(self.line(number), self.separator):
                layouts[number] = stated
            at = int(self.lines.ends[number])
        first = int(np.argmax(self.filled)) if self.filled.any() else 0
        if self.at_top and self.filled[:1].size and first not in layouts:
            stated = header_row(self.line(first), self.separator)
            layouts |= {first: stated} if stated else {}
        return sorted(layouts.items())

    def section(self, begin: int, end: int, layout: SacctLayout) -> list[pl.DataFrame]:
        """Read the lines from ``begin`` to before ``end``, which have one layout."""
        regular = [self._regular(begin, end, layout, width) for width in (0, *layout.short)]
        texts = pl.concat(regular)
        read = self._typed(texts, layout)
        misfits = read.filter(pl.col("problem").is_not_null()).select(REFUSED.names())
        taken = np.zeros(len(self.filled), dtype=np.bool_)
        taken[texts["number"].to_numpy()] = True
        taken[misfits["number"].to_numpy()] = False
        odd = np.flatnonzero(self.filled[begin:end] & ~taken[begin:end]) + begin
        if not len(odd):
            return [read]
        again, unread = self._odd(odd, taken, begin, layout)
        more = self._typed(again, layout)
        unread = pl.concat([unread, more.select(REFUSED.names())]).filter(
            pl.col("problem").is_not_null()
        )
        # the problem of a line by itself takes precedence
        unread = unread.update(misfits, on="number")
        good = pl.concat([read, more]).filter(pl.col("problem").is_null())
        return [good, unread]

    def _typed(self, texts: pl.DataFrame, layout: SacctLayout) -> pl.DataFrame:
        ids = texts["JobID" if "JobID" in layout.position else "JobIDRaw"]
        is_step = ids.str.contains(_STEP).fill_null(value=False)
        if steps := int(is_step.sum()):
            self.steps += steps
            texts = texts.with_columns(_batch(texts, ids, is_step)).filter(~is_step)
        records = typed(texts, self.zone)
        nothing = pl.lit(None, pl.String)
        return records.with_columns(
            texts[name] if name in texts.columns else nothing.alias(name) for name in self.also
        )

    def _regular(self, begin: int, end: int, layout: SacctLayout, width: int) -> pl.DataFrame:
        """Return the texts of all lines with ``width`` fields; 0 means all columns."""
        wanted = width or len(layout.names)
        columns = {name: at for name, at in layout.position.items() if at < wanted}
        schema = {"number": pl.Int64, **dict.fromkeys(layout.position, pl.String)}
        chosen: Mask = np.zeros(len(self.filled), dtype=np.bool_)
        chosen[begin:end] = self.fields[begin:end] == wanted + layout.trailing
        if self.byte is None or not chosen.any():
            return pl.DataFrame(schema=schema)
        if layout.trailing:
            chosen[chosen] = self.data[self.lines.ends[chosen] - 1] == self.byte
        read = pl.read_csv(
            select(self.data, self.lines, chosen),
            separator=chr(self.byte),
            has_header=False,
            columns=sorted(columns.values()),
            schema={str(n): pl.String for n in range(wanted + layout.trailing)},
            quote_char=None,
        )
        nothing, position = pl.lit(None, pl.String), layout.position
        return read.select(
            pl.lit(pl.Series(np.flatnonzero(chosen))).alias("number"),
            **{name: str(columns[name]) if name in columns else nothing for name in position},
        )

    def _odd(
        self, odd: Offsets, taken: Mask, begin: int, layout: SacctLayout
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return the texts of the records among odd lines, and the refusals of the others."""
        rows: list[list[str | int]] = []
        unread: list[tuple[int, str, RefusalCode]] = []
        order = np.cumsum(self.filled)  # ignores blank lines
        for stretch in np.split(odd, np.flatnonzero(np.diff(order[odd]) > 1) + 1):
            before = np.flatnonzero(self.filled[begin : stretch[0]])
            # a text in quotes ends with its line
            follows = bool(len(before)) and bool(taken[before[-1] + begin])
            after_record = follows and not self.quoted
            lines = [self.line(int(number)) for number in stretch]
            found = split(lines, layout, after_record=after_record)
            for first, texts in found.records:
                rows.append([int(stretch[first]), *(texts[at] for at in layout.position.values())])
            unread += [
                (int(stretch[line]), why, RefusalCode.SHAPE) for line, why in found.refused.items()
            ]
        schema = {"number": pl.Int64, **dict.fromkeys(layout.position, pl.String)}
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        empty = [pl.col(name).replace("", None) for name in layout.position]
        return frame.with_columns(empty), refused(unread)


def _batch(texts: pl.DataFrame, ids: pl.Series, is_step: pl.Series) -> pl.Series:
    """Return the column ``BATCH``: the steps of a job follow it."""
    if "AllocTRES" not in texts.columns:
        return pl.Series(BATCH, [None], pl.String).new_from_index(0, len(ids))
    rows = pl.DataFrame(
        {
            "job": (~is_step).cum_sum(),
            "id": ids.str.strip_suffix(".batch"),
            "is_batch": is_step & ids.str.ends_with(".batch"),
            BATCH: texts["AllocTRES"],
        }
    )
    steps = rows.filter("is_batch").unique(["job", "id"], keep="first").drop("is_batch")
    jobs = rows.select("job", "id").join(steps, on=["job", "id"], how="left", maintain_order="left")
    return jobs[BATCH]


def _head_lines(head: bytes) -> list[TextLine]:
    lines = head.decode("utf-8", errors="backslashreplace").removeprefix("\ufeff").split("\n")
    if len(lines) > 1 and len(head) >= HEAD_BYTES:
        lines.pop()  # possibly cut
    return [TextLine(n, line.rstrip("\r")) for n, line in enumerate(lines, start=1) if line.strip()]


def _texts(lines: Sequence[TextLine]) -> list[str]:
    return [text for _, text in lines]


def _declared(lines: Sequence[str], names: Sequence[str], separator: str | None) -> SacctLayout:
    separated = proposals.separator_for(lines, names, separator)
    if separated is None:
        sniffed = proposals.sniff(lines, separator)
        width = "" if sniffed is None else f" (its lines have {len(sniffed.rows[0])} fields)"
        raise DialectError(
            f"--columns declares {len(names)} columns, and no line of the log has them{width}:\n"
            + _proposal(lines, separator)
        )
    return SacctLayout(tuple(name.strip() for name in names), *separated)


def _with_short_rows(lines: Sequence[str], layout: SacctLayout, problems: list[str]) -> SacctLayout:
    """Allow for rows without the last columns, written before these were added."""
    counts = [line.count(layout.separator) + 1 - layout.trailing for line in lines]
    short = []
    for width in sorted(set(counts)):
        shorter = SacctLayout(layout.names[:width], layout.separator, layout.trailing)
        of_it = [line for line, count in zip(lines, counts, strict=True) if count == width]
        if width < len(layout.names) and len(of_it) > 1 and shorter.problem() is None:
            good = sum(fits(line, shorter) for line in of_it[: proposals.SAMPLE])
            if good * 10 >= min(len(of_it), proposals.SAMPLE) * 9:
                short.append(width)
                lacking = ", ".join(layout.names[width:])
                problems.append(f"lines of {width} fields are read as lacking {lacking}")
    return SacctLayout(layout.names, layout.separator, layout.trailing, tuple(short))


def _restarted(lines: Sequence[str], layout: SacctLayout) -> int:
    names = [name.lower() for name in layout.names]
    if "restarts" not in names:
        return 0
    at = names.index("restarts")
    rows = [line.split(layout.separator) for line in lines]
    rows = [row for row in rows if len(row) == len(layout.columns)]
    ids = [row[layout.id_column] for row in rows]
    return sum(
        row[at].isdigit() and int(row[at]) > 0 and ids.count(job) == 1
        for row, job in zip(rows, ids, strict=True)
        if "." not in job
    )


def _proposal(lines: Sequence[str], separator: str | None) -> str:
    sniffed = proposals.sniff(lines, separator)
    if sniffed is None:
        return "no header row, and no columns found: name them (--columns A,B,…)"
    found = proposals.propose(sniffed)
    questions = "".join(f"; {question}" for question in found.questions)
    rest = ""
    if left := proposals.spans(found.names):
        rest = (
            f"\n('_' is not read; columns {left} may be User, Account, Partition, QOS, …: "
            "replace what you know)"
        )
    return (
        f"no header row: let sacct write it (without -n, --noheader): {heads.COMMAND}\n"
        f"Or say what its {len(found.names)} columns are, separated by {sniffed.separator!r}. "
        f"Their content proves these names{questions}:\n  --columns {','.join(found.names)}{rest}"
    )


def _stated(layout: SacctLayout, header: Header) -> Header:
    short = ",".join(map(str, layout.short))
    texts = (",".join(layout.names), layout.separator, str(layout.trailing), short)
    entries = {**header.entries, **dict(zip(_LAYOUT, texts, strict=True))}
    return replace(header, entries=entries)


def needed(entries: Mapping[str, str]) -> dict[str, str]:
    """Return all entries, without names of columns that are not sacct's."""
    names = entries["columns"].split(",")
    known = (name if name.lower() in BY_NAME else SKIPPED for name in names)
    return {**entries, "columns": ",".join(known)}


def _layout(header: Header) -> SacctLayout:
    return _layout_of(*(header.entries[name] for name in _LAYOUT))


@lru_cache(maxsize=16)
def _layout_of(names: str, separator: str, trailing: str, short: str) -> SacctLayout:
    widths = tuple(int(width) for width in short.split(",") if width)
    return SacctLayout(tuple(names.split(",")), separator, trailing == "True", widths)


_TITLE: Final = "Slurm's sacct (-P)"
DIALECT = Dialect(
    *("sacct", _TITLE, recognises, header, parse, whole),
    names_clusters=True,
    needed=needed,
    scheduler="Slurm",
    takes_columns=True,
    differs=differs,
)
