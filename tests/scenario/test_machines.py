"""The nodes of a pool as a simulation takes them."""

from typing import Any

import numpy as np
import pytest

from audit.errors import UsageError
from audit.metrics.attempts.population import describe
from audit.model import (
    Absence,
    Backfill,
    CapacityStep,
    Node,
    Order,
    Placement,
    Policy,
    Pool,
    Resource,
)
from audit.scenario.budget import fair_cost
from audit.scenario.check import check_replay, check_simulated
from audit.scenario.engine import replay, simulate
from audit.scenario.scenario import Scenario, ScenarioChange, changed
from audit.scenario.workload import NEVER, Workload, workload
from tests.strategies import EPOCH, NOW, ended, frame


def node(name: str, cpus: int, *partitions: str, gpus: int = 0) -> Node:
    return Node(name, (("cpus", cpus), ("gpus", gpus)), partitions or ("batch",))


TWO = (node("a", 4), node("b", 4))
POOL = Pool("all", Resource.cpus, 8, amounts=(("cpus", 8),), nodes=TWO)


def ran(
    at: int,
    lasts: int,
    cpus: int,
    where: str,
    nodes: int = 1,
    partition: str = "batch",
    **more: Any,
) -> dict[str, Any]:
    """The record of an attempt that started at its arrival."""
    begin = EPOCH + at
    return ended(begin, begin, begin + lasts, cpus) | {
        "node_list": where,
        "nodes": nodes,
        "partition": partition,
        "walltime_s": lasts,
        **more,
    }


def work_of(pool: Pool, *records: dict[str, Any]) -> Workload:
    return workload(describe(frame(list(records)), [pool]), pool, NOW)[0]


def starts(work: Workload, policy: Policy = Policy()) -> list[int | None]:  # noqa: B008
    made = replay(work, policy).start
    return [None if at == NEVER else at - EPOCH for at in made.tolist()]


def test_other_placements() -> None:
    """Packed, two narrow jobs share a node, so that a wide one fits on the other."""
    records = (ran(0, 9, 1, "a"), ran(0, 9, 1, "b"), ran(1, 3, 4, "a"), ran(2, 3, 1, "b"))
    described = describe(frame(list(records)), [POOL])
    today = Scenario(described, POOL._replace(placement=Placement.least_loaded), NOW)

    def placed(name: str) -> list[int | None]:
        after = changed(today, ScenarioChange(placement=name))
        return starts(after.indexed.work)

    assert starts(today.indexed.work) == placed("least_loaded") == [0, 0, 9, 2]
    assert placed("packed") == [0, 0, 1, 2]
    assert placed("exclusive") == [0, 0, 9, 9]
    sums = today.but(pool=today.pool._replace(nodes=()))
    with pytest.raises(UsageError, match="--placement: sums"):
        changed(sums, ScenarioChange(placement="packed"))


def test_jobs_on_more_nodes() -> None:
    """Four CPUs are free, two on each node: a job of four starts at once only on both."""
    records = (ran(0, 9, 2, "a"), ran(0, 9, 2, "b"), ran(1, 3, 4, "a"), ran(2, 3, 3, "b"))
    described = describe(frame(list(records)), [POOL])
    today = Scenario(described, POOL._replace(placement=Placement.least_loaded), NOW)
    after = changed(today, ScenarioChange(per_node={"cpus": 2}))
    assert after.attempts["nodes"].to_list() == [1, 1, 2, 2]
    assert starts(today.indexed.work) == [0, 0, 9, 9]
    assert starts(after.indexed.work) == [0, 0, 1, 4]
    assert changed(today, ScenarioChange(per_node={"cpus": 4})).attempts.equals(described)
    with pytest.raises(UsageError, match=r"--per-node mem_bytes: not a resource .* it has cpus"):
        changed(today, ScenarioChange(per_node={"mem_bytes": 1}))
    with pytest.raises(UsageError, match="--per-node: sums"):
        changed(today.but(pool=POOL._replace(nodes=())), ScenarioChange(per_node={"cpus": 2}))


