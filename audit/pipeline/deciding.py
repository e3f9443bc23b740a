"""The windows, and the policy, that the log of a pool shows (SPEC §10, §11), as facts."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from audit.cluster import charges, ranking
from audit.cluster.delivered import held_until
from audit.cluster.fairshare import FairshareInputs
from audit.cluster.fitted import Fitted
from audit.cluster.inference import Fact, RuleFact
from audit.cluster.setting import ClusterSettings
from audit.metrics.attempts import population
from audit.metrics.attempts.fidelity import KNOWN
from audit.model import Pool
from audit.report import wording
from audit.rule_text import rule_text
from audit.scenario.delivered.agreement import agreement, known_policy
from audit.scenario.delivered.candidates import candidates
from audit.scenario.ownership import EQUAL_SHARES
from audit.scenario.releases.holds import Holding
from audit.scenario.scenario import Scenario
from audit.scenario.windows.search import InferredWindow, find_windows

_INSTEAD = "--order and --backfill change it"


def compared_with(
    described: pl.DataFrame, pool: Pool, setting: ClusterSettings, usage: FairshareInputs
) -> Scenario:
    """Return a pool with all that its orders may be compared by.

    Args:
        described: columns of ``model.DESCRIBED``; attempts of other pools are left out.
        usage: how usage is charged.
    """
    ranked = ranking.of_candidates(
        usage, setting, ranking.of(usage, setting, [pool.policy], nearest_decay=True)
    )
    if ranked != EQUAL_SHARES:
        described = charges.charged(described, setting, usage)
    of_pool = population.only(described, pl.col("pool") == pool.name)
    return Scenario(of_pool, pool, setting.now, ranked)


def decided(scenario: Scenario, holding: Holding, *, silent: bool) -> Fitted:
    """Return a pool with the windows that its log shows, and the policy if it shows a known rule.

    Args:
        scenario: of ``compared_with``; with the limits in force.
        holding: the users whose jobs were held.
        silent: whether the policy of the pool is not configured.
    """
    pool = scenario.pool
    until = held_until(scenario.attempts, pool, scenario.now, holding)
    found = find_windows(scenario, until)
    facts = list(_windows(found.accepted, pool))
    rows = [_row(one, pool) for one in found.accepted]
    says = [f"{row['rule'][:1].upper()}{row['rule'][1:]}" for row in rows]
    after = found.pool
    scenario = scenario.but(pool=after)
    compared = found.compared
    if compared is None:
        compared = agreement(scenario, held_until=until)
    rules = zip(candidates(scenario), compared.rows(), strict=True)
    if silent:
        policy = known_policy(scenario, compared)
        facts.insert(0, _policy(after, compared, known=policy is not None))
        if policy is not None:
            after = after._replace(policy=policy)
            facts[0] = RuleFact("policy", policy.name, facts[0].source)
    return Fitted(
        *(after, tuple(facts), {"evidence": rows, "says": says}, holding),
        compared=tuple((rule.policy, rule.own_peak, row) for rule, row in rules),
    )


def _policy(pool: Pool, compared: pl.DataFrame, *, known: bool) -> Fact:
    best = compared.drop_nulls("agreement").sort("agreement", descending=True, maintain_order=True)
    if best.is_empty():
        why = f"the default: no start of the log can be compared with a policy; {_INSTEAD}"
        return RuleFact("policy", pool.policy.name, why)
    name, share = best.select("policy", "agreement").row(0)
    agrees = f"agrees with {wording.percent(share)} of the starts"
    if known:
        return RuleFact("policy", name, f"the log: it {agrees}; {_INSTEAD}")
    required = f"{wording.percent(KNOWN)} are required"
    why = f"the default: the best policy, {name}, {agrees}, and {required}; {_INSTEAD}"
    return RuleFact("policy", pool.policy.name, why)


def _windows(found: tuple[InferredWindow, ...], pool: Pool) -> Iterator[Fact]:
    for number, one in enumerate(found, 1):
        text = rule_text(one.window, pool.resource.value, one.zone)
        yield RuleFact(f"window {number} of {len(found)}", text, f"the log: {window_words(one)}")


def window_words(one: InferredWindow) -> str:
    """Return the evidence for a window."""
    breaks = "breaks it" if one.found.breaks == 1 else "break it"
    return (
        f"{one.found.breaks:,} of {wording.plural(one.starts, 'start')} {breaks}, and it alone "
        f"withheld {wording.plural(one.found.withheld, 'other')}"
    )


def _row(one: InferredWindow, pool: Pool) -> dict[str, Any]:
    """Return a window as a row of the view ``rules``."""
    return {
        "rule": rule_text(one.window, pool.resource.value, one.zone),
        "starts": one.starts,
        "breaks": one.found.breaks,
        "stops": one.found.withheld,
    }
