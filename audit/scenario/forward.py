"""Modelled starts: when each attempt would have started with all later arrivals (SPEC §10).

Conventions as in ``scenario.workload``. A fair start time is the start under the policy without
later arrivals, a modelled (*forward*) start that with them. Their difference is the delay by later
arrivals; the modelled policy does not explain the rest of the wait.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.kernels.scheduling import simulation as kernels
from audit.kernels.scheduling.simulation import Jobs, Model, Trials
from audit.model import FstStatus, Order, Policy
from audit.scenario import driver, engine
from audit.scenario.driver import ALL, Bases, Cut, Effort, Range, nevers
from audit.scenario.scenario import Scenario
from audit.scenario.workload import KEYS, NEVER, Bools, Ints, Workload, instants, largest_snapshot

NO_USER: Final = -1
AFTER_S: Final = 86_400
"""Arrivals that are sent with a range, after the last observed start in it."""
BASIS: Final = "forward_basis"
_FINAL: Final = (FstStatus.FINAL.value, FstStatus.PREEMPTED_CONTEXT.value)
"""Statuses that a modelled start after the end of the log makes provisional."""


class ForwardStarts(NamedTuple):
    """Modelled starts in the order of a workload; NEVER: none."""

    start: Ints  # [n] ≥ arrival
    without_own: Ints  # [n] ≥ arrival, without later arrivals of the same user


def forward_starts(
    work: Workload,
    policy: Policy,
    subjects: Ints | None = None,
    effort: Effort = ALL,
    user: Ints | None = None,
    strict: Ints | None = None,
) -> ForwardStarts:
    """Return modelled starts from the snapshots of the observed schedule.

    From the snapshot of attempt j (see ``fair_start.fair_starts``) the policy is simulated with j
    queued and with everything that comes after j as logged, until j starts. Blocked attempts take
    from the free amounts from their observed start to their end. Under ``conservative`` the queue
    of the snapshot is planned afresh, j last, before anything else arrives.

    Args:
        subjects: indices of the attempts to compute; None: all.
        user: [n], the user of each as a number ≥ 0; NO_USER: unknown and unique. None:
            those of ``work.owners``.
        strict: [n], strict fair start times by arrival where known, else NEVER. Where nothing
            arrives until then they are also the modelled starts.

    Returns:
        NEVER where an attempt is not a subject, is never queued, or would never start.

    Source: SPEC §10, *Forward start*.
    """
    count = len(work.arrival)
    times = ForwardStarts(nevers(count), nevers(count))
    queued = work.queued & work.present
    chosen = driver.chosen_of(count, subjects) & queued
    if strict is not None:
        known = chosen & _last_to_come(work, policy, queued | work.blocked, strict)
        times.start[known] = times.without_own[known] = strict[known]
        chosen &= ~known
    request = _Request(work, policy, chosen, queued, work.owners.name if user is None else user)
    driver.compute(_computation, request, chosen, times, effort)
    return times


def _last_to_come(work: Workload, policy: Policy, comes: Bools, strict: Ints) -> Bools:
    """Return whether nothing ``comes`` after each attempt that could matter until it starts."""
    following = np.append(np.where(comes, work.arrival, NEVER), NEVER)
    following = np.minimum.accumulate(following[::-1])[::-1][1:]
    behind = policy.order is Order.fcfs and not policy.backfill.traits.keeps_plans
    until = strict if behind else strict + 1  # what arrives at that very instant is ranked behind
    alone: Bools = (strict != NEVER) & (following >= until)
    return alone


class _Request(NamedTuple):
    work: Workload
    policy: Policy
    chosen: Bools
    queued: Bools
    user: Ints

    @property
    def divisible(self) -> bool:
        """See ``driver.Request``."""
        return self.work.divisible(self.policy)

    def cut(self, part: Range, whole: bool) -> Cut:
        """See ``driver.Request``; most attempts start within a day of their observed start."""
        work, here = self.work, slice(*part)
        started = np.where(work.has_started[here], work.start[here], work.arrival[here])
        until = NEVER if whole else int(started.max()) + AFTER_S
        kept = work.around(*part, until=until)
        rows = {name: getattr(self, name)[kept] for name in ("chosen", "queued", "user")}
        return Cut(self._replace(work=work.of_those(kept), **rows), driver.moved(part, kept), until)


class _Space(NamedTuple):
    trials: Trials
    jobs: Jobs  # their ranks are changed meanwhile


def _computation(request: _Request) -> Callable[[Range], ForwardStarts]:
    """Return what computes a range of indices; see ``Executor.each``."""
    work, policy, chosen, queued, users = request
    count, user = len(work.arrival), engine.contiguous(users)
    out = ForwardStarts(nevers(count), nevers(count))
    setting = engine.setting(work, policy, queued, taken=work.blocked, observes_blocked=False)
    taken_after = engine.kernel_steps(work, work.blocked, delay_s=1)
    later = kernels.Later(
        own=_next_own(user, queued | work.blocked),
        user=user,
        blocked=engine.contiguous(work.blocked),
        start=engine.contiguous(work.start),
    )
    crowd = largest_snapshot(work, work.present & ~work.blocked)

    def space() -> _Space:
        one, two, three = setting.pools((crowd, count, count))
        own_steps = engine.step_space(len(work.capacity), setting.steps.number)
        blocked = int(work.blocked.sum())
        trials = Trials(one, two, three, own_steps, crowd=crowd, blocked=blocked)
        return _Space(trials, setting.jobs.with_own_rank())

    def kernel(own: _Space, part: Range) -> None:
        kernels.forward_starts(
            Model(own.jobs, setting.steps, setting.rules, setting.ranking.owners),
            Model(own.jobs, taken_after, setting.rules, setting.ranking.owners),
            *(setting.observed, setting.capacity, later, chosen),
            *part,
            own.trials,
            *out,
        )

    return driver.by_thread(space, kernel, out)


def _next_own(user: Ints, comes: Bools) -> Ints:
    """Return the next attempt of the same user that ``comes``, or n, [n]."""
    following = np.full(len(user), len(user))
    coming = np.flatnonzero(comes & (user != NO_USER))
    coming = coming[np.argsort(user[coming], kind="stable")]
    same = user[coming[:-1]] == user[coming[1:]]
    following[coming[:-1][same]] = coming[1:][same]
    return following


def forward_start_times(
    scenario: Scenario, *, known: pl.DataFrame | None = None, effort: Effort = ALL
) -> pl.DataFrame:
    """Add the modelled start of each attempt that has a fair start time, and what follows from it.

    - start_modelled: epoch s, ≥ arrival; null where it would never start
    - overtaken_s: start_modelled − fst_strict, s: delay by later arrivals; < 0: it gained
    - overtaken_own_s: the part by later arrivals of the same user: start_modelled less what that
      would be without them, s; null where it would never start without them
    - unmodelled_s: start − start_modelled, s: unexplained by the modelled policy, of both signs
    - forward_basis: int64; equal bases have equal modelled starts

    ``fst_status`` becomes ``provisional`` where it would be final and start_modelled lies after
    ``now``: later logs may change it.

    Args:
        scenario: its attempts are what ``fair_start.fair_start_times`` returned.
        known: an earlier result; what still holds of it is reused.

    Returns:
        The scenario's attempts with these columns, in their order; null without a fair start time.

    Source: SPEC §10, *Forward start*.
    """
    fair, pool = scenario.attempts, scenario.pool
    work, rows = scenario.indexed
    strict = fair["fst_strict"].gather(rows).fill_null(NEVER).to_numpy()
    judged = fair["fst_status"].is_not_null() & fair["fst_strict"].is_not_null()
    subject = judged.to_numpy()[rows]
    bases = Bases(work, rows, fair, pool.policy, pool.fair_order)
    times, holds = _still_known(known, fair.select(KEYS)[rows], bases, subject)
    computed = subject & ~holds
    new = forward_starts(
        *(work, pool.policy, np.flatnonzero(computed), effort),
        _users(fair["user"].gather(rows)),
        strict if pool.fair_order is Order.fcfs else None,
    )
    start, without = (np.where(computed, found, old) for found, old in zip(new, times, strict=True))
    basis = bases.forward(np.maximum(start, without))
    place = driver.places(fair.height, rows, subject)
    modelled = pl.col("start_modelled")
    final = pl.col("fst_status").cast(pl.String).is_in(_FINAL)
    return (
        fair.with_columns(
            instants(start).gather(place).alias("start_modelled"),
            instants(without).gather(place).alias("_without_own"),
            pl.Series(basis).gather(place).alias(BASIS),
        )
        .with_columns(
            overtaken_s=modelled - pl.col("fst_strict"),
            overtaken_own_s=modelled - pl.col("_without_own"),
            unmodelled_s=pl.col("start_time") - modelled,
            fst_status=pl.when(final & (modelled > scenario.now))
            .then(pl.lit(FstStatus.PROVISIONAL.value))
            .otherwise(pl.col("fst_status")),
        )
        .drop("_without_own")
    )


def stale(known: pl.DataFrame | None, keys: pl.DataFrame, bases: Bases, subject: Bools) -> Bools:
    """Return whether each subject lacks a modelled start in an earlier result that still holds.

    [n]; False where that result has no modelled starts at all: then they are not wanted.
    """
    if known is None or BASIS not in known.columns:
        return np.zeros(len(subject), np.bool_)
    _, holds = _still_known(known, keys, bases, subject)
    without: Bools = subject & ~holds
    return without


def _still_known(
    known: pl.DataFrame | None, keys: pl.DataFrame, bases: Bases, subject: Bools
) -> tuple[ForwardStarts, Bools]:
    """Return what an earlier result has of the subjects, and whether it still holds."""
    if known is not None and not known.is_empty():
        known = known.with_columns(_without=pl.col("start_modelled") - pl.col("overtaken_own_s"))
    columns = ("start_modelled", "_without")
    times, holds = driver.recalled(known, keys, columns, BASIS, bases.forward, subject)
    return ForwardStarts(*times), holds


def _users(names: pl.Series) -> Ints:
    """Return users as numbers ≥ 0; NO_USER: unknown."""
    known = names.unique().drop_nulls()
    numbers = names.cast(pl.Enum(known)).to_physical().cast(pl.Int64).fill_null(NO_USER)
    return np.ascontiguousarray(numbers.to_numpy(), np.int64)
