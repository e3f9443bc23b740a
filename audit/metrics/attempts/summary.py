"""All figures of one pool and period, as rows of the view ``summary``.

A row is a metric, the part of the population it is of (``dimension`` and ``dimension_value``), its
value with a 95 % bootstrap interval where SPEC §5 names a unit to resample, its unit, and the
number of attempts it is of. Figures that cannot be given (no attempt, 0/0) are null, never left out
for the whole population. Times in s; "resource" stands for the pool's counted resource.
"""

from collections.abc import Callable
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics import uncertainty
from audit.metrics.attempts import figures as measures
from audit.metrics.attempts import performance, users
from audit.metrics.attempts.miss import TOLERANCE_S
from audit.metrics.attempts.parts import ATTEMPTS, ONE, SECONDS, Row, number_users
from audit.metrics.attempts.performance import Activity
from audit.metrics.attempts.population import ended, gave_up_wait, in_period
from audit.metrics.attempts.resource_equality import conservation
from audit.metrics.quantiles import (
    LOWER_QUARTILE,
    MEDIAN,
    UPPER_QUARTILE,
)
from audit.metrics.uncertainty import NONE, Interval, Resamples
from audit.model import Period, Pool, Standing
from audit.periods import day_edges, day_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SUMMARY_SCHEMA = pl.Schema(
    {
        "metric": pl.String,
        "dimension": pl.String,
        "dimension_value": pl.String,
        "value": pl.Float64,
        "lower": pl.Float64,
        "upper": pl.Float64,
        "unit": pl.String,
        "attempts": pl.Int64,
    }
)
"""Columns of ``summary_result`` that are the metrics' own."""

KINDS: Final[tuple[users.Kind, ...]] = ("user", "account")

JOBS, USERS, RESOURCE = "jobs", "users", "resource"
NUWT = "s/(resource·s)"
NUWT_SQUARED = "(s/(resource·s))²"


class Options(NamedTuple):
    """Choices that SPEC leaves open, at its defaults."""

    keep_single: bool = False
    """Keep users with one started job in UWT and its companions."""
    count_never_started: bool = False
    """Count attempts that never started as active while they were queued (resource equality)."""
    resamples: int = uncertainty.RESAMPLES
    """Resamples of the bootstrap."""
    tolerance_s: int = TOLERANCE_S
    """What a start may differ from its fair start time before it counts as missed, s, ≥ 0."""


DEFAULTS: Final = Options()


def summarise(
    described: pl.DataFrame,
    pool: Pool,
    period: Period,
    now: int,
    zone: ZoneInfo,
    seed: int,
    options: Options = DEFAULTS,
) -> pl.DataFrame:
    """All figures of ``pool`` in ``period``.

    Args:
        described: *all* attempts of the pool, with the columns that ``resource_equality`` and
            ``overtakes`` add; those of ``miss.misses`` and fst_status for figures about fair start
            times, which are left out where they are missing.
        pool: name and capacity.
        period: which attempts are subjects, and what time integrals cover.
        now: when the log was taken, epoch s.
        zone: the cluster's, for days and hours of the week.
        seed: of the bootstrap, ≥ 0, made from the run's inputs.
        options: see there.

    Returns:
        Columns of ``SUMMARY_SCHEMA``; the order of rows is part of the result.
    """
    held = in_period(described, period)
    subjects = ended(held)
    numbered = number_users(subjects)
    resamples = Resamples(numbered["unit"].n_unique(), seed, options.resamples)
    rows = _counts(held, pool)
    rows += _gave_up(held)
    rows += _activity(described, pool, period, now, zone, seed, options)
    if len(pool.amounts) > 1:
        rows += _resources(described, pool, period, now)
        rows += _used_by(held, pool)
    rows += measures.of_parts(numbered, zone, resamples)
    rows += measures.of_fair_starts(numbered, zone, resamples, options.tolerance_s)
    conserved = conservation(described, now, options.count_never_started)
    rows.append(Row("re_conservation", "all", None, conserved, *NONE, ONE, described.height))
    for kind in KINDS:
        rows += _nuwt(users.by_entity(held, kind), kind, seed, options)
    return pl.DataFrame(rows, schema=SUMMARY_SCHEMA, orient="row")


def _counts(held: pl.DataFrame, pool: Pool) -> list[Row]:
    """How many there are of whom, and of what the log leaves open."""

    def standing(name: Standing) -> pl.Expr:
        return pl.col("standing") == name

    subject = standing(Standing.ENDED)
    belonging = held.filter(subject | standing(Standing.NEVER_STARTED))
    numbers = held.select(
        attempts=subject.sum(),
        jobs=pl.col("job_id").filter(subject).n_unique(),
        running=standing(Standing.RUNNING).sum(),
        pending=standing(Standing.PENDING).sum(),
        start_unknown=standing(Standing.START_UNKNOWN).sum(),
        arrivals_clipped=pl.col("arrival_clipped").sum(),
        size_unknown=pl.col("size").null_count(),
        exceeds_capacity=(pl.col("size") > pool.largest).sum(),
        over_requested_walltime=(subject & (pl.col("occupancy_s") > pl.col("walltime_s"))).sum(),
    ).row(0, named=True)
    rows = [
        Row(metric, "all", None, number, *NONE, JOBS if metric == "jobs" else ATTEMPTS, held.height)
        for metric, number in numbers.items()
    ]
    named = float(belonging["user"].drop_nulls().n_unique())
    return [*rows, Row("users", "all", None, named, *NONE, USERS, belonging.height)]


