"""How like its log a workload model is, and whether [B]'s conclusion about arrivals holds on it.

Logs are drawn from the model, for as long as its own, and compared with it: what arrives, how
unevenly, and how long it would wait. Waits are those of ``fcfs`` with EASY backfilling for the
log's attempts and for the drawn ones alike, so that both are of the same scheduler.

    variation of gaps   standard deviation by mean of all gaps between arrivals; Poisson: 1
    dispersion of days  variance by mean of the number of arrivals of a day; Poisson: 1

Of [B] §3.3, "the hyper-exponential distribution is a good match to the measured arrival rate
distribution", two parts are decided, over the classes with enough arrivals to be fitted:

    better   by the likelihood ratio of the two fits, 2 · gain: the exponential distribution is
             refused in a class where it is above 9.21 (χ² of two parameters, 1 %; the true bound
             is smaller, as one of them is at the edge of its range). Yes: in classes with 95 % of
             the arrivals; no: in classes with at most 5 %
    match    the mean distance of the classes, weighted by arrivals, lies below ``MARGIN``, by its
             interval over resampled days
"""

import math
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.quantiles import MEDIAN, exact_sum, nearest_rank
from audit.model import Pool
from audit.studies.cells import studied
from audit.studies.drawn import Drawn, Draws
from audit.studies.verdicts import Estimate, Holds, Verdict, near
from audit.workloads import hyper_exponential, synthetic
from audit.workloads import model as workload_model
from audit.workloads.easy import easy
from audit.workloads.hyper_exponential import FEW
from audit.workloads.model import Class, Model, Placed
from audit.workloads.weekly_clock import PARTS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

DRAWS: Final = 5
"""So many logs are drawn for the comparison."""
MARGIN: Final = 0.1
"""Distributions that are nowhere further apart than this match."""
SOURCE: Final = "[B] §3.3"

_REFUSED: Final = 9.21


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


class Likeness(NamedTuple):
    """A log beside those drawn from a model of it."""

    of_log: Traits
    drawn: tuple[Traits, ...]

    def mean(self, trait: str) -> float | None:
        """Mean of a trait over what was drawn."""
        values = [value for value in self.values(trait) if value is not None]
        return exact_sum(np.array(values, np.float64)) / len(values) if values else None

    def values(self, trait: str) -> list[float | None]:
        """A trait of each drawn log."""
        return [getattr(of, trait) for of in self.drawn]


def of_log(described: pl.DataFrame, pool: Pool, model: Model) -> Traits:
    """What the log's own workload looks like.

    Args:
        described: columns of ``model.DESCRIBED``.
        pool: whose.
        model: of this pool.
    """
    return traits(workload_model.population(described, pool), model)


def drawn(model: Model, seed: int, draws: int = DRAWS) -> tuple[Traits, ...]:
    """What logs drawn from a model look like.

    Args:
        model: of what.
        seed: of the first; the others follow it.
        draws: how many.
    """
    return tuple(traits(synthetic.draw(model, seed + number), model) for number in range(draws))


