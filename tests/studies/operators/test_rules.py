"""Rules of operators, their witnesses, and the tables of the paper with its errata."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.array_types import Floats
from audit.metrics.fairshare import operators
from audit.metrics.fairshare.operators import OPERATORS
from audit.studies.operators import rules
from audit.studies.operators.rules import RULES, Operator, OperatorWitness, check, equivalent, named

OF_RATIO = {"relative", "relative_n", "sigmoid", "sigmoid_n", "slurm"}


def test_conformance_is_what_the_paper_claims_and_the_errata_correct() -> None:
    for name, verdicts in rules.conformance().items():
        broken = {rule for rule, witness in verdicts.items() if witness}
        if name in OF_RATIO:
            assert broken == {"edges"}  # (13) fails at s = 0
        else:
            assert broken == {"lowest", "highest", "redistribution", "ratio"}


def test_boundaries_agree_with_table_1() -> None:
    table = rules.boundaries()
    assert table.height == 7 * 3
    assert table["agrees"].all()
    row = table.row(by_predicate=(pl.col("operator") == "combined") & (pl.col("at") == 0.5))
    assert row[2:4] == (-0.75, 0.75)


def test_equivalent_are_all_that_depend_on_the_ratio() -> None:
    found = rules.equivalence()
    assert len(found) == 21
    for pair, witness in found.items():
        assert (witness is None) == (set(pair) <= OF_RATIO)


def test_figure_5_at_three_resolutions() -> None:
    assert [right for *_, right in rules.fallen_together()] == [False, True, True]
    assert rules.fallen_together()[0][1:3] == ("7409", "7489")


# --- each rule by itself ---


def broken(operator: Operator) -> dict[str, OperatorWitness]:
    return {rule: witness for rule, witness in check(operator).items() if witness is not None}


def changed(what: str) -> Operator:
    """``relative``, but for one thing."""

    def operator(t: Floats, s: Floats) -> Floats:
        p = operators.priority("relative", t, s)
        return {
            "twice": 2 * p,
            "shifted": np.maximum(p - 0.01, -1.0),
            "flat": np.round(p, 2),
            "upside down": -p,
            "state only": np.where(t == s, 0.0, np.where(t > s, 1 - s / 2, -(1 + s) / 2)),
            "off at state 0": np.where((s == 0) & (t > 0), 0.99 + t / 200, p),
            "off at target 0": np.where((t == 0) & (s > 0), -0.99 - s / 200, p),
        }[what]

    return operator


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("twice", {"range", "lowest", "highest", "edges"}),
        ("shifted", {"sign", "highest", "edges", "redistribution", "ratio"}),
        ("flat", {"target", "state", "edges"}),
        ("upside down", {"sign", "target", "state", "edges", "lowest", "highest"}),
        ("state only", {"target", "edges", "lowest", "redistribution", "ratio"}),
        ("off at state 0", {"highest"}),
        ("off at target 0", {"lowest", "edges"}),
    ],
)
def test_each_rule_is_broken_by_what_was_changed(what: str, expected: set[str]) -> None:
    found = set(broken(changed(what)))
    if what in ("flat", "shifted", "off at state 0", "off at target 0"):
        assert found >= expected - {"edges", "redistribution", "ratio"}
    else:
        assert found == expected


def test_an_operator_of_chance_is_caught() -> None:
    random = np.random.Generator(np.random.PCG64(3))

    def chance(t: Floats, s: Floats) -> Floats:
        return operators.priority("absolute", t, s) * random.uniform(0.5, 1.0, t.shape)

    witness = broken(chance)["deterministic"]
    first, again = witness.samples
    assert (first.target, first.state) == (again.target, again.state)
    assert first.priority != again.priority


def test_witnesses_can_be_recomputed_and_show_what_they_say() -> None:
    for name in OPERATORS:
        for rule, witness in broken(named(name)).items():
            assert rule in RULES
            for sample in witness.samples:
                again = operators.priority(name, sample.target, sample.state)
                assert float(again) == sample.priority
    witness = broken(named("absolute"))["redistribution"]
    one, other, own_one, own_other = (sample.priority for sample in witness.samples)
    assert (one - other) * (own_one - own_other) < 0
    virtual, _, real, _ = (sample.target for sample in witness.samples)
    assert virtual > real


def test_witnesses_of_unlike_orders_are_siblings() -> None:
    witness = equivalent(named("absolute"), named("slurm"))
    assert witness is not None
    a, b, c, d = witness.samples
    assert (a.target, a.state, b.target, b.state) == (c.target, c.state, d.target, d.state)
    assert a.target + b.target <= 1 + 1e-12
    assert a.state + b.state <= 1 + 1e-12
    assert (a.priority - b.priority) * (c.priority - d.priority) < 0


@given(st.floats(0.2, 5))
def test_any_growing_function_of_an_operator_is_equivalent_to_it(power: float) -> None:
    def bent(t: Floats, s: Floats) -> Floats:
        p = operators.priority("absolute", t, s)
        return np.sign(p) * np.abs(p) ** power

    assert equivalent(named("absolute"), bent) is None
    assert equivalent(named("relative"), bent) is not None


def test_ties_of_one_alone_are_reported() -> None:
    def coarse(t: Floats, s: Floats) -> Floats:
        return np.sign(operators.priority("absolute", t, s))

    witness = equivalent(named("absolute"), coarse)
    assert witness is not None
    assert witness.samples[2].priority == witness.samples[3].priority


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="target 0 and state 0 is nan: not a number"):
        check(lambda t, s: t / np.where(t > 0, t, np.nan))
