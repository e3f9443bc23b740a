"""Percentile bootstrap intervals (SPEC §5, *Uncertainty*): 1,000 resamples, 95 %, PCG64.

The *unit* of resampling is a user, whose attempts move together, or a stretch of time where the
figure describes the whole pool. All figures with the same kind of unit use the same resamples. A
figure of a part of the population, such as a width class, takes from each resample the units of
that part; resamples without any are left out. There is no interval below ``FEWEST`` units.

Source: B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap (1993), §13.3.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np

from audit.array_types import Floats, Ints
from audit.kernels import sums

IntTable = np.ndarray[tuple[int, int], np.dtype[np.int64]]
Interval = tuple[float | None, float | None]

RESAMPLES = 1_000
FEWEST: Final = 2
LOWER = 25  # thousandths
UPPER = 975
NONE: Interval = (None, None)
_AT_ONCE: Final = 1 << 16  # words of 64 random bits generated at a time


class Resamples:
    """Counts of each of ``units`` units in each resample."""

    def __init__(self, units: int, seed: int, resamples: int = RESAMPLES) -> None:
        """Draw ``units`` units with replacement, ``resamples`` times, by PCG64 of ``seed`` ≥ 0."""
        self.units = units
        # Counts are Poisson with mean 1 or less: none exceeds 255.
        self.by_unit = np.zeros((units, resamples), np.uint8)
        random = np.random.PCG64(seed)
        done, of_all = 0, units * resamples
        while done < of_all:
            words = random.random_raw(min((of_all - done + 1) // 2, _AT_ONCE))
            bits = words.astype("<u8", copy=False).view("<u4").astype(np.uint32, copy=False)
            done = sums.count_draws(bits, done, self.by_unit)

    @cached_property
    def weights(self) -> IntTable:
        """The counts, resamples × units."""
        return np.ascontiguousarray(self.by_unit.T, np.int64)

    def sums(self, units: Ints, *values: Floats) -> Floats:
        """Return Σ weight · value of each resample, a row for each array of ``values``.

        Values belong to the distinct ``units``.
        """
        out = np.empty((len(values), self.by_unit.shape[1]))
        sums.weighted_sums(self.by_unit, units, np.array(values, np.float64), out)
        return out

    def ratio(self, units: Ints, above: Floats, below: Floats) -> Interval:
        """Return the interval of Σ above / Σ below over the distinct ``units``."""
        whole, terms = np.array([0, len(units)]), np.array([above, below], np.float64)
        return _interval(self.ratios(units, whole, terms, [(0, 1)])[0, 0])

    def ratios(
        self,
        units: Ints,
        begin: Ints,
        terms: Floats,
        pairs: Sequence[tuple[int, int]],
        fewest: int = FEWEST,
    ) -> Floats:
        """Return intervals of ratios of sums for each of several parts, each sum drawn once.

        Args:
            units: the distinct units of each part, part by part.
            begin: where each part begins, and the end of the last one.
            terms: terms × ``units``, the addends of each sum.
            pairs: the numerator and denominator of each ratio, rows of ``terms``.
            fewest: number of units below which a part has no intervals.

        Returns:
            parts × pairs × 2; NaN where there is no interval.
        """
        above, below = np.array(pairs, np.int64).T.copy()
        out = np.empty((len(begin) - 1, len(pairs), 2))
        sums.ratio_intervals(
            *(self.by_unit, units, begin, terms, above, below),
            *(max(fewest, FEWEST), LOWER, UPPER, out),
        )
        return out

    def quantiles(
        self, units: Ints, ascending: Floats, thousandths: Sequence[int]
    ) -> list[Interval]:
        """Return intervals of nearest-rank quantiles of ``ascending`` values, each of a unit."""
        if len(np.unique(units)) < FEWEST:
            return [NONE for _ in thousandths]
        out = drawn_quantiles(self.weights, units, ascending, thousandths)
        drawn = out[~np.isnan(out[:, 0])]
        return [interval(column) for column in drawn.T]

    def spread(self, units: Ints, values: Floats) -> tuple[Interval, Interval]:
        """Return intervals of F = Σ (mean − value)² and of the population standard deviation."""
        if len(units) < FEWEST:
            return NONE, NONE
        centred = values - values.mean()  # variance from sums of squares loses less about 0
        number, sums, squares = self.sums(units, np.ones(len(units)), centred, centred**2)
        drawn = number > 0
        number = number[drawn]
        mean = sums[drawn] / number
        f = np.maximum(squares[drawn] - number * mean**2, 0.0)
        return interval(f), interval(np.sqrt(f / number))


def drawn_quantiles(
    weights: IntTable, units: Ints, ascending: Floats, thousandths: Sequence[int]
) -> Floats:
    """Return nearest-rank quantiles of each resample, nan where it drew none of the values.

    Args:
        weights: the counts of units, resamples × units.
        units: the unit of each value.
        ascending: the values.
        thousandths: the quantiles, ascending.
    """
    count = weights.shape[1]
    length = math.isqrt(len(units) * count) + 1  # balances skipping and searching blocks
    number = -(-len(units) // length)
    cells = np.arange(len(units)) // length * count + units
    blocks = np.bincount(cells, minlength=number * count).reshape(number, count)
    out = np.empty((len(weights), len(thousandths)))
    values = np.ascontiguousarray(ascending, np.float64)
    wanted = np.asarray(thousandths, np.int64)
    sums.weighted_quantiles(weights, blocks.astype(np.int64), length, units, values, wanted, out)
    return out


def interval(figures: Floats) -> Interval:
    """Return the middle 95 % of the resampled figures, if any."""
    out = np.empty(2)
    sums.quantiles(np.ascontiguousarray(figures, np.float64), LOWER, UPPER, out)
    return _interval(out)


def _interval(ends: Floats) -> Interval:
    lower, upper = ends.tolist()
    return NONE if math.isnan(lower) else (lower, upper)
