"""Gains that advice promises on a made site, beside those of its true scheduler.

The log of a site, and the policy and the limits that the site has, are all that advice gets. Then
the true scheduler runs again, with the same jobs, latencies and drains, under the changed kind.
"""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from audit.cluster.delivered import replayed_agreement
from audit.model import Backfill, Limit, Period, Policy, Pool
from audit.policies import Order
from audit.scenario.advice.advise import advise
from audit.scenario.advice.candidates import candidates
from audit.scenario.advice.judging import Judgement
from audit.scenario.releases.holds import NOT_HOLDING
from audit.scenario.scenario import Scenario
from bench.logs.sites.kinds import HELD, TWO_CLASSES, DrainPlan, SiteKind, Traffic, TrueRule
from bench.logs.sites.limits import within_limits
from bench.logs.sites.site import TrueSite, of_demand
from bench.logs.sites.workload import NEVER, demand
from tests.sites.judged import planted_rules

BUDGET_S: Final = 1_000.0
WHOLE: Final = Period("all", 0, NEVER)

RELAXED: Final = Traffic(load=(0.55, 0.65))
SIX: Final = (TrueRule(6),)
KNOWN: Final[Mapping[str, SiteKind]] = {
    "strict": SiteKind(strict=True, traffic=RELAXED),
    "strict, limit of jobs": SiteKind(strict=True, traffic=RELAXED, rules=SIX),
    "limit of jobs": SiteKind(rules=SIX),
    "limit of jobs of an account": SiteKind(rules=(TrueRule(12, per="account"),)),
    "limit of jobs, a pass each 300 s": SiteKind(interval_s=300, rules=SIX),
    "limit of jobs, latency": SiteKind(latency_s=(20, 120), rules=SIX),
    "limit of jobs, drains": SiteKind(drains=DrainPlan(), rules=SIX),
    "limit of jobs, conservative": SiteKind(reservations=None, rules=SIX),
}
"""Kinds whose policy and limits are configured for advice."""
UNKNOWN: Final[Mapping[str, SiteKind]] = {
    "holds": SiteKind(holds=(HELD,)),
    "fairshare": SiteKind(fairshare=True),
    "node classes": SiteKind(classes=TWO_CLASSES),
    "two partitions merged": SiteKind(classes=TWO_CLASSES, separate=True),
}
"""Kinds that do not decide as the policy that is configured."""


class Promise(NamedTuple):
    """A change that is advised, or would be if others did not save more."""

    change: str
    promised_s: int
    """Mean gain of the jobs that advice counts; negative: they lose."""
    lower_s: int
    upper_s: int
    true_s: float
    """The same under the true scheduler."""

    @property
    def same_sign(self) -> bool:
        """Whether the jobs gain under the true scheduler, too."""
        return (self.promised_s > 0) == (self.true_s > 0)

    @property
    def inside(self) -> bool:
        """Whether the stated interval contains the true gain."""
        return self.lower_s <= self.true_s <= self.upper_s


class Advised(NamedTuple):
    """The advice for one site."""

    agreement: float | None
    figures: int
    """Number of changes of which a gain is stated."""
    compared: tuple[Promise, ...]


def advised(kind: SiteKind, *seed: int) -> Advised:
    """Return the advice for the site of a kind and a seed, compared with the true scheduler."""
    random = np.random.Generator(np.random.PCG64(seed))
    asked = within_limits(kind, demand(kind, random))

    def under(changed: SiteKind) -> TrueSite:
        return of_demand(changed, asked, copy.deepcopy(random))

    site = under(kind)
    today = Scenario(site.jobs, known_pool(site), site.now)
    agreement = replayed_agreement(today, NOT_HOLDING)
    made = advise(today, WHOLE, BUDGET_S, seed[0], agreement=agreement).changes
    after = {one.change: one.after.pool for one in candidates(today)}
    told = made.filter(pl.col("outcome") == Judgement.supported.value)
    compared = [
        Promise(
            *(row["change"], row["gain_s"], row["gain_lower_s"], row["gain_upper_s"]),
            true_gain(site, under(changed), row["dimension"], row["dimension_value"]),
        )
        for row in told.iter_rows(named=True)
        if (changed := true_kind(kind, today.pool, after[row["change"]])) is not None
    ]
    return Advised(agreement, made.height - made["gain_s"].null_count(), tuple(compared))


def known_pool(site: TrueSite) -> Pool:
    """Return the pool with the policy and the limits that its site is known to have."""
    kind = site.kind
    backfill = {0: Backfill.no_guarantee, 1: Backfill.easy}.get(
        -1 if kind.reservations is None else kind.reservations, Backfill.conservative_replan
    )
    policy = Policy(
        Order.fcfs, Backfill.none if kind.strict else backfill, interval_s=kind.interval_s or None
    )
    return site.pool._replace(policy=policy, limits=_limits(kind))


def true_kind(kind: SiteKind, today: Pool, after: Pool) -> SiteKind | None:
    """Return a kind whose scheduler decides as a changed pool does; None: there is none.

    The true scheduler knows no change of walltimes, and no limit that exempts wide jobs.
    """
    if after._replace(policy=today.policy, limits=today.limits) != today or after == today:
        return None
    rules = [_true_rule(limit) for limit in after.limits]
    reservations: dict[Backfill, Any] = {
        Backfill.none: kind.reservations,
        Backfill.no_guarantee: 0,
        Backfill.easy: 1,
        Backfill.conservative_replan: after.policy.reservations,
    }
    if None in rules or after.policy.depth is not None:
        return None
    return replace(
        kind,
        strict=after.policy.backfill is Backfill.none,
        reservations=reservations[after.policy.backfill],
        interval_s=after.policy.interval_s or 0,
        rules=tuple(rule for rule in rules if rule is not None),
    )


def _limits(kind: SiteKind) -> tuple[Limit, ...]:
    return tuple(rule for rule in planted_rules(kind) if isinstance(rule, Limit))


def _true_rule(limit: Limit) -> TrueRule | None:
    if limit.per is None or limit.per == "job":
        return None
    rule = TrueRule(limit.most, "jobs" if limit.resource is None else "cpus", limit.per)
    return rule if _limits(SiteKind(rules=(rule,))) == (limit,) else None


def true_gain(today: TrueSite, after: TrueSite, dimension: str, value: str | None) -> float:
    """Return by how much shorter jobs wait on average that start on both sites, s."""
    both = today.jobs.join(after.jobs.select("job_id", later="wait_s"), on="job_id")
    both = both.drop_nulls(["wait_s", "later"])
    if dimension != "all":
        both = both.filter(pl.col(dimension) == value)
    return float(both.select((pl.col("wait_s") - pl.col("later")).mean()).item())
