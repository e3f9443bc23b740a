"""Costs and savings of Dask's workers: the same work by one thread, and by one and two workers.

    python -m bench.scale.workers  # some minutes; prints the table of docs/scale.md

Fair starts of KTH-SP2 (of FAIRAUDIT_REAL_LOGS) and of a made log, and the policy grid
on KTH-SP2. In turn, round after round, on one machine; the table has the least of each: user CPU
seconds of this process and of all workers, seconds on the clock, and bytes that went through the
folder.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from audit.config import Compute, Config
from audit.oneoff import study as studies
from audit.pipeline.opening import ClusterLog, LogRequest, largest_pool, open_log
from audit.scenario.driver import Effort
from audit.scenario.fair_start import fair_starts
from audit.scenario.workload import Workload, workload
from audit.studies import parts
from audit.studies.grid import compute as grid
from audit.workers.executors import Executor, Threads
from audit.workers.on_dask import Dask
from audit.workers.parcels import Packer
from bench.logs.real import real_log
from bench.logs.workloads import EASY, scheduled, steady
from bench.measure.machine import machine

MADE = 300_000
ROUNDS = 2


class Cost(NamedTuple):
    cpu_s: float
    wall_s: float


class Task(NamedTuple):
    name: str
    run: Callable[[Executor], Any]
    sent_mib: float


def starts(work: Workload) -> Callable[[Executor], Any]:
    """All fair starts."""

    def run(executor: Executor) -> list[list[int]]:
        fair = fair_starts(work, EASY, effort=Effort(executor))
        return [np.asarray(times).tolist() for times in fair]

    return run


def grid_of(log: ClusterLog) -> Callable[[Executor], Any]:
    """The cells of `experiment grid`."""
    cells = grid.cells(parts.part(log.described, largest_pool(log)))

    def run(executor: Executor) -> list[Any]:
        with tempfile.TemporaryDirectory() as folder:
            made = studies.run_cells(cells, Path(folder) / "cells", "bench", executor)
        return [frame.rows() for frame in made]

    return run


def sent(thing: object) -> float:
    """MiB of the files that a thing becomes on its way."""
    with tempfile.TemporaryDirectory() as folder:
        Packer(Path(folder)).packed(thing)
        return sum(path.stat().st_size for path in Path(folder).iterdir()) / 2**20


def tasks() -> Iterator[Task]:
    """What is measured."""
    kth = real_log()
    if kth is None:
        raise SystemExit("FAIRAUDIT_REAL_LOGS names no folder with KTH-SP2")
    log = open_log(LogRequest(logs=[kth]), Config())
    pool = largest_pool(log)
    work = workload(log.described, pool, log.setting.now)[0]
    yield Task(f"fair starts, KTH-SP2 ({len(work.arrival):,})", starts(work), sent(work))
    made = scheduled(steady(MADE), EASY)
    yield Task(f"fair starts, a synthetic log ({MADE:,})", starts(made), sent(made))
    yield Task("policy grid, KTH-SP2", grid_of(log), sent(log.described))


def user_s(executor: Executor) -> float:
    """User CPU of this process and of an executor's workers."""
    own = os.times().user
    if isinstance(executor, Dask):
        own += sum(each.user for each in executor._session.client.run(os.times).values())
    return own


def cost(task: Task, executor: Executor) -> tuple[Cost, Any]:
    """The cost and the result."""
    begun, wall = user_s(executor), time.perf_counter()
    made = task.run(executor)
    elapsed = time.perf_counter() - wall
    return Cost(user_s(executor) - begun, elapsed), made


def main(rounds: int = ROUNDS) -> None:
    print(machine())
    with ExitStack() as stack:
        executors: dict[str, Executor] = {"one thread": Threads(1)}
        for number, name in ((1, "one worker"), (2, "two workers")):
            dask = Dask(Compute(engine="dask", workers=number))
            stack.callback(dask.close)
            begun, wall = os.times().user, time.perf_counter()
            assert dask.width == number
            elapsed, here = time.perf_counter() - wall, os.times().user - begun
            there = user_s(dask) - os.times().user
            print(f"to start {name}: {elapsed:.1f} s; CPU s: {here:.1f} here, {there:.1f} there")
            executors[name] = dask
        head = " | ".join(f"{name}: CPU s | s" for name in executors)
        print(f"| work | {head} | MiB sent |\n|---|{'---:|' * (2 * len(executors) + 1)}")
        for task in tasks():
            costs: dict[str, list[Cost]] = {name: [] for name in executors}
            wanted = None
            for _ in range(rounds):
                for name, executor in executors.items():
                    found, made = cost(task, executor)
                    assert wanted is None or made == wanted, f"{task.name}: {name} differs"
                    wanted = made
                    costs[name].append(found)
            least = [[min(of) for of in zip(*each, strict=True)] for each in costs.values()]
            told = " | ".join(f"{cpu:.1f} | {wall:.1f}" for cpu, wall in least)
            print(f"| {task.name} | {told} | {task.sent_mib:.1f} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
