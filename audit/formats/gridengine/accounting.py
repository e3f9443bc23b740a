"""Grid Engine's accounting file: SGE 5.3 to 6.2, OGS, Son of Grid Engine, Univa's and Altair's.

Each line is a job that ended, its columns separated by `:` (accounting(5)). Lines that begin with
`#`, and lines of at most one character, are skipped. Conventions:

- A parallel job has one line or, where `accounting_summary` is false, another one for each task
  that it started on a node. Such lines have a `pe_taskid`; they are counted and skipped.
- Times are epoch seconds (Univa and Altair: milliseconds; the size of each value decides).
- A job that never started has the start 0 and the end 0: it counts as having waited for 0 s.
- Each execution has its own line with the same job number and submission time; `failed` 24 and 25
  mean rescheduled. Lines that share both are runs of one job, and each waited from the end of the
  one before (``attempts``). Others are different jobs whose number was used again.
- The account is the project, else the string of `qsub -A`.
- Slots are CPUs. A job without a parallel environment has one node; else nodes are unknown.
  Walltime, memory (per slot) and GPUs (per job) are among the requests (``records``).
- Holds and suspended time are unknown.

Names are not escaped: ``records.realigned`` reads lines with a `:` in a name.
"""

from __future__ import annotations

import re
from functools import lru_cache
from math import ceil
from typing import Final

import numpy as np
import polars as pl

from audit.formats.dialects import Dialect, Header, Parsed, Reading
from audit.formats.gridengine.records import (
    COLUMNS,
    FEWEST,
    NUMBERS,
    SEPARATOR,
    TASK,
    TEXTS,
    WHOLE,
    is_no_attempt,
    misfit,
    realigned,
    typed,
)
from audit.formats.instants import LATEST
from audit.formats.lines import (
    Block,
    Bytes,
    Lines,
    Offsets,
    as_text,
    cut,
    look_like_numbers,
    texts,
    whole_numbers,
)
from audit.formats.shaping import refused, shaped
from audit.model import RefusalCode

_LINE: Final = re.compile(
    rb"(?:[^:\n]*:){5}\d+:[^\n]*:-?\d+:(?:\d{9,13}|0):(?:\d{9,13}|0):(?:\d{9,13}|0):\d+:"
)
_MARK: Final = b"# DO NOT MODIFY THIS FILE MANUALLY"
_VERSION: Final = re.compile(rb"^# Version: *([^\r\n]*)", re.MULTILINE)
_SAMPLE: Final = 100
_OTHER: Final = "\0"


def recognises(head: bytes) -> bool:
    """Return whether an accounting file, with or without comments, begins with ``head``."""
    lines = [line for line in head.split(b"\n") if len(line) > 1 and line[:1] != b"#"][:_SAMPLE]
    if not lines:
        return _MARK in head and _VERSION.search(head) is not None
    good = sum(line.count(b":") + 1 >= FEWEST and bool(_LINE.match(line)) for line in lines)
    return good * 2 >= len(lines)


def header(head: bytes, reading: Reading) -> Header:
    """Return the version that wrote the file."""
    found = _VERSION.search(head)
    version = {} if found is None else {"version": found[1].decode("utf-8", "backslashreplace")}
    return Header(zone=reading.zone, entries=version)


def parse(block: Block, header: Header) -> Parsed:
    """Read whole lines."""
    text = as_text(block.data)
    data: Bytes = np.frombuffer(text, dtype=np.uint8)
    lines = cut(data)
    of_job = lines.ends > lines.starts
    of_job[of_job] = data[lines.starts[of_job]] != ord("#")
    broken: list[tuple[int, str, RefusalCode]] = []
    if not text.endswith(b"\n") and of_job[-1:].any():
        broken.append((len(of_job) - 1, "the log ends within this line", RefusalCode.CUT))
        of_job[-1] = False
    of_job &= lines.ends - lines.starts > 1
    table, misfits = _table(text, data, lines, np.flatnonzero(of_job))
    if len(misfits):
        shown = {n: text[lines.starts[n] : lines.ends[n]].decode() for n in misfits.tolist()}
        more = _realigned(shown)
        table = pl.concat([table, more])
        lost = sorted(shown.keys() - set(more["number"]))
        broken += [(number, *misfit(shown[number])) for number in lost]
    found = [refused(broken), typed(table.filter(~pl.col("part")))]
    spans = lines if text is block.data else cut(np.frombuffer(block.data, dtype=np.uint8))
    return shaped(block, spans, found, steps=int(table["part"].sum()))


