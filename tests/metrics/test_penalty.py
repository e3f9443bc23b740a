from collections.abc import Callable
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.penalty import (
    RELATIVE,
    RESOURCES,
    Billing,
    Hardware,
    billing_penalty,
    relative_penalty,
)
from tests import naive

GIB = 2**30
REQUESTS = pl.Schema([("start_time", pl.Int64()), *((name, pl.Int64()) for name in RESOURCES)])

amounts = st.sampled_from([None, None, 0, 1, 3, 7, 10, 64, 3 * GIB])
vectors = st.lists(
    st.fixed_dictionaries(
        {"start_time": st.sampled_from([None, 5]), **dict.fromkeys(RESOURCES, amounts)}
    ),
    max_size=8,
)
available = st.dictionaries(
    st.sampled_from(RESOURCES), st.sampled_from([1, 3, 64, 2 * GIB]), min_size=1
)


def requests(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame([{"start_time": 0, **row} for row in rows], schema=REQUESTS)


@given(vectors, available, st.sampled_from(["pool", "node"]), st.sampled_from(list(RELATIVE)))
def test_penalties_as_defined(
    rows: list[dict[str, Any]], amount: dict[str, int], basis: Any, name: str
) -> None:
    amount["cpus"] = 64
    if basis == "node":
        amount.pop("nodes", None)
    hardware = Hardware(available=amount, basis=basis, pool_nodes=20)
    got = relative_penalty(pl.DataFrame(rows, schema=REQUESTS), name, hardware)
    for row, fast in zip(rows, got.charged["penalty"].to_list(), strict=True):
        exact = naive.penalty(row, name, amount, 20 if basis == "node" else None)
        assert 0 <= fast <= 1
        assert naive.close(fast, exact)
    read = ["cpus"] if name == "cpu" else list(amount)
    started = [row for row in rows if row["start_time"] is not None]
    for resource in read:
        assert got.unknown[resource] == sum(row[resource] is None for row in started)
        of_nodes = [(row["nodes"] or 0) if basis == "node" else 1 for row in started]
        assert got.clipped[resource] == sum(
            n > 0 and (row[resource] or 0) > n * amount[resource]
            for n, row in zip(of_nodes, started, strict=True)
        )
    if basis == "node":
        assert got.unknown["nodes"] == sum(row["nodes"] is None for row in started)
        assert got.clipped["nodes"] == sum((row["nodes"] or 0) > 20 for row in started)


@given(vectors, st.booleans())
def test_billing_as_defined(rows: list[dict[str, Any]], max_tres: bool) -> None:
    weights = {"cpus": 1.0, "mem_bytes": 0.25 / GIB, "gpus": 2.0}
    frame = pl.DataFrame(rows, schema=REQUESTS)
    got = billing_penalty(frame, Billing(weights=weights, max_tres=max_tres))
    for row, fast in zip(rows, got.charged["penalty"].to_list(), strict=True):
        terms = [Fraction(weight) * (row[x] or 0) for x, weight in weights.items()]
        assert naive.close(fast, max(terms) if max_tres else sum(terms))
    assert set(got.unknown) == set(weights)
    assert not any(got.clipped.values())


def test_by_hand() -> None:
    # 80 cpus, 512 GiB, 4 gpus; one attempt with 8 cpus and all the memory ([M] §1's Zewura node).
    #   cpu 8/80 = 0.1; max = 512/512 = 1. The second has 20 cpus, 64 GiB, 3 gpus: 0.25; 3/4.
    # The third's 100 cpus exceed the pool and count as 80; its memory is not known.
    rows = requests(
        {"cpus": 8, "mem_bytes": 512 * GIB, "gpus": 0},
        {"cpus": 20, "mem_bytes": 64 * GIB, "gpus": 3},
        {"cpus": 100, "mem_bytes": None, "gpus": 0},
    )
    pool = Hardware(available={"cpus": 80, "mem_bytes": 512 * GIB, "gpus": 4})
    assert relative_penalty(rows, "cpu", pool).charged["penalty"].to_list() == [0.1, 0.25, 1.0]
    most = relative_penalty(rows, "max", pool)
    assert most.charged["penalty"].to_list() == [1.0, 0.75, 1.0]
    assert most.unknown == {"cpus": 0, "mem_bytes": 1, "gpus": 0}
    assert most.clipped == {"cpus": 1, "mem_bytes": 0, "gpus": 0}
    # Billing 1 per cpu, 0.25 per GiB, 2 per gpu: 8 + 128 + 0; 20 + 16 + 6; 100 + 0 + 0.
    weights = {"cpus": 1.0, "mem_bytes": 0.25 / GIB, "gpus": 2.0}
    billed = billing_penalty(rows, Billing(weights=weights))
    assert billed.charged["penalty"].to_list() == [136.0, 42.0, 100.0]
    highest = billing_penalty(rows, Billing(weights=weights, max_tres=True))
    assert highest.charged["penalty"].to_list() == [128.0, 20.0, 100.0]


def test_basis_node_by_hand() -> None:
    # 10 nodes of 8 cpus and 64 GiB. 4 cpus and 64 GiB on one node: half of its cpus, all of its
    # memory: cpu 0.5 · 1/10, max 1 · 1/10. 16 cpus and 32 GiB on 4 nodes: 16/32 and 32/256 of
    # them: both 0.5 · 4/10. On no known number of nodes: 0, counted.
    rows = requests(
        {"cpus": 4, "mem_bytes": 64 * GIB, "nodes": 1},
        {"cpus": 16, "mem_bytes": 32 * GIB, "nodes": 4},
        {"cpus": 16, "mem_bytes": 32 * GIB, "nodes": None},
    )
    node = Hardware(available={"cpus": 8, "mem_bytes": 64 * GIB}, basis="node", pool_nodes=10)
    assert relative_penalty(rows, "cpu", node).charged["penalty"].to_list() == [0.05, 0.2, 0.0]
    most = relative_penalty(rows, "max", node)
    assert most.charged["penalty"].to_list() == [0.1, 0.2, 0.0]
    assert most.unknown == {"cpus": 0, "mem_bytes": 0, "nodes": 1}


def test_what_never_started_is_not_counted() -> None:
    rows = pl.DataFrame([{"start_time": None, "cpus": 99}, {"cpus": None}], schema=REQUESTS)
    got = relative_penalty(rows, "cpu", Hardware(available={"cpus": 8}))
    assert got.unknown == {"cpus": 0}
    assert got.clipped == {"cpus": 0}
    assert got.charged["penalty"].to_list() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Hardware(available={}), "no resource"),
        (lambda: Hardware(available={"cpu": 1}), "resource 'cpu'"),
        (lambda: Hardware(available={"cpus": 0}), "available cpus = 0"),
        (lambda: Hardware(available={"cpus": 1}, basis="rack"), "basis = 'rack'"),  # type: ignore[arg-type]
        (lambda: Hardware(available={"cpus": 1}, basis="node"), "pool_nodes = None"),
        (lambda: Hardware(available={"nodes": 1}, basis="node", pool_nodes=1), "has no nodes"),
        (lambda: Billing(weights={"cpus": -1.0}), "weight of cpus"),
        (lambda: Billing(weights={"cpus": 0.0}), "none is above 0"),
        (lambda: Billing(weights={}), "no resource"),
        (
            lambda: relative_penalty(requests(), "cpu", Hardware(available={"gpus": 1})),
            "available cpus",
        ),
        (
            lambda: relative_penalty(requests(), "dear", Hardware(available={"cpus": 1})),
            "one of cpu, max, billing",
        ),
    ],
)
def test_what_means_nothing(make: Callable[[], object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()