def traits(attempts: pl.DataFrame, model: Model) -> Traits:
    """What a workload looks like.

    Args:
        attempts: ``arrival_time``, ascending, in the days of the model, ``size``, ``occupancy_s``
            and ``walltime_s``.
        model: its days and its capacity. Attempts larger than that have no wait.
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


def week(arrivals: pl.Series, model: Model) -> Floats:
    """Arrivals per hour in each hour of the week, from Monday 0:00 on the zone's clock, (168,).

    Args:
        arrivals: epoch s, in the days of the model.
        model: its days and zone.
    """
    at = pl.from_epoch(arrivals, "s").dt.replace_time_zone("UTC").dt.convert_time_zone(model.zone)
    hour = ((at.dt.weekday().cast(pl.Int64) - 1) * 24 + at.dt.hour()).to_numpy()
    weekdays = (model.first_day.weekday() + np.arange(model.days)) % 7
    had = np.repeat(np.bincount(weekdays, minlength=7), 24)
    found: Floats = np.bincount(hour, minlength=168) / np.maximum(had, 1)
    return found


def fitted(model: Model) -> tuple[Class, ...]:
    """The classes with enough arrivals to be fitted."""
    return tuple(of for of in model.classes if of.attempts >= FEW)


def distance(placed: Placed, model: Model, draws: Draws) -> Estimate | None:
    """How far gaps between arrivals are from what was fitted to them, on the whole.

    The mean of the classes' Kolmogorov–Smirnov distances, weighted by arrivals, 0 to 1. Resamples
    are of days, as arrivals of a day depend on each other; the fits stay.

    Args:
        placed: the attempts.
        model: made of them.
        draws: the resamples, of days.

    Returns:
        None where no class has enough arrivals to be fitted.
    """
    of = fitted(model)
    if not of:
        return None
    resamples = draws.of(placed.days)
    weights = resamples.weights.astype(np.float64)
    far, many = np.zeros(len(weights)), np.zeros(len(weights))
    for one in of:
        attempts = workload_model.of_class(placed, one.label, one.part)
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
        many += number
    value = sum(one.attempts * one.gaps.distance for one in of) / sum(one.attempts for one in of)
    if placed.days < 2:
        return Estimate(value, None, None)
    return Drawn(value, np.where(many > 0, far / np.maximum(many, 1.0), np.nan)).estimate()


def decide(model: Model, apart: Estimate | None) -> tuple[Verdict, ...]:
    """Whether [B]'s conclusion about arrivals holds; see the module's docstring.

    Args:
        model: of the workload.
        apart: what ``distance`` gave for it.
    """
    return (_better(model), _match(model, apart))


def rows(pool: str, model: Model, likeness: Likeness) -> pl.DataFrame:
    """Rows of ``cells.STUDIED``: what each class is, and what was drawn beside the log."""
    setting = f"classes by {model.by}"
    found: list[tuple[object, ...]] = []
    units = {"attempts": "attempts", "load": "1", "peak": "1"}
    for name in Traits._fields:
        unit = units.get(name, "s" if name.endswith("_s") else "1")
        unit = model.resource if name == "mean_size" else unit
        values = [value for value in likeness.values(name) if value is not None]
        whole = (getattr(likeness.of_log, name), None, None)
        span = (likeness.mean(name), min(values, default=None), max(values, default=None))
        for where, figures in (("log", whole), ("drawn from the model", span)):
            found.append((pool, setting, name, "workload", where, *figures, unit, model.attempts))
    for of in model.classes:
        figures_of = {
            "rate": (of.rate, "attempts/h"),
            "mean_size": (of.mean_size, model.resource),
            "mean_occupancy_s": (of.mean_occupancy_s, "s"),
            "gap_short": (of.gaps.distribution.short_s, "s"),
            "gap_long": (of.gaps.distribution.long_s, "s"),
            "gap_share_short": (of.gaps.distribution.share, "1"),
            "gap_distance": (of.gaps.distance, "1"),
            "gap_distance_exponential": (of.gaps.exponential_distance, "1"),
            "gap_p_value": (of.gaps.p_value, "1"),
        }
        for metric, (value, unit) in figures_of.items():
            key = ("class", f"{of.label}, {of.part}")
            found.append((pool, setting, metric, *key, value, None, None, unit, of.attempts))
    return studied(found)


def _better(model: Model) -> Verdict:
    of = fitted(model)
    whole = sum(one.attempts for one in of)
    refusing = [one for one in of if 2 * one.gaps.gain > _REFUSED]
    inside = sum(one.attempts for one in refusing)
    share = inside / whole if whole else 0.0
    holds = Holds.undecided
    if whole and share >= 0.95:
        holds = Holds.yes
    elif whole and share <= 0.05:
        holds = Holds.no
    return Verdict(
        "gaps between arrivals are hyper-exponential rather than exponential",
        holds,
        f"the likelihood ratio refuses the exponential distribution in {len(refusing)} of "
        f"{len(of)} classes by {model.by}, with {share:.1%} of their arrivals",
        SOURCE,
    )


def _match(model: Model, apart: Estimate | None) -> Verdict:
    claim = "two hyper-exponential phases match the gaps between arrivals"
    if apart is None:
        return Verdict(claim, Holds.undecided, f"no class has {FEW} arrivals", SOURCE)
    of = fitted(model)
    told = sum((one.gaps.p_value or 0.0) < 0.05 for one in of)
    return Verdict(
        claim,
        near(apart, MARGIN),
        f"mean distance of the distributions {apart}, to be below {MARGIN:g}; the bootstrap tells "
        f"{told} of {len(of)} classes by {model.by} from their fits (p < 0.05)",
        SOURCE,
    )


def _waits(attempts: pl.DataFrame, capacity: int) -> Floats:
    fits = attempts.filter(pl.col("size") <= capacity)
    arrival, size, occupancy = (
        fits[name].to_numpy() for name in ("arrival_time", "size", "occupancy_s")
    )
    walltime = fits["walltime_s"].fill_null(fits["occupancy_s"]).to_numpy()
    waits: Floats = (easy(arrival, size, occupancy, walltime, capacity) - arrival).astype(
        np.float64
    )
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
