"""Figures with their resamples: what is compared between settings is drawn for all of them alike.

A figure is a ratio of sums over units (users, or days), or is made of such figures. Its resamples
are the same figure of the same draws, so an interval of any difference is one of paired draws.

Source: B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap (1993), §13.3.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from audit.metrics.uncertainty import RESAMPLES, Resamples
from audit.metrics.verdicts import Estimate, of_resamples

Floats = NDArray[np.float64]


class Draws(NamedTuple):
    """How a study draws its resamples."""

    seed: int
    """≥ 0, also of whatever else is random in the study."""
    number: int = RESAMPLES
    """So many resamples; ``uncertainty.resamples`` of the configuration."""

    def of(self, units: int, kind: int = 0) -> Resamples:
        """Resamples of so many units; ``kind``, from 0 on, tells users from days, for example."""
        return Resamples(units, self.seed + kind, self.number)

    def intervals(self, units: str) -> tuple[str, str]:
        """What a page says of its intervals; ``units`` such as ``resamples of users``."""
        return ("Intervals", f"95 %, percentile bootstrap, {self.number:,} {units}, PCG64")


class Drawn(NamedTuple):
    """A figure, and the same figure of each resample; NaN where there is none of it."""

    value: float
    resamples: Floats

    def estimate(self) -> Estimate:
        """With its 95 % interval; without one where hardly a resample has the figure."""
        if np.count_nonzero(~np.isnan(self.resamples)) < 2:
            return Estimate(self.value, None, None)
        return of_resamples(self.value, self.resamples)


def ratio(resamples: Resamples, above: Floats, below: Floats) -> Drawn:
    """Σ above / Σ below over all units, and of each resample of them.

    Args:
        above, below: what each unit adds to the two sums; below ≥ 0. Units that add nothing to
            either have no part in it.
    """
    units = np.flatnonzero((below > 0) | (above != 0))
    total = float(below.sum())
    value = float(above.sum()) / total if total > 0 else float("nan")
    if len(units) < 2:
        return Drawn(value, np.full(len(resamples.weights), np.nan))
    over, under = resamples.sums(units, above[units], below[units])
    ratios = np.full(len(over), np.nan)
    np.divide(over, under, out=ratios, where=under > 0)
    return Drawn(value, ratios)


def combined(figures: Sequence[Drawn], combine: Callable[[Floats], Floats]) -> Drawn:
    """A figure of several figures, resample by resample.

    Args:
        combine: takes an array whose first axis is the k figures, and removes it.
    """
    value = combine(np.array([figure.value for figure in figures]))
    resamples = combine(np.stack([figure.resamples for figure in figures]))
    return Drawn(float(value), np.asarray(resamples))


def difference(one: Drawn, other: Drawn) -> Drawn:
    """one − other."""
    return Drawn(one.value - other.value, one.resamples - other.resamples)
