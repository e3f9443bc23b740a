"""Fair start times: when each attempt would have started had no later job arrived (SPEC §5).

Conventions as in ``scenario.workload``.
"""

import threading
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Bools, Ints
from audit.kernels.scheduling import fair_start as kernels
from audit.kernels.scheduling.fair_start import Trials
from audit.metrics.attempts.contention import reserved_rows
from audit.metrics.attempts.miss import misses
from audit.metrics.attempts.population import TAU_S
from audit.model import BY_USAGE, FstStatus, Order, Policy, Standing
from audit.scenario import driver, engine
from audit.scenario.budget import fair_cost, weights
from audit.scenario.driver import ALL, Effort
from audit.scenario.scenario import Scenario
from audit.scenario.workload import NEVER, Workload, in_snapshots, instants, largest_snapshot

DRAWN_BY: Final = ("user", "width_class", "wait_s")
"""Columns that a sample is drawn by, beside the day of arrival."""
DAY_S: Final = 86_400

STATUSES: Final = [status.value for status in FstStatus]
"""Statuses by their codes, which arrays hold."""
_CODE: Final = {status: code for code, status in enumerate(FstStatus)}


class FairStarts(NamedTuple):
    """Fair start times in the order of a workload; NEVER: none."""

    strict: Ints  # [n] ≥ arrival
    relaxed: Ints  # [n] ≥ arrival
    over_capacity: Bools  # [n], the snapshot holds more than the capacity


def fair_starts(
    work: Workload,
    policy: Policy,
    subjects: Ints | None = None,
    effort: Effort = ALL,
    fair_order: Order = Order.fcfs,
) -> FairStarts:
    """Return fair start times from the snapshots of the observed schedule.

    The snapshot of attempt j at a = arrival_j holds as running those with start < a < end, and as
    queued those before j in (arrival, submit, sequence) order with start ≥ a. From there the policy
    is simulated with the actual occupancies and without anything that comes after j. The strict
    fair start time is the start of j if j is in the queue; the relaxed one is its start if it joins
    at the last start of the others (at a where none is queued).

    Args:
        subjects: indices of the attempts to compute; None: all.
        fair_order: ``fcfs``: all that arrived before j are before it in the snapshot. One of
            ``model.BY_OWNER``: only those that this order at a ranks no later than j, so the fair
            start time shows what j lost to jobs ranked behind it and to later arrivals ([S] §6).

    Returns:
        NEVER where an attempt is not a subject, is never queued, or would never start.

    Source: SPEC §5; [S] §3.1.
    """
    times = _none(len(work.arrival))
    chosen = np.zeros(len(work.arrival), np.bool_)
    chosen[slice(None) if subjects is None else subjects] = True
    chosen &= work.queued
    if not chosen.any():
        return times
    ranges = _ranges(np.flatnonzero(chosen), effort.executor.parts)
    total, done = sum(high - low for low, high in ranges), 0
    request = _Request(work, policy, fair_order, chosen)
    for number, found in effort.executor.each(_computation, request, ranges):
        low, high = ranges[number]
        for every, some in zip(times, found, strict=True):
            np.copyto(every[low:high], some, where=chosen[low:high])
        done += high - low
        effort.on_progress(done, total)
    return times


Range = tuple[int, int]
"""Indices from the first up to, but not including, the second."""


