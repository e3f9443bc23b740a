"""Forward starts: when each attempt would have started with all that came after it (SPEC §10).

Conventions as in ``scenario.workload``. A fair start time is what the policy would have given an
attempt had nobody come later; its forward start is what the policy would have given it as things
were. So the first less the second is what later arrivals cost it, and the rest of its wait is what
the modelled policy does not know.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.kernels.scheduling import simulation as kernels
from audit.kernels.scheduling.simulation import Model, Trials
from audit.model import FstStatus, Order, Policy, Pool
from audit.scenario import engine
from audit.scenario.basis import Bases
from audit.scenario.parts import Range, Told, in_parts
from audit.scenario.workload import (
    KEYS,
    NEVER,
    Bools,
    Ints,
    Met,
    Workload,
    largest_snapshot,
    workload_of_rows,
)
from audit.workers.crew import IN_TURN, Crew

NO_USER: Final = -1

BASIS: Final = "forward_basis"
KNOWN: Final = (*KEYS, "start_modelled", "overtaken_own_s", BASIS)
"""Columns of results that later computations can start from."""

_FINAL: Final = (FstStatus.FINAL.value, FstStatus.PREEMPTED_CONTEXT.value)
"""Statuses that a forward start after the end of the log makes provisional."""


class ForwardStarts(NamedTuple):
    """Forward starts in the order of a workload; NEVER: none."""

    start: Ints  # [n] ≥ arrival
    without_own: Ints  # [n] ≥ arrival, the same without what its user brought later


def forward_starts(
    work: Workload,
    policy: Policy,
    subjects: Ints | None = None,
    crew: Crew = IN_TURN,
    told: Told = lambda done, of: None,
    user: Ints | None = None,
    strict: Ints | None = None,
) -> ForwardStarts:
    """Forward starts from the snapshots of the observed schedule.

    From the snapshot of attempt j (see ``fair_start.fair_starts``) the policy is simulated with j
    queued and with everything that comes after j as logged, until j starts. Blocked attempts take
    from what is free from their observed start to their end. Under ``conservative`` the queue of
    the snapshot is planned afresh, j last, before anybody else arrives.

    Args:
        subjects: indices of those to compute, ascending; None: all.
        user: [n], whose attempts they are, numbers ≥ 0; NO_USER: not known, and so nobody's own.
            None: those of ``work.owners``.
        strict: [n], strict fair start times, where they are known, NEVER where not; by arrival,
            not by another order. They are forward starts too where nobody comes until then.

    Returns:
        NEVER for those that are no subjects, are never queued, or would never start.

    Source: SPEC §10, *Forward start*.
    """
    count = len(work.arrival)
    times = ForwardStarts(np.full(count, NEVER), np.full(count, NEVER))
    queued = work.queued & (work.has_started | work.open)
    asked = np.zeros(count, np.bool_)
    asked[slice(None) if subjects is None else subjects] = True
    asked &= queued
    if strict is not None:
        known = asked & _last_to_come(work, policy, queued | work.blocked, strict)
        times.start[known] = times.without_own[known] = strict[known]
        asked &= ~known
    if asked.any():
        whose = work.owners.name if user is None else user
        of = _Asked(work, policy, asked, queued, whose)
        for part, found in in_parts(_computation, of, np.flatnonzero(asked), crew, told):
            here = slice(*part)
            for all_times, some in zip(times, found, strict=True):
                np.copyto(all_times[here], some, where=asked[here])
    return times


def _last_to_come(work: Workload, policy: Policy, comes: Bools, strict: Ints) -> Bools:
    """After whom nobody ``comes`` that could matter to it, by its fair start time."""
    following = np.append(np.where(comes, work.arrival, NEVER), NEVER)
    following = np.minimum.accumulate(following[::-1])[::-1][1:]  # arrivals of the next that comes
    behind = policy.order is Order.fcfs and not policy.backfill.traits.keeps_plans
    until = strict if behind else strict + 1  # who comes at that very instant is looked at later
    alone: Bools = (strict != NEVER) & (following >= until)
    return alone


class _Asked(NamedTuple):
    """What forward starts are asked for."""

    work: Workload
    policy: Policy
    subject: Bools
    queued: Bools
    user: Ints


def _computation(of: _Asked) -> Callable[[Range], ForwardStarts]:
    """What gives the forward starts of a range of indices, NEVER for those that are no subjects.

    It may be called by several threads at once, and gives views of what it holds for all indices.
    """
    work, policy, asked, queued, whose = of
    user = engine.contiguous(whose)
    out = ForwardStarts(np.full(len(user), NEVER), np.full(len(user), NEVER))
    observed = engine.observation(work, blocked=False)
    ranking = engine.kernel_ranking(work, policy.order)
    jobs = engine.kernel_jobs(work, policy, queued, ranking.owner)
    steps = engine.kernel_steps(work, work.blocked)
    rules = engine.rules(policy, work)
    comes = queued | work.blocked
    later = kernels.Later(
        own=_next_own(user, comes),
        user=user,
        blocked=engine.contiguous(work.blocked),
        start=engine.contiguous(work.start),
    )
    capacity = engine.contiguous(work.capacity)
    crowd = largest_snapshot(work, engine.present(work) & ~work.blocked)
    taken_after = engine.kernel_steps(work, work.blocked, delay_s=1)
    of_thread = threading.local()  # what is as large as the log is made once for each

    def compute(part: Range) -> ForwardStarts:
        if not hasattr(of_thread, "trials"):
            of_thread.trials = _trials(work, ranking, steps.number, crowd)
            of_thread.jobs = jobs.with_own_rank()  # ranks are changed meanwhile
        kernels.forward_starts(
            Model(of_thread.jobs, steps, rules, ranking.owners),
            Model(of_thread.jobs, taken_after, rules, ranking.owners),
            observed,
            capacity,
            later,
            asked,
            *part,
            of_thread.trials,
            *out,
        )
        return ForwardStarts(out.start[slice(*part)], out.without_own[slice(*part)])

    return compute


def _next_own(user: Ints, comes: Bools) -> Ints:
    """Of each attempt that ``comes``, the next of the same user; how many there are: none."""
    following = np.full(len(user), len(user))
    coming = np.flatnonzero(comes & (user != NO_USER))
    coming = coming[np.argsort(user[coming], kind="stable")]
    same = user[coming[:-1]] == user[coming[1:]]
    following[coming[:-1][same]] = coming[1:][same]
    return following


def _trials(work: Workload, ranking: engine.Ranking, steps: int, crowd: int) -> Trials:
    """Room for simulations of all attempts; what is never used of it costs nothing."""
    count = len(work.arrival)
    ledger = ranking.ledger(count, steps)
    begun = np.full(count, NEVER)
    return Trials(
        snapshot=engine.kernel_pool(work, crowd, steps, ledger, begun, begun[:0]),
        trial=engine.kernel_pool(work, count, steps, ledger, begun, begun[:0]),
        spare=engine.kernel_pool(work, count, steps, ledger, begun, begun[:0]),
        steps=engine.step_space(len(work.capacity), steps),
        crowd=crowd,
        blocked=int(work.blocked.sum()),
    )


def forward_start_times(
    fair: pl.DataFrame,
    pool: Pool,
    now: int,
    *,
    known: pl.DataFrame | None = None,
    crew: Crew = IN_TURN,
    told: Told = lambda done, of: None,
    met: Met | None = None,
) -> pl.DataFrame:
    """Adds the forward start of each attempt that has a fair start time, and what follows from it.

    - start_modelled: epoch s, ≥ arrival; null where it would never start
    - overtaken_s: start_modelled − fst_strict, s: what later arrivals cost it; < 0: it gained
    - overtaken_own_s: of that, by later arrivals of its own user: start_modelled less what that
      would be without them, s; null where it would never start without them
    - unmodelled_s: start − start_modelled, s: what the modelled policy does not know, of both signs
    - forward_basis: int64; equal bases have equal forward starts

    And fst_status becomes ``provisional`` where it would be final and start_modelled lies after
    ``now``: later logs may change it.

    Args:
        fair: what ``fair_start.fair_start_times`` gave.
        known: columns ``KNOWN`` of an earlier result; what still holds of it is taken over.

    Returns:
        ``fair`` with these columns, in its order; they are null without a fair start time.

    Source: SPEC §10, *Forward start*.
    """
    work, rows = met or workload_of_rows(fair, pool, now)
    strict = fair["fst_strict"].gather(rows).fill_null(NEVER).to_numpy()
    subject = (fair["fst_status"].is_not_null() & fair["fst_strict"].is_not_null()).to_numpy()[rows]
    bases = Bases(work, rows, fair, pool.policy, pool.fair_order)
    times, holds = _still_known(known, fair.select(KEYS)[rows], bases, subject)
    computed = subject & ~holds
    new = forward_starts(
        work,
        pool.policy,
        np.flatnonzero(computed),
        crew,
        told,
        _users(fair["user"].gather(rows)),
        strict if pool.fair_order is Order.fcfs else None,
    )
    start = np.where(computed, new.start, times.start)
    without = np.where(computed, new.without_own, times.without_own)
    basis = bases.forward(np.maximum(start, without))
    found = {"start_modelled": start, "_without_own": without, BASIS: np.where(subject, basis, 0)}
    of_row = {name: np.full(fair.height, NEVER) for name in found}
    for name, values in found.items():
        of_row[name][rows] = np.where(subject, values, NEVER)
    return _described(fair, of_row, now)


def stale(known: pl.DataFrame | None, keys: pl.DataFrame, bases: Bases, subject: Bools) -> Bools:
    """Of which subjects an earlier result knows no forward start that still holds, [n].

    Args:
        known: columns ``KNOWN`` of it; a result without them asks for no forward starts.
        keys: of the attempts of a workload, row for row.
        subject: of whom it is asked, [n].
    """
    if known is None or BASIS not in known.columns:
        return np.zeros(len(subject), np.bool_)
    _, holds = _still_known(known, keys, bases, subject)
    without: Bools = subject & ~holds
    return without


def _described(fair: pl.DataFrame, of_row: dict[str, Ints], now: int) -> pl.DataFrame:
    """What follows from forward starts."""
    modelled = pl.col("start_modelled")
    later = pl.col("fst_status").cast(pl.String).is_in(_FINAL) & (modelled > now)
    return (
        fair.with_columns(pl.Series(name, times) for name, times in of_row.items())
        .with_columns(pl.col("start_modelled", "_without_own", BASIS).replace(NEVER, None))
        .with_columns(
            overtaken_s=modelled - pl.col("fst_strict"),
            overtaken_own_s=modelled - pl.col("_without_own"),
            unmodelled_s=pl.col("start_time") - modelled,
            fst_status=pl.when(later)
            .then(pl.lit(FstStatus.PROVISIONAL.value))
            .otherwise(pl.col("fst_status")),
        )
        .drop("_without_own")
    )


def _still_known(
    known: pl.DataFrame | None, keys: pl.DataFrame, bases: Bases, subject: Bools
) -> tuple[ForwardStarts, Bools]:
    """What an earlier result knows of the subjects, and of whom it still holds."""
    if known is None or known.is_empty():
        nothing = np.full(len(subject), NEVER)
        return ForwardStarts(nothing, nothing), np.zeros(len(subject), np.bool_)
    earlier = keys.join(
        known.select(KNOWN), on=KEYS, how="left", nulls_equal=True, maintain_order="left"
    ).with_columns(without=pl.col("start_modelled") - pl.col("overtaken_own_s"))
    start, without = (
        np.ascontiguousarray(earlier[name].fill_null(NEVER).to_numpy(), np.int64)
        for name in ("start_modelled", "without")
    )
    basis = pl.Series(bases.forward(np.maximum(start, without)))
    holds = subject & (earlier[BASIS] == basis).fill_null(False).to_numpy()
    times = ForwardStarts(np.where(holds, start, NEVER), np.where(holds, without, NEVER))
    return times, holds


def _users(names: pl.Series) -> Ints:
    """Users as numbers ≥ 0; NO_USER: not known."""
    known = names.unique().drop_nulls()
    numbers = names.cast(pl.Enum(known)).to_physical().cast(pl.Int64).fill_null(NO_USER)
    return np.ascontiguousarray(numbers.to_numpy(), np.int64)
