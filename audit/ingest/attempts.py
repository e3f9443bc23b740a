"""Combines several records of a job into attempts, in order.

All records of a job are resolved together, whatever their inputs, so the order of inputs does not
matter.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from audit.ingest import events, tasks
from audit.model import EVENTS, RECORDS, JobState, RecordKind
from audit.store import queries
from audit.store.database import Connection, execute, fetch, insert

_PROVENANCE = ("line", "byte_offset")
_OF_ARRAYS = ("tasks", "array_tasks")  # which become fewer
_CONTENT = [name for name in RECORDS if name not in (*_PROVENANCE, *_OF_ARRAYS)]
_SUMMARY_STATES = [JobState.COMPLETED, JobState.FAILED]
_ORDER = ("job_id", "superseded", "submit_time", "start_time", "end_time", "line", "input_id")
_LATER_BURST = (pl.col("kind") == RecordKind.BURST) & pl.col("submit_time").is_null()
RESIZING = "RESIZING"  # Slurm's state of a part of a job that ended as it changed its size
AT_ONCE: Final = 1 << 17
"""Number of records that are resolved at once, and those of the last job among them."""
_RUN = pl.col("kind") == RecordKind.RUN
_LEFT_QUEUE = pl.coalesce("start_time", "end_time")  # when a run started, or left the queue
_PAST = pl.col("kind") == RecordKind.PAST
_EVICTED = ("PREEMPTED", "REQUEUED")


def resolve(records: pl.DataFrame) -> pl.DataFrame:
    """Drop records that occur again, number attempts and set later bursts in time.

    SPEC §1, "From SWF": where a job has bursts, they are its attempts and its summary (status 0 or
    1) is superseded; a later burst has no submit and waits from the previous burst's end. Equal
    bursts, or tasks, within one input are different attempts; the n-th of them in one input is the
    n-th of them in another. All other equal records count once, also within one input.

    Executions (Slurm) are identified by job id and submit time. Of several records of one, the most
    complete supersedes the others: ended before running before pending; among those of one kind
    the latest end and the earliest start (`sacct -T` clips both), then the most columns. An open
    one of a job that was submitted again is superseded too: it ended at an unknown time.
    slurmdbd begins another record when a running job changes its size, and calls that instant its
    submission: the part after it has no arrival, since the job did not wait again.

    Runs (LSF, Grid Engine) of one job id and submit time follow each other: each waited from the
    end of the one before, unless it states a later time. Runs with one start are records of one
    execution. A run that has not ended is superseded by a later one of its job (Kueue). Of records
    of a job's earlier runs together, the longest counts, without the evicted runs that are known
    (``suspended_s``), and none if these are all. For PBS see ``events``.

    ``records`` are all records of some jobs of a cluster, resolved before or not, with ``cluster``
    and ``input_id``. Returned are those that remain, with ``attempt`` (1, 2, … within a job; 0
    where superseded) and ``superseded``.
    """
    happened = records.filter(events.are_events())
    others = records.filter(~events.are_events())
    parts = [_resolved(others)] if others.height or not happened.height else []
    if happened.height:
        parts.append(events.settled(happened).sort(*_ORDER, nulls_last=True))
    return pl.concat(parts, how="diagonal").with_columns(
        attempt=pl.when("superseded")
        .then(0)
        .otherwise(pl.int_range(1, pl.len() + 1).over("job_id", "superseded"))
        .cast(pl.Int64),
        tasks=pl.col("tasks").fill_null(1),
    )


def _resolved(records: pl.DataFrame) -> pl.DataFrame:
    has_bursts = (pl.col("kind") == RecordKind.BURST).any().over("job_id")
    summary = (
        has_bursts & (pl.col("kind") == RecordKind.JOB) & pl.col("state").is_in(_SUMMARY_STATES)
    )
    ordered = (
        _without_known(_known_best(_distinct(_without_resizes(records))))
        .with_columns(superseded=summary | ~pl.col("best"))
        .sort(
            "job_id",
            "superseded",
            pl.col("submit_time").is_null(),
            "submit_time",
            pl.when(_LATER_BURST).then(None).when(_RUN).then(_LEFT_QUEUE).otherwise("start_time"),
            pl.when(_LATER_BURST).then(None).otherwise("end_time"),
            "line",
            "input_id",
            nulls_last=True,
        )
    )
    return _in_turn(_set_in_time(ordered)).drop("copy", "best")


def attempts_of(records: pl.DataFrame) -> pl.DataFrame:
    """Return the attempts of a cluster's logs, in any order, without a store; see ``resolve``."""
    repeated = (pl.len().over("job_id") > 1) | events.are_instants()
    settled = resolve(records.filter(repeated)).filter(~pl.col("superseded"))
    single = records.filter(~repeated)
    return tasks.of_frame(pl.concat([single, settled.select(single.columns)]))


