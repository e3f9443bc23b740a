"""Agreement: against the slow twin, what may be said, and public and made logs (SPEC §10)."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from audit.metrics.attempts.fidelity import MaySay
from audit.model import Backfill, Limit, Order, Policy
from audit.oneoff.explain.explain import charged
from audit.scenario.delivered.agreement import (
    KnownRule,
    agreement,
    agreement_on_nodes,
    known_policy,
    rule_of,
)
from audit.scenario.delivered.candidates import KEPT, SiteRule, candidates
from audit.scenario.delivered.comparing import MOST, delivered_capacity
from audit.scenario.delivered.observed import observed_turns
from audit.scenario.scenario import Scenario
from bench.modern.captured import CAPTURES, Capture
from bench.modern.record import CLUSTERS
from tests.examples import examples
from tests.metrics.attempts.test_real_logs import described
from tests.naive import delivered as slow
from tests.scenario.delivered.made import made_site, rules, scenario_of, site_of, sites, slow_rule
from tests.strategies import EPOCH

EASY = SiteRule(Policy())
ONE = site_of((0, 1, 10, 10, 1, 0))
"""One job."""


def real(real_logs: Path, name: str) -> Scenario:
    """Return a public log, of attempts that ran."""
    attempts, pool = described(real_logs, name)
    ran = attempts.filter(pl.col("occupancy_s") > 0, pl.col("size") > 0)
    return Scenario(ran, pool, int(ran["end_time"].to_numpy().max()))


@settings(max_examples=examples(150))
@given(sites(), rules())
def test_capacity_as_defined(site: slow.Site, rule: SiteRule) -> None:
    scenario = scenario_of(site)
    turns = observed_turns(scenario)
    at = slow.instants(site)
    assert (turns.instants - EPOCH).tolist() == (at if site.jobs else [])
    for cautious in (False, True):
        found = delivered_capacity(scenario, turns, rule, cautious=cautious)
        want = [slow.capacity_at(site, slow_rule(rule, cautious), t) for t in at]
        assert found.tolist() == (want if site.jobs else [])


@settings(max_examples=examples(150))
@given(sites(), rules().filter(lambda rule: not rule.kept))
def test_agreement_as_defined(site: slow.Site, rule: SiteRule) -> None:
    found = agreement(scenario_of(site), [rule])
    common, seen, wrong = slow.agreement(site, slow_rule(rule))
    assert found.select("common", "observed", "wrong").row(0) == (common, seen, wrong)
    share = found["agreement"].item()
    assert share == (pytest.approx(common / (seen + wrong)) if seen + wrong else None)


def test_delivered_capacity_by_hand() -> None:
    rows = [(0, 10, 100, 100, 1, 0), (1, 4, 50, 50, 2, 300), (2, 4, 50, 50, 3, 100)]
    scenario = scenario_of(site_of(*rows, (3, 6, 200, 200, 4, 100)))
    turns = observed_turns(scenario)
    found = delivered_capacity(scenario, turns, KEPT)
    by_instant = dict(zip((turns.instants - EPOCH).tolist(), found.tolist(), strict=True))
    assert by_instant == {0: 10, 1: 10, 2: 10, 3: 10, 100: 10, 150: 9, 300: 10, 350: 10}


def test_instants_are_spread_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audit.scenario.delivered.comparing.MOST_INSTANTS", 3)
    site = site_of(*((k, 10, 100, 100, k, 100 * k) for k in range(8)))
    found = agreement(scenario_of(site), [EASY]).row(0, named=True)
    # at 0 nothing else waits yet; at 700 nothing waits any more
    assert (found["instants"], found["judged"]) == (6, 3)
    of_some = slow.agreement(site, slow.Rule(), lambda t: t in (100, 300, 500))
    assert (found["common"], found["observed"], found["wrong"]) == of_some


def test_limits_of_the_pool_are_in_force() -> None:
    # The limit of one job for each user, not a lack of capacity, keeps the second job waiting.
    site = site_of((0, 2, 100, 100, 1, 0), (1, 2, 100, 100, 1, 100), (2, 2, 50, 50, 2, 2))
    limited = scenario_of(site, limits=(Limit(per="user", most=1),))
    for scenario, capacity in ((scenario_of(site), [3, 5]), (limited, [10, 10])):
        turns = observed_turns(scenario)
        assert delivered_capacity(scenario, turns, EASY)[1:3].tolist() == capacity


def test_candidates_of_equal_agreement_come_in_order() -> None:
    scenario = scenario_of(ONE, Policy(Order.lxf, Backfill.conservative))
    found = agreement(scenario)
    assert found["agreement"].is_null().all()
    assert rule_of(scenario, found) == KnownRule(KEPT, None)
    named = [(rule.policy.name, rule.own_peak) for rule in candidates(scenario)]
    plain = [
        *("lxf-conservative_replan", "fcfs-none", "fcfs-easy", "sjf-easy", "lxf-easy"),
        *("fcfs-conservative_replan", "fcfs-no_guarantee", "sjf-no_guarantee"),
    ]
    recorded = ["recorded-easy", "recorded-conservative_replan"]
    assert [name for name, own in named if not own] == [*plain, *recorded]
    assert [name for name, own in named if own] == [*plain, *recorded]
    tied = found.with_columns(agreement=pl.lit(0.9))
    assert rule_of(scenario, tied).rule == candidates(scenario)[0]


@pytest.mark.parametrize(
    ("best", "kept", "free", "say"),
    [
        (0.98, False, True, MaySay.POOL_AND_USERS),
        (0.65, False, False, MaySay.POOL_AND_USERS),
        (0.64, True, False, MaySay.PROBABLY),
        (0.3, True, False, MaySay.PROBABLY),
        (0.29, True, False, MaySay.POOL),
    ],
)
def test_what_may_be_stated(best: float, kept: bool, free: bool, say: MaySay) -> None:
    scenario = scenario_of(ONE)
    shares = np.zeros(len(candidates(scenario)))
    shares[1] = best
    found = agreement(scenario).with_columns(agreement=pl.Series(shares))
    known = rule_of(scenario, found)
    assert (known.rule.kept, known.free, known.may_say) == (kept, free, say)
    assert known.agreement == best


# --- real logs, and recorded ones


@pytest.mark.parametrize(
    ("policy", "own_peak", "share"),
    [
        ("fcfs-easy", False, 0.0665),
        ("fcfs-conservative_replan", False, 0.0733),
        ("sjf-easy", False, 0.2294),
        ("sjf-no_guarantee", True, 0.2319),
    ],
)
def test_kth_as_in_the_specification(
    real_logs: Path, monkeypatch: pytest.MonkeyPatch, policy: str, own_peak: bool, share: float
) -> None:
    monkeypatch.setattr("audit.scenario.delivered.comparing.MOST_INSTANTS", 10**9)
    scenario = real(real_logs, "KTH-SP2-1996-2.1-cln")
    (rule,) = (
        each
        for each in candidates(scenario)
        if each.policy.name == policy and each.own_peak == own_peak
    )
    found = agreement(scenario, [rule]).row(0, named=True)
    assert found["observed"] == 17_279
    assert round(found["agreement"], 4) == share


def test_the_rule_of_made_sites_is_found(real_logs: Path) -> None:
    folder = real_logs / "delivered"
    for name, rule, least in (
        ("kth_T1", "fcfs-easy", 1.0),
        ("kth_T7", "fcfs-conservative_replan", 1.0),
        ("lanl_T7", "fcfs-conservative_replan", 1.0),
        ("kth_T8", "fcfs-easy, own peak", 0.98),
        ("kth_T12", "sjf-easy", 0.98),
        ("kth_T15", "kept order", 0.0),
    ):
        scenario = made_site(folder, name).scenario
        known = rule_of(scenario, agreement(scenario))
        assert known.rule.name == rule
        assert known.agreement is not None
        assert known.agreement >= least


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "least"), [*zip(CLUSTERS, (0.57, 0.59), strict=True)])
def test_agreement_by_nodes_of_a_modern_cluster(name: str, least: float, tmp_path: Path) -> None:
    log = Capture(CAPTURES / name).site(tmp_path)
    (pool,) = log.setting.pools
    described, ranked = charged(log, pool, tmp_path)
    scenario = Scenario(described, pool, log.setting.now, ranked)
    orders = [rule.policy.order for rule in candidates(scenario)]
    assert {Order.recorded, Order.multifactor} <= {*orders}
    own = agreement_on_nodes(scenario, pool.policy)
    assert own is not None
    assert own >= least
    for other in (Policy(), Policy(Order.recorded), Policy(Order.sjf)):
        found = agreement_on_nodes(scenario, other)
        assert found is not None
        assert found < own - 0.3


def test_sums_have_no_agreement_by_nodes() -> None:
    assert agreement_on_nodes(scenario_of(ONE), Policy()) is None
    assert MOST.policy.backfill is Backfill.no_guarantee


def compared_to(shares: dict[tuple[str, str, bool], float | None], own: Policy) -> Policy | None:
    """Return the known policy where candidates of a site have these agreements, others 0."""
    scenario = scenario_of(ONE, own)
    found = agreement(scenario)
    rows = found.select("order", "backfill", "own_peak").rows()
    given = pl.Series([shares.get(row, 0.0) for row in rows], dtype=pl.Float64)
    return known_policy(scenario, found.with_columns(agreement=given))


SJF = Policy(Order.sjf, Backfill.easy)


@pytest.mark.parametrize(
    ("shares", "own", "policy"),
    [
        ({("sjf", "easy", False): 0.7}, Policy(), SJF),
        ({("sjf", "easy", True): 0.7}, Policy(), SJF),
        ({("sjf", "easy", False): 0.64}, Policy(), None),
        ({("sjf", "easy", False): 0.7}, Policy(interval_s=60), SJF._replace(interval_s=60)),
        # 0.7 does not exceed 0.695 by 0.01
        ({("sjf", "easy", False): 0.7, ("fcfs", "easy", False): 0.695}, Policy(), Policy()),
        ({("sjf", "easy", False): 0.655, ("fcfs", "easy", False): 0.649}, Policy(), None),
        ({("fcfs", "easy", False): 0.7}, Policy(depth=5), Policy(depth=5)),
        ({("fcfs", "conservative_replan", False): 0.7}, Policy(backfill=Backfill.conservative),
         Policy(backfill=Backfill.conservative)),
    ],
)  # fmt: skip
def test_the_policy_of_replays(
    shares: dict[tuple[str, str, bool], float | None], own: Policy, policy: Policy | None
) -> None:
    assert compared_to(shares, own) == policy
