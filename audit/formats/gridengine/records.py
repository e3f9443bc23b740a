"""Columns of Grid Engine's accounting file → typed records.

Conventions: see ``accounting``. The column `category` holds a job's requests, such as
`-l h_rt=36000,m_mem_free=1.000G,gpu=1 -pe threads 16`. Sources: complex(5), sge_types(5),
sge_status(5) and `sge_build_job_category` in the source code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.formats.instants import LATEST
from audit.formats.lines import Mask, Offsets
from audit.formats.shaping import (
    LARGEST,
    LARGEST_ID,
    SHOWN,
    beyond_range,
    by_distinct,
    case,
    ends_early,
    faulted,
    positive,
    table,
)
from audit.model import JobState, RecordKind, RefusalCode

SEPARATOR: Final = ":"
FEWEST: Final = 43
"""Columns of every version; 6.2 added the advance reservation, Univa further ones."""


class Column(NamedTuple):
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
    "qname": Column(0),
    "group": Column(2),
    "owner": Column(3),
    "job_number": Column(5, _WHOLE, "job number", _ID),
    "account": Column(6),
    "priority": Column(7, _WHOLE, "whole number"),
    "submission_time": Column(8, _WHOLE, "time", _ID),
    "start_time": Column(9, _WHOLE, "time", _ID),
    "end_time": Column(10, _WHOLE, "time", _ID),
    "failed": Column(11, _WHOLE, "code of a failure", (0, 999)),
    "exit_status": Column(12, _WHOLE, "exit status", (-1, (1 << 32) - 1)),
    "ru_wallclock": Column(13, _NUMBER, "number"),
    "project": Column(31),
    "granted_pe": Column(33),
    "slots": Column(34, _WHOLE, "number of slots", (0, LARGEST)),
    "task_number": Column(35, _WHOLE, "task number", _ID),
    "category": Column(39),
    "iow": Column(40, _NUMBER, "number"),
    "pe_taskid": Column(41, TASK, "task of a parallel job, or NONE"),
    "maxvmem": Column(42, _NUMBER, "number"),
    "arid": Column(43, _WHOLE, "number of an advance reservation", (0, 1 << 32)),
    "ar_submission_time": Column(44, _WHOLE, "time"),
}


def _holding(pattern: re.Pattern[str] | None) -> tuple[str, ...]:
    return tuple(name for name, column in COLUMNS.items() if column.holds is pattern)


TEXTS: Final = _holding(None)
WHOLE: Final = _holding(_WHOLE)
NUMBERS: Final = _holding(_NUMBER)

_NAME, _NUMBERS, _FOLLOWED_BY = 4, 24, 8
_MOST_PIECES: Final = 2_000
"""Maximum number of pieces of a line that is realigned."""


def realigned(line: str) -> list[str] | None:
    """Return the columns of a line in which some text contains the separator, up to the last used.

    None where this is ambiguous, or no text explains the line.
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
        if whole[job]
    ]
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


def misfit(line: str) -> tuple[str, RefusalCode]:
    """Return the first column of a line with invalid content, and a ``RefusalCode``."""
    pieces = line.split(SEPARATOR)
    if len(pieces) < FEWEST:
        why = f"{len(pieces)} columns, an accounting record has {FEWEST} or more"
        return why, RefusalCode.SHAPE
    for (name, (place, holds, what, limits)), text in (
        (item, pieces[item[1].place]) for item in COLUMNS.items() if item[1].place < len(pieces)
    ):
        if holds is not None and (
            not holds.fullmatch(text) or (limits and not limits[0] <= int(text) <= limits[1])
        ):
            shown = f"column {place + 1} ({name}): '{text[:SHOWN]}' is no {what}"
            return shown, RefusalCode.VALUE
    return "some text has a ':' in it: its columns cannot be told", RefusalCode.SHAPE


TIMES: Final = ("submission_time", "start_time", "end_time")
MILLISECONDS: Final = 100_000_000_000
"""Larger times are milliseconds: this is the year 5138 in seconds, and 1973 in milliseconds."""

MIGRATING, RESCHEDULED, LIMIT_ENFORCED, AFTER_JOB = 24, 25, 37, 100
"""Values of `failed` (sge_status(5))."""

_STILL_RUNNING: Final = (-1, 4_294_967_295)

MEMORY: Final = ("m_mem_free", "h_vmem", "mem_free", "virtual_free", "h_rss", "s_vmem")
"""Memory requests per slot; the first that is present counts."""
GPUS: Final = ("gpu", "gpus", "ngpus", "ngpu", "num_gpus", "cuda")
"""Sites' names for GPUs (Grid Engine defines none), requested per job."""
WALLTIME: Final = ("h_rt", "s_rt")

