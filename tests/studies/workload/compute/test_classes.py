"""Classes of attempts: by size, by group, by k-means."""

import sys
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

from audit.errors import UsageError
from audit.studies.workload.compute import classes
from audit.studies.workload.compute.classes import OTHERS, by_clusters, by_group, by_size, labels
from tests.studies.workload.attempts import at, described


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
    # 96 attempts by "many", 4 by four others, of whom one uses most.
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


def test_clusters_that_lie_apart_are_found_and_named_by_use() -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    sizes = [1] * 40 + rng.integers(48, 65, 40).tolist() + [1] * 40
    around = ((10, 15), (10_000, 15_000), (20_000, 30_000))
    lasts = [second for pair in around for second in rng.integers(*pair, 40).tolist()]
    found = by_clusters(attempts(sizes, lasts), seed=1)
    assert found.to_list() == ["c3"] * 40 + ["c1"] * 40 + ["c2"] * 40


@pytest.mark.parametrize("clusters", [1, 2, 5])
def test_as_many_clusters_as_asked_for(clusters: int) -> None:
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


def test_an_unknown_technique_is_refused() -> None:
    with pytest.raises(ValueError, match="not one of size, group, clusters"):
        labels(attempts([1]), "colour", 1)


def test_without_scikit_learn_the_extra_to_install_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    with pytest.raises(UsageError, match=r"pip install 'fairaudit\[studies\]'"):
        by_clusters(attempts([1, 2, 3]), 1)
