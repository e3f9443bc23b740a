"""Pools that are inferred where the log names no nodes, on made sites."""

from typing import Any, Final

import numpy as np
import polars as pl
import pytest

from audit.cluster.inference import Fact
from audit.cluster.separate import ceilings, pools, separate
from audit.cluster.setting import one_off
from audit.formats.dialects import Header
from audit.metrics.attempts.account import account
from audit.metrics.attempts.population import describe
from audit.model import Backfill, Limit, Order, Policy, Pool, Resource
from audit.scenario.engine import simulate
from tests.strategies import EPOCH, ended, frame

HOUR, DAY = 3_600, 86_400
DAYS: Final = 28

Parts = dict[str, tuple[float, tuple[int, ...]]]
"""By partition: its load as a part of the hardware, and the CPUs of its jobs."""

NARROW, WIDE = (1, 2, 4, 8, 16), (8, 16, 32)
APART: Final[dict[str, tuple[list[tuple[int, Parts]], list[str]]]] = {
    "two": ([(64, {"gpu": (0.9, NARROW)}), (256, {"batch": (0.7, NARROW)})], ["gpu"]),
    "two of one": (
        [(64, {"short": (0.45, NARROW), "long": (0.45, NARROW)}), (256, {"batch": (0.7, NARROW)})],
        ["long and short"],
    ),
    "three": (
        [
            (64, {"gpu": (0.9, NARROW)}),
            (128, {"mem": (0.9, NARROW)}),
            (256, {"batch": (0.8, NARROW)}),
        ],
        ["gpu", "mem"],
    ),
}
SHARED: Final[dict[str, tuple[int, Parts]]] = {
    "two": (256, {"batch": (0.6, NARROW), "long": (0.3, WIDE)}),
    "one of wide jobs": (256, {"batch": (0.3, NARROW), "long": (0.6, (64, 128))}),
    "one with most jobs": (64, {"batch": (0.88, NARROW), "debug": (0.04, (4,))}),
    "one of whole machines": (64, {"batch": (0.88, (64,)), "debug": (0.04, (4,))}),
}


def arrivals(
    random: np.random.Generator, name: str, cpus: int, load: float, sizes: tuple[int, ...]
) -> list[dict[str, Any]]:
    """Return campaigns of 1 to 5 jobs that ask for a part of some CPUs, most of them by day."""
    found: list[dict[str, Any]] = []
    left = load * cpus * DAY * DAYS
    while left > 0:
        at = EPOCH + int(random.integers(DAYS)) * DAY
        at += int(random.integers(8 * HOUR, 18 * HOUR) if random.random() < 0.6 else 0)
        size, user = int(random.choice(sizes)), f"{name[0]}{random.integers(15)}"
        for _ in range(int(random.integers(1, 6))):
            lasts = int(random.integers(600, 4 * HOUR))
            job = ended(at, at, at + lasts, size, user)
            found.append(job | {"partition": name, "walltime_s": 2 * lasts})
            left -= size * lasts
    return found


def site(
    seed: int,
    hardware: list[tuple[int, Parts]],
    order: Order = Order.fcfs,
    limits: tuple[Limit, ...] = (),
) -> pl.DataFrame:
    """Return the log of a cluster whose partitions share hardware within each group."""
    random = np.random.default_rng(seed)
    logs, number = [], 0
    for cpus, parts in hardware:
        jobs = [
            job
            for name, (load, of) in parts.items()
            for job in arrivals(random, name, cpus, load, of)
        ]
        for job in jobs:
            number += 1
            job["job_id"] = str(number)
        pool = Pool("all", Resource.cpus, cpus, amounts=(("cpus", cpus),), limits=limits)
        described = describe(frame(jobs), [pool])
        logs.append(simulate(described, pool, EPOCH + 99 * DAY, Policy(order, Backfill.easy)))
    return pl.concat(logs)


@pytest.mark.parametrize(
    ("kind", "order"), [*((kind, Order.fcfs) for kind in APART), ("two", Order.sjf)]
)
def test_hardware_of_its_own_is_found(kind: str, order: Order) -> None:
    hardware, expected = APART[kind]
    log = site(1, hardware, order)
    found = {" and ".join(one.partitions): one.peak for one in separate(log, "cpus")}
    assert expected == [name for name in sorted(found) if name != "batch"]
    assert {name: found[name] for name in expected} == {
        " and ".join(sorted(parts)): cpus for cpus, parts in hardware if "batch" not in parts
    }


@pytest.mark.parametrize("kind", SHARED)
def test_shared_hardware_is_not_divided(kind: str) -> None:
    for seed, order in enumerate((Order.fcfs, Order.sjf)):
        log = site(seed, [SHARED[kind]], order)
        assert separate(log, "cpus") == []
        assert ceilings(log, "cpus", SHARED[kind][0]) == {}


@pytest.mark.parametrize("load", [0.22, 0.27])
def test_a_limit_is_no_hardware(load: float) -> None:
    """What a limit keeps a partition from using, another one uses."""
    parts: Parts = {"batch": (0.65, NARROW), "gpu": (load, NARROW)}
    limit = Limit(most=64, resource="cpus", partition=("gpu",))
    assert separate(site(1, [(256, parts)], limits=(limit,)), "cpus") == []


def waiting(days: int) -> list[dict[str, Any]]:
    """Return jobs of 2 CPUs, each with another one that waits for it though batch has room."""
    rows = [ended(EPOCH, EPOCH, EPOCH + 9, 8, "x", partition="batch")]
    for k in range(4 * days):
        at = EPOCH + k // 4 * DAY + k % 4 * 4 * HOUR
        user = "abc"[k % 3]
        rows.append(ended(at, at, at + 2 * HOUR, 2, user, partition="own"))
        rows.append(ended(at, at + 2 * HOUR, at + 3 * HOUR, 1, user, partition="own"))
    return rows


