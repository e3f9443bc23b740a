"""Fair start times: when each attempt would have started had nobody come after it (SPEC §5).

Conventions as in ``simulation.workload``. What the fair start times of an attempt depend on is
summed up in a *basis*: a fingerprint of the policy, of every attempt in its snapshot, of itself and
of the capacity until they are reached. While it stays the same they need not be computed again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Final, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit import __version__
from audit.metrics.attempts.miss import misses
from audit.metrics.attempts.population import TAU_S, ended
from audit.model import BY_OWNER, Backfill, FstStatus, Order, Policy, Pool
from audit.simulation import engine, ownership
from audit.simulation.ownership import EQUAL_SHARES, Fairshare
from audit.simulation.workload import (
    KEYS,
    NEVER,
    Bools,
    Ints,
    Workload,
    reserved_rows,
    workload,
)

Words = NDArray[np.uint64]
Number = TypeVar("Number", np.int64, np.uint64)

Told = Callable[[int, int], None]
"""Told how many of how many attempts are done."""

PARTS: Final = 64
"""Ranges that the attempts are cut into, to be shared among threads."""

BASIS: Final = "fst_basis"
KNOWN: Final = (*KEYS, "fst_strict", "fst_relaxed", "fst_status", BASIS)
"""Columns of results that later computations can start from."""


class FairStarts(NamedTuple):
    """Fair start times in the order of a workload; NEVER: none."""

    strict: Ints  # [n] ≥ arrival
    relaxed: Ints  # [n] ≥ arrival
    over_capacity: Bools  # [n], the snapshot holds more than the capacity


def fair_starts(
    work: Workload,
    policy: Policy,
    subjects: Ints | None = None,
    threads: int = 1,
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
        work: the attempts of one pool.
        policy: how the pool decides.
        subjects: indices of those to compute; None: all.
        threads: how many work on it; the result does not depend on that.
        told: told of progress.
        fair_order: ``fcfs``: those before j in the snapshot are all that arrived before it. One of
            ``model.BY_OWNER``: only those of them whose turn, by that order at a, is not after
            that of j. So it tells what j lost to those behind it in that order and to later
            arrivals, whatever the turn of these ([S] §6).

    Returns:
        NEVER for those that are no subjects, are never queued, or would never start.

    Source: SPEC §5; [S] §3.1.
    """
    from audit.kernels.scheduling import passes
    from audit.kernels.scheduling.fair_start import fair_starts as run

    count = len(work.arrival)
    strict, relaxed = np.full(count, NEVER), np.full(count, NEVER)
    over = np.zeros(count, np.bool_)
    if subjects is None:
        subjects = np.arange(count)
    subjects = subjects[work.queued[subjects]]
    if len(subjects) == 0:
        return FairStarts(strict, relaxed, over)
    asked = np.zeros(count, np.bool_)
    asked[subjects] = True
    observed = engine.observation(work)
    by = policy.order if policy.order in BY_OWNER else fair_order
    whose = engine.whose_turn(work, by)
    jobs = engine.kernel_jobs(work, policy, work.queued, whose.owner)
    steps = engine.kernel_steps(work, np.zeros(count, np.bool_))
    rules = engine.rules(policy, fair_order)
    plans = policy.backfill in (Backfill.conservative, Backfill.conservative_replan)
    foresee = bool(plans and work.step_planned.any())
    held = int(work.blocked.sum())
    room = _crowd(work, observed.present)
    resources = engine.resources(work)

    def compute(low: int, high: int) -> int:
        number = len(work.capacity)
        own = passes.Steps(
            np.zeros(steps.number + 2 * min(held, room), np.int64),
            np.zeros((number, steps.number + 2 * min(held, room)), np.int64),
            np.zeros(steps.number + 2 * min(held, room), np.bool_),
            np.zeros(steps.number + 2 * min(held, room), np.int64),
            0,
        )
        ledger = whose.ledger(room, len(own.time))
        run(
            jobs,
            observed,
            engine.own(work.capacity),
            steps,
            rules,
            whose.owners,
            foresee,
            asked,
            low,
            high,
            passes.space(number, room, steps.number, ledger),
            passes.space(number, room, steps.number, ledger),
            passes.space(number, room, steps.number, ledger),
            own,
            np.zeros(room + 1, np.int64),
            np.full(count, NEVER),
            strict,
            relaxed,
            over,
            resources,
        )
        return high - low

    cuts = _cuts(subjects, PARTS)
    total = sum(high - low for low, high in cuts)
    if threads == 1:
        done = 0
        for low, high in cuts:
            done += compute(low, high)
            told(done, total)
    else:
        with ThreadPoolExecutor(threads) as pool:
            begun = [pool.submit(compute, low, high) for low, high in cuts]
            done = 0
            for part in as_completed(begun):
                done += part.result()
                told(done, total)
    return FairStarts(strict, relaxed, over)


