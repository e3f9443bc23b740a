"""What a workload looks like, and how like its log a model of it is.

Logs are drawn from the model, for as long as its own, and compared with it: what arrives, how
unevenly, and how long it would wait. Waits are those of ``fcfs`` with EASY backfilling for the
log's attempts and for the drawn ones alike, so that both are of the same scheduler.

    variation of gaps   standard deviation by mean of all gaps between arrivals; Poisson: 1
    dispersion of days  variance by mean of the number of arrivals of a day; Poisson: 1

Source: SPEC §8; [B] §3.
"""

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.draws import Drawn, Draws
from audit.metrics.quantiles import MEDIAN, exact_sum, nearest_rank
from audit.metrics.verdicts import Estimate
from audit.report.study.cells import studied
from audit.studies.workload.compute import hyper_exponential, synthetic
from audit.studies.workload.compute.hyper_exponential import FEW
from audit.studies.workload.compute.model import Class, Model, Placed, of_class
from audit.studies.workload.compute.synthetic import starts
from audit.studies.workload.compute.weekly_clock import PARTS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

DRAWN_LOGS: Final = 5
"""So many logs are drawn for the comparison."""
POINTS: Final = 80
"""Of a drawn distribution, at the most."""


class Traits(NamedTuple):
    """What a workload looks like; None where there is nothing to measure."""

    attempts: float
    mean_size: float
    mean_occupancy_s: float
    mean_walltime_s: float | None
    """Of those that have one."""
    load: float
    """Offered load by the capacity."""
    peak: float
    """Share of the arrivals in peak hours, 0 to 1."""
    gap_variation: float | None
    day_dispersion: float
    wait_mean_s: float | None
    """Under ``fcfs`` and EASY, like the next."""
    wait_median_s: float | None


class Span(NamedTuple):
    """A trait over several drawn logs; None where none of them has it."""

    mean: float | None
    least: float | None
    greatest: float | None


class Likeness(NamedTuple):
    """A log beside those drawn from a model of it."""

    of_log: Traits
    drawn: tuple[Traits, ...]

    def span(self, trait: str) -> Span:
        """A trait over what was drawn."""
        values = [value for one in self.drawn if (value := getattr(one, trait)) is not None]
        if not values:
            return Span(None, None, None)
        mean = exact_sum(np.array(values, np.float64)) / len(values)
        return Span(mean, min(values), max(values))


def drawn(model: Model, seed: int) -> tuple[Traits, ...]:
    """What ``DRAWN_LOGS`` logs drawn from a model look like; each has the next seed."""
    return tuple(
        traits(synthetic.draw(model, seed + number), model) for number in range(DRAWN_LOGS)
    )


def traits(attempts: pl.DataFrame, model: Model) -> Traits:
    """What a workload looks like. Attempts larger than the model's capacity have no wait.

    ``attempts`` have ``arrival_time``, ascending, in the days of the model, ``size``,
    ``occupancy_s`` and ``walltime_s``.
    """
    clock = model.clock()
    arrival, size, occupancy = (
        attempts[name].to_numpy() for name in ("arrival_time", "size", "occupancy_s")
    )
    count = len(arrival)
    lasted = float(clock.edges[-1] - clock.edges[0])
    gap = np.diff(arrival).astype(np.float64)
    waits = np.sort(_waits(attempts, model.capacity))
    peak = clock.part_of(arrival) == PARTS.index("peak")
    walltime = attempts["walltime_s"].drop_nulls().to_numpy().astype(np.float64)
    return Traits(
        attempts=float(count),
        mean_size=_mean(size.astype(np.float64)) or 0.0,
        mean_occupancy_s=_mean(occupancy.astype(np.float64)) or 0.0,
        mean_walltime_s=_mean(walltime),
        load=int((size * occupancy).sum()) / (model.capacity * lasted),
        peak=int(peak.sum()) / count if count else 0.0,
        gap_variation=_variation(gap),
        day_dispersion=_dispersion(
            np.bincount(clock.day_of(arrival), minlength=model.days).astype(np.float64)
        ),
        wait_mean_s=_mean(waits),
        wait_median_s=nearest_rank(waits, MEDIAN),
    )


def weekly(arrivals: pl.Series, model: Model) -> Floats:
    """Arrivals (epoch s, in the days of the model) per hour in each hour of the week, (168,).

    The first hour begins on Monday at 0:00 on the clock of the model's zone.
    """
    at = pl.from_epoch(arrivals, "s").dt.replace_time_zone("UTC").dt.convert_time_zone(model.zone)
    hour = ((at.dt.weekday().cast(pl.Int64) - 1) * 24 + at.dt.hour()).to_numpy()
    weekdays = (model.first_day.weekday() + np.arange(model.days)) % 7
    had = np.repeat(np.bincount(weekdays, minlength=7), 24)
    per_hour: Floats = np.bincount(hour, minlength=168) / np.maximum(had, 1)
    return per_hour


def fitted(model: Model) -> tuple[Class, ...]:
    """The classes with enough arrivals to be fitted."""
    return tuple(one for one in model.classes if one.attempts >= FEW)


