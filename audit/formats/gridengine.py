"""Grid Engine's accounting file: SGE 5.3 to 6.2, OGS, Son of Grid Engine, Univa's and Altair's.

Each line is a job that ended, its columns separated by `:` (accounting(5)). Gridware and Open
Cluster Scheduler 9 write an object of JSON instead (`accounting.jsonl`), whose keys are the names
of the columns; it has no key for what is unknown. Lines that begin with `#`, and lines of at most
one character, are skipped. Conventions:

- A parallel job has one line or, where `accounting_summary` is false, another one for each task
  that it started on a node. Such lines have a `pe_taskid`; they are counted and skipped.
- Times are epoch seconds (Univa and Altair: milliseconds, Gridware: microseconds; the size of each
  value decides).
- A job that never started has the start 0 and the end 0: it counts as having waited for 0 s.
- Each execution has its own line with the same job number and submission time; `failed` 24 and 25
  mean rescheduled. Lines that share both are runs of one job, and each waited from the end of the
  one before (``attempts``). Others are different jobs whose number was used again.
- The account is the project, else the string of `qsub -A`.
- Slots are CPUs. A job without a parallel environment, or with one slot, has one node: its host.
  The nodes of others are unknown: their lines name only the first host.
- The column `category` holds the requests, such as `-l h_rt=36000,m_mem_free=1.000G,gpu=1`:
  walltime, memory (per slot) and GPUs (per job).
- Holds and suspended time are unknown.

Names are not escaped: ``realigned`` reads lines with a `:` in a name.

Sources: complex(5), sge_types(5), sge_status(5), `sge_build_job_category` and `sge_write_rusage` in
the source code.
"""

import json
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.formats.dialects import Dialect, Header, Parsed, Reading
from audit.formats.elements import holdable
from audit.formats.instants import LATEST
from audit.formats.lines import Block, as_text, cut, select
from audit.formats.shaping import (
    LARGEST,
    LARGEST_ID,
    REFUSED,
    SHOWN,
    Fault,
    beyond_range,
    by_distinct,
    case,
    ends_early,
    faulted,
    positive,
    refused,
    remarks,
    shaped,
    single_node,
    table,
    unreadable,
)
from audit.model import JobState, RecordKind, RefusalCode

SEPARATOR: Final = ":"
FEWEST: Final = 43
"""Columns of every version; 6.2 added the advance reservation, Univa further ones."""


class AccountingColumn(NamedTuple):
    """A column that is read, or that shows whether the others are in place."""

    place: int  # from 0
    holds: re.Pattern[str] | None = None  # None: any text
    what: str = ""  # word for its content
    limits: tuple[int, int] | None = None  # smallest and largest value of any version


_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")
_NUMBER: Final = re.compile(r"[-+.0-9eE]+")
TASK: Final = re.compile(r"[^ ,=]*[^-+.0-9eE ,=][^ ,=]*")
_ID: Final = (0, LARGEST_ID)

COLUMNS: Final = {
    "qname": AccountingColumn(0),
    "hostname": AccountingColumn(1),
    "group": AccountingColumn(2),
    "owner": AccountingColumn(3),
    "job_number": AccountingColumn(5, _WHOLE, "job number", _ID),
    "account": AccountingColumn(6),
    "priority": AccountingColumn(7, _WHOLE, "whole number"),
    "submission_time": AccountingColumn(8, _WHOLE, "time", _ID),
    "start_time": AccountingColumn(9, _WHOLE, "time", _ID),
    "end_time": AccountingColumn(10, _WHOLE, "time", _ID),
    "failed": AccountingColumn(11, _WHOLE, "code of a failure", (0, 999)),
    "exit_status": AccountingColumn(12, _WHOLE, "exit status", (-1, (1 << 32) - 1)),
    "ru_wallclock": AccountingColumn(13, _NUMBER, "number"),
    "project": AccountingColumn(31),
    "granted_pe": AccountingColumn(33),
    "slots": AccountingColumn(34, _WHOLE, "number of slots", (0, LARGEST)),
    "task_number": AccountingColumn(35, _WHOLE, "task number", _ID),
    "category": AccountingColumn(39),
    "iow": AccountingColumn(40, _NUMBER, "number"),
    "pe_taskid": AccountingColumn(41, TASK, "task of a parallel job, or NONE"),
    "maxvmem": AccountingColumn(42, _NUMBER, "number"),
    "arid": AccountingColumn(43, _WHOLE, "number of an advance reservation", (0, 1 << 32)),
    "ar_submission_time": AccountingColumn(44, _WHOLE, "time"),
}
OPTIONAL: Final = (
    *("priority", "ru_wallclock", "slots", "iow", "maxvmem", "arid", "ar_submission_time"),
)
"""Checked columns without which a line is read; they are then unknown."""
_SCHEMA: Final = dict.fromkeys(
    (f"column_{n}" for n in range(max(column.place for column in COLUMNS.values()) + 1)), pl.String
)
_NAME, _NUMBERS, _FOLLOWED_BY = 4, 24, 8
_JOB_NUMBER: Final = re.compile(r"[1-9][0-9]{0,9}")
_NO_ACCOUNT: Final = "sge"  # account of a job without `-A`
_MOST_PIECES: Final = 2_000  # maximum number of pieces of a line that is realigned