def _distinct(records: pl.DataFrame) -> pl.DataFrame:
    """Keep one of equal records, and undo an earlier resolution.

    Adds ``copy``: the rank of a burst or task among equal ones of one input; else 0.
    """
    unset = (
        records.with_columns(suspended_s=pl.when(~_PAST).then("suspended_s"))
        .with_columns(
            pl.when(~_LATER_BURST).then(name).alias(name)
            for name in ("eligible_time", "start_time", "end_time")
        )
        .with_columns(  # of runs that started or left the queue, it may have been set
            _stated=pl.when(~_RUN | _LEFT_QUEUE.is_null()).then("eligible_time")
        )
    )
    content = [*(name for name in _CONTENT if name != "eligible_time"), "_stated"]
    return (
        unset.sort("input_id", "line")
        .with_columns(
            copy=pl.when(pl.col("kind").is_in([RecordKind.BURST, RecordKind.TASK]))
            .then(pl.int_range(pl.len()).over([*content, "input_id"]))
            .otherwise(0)
        )
        .unique([*content, "copy"], keep="first", maintain_order=True)
        .drop("_stated")
    )


def _without_resizes(records: pl.DataFrame) -> pl.DataFrame:
    """Drop the submissions of executions that begin where a part of their job ended RESIZING."""
    resized = (pl.col("kind") == RecordKind.EXECUTION) & (pl.col("state") == RESIZING)
    changes = records.filter(resized).select("job_id", start_time="end_time").unique()
    if changes.is_empty():
        return records
    parts = records.join(
        changes.with_columns(part=pl.lit(value=True)),
        on=["job_id", "start_time"],
        how="left",
        maintain_order="left",
    )
    is_part = pl.col("part").fill_null(value=False)
    later = is_part & (pl.col("submit_time") == pl.col("start_time")).fill_null(value=False)
    return parts.with_columns(
        pl.when(~later).then(name).alias(name) for name in ("submit_time", "eligible_time")
    ).drop("part")


def _known_best(records: pl.DataFrame) -> pl.DataFrame:
    """Add ``best``: one record of each execution and of each run that started, and all others."""
    execution = pl.col("kind") == RecordKind.EXECUTION
    started_run = _RUN & pl.col("start_time").is_not_null()
    named = ["job_id", "submit_time", "_start", "kind"]
    ended, started = pl.col("end_time").is_not_null(), pl.col("start_time").is_not_null()
    arrived = pl.coalesce("submit_time", "start_time")
    again = (arrived < pl.col("submit_time").max().over("job_id")).fill_null(value=False)
    content = [*(name for name in _CONTENT if name != "eligible_time"), "_eligible"]
    return (
        records.with_columns(
            _start=pl.when(pl.col("submit_time").is_null() | _RUN).then("start_time"),
            _stage=ended.cast(pl.Int8) * 2 + started.cast(pl.Int8) * ~ended,
            _eligible=pl.when(~_RUN).then("eligible_time"),  # of runs it may have been set
        )
        .with_columns(_known=pl.sum_horizontal(pl.col(name).is_not_null() for name in content))
        .sort(
            pl.col("_stage") * -1,
            pl.col("end_time") * -1,
            "start_time",
            pl.col("_known").cast(pl.Int64) * -1,
            *content,
            "input_id",
            "line",
            nulls_last=True,
        )
        .with_columns(
            best=~(execution | started_run)
            | ((pl.int_range(pl.len()).over(named) == 0) & ~(execution & ~ended & again))
        )
        .drop("_start", "_stage", "_known", "_eligible")
    )


