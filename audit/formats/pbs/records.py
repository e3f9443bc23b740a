"""Keys of PBS's records → typed columns, and what is wrong with those that are none.

The rules are those of the module docstring of ``reader``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import polars as pl

from audit.formats.instants import LATEST
from audit.formats.pbs import fields
from audit.formats.pbs.fields import AMOUNTS, Amounts
from audit.model import JobState, RecordKind, RefusalCode

KEYS: Final = (
    *("user", "group", "account", "project", "queue", "resvname", "resvID"),
    *("ctime", "qtime", "etime", "start", "end", "Exit_status", "run_count"),
    *("exec_host", "exec_vnode", "exec_gpus", "total_execution_slots", "unique_node_count"),
    *("Resource_List.walltime", "Resource_List.ncpus", "Resource_List.procs"),
    *("Resource_List.nodect", "Resource_List.nodes", "Resource_List.select"),
    *("Resource_List.mem", "Resource_List.pmem", "Resource_List.ngpus", "Resource_List.gpus"),
    *("Resource_List.gpu", "Resource_List.qos", "Resource_List.advres"),
    *("resource_assigned.ncpus", "resource_assigned.ngpus", "resource_assigned.mem"),
    *("resources_assigned.ncpus", "resources_assigned.ngpus", "resources_assigned.mem"),
)
"""The keys that are read."""

_TIMES: Final = ("ctime", "qtime", "etime", "start", "end")
_TEN: Final = 10
"""Digits of epoch seconds from 2001 on."""
_WALLTIME: Final = "Resource_List.walltime"
_NO_PROJECT: Final = "_pbs_project_default"
_SHOWN: Final = 40
"""Characters of a value that a refusal shows."""

SIGNAL: Final = 256
"""Exit statuses from here on are a signal that killed the job, and this."""
_DELETED_BY: Final = (SIGNAL + 2, SIGNAL + 9, SIGNAL + 15)
_OVER_WALLTIME: Final = -29
_OVER_MEMORY: Final = (-26, -27)
_TORQUE_OVER: Final = {-11: "TIMEOUT", -10: "OUT_OF_MEMORY"}
"""What TORQUE says; PBS Professional, which counts runs, means something else by it."""


def identified(ids: pl.Expr) -> dict[str, pl.Expr]:
    """Job ids → number and array task, null where it is no job's.

    `123.server`, `123[5].server`, `123-5.server` (TORQUE before 2.5), and `123[].server`, an array
    as a whole; the server may be left out.
    """
    parts = ids.str.extract_groups(r"^([0-9]{1,18})(?:\[([^\]]*)\]|-([0-9]{1,18}))?(?:\..*)?$")
    task = pl.coalesce(parts.struct.field("2"), parts.struct.field("3"))
    return {
        "job_number": parts.struct.field("1").cast(pl.Int64),
        "array_task": task.cast(pl.Int64, strict=False),
    }


def typed(texts: pl.DataFrame) -> pl.DataFrame:
    """Converts what records say of a job.

    Args:
        texts: ``KEYS``, ``number`` (of the line), ``id``, ``kind`` (``QUEUED`` or ``RUN``),
            ``ends`` (whether of a run's end), ``rerun`` (so that its job waits again), and
            ``instant`` (epoch seconds of the head where they matter, or ``why`` there are none).

    Returns:
        ``number``, ``problem`` and ``code`` (null where nothing is wrong), and the columns of
        ``RECORDS``.
    """
    numbers = texts.select(
        *(_times(texts[name]) for name in _TIMES),
        *(_whole(pl.col(name)).alias(name) for name in _COUNTS),
        walltime_s=fields.durations(pl.col(_WALLTIME)),
        status=pl.col("Exit_status").cast(pl.Int64, strict=False),
        **identified(pl.col("id")),
    )
    frame = texts.drop(*_TIMES, *_COUNTS).hstack(numbers)
    frame = frame.with_columns(**_amounts(texts, frame), problem=_unread(texts, numbers))
    queued = pl.col("kind") == RecordKind.QUEUED
    ends, end = pl.col("ends"), pl.col("end")
    return frame.select(
        *("number", "kind", "job_number", "array_task", "user", "group", "walltime_s", *AMOUNTS),
        job_id="id",
        account=pl.coalesce("account", pl.col("project").replace(_NO_PROJECT, None)),
        partition="queue",
        qos="Resource_List.qos",
        reservation=pl.coalesce("resvname", "resvID", "Resource_List.advres"),
        state=pl.when(queued)
        .then(pl.lit(JobState.PENDING.value))
        .when(~ends)
        .then(pl.lit(JobState.RUNNING.value))
        .otherwise(_state()),
        submit_time=_submit(),
        eligible_time="etime",
        start_time=pl.when(~queued).then("start"),
        end_time=pl.when(ends).then(end),
        occupancy_s=pl.when(ends).then(end - pl.col("start")),
        problem=_problem(),
        code=pl.when((end < pl.col("start")) & pl.col("problem").is_null())
        .then(pl.lit(RefusalCode.ORDER.value))
        .otherwise(pl.lit(RefusalCode.VALUE.value)),
    )


def _submit() -> pl.Expr:
    queued = pl.col("kind") == RecordKind.QUEUED
    return pl.coalesce("ctime", "qtime", "etime", pl.when(queued).then("instant"))


def _problem() -> pl.Expr:
    """What is wrong with a record, if not a field by itself."""
    queued, ends = pl.col("kind") == RecordKind.QUEUED, pl.col("ends")
    start, end = pl.col("start"), pl.col("end")
    return pl.coalesce(
        "problem",
        pl.when(pl.col("job_number").is_null()).then(_shown("id", "is no job id")),
        pl.when(queued & _submit().is_null()).then(_shown("time", pl.col("why"))),
        pl.when(~queued & ~ends & start.is_null()).then(pl.lit("field start is missing")),
        pl.when(ends & end.is_null()).then(pl.lit("field end is missing")),
        pl.when(ends & (end < start)).then(
            pl.format("ends {} s before it starts (fields start, end)", start - end)
        ),
    )


def _state() -> pl.Expr:
    """What an exit status says; null where there is none."""
    status = pl.col("status")
    torque = pl.col("run_count").is_null()
    over = (pl.col("end") - pl.col("start") >= pl.col("walltime_s")).fill_null(value=False)
    return (
        pl.when("rerun")
        .then(pl.lit(REQUEUED))
        .when(status == 0)
        .then(pl.lit(JobState.COMPLETED.value))
        .when((status == _OVER_WALLTIME) | (over & (status >= SIGNAL)))
        .then(pl.lit("TIMEOUT"))
        .when(status.is_in(_OVER_MEMORY))
        .then(pl.lit("OUT_OF_MEMORY"))
        .when(torque & status.is_in(list(_TORQUE_OVER)))
        .then(status.replace_strict(_TORQUE_OVER, default=None, return_dtype=pl.String))
        .when(status.is_in(_DELETED_BY) | pl.col("start").is_null())
        .then(pl.lit(JobState.CANCELLED.value))
        .when(status.is_not_null())
        .then(pl.lit(JobState.FAILED.value))
    )


REQUEUED: Final = "REQUEUED"
"""State of a run that ended so that its job waits again."""


def _times(text: pl.Series) -> pl.Series:
    """Epoch seconds; 0 says that it has not come to that."""
    lengths = text.str.len_bytes()
    if lengths.min() == lengths.max() == _TEN:
        plain = text.cast(pl.Int64, strict=False)
        if plain.null_count() == text.null_count() and plain.ge(10 ** (_TEN - 1)).all():
            return plain  # nothing but ten digits, as nearly always
    values = text.str.extract(r"^([0-9]{1,18})(?:\.[0-9]*)?$").cast(pl.Int64)
    return values.set(values == 0, None)


def _whole(text: pl.Expr) -> pl.Expr:
    """A count that can be; others are null."""
    value = text.str.extract(r"^([0-9]{1,9})$").cast(pl.Int64)
    return pl.when(value <= fields.LARGEST).then(value)


def _unread(texts: pl.DataFrame, numbers: pl.DataFrame) -> pl.Series:
    """What is wrong with the first field that cannot be read, by record."""
    nothing = pl.Series([None], dtype=pl.String).new_from_index(0, len(texts))
    read = {**{name: name for name in _TIMES}, _WALLTIME: "walltime_s"}
    doubtful = [
        name
        for name, column in read.items()
        if numbers[column].null_count() > texts[name].null_count()
        or (numbers[column].max() or 0) > LATEST  # type: ignore[operator]
    ]
    if not doubtful:
        return nothing
    checks = []
    for name in doubtful:
        text, value = pl.col(name), pl.lit(numbers[read[name]])
        none = text.str.contains(r"^(?:0+|-1)$") | fields.says_no_limit(text)
        checks += [
            pl.when(value.is_null() & ~none).then(
                _shown(name, "is no length of time" if name == _WALLTIME else "is no time in s")
            ),
            pl.when(value > LATEST).then(_shown(name, "is too large: damaged, or not in s")),
        ]
    return texts.select(problem=pl.coalesce(*checks))["problem"]


def _shown(name: str, what: str | pl.Expr) -> pl.Expr:
    value = pl.col(name).str.slice(0, _SHOWN)
    said = pl.lit(what) if isinstance(what, str) else what
    return pl.format("field {}: '{}' {}", pl.lit(name), value, said)


def _amounts(texts: pl.DataFrame, numbers: pl.DataFrame) -> dict[str, pl.Series]:
    """CPUs, nodes, GPUs and memory: what was given, else what was asked for.

    The first that says it: all that a job kept from others (`resource_assigned`, on records of
    starts; manuals have an s more), the vnodes it was given, the counts that TORQUE makes of its
    hosts, these hosts, and what was asked for. A number that cannot be is passed over. Where none
    speaks of GPUs, but one of CPUs, there are none.
    """
    listed = texts["Resource_List.nodect"].str.contains(":").fill_null(value=False)
    spec = texts["Resource_List.nodes"]
    spec = spec.zip_with(spec.is_not_null() | ~listed, texts["Resource_List.nodect"])
    # what TORQUE has counted itself need not be counted again: lists of hosts are long
    told = texts["total_execution_slots"].is_not_null() & texts["unique_node_count"].is_not_null()
    frame = numbers.select(_COUNTS).hstack(
        [
            *(_bytes(texts[name]) for name in _SIZES),
            *_many(texts["exec_vnode"], fields.on_vnodes, "vnodes"),
            *_many(texts["exec_host"].set(told, None), fields.on_hosts, "hosts"),
            *_many(texts["exec_gpus"], fields.on_hosts, "cards"),
            *_many(texts["Resource_List.select"], fields.selected, "select"),
            *_many(spec, fields.of_nodes, "spec"),
        ]
    )
    cpus = pl.coalesce(
        "resource_assigned.ncpus",
        "resources_assigned.ncpus",
        "vnodes_cpus",
        "total_execution_slots",
        "hosts_cpus",
        "select_cpus",
        pl.max_horizontal("spec_cpus", "Resource_List.procs", "Resource_List.ncpus"),
    )
    return frame.select(
        cpus=cpus,
        nodes=pl.coalesce(
            *("unique_node_count", "hosts_nodes", "vnodes_nodes", "spec_nodes"),
            *("Resource_List.nodect", "select_nodes"),
        ),
        gpus=pl.coalesce(
            *("resource_assigned.ngpus", "resources_assigned.ngpus"),
            *("vnodes_gpus", "hosts_gpus", "cards_gpus"),
            *("Resource_List.ngpus", "Resource_List.gpus", "Resource_List.gpu"),
            pl.max_horizontal("select_gpus", "spec_gpus"),
            pl.when(cpus.is_not_null()).then(0),
        ),
        mem_bytes=pl.coalesce(
            *("resource_assigned.mem", "resources_assigned.mem"),
            *("vnodes_mem_bytes", "Resource_List.mem"),
            *("select_mem_bytes", pl.col("Resource_List.pmem") * cpus),
        ),
    ).to_dict()


_COUNTS: Final = (
    *("total_execution_slots", "unique_node_count", "Resource_List.procs", "Resource_List.ncpus"),
    *("Resource_List.nodect", "Resource_List.ngpus", "Resource_List.gpus", "Resource_List.gpu"),
    *("resource_assigned.ncpus", "resource_assigned.ngpus"),
    *("resources_assigned.ncpus", "resources_assigned.ngpus"),
)
_SIZES: Final = (
    *("resource_assigned.mem", "resources_assigned.mem"),
    *("Resource_List.mem", "Resource_List.pmem"),
)


def _bytes(text: pl.Series) -> pl.Series:
    distinct = text.drop_nulls().unique()
    sizes = pl.Series([fields.size(each) for each in distinct.to_list()], dtype=pl.Int64)
    return text.replace_strict(distinct, sizes, default=None, return_dtype=pl.Int64)


def _many(text: pl.Series, read: Callable[[str], Amounts], name: str) -> list[pl.Series]:
    """``read`` once for each distinct text: columns ``AMOUNTS``, each behind a name."""
    names = [f"{name}_{amount}" for amount in AMOUNTS]
    if text.null_count() == len(text):
        return [
            pl.Series(each, [None], dtype=pl.Int64).new_from_index(0, len(text)) for each in names
        ]
    distinct = text.drop_nulls().unique()
    columns = zip(*(read(each) for each in distinct.to_list()), strict=True)
    values = pl.DataFrame(
        [
            distinct.alias("text"),
            *(pl.Series(*each, dtype=pl.Int64) for each in zip(names, columns, strict=True)),
        ]
    )
    joined = text.alias("text").to_frame().join(values, "text", "left", maintain_order="left")
    return joined.drop("text").get_columns()
