import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.fairshare import operators
from audit.metrics.fairshare.operators import OPERATORS
from tests.naive import trees as naive

UNIT = st.floats(0, 1)
names = st.sampled_from(OPERATORS)


@given(names, UNIT, UNIT)
def test_priorities_are_those_of_the_paper(name: str, t: float, s: float) -> None:
    got = operators.priority(name, t, s)
    assert got.shape == ()
    assert got == pytest.approx(naive.priority(name, t, s), rel=1e-9, abs=1e-15)


def test_worked_values() -> None:
    quarter = {
        "absolute": 0.25,
        "relative": 0.5,
        "relative_n": 0.25,
        "sigmoid": math.sqrt(0.5),
        "sigmoid_n": 0.5**0.25,
        "combined": 0.25,
        "slurm": math.sqrt(2) - 1,
    }
    for name, value in quarter.items():
        assert operators.priority(name, 0.5, 0.25) == pytest.approx(value)
        if name != "slurm":
            assert operators.priority(name, 0.25, 0.5) == pytest.approx(-value)
    assert operators.priority("slurm", 0.25, 0.5) == -0.5


def test_boundaries_are_those_of_table_1() -> None:
    for name, x in itertools.product(OPERATORS, (0.001, 0.5, 1.0)):
        low = {"absolute": -x, "combined": -0.5 - x / 2}.get(name, -1.0)
        high = {"absolute": x, "combined": 0.5 + x / 2}.get(name, 1.0)
        assert operators.priority(name, 0.0, x) == low
        assert operators.priority(name, x, 0.0) == high
        assert operators.priority(name, x, x) == operators.priority(name, 0.0, 0.0) == 0.0


@given(names, UNIT, UNIT)
def test_the_sign_tells_who_used_less_even_by_one_bit(name: str, t: float, s: float) -> None:
    for state in (s, math.nextafter(t, 0), math.nextafter(t, 1)):
        if abs(t - state) > 1e-150:  # its square is a number
            assert np.sign(operators.priority(name, t, state)) == np.sign(t - state)


def test_arrays_are_broadcast() -> None:
    got = operators.priority("absolute", np.array([[0.5], [1.0]]), [0.0, 0.25, 1.0])
    assert got.tolist() == [[0.5, 0.25, -0.5], [1.0, 0.75, 0.0]]


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_what_is_no_part_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="must be from 0 to 1"):
        operators.priority("relative", value, 0.5)
    with pytest.raises(ValueError, match="must be from 0 to 1"):
        operators.priority("relative", 0.5, value)
    with pytest.raises(ValueError, match="must be from 0 to 1"):
        operators.reach("relative", 0.5, value)
    with pytest.raises(ValueError, match="choose one of absolute"):
        operators.priority("relativ", 0.5, 0.5)


# --- inverse -------------------------------------------------------------------------------------


@given(names, st.floats(1e-3, 1), UNIT)
def test_the_inverse_leads_back(name: str, t: float, s: float) -> None:
    p = operators.priority(name, t, s)
    back = operators.inverse(name, p, t)
    # Flat ends of sines and squares lose half of the digits, in s or in p.
    assert operators.priority(name, t, back) == pytest.approx(p, abs=1e-9)
    lost = name == "slurm" and s > 20 * t  # its priority is −1 but for rounding
    if name not in ("relative_n", "sigmoid", "sigmoid_n") and not lost:
        assert back == pytest.approx(s, abs=1e-7)


@given(names, UNIT, st.floats(-1, 1))
def test_reach_is_the_last_state_with_that_priority(name: str, t: float, p: float) -> None:
    at = float(operators.reach(name, p, t))
    assert 0 <= at <= 1
    inside, beyond = max(at - 1e-6, 0.0), min(at + 1e-6, 1.0)
    if at > 1e-6:
        assert operators.priority(name, t, inside) >= p
    if beyond > at:
        assert operators.priority(name, t, beyond) < p + 1e-12


def test_priorities_out_of_reach_have_no_inverse() -> None:
    assert np.isnan(operators.inverse("absolute", [-0.6, 0.6], 0.5)).all()
    assert operators.inverse("absolute", [-0.5, 0.0, 0.5], 0.5).tolist() == [1.0, 0.5, 0.0]
    assert operators.reach("absolute", [-0.6, 0.6], 0.5).tolist() == [1.0, 0.0]
    # −1 is the priority of any state above a target of 0, and 0 that of none but 0.
    assert operators.reach("relative", [-1.0, -0.99, 0.0, 0.01], 0.0).tolist() == [1, 0, 0, 0]
    assert np.isnan(operators.inverse("relative", [-1.0, -0.5], 0.0)).all()
    assert operators.inverse("combined", [-1.0, -0.75, 0.0], 0.0).tolist() == [1.0, 0.5, 0.0]
    assert np.isnan(operators.inverse("combined", [-0.5, -0.25], 0.0)).all()


# --- digits --------------------------------------------------------------------------------------


def test_digits_of_figure_4() -> None:
    assert operators.digits([-1.0, 1.0, 0.0], 10_000).tolist() == [0, 9999, 4999]
    assert operators.digits([-1.0, 1.0, 0.0], 10_000, as_published=True).tolist() == [0, 9999, 5000]
    published = operators.effective(range(4), 4, as_published=True)
    assert published.tolist() == [-1.0, -0.5, 0.0, 0.5]  # [R]'s example below eq. 20
    assert operators.effective(range(5), 5).tolist() == [-1.0, -0.5, 0.0, 0.5, 1.0]


@given(st.floats(-1, 1), st.integers(2, 1 << 20), st.booleans())
def test_the_effective_priority_is_the_least_of_its_digit(
    p: float, resolution: int, as_published: bool
) -> None:
    digit = operators.digits(p, resolution, as_published=as_published)
    assert 0 <= digit < resolution
    stands_for = operators.effective(digit, resolution, as_published=as_published)
    step = 2 / (resolution if as_published else resolution - 1)
    assert stands_for <= p + 1e-8
    assert p < stands_for + step + 1e-9 or digit == resolution - 1
    again = operators.digits(np.maximum(stands_for, -1.0), resolution, as_published=as_published)
    if not as_published:  # where the tolerance takes up what rounding leaves
        assert again == digit


def test_resolutions_and_priorities_out_of_range_are_refused() -> None:
    for resolution in (1, 0, 2**53):
        with pytest.raises(ValueError, match="resolution"):
            operators.digits(0.0, resolution)
    with pytest.raises(ValueError, match="priorities"):
        operators.digits(1.5, 8)
