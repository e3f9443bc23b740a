"""The policy grid after [S]: how unfair each backfilling and queue order is, at each load.

A part of a log (``parts``) is simulated under every backfilling, queue order and load; of each
schedule the strict and relaxed misses of fair start times under its own policy, resource equality
(RE) and RAQFM are measured, attempt by attempt. FCFS is simulated once more with exact estimates.
[S]'s figures 7 to 18 and Tables 1 and 2 follow; what [S] concludes is decided in ``grid.claims``.

All figures are of the same attempts, so that a bootstrap resample of users goes for all of them
alike, and differences between policies are paired.

Source: SPEC §8; [S] G. Sabin, P. Sadayappan, Unfairness Metrics for Space-Sharing Parallel Job
Schedulers, §§4–5.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.attempts import population
from audit.metrics.attempts.parts import Ratio, coded, cut, evaluated, number_users
from audit.metrics.attempts.resource_equality import resource_equality
from audit.metrics.draws import Draws
from audit.metrics.quantiles import nearest_rank, spearman
from audit.metrics.uncertainty import Resamples
from audit.metrics.verdicts import Estimate, of_resamples
from audit.model import Backfill, Order, Policy
from audit.registry.measures import PER_ATTEMPT, SECONDS
from audit.report.study.cells import Cell, studied
from audit.scenario.check import check_simulated, require_sound
from audit.scenario.engine import simulate
from audit.scenario.fair_start import fair_start_times
from audit.scenario.scenario import Scenario
from audit.scenario.workload import KEYS
from audit.studies import parts
from audit.studies.parts import NOW, Part

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LOADS: Final = tuple(Fraction(load) for load in ("0.70", "0.80", "0.90", "0.95", "0.98"))
ORDERS: Final = (Order.fcfs, Order.sjf, Order.lxf)
BACKFILLS: Final = (Backfill.no_guarantee, Backfill.easy, Backfill.conservative)
RESERVING: Final = (Backfill.easy, Backfill.conservative)
"""Backfilling that goes by estimates at all: the others need no run with exact ones."""

STRICT, RELAXED, RE, RAQFM, WAIT = "strict", "relaxed", "re", "raqfm", "wait"
UNFAIRNESS: Final = (STRICT, RELAXED, RE, RAQFM)
"""What is measured of each attempt: max(start − FST, 0) in s, strict and relaxed; max(deserved −
consumed, 0) in resource·s with the share by size (RE) or equal for each job (RAQFM)."""
UNITS: Final[Mapping[str, str]] = {
    **dict.fromkeys((STRICT, RELAXED, WAIT), SECONDS),
    **dict.fromkeys((RE, RAQFM), PER_ATTEMPT),
}
METRICS: Final[Mapping[str, str]] = {
    STRICT: "miss_strict_mean",
    RELAXED: "miss_relaxed_mean",
    RE: "re_unfairness",
    RAQFM: "raqfm_unfairness",
    WAIT: "wait_mean",
}
"""Names of the figures: the mean of each over attempts."""

SUBSETS: Final = 10
"""Of Table 2: an attempt's subset is its arrival's position modulo this."""


class Point(NamedTuple):
    """A combination that is simulated."""

    load: Fraction
    order: Order
    backfill: Backfill
    exact: bool = False
    """With exact estimates instead of the log's own."""

    @property
    def policy(self) -> Policy:
        """How the pool decides."""
        return Policy(self.order, self.backfill)

    @property
    def name(self) -> str:
        """Such as ``load 0.80, fcfs-easy``."""
        return f"load {load_name(self.load)}, {self.policy.name}" + (
            ", exact estimates" if self.exact else ""
        )


def load_name(load: Fraction) -> str:
    """Such as ``0.80`` or ``0.955``: at least two digits, and as many as it needs."""
    digits = f"{float(load):.10f}".rstrip("0")
    return digits.ljust(digits.index(".") + 3, "0")


def points(loads: Sequence[Fraction] = LOADS) -> tuple[Point, ...]:
    """The grid, 9 combinations for each load, and FCFS with exact estimates, 2 for each."""
    grid = [Point(load, order, fill) for load in loads for order in ORDERS for fill in BACKFILLS]
    return (*grid, *(Point(load, Order.fcfs, fill, True) for load in loads for fill in RESERVING))