def test_starts_on_nodes_are_estimated_to_cost_more() -> None:
    work = work_of(POOL, ran(0, 5, 3, "a"), ran(0, 9, 2, "b"), ran(1, 3, 3, "a"))
    sums = fair_cost(work._replace(machines=None), Policy())
    assert (fair_cost(work, Policy()) > sums).all()


def test_what_fits_the_sum_of_nodes_may_fit_none() -> None:
    records = (ran(0, 5, 3, "a"), ran(0, 9, 2, "b"), ran(1, 3, 3, "a"), ran(2, 3, 2, "b"))
    by_nodes = work_of(POOL, *records)
    assert starts(by_nodes) == [0, 0, 5, 2]  # the last fits beside the second
    assert starts(by_nodes._replace(machines=None)) == [0, 0, 1, 4]


def test_what_fits_no_node_is_never_queued() -> None:
    work = work_of(POOL, ran(0, 5, 5, "a"), ran(0, 5, 3, "b"), ran(0, 5, 8, "a,b", nodes=2))
    assert work.queued.tolist() == [False, True, True]


def test_an_uneven_request_fills_nodes() -> None:
    # 7 CPUs on two nodes are 4 and 3
    work = work_of(POOL, ran(0, 5, 7, "a,b", nodes=2), ran(0, 3, 1, "b"), ran(1, 2, 1, "b"))
    assert starts(work) == [0, 0, 3]


@pytest.mark.parametrize(
    ("placement", "third"), [(Placement.packed, 1), (Placement.least_loaded, 5)]
)
def test_placements(placement: Placement, third: int) -> None:
    pool = POOL._replace(placement=placement)
    work = work_of(pool, ran(0, 5, 1, "a"), ran(0, 5, 1, "b"), ran(1, 2, 4, "b"), ran(9, 1, 3, "a"))
    assert starts(work)[:3] == [0, 0, third]


def test_a_reservation_takes_its_nodes() -> None:
    inside = ran(2, 6, 1, "b", reservation="r")
    work = work_of(POOL, inside, ran(0, 9, 3, "a"), ran(3, 2, 2, "b"), ran(20, 1, 1, "a"))
    assert starts(work) == [0, 8, 20]


@pytest.mark.parametrize("backfill", list(Backfill))
def test_whole_nodes_of_one_set_are_counted(backfill: Backfill) -> None:
    nodes = tuple(node(name, 4 if name < "c" else 8) for name in "abcd")
    pool = Pool("all", Resource.cpus, 24, amounts=(("cpus", 24),), nodes=nodes)
    random = np.random.Generator(np.random.PCG64(5))
    lists = {1: ("a", 4), 2: ("a,c", 12), 3: ("a,b,d", 16), 4: ("a,b,c,d", 24)}
    records = []
    for _ in range(30):
        number, lasts = int(random.integers(1, 5)), int(random.integers(1, 9))
        where, cpus = lists[number]
        at = int(random.integers(0, 40))
        records.append(ran(at, lasts, cpus, where, number, walltime_s=2 * lasts))
    counted = Pool("all", Resource.nodes, 4)
    policy = Policy(Order.sjf, backfill)
    work = work_of(pool, *records)
    assert work.machines is None
    assert starts(work, policy) == starts(work_of(counted, *records), policy)


def test_whole_nodes_of_several_partitions() -> None:
    nodes = (node("a", 4, "batch"), node("b", 8, "batch", "debug"))
    pool = Pool("all", Resource.cpus, 12, amounts=(("cpus", 12),), nodes=nodes)
    records = (ran(0, 9, 4, "a"), ran(1, 4, 8, "b", partition="debug"), ran(2, 3, 4, "a"))
    work = work_of(pool, *records)
    assert starts(work) == [0, 1, 5]
    # each takes a whole node, however small it is
    assert work.request.tolist() == [1, 1, 1]


def faults(pool: Pool, *records: dict[str, Any]) -> list[tuple[str, str, int]]:
    """What the check finds in a schedule by the pool's policy: check, job and amount."""
    described = describe(frame(list(records)), [pool])
    schedule = simulate(described, pool, NOW, pool.policy)
    return (
        check_simulated(schedule, described, pool, NOW).select("check", "job_id", "amount").rows()
    )


