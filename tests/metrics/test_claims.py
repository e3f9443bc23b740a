"""Differences and ratios with their intervals, and what they decide."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.array_types import Floats
from audit.metrics import claims
from audit.metrics.claims import BELOW_0, Claim, ClaimHolds, Comparison, Estimate
from audit.metrics.uncertainty import Resamples

_values = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=20
)


def naive_interval(
    rows: list[tuple[int, int, int]], resamples: Resamples, of: str
) -> tuple[float | None, float | None]:
    """Each resample written out attempt by attempt."""
    if len({unit for unit, _, _ in rows}) < 2:
        return None, None
    found = []
    for weights in resamples.weights.tolist():
        drawn = [row for row in rows for _ in range(weights[row[0]])]
        one, other = sum(row[1] for row in drawn), sum(row[2] for row in drawn)
        if of == "difference":
            if drawn:
                found.append((one - other) / len(drawn))
        elif other:
            found.append(one / other)
        else:
            found.append(math.inf if one else 1.0)
    found.sort()

    def at(thousandths: int) -> float:
        return found[max(1, -(-len(found) * thousandths // 1000)) - 1]

    return at(25), at(975)


@given(_values, st.integers(0, 99))
def test_a_mean_difference_and_a_ratio_as_defined(
    rows: list[tuple[int, int, int]], seed: int
) -> None:
    units, one, other = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    resamples = Resamples(4, seed, 60)
    found = claims.mean_difference(units, one, other, resamples)
    assert found.value == pytest.approx((one.sum() - other.sum()) / len(rows))
    assert found[1:] == pytest.approx(naive_interval(rows, resamples, "difference"))
    divided = claims.ratio(units, one, other, resamples)
    if not one.any() and not other.any():
        assert divided is None
        return
    assert divided is not None
    assert divided.value == pytest.approx(one.sum() / other.sum() if other.any() else math.inf)
    assert divided[1:] == pytest.approx(naive_interval(rows, resamples, "ratio"))


def test_a_pair_s_interval_is_that_of_the_difference() -> None:
    """Users differ much, but each by the same between the two: the difference is certain."""
    units = np.repeat(np.arange(20), 5)
    one = units.astype(np.float64) ** 2
    resamples = Resamples(20, 3, 500)
    found = claims.mean_difference(units, one + 2, one, resamples)
    assert found == Estimate(2.0, 2.0, 2.0)
    alone = claims.mean(units, one, resamples)
    assert alone.lower is not None
    assert alone.upper is not None
    assert alone.upper - alone.lower > 50


def test_what_is_not_defined_is_none() -> None:
    def never(sums: Mapping[str, Floats]) -> Floats:
        return sums["x"] * np.nan

    units, values = np.array([0, 1]), np.array([1.0, 2.0])
    assert claims.estimate(units, {"x": values}, never, Resamples(2, 1, 10)) is None
    alone = claims.estimate(units * 0, {"x": values}, lambda s: s["x"], Resamples(1, 1, 10))
    assert alone == Estimate(3.0, None, None)
    with pytest.raises(ValueError, match="no attempts"):
        claims.mean(units[:0], values[:0], Resamples(2, 1, 10))


@pytest.mark.parametrize(
    ("lower", "upper", "greater", "near"),
    [
        (1.0, 2.0, ClaimHolds.yes, ClaimHolds.undecided),
        (1.6, 2.0, ClaimHolds.yes, ClaimHolds.no),
        (0.0, 1.0, ClaimHolds.undecided, ClaimHolds.yes),
        (-1.0, 0.0, ClaimHolds.no, ClaimHolds.yes),
        (0.0, 0.0, ClaimHolds.no, ClaimHolds.yes),
        (-3.0, 3.0, ClaimHolds.undecided, ClaimHolds.undecided),
        (-3.0, -2.0, ClaimHolds.no, ClaimHolds.no),
        (None, None, ClaimHolds.undecided, ClaimHolds.undecided),
    ],
)
def test_what_an_interval_decides(
    lower: float | None, upper: float | None, greater: ClaimHolds, near: ClaimHolds
) -> None:
    found = Estimate(1.0, lower, upper)
    assert claims.greater(found) is greater
    opposite = None if lower is None or upper is None else Estimate(-1.0, -upper, -lower)
    assert claims.less(opposite) is greater
    assert claims.between(found, -1.5, 1.5) is near
    assert claims.opposite(claims.opposite(near)) is near


def test_a_claim_holds_where_all_its_parts_do() -> None:
    yes, no, undecided = ClaimHolds.yes, ClaimHolds.no, ClaimHolds.undecided
    assert claims.every([yes, yes]) is yes
    assert claims.every([yes, undecided]) is undecided
    assert claims.every([undecided, no, yes]) is no
    assert claims.every([]) is undecided
    assert claims.greater(None) is claims.between(None, 0, 1) is undecided
    assert claims.opposite(yes) is no


def test_a_claim_is_decided_by_those_of_its_comparisons_that_decide() -> None:
    above = Comparison("a − b", Estimate(1.0, 0.5, 2.0))
    below = Comparison("b − c", Estimate(-1.0, -2.0, -0.5), BELOW_0)
    beside = Comparison("c − d", Estimate(-1.0, -2.0, -0.5), decides=False)
    claim = Claim("a before b before c", "[X §1]", [above, below, beside])
    assert beside.holds is ClaimHolds.no
    verdict = claim.verdict("as seen")
    assert verdict == ("a before b before c", ClaimHolds.yes, "as seen", "[X §1]")
    unsure = Comparison("c / d", Estimate(1.0, 0.5, 2.0), claims.within(0.0, 1.25))
    mixed = replace(claim, comparisons=[above, unsure])
    assert mixed.verdict("").holds is ClaimHolds.undecided
    found = [verdict, mixed.verdict("")]
    assert claims.tally(found) == {ClaimHolds.yes: 1, ClaimHolds.no: 0, ClaimHolds.undecided: 1}


def test_the_question_is_stated() -> None:
    asked = (claims.within(0.8, 1.25), claims.within(0.0, 0.5), claims.NOT_ABOVE_0)
    assert [one.text for one in asked] == ["0.8 to 1.25", "at most 0.5", "≤ 0"]
    assert claims.NOT_ABOVE_0.decide(Estimate(0.0, -1.0, 0.0)) is ClaimHolds.yes
    assert claims.NOT_ABOVE_0.decide(Estimate(1.0, 0.5, 2.0)) is ClaimHolds.no


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(18221.3, -4923.9, 48730.2), "18,221 [−4,924, 48,730]"),
        (Estimate(0.98181, 0.1, 1.0), "0.9818 [0.1000, 1.000]"),
        (Estimate(0.0, 0.0, math.inf), "0 [0, inf]"),
        (Estimate(2.0, None, None), "2.000 (no interval)"),
    ],
)
def test_an_estimate_reads_well(estimate: Estimate, text: str) -> None:
    assert str(estimate) == text