TIMES: Final = ("submission_time", "start_time", "end_time")
MILLISECONDS: Final = 100_000_000_000
"""Larger times are milliseconds: this is the year 5138 in seconds, and 1973 in milliseconds."""

MICROSECONDS: Final = 1_000 * MILLISECONDS
"""Larger times are microseconds."""

MIGRATING, RESCHEDULED, LIMIT_ENFORCED, AFTER_JOB = 24, 25, 37, 100
"""Values of `failed` (sge_status(5))."""

_STILL_RUNNING: Final = (-1, 4_294_967_295)

_ENDLESS: Final = "column 11 (end_time): 0, and ru_wallclock too: when it ended is unknown"

MEMORY: Final = ("m_mem_free", "h_vmem", "mem_free", "virtual_free", "h_rss", "s_vmem")
"""Memory requests per slot; the first that is present counts."""
GPUS: Final = ("gpu", "gpus", "ngpus", "ngpu", "num_gpus", "cuda")
"""Sites' names for GPUs (Grid Engine defines none), requested per job."""
WALLTIME: Final = ("h_rt", "s_rt")
"""The limits of runtime; the scheduler plans with the smaller one (`job_get_wallclock_limit`)."""

_HARD: Final = re.compile(r"(?<!-soft )(?:(?<= )|^)-l ([^ ]+)")
_DURATION: Final = re.compile(r"(?:([0-9]{0,9}):([0-9]{0,9}):)?([0-9]{1,12})(?:\.[0-9]+)?")
_AMOUNT: Final = re.compile(r"([0-9]{1,18}(?:\.[0-9]*)?|\.[0-9]+)([kKmMgGtT]?)")
_UNITS: Final = {
    "": 1,
    **{unit: 1_000**n for n, unit in enumerate("kmgt", 1)},
    **{unit: 1_024**n for n, unit in enumerate("KMGT", 1)},
}
_MOST: Final = 1 << 50  # requests of more bytes are no limit (`INFINITY`, or the largest integer)

_LINE: Final = re.compile(
    rb"(?:[^:\n]*:){5}\d+:[^\n]*:-?\d+:(?:\d{9,13}|0):(?:\d{9,13}|0):(?:\d{9,13}|0):\d+:"
)
_OBJECT: Final = re.compile(rb'\{"job_number": ?\d+, ?"task_number": ?\d+,')
_ABSENT: Final = {
    **dict.fromkeys(("project", "granted_pe", "category", "pe_taskid"), "NONE"),
    **dict.fromkeys(("priority", "task_number", "iow", "maxvmem", "ru_wallclock", "arid"), "0"),
}
"""What columns hold that an object of JSON has no key for."""
_MARK: Final = b"# DO NOT MODIFY THIS FILE MANUALLY"
_VERSION: Final = re.compile(rb"^# Version: *([^\r\n]*)", re.MULTILINE)
_SAMPLE: Final = 100


def recognises(head: bytes) -> bool:
    """Return whether an accounting file, with or without comments, begins with ``head``."""
    lines = [line for line in head.split(b"\n") if len(line) > 1 and line[:1] != b"#"][:_SAMPLE]
    if not lines:
        return _MARK in head and _VERSION.search(head) is not None
    good = sum(line.count(b":") + 1 >= FEWEST and bool(_LINE.match(line)) for line in lines)
    objects = sum(_OBJECT.match(line) is not None for line in lines)
    return (good + objects) * 2 >= len(lines)


def header(head: bytes, reading: Reading) -> Header:
    """Return the version that wrote the file."""
    found = _VERSION.search(head)
    version = {} if found is None else {"version": found[1].decode("utf-8", "backslashreplace")}
    return Header(zone=reading.zone, entries=version)


