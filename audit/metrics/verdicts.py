"""Whether a paper's conclusion holds on a log, decided by a stated comparison.

Two figures are compared by their difference and its 95 % interval, a paired bootstrap: both are of
the same attempts under two schedules, a resample draws the units (users) for both alike, and the
interval is of the difference itself (``metrics.uncertainty``). It is much narrower than those of
the two figures are apart.

    greater   yes: the whole interval lies above 0 · no: none of it does · else undecided
    less      the same below 0
    near      yes: the whole interval lies within ± margin · no: all of it outside · else undecided
    between   the same within two limits, of a ratio for example

Where there is no interval (fewer than two units), nothing is decided.

A *claim* is the paper's sentence and such comparisons; each study states its claims as a table, and
makes the figures that they compare. A claim holds where all of its comparisons do, does not where
one does not, and is undecided otherwise.

Source: SPEC §5, *Uncertainty*; for ``near``, D. J. Schuirmann, A comparison of the two one-sided
tests procedure and the power approach for assessing the equivalence of average bioavailability
(1987).
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

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


def of_resamples(value: float, resampled: Floats) -> Estimate:
    """A figure with the interval of its resamples; those without the figure (NaN) are left out."""
    ascending = np.sort(resampled[~np.isnan(resampled)])
    return Estimate(value, nearest_rank(ascending, LOWER), nearest_rank(ascending, UPPER))


def estimate(
    units: Ints,
    terms: Mapping[str, Floats | Ints],
    combine: Callable[[Mapping[str, Floats]], Floats],
    resamples: Resamples,
) -> Estimate | None:
    """A figure made of several sums over the same attempts.

    Args:
        units: as for ``mean_difference``.
        terms: what is summed, by name; one element per attempt.
        combine: makes the figure of the sums, element by element; NaN where it is not defined.
        resamples: of the units; those for which the figure is not defined are left out.

    Returns:
        None where the figure itself is not defined.
    """
    totals = {
        name: np.array([exact_sum(values.astype(np.float64))]) for name, values in terms.items()
    }
    value = float(combine(totals)[0])
    if np.isnan(value):
        return None
    present = np.flatnonzero(np.bincount(units))
    if len(present) < 2:
        return Estimate(value, None, None)
    by_unit = [np.bincount(units, values)[present].astype(np.float64) for values in terms.values()]
    sums = dict(zip(terms, resamples.sums(present, *by_unit), strict=True))
    return of_resamples(value, combine(sums))


def ratio(
    units: Ints, above: Floats | Ints, below: Floats | Ints, resamples: Resamples
) -> Estimate | None:
    """Σ above / Σ below of what is ≥ 0; ∞ where only the latter is 0, None where both are.

    Arguments as for ``mean_difference``. In resamples both being 0 counts as 1.
    """
    figure = estimate(units, {"above": above, "below": below}, _ratio, resamples)
    return figure if above.any() or below.any() else None


def _ratio(sums: Mapping[str, Floats]) -> Floats:
    above, below = sums["above"], sums["below"]
    safe = np.where(below > 0, below, 1.0)
    ratios: Floats = np.where(below > 0, above / safe, np.where(above > 0, np.inf, 1.0))
    return ratios


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


def less(difference: Estimate | None) -> Holds:
    """Whether one figure is less than another, by their difference one − other."""
    if difference is None or difference.lower is None or difference.upper is None:
        return Holds.undecided
    return greater(Estimate(-difference.value, -difference.upper, -difference.lower))


def near(difference: Estimate | None, margin: float) -> Holds:
    """Whether two figures differ by no more than ``margin`` ≥ 0, by their difference."""
    return between(difference, -margin, margin)


def opposite(holds: Holds) -> Holds:
    """Whether the contrary holds."""
    return {Holds.yes: Holds.no, Holds.no: Holds.yes}.get(holds, Holds.undecided)


def every(parts: Iterable[Holds]) -> Holds:
    """Whether all parts of a claim hold: no where one does not; of none, undecided."""
    seen = set(parts)
    if Holds.no in seen:
        return Holds.no
    return Holds.yes if seen == {Holds.yes} else Holds.undecided


# --- claims --------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """Where the interval of a figure must lie, for what is claimed of it to hold."""

    text: str
    decide: Callable[[Estimate | None], Holds]


ABOVE_0: Final = Asked("> 0", greater)
BELOW_0: Final = Asked("< 0", less)
NOT_ABOVE_0: Final = Asked("≤ 0", lambda difference: opposite(greater(difference)))


def within(low: float, high: float) -> Asked:
    """In [low, high]; a figure that cannot be below 0 has no lower limit where ``low`` is 0."""
    text = f"{low:g} to {high:g}" if low else f"at most {high:g}"
    return Asked(text, lambda figure: between(figure, low, high))


@dataclass(frozen=True)
class Comparison:
    """A figure, most often of two things compared, and what is asked of it."""

    what: str
    """What is compared, such as ``sjf − fcfs``."""
    estimate: Estimate | None
    """None: there is nothing to compare."""
    asked: Asked = ABOVE_0
    decides: bool = True
    """False: it is shown beside the others, and decides nothing."""

    @property
    def holds(self) -> Holds:
        """Whether the figure lies where it must."""
        return self.asked.decide(self.estimate)


@dataclass(frozen=True)
class Claim:
    """What a paper concludes, and the comparisons by which it holds on a log, or does not."""

    sentence: str
    source: str
    """Paper and section, such as ``[S §5]``."""
    comparisons: Sequence[Comparison]

    def verdict(self, because: str) -> Verdict:
        """What the comparisons that decide come to; ``because`` has their figures."""
        holds = every(one.holds for one in self.comparisons if one.decides)
        return Verdict(self.sentence, holds, because, self.source)


def tally(verdicts: Iterable[Verdict]) -> Mapping[Holds, int]:
    """How many claims hold, do not hold, and cannot be decided."""
    counts = Counter(verdict.holds for verdict in verdicts)
    return {holds: counts[holds] for holds in Holds}


class Outcome(StrEnum):
    """What a change does to a part."""

    gains = "gains"
    """The whole interval is below 0."""
    loses = "loses"
    """The whole interval is above 0."""
    unclear = "unclear"
    same = "same"
    """Nothing differs."""


def outcome(value: float, lower: float | None, upper: float | None) -> Outcome:
    """What a difference says where less is better."""
    if value == 0 and (lower, upper) in ((None, None), (0, 0)):
        return Outcome.same
    if lower is None or upper is None:
        return Outcome.unclear
    if upper < 0:
        return Outcome.gains
    return Outcome.loses if lower > 0 else Outcome.unclear
