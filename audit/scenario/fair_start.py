"""Fair start times: when each attempt would have started had nobody come after it (SPEC §5).

Conventions as in ``scenario.workload``. What the fair start times of an attempt depend on is
summed up in a *basis* (``scenario.basis``): while it stays the same they need not be computed
again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.kernels.scheduling import simulation as kernels
from audit.kernels.scheduling.simulation import Model, Trials
from audit.metrics.attempts.contention import reserved_rows
from audit.metrics.attempts.miss import misses
from audit.metrics.attempts.population import TAU_S
from audit.model import BY_USAGE, FstStatus, Order, Policy, Pool, Standing
from audit.scenario import engine, forward
from audit.scenario.basis import Bases
from audit.scenario.budget import costs, stands_for
from audit.scenario.parts import ALL, Effort, Range, Told, in_parts
from audit.scenario.workload import (
    KEYS,
    NEVER,
    Bools,
    Ints,
    Met,
    Workload,
    in_snapshots,
    largest_snapshot,
    workload_of_rows,
)
from audit.workers.crew import IN_TURN, Crew

BASIS: Final = "fst_basis"
KNOWN: Final = (*KEYS, "fst_strict", "fst_relaxed", "fst_status", BASIS)
"""Columns of results that later computations can start from."""

DRAWN_BY: Final = ("user", "width_class", "wait_s")
"""Columns that a sample is drawn by, beside the day of arrival."""

DAY_S: Final = 86_400

STATUSES: Final = [status.value for status in FstStatus]
"""By their codes, which take the place of texts while they are worked out."""


def _code(status: FstStatus) -> int:
    return STATUSES.index(status.value)


_COUNTED: Final = [
    _code(each) for each in (FstStatus.FINAL, FstStatus.PROVISIONAL, FstStatus.PREEMPTED_CONTEXT)
]
"""Statuses that yield to ``over_capacity``."""


class FairStarts(NamedTuple):
    """Fair start times in the order of a workload; NEVER: none."""

    strict: Ints  # [n] ≥ arrival
    relaxed: Ints  # [n] ≥ arrival
    over_capacity: Bools  # [n], the snapshot holds more than the capacity


def fair_starts(
    work: Workload,
    policy: Policy,
    subjects: Ints | None = None,
    crew: Crew = IN_TURN,
    told: Told = lambda done, of: None,
    fair_order: Order = Order.fcfs,
) -> FairStarts:
    """Fair start times from the snapshots of the observed schedule.

    The snapshot of attempt j at a = arrival_j holds those with start < a < end, which run, and
    those before j in (arrival, submit, sequence) order with start ≥ a, which wait. From there the
    policy is simulated with the actual occupancies; nothing that comes after j exists. Strict: j
    waits with them; its start. Relaxed: j joins at the last start of the others (at a where nobody
    waits); its start.

    Args:
        subjects: indices of those to compute; None: all.
        fair_order: ``fcfs``: those before j in the snapshot are all that arrived before it. One of
            ``model.BY_OWNER``: only those of them whose turn, by that order at a, is not after
            that of j. So it tells what j lost to those behind it in that order and to later
            arrivals, whatever the turn of these ([S] §6).

    Returns:
        NEVER for those that are no subjects, are never queued, or would never start.

    Source: SPEC §5; [S] §3.1.
    """
    times = _no_fair_starts(len(work.arrival))
    if subjects is None:
        subjects = np.arange(len(work.arrival))
    subjects = subjects[work.queued[subjects]]
    if len(subjects) == 0:
        return times
    asked = _Asked(work, policy, fair_order, subjects)
    for (low, high), found in in_parts(_computation, asked, subjects, crew, told):
        for all_times, some in zip(times, found, strict=True):
            all_times[low:high] = some
    return times


class _Asked(NamedTuple):
    """What fair start times are asked for."""

    work: Workload
    policy: Policy
    fair_order: Order
    subjects: Ints


def _computation(of: _Asked) -> Callable[[Range], FairStarts]:
    """What gives the fair start times of a range of indices, NEVER for those that are no subjects.

    It may be called by several threads at once, and gives views of what it holds for all indices.
    """
    work, policy, fair_order, subjects = of
    out = _no_fair_starts(len(work.arrival))
    asked = np.zeros(len(work.arrival), np.bool_)
    asked[subjects] = True
    observed = engine.observation(work)
    ranking = engine.kernel_ranking(work, policy.order if policy.order in BY_USAGE else fair_order)
    steps = engine.kernel_steps(work, np.zeros(len(work.arrival), np.bool_))
    model = Model(
        engine.kernel_jobs(work, policy, work.queued, ranking.owner),
        steps,
        engine.rules(policy, work, fair_order),
        ranking.owners,
    )
    plans_ahead = policy.backfill.traits.reservations is None
    at_once = not (
        (plans_ahead and work.step_planned.any()) or work.limits.some or policy.interval_s
    )
    capacity = engine.contiguous(work.capacity)
    crowd = largest_snapshot(work, engine.present(work))
    of_thread = threading.local()  # what is as large as the log is made once for each

    def compute(part: Range) -> FairStarts:
        if not hasattr(of_thread, "trials"):
            of_thread.trials = _trials(work, ranking, steps.number, crowd)
        kernels.fair_starts(
            model,
            observed,
            capacity,
            at_once,
            asked,
            *part,
            of_thread.trials,
            out.strict,
            out.relaxed,
            out.over_capacity,
        )
        here = slice(*part)
        return FairStarts(out.strict[here], out.relaxed[here], out.over_capacity[here])

    return compute


def _trials(work: Workload, ranking: engine.Ranking, steps: int, crowd: int) -> Trials:
    """Room for simulations of at most ``crowd`` attempts and so many capacity steps."""
    most_steps = steps + 2 * min(int(work.blocked.sum()), crowd)
    ledger = ranking.ledger(crowd, most_steps)
    begun = np.full(len(work.arrival), NEVER)
    snapshot, trial, spare = (
        engine.kernel_pool(work, crowd, steps, ledger, begun, begun[:0]) for _ in range(3)
    )
    own_steps = engine.step_space(len(work.capacity), most_steps)
    return Trials(snapshot, trial, spare, own_steps, crowd=crowd)


def fair_start_times(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    *,
    known: pl.DataFrame | None = None,
    effort: Effort = ALL,
    tau_s: int = TAU_S,
    told: Told = lambda done, of: None,
    met: Met | None = None,
) -> pl.DataFrame:
    """Adds the fair start times of every attempt that has ended, and what follows from them.

    - fst_strict, fst_relaxed: epoch s, ≥ arrival; null: it has none
    - fst_status: ``model.FstStatus``, the first that applies of reserved, blocked,
      exceeds_capacity, exceeds_limit, unknown_estimate, not_sampled (which have no fair start
      time), over_capacity, provisional, preempted_context, final; null for what has not ended
    - fst_weight: how many attempts it stands for, ≥ 1; null where not sampled, or not ended
    - fst_basis: int64; equal bases have equal fair start times; null where not sampled
    - miss_strict_s, miss_relaxed_s: max(start − FST, 0), s; null without a fair start time
    - fair_slowdown: bounded slowdown with the strict fair start time as the start, ≥ 1

    Args:
        known: columns ``KNOWN`` of an earlier result; what still holds of it is taken over.
        effort: what may be put into those that are not known.

    Returns:
        ``described`` with these columns, in its order.

    Source: SPEC §5; [S] §3.1; [K] §2.3 for the fair slowdown.
    """
    work, rows = met or workload_of_rows(described, pool, now)
    subject = _subjects(described, effort.wanted)[rows]
    status = _statuses(work)
    bases = Bases(work, rows, described, pool.policy, pool.fair_order)
    keys = described.select(KEYS)[rows]
    times, holds = _still_known(known, keys, bases, subject)
    asked = subject & (status != _code(FstStatus.UNKNOWN_ESTIMATE)) & work.queued & ~holds
    half = forward.stale(known, keys, bases, holds & (times.strict != NEVER))
    number = _sample(
        work, described.select(DRAWN_BY)[rows], asked, half, pool.policy, effort.budget_s
    )
    left_out = number == 0
    status[left_out] = _code(FstStatus.NOT_SAMPLED)
    _give_up(times, left_out)
    computed = np.flatnonzero(asked & ~left_out)
    new = fair_starts(work, pool.policy, computed, effort.crew, told, pool.fair_order)
    for old, found in zip(times, new, strict=True):
        old[computed] = found[computed]
    status[times.over_capacity & np.isin(status, _COUNTED)] = _code(FstStatus.OVER_CAPACITY)
    basis = bases.until(np.maximum(times.strict, times.relaxed))
    del work, bases, keys, new, asked, computed  # as large as the log, each
    place = _places(described.height, rows, subject)
    return misses(_with(described, place, times, status, number, basis), tau_s)


def _subjects(described: pl.DataFrame, wanted: pl.Expr | None) -> Bools:
    """Of which rows fair start times are asked for: who has ended, of those wanted."""
    ended = pl.col("standing") == Standing.ENDED.value
    asked = described.select(ended if wanted is None else ended & wanted).to_series()
    return asked.to_numpy()


def _sample(
    work: Workload,
    described: pl.DataFrame,
    asked: Bools,
    half: Bools,
    policy: Policy,
    budget_s: float | None,
) -> Ints:
    """How many attempts each stands for; 0: it is asked for, and left out.

    Of those known by ``half`` the forward start alone is to be computed. Where that is not drawn,
    the rest is given up, so that all figures are of one sample. Strata are users, width classes and
    days of arrival. Each night draws anew from what is left.
    """
    number = np.ones(len(asked), np.int64)
    if budget_s is None:
        return number
    of_fair, of_forward = costs(work, policy)
    open_to = asked | half
    of_each = described.filter(pl.Series(open_to))
    day = work.arrival[open_to] // DAY_S
    strata = [_codes(of_each["user"]), _codes(of_each["width_class"]), day]
    cost = (of_forward + np.where(asked, of_fair, 0.0))[open_to]
    seed = len(asked) - len(cost)  # how many are known, or never will be
    number[open_to] = stands_for(cost, budget_s, of_each["wait_s"].to_numpy(), strata, seed)
    return number


def _codes(column: pl.Series) -> Ints:
    """Values as numbers, by where each is met first, so that a name changes no draw."""
    first = pl.int_range(pl.len()).min().over("value")
    return column.alias("value").to_frame().select(first).to_series().to_numpy()


def _with(
    described: pl.DataFrame,
    place: pl.Series,
    times: FairStarts,
    status: NDArray[np.int8],
    weight: Ints,
    basis: Ints,
) -> pl.DataFrame:
    """Adds what was found to each row, which has its ``place`` in it."""
    left_out = pl.Series(weight == 0)
    added = {
        "fst_strict": _instants(times.strict),
        "fst_relaxed": _instants(times.relaxed),
        "fst_weight": pl.Series(weight).set(left_out, None),
        BASIS: pl.Series(basis).set(left_out, None),
    }
    return described.with_columns(
        *(values.gather(place).alias(name) for name, values in added.items()),
        fst_status=_status_of(described, pl.Series(status).gather(place)),
    )


def _places(height: int, rows: Ints, subject: Bools) -> pl.Series:
    """Of each of so many rows its place among the attempts of a workload; null for no subject."""
    of_row = np.full(height, -1)
    of_row[rows[subject]] = np.flatnonzero(subject)
    return pl.Series(of_row).replace(-1, None)


def _status_of(described: pl.DataFrame, code: pl.Series) -> pl.Expr:
    """The status of each row, by its code where it was queued in the pool."""
    outside = (pl.col("standing") == Standing.ENDED) & reserved_rows(described)
    status = pl.Series(STATUSES, dtype=pl.String).gather(code)
    return pl.when(outside).then(pl.lit(FstStatus.RESERVED.value)).otherwise(status)


def _give_up(times: FairStarts, left_out: Bools) -> None:
    """Forgets what is known of those ``left_out``."""
    for known, nothing in zip(times, _no_fair_starts(1), strict=True):
        known[left_out] = nothing[0]


def _no_fair_starts(count: int) -> FairStarts:
    return FairStarts(np.full(count, NEVER), np.full(count, NEVER), np.zeros(count, np.bool_))


def _still_known(
    known: pl.DataFrame | None, keys: pl.DataFrame, bases: Bases, subject: Bools
) -> tuple[FairStarts, Bools]:
    """What an earlier result knows of the subjects, and of whom it still holds."""
    if known is None or known.is_empty():
        return _no_fair_starts(len(subject)), np.zeros(len(subject), np.bool_)
    earlier = keys.join(
        known.select(KNOWN), on=KEYS, how="left", nulls_equal=True, maintain_order="left"
    )
    strict, relaxed = _ints(earlier["fst_strict"]), _ints(earlier["fst_relaxed"])
    over = (earlier["fst_status"] == FstStatus.OVER_CAPACITY.value).fill_null(False).to_numpy()
    basis = pl.Series(bases.until(np.maximum(strict, relaxed)))
    holds = subject & (earlier[BASIS] == basis).fill_null(False).to_numpy()
    times = FairStarts(
        np.where(holds, strict, NEVER), np.where(holds, relaxed, NEVER), over & holds
    )
    return times, holds


def _statuses(work: Workload) -> NDArray[np.int8]:
    """Each attempt's status, but for ``over_capacity``, which only a snapshot shows."""
    status = np.full(len(work.arrival), _code(FstStatus.FINAL), np.int8)
    for holds, value in (
        (work.preempted, FstStatus.PREEMPTED_CONTEXT),
        (work.open, FstStatus.PROVISIONAL),
        (work.no_estimate, FstStatus.UNKNOWN_ESTIMATE),
    ):
        if holds.any():
            status[in_snapshots(work, holds.astype(np.int64)) > 0] = _code(value)
    status[work.exceeding] = _code(FstStatus.EXCEEDS_LIMIT)
    status[~work.fitting] = _code(FstStatus.EXCEEDS_CAPACITY)
    status[work.blocked] = _code(FstStatus.BLOCKED)
    return status


def _ints(column: pl.Series) -> Ints:
    return np.ascontiguousarray(column.fill_null(NEVER).to_numpy(), np.int64)


def _instants(times: Ints) -> pl.Series:
    return pl.Series(times).replace(NEVER, None)
