"""CPU of fair starts by the number of jobs, and the constants fitted to it.

    python -m bench.scale.deep_queues        # some minutes; prints a table, and audit's constants

Logs into which more arrives than the pool can do, so that the queue grows to 25,000; of each depth
some attempts are asked for. Schedules of first come first served with ``easy`` throughout. CPU of
one thread, kernels warm. The last lines printed are constants of ``audit/scenario/budget.py``.
"""

import sys
import time
from collections.abc import Iterator

import numpy as np

from audit.model import Backfill, Order, Policy
from audit.scenario.budget import depths
from audit.scenario.fair_start import fair_starts
from audit.scenario.workload import Workload
from bench.logs.workloads import CAPACITY, plain, scheduled, waiting

ATTEMPTS = 50_000
LOADS = {
    0.9: {0: 4_000, 10: 4_000, 30: 4_000, 100: 1_000},
    3.0: {1_000: 1_000, 3_000: 300, 10_000: 100, 25_000: 30},
}
"""By load, the depths that are looked for, and how many attempts nearest to each are asked for."""
BY_TIME = (Order.fcfs, Order.sjf, Order.lxf, Order.nuwt, Order.fairshare)
ENOUGH_S = 30.0
"""Time limit of each load, s."""


def deep(load: float) -> Workload:
    """A log of attempts that arrive so as to make the load, above 1: the queue never ends."""
    shapes = waiting(ATTEMPTS, CAPACITY)
    span = int((shapes.occupancy * shapes.request).sum() / (load * CAPACITY))
    arrival = np.sort(np.random.Generator(np.random.PCG64(2)).integers(0, span, ATTEMPTS))
    work = plain(arrival, shapes.occupancy, shapes.estimate, shapes.request, CAPACITY)
    return scheduled(work, Policy())


def spent(work: Workload, policy: Policy, subjects: np.ndarray) -> float:
    """CPU seconds of the fair starts of each of the subjects."""
    begin = time.process_time()
    fair_starts(work, policy, subjects)
    return (time.process_time() - begin) / len(subjects)


def measured(backfill: Backfill) -> Iterator[tuple[float, float]]:
    """Depth, and CPU seconds of the fair starts of each attempt there."""
    policy = Policy(Order.fcfs, backfill)
    for load, asked in LOADS.items():
        work = deep(load)
        depth = depths(work)
        spent(work, policy, np.arange(3))  # loads the kernels
        begin = time.process_time()
        for wanted, most in asked.items():
            if time.process_time() - begin > ENOUGH_S or wanted > depth.max() + 1_000:
                break
            plans = backfill in (Backfill.conservative, Backfill.conservative_replan)
            dear = plans and wanted >= 100
            number = -(-most // 150) if dear else most
            nearest = np.sort(np.argsort(np.abs(depth - wanted), kind="stable")[:number])
            fair = spent(work, policy, nearest)
            here = float(depth[nearest].mean())
            print(f"| {backfill} | {here:,.0f} | {fair * 1e6:,.0f} |")
            sys.stdout.flush()
            yield here, fair


def orders() -> None:
    """How many times as much other orders cost where 1,000 run and wait."""
    work = deep(3.0)
    nearest = np.sort(np.argsort(np.abs(depths(work) - 1_000), kind="stable")[:60])
    costs = {order: spent(work, Policy(order), nearest) for order in BY_TIME}
    for order, cost in costs.items():
        print(f"{order}: {cost / costs[Order.fcfs]:.0f} times")


def main() -> None:
    print("| backfilling | run and wait | fair, µs |\n|---|---:|---:|")
    fitted = {}
    for backfill in Backfill:
        depth, cost = np.array(list(measured(backfill))).T
        power, constant = np.polyfit(np.log(depth + 1), np.log(cost), 1)
        fitted[backfill] = f"({np.exp(constant):.1e}, {power:.2f})"
    for backfill, fair in fitted.items():
        print(f"Backfill.{backfill.name}: {fair},")
    orders()


if __name__ == "__main__":
    main()
