"""Figures with their resamples, so that compared figures use the same draws.

A figure is a ratio of sums over units (users or days), or a combination of such figures. Its
resamples are the same figure of the same draws, so the interval of a difference is paired.

Source: B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap (1993), §13.3.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from audit.array_types import Floats
from audit.metrics.claims import Estimate, of_resamples
from audit.metrics.uncertainty import RESAMPLES, Resamples


class Draws(NamedTuple):
    """The parameters of a study's resamples."""

    seed: int  # ≥ 0, also used for everything else that is random in the study
    number: int = RESAMPLES  # number of resamples; ``uncertainty.resamples`` of the configuration

    def of(self, units: int, kind: int = 0) -> Resamples:
        """Return resamples of ``units`` units; each ``kind`` ≥ 0 has its own seed."""
        return Resamples(units, self.seed + kind, self.number)

    def intervals(self, units: str) -> tuple[str, str]:
        """Return a page's statement about its intervals; ``units`` such as "resamples of users"."""
        return ("Intervals", f"95 %, percentile bootstrap, {self.number:,} {units}, PCG64")


class ResampledFigure(NamedTuple):
    """A figure, and the same figure of each resample; NaN where it is undefined."""

    value: float
    resamples: Floats

    def estimate(self) -> Estimate:
        """Return the figure with its 95 % interval, if at least two resamples have it."""
        if np.count_nonzero(~np.isnan(self.resamples)) < 2:
            return Estimate(self.value, None, None)
        return of_resamples(self.value, self.resamples)


def ratio(resamples: Resamples, above: Floats, below: Floats) -> ResampledFigure:
    """Return Σ above / Σ below over all units, and of each resample of them.

    Args:
        above, below: the addends of each unit; below ≥ 0. Units that add nothing are left out.
    """
    units = np.flatnonzero((below > 0) | (above != 0))
    total = float(below.sum())
    value = float(above.sum()) / total if total > 0 else float("nan")
    if len(units) < 2:
        return ResampledFigure(value, np.full(len(resamples.weights), np.nan))
    over, under = resamples.sums(units, above[units], below[units])
    ratios = np.full(len(over), np.nan)
    np.divide(over, under, out=ratios, where=under > 0)
    return ResampledFigure(value, ratios)


def combined(
    figures: Sequence[ResampledFigure], combine: Callable[[Floats], Floats]
) -> ResampledFigure:
    """Return a figure computed from several figures, resample by resample.

    ``combine`` reduces the first axis of an array, which has the k figures.
    """
    value = combine(np.array([figure.value for figure in figures]))
    resamples = combine(np.stack([figure.resamples for figure in figures]))
    return ResampledFigure(float(value), np.asarray(resamples))


def difference(one: ResampledFigure, other: ResampledFigure) -> ResampledFigure:
    """Return one − other."""
    return ResampledFigure(one.value - other.value, one.resamples - other.resamples)
