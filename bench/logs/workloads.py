"""Workloads of the simulation: as the yardstick reads them, and made up."""

from pathlib import Path

import numpy as np

from audit.model import Backfill, Order, Policy
from audit.scenario import engine
from audit.scenario.ownership import unowned
from audit.scenario.workload import NEVER, Workload

EASY = Policy(Order.fcfs, Backfill.easy)
CONSERVATIVE = Policy(Order.fcfs, Backfill.conservative)
CAPACITY = 1000
LOAD = 0.85


def plain(
    arrival: np.ndarray,
    occupancy: np.ndarray,
    estimate: np.ndarray,
    size: np.ndarray,
    capacity: int,
) -> Workload:
    """A workload of one resource whose attempts have not been scheduled yet."""
    count = len(arrival)
    none, never = np.zeros(count, np.bool_), np.full(count, NEVER)
    nothing = np.zeros(0, np.int64)
    return Workload(
        arrival, never, never, occupancy, estimate, size, np.full(count, np.nan),
        none, none, none, none, ~none, np.array([capacity]), nothing, nothing,
        np.zeros(0, np.bool_), unowned(count),
    )  # fmt: skip


def scheduled(work: Workload, policy: Policy) -> Workload:
    """The workload with the schedule that ``policy`` makes as the observed one."""
    start = engine.replay(work, policy).start
    return work._replace(start=start, end=start + work.occupancy)


def waiting(count: int, capacity: int = CAPACITY) -> Workload:
    """``count`` attempts that arrive within seconds of one another, to wait for most of a pool."""
    random = np.random.Generator(np.random.PCG64(1))
    occupancy = np.maximum(random.lognormal(8, 1.5, count).astype(np.int64), 1)
    factor = random.choice([1.0, 1.5, 3.0, 10.0], count)
    return plain(
        np.arange(count),
        occupancy,
        np.maximum(occupancy, (occupancy * factor).astype(np.int64)),
        1 << random.integers(0, 9, count),
        capacity,
    )


def steady(count: int) -> Workload:
    """A log of ``count`` attempts that arrive so as to make the load."""
    shapes = waiting(count, CAPACITY)
    area = int((shapes.occupancy * shapes.request).sum())
    span = area / (LOAD * CAPACITY)
    random = np.random.Generator(np.random.PCG64(2))
    arrival = np.sort(random.integers(0, int(span), count))
    return plain(arrival, shapes.occupancy, shapes.estimate, shapes.request, CAPACITY)


def load(path: Path, processors: int) -> Workload:
    """A trace, tidied up as the yardstick reads it, as a workload."""
    lines = [line.split()[:9] for line in path.read_text().splitlines() if not line.startswith(";")]
    columns = np.array(lines, np.int64).T.copy()
    return plain(columns[1], columns[3], columns[8], columns[7], processors)


def to_trace(work: Workload, path: Path, users: np.ndarray | None = None) -> None:
    """Writes a workload as the yardstick reads it, with its waits if it has been scheduled."""
    rows = np.full((len(work.arrival), 18), -1)
    rows[:, 0] = np.arange(1, len(rows) + 1)
    rows[:, 1], rows[:, 3], rows[:, 8] = work.arrival, work.occupancy, work.estimate
    rows[:, 2] = np.where(work.start == NEVER, -1, work.start - work.arrival)
    rows[:, 4] = rows[:, 7] = work.request
    rows[:, 6] = rows[:, 9] = rows[:, 10] = 1  # memory: some simulators cannot do without
    if users is not None:
        rows[:, 11] = users
    np.savetxt(path, rows, fmt="%d")
