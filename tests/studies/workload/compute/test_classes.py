"""Classes of attempts, and the parts of the week with their clocks."""

import sys
from collections.abc import Sequence
from datetime import date
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import UsageError
from audit.studies.workload.compute import classes
from audit.studies.workload.compute.classes import (
    OTHERS,
    PARTS,
    WeeklyClock,
    by_clusters,
    by_group,
    by_size,
    weekly_clock,
)
from tests.naive import workload as naive
from tests.studies.workload.attempts import ZONE, at, described


def attempts(
    sizes: Sequence[int], lasts: Sequence[int] | None = None, **columns: Sequence[object]
) -> pl.DataFrame:
    rows = [
        {
            "submit_time": at(2, 9) + k,
            "cpus": size,
            "lasts": 60 if lasts is None else lasts[k],
            **{name: values[k] for name, values in columns.items()},
        }
        for k, size in enumerate(sizes)
    ]
    return described(rows)


def test_sizes_go_as_far_as_the_log() -> None:
    found = by_size(attempts([1, 2, 3, 4, 5, 20])).to_list()
    assert found == ["1", "2", "3-4", "3-4", "5-8", "17-32"]
    assert by_size(attempts([1, 1])).to_list() == ["1", "1"]


def test_groups_with_a_twentieth_of_attempts_or_use_have_a_class() -> None:
    # 96 attempts by "many", 4 by four others; one of these uses most.
    group = ["many"] * 96 + ["wide", "a", "b", "c"]
    found = by_group(attempts([1] * 96 + [32, 1, 1, 1], group=group))
    assert found.to_list() == ["many"] * 96 + ["wide"] + [OTHERS] * 3


def test_at_most_nine_groups_and_who_has_no_name_is_among_the_others() -> None:
    group: list[object] = [f"g{k}" for k in range(10)] + [None]
    found = by_group(attempts([11 - k for k in range(11)], group=group))
    assert found.to_list() == [f"g{k}" for k in range(9)] + [OTHERS] * 2


def test_who_makes_a_group_is_what_the_log_tells_apart() -> None:
    two: list[object] = ["a", "b"]
    one: list[object] = ["g", "g"]
    assert classes.grouping(attempts([1, 1], group=two, account=two)) == "group"
    assert classes.grouping(attempts([1, 1], group=one, account=two)) == "account"
    assert classes.grouping(attempts([1, 1], group=one, account=one, user=two)) == "user"


@pytest.mark.thorough
def test_clusters_that_lie_apart_are_found_and_named_by_use() -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    sizes = [1] * 40 + rng.integers(48, 65, 40).tolist() + [1] * 40
    around = ((10, 15), (10_000, 15_000), (20_000, 30_000))
    lasts = [second for pair in around for second in rng.integers(*pair, 40).tolist()]
    found = by_clusters(attempts(sizes, lasts), seed=1)
    assert found.to_list() == ["c3"] * 40 + ["c1"] * 40 + ["c2"] * 40


@pytest.mark.thorough
@pytest.mark.parametrize("clusters", [1, 2, 5])
def test_as_many_clusters_as_requested(clusters: int) -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    frame = attempts(rng.integers(1, 65, 60).tolist(), rng.integers(1, 9_000, 60).tolist())
    found = by_clusters(frame, seed=1, clusters=clusters)
    assert found.n_unique() == clusters
    use = (
        frame.with_columns(found)
        .group_by("class")
        .agg((pl.col("size") * pl.col("occupancy_s")).sum())
    )
    assert use.sort("size", descending=True)["class"].to_list() == sorted(found.unique())
    assert by_clusters(frame, seed=1, clusters=clusters).equals(found)


def test_equal_attempts_are_one_cluster() -> None:
    assert by_clusters(attempts([4] * 30), seed=1).to_list() == ["c1"] * 30
    assert by_clusters(attempts([4]), seed=1).to_list() == ["c1"]
    assert by_clusters(attempts([4, 8]), seed=1, clusters=5).n_unique() == 2


def test_features_have_no_unit() -> None:
    points = classes.features(attempts([1, 2, 4, 8], [9, 99, 999, 9_999]))
    assert points.mean(axis=0) == pytest.approx([0, 0])
    assert points.std(axis=0) == pytest.approx([1, 1])
    assert points[:, 0] == pytest.approx(points[:, 1])


def test_without_scikit_learn_the_extra_to_install_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    with pytest.raises(UsageError, match=r"pip install 'fairaudit\[studies\]'"):
        by_clusters(attempts([1, 2, 3]), 1)


MARCH = date(2026, 3, 26)  # a Thursday; the clocks change on Sunday, the 29th
DAYS = 6


@pytest.fixture(scope="module")
def clock() -> WeeklyClock:
    return weekly_clock(MARCH, DAYS, ZONE)


def test_parts_of_a_week_by_hand(clock: WeeklyClock) -> None:
    instants = np.array([at(26, 7, 59), at(26, 8), at(26, 16, 59), at(26, 17), at(28, 12)])
    parts = [PARTS[k] for k in clock.part_of(instants)]
    assert parts == ["off_peak", "peak", "peak", "off_peak", "weekend"]
    assert clock.day_of(instants).tolist() == [0, 0, 0, 0, 2]


def test_a_clock_stands_still_outside_its_part(clock: WeeklyClock) -> None:
    instants = np.array([at(26, 8), at(26, 9), at(27, 8), at(30, 8, 1)])
    assert clock.reading(instants).tolist() == [0, 3600, 9 * 3600, 18 * 3600 + 60]


def test_the_day_of_a_clock_change_lasts_as_long_as_it_does(clock: WeeklyClock) -> None:
    assert clock.seconds("weekend") == (24 + 23) * 3600
    assert clock.seconds("peak") == 4 * 9 * 3600
    assert clock.seconds("off_peak") == 4 * 15 * 3600
    assert sum(map(clock.seconds, PARTS)) == clock.edges[-1] - clock.edges[0]


@pytest.mark.parametrize("name", ["Europe/Berlin", "Asia/Kathmandu", "America/St_Johns", "UTC"])
@given(st.lists(st.integers(0, DAYS * 86_400 - 3_601), min_size=1, max_size=5))
def test_fast_is_same_as_slow(name: str, offsets: list[int]) -> None:
    zone = ZoneInfo(name)
    clock = weekly_clock(MARCH, DAYS, zone)
    begin = int(clock.edges[0])
    instants = begin + np.array(offsets)
    numbers, readings = clock.part_of(instants), clock.reading(instants)
    assert [PARTS[k] for k in numbers] == [naive.part(int(instant), zone) for instant in instants]
    assert readings.tolist() == [naive.reading(int(instant), begin, zone) for instant in instants]
    for number, part in enumerate(PARTS):
        own = numbers == number
        back = clock.instants(part, readings[own].astype(np.float64) + 0.5)
        assert back.tolist() == instants[own].tolist()