def cells(part: Part, loads: Sequence[Fraction] = LOADS) -> list[Cell]:
    """A cell for each of ``points``, those that take longest first."""
    longest = sorted(
        points(loads), key=lambda of: (of.backfill is Backfill.conservative, of.load), reverse=True
    )
    return [Cell(of.name, partial(measure, part, of)) for of in longest]


def measure(part: Part, point: Point) -> pl.DataFrame:
    """Simulates a part at one point of the grid.

    Returns:
        One row per attempt, in the order of the part: ``UNFAIRNESS`` and wait, in ``UNITS``; ≥ 0.

    Raises:
        UsageError: the part has no load.
        SimulationError: the schedule fails its check.
    """
    loaded = parts.scaled(part, point.load)
    if point.exact:
        loaded = parts.exact(loaded)
    schedule = simulate(loaded.described, loaded.pool, NOW, point.policy)
    violations = check_simulated(schedule, loaded.described, loaded.pool, NOW)
    require_sound(violations, point.name)
    pool = loaded.pool._replace(policy=point.policy)
    fair = fair_start_times(Scenario(schedule, pool, NOW))
    equal = resource_equality(fair, NOW, "size")
    by_job = resource_equality(fair.select(schedule.columns), NOW, "jobs")
    measured = fair.select(
        *KEYS,
        strict=pl.col("miss_strict_s"),
        relaxed=pl.col("miss_relaxed_s"),
        re=equal["re_unfairness"].clip(0).fill_null(0.0),
        raqfm=by_job["re_unfairness"].clip(0).fill_null(0.0),
        wait=pl.col("wait_s"),
    )
    ordered = part.described.select(KEYS).join(
        measured, on=KEYS, how="left", nulls_equal=True, maintain_order="left"
    )
    return ordered.drop(KEYS)


class Grid(NamedTuple):
    """What the grid came to: one element per attempt in every array."""

    part: Part
    loads: tuple[Fraction, ...]
    values: Mapping[Point, Mapping[str, Floats]]
    """By point and metric, in ``UNITS``, ≥ 0."""
    units: Ints
    """The number of each attempt's user."""
    resamples: Resamples
    """Of the users."""

    @property
    def size(self) -> Ints:
        """Amount of the counted resource."""
        return parts.arrays(self.part, "size")

    def mean_of(self, metric: str, chosen: Iterable[Point]) -> Floats:
        """Each attempt's mean over some points."""
        values = [self.values[point][metric] for point in chosen]
        means: Floats = np.sum(values, axis=0) / len(values)
        return means


def grid(
    part: Part,
    loads: Sequence[Fraction],
    frames: Mapping[str, pl.DataFrame],
    draws: Draws,
) -> Grid:
    """Put together what ``measure`` gave for ``points(loads)``; ``frames`` are by cells' keys."""
    units = number_users(part.described)["unit"].to_numpy()
    return Grid(
        part,
        tuple(loads),
        {
            of: {
                name: frames[of.name][name].to_numpy().astype(np.float64)
                for name in (*UNFAIRNESS, WAIT)
            }
            for of in points(loads)
        },
        units,
        draws.of(int(units.max()) + 1),
    )


# --- figures -------------------------------------------------------------------------------------


def figures(grid: Grid) -> pl.DataFrame:
    """The mean of each metric at each point: overall, and by width class.

    Returns:
        Rows of ``cells.STUDIED``; dimension is ``all`` or ``width_class``.
    """
    numbered = coded(number_users(grid.part.described), ZoneInfo("UTC"))
    ratios = [Ratio(METRICS[name], name, "one", UNITS[name]) for name in (*UNFAIRNESS, WAIT)]
    rows: list[Sequence[object]] = []
    for point, values in grid.values.items():
        attempts = numbered.with_columns(pl.Series(name, of) for name, of in values.items())
        terms = {"one": pl.lit(1, pl.Int64), **{name: pl.col(name) for name in values}}
        counted = evaluated(attempts, terms, pl.lit(True))
        for dimension in ("all", "width_class"):
            for part in cut(counted, dimension):
                rows += [
                    (grid.part.pool.name, point.name, *row)
                    for row in part.ratios(ratios, grid.resamples)
                ]
    return studied(rows)


Means = Mapping[tuple[str, str | None], Estimate]
"""Means of one point's attempts, in ``UNITS``, by metric and width class; None: of all attempts."""


