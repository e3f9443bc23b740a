"""The levels that limits may have: none that the hardware itself imposes."""

import polars as pl
import pytest

from audit.metrics.attempts.population import describe
from audit.model import Limit, Node, Pool, Resource
from audit.scenario.fit.levels import WHOLE, candidates, kind_of, usable
from audit.scenario.fit.observed import observe
from audit.scenario.fit.occasions import Walker, outages, seen
from tests.strategies import EPOCH, NOW, ended, frame

NODES = (
    Node("a", (("cpus", 60), ("gpus", 0)), ("big", "small")),
    Node("b", (("cpus", 40), ("gpus", 0)), ("big",)),
    Node("g", (("cpus", 20), ("gpus", 4)), ("gpu",)),
)
POOL = Pool("all", Resource.cpus, 200, amounts=(("cpus", 200), ("gpus", 4)), nodes=NODES)


@pytest.mark.parametrize(
    ("limit", "most"),
    [
        (Limit(most=0), None),
        (Limit(most=0, resource="cpus"), 200),
        (Limit(most=0, resource="cpus", per="user"), 200),
        (Limit(most=0, resource="cpus", partition=("big",)), 100),
        (Limit(most=0, resource="cpus", per="user", partition=("small",)), 60),
        (Limit(most=0, resource="cpus", per="partition"), 100),
        (Limit(most=0, resource="gpus", partition=("gpu",)), 4),
        (Limit(most=0, resource="nodes", partition=("big",)), 2),
    ],
)
def test_what_the_nodes_of_a_limit_can_hold(limit: Limit, most: int | None) -> None:
    partitions = pl.Series(["big", "small", "gpu", "gpu,small", None])
    assert usable(POOL, partitions, limit) == most


def test_without_nodes_partitions_can_hold_what_their_pool_has() -> None:
    limit = Limit(most=0, resource="cpus", per="partition")
    assert usable(POOL._replace(nodes=()), pl.Series(["big"]), limit) == 200


@pytest.mark.parametrize(("level", "tried"), [(90, True), (99, False)])
def test_a_level_that_the_nodes_of_a_partition_impose_is_no_limit(level: int, tried: bool) -> None:
    # jobs fill big up to a level, and the next one waits while g is free
    rows = []
    for k in range(400):
        at = EPOCH + k * 40
        rows.append(ended(at, at, at + 20, level - 10, f"u{k % 5}", partition="big"))
        rows.append(ended(at + 1, at + 1, at + 20, 10, f"v{k % 5}", partition="big"))
        rows.append(ended(at + 2, at + 20, at + 30, 10, f"v{k % 5}", partition="big"))
        rows.append(ended(at, at, at + 5, 1, "w", partition="gpu"))
    found = observe(describe(frame(rows), [POOL]), POOL, NOW)
    limit = Limit(most=level, resource="cpus", per="partition")
    assert (level < WHOLE * 100) is tried
    work = found.work
    walker = Walker(work, work.limits, outages(work))
    levels = {
        one.rule.most
        for one in candidates(seen(found, walker, "UTC"))
        if (one.rule.per, one.rule.resource) == ("partition", "cpus")
    }
    assert (level in levels) is tried
    assert kind_of(found, limit).inside.all()
