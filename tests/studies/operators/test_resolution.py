"""Densities, steps, least jobs and bits: against definitions, and against what the paper prints."""

import math
from functools import cache
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.fairshare import operators
from audit.metrics.fairshare.operators import OPERATORS
from audit.studies.operators import resolution
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


@cache
def some_sizes() -> pl.DataFrame:
    return resolution.job_sizes(range(3, 15))


def test_a_job_of_that_size_just_changes_the_digit() -> None:
    """From each digit's lowest state, k · U more usage moves to its highest, by counting hours."""
    bits, used = 5, resolution.USED_HOURS
    sizes = resolution.job_sizes([bits]).filter(~pl.col("as_published"), target=0.3)
    for name, area in sizes.select("operator", "area").iter_rows():
        table = resolution.local_densities(bits, [(0.3, False)])
        least, most = resolution.AREAS[area]
        rows = table.filter(
            pl.col("operator") == name,
            pl.col("priority").is_between(least, most),
            pl.col("density") > 0,
        )
        hours = []
        for low, high in rows.select("lowest_state", "highest_state").iter_rows():
            if high < 1 - 1e-12:
                job = used * (high - low) / (1 - high)
                assert (low * used + job) / (used + job) == pytest.approx(high)
                hours.append(job)
        [row] = sizes.filter(operator=name, area=area).iter_rows(named=True)
        assert (row["digits"], row["left_out"]) == (len(hours), rows.height - len(hours))
        if hours:
            assert row["hours_most"] == pytest.approx(max(hours))
            assert row["hours_median"] == pytest.approx(sorted(hours)[(len(hours) + 1) // 2 - 1])


def test_as_published_solves_equation_24() -> None:
    bits = 6
    sizes = resolution.job_sizes([bits]).filter("as_published", target=0.5, area="balance")
    density = 2 / 2**bits
    states = [0.5 + 0.25 - k * density for k in range(17)]
    roots = [
        max(np.roots([1, 1 + s, -density]).real) for s in states
    ]  # k² + (1 + s) k − D = 0, at the higher state of each digit
    [row] = sizes.filter(operator="absolute").iter_rows(named=True)
    assert row["digits"] == 17
    assert row["density_most"] == pytest.approx(density)
    assert row["hours_most"] == pytest.approx(resolution.USED_HOURS * max(roots))
    assert row["hours_median"] == pytest.approx(resolution.USED_HOURS * sorted(roots)[8])


def test_all_targets_together_are_the_worst_of_them() -> None:
    sizes = some_sizes()
    key = ["as_published", "operator", "area", "bits"]
    alone = sizes.filter(pl.col("target").is_not_null())
    together = sizes.filter(pl.col("target").is_null()).sort(key)
    wanted = (
        alone.group_by(key)
        .agg(pl.col("hours_most", "density_most").max(), pl.col("digits", "left_out").sum())
        .sort(key)
    )
    assert together.select(wanted.columns).equals(wanted)


def test_more_bits_need_smaller_jobs_as_published() -> None:
    worst = some_sizes().filter("as_published", pl.col("target").is_null(), pl.col("bits") > 4)
    for _, rows in worst.sort("bits").group_by("operator", "area"):
        hours = rows["hours_most"].to_list()
        assert all(after < before * 1.01 for before, after in pairwise(hours))


def test_bits_are_the_least_from_which_on_the_job_counts() -> None:
    hours = [9_000.0, 1_500.0, 2_500.0, 1_900.0, 100.0]
    sizes = pl.DataFrame(
        {
            "as_published": [True] * 5,
            "operator": ["absolute"] * 5,
            "area": ["over"] * 5,
            "bits": [7, 6, 5, 4, 3],
            "target": [None] * 5,
            "digits": [1] * 5,
            "left_out": [7, 6, 5, 4, 3],
            "density_most": [0.1] * 5,
            "hours_median": hours[::-1],
            "hours_most": hours[::-1],
        },
        schema=resolution.SIZES,
    )
    assert resolution.bits_needed(sizes, 2_000)["bits"].to_list() == [6]
    assert resolution.bits_needed(sizes, 2_000)["left_out"].to_list() == [6]
    assert resolution.bits_needed(sizes, 10_000)["bits"].to_list() == [3]
    assert resolution.bits_needed(sizes, 50)["bits"].to_list() == [None]
    without = sizes.with_columns(hours_most=pl.lit(None, pl.Float64))
    assert resolution.bits_needed(without)["bits"].to_list() == [None]


def test_absolute_needs_12_or_13_bits_and_never_the_printed_14() -> None:
    """SPEC §9: what eq. 25 gives, k being D/(1 + s) but for little, with s from 0 to 1."""
    beside = resolution.beside_printed(resolution.bits_needed(some_sizes()))
    absolute = beside.filter(operator="absolute")
    assert absolute["as_published"].to_list() == [13, 12, 13, 13]
    assert absolute["printed"].to_list() == [12, 14, 12, 14]
    assert absolute["difference"].to_list() == [1, -2, 1, -1]
    for s in (0.0, 1.0):
        k = resolution.JOB_HOURS / resolution.USED_HOURS
        assert math.ceil(math.log2(2 / (k * k + (1 + s) * k))) == (13 if s == 0 else 12)


def test_the_printed_figures_overall_column_is_the_most_of_its_others() -> None:
    for *areas, overall in resolution.PRINTED_BITS.values():
        assert overall == max(areas)


def test_orders_name_each_operator_once() -> None:
    orders = resolution.orders(some_sizes())
    for (_, version), names in orders.items():
        assert set(names) >= set(OPERATORS) - ({"absolute"} if version == "printed" else set())
        assert len(set(names)) == len(names)
    balance = [orders["balance", version][:2] for version in ("as published", "printed")]
    assert balance == [("sigmoid_n", "sigmoid")] * 2


def test_a_target_without_states_in_an_area_needs_no_bits() -> None:
    needed = resolution.bits_needed(some_sizes())
    of = resolution.bits_by_target(needed, some_sizes()).filter(operator="absolute", area="under")
    # F(t, 0) = t: up to 0.6 nobody is as much under target
    assert of.sort("target")["attained"].to_list() == [False] * 7 + [True] * 3


def test_digits_of_absolute_are_those_of_equation_25() -> None:
    assert resolution.digits_of_absolute(1.0) == (2 / 3, 1.0)
