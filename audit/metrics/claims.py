"""Whether a paper's conclusion holds on a log, by stated comparisons.

Two figures are compared by their difference and its 95 % interval from a paired bootstrap: both
describe the same attempts under two schedules, and a resample draws the same units (users) for both
(``metrics.uncertainty``). This interval is much narrower than those of the two figures suggest.

    greater   yes: the whole interval lies above 0 · no: none of it does · else undecided
    less      the same below 0
    near      yes: the whole interval lies within ± margin · no: all of it outside · else undecided
    between   the same within two limits, of a ratio for example

Without an interval (fewer than two units) the answer is undecided.

A *claim* is the paper's sentence with such comparisons; each study states its claims as a table. A
claim holds if all of its comparisons do, does not hold if one does not, and is undecided otherwise.

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

from audit.array_types import Floats, Ints
from audit.metrics.quantiles import exact_sum
from audit.metrics.uncertainty import Resamples, interval


class ClaimHolds(StrEnum):
    """Whether a claim holds."""

    yes = "yes"
    no = "no"
    undecided = "undecided"


class ClaimVerdict(NamedTuple):
    """The answer of a log to a claim of a paper."""

    claim: str  # the paper's conclusion, paraphrased
    holds: ClaimHolds
    because: str  # the comparisons, with figures and intervals
    source: str  # paper and section, such as ``[S §5]``


class Estimate(NamedTuple):
    """A figure with its 95 % interval, which needs at least two units."""

    value: float
    lower: float | None
    upper: float | None

    def __str__(self) -> str:
        """Return ``120.0 [80.41, 160.2]``, for example."""
        if self.lower is None or self.upper is None:
            return f"{_digits(self.value)} (no interval)"
        return f"{_digits(self.value)} [{_digits(self.lower)}, {_digits(self.upper)}]"


def _digits(value: float) -> str:
    """Return four significant digits, without an exponent; whole numbers from 1,000 on."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    behind = 3 - math.floor(math.log10(abs(value)))
    return f"{value:,.{min(max(behind, 0), 9)}f}".replace("-", "−")


def mean_difference(
    units: Ints, one: Floats | Ints, other: Floats | Ints, resamples: Resamples
) -> Estimate:
    """Return mean of ``one`` − mean of ``other`` over the same attempts.

    Args:
        units: the number of each attempt's unit (its user), < ``resamples.units``.
        one, other: the figure of each attempt under two schedules.

    Raises:
        ValueError: there are no attempts.
    """
    return mean(units, one.astype(np.float64) - other.astype(np.float64), resamples)


def mean(units: Ints, values: Floats | Ints, resamples: Resamples) -> Estimate:
    """Return the mean of ``values``, one per attempt; otherwise as ``mean_difference``."""
    if len(values) == 0:
        raise ValueError("no attempts: there is no mean")
    present = np.flatnonzero(np.bincount(units))
    sums = np.bincount(units, values)[present].astype(np.float64)
    counts = np.bincount(units)[present].astype(np.float64)
    ends = resamples.ratio(present, sums, counts)
    return Estimate(exact_sum(values.astype(np.float64)) / len(values), *ends)


def of_resamples(value: float, resampled: Floats) -> Estimate:
    """Return a figure with the interval of its resamples, of which NaN are left out."""
    return Estimate(value, *interval(resampled[~np.isnan(resampled)]))


