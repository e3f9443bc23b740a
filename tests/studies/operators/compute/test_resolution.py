"""Densities and steps against their definitions, sampled."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.fairshare import operators
from audit.metrics.fairshare.operators import OPERATORS
from audit.studies.operators.compute import resolution
from tests.naive import trees as naive

names = st.sampled_from(OPERATORS)


@pytest.mark.parametrize("as_published", [True, False])
def test_input_density_is_the_part_of_a_fine_grid(as_published: bool) -> None:
    bits, steps = 3, 1_000
    middles = (np.arange(steps) + 0.5) / steps
    t, s = (axis.ravel() for axis in np.meshgrid(middles, middles))
    table = resolution.input_densities(bits).filter(as_published=as_published)
    for name in OPERATORS:
        digits = operators.digits(
            operators.priority(name, t, s), 1 << bits, as_published=as_published
        )
        wanted = np.bincount(digits, minlength=1 << bits) / len(t)
        got = table.filter(operator=name)["density"].to_numpy()
        # A square of the grid is entered or left where the bound of a surface crosses it.
        np.testing.assert_allclose(got, wanted, atol=3 / steps)
        assert got.sum() == pytest.approx(1, abs=1e-12)


def test_input_density_of_figure_7() -> None:
    """Of ``absolute`` at 3 bits the areas are strips of the square, 1/32 to 7/32."""
    published = resolution.input_densities(3).filter(as_published=True)
    got = published.filter(operator="absolute")["density"]
    assert (got * 32).to_list() == pytest.approx([1, 3, 5, 7, 7, 5, 3, 1])
    same = published.filter(operator="relative")["density"]
    assert same.to_list() == pytest.approx([1 / 8] * 8)


@given(names, st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), st.integers(3, 6), st.booleans())
def test_local_density_is_the_length_of_states_with_that_digit(
    name: str, target: float, bits: int, as_published: bool
) -> None:
    steps = 4_000
    states = (np.arange(steps) + 0.5) / steps
    sampled = operators.digits(
        [naive.priority(name, target, s) for s in states.tolist()],
        1 << bits,
        as_published=as_published,
    )
    wanted = np.bincount(sampled, minlength=1 << bits) / steps
    table = resolution.local_densities(bits, [(target, as_published)]).filter(operator=name)
    np.testing.assert_allclose(table["density"], wanted, atol=1.5 / steps)
    assert table["density"].sum() == pytest.approx(1)
    known = table.filter(pl.col("density") > 0)
    assert (known["highest_state"] - known["lowest_state"]).to_list() == known["density"].to_list()


def test_absolute_has_the_same_local_density_everywhere() -> None:
    """[R] fig. 9: constant, but for what each target cannot reach."""
    for target in resolution.TARGETS:
        table = resolution.local_densities(3, [(target, True)]).filter(operator="absolute")
        whole = table.filter(
            pl.col("priority").is_between(target - 1, target - 0.25 + 1e-12), pl.col("density") > 0
        )
        assert whole["density"].to_list() == pytest.approx([0.25] * whole.height)


def test_a_profile_is_the_operator_with_its_densities() -> None:
    profile = resolution.profile(3, 0.5)
    slurm = profile.curves.filter(operator="slurm")
    assert slurm["state"].to_list() == [k / 100 for k in range(101)]
    assert slurm["priority"][50] == 0
    bars = profile.bars.filter(operator="absolute")
    assert bars["density"].sum() == pytest.approx(1)
    assert (bars["next"] - bars["priority"]).to_list() == pytest.approx([2 / 7] * bars.height)
    assert profile.at_balance["operator"].to_list() == list(OPERATORS)
    assert profile.at_balance["density"][0] == pytest.approx(2 / 7)


def test_extremes_pass_over_what_no_state_has() -> None:
    both = resolution.local_densities(3, [(0.5, True), (0.5, False)])
    assert both.height == 2 * len(OPERATORS) * 8
    most, least = resolution.extremes(both)
    assert most["density"] == both["density"].max()
    assert 0 < least["density"] == both.filter(pl.col("density") > 0)["density"].min()
