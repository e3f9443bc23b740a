"""All figures of one pool and period, as rows of the view ``summary``.

A row is a metric, the part of the population it is of (``dimension`` and ``dimension_value``), its
value with a 95 % bootstrap interval where SPEC §5 names a unit to resample, its unit, and the
number of attempts it is of. Figures that cannot be given (no attempt, 0/0) are null, never left out
for the whole population. Times in s; "resource" stands for the pool's counted resource.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics import performance, uncertainty, users
from audit.metrics.performance import Activity
from audit.metrics.population import ended, gave_up_wait, in_period
from audit.metrics.quantiles import (
    LOWER_QUARTILE,
    MEDIAN,
    P90,
    P99,
    UPPER_QUARTILE,
    exact_sum,
    nearest_rank,
)
from audit.metrics.resource_equality import conservation
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
VALUES: Final = ("wait_s", "bounded_slowdown", "overtaken_by", "re_unfairness", "re_consumed")

SECONDS, ONE, ATTEMPTS, JOBS, USERS = "s", "1", "attempts", "jobs", "users"
RESOURCE = "resource"
PER_ATTEMPT = "resource·s/attempt"
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


DEFAULTS: Final = Options()


class Row(NamedTuple):
    """One row of the summary; fields as ``SUMMARY_SCHEMA``."""

    metric: str
    dimension: str
    dimension_value: str | None
    value: float | None
    lower: float | None
    upper: float | None
    unit: str
    attempts: int | None


class Part(NamedTuple):
    """The ended attempts that a figure is of: all, or those of one dimension value."""

    dimension: str
    value: str | None
    columns: dict[str, Floats]
    units: Ints  # the number of each attempt's user
    present: Ints  # the users that occur
    unit_of: Ints  # the index in ``present`` of each attempt's user

    def row(self, metric: str, value: float | None, interval: Interval, unit: str) -> Row:
        """A row about this part."""
        return Row(metric, self.dimension, self.value, value, *interval, unit, len(self.units))

    def ratio(
        self, metric: str, above: Floats, below: Floats, unit: str, resamples: Resamples
    ) -> Row:
        """The row of Σ above / Σ below, with its interval; null for 0/0."""
        total = exact_sum(below)
        sums = [np.bincount(self.unit_of, each).astype(np.float64) for each in (above, below)]
        interval = resamples.ratio(self.present, *sums)
        return self.row(metric, exact_sum(above) / total if total > 0 else None, interval, unit)

    def mean(self, metric: str, values: Floats, unit: str, resamples: Resamples) -> Row:
        """The row of the values' mean, with its interval."""
        return self.ratio(metric, values, np.ones(len(values)), unit, resamples)

    def quantiles(
        self, metrics: dict[str, int], column: str, unit: str, resamples: Resamples
    ) -> list[Row]:
        """Rows of quantiles (metric → thousandths, ascending), with their intervals."""
        order = np.argsort(self.columns[column], kind="stable")
        values = self.columns[column][order]
        intervals = resamples.quantiles(self.units[order], values, list(metrics.values()))
        return [
            self.row(metric, nearest_rank(values, thousandths), interval, unit)
            for (metric, thousandths), interval in zip(metrics.items(), intervals, strict=True)
        ]


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
            ``overtakes`` add.
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
    numbered = _number_users(subjects)
    resamples = Resamples(numbered["unit"].n_unique(), seed, options.resamples)
    rows = _counts(held, pool)
    rows += _gave_up(held)
    rows += _activity(described, pool, period, now, zone, seed, options)
    if len(pool.amounts) > 1:
        rows += _resources(described, pool, period, now)
        rows += _used_by(held, pool)
    for dimension, measures in MEASURED.items():
        for part in _parts(numbered, dimension, zone):
            for measure in measures:
                rows += measure(part, resamples)
    conserved = conservation(described, now, options.count_never_started)
    rows.append(Row("re_conservation", "all", None, conserved, *NONE, ONE, described.height))
    for kind in KINDS:
        rows += _nuwt(users.by_entity(held, kind), kind, seed, options)
    return pl.DataFrame(rows, schema=SUMMARY_SCHEMA, orient="row")


def _number_users(subjects: pl.DataFrame) -> pl.DataFrame:
    """Adds ``unit``: users numbered by first appearance, so that a name changes no interval.

    Only what ``_parts`` needs is kept.
    """
    found = subjects.select("user").unique(maintain_order=True).with_row_index("unit")
    needed = ("user", "account", "width_class", "size", "arrival_time", *VALUES)
    return subjects.select(needed).join(found, on="user", nulls_equal=True, maintain_order="left")