_HARD: Final = re.compile(r"(?<!-soft )(?:(?<= )|^)-l ([^ ]+)")
_DURATION: Final = re.compile(r"(?:([0-9]{0,9}):([0-9]{0,9}):)?([0-9]{1,12})(?:\.[0-9]+)?")
_AMOUNT: Final = re.compile(r"([0-9]{1,18}(?:\.[0-9]*)?|\.[0-9]+)([kKmMgGtT]?)")
_UNITS: Final = {
    "": 1,
    **{unit: 1_000**n for n, unit in enumerate("kmgt", 1)},
    **{unit: 1_024**n for n, unit in enumerate("KMGT", 1)},
}
_MOST: Final = 1 << 50
"""Requests of more bytes are no limit (`INFINITY`, or the largest integer)."""


def is_no_attempt(values: Mapping[str, Offsets], of_task: Mask) -> Mask:
    """Return which lines describe a part of a job, or an event.

    These are the lines of tasks (``of_task``: `pe_taskid` names one), lines without any time (the
    job was rescheduled because its host was lost), and intermediate ones (exit status −1).
    """
    running = np.isin(values["exit_status"], _STILL_RUNNING)
    timeless: Mask = np.max([values[name] for name in TIMES], axis=0) == 0
    return of_task | running | timeless


def typed(lines: pl.DataFrame) -> pl.DataFrame:
    """Convert the lines of attempts; return columns of ``REFUSED`` and ``RECORDS``.

    ``lines`` holds ``number``, the texts and whole numbers of ``COLUMNS``, and ``spent``, the whole
    seconds of ru_wallclock.
    """
    requests = by_distinct(lines["category"].fill_null(""), _requests)
    number, start, end = pl.col("job_number"), pl.col("start_time"), pl.col("end_time")
    submitted = pl.max_horizontal("end_time", "submission_time")
    left = pl.when(start.is_null()).then(submitted)
    seconds = (
        pl.when(pl.col(name) >= MILLISECONDS).then(pl.col(name) // 1_000).otherwise(positive(name))
        for name in TIMES
    )
    labels = {name: f"column {COLUMNS[name].place + 1} ({name})" for name in TIMES}
    endless = "column 11 (end_time): 0, and ru_wallclock too: when it ended is unknown"
    faults = [
        *beyond_range(labels),
        (end.is_null(), RefusalCode.VALUE, endless),
        ends_early("columns start_time, end_time"),
    ]
    frame = (
        lines.lazy()
        .with_columns(
            *(value.alias(name) for value, name in zip(seconds, TIMES, strict=True)),
            *requests,
            slots=positive("slots"),
            task=positive("task_number"),
        )
        .with_columns(end_time=left.otherwise(pl.coalesce("end_time", start + pl.col("spent"))))
        .with_columns(state=_state(), **faulted(faults))
    )
    return frame.select(
        *("number", "problem", "code", "job_number", "group", "state", "gpus", "walltime_s"),
        *("start_time", "end_time"),
        job_id=pl.coalesce(pl.format("{}.{}", number, "task"), number.cast(pl.String)),
        array_task="task",
        kind=pl.lit(RecordKind.RUN),
        user="owner",
        account=pl.coalesce(_named("project", "NONE"), _named("account", "sge", "UNKNOWN")),
        partition=_named("qname", "UNKNOWN"),
        reservation=positive("arid").cast(pl.String),
        submit_time="submission_time",
        occupancy_s=end - start,
        cpus="slots",
        nodes=pl.when(pl.col("granted_pe") == "NONE").then(pl.lit(1, pl.Int64)),
        mem_bytes=pl.col("slot_bytes") * pl.col("slots"),
    ).collect()


def _state() -> pl.Expr:
    """Return Slurm's word for it; a killed job counts as failed, as the log names no killer."""
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


class Request(NamedTuple):
    """The requests of a job that are read."""

    walltime_s: int | None
    slot_bytes: int | None  # memory per slot
    gpus: int  # per job


def _requests(categories: pl.Series) -> pl.DataFrame:
    return table(map(request, categories), Request._fields)


def request(category: str) -> Request:
    """Read one category; malformed requests are skipped."""
    items = dict(
        item.partition("=")[::2] for part in _HARD.findall(category) for item in part.split(",")
    )

    def first(names: tuple[str, ...]) -> str:
        return next((items[name] for name in names if name in items), "")

    gpus = _bytes(first(GPUS))
    few = gpus is not None and gpus < 1 << 20
    return Request(_seconds(first(WALLTIME)), _bytes(first(MEMORY)), gpus if gpus and few else 0)


def _seconds(text: str) -> int | None:
    """Return the seconds of `[H:M:]S`; None where there is no limit."""
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
