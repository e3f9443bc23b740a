"""Grid Engine's accounting file: SGE 5.3 to 6.2, OGS, Son of Grid Engine, Univa's and Altair's.

A line for each job that ended, its columns separated by `:` (accounting(5)); lines with `#`, and
those of one character or less, are nothing. What the columns hold:

- A parallel job has one line, or (`accounting_summary` false) one more for each task that it
  started on a node. Those, with a `pe_taskid`, are parts of it: counted, and passed over.
- Times are epoch seconds, with Univa and Altair milliseconds; each value tells by its size.
- What never started has the start 0. When it left the queue is said nowhere (its end is 0 too): it
  counts as having waited for nothing.
- Each execution has its own line with the same job number and submission time; `failed` 24 and 25
  say that it was rescheduled. So lines that share number and submission time are runs of one job,
  and the next waited from the end of the one before (``attempts``); others are different jobs,
  whose number came round again.
- The account is the project, to which shares are given; else the string of `qsub -A`.
- Slots are CPUs. A job without a parallel environment has one node; of others the number is not
  said. Walltime, memory and GPUs stand among the requests (``records``): memory is asked for by
  the slot, GPUs by the job.
- Holds and suspended time are said nowhere.

Names are written as they are: see ``records`` for those with a `:` in them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
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
    RANGES,
    SEPARATOR,
    TEXTS,
    WHOLE,
    is_no_attempt,
    is_task,
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

_COMMENT: Final = ord("#")
_LINE: Final = re.compile(
    rb"(?:[^:\n]*:){5}\d+:[^\n]*:-?\d+:(?:\d{9,13}|0):(?:\d{9,13}|0):(?:\d{9,13}|0):\d+:"
)
_MARK: Final = b"# DO NOT MODIFY THIS FILE MANUALLY"
_VERSION: Final = re.compile(rb"^# Version: *([^\r\n]*)", re.MULTILINE)
_SAMPLE: Final = 100
_OTHER: Final = "\0"


def recognises(head: bytes) -> bool:
    """Whether these are the first bytes of an accounting file, with or without its comments."""
    lines = [line for line in head.split(b"\n") if len(line) > 1]
    of_jobs = [line for line in lines if not line.startswith(b"#")][:_SAMPLE]
    if not of_jobs:
        return _MARK in head and _VERSION.search(head) is not None
    good = sum(line.count(b":") + 1 >= FEWEST and bool(_LINE.match(line)) for line in of_jobs)
    return good * 2 >= len(of_jobs)


def header(head: bytes, reading: Reading) -> Header:
    """The version that wrote the file. Its times are of no zone."""
    found = _VERSION.search(head)
    version = {} if found is None else {"version": found[1].decode("utf-8", "backslashreplace")}
    return Header(zone=reading.zone, entries=version)


def parse(block: Block, header: Header) -> Parsed:
    """Takes in whole lines of an accounting file; see the module's docstring."""
    text = as_text(block.data)
    data: Bytes = np.frombuffer(text, dtype=np.uint8)
    lines = cut(data)
    of_job = lines.ends > lines.starts
    of_job[of_job] = data[lines.starts[of_job]] != _COMMENT
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
    parts = table["part"]
    found = [refused(broken)]
    if not parts.all():  # it is of an empty table
        found.append(typed(table.filter(~parts) if parts.any() else table))
    spans = lines if text is block.data else cut(np.frombuffer(block.data, dtype=np.uint8))
    return shaped(block, spans, found, steps=int(parts.sum()))


def _table(
    text: bytes, data: Bytes, lines: Lines, numbers: Offsets, separator: str = SEPARATOR
) -> tuple[pl.DataFrame, Offsets]:
    """What stands in some lines, as ``typed`` takes it, and which of them hold what they cannot."""
    marks = np.flatnonzero(data == ord(separator))
    first = np.searchsorted(marks, lines.starts[numbers])
    count = np.searchsorted(marks, lines.ends[numbers]) - first + 1
    long = count >= FEWEST
    short, numbers, first, count = numbers[~long], numbers[long], first[long], count[long]
    around = np.concatenate([[-1], marks, [len(data)]])

    def spans(name: str) -> tuple[Offsets, Offsets]:
        place = np.minimum(COLUMNS[name].place, count)  # of a column that is not there: nothing
        marked = np.minimum(first + place, len(marks))
        start = np.where(place == 0, lines.starts[numbers], around[marked] + 1)
        end = np.where(place >= count - 1, lines.ends[numbers], around[marked + 1])
        return np.where(place < count, start, end), end

    starts, ends = np.stack([spans(name) for name in WHOLE], axis=1)
    values, good = whole_numbers(data, starts, ends)
    for row, name in enumerate(WHOLE):
        least, most = RANGES.get(name, (values[row].min(initial=0), values[row].max(initial=0)))
        good[row] &= (values[row] >= least) & (values[row] <= most)
        good[row] |= count <= COLUMNS[name].place  # older versions
    fits = good.all(axis=0)
    fits &= look_like_numbers(data, *np.stack([spans(name) for name in NUMBERS], axis=1)).all(
        axis=0
    )
    task = texts(text, *spans("pe_taskid"))
    tasks = {name for name in set(task) if name is not None and is_task(name)}
    of_task = np.array([name != "NONE" for name in task], dtype=np.bool_)
    fits &= np.array([name in tasks for name in task], dtype=np.bool_)
    spent = texts(text, *spans("ru_wallclock"))
    frame = pl.DataFrame(
        {
            "number": numbers,
            **{name: values[row] for row, name in enumerate(WHOLE)},
            **{name: pl.Series(texts(text, *spans(name)), dtype=pl.String) for name in TEXTS},
            "part": is_no_attempt(dict(zip(WHOLE, values, strict=True)), of_task),
            "spent": pl.Series(list(map(_seconds, spent)), dtype=pl.Int64),
        }
    )
    misfits = np.sort(np.concatenate([short, numbers[~fits]]))
    return frame if fits.all() else frame.filter(pl.Series(fits)), misfits


@lru_cache(maxsize=1 << 14)
def _seconds(text: str | None) -> int | None:
    """A length of time in whole seconds; None where it is none, or 0."""
    try:
        length = float(text or "")
    except ValueError:
        return None
    return ceil(length) if 0 < length < LATEST else None


def _realigned(lines: Mapping[int, str]) -> pl.DataFrame:
    """Those of some lines, by number, whose columns are found behind a `:` in some text."""
    found = {number: realigned(line) for number, line in lines.items()}
    rows = {
        number: _OTHER.join(text.replace(_OTHER, "\\x00") for text in columns)
        for number, columns in found.items()
        if columns is not None
    }
    text = "".join(f"{row}\n" for row in rows.values()).encode()
    data: Bytes = np.frombuffer(text, dtype=np.uint8)
    frame, _ = _table(text, data, cut(data), np.arange(len(rows)), _OTHER)
    numbers = np.array(list(rows), dtype=np.int64)
    return frame.with_columns(number=pl.Series(numbers[frame["number"].to_numpy()]))


DIALECT = Dialect(
    name="gridengine",
    title="Grid Engine's accounting file (SGE, OGS, Univa, Altair)",
    recognises=recognises,
    header=header,
    parse=parse,
)
