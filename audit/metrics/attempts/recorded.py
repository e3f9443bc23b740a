"""Stretches of waits of which the scheduler itself recorded what kept the attempt from starting.

A *sample* says what was true of a job at an instant (squeue, sprio, a pass of a scheduler). It
applies until the next sample of the same job and kind, at most ``REACH_S``, so nothing that is
written later changes what came before. A *change* of a job's state applies until the next change:
a hold, until its release. Outside of the attempt's wait nothing applies.

Of a sample, the reason decides: a hold, a limit (a rule that the scheduler recorded), or, if it is
neither and the scheduler planned a later start, that plan.
"""

from typing import Final

import polars as pl

from audit.metrics.attempts.reasons import NO_HOLDS, UNNAMED, reason_of
from audit.registry.reasons import PLANNED, without_names

RECORDED: Final = "recorded"
"""Optional column of attempts: a list of the stretches, each with its begin and end (epoch s) and
its kind as in ``reasons.NO_HOLDS``. It is there where the store has evidence of this cluster."""
SITE_PRIORITY: Final = "site_priority"
"""Optional column of attempts, Float64: the priority at the start, or the last one before. It is
there where the store has priorities of this cluster's scheduler at instants."""
ORDER_KNOWN: Final = 0.95
REACH_S: Final = 1_800
"""The longest time to which a sample applies, s."""

_RULE: Final = "limit "

_CHANGES: Final = ("HELD", "RELEASED", "RUNNING", "ENDED", "REQUEUED")
"""States that last until the next of them (``formats.evidence.statements``)."""


def recorded(described: pl.DataFrame) -> pl.DataFrame:
    """Return the recorded stretches, columns of ``reasons.NO_HOLDS``.

    Args:
        described: columns of ``model.DESCRIBED``.
    """
    if RECORDED not in described.columns:
        return NO_HOLDS
    rows = described.select(RECORDED).with_row_index("row").filter(pl.col(RECORDED).list.len() > 0)
    return rows.explode(RECORDED).unnest(RECORDED).cast(NO_HOLDS.schema)


def with_evidence(attempts: pl.DataFrame, evidence: pl.DataFrame) -> pl.DataFrame:
    """Add the recorded stretches of waits, and the last priority of each wait, up to its end.

    Args:
        attempts: columns of ``model.ATTEMPTS``.
        evidence: columns of ``model.EVIDENCE``; without any rows about jobs, nothing is added.
    """
    of_jobs = evidence.filter(pl.col("job_id").is_not_null())
    if of_jobs.is_empty():
        return attempts
    ready = pl.coalesce("eligible_time", "submit_time")
    waits = attempts.with_row_index("row").select(
        "row",
        "job_id",
        arrival=pl.min_horizontal(ready, "start_time", "end_time"),
        leave=pl.coalesce("start_time", "end_time"),
    )
    said = _applied(of_jobs).pipe(_of_attempts, waits)
    stretches = (
        said.filter(pl.col("kind").is_not_null())
        .select(
            "row",
            "kind",
            begin=pl.max_horizontal("instant", "arrival"),
            end=pl.min_horizontal("until", "leave"),
        )
        .filter(pl.col("begin") < pl.col("end"))
        .sort("row", "begin", "end", "kind")
        .with_columns(_named(pl.col("kind")))
        .group_by("row", maintain_order=True)
        .agg(pl.struct("begin", "end", "kind").alias(RECORDED))
    )
    priorities = (
        said.filter(pl.col("priority") > 0)
        .sort("row", "instant", "priority")
        .group_by("row", maintain_order=True)
        .agg(pl.col("priority").last().alias("_priority"))
    )
    added = attempts.with_row_index("row")
    for found in (stretches, priorities):
        added = added.join(found, on="row", how="left", maintain_order="left")
    added = added.with_columns(priority=pl.coalesce("_priority", "priority"))
    if priorities.height:
        added = added.with_columns(pl.col("priority").alias(SITE_PRIORITY))
    return added.drop("row", "_priority")