def parse(block: Block, header: Header) -> Parsed:
    """Read whole lines."""
    text = as_text(block.data)
    data = np.frombuffer(text, dtype=np.uint8)
    lines = cut(data)
    of_job = lines.ends > lines.starts
    of_job[of_job] = data[lines.starts[of_job]] != ord("#")
    broken: list[tuple[int, str, RefusalCode]] = []
    if not text.endswith(b"\n") and of_job[-1:].any():
        broken.append((len(of_job) - 1, "the log ends within this line", RefusalCode.CUT))
        of_job[-1] = False
    of_job &= lines.ends - lines.starts > 1
    spans = lines if text is block.data else cut(np.frombuffer(block.data, dtype=np.uint8))
    objects: dict[int, list[str | None]] = {}
    of_json = of_job.copy()
    of_json[of_job] = data[lines.starts[of_job]] == ord("{")
    for number in np.flatnonzero(of_json).tolist():
        record = block.data[spans.starts[number] : spans.ends[number]]
        of_job[number] = _OBJECT.match(record) is None
        if not of_job[number] and (row := _of_json(record)) is not None:
            objects[number] = row
        elif not of_job[number]:
            broken.append((number, "is not an object of JSON", RefusalCode.SHAPE))
    marks = np.flatnonzero(data == ord(SEPARATOR))
    width = np.searchsorted(marks, lines.ends) - np.searchsorted(marks, lines.starts) + 1
    few = "{} columns, an accounting record has {} or more"
    for number in np.flatnonzero(of_job & (width < FEWEST)).tolist():
        broken.append((number, few.format(width[number], FEWEST), RefusalCode.SHAPE))
    whole = of_job & (width >= FEWEST)
    found = _checked(_columns(select(data, lines, whole)), np.flatnonzero(whole).tolist())
    if objects:
        rows = pl.DataFrame([*objects.values()], _SCHEMA, orient="row")
        found = pl.concat([found, _checked(rows, [*objects])]).sort("number")
    sound = found["problem"].is_null()
    good, bad = found.filter(sound), found.filter(~sound)
    if bad.height:
        texts = {n: text[lines.starts[n] : lines.ends[n]].decode() for n in bad["number"]}
        moved = {
            n: columns
            for n, line in texts.items()
            if n not in objects and (columns := realigned(line)) is not None
        }
        again = pl.DataFrame(list(moved.values()), _SCHEMA, orient="row")
        again = _checked(again, list(moved)).filter(pl.col("problem").is_null())
        rest = bad.join(again, on="number", how="anti").with_columns(
            needed=_NEEDED_CHECKS["problem"]
        )
        usable = rest["needed"].is_null()
        good = pl.concat([good, again, _without_unreadable(rest.filter(usable).drop("needed"))])
        bad = rest.filter(~usable)
    records, parts = typed(good)
    refusals = [refused(broken), bad.select(REFUSED.names())]
    return shaped(block, spans, [*refusals, records], steps=parts)


