"""Inferred policies and rules, and how a run stores them."""

import json
from dataclasses import replace
from zoneinfo import ZoneInfo

import pytest

from audit import config
from audit.cluster import fitted
from audit.cluster.fitted import Fitted
from audit.cluster.inference import Fact
from audit.cluster.setting import ClusterSettings, PoolInference
from audit.metrics.waits.plan import Passes
from audit.metrics.waits.walk import Plan, Starts
from audit.model import Limit, Policy, Pool, Window
from audit.policies import Backfill, Order
from audit.scenario.releases.holds import NOT_HOLDING, Holding
from audit.words import Resource

POOLS = tuple(Pool(name, Resource.cpus, 8) for name in ("a", "b"))
SETTING = ClusterSettings(
    "c", ZoneInfo("UTC"), POOLS, {}, 0, (Fact("cluster", "c", "its name"),), ()
)
RULED = POOLS[1]._replace(
    policy=Policy(Order.sjf, Backfill.easy, depth=4),
    limits=(
        Limit(most=2, resource="cpus", per="user", partition=("p", "q"), exempt_qos=("high",)),
    ),
    windows=(Window(hours=(3, 4), size_above=5),),
    zone="Europe/Berlin",
)


def test_pools_without_a_configured_policy() -> None:
    assert fitted.silent(SETTING, None) == list(POOLS)
    late = config.PoolConfig.model_validate({"name": "b", "partitions": ("b",), "backfill": "none"})
    site = config.Cluster(name="c", pools=(config.PoolConfig(name="a"), late))
    assert fitted.silent(SETTING, site) == [POOLS[0]]


def test_inferred_policies_replace_assumed_ones() -> None:
    before = replace(SETTING, facts=(*SETTING.facts, Fact("policy", "fcfs-easy", "the default")))
    found = Fitted(RULED, (Fact("policy", "sjf-easy", "the log"),))
    after = fitted.assuming(before, [found])
    assert after.pools == (POOLS[0], RULED)
    assert [fact.what for fact in after.facts] == ["cluster", "policy of pool 'b'"]
    assert fitted.assuming(before, []) == before


SHOWN = Fitted(
    RULED._replace(capacity=6, amounts=(("cpus", 6),)),
    (Fact("limit 1 of 1", "2 CPUs", "the log"),),
    PoolInference(
        [{"rule": "two CPUs"}],
        [{"kind": "chain"}],
        Holding((Limit(most=4, user=("ann",)),), ("bob",)),
        Passes(Plan(20), Starts(9, 8, 7, 6, 5, 4, 3), 60),
    ),
)


def test_a_run_stores_what_it_inferred() -> None:
    kept = json.loads(json.dumps(fitted.in_force(SETTING, [SHOWN])))
    assert kept["b"]["says"] == ["Two CPUs"]
    assert fitted.again(SETTING, kept) == fitted.assuming(SETTING, [SHOWN])
    assert fitted.again(SETTING, kept).pools == (POOLS[0], SHOWN.pool)


def test_what_is_inferred_stands_beside_what_is_configured() -> None:
    """Configured rules are not stored, so that others may be configured later."""
    configured = Limit(most=9, resource="cpus", per="account")
    found = SHOWN._replace(pool=SHOWN.pool._replace(limits=(configured, *RULED.limits)))
    before = replace(SETTING, pools=(POOLS[0], POOLS[1]._replace(limits=(configured,))))
    kept = fitted.in_force(before, [found])
    assert fitted.again(before, kept).pools[1].limits == (configured, *RULED.limits)
    assert fitted.again(SETTING, kept).pools[1].limits == RULED.limits


def test_what_another_version_stored_is_refused() -> None:
    kept = {"b": {"rules": {"odd": 1}, "facts": []}}
    with pytest.raises(ValueError, match="odd"):
        fitted.again(SETTING, kept)


def test_settings_are_alike_unless_figures_of_attempts_differ() -> None:
    one = fitted.assuming(SETTING, [SHOWN])
    shown = SHOWN.shown
    seen = shown.passes._replace(starts=Starts(*range(7)))  # type: ignore[union-attr]
    without = PoolInference(holding=shown.holding, passes=seen)
    evidence = fitted.assuming(SETTING, [SHOWN._replace(facts=(), shown=without)])
    assert fitted.alike(one, evidence)
    for other in (
        SHOWN._replace(pool=POOLS[1]),
        SHOWN._replace(shown=shown._replace(holding=NOT_HOLDING)),
        SHOWN._replace(shown=shown._replace(passes=fitted.UNKNOWN)),
    ):
        assert not fitted.alike(one, fitted.assuming(SETTING, [other]))
