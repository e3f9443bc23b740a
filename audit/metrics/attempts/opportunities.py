"""When the waiting attempts of a pool could have started, and the passes of its scheduler."""

import polars as pl

from audit.metrics.attempts.account import Posed, posed
from audit.metrics.attempts.reasons import NO_HOLDS
from audit.metrics.waits import plan as plans
from audit.metrics.waits.opportunities import Opportunities, sweep_room
from audit.metrics.waits.plan import Passes
from audit.model import Pool


def passes_shown(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    *,
    log_begin: int | None = None,
    holds: pl.DataFrame = NO_HOLDS,
) -> Passes:
    """Return how a scheduler goes through its queue, as configured, else as its log shows.

    Args: as of ``account``, whose own choice from the same attempts is the same.
    """
    return _shown(posed(described, pool, now, log_begin, holds), pool)


def _shown(of: Posed, pool: Pool) -> Passes:
    if pool.states_backfill:
        return Passes(plans.configured(pool.policy), None, of.interval_s)
    return Passes(*plans.evident(of.scene), of.interval_s)


def opportunities(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    *,
    log_begin: int | None = None,
    holds: pl.DataFrame = NO_HOLDS,
    passes: Passes | None = None,
) -> tuple[Opportunities | None, Passes]:
    """Return when attempts, by row, could have started, and the passes of the scheduler.

    Args: as of ``account``.

    Returns:
        None where they are too many; their attempts are rows of ``described``.
    """
    of = posed(described, pool, now, log_begin, holds, passes)
    if passes is None and pool.states_backfill:
        passes = _shown(of, pool)
    if passes is None:
        swept = sweep_room(of.scene, plans.TRIED, counts=True)
        passes = Passes(*plans.evident(of.scene, swept.agree), of.interval_s)
        if passes.plan not in (None, plans.TRIED):
            swept = sweep_room(of.scene, passes.plan)
    else:
        swept = sweep_room(of.scene, passes.plan or plans.NONE)
    row = of.queue.rows["row"].to_numpy()
    del of  # as large as the log
    return swept.by_attempt(row), passes