def _table(
    text: bytes, data: Bytes, lines: Lines, numbers: Offsets, separator: str = SEPARATOR
) -> tuple[pl.DataFrame, Offsets]:
    """Return the columns of some lines, and the numbers of lines that do not have them."""
    marks = np.flatnonzero(data == ord(separator))
    first = np.searchsorted(marks, lines.starts[numbers])
    count = np.searchsorted(marks, lines.ends[numbers]) - first + 1
    long = count >= FEWEST
    short, numbers, first, count = numbers[~long], numbers[long], first[long], count[long]
    around = np.concatenate([[-1], marks, [len(data)]])

    def spans(name: str) -> tuple[Offsets, Offsets]:
        place = np.minimum(COLUMNS[name].place, count)  # empty where the column is missing
        marked = np.minimum(first + place, len(marks))
        start = np.where(place == 0, lines.starts[numbers], around[marked] + 1)
        end = np.where(place >= count - 1, lines.ends[numbers], around[marked + 1])
        return np.where(place < count, start, end), end

    starts, ends = np.stack([spans(name) for name in WHOLE], axis=1)
    values, good = whole_numbers(data, starts, ends)
    for row, name in enumerate(WHOLE):
        place, _, _, limits = COLUMNS[name]
        if limits is not None:
            good[row] &= (values[row] >= limits[0]) & (values[row] <= limits[1])
        good[row] |= count <= place  # older versions
    task = texts(text, *spans("pe_taskid"))
    tasks = {name for name in set(task) if name is not None and TASK.fullmatch(name)}
    fits = np.array([name in tasks for name in task], dtype=np.bool_) & good.all(axis=0)
    figures = np.stack([spans(name) for name in NUMBERS], axis=1)
    fits &= look_like_numbers(data, *figures).all(axis=0)
    whole = dict(zip(WHOLE, values, strict=True))
    of_task = np.array([name != "NONE" for name in task], dtype=np.bool_)
    columns = {name: pl.Series(texts(text, *spans(name)), dtype=pl.String) for name in TEXTS}
    spent = pl.Series(map(_seconds, texts(text, *spans("ru_wallclock"))), dtype=pl.Int64)
    part = is_no_attempt(whole, of_task)
    frame = pl.DataFrame({"number": numbers, **whole, **columns, "part": part, "spent": spent})
    misfits = np.sort(np.concatenate([short, numbers[~fits]]))
    return frame if fits.all() else frame.filter(pl.Series(fits)), misfits


@lru_cache(maxsize=1 << 14)
def _seconds(text: str | None) -> int | None:
    """Return a duration in whole seconds; None where it is invalid, or 0."""
    try:
        length = float(text or "")
    except ValueError:
        return None
    return ceil(length) if 0 < length < LATEST else None


def _realigned(lines: dict[int, str]) -> pl.DataFrame:
    """Return the columns of the lines (by number) that ``realigned`` can read."""
    rows = {
        number: _OTHER.join(text.replace(_OTHER, "\\x00") for text in columns)
        for number, line in lines.items()
        if (columns := realigned(line)) is not None
    }
    text = "".join(f"{row}\n" for row in rows.values()).encode()
    data: Bytes = np.frombuffer(text, dtype=np.uint8)
    frame, _ = _table(text, data, cut(data), np.arange(len(rows)), _OTHER)
    numbers = np.array(list(rows), dtype=np.int64)
    return frame.with_columns(number=pl.Series(numbers[frame["number"].to_numpy()]))


_TITLE: Final = "Grid Engine's accounting file (SGE, OGS, Univa, Altair)"
DIALECT = Dialect("gridengine", _TITLE, recognises, header, parse)
