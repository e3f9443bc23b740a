"""From the attempts of a cluster to the rows of the result tables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from zoneinfo import ZoneInfo

import polars as pl

from audit import config
from audit.cluster import charges, decayed, ranking
from audit.cluster.fairshare import Fairshare
from audit.cluster.setting import Setting
from audit.metrics.attempts import performance, population, users
from audit.metrics.attempts.resource_equality import resource_equality
from audit.metrics.attempts.summary import KINDS, Options, summarise
from audit.model import OBSERVED, Period
from audit.simulation.fair_start import Told, fair_start_times
from audit.simulation.fidelity import model_fidelity

_UNUSED: Final = (
    *("job_number", "array_task", "het_offset", "kind", "eligible_time", "waited_s"),
    *("suspended_s", "line", "byte_offset", "penalty"),
)
"""Columns of ``DESCRIBED`` that the result of a job does not repeat."""


@dataclass(frozen=True)
class Results:
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
    told: Told = lambda done, of: None,
) -> Results:
    """Every figure of one cluster.

    Args:
        attempts: all its attempts, columns of ``model.ATTEMPTS``.
        setting: its pools, zone and instant.
        spans: the periods to report, each with the seed of its bootstrap.
        chosen: the configuration in force.
        fairshare: how usage is charged and decays, and its targets.
        known: fair start times that were computed before, by pool, with what they rest on.
        told: told of how many attempts the fair start times are computed.

    Returns:
        Rows of the result tables without ``run_id``, which the caller knows by period: that of a
        job's row is the one in which it ended.
    """
    metrics = chosen.metrics
    described = population.describe(
        attempts, setting.pools, setting.partition_pool, tau_s=metrics.tau_s
    )
    options = Options(
        keep_single=metrics.keep_single_job_users,
        count_never_started=metrics.count_never_started,
        resamples=chosen.uncertainty.resamples,
        tolerance_s=metrics.tolerance_s,
    )
    charged = charges.charged(described, setting, fairshare)
    ranked = ranking.of(fairshare, setting, (pool.policy for pool in setting.pools))
    threads = chosen.simulation.threads or len(os.sched_getaffinity(0))
    jobs, entities, summaries, fidelities = [], [], [], []
    for pool in setting.pools:
        shares = resource_equality(
            charged.filter(pl.col("pool") == pool.name),
            setting.now,
            metrics.resource_equality_weights,
            metrics.count_never_started,
        )
        complete = fair_start_times(
            performance.overtakes(shares),
            pool,
            setting.now,
            known=None if known is None else known.filter(pl.col("pool") == pool.name),
            threads=threads,
            tau_s=metrics.tau_s,
            told=told,
            fairshare=ranked,
        )
        jobs.append(complete.drop(_UNUSED))
        for period, seed in spans.items():
            own = {"pool": pl.lit(pool.name), "period": pl.lit(period.name)}
            held = population.in_period(complete, period)
            entities += [
                users.by_entity(held, kind, metrics.tolerance_s).with_columns(**own)
                for kind in KINDS
            ]
            fidelities.append(
                model_fidelity(complete, pool, period, setting.now, fairshare=ranked).with_columns(
                    **own,
                    order=pl.lit(pool.policy.order.value),
                    backfill=pl.lit(pool.policy.backfill.value),
                    fair_order=pl.lit(pool.fair_order.value),
                )
            )
            summary = summarise(complete, pool, period, setting.now, setting.zone, seed, options)
            summaries.append(summary.with_columns(**own))
    cluster = pl.lit(setting.cluster)
    compared = charges.compare(charged, setting, fairshare, spans)
    return Results(
        job_result=pl.concat(jobs),
        entity_result=pl.concat(entities).with_columns(cluster=cluster, schedule=pl.lit(OBSERVED)),
        summary_result=pl.concat(summaries).with_columns(
            cluster=cluster, schedule=pl.lit(OBSERVED)
        ),
        coverage_result=_coverage(described, setting.zone).with_columns(cluster=cluster),
        fairshare_result=pl.concat(
            decayed.histories(charged, setting, period, fairshare).with_columns(
                period=pl.lit(period.name)
            )
            for period in spans
        ).with_columns(cluster=cluster),
        fidelity_result=pl.concat(fidelities).with_columns(cluster=cluster),
        penalty_result=compared.penalties.with_columns(cluster=cluster),
        charge_result=compared.charges.with_columns(cluster=cluster),
    )


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
