"""When the modelled policy would have started each attempt on the observed schedule.

Conventions as in ``scenario.workload``. At each instant of the observed schedule one pass of the
policy is made over what then ran and waited. The next pass does not depend on its decisions, so a
model's errors do not add up.

Source: SPEC §10, *Decisions*.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from audit.kernels.scheduling import simulation as kernels
from audit.metrics.attempts.miss import TOLERANCE_S
from audit.model import Backfill, Decision, Policy, Standing
from audit.scenario import driver, engine
from audit.scenario.driver import nevers
from audit.scenario.scenario import Scenario
from audit.scenario.workload import NEVER, Bools, Ints, Workload, instants, largest_snapshot


class Decisions(NamedTuple):
    """Decisions of the policy, in the order of a workload."""

    ready: Ints  # [n], in [arrival, start]; NEVER: it would not have started it by then
    over_capacity: Bools  # [n], more was in use than the capacity once it had started


def decisions(work: Workload, policy: Policy, tolerance_s: int = TOLERANCE_S) -> Decisions:
    """Return the first instant at which ``policy`` would have started each attempt.

    One pass is made at each instant t of the observed schedule: arrivals, starts, ends, capacity
    steps, edges of windows; with an interval, at the next multiple. Attempts with start < t < end
    run until their expected ends; those with arrival ≤ t ≤ start are queued. Blocked attempts take
    from the free amounts, and count towards limits, from their start to their end, as steps that no
    planner sees. Owners are ranked by the observed history. An attempt that is put aside (see
    ``tolerance_s``) runs from its start on, that instant included. ``conservative`` is judged as
    ``conservative_replan``, as its plan is in no log. Under ``multifactor``, slurmctld's main
    scheduler precedes each pass; with an interval, passes are made where an attempt starts, and an
    interval after the first event since a pass, as no log shows when slurmctld's backfill runs.

    Args:
        tolerance_s: an attempt that would have started longer ago takes no part in passes for
            others, s, ≥ 0.

    Returns:
        ``ready`` is NEVER also for attempts that are never queued. Those that still wait when the
        log ends may have one.
    """
    count = len(work.arrival)
    found = Decisions(nevers(count), np.zeros(count, np.bool_))
    if count == 0:
        return found
    if policy.backfill.traits.keeps_plans:
        policy = policy._replace(backfill=Backfill.conservative_replan)
    setting = engine.setting(work, policy, work.queued & work.present, taken=work.blocked)
    (pool,) = setting.pools((largest_snapshot(work, work.present),), ledger=(0, 0))
    started = np.flatnonzero(work.has_started & ~work.blocked)
    ended = work.has_started & ~work.open
    known = (work.arrival, work.start[work.has_started], work.end[ended])
    kernels.decide(
        setting.model,
        setting.observed,
        started[np.argsort(work.start[started], kind="stable")],
        setting.capacity,
        tolerance_s,
        max(int(times.max(initial=-NEVER)) for times in known),  # the last instant of the log
        pool,
        found.ready,
        found.over_capacity,
        np.zeros(0, np.int64),
    )
    return found


def decision_times(scenario: Scenario, *, tolerance_s: int = TOLERANCE_S) -> pl.DataFrame:
    """Add when the pool's policy would have started each attempt that has ended.

    - ready_time: epoch s, in [arrival, start]; null where it would not have by then
    - decision: ``model.Decision``; null where it has not ended or is never queued

    Returns:
        The scenario's attempts with these columns, in their order.
    """
    described = scenario.attempts
    work, rows = scenario.indexed
    found = decisions(work, scenario.pool.policy, tolerance_s)
    ended = (described["standing"] == Standing.ENDED.value).to_numpy()[rows]
    place = driver.places(described.height, rows, ended & work.queued)
    ready, late = pl.col("ready_time"), pl.col("start_time") - pl.col("ready_time") > tolerance_s
    return (
        described.with_columns(
            instants(found.ready).gather(place).alias("ready_time"),
            _over=pl.Series(found.over_capacity).gather(place),
        )
        .with_columns(
            decision=pl.when(pl.col("_over").is_null())
            .then(None)
            .when("_over")
            .then(pl.lit(Decision.OVER_CAPACITY.value))
            .when(ready.is_null())
            .then(pl.lit(Decision.UNFORESEEN.value))
            .when(late)
            .then(pl.lit(Decision.LATE.value))
            .otherwise(pl.lit(Decision.ON_TIME.value)),
        )
        .drop("_over")
    )
