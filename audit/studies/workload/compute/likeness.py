"""The traits of a workload, how similar a model of it is, and [B]'s conclusion about arrivals.

Logs are drawn from the model, as long as its own log, and compared with it: arrivals, their
variation, and waits under ``fcfs`` with EASY backfilling for both.

    variation of gaps   standard deviation by mean of all gaps between arrivals; Poisson: 1
    dispersion of days  variance by mean of the number of arrivals of a day; Poisson: 1

Of [B] §3.3, "the hyper-exponential distribution is a good match to the measured arrival rate
distribution", two parts are decided, over the classes with enough arrivals to be fitted:

    better   by the likelihood ratio of the two fits, 2 · gain: a class rejects the exponential
             distribution above 9.21 (χ² of two parameters, 1 %; the true bound is smaller, as one
             parameter is at the edge of its range). Yes: classes with 95 % of the arrivals reject
             it; no: classes with at most 5 % do
    match    the mean distance of the classes, weighted by arrivals, is below ``MARGIN``, by its
             interval over resampled days

Source: SPEC §8; [B] §3.
"""

import math
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Floats
from audit.metrics import claims
from audit.metrics.draws import Draws, ResampledFigure
from audit.metrics.quantiles import MEDIAN, exact_mean, exact_sum, nearest_rank
from audit.report.study.cells import studied
from audit.studies.workload.compute import hyper_exponential, synthetic
from audit.studies.workload.compute.classes import PARTS
from audit.studies.workload.compute.hyper_exponential import FEW
from audit.studies.workload.compute.model import Class, ClassifiedAttempts, LogModel, of_class
from audit.studies.workload.compute.synthetic import starts

DRAWN_LOGS: Final = 5
"""Number of logs drawn for the comparison."""
POINTS: Final = 80
"""Greatest number of points of a drawn distribution."""


class Traits(NamedTuple):
    """The traits of a workload; None if there is nothing to measure."""

    attempts: float
    mean_size: float
    mean_occupancy_s: float
    mean_walltime_s: float | None  # of attempts with a walltime
    load: float  # offered load by the capacity
    peak: float  # share of the arrivals in peak hours
    gap_variation: float | None
    day_dispersion: float
    wait_mean_s: float | None  # under ``fcfs`` and EASY, like the next
    wait_median_s: float | None


class Likeness(NamedTuple):
    """A log, and the logs drawn from a model of it."""

    of_log: Traits
    drawn: tuple[Traits, ...]

    def span(self, trait: str) -> tuple[float | None, float | None, float | None]:
        """Return mean, least and greatest of a trait over the drawn logs; None if none has it."""
        values = [value for one in self.drawn if (value := getattr(one, trait)) is not None]
        if not values:
            return None, None, None
        return exact_mean(np.array(values, np.float64)), min(values), max(values)


def drawn(model: LogModel, seed: int) -> tuple[Traits, ...]:
    """Return the traits of ``DRAWN_LOGS`` logs drawn from a model, with consecutive seeds."""
    return tuple(
        traits(synthetic.draw(model, seed + number), model) for number in range(DRAWN_LOGS)
    )


def traits(attempts: pl.DataFrame, model: LogModel) -> Traits:
    """Return the traits of a workload. Attempts larger than the model's capacity have no wait.

    ``attempts`` have ``arrival_time``, ascending, in the days of the model, ``size``,
    ``occupancy_s`` and ``walltime_s``.
    """
    clock = model.clock()
    arrival, size, occupancy = (
        attempts[name].to_numpy() for name in ("arrival_time", "size", "occupancy_s")
    )
    fits = attempts.filter(pl.col("size") <= model.capacity)
    waits = np.sort(starts(fits, model.capacity) - fits["arrival_time"].to_numpy())
    peak = clock.part_of(arrival) == PARTS.index("peak")
    by_day = np.bincount(clock.day_of(arrival), minlength=model.days).astype(np.float64)
    gap, days = np.diff(arrival).astype(np.float64), exact_mean(by_day)
    mean_gap = exact_mean(gap)
    lasted = float(clock.edges[-1] - clock.edges[0])
    return Traits(
        attempts=float(len(arrival)),
        mean_size=exact_mean(size) or 0.0,
        mean_occupancy_s=exact_mean(occupancy) or 0.0,
        mean_walltime_s=exact_mean(attempts["walltime_s"].drop_nulls().to_numpy()),
        load=int((size * occupancy).sum()) / (model.capacity * lasted),
        peak=exact_mean(peak) or 0.0,
        gap_variation=math.sqrt(_variance(gap, mean_gap)) / mean_gap if mean_gap else None,
        day_dispersion=_variance(by_day, days) / days if days else 0.0,
        wait_mean_s=exact_mean(waits),
        wait_median_s=nearest_rank(waits.astype(np.float64), MEDIAN),
    )