def means(figures: pl.DataFrame) -> dict[str, dict[tuple[str, str | None], Estimate]]:
    """Return ``figures`` by the names of their points."""
    names = {figure: metric for metric, figure in METRICS.items()}
    by_point: dict[str, dict[tuple[str, str | None], Estimate]] = {}
    for setting, name, label, *estimate in figures.select(
        "setting", "metric", "dimension_value", "value", "lower", "upper"
    ).iter_rows():
        by_point.setdefault(setting, {})[names[name], label] = Estimate(*estimate)
    return by_point


def classes(part: Part, top: int = population.TOP_WIDTH) -> pl.DataFrame:
    """[S] Table 1: how many attempts of each width.

    Returns:
        width_class, from narrow to wide, those without attempts left out between; attempts; area,
        the class's share of all occupied resource-seconds.
    """
    area = pl.col("occupancy_s").cast(pl.Float64) * pl.col("size").fill_null(0)
    counted = part.described.group_by("width_class").agg(attempts=pl.len(), area=area.sum())
    order = pl.DataFrame({"width_class": population.width_classes(top)}).with_row_index("place")
    return (
        order.join(counted, on="width_class", how="inner")
        .sort("place")
        .select("width_class", "attempts", area=pl.col("area") / pl.col("area").sum())
    )


class Correlation(NamedTuple):
    """How alike two rankings of all combinations are: that by a subset, and that by all."""

    metric: str
    subset: int | None
    """None: the median of all subsets."""
    estimate: Estimate | None
    """Spearman's, in [−1, 1]; None where either ranks nothing."""


def correlations(grid: Grid) -> list[Correlation]:
    """[S] Table 2: do subsets of the attempts rank the combinations as all of them do?

    Subset k holds the attempts whose position in arrival order is k modulo ``SUBSETS``. Within the
    whole simulation its mean unfairness ranks the combinations of the grid; the ranking by all
    attempts is compared with it by Spearman's correlation, with average ranks for ties. A resample
    draws users for subsets and whole alike.
    """
    own_estimates = [point for point in grid.values if not point.exact]
    resamples = grid.resamples
    users = np.arange(resamples.units)
    # the place of each attempt among the sums of each subset by user
    place = grid.units * SUBSETS + np.arange(len(grid.units)) % SUBSETS

    def by_user(values: Floats) -> Floats:
        sums = np.bincount(place, values, resamples.units * SUBSETS).astype(np.float64)
        return sums.reshape(-1, SUBSETS).T

    counts = by_user(np.ones(len(grid.units)))
    ranked = []
    for metric in UNFAIRNESS:
        sums = np.concatenate([by_user(grid.values[point][metric]) for point in own_estimates])
        drawn = resamples.sums(users, *counts, *sums)  # terms × resamples
        totals = np.concatenate((counts, sums)).sum(1, keepdims=True)
        values = _subset_correlations(totals, len(own_estimates))[:, 0]
        resampled = _subset_correlations(drawn, len(own_estimates))
        for subset, value in enumerate(values.tolist()):
            ranked.append(Correlation(metric, subset, _estimate(grid, value, resampled[subset])))
        medians = np.array([_median(column) for column in resampled.T])
        ranked.append(Correlation(metric, None, _estimate(grid, _median(values), medians)))
    return ranked


def _subset_correlations(terms: Floats, points: int) -> Floats:
    """Spearman's correlation of each subset with all; NaN where either ranks nothing.

    Args:
        terms: ``SUBSETS`` counts, then the sums of each combination's subsets; columns are
            resamples.
        points: how many combinations.

    Returns:
        Subsets × resamples.
    """
    counts = terms[:SUBSETS]
    sums = terms[SUBSETS:].reshape(points, SUBSETS, -1)
    means = np.full(sums.shape, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    whole = sums.sum(1) / counts.sum(0)
    return np.array([spearman(means[:, k], whole) for k in range(SUBSETS)])


def _median(values: Floats) -> float:
    """Nearest-rank, of those that are known."""
    known = np.sort(values[~np.isnan(values)])
    middle = nearest_rank(known, 500)
    return np.nan if middle is None else middle


def _estimate(grid: Grid, value: float, drawn: Floats) -> Estimate | None:
    if np.isnan(value):
        return None
    if grid.resamples.units < 2:
        return Estimate(value, None, None)
    return of_resamples(value, drawn)
