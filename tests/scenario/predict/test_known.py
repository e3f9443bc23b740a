"""What is known of attempts: those that were cancelled have waited."""

from audit.model import Order, Policy
from audit.scenario.predict.known import known_of
from audit.scenario.predict.sweep import QueueSweep
from audit.scenario.workload import NEVER
from tests.scenario.predict.test_sweep import job, scenario
from tests.strategies import EPOCH


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