def _of_json(line: bytes) -> list[str | None] | None:
    """Return the columns of an object of JSON; None if it is none."""
    try:
        found = json.loads(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    parts = found.get("usage")
    for part in parts.values() if isinstance(parts, dict) else ():
        found |= part if isinstance(part, dict) else {}
    row: list[str | None] = [None] * len(_SCHEMA)
    for name, column in COLUMNS.items():
        given = found.get(name)
        known = isinstance(given, str | int | float) and given != ""
        row[column.place] = holdable(str(given)) if known else _ABSENT.get(name)
    return row


def _columns(text: bytes) -> pl.DataFrame:
    if not text:
        return pl.DataFrame(schema=_SCHEMA)
    return pl.read_csv(
        text,
        separator=SEPARATOR,
        has_header=False,
        schema=_SCHEMA,
        quote_char=None,
        truncate_ragged_lines=True,
        extra_columns="ignore",
        missing_columns="insert",
    )


def _misfits(*left_out: str) -> Iterator[tuple[str, pl.Expr]]:
    for name, (place, holds, _, limits) in COLUMNS.items():
        if holds is None or name in left_out:
            continue
        text = pl.col(name).fill_null("")
        fits = text.str.contains(f"^(?:{holds.pattern})$")
        if limits is not None:
            fits &= text.cast(pl.Int64, strict=False).is_between(*limits).fill_null(value=False)
        if place >= FEWEST:  # of later versions
            fits |= pl.col(name).is_null()
        yield name, ~fits


def _faults(*left_out: str) -> Iterator[Fault]:
    for name, bad in _misfits(*left_out):
        why = f"{_titled(name)}: '{{}}' is not a valid {COLUMNS[name].what}"
        yield bad, RefusalCode.VALUE, pl.format(why, pl.col(name).fill_null("").str.head(SHOWN))


def _titled(name: str) -> str:
    return f"column {COLUMNS[name].place + 1} ({name})"


_CHECKS: Final = faulted(_faults())
_NEEDED_CHECKS: Final = faulted(_faults(*OPTIONAL))


def _without_unreadable(lines: pl.DataFrame) -> pl.DataFrame:
    """Return lines whose optional columns alone are invalid, without these."""
    bad = lines.select(
        wrong.alias(name) for name, wrong in _misfits() if name in OPTIONAL
    ).to_dict()
    nothing = pl.lit(None, pl.String)
    return lines.with_columns(
        *(pl.when(~wrong).then(name).alias(name) for name, wrong in bad.items()),
        problem=nothing,
        code=nothing,
        remarks=remarks(*((wrong, unreadable(_titled(name))) for name, wrong in bad.items())),
    )


def _checked(texts: pl.DataFrame, numbers: list[int]) -> pl.DataFrame:
    """Return ``COLUMNS`` of some lines, their numbers, and the first column that does not fit."""
    named = texts.select(
        pl.col(f"column_{column.place}").alias(name) for name, column in COLUMNS.items()
    )
    number = pl.Series(numbers, dtype=pl.Int64)
    return named.with_columns(number=number, remarks=pl.lit(None, pl.List(pl.String)), **_CHECKS)


def realigned(line: str) -> list[str] | None:
    """Return the columns of a line in which some text contains the separator, up to the last used.

    A job number is printed without a sign or leading zeros. If several remain, the one behind which
    the account is the default (`sge`) counts. None where this is ambiguous, or no text explains the
    line.
    """
    pieces = line.split(SEPARATOR)
    if not FEWEST <= len(pieces) <= _MOST_PIECES:
        return None
    number = [_NUMBER.fullmatch(piece) is not None for piece in pieces]
    whole = [_WHOLE.fullmatch(piece) is not None for piece in pieces]
    # the 24 numbers of usage are followed by three texts, two whole numbers and three numbers
    found = [
        (job, usage)
        for usage in range(_NAME + 3, len(pieces) - _NUMBERS - _FOLLOWED_BY)
        if all(number[usage : (behind := usage + _NUMBERS)])
        and all(whole[behind + 3 : behind + 5])
        and all(number[behind + 5 : behind + 8])
        for job in range(_NAME + 1, usage - 1)
        if _JOB_NUMBER.fullmatch(pieces[job])
    ]
    if len(found) > 1:
        found = [(job, usage) for job, usage in found if pieces[job + 1 : usage] == [_NO_ACCOUNT]]
    if len(found) != 1:
        return None
    ((job, usage),) = found
    names = SEPARATOR.join(pieces[_NAME:job]), SEPARATOR.join(pieces[job + 1 : usage])
    category = usage + _NUMBERS + _FOLLOWED_BY
    for end in range(category + 1, len(pieces) - 2):
        if number[end] and TASK.fullmatch(pieces[end + 1]) and number[end + 2]:
            requests = SEPARATOR.join(pieces[category:end])
            before = [*pieces[:_NAME], names[0], pieces[job], names[1], *pieces[usage:category]]
            return [*before, requests, *pieces[end : end + 5]]
    return None


def typed(lines: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Convert lines; return columns of ``REFUSED`` and ``RECORDS``, and the number of other lines.

    Other lines describe a part of a job, or an event: those of tasks (`pe_taskid` names one), lines
    without any time (the job was rescheduled because its host was lost), and intermediate ones
    (exit status −1).
    """
    whole = [name for name, column in COLUMNS.items() if column.holds is _WHOLE]
    part = (
        (pl.col("pe_taskid") != "NONE")
        | pl.col("exit_status").is_in(_STILL_RUNNING)
        | (pl.max_horizontal(TIMES) == 0)
    )
    every = lines.with_columns(pl.col(whole).cast(pl.Int64))
    lines = every.filter(~part)
    took = pl.col("ru_wallclock").cast(pl.Float64, strict=False)
    spent = pl.when((took > 0) & (took < LATEST)).then(took.ceil()).cast(pl.Int64)
    requests = by_distinct(lines["category"].fill_null(""), _requests)
    number, start, end = pl.col("job_number"), pl.col("start_time"), pl.col("end_time")
    submitted = pl.max_horizontal("end_time", "submission_time")
    left = pl.when(start.is_null()).then(submitted)
    faults = [
        *beyond_range({name: _titled(name) for name in TIMES}),
        (end.is_null(), RefusalCode.VALUE, _ENDLESS),
        ends_early("columns start_time, end_time"),
    ]
    frame = (
        lines.lazy()
        .with_columns(
            *(_seconds_of(name).alias(name) for name in TIMES),
            *requests,
            slots=positive("slots"),
            task=positive("task_number"),
        )
        .with_columns(end_time=left.otherwise(pl.coalesce("end_time", start + spent)))
        .with_columns(state=_state(), **faulted(faults))
    )
    on_one = (pl.col("granted_pe") == "NONE") | (pl.col("slots") == 1)
    records = frame.select(
        *("number", "problem", "code", "job_number", "group", "state", "gpus", "walltime_s"),
        *("start_time", "end_time", "remarks"),
        job_id=pl.coalesce(pl.format("{}.{}", number, "task"), number.cast(pl.String)),
        array_task="task",
        kind=pl.lit(RecordKind.RUN),
        user="owner",
        account=pl.coalesce(_named("project", "NONE"), _named("account", _NO_ACCOUNT, "UNKNOWN")),
        partition=_named("qname", "UNKNOWN"),
        reservation=positive("arid").cast(pl.String),
        submit_time="submission_time",
        occupancy_s=end - start,
        cpus="slots",
        nodes=pl.when(on_one).then(pl.lit(1, pl.Int64)),
        node_list=pl.when(on_one & start.is_not_null()).then(single_node(pl.col("hostname"))),
        mem_bytes=pl.col("slot_bytes") * pl.col("slots"),
    )
    return records.collect(), every.height - lines.height


def _seconds_of(name: str) -> pl.Expr:
    """Return a time in seconds, null for 0."""
    time = pl.col(name)
    return (
        pl.when(time >= MICROSECONDS)
        .then(time // 1_000_000)
        .when(time >= MILLISECONDS)
        .then(time // 1_000)
        .otherwise(positive(name))
    )


def _state() -> pl.Expr:
    """Return the state in Slurm's words.

    A killed job counts as failed, because the log does not record who killed it.
    """
    failed, start = pl.col("failed"), pl.col("start_time")
    ran_out = (failed == AFTER_JOB) & (pl.col("end_time") - start >= pl.col("walltime_s"))
    good = (failed == 0) & (pl.col("exit_status") == 0) & start.is_not_null()
    return case(
        (failed.is_in([MIGRATING, RESCHEDULED]), "REQUEUED"),
        ((failed == LIMIT_ENFORCED) | ran_out, "TIMEOUT"),
        (good, JobState.COMPLETED),
        otherwise=JobState.FAILED,
    )


def _named(column: str, *nothing: str) -> pl.Expr:
    return pl.when(~pl.col(column).is_in(nothing)).then(column)


class ResourceRequest(NamedTuple):
    """The requests of a job that are read."""

    walltime_s: int | None
    slot_bytes: int | None  # memory per slot
    gpus: int  # per job


def _requests(categories: pl.Series) -> pl.DataFrame:
    return table(map(request, categories), ResourceRequest._fields)


def request(category: str) -> ResourceRequest:
    """Read one category; malformed requests are skipped."""
    items = dict(
        item.partition("=")[::2] for part in _HARD.findall(category) for item in part.split(",")
    )

    def first(names: tuple[str, ...]) -> str:
        return next((items[name] for name in names if name in items), "")

    gpus = _bytes(first(GPUS))
    few = gpus is not None and gpus < 1 << 20
    limits = [limit for name in WALLTIME if (limit := _seconds(items.get(name, ""))) is not None]
    walltime_s = min(limits, default=None)
    return ResourceRequest(walltime_s, _bytes(first(MEMORY)), gpus if gpus and few else 0)


def _seconds(text: str) -> int | None:
    if not (found := _DURATION.fullmatch(text)):
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    length = hours * 3_600 + minutes * 60 + seconds
    return length if 0 < length <= LATEST else None


def _bytes(text: str) -> int | None:
    """Return a number with a unit: lower-case units are powers of 1,000, upper-case of 1,024."""
    if not (found := _AMOUNT.fullmatch(text)):
        return None
    amount = float(found[1]) * _UNITS[found[2]]
    return round(amount) if amount <= _MOST else None


_TITLE: Final = "Grid Engine's accounting file (SGE, OGS, Univa, Altair, Gridware)"
DIALECT = Dialect("gridengine", _TITLE, recognises, header, parse)
