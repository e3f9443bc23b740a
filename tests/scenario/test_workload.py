"""A log as a scheduler sees it: row by row, and against the slow twin."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.attempts.population import describe
from audit.model import CapacityStep, Limit, Pool, Resource
from audit.scenario.workload import (
    NEVER,
    Workload,
    in_snapshots,
    largest_snapshot,
    limited,
    of_limits,
    workload,
    workload_of_rows,
)
from tests.naive import simulation as slow
from tests.naive.simulation import Job, Log
from tests.scenario.test_engine import slow_pool
from tests.strategies import EPOCH, NOW, POOLS, Rows, arrays, ended, frame, logs, rows

POOL = Pool("main", Resource.cpus, 4)


def met(*records: dict[str, Any], pool: Pool = POOL, now: int = 100) -> tuple[Workload, list[str]]:
    work, keys = workload(describe(frame(list(records)), [pool]), pool, now)
    assert keys.columns == ["cluster", "job_id", "attempt"]
    return work, keys["job_id"].to_list()


@given(rows(), st.sampled_from(POOLS))
def test_every_log_as_defined(records: Rows, pool: Pool) -> None:
    work, keys = workload(describe(frame(records), [pool]), pool, NOW)
    log, want = slow.log_of(frame(records).to_dicts(), *slow_pool(pool), NOW)
    assert keys.select("job_id", "attempt").rows() == want
    defined = arrays(log)
    owners, wanted = work.owners, defined.owners
    pairs = [*zip(work[:-4], defined[:-4], strict=True)]
    pairs += [(owners.leaf, wanted.leaf), (owners.name, wanted.name)]
    pairs += [(owners.charge, wanted.charge), (owners.used, wanted.used)]
    for got, want_it in pairs:
        assert isinstance(got, np.ndarray)
        assert isinstance(want_it, np.ndarray)
        assert got.dtype == want_it.dtype
        np.testing.assert_array_equal(got, want_it)
    assert work.queued.tolist() == [
        not job.blocked and not log.exceeds(k) for k, job in enumerate(log.jobs)
    ]


def test_the_order_is_that_of_arrival_then_submission_then_sequence() -> None:
    _, order = met(
        {**ended(9, 10, 11, 1), "job_number": 1},
        {**ended(3, 10, 11, 1, eligible_time=9), "job_number": 7},
        {**ended(3, 10, 11, 1, eligible_time=9), "job_number": 5},
        {**ended(8, 8, 11, 1), "job_number": 4},
        {**ended(20, 8, 11, 1), "job_number": 3},  # it started before it was there
    )
    assert order == ["4", "5", "3", "2", "1"]


def test_what_it_takes_and_what_was_expected() -> None:
    work, _ = met(
        ended(0, 0, 7, 1, walltime_s=60),
        ended(1, 1, 8, 1),  # unknown or unlimited
        ended(2, 2, 9, 1, walltime_s=5),  # outran it
        ended(3, 3, 3, 1),
        {"submit_time": 4, "occupancy_s": 6, "walltime_s": 9, "cpus": 1},  # nobody knows when
    )
    assert work.occupancy.tolist() == [7, 7, 7, 0, 6]
    assert work.estimate.tolist() == [60, 7, 7, 1, 9]
    assert work.start.tolist() == [0, 1, 2, 3, NEVER]
    assert work.end.tolist() == [7, 8, 9, 3, NEVER]
    assert not work.open.any()


def test_open_attempts_are_assumed_to_run_for_their_walltime_or_a_second_more() -> None:
    work, _ = met(
        {"submit_time": 0, "start_time": 40, "walltime_s": 500, "cpus": 1},
        {"submit_time": 1, "start_time": 40, "walltime_s": 50, "cpus": 1},
        {"submit_time": 2, "start_time": 40, "cpus": 1},
        {"submit_time": 3, "state": "PENDING", "walltime_s": 50, "cpus": 1},
        now=100,
    )
    assert work.occupancy.tolist() == [500, 61, 61, 50]
    assert work.estimate.tolist() == work.occupancy.tolist()
    assert work.end.tolist() == [540, 101, 101, NEVER]
    assert work.open.all()
    assert work.assumed.tolist() == [False, False, True, False]


@pytest.mark.parametrize(("alike", "lasts"), [(20, 118), (19, 900)])
def test_a_running_attempt_without_walltime_lasts_as_similar_ones_did(
    alike: int, lasts: int
) -> None:
    # 90 % of 20 is the 18th; 90 % of all 219 is among the 200 that lasted 900 s
    similar = [ended(0, 0, 101 + k, 1, partition="a") for k in range(alike)]
    others = [ended(0, 0, 900, 2, partition="a")] * 100 + [ended(0, 0, 900, 1, partition="b")] * 100
    running = {"submit_time": 950, "start_time": 950, "cpus": 1, "partition": "a"}
    work, _ = met(*similar, *others, running, now=1000)
    assert work.occupancy[-1] == lasts
    late, _ = met(*similar, *others, running, now=2000)
    assert late.occupancy[-1] == 1051


def test_pending_attempts_without_walltime_or_size_are_left_out() -> None:
    _, order = met(
        {"submit_time": 0, "state": "PENDING", "cpus": 1},
        {"submit_time": 0, "state": "PENDING", "walltime_s": 5},
        {"submit_time": 0, "state": "PENDING", "cpus": 1, "walltime_s": 5},
    )
    assert order == ["3"]


def test_who_never_started_or_came_at_no_known_time_is_left_out() -> None:
    _, order = met(
        {"submit_time": 0, "end_time": 5, "state": "CANCELLED", "cpus": 1},
        {"state": "PENDING", "cpus": 1},
        ended(1, 2, 3, 1),
    )
    assert order == ["3"]


def test_unknown_amounts_are_nothing_and_one_resource_has_one_dimension() -> None:
    work, _ = met({**ended(0, 0, 1, 1), "cpus": None}, ended(1, 1, 2, 9))
    assert work.request.tolist() == [0, 9]
    assert work.capacity.tolist() == [4]
    assert work.queued.tolist() == [True, False]


@pytest.mark.parametrize(("exclusive", "want"), [(False, [[4, 2]]), (True, [[4, 3, 2]])])
def test_nodes_limit_who_fits_only_where_they_are_exclusive(
    exclusive: bool, want: list[list[int]]
) -> None:
    pool = POOL._replace(
        amounts=(("cpus", 4), ("nodes", 3), ("gpus", 2)), exclusive_nodes=exclusive
    )
    work, _ = met(ended(0, 0, 1, 4, nodes=3, gpus=2), pool=pool)
    assert work.request.tolist() == want
    assert work.capacity.tolist() == want[0]


def test_steps_are_what_changes() -> None:
    pool = POOL._replace(
        amounts=(("cpus", 4), ("gpus", 2)),
        steps=(
            CapacityStep(10, (("cpus", 6),)),
            CapacityStep(20, (("gpus", 0), ("nodes", 7)), planned=True),
            CapacityStep(30, (("cpus", 1), ("gpus", 3))),
        ),
    )
    work, _ = met(ended(0, 0, 1, 6, gpus=3), ended(1, 1, 2, 7), pool=pool)
    assert work.step_time.tolist() == [10, 20, 30]
    assert work.step_change.tolist() == [[2, 0], [0, -2], [-5, 3]]
    assert work.step_planned.tolist() == [False, True, False]
    assert work.largest.tolist() == [6, 3]
    assert work.queued.tolist() == [True, False]


def test_a_reservation_takes_from_the_pool_what_ran_in_it_at_most() -> None:
    # 3   . b b .     in the reservation, which is there from 5 to 9
    # 2   . b b .
    # 1   a a . c
    #     5 6 7 8
    work, order = met(
        ended(0, 5, 7, 1, reservation="course"),
        ended(1, 6, 8, 2, reservation="course"),
        ended(2, 8, 9, 1, reservation="course"),
        ended(3, 3, 4, 1, reservation=""),
    )
    assert order == ["4"]
    assert work.step_time.tolist() == [5, 9]
    assert work.step_change.tolist() == [-3, 3]
    assert not work.step_planned.any()


@pytest.mark.parametrize(
    ("reason", "held"),
    [
        *((reason, True) for reason in slow.BLOCKED),
        *(
            (reason, True)
            for reason in ("JobHeldAdmin", "AssocGrpCpuLimit", "DependencyNeverSatisfied")
        ),
        *((reason, False) for reason in ("Priority", "Resources", "None", None)),
    ],
)
def test_blocked_by_the_recorded_reason(reason: str | None, held: bool) -> None:
    work, _ = met(ended(0, 0, 1, 1, reason=reason))
    assert work.blocked.tolist() == [held]


def test_other_pools_are_passed_over() -> None:
    two = [POOL, Pool("other", Resource.cpus, 9)]
    attempts = frame([ended(0, 0, 1, 1, partition="a"), ended(0, 0, 1, 1, partition="b")])
    described = describe(attempts, two, {"a": "main", "b": "other"})
    assert workload(described, two[1], 100)[1]["job_id"].to_list() == ["2"]


def test_steps_at_one_time_count_together() -> None:
    """A pool that gains 1 and loses 3 in the same second never has 1 more."""
    changes = ((5, 1), (5, -3), (9, 2))
    steps = tuple(slow.Step(EPOCH + at, (change,), planned=True) for at, change in changes)
    assert arrays(Log((), (4,), steps)).largest.tolist() == [4]


def holds(log: Log, job: Job, k: int, t: int) -> bool:
    """Whether attempt ``k``, which arrived before, matters in a snapshot of ``t``."""
    if job.start is None or job.end is None:
        return job.open and job.sized and not job.blocked and not log.exceeds(k)
    if (log.exceeds(k) or not job.sized) and not job.blocked:
        return job.start < t < job.end
    return t <= job.start or t < job.end


@given(logs())
def test_who_matters_in_a_snapshot(log: Log) -> None:
    work = arrays(log)
    want = [
        sum(holds(log, earlier, k, job.arrival) for k, earlier in enumerate(log.jobs[:j]))
        for j, job in enumerate(log.jobs)
    ]
    assert in_snapshots(work, np.ones(len(log.jobs), np.int64)).tolist() == want


@given(logs())
def test_there_is_space_for_every_snapshot(log: Log) -> None:
    work = arrays(log)
    rule = slow.Rule("fcfs", "none")
    for j, job in enumerate(log.jobs):
        if not job.blocked and not log.exceeds(j):
            pool = slow._at_arrival(log, rule, j)
            assert len(pool.running) + len(pool.queue) < largest_snapshot(
                work, work.has_started | work.open
            )


def test_kept_columns_give_the_limits_of_all_columns() -> None:
    """Also where a limit is on GPUs of a type, whose columns are named by the pool."""
    limits = (
        Limit(most=2, resource="gpus:a100", per="user"),
        Limit(most=3, per="account"),
    )
    pool = POOL._replace(amounts=(("cpus", 4), ("gpus:a100", 4)))
    gpus: dict[str, Any] = {"gpus": 2, "gpu_types": "a100:2", "user": "ann", "account": "a"}
    described = describe(frame([ended(0, k, k + 9, 1, **gpus) for k in range(3)]), [pool])
    work, rows = workload_of_rows(described, pool, 100)
    pool = pool._replace(limits=limits)
    of_all = limited(work, described[rows], pool, 100).limits
    kept = limited(work, of_limits(described, rows), pool, 100).limits
    assert of_all.most.tolist() == [2, 3]
    np.testing.assert_equal(kept, of_all)
