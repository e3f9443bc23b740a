"""Columns of Grid Engine's accounting file → typed records, and what is wrong with the others.

The rules are those of the docstring of ``accounting``. What a job asked for stands in the column
`category`, such as `-l h_rt=36000,m_mem_free=1.000G,gpu=1 -pe threads 16`. Sources: complex(5),
sge_types(5), sge_status(5) and `sge_build_job_category` of the sources.
"""

from __future__ import annotations

import math
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
    Fault,
    by_distinct,
    faulted,
    positive,
    table,
)
from audit.model import JobState, RecordKind, RefusalCode

SEPARATOR: Final = ":"
FEWEST: Final = 43
"""Columns that every version writes; 6.2 added the advance reservation, Univa's further ones."""


class Column(NamedTuple):
    """One that is read, or tells whether the others stand where they should."""

    place: int  # from 0
    holds: re.Pattern[str] | None = None  # None: any text
    what: str = ""  # what holds it is called


_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")
_NUMBER: Final = re.compile(r"[-+.0-9eE]+")
_TASK: Final = re.compile(r"[^ ,=]*[^-+.0-9eE ,=][^ ,=]*")

COLUMNS: Final = {
    "qname": Column(0),
    "group": Column(2),
    "owner": Column(3),
    "job_number": Column(5, _WHOLE, "job number"),
    "account": Column(6),
    "priority": Column(7, _WHOLE, "whole number"),
    "submission_time": Column(8, _WHOLE, "time"),
    "start_time": Column(9, _WHOLE, "time"),
    "end_time": Column(10, _WHOLE, "time"),
    "failed": Column(11, _WHOLE, "code of a failure"),
    "exit_status": Column(12, _WHOLE, "exit status"),
    "ru_wallclock": Column(13, _NUMBER, "number"),
    "project": Column(31),
    "granted_pe": Column(33),
    "slots": Column(34, _WHOLE, "number of slots"),
    "task_number": Column(35, _WHOLE, "task number"),
    "category": Column(39),
    "iow": Column(40, _NUMBER, "number"),
    "pe_taskid": Column(41, _TASK, "task of a parallel job, or NONE"),
    "maxvmem": Column(42, _NUMBER, "number"),
    "arid": Column(43, _WHOLE, "number of an advance reservation"),
    "ar_submission_time": Column(44, _WHOLE, "time"),
}

RANGES: Final = {
    # what no number of these columns is below or above, in any version
    "job_number": (0, LARGEST_ID),
    "submission_time": (0, LARGEST_ID),
    "start_time": (0, LARGEST_ID),
    "end_time": (0, LARGEST_ID),
    "failed": (0, 999),
    "exit_status": (-1, (1 << 32) - 1),
    "slots": (0, LARGEST),
    "task_number": (0, LARGEST_ID),
    "arid": (0, 1 << 32),
}

TEXTS: Final = tuple(name for name, column in COLUMNS.items() if column.holds is None)
WHOLE: Final = tuple(name for name, column in COLUMNS.items() if column.holds is _WHOLE)
NUMBERS: Final = tuple(name for name, column in COLUMNS.items() if column.holds is _NUMBER)

_NAME, _NUMBERS, _FOLLOWED_BY = 4, 24, 8
_MOST_PIECES: Final = 2_000
"""Pieces of a line beyond which nobody looks for its columns."""


def realigned(line: str) -> list[str] | None:
    """The columns of a line in which some text has the separator in it, up to the last that counts.

    None where it cannot be told which text it is, or no text explains what stands there.
    """
    pieces = line.split(SEPARATOR)
    if not FEWEST <= len(pieces) <= _MOST_PIECES:
        return None
    numbers = [_NUMBER.fullmatch(piece) is not None for piece in pieces]
    found = [
        (job, usage)
        for usage in _usages(pieces, numbers)
        for job in range(_NAME + 1, usage - 1)
        if _WHOLE.fullmatch(pieces[job])
    ]
    if len(found) != 1:
        return None
    ((job, usage),) = found
    before = [
        *pieces[:_NAME],
        SEPARATOR.join(pieces[_NAME:job]),
        pieces[job],
        SEPARATOR.join(pieces[job + 1 : usage]),
    ]
    category = usage + _NUMBERS + _FOLLOWED_BY
    for end in range(category + 1, len(pieces) - 2):
        if numbers[end] and _TASK.fullmatch(pieces[end + 1]) and numbers[end + 2]:
            requests = SEPARATOR.join(pieces[category:end])
            return [*before, *pieces[usage:category], requests, *pieces[end : end + 5]]
    return None


