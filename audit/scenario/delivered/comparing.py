"""Which starts rules choose in the observed states of a pool, beside those that were observed.

Under further windows only those instants are compared anew at which an attempt waits that they
forbid to start: at all others the passes are the same. So are those of a rule that does not plan,
where it neither started such an attempt nor waited for one, and the capacity stays.

Source: SPEC §10, *Agreement*.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Final

import numpy as np

from audit.array_types import Bools, Ints
from audit.kernels.delivered import sweep
from audit.model import Backfill, Order, Policy, Pool
from audit.scenario.delivered.candidates import (
    BY_PRIORITY,
    PassOrdering,
    SiteRule,
    pass_ordering,
    pass_rule,
    pass_setting,
)
from audit.scenario.delivered.observed import ObservedTurns, observed_turns
from audit.scenario.limits import SHUT, AttemptLimits
from audit.scenario.scenario import Scenario
from audit.scenario.workload import limited, of_limits

MOST_INSTANTS: Final = 20_000
MOST_BY_PRIORITY: Final = 5_000
PLAN_DEPTH: Final = 500

MOST: Final = SiteRule(Policy(backfill=Backfill.no_guarantee))
"""The rule that starts whatever fits; its capacity is C_HI."""


def delivered_capacity(
    scenario: Scenario,
    turns: ObservedTurns,
    rule: SiteRule,
    *,
    cautious: bool = False,
    wanted: Bools | None = None,
) -> Ints:
    """Return the largest capacity at which a rule starts nothing, at each instant: C, [m].

    Args:
        wanted: [m], at which instants it is needed, 0 at the others; None: at all.
    """
    delivered = np.zeros(len(turns.instants), np.int64)
    every = np.ones(len(delivered), np.bool_) if wanted is None else wanted
    sweep.capacities(
        turns.in_kernel, pass_rule(scenario, turns, rule, cautious=cautious), every, delivered
    )
    return delivered


def within_depth(policy: Policy) -> Policy:
    """Return the policy with the depth at which its agreement is found."""
    if policy.backfill is not Backfill.conservative_replan:
        return policy
    return policy._replace(depth=min(policy.depth or PLAN_DEPTH, PLAN_DEPTH))


@dataclass(frozen=True, eq=False)
class ComparedStarts:
    """The starts that rules choose under the limits and windows of a pool."""

    scenario: Scenario
    turns: ObservedTurns
    rules: Sequence[SiteRule]
    _orderings: dict[Order, PassOrdering] = field(default_factory=dict)
    """The same under all windows."""
    _before: "ComparedStarts | None" = None  # the starts under fewer windows;
    _closed: tuple[Bools, Bools] | None = None  # as ``_closed_starts``; None: all may differ
    _counts: dict[SiteRule, Ints] = field(default_factory=dict)
    _served: dict[SiteRule, Ints] = field(default_factory=dict)
    """Of the first rule of each group: the attempts that matter, as ``sweep.agreement``."""

    @cached_property
    def groups(self) -> list[list[SiteRule]]:
        """The rules, by what they share: those of a group differ in their backfilling alone."""

        def shared(rule: SiteRule) -> tuple[str, bool]:
            return rule.policy.order.value, rule.own_peak

        return [list(group) for _, group in groupby(sorted(self.rules, key=shared), key=shared)]

    @cached_property
    def counted(self) -> Ints:
        """The instants with starts at which more wait than start, by index."""
        if self._before is not None:
            return self._before.counted
        return np.flatnonzero((self.turns.starts > 0) & (self.turns.waiting > 0))

    def judged(self, order: Order) -> Ints:
        """Return at most the permitted number of them, evenly spaced."""
        most = MOST_BY_PRIORITY if order in BY_PRIORITY else MOST_INSTANTS
        if len(self.counted) <= most:
            return self.counted
        return self.counted[np.arange(most) * len(self.counted) // most]

    def sums(self, group: Sequence[SiteRule]) -> Ints:
        """Return the sums of the rules of a group, rules × 3: common, observed, wrong."""
        common, wrong = self._chosen(group).sum(2).T
        observed = self._seen[self.judged(group[0].policy.order)].sum()
        return np.stack((common, np.full(len(group), observed), wrong), 1)

    def reaches(self, least: float) -> bool:
        """Return whether the agreement of any rule is at least ``least``."""
        likely = self.groups if self._before is None else self._before.by_agreement
        return any(
            self._compare(group, least) and _best(self.sums(group)) >= least for group in likely
        )

    @cached_property
    def by_agreement(self) -> list[list[SiteRule]]:
        """The groups, the best first."""
        return sorted(self.groups, key=lambda group: -_best(self.sums(group)))

    @cached_property
    def best(self) -> float | None:
        """The best agreement; None: nothing could be compared."""
        best = max(_best(self.sums(group)) for group in self.groups)
        return None if best < 0 else best

    def under(self, pool: Pool) -> "ComparedStarts":
        """Return the starts under a pool with further windows, behind those of this one."""
        turns, scenario = self.turns, self.scenario.but(pool=pool)
        attempts = of_limits(scenario.attempts, turns.rows)
        work = limited(turns.work, attempts, pool, scenario.now)
        closed = _closed_starts(turns, turns.work.limits, work.limits)
        return replace(
            self,
            scenario=scenario,
            turns=replace(turns, work=work),
            _before=self,
            _closed=closed,
            _counts={},
            _served={},
        )

    @cached_property
    def _most(self) -> Ints:
        """C_HI, [m]; 0 where nothing is compared."""
        wanted = np.zeros(len(self.turns.instants), np.bool_)
        wanted[self.counted] = True
        if self._closed is not None:
            wanted &= self._closed[1]
        found = delivered_capacity(self.scenario, self.turns, MOST, wanted=wanted)
        if self._before is not None and self._closed is not None:
            return np.where(wanted, found, self._before._most)
        return found

    @cached_property
    def _seen(self) -> Ints:
        """The number of observed starts that count, at each instant, [m]."""
        if self._before is not None:
            return self._before._seen
        at = self.turns.began[self.turns.waited]
        return np.bincount(at, minlength=len(self.turns.instants))

    def _chosen(self, group: Sequence[SiteRule]) -> Ints:
        """Return what the rules of a group choose, rules × 2 × judged instants: common, wrong."""
        self._compare(group)
        return self._counts[group[0]]

    def _compare(self, group: Sequence[SiteRule], least: float = 0.0) -> bool:
        """Find what the rules of a group choose, unless the agreement of none reaches ``least``."""
        first, turns = group[0], self.turns
        if first in self._counts:
            return True
        judged = self.judged(first.policy.order)
        counts, again = self._known(group, judged)
        order = first.policy.order
        if order not in self._orderings:
            self._orderings[order] = pass_ordering(self.scenario, turns, first)
        seen = self._seen[judged]
        settings = np.array([pass_setting(within_depth(rule.policy)) for rule in group], np.int64)
        served = sweep.agreement(
            turns.in_kernel,
            pass_rule(self.scenario, turns, first, ordering=self._orderings[order]),
            self._most,
            judged,
            again,
            turns.waited,
            settings,
            counts,
            sweep.AgreementGoal(least, seen, int(seen.sum()), counts.sum(2)),
        )
        if served is None:
            return False
        if self._before is not None:
            kept = self._before._served[first]
            served = np.concatenate((kept[~again.reshape(-1)[kept[:, 0]]], served))
        self._counts[first], self._served[first] = counts, served
        return True

    def _known(self, group: Sequence[SiteRule], judged: Ints) -> tuple[Ints, Bools]:
        """Return the counts of a group as known without passes, and where they must be found.

        Returns:
            As ``_counts``; rules × judged instants.
        """
        closed, before = self._closed, self._before
        shape = len(group), len(judged)
        if before is None or closed is None:
            return np.zeros((len(group), 2, len(judged)), np.int64), np.ones(shape, bool)
        counts, served = before._chosen(group).copy(), before._served[group[0]]
        again = np.tile(self._most[judged] != before._most[judged], (len(group), 1))
        place, attempt = served.T
        attempts, instants = closed
        again.reshape(-1)[place[attempts[attempt]]] = True
        for row, policy in enumerate(within_depth(one.policy) for one in group):
            again[row] |= policy.depth is not None  # any attempt may matter
        again &= instants[judged]
        counts *= ~again[:, None]
        return counts, again


def compared_starts(
    scenario: Scenario, rules: Sequence[SiteRule], held_until: Ints | None = None
) -> ComparedStarts:
    """Return the starts that rules choose in a pool.

    Above ``MOST_INSTANTS`` instants (orders by priorities: ``MOST_BY_PRIORITY``), evenly spaced
    ones are compared.

    Args:
        held_until: by row of the scenario, epoch s: attempts that a rule holds until then.
    """
    return ComparedStarts(scenario, observed_turns(scenario, held_until), rules)


def share(sums: Ints) -> float | None:
    """Return A by its three sums; None where no start was observed or chosen."""
    common, observed, wrong = sums.tolist()
    return common / (observed + wrong) if observed + wrong else None


def _best(sums: Ints) -> float:
    """Return the best agreement of a group; below 0 for an empty group."""
    return max(-1.0 if one is None else one for one in map(share, sums))


def _closed_starts(
    turns: ObservedTurns, before: AttemptLimits, after: AttemptLimits
) -> tuple[Bools, Bools] | None:
    """Return what only the added counters may forbid.

    Returns:
        The attempts that they forbid at some time, [n], and the instants at which any of these
        waits, [m]; None if more than counters behind the others was added.
    """
    added, of_added = len(before.most), after.edges.counter >= len(before.most)
    times, changes = after.edges.time, after.edges.change
    kept = [column[~of_added] for column in after.edges[:3]]
    if not all(map(np.array_equal, kept, before.edges[:3])):
        return None
    level = np.concatenate(([0], np.cumsum(changes[of_added] // SHUT)))
    shut = level[np.searchsorted(times[of_added], turns.instants, side="right")] > 0
    attempt = np.repeat(np.arange(len(turns.start)), np.diff(after.first))
    inside = np.zeros(len(turns.start), np.bool_)
    inside[attempt[after.counter >= added]] = True
    waiting = np.bincount(turns.arrived[inside], minlength=len(shut) + 2)
    waiting -= np.bincount(turns.began[inside] + 1, minlength=len(shut) + 2)
    return inside, shut & (waiting.cumsum()[: len(shut)] > 0)
