from collections.abc import Callable
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.fairshare.penalty import (
    COMPARED,
    EXEMPTING,
    RELATIVE,
    RESOURCES,
    WEIGHTED,
    Hardware,
    compare,
    moved,
    movers,
    of_fractions,
    relative_penalty,
)
from audit.metrics.fairshare.usage import Kind, Windows
from tests.naive import attempts as naive
from tests.naive import penalties
from tests.strategies import CHARGED, EPOCH, NOW, charged

GIB = 2**30
TWO = Hardware(available={"cpus": 8, "gpus": 2})
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


def weighed(name: str, weights: dict[str, float]) -> object:
    return relative_penalty(requests(), name, TWO, weights=weights)


def exempted(name: str, exempt: list[str]) -> object:
    return relative_penalty(requests(), name, TWO, exempt=exempt)


def requests(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame([{"start_time": 0, **row} for row in rows], schema=REQUESTS)


weightings = st.dictionaries(
    st.sampled_from(RESOURCES),
    st.sampled_from([Fraction(1, 4), Fraction(1), Fraction(2), Fraction(9)]),
)


@given(
    vectors,
    available,
    st.sampled_from(["pool", "node"]),
    st.sampled_from(list(RELATIVE)),
    weightings,
    st.frozensets(st.sampled_from(RESOURCES)),
)
def test_penalties_as_defined(
    rows: list[dict[str, Any]],
    amount: dict[str, int],
    basis: Any,
    name: str,
    weights: dict[str, Fraction],
    exempt: frozenset[str],
) -> None:
    amount["cpus"] = 64
    if basis == "node":
        amount.pop("nodes", None)
    if name not in WEIGHTED:
        weights = {}
    if name not in EXEMPTING or set(amount) <= exempt:
        exempt = frozenset()
    hardware = Hardware(available=amount, basis=basis, pool_nodes=20)
    got = relative_penalty(
        pl.DataFrame(rows, schema=REQUESTS),
        name,
        hardware,
        weights={x: float(weight) for x, weight in weights.items()},
        exempt=exempt,
    )
    pool_nodes = 20 if basis == "node" else None
    most = 64.0 * (pool_nodes or 1) if name == "pe" else 1.0
    for row, fast in zip(rows, got.charged["penalty"].to_list(), strict=True):
        exact = penalties.of_attempt(row, name, amount, pool_nodes, weights, exempt)
        assert 0 <= fast <= most
        assert naive.close(fast, exact, 1e-30)
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


# Held of cpus, memory and gpus: 1/2, 1/4 and 0, with weights 2, 1 and 1 (so W = 4).
BY_HAND = {
    "cpu": 1 / 2,
    "max": 1 / 2,
    "max_capped": 1.0,  # min(1, max(2/2, 1/4, 0))
    "max_scaled": 1 / 2,  # max(1, 1/4, 0) / 2
    "product": 0.0,
    "product_weighted": 0.0,
    "sum": 1 / 4,  # 3/4 over three
    "sum_weighted": 5 / 16,  # (1 + 1/4) / 4
    "root": 1 - (3 / 8) ** (1 / 3),
    "root_weighted": 1 - (3 / 16) ** (1 / 4),  # (1/2)² · 3/4
    "pe": 40.0,  # of 80 cpus
}


@pytest.mark.parametrize("name", RELATIVE)
def test_each_by_hand(name: str) -> None:
    rows = requests({"cpus": 40, "mem_bytes": 128 * GIB, "gpus": 0})
    pool = Hardware(available={"cpus": 80, "mem_bytes": 512 * GIB, "gpus": 4})
    weights = {"cpus": 2.0, "mem_bytes": 1.0, "nodes": 7.0}  # the pool counts no nodes
    got = relative_penalty(rows, name, pool, weights=weights if name in WEIGHTED else None)
    assert got.charged["penalty"].to_list() == pytest.approx([BY_HAND[name]], rel=1e-14)


def test_processor_equivalents_of_nodes_by_hand() -> None:
    # 10 nodes of 8 cpus and 64 GiB. 1 cpu and 48 GiB of one node are worth 6 of its 8 cpus.
    rows = requests({"cpus": 1, "mem_bytes": 48 * GIB, "nodes": 1})
    node = Hardware(available={"cpus": 8, "mem_bytes": 64 * GIB}, basis="node", pool_nodes=10)
    assert relative_penalty(rows, "pe", node).charged["penalty"].to_list() == pytest.approx([6.0])


def test_exempt_resources_by_hand() -> None:
    # All gpus and nothing else: everything by root, a third if gpus are exempt, and with weights
    # 1, 1, 2 their half. All cpus: everything still. A hundredth of the gpus: nearly as before.
    held = {"cpus": 0.0, "mem_bytes": 0.0, "gpus": 1.0}

    def root(of: dict[str, float], **settings: Any) -> float:
        name = "root_weighted" if "weights" in settings else "root"
        return float(of_fractions(name, of, **settings))

    assert root(held) == 1.0
    assert root(held, exempt=["gpus"]) == pytest.approx(1 / 3, rel=1e-14)
    heavier = root(held, exempt=["gpus"], weights={"gpus": 2.0})
    assert heavier == pytest.approx(1 / 2, rel=1e-14)
    assert root({**held, "cpus": 1.0}, exempt=["gpus"]) == 1.0
    few = {**held, "gpus": 0.01}
    assert root(few, exempt=["gpus"]) == pytest.approx(root(few), rel=0.004)
    assert root(few, exempt=["gpus"]) < root(few)
    assert root(held, exempt=["nodes"]) == 1.0  # nodes do not count here


def test_two_smaller_jobs_cost_less_by_product() -> None:
    """[M] §3.2: 9 of 10 cpus and 9 of 10 GB at once, or in nine jobs of one each."""
    one = {"cpus": 0.9, "mem_bytes": 0.9}
    ninth = {"cpus": 0.1, "mem_bytes": 0.1}
    assert of_fractions("product", one) == pytest.approx(0.81)
    assert 9 * of_fractions("product", ninth) == pytest.approx(0.09)
    # Erratum (SPEC §9): that refutes (7) alone; (8), which Table 1 names, gives 0.9 and 0.9.
    assert of_fractions("product_weighted", one) == pytest.approx(0.9)
    assert 9 * of_fractions("product_weighted", ninth) == pytest.approx(0.9)


def test_problems_a_and_b_of_weighted_maxima() -> None:
    """[M] §3.1, with its numbers."""

    def of(name: str, dear: float, cheap: float, weights: tuple[float, float]) -> float:
        held = {"cpus": dear, "mem_bytes": cheap}
        by_name = dict(zip(held, weights, strict=True))
        return float(of_fractions(name, held, weights=by_name))

    # A: with a weight of 2, half of the dear resource costs what all of it does.
    assert of("max_capped", 0.5, 0.0, (2.0, 1.0)) == of("max_capped", 1.0, 0.0, (2.0, 1.0)) == 1
    assert of("max_scaled", 0.5, 0.0, (2.0, 1.0)) == 0.5  # (5) knows no problem A
    # B: all of the cheap one is half of everything.
    assert of("max_capped", 0.5, 1.0, (1.0, 0.1)) == 0.5
    assert of("max_scaled", 0.1, 1.0, (2.0, 1.0)) == 0.5


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
        (
            lambda: relative_penalty(requests(), "cpu", Hardware(available={"gpus": 1})),
            "available cpus",
        ),
        (
            lambda: relative_penalty(requests(), "pe", Hardware(available={"gpus": 1})),
            "penalty 'pe': the available cpus",
        ),
        (lambda: weighed("max", {"cpus": 2.0}), "'max' has no weights.*max_capped, max_scaled"),
        (lambda: weighed("sum", {"cpus": 2.0}), "'sum' has no weights"),
        (lambda: weighed("sum_weighted", {"cpu": 2.0}), "resource 'cpu'"),
        (lambda: weighed("sum_weighted", {"cpus": 0.0}), "weight of cpus = 0.0: must be above 0"),
        (lambda: weighed("max_scaled", {"cpus": -1.0}), "weight of cpus = -1.0"),
        (lambda: weighed("max_scaled", {"gpus": float("nan")}), "weight of gpus = nan"),
        (lambda: weighed("max_scaled", {"gpus": float("inf")}), "weight of gpus = inf"),
        (lambda: exempted("max", ["gpus"]), "'max' exempts nothing.*root, root_weighted"),
        (lambda: exempted("root", ["gpu"]), "resource 'gpu'"),
        (lambda: exempted("root", ["gpus", "cpus"]), "exempt = cpus, gpus: .* exempt fewer"),
        (
            lambda: relative_penalty(requests(), "dear", Hardware(available={"cpus": 1})),
            "one of cpu, max, max_capped, .*, billing",
        ),
    ],
)
def test_what_means_nothing(make: Callable[[], object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        make()


kinds = st.sampled_from(["user", "account"])
prices = st.sampled_from([0.0, 0.1, 0.5, 1.0])


def other_prices(rows: pl.DataFrame, draw: Any) -> pl.DataFrame:
    penalty = [draw(prices) for _ in range(rows.height)]
    return rows.with_columns(pl.Series("penalty", penalty, pl.Float64))


@given(charged(), kinds, st.integers(0, 70), st.integers(1, 80), st.data())
def test_as_defined(
    rows: pl.DataFrame, kind: Kind, end: int, length: int, data: st.DataObject
) -> None:
    charged_by = {"one": rows, **{name: other_prices(rows, data.draw) for name in ("two", "three")}}
    instant = EPOCH + end
    whole = Windows(interval_s=length, depth=1, decay=1.0)
    got = compare(charged_by, kind, whole, instant, NOW)
    exact = penalties.parts(
        {name: frame.to_dicts() for name, frame in charged_by.items()},
        kind,
        instant - length,
        instant,
        NOW,
    )
    seen = {owner for parts in exact.values() for owner, part in parts.items() if part}
    assert got.schema == COMPARED
    assert got.height == 3 * len(seen)
    for row in got.iter_rows(named=True):
        part = exact[row["penalty"]].get(row["entity"], Fraction())
        assert naive.close(row["usage_fraction"], part)
        assert naive.close(row["shift"], part - exact["one"].get(row["entity"], Fraction()))
    for name, share in moved(got).items():
        off = [exact[name].get(o, Fraction()) - exact["one"].get(o, Fraction()) for o in seen]
        assert naive.close(share, sum(map(abs, off), Fraction()) / 2)
    far = movers(got)
    shifts = [abs(shift) for shift in far["shift"].to_list()]
    assert shifts == sorted(shifts, reverse=True)
    for entity, of in got.group_by("entity"):
        mine = far.filter(pl.col("entity").eq_missing(pl.lit(entity[0], pl.String)))
        furthest = max(abs(shift) for shift in of["shift"].to_list())
        assert [abs(shift) for shift in mine["shift"].to_list()] == [furthest] * (furthest > 0)


def test_memory_for_a_fortnight_by_hand() -> None:
    """[M] fig. 1: by processors the memory's user is charged 1/11, by the dominant resource half.

    Two nodes of 80 cpus and 512 GiB. One user holds all the memory and 8 cpus of a node, another
    all the cpus and an eighth of the memory of the other, for as long.
    """
    gib = 2**30
    rows = pl.DataFrame(
        [
            {"user": "memory", "cpus": 8, "mem_bytes": 512 * gib},
            {"user": "processors", "cpus": 80, "mem_bytes": 64 * gib},
        ],
        schema={"user": pl.String, "cpus": pl.Int64, "mem_bytes": pl.Int64},
    ).with_columns(start_time=pl.lit(0), end_time=pl.lit(1000), nodes=pl.lit(1), gpus=pl.lit(0))
    pool = Hardware(available={"cpus": 160, "mem_bytes": 1024 * gib})
    got = compare(
        {name: relative_penalty(rows, name, pool).charged for name in ("cpu", "max", "sum")},
        "user",
        Windows(interval_s=1000, depth=1, decay=1.0),
        1000,
        1000,
    )
    # By cpu 0.05 and 0.5 of the pool; by max 0.5 and 0.5; by sum (0.05 + 0.5) / 2 and
    # (0.5 + 0.0625) / 2.
    parts = [1 / 11, 10 / 11, 1 / 2, 1 / 2, 0.55 / 1.1125, 0.5625 / 1.1125]
    assert got["usage_fraction"].to_list() == pytest.approx(parts)
    assert got["penalty"].to_list() == ["cpu"] * 2 + ["max"] * 2 + ["sum"] * 2
    assert moved(got) == pytest.approx({"cpu": 0.0, "max": 9 / 22, "sum": 0.55 / 1.1125 - 1 / 11})
    assert movers(got).select("entity", "penalty").rows() == [
        ("memory", "max"),
        ("processors", "max"),
    ]
    assert movers(got)["shift"].to_list() == pytest.approx([9 / 22, -9 / 22])


def test_nothing_to_compare() -> None:
    whole = Windows(interval_s=9, depth=1, decay=1.0)
    empty = pl.DataFrame(schema=CHARGED)
    for charged_by in ({}, {"cpu": empty, "max": empty}):
        got = compare(charged_by, "user", whole, 9, 9)
        assert got.schema == COMPARED
        assert got.is_empty()
        assert moved(got) == {}
        assert movers(got).is_empty()