def is_task(text: str) -> bool:
    """Whether the column `pe_taskid` may hold it."""
    return _TASK.fullmatch(text) is not None


def misfit(line: str) -> tuple[str, RefusalCode]:
    """What the first column of a line is that holds what it cannot, and a ``RefusalCode``."""
    pieces = line.split(SEPARATOR)
    if len(pieces) < FEWEST:
        why = f"{len(pieces)} columns, an accounting record has {FEWEST} or more"
        return why, RefusalCode.SHAPE
    for name, (place, holds, what) in COLUMNS.items():
        if holds is not None and place < len(pieces):
            text = pieces[place]
            least, most = RANGES.get(name, (-math.inf, math.inf))
            if not holds.fullmatch(text) or (holds is _WHOLE and not least <= int(text) <= most):
                shown = f"column {place + 1} ({name}): '{text[:SHOWN]}' is no {what}"
                return shown, RefusalCode.VALUE
    return "some text has a ':' in it: its columns cannot be told", RefusalCode.SHAPE


def _usages(pieces: list[str], numbers: list[bool]) -> list[int]:
    """Where the 24 numbers may begin: behind them three texts, two whole numbers, three numbers."""
    places = []
    for place in range(_NAME + 3, len(pieces) - _NUMBERS - _FOLLOWED_BY):
        behind = place + _NUMBERS
        if (
            all(numbers[place:behind])
            and all(_WHOLE.fullmatch(piece) for piece in pieces[behind + 3 : behind + 5])
            and all(numbers[behind + 5 : behind + 8])
        ):
            places.append(place)
    return places


TIMES: Final = ("submission_time", "start_time", "end_time")
MILLISECONDS: Final = 100_000_000_000
"""From here on a time counts milliseconds: as seconds it would be the year 5138, and as
milliseconds the smallest is of 1973."""

MIGRATING, RESCHEDULED, LIMIT_ENFORCED, AFTER_JOB = 24, 25, 37, 100
"""Values of `failed` (sge_status(5))."""

_STILL_RUNNING: Final = (-1, 4_294_967_295)

MEMORY: Final = ("m_mem_free", "h_vmem", "mem_free", "virtual_free", "h_rss", "s_vmem")
"""Requests for memory, each for one slot; the first that is there counts."""
GPUS: Final = ("gpu", "gpus", "ngpus", "ngpu", "num_gpus", "cuda")
"""What sites call GPUs, none of which Grid Engine defines; asked for by the whole job."""
WALLTIME: Final = ("h_rt", "s_rt")

_HARD: Final = re.compile(r"(?<!-soft )(?:(?<= )|^)-l ([^ ]+)")
_DURATION: Final = re.compile(r"(?:([0-9]{0,9}):([0-9]{0,9}):)?([0-9]{1,12})(?:\.[0-9]+)?")
_AMOUNT: Final = re.compile(r"([0-9]{1,18}(?:\.[0-9]*)?|\.[0-9]+)([kKmMgGtT]?)")
_UNITS: Final = {"": 1, **{unit: 1_000**n for n, unit in enumerate("kmgt", 1)}}
_UNITS.update({unit: 1_024**n for n, unit in enumerate("KMGT", 1)})
_MOST: Final = 1 << 50
"""Bytes beyond which a request is no limit (`INFINITY`, or the largest number there is)."""