def fair_start_times(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    *,
    known: pl.DataFrame | None = None,
    threads: int = 1,
    tau_s: int = TAU_S,
    told: Told = lambda done, of: None,
    fairshare: Fairshare = EQUAL_SHARES,
) -> pl.DataFrame:
    """Adds the fair start times of every attempt that has ended, and what follows from them.

    - fst_strict, fst_relaxed: epoch s, ≥ arrival; null: it has none
    - fst_status: ``model.FstStatus``, the first that applies of reserved, blocked,
      exceeds_capacity, unknown_estimate (all of which have no fair start time), over_capacity,
      provisional, preempted_context, final; null for attempts that have not ended
    - fst_basis: int64; equal bases have equal fair start times
    - miss_strict_s, miss_relaxed_s: max(start − FST, 0), s; null without a fair start time
    - fair_slowdown: bounded slowdown with the strict fair start time as the start, ≥ 1

    Args:
        described: columns of ``model.DESCRIBED``, of one pool.
        pool: see ``workload``; how it is assumed to decide, and what would be fair.
        now: when the log was taken, epoch s.
        known: columns ``KNOWN`` of an earlier result; what still holds of it is taken over.
        threads: how many work on it; the result does not depend on that.
        tau_s: of the slowdown, s.
        told: told of progress.
        fairshare: how owners are ranked; see ``workload``.

    Returns:
        ``described`` with these columns, in its order.

    Source: SPEC §5; [S] §3.1; [K] §2.3 for the fair slowdown.
    """
    policy = pool.policy
    work, keys = workload(described, pool, now, fairshare)
    subject = _subjects(described, keys)
    status = _statuses(work, subject)
    bases = _Bases(work, keys, described, policy, pool.fair_order)
    strict, relaxed = np.full(len(subject), NEVER), np.full(len(subject), NEVER)
    over = np.zeros(len(subject), np.bool_)
    fit = subject & (status != FstStatus.UNKNOWN_ESTIMATE.value) & work.queued
    if known is not None:
        found = keys.join(
            known.select(KNOWN), on=KEYS, how="left", nulls_equal=True, maintain_order="left"
        )
        strict = _ints(found["fst_strict"])
        relaxed = _ints(found["fst_relaxed"])
        over = (found["fst_status"] == FstStatus.OVER_CAPACITY.value).fill_null(False).to_numpy()
        same = (found[BASIS] == pl.Series(bases.until(np.maximum(strict, relaxed)))).fill_null(
            False
        )
        fit &= ~same.to_numpy()
        valid = subject & same.to_numpy()
        strict, relaxed = np.where(valid, strict, NEVER), np.where(valid, relaxed, NEVER)
        over &= valid
    made = fair_starts(work, policy, np.flatnonzero(fit), threads, told, pool.fair_order)
    strict = np.where(fit, made.strict, strict)
    relaxed = np.where(fit, made.relaxed, relaxed)
    over |= made.over_capacity
    counted = status == FstStatus.FINAL.value
    for value in (FstStatus.PROVISIONAL, FstStatus.PREEMPTED_CONTEXT):
        counted |= status == value.value
    status[over & counted] = FstStatus.OVER_CAPACITY.value
    result = keys.with_columns(
        fst_strict=_instants(strict),
        fst_relaxed=_instants(relaxed),
        fst_status=pl.Series(status, dtype=pl.String).replace("", None),
        **{BASIS: pl.Series(bases.until(np.maximum(strict, relaxed)))},
    ).filter(pl.Series(subject))
    added = described.join(result, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    outside = (pl.col("standing") == "ended") & reserved_rows(described)
    return misses(
        added.with_columns(
            fst_status=pl.when(outside)
            .then(pl.lit(FstStatus.RESERVED.value))
            .otherwise("fst_status")
        ),
        tau_s,
    )


def _subjects(described: pl.DataFrame, keys: pl.DataFrame) -> Bools:
    """Which attempts of the workload have ended."""
    known = ended(described).select(*KEYS, subject=pl.lit(True))
    found = keys.join(known, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    return found["subject"].fill_null(False).to_numpy()


def _statuses(work: Workload, subject: Bools) -> NDArray[np.object_]:
    """Each attempt's status, but for ``over_capacity``, which only a snapshot shows."""
    status = np.full(len(subject), FstStatus.FINAL.value, object)
    for holds, value in (
        (work.preempted, FstStatus.PREEMPTED_CONTEXT),
        (work.open, FstStatus.PROVISIONAL),
        (work.no_estimate, FstStatus.UNKNOWN_ESTIMATE),
    ):
        status[_in_snapshots(work, holds.astype(np.int64)) > 0] = value.value
    status[~work.queued] = FstStatus.EXCEEDS_CAPACITY.value
    status[work.blocked] = FstStatus.BLOCKED.value
    status[~subject] = ""
    return status


def _in_snapshots(work: Workload, weight: NDArray[Number]) -> NDArray[Number]:
    """Σ of ``weight`` over those that matter in each attempt's snapshot; sums wrap around.

    These are the queued and the blocked from their arrival on, and those larger than the pool ever
    is from their start on.
    """
    started = work.start != NEVER
    arriving = (work.queued & (started | work.open)) | (work.blocked & started)
    large = started & ~work.queued & ~work.blocked
    there = _sum_before(work, np.where(arriving, weight, 0).astype(weight.dtype))
    enters = np.where(large, work.start, NEVER)
    entered = _sum_until(enters, np.where(large, weight, 0).astype(weight.dtype), work.arrival - 1)
    return there + entered - _gone(work, np.where(arriving | large, weight, 0).astype(weight.dtype))


def _sum_before(work: Workload, amounts: NDArray[Number]) -> NDArray[Number]:
    """Σ of ``amounts`` over those before each attempt in the order."""
    sums: NDArray[Number] = np.cumsum(amounts, dtype=amounts.dtype) - amounts
    return sums


def _gone(work: Workload, amounts: NDArray[Number]) -> NDArray[Number]:
    """Σ of ``amounts`` over those that a snapshot holds no longer."""
    started = work.start != NEVER
    leaves = np.maximum(np.where(started, work.start, NEVER - 1) + 1, work.end)
    return _sum_until(leaves, amounts, work.arrival)


def _sum_until(times: Ints, amounts: NDArray[Number], instants: Ints) -> NDArray[Number]:
    """Σ of the ``amounts`` whose time is not after each of ``instants``."""
    order = np.argsort(times, kind="stable")
    totals = np.concatenate(
        (np.zeros(1, amounts.dtype), np.cumsum(amounts[order], dtype=amounts.dtype))
    )
    found: NDArray[Number] = totals[np.searchsorted(times[order], instants, side="right")]
    return found


def _crowd(work: Workload, present: Bools) -> int:
    """The most attempts that a snapshot and its subject can be."""
    amounts = present.astype(np.int64)
    return int((_sum_before(work, amounts) - _gone(work, amounts)).max(initial=0)) + 1


def _cuts(subjects: Ints, parts: int) -> list[tuple[int, int]]:
    """Ranges of indices that hold all subjects, about as many of them in each."""
    each = -(-len(subjects) // parts)
    return [
        (int(subjects[low]), int(subjects[min(low + each, len(subjects)) - 1]) + 1)
        for low in range(0, len(subjects), each)
    ]


class _Bases:
    """Fingerprints of what fair start times depend on."""

    def __init__(
        self,
        work: Workload,
        keys: pl.DataFrame,
        described: pl.DataFrame,
        policy: Policy,
        fair_order: Order,
    ) -> None:
        names = ("submit_time", "job_number", "array_task", "het_offset", "line")
        told = keys.join(
            described.select(*KEYS, *names),
            on=KEYS,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        own = [told[name].fill_null(-1).to_numpy() for name in names[:-1]]
        # the position in the log breaks ties only where numbers do not
        own.append(np.where(own[1] == -1, told["line"].fill_null(-1).to_numpy(), 0))
        own.append(told["attempt"].to_numpy())
        request = work.request.reshape(len(work.arrival), len(work.capacity))
        columns = [
            *(work.arrival, work.start, work.end, work.occupancy, work.estimate),
            *request.T,
            work.priority.view(np.int64),
            work.blocked
            + 2 * work.open
            + 4 * work.no_estimate
            + 8 * work.preempted
            + 16 * work.queued,
        ]
        by_owner = policy.order in BY_OWNER or fair_order in BY_OWNER
        ranking = ""
        if by_owner:
            own += [work.owners.fingerprint, work.owners.charge.view(np.int64)]
            own.append(work.owners.used.view(np.int64))
            # recalculations are counted from the first arrival
            ranking = f"{ownership.said(work.owners)} {work.arrival.min(initial=0)}"
        attempts = _mixed([*columns, *own])
        # planners look at planned steps however far ahead they are
        foreseen = np.flatnonzero(work.step_planned)
        ahead = (work.step_time[foreseen].tolist(), work.step_change[foreseen].tolist())
        said = f"{__version__} {policy} {work.capacity.tolist()} {ahead}"
        said += f" {fair_order.value} {ranking}"
        constant = np.frombuffer(hashlib.sha256(said.encode()).digest()[:8], np.uint64)[0]
        with np.errstate(over="ignore"):
            context = _in_snapshots(work, attempts)
            if by_owner:  # all that has ended before counts as well
                ended = np.where(work.start != NEVER, attempts, np.uint64(0))
                context = context + _gone(work, ended)
            self.fixed = _mixed([context.view(np.int64), attempts.view(np.int64)]) + constant
        changes = work.step_change.reshape(len(work.step_time), len(work.capacity)).T
        self.steps = _mixed([work.step_time, *changes, work.step_planned.astype(np.int64)])
        self.step_time = work.step_time

    def until(self, instants: Ints) -> Ints:
        """The bases where fair start times lie at ``instants``: no later step matters."""
        totals = np.concatenate((np.zeros(1, np.uint64), np.cumsum(self.steps, dtype=np.uint64)))
        place = np.searchsorted(self.step_time, instants, side="right")
        found: Ints = (self.fixed + totals[place]).view(np.int64)
        return found


def _mixed(columns: list[Ints]) -> Words:
    """A 64-bit hash of each row, by the finaliser of splitmix64 (Steele, Lea and Flood 2014)."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    with np.errstate(over="ignore"):
        for column in columns:
            mixed += np.ascontiguousarray(column, np.int64).view(np.uint64)
            mixed += np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            mixed ^= mixed >> np.uint64(31)
    return mixed


def _ints(column: pl.Series) -> Ints:
    return np.ascontiguousarray(column.fill_null(NEVER).to_numpy(), np.int64)


def _instants(times: Ints) -> pl.Series:
    return pl.Series(times).replace(NEVER, None)