def estimate(
    units: Ints,
    terms: Mapping[str, Floats | Ints],
    combine: Callable[[Mapping[str, Floats]], Floats],
    resamples: Resamples,
) -> Estimate | None:
    """Return a figure that is a function of several sums over the same attempts.

    Args:
        units: as for ``mean_difference``.
        terms: the addends of each sum, one per attempt, by name.
        combine: computes the figure from the sums, elementwise; NaN where it is undefined.
        resamples: of the units; those with an undefined figure are left out.

    Returns:
        None if the figure itself is undefined.
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
    """Return Σ above / Σ below of addends ≥ 0: ∞ if only the latter is 0, None if both are.

    Arguments as for ``mean_difference``. In a resample 0/0 counts as 1.
    """
    figure = estimate(units, {"above": above, "below": below}, _ratio, resamples)
    return figure if above.any() or below.any() else None


def _ratio(sums: Mapping[str, Floats]) -> Floats:
    above, below = sums["above"], sums["below"]
    safe = np.where(below > 0, below, 1.0)
    ratios: Floats = np.where(below > 0, above / safe, np.where(above > 0, np.inf, 1.0))
    return ratios


def between(figure: Estimate | None, low: float, high: float) -> ClaimHolds:
    """Return whether a figure is in [low, high]."""
    if figure is None or figure.lower is None or figure.upper is None:
        return ClaimHolds.undecided
    if low <= figure.lower and figure.upper <= high:
        return ClaimHolds.yes
    return ClaimHolds.no if figure.lower > high or figure.upper < low else ClaimHolds.undecided


def greater(difference: Estimate | None) -> ClaimHolds:
    """Return whether one figure is greater than another, by their difference one − other."""
    if difference is None or difference.lower is None or difference.upper is None:
        return ClaimHolds.undecided
    if difference.lower > 0:
        return ClaimHolds.yes
    return ClaimHolds.no if difference.upper <= 0 else ClaimHolds.undecided


def less(difference: Estimate | None) -> ClaimHolds:
    """Return whether one figure is less than another, by their difference one − other."""
    if difference is None or difference.lower is None or difference.upper is None:
        return ClaimHolds.undecided
    return greater(Estimate(-difference.value, -difference.upper, -difference.lower))


def opposite(holds: ClaimHolds) -> ClaimHolds:
    """Return whether the contrary holds."""
    return {ClaimHolds.yes: ClaimHolds.no, ClaimHolds.no: ClaimHolds.yes}.get(
        holds, ClaimHolds.undecided
    )


def every(parts: Iterable[ClaimHolds]) -> ClaimHolds:
    """Return whether all parts of a claim hold; undecided without parts."""
    seen = set(parts)
    if ClaimHolds.no in seen:
        return ClaimHolds.no
    return ClaimHolds.yes if seen == {ClaimHolds.yes} else ClaimHolds.undecided


class Asked(NamedTuple):
    """The condition on the interval of a figure under which a claim holds."""

    text: str
    decide: Callable[[Estimate | None], ClaimHolds]


ABOVE_0: Final = Asked("> 0", greater)
BELOW_0: Final = Asked("< 0", less)
NOT_ABOVE_0: Final = Asked("≤ 0", lambda difference: opposite(greater(difference)))


def within(low: float, high: float) -> Asked:
    """Return the condition [low, high]; with ``low`` = 0, of a figure ≥ 0, only the upper limit."""
    text = f"{low:g} to {high:g}" if low else f"at most {high:g}"
    return Asked(text, lambda figure: between(figure, low, high))


@dataclass(frozen=True)
class Comparison:
    """A figure, usually a difference, and its condition."""

    what: str  # such as ``sjf − fcfs``
    estimate: Estimate | None  # none: there is nothing to compare
    asked: Asked = ABOVE_0
    decides: bool = True  # false: it is shown, but does not affect the verdict

    @property
    def holds(self) -> ClaimHolds:
        """Whether the figure meets its condition."""
        return self.asked.decide(self.estimate)


@dataclass(frozen=True)
class Claim:
    """A conclusion of a paper, and the comparisons that decide whether it holds on a log."""

    sentence: str
    source: str  # paper and section, such as ``[S §5]``
    comparisons: Sequence[Comparison]

    def verdict(self, because: str) -> ClaimVerdict:
        """Return the verdict of the comparisons that decide; ``because`` has their figures."""
        holds = every(one.holds for one in self.comparisons if one.decides)
        return ClaimVerdict(self.sentence, holds, because, self.source)


def tally(verdicts: Iterable[ClaimVerdict]) -> Mapping[ClaimHolds, int]:
    """Return the number of claims that hold, do not hold, and are undecided."""
    counts = Counter(verdict.holds for verdict in verdicts)
    return {holds: counts[holds] for holds in ClaimHolds}


class PartEffect(StrEnum):
    """The effect of a change on a part of the population."""

    gains = "gains"
    """The whole interval is below 0."""
    loses = "loses"
    """The whole interval is above 0."""
    unclear = "unclear"
    same = "same"
    """No difference."""


def outcome(value: float, lower: float | None, upper: float | None) -> PartEffect:
    """Return the meaning of a difference in a figure of which less is better."""
    if value == 0 and (lower, upper) in ((None, None), (0, 0)):
        return PartEffect.same
    if lower is None or upper is None:
        return PartEffect.unclear
    if upper < 0:
        return PartEffect.gains
    return PartEffect.loses if lower > 0 else PartEffect.unclear
