"""How far a policy explains what was observed: a period replayed under it (SPEC §5)."""

import numpy as np
import polars as pl

from audit.metrics.attempts import fidelity, population
from audit.metrics.attempts.miss import TOLERANCE_S
from audit.model import Period, Policy, Pool
from audit.scenario.engine import replay
from audit.scenario.workload import NEVER, Ints, Met, workload_of_rows


def model_fidelity(
    described: pl.DataFrame,
    pool: Pool,
    period: Period,
    now: int,
    policy: Policy | None = None,
    tolerance_s: int = TOLERANCE_S,
    met: Met | None = None,
) -> pl.DataFrame:
    """How well a replay of ``period`` under ``policy`` reproduces the observed starts.

    The replay begins with what ran and waited when the period began, and has the arrivals of the
    period; nobody who arrives later can be in the way of those that it is compared for. Compared
    are those that it queued, and that ended in the period.

    Args:
        described: all attempts of ``pool``, with what ``fair_start_times`` adds.
        pool: see ``scenario.workload``.
        period: the period in question; that of the whole log begins with an empty pool.
        now: when the log was taken, epoch s.
        policy: None: that of ``pool``.
        tolerance_s: who waited longer is looked at apart, s, ≥ 0.
        met: what ``workload_of_rows`` gave for the same; None: the owners have equal shares.

    Returns:
        Columns of ``metrics.attempts.fidelity.FIDELITY_SCHEMA``.

    Source: SPEC §5, *Model fidelity*.
    """
    start = replayed_starts(described, pool, period, now, policy, met)
    replayed = described.with_columns(replayed_start_time=pl.Series(start).replace(NEVER, None))
    return fidelity.fidelity(population.in_period(replayed, period), tolerance_s=tolerance_s)


def replayed_starts(
    described: pl.DataFrame,
    pool: Pool,
    period: Period,
    now: int,
    policy: Policy | None = None,
    met: Met | None = None,
) -> Ints:
    """When the attempts of a period start in such a replay; arguments as ``model_fidelity``.

    Returns:
        One element per row of ``described``, epoch s; NEVER: it was not replayed, or never starts.
    """
    known, rows = met or workload_of_rows(described, pool, now)
    held = known.arrival < (NEVER if period.whole_log else period.to_time)
    work = known.first(int(held.sum()))
    since = None if period.whole_log else period.from_time
    made = replay(work, pool.policy if policy is None else policy, from_time=since)
    start = np.where(work.queued, made.start, NEVER)
    if since is not None:  # who ran already was not replayed
        start = np.where(work.start < since, NEVER, start)
    of_row = np.full(described.height, NEVER)
    of_row[rows[: len(start)]] = start
    return of_row
