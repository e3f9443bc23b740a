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
    if passes is None:
        passes = _shown(of, pool)
    assert passes.plan is not None
    found = walk.opportunities(of.scene, passes.plan)
    row = of.queue.rows["row"].to_numpy()
    if found is not None:
        for spans in (found.possible, found.free):
            spans[:, 0] = row[spans[:, 0]]
        found = found._replace(started=row[found.started].astype(np.int64))
    return found, passes
