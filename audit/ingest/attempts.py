"""Which records are attempts of one job, and in which order.

Needed only for jobs of which the log holds several records; it looks at all of them at once, from
whatever inputs, so the order in which inputs arrive changes nothing.
"""

from __future__ import annotations

import polars as pl

from audit.model import RECORDS, JobState, RecordKind

_PROVENANCE = ("line", "byte_offset")
_CONTENT = [name for name in RECORDS if name not in _PROVENANCE]
_SUMMARY_STATES = [JobState.COMPLETED, JobState.FAILED]


def resolve(records: pl.DataFrame) -> pl.DataFrame:
    """Drops records that two inputs share, numbers attempts and sets later bursts in time.

    SPEC §1, "From SWF": where a job has bursts, they are its attempts and its summary (status 0 or
    1) is superseded; a later burst has no submit and waits from the previous burst's end. Equal
    records within one input are different attempts (ids need not be unique); the n-th of them in
    one input is the n-th of them in another.

    Args:
        records: ``RECORDS`` with ``cluster`` and ``input_id``: every record of some jobs of a
            cluster, resolved before or not. ``attempt`` and ``superseded``, if there, are ignored.

    Returns:
        The records that remain, with ``attempt`` (1, 2, … within a job; 0 where superseded) and
        ``superseded``.
    """
    later_burst = (pl.col("kind") == RecordKind.BURST) & pl.col("submit_time").is_null()
    bare = records.with_columns(
        pl.when(~later_burst).then(name).alias(name)
        for name in ("eligible_time", "start_time", "end_time")
    )
    distinct = (
        bare.sort("input_id", "line")
        .with_columns(copy=pl.int_range(pl.len()).over([*_CONTENT, "input_id"]))
        .unique([*_CONTENT, "copy"], keep="first", maintain_order=True)
    )
    has_bursts = (pl.col("kind") == RecordKind.BURST).any().over("job_id")
    ordered = distinct.with_columns(
        superseded=has_bursts
        & (pl.col("kind") == RecordKind.JOB)
        & pl.col("state").is_in(_SUMMARY_STATES)
    ).sort(
        "job_id",
        "superseded",
        pl.col("submit_time").is_null(),
        "submit_time",
        pl.when(later_burst).then(None).otherwise("start_time"),
        pl.when(later_burst).then(None).otherwise("end_time"),
        "line",
        "input_id",
        nulls_last=True,
    )
    return (
        _set_in_time(ordered, later_burst)
        .with_columns(
            attempt=pl.when("superseded")
            .then(0)
            .otherwise(pl.int_range(1, pl.len() + 1).over("job_id", "superseded"))
            .cast(pl.Int64)
        )
        .drop("copy")
    )


def _set_in_time(ordered: pl.DataFrame, later_burst: pl.Expr) -> pl.DataFrame:
    """Gives each later burst the previous burst's end as arrival, and so its start and end.

    One unknown wait or run time leaves all bursts behind it unknown, which a running sum that
    turns null at the first null says.
    """
    job = ["job_id", "superseded"]
    never_started = later_burst & pl.col("occupancy_s").is_null()
    spent = pl.when(later_burst).then(pl.col("waited_s") + pl.col("occupancy_s").fill_null(0))
    lost_so_far = (later_burst & spent.is_null()).cum_max().over(job)
    end_of_first = pl.when(~later_burst).then("end_time").forward_fill().over(job)
    left_at = pl.when(later_burst & ~lost_so_far).then(
        end_of_first + pl.when(later_burst).then(spent).otherwise(0).cum_sum().over(job)
    )
    started_at = left_at - pl.col("occupancy_s")
    arrived_at = left_at - spent
    return ordered.with_columns(
        eligible_time=pl.when(later_burst).then(arrived_at).otherwise("eligible_time"),
        start_time=pl.when(later_burst).then(started_at).otherwise("start_time"),
        end_time=pl.when(later_burst & never_started)
        .then(left_at)
        .when(later_burst)
        .then(started_at + pl.col("occupancy_s"))
        .otherwise("end_time"),
    )