def site_order(attempts: pl.DataFrame) -> str | None:
    """Return the column by which the site's queue descends; None: its order is not known.

    It is known where the scheduler's priorities are, of at least ``ORDER_KNOWN`` of what started.
    """
    if SITE_PRIORITY not in attempts.columns:
        return None
    started = attempts.filter(pl.col("start_time").is_not_null())[SITE_PRIORITY]
    known = len(started) - started.null_count()
    return SITE_PRIORITY if known >= ORDER_KNOWN * max(len(started), 1) else None


def _applied(of_jobs: pl.DataFrame) -> pl.DataFrame:
    """Return statements about jobs with the end of their time (``until``) and its kind."""
    reasons = of_jobs["reason"].drop_nulls().unique().to_list()
    kinds = pl.col("reason").replace_strict(
        {reason: _kind(reason) for reason in reasons}, default=None, return_dtype=pl.String
    )
    changes = pl.col("state").is_in(_CHANGES)
    samples = of_jobs.sort("kind", "job_id", "instant", maintain_order=True).with_columns(
        until=pl.min_horizontal(
            pl.col("instant").shift(-1).over("kind", "job_id").fill_null(1 << 62),
            pl.col("instant") + REACH_S,
        )
    )
    # of one instant, the last row has the time: the others say the same of other partitions
    until = pl.col("until").max().over("kind", "job_id", "instant")
    later = pl.col("expected_start") > pl.col("instant")
    of_samples = samples.with_columns(
        until=until, kind=kinds.fill_null(pl.when(later).then(pl.lit(PLANNED)))
    ).filter(~changes.fill_null(value=False) & (pl.col("state") == "PENDING"))
    of_changes = samples.filter(changes).with_columns(
        until=pl.col("instant").shift(-1).over("kind", "job_id").fill_null(1 << 62),
        kind=pl.when(pl.col("state") == "HELD").then(kinds),
    )
    wanted = ("job_id", "instant", "until", "kind", "priority")
    return pl.concat([of_samples.select(wanted), of_changes.select(wanted)])


def _kind(reason: str) -> str | None:
    """Return what a recorded reason says, as a kind of ``reasons.NO_HOLDS``."""
    if reason == PLANNED:
        return PLANNED
    found = reason_of(reason)
    if found.cause == "held":
        return found.held_by
    return rule_of(reason) if found.cause == "rule" else None


def rule_of(reason: str) -> str:
    """Return the name of the rule that a recorded reason names."""
    return f"{_RULE}{without_names(reason)}"


def _named(kind: pl.Expr) -> pl.Expr:
    """Return kinds with the limits that slurmctld's log does not name as other samples do."""
    unnamed = kind == rule_of(UNNAMED)
    other = pl.when(kind.str.starts_with(_RULE) & ~unnamed).then(kind)
    filled = other.forward_fill().over("row").fill_null(other.backward_fill().over("row"))
    return pl.when(unnamed).then(pl.coalesce(filled, kind)).otherwise(kind)


def _of_attempts(said: pl.DataFrame, waits: pl.DataFrame) -> pl.DataFrame:
    """Return statements about attempts in their wait: row, arrival and leave of the attempt too.

    ``7_*`` is about all tasks of array 7 that wait.
    """
    base = pl.col("job_id").str.extract(r"^([0-9]+)_") + "_*"
    every = said["job_id"].str.ends_with("_*")
    each = said.filter(~every).join(waits, on="job_id")
    arrays = waits.with_columns(job_id=base).drop_nulls("job_id")
    of_arrays = said.filter(every).join(arrays, on="job_id").select(each.columns)
    return pl.concat([each, of_arrays]).filter(
        pl.col("arrival").is_not_null(),
        pl.col("until") > pl.col("arrival"),
        pl.col("instant") <= pl.col("leave").fill_null(1 << 62),
    )