def _without_known(records: pl.DataFrame) -> pl.DataFrame:
    """Unset ``best`` of open runs that another one follows, and of past runs that are known."""
    has_open = records.select((_RUN & pl.col("end_time").is_null()).any()).item()
    has_past = records.select(_PAST.any()).item()
    job = ["job_id", "submit_time"]
    if has_open:
        started, ended = pl.col("start_time").is_not_null(), pl.col("end_time").is_not_null()
        moment = pl.coalesce("start_time", "end_time", "eligible_time", "submit_time")
        order = pl.struct(moment.alias("moment"), started.alias("began"), ended.alias("ended"))
        latest = pl.when(_RUN).then(order.rank("ordinal")).over(job)
        last = latest == latest.max().over(job)
        records = records.with_columns(best=pl.col("best") & (~_RUN | ended | last))
    if has_past:
        evicted = _RUN & pl.col("best") & pl.col("state").is_in(_EVICTED)
        spent = pl.when(evicted).then(pl.col("end_time") - pl.col("start_time"))
        known = spent.sum().over(job)
        longest = pl.when(_PAST).then(pl.col("occupancy_s").rank("ordinal")).over(job)
        left = (known + evicted.sum().over(job) < pl.col("occupancy_s")) & (
            longest == longest.max().over(job)
        )
        records = records.with_columns(
            best=pl.when(_PAST).then(left).otherwise("best"),
            suspended_s=pl.when(_PAST)
            .then(pl.when(known > 0).then(known))
            .otherwise("suspended_s"),
        )
    return records


def _set_in_time(ordered: pl.DataFrame) -> pl.DataFrame:
    """Set each later burst's arrival to the previous burst's end, and so its start and end.

    After an unknown wait or run time all later bursts are unknown.
    """
    job = ["job_id", "superseded"]
    spent = pl.col("waited_s") + pl.col("occupancy_s").fill_null(0)
    lost_so_far = (_LATER_BURST & spent.is_null()).cum_max().over(job)
    end_of_first = pl.when(~_LATER_BURST).then("end_time").forward_fill().over(job)
    left_at = pl.when(_LATER_BURST & ~lost_so_far).then(
        end_of_first + pl.when(_LATER_BURST).then(spent).otherwise(0).cum_sum().over(job)
    )
    times = {
        "eligible_time": left_at - spent,
        "start_time": left_at - pl.col("occupancy_s"),
        "end_time": left_at,
    }
    return ordered.with_columns(
        pl.when(_LATER_BURST).then(time).otherwise(name).alias(name) for name, time in times.items()
    )


def _in_turn(ordered: pl.DataFrame) -> pl.DataFrame:
    """Let each run of a job wait from the end of the one before, unless its own time is later."""
    before = pl.col("end_time").shift(1).over("job_id", "superseded", "submit_time", "kind")
    waited_from = pl.when(_RUN & (before <= _LEFT_QUEUE)).then(before)
    return ordered.with_columns(eligible_time=pl.max_horizontal("eligible_time", waited_from))


def settle_new(con: Connection, cluster: str, input_ids: Sequence[str]) -> None:
    """Resolve the jobs of new inputs with several records in the store."""
    for input_id in input_ids:
        of = {"cluster": cluster, "input_id": input_id}
        _resolve(con, cluster, queries.run(con, "repeated_jobs", **of))
    if input_ids:
        _settle_arrays(con, cluster)


