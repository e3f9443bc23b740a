"""Modelled waits: against fair start times where walltimes are exact, and by hand."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.metrics.attempts.population import describe
from audit.model import Backfill, Order, Policy, Pool, Resource
from audit.scenario.fair_start import fair_starts
from audit.scenario.predict.known import known_of
from audit.scenario.predict.sweep import QueueSweep
from audit.scenario.scenario import Scenario
from audit.scenario.workload import NEVER
from tests.examples import examples
from tests.strategies import EPOCH, ended, frame

POOL = Pool("all", Resource.cpus, 4)


def scenario(records: list[dict[str, Any]], policy: Policy | None = None) -> Scenario:
    pool = POOL if policy is None else POOL._replace(policy=policy)
    attempts = describe(frame(records).sort("submit_time", maintain_order=True), [pool])
    return Scenario(attempts, pool, EPOCH + 600_000)


def job(arrival: int, start: int, end: int, size: int, **more: Any) -> dict[str, Any]:
    given_: dict[str, Any] = {"walltime_s": max(end - start, 1), **more}
    return ended(EPOCH + arrival, EPOCH + start, EPOCH + end, size, **given_)


_job = st.builds(  # arrivals and starts are even, ends are odd: none happens as another ends
    lambda arrival, delay, lasts, size: job(
        *(2 * arrival, 2 * (arrival + delay), 2 * (arrival + delay + lasts) + 1, size)
    ),
    *(st.integers(0, 15), st.integers(0, 10), st.integers(0, 10), st.integers(1, 4)),
)


@pytest.mark.parametrize("backfill", [Backfill.none, Backfill.easy, Backfill.conservative_replan])
@pytest.mark.parametrize("order", [Order.fcfs, Order.sjf])
def test_exact_walltimes_give_fair_start_times(order: Order, backfill: Backfill) -> None:
    policy = Policy(order=order, backfill=backfill)

    @settings(max_examples=examples(20))
    @given(st.lists(_job, min_size=1, max_size=12))
    def compare(records: list[dict[str, Any]]) -> None:
        of = scenario(records, policy)
        known = known_of(of)
        fair = fair_starts(of.indexed.work, policy).strict
        sweep = QueueSweep(known, "UTC")
        for k, arrival in enumerate(known.work.arrival.tolist()):
            waits = sweep.model_waits(sweep.to(arrival, k + 1), k)
            assert [int(wait[0]) for wait in waits] == [int(fair[k]) - arrival] * 2

    compare()


def last_waits(*records: dict[str, Any]) -> list[int]:
    """The modelled waits of the last arrival, by expected durations and by walltimes."""
    known = known_of(scenario(list(records)))
    sweep, last = QueueSweep(known, "UTC"), len(known.work.arrival) - 1
    found = sweep.model_waits(sweep.to(int(known.work.arrival[last]), last + 1), last)
    return [int(wait[0]) for wait in found]


def test_expected_durations_follow_the_accuracy_of_the_user() -> None:
    before = job(0, 0, 25, 1, walltime_s=100)
    runs = job(30, 30, 9_000, 4, walltime_s=1_000)
    assert last_waits(before, runs, job(40, 9_000, 9_010, 4)) == [240, 990]


def test_time_in_suspension_is_no_part_of_the_accuracy() -> None:
    before = job(0, 0, 90, 1, walltime_s=100, suspended_s=65)
    runs = job(100, 100, 9_000, 4, walltime_s=1_000)
    assert last_waits(before, runs, job(110, 9_000, 9_010, 4)) == [240, 990]


def test_the_accuracy_is_that_of_the_last_twenty() -> None:
    long_ago = [job(k, k, k + 100, 1, walltime_s=100) for k in range(3)]
    lately = [job(200 + k, 200 + k, 300 + k, 1, walltime_s=200) for k in range(20)]
    runs = job(400, 400, 9_000, 4, walltime_s=1_000)
    waits = last_waits(*long_ago, *lately, runs, job(410, 9_000, 9_010, 4))
    assert waits == [490, 990]


@pytest.mark.parametrize(
    ("arrival", "expected"),
    [
        (249, 1),
        (300, 210),  # 1.5 · 300 + 60 − 300
        (900, 100),  # at most the walltime
        (1_200, 60),  # past it
    ],
)
def test_an_attempt_past_its_expected_duration_runs_on(arrival: int, expected: int) -> None:
    before = job(-100, -100, -75, 1, walltime_s=100)
    runs = job(0, 0, 9_000, 4, walltime_s=1_000)
    assert last_waits(before, runs, job(arrival, 9_000, 9_010, 4))[0] == expected


def test_what_ends_at_an_instant_still_runs() -> None:
    runs = job(0, 0, 50, 4, walltime_s=100)
    assert last_waits(runs, job(50, 50, 60, 4)) == [50, 50]
    assert last_waits(runs, job(51, 51, 60, 4)) == [0, 0]


def test_unknown_walltimes_are_the_usual_run_time_of_the_user() -> None:
    before = [job(0, 0, 30, 1, walltime_s=None), job(0, 0, 50, 1, walltime_s=None)]
    runs = job(100, 100, 9_000, 4, walltime_s=None)
    assert last_waits(*before, runs, job(110, 9_000, 9_010, 4)) == [30, 30]


def test_features_are_of_the_instant() -> None:
    alike = [job(0, k, k + 1, 1, user="cem", walltime_s=9_000) for k in range(5, 10)]
    records = [job(0, 0, 9_000, 3), job(10, 20, 9_000, 1, user="bob"), job(30, 40, 9_000, 1)]
    known = known_of(scenario([*alike, *records]))
    sweep = QueueSweep(known, "UTC")
    scene = sweep.to(EPOCH + 30, 8)
    waits = sweep.model_waits(scene, 7)
    measured, labels = sweep.features(scene, np.array([7]), waits, ages=False)
    assert measured[0, 2:10] / 0.4 == pytest.approx(
        [np.log(8_960), 0, np.log(1), np.log(1), np.log(60), np.log(67), 0, 8]
    )
    assert labels[0, 0] == 0
    assert pl.Series(known.user).to_list() == [3] * 5 + [1, 2, 1]


def test_jobs_ahead_count_if_they_are_no_larger_and_of_the_same_partition() -> None:
    runs = job(0, 0, 9_000, 4, partition="a")
    ahead = [(2, "a"), (3, "a"), (1, "b"), (1, "a")]
    waits = [job(10, 9_000, 9_010, size, partition=of) for size, of in ahead]
    records = [runs, *waits, job(20, 9_000, 9_010, 2, partition="a")]
    sweep, last = QueueSweep(known_of(scenario(records)), "UTC"), len(records) - 1
    scene = sweep.to(EPOCH + 20, last + 1)
    now = sweep.model_waits(scene, last)
    measured, _ = sweep.features(scene, np.array([last]), now, ages=False)
    assert measured[0, 8] == pytest.approx(0.4 * 2 * np.log(3))


def test_a_cancelled_job_is_queued_until_it_is_cancelled() -> None:
    cancelled = {"submit_time": EPOCH + 5, "end_time": EPOCH + 40, "cpus": 4, "state": "CANCELLED"}
    records = [job(0, 0, 100, 4), {**cancelled, "walltime_s": 50}, job(20, 100, 110, 1)]
    known = known_of(scenario(records))
    assert (known.leaves - EPOCH).tolist() == [0, 40, 100]
    assert known.work.start[1] == NEVER
    sweep = QueueSweep(known, "UTC")
    assert sweep.to(EPOCH + 20, 3).queue.tolist() == [1, 2]
    assert sweep.to(EPOCH + 41, 3).queue.tolist() == [2]


def test_orders_that_look_ahead_are_not_used() -> None:
    records = [job(0, 0, 10, 1, priority=1.0), job(0, 0, 10, 1, priority=5.0)]
    for order, used in ((Order.recorded, Order.fcfs), (Order.sjf, Order.sjf)):
        known = known_of(scenario(records, Policy(order=order)))
        assert known.pool.policy.order is used
