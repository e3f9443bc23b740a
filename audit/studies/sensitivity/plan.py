"""``fairaudit experiment sensitivity``: [B §5] on a log, pool by pool."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from audit.metrics.draws import Draws
from audit.model import Backfill, Pool
from audit.oneoff.study import Made, Plan
from audit.pipeline import opening
from audit.pipeline.opening import Log
from audit.studies.sensitivity import claims, compute, page
from audit.studies.sensitivity.compute import BASES, By, Groups

KEY = "sensitivity"


def plan(
    only: str | None, by: By | None, most: int, backfill: Backfill | None
) -> Callable[[Log, Draws], Plan]:
    """Return what to do with a log.

    ``only`` names the pool that it concerns; None: every one. For ``by`` and ``most`` see
    ``compute.grouped``. Without ``backfill``, that of the pool's configuration.
    """

    def of(log: Log, draws: Draws) -> Plan:
        points = compute.points()
        pools = [(pool, _groups(log, pool, by, most)) for pool in opening.pools(log, only)]
        backfills = [backfill or pool.policy.backfill for pool, _ in pools]
        cells = [
            cell
            for (pool, groups), chosen in zip(pools, backfills, strict=True)
            for cell in compute.cells(groups, pool, log.setting.now, chosen, points)
        ]

        def finish(frames: Sequence[pl.DataFrame]) -> Made:
            results = [
                _results(pool, groups, frames[at * len(points) : (at + 1) * len(points)], draws)
                for at, (pool, groups) in enumerate(pools)
            ]
            return Made(
                page.study(log.setting.cluster, results, backfills, draws),
                pl.concat(claims.rows(one.pool.name, one.answers) for one in results),
            )

        return Plan(f"{only} {by} {most} {backfills}", cells, finish)

    return of


def _groups(log: Log, pool: Pool, by: By | None, most: int) -> Groups:
    return compute.grouped(log.described.filter(pl.col("pool") == pool.name), by, most)


def _results(
    pool: Pool, groups: Groups, frames: Sequence[pl.DataFrame], draws: Draws
) -> page.Results:
    """Puts together what the cells of one pool came to, and decides [B]'s conclusions."""
    came_to = claims.answers(groups.labels, compute.points(), frames, draws)
    verdicts = [
        verdict
        for base in BASES
        for verdict in claims.decide(base, came_to, two_at_once=base is BASES[0])
    ]
    return page.Results(pool, groups, came_to, verdicts)
