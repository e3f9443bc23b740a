"""When the waiting attempts of a pool could have started, and the passes of its scheduler."""

import numpy as np
import polars as pl

from audit.metrics.attempts.account import NO_HOLDS, Posed, posed
from audit.metrics.waits import plan as plans
from audit.metrics.waits import walk
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
) -> tuple[walk.Opportunities | None, Passes]:
    """Return when attempts, by row, could have started, and the passes of the scheduler.

    Args: as of ``account``.

    Returns:
        None where they are too many; their attempts are rows of ``described``.
    """
    of = posed(described, pool, now, log_begin, holds, passes)
    if passes is None and pool.states_backfill:
        passes = _shown(of, pool)
    if passes is not None:
        assert passes.plan is not None
        return _by_row(walk.opportunities(of.scene, passes.plan), of), passes
    found = walk.opportunities(of.scene, plans.TRIED)
    passes = Passes(*plans.evident(of.scene, found and found.agree), of.interval_s)
    if passes.plan not in (None, plans.TRIED):
        found = walk.opportunities(of.scene, passes.plan)
    return _by_row(found, of), passes


def _by_row(found: walk.Opportunities | None, of: Posed) -> walk.Opportunities | None:
    """Return opportunities with the rows of attempts in place of their places in the queue."""
    if found is None:
        return None
    row = of.queue.rows["row"].to_numpy()
    for spans in (found.possible, found.free):
        spans[:, 0] = row[spans[:, 0]]
    return found._replace(started=row[found.started].astype(np.int64))
