"""The five rules of [M]: Table 1, what breaks each rule, and the definition in slow Python."""

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.array_types import Floats
from audit.metrics.fairshare.penalty import RELATIVE, RESOURCES, WEIGHTED
from audit.studies.penalties.rules import (
    FORMS,
    Form,
    PenaltyVerdict,
    PenaltyWitness,
    check,
    check_at,
    linear_on_symmetric_line,
    named,
    rules,
    weightings,
)
from tests.examples import examples
from tests.naive import penalties

ONES = np.ones(2)
# Where max_scaled bends under a weight of 10 lies between tenths.
LEVELS = sorted([*penalties.TENTHS, Fraction(1, 20)])
WEIGHTS = ([1.0, 1.0], [2.0, 1.0], [1.0, 0.1], [0.5, 0.5], [10.0, 1.0])

# [M] Table 1, as printed.
TABLE_1 = {
    "cpu": (False, False, False, True, False),
    "max": (True, False, True, True, False),
    "product_weighted": (True, True, False, False, True),
    "sum_weighted": (True, True, False, True, True),
    "root_weighted": (True, True, True, False, True),
}


def kept(verdicts: Sequence[PenaltyVerdict]) -> tuple[bool, ...]:
    assert [verdict.rule for verdict in verdicts] == list(range(1, len(verdicts) + 1))
    return tuple(verdict.kept for verdict in verdicts)


def of(function: Callable[..., Floats]) -> Form:
    """A penalty without weights, of each resource's fractions."""
    return lambda points, weights: function(*points.T)


@pytest.mark.parametrize("resources", [2, 3, 4])
def test_the_table_of_the_paper(resources: int) -> None:
    assert {name: kept(rules(name, resources)) for name in TABLE_1} == TABLE_1


def test_the_penalties_that_the_table_leaves_out() -> None:
    for twin, name in (
        ("sum", "sum_weighted"),
        ("root", "root_weighted"),
        ("product", "product_weighted"),
        ("pe", "max"),
        ("max_capped", "max"),
        ("max_scaled", "max"),
    ):
        assert kept(rules(twin)) == TABLE_1[name]
    assert set(FORMS) == set(RELATIVE)


@pytest.mark.parametrize("name", RELATIVE)
def test_rules_as_defined(name: str) -> None:
    for weights in WEIGHTS if name in WEIGHTED else WEIGHTS[:1]:
        exact = dict(zip(RESOURCES, map(Fraction, weights), strict=False))

        def penalty(point: penalties.Point, exact: dict[str, Fraction] = exact) -> Fraction:
            held = dict(zip(RESOURCES, point, strict=False))
            return penalties.penalty(name, held, exact)

        slow = penalties.keeps(penalty, 2, LEVELS)
        assert list(kept(check_at(named(name), np.array(weights)))) == slow, weights


tenths = st.integers(0, 10).map(lambda tenth: Fraction(tenth, 10))


@settings(max_examples=examples(20))
@given(st.lists(tenths, min_size=5, max_size=5), st.sampled_from([2, 3]))
def test_mixtures_as_defined(parts: list[Fraction], resources: int) -> None:
    """Mixtures of penalties with exact values, some of which keep what neither part keeps."""

    def exact(point: penalties.Point) -> Fraction:
        of_all = sum(point, Fraction()) / len(point)
        volume = Fraction(math.prod(point))
        terms = (point[0], max(point), of_all, volume, min(Fraction(1), 2 * of_all))
        return sum((part * term for part, term in zip(parts, terms, strict=True)), Fraction())

    def fast(points: Floats, weights: Floats) -> Floats:
        terms = (
            points[:, 0],
            points.max(axis=1),
            points.mean(axis=1),
            points.prod(axis=1),
            np.minimum(1.0, 2.0 * points.mean(axis=1)),
        )
        total: Floats = sum(
            (float(part) * term for part, term in zip(parts, terms, strict=True)),
            np.zeros(len(points)),
        )
        return total

    levels = penalties.TENTHS if resources == 2 else penalties.TENTHS[::2]
    slow = penalties.keeps(exact, resources, levels)
    quick = list(kept(check_at(fast, np.ones(resources))))
    # The mixed-in cap bends at 1/2, off the coarse grid of three resources.
    if not (resources == 3 and parts[4]):
        assert quick == slow
    else:
        assert all(not found or defined for found, defined in zip(quick, slow, strict=True))


