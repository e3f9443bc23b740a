"""Which plan the starts of a log agree with, and the interval of its passes (SPEC §11).

``kept`` says something about the scheduler, so a plan without evidence keeps nothing. The evidence
is how often starts break the reservations of jobs ahead.
"""

from typing import Final, NamedTuple

import numpy as np

from audit.array_types import Ints
from audit.metrics.waits.walk import Plan, PoolLog, Starts, WaitSweep, book
from audit.policies import Backfill, Policy

TRIED: Final = Plan(20)
"""The plan of the run that gives the counts."""
STRICT: Final = Plan(0, strict=True)
NONE: Final = Plan(0)
LEAST_SEEN: Final = 100
"""Fewest stretches, or broken plans and stretches, that tell anything."""
_REPLANNED: Final = 100
"""Reservations of ``conservative_replan`` without a depth."""
UNLIMITED: Final = 1 << 40
"""The depth of a plan in which every job has a reservation."""

INTERVALS_S: Final = (3_600, 1_800, 900, 600, 300, 120, 60, 30, 15)
LEAST_STARTS: Final = 200
LEAST_WAIT_S: Final = 60


class Passes(NamedTuple):
    """How a scheduler goes through its queue, as far as it is known."""

    plan: Plan | None = None  # None: the starts of the log decide
    starts: Starts | None = None  # the counts by which the plan was chosen; None: it is configured
    interval_s: int | None = None


class Chosen(NamedTuple):
    """A plan, the account under it, and the evidence."""

    plan: Plan
    booked: WaitSweep
    starts: Starts | None  # the counts under ``TRIED``; None: the plan is configured


def configured(policy: Policy) -> Plan:
    """Return the plan of a pool's configured backfilling."""
    if policy.backfill == Backfill.none:
        return STRICT
    if policy.backfill == Backfill.conservative_replan:
        return Plan(policy.reservations or policy.depth or _REPLANNED)
    most = policy.backfill.traits.reservations
    return Plan(UNLIMITED if most is None else most)


def believed(scene: PoolLog, policy: Policy | None) -> Chosen:
    """Return the plan of a configured policy, else the one that the starts of a log agree with."""
    if policy is not None:
        plan = configured(policy)
        return Chosen(plan, book(scene, plan), None)
    plan, seen, booked = _agreed(scene)
    return Chosen(plan, book(scene, plan) if booked is None else booked, seen)


def evident(scene: PoolLog, seen: Starts | None = None) -> tuple[Plan, Starts]:
    """Return the plan that the starts of a log agree with, and their counts.

    Args:
        seen: the counts under ``TRIED``; None: not known yet.
    """
    plan, seen, _ = _agreed(scene, seen)
    return plan, seen


def _agreed(scene: PoolLog, seen: Starts | None = None) -> tuple[Plan, Starts, WaitSweep | None]:
    """Return as ``evident``, and the account under the plan if it was made."""
    tried = None
    if seen is None:
        tried = book(scene, TRIED)
        seen = tried.starts
    if 50 * seen.waited_behind <= seen.waited and seen.stretches >= LEAST_SEEN:
        strict = book(scene, STRICT)
        broken = strict.starts.broken
        if 50 * broken <= broken + strict.starts.stretches:
            return STRICT, seen, strict
    if is_kept(seen):
        return TRIED, seen, tried
    return NONE, seen, None


def is_kept(seen: Starts) -> bool:
    """Return whether starts spare what is kept much more often than what is free."""
    kept, free = seen.broken + seen.stretches, seen.behind - seen.broken
    rate_free = free / max(free + seen.lapses, 1)
    return kept >= LEAST_SEEN and seen.broken / kept <= 0.7 * rate_free


def inferred_interval(arrival: Ints, start: Ints) -> int | None:
    """Return the longest interval, in s, at whose multiples nearly all waiting jobs start, or None.

    Args:
        arrival: of started attempts, [n], epoch s.
        start: the same, ≥ arrival.
    """
    late = start[start - arrival > LEAST_WAIT_S]
    if len(late) < LEAST_STARTS:
        return None
    for interval in INTERVALS_S:
        at = np.bincount(late % interval, minlength=interval)
        near = at + np.roll(at, 1) + np.roll(at, -1)
        if near.max() >= 0.8 * len(late):
            return interval
    return None
