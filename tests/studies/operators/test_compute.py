"""[R]'s analyses against their definitions, sampled, and against what the paper prints."""

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
from audit.studies.operators import compute as study
from tests.naive import trees as naive

OF_RATIO = {"relative", "relative_n", "sigmoid", "sigmoid_n", "slurm"}
names = st.sampled_from(OPERATORS)


@cache
def some_sizes() -> pl.DataFrame:
    return study.job_sizes(study.Setting(bits=range(3, 15)))


# --- conformance, boundaries, equivalence --------------------------------------------------------


def test_conformance_is_what_the_paper_claims_and_the_errata_correct() -> None:
    for name, verdicts in study.conformance():
        broken = {verdict.rule for verdict in verdicts if not verdict.kept}
        if name in OF_RATIO:
            assert broken == {"edges"}  # (13) fails at s = 0
        else:
            assert broken == {"lowest", "highest", "redistribution", "ratio"}


def test_boundaries_agree_with_table_1() -> None:
    table = study.boundaries()
    assert table.height == 7 * 3
    assert table["agrees"].all()
    row = table.row(by_predicate=(pl.col("operator") == "combined") & (pl.col("at") == 0.5))
    assert row[2:4] == (-0.75, 0.75)


def test_equivalent_are_all_that_depend_on_the_ratio() -> None:
    found = study.equivalence()
    assert len(found) == 21
    for pair, witness in found.items():
        assert (witness is None) == (set(pair) <= OF_RATIO)


def test_figure_5_at_three_resolutions() -> None:
    assert [row.right for row in study.fallen_together()] == [False, True, True]
    assert study.fallen_together()[0][1:3] == ("7409", "7489")


# --- densities -----------------------------------------------------------------------------------


@pytest.mark.parametrize("as_published", [True, False])
def test_input_density_is_the_part_of_a_fine_grid(as_published: bool) -> None:
    bits, steps = 3, 1_000
    middles = (np.arange(steps) + 0.5) / steps
    t, s = (axis.ravel() for axis in np.meshgrid(middles, middles))
    table = study.input_density(bits, as_published=as_published)
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
    got = study.input_density(3, as_published=True).filter(operator="absolute")["density"]
    assert (got * 32).to_list() == pytest.approx([1, 3, 5, 7, 7, 5, 3, 1])
    same = study.input_density(3, as_published=True).filter(operator="relative")["density"]
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
    table = study.local_density(bits, target, as_published=as_published).filter(operator=name)
    np.testing.assert_allclose(table["density"], wanted, atol=1.5 / steps)
    assert table["density"].sum() == pytest.approx(1)
    known = table.filter(pl.col("density") > 0)
    assert (known["highest_state"] - known["lowest_state"]).to_list() == known["density"].to_list()


def test_absolute_has_the_same_local_density_everywhere() -> None:
    """[R] fig. 9: constant, but for what each target cannot reach."""
    for target in study.TARGETS:
        table = study.local_density(3, target, as_published=True).filter(operator="absolute")
        whole = table.filter(
            pl.col("priority").is_between(target - 1, target - 0.25 + 1e-12), pl.col("density") > 0
        )
        assert whole["density"].to_list() == pytest.approx([0.25] * whole.height)


@given(names, st.floats(0.05, 1), st.floats(0, 1), st.integers(3, 10), st.booleans())
def test_the_smallest_step_just_changes_the_digit(
    name: str, target: float, state: float, bits: int, as_published: bool
) -> None:
    def digit(at: float) -> int:
        priority = operators.priority(name, target, at)
        return int(operators.digits(priority, 1 << bits, as_published=as_published))

    step = study.smallest_step(name, target, state, bits, as_published=as_published)
    if step is None:
        assert digit(1.0) >= digit(state) - 1  # 1 itself may lie on the bound
        assert digit(1.0 - 1e-6 * (1 - state)) == digit(state)
        return
    assert digit(state + max(step * (1 - 1e-6) - 1e-10, 0.0)) == digit(state)
    if state + step + 1e-6 < 1:
        assert digit(state + step + 1e-6) < digit(state)


# --- job size ------------------------------------------------------------------------------------


def test_a_job_of_that_size_just_changes_the_digit() -> None:
    """From each digit's lowest state, k · U more usage moves to its highest, by counting hours."""
    bits, used = 5, 1_000.0
    setting = study.Setting(bits=[bits], targets=[0.3], used_hours=used)
    sizes = study.job_sizes(setting).filter(~pl.col("as_published"), pl.col("target").is_not_null())
    for name, area in sizes.select("operator", "area").iter_rows():
        table = study.local_density(bits, 0.3, as_published=False)
        least, most = study.AREAS[area]
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
    setting = study.Setting(bits=[bits], targets=[0.5], used_hours=1.0)
    sizes = study.job_sizes(setting).filter("as_published", operator="absolute", area="balance")
    density = 2 / 2**bits
    states = [0.5 + 0.25 - k * density for k in range(17)]
    roots = [
        max(np.roots([1, 1 + s, -density]).real) for s in states
    ]  # k² + (1 + s) k − D = 0, at the higher state of each digit
    [row] = sizes.filter(pl.col("target") == 0.5).iter_rows(named=True)
    assert row["digits"] == 17
    assert row["density_most"] == pytest.approx(density)
    assert row["hours_most"] == pytest.approx(max(roots))
    assert row["hours_median"] == pytest.approx(sorted(roots)[8])


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
        schema=study.SIZES,
    )
    assert study.bits_needed(sizes, 2_000)["bits"].to_list() == [6]
    assert study.bits_needed(sizes, 2_000)["left_out"].to_list() == [6]
    assert study.bits_needed(sizes, 10_000)["bits"].to_list() == [3]
    assert study.bits_needed(sizes, 50)["bits"].to_list() == [None]
    without = sizes.with_columns(hours_most=pl.lit(None, pl.Float64))
    assert study.bits_needed(without)["bits"].to_list() == [None]


def test_absolute_needs_12_or_13_bits_and_never_the_printed_14() -> None:
    """SPEC §9: what eq. 25 gives, k being D/(1 + s) but for little, with s from 0 to 1."""
    beside = study.beside_printed(study.bits_needed(some_sizes()))
    absolute = beside.filter(operator="absolute")
    assert absolute["as_published"].to_list() == [13, 12, 13, 13]
    assert absolute["printed"].to_list() == [12, 14, 12, 14]
    assert absolute["difference"].to_list() == [1, -2, 1, -1]
    for s in (0.0, 1.0):
        k = study.JOB_HOURS / study.USED_HOURS
        assert math.ceil(math.log2(2 / (k * k + (1 + s) * k))) == (13 if s == 0 else 12)


def test_the_printed_figures_overall_column_is_the_most_of_its_others() -> None:
    for *areas, overall in study.PRINTED_BITS.values():
        assert overall == max(areas)


def test_orders_name_each_operator_once() -> None:
    for order in study.orders(some_sizes()):
        assert sorted(order.as_published) == sorted(order.corrected) == sorted(OPERATORS)
        assert set(order.printed) >= set(OPERATORS) - {"absolute"}
    balance = study.orders(some_sizes())[0]
    assert balance.as_published[:2] == balance.printed[:2] == ("sigmoid_n", "sigmoid")
