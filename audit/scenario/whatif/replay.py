"""What becomes of a scenario: its schedule, with the misses that its own policy makes of it.

A replay begins with an empty pool and sees the arrivals of the log. Fair start times are judged in
each schedule by the policy that made it (SPEC §5).

Sources: SPEC §4 to §6.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from audit.metrics.attempts.fidelity import fidelity
from audit.metrics.attempts.miss import FSTS, misses
from audit.metrics.attempts.population import TAU_S
from audit.metrics.attempts.resource_equality import resource_equality
from audit.model import FstStatus, Pool
from audit.scenario.advice.scenario import Scenario
from audit.scenario.check import check_replay, require_sound
from audit.scenario.engine import Replay, as_schedule, replay
from audit.scenario.fair_start import fair_starts
from audit.scenario.workload import KEYS, NEVER, Ints, Workload, workload


class Played(NamedTuple):
    """What became of a scenario."""

    schedule: pl.DataFrame
    """Columns of ``model.DESCRIBED``, with those of resource equality and misses."""
    starts: pl.DataFrame
    """cluster, job_id, attempt, replayed_start_time of those that were replayed."""


def played(scenario: Scenario, now: int, tau_s: int = TAU_S) -> Played:
    """Replays a scenario, and measures what came of it.

    Args:
        scenario: what to replay.
        now: when the log was taken, epoch s.
        tau_s: of the bounded slowdown, s.

    Raises:
        SimulationError: the schedule is impossible.
    """
    pool = scenario.pool
    work, keys = workload(scenario.attempts, pool, now, scenario.fairshare)
    replayed = replay(work, pool.policy)
    require_sound(check_replay(work, *replayed), f"schedule {pool.policy.name!r}")
    schedule = as_schedule(scenario.attempts, pool, work, keys, replayed, pool.policy.name, tau_s)
    last = schedule.select(pl.max_horizontal("end_time", "start_time").max()).item()
    measured = resource_equality(schedule, max(now, int(last or now)))
    starts = keys.with_columns(
        replayed_start_time=_instants(np.where(work.queued, replayed.start, NEVER))
    )
    return Played(_judged(measured, work, keys, replayed, pool, tau_s), starts)


def _judged(
    schedule: pl.DataFrame,
    work: Workload,
    keys: pl.DataFrame,
    replayed: Replay,
    pool: Pool,
    tau_s: int,
) -> pl.DataFrame:
    """The schedule with its misses: each attempt's fair start times within it."""
    start = replayed.start
    end = np.where(start == NEVER, NEVER, start + work.occupancy)
    gone = (start == NEVER) & ~work.open
    as_observed = work._replace(start=start, end=end, open=work.open & ~gone)
    fair = fair_starts(as_observed, pool.policy, fair_order=pool.fair_order)
    none = fair.strict == NEVER
    status = np.where(none, FstStatus.EXCEEDS_CAPACITY.value, FstStatus.FINAL.value).astype(object)
    status[work.exceeding] = FstStatus.EXCEEDS_LIMIT.value
    status[~work.fitting] = FstStatus.EXCEEDS_CAPACITY.value
    status[fair.over_capacity & ~none] = FstStatus.OVER_CAPACITY.value
    status[work.blocked] = FstStatus.BLOCKED.value
    fair_times = keys.with_columns(
        fst_strict=_instants(fair.strict),
        fst_relaxed=_instants(fair.relaxed),
        fst_status=pl.Series(status, dtype=pl.String),
    )
    judged = schedule.join(fair_times, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    return misses(judged, tau_s)


def _instants(times: Ints) -> pl.Series:
    return pl.Series(times).replace(NEVER, None)


def replay_error(observed: pl.DataFrame, today: Played) -> pl.DataFrame:
    """How far the replay of today's policy is from what was observed.

    Args:
        observed: columns of ``model.DESCRIBED``, of the pool, as the log has them.
        today: its replay.

    Returns:
        Rows of ``metrics.attempts.fidelity.FIDELITY_SCHEMA`` that are about starts and waits.
    """
    unjudged = observed.with_columns(
        *(pl.lit(None, pl.Int64).alias(f"miss_{fst}_s") for fst in FSTS),
        fst_status=pl.lit(None, pl.String),
    )
    errors = fidelity(unjudged, today.starts)
    return errors.filter(~pl.col("metric").str.starts_with("miss_"))
