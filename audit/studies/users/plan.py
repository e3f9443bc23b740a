"""``fairaudit experiment users``: [K §5] on a log, pool by pool."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from audit.metrics.draws import Draws
from audit.oneoff.study import Made, Plan
from audit.pipeline.opening import Log, pools
from audit.report.study.cells import Cell
from audit.scenario.tabu import Search
from audit.studies.users import compute, page
from audit.studies.users.compute import ESTIMATES, RUNS
from audit.studies.users.stopwatch import Stopwatch

KEY = "users"


def plan(only: str | None = None, search_s: float | None = None) -> Callable[[Log, Draws], Plan]:
    """What to do with a log.

    Args:
        only: the pool that it concerns; None: every one.
        search_s: wall-clock bound of a tabu search, s; None: none.
    """
    bound = None if search_s is None else Stopwatch(search_s)

    def of(log: Log, draws: Draws) -> Plan:
        search = Search(seed=draws.seed, bound=bound)
        chosen = pools(log, only)
        cells = list[Cell]()
        for pool in chosen:
            of_pool = log.described.filter(pl.col("pool") == pool.name)
            cells += compute.cells(of_pool, pool, log.setting.now, search)

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
