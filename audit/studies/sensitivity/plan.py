"""``fairaudit experiment sensitivity``: [B §5] on a log, pool by pool."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from audit.model import Backfill
from audit.pipeline import opening
from audit.pipeline.opening import Log
from audit.studies.cells import Cell
from audit.studies.drawn import Draws
from audit.studies.run import Made, Plan
from audit.studies.sensitivity import claims as sensitivity_claims
from audit.studies.sensitivity import compute as sensitivity
from audit.studies.sensitivity import page as sensitivity_study
from audit.studies.sensitivity.compute import By

KEY = "sensitivity"


def plan(
    only: str | None, by: By | None, most: int, backfill: Backfill | None
) -> Callable[[Log, Draws], Plan]:
    """What to do with a log.

    Args:
        only: the pool that it concerns; None: every one.
        by: what makes a group; None: account or width class, see ``sensitivity.grouped``.
        most: so many groups at the most, ≥ 2.
        backfill: who may start before others; None: as the pool is configured.
    """

    def of(log: Log, draws: Draws) -> Plan:
        points = sensitivity_study.points()
        pools, cells = [], list[Cell]()
        for pool in opening.pools(log, only):
            own = log.described.filter(pl.col("pool") == pool.name)
            groups = sensitivity.grouped(own, by, most)
            chosen = backfill or pool.policy.backfill
            pools.append((pool, groups))
            cells += sensitivity.cells(groups, pool, log.setting.now, chosen, points)

        def finish(frames: Sequence[pl.DataFrame]) -> Made:
            studied = [
                sensitivity_study.studied(
                    pool, groups, frames[at * len(points) : (at + 1) * len(points)], draws
                )
                for at, (pool, groups) in enumerate(pools)
            ]
            used = [backfill or pool.policy.backfill for pool, _ in pools]
            return Made(
                sensitivity_study.study(log.setting.cluster, studied, used, draws),
                pl.concat(sensitivity_claims.rows(one.pool.name, one.found) for one in studied),
            )

        asked = f"{only} {by} {most} {[backfill or pool.policy.backfill for pool, _ in pools]}"
        return Plan(asked, cells, finish)

    return of
