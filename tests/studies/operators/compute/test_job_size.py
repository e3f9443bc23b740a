"""Least jobs and bits, by counting hours and against what the paper prints."""

import math
from functools import cache
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from audit.metrics.fairshare.operators import OPERATORS
from audit.studies.operators.compute import job_size, resolution


@cache
def some_sizes() -> pl.DataFrame:
    return job_size.job_sizes(resolution.Setting(bits=range(3, 15)))


def test_a_job_of_that_size_just_changes_the_digit() -> None:
    """From each digit's lowest state, k · U more usage moves to its highest, by counting hours."""
    bits, used = 5, 1_000.0
    setting = resolution.Setting(bits=[bits], targets=[0.3], used_hours=used)
    sizes = job_size.job_sizes(setting).filter(
        ~pl.col("as_published"), pl.col("target").is_not_null()
    )
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
    setting = resolution.Setting(bits=[bits], targets=[0.5], used_hours=1.0)
    sizes = job_size.job_sizes(setting).filter("as_published", operator="absolute", area="balance")
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
        schema=job_size.SIZES,
    )
    assert job_size.bits_needed(sizes, 2_000)["bits"].to_list() == [6]
    assert job_size.bits_needed(sizes, 2_000)["left_out"].to_list() == [6]
    assert job_size.bits_needed(sizes, 10_000)["bits"].to_list() == [3]
    assert job_size.bits_needed(sizes, 50)["bits"].to_list() == [None]
    without = sizes.with_columns(hours_most=pl.lit(None, pl.Float64))
    assert job_size.bits_needed(without)["bits"].to_list() == [None]


def test_absolute_needs_12_or_13_bits_and_never_the_printed_14() -> None:
    """SPEC §9: what eq. 25 gives, k being D/(1 + s) but for little, with s from 0 to 1."""
    beside = job_size.beside_printed(job_size.bits_needed(some_sizes()))
    absolute = beside.filter(operator="absolute")
    assert absolute["as_published"].to_list() == [13, 12, 13, 13]
    assert absolute["printed"].to_list() == [12, 14, 12, 14]
    assert absolute["difference"].to_list() == [1, -2, 1, -1]
    for s in (0.0, 1.0):
        k = resolution.JOB_HOURS / resolution.USED_HOURS
        assert math.ceil(math.log2(2 / (k * k + (1 + s) * k))) == (13 if s == 0 else 12)


def test_the_printed_figures_overall_column_is_the_most_of_its_others() -> None:
    for *areas, overall in job_size.PRINTED_BITS.values():
        assert overall == max(areas)


def test_orders_name_each_operator_once() -> None:
    orders = job_size.orders(some_sizes())
    for (_, version), names in orders.items():
        assert set(names) >= set(OPERATORS) - ({"absolute"} if version == "printed" else set())
        assert len(set(names)) == len(names)
    balance = [orders["balance", version][:2] for version in ("as published", "printed")]
    assert balance == [("sigmoid_n", "sigmoid")] * 2


def test_a_target_without_states_in_an_area_needs_no_bits() -> None:
    needed = job_size.bits_needed(some_sizes())
    of = job_size.bits_by_target(needed, some_sizes()).filter(operator="absolute", area="under")
    # F(t, 0) = t: up to 0.6 nobody is as much under target
    assert of.sort("target")["attained"].to_list() == [False] * 7 + [True] * 3


def test_digits_of_absolute_are_those_of_equation_25() -> None:
    setting = resolution.Setting(used_hours=1_000, job_hours=1_000)
    assert job_size.digits_of_absolute(setting) == (2 / 3, 1.0)