def _variance(values: Floats, mean: float) -> float:
    return exact_sum((values - mean) ** 2) / len(values)


def weekly(arrivals: pl.Series, model: LogModel) -> Floats:
    """Return arrivals (epoch s, in the days of the model) per hour of the week, (168,).

    The first hour begins on Monday at 0:00 on the clock of the model's zone.
    """
    at = pl.from_epoch(arrivals, "s").dt.replace_time_zone("UTC").dt.convert_time_zone(model.zone)
    hour = ((at.dt.weekday().cast(pl.Int64) - 1) * 24 + at.dt.hour()).to_numpy()
    weekdays = (model.first_day.weekday() + np.arange(model.days)) % 7
    had = np.repeat(np.bincount(weekdays, minlength=7), 24)
    per_hour: Floats = np.bincount(hour, minlength=168) / np.maximum(had, 1)
    return per_hour


def fitted(model: LogModel) -> tuple[Class, ...]:
    """Return the classes with enough arrivals to be fitted."""
    return tuple(one for one in model.classes if one.attempts >= FEW)


def distance(placed: ClassifiedAttempts, model: LogModel, draws: Draws) -> claims.Estimate | None:
    """Return the mean distance of the gaps between arrivals from their fits.

    The mean of the classes' Kolmogorov–Smirnov distances, weighted by arrivals, 0 to 1. Resamples
    are of days, because arrivals of a day depend on each other. None if no class can be fitted.
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
        width = len(edges) - 1
        place = attempts["day"].to_numpy() * width + np.searchsorted(edges, gap, side="right") - 1
        cells = np.bincount(place, minlength=placed.days * width)
        counts = weights @ cells.reshape(placed.days, width).astype(np.float64)
        number = counts.sum(axis=1)
        shares = np.cumsum(counts[:, :-1], axis=1) / np.maximum(number, 1.0)[:, None]
        far += number * np.abs(shares - one.gaps.distribution.cdf(edges[1:-1])).max(axis=1)
        arrivals += number
    whole = sum(one.attempts for one in classes)
    value = sum(one.attempts * one.gaps.distance for one in classes) / whole
    if placed.days < 2:
        return claims.Estimate(value, None, None)
    resampled = np.where(arrivals > 0, far / np.maximum(arrivals, 1.0), np.nan)
    return ResampledFigure(value, resampled).estimate()


class Summary(NamedTuple):
    """All attempts of a label, in all parts of the week."""

    label: str
    attempts: int
    share: float  # of all attempts
    mean_size: float
    mean_occupancy_s: float
    used: float  # share of all size-seconds of the workload


def summaries(model: LogModel) -> tuple[Summary, ...]:
    """Return the labels of a model, in its order; [B] tables 2 and 3."""
    found = []
    for label in dict.fromkeys(one.label for one in model.classes):
        of = [one for one in model.classes if one.label == label]
        many = sum(one.attempts for one in of)
        size = sum(one.attempts * one.mean_size for one in of) / many
        occupancy = sum(one.attempts * one.mean_occupancy_s for one in of) / many
        used = sum(one.used for one in of)
        found.append(Summary(label, many, many / model.attempts, size, occupancy, used))
    return tuple(found)


def gap_distributions(placed: ClassifiedAttempts, of: Class) -> tuple[Floats, dict[str, Floats]]:
    """Return lengths, s, and the shares of a class's gaps up to each, of the log and as fitted."""
    gaps = np.sort(of_class(placed, of.label, of.part)["gap_s"].to_numpy())
    at = np.unique(np.round(np.geomspace(1, max(float(gaps[-1]), 2.0), POINTS)))
    law = of.gaps.distribution
    return at, {
        "log": np.searchsorted(gaps, at, side="right") / len(gaps),
        "hyper-exponential": law.cdf(at + 0.5),
        "exponential": 1 - np.exp(-(at + 0.5) / law.mean_s),
    }