def _gave_up(held: pl.DataFrame) -> list[Row]:
    """Attempts that never started, which stand beside every wait; in all and by account."""
    numbers = [
        (pl.col("standing") == Standing.NEVER_STARTED).sum().alias("never_started"),
        gave_up_wait().sum().alias("gave_up_wait_s"),
    ]
    by_account = held.group_by("account").agg(numbers).sort("account")
    rows = []
    for dimension, (value, number, waited) in [
        ("all", (None, *held.select(numbers).row(0))),
        *(("account", row) for row in by_account.rows()),
    ]:
        rows += [
            Row("never_started", dimension, value, number, *NONE, ATTEMPTS, number),
            Row("gave_up_wait_s", dimension, value, waited, *NONE, SECONDS, number),
        ]
    return rows


def _activity(
    described: pl.DataFrame,
    pool: Pool,
    period: Period,
    now: int,
    zone: ZoneInfo,
    seed: int,
    options: Options,
) -> list[Row]:
    """What the pool did over the period, and day by day."""
    edges = day_edges(period.from_time, period.to_time, zone)
    steps = [s.since for s in pool.steps if period.from_time < s.since < period.to_time]
    edges = sorted({*edges, *steps})
    had = [pool.capacity_at(begin) for begin in edges[:-1]]
    did = performance.activity(described, had or pool.capacity, edges, now)
    names = [day_of(begin, zone).isoformat() for begin in edges[:-1]]
    _, day = np.unique(names, return_inverse=True)
    days = np.arange(day.max(initial=-1) + 1)

    def daily(amounts: Ints) -> Floats:
        return np.bincount(day, amounts.astype(np.float64), len(days)).astype(np.float64)

    resamples = Resamples(len(days), seed, options.resamples)
    capable = did.capacity * did.seconds
    figures: list[tuple[str, Callable[[Activity], float | None], Ints, Ints, str]] = [
        ("utilization", performance.utilization, did.used, capable, ONE),
        ("loss_of_capacity", performance.loss_of_capacity, did.lost, capable, ONE),
        ("over_capacity_time", performance.over_capacity_time, did.over, did.seconds, ONE),
        ("queued_mean", performance.queued_mean, did.queued, did.seconds, RESOURCE),
    ]
    rows = []
    for metric, of, above, below, unit in figures:
        interval = resamples.ratio(days, daily(above), daily(below))
        rows.append(Row(metric, "all", None, of(did), *interval, unit, None))
    rows.append(Row("peak_in_use", "all", None, float(did.peak), *NONE, RESOURCE, None))
    for metric, _, above, below, unit in (figures[0], figures[3]):
        shares = (daily(above) / daily(below)).tolist()
        for name, share in zip(sorted(set(names)), shares, strict=True):
            rows.append(Row(metric, "day", name, share, *NONE, unit, None))
    return rows


def _resources(described: pl.DataFrame, pool: Pool, period: Period, now: int) -> list[Row]:
    """How busy each resource of the pool was, where it is known how much there is of it."""
    rows = []
    for column, amount in pool.amounts:
        of_resource = described.with_columns(size=pl.col(column))
        edges = sorted({period.from_time, period.to_time})
        share = performance.utilization(performance.activity(of_resource, amount, edges, now))
        rows.append(Row("utilization", "resource", column, share, *NONE, ONE, None))
    return rows


def _used_by(held: pl.DataFrame, pool: Pool) -> list[Row]:
    """What each user occupied of each resource, where the pool has more than one."""
    rows = []
    for column, amount in pool.amounts:
        area = pl.col("occupancy_s").cast(pl.Int128) * pl.col(column).fill_null(0)  # exact
        used = ended(held).group_by("user").agg(area.sum().alias("area"), pl.len()).sort("user")
        for user, total, count in used.iter_rows():
            share = total / amount / 3600
            rows.append(Row(f"used_{column}", "user", user, share, *NONE, "pool-hours", count))
    return rows


def _nuwt(entities: pl.DataFrame, kind: users.Kind, seed: int, options: Options) -> list[Row]:
    """UWT over users or accounts, and what must stand beside it."""
    spread = users.dispersion(entities, options.keep_single)
    kept = users.counted(entities, options.keep_single)
    resamples = Resamples(kept.height, seed, options.resamples)
    units = np.arange(kept.height)
    nuwt, tuwt, tusa = (
        kept[name].cast(pl.Float64).to_numpy() for name in ("nuwt", "tuwt_s", "tusa")
    )
    order = np.argsort(nuwt, kind="stable")
    q1, median, q3 = resamples.quantiles(
        units[order], nuwt[order], [LOWER_QUARTILE, MEDIAN, UPPER_QUARTILE]
    )
    f, deviation = resamples.spread(units, nuwt)
    figures: list[tuple[str, float | None, Interval, str]] = [
        ("uwt", spread.uwt, resamples.ratio(units, nuwt, np.ones(kept.height)), NUWT),
        ("nuwt_median", spread.median, median, NUWT),
        ("nuwt_q1", spread.lower_quartile, q1, NUWT),
        ("nuwt_q3", spread.upper_quartile, q3, NUWT),
        ("nuwt_pooled", spread.pooled, resamples.ratio(units, tuwt, tusa), NUWT),
        ("nuwt_deviation", spread.deviation, deviation, NUWT),
        ("nuwt_f", spread.f, f, NUWT_SQUARED),
        ("nuwt_entities", float(spread.entities), NONE, f"{kind}s"),
        ("nuwt_single_job", float(spread.single_job), NONE, f"{kind}s"),
        ("nuwt_no_usage", float(spread.no_usage), NONE, f"{kind}s"),
    ]
    attempts = int(kept["attempts"].sum())
    return [
        Row(metric, "entity_kind", kind, value, *interval, unit, attempts)
        for metric, value, interval, unit in figures
    ]
