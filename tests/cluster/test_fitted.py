"""Inferred policies and rules, and how a run stores them."""

import json
from dataclasses import replace
from zoneinfo import ZoneInfo

from audit import config
from audit.cluster import fitted
from audit.cluster.fitted import Fitted
from audit.cluster.inference import Fact
from audit.cluster.setting import Setting
from audit.model import Limit, Policy, Pool, Window
from audit.policies import Backfill, Order
from audit.words import Resource

POOLS = tuple(Pool(name, Resource.cpus, 8) for name in ("a", "b"))
SETTING = Setting("c", ZoneInfo("UTC"), POOLS, {}, 0, (Fact("cluster", "c", "its name"),), ())
RULED = POOLS[1]._replace(
    policy=Policy(Order.sjf, Backfill.easy, depth=4),
    limits=(
        Limit(most=2, resource="cpus", per="user", partition=("p", "q"), exempt_qos=("high",)),
    ),
    windows=(Window(hours=(3, 4), size_above=5),),
    zone="Europe/Berlin",
    states_backfill=True,
)


def test_pools_without_a_configured_policy() -> None:
    assert fitted.silent(SETTING, None) == list(POOLS)
    late = config.Pool.model_validate({"name": "b", "partitions": ("b",), "backfill": "none"})
    site = config.Cluster(name="c", pools=(config.Pool(name="a"), late))
    assert fitted.silent(SETTING, site) == [POOLS[0]]


def test_inferred_policies_replace_assumed_ones() -> None:
    before = replace(SETTING, facts=(*SETTING.facts, Fact("policy", "fcfs-easy", "the default")))
    found = Fitted(RULED, (Fact("policy", "sjf-easy", "the log"),), {})
    after = fitted.assuming(before, [found])
    assert after.pools == (POOLS[0], RULED)
    assert [fact.what for fact in after.facts] == ["cluster", "policy of pool 'b'"]
    assert fitted.assuming(before, []) == before


def test_a_run_stores_what_it_assumed() -> None:
    found = Fitted(RULED, (), {"days": 30})
    kept = json.loads(json.dumps(fitted.in_force([found])))
    assert kept["b"]["days"] == 30
    assert fitted.again(SETTING, kept).pools == (POOLS[0], RULED)
