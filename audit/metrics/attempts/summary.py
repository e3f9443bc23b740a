"""All figures of one pool and period, as rows of the view ``summary``.

A row has a metric, the part of the population that it describes (``dimension`` and
``dimension_value``), its value with a 95 % bootstrap interval where SPEC §5 names a unit to
resample, its unit, and the number of attempts. Figures of the whole population that are undefined
(no attempt, 0/0) are null, never left out. Times are in s; "resource" is the pool's counted
resource.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import polars.selectors as cs

from audit.array_types import Floats, Ints
from audit.metrics import dominant_share, uncertainty
from audit.metrics.attempts import figures, passed_over, performance, users
from audit.metrics.attempts.contention import counted_resources
from audit.metrics.attempts.miss import TOLERANCE_S
from audit.metrics.attempts.parts import SUMMARY_SCHEMA, SummaryRow, coded, row
from audit.metrics.attempts.performance import Activity
from audit.metrics.attempts.population import gave_up_total, in_period, occupied, unplannable
from audit.metrics.attempts.resource_equality import conservation
from audit.metrics.attempts.similar import of_similar
from audit.metrics.nodes import GUESSED, Guesses
from audit.metrics.quantiles import LOWER_QUARTILE, MEDIAN, UPPER_QUARTILE
from audit.metrics.uncertainty import NONE, Interval, Resamples
from audit.model import Period, Pool, Standing
from audit.periods import day_edges, day_of
from audit.words import AMOUNTS

KINDS: Final[tuple[users.Kind, ...]] = ("user", "account")


class SummaryOptions(NamedTuple):
    """Choices that SPEC leaves open, with its defaults."""

    keep_single: bool = False  # keep users with one started job in UWT and related figures
    count_never_started: bool = False
    """Count attempts that never started as active while they were queued (resource equality)."""
    resamples: int = uncertainty.RESAMPLES  # resamples of the bootstrap
    tolerance_s: int = TOLERANCE_S
    """Greatest delay of a start behind its fair start time that is not a miss, s, ≥ 0."""
    covered: tuple[int, int] | None = None
    """The part of the period that the log covers, epoch s, over which integrals are taken. None:
    all of it."""


DEFAULTS: Final = SummaryOptions()


OVERDUE_S: Final = 86_400
"""Time after its walltime from which on the end of a running attempt is probably missing."""


class EarlierResults(NamedTuple):
    """Results that were computed before."""

    entities: Mapping[users.Kind, pl.DataFrame]  # of ``users.by_entities``, for the period
    conserved: SummaryRow  # of ``conservation_of``, for all attempts of the pool
    passed: pl.DataFrame  # of ``passed_over.of_period``
    guessed: Guesses | None = None  # of ``account.Account``


def summarise(
    described: pl.DataFrame,
    pool: Pool,
    period: Period,
    now: int,
    zone: ZoneInfo,
    seed: int,
    options: SummaryOptions = DEFAULTS,
    *,
    known: EarlierResults | None = None,
) -> pl.DataFrame:
    """Return all figures of ``pool`` in ``period``.

    Args:
        described: *all* attempts of the pool, or with ``known`` those ``population.around`` the
            period; with the columns of ``resource_equality`` and ``overtakes``. Figures of waits,
            similar jobs and fair start times need the columns of ``account``,
            ``similar_waits``, and ``miss.misses`` and fst_status, and are left out without them.
        zone: the cluster's, for days and hours of the week.
        seed: of the bootstrap, ≥ 0, derived from the run's inputs.

    Returns:
        Columns of ``SUMMARY_SCHEMA``; the order of rows is part of the result.
    """
    held = performance.array_spans(in_period(described, period))
    rows = [*_counts(held, pool), *_overdue(described, min(now, period.to_time)), *_gave_up(held)]
    span = options.covered or (period.from_time, period.to_time)
    rows.append(row("capacity", "all", None, float(pool.capacity_at(span[1] - 1)), None))
    rows += _activity(described, pool, span, now, zone, seed, options)
    if len(_amounts(pool)) > 1:
        rows += _resources(described, pool, span, now)
        rows += _used_by(held, pool)
    made = [_frame(rows), _of_parts(held, zone, seed, options)]
    rows = [known.conserved if known else conservation_of(described, now, options)]
    rows += of_similar(described, period, zone, seed, options.resamples)
    if known and known.guessed is not None:
        rows += [
            row(name, "all", None, value, described.height)
            for name, value in zip(GUESSED, known.guessed, strict=True)
        ]
    passed = known.passed if known else passed_over.of_period(described, pool, period, zone)
    rows += passed_over.rows(passed)
    for kind in KINDS:
        of_kind = (
            known.entities[kind]
            if known
            else dominant_share.beside(
                users.by_entity(held, kind), kind, described, pool, span, now
            )[0]
        )
        rows += _nuwt(of_kind, kind, seed, options)
        rows += [
            row("share_deficit", kind, name, deficit, attempts)
            for name, deficit, attempts in of_kind.select(
                "entity", dominant_share.COLUMN, "attempts"
            ).iter_rows()
            if deficit is not None
        ]
    return pl.concat([*made, _frame(rows)])


def _frame(rows: list[SummaryRow]) -> pl.DataFrame:
    return pl.DataFrame(rows, SUMMARY_SCHEMA, orient="row")


def _of_parts(
    held: pl.DataFrame, zone: ZoneInfo, seed: int, options: SummaryOptions
) -> pl.DataFrame:
    """Return the figures of ended attempts, in all and by dimension."""
    used = held.select(cs.by_name(*figures.read(), require_all=False))
    of_ended = coded(used, zone, pl.col("standing") == Standing.ENDED)
    drawn = figures.DrawnUnits.of(of_ended, seed, options.resamples)
    return figures.of_parts(of_ended, drawn, options.tolerance_s)


def conservation_of(
    described: pl.DataFrame, now: int, options: SummaryOptions = DEFAULTS
) -> SummaryRow:
    """Return the row about the conservation of resource equality over all attempts of a pool."""
    value = conservation(described, now, options.count_never_started)
    return row("re_conservation", "all", None, value, described.height)


def _counts(held: pl.DataFrame, pool: Pool) -> list[SummaryRow]:
    """Return numbers of attempts and users, and of values that the log leaves unknown."""

    def standing(name: Standing) -> pl.Expr:
        return pl.col("standing") == name

    subject = standing(Standing.ENDED)
    never, undated = standing(Standing.NEVER_STARTED), standing(Standing.ARRIVAL_UNKNOWN)
    first = (held["attempt"] == 1).all()
    belonging = held.select("user", "standing").filter(subject | never | undated)
    numbers = held.select(
        attempts=subject.sum(),
        # a job has one first attempt
        jobs=subject.sum() if first else pl.col("job_id").filter(subject).n_unique(),
        running=standing(Standing.RUNNING).sum(),
        pending=standing(Standing.PENDING).sum(),
        start_unknown=standing(Standing.START_UNKNOWN).sum(),
        arrival_unknown=(pl.col("arrival_time").is_null()).sum(),
        arrivals_clipped=pl.col("arrival_clipped").sum(),
        size_unknown=pl.col("size").null_count(),
        exceeds_capacity=(pl.col("size") > pool.largest).sum(),
        walltime_unknown=(subject & pl.col("walltime_s").is_null()).sum(),
        over_requested_walltime=(subject & (pl.col("occupancy_s") > pl.col("walltime_s"))).sum(),
    ).row(0, named=True)
    rows = [row(metric, "all", None, number, held.height) for metric, number in numbers.items()]
    if left_out := held.select(unplannable().sum()).item():
        rows.append(row("pending_left_out", "all", None, left_out, held.height))
    named = float(belonging["user"].drop_nulls().n_unique())
    return [*rows, row("users", "all", None, named, belonging.height)]


def _overdue(described: pl.DataFrame, until: int) -> list[SummaryRow]:
    """Return the number of attempts whose end is probably missing, if there are any."""
    due = pl.col("start_time") + pl.col("walltime_s") + OVERDUE_S
    running = pl.col("standing") == Standing.RUNNING
    number = described.select((running & (due < until)).sum()).item()
    return [row("overdue", "all", None, number, described.height)] if number else []


def _gave_up(held: pl.DataFrame) -> list[SummaryRow]:
    """Return the number and waits of attempts that never started, in all and by account."""
    left = held.filter(pl.col("standing") == Standing.NEVER_STARTED)
    numbers = [pl.len().cast(pl.Int64).alias("never_started"), gave_up_total().alias("waited")]
    found = dict(left.group_by("account").agg(number=pl.struct(numbers)).iter_rows())
    none = {"never_started": 0, "waited": 0}
    rows = []
    for dimension, value, of in [
        ("all", None, left.select(numbers).row(0, named=True)),
        *(("account", name, found.get(name, none)) for name in held["account"].unique().sort()),
    ]:
        number = of["never_started"]
        rows += [
            row("never_started", dimension, value, number, number),
            row("gave_up_wait_s", dimension, value, of["waited"], number),
        ]
    return rows


_OF_USE: Final = (
    "utilization",
    "loss_of_capacity",
    "over_capacity_time",
    "queued_mean",
    "peak_in_use",
)
"""Figures that are unknown if no start is known."""


def _activity(
    described: pl.DataFrame,
    pool: Pool,
    span: tuple[int, int],
    now: int,
    zone: ZoneInfo,
    seed: int,
    options: SummaryOptions,
) -> list[SummaryRow]:
    """Return the activity of the pool in ``span``, in all and by day.

    The queue is unknown if no started attempt has a known arrival, and the use of the pool too if
    attempts ran and no start is known.
    """
    ran = (described["standing"] == Standing.START_UNKNOWN).any()
    if ran and described["start_time"].is_null().all():
        rows = [row(name, "all", None, None, None) for name in _OF_USE]
        return [*rows, row("covered_time", "all", None, float(span[1] - span[0]), None)]
    edges = day_edges(*span, zone)
    steps = [s.since for s in pool.changes if span[0] < s.since < span[1]]
    edges = sorted({*edges, *steps})
    had = [pool.capacity_at(begin) for begin in edges[:-1]]
    did = performance.activity(described, had or pool.capacity, edges, now)
    names = [day_of(begin, zone).isoformat() for begin in edges[:-1]]
    _, day = np.unique(names, return_inverse=True)
    days = np.arange(day.max(initial=-1) + 1)

    def daily(amounts: Ints | Floats) -> Floats:
        return np.bincount(day, amounts.astype(np.float64), len(days)).astype(np.float64)

    resamples = Resamples(len(days), seed, options.resamples)
    capable = did.capacity * did.seconds
    lost = did.lost * (pool.capacity / did.capacity)
    measured: list[tuple[str, Callable[[Activity], float | None], Ints | Floats, Ints]] = [
        ("utilization", performance.utilization, did.used, capable),
        ("loss_of_capacity", performance.loss_of_capacity, lost, pool.capacity * did.seconds),
        ("over_capacity_time", performance.over_capacity_time, did.over, did.seconds),
        ("queued_mean", performance.queued_mean, did.queued, did.seconds),
    ]
    queue_unknown = bool((described["standing"] == Standing.ARRIVAL_UNKNOWN).any()) and not bool(
        (described["start_time"].is_not_null() & described["arrival_time"].is_not_null()).any()
    )
    by_day = [measured[0], measured[3]]
    rows = []
    if queue_unknown:
        rows += [row(name, "all", None, None, None) for name in ("loss_of_capacity", "queued_mean")]
        measured, by_day = [measured[0], measured[2]], [measured[0]]
    for metric, measure, above, below in measured:
        interval = resamples.ratio(days, daily(above), daily(below))
        rows.append(row(metric, "all", None, measure(did), None, interval))
    rows.append(row("peak_in_use", "all", None, float(did.peak), None))
    rows.append(row("covered_time", "all", None, float(span[1] - span[0]), None))
    for metric, _, above, below in by_day:
        shares = (daily(above) / daily(below)).tolist()
        for name, share in zip(sorted(set(names)), shares, strict=True):
            rows.append(row(metric, "day", name, share, None))
    return rows


def _amounts(pool: Pool) -> list[tuple[str, int]]:
    """Return the amounts that limit jobs; the number of nodes does not where jobs share them."""
    counted = counted_resources(pool)
    return [(name, amount) for name, amount in pool.amounts if name in counted]


def _resources(
    described: pl.DataFrame, pool: Pool, span: tuple[int, int], now: int
) -> list[SummaryRow]:
    rows = []
    for column, amount in _amounts(pool):
        of_resource = described.with_columns(size=pl.col(column))
        edges = sorted(set(span))
        share = performance.utilization(performance.activity(of_resource, amount, edges, now))
        rows.append(row("utilization", "resource", column, share, None))
    return rows


def _used_by(held: pl.DataFrame, pool: Pool) -> list[SummaryRow]:
    """Return the use of each resource by each user, in pool-hours."""
    rows = []
    for column, amount in _amounts(pool):
        if column not in AMOUNTS:  # users have the GPUs of all types
            continue
        area = pl.col("occupancy_s").cast(pl.Int128) * pl.col(column).fill_null(0)  # exact
        by_user = held.filter(occupied()).group_by("user").agg(area.sum().alias("area"), pl.len())
        for user, total, count in by_user.sort("user").iter_rows():
            share = total / amount / 3600
            rows.append(row(f"used_{column}", "user", user, share, count))
    return rows


def _nuwt(
    entities: pl.DataFrame, kind: users.Kind, seed: int, options: SummaryOptions
) -> list[SummaryRow]:
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
    measured: list[tuple[str, float | None, Interval]] = [
        ("uwt", spread.uwt, resamples.ratio(units, nuwt, np.ones(kept.height))),
        ("nuwt_median", spread.median, median),
        ("nuwt_q1", spread.lower_quartile, q1),
        ("nuwt_q3", spread.upper_quartile, q3),
        ("nuwt_pooled", spread.pooled, resamples.ratio(units, tuwt, tusa)),
        ("nuwt_deviation", spread.deviation, deviation),
        ("nuwt_f", spread.f, f),
        ("jain_stretch", users.jain(entities), NONE),
        ("nuwt_entities", float(spread.entities), NONE),
        ("nuwt_single_job", float(spread.single_job), NONE),
        ("nuwt_no_usage", float(spread.no_usage), NONE),
    ]
    attempts = int(kept["attempts"].sum())
    return [
        row(metric, "entity_kind", kind, value, attempts, interval)
        for metric, value, interval in measured
    ]
