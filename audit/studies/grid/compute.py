"""The policy grid after [S]: how unfair each backfilling and queue order is, at each load.

A part of a log (``parts``) is simulated under every backfilling, queue order and load; and under
FCFS also with exact estimates. Each schedule is measured attempt by attempt: strict and relaxed
misses of fair start times under its own policy, resource equality (RE) and RAQFM. ``grid.claims``
decides [S]'s conclusions. One bootstrap resample of users serves all figures, so that differences
between policies are paired.

Source: SPEC §8; [S] G. Sabin, P. Sadayappan, Unfairness Metrics for Space-Sharing Parallel Job
Schedulers, §§4–5.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit.array_types import Floats, Ints
from audit.metrics.attempts import population
from audit.metrics.attempts.parts import EVERY, Cut, Evaluated, Ratio, coded, number_users
from audit.metrics.attempts.resource_equality import resource_equality
from audit.metrics.claims import Estimate, of_resamples
from audit.metrics.draws import Draws
from audit.metrics.quantiles import nearest_rank, spearman
from audit.metrics.uncertainty import Resamples
from audit.model import Backfill, Order, Policy
from audit.registry.measure import PER_ATTEMPT, SECONDS
from audit.report.study.cells import StudyCell, studied
from audit.scenario.check import check_simulated, require_sound
from audit.scenario.engine import simulate
from audit.scenario.fair_start import fair_start_times
from audit.scenario.scenario import Scenario
from audit.scenario.workload import KEYS
from audit.studies import parts
from audit.studies.parts import NOW, SimulatedPart

LOADS: Final = tuple(Fraction(load) for load in ("0.70", "0.80", "0.90", "0.95", "0.98"))
ORDERS: Final = (Order.fcfs, Order.sjf, Order.lxf)
BACKFILLS: Final = (Backfill.no_guarantee, Backfill.easy, Backfill.conservative)
RESERVING: Final = (Backfill.easy, Backfill.conservative)
"""Backfilling that uses estimates; only these are run with exact estimates."""


class GridMeasure(NamedTuple):
    """A figure of each attempt, ≥ 0."""

    mean: str  # name of the mean over attempts
    unit: str
    title: str = ""


STRICT, RELAXED, RE, RAQFM, WAIT = "strict", "relaxed", "re", "raqfm", "wait"
MEASURES: Final[Mapping[str, GridMeasure]] = {
    STRICT: GridMeasure("miss_strict_mean", SECONDS, "strict FST"),
    RELAXED: GridMeasure("miss_relaxed_mean", SECONDS, "relaxed FST"),
    RE: GridMeasure("re_unfairness", PER_ATTEMPT, "resource equality"),
    RAQFM: GridMeasure("raqfm_unfairness", PER_ATTEMPT, "RAQFM"),
    WAIT: GridMeasure("wait_mean", SECONDS),
}
"""max(start − FST, 0); max(deserved − consumed, 0) with the share by size (RE) or equal for each
job (RAQFM); wait."""
UNFAIRNESS: Final = (STRICT, RELAXED, RE, RAQFM)

SUBSETS: Final = 10
"""Of Table 2: an attempt's subset is its arrival's position modulo this."""


class GridPoint(NamedTuple):
    """A combination that is simulated."""

    load: Fraction
    order: Order
    backfill: Backfill
    exact: bool = False  # with exact estimates instead of the log's own

    @property
    def policy(self) -> Policy:
        """Queue order and backfilling."""
        return Policy(self.order, self.backfill)

    @property
    def name(self) -> str:
        """Such as ``load 0.80, fcfs-easy``."""
        exact = ", exact estimates" if self.exact else ""
        return f"load {load_name(self.load)}, {self.policy.name}{exact}"


def load_name(load: Fraction) -> str:
    """Return a load with at least two decimals, such as ``0.80`` or ``0.955``."""
    digits = f"{float(load):.10f}".rstrip("0")
    return digits.ljust(digits.index(".") + 3, "0")


def points(loads: Sequence[Fraction] = LOADS) -> tuple[GridPoint, ...]:
    """Return the grid, 9 combinations for each load, and FCFS with exact estimates, 2 for each."""
    grid = [
        GridPoint(load, order, fill) for load in loads for order in ORDERS for fill in BACKFILLS
    ]
    return (
        *grid,
        *(GridPoint(load, Order.fcfs, fill, True) for load in loads for fill in RESERVING),
    )


def cells(part: SimulatedPart, loads: Sequence[Fraction] = LOADS) -> list[StudyCell]:
    """Return a cell for each of ``points``, the slowest first."""
    slowest = sorted(
        points(loads), key=lambda of: (of.backfill is Backfill.conservative, of.load), reverse=True
    )
    return [StudyCell(of.name, partial(measure, part, of)) for of in slowest]


def measure(part: SimulatedPart, point: GridPoint) -> pl.DataFrame:
    """Simulate a part at one point of the grid; return ``MEASURES`` of each attempt, in its order.

    Raises UsageError if the part has no load; SimulationError if the schedule fails its check.
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
        strict="miss_strict_s",
        relaxed="miss_relaxed_s",
        re=equal["re_unfairness"].clip(0).fill_null(0.0),
        raqfm=by_job["re_unfairness"].clip(0).fill_null(0.0),
        wait="wait_s",
    )
    keys = part.described.select(KEYS)
    ordered = keys.join(measured, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    return ordered.drop(KEYS)


class Grid(NamedTuple):
    """The results of all points; every array has one element per attempt."""

    part: SimulatedPart
    loads: tuple[Fraction, ...]
    values: Mapping[GridPoint, Mapping[str, Floats]]  # by point and measure
    units: Ints  # number of each attempt's user
    resamples: Resamples  # of the users

    @property
    def size(self) -> Ints:
        """Amount of the counted resource."""
        return parts.arrays(self.part, "size")

    def mean_of(self, metric: str, chosen: Iterable[GridPoint]) -> Floats:
        """Return each attempt's mean over some points."""
        values = [self.values[point][metric] for point in chosen]
        means: Floats = np.sum(values, axis=0) / len(values)
        return means


def grid(
    part: SimulatedPart, loads: Sequence[Fraction], frames: Mapping[str, pl.DataFrame], draws: Draws
) -> Grid:
    """Return the grid of the frames of ``points(loads)``, given by their cells' keys."""
    units = number_users(part.described)["unit"].to_numpy()
    values = {
        of: {name: frames[of.name][name].to_numpy().astype(np.float64) for name in MEASURES}
        for of in points(loads)
    }
    return Grid(part, tuple(loads), values, units, draws.of(int(units.max()) + 1))


# --- figures -------------------------------------------------------------------------------------


def figures(grid: Grid) -> pl.DataFrame:
    """Return the mean of each measure at each point, for all attempts and by width class.

    Columns are ``cells.STUDIED``; the dimension is ``all`` or ``width_class``.
    """
    of_all = coded(grid.part.described, ZoneInfo("UTC"))
    ratios = [Ratio(of.mean, name, "one", of.unit) for name, of in MEASURES.items()]
    terms = {"one": pl.lit(1, pl.Int64), **{name: pl.col(name) for name in MEASURES}}
    rows: list[Sequence[object]] = []
    for point, values in grid.values.items():
        attempts = of_all.attempts.with_columns(pl.Series(name, of) for name, of in values.items())
        counted = Evaluated(of_all._replace(attempts=attempts), terms, EVERY)
        cuts = [Cut(counted, dimension, terms) for dimension in ("all", "width_class")]
        for term, cut in itertools.product(terms, cuts):
            cut.add(term)
        rows += [
            (grid.part.pool.name, point.name, *row)
            for cut in cuts
            for row in cut.rows(cut.ratios(ratios, grid.resamples)).iter_rows()
        ]
    return studied(rows)


Means = Mapping[tuple[str, str | None], Estimate]
"""Means of one point's attempts by measure and width class; None: of all attempts."""


def means(figures: pl.DataFrame) -> dict[str, dict[tuple[str, str | None], Estimate]]:
    """Return ``figures`` by the names of their points."""
    names = {of.mean: name for name, of in MEASURES.items()}
    by_point: dict[str, dict[tuple[str, str | None], Estimate]] = {}
    for setting, name, label, *estimate in figures.select(
        "setting", "metric", "dimension_value", "value", "lower", "upper"
    ).iter_rows():
        by_point.setdefault(setting, {})[names[name], label] = Estimate(*estimate)
    return by_point


def classes(part: SimulatedPart, top: int = population.TOP_WIDTH) -> pl.DataFrame:
    """Return [S] Table 1: the width classes that occur, narrow to wide.

    Columns: width_class, attempts, area (share of all occupied resource-seconds).
    """
    area = pl.col("occupancy_s").cast(pl.Float64) * pl.col("size").fill_null(0)
    counted = part.described.group_by("width_class").agg(attempts=pl.len(), area=area.sum())
    order = pl.DataFrame({"width_class": population.width_classes(top)})
    found = order.join(counted, on="width_class", how="inner", maintain_order="left")
    return found.with_columns(area=pl.col("area") / pl.col("area").sum())


class Correlation(NamedTuple):
    """Spearman's correlation of the rankings of combinations by a subset and by all attempts."""

    metric: str
    subset: int | None  # None: the median of all subsets
    estimate: Estimate | None  # None where a ranking has only ties


def correlations(grid: Grid) -> list[Correlation]:
    """Return [S] Table 2: Spearman's correlation of rankings by a subset and by all attempts.

    Subset k contains the attempts whose position in arrival order is k modulo ``SUBSETS``. Its mean
    unfairness ranks the combinations, with average ranks for ties. Resamples draw the same users
    for subsets and whole.
    """
    own_estimates = [point for point in grid.values if not point.exact]
    resamples = grid.resamples
    place = grid.units * SUBSETS + np.arange(len(grid.units)) % SUBSETS

    def by_user(values: Floats) -> Floats:
        sums = np.bincount(place, values, resamples.units * SUBSETS).astype(np.float64)
        return sums.reshape(-1, SUBSETS).T

    counts = by_user(np.ones(len(grid.units)))
    ranked = []
    for metric in UNFAIRNESS:
        sums = np.concatenate([by_user(grid.values[point][metric]) for point in own_estimates])
        drawn = resamples.sums(np.arange(resamples.units), *counts, *sums)  # terms × resamples
        totals = np.concatenate((counts, sums)).sum(1, keepdims=True)
        values = _subset_correlations(totals, len(own_estimates))[:, 0]
        resampled = _subset_correlations(drawn, len(own_estimates))
        medians = np.array([_median(column) for column in resampled.T])
        ranked += [
            Correlation(
                metric,
                subset,
                None
                if np.isnan(value)
                else Estimate(float(value), None, None)
                if resamples.units < 2
                else of_resamples(float(value), of),
            )
            for subset, value, of in (
                *zip(range(SUBSETS), values, resampled, strict=True),
                (None, _median(values), medians),
            )
        ]
    return ranked


def _subset_correlations(terms: Floats, points: int) -> Floats:
    """Return Spearman's correlation of each subset with all, subsets × resamples.

    ``terms`` has ``SUBSETS`` counts, then the sums of the subsets of each combination, × resamples.
    """
    counts = terms[:SUBSETS]
    sums = terms[SUBSETS:].reshape(points, SUBSETS, -1)
    means = np.full(sums.shape, np.nan)
    np.divide(sums, counts, out=means, where=counts > 0)
    whole = sums.sum(1) / counts.sum(0)
    return np.array([spearman(means[:, k], whole) for k in range(SUBSETS)])


def _median(values: Floats) -> float:
    middle = nearest_rank(np.sort(values[~np.isnan(values)]), 500)
    return np.nan if middle is None else middle
