"""Types of GPUs as resources: by hand, and the account of waits against its slow twin."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.attempts.account import Durations, account
from audit.metrics.attempts.contention import (
    counted_resources,
    peak_in_use,
    requests,
    with_gpu_types,
)
from audit.metrics.attempts.population import describe
from audit.metrics.waits.queue import in_force, queued
from audit.metrics.waits.walk import LogFacts, Plan, book, scene
from audit.model import CapacityStep, Limit, Node, Pool, Resource
from audit.registry.causes import CAUSES, COLUMNS
from tests.metrics.attempts.test_account import crowds
from tests.metrics.waits.compared import assert_same
from tests.naive import account as naive
from tests.naive import nodes as on
from tests.scenario.test_engine import slow_pool
from tests.strategies import EPOCH, NOW, Rows, ended, frame, sampled

NAMES = ("cpus", "gpus", "gpus:a100", "gpus:h100")
SHAPES = {
    "c1": on.Machine((4, 0, 0, 0), ("batch",)),
    "a1": on.Machine((2, 2, 2, 0), ("batch",)),
    "a2": on.Machine((2, 2, 2, 0), ("batch",)),
    "h1": on.Machine((4, 4, 0, 4), ("batch",)),
}
AMOUNTS = on.total({name: one.amounts for name, one in SHAPES.items()}, SHAPES, len(NAMES))
SUMS = Pool("main", Resource.cpus, 12, amounts=tuple(zip(NAMES, AMOUNTS, strict=True)))
ON_NODES = SUMS._replace(
    nodes=tuple(
        Node(name, tuple(zip(NAMES, one.amounts, strict=True)), one.partitions)
        for name, one in SHAPES.items()
    )
)


@given(data=st.data(), records=crowds())
@pytest.mark.parametrize("pool", [SUMS, ON_NODES], ids=["sums", "nodes"])
def test_as_defined(pool: Pool, data: st.DataObject, records: Rows) -> None:
    for record in records:
        _with_types(data, record)
    described = describe(frame(records), [pool]).with_row_index("row")
    queue = queued(described, NOW, pl.col("size") > 0)
    rules = in_force(queue, (), (), pool.zone)
    got = book(scene(queue, pool, rules, LogFacts(EPOCH, 2, lapse_s=8), outage_s=4), Plan(2))
    site = naive.site_of(
        frame(records).with_columns(size="cpus").to_dicts(),
        *(*slow_pool(pool), NOW),
        begin=EPOCH,
        interval=2,
        lapse=8,
        outage=4,
        machines=SHAPES if pool.nodes else None,
    )
    assert_same(got, naive.account(site, naive.Depth(2)), queue, pool)


def _with_types(data: st.DataObject, record: dict[str, Any]) -> None:
    """Draw GPUs of a type, requested or not, on a node that has them."""
    name = data.draw(sampled(list(SHAPES)))
    most = SHAPES[name].amounts[1]
    gpus = data.draw(st.integers(0, most))
    of_type = {"a": "a100", "h": "h100"}.get(name[0])
    record |= {"partition": "batch", "nodes": 1, "gpus": gpus, "reservation": None}
    record["any_gpu_type"] = data.draw(sampled([None, False, True])) if gpus else None
    if gpus and data.draw(sampled([True, True, True, False])):  # else the log gives no type
        record["gpu_types"] = f"{of_type}:{gpus}"
    if record["start_time"] is not None:
        record["node_list"] = name


def parts(pool: Pool, *records: dict[str, Any]) -> list[dict[str, float]]:
    """Return what each attempt waited for, by key of the cause."""
    made = account(
        describe(frame(list(records)), [pool]), pool, 100, durations=Durations(0), log_begin=-1
    )
    rows = made.attempts.sort("line").select(COLUMNS).rows()
    keys = [cause.key for cause in CAUSES]
    return [{k: v for k, v in zip(keys, row, strict=True) if v} for row in rows]


def gpus(arrival: int, start: int, end: int, user: str, types: str, node: str, **more: Any) -> Any:
    """The record of a job of one CPU with GPUs of one type."""
    count = int(types.rpartition(":")[2])
    more = {"gpus": count, "gpu_types": types, "any_gpu_type": False, **more}
    return ended(arrival, start, end, 1, user, nodes=1, partition="batch", node_list=node, **more)


@pytest.mark.parametrize("pool", [SUMS, ON_NODES], ids=["sums", "nodes"])
def test_only_gpus_of_the_requested_type_count(pool: Pool) -> None:
    # All four A100s are in use until 10, three of them by bob; the four H100s are free.
    # cem waits from 2 to 10 for an A100: by the A100s that others hold. dan takes any GPU at once.
    # eva's job requested any GPU, too, and waits although one is free.
    got = parts(
        pool,
        gpus(0, 0, 10, "bob", "a100:2", "a1"),
        gpus(0, 0, 10, "bob", "a100:1", "a2"),
        gpus(0, 0, 10, "cem", "a100:1", "a2"),
        gpus(2, 10, 20, "cem", "a100:1", "a1"),
        gpus(2, 2, 20, "dan", "h100:1", "h1", any_gpu_type=True),
        gpus(3, 10, 20, "eva", "a100:1", "a2", any_gpu_type=True),
    )
    assert got == [{}, {}, {}, {"own": 2, "earlier": 6}, {}, {"unexplained": 7}]


@pytest.mark.parametrize("h100s", [3, 4])
def test_scattered_gpus_of_a_type_are_lacking_gpus(h100s: int) -> None:
    # One A100 is free on each node from 0 to 10; cem needs two on one node. It does not matter
    # whether an H100 is free.
    got = account(
        describe(
            frame(
                [
                    gpus(0, 0, 10, "ann", "a100:1", "a1"),
                    gpus(0, 0, 10, "bob", "a100:1", "a2"),
                    gpus(0, 0, 10, "dan", f"h100:{h100s}", "h1"),
                    gpus(2, 10, 20, "cem", "a100:2", "a1"),
                ]
            ),
            [ON_NODES],
        ),
        ON_NODES,
        100,
        durations=Durations(0),
        log_begin=-1,
    ).attempts.sort("line")
    assert got["cause_nodes_s"].to_list() == [0, 0, 0, 8]
    assert got["cause_nodes_gpus_s"].to_list() == [0, 0, 0, 8]


def test_an_attempt_of_any_type_uses_what_it_was_allocated() -> None:
    # dan's job of any type has the four A100s, so that cem waits for them.
    got = parts(
        SUMS,
        gpus(0, 0, 10, "dan", "a100:4", "a1", any_gpu_type=True),
        gpus(2, 10, 20, "cem", "a100:1", "a1"),
    )
    assert got == [{}, {"earlier": 8}]


def test_more_gpus_of_a_type_than_there_are_is_unavailable() -> None:
    got = parts(SUMS, gpus(0, 10, 20, "cem", "a100:5", "a1"))
    assert got == [{"unavailable": 10}]


def test_a_limit_on_a_type_counts_this_type_alone() -> None:
    pool = SUMS._replace(limits=(Limit(most=2, resource="gpus:a100", per="user"),))
    got = parts(
        pool,
        gpus(0, 0, 10, "bob", "a100:2", "a1"),
        gpus(0, 0, 10, "bob", "h100:2", "h1"),
        gpus(1, 10, 20, "bob", "a100:1", "a1"),
    )
    assert got == [{}, {}, {"rule": 9}]


def test_a_type_has_steps_of_its_own() -> None:
    pool = SUMS._replace(steps=(CapacityStep(5, (("gpus:a100", 1),)),))
    got = parts(pool, gpus(0, 10, 20, "cem", "a100:2", "a1"))
    assert got == [{"unexplained": 5, "unavailable": 5}]


def test_columns_of_types() -> None:
    rows = frame(
        [
            {"gpus": 6, "gpu_types": "a100:4,a100_1g.5gb:2"},
            {"gpus": 2, "gpu_types": "a100:2", "any_gpu_type": True},
            {"gpus": 2},
        ]
    )
    pool = Pool("main", Resource.gpus, 8, amounts=(("gpus", 8), ("gpus:a100", 6)))
    types = ["gpus:a100", "gpus:a100_1g.5gb"]
    assert with_gpu_types(rows, types).select(types).rows() == [(4, 2), (2, 0), (0, 0)]
    assert counted_resources(pool) == ["gpus", "gpus:a100"]
    described = with_gpu_types(rows, types)
    assert requests(described, pool).tolist() == [[6, 2, 2], [4, 0, 0]]
    assert described.schema["gpus:a100"] == pl.Int64


_SPANS = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 4), st.none() | st.integers(0, 5)), max_size=12
)


@given(_SPANS)
def test_the_peak_is_the_most_between_starts_and_ends(spans: list[tuple[int, int, int]]) -> None:
    rows = [(start, start + length, size) for start, length, size in spans]
    schema = {"start_time": pl.Int64, "end": pl.Int64, "cpus": pl.Int64}
    used = [sum((size or 0) for start, end, size in rows if start <= t < end) for t in range(14)]
    assert peak_in_use(pl.DataFrame(rows, schema, orient="row"), "cpus") == max(used)
