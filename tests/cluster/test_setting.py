"""Pools as configured, and the part of a period that a log covers."""

from datetime import date
from typing import Any

import polars as pl
import pytest

from audit import config
from audit.cluster.inference import Fact
from audit.cluster.setting import Setting, configured, covered, one_off
from audit.errors import UsageError
from audit.model import Node, Period
from tests.strategies import ended, frame

LOG = Period("all", 100, 200)


@pytest.mark.parametrize(
    ("period", "span"),
    [
        ((0, 1_000), (100, 200)),
        ((120, 180), (120, 180)),
        ((50, 150), (100, 150)),
        ((150, 300), (150, 200)),
        ((300, 400), (300, 400)),  # nothing is known of it: all of it
        ((0, 100), (0, 100)),
    ],
)
def test_the_part_of_a_period_inside_the_log(
    period: tuple[int, int], span: tuple[int, int]
) -> None:
    assert covered(Period("some", *period), LOG) == span


def test_a_setting_does_not_depend_on_the_order_of_records() -> None:
    cluster = Fact("cluster", "c", "a test")
    jobs = [ended(k, k, k + 9, 1, partition=name) for k, name in enumerate("gbafhdce")]
    settings = [one_off(cluster, frame(rows), {}, None, 10, "UTC") for rows in (jobs, jobs[::-1])]
    assert str(settings[0]) == str(settings[1])


def on_nodes(*lists: str | None) -> pl.DataFrame:
    """Attempts that ran one after the other on these nodes, on 4 CPUs of each."""
    return frame(
        [
            ended(9 * k, 9 * k, 9 * k + 9, 4, partition="p", node_list=names, nodes=1)
            for k, names in enumerate(lists)
        ]
    )


def setting(attempts: pl.DataFrame, **keys: Any) -> Setting:
    pool = {"name": "main", "partitions": ("p",), **keys}
    cluster = config.Cluster.model_validate({"name": "c", "zone": "UTC", "pools": (pool,)})
    return configured(cluster, attempts, {})


def test_nodes_are_chosen() -> None:
    known, capacity = on_nodes("a", "b"), {"cpus": 8}
    both = tuple(Node(name, (("cpus", 4),), ("p",)) for name in "ab")
    assert setting(known).pools[0].nodes == both
    assert setting(known, by_nodes=False).pools[0].nodes == ()
    assert setting(known, capacity=capacity).pools[0].nodes == ()
    chosen = setting(known, capacity=capacity, by_nodes=True, placement="least_loaded").pools[0]
    assert (chosen.nodes, chosen.placement) == (both, "least_loaded")


def test_nodes_that_the_log_does_not_name_are_refused() -> None:
    with pytest.raises(UsageError, match="does not name the nodes of pool 'main'"):
        setting(on_nodes("a", None), by_nodes=True)


def test_steps_leave_the_simulation_to_sums() -> None:
    steps = ({"since": date(2026, 1, 2), "cpus": 4},)
    said = [fact.value for fact in setting(on_nodes("a", "b"), steps=steps).facts]
    assert "by sums over its nodes" in said
    with pytest.raises(ValueError, match="steps do not say which nodes"):
        setting(on_nodes("a", "b"), steps=steps, by_nodes=True)