def settle(con: Connection, cluster: str, jobs: Sequence[str]) -> None:
    """Resolve jobs of a cluster again, within a transaction."""
    if jobs:
        _resolve(con, cluster, queries.run(con, "sizes_of_jobs", cluster=cluster, jobs=jobs))
    _settle_arrays(con, cluster)


def _resolve(con: Connection, cluster: str, sizes: pl.DataFrame) -> None:
    """Resolve jobs, some at a time: those of a whole log may be more than memory holds.

    ``sizes`` are their ids, ascending, and the number of records of each.
    """
    if sizes.is_empty():
        return
    before = pl.col("records").cum_sum() - pl.col("records")
    for part in sizes.with_columns(part=before // AT_ONCE).partition_by("part"):
        jobs = part["job_id"].to_list()
        settled = resolve(queries.run(con, "records_of_jobs", cluster=cluster, jobs=jobs))
        of_these = "DELETE FROM records WHERE cluster = ? AND job_id IN (SELECT unnest(?))"
        execute(con, of_these, [cluster, jobs])
        insert(con, "records", settled)
    execute(
        con,
        """
        WITH kept AS (
            SELECT input_id, count(*) AS n FROM records WHERE cluster = $1 GROUP BY input_id
        ),
        archived AS (
            SELECT input_id, sum(records) AS n FROM archived_input WHERE cluster = $1 GROUP BY ALL
        )
        UPDATE inputs SET duplicates = records - refused - steps - elsewhere
            - coalesce((SELECT n FROM kept WHERE kept.input_id = inputs.input_id), 0)
            - coalesce((SELECT n FROM archived WHERE archived.input_id = inputs.input_id), 0)
        WHERE cluster = $1
        """,
        [cluster],
    )


def _fill_tasks(con: Connection, cluster: str) -> None:
    """Give tasks that left before they started what the record of their array states."""
    bare = """FROM records WHERE cluster = $1 AND kind = 'left' AND array_task IS NOT NULL
        AND submit_time IS NULL AND start_time IS NULL"""
    found = fetch(con, bare, {"1": cluster})
    if found.is_empty():
        return
    queued = "FROM records WHERE cluster = $1 AND kind = 'queued' AND contains(job_id, '[]')"
    filled = events.of_arrays(found, fetch(con, queued, {"1": cluster}))
    execute(con, f"DELETE {bare}", [cluster])
    insert(con, "records", filled)


def _settle_arrays(con: Connection, cluster: str) -> None:
    """Let the records of arrays stand only for tasks without a record of their own."""
    _fill_tasks(con, cluster)
    of = {"cluster": cluster, "family": tasks.FAMILY}
    rows = queries.run(con, "pending_arrays", **of, events=[kind.value for kind in EVENTS])
    if rows.is_empty():
        return
    families = rows["family"].unique().sort().to_list()
    seen = queries.run(con, "tasks_of_pending_arrays", **of, families=families)
    if left := tasks.left_of(rows, seen):
        execute(
            con,
            """
            UPDATE records SET
                array_tasks = left_of.array_tasks,
                tasks = greatest(number, 1),
                superseded = superseded OR number = 0,
                attempt = CASE WHEN number = 0 THEN 0 ELSE attempt END
            FROM (
                SELECT unnest(?) AS job_id, unnest(?) AS before, unnest(?) AS started,
                    unnest(?) AS ended, unnest(?) AS array_tasks, unnest(?) AS number
            ) AS left_of
            WHERE cluster = ? AND records.job_id = left_of.job_id AND NOT superseded
                AND records.array_tasks IS NOT DISTINCT FROM before
                AND (start_time IS NOT NULL) = started AND (end_time IS NOT NULL) = ended
            """,
            [*map(list, zip(*left, strict=True)), cluster],
        )
