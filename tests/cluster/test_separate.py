"""Pools that are proposed where the log names no nodes, on made sites."""

from typing import Any, Final

import numpy as np
import polars as pl
import pytest

from audit.cluster.separate import facts, separate
from audit.metrics.attempts.population import describe
from audit.model import Backfill, Order, Policy, Pool, Resource
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


def site(seed: int, hardware: list[tuple[int, Parts]], order: Order = Order.fcfs) -> pl.DataFrame:
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
        pool = Pool("all", Resource.cpus, cpus, amounts=(("cpus", cpus),))
        described = describe(frame(jobs), [pool])
        logs.append(simulate(described, pool, EPOCH + 99 * DAY, Policy(order, Backfill.easy)))
    return pl.concat(logs)


@pytest.mark.parametrize("order", [Order.fcfs, Order.sjf])
@pytest.mark.parametrize("kind", APART)
def test_hardware_of_its_own_is_found(kind: str, order: Order) -> None:
    hardware, expected = APART[kind]
    log = site(1, hardware, order)
    found = {" and ".join(one.partitions): one.peak for one in separate(log, "cpus")}
    assert expected == [name for name in sorted(found) if name != "batch"]
    assert {name: found[name] for name in expected} == {
        " and ".join(sorted(parts)): cpus for cpus, parts in hardware if "batch" not in parts
    }


@pytest.mark.parametrize("order", [Order.fcfs, Order.sjf])
@pytest.mark.parametrize("kind", SHARED)
def test_shared_hardware_is_not_divided(kind: str, order: Order) -> None:
    for seed in range(3):
        assert separate(site(seed, [SHARED[kind]], order), "cpus") == []


def test_it_is_proposed_with_its_evidence() -> None:
    """On five days, a job of two CPUs, and one that waits for it while batch has room."""
    rows = [ended(EPOCH, EPOCH, EPOCH + 9, 8, "x", partition="batch")]
    for k in range(20):
        at = EPOCH + k // 4 * DAY + k % 4 * 4 * HOUR
        user = "abc"[k % 3]
        rows.append(ended(at, at, at + 2 * HOUR, 2, user, partition="own"))
        rows.append(ended(at, at + 2 * HOUR, at + 3 * HOUR, 1, user, partition="own"))
    (fact,) = facts(frame(rows), "cpus")
    assert facts(frame(rows).reverse(), "cpus") == [fact]
    assert (fact.what, fact.value, fact.source) == ("proposed pool", "own", "what ran")
    assert fact.warning is not None
    assert fact.warning.startswith(
        "partition own may have hardware of its own: its jobs never used more than 2 CPUs at one "
        "time, and nearly that on 5 of 5 days on which some waited while other partitions had room "
        "for them (40 h of waiting); describe its nodes"
    )
    # of two users; on four days; with known nodes; in one partition
    assert (
        facts(frame([row | {"user": row["user"].replace("c", "a")} for row in rows]), "cpus") == []
    )
    assert facts(frame(rows[:-8]), "cpus") == []
    assert facts(frame([row | {"node_list": "n1"} for row in rows]), "cpus") == []
    assert facts(frame(rows[1:]), "cpus") == []