def _parts(numbered: pl.DataFrame, dimension: str, zone: ZoneInfo) -> Iterator[Part]:
    """Cuts the subjects along ``dimension``, in the order of its values; null first.

    ``all`` is one part, also where it is empty.
    """
    if dimension == "all":
        key, order = pl.lit(None, pl.Int64), pl.lit(0)
    elif dimension == "hour_of_week":
        key = order = _hour_of_week(zone)
    else:
        key = pl.col(dimension)
        order = pl.col("size") if dimension == "width_class" else key
    ordered = (
        numbered.select("unit", *VALUES, part=key, order=order)
        .sort("order", maintain_order=True)
        .drop("order")
    )
    lengths = ordered["part"].rle().struct.unnest() if ordered.height else None
    if lengths is None:
        lengths = pl.DataFrame({"len": [0] * (dimension == "all"), "value": None})
    begin = 0
    for length, value in lengths.select("len", "value").rows():
        rows = ordered.slice(begin, length)
        units = rows["unit"].cast(pl.Int64).to_numpy()
        present, unit_of = np.unique(units, return_inverse=True)
        yield Part(
            dimension,
            None if value is None else str(value),
            {name: rows[name].cast(pl.Float64).to_numpy() for name in VALUES},
            units,
            present,
            unit_of,
        )
        begin += length


def _hour_of_week(zone: ZoneInfo) -> pl.Expr:
    """Hours since Monday 00:00 on the cluster's clock, 0 … 167, of the arrival."""
    arrived = pl.from_epoch("arrival_time", time_unit="s").dt.replace_time_zone("UTC")
    local = arrived.dt.convert_time_zone(zone.key)
    return (local.dt.weekday().cast(pl.Int64) - 1) * 24 + local.dt.hour()


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


def _waits(part: Part, resamples: Resamples) -> list[Row]:
    quantiles = {"wait_median": MEDIAN, "wait_p90": P90, "wait_p99": P99}
    waits = part.columns["wait_s"]
    longest = float(waits.max()) if len(waits) else None
    return [
        part.mean("wait_mean", waits, SECONDS, resamples),
        *part.quantiles(quantiles, "wait_s", SECONDS, resamples),
        part.row("wait_max", longest, NONE, SECONDS),
    ]


def _mean_wait(part: Part, resamples: Resamples) -> list[Row]:
    return [part.mean("wait_mean", part.columns["wait_s"], SECONDS, resamples)]


def _slowdowns(part: Part, resamples: Resamples) -> list[Row]:
    quantiles = {"bounded_slowdown_median": MEDIAN, "bounded_slowdown_p90": P90}
    slowdowns = part.columns["bounded_slowdown"]
    return [
        part.mean("bounded_slowdown_mean", slowdowns, ONE, resamples),
        *part.quantiles(quantiles, "bounded_slowdown", ONE, resamples),
    ]


def _overtakes(part: Part, resamples: Resamples) -> list[Row]:
    by = part.columns["overtaken_by"]
    return [
        part.mean("overtaken_share", (by > 0).astype(np.float64), ONE, resamples),
        part.mean("overtaken_by_mean", by, ATTEMPTS, resamples),
    ]


def _unfairness(part: Part, resamples: Resamples) -> list[Row]:
    net, consumed = part.columns["re_unfairness"], part.columns["re_consumed"]
    unfair = np.maximum(net, 0.0)
    treated = (net > 0).astype(np.float64)
    return [
        part.mean("re_unfairness", unfair, PER_ATTEMPT, resamples),
        part.ratio("re_unfairness_share", unfair, consumed, ONE, resamples),
        part.mean("re_treated_unfairly_share", treated, ONE, resamples),
        part.mean("re_unfairness_net", net, PER_ATTEMPT, resamples),
    ]


MEASURED: Final[dict[str, tuple[Callable[[Part, Resamples], list[Row]], ...]]] = {
    "all": (_waits, _slowdowns, _overtakes, _unfairness),
    "width_class": (_waits, _slowdowns, _overtakes, _unfairness),
    "user": (_unfairness,),
    "account": (_waits, _unfairness),
    "hour_of_week": (_mean_wait,),
}
"""What is measured of each part, by dimension."""


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
    steps = [since for since, _ in pool.steps if period.from_time < since < period.to_time]
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
