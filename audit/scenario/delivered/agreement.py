"""Agreement of rules with the observed starts, and what it allows to state (SPEC §10).

    A = Σ |chosen ∩ O| ÷ Σ (|O| + |chosen that do not start at t|)

over the instants t with starts at which more wait than start, with O the attempts that started then
after a wait of over 60 s, and *chosen* what one pass of the rule starts in the observed state.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Bools, Ints
from audit.kernels.scheduling import agreement as kernels
from audit.metrics.attempts.fidelity import KNOWN, MaySay
from audit.model import Backfill, Policy
from audit.scenario import engine
from audit.scenario.delivered.candidates import KEPT, SiteRule, candidates, judged_as
from audit.scenario.delivered.comparing import ComparedStarts, compared_starts, share, within_depth
from audit.scenario.delivered.observed import LONG_WAIT_S
from audit.scenario.scenario import Scenario
from audit.scenario.workload import Workload, largest_snapshot

EXACT: Final = 0.98
"""The least A at which only starts up to the snapshot are pinned."""
EXCEEDS: Final = 0.01
"""The least A above that of fcfs + easy with which another rule is told from it."""
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
    scenario: Scenario, rules: Sequence[SiteRule] | None = None, *, held_until: Ints | None = None
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
    rules = candidates(scenario) if rules is None else rules
    return as_table(compared_starts(scenario, rules, held_until))


def as_table(compared: ComparedStarts) -> pl.DataFrame:
    """Return the agreement of compared rules, one row for each; see ``agreement``."""
    sums = {
        rule: found
        for group in compared.groups
        for rule, found in zip(group, compared.sums(group), strict=True)
    }
    rows = []
    for rule in compared.rules:
        policy = rule.policy
        depth = within_depth(policy).depth
        rows.append(
            (
                *(policy.order.value, policy.backfill.value, rule.own_peak, policy.name),
                *(share(sums[rule]), *sums[rule].tolist()),
                *(len(compared.counted), len(compared.judged(policy.order))),
                depth if policy.backfill is Backfill.conservative_replan else None,
            )
        )
    return pl.DataFrame(rows, AGREEMENT_SCHEMA, orient="row")


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


def agreement_on_nodes(
    scenario: Scenario, policy: Policy, *, held_until: Ints | None = None
) -> float | None:
    """Return A of a policy with *fits* by the observed free nodes: A_nodes, 0 to 1.

    The figure says whether the site's policy is understood, not by which rule fair starts are
    found.

    Args:
        held_until: by row of the scenario, epoch s: attempts that a rule holds until then.

    Returns:
        None where no start was observed or chosen, or the nodes are unknown.
    """
    work, rows = scenario.indexed
    if work.machines is None:
        return None
    held = work.arrival if held_until is None else held_until[rows]
    return share(compared_on_nodes(work, policy, held))


def compared_on_nodes(
    work: Workload, policy: Policy, held_until: Ints, long_wait_s: int = LONG_WAIT_S
) -> Ints:
    """Return the sums of A_nodes: common, observed and wrong starts, [3].

    At each instant with starts at which more wait than start, one pass of the policy is made over
    what then ran and waited. Under ``multifactor`` it is one of slurmctld's main scheduler if that
    explains all starts; else its backfill follows. Attempts that are held do not wait.

    Args:
        held_until: [n], until when a rule holds each, epoch s; at most the arrival: it is not held.
        long_wait_s: a start counts if the attempt waited longer, s.
    """
    policy, sums = judged_as(policy), np.zeros(3, np.int64)
    started = np.flatnonzero(work.has_started & ~work.blocked)
    if not len(started):
        return sums
    setting = engine.setting(work, policy, work.queued & work.present, taken=work.blocked)
    (pool,) = setting.pools((largest_snapshot(work, work.present),), ledger=(0, 0))
    until = np.minimum(held_until, work.start)
    held = np.flatnonzero(until > work.arrival)
    waited: Bools = work.has_started & (work.start - work.arrival > long_wait_s)
    starts = kernels.StartsInOrder(
        started[np.argsort(work.start[started], kind="stable")],
        until,
        held[np.argsort(until[held], kind="stable")],
    )
    kernels.agree(
        setting.model,
        setting.observed,
        starts,
        setting.capacity,
        waited,
        int(work.start[started].max()),
        pool,
        sums,
    )
    return sums
