"""Rules in force in the pools of a log: configured ones, and those that the log shows (SPEC §11).

Every command takes it from here; what the log shows of windows and the policy is returned as facts.
A database has what was inferred when its figures were computed.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from audit.cluster import charges, fairshare, fitted, ranking
from audit.cluster.delivered import held_until
from audit.cluster.fairshare import FairshareInputs
from audit.cluster.fitted import Fitted
from audit.cluster.inference import Fact, RuleFact
from audit.cluster.setting import ClusterSettings, PoolInference
from audit.metrics.attempts import population
from audit.metrics.attempts.fidelity import KNOWN
from audit.metrics.attempts.opportunities import passes_shown
from audit.metrics.waits.plan import STRICT
from audit.model import Backfill, Policy, Pool
from audit.on_disk import on_disk, release
from audit.pipeline.opening import ClusterLog
from audit.pipeline.shown import shown
from audit.progress import OnProgress, silent
from audit.report import wording
from audit.rule_text import rule_text
from audit.scenario.delivered.agreement import agreement, known_policy
from audit.scenario.delivered.candidates import SiteRule, candidates
from audit.scenario.ownership import EQUAL_SHARES
from audit.scenario.releases.holds import Holding, inferred_holds
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


def decided(scenario: Scenario, holding: Holding, log_begin: int | None, *, silent: bool) -> Fitted:
    """Return a pool with the windows that its log shows, and the policy if it shows a known rule.

    Args:
        scenario: of ``compared_with``; with the limits in force.
        holding: the users whose jobs were held.
        log_begin: epoch s; None: with the first end of a started attempt.
        silent: whether the policy of the pool is not configured.
    """
    scenario = scenario.to_compare()
    pool = scenario.pool
    holds = inferred_holds(scenario.attempts, pool, scenario.now, holding)
    until = held_until(scenario.attempts, pool, holds)
    found = find_windows(scenario, until, holds=holds, log_begin=log_begin)
    facts = list(_windows(found.accepted, pool))
    rows = [_row(one, pool) for one in found.accepted]
    after = found.pool
    if after is not pool:
        scenario = scenario.but(pool=after)
    compared = found.compared
    if compared is None:
        compared = agreement(scenario, held_until=until)
    rules = zip(candidates(scenario), compared.rows(), strict=True)
    if silent:
        policy = policy_shown(scenario, compared, holds, log_begin)
        facts.insert(0, _policy(after, compared, known=policy is not None))
        if policy is not None:
            after = after._replace(policy=policy)
            facts[0] = RuleFact("policy", policy.name, facts[0].source)
    by_rule = {(rule.policy, rule.own_peak): row for rule, row in rules}
    return Fitted(after, tuple(facts), PoolInference(rows, holding=holding, compared=by_rule))


def policy_shown(
    scenario: Scenario, compared: pl.DataFrame, holds: pl.DataFrame, log_begin: int | None
) -> Policy | None:
    """Return the policy that a log shows, by which replays start attempts; None: none is known.

    Without backfilling, whatever is free is too little for the delivered capacity of SPEC §10, so
    every backfilling agrees equally. A strict queue (SPEC §11) then tells that there is none.

    Args:
        compared: ``agreement`` of the candidates of the scenario.
        holds: inferred ones, columns of ``reasons.NO_HOLDS``.
        log_begin: as of ``decided``.
    """
    policy = known_policy(scenario, compared)
    if policy is None:
        return None
    found = dict(zip(candidates(scenario), compared["agreement"], strict=True))
    none = Policy(backfill=Backfill.none)
    share = found[SiteRule(none)]
    if share is None or share < max(one for one in found.values() if one is not None):
        return policy
    of = scenario.attempts, scenario.pool, scenario.now
    passes = passes_shown(*of, log_begin=log_begin, holds=holds)
    if passes.plan != STRICT:
        return policy
    return scenario.pool.policy.changed(order=none.order, backfill=none.backfill)


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
    found = one.found
    breaks = "breaks it" if found.breaks == 1 else "break it"
    times = wording.plural(found.withheld, "time")
    return (
        f"{found.breaks:,} of {wording.plural(one.starts, 'start')} {breaks}, and it alone kept a "
        f"job from starting {times}"
    )


def _row(one: InferredWindow, pool: Pool) -> dict[str, Any]:
    """Return a window as a row of the view ``rules``."""
    return {
        "rule": rule_text(one.window, pool.resource.value, one.zone),
        "starts": one.starts,
        "breaks": one.found.breaks,
        "stops": one.found.withheld,
    }


DAYS: Final = 400
"""The days of the log before the end of a period from which a run infers."""
SPAN_S: Final = DAYS * 86_400
UNCHARGED: Final = fairshare.of_site(None, Path())
"""How usage is charged where nothing is configured."""


def inferred(
    described: pl.DataFrame,
    setting: ClusterSettings,
    usage: FairshareInputs = UNCHARGED,
    silent: Collection[Pool] = (),
    on_progress: OnProgress = silent,
) -> list[Fitted]:
    """Return what the log shows of each pool that has attempts.

    Args:
        described: columns of ``model.DESCRIBED``.
        setting: its ``now`` and its ``log`` bound what is read.
        usage: how usage is charged.
        silent: the pools whose policy is not configured.
    """
    found = []
    for number, pool in enumerate(setting.pools):
        on_progress("inferring rules", number, len(setting.pools))
        if (described["pool"] == pool.name).any():
            one = shown(described, pool, setting.now, setting.log.from_time)
            release()
            scenario = compared_with(described, one.pool, setting, usage)
            held, begin = one.shown.holding, setting.log_begin
            found.append(one.then(decided(scenario, held, begin, silent=pool in silent)))
    on_progress("inferring rules", len(setting.pools), len(setting.pools))
    return found


def in_force(
    log: ClusterLog,
    on_progress: OnProgress = silent,
    folder: Path = Path(),
    only: Collection[str] | None = None,
    *,
    fit: bool = True,
) -> ClusterLog:
    """Return a log whose setting has what its pools show; without ``fit``, what is configured.

    Args:
        folder: that of the configuration.
        only: names of the pools that are needed; None: all.
    """
    setting = log.setting
    if not fit:
        return replace(log, setting=fitted.assuming(setting, fitted.nothing(setting)))
    named = [pool for pool in setting.pools if only is None or pool.name in only]
    usage = fairshare.of_site(log.cluster, folder)
    silent = fitted.silent(setting, log.cluster)
    of_these = replace(setting, pools=tuple(named))
    found = inferred(log.described, of_these, usage, silent, on_progress)
    return replace(log, setting=fitted.assuming(setting, found))


def of_period(
    attempts: pl.DataFrame,
    setting: ClusterSettings,
    to_time: int,
    usage: FairshareInputs = UNCHARGED,
    silent: Collection[Pool] = (),
    folder: Path | None = None,
) -> list[Fitted]:
    """Return what the log shows up to the end of a period, of each pool that has attempts.

    The log is that of the ``DAYS`` before ``to_time``. Nothing that came later matters: what ended
    later was running or pending. So a closed period keeps what was inferred, whatever follows.

    Args:
        attempts: columns of ``model.ATTEMPTS``; at least those of the span.
        setting: as configured.
        to_time: epoch s.
        usage: how usage is charged.
        silent: the pools whose policy is not configured.
        folder: for temporary files of long tables; None: they stay in memory.
    """
    now = min(setting.now, to_time)
    begin = max(setting.log.from_time, to_time - SPAN_S)
    setting = replace(setting, now=now, log_begin=min(begin, now))
    described = population.describe(
        population.as_of(attempts, to_time - SPAN_S, to_time), setting.pools, setting.partition_pool
    )
    del attempts  # before more is made
    described = on_disk(population.compact(described), folder)
    release()
    found = inferred(described, setting, usage, silent)
    return [_with_passes(one, described, setting) for one in found]


def _with_passes(one: Fitted, described: pl.DataFrame, setting: ClusterSettings) -> Fitted:
    """Return what was inferred of a pool with the passes of its scheduler."""
    pool, now = one.pool, setting.now
    of_pool = population.only(described, pl.col("pool") == pool.name)
    passes = passes_shown(
        *(of_pool, pool, now),
        log_begin=setting.log_begin,
        holds=inferred_holds(of_pool, pool, now, one.shown.holding),
    )
    return one._replace(shown=one.shown._replace(passes=passes))
