"""How far rules agree with the observed starts, and what may be said of a site (SPEC §10).

    A = Σ |chosen ∩ O| ÷ Σ (|O| + |chosen that do not start at t|)

over the instants t with starts at which more wait than start, with O the attempts that started then
after a wait of over 60 s, and *chosen* what one pass of the rule starts in the observed state.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.kernels.delivered import starts as kernels
from audit.kernels.scheduling import simulation
from audit.metrics.attempts.fidelity import KNOWN, MaySay
from audit.model import Backfill, Order, Policy
from audit.scenario import engine
from audit.scenario.delivered.candidates import (
    BY_PRIORITY,
    KEPT,
    SiteRule,
    candidates,
    judged_as,
    pass_rule,
    pass_setting,
)
from audit.scenario.delivered.observed import LONG_WAIT_S, ObservedTurns, observed_turns
from audit.scenario.scenario import Scenario
from audit.scenario.workload import Bools, Ints, Workload, largest_snapshot

EXACT: Final = 0.98
"""The least A at which only starts up to the snapshot are pinned."""
EXCEEDS: Final = 0.01
"""The least A above that of fcfs + easy with which another rule is told from it."""
MOST_INSTANTS: Final = 20_000
MOST_BY_PRIORITY: Final = 5_000
PLAN_DEPTH: Final = 500

AGREEMENT_SCHEMA: Final = pl.Schema(
    {
        "order": pl.String,
        "backfill": pl.String,
        "own_peak": pl.Boolean,
        "policy": pl.String,
        "agreement": pl.Float64,
        "common": pl.Int64,
        "observed": pl.Int64,
        "wrong": pl.Int64,
        "instants": pl.Int64,
        "judged": pl.Int64,
        "plan_depth": pl.Int64,
    }
)


class KnownRule(NamedTuple):
    """The rule by which fair starts are found."""

    rule: SiteRule
    agreement: float | None  # the best A of all candidates; None: nothing could be compared

    @property
    def free(self) -> bool:
        """Whether only starts up to the snapshot are pinned."""
        return not self.rule.kept and self.agreement is not None and self.agreement >= EXACT

    @property
    def may_say(self) -> MaySay:
        """What may be said."""
        return MaySay.at(self.agreement)


def agreement(
    scenario: Scenario,
    rules: Sequence[SiteRule] | None = None,
    *,
    held_until: Ints | None = None,
) -> pl.DataFrame:
    """Return how far rules agree with the observed starts of a pool.

    - agreement: A, 0 to 1; null where no start was observed or chosen
    - common, observed, wrong: its three sums
    - instants: the number of instants that count; judged: of those that were compared
    - plan_depth: the number of waiting attempts that a replanning pass looks at; null without one

    Above ``MOST_INSTANTS`` instants (orders by priorities: ``MOST_BY_PRIORITY``), evenly spaced
    ones are compared.

    Args:
        rules: None: ``candidates``.
        held_until: by row of the scenario, epoch s: attempts that a rule holds until then.

    Returns:
        One row for each rule, in their order, with ``AGREEMENT_SCHEMA``.
    """
    turns = observed_turns(scenario, held_until)
    rules = candidates(scenario) if rules is None else rules
    counted = np.flatnonzero((turns.starts > 0) & (turns.waiting > 0))
    most = delivered_capacity(scenario, turns, MOST)
    sums: dict[SiteRule, tuple[Ints, int]] = {}
    by_state = sorted(rules, key=_state)
    for _, group in groupby(by_state, key=_state):
        same = list(group)
        judged = _spread(counted, same[0].policy.order)
        for rule, found in zip(same, _compared(scenario, turns, same, most, judged), strict=True):
            sums[rule] = found, len(judged)
    rows = [_row(rule, *sums[rule], len(counted)) for rule in rules]
    return pl.DataFrame(rows, AGREEMENT_SCHEMA, orient="row")


MOST: Final = SiteRule(Policy(backfill=Backfill.no_guarantee))
"""The rule that starts whatever fits; its capacity is C_HI."""


def delivered_capacity(
    scenario: Scenario, turns: ObservedTurns, rule: SiteRule, *, cautious: bool = False
) -> Ints:
    """Return the largest capacity at which a rule starts nothing, at each instant: C, [m]."""
    delivered = np.zeros(len(turns.instants), np.int64)
    kernels.capacities(
        turns.in_kernel, pass_rule(scenario, turns, rule, cautious=cautious), delivered
    )
    return delivered


def _state(rule: SiteRule) -> tuple[str, bool]:
    return rule.policy.order.value, rule.own_peak


def _spread(counted: Ints, order: Order) -> Ints:
    """Return at most the permitted number of instants, evenly spaced."""
    most = MOST_BY_PRIORITY if order in BY_PRIORITY else MOST_INSTANTS
    if len(counted) <= most:
        return counted
    return counted[np.arange(most) * len(counted) // most]


def _compared(
    scenario: Scenario,
    turns: ObservedTurns,
    rules: Sequence[SiteRule],
    most: Ints,
    judged: Ints,
) -> Ints:
    """Return the sums of rules that differ in their backfilling alone, rules × 3."""
    chosen = np.zeros(len(turns.instants), np.bool_)
    chosen[judged] = True
    first = pass_rule(scenario, turns, rules[0], at=turns.instants[judged])
    settings = [pass_setting(_within_depth(rule.policy)) for rule in rules]
    sums = np.zeros((len(rules), 3), np.int64)
    kernels.agreement(
        *(turns.in_kernel, first, most, chosen, turns.waited, np.array(settings, np.int64), sums)
    )
    return sums


def _within_depth(policy: Policy) -> Policy:
    """Return the policy with the depth at which its agreement is found."""
    if policy.backfill is not Backfill.conservative_replan:
        return policy
    return policy._replace(depth=min(policy.depth or PLAN_DEPTH, PLAN_DEPTH))


def _row(rule: SiteRule, sums: Ints, judged: int, counted: int) -> tuple[object, ...]:
    common, observed, wrong = sums.tolist()
    policy = rule.policy
    return (
        *(policy.order.value, policy.backfill.value, rule.own_peak, policy.name),
        *(_share(sums), common, observed, wrong, counted, judged),
        _within_depth(policy).depth if policy.backfill is Backfill.conservative_replan else None,
    )


def _share(sums: Ints) -> float | None:
    common, observed, wrong = sums.tolist()
    return common / (observed + wrong) if observed + wrong else None


def rule_of(scenario: Scenario, compared: pl.DataFrame) -> KnownRule:
    """Return the rule by which fair starts are found: the best if its A suffices, else kept order.

    Args:
        compared: ``agreement`` of the candidates of the scenario.
    """
    known = compared.with_row_index("place").drop_nulls("agreement")
    if known.is_empty():
        return KnownRule(KEPT, None)
    place, best = (
        known.sort("agreement", descending=True, maintain_order=True)
        .select("place", "agreement")
        .row(0)
    )
    return KnownRule(candidates(scenario)[place] if best >= KNOWN else KEPT, best)


def known_policy(scenario: Scenario, compared: pl.DataFrame) -> Policy | None:
    """Return the policy of the known rule, by which replays and predictions start attempts.

    Settings of the pool's own policy stay where the new one uses them. A rule whose A exceeds that
    of fcfs + easy by less than ``EXCEEDS`` is not told from it.

    Args:
        compared: ``agreement`` of the candidates of the scenario.

    Returns:
        None where no A suffices.
    """
    known, own = rule_of(scenario, compared), scenario.pool.policy
    rule, default = known.rule, Policy()
    if rule.kept or known.agreement is None:
        return None
    plain = compared["agreement"][candidates(scenario).index(SiteRule(default))]
    if rule.policy != default and plain is not None and known.agreement < plain + EXCEEDS:
        if plain < KNOWN:
            return None
        rule = SiteRule(default)
    if rule.policy == judged_as(own):
        return own
    return own.changed(order=rule.policy.order, backfill=rule.policy.backfill)


def agreement_on_nodes(scenario: Scenario, policy: Policy) -> float | None:
    """Return A of a policy with *fits* by the observed free nodes: A_nodes, 0 to 1.

    The figure says whether the site's policy is understood, not by which rule fair starts are
    found.

    Returns:
        None where no start was observed or chosen, or the nodes are unknown.
    """
    work, _ = scenario.indexed
    return None if work.machines is None else _share(compared_on_nodes(work, policy))


def compared_on_nodes(work: Workload, policy: Policy, long_wait_s: int = LONG_WAIT_S) -> Ints:
    """Return the sums of A_nodes: common, observed and wrong starts, [3].

    At each instant with starts at which more wait than start, one pass of the policy is made over
    what then ran and waited. Under ``multifactor`` it is one of slurmctld's main scheduler if that
    explains all starts; else its backfill follows.

    Args:
        long_wait_s: a start counts if the attempt waited longer, s.
    """
    policy, sums = judged_as(policy), np.zeros(3, np.int64)
    started = np.flatnonzero(work.has_started & ~work.blocked)
    if not len(started):
        return sums
    setting = engine.setting(work, policy, work.queued & work.present, taken=work.blocked)
    (pool,) = setting.pools((largest_snapshot(work, work.present),), ledger=(0, 0))
    waited: Bools = work.has_started & (work.start - work.arrival > long_wait_s)
    simulation.agree(
        setting.model,
        setting.observed,
        started[np.argsort(work.start[started], kind="stable")],
        setting.capacity,
        waited,
        int(work.start[started].max()),
        pool,
        sums,
    )
    return sums
