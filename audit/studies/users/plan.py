"""``fairaudit experiment users``: [K §5] on a log, pool by pool."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Lock, Thread

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.errors import UsageError
from audit.metrics.draws import Draws
from audit.oneoff.study import Made, Plan
from audit.pipeline.opening import Log, pools
from audit.scenario.tabu import Search
from audit.studies.users import compute, page
from audit.studies.users.compute import ESTIMATES, RUNS

KEY = "users"


def plan(only: str | None = None, search_s: float | None = None) -> Callable[[Log, Draws], Plan]:
    """Return the plan for the pool ``only``, or for all pools.

    ``search_s`` bounds the wall-clock time of each tabu search, s.
    """
    bound = None if search_s is None else Stopwatch(search_s)

    def of(log: Log, draws: Draws) -> Plan:
        search = Search(seed=draws.seed, bound=bound)
        chosen = pools(log, only)
        cells = [
            cell
            for pool in chosen
            for cell in compute.cells(
                log.described.filter(pl.col("pool") == pool.name), pool, log.setting.now, search
            )
        ]

        def finish(frames: Sequence[pl.DataFrame]) -> Made:
            waiting = iter(frames)
            compared = [
                compute.compared(pool, estimates, [next(waiting) for _ in RUNS], draws)
                for pool in chosen
                for estimates in ESTIMATES
            ]
            study = page.study(log.setting.cluster, compared, search, draws)
            return Made(study, pl.concat(map(compute.rows, compared)))

        return Plan(f"{only} {search}", cells, finish)

    return of


@dataclass(frozen=True)
class Stopwatch:
    """Sets a flag some seconds after its last start, for searches, which cannot read the clock.

    Raises:
        UsageError: ``seconds`` is below 0, or not a number.
    """

    seconds: float

    def __post_init__(self) -> None:
        if not self.seconds >= 0:
            raise UsageError(f"a search of {self.seconds} s: give at least 0")

    def __str__(self) -> str:
        return f"{self.seconds:g} s"

    @contextmanager
    def __call__(self, flag: NDArray[np.int64]) -> Iterator[Callable[[], None]]:
        """Watch while the block runs; yield the function that starts the watch.

        Starting resets the first element of ``flag``, which becomes 1 when the time is over. One
        thread looks at the clock ten times in that time; a thread for each start would take longer
        than a search.
        """
        until, lock, ended = float("inf"), Lock(), Event()

        def start() -> None:
            nonlocal until
            with lock:
                until = time.monotonic() + self.seconds
                flag[0] = self.seconds == 0  # independent of the thread's timing

        def watch() -> None:
            while not ended.wait(min(max(self.seconds / 10, 0.001), 1.0)):
                with lock:
                    if time.monotonic() >= until:
                        flag[0] = 1

        watching = Thread(target=watch, name="fairaudit-stopwatch", daemon=True)
        watching.start()
        try:
            yield start
        finally:
            ended.set()
            watching.join()