def is_no_attempt(values: Mapping[str, Offsets], of_task: Mask) -> Mask:
    """Whether a line is of a part of a job, or says only that something happened to it.

    A task that a parallel job started on a node has a line of its own. A job that was rescheduled
    because its host was lost has one without any time, and an intermediate one has the exit status
    −1. ``of_task`` says whether `pe_taskid` names a task.
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
    start, end = pl.col("start_time"), pl.col("end_time")
    left = (
        # What never started has no end either, mostly: nothing says when it left the queue.
        pl.when(start.is_null())
        .then(pl.max_horizontal("end_time", "submission_time"))
        .otherwise(pl.coalesce("end_time", start + pl.col("spent")))
    )
    frame = (
        lines.lazy()
        .with_columns(
            *(_instant(name) for name in TIMES),
            *requests,
            slots=positive("slots"),
            task=positive("task_number"),
        )
        .with_columns(end_time=left)
        .with_columns(state=_state(), **faulted(_faults()))
    )
    number = pl.col("job_number")
    return frame.select(
        *("number", "problem", "code", "job_number", "group", "state", "gpus", "walltime_s"),
        *("start_time", "end_time"),
        job_id=pl.when(pl.col("task").is_null())
        .then(number.cast(pl.String))
        .otherwise(pl.format("{}.{}", number, "task")),
        array_task="task",
        kind=pl.lit(RecordKind.RUN.value),
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


def _instant(name: str) -> pl.Expr:
    """A time in seconds; null where it is 0."""
    value = pl.col(name)
    return (
        pl.when(value >= MILLISECONDS).then(value // 1_000).when(value > 0).then(value).alias(name)
    )


def _faults() -> list[Fault]:
    start, end = pl.col("start_time"), pl.col("end_time")
    beyond = [
        (
            pl.col(name) > LATEST,
            RefusalCode.TIME,
            pl.format(f"column {COLUMNS[name].place + 1} ({name}): {{}} lies beyond 2242", name),
        )
        for name in TIMES
    ]
    return [
        *beyond,
        (
            end.is_null(),
            RefusalCode.VALUE,
            "column 11 (end_time): 0, and ru_wallclock too: when it ended is unknown",
        ),
        (
            end < start,
            RefusalCode.ORDER,
            pl.format("ends {} s before it starts (columns start_time, end_time)", start - end),
        ),
    ]


def _state() -> pl.Expr:
    """In Slurm's words. Who killed a job, the file does not say: that is a failure."""
    failed, start = pl.col("failed"), pl.col("start_time")
    ran_out = (failed == AFTER_JOB) & (pl.col("end_time") - start >= pl.col("walltime_s"))
    good = (failed == 0) & (pl.col("exit_status") == 0) & start.is_not_null()
    return (
        pl.when(failed.is_in([MIGRATING, RESCHEDULED]))
        .then(pl.lit("REQUEUED"))
        .when((failed == LIMIT_ENFORCED) | ran_out)
        .then(pl.lit("TIMEOUT"))
        .when(good)
        .then(pl.lit(JobState.COMPLETED.value))
        .otherwise(pl.lit(JobState.FAILED.value))
    )


def _named(column: str, *nothing: str) -> pl.Expr:
    return pl.when(~pl.col(column).is_in(nothing)).then(column)


class Request(NamedTuple):
    """What is known of a request."""

    walltime_s: int | None
    slot_bytes: int | None  # memory for each slot
    gpus: int  # for the whole job


def _requests(categories: pl.Series) -> pl.DataFrame:
    return table(map(request, categories), Request._fields)


def request(category: str) -> Request:
    """Reads one category. What is not written as it should be counts as not asked for."""
    items = {
        name: value
        for part in _HARD.findall(category)
        for name, _, value in (item.partition("=") for item in part.split(","))
    }
    walltime = next((_seconds(items[name]) for name in WALLTIME if name in items), None)
    memory = next((_bytes(items[name]) for name in MEMORY if name in items), None)
    gpus = next((_bytes(items[name]) for name in GPUS if name in items), None)
    return Request(walltime, memory, gpus if gpus is not None and gpus < 1 << 20 else 0)


def _seconds(text: str) -> int | None:
    """Seconds, or hours, minutes and seconds; None where there is no limit."""
    if not (found := _DURATION.fullmatch(text)):
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    length = hours * 3_600 + minutes * 60 + seconds
    return length if 0 < length <= LATEST else None


def _bytes(text: str) -> int | None:
    """A number with a unit: small letters count in thousands, large ones in 1,024."""
    if not (found := _AMOUNT.fullmatch(text)):
        return None
    amount = float(found[1]) * _UNITS[found[2]]
    return round(amount) if amount <= _MOST else None
