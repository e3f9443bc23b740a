"""Records as `sacct -P` prints them."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from audit.model import JobState

COLUMNS: Final = (
    *("JobID", "Cluster", "User", "Account", "Group", "Partition", "QOS", "State", "Submit"),
    *("Eligible", "Start", "End", "ElapsedRaw", "Suspended", "TimelimitRaw", "ReqTRES"),
    *("AllocTRES", "AllocNodes", "Priority", "Reason", "Reservation"),
)
"""Columns with all fields of a record."""


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
        separator: what stands between
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
    tres = tres_texts(pl.col("cpus"), pl.col("nodes"), pl.col("gpus"), pl.col("mem_bytes"))
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
        "Suspended": duration_texts(pl.col("suspended_s").fill_null(0)),
        "TimelimitRaw": pl.coalesce(
            (pl.col("walltime_s") // 60).cast(pl.String), pl.lit("UNLIMITED")
        ),
        "Timelimit": pl.coalesce(duration_texts(pl.col("walltime_s")), pl.lit("UNLIMITED")),
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


def duration_texts(seconds: pl.Expr) -> pl.Expr:
    """s → `[D-]HH:MM:SS`, as sacct writes it."""

    def two(value: pl.Expr) -> pl.Expr:
        return value.cast(pl.String).str.zfill(2)

    clock = pl.concat_str(
        two(seconds % 86_400 // 3_600), two(seconds % 3_600 // 60), two(seconds % 60), separator=":"
    )
    days = seconds // 86_400
    return (
        pl.when(days > 0)
        .then(pl.concat_str(days.cast(pl.String), pl.lit("-"), clock))
        .otherwise(clock)
    )


def tres_texts(cpus: pl.Expr, nodes: pl.Expr, gpus: pl.Expr, mem_bytes: pl.Expr) -> pl.Expr:
    """`cpu=4,mem=…K,node=1`; memory in KiB, nulls left out."""
    return pl.concat_str(
        pl.concat_str(pl.lit("cpu="), cpus),
        pl.concat_str(pl.lit("gres/gpu="), gpus),
        pl.concat_str(pl.lit("mem="), mem_bytes // 1024, pl.lit("K")),
        pl.concat_str(pl.lit("node="), nodes),
        separator=",",
        ignore_nulls=True,
    )


def local_texts(instant: pl.Expr, zone: str | None) -> pl.Expr:
    """Epoch seconds as ``sacct`` writes them in ``zone``, or as they are where it is None."""
    if zone is None:
        return instant.cast(pl.String)
    moment = pl.from_epoch(instant, time_unit="s").dt.replace_time_zone("UTC")
    return moment.dt.convert_time_zone(zone).dt.strftime("%Y-%m-%dT%H:%M:%S")
