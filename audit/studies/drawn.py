"""Figures with their resamples: what is compared between settings is drawn for all of them alike.

A figure is a ratio of sums over units (users, or days), or is made of such figures. Its resamples
are the same figure of the same draws, so an interval of any difference is one of paired draws.

Source: B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap (1993), §13.3.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from audit.metrics.quantiles import nearest_rank
from audit.metrics.uncertainty import LOWER, UPPER, Resamples
from audit.studies.verdicts import Estimate

Floats = NDArray[np.float64]


class Drawn(NamedTuple):
    """A figure, and the same figure of each resample; NaN where there is none of it."""

    value: float
    resamples: Floats

    def estimate(self) -> Estimate:
        """With its 95 % interval; without one where hardly a resample has the figure."""
        known = np.sort(self.resamples[~np.isnan(self.resamples)])
        if len(known) < 2:
            return Estimate(self.value, None, None)
        return Estimate(self.value, nearest_rank(known, LOWER), nearest_rank(known, UPPER))


def ratio(resamples: Resamples, above: Floats, below: Floats) -> Drawn:
    """Σ above / Σ below over all units, and of each resample of them.

    Args:
        resamples: of the units.
        above, below: what each unit adds to the two sums; below ≥ 0. Units that add nothing to
            either have no part in it.
    """
    units = np.flatnonzero((below > 0) | (above != 0))
    total = float(below.sum())
    value = float(above.sum()) / total if total > 0 else float("nan")
    if len(units) < 2:
        return Drawn(value, np.full(len(resamples.weights), np.nan))
    over, under = resamples.sums(units, above[units], below[units])
    found = np.full(len(over), np.nan)
    np.divide(over, under, out=found, where=under > 0)
    return Drawn(value, found)


def combined(of: Sequence[Drawn], make: Callable[[Floats], Floats]) -> Drawn:
    """A figure of several figures, resample by resample.

    Args:
        of: k figures.
        make: takes an array whose first axis is the k figures, and removes it.
    """
    value = make(np.array([one.value for one in of]))
    return Drawn(float(value), np.asarray(make(np.stack([one.resamples for one in of]))))


def difference(one: Drawn, other: Drawn) -> Drawn:
    """one − other."""
    return Drawn(one.value - other.value, one.resamples - other.resamples)
