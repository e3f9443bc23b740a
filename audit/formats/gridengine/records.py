"""Columns of Grid Engine's accounting file → typed records, and what is wrong with the others.

The rules are those of the docstring of ``accounting``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import polars as pl

from audit.formats.gridengine.columns import COLUMNS
from audit.formats.gridengine.requests import asked
from audit.formats.instants import LATEST
from audit.formats.lines import Offsets
from audit.formats.spans import Mask
from audit.model import JobState, RecordKind, RefusalCode

TIMES: Final = ("submission_time", "start_time", "end_time")
MILLISECONDS: Final = 100_000_000_000
"""From here on a time counts milliseconds: as seconds it would be the year 5138, and as
milliseconds the smallest is of 1973."""

MIGRATING, RESCHEDULED, LIMIT_ENFORCED, AFTER_JOB = 24, 25, 37, 100
"""Values of `failed` (sge_status(5))."""

_STILL_RUNNING: Final = (-1, 4_294_967_295)


def is_no_attempt(values: Mapping[str, Offsets], of_task: Mask) -> Mask:
    """Whether a line is of a part of a job, or says only that something happened to it.

    Tasks that a parallel job started on its nodes have lines of their own, beside that of the job;
    what was rescheduled because its host was lost has one without any time; and an intermediate one
    has the exit status −1.

    Args:
        values: the whole numbers of ``COLUMNS``.
        of_task: whether the column `pe_taskid` names a task.
    """
    running = np.isin(values["exit_status"], _STILL_RUNNING)
    timeless: Mask = np.max([values[name] for name in TIMES], axis=0) == 0
    return of_task | running | timeless


def typed(lines: pl.DataFrame) -> pl.DataFrame:
    """Converts the lines of attempts.

    Args:
        lines: ``number`` (of the line), the texts and whole numbers of ``COLUMNS``, and ``spent``,
            the whole seconds that ru_wallclock says, null where it says none.

    Returns:
        ``number``, ``problem`` and ``code`` (null where there is none) and columns of ``RECORDS``.
    """
    wanted = [asked(category or "") for category in lines["category"]]
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
            pl.Series("walltime_s", [of.walltime_s for of in wanted], dtype=pl.Int64),
            pl.Series("slot_bytes", [of.slot_bytes for of in wanted], dtype=pl.Int64),
            pl.Series("gpus", [of.gpus for of in wanted], dtype=pl.Int64),
            slots=_positive("slots"),
            task=_positive("task_number"),
        )
        .with_columns(end_time=left)
        .with_columns(problem=_problem(), code=_code(), state=_state())
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
        reservation=_positive("arid").cast(pl.String),
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


def _problem() -> pl.Expr:
    start, end = pl.col("start_time"), pl.col("end_time")
    return pl.coalesce(
        *(
            pl.when(pl.col(name) > LATEST).then(
                pl.format(f"column {COLUMNS[name].place + 1} ({name}): {{}} lies beyond 2242", name)
            )
            for name in TIMES
        ),
        pl.when(end.is_null()).then(
            pl.lit("column 11 (end_time): 0, and ru_wallclock too: when it ended is unknown")
        ),
        pl.when(end < start).then(
            pl.format("ends {} s before it starts (columns start_time, end_time)", start - end)
        ),
    )


def _code() -> pl.Expr:
    start, end = pl.col("start_time"), pl.col("end_time")
    return (
        pl.when(pl.max_horizontal(TIMES) > LATEST)
        .then(pl.lit(RefusalCode.TIME.value))
        .when(end < start)
        .then(pl.lit(RefusalCode.ORDER.value))
        .otherwise(pl.lit(RefusalCode.VALUE.value))
    )


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


def _positive(name: str) -> pl.Expr:
    return pl.when(pl.col(name) > 0).then(name)
