"""Whether a paper's conclusion holds on a log, decided by a stated comparison.

Two figures are compared by their difference and its 95 % interval, a paired bootstrap: both are of
the same attempts under two schedules, a resample draws the units (users) for both alike, and the
interval is of the difference itself (``metrics.uncertainty``). It is much narrower than those of
the two figures are apart.

    greater   yes: the whole interval lies above 0 · no: none of it does · else undecided
    near      yes: the whole interval lies within ± margin · no: all of it outside · else undecided
    between   the same within two limits, of a ratio for example

Where there is no interval (fewer than two units), nothing is decided.

Source: SPEC §5, *Uncertainty*; for ``near``, D. J. Schuirmann, A comparison of the two one-sided
tests procedure and the power approach for assessing the equivalence of average bioavailability
(1987).
"""

import math
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from audit.metrics.quantiles import exact_sum, nearest_rank
from audit.metrics.uncertainty import LOWER, UPPER, Resamples

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Holds(StrEnum):
    """Whether a claim holds."""

    yes = "yes"
    no = "no"
    undecided = "undecided"


class Verdict(NamedTuple):
    """What a log says to a claim of a paper."""

    claim: str
    """What the paper concludes, in our words."""
    holds: Holds
    because: str
    """What was compared, the figures and their interval."""
    source: str
    """Paper and section, such as ``[S §5]``."""


class Estimate(NamedTuple):
    """A figure with its 95 % interval; without one where there are fewer than two units."""

    value: float
    lower: float | None
    upper: float | None

    def __str__(self) -> str:
        """Such as ``120.0 [80.41, 160.2]``; where there is no interval, it says so."""
        if self.lower is None or self.upper is None:
            return f"{_digits(self.value)} (no interval)"
        return f"{_digits(self.value)} [{_digits(self.lower)}, {_digits(self.upper)}]"


def _digits(value: float) -> str:
    """Four significant digits, without an exponent; whole numbers from 1,000 on."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    behind = 3 - math.floor(math.log10(abs(value)))
    return f"{value:,.{min(max(behind, 0), 9)}f}".replace("-", "−")


def mean_difference(
    units: Ints, one: Floats | Ints, other: Floats | Ints, resamples: Resamples
) -> Estimate:
    """Mean of ``one`` − mean of ``other`` over the same attempts.

    Args:
        units: the number of each attempt's unit (its user), < ``resamples.units``.
        one, other: the figure of each attempt under two schedules.
        resamples: of the units.

    Raises:
        ValueError: there are no attempts.
    """
    return mean(units, one.astype(np.float64) - other.astype(np.float64), resamples)


def mean(units: Ints, values: Floats | Ints, resamples: Resamples) -> Estimate:
    """The mean of ``values``, one per attempt; arguments and errors as ``mean_difference``."""
    if len(values) == 0:
        raise ValueError("no attempts: there is no mean")
    present = np.flatnonzero(np.bincount(units))
    sums = np.bincount(units, values)[present].astype(np.float64)
    counts = np.bincount(units)[present].astype(np.float64)
    interval = resamples.ratio(present, sums, counts)
    return Estimate(exact_sum(values.astype(np.float64)) / len(values), *interval)


def estimate(
    units: Ints,
    terms: Mapping[str, Floats | Ints],
    of: Callable[[Mapping[str, Floats]], Floats],
    resamples: Resamples,
) -> Estimate | None:
    """A figure made of several sums over the same attempts.

    Args:
        units: as for ``mean_difference``.
        terms: what is summed, by name; one element per attempt.
        of: makes the figure of the sums, element by element; NaN where it is not defined.
        resamples: of the units; those for which the figure is not defined are left out.

    Returns:
        None where the figure itself is not defined.
    """
    totals = {name: np.array([exact_sum(of_.astype(np.float64))]) for name, of_ in terms.items()}
    value = float(of(totals)[0])
    if np.isnan(value):
        return None
    present = np.flatnonzero(np.bincount(units))
    if len(present) < 2:
        return Estimate(value, None, None)
    by_unit = [np.bincount(units, of_)[present].astype(np.float64) for of_ in terms.values()]
    drawn = of(dict(zip(terms, resamples.sums(present, *by_unit), strict=True)))
    ascending = np.sort(drawn[~np.isnan(drawn)])
    return Estimate(value, nearest_rank(ascending, LOWER), nearest_rank(ascending, UPPER))


def ratio(
    units: Ints, above: Floats | Ints, below: Floats | Ints, resamples: Resamples
) -> Estimate | None:
    """Σ above / Σ below of what is ≥ 0; ∞ where only the latter is 0, None where both are.

    Arguments as for ``mean_difference``. In resamples both being 0 counts as 1.
    """
    made = estimate(units, {"above": above, "below": below}, _ratio, resamples)
    return made if above.any() or below.any() else None


def _ratio(sums: Mapping[str, Floats]) -> Floats:
    above, below = sums["above"], sums["below"]
    safe = np.where(below > 0, below, 1.0)
    made: Floats = np.where(below > 0, above / safe, np.where(above > 0, np.inf, 1.0))
    return made


def between(figure: Estimate | None, low: float, high: float) -> Holds:
    """Whether a figure lies in [low, high]."""
    if figure is None or figure.lower is None or figure.upper is None:
        return Holds.undecided
    if low <= figure.lower and figure.upper <= high:
        return Holds.yes
    return Holds.no if figure.lower > high or figure.upper < low else Holds.undecided


def greater(difference: Estimate | None) -> Holds:
    """Whether one figure is greater than another, by their difference one − other."""
    if difference is None or difference.lower is None or difference.upper is None:
        return Holds.undecided
    if difference.lower > 0:
        return Holds.yes
    return Holds.no if difference.upper <= 0 else Holds.undecided


def near(difference: Estimate | None, margin: float) -> Holds:
    """Whether two figures differ by no more than ``margin`` ≥ 0, by their difference."""
    return between(difference, -margin, margin)


def every(parts: Iterable[Holds]) -> Holds:
    """Whether all parts of a claim hold: no where one does not; of none, undecided."""
    found = list(parts)
    if Holds.no in found:
        return Holds.no
    return Holds.yes if found and set(found) == {Holds.yes} else Holds.undecided


def opposite(holds: Holds) -> Holds:
    """Whether the contrary holds."""
    return {Holds.yes: Holds.no, Holds.no: Holds.yes}.get(holds, Holds.undecided)
