"""``fairaudit experiment users``: [K §5] on a log, pool by pool."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from audit.errors import UsageError
from audit.experiments import users
from audit.experiments.cells import Cell
from audit.experiments.users import ESTIMATES, RUNS
from audit.report import users_study
from audit.service.opening import Log
from audit.service.studies import Made, Plan

KEY = "users"


def plan(log: Log, seed: int) -> Plan:
    """What to do with a log."""
    pools, cells = [], list[Cell]()
    for pool in log.setting.pools:
        own = log.described.filter(pl.col("pool") == pool.name)
        if not own.is_empty():
            pools.append(pool)
            cells += users.cells(own, pool, log.setting.now, seed)
    if not pools:
        raise UsageError("users: the log holds no attempts")

    def finish(frames: Sequence[pl.DataFrame]) -> Made:
        waiting = iter(frames)
        found = [
            users.compared(pool, estimates, [next(waiting) for _ in RUNS], seed)
            for pool in pools
            for estimates in ESTIMATES
        ]
        return Made(
            users_study.study(log.setting.cluster, found, seed), pl.concat(map(users.rows, found))
        )

    return Plan(f"seed {seed}", cells, finish)