def breaks(verdict: PenaltyVerdict, witness: PenaltyWitness) -> bool:
    """Whether what a witness shows breaks the rule, by the rule's own words."""
    rule = int(witness.says.split()[3][:-1]) if "break rule" in witness.says else verdict.rule
    points = [np.array(sample.fractions) for sample in witness.samples]
    values = [sample.penalty for sample in witness.samples]
    changed = points[0] != points[-1]
    match rule:
        case 1:
            return int(changed.sum()) >= len(points[0]) - 1 and values[0] == values[1]
        case 2:
            [x] = np.flatnonzero(changed)
            nondominant = points[0][x] < points[1][x] < np.delete(points[0], x).max()
            inside = bool((points[0] > 0).all() and (points[1] < 1).all())
            return bool(nondominant) and inside and values[1] <= values[0] + 1e-12
        case 3:
            full, none = bool((points[0] == 1.0).any()), not points[0].any()
            zero = abs(values[0]) <= 1e-12
            return full != math.isclose(values[0], 1.0) or none != zero
        case 4 if len(points) == 3:
            [x] = np.flatnonzero(changed)
            assert np.allclose(points[0] + points[2], 2 * points[1])
            dominant = points[0][x] >= np.delete(points[0], x).max()
            return bool(dominant) and abs(values[0] - 2 * values[1] + values[2]) > 1e-12
        case 4:
            part = float(points[1].sum() / points[0].sum())
            assert np.allclose(part * points[0], points[1])
            return abs(values[1] - part * values[0]) > 1e-12
        case _:
            one, other = witness.samples
            assert one.fractions == other.fractions
            return values[0] == values[1] and one.weights != other.weights


def stepped(step: float) -> Form:
    """A root whose second resource counts in steps."""

    def root(a: Floats, b: Floats) -> Floats:
        up = np.minimum(np.ceil(b / step) * step, 0.9995)
        left: Floats = np.sqrt((1 - a) * (1 - np.where(b < 1, up, 1.0)))
        return 1 - left

    return of(root)