def distance(placed: Placed, model: Model, draws: Draws) -> Estimate | None:
    """How far gaps between arrivals are from what was fitted to them, on the whole.

    The mean of the classes' Kolmogorov–Smirnov distances, weighted by arrivals, 0 to 1. Resamples
    are of days, as arrivals of a day depend on each other; the fits stay. None where no class has
    enough arrivals to be fitted.
    """
    classes = fitted(model)
    if not classes:
        return None
    weights = draws.of(placed.days).weights.astype(np.float64)
    far, arrivals = np.zeros(len(weights)), np.zeros(len(weights))
    for one in classes:
        attempts = of_class(placed, one.label, one.part)
        gap = attempts["gap_s"].to_numpy()
        edges = hyper_exponential.grid(int(gap.max()))
        place = np.searchsorted(edges, gap, side="right") - 1
        width = len(edges) - 1
        cells = np.bincount(
            attempts["day"].to_numpy() * width + place, minlength=placed.days * width
        )
        counts = weights @ cells.reshape(placed.days, width).astype(np.float64)
        number = counts.sum(axis=1)
        shares = np.cumsum(counts[:, :-1], axis=1) / np.maximum(number, 1.0)[:, None]
        far += number * np.abs(shares - one.gaps.distribution.cdf(edges[1:-1])).max(axis=1)
        arrivals += number
    whole = sum(one.attempts for one in classes)
    value = sum(one.attempts * one.gaps.distance for one in classes) / whole
    if placed.days < 2:
        return Estimate(value, None, None)
    resampled = np.where(arrivals > 0, far / np.maximum(arrivals, 1.0), np.nan)
    return Drawn(value, resampled).estimate()


class Summary(NamedTuple):
    """All attempts of a label, whatever part of the week they arrived in."""

    label: str
    attempts: int
    share: float
    """Of all attempts, 0 to 1."""
    mean_size: float
    mean_occupancy_s: float
    used: float
    """Of all size-seconds of the workload, 0 to 1."""


def summaries(model: Model) -> tuple[Summary, ...]:
    """The labels of a model, in its order; [B] tables 2 and 3."""
    by_label: dict[str, list[Class]] = {}
    for one in model.classes:
        by_label.setdefault(one.label, []).append(one)
    return tuple(_summary(label, of, model.attempts) for label, of in by_label.items())


def _summary(label: str, of: list[Class], attempts: int) -> Summary:
    many = sum(one.attempts for one in of)
    size = sum(one.attempts * one.mean_size for one in of) / many
    occupancy = sum(one.attempts * one.mean_occupancy_s for one in of) / many
    return Summary(label, many, many / attempts, size, occupancy, sum(one.used for one in of))


class Distributions(NamedTuple):
    """Distributions of the gaps between a class's arrivals, at the same lengths."""

    seconds: Floats
    shares: Mapping[str, Floats]
    """Share of the gaps that are at most so long: of the log, and of two fitted distributions."""


def gap_distributions(placed: Placed, of: Class) -> Distributions:
    """How long the gaps between the arrivals of a class are, and what was fitted to them.

    A whole number of seconds in the log stands for half a second more and less.
    """
    gaps = np.sort(of_class(placed, of.label, of.part)["gap_s"].to_numpy())
    at = np.unique(np.round(np.geomspace(1, max(float(gaps[-1]), 2.0), POINTS)))
    law = of.gaps.distribution
    return Distributions(
        at,
        {
            "log": np.searchsorted(gaps, at, side="right") / len(gaps),
            "hyper-exponential": law.cdf(at + 0.5),
            "exponential": 1 - np.exp(-(at + 0.5) / law.mean_s),
        },
    )


def rows(pool: str, model: Model, likeness: Likeness) -> pl.DataFrame:
    """Rows of ``cells.STUDIED``: what each class is, and what was drawn beside the log."""
    rows: list[tuple[object, ...]] = []
    setting = f"classes by {model.by}"
    units = {"attempts": "attempts", "mean_size": model.resource}
    for trait in Traits._fields:
        unit = units.get(trait, "s" if trait.endswith("_s") else "1")
        whole = (getattr(likeness.of_log, trait), None, None)
        for where, figures in (("log", whole), ("drawn from the model", likeness.span(trait))):
            rows.append((pool, setting, trait, "workload", where, *figures, unit, model.attempts))
    for one in model.classes:
        law = one.gaps.distribution
        figures_of = {
            "rate": (one.rate, "attempts/h"),
            "mean_size": (one.mean_size, model.resource),
            "mean_occupancy_s": (one.mean_occupancy_s, "s"),
            "gap_short": (law.short_s, "s"),
            "gap_long": (law.long_s, "s"),
            "gap_share_short": (law.share, "1"),
            "gap_distance": (one.gaps.distance, "1"),
            "gap_distance_exponential": (one.gaps.exponential_distance, "1"),
            "gap_p_value": (one.gaps.p_value, "1"),
        }
        for metric, (value, unit) in figures_of.items():
            key = ("class", f"{one.label}, {one.part}")
            rows.append((pool, setting, metric, *key, value, None, None, unit, one.attempts))
    return studied(rows)


def _waits(attempts: pl.DataFrame, capacity: int) -> Floats:
    fits = attempts.filter(pl.col("size") <= capacity)
    waits: Floats = (starts(fits, capacity) - fits["arrival_time"].to_numpy()).astype(np.float64)
    return waits


def _variation(values: Floats) -> float | None:
    mean = _mean(values)
    return math.sqrt(_variance(values, mean)) / mean if mean else None


def _dispersion(counts: Floats) -> float:
    mean = _mean(counts)
    return _variance(counts, mean) / mean if mean else 0.0


def _variance(values: Floats, mean: float) -> float:
    return exact_sum((values - mean) ** 2) / len(values)


def _mean(values: Floats) -> float | None:
    return exact_sum(values) / len(values) if len(values) else None
