"""The rules that may explain the observed starts, and their form in the kernels (SPEC §10)."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from audit.array_types import Ints
from audit.kernels.delivered.model import PassBackfill, PassOrder, PassRule
from audit.kernels.delivered.usage import OutsideUse, UsageOrder
from audit.kernels.scheduling import model as kernels
from audit.model import BY_USAGE, Backfill, Order, Policy
from audit.scenario import engine
from audit.scenario.delivered.observed import ObservedTurns
from audit.scenario.ownership import EQUAL_SHARES
from audit.scenario.scenario import Scenario
from audit.scenario.workload import NEVER

_FILLINGS: Final = {
    Backfill.none: PassBackfill.NONE,
    Backfill.no_guarantee: PassBackfill.NO_GUARANTEE,
    Backfill.easy: PassBackfill.EASY,
    Backfill.conservative_replan: PassBackfill.REPLAN,
}
BY_PRIORITY: Final = (Order.recorded, *BY_USAGE)
"""Orders that judge fewer instants."""


class SiteRule(NamedTuple):
    """A policy that may be the site's; own peaks are limits of running jobs."""

    policy: Policy
    own_peak: bool = False
    kept: bool = False  # the observed order instead of the policy's

    @property
    def name(self) -> str:
        """Such as ``fcfs-easy``, or ``fcfs-easy, own peak``."""
        name = "kept order" if self.kept else self.policy.name
        return f"{name}, own peak" if self.own_peak and not self.kept else name


KEPT: Final = SiteRule(Policy(backfill=Backfill.none), own_peak=True, kept=True)
"""Kept order: the waiting in order of their observed starts, without backfilling."""


def candidates(scenario: Scenario) -> list[SiteRule]:
    """Return the rules to compare; of equal agreement the first one counts.

    An order by priorities is a candidate where the log or the configuration has its inputs, or
    where it is configured.
    """
    policies = dict.fromkeys(_policies(scenario))
    return [SiteRule(policy, own) for own in (False, True) for policy in policies]


def _policies(scenario: Scenario) -> Iterator[Policy]:
    fair = scenario.fairshare
    replan = Backfill.conservative_replan
    yield judged_as(scenario.pool.policy)
    yield Policy(Order.fcfs, Backfill.none)
    for order in (Order.fcfs, Order.sjf, Order.lxf):
        yield Policy(order, Backfill.easy)
    yield Policy(Order.fcfs, replan)
    for order in (Order.fcfs, Order.sjf):
        yield Policy(order, Backfill.no_guarantee)
    for order, known in (
        (Order.recorded, bool(np.isfinite(scenario.indexed.work.priority).any())),
        (Order.fairshare, fair.tree is not None and fair != EQUAL_SHARES),
        (Order.multifactor, fair.multifactor is not None),
    ):
        if known:
            yield Policy(order, Backfill.easy)
            yield Policy(order, replan)


def judged_as(policy: Policy) -> Policy:
    """Return the policy with what a single pass over an observed state depends on.

    ``conservative`` is judged as ``conservative_replan``, as no log has its plans. Intervals,
    pauses and resolutions are left out.
    """
    backfill = policy.backfill
    if backfill.traits.keeps_plans:
        backfill = Backfill.conservative_replan
    return policy._replace(
        backfill=backfill, interval_s=None, resolution_s=None, batch_delay_s=None
    )


def pass_setting(policy: Policy) -> tuple[int, int, int, int]:
    """Return the backfilling, depth, reservations and window of a policy in the kernels."""
    bounds = (policy.depth, policy.reservations, policy.window_s)
    depth, reservations, window = (NEVER if each is None else each for each in bounds)
    return _FILLINGS[policy.backfill], depth, reservations, window


class PassOrdering(NamedTuple):
    """The order of a rule in the kernels."""

    by: PassOrder
    rank: Ints  # [n]
    usage: UsageOrder | None = None


def pass_ordering(
    scenario: Scenario, turns: ObservedTurns, rule: SiteRule, simulated: int = 0
) -> PassOrdering:
    """Return the order of a rule as the kernels take it.

    Args:
        simulated: the most attempts that a simulation by it runs.

    Raises:
        SimulationError: Slurm's configuration is missing.
    """
    order = rule.policy.order
    if rule.kept:
        return PassOrdering(PassOrder.RANK, engine.ranks(turns.start))
    rank = engine.queue_ranks(turns.work, order)
    if order is Order.lxf:
        return PassOrdering(PassOrder.EXPANSION, rank)
    if order in BY_USAGE:
        usage = _usage_order(scenario, turns, order, simulated)
        return PassOrdering(PassOrder.USAGE, rank, usage)
    return PassOrdering(PassOrder.RANK, rank)


def _usage_order(
    scenario: Scenario, turns: ObservedTurns, order: Order, simulated: int
) -> UsageOrder:
    """Return an order of ``model.BY_USAGE``; see ``pass_ordering``.

    In passes over observed states, what was observed until then counts; in a simulation, what was
    observed until its snapshot, and then what it has run itself (SPEC §4, *Queue order*). Attempts
    without occupancy use nothing.
    """
    work = scenario.indexed.work
    ranking = engine.kernel_ranking(work, order)
    by_waits = order is Order.nuwt
    charge = work.owners.used if by_waits else np.where(work.occupancy, work.owners.charge, 0.0)
    place = np.flatnonzero(turns.part)
    ran = ~turns.part & work.has_started & (work.end != NEVER)
    end = np.maximum(work.end, work.start + by_waits)  # as the ranking counts it
    outside = np.flatnonzero(ran & (end > work.start)) if simulated else place[:0]
    return UsageOrder(
        kernels.Order[order.traits.kernel],
        ranking.owners,
        ranking.ledger(simulated, 2 * len(outside)),
        place,
        ranking.owner[place],
        np.ascontiguousarray(charge[place]),
        OutsideUse(
            ranking.owner[outside],
            np.ascontiguousarray(charge[outside]),
            work.arrival[outside],
            work.start[outside],
            end[outside],
        ),
    )


def pass_rule(
    scenario: Scenario,
    turns: ObservedTurns,
    rule: SiteRule,
    *,
    cautious: bool = False,
    ordering: PassOrdering | None = None,
    simulated: int = 0,
) -> PassRule:
    """Return a rule as the kernels take it.

    Args:
        cautious: attempts are also passed over where there is evidence that they were held.
        ordering: its order; None: it is found.
        simulated: the most attempts that a simulation by it runs.
    """
    by, rank, usage = ordering or pass_ordering(scenario, turns, rule, simulated)
    nothing = np.zeros(0, np.int64)
    limits = turns.limits_and_peaks if rule.own_peak else turns.limits
    return PassRule(
        *(by, *pass_setting(rule.policy), rank, limits, usage),
        turns.held if cautious else nothing,
        nothing if turns.held_until is None else turns.held_until,
    )