# Penalties that break what they are listed for, and nothing else.
CASES: dict[str, tuple[Form, tuple[int, ...]]] = {
    "max grows in a half": (of(lambda a, b: (np.maximum(a, b) + (a + b) / 2) / 2), (3,)),
    "mean": (of(lambda a, b: (a + b) / 2), (3,)),
    "root": (of(lambda a, b: 1 - np.sqrt((1 - a) * (1 - b))), (4,)),
    "max": (of(np.maximum), (2,)),
    "one resource": (of(lambda a, b: a), (1, 2, 3)),
    "constant": (of(lambda a, b: 0 * a), (1, 2, 3)),
    "full a little early": (of(lambda a, b: np.minimum(1, np.maximum(a, b) * 1.004)), (2, 3, 4)),
    "little use is free": (
        of(lambda a, b: np.where(np.maximum(a, b) < 0.002, 0, 1 - np.sqrt((1 - a) * (1 - b)))),
        (3, 4),
    ),
    "nothing costs something": (of(lambda a, b: 0.1 + 0.9 * np.maximum(a, b)), (2, 3, 4)),
    "steps off the grid": (stepped(0.003), (2, 4)),
    "steps on the grid": (stepped(0.05), (2, 4)),
    "square of the maximum": (of(lambda a, b: np.maximum(a, b) ** 2), (2, 4)),
    "product": (of(lambda a, b: a * b), (3, 4)),
    "geometric mean": (of(lambda a, b: np.sqrt(a * b)), (3, 4)),
    "a bend between tenths": (
        of(lambda a, b: np.maximum(a, b) + 0.01 * np.sin(20 * np.pi * np.maximum(a, b))),
        (2, 4),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_rule_is_distinct(case: str) -> None:
    form, broken = CASES[case]
    verdicts = check_at(form, ONES)
    assert tuple(verdict.rule for verdict in verdicts if not verdict.kept) == broken
    for verdict in verdicts:
        assert bool(verdict.witnesses) != verdict.kept
        assert all(breaks(verdict, witness) for witness in verdict.witnesses)


@pytest.mark.parametrize("resources", [2, 3])
@pytest.mark.parametrize("name", RELATIVE)
def test_witnesses_can_be_recomputed(name: str, resources: int) -> None:
    columns = RESOURCES[:resources]
    for verdict in rules(name, resources):
        assert bool(verdict.witnesses) != verdict.kept
        for number, witness in enumerate(verdict.witnesses):
            assert breaks(verdict, witness), witness
            form = name
            if verdict.rule == 5:
                form = [*FORMS[name], name][number]
            for sample in witness.samples:
                exact = penalties.penalty(
                    form,
                    dict(zip(columns, map(Fraction, sample.fractions), strict=True)),
                    dict(zip(columns, map(Fraction, sample.weights), strict=True)),
                )
                assert sample.penalty == pytest.approx(float(exact), rel=1e-12, abs=1e-15)


def test_weights_that_break_rule_1_or_do_nothing() -> None:
    def picky(points: Floats, weights: Floats) -> Floats:
        """Forgets all but the heaviest resource once one is heavier."""
        heaviest = weights == weights.max()
        least: Floats = np.where(heaviest, points, 0).max(axis=1)
        return least

    plain, forms = named("max"), [picky]
    verdict = check(plain, forms)[4]
    assert not verdict.kept
    assert verdict.witnesses[0].says.startswith("weights break rule 1")
    assert check(plain)[4].witnesses[0].says == "weights change nothing"
    # One good form is enough.
    assert check(named("root"), [picky, named("root_weighted")])[4].kept


def test_problems_a_and_b_are_what_fails_weighted_maxima() -> None:
    capped, scaled = rules("max")[4].witnesses
    assert capped.samples[0] == ((0.5, 0.0), (2.0, 1.0), 1.0)  # A
    assert scaled.samples[0] == ((0.0, 1.0), (2.0, 1.0), 0.5)  # B
    b_by_capped = check_at(named("max_capped"), np.array([1.0, 0.1]))[2].witnesses[0]
    assert b_by_capped.samples[0].penalty == pytest.approx(0.1)


def test_exempt_resources_break_rule_3_and_leave_the_others() -> None:
    verdicts = rules("root_weighted", 3, exempt=["gpus"])
    assert kept(verdicts) == (True, True, False, False, True)
    assert verdicts[2].witnesses[0].samples[0].fractions == (0.0, 0.0, 1.0)


@pytest.mark.parametrize("resources", [2, 3, 4])
def test_linear_on_the_symmetric_line(resources: int) -> None:
    """[M §4]: root is, with weights too."""
    linear = {
        name: all(
            linear_on_symmetric_line(named(name, resources), weights)
            for weights in [np.ones(resources), *weightings(resources)]
        )
        for name in RELATIVE
    }
    assert linear == {name: name not in ("product", "max_capped") for name in RELATIVE}
    assert not linear_on_symmetric_line(named("root", 3, ["gpus"]), np.ones(3))


@given(st.permutations(range(3)))
def test_names_of_resources_change_no_verdict(order: list[int]) -> None:
    def form(points: Floats, weights: Floats) -> Floats:
        a, b, c = points.T
        penalty: Floats = np.maximum(a, np.sqrt(b * c))
        return penalty

    turned = check_at(lambda points, weights: form(points[:, order], weights), np.ones(3))
    assert kept(turned) == kept(check_at(form, np.ones(3)))


def test_no_penalty_keeps_rules_2_3_and_4() -> None:
    """Of all that are here, and of each mixed with each, evenly; the proof is in docs."""
    for one, other in itertools.combinations(RELATIVE, 2):

        def mixed(points: Floats, weights: Floats, one: str = one, other: str = other) -> Floats:
            return (named(one)(points, weights) + named(other)(points, weights)) / 2

        assert not all(kept(check_at(mixed, ONES))[1:])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: check(of(lambda a, b: a / (a + b))), r"penalty of \(0.0, 0.0\) is nan"),
        (
            lambda: rules("root", 2, exempt=["cpus", "mem_bytes"]),
            "no resource remains",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_what_cannot_be_decided(make: Callable[[], object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()
