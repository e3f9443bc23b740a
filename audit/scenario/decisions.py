"""Whom the modelled policy would have started, and when, on the observed schedule (SPEC §10).

Conventions as in ``scenario.workload``. At each instant of the observed schedule one pass of the
policy is made over what then ran and waited; what it says never reaches the next one, so a model's
errors do not add up.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.kernels.scheduling import simulation as kernels
from audit.kernels.scheduling.simulation import Model
from audit.metrics.attempts.miss import TOLERANCE_S
from audit.metrics.attempts.reasons import blocked
from audit.model import Backfill, Decision, IdleBecause, Policy, Pool, Standing
from audit.scenario import engine
from audit.scenario.workload import (
    NEVER,
    Bools,
    Ints,
    Met,
    Workload,
    largest_snapshot,
    workload_of_rows,
)


class Decisions(NamedTuple):
    """What the policy said, in the order of a workload."""

    ready: Ints  # [n], in [arrival, start]; NEVER: it would not have started it by then
    over_capacity: Bools  # [n], more was in use than there is once it had started
    withheld: Ints
    """[n], what did not allow it to be started at some instant between ``ready`` and its start:
    ``CAUSES`` has the meanings. [0]: nobody asked."""


CAUSES: Final = (IdleBecause.UNEXPLAINED, IdleBecause.WINDOW, IdleBecause.LIMIT)
"""By the codes of ``Decisions.withheld``."""


def decisions(
    work: Workload, policy: Policy, tolerance_s: int = TOLERANCE_S, causes: bool = False
) -> Decisions:
    """The first instant at which ``policy`` would have started each attempt.

    At each instant t of the observed schedule (arrivals, starts, ends, capacity steps, edges of
    windows; with an interval, at the next multiple) one pass says whom it would start: running are
    those with start < t < end and their expected ends, the queue is those with arrival ≤ t ≤ start.
    Blocked attempts take from what is free, and count towards limits, from their start to their
    end, as steps that no planner sees. Owners are ranked by the observed history. Who is put aside
    (see ``tolerance_s``) runs from its start on, not only after it: what it takes then nobody else
    could have had.
    ``conservative`` is judged as ``conservative_replan``: it keeps a plan, which no log tells.
    Under ``multifactor`` with an interval no log tells when slurmctld's backfill runs: passes are
    where an attempt starts, and an interval after the first thing that has happened since a pass.

    Args:
        tolerance_s: who would have started longer ago takes no part in passes for others, s, ≥ 0.

    Returns:
        ``ready`` NEVER too for those that are never queued. Who waits still when the log ends may
        have one.

    Source: SPEC §10, *Decisions*.
    """
    count = len(work.arrival)
    asked = count if causes else 0
    found = Decisions(np.full(count, NEVER), np.zeros(count, np.bool_), np.zeros(asked, np.int64))
    if count:
        _decide(work, _judged(policy), tolerance_s, found)
    return found


def _decide(work: Workload, policy: Policy, tolerance_s: int, out: Decisions) -> None:
    """Writes the decisions to ``out``."""
    count = len(work.arrival)
    observed = engine.observation(work)
    ranking = engine.kernel_ranking(work, policy.order)
    present = engine.present(work)
    jobs = engine.kernel_jobs(work, policy, work.queued & present, ranking.owner)
    steps = engine.kernel_steps(work, work.blocked)
    crowd = largest_snapshot(work, present)
    ledger = ranking.ledger(0, 0)
    nothing = np.zeros(0, np.int64)
    kernels.decide(
        Model(jobs, steps, engine.rules(policy, work), ranking.owners),
        observed,
        _by_start(work),
        engine.contiguous(work.capacity),
        tolerance_s,
        _last(work),
        engine.kernel_pool(work, crowd, steps.number, ledger, np.full(count, NEVER), nothing),
        out.ready,
        out.over_capacity,
        out.withheld if work.limits.some else nothing,
    )


def decision_times(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    *,
    tolerance_s: int = TOLERANCE_S,
    met: Met | None = None,
) -> pl.DataFrame:
    """Adds when the pool's policy would have started each attempt that has ended.

    - ready_time: epoch s, in [arrival, start]; null where it would not have by then
    - decision: ``model.Decision``; null for attempts that have not ended or are never queued
    - idle_because: ``model.IdleBecause``, why there may have been room for it from ready_time on:
      the first that holds; null without ready_time

    Returns:
        ``described`` with these columns, in its order.

    Source: SPEC §10, *Decisions*.
    """
    work, rows = met or workload_of_rows(described, pool, now)
    found = decisions(work, pool.policy, tolerance_s, causes=True)
    judged = (described["standing"] == Standing.ENDED.value).to_numpy()[rows] & work.queued
    ready = np.full(described.height, NEVER)
    ready[rows] = np.where(judged, found.ready, NEVER)
    over = np.zeros((2, described.height), np.bool_)
    over[:, rows] = judged, found.over_capacity
    cause = np.zeros(described.height, np.int64)
    cause[rows] = found.withheld
    added = described.with_columns(
        ready_time=pl.Series(ready).replace(NEVER, None),
        _judged=over[0],
        _over=over[1],
        _cause=pl.Series([each.value for each in CAUSES]).gather(cause),
    )
    return added.with_columns(
        decision=pl.when("_judged").then(_decision(tolerance_s)),
        idle_because=pl.when(pl.col("ready_time").is_not_null()).then(
            # who was blocked is judged only where a limit covers the reason
            pl.when(blocked()).then(pl.lit(IdleBecause.LIMIT.value)).otherwise("_cause")
        ),
    ).drop("_judged", "_over", "_cause")


def _decision(tolerance_s: int) -> pl.Expr:
    """The decision on those that were judged."""
    late = pl.col("start_time") - pl.col("ready_time") > tolerance_s
    return (
        pl.when(pl.col("_over"))
        .then(pl.lit(Decision.OVER_CAPACITY.value))
        .when(pl.col("ready_time").is_null())
        .then(pl.lit(Decision.UNFORESEEN.value))
        .when(late)
        .then(pl.lit(Decision.LATE.value))
        .otherwise(pl.lit(Decision.ON_TIME.value))
    )


def _judged(policy: Policy) -> Policy:
    """What takes the place of a policy of which no log tells enough."""
    if policy.backfill.traits.keeps_plans:
        return policy._replace(backfill=Backfill.conservative_replan)
    return policy


def _by_start(work: Workload) -> Ints:
    """Those that started and were not blocked, by start; ties in their order."""
    started = np.flatnonzero(work.has_started & ~work.blocked)
    return started[np.argsort(work.start[started], kind="stable")]


def _last(work: Workload) -> int:
    """The last instant that the log tells of."""
    told = (work.arrival, work.start[work.has_started], work.end[work.has_started & ~work.open])
    return max(int(times.max(initial=-NEVER)) for times in told)
