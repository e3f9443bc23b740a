"""Inference of pools from their log: rules, policies, who was held, and the plan."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pydantic import TypeAdapter

from audit import config
from audit.cluster.inference import Fact
from audit.cluster.setting import NOT_INFERRED, Agreement, ClusterSettings, PoolInference
from audit.metrics.waits.plan import Passes
from audit.model import Limit, Policy, Pool, Window
from audit.scenario.releases.holds import NOT_HOLDING, Holding

STATED = {"order", "backfill"}
"""Keys of a configured pool; with any of them its policy counts as configured."""


ComparedRule = tuple[Policy, bool, Agreement]
"""A policy as it is judged, whether with own peaks, and its agreement."""


class Fitted(NamedTuple):
    """A pool with its inferred policy and rules."""

    pool: Pool
    facts: tuple[Fact, ...]  # the assumptions, rule by rule, with their evidence
    shown: PoolInference = NOT_INFERRED

    def then(self, more: "Fitted") -> "Fitted":
        """Return what was inferred here and, from its pool, in ``more``."""
        evidence = (*self.shown.evidence, *more.shown.evidence)
        shown = self.shown._replace(evidence=evidence, compared=more.shown.compared)
        return Fitted(more.pool, (*more.facts, *self.facts), shown)


UNKNOWN: Final = Passes()
"""The passes where nothing is inferred."""


def nothing(setting: ClusterSettings) -> list[Fitted]:
    """Return that of no pool anything is inferred."""
    return [Fitted(pool, (), PoolInference(passes=UNKNOWN)) for pool in setting.pools]


class InferredRules(NamedTuple):
    """The inference about a pool beyond its configuration, as stored with a run."""

    limits: tuple[Limit, ...] = ()
    windows: tuple[Window, ...] = ()
    policy: Policy | None = None  # None, also of the others: as configured
    zone: str | None = None
    capacity: int | None = None
    holding: Holding = NOT_HOLDING
    passes: Passes | None = None
    compared: tuple[ComparedRule, ...] = ()

    @classmethod
    def of(cls, found: "Fitted", pool: Pool) -> "InferredRules":
        """Return what was inferred of a pool that is configured as ``pool``."""
        seen, shown = found.pool, found.shown
        changed = {
            name: getattr(seen, name)
            for name in ("policy", "zone", "capacity")
            if getattr(seen, name) != getattr(pool, name)
        }
        return cls(
            tuple(limit for limit in seen.limits if limit not in pool.limits),
            tuple(window for window in seen.windows if window not in pool.windows),
            holding=shown.holding,
            passes=shown.passes,
            compared=tuple((*rule, row) for rule, row in shown.compared.items()),
            **changed,
        )

    def on(self, pool: Pool) -> Pool:
        """Return a pool with these rules beside those of its configuration."""
        if self.capacity is not None:
            amounts = dict(pool.amounts) | {pool.resource.value: self.capacity}
            pool = pool._replace(capacity=self.capacity, amounts=tuple(amounts.items()))
        return pool._replace(
            limits=(*pool.limits, *(one for one in self.limits if one not in pool.limits)),
            windows=(*pool.windows, *(one for one in self.windows if one not in pool.windows)),
            policy=self.policy or pool.policy,
            zone=self.zone or pool.zone,
        )


_RULES: TypeAdapter[InferredRules] = TypeAdapter(InferredRules)
_FACTS: TypeAdapter[tuple[Fact, ...]] = TypeAdapter(tuple[Fact, ...])


def silent(setting: ClusterSettings, site: config.Cluster | None) -> list[Pool]:
    """Return the pools whose policy is not configured."""
    pools = () if site is None else site.pools
    stated = {pool.name for pool in pools if pool.model_fields_set & STATED}
    return [pool for pool in setting.pools if pool.name not in stated]


def assuming(setting: ClusterSettings, found: Sequence[Fitted]) -> ClusterSettings:
    """Return the setting with inferred policies and rules."""
    facts = list(setting.facts)
    if any(fact.what == "policy" for one in found for fact in one.facts):
        facts = [fact for fact in facts if fact.what != "policy"]
    for one in found:
        of = f" of pool {one.pool.name!r}" if len(setting.pools) > 1 else ""
        facts = [*facts, *(replace(fact, what=fact.what + of) for fact in one.facts)]
    changed = {one.pool.name: one.pool for one in found}
    return replace(
        setting,
        pools=tuple(changed.get(pool.name, pool) for pool in setting.pools),
        facts=tuple(facts),
        inferred={one.pool.name: one.shown for one in found},
    )


def alike(one: ClusterSettings, other: ClusterSettings) -> bool:
    """Return whether figures of attempts are the same under two settings of a cluster."""

    def decisive(setting: ClusterSettings) -> tuple[object, ...]:
        shown = {
            name: (of.holding, of.passes and of.passes._replace(starts=None))
            for name, of in setting.inferred.items()
        }
        return setting.pools, shown

    return decisive(one) == decisive(other)


def in_force(setting: ClusterSettings, found: Sequence[Fitted]) -> dict[str, Any]:
    """Return what was inferred, by pool, as stored with a run (JSON); ``says`` are rules in words.

    Args:
        setting: as configured, without what was inferred.
    """
    pools = {pool.name: pool for pool in setting.pools}
    return {
        one.pool.name: {
            "rules": _RULES.dump_python(InferredRules.of(one, pools[one.pool.name]), mode="json"),
            "facts": _FACTS.dump_python(one.facts, mode="json"),
            "evidence": one.shown.evidence,
            "holds": one.shown.holds,
            "says": [f"{row['rule'][:1].upper()}{row['rule'][1:]}" for row in one.shown.evidence],
        }
        for one in found
    }


def again(setting: ClusterSettings, kept: Mapping[str, Any]) -> ClusterSettings:
    """Return the setting with what ``in_force`` stored.

    Raises ValueError if another version stored it.
    """
    found = []
    for pool in setting.pools:
        if pool.name in kept:
            of = kept[pool.name]
            rules = _RULES.validate_json(json.dumps(of["rules"]))
            facts = _FACTS.validate_json(json.dumps(of["facts"]))
            evidence, holds = (of.get(name, ()) for name in ("evidence", "holds"))
            compared = {(policy, own): row for policy, own, row in rules.compared}
            shown = PoolInference(evidence, holds, rules.holding, rules.passes, compared)
            found.append(Fitted(rules.on(pool), facts, shown))
    return assuming(setting, found)
