"""Fields of JOB_FINISH → typed records, and what is wrong with those that are none.

The rules are those of the docstring of ``acct``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np
import polars as pl

from audit.formats.instants import LATEST
from audit.formats.lines import Offsets
from audit.formats.lsf.fields import Fields, unquoted
from audit.formats.lsf.layout import Layout
from audit.formats.lsf.requirements import amounts
from audit.model import JobState, RecordKind, RefusalCode

EXITED, DONE = 0x20, 0x40
"""Bits of jStatus (lsbatch.h)."""

TERMINATED: Final = {
    1: "PREEMPTED",
    5: "TIMEOUT",
    **dict.fromkeys((8, 9, 14, 15, 23), JobState.CANCELLED.value),
    **dict.fromkeys((10, 11), "REQUEUED"),
    16: "OUT_OF_MEMORY",
}
"""Values of exitInfo that say why a job was ended (bacct, "Termination reasons"), in Slurm's words:
preempted, run limit, killed by its owner or an administrator, requeued by one, memory limit."""

TIMES: Final = ("eventTime", "submitTime", "beginTime", "startTime", "requeueTime")
_MOST_SLOTS: Final = 1 << 28


def typed(fields: Fields, layout: Layout) -> pl.DataFrame:
    """Converts records.

    Returns:
        A row for each: ``problem``, ``code`` (null where there is none), columns of ``RECORDS``.
    """
    frame = (
        _columns(fields, layout)
        .lazy()
        .with_columns(
            startTime=_positive("startTime"),
            submitTime=_positive("submitTime"),
            slots=pl.when(pl.col("slots") > 0)
            .then("slots")
            .otherwise(_positive("numProcessors").cast(pl.Int64)),
        )
    )
    start, end, submit = pl.col("startTime"), pl.col("eventTime"), pl.col("submitTime")
    ready = pl.max_horizontal(
        pl.when(pl.col("beginTime") > submit).then("beginTime"),
        _positive("requeueTime"),
        submit + pl.col("ineligible"),
    )
    code, problem = _problem()
    idx = _positive("idx")
    return frame.select(
        problem=problem,
        code=code,
        job_id=pl.when(idx.is_null())
        .then(pl.col("jobId").cast(pl.String))
        .otherwise(pl.format("{}[{}]", "jobId", "idx")),
        job_number="jobId",
        array_task=idx,
        kind=pl.lit(RecordKind.RUN.value),
        user="userName",
        account="projectName",
        group="group",
        partition="queue",
        qos="sla",
        state=_state(),
        reservation=pl.coalesce("rsvId", "longRsvId"),
        submit_time=submit,
        eligible_time=ready,
        start_time=start,
        end_time=end,
        occupancy_s=end - start,
        suspended_s=pl.when(pl.col("runTime") > 0).then((end - start - pl.col("runTime")).clip(0)),
        walltime_s=pl.when(pl.col("runLimit").is_between(1, LATEST)).then("runLimit"),
        cpus="slots",
        nodes="nodes",
        gpus="gpus",
        mem_bytes="mem_bytes",
    ).collect()


def _columns(fields: Fields, layout: Layout) -> pl.DataFrame:
    """The fields that are used, as they are."""
    whole = {name: read.values for name, read in layout.head.items()}
    for name in ("jStatus", "idx"):
        whole[name] = fields.numbers(layout.place(name)).values
    whole["requeueTime"] = fields.numbers(layout.requeued).values
    known = {
        "runLimit": fields.numbers(layout.place("runLimit")),
        "runTime": fields.numbers(layout.place("runTime")),
        "ineligible": fields.numbers(layout.ineligible),
        "exitInfo": fields.numbers(layout.place("exitInfo")),
    }
    texts = {
        name: fields.texts(layout.place(name))
        for name in ("userName", "queue", "projectName", "sla", "rsvId", "longRsvId")
    }
    charged = fields.texts(layout.place("chargedSAAP"))
    listed = fields.stretch(layout.slots, layout.slot_count)
    if not all(listed):
        hosts = fields.stretch(layout.hosts, layout.host_count)
        listed = [slots or host for slots, host in zip(listed, hosts, strict=True)]
    given = [allocation(hosts) for hosts in listed]
    required = fields.texts(layout.place("effectiveResReq"))
    processors = np.maximum(whole["numProcessors"], 1).tolist()
    asked_for = [
        (None, None) if text is None else amounts(text, nodes or 1, slots or processors[row])
        for row, (text, (slots, nodes)) in enumerate(zip(required, given, strict=True))
    ]
    return pl.DataFrame(
        {
            **whole,
            **{
                name: pl.Series(np.where(good & (values >= 0), values, -1)).replace(-1, None)
                for name, (values, good) in known.items()
            },
            **{name: pl.Series(column, dtype=pl.String) for name, column in texts.items()},
            "group": pl.Series(
                [
                    group_of(path, user)
                    for path, user in zip(charged, texts["userName"], strict=True)
                ],
                dtype=pl.String,
            ),
            "slots": pl.Series([slots for slots, _ in given], dtype=pl.Int64),
            "nodes": pl.Series([nodes or None for _, nodes in given], dtype=pl.Int64),
            "mem_bytes": pl.Series([memory for memory, _ in asked_for], dtype=pl.Int64),
            "gpus": pl.Series([gpus for _, gpus in asked_for], dtype=pl.Int64),
            "misfit": pl.Series(layout.problem, dtype=pl.String),
        }
    )


@lru_cache(maxsize=1 << 14)
def allocation(hosts: bytes) -> tuple[int, int]:
    """Slots and nodes of a list of hosts, each named once for each slot, or as `16*hostA`."""
    slots, names = 0, set()
    for host in hosts.split(b" "):
        times, mark, name = unquoted(host).partition("*")
        if not mark:
            times, name = "1", times
        if name:
            slots += int(times) if times.isdecimal() and len(times) < 10 else 1
            names.add(name)
    return min(slots, _MOST_SLOTS), len(names)


@lru_cache(maxsize=1 << 14)
def group_of(charged: str | None, user: str | None) -> str | None:
    """The fairshare group within the account that was charged, such as `/eng/ana`."""
    steps = [step for step in (charged or "").split("/") if step]
    if steps and steps[-1] == user:
        steps.pop()
    return "/".join(steps) or None


def _state() -> pl.Expr:
    """In Slurm's words."""
    status, start = pl.col("jStatus"), pl.col("startTime")
    reason = pl.col("exitInfo").replace_strict(TERMINATED, default=None, return_dtype=pl.String)
    return (
        pl.when((status.cast(pl.UInt64, strict=False).fill_null(0) & DONE) > 0)
        .then(pl.lit(JobState.COMPLETED.value))
        .when(reason.is_not_null())
        .then(reason)
        .when(start.is_null())
        .then(pl.lit(JobState.CANCELLED.value))
        .otherwise(pl.lit(JobState.FAILED.value))
    )