def rows(pool: str, model: LogModel, likeness: Likeness) -> pl.DataFrame:
    """Return the traits and the classes with the columns of ``cells.STUDIED``."""
    rows: list[tuple[object, ...]] = []
    key = (pool, f"classes by {model.by}")
    units = {"attempts": "attempts", "mean_size": model.resource}
    for trait in Traits._fields:
        unit = units.get(trait, "s" if trait.endswith("_s") else "1")
        whole = (getattr(likeness.of_log, trait), None, None)
        for where, figures in (("log", whole), ("drawn from the model", likeness.span(trait))):
            rows.append((*key, trait, "workload", where, *figures, unit, model.attempts))
    for one in model.classes:
        law, fit = one.gaps.distribution, one.gaps
        label = ("class", f"{one.label}, {one.part}")
        rows += [
            (*key, metric, *label, value, None, None, unit, one.attempts)
            for metric, value, unit in (
                ("rate", one.rate, "attempts/h"),
                ("mean_size", one.mean_size, model.resource),
                ("mean_occupancy_s", one.mean_occupancy_s, "s"),
                ("gap_short", law.short_s, "s"),
                ("gap_long", law.long_s, "s"),
                ("gap_share_short", law.p, "1"),
                ("gap_distance", fit.distance, "1"),
                ("gap_distance_exponential", fit.exponential_distance, "1"),
                ("gap_p_value", fit.p_value, "1"),
            )
        ]
    return studied(rows)


MARGIN: Final = 0.1
"""Greatest distance of matching distributions."""
SOURCE: Final = "[B] §3.3"

_REFUSED: Final = 9.21


def nearly_all(share: claims.Estimate | None) -> claims.ClaimHolds:
    """Return yes from 95 % on, no up to 5 %."""
    if share is None or 0.05 < share.value < 0.95:
        return claims.ClaimHolds.undecided
    return claims.ClaimHolds.yes if share.value >= 0.95 else claims.ClaimHolds.no


def decide(model: LogModel, apart: claims.Estimate | None) -> tuple[claims.ClaimVerdict, ...]:
    """Decide [B]'s conclusion about arrivals; ``apart`` is ``distance``."""
    classes = fitted(model)
    arrivals = sum(one.attempts for one in classes)
    refusing = [one for one in classes if 2 * one.gaps.gain > _REFUSED]
    share = sum(one.attempts for one in refusing) / arrivals if arrivals else 0.0
    better = claims.Comparison(
        "share of the arrivals whose class rejects the exponential distribution",
        claims.Estimate(share, None, None) if arrivals else None,
        claims.Asked("at least 95 %", nearly_all),
    )
    match = claims.Comparison("mean distance of the distributions", apart, claims.within(0, MARGIN))
    unlike = sum((one.gaps.p_value or 0.0) < 0.05 for one in classes)
    return (
        claims.Claim(
            "gaps between arrivals are hyper-exponential rather than exponential", SOURCE, [better]
        ).verdict(
            f"the likelihood ratio rejects the exponential distribution in {len(refusing)} of "
            f"{len(classes)} classes by {model.by}, with {100 * share:.1f} % of their arrivals"
        ),
        claims.Claim(
            "two hyper-exponential phases match the gaps between arrivals", SOURCE, [match]
        ).verdict(
            f"no class has {FEW} arrivals"
            if apart is None
            else f"{match.what} {apart}, required: < {MARGIN:g}; the bootstrap rejects the fits of "
            f"{unlike} of {len(classes)} classes by {model.by} (p < 0.05)"
        ),
    )