def test_what_a_blocked_job_takes_of_a_full_node_takes_nothing_of_others() -> None:
    blocked = ran(1, 8, 3, "a", reason="Licenses", submit_time=EPOCH)
    records = (ran(0, 9, 3, "a"), blocked, ran(2, 3, 3, "b"))
    assert work_of(POOL, *records).blocked.tolist() == [False, True, False]
    assert starts(work_of(POOL, *records)) == [0, 1, 2]
    assert faults(POOL, *records) == []


def test_gpus_of_any_type_may_be_of_another_type_than_observed() -> None:
    typed = ("gpus:a100", "gpus:v100")
    nodes = tuple(
        Node(name, (("cpus", 4), ("gpus", 2), *((x, 2 * (x == of)) for x in typed)), ())
        for name, of in zip("ab", typed, strict=True)
    )
    amounts = (("cpus", 8), ("gpus", 4), ("gpus:a100", 2), ("gpus:v100", 2))
    pool = Pool("all", Resource.cpus, 8, amounts=amounts, nodes=nodes)
    gpus: dict[str, Any] = {"gpus": 2, "gpu_types": "a100:2"}
    records = (
        ran(0, 9, 1, "a", any_gpu_type=False, **gpus),
        ran(1, 3, 1, "a", any_gpu_type=True, **gpus),
    )
    assert starts(work_of(pool, *records)) == [0, 1]
    assert faults(pool, *records) == []


def test_a_start_beyond_what_nodes_have_together_is_found() -> None:
    records = [ran(0, 9, 4, "a"), ran(0, 9, 4, "b"), ran(1, 3, 2, "a")]
    described = describe(frame(records), [POOL])
    found = check_simulated(described.with_columns(planned_start_time=None), described, POOL, NOW)
    assert found.select("check", "job_id", "amount").rows() == [("over_capacity", "3", 2)]


def test_whole_nodes_are_checked_whatever_the_pool_counts() -> None:
    nodes = tuple(Node(name, (("cpus", 4), ("mem_bytes", 8)), ()) for name in "ab")
    pool = POOL._replace(amounts=(("cpus", 8), ("mem_bytes", 16)), nodes=nodes)
    assert faults(pool, ran(0, 5, 4, "a"), ran(1, 3, 4, "b"), ran(2, 3, 4, "a")) == []


def test_a_job_that_fits_on_no_nodes_is_not_lost() -> None:
    """Twelve CPUs on two nodes are fewer than the 15 of both, but one node does not have six."""
    nodes = (node("a", 5), node("b", 10))
    pool = POOL._replace(capacity=15, amounts=(("cpus", 15),), nodes=nodes)
    records = (ran(0, 5, 8, "a,b", nodes=2), ran(1, 3, 12, "a,b", nodes=2), ran(2, 3, 5, "a"))
    work = work_of(pool, *records)
    assert starts(work) == [0, None, 2]
    assert check_replay(work, replay(work, Policy()).start, np.full(3, NEVER)).is_empty()
    assert faults(pool, *records) == []


def test_a_job_waits_for_a_node_that_stays_away() -> None:
    down = POOL._replace(absences=(Absence("a", EPOCH + 1, None, "down"),))
    records = (ran(0, 9, 3, "a"), ran(2, 3, 8, "a,b", nodes=2), ran(3, 3, 1, "b"))
    assert faults(down, *records) == []


def test_a_head_that_loses_a_node_keeps_no_others() -> None:
    """Until 5, the second job is to have both nodes at 100; then nobody knows when it fits."""
    down = POOL._replace(absences=(Absence("a", EPOCH + 5, None, "down"),))
    wide = ran(1, 9, 8, "a,b", nodes=2)
    narrow = ran(2, 9, 1, "b", walltime_s=300)
    work = work_of(down, ran(0, 100, 4, "a"), wide, narrow)
    assert starts(work) == [0, None, 5]


def test_declared_steps_leave_sums() -> None:
    stepped = POOL._replace(steps=(CapacityStep(EPOCH + 3, (("cpus", 4),)),))
    work = work_of(stepped, ran(0, 5, 3, "a"), ran(1, 3, 3, "a"))
    assert work.machines is None
    assert work.step_change.tolist() == [-4]