def test_pools_come_with_their_evidence() -> None:
    rows = waiting(5)
    groups, fact = pools(frame(rows))
    assert (groups, fact) == pools(frame(rows).reverse())
    assert groups == [["batch"], ["own"]]
    assert fact == Fact(
        "pools",
        "batch; own",
        "peaks in use",
        "pools are inferred from constant peaks in use, at which jobs waited while enough "
        "was free in other partitions: own (never more than 2 CPUs, almost reached on 5 of 5 days; "
        "40 h of waiting). If partitions share hardware, say so (--pool-size, or clusters.pools)",
    )


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(waiting(4), id="four days"),
        pytest.param(waiting(5)[1:], id="one partition"),
        pytest.param([row | {"node_list": "n1"} for row in waiting(5)], id="known nodes"),
        pytest.param(
            [row | {"user": "ab"[k % 2]} for k, row in enumerate(waiting(5))], id="two users"
        ),
        pytest.param(
            [*waiting(5), ended(EPOCH, EPOCH + 9 * HOUR, EPOCH + 10 * HOUR, 6, partition="batch")],
            id="others wait, and use less than they did",
        ),
    ],
)
def test_too_little_evidence_divides_nothing(rows: list[dict[str, Any]]) -> None:
    (group,), fact = pools(frame(rows))
    assert ({*group}, fact) == ({row["partition"] for row in rows}, None)


def steady(days: int, **peaks: int) -> list[dict[str, Any]]:
    """Return a job a day in each partition, of its peak, and none that waits."""
    return [
        ended(EPOCH + k * DAY, EPOCH + k * DAY, EPOCH + k * DAY + HOUR, peak, partition=name)
        for k in range(days)
        for name, peak in peaks.items()
    ]


THREE: Final = {"fat": 113, "standard": 802, "hybrid": 11}


def test_constant_peaks_that_add_up_to_the_capacity_are_pools() -> None:
    rows = steady(8, **THREE)
    groups, fact = pools(frame(rows), headers=[Header(capacity={"cpus": 933})])
    assert groups == [["fat"], ["hybrid"], ["standard"]]
    assert fact == Fact(
        "pools",
        "fat; hybrid; standard",
        "peaks in use",
        "pools are inferred from constant peaks in use, which add up to the header's 933 CPUs: fat "
        "(113 CPUs), hybrid (11 CPUs), standard (802 CPUs). If partitions share hardware, say so "
        "(--pool-size, or clusters.pools)",
    )


@pytest.mark.parametrize(
    ("rows", "capacity"),
    [
        pytest.param(steady(8, **THREE), 0, id="the capacity is unknown"),
        pytest.param(steady(8, **THREE), 925, id="partitions used more than there is"),
        pytest.param(steady(8, **THREE), 946, id="some capacity is in none"),
        pytest.param(steady(4, **THREE), 933, id="four days"),
        pytest.param(steady(8, all=933), 933, id="one partition"),
        pytest.param(
            [row | {"node_list": "n1"} for row in steady(8, **THREE)], 933, id="known nodes"
        ),
        pytest.param(
            [*steady(8, standard=802, hybrid=11), *steady(5, fat=13), *steady(8, fat=100)][:-1],
            933,
            id="a peak varies",
        ),
        pytest.param(
            [*steady(8, fat=113, standard=802), ended(EPOCH, EPOCH, EPOCH, 9, partition="hybrid")],
            933,
            id="a partition without use",
        ),
    ],
)
def test_other_peaks_are_no_pools(rows: list[dict[str, Any]], capacity: int) -> None:
    assert ceilings(frame(rows), "cpus", capacity) == {}


def test_outages_are_those_of_partitions_with_hardware_of_their_own() -> None:
    # nothing runs in hybrid for two hours, in which a job waits; standard is busy
    out = EPOCH + 8 * DAY
    rows = [
        *steady(8, **THREE),
        ended(out, out, out + 9 * HOUR, 700, partition="standard"),
        ended(out, out + 2 * HOUR, out + 3 * HOUR, 2, partition="hybrid"),
    ]
    setting = one_off(
        Fact("cluster", "c", "a test"),
        *(frame(rows), {"log": Header(capacity={"cpus": 933})}, None, None, "UTC"),
    )
    capacities = [(one.value, one.source) for one in setting.facts if "capacity" in one.what]
    assert capacities == [(f"{THREE[pool.name]} CPUs", "the peak in use") for pool in setting.pools]
    described = describe(frame(rows), setting.pools, setting.partition_pool)
    waits = {
        pool.name: account(described.filter(pool=pool.name), pool, out + DAY).attempts
        for pool in setting.pools
    }
    assert {name: of["cause_unavailable_s"].sum() for name, of in waits.items()} == {
        "fat": 0,
        "hybrid": 2 * HOUR,
        "standard": 0,
    }


def test_pending_jobs_and_those_without_a_partition_belong_to_a_pool() -> None:
    more: list[dict[str, Any]] = [
        {"submit_time": EPOCH, "cpus": 1, "partition": "own,batch"},
        {"submit_time": EPOCH, "cpus": 1, "partition": "batch,own"},
        {"submit_time": EPOCH, "cpus": 1},
    ]
    found, fact = pools(frame([*waiting(5), *more]))
    assert found == [["batch", "batch,own", None], ["own", "own,batch"]]
    assert fact is not None
    assert fact.value == "batch, batch,own, no partition; own, own,batch"
