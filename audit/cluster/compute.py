"""From the attempts of a cluster to the rows of the result tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from audit import config
from audit.cluster import charges, decayed, ranking
from audit.cluster.fairshare import Fairshare
from audit.cluster.setting import Setting
from audit.metrics.attempts import performance, population, users
from audit.metrics.attempts.resource_equality import resource_equality
from audit.metrics.attempts.summary import KINDS, Options, summarise
from audit.model import OBSERVED, Period, Pool
from audit.simulation import ownership
from audit.simulation.fair_start import Told, fair_start_times
from audit.simulation.fidelity import model_fidelity

_UNUSED: Final = (
    *("job_number", "array_task", "het_offset", "kind", "eligible_time", "waited_s"),
    *("suspended_s", "line", "byte_offset", "penalty"),
)
"""Columns of ``DESCRIBED`` that the result of a job does not repeat."""


class Results(NamedTuple):
    """Rows for the result tables, by table."""

    job_result: pl.DataFrame
    entity_result: pl.DataFrame
    summary_result: pl.DataFrame
    coverage_result: pl.DataFrame
    fairshare_result: pl.DataFrame
    fidelity_result: pl.DataFrame
    penalty_result: pl.DataFrame
    charge_result: pl.DataFrame


def compute(
    attempts: pl.DataFrame,
    setting: Setting,
    spans: Mapping[Period, int],
    chosen: config.Config,
    fairshare: Fairshare,
    known: pl.DataFrame | None = None,
    progress: Told = lambda done, of: None,
) -> Results:
    """Every figure of one cluster.

    Args:
        attempts: all its attempts, columns of ``model.ATTEMPTS``.
        setting: its pools, zone and instant.
        spans: the periods to report, each with the seed of its bootstrap.
        chosen: the configuration in force.
        fairshare: how usage is charged and decays, and its targets.
        known: fair start times that were computed before, by pool, with what they rest on.
        progress: told of how many attempts the fair start times are computed.

    Returns:
        Rows of the result tables without ``run_id``, which the caller knows by period: that of a
        job's row is the one in which it ended.
    """
    described = population.describe(
        attempts, setting.pools, setting.partition_pool, tau_s=chosen.metrics.tau_s
    )
    charged = charges.charged(described, setting, fairshare)
    ranked = ranking.of(fairshare, setting, (pool.policy for pool in setting.pools))
    by_pool = [
        (pool, _completed(charged, pool, setting.now, chosen, ranked, known, progress))
        for pool in setting.pools
    ]
    by_period = [(pool, jobs, period) for pool, jobs in by_pool for period in spans]
    compared = charges.compare(charged, setting, fairshare, spans)
    tables = Results(
        job_result=pl.concat(jobs.drop(_UNUSED) for _, jobs in by_pool),
        entity_result=pl.concat(
            _entities(jobs, pool, period, chosen.metrics.tolerance_s)
            for pool, jobs, period in by_period
        ),
        summary_result=pl.concat(
            _summary(jobs, pool, period, setting, spans[period], chosen)
            for pool, jobs, period in by_period
        ),
        coverage_result=_coverage(described, setting.zone),
        fairshare_result=pl.concat(
            decayed.histories(charged, setting, period, fairshare).with_columns(
                period=pl.lit(period.name)
            )
            for period in spans
        ),
        fidelity_result=pl.concat(
            _fidelity(jobs, pool, period, setting.now, ranked) for pool, jobs, period in by_period
        ),
        penalty_result=compared.penalties,
        charge_result=compared.charges,
    )
    cluster = pl.lit(setting.cluster)
    return Results(*(table.with_columns(cluster=cluster) for table in tables))


def _completed(
    charged: pl.DataFrame,
    pool: Pool,
    now: int,
    chosen: config.Config,
    ranked: ownership.Fairshare,
    known: pl.DataFrame | None,
    progress: Told,
) -> pl.DataFrame:
    """The attempts of a pool with all figures of their own."""
    metrics = chosen.metrics
    shares = resource_equality(
        charged.filter(pl.col("pool") == pool.name),
        now,
        metrics.resource_equality_weights,
        metrics.count_never_started,
    )
    return fair_start_times(
        performance.overtakes(shares),
        pool,
        now,
        known=None if known is None else known.filter(pl.col("pool") == pool.name),
        threads=chosen.simulation.threads or len(os.sched_getaffinity(0)),
        tau_s=metrics.tau_s,
        told=progress,
        fairshare=ranked,
    )


def _entities(jobs: pl.DataFrame, pool: Pool, period: Period, tolerance_s: int) -> pl.DataFrame:
    """Figures of users and accounts in a period."""
    held = population.in_period(jobs, period)
    return pl.concat(
        users.by_entity(held, kind, tolerance_s).with_columns(**_of(pool, period)) for kind in KINDS
    ).with_columns(schedule=pl.lit(OBSERVED))


def _summary(
    jobs: pl.DataFrame,
    pool: Pool,
    period: Period,
    setting: Setting,
    seed: int,
    chosen: config.Config,
) -> pl.DataFrame:
    """Figures of a pool and its groups in a period."""
    options = Options(
        keep_single=chosen.metrics.keep_single_job_users,
        count_never_started=chosen.metrics.count_never_started,
        resamples=chosen.uncertainty.resamples,
        tolerance_s=chosen.metrics.tolerance_s,
    )
    summary = summarise(jobs, pool, period, setting.now, setting.zone, seed, options)
    return summary.with_columns(**_of(pool, period), schedule=pl.lit(OBSERVED))


def _fidelity(
    jobs: pl.DataFrame, pool: Pool, period: Period, now: int, ranked: ownership.Fairshare
) -> pl.DataFrame:
    """How well the assumed policy explains what a pool did in a period."""
    return model_fidelity(jobs, pool, period, now, fairshare=ranked).with_columns(
        **_of(pool, period),
        order=pl.lit(pool.policy.order.value),
        backfill=pl.lit(pool.policy.backfill.value),
        fair_order=pl.lit(pool.fair_order.value),
    )


def _of(pool: Pool, period: Period) -> dict[str, pl.Expr]:
    return {"pool": pl.lit(pool.name), "period": pl.lit(period.name)}


def _coverage(described: pl.DataFrame, zone: ZoneInfo) -> pl.DataFrame:
    """Records by the day on which they ended, the days without any in between included."""
    instant = pl.coalesce("end_time", "arrival_time", "start_time")
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