def _problem() -> tuple[pl.Expr, pl.Expr]:
    """What is wrong with a record, as ``RefusalCode`` and in words."""
    start, end = pl.col("startTime"), pl.col("eventTime")
    status = pl.col("jStatus").cast(pl.UInt64, strict=False).fill_null(0)
    cases = (
        (pl.col("misfit").is_not_null(), RefusalCode.SHAPE, pl.col("misfit")),
        *(
            (
                pl.col(name) > LATEST,
                RefusalCode.TIME,
                pl.format(f"{name}: {{}} lies beyond 2242", name),
            )
            for name in TIMES
        ),
        (
            (status & (EXITED | DONE)) == 0,
            RefusalCode.VALUE,
            pl.format("jStatus: {} is neither EXIT (32) nor DONE (64)", "jStatus"),
        ),
        (
            end < start,
            RefusalCode.ORDER,
            pl.format("ends {} s before it starts (startTime, event time)", start - end),
        ),
        (
            (end < pl.col("submitTime")) & start.is_null(),
            RefusalCode.ORDER,
            pl.format(
                "left the queue {} s before it was submitted (submitTime, event time)",
                pl.col("submitTime") - end,
            ),
        ),
    )
    code = pl.coalesce(*(pl.when(bad).then(pl.lit(code.value)) for bad, code, _ in cases))
    return code, pl.coalesce(*(pl.when(bad).then(why) for bad, _, why in cases))


def _positive(name: str) -> pl.Expr:
    return pl.when(pl.col(name) > 0).then(name)


def lines_of(numbers: Offsets, problems: list[tuple[str, RefusalCode]]) -> pl.DataFrame:
    """Rows for records that cannot be read as such."""
    schema = {"number": pl.Int64, "problem": pl.String, "code": pl.String}
    rows = [(int(n), why, code.value) for n, (why, code) in zip(numbers, problems, strict=True)]
    return pl.DataFrame(rows, schema, orient="row")
