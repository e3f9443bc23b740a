"""What [K §5.2] concludes of six policies, decided on one's own log.

Two policies are compared by the difference of a figure over the same attempts, or users:

    wait, response, slowdown   mean over attempts
    UWT                        mean of NUWT over users
    deviation                  population standard deviation of NUWT over users

with a paired bootstrap whose unit is the user (``verdicts``). [K] speaks of six logs together
("in most cases", "often"); here each claim is decided on this one. "At least as fair" holds where
the interval of the difference has nothing above 0, and does not where it has nothing else. TS
depends on chance: what is said of it holds, or does not, where it is so with each of its seeds.

Source: [K] D. Klusáček, H. Rudová, Performance and Fairness for Users in Parallel Job Scheduling,
§5.2.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from audit.metrics.uncertainty import Resamples
from audit.metrics.verdicts import (
    ABOVE_0,
    NOT_ABOVE_0,
    Asked,
    Claim,
    Comparison,
    Estimate,
    Holds,
    Verdict,
    mean_difference,
    of_resamples,
)
from audit.studies.users.compute import POLICIES, TS, Compared, Outcome, mean_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SOURCE: Final = "[K §5.2]"

# --- the claims ----------------------------------------------------------------------------------


class Relation(NamedTuple):
    """How a policy's figure is said to be beside that of each of its rivals."""

    sentence: str
    """Of policy, measure and rivals."""
    difference: str
    """Of policy and rival, as it is written; the first is what the second is taken from."""
    asked: Asked = ABOVE_0


LOWER: Final = Relation("{policy} has a lower {measure} than {rivals}", "{rival} − {policy}")
HIGHER: Final = Relation("{policy} has a higher {measure} than {rivals}", "{policy} − {rival}")
NO_HIGHER: Final = Relation(
    "{policy} is at least as fair as {rivals}: no higher {measure}",
    "{policy} − {rival}",
    NOT_ABOVE_0,
)


class Measure(NamedTuple):
    """What policies are compared by; less is better."""

    title: str
    values: Callable[[Outcome], Ints | Floats]
    """One of each attempt, or of each user."""
    unit: str = ""
    of_users: bool = False
    deviation: bool = False
    """The deviation of the values, instead of their mean."""


WAIT: Final = Measure("wait", lambda outcome: outcome.wait, "s")
RESPONSE: Final = Measure("response time", lambda outcome: outcome.response, "s")
SLOWDOWN: Final = Measure("bounded slowdown", lambda outcome: outcome.slowdown)
UWT: Final = Measure("UWT", lambda outcome: outcome.nuwt, of_users=True)
DEVIATION: Final = Measure(
    "deviation of NUWT", lambda outcome: outcome.nuwt, of_users=True, deviation=True
)
MEASURES: Final = (WAIT, RESPONSE, SLOWDOWN, UWT, DEVIATION)


class Conclusion(NamedTuple):
    """That a policy's figure is above or below those of its rivals."""

    policy: str
    relation: Relation
    measure: Measure
    rivals: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """In words."""
        rivals = " and ".join(self.rivals) if len(self.rivals) < 3 else ", ".join(self.rivals)
        if len(self.rivals) == len(POLICIES) - 1:
            rivals = "all others"
        return self.relation.sentence.format(
            policy=self.policy, measure=self.measure.title, rivals=rivals
        )


def _others(policy: str) -> tuple[str, ...]:
    return tuple(other for other in POLICIES if other != policy)


BACKFILLING: Final = ("BF", "BF-EASY", "BF-CONS")
"""Those without any thought for users."""

CONCLUSIONS: Final = (
    Conclusion(TS, LOWER, WAIT, _others(TS)),
    Conclusion(TS, LOWER, RESPONSE, _others(TS)),
    Conclusion(TS, LOWER, SLOWDOWN, _others(TS)),
    Conclusion("BF-CONS", HIGHER, WAIT, ("BF", "BF-EASY")),
    Conclusion("BF-CONS", LOWER, SLOWDOWN, ("BF",)),
    Conclusion("BF-CONS", LOWER, SLOWDOWN, ("BF-EASY",)),
    Conclusion("BF-FAIR", LOWER, UWT, BACKFILLING),
    Conclusion("BF-FAIR", LOWER, DEVIATION, BACKFILLING),
    *(Conclusion("FCFS", HIGHER, measure, _others("FCFS")) for measure in MEASURES),
    Conclusion(TS, NO_HIGHER, UWT, ("BF-FAIR",)),
    Conclusion(TS, NO_HIGHER, DEVIATION, ("BF-FAIR",)),
)