def _ranges(subjects: Ints, parts: int) -> list[Range]:
    """Return a range for each part, with about equally many of the subjects (ascending)."""
    each = -(-len(subjects) // parts)
    groups = (subjects[low : low + each] for low in range(0, len(subjects), each))
    return [(int(group[0]), int(group[-1]) + 1) for group in groups]


class _Request(NamedTuple):
    work: Workload
    policy: Policy
    fair_order: Order
    chosen: Bools


def _computation(request: _Request) -> Callable[[Range], FairStarts]:
    """Return what computes a range of indices; see ``Executor.each``.

    A working space is as large as the log, so each thread makes one and keeps it.
    """
    work, policy, fair_order, chosen = request
    out = _none(len(work.arrival))
    setting = engine.setting(
        *(work, policy, work.queued),
        taken=np.zeros(len(work.arrival), np.bool_),
        ranked_by=policy.order if policy.order in BY_USAGE else fair_order,
        fair_order=fair_order,
    )
    plans_ahead = policy.backfill.traits.reservations is None and work.step_planned.any()
    # a node of a plan that is kept may be gone when the plan begins
    loses_nodes = policy.backfill.traits.keeps_plans and work.machines is not None
    at_once = not (plans_ahead or loses_nodes or work.limits.some or policy.interval_s)
    crowd = largest_snapshot(work, work.present)
    most_steps = setting.steps.number + 2 * min(int(work.blocked.sum()), crowd)

    own = threading.local()

    def computed(part: Range) -> FairStarts:
        if not hasattr(own, "trials"):
            one, two, three = setting.pools((crowd, crowd, crowd), ledger=(crowd, most_steps))
            own_steps = engine.step_space(len(work.capacity), most_steps)
            own.trials = Trials(one, two, three, own_steps, crowd=crowd)
        kernels.fair_starts(
            *(setting.model, setting.observed, setting.capacity, at_once, chosen),
            *part,
            own.trials,
            out.strict,
            out.relaxed,
            out.over_capacity,
        )
        here = slice(*part)
        return FairStarts(out.strict[here], out.relaxed[here], out.over_capacity[here])

    return computed


def fair_start_times(
    scenario: Scenario,
    *,
    effort: Effort = ALL,
    tau_s: int = TAU_S,
) -> pl.DataFrame:
    """Add the fair start times of each attempt that has ended, and what follows from them.

    - fst_strict, fst_relaxed: epoch s, ≥ arrival, or null
    - fst_status: ``model.FstStatus``, the first that applies of reserved, blocked,
      exceeds_capacity, exceeds_limit, not_sampled (which have no fair start time), over_capacity,
      assumed_estimate, provisional, preempted_context, final; null where it has not ended
    - fst_weight: its weight in the sample, ≥ 1; null where not sampled, or not ended
    - miss_strict_s, miss_relaxed_s: max(start − FST, 0), s; null without a fair start time
    - fair_slowdown: bounded slowdown with the strict fair start time as the start, ≥ 1

    Returns:
        The scenario's attempts with these columns, in their order.

    Source: SPEC §5; [S] §3.1; [K] §2.3 for the fair slowdown.
    """
    described, pool = scenario.attempts, scenario.pool
    work, rows = scenario.indexed
    ended = pl.col("standing") == Standing.ENDED.value
    wanted = ended if effort.wanted is None else ended & effort.wanted
    subject = described.select(wanted).to_series().to_numpy()[rows]
    queued = subject & work.queued
    drawn_by = described.select(DRAWN_BY)[rows]
    weight = _sample(work, drawn_by, queued, pool.policy, effort.budget_s)
    left_out = weight == 0
    computed = np.flatnonzero(queued & ~left_out)
    times = fair_starts(work, pool.policy, computed, effort, pool.fair_order)
    status = _statuses(work, left_out, times.over_capacity)
    del work, queued, computed  # as large as the log, each
    place = driver.places(described.height, rows, subject)
    return misses(_with(described, place, times, status, weight), tau_s)


def _with(
    described: pl.DataFrame,
    place: pl.Series,
    times: FairStarts,
    status: NDArray[np.int8],
    weight: Ints,
) -> pl.DataFrame:
    left_out = pl.Series(weight == 0)
    added = {
        "fst_strict": instants(times.strict),
        "fst_relaxed": instants(times.relaxed),
        "fst_weight": pl.Series(weight).set(left_out, None),
    }
    outside = (pl.col("standing") == Standing.ENDED) & reserved_rows(described)
    of_queue = pl.Series(STATUSES, dtype=pl.String).gather(pl.Series(status).gather(place))
    return described.with_columns(
        *(values.gather(place).alias(name) for name, values in added.items()),
        fst_status=pl.when(outside).then(pl.lit(FstStatus.RESERVED.value)).otherwise(of_queue),
    )


def _sample(
    work: Workload, described: pl.DataFrame, queued: Bools, policy: Policy, budget_s: float | None
) -> Ints:
    """Return the weight of each attempt in the sample; 0: queued, and left out.

    Strata are users, width classes and days of arrival.
    """
    weight = np.ones(len(queued), np.int64)
    if budget_s is None:
        return weight
    cost = fair_cost(work, policy)[queued]
    of_each = described.filter(pl.Series(queued))
    day = work.arrival[queued] // DAY_S
    strata = [_codes(of_each["user"]), _codes(of_each["width_class"]), day]
    seed = len(queued) - len(cost)
    weight[queued] = weights(cost, budget_s, of_each["wait_s"].to_numpy(), strata, seed)
    return weight


def _codes(column: pl.Series) -> Ints:
    """Return values as numbers by where each occurs first, so that a name changes no draw."""
    first = pl.int_range(pl.len()).min().over("value")
    return column.alias("value").to_frame().select(first).to_series().to_numpy()


def _none(count: int) -> FairStarts:
    return FairStarts(np.full(count, NEVER), np.full(count, NEVER), np.zeros(count, np.bool_))


def _statuses(work: Workload, left_out: Bools, over_capacity: Bools) -> NDArray[np.int8]:
    status = np.full(len(work.arrival), _CODE[FstStatus.FINAL], np.int8)
    for holds, value in (
        (work.preempted, FstStatus.PREEMPTED_CONTEXT),
        (work.open, FstStatus.PROVISIONAL),
        (work.assumed, FstStatus.ASSUMED_ESTIMATE),
    ):
        if holds.any():
            status[in_snapshots(work, holds.astype(np.int64)) > 0] = _CODE[value]
    for which, value in (
        (over_capacity, FstStatus.OVER_CAPACITY),
        (work.exceeding, FstStatus.EXCEEDS_LIMIT),
        (~work.fitting, FstStatus.EXCEEDS_CAPACITY),
        (work.blocked, FstStatus.BLOCKED),
        (left_out, FstStatus.NOT_SAMPLED),
    ):
        status[which] = _CODE[value]
    return status
