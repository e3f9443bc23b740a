"""[K §5.2]'s conclusions on six policies, decided on one's own log.

Two policies are compared by the difference of a figure over the same attempts, or users:

    wait, response, slowdown   mean over attempts
    UWT                        mean of NUWT over users
    deviation                  population standard deviation of NUWT over users

with a paired bootstrap whose unit is the user (``verdicts``). [K] draws on six logs together ("in
most cases", "often"); here one log decides each claim. "At least as fair" holds if nothing in the
interval of the difference is above 0, and does not hold if everything is. A claim on TS holds, or
does not, only if each seed gives that verdict.

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
    """A relation between a policy's figure and that of each rival."""

    sentence: str  # of policy, measure and rivals
    difference: str  # of policy and rival
    asked: Asked = ABOVE_0


LOWER: Final = Relation("{policy} has a lower {measure} than {rivals}", "{rival} − {policy}")
HIGHER: Final = Relation("{policy} has a higher {measure} than {rivals}", "{policy} − {rival}")
NO_HIGHER: Final = Relation(
    "{policy} is at least as fair as {rivals}: no higher {measure}",
    "{policy} − {rival}",
    NOT_ABOVE_0,
)


class Measure(NamedTuple):
    """A figure of policies; less is better."""

    title: str
    values: Callable[[Outcome], Ints | Floats]  # of each attempt, or of each user
    unit: str = ""
    of_users: bool = False
    deviation: bool = False  # of the values, instead of their mean


WAIT: Final = Measure("wait", lambda outcome: outcome.wait, "s")
RESPONSE: Final = Measure("response time", lambda outcome: outcome.response, "s")
SLOWDOWN: Final = Measure("bounded slowdown", lambda outcome: outcome.slowdown)
UWT: Final = Measure("UWT", lambda outcome: outcome.nuwt, of_users=True)
DEVIATION: Final = UWT._replace(title="deviation of NUWT", deviation=True)
MEASURES: Final = (WAIT, RESPONSE, SLOWDOWN, UWT, DEVIATION)


class Conclusion(NamedTuple):
    """The claim that a policy's figure is above or below those of its rivals."""

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
"""Policies that ignore users."""

CONCLUSIONS: Final = (
    *(Conclusion(TS, LOWER, measure, _others(TS)) for measure in (WAIT, RESPONSE, SLOWDOWN)),
    Conclusion("BF-CONS", HIGHER, WAIT, ("BF", "BF-EASY")),
    *(Conclusion("BF-CONS", LOWER, SLOWDOWN, (rival,)) for rival in ("BF", "BF-EASY")),
    *(Conclusion("BF-FAIR", LOWER, measure, BACKFILLING) for measure in (UWT, DEVIATION)),
    *(Conclusion("FCFS", HIGHER, measure, _others("FCFS")) for measure in MEASURES),
    *(Conclusion(TS, NO_HIGHER, measure, ("BF-FAIR",)) for measure in (UWT, DEVIATION)),
)


# --- how they are decided ------------------------------------------------------------------------


def decide(compared: Compared) -> list[Verdict]:
    """Decide all conclusions of [K §5.2]."""
    return [
        _with_each_seed(compared, conclusion)
        if TS in (conclusion.policy, *conclusion.rivals)
        else _verdict(compared, conclusion)
        for conclusion in CONCLUSIONS
    ]


def _with_each_seed(compared: Compared, conclusion: Conclusion) -> Verdict:
    """Return the verdict with TS's typical seed, undecided if another seed differs."""
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
    comparisons = [
        Comparison(
            relation.difference.format(policy=policy, rival=rival),
            difference(
                compared, *((rival, policy) if relation is LOWER else (policy, rival)), measure
            ),
            relation.asked,
        )
        for rival in rivals
    ]
    claim = Claim(conclusion.sentence, SOURCE, comparisons)
    return claim.verdict(_because(value(compared, policy, measure), conclusion, comparisons))


def _because(figure: float, conclusion: Conclusion, comparisons: Sequence[Comparison]) -> str:
    """Return the figure and its differences from the rivals'; of many, the least sure."""
    if math.isnan(figure):
        return "no user has two jobs and usage"
    shown = f"{figure:,.0f}" if figure >= 1_000 else f"{figure:.4g}"
    has = f"{conclusion.policy} has {f'{shown} {conclusion.measure.unit}'.rstrip()}; "
    if len(comparisons) <= len(BACKFILLING):
        return has + "; ".join(f"{one.what} = {one.estimate}" for one in comparisons)

    def lower(comparison: Comparison) -> float:
        estimate = comparison.estimate
        return math.inf if estimate is None or estimate.lower is None else estimate.lower

    nearest = min(comparisons, key=lower)
    return f"{has}least sure: {nearest.what} = {nearest.estimate}"


# --- figures that are compared -------------------------------------------------------------------


def value(compared: Compared, policy: str, measure: Measure) -> float:
    """Return a policy's figure; NaN if there is none."""
    outcome = compared.outcomes[policy]
    if not measure.of_users:
        return mean_of(measure.values(outcome))
    known = outcome.dispersion.deviation if measure.deviation else outcome.dispersion.uwt
    return float("nan") if known is None else known


def difference(compared: Compared, one: str, other: str, measure: Measure) -> Estimate:
    """Return a policy's figure − another's, with its interval."""
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
    """Return population deviation of ``one`` − that of ``other``, over u ≥ 1 distinct units."""
    apart = float(np.std(one) - np.std(other))
    if len(units) < 2:
        return Estimate(apart, None, None)
    terms: list[Floats] = [np.ones(len(units))]
    for values in (one, other):
        centred = values - values.mean()  # keeps precision in sums of squares
        terms += [centred, centred**2]
    number, *sums = resamples.sums(units, *terms)
    drawn = number > 0
    deviations = [
        np.sqrt(np.maximum(squares[drawn] / number[drawn] - (first[drawn] / number[drawn]) ** 2, 0))
        for first, squares in (sums[:2], sums[2:])
    ]
    return of_resamples(apart, deviations[0] - deviations[1])
