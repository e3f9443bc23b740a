"""Percentile bootstrap intervals (SPEC §5, *Uncertainty*): 1,000 resamples, 95 %, PCG64.

What is resampled is a *unit*: a user, whose attempts move together, or a day where the figure is of
the whole pool. All figures of one kind of unit are computed on the same resamples. A figure of a
part of the population (one width class, say) takes from each resample the units that are in that
part; resamples without any are left out. With fewer than two units there is no interval.

Source: B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap (1993), §13.3.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from audit.metrics.quantiles import nearest_rank

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
IntTable = np.ndarray[tuple[int, int], np.dtype[np.int64]]
Interval = tuple[float | None, float | None]

RESAMPLES = 1_000
LOWER = 25  # thousandths
UPPER = 975
NONE: Interval = (None, None)
_AT_ONCE: Final = 1 << 16
"""Words of 64 random bits that are made at once."""


class Resamples:
    """How often each of ``units`` units was drawn in each resample."""

    def __init__(self, units: int, seed: int, resamples: int = RESAMPLES) -> None:
        """Draws ``resamples`` times ``units`` units, with replacement, by PCG64 of ``seed`` ≥ 0."""
        from audit.kernels import resampling

        self.units = units
        # No count is above 255: of more draws, one in so many being of a unit, about one is.
        self.by_unit = np.zeros((units, resamples), np.uint8)
        random = np.random.PCG64(seed)
        done, of_all = 0, units * resamples
        while done < of_all:
            words = random.random_raw(min((of_all - done + 1) // 2, _AT_ONCE))
            bits = words.astype("<u8", copy=False).view("<u4").astype(np.uint32, copy=False)
            done = resampling.count_draws(bits, done, self.by_unit)

    @cached_property
    def weights(self) -> IntTable:
        """The same with a row per resample."""
        return np.ascontiguousarray(self.by_unit.T, np.int64)

    def sums(self, units: Ints, *values: Floats) -> Floats:
        """Each resample's Σ of values, one of which belongs to each of ``units``.

        Returns:
            One row per element of ``values``, of one sum per resample.
        """
        from audit.kernels import resampling

        out = np.empty((len(values), self.by_unit.shape[1]))
        resampling.weighted_sums(self.by_unit, units, np.array(values, np.float64), out)
        return out

    def ratio(self, units: Ints, above: Floats, below: Floats) -> Interval:
        """Interval of Σ above / Σ below; a mean where ``below`` counts.

        Args:
            units: the distinct units in question.
            above, below: what each of them adds to the two sums.
        """
        return self.ratios(units, {"above": above, "below": below}, [("above", "below")])[0]

    def ratios(
        self, units: Ints, terms: Mapping[str, Floats], pairs: Sequence[tuple[str, str]]
    ) -> list[Interval]:
        """Intervals of several ratios of sums, each sum drawn once.

        Args:
            units: the distinct units in question.
            terms: what each of them adds to each sum, by the sum's name.
            pairs: the sums above and below each ratio's line.
        """
        if len(units) < 2:
            return [NONE for _ in pairs]
        sums = dict(zip(terms, self.sums(units, *terms.values()), strict=True))
        drawn = {name: sums[name] > 0 for name in dict.fromkeys(below for _, below in pairs)}
        return [
            interval(sums[above][drawn[below]] / sums[below][drawn[below]])
            for above, below in pairs
        ]

    def quantiles(
        self, units: Ints, ascending: Floats, thousandths: Sequence[int]
    ) -> list[Interval]:
        """Intervals of nearest-rank quantiles of values that belong to units."""
        if len(np.unique(units)) < 2:
            return [NONE for _ in thousandths]
        out = self.drawn_quantiles(units, ascending, thousandths)
        drawn = out[~np.isnan(out[:, 0])]
        return [interval(column) for column in drawn.T]

    def drawn_quantiles(self, units: Ints, ascending: Floats, thousandths: Sequence[int]) -> Floats:
        """Each resample's nearest-rank quantiles, args as for ``quantiles``.

        Returns:
            A row per resample, a column per quantile; NaN where it drew none of the units.
        """
        from audit.kernels import resampling

        length = math.isqrt(len(units) * self.units) + 1  # balances passing over and looking into
        number = -(-len(units) // length)
        cells = np.arange(len(units)) // length * self.units + units
        blocks = np.bincount(cells, minlength=number * self.units).reshape(number, self.units)
        out = np.empty((len(self.weights), len(thousandths)))
        asked = np.asarray(thousandths, np.int64)
        values = np.ascontiguousarray(ascending, np.float64)
        resampling.weighted_quantiles(
            self.weights, blocks.astype(np.int64), length, units, values, asked, out
        )
        return out

    def spread(self, units: Ints, values: Floats) -> tuple[Interval, Interval]:
        """Intervals of F = Σ (mean − value)² and of the population standard deviation.

        Args:
            units: the distinct units in question.
        """
        if len(units) < 2:
            return NONE, NONE
        centred = values - values.mean()  # variance from sums of squares loses less about 0
        number, sums, squares = self.sums(units, np.ones(len(units)), centred, centred**2)
        drawn = number > 0
        number = number[drawn]
        mean = sums[drawn] / number
        f = np.maximum(squares[drawn] - number * mean**2, 0.0)
        return interval(f), interval(np.sqrt(f / number))


def interval(figures: Floats) -> Interval:
    """The middle 95 % of the resamples' figures; none of none."""
    ascending = np.sort(figures)
    return nearest_rank(ascending, LOWER), nearest_rank(ascending, UPPER)
