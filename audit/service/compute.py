"""From the attempts of a cluster to the rows of the result tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import polars as pl

from audit import periods
from audit.config import Config
from audit.metrics import performance, population, users
from audit.metrics.resource_equality import resource_equality
from audit.metrics.summary import KINDS, Options, summarise
from audit.model import OBSERVED, Period, Pool


@dataclass(frozen=True)
class Results:
    """Rows for the result tables, by table."""

    job_result: pl.DataFrame
    entity_result: pl.DataFrame
    summary_result: pl.DataFrame
    coverage_result: pl.DataFrame


def latest_instant(attempts: pl.DataFrame) -> int | None:
    """The last thing that the log knows of: no time in it is later. Null for an empty log."""
    latest = attempts.select(
        pl.max_horizontal(pl.col("submit_time", "eligible_time", "start_time", "end_time").max())
    ).item()
    return None if latest is None else int(latest)


def whole_log(attempts: pl.DataFrame, now: int) -> Period:
    """The period ``all``: from the first arrival to the last instant of the log."""
    first = attempts.select(
        pl.min_horizontal(pl.col("submit_time", "eligible_time", "start_time").min())
    ).item()
    return Period("all", now if first is None else int(first), now)


def compute(
    attempts: pl.DataFrame,
    cluster: str,
    pool: Pool,
    spans: Sequence[Period],
    zone: ZoneInfo,
    now: int,
    seed: int,
    config: Config,
) -> Results:
    """Every figure of one cluster with one pool.

    Args:
        attempts: all its attempts, columns of ``model.ATTEMPTS``.
        spans: the periods to report.
        now: instant up to which open attempts count.
        seed: of the bootstrap.

    Returns:
        Rows of the result tables without ``run_id``, which the caller knows.
    """
    chosen = config.metrics
    described = population.describe(attempts, [pool], tau_s=chosen.tau_s)
    with_shares = resource_equality(
        described, now, chosen.resource_equality_weights, chosen.count_never_started
    )
    complete = performance.overtakes(with_shares)
    options = Options(
        keep_single=chosen.keep_single_job_users,
        count_never_started=chosen.count_never_started,
        resamples=config.uncertainty.resamples,
    )
    entities, summaries = [], []
    for period in spans:
        held = population.in_period(complete, period)
        own = {"period": pl.lit(period.name)}
        entities += [users.by_entity(held, kind).with_columns(**own) for kind in KINDS]
        summaries.append(
            summarise(complete, pool, period, now, zone, seed, options).with_columns(**own)
        )
    of_pool = {
        "cluster": pl.lit(cluster),
        "pool": pl.lit(pool.name),
        "schedule": pl.lit(OBSERVED),
    }
    unused = ["job_number", "array_task", "het_offset", "kind", "eligible_time", "waited_s"]
    unused += ["suspended_s", "line", "byte_offset"]
    return Results(
        job_result=complete.drop(unused),
        entity_result=pl.concat(entities).with_columns(**of_pool),
        summary_result=pl.concat(summaries).with_columns(**of_pool),
        coverage_result=_coverage(complete, zone).with_columns(cluster=pl.lit(cluster)),
    )


def _coverage(described: pl.DataFrame, zone: ZoneInfo) -> pl.DataFrame:
    """Records by the day on which they ended, the days without any in between included."""
    instant = pl.coalesce("end_time", "arrival_time")
    day = (
        pl.from_epoch(instant, time_unit="s")
        .dt.replace_time_zone("UTC")
        .dt.convert_time_zone(zone.key)
        .dt.date()
    )
    counts = described.group_by(day.alias("day")).agg(records=pl.len().cast(pl.Int64))
    known = counts.drop_nulls("day")
    if known.is_empty():
        days = pl.DataFrame(schema={"day": pl.Date})
    else:
        first, last = known["day"].min(), known["day"].max()
        days = pl.select(day=pl.date_range(first, last))  # type: ignore[arg-type]
    return (
        days.join(counts, on="day", how="left")
        .sort("day")
        .with_columns(
            records=pl.col("records").fill_null(0),
            refused=pl.lit(0, pl.Int64),
            state=pl.when(pl.col("records").is_null())
            .then(pl.lit("empty"))
            .otherwise(pl.lit("full")),
        )
    )


def midnight_to_midnight(
    from_day: str | None, to_day: str | None, log: Period, zone: ZoneInfo
) -> Period:
    """The period that ``--from`` and ``--to`` ask for; what is left out is the log's own bound.

    Raises:
        UsageError: a day is not written YYYY-MM-DD, or the period would be empty.
    """
    first = periods.parse_day(from_day) if from_day else periods.day_of(log.from_time, zone)
    after = (
        periods.parse_day(to_day)
        if to_day
        else periods.day_after(periods.day_of(log.to_time, zone))
    )
    return periods.between(first, after, zone)
