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
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from audit.metrics.quantiles import nearest_rank
from audit.metrics.uncertainty import LOWER, UPPER, Resamples
from audit.studies.users.compute import POLICIES, TS, Compared, Outcome, mean_of
from audit.studies.verdicts import (
    Estimate,
    Holds,
    Verdict,
    every,
    greater,
    mean_difference,
    opposite,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SOURCE: Final = "[K §5.2]"
BACKFILLING: Final = ("BF", "BF-EASY", "BF-CONS")
"""Those without any thought for users."""

_OVER_ATTEMPTS: Final[Mapping[str, tuple[str, Callable[[Outcome], Ints | Floats]]]] = {
    "wait": ("s", lambda of: of.wait),
    "response": ("s", lambda of: of.response),
    "slowdown": ("", lambda of: of.slowdown),
}
MEASURES: Final = (*_OVER_ATTEMPTS, "UWT", "deviation")
"""What policies are compared by; less is better."""


def value(found: Compared, name: str, measure: str) -> float:
    """A policy's figure; NaN where it has none."""
    outcome = found.outcomes[name]
    if measure in _OVER_ATTEMPTS:
        return mean_of(_OVER_ATTEMPTS[measure][1](outcome))
    spread = outcome.dispersion
    known = spread.uwt if measure == "UWT" else spread.deviation
    return float("nan") if known is None else known


def difference(found: Compared, one: str, other: str, measure: str) -> Estimate:
    """By how much a policy's figure is above another's, with its interval."""
    outcomes = found.outcomes[one], found.outcomes[other]
    if measure in _OVER_ATTEMPTS:
        of = _OVER_ATTEMPTS[measure][1]
        return mean_difference(found.units, of(outcomes[0]), of(outcomes[1]), found.resamples)
    if len(found.users) == 0:
        return Estimate(float("nan"), None, None)
    if measure == "UWT":
        return mean_difference(
            found.user_units, outcomes[0].nuwt, outcomes[1].nuwt, found.resamples
        )
    return deviation_difference(
        found.user_units, outcomes[0].nuwt, outcomes[1].nuwt, found.resamples
    )


def deviation_difference(units: Ints, one: Floats, other: Floats, resamples: Resamples) -> Estimate:
    """Population deviation of ``one`` − that of ``other``, over the same units.

    Args:
        units: distinct, one for each value.
        one, other: the values, of u ≥ 1 units.
        resamples: of the units.
    """
    found = float(np.std(one) - np.std(other))
    if len(units) < 2:
        return Estimate(found, None, None)
    terms = [np.ones(len(units))]
    for values in (one, other):
        centred = values - values.mean()  # variance from sums of squares loses less about 0
        terms += [centred, centred**2]
    number, *sums = resamples.sums(units, *terms)
    drawn = number > 0
    deviations = [
        np.sqrt(np.maximum(squares[drawn] / number[drawn] - (first[drawn] / number[drawn]) ** 2, 0))
        for first, squares in (sums[:2], sums[2:])
    ]
    apart = np.sort(deviations[0] - deviations[1])
    return Estimate(found, nearest_rank(apart, LOWER), nearest_rank(apart, UPPER))


def decide(found: Compared) -> list[Verdict]:
    """All conclusions of [K §5.2]."""
    return [
        *(_with_each_seed(found, _fastest, measure) for measure in _OVER_ATTEMPTS),
        _most(found, "BF-CONS", ("BF", "BF-EASY"), "wait"),
        *(_least(found, "BF-CONS", (rival,), "slowdown") for rival in ("BF", "BF-EASY")),
        *(_least(found, "BF-FAIR", BACKFILLING, measure) for measure in ("UWT", "deviation")),
        *(_with_each_seed(found, _worst, measure) for measure in MEASURES),
        *(_with_each_seed(found, _at_least_as_fair, measure) for measure in ("UWT", "deviation")),
    ]


def _with_each_seed(
    found: Compared, decider: Callable[[Compared, str], Verdict], measure: str
) -> Verdict:
    """A verdict on TS: what it is with its typical seed, unless another seed says otherwise."""
    verdicts = [
        decider(found._replace(outcomes={**found.outcomes, TS: outcome}), measure)
        for outcome in found.seeds
    ]
    verdict = decider(found, measure)
    said = [one.holds for one in verdicts]
    if len(set(said)) == 1:
        return verdict
    counted = ", ".join(
        f"{holds.value} with {said.count(holds)}" for holds in Holds if holds in said
    )
    return verdict._replace(
        holds=Holds.undecided, because=f"{verdict.because}; of {len(said)} seeds {counted}"
    )


_LARGE: Final = 1_000

_SAID: Final = {
    "wait": "wait",
    "response": "response time",
    "slowdown": "bounded slowdown",
    "UWT": "UWT",
    "deviation": "deviation of NUWT",
}


def _fastest(found: Compared, measure: str) -> Verdict:
    return _least(found, TS, _others(TS), measure)


def _worst(found: Compared, measure: str) -> Verdict:
    return _most(found, "FCFS", _others("FCFS"), measure)


def _others(name: str) -> tuple[str, ...]:
    return tuple(other for other in POLICIES if other != name)


def _least(found: Compared, name: str, rivals: Sequence[str], measure: str) -> Verdict:
    """Whether a policy's figure is below those of its rivals."""
    apart = {rival: difference(found, rival, name, measure) for rival in rivals}
    return Verdict(
        f"{name} has a lower {_SAID[measure]} than {_listed(name, rivals)}",
        every(greater(one) for one in apart.values()),
        _because(found, name, apart, measure, f"{{}} − {name}"),
        SOURCE,
    )


def _most(found: Compared, name: str, rivals: Sequence[str], measure: str) -> Verdict:
    """Whether a policy's figure is above those of its rivals."""
    apart = {rival: difference(found, name, rival, measure) for rival in rivals}
    return Verdict(
        f"{name} has a higher {_SAID[measure]} than {_listed(name, rivals)}",
        every(greater(one) for one in apart.values()),
        _because(found, name, apart, measure, f"{name} − {{}}"),
        SOURCE,
    )


def _at_least_as_fair(found: Compared, measure: str) -> Verdict:
    """Whether TS is no less fair to users than BF-FAIR."""
    apart = difference(found, TS, "BF-FAIR", measure)
    return Verdict(
        f"TS is at least as fair as BF-FAIR: no higher {_SAID[measure]}",
        opposite(greater(apart)),
        _because(found, TS, {"BF-FAIR": apart}, measure, f"{TS} − {{}}"),
        SOURCE,
    )


def _listed(name: str, rivals: Sequence[str]) -> str:
    if len(rivals) == len(POLICIES) - 1:
        return "all others"
    return " and ".join(rivals) if len(rivals) < 3 else ", ".join(rivals)


def _because(
    found: Compared, name: str, apart: Mapping[str, Estimate], measure: str, written: str
) -> str:
    """The figure, and by how much it differs from its rivals'; of many, from the nearest."""
    own = value(found, name, measure)
    if math.isnan(own):
        return "no user has two jobs and usage"
    unit = _OVER_ATTEMPTS[measure][0] if measure in _OVER_ATTEMPTS else ""
    figure = f"{own:,.0f}" if own >= _LARGE else f"{own:.4g}"
    said = f"{name} has {figure}{' ' * bool(unit)}{unit}; "
    if len(apart) <= len(BACKFILLING):
        return said + "; ".join(f"{written.format(other)} = {one}" for other, one in apart.items())
    nearest = min(apart, key=lambda other: math.inf if (low := apart[other].lower) is None else low)
    return f"{said}least sure: {written.format(nearest)} = {apart[nearest]}"
