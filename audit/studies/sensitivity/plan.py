"""``fairaudit experiment sensitivity``: [B §5] on a log, pool by pool."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from audit.metrics.draws import Draws
from audit.model import Backfill
from audit.oneoff.study import Made, Plan
from audit.pipeline import opening
from audit.pipeline.opening import Log
from audit.studies.sensitivity import claims, compute, page
from audit.studies.sensitivity.compute import BASES, By

KEY = "sensitivity"


def plan(
    only: str | None, by: By | None, most: int, backfill: Backfill | None
) -> Callable[[Log, Draws], Plan]:
    """Return the plan for the pool ``only``, or for all pools.

    For ``by`` and ``most`` see ``compute.grouped``. Without ``backfill``, that of the pool's
    configuration applies.
    """

    def of(log: Log, draws: Draws) -> Plan:
        points, described = compute.points(), log.described
        pools = [
            (pool, compute.grouped(described.filter(pl.col("pool") == pool.name), by, most))
            for pool in opening.pools(log, only)
        ]
        backfills = [backfill or pool.policy.backfill for pool, _ in pools]
        cells = [
            cell
            for (pool, groups), chosen in zip(pools, backfills, strict=True)
            for cell in compute.cells(groups, pool, log.setting.now, chosen, points)
        ]

        def finish(frames: Sequence[pl.DataFrame]) -> Made:
            results = []
            for at, (pool, groups) in enumerate(pools):
                own = frames[at * len(points) : (at + 1) * len(points)]
                answers = claims.answers(groups.labels, points, own, draws)
                verdicts = [
                    verdict
                    for base in BASES
                    for verdict in claims.decide(base, answers, two_at_once=base is BASES[0])
                ]
                results.append(page.Results(pool, groups, answers, verdicts))
            return Made(
                page.study(log.setting.cluster, results, backfills, draws),
                pl.concat(claims.rows(one.pool.name, one.answers) for one in results),
            )

        return Plan(f"{only} {by} {most} {backfills}", cells, finish)

    return of