# --- how they are decided ------------------------------------------------------------------------


def decide(compared: Compared) -> list[Verdict]:
    """All conclusions of [K §5.2]."""
    return [
        _with_each_seed(compared, conclusion)
        if TS in (conclusion.policy, *conclusion.rivals)
        else _verdict(compared, conclusion)
        for conclusion in CONCLUSIONS
    ]


def _with_each_seed(compared: Compared, conclusion: Conclusion) -> Verdict:
    """A verdict on TS: what it is with its typical seed, unless another seed says otherwise."""
    verdict = _verdict(compared, conclusion)
    by_seed = [
        _verdict(compared._replace(outcomes={**compared.outcomes, TS: outcome}), conclusion).holds
        for outcome in compared.seeds
    ]
    if len(set(by_seed)) == 1:
        return verdict
    counts = ", ".join(
        f"{holds.value} with {by_seed.count(holds)}" for holds in Holds if holds in by_seed
    )
    because = f"{verdict.because}; of {len(by_seed)} seeds {counts}"
    return verdict._replace(holds=Holds.undecided, because=because)


def _verdict(compared: Compared, conclusion: Conclusion) -> Verdict:
    policy, relation, measure, rivals = conclusion
    comparisons = []
    for rival in rivals:
        pair = (rival, policy) if relation is LOWER else (policy, rival)
        what = relation.difference.format(policy=policy, rival=rival)
        estimate = difference(compared, *pair, measure)
        comparisons.append(Comparison(what, estimate, relation.asked))
    claim = Claim(conclusion.sentence, SOURCE, comparisons)
    return claim.verdict(_because(value(compared, policy, measure), conclusion, comparisons))


def _because(own_share: float, conclusion: Conclusion, comparisons: Sequence[Comparison]) -> str:
    """The figure, and by how much it differs from its rivals'; of many, from the nearest."""
    if math.isnan(own_share):
        return "no user has two jobs and usage"
    figure = f"{own_share:,.0f}" if own_share >= 1_000 else f"{own_share:.4g}"
    unit = conclusion.measure.unit
    has = f"{conclusion.policy} has {figure}{' ' * bool(unit)}{unit}; "
    if len(comparisons) <= len(BACKFILLING):
        return has + "; ".join(f"{one.what} = {one.estimate}" for one in comparisons)
    nearest = min(comparisons, key=_lower)
    return f"{has}least sure: {nearest.what} = {nearest.estimate}"


def _lower(comparison: Comparison) -> float:
    figure = comparison.estimate
    return math.inf if figure is None or figure.lower is None else figure.lower


# --- figures that are compared -------------------------------------------------------------------


def value(compared: Compared, policy: str, measure: Measure) -> float:
    """A policy's figure; NaN where it has none."""
    outcome = compared.outcomes[policy]
    if not measure.of_users:
        return mean_of(measure.values(outcome))
    spread = outcome.dispersion
    known = spread.deviation if measure.deviation else spread.uwt
    return float("nan") if known is None else known


def difference(compared: Compared, one: str, other: str, measure: Measure) -> Estimate:
    """By how much a policy's figure is above another's, with its interval."""
    first, second = (measure.values(compared.outcomes[policy]) for policy in (one, other))
    if not measure.of_users:
        return mean_difference(compared.units, first, second, compared.resamples)
    if len(compared.users) == 0:
        return Estimate(float("nan"), None, None)
    differ = deviation_difference if measure.deviation else mean_difference
    return differ(compared.user_units, first, second, compared.resamples)


def deviation_difference(
    units: Ints, one: Floats | Ints, other: Floats | Ints, resamples: Resamples
) -> Estimate:
    """Population deviation of ``one`` − that of ``other``, over the same u ≥ 1 distinct units."""
    apart = float(np.std(one) - np.std(other))
    if len(units) < 2:
        return Estimate(apart, None, None)
    terms: list[Floats] = [np.ones(len(units))]
    for values in (one, other):
        centred = values - values.mean()  # variance from sums of squares loses less about 0
        terms += [centred, centred**2]
    number, *sums = resamples.sums(units, *terms)
    drawn = number > 0
    deviations = [
        np.sqrt(np.maximum(squares[drawn] / number[drawn] - (first[drawn] / number[drawn]) ** 2, 0))
        for first, squares in (sums[:2], sums[2:])
    ]
    return of_resamples(apart, deviations[0] - deviations[1])
