"""Pools as configured, and the part of a period that a log covers."""

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import config, resources
from audit.cluster import fitted
from audit.cluster.inference import Fact
from audit.cluster.presence import steps_of
from audit.cluster.setting import ClusterSettings, configured, covered, one_off
from audit.errors import UsageError
from audit.model import Absence, Declared, Node, Period
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


@pytest.mark.parametrize(
    ("keys", "states"),
    [
        ({}, False),
        ({"order": "sjf"}, False),
        ({"limits": ({"most": 1, "per": "user"},), "interval_s": 60}, False),
        ({"backfill": "easy"}, True),
        ({"backfill": "none", "limits": ({"most": 1, "per": "user"},)}, True),
    ],
)
def test_only_the_key_itself_states_how_a_pool_backfills(
    keys: dict[str, Any], states: bool
) -> None:
    (pool,) = setting(on_nodes("a"), **keys).pools
    assert pool.states_backfill is states
    assert pool.policy.backfill == keys.get("backfill", "easy")


def test_a_copy_of_the_example_configures_no_policy(tmp_path: Path) -> None:
    shipped = resources.path("config.toml").read_text(encoding="utf-8")
    (tmp_path / "config.toml").write_text(shipped, encoding="utf-8")
    (cluster,) = config.load(tmp_path / "config.toml").clusters
    (pool,) = configured(cluster, on_nodes("a"), {}).pools
    assert not pool.states_backfill
    assert fitted.silent(replace(setting(on_nodes("a")), pools=(pool,)), cluster) == [pool]


def on_nodes(*lists: str | None) -> pl.DataFrame:
    """Attempts that ran one after the other on these nodes, on 4 CPUs of each."""
    return frame(
        [
            ended(9 * k, 9 * k, 9 * k + 9, 4, partition="p", node_list=names, nodes=1)
            for k, names in enumerate(lists)
        ]
    )


def setting(attempts: pl.DataFrame, **keys: Any) -> ClusterSettings:
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


AWAY = (
    Absence("a", 20, 50, "drained"),
    Absence("a", 40, 60, "down"),
    Absence("b", 60, None, "down"),
    Absence("b", 30, 35, "reserved", "maintenance"),
    Absence("other", 10, 90, "down"),
)


def test_nodes_out_of_service_are_steps_where_sums_decide() -> None:
    """Node a is away from 20 to 60 s, for two reasons; a reservation counts by what runs in it."""
    declared = Declared((Node("a", (("cpus", 4),), ("p",)), Node("b", (("cpus", 8),), ())), AWAY)
    cluster = Fact("cluster", "c", "a test")
    unknown = one_off(cluster, on_nodes(None, None), {}, None, None, "UTC", declared=declared)
    (pool,) = unknown.pools
    assert (pool.by_nodes, pool.capacity) == (False, 12)
    assert [(one.since, dict(one.amounts)["cpus"]) for one in pool.steps] == [(20, 8), (60, 4)]
    known = one_off(cluster, on_nodes("a", "b"), {}, None, None, "UTC", declared=declared)
    assert (known.pools[0].by_nodes, known.pools[0].steps) == (True, ())
    # configured steps win
    pools = ({"name": "main", "steps": ({"since": date(2026, 1, 2), "cpus": 4},)},)
    configuration = config.Cluster.model_validate({"name": "c", "zone": "UTC", "pools": pools})
    (stepped,) = configured(configuration, on_nodes(None), {}, declared=declared).pools
    assert [dict(one.amounts) for one in stepped.steps] == [{"cpus": 4}]


_absences = st.builds(
    Absence,
    st.sampled_from("abc"),
    st.integers(0, 9),
    st.none() | st.integers(10, 19),
    st.sampled_from(["drained", "down", "reserved"]),
)


@given(absences=st.lists(_absences, max_size=6))
def test_steps_have_at_each_instant_what_the_nodes_in_service_have(
    absences: list[Absence],
) -> None:
    sizes = {"a": 1, "b": 2, "c": 4}
    shapes = [Node(name, (("cpus", cpus),), ()) for name, cpus in sizes.items()]
    steps = steps_of((("cpus", 7), ("nodes", 3)), shapes, absences)
    for now in range(20):
        away = {
            one.node
            for one in absences
            if one.begin <= now < (99 if one.end is None else one.end) and one.why != "reserved"
        }
        there = {
            "cpus": sum(cpus for name, cpus in sizes.items() if name not in away),
            "nodes": len(sizes.keys() - away),
        }
        in_force = [dict(one.amounts) for one in steps if one.since <= now]
        assert (in_force[-1] if in_force else {"cpus": 7, "nodes": 3}) == there
    assert len({one.since for one in steps}) == len(steps)
