"""The content of logs as facts and settings of their pools."""

from dataclasses import replace
from pathlib import Path

import pytest

from audit.cluster import fitted
from audit.cluster.rules import rules_of
from audit.model import Limit, Window
from audit.pipeline.shown import look, shown
from audit.scenario.plateaus import search
from audit.scenario.plateaus.capacity import CapacityBelow
from audit.scenario.plateaus.entities import Family
from audit.scenario.plateaus.search import plateau_search
from audit.scenario.releases.holds import Holding
from bench.logs.sites.kinds import TrueRule
from bench.logs.sites.planted import SITE, WITHOUT
from bench.logs.sites.site import made as made_site
from tests.metrics.attempts.test_real_logs import described
from tests.scenario.releases.test_chains import ALL, attempts, chain_of
from tests.scenario.windows.sites import CPUS, Planted, made


def of(planted: Planted) -> fitted.Fitted:
    log, pool = made(planted, 1)
    ends = log["end_time"].drop_nulls().to_list()
    return shown(log, pool, max(ends), min(ends))


def test_a_rule_of_the_site_is_in_force_with_its_evidence() -> None:
    found = of(Planted(CPUS))
    assert found.pool.limits == (CPUS,)
    [fact] = found.facts
    assert (fact.what, fact.value) == ("limit 1 of 1", "limit of 64 CPUs per user")
    assert fact.source.startswith("the log: jobs stop at it ")
    assert fact.source.endswith(" times; 0 of 7,307 starts exceed it")
    [row] = found.shown.evidence
    assert (row["rule"], row["breaks"]) == (fact.value, 0)
    assert row["rule"] == "limit of 64 CPUs per user"
    assert (found.shown.holding.own, found.shown.holding.chained) == ((), ())


def test_a_limit_of_one_user_holds_and_is_no_rule() -> None:
    own = Limit(most=4, user=("u03",))
    found = of(Planted(own))
    assert found.pool.limits == ()
    assert found.shown.holding.own == (own,)
    [fact] = found.facts
    assert (fact.what, fact.value) == ("limit of user 'u03'", "4 running jobs in total")
    assert "the log does not say which" in fact.source
    hold, *triggered = found.shown.holds
    assert (hold["kind"], hold["entity"]) == ("own limit", "u03")
    assert hold["evidence"].startswith("limit of 4 running jobs in total: ")
    assert {one["kind"] for one in triggered} == {"own-triggered"}
    assert "u03" in {one["entity"] for one in triggered}
    assert found.shown.holding.triggered == tuple(one["entity"] for one in triggered)
    assert "u03" in found.shown.holding.by_own_ends


def test_a_capacity_below_the_declared_one_is_in_force() -> None:
    found = of(Planted(Limit(most=148, resource="cpus")))
    assert (found.pool.capacity, found.pool.amounts) == (148, (("cpus", 148),))
    [fact] = found.facts
    assert (fact.what, fact.value) == ("capacity in force", "148 CPUs of 152 CPUs")


def test_a_capacity_of_all_but_a_small_partition_is_a_rule_that_was_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    below = CapacityBelow(Family(None, without="debug"), 148, 152, 900, 3, 12, 60)
    monkeypatch.setattr(search, "capacity_below", lambda *_: below)
    found = of(Planted(days=21, a_day=20))
    (row, *_) = found.shown.evidence
    name = "limit of 148 CPUs in total for jobs in partition batch"
    assert row == {"rule": name, "breaks": 3, "stops": 900}
    (of_pool, *_) = rules_of(found.pool, found.shown.evidence).iter_rows(named=True)
    assert (of_pool["rule"], of_pool["source"]) == (name, "inferred")


def test_a_chain_holds() -> None:
    log = attempts(chain_of(12, 30))
    found = shown(log, ALL, int(log["end_time"].max()), 0)  # type: ignore[arg-type]
    assert found.shown.holding == Holding(chained=("ann",))
    [fact] = found.facts
    assert (fact.what, fact.value) == ("chain of user 'ann'", "11 jobs")
    assert fact.source.startswith(
        "the log: 100 % of 11 jobs for which enough was free start when the user's"
    )


@pytest.mark.thorough
def test_many_chains_are_no_limit() -> None:
    """While most users who wait in a partition or QOS have chains, they run one job at a time."""
    site = made_site(WITHOUT["chains"].shorter(30), 6, *b"chains")
    begin = min(site.jobs["end_time"].drop_nulls().to_list())
    assert plateau_search(site.jobs, site.pool, site.now, begin).found().limits != ()
    found = look(site.jobs, site.pool, site.now, begin)
    assert found.plateaus.limits == ()
    assert {one.user for one in found.chains} == site.tied


@pytest.mark.thorough
def test_one_job_for_every_user_is_a_limit() -> None:
    """Their jobs start when the user's previous one ends, as those of chains would."""
    site = made_site(replace(SITE, rules=(TrueRule(1),)).shorter(10), 0)
    begin = min(site.jobs["end_time"].drop_nulls().to_list())
    found = look(site.jobs, site.pool, site.now, begin)
    assert found.plateaus.limits == (Limit(most=1, per="user"),)
    assert found.chains == ()


@pytest.mark.parametrize("rule", [None, Window(hours=(8, 9), size_above=8)])
def test_without_limits_nothing_changes(rule: Window | None) -> None:
    found = of(Planted(rule))
    assert (found.facts, found.shown.evidence, found.shown.holds) == ((), [], [])


@pytest.mark.parametrize("name", ["KTH-SP2-1996-2.1-cln", "UniLu-Gaia-2014-1"])
def test_public_logs_have_no_rule_of_the_site(real_logs: Path, name: str) -> None:
    log, pool = described(real_logs, name)
    ends = log.drop_nulls("start_time")["end_time"].drop_nulls().to_list()
    found = shown(log, pool._replace(zone="Etc/GMT-1"), max(ends), min(ends))
    assert found.pool.limits == ()
    assert found.shown.holding.own == ()
