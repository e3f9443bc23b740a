"""Records as sacct would print them: the way back from ``sacct.parse``, for tests and export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from audit.formats.instants import local_texts
from audit.formats.slurm import fields
from audit.model import JobState

COLUMNS: Final = (
    *("JobID", "Cluster", "User", "Account", "Group", "Partition", "QOS", "State", "Submit"),
    *("Eligible", "Start", "End", "ElapsedRaw", "Suspended", "TimelimitRaw", "ReqTRES"),
    *("AllocTRES", "AllocNodes", "Priority", "Reason", "Reservation"),
)
"""What holds all that a record knows."""


def write(
    frame: pl.DataFrame,
    columns: Sequence[str] = COLUMNS,
    *,
    separator: str = "|",
    zone: str | None = "UTC",
    header: bool = True,
) -> bytes:
    """Attempts as `sacct -X -D -P` prints them. Nothing is escaped, as sacct escapes nothing.

    Memory is written in KiB, rounded down. In an hour that a clock change repeats local times lose
    which of the two they are.

    Args:
        frame: columns of ``model.RECORDS``, and any of sacct's (``JobName``, ``SubmitLine``) whose
            texts are to be written as they are.
        columns: names of sacct's fields, in order; empty where neither side has them.
        separator: what stands between fields.
        zone: that times are written in; None writes epoch seconds.
        header: whether a header row comes first.
    """
    values = _values(zone)
    names = {name.lower(): name for name in values}
    texts = []
    for name in columns:
        if name in frame.columns and name.lower() not in names:
            text = pl.col(name).cast(pl.String)
        else:
            text = values.get(names.get(name.lower(), ""), pl.lit(None, pl.String))
        texts.append(text.cast(pl.String).fill_null(""))
    lines = frame.select(pl.concat_str(texts, separator=separator).alias("line"))["line"]
    rows = [separator.join(columns)] * header + lines.to_list()
    return "".join(f"{row}\n" for row in rows).encode()


def _values(zone: str | None) -> Mapping[str, pl.Expr]:
    """Each column that a record can fill."""
    start, end = pl.col("start_time"), pl.col("end_time")
    started, ended = start.is_not_null(), end.is_not_null()
    tres = fields.tres_texts(pl.col("cpus"), pl.col("nodes"), pl.col("gpus"), pl.col("mem_bytes"))
    never = pl.when(ended).then(pl.lit("None")).otherwise(pl.lit("Unknown"))

    def time(name: str) -> pl.Expr:
        return local_texts(pl.col(name), zone)

    return {
        "JobID": pl.col("job_id"),
        "JobIDRaw": pl.col("job_id"),
        "Cluster": pl.col("cluster"),
        "User": pl.col("user"),
        "Account": pl.col("account"),
        "Group": pl.col("group"),
        "Partition": pl.col("partition"),
        "QOS": pl.col("qos"),
        "State": pl.when(pl.col("state") == JobState.CANCELLED)
        .then(pl.lit("CANCELLED by 0"))
        .otherwise("state"),
        "Submit": time("submit_time"),
        "Eligible": time("eligible_time").fill_null("Unknown"),
        "Start": pl.coalesce(time("start_time"), never),
        "End": time("end_time").fill_null("Unknown"),
        "ElapsedRaw": (end - start - pl.col("suspended_s").fill_null(0)).fill_null(0),
        "Suspended": fields.duration_texts(pl.col("suspended_s").fill_null(0)),
        "TimelimitRaw": pl.coalesce(
            (pl.col("walltime_s") // 60).cast(pl.String), pl.lit("UNLIMITED")
        ),
        "Timelimit": pl.coalesce(fields.duration_texts(pl.col("walltime_s")), pl.lit("UNLIMITED")),
        "ReqTRES": tres,
        "AllocTRES": pl.when(started).then(tres),
        "ReqCPUS": pl.col("cpus"),
        "AllocCPUS": pl.col("cpus"),
        "NCPUS": pl.col("cpus"),
        "NNodes": pl.col("nodes"),
        "ReqNodes": pl.col("nodes"),
        "AllocNodes": pl.when(started).then("nodes").otherwise(0),
        "Priority": pl.col("priority"),
        "Reason": pl.col("reason").fill_null("None"),
        "Reservation": pl.col("reservation"),
    }
