"""Fair starts on delivered capacity: against the slow twin, by hand, and made sites (SPEC §10)."""

from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.metrics.attempts.population import describe
from audit.model import Backfill, FstStatus, Policy, Pool, Resource
from audit.scenario.delivered import fair_starts
from audit.scenario.delivered.agreement import KnownRule, agreement, rule_of
from audit.scenario.delivered.candidates import KEPT, SiteRule
from audit.scenario.delivered.fair_starts import delivered_starts, starts_without
from audit.scenario.scenario import Scenario
from tests.examples import examples
from tests.naive import delivered as slow
from tests.scenario.delivered.made import (
    MadeSite,
    made_site,
    names,
    require_as_defined,
    rules,
    scenario_of,
    site_of,
    sites,
    slow_rule,
)
from tests.scenario.delivered.test_agreement import real
from tests.strategies import EPOCH, ended, frame

OBSERVED = KnownRule(KEPT, 0.0)
EASY = SiteRule(Policy())
FIRST = site_of(
    (0, 6, 100, 200, 1, 0),
    (1, 4, 300, 300, 2, 1),
    (2, 6, 50, 60, 3, 300),
    (10, 4, 200, 200, 4, 100),
    (20, 2, 150, 150, 5, 100),
)
SECOND = site_of(
    (0, 10, 100, 100, 1, 0),
    (1, 4, 50, 50, 2, 300),
    (2, 4, 50, 50, 3, 100),
    (3, 6, 200, 200, 4, 100),
)


def starts(scenario: Scenario, known: KnownRule) -> list[int | None]:
    found = delivered_starts(scenario, known)["fst_delivered"] - EPOCH
    return found.to_list()


@settings(max_examples=examples(100))
@given(sites(), rules(), st.booleans(), st.sampled_from([0, 1, 6]))
def test_fair_starts_as_defined(site: slow.Site, rule: SiteRule, exact: bool, bits: int) -> None:
    known = KnownRule(rule, 0.99 if exact else 0.7)
    with patch.object(fair_starts, "_BLOCK_BITS", bits):
        made = delivered_starts(scenario_of(site), known)
    largest = site.capacity + max((change for _, change in site.steps), default=0)
    room = (max(largest, site.capacity), *site.others)
    too_large = {j for j, job in enumerate(site.jobs) if not slow.fits(job, room)}
    but = too_large if known.free else ()
    require_as_defined(made, site, rule, free=known.free, but=but)


@settings(max_examples=examples(50))
@given(
    sites(most=60),
    st.sampled_from([Backfill.none, Backfill.no_guarantee, Backfill.easy]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 3),
)
def test_runs_that_continue_the_last_are_those_of_each_attempt_alone(
    site: slow.Site, backfill: Backfill, own_peak: bool, exact: bool, bits: int
) -> None:
    """With a depth that no queue reaches, each attempt has a simulation of its own."""
    rule = SiteRule(Policy(backfill=backfill), own_peak)
    assert_depth_is_none(site, KnownRule(rule, 0.99 if exact else 0.7), bits)


def assert_depth_is_none(site: slow.Site, known: KnownRule, bits: int) -> None:
    """Compare with the fair starts by a rule with a depth that no queue reaches."""
    deep = known._replace(rule=known.rule._replace(policy=known.rule.policy._replace(depth=1_000)))
    with patch.object(fair_starts, "_BLOCK_BITS", bits):
        one, other = (delivered_starts(scenario_of(site), each) for each in (known, deep))
    assert one.drop("fst_rule").equals(other.drop("fst_rule"))


@settings(max_examples=examples(60))
@given(st.integers(0, 10_000), st.integers(0, 3), st.sampled_from([EASY, KEPT]))
def test_runs_of_many_attempts_are_those_of_each_attempt_alone(
    seed: int, bits: int, rule: SiteRule
) -> None:
    """Queues are read as far as passes come, and runs end with the last start that is needed."""
    random, count = np.random.Generator(np.random.PCG64(seed)), 120
    arrival = np.sort(random.integers(0, 1_500, count))
    start = arrival + random.integers(0, random.choice([40, 120]), count) * 10
    length, size = random.integers(1, 15, count) * 10, random.integers(1, 9, count)
    rows = zip(*(each.tolist() for each in (arrival, size, length, start)), strict=True)
    site = site_of(
        *(
            (at, wide, run, run + 50 * (j % 3), j % 4, begun)
            for j, (at, wide, run, begun) in enumerate(rows)
        )
    )
    assert_depth_is_none(site, KnownRule(rule, 0.99), bits)


@pytest.mark.parametrize("backfill", [Backfill.no_guarantee, Backfill.easy])
@pytest.mark.parametrize("share", [0.7, 0.99])
def test_rows_of_a_long_queue_that_cannot_start_are_skipped(
    backfill: Backfill, share: float
) -> None:
    """With a depth that no queue reaches, each attempt is looked at."""
    count, random = 2_600, np.random.Generator(np.random.PCG64(3))
    start, narrow = count + 10 * random.permutation(count), random.random(count) < 0.05
    narrow[:2_200] = False
    site = site_of(
        *(
            (j, 1 + 5 * wide, 10 + 30 * wide, 40, j % 5, int(start[j]))
            for j, wide in enumerate((~narrow).tolist())
        )
    )
    chosen, found = narrow & (random.random(count) < 0.3), []
    for depth in (None, 10_000):
        known = KnownRule(SiteRule(Policy(backfill=backfill, depth=depth)), share)
        made = delivered_starts(scenario_of(site), known, chosen=chosen).drop("fst_rule")
        found.append(made.filter(pl.Series(chosen)))
    assert found[0].equals(found[1])
    assert (found[0]["miss_delivered_s"] > found[0]["miss_cautious_s"]).any()


@settings(max_examples=examples(50))
@given(sites(), rules(), st.integers(0, 11))
def test_delays_by_one_user_as_defined(site: slow.Site, rule: SiteRule, j: int) -> None:
    if j >= len(site.jobs):
        return
    found = starts_without(scenario_of(site), KnownRule(rule, 0.7), j)
    others = {
        job.user
        for job in site.jobs[j + 1 :]
        if job.user is not None and job.start < site.jobs[j].start
    }
    want = {}
    for user in others:
        own = {k for k, job in enumerate(site.jobs) if job.user == user}
        fst = slow.fair_start(site, slow_rule(rule), j, later=own.__contains__)
        want[f"user{user}"] = EPOCH + fst
    assert dict(found.select("user", "fst").iter_rows()) == want
    delay = (EPOCH + site.jobs[j].start - found["fst"]).clip(0)
    assert found["delay_s"].equals(delay.alias("delay_s"))


@pytest.mark.parametrize(
    ("site", "want"), [(FIRST, [0, 1, 100, 100, 100]), (SECOND, [0, 100, 100, 100])]
)
def test_fair_starts_by_hand(site: slow.Site, want: list[int]) -> None:
    assert starts(scenario_of(site), OBSERVED) == want


def test_a_start_that_brings_the_first_in_turn_to_its_peak_lets_the_next_one_through() -> None:
    site = site_of(
        (40, 5, 40, 40, 1, 110),
        (50, 6, 70, 70, 0, 200),
        (60, 3, 30, 130, 0, 160),
        (70, 2, 80, 80, 1, 220),
        (90, 5, 80, 80, 1, 130),
        (100, 4, 20, 70, 1, 110),
        (100, 4, 20, 70, 1, 170),
    )
    rule = EASY._replace(own_peak=True)
    assert slow.fair_start(site, slow_rule(rule), 3) == 130
    want = [110, 150, 110, 130, 130, 110, 170]
    assert starts(scenario_of(site), KnownRule(rule, 0.7)) == want


def test_what_the_columns_say() -> None:
    made = delivered_starts(scenario_of(SECOND), OBSERVED)
    assert made["miss_delivered_s"].to_list() == [0, 200, 0, 0]
    assert made["fst_rule"].to_list() == ["kept order"] * 4
    assert made["fst_delivered_status"].to_list() == ["final"] * 4
    known = KnownRule(SiteRule(Policy(), own_peak=True), 0.7)
    assert delivered_starts(scenario_of(SECOND), known)["fst_rule"][0] == "fcfs-easy, own peak"


def test_a_hold_shows_where_an_own_later_job_of_the_same_kind_started() -> None:
    jobs = list(SECOND.jobs)
    jobs[2] = jobs[2]._replace(user=2)
    made = delivered_starts(scenario_of(SECOND._replace(jobs=tuple(jobs))), OBSERVED)
    assert made["miss_cautious_s"].to_list() == [0, 0, 0, 0]


def test_what_a_rule_holds_waits_until_then() -> None:
    scenario = scenario_of(SECOND)
    for until, start in ((0, 100), (200, 200), (300, 300)):
        held = np.array([0, EPOCH + until, 0, 0])
        made = delivered_starts(scenario, OBSERVED, held_until=held)
        assert made["fst_delivered"][1] == EPOCH + start


def test_blocked_attempts_leave_the_pool() -> None:
    pool = Pool("main", Resource.cpus, 10)
    records = [
        ended(EPOCH, EPOCH, EPOCH + 100, 6, "a", walltime_s=100),
        ended(EPOCH + 1, EPOCH + 300, EPOCH + 350, 6, "b", walltime_s=50),
        ended(EPOCH + 2, EPOCH + 50, EPOCH + 250, 6, "c", walltime_s=200, reason="JobHeldUser"),
        ended(EPOCH + 3, EPOCH + 100, EPOCH + 120, 4, "d", walltime_s=20),
    ]
    described = describe(frame(records), [pool])
    made = delivered_starts(Scenario(described, pool, EPOCH + 350), OBSERVED)
    assert made["fst_delivered_status"].to_list() == ["final", "final", "blocked", "final"]
    # the held job has the capacity from 50 to 250, and then nothing shows that 6 could be used
    assert (made["fst_delivered"] - EPOCH).to_list() == [0, 300, None, 100]
    assert made["miss_delivered_s"].to_list() == [0, 0, None, 0]
    others = describe(frame([records[0], records[1], records[3]]), [pool])
    alone = delivered_starts(Scenario(others, pool, EPOCH + 350), OBSERVED)
    assert (alone["fst_delivered"] - EPOCH).to_list() == [0, 100, 100]


def test_open_attempts_make_a_fair_start_provisional() -> None:
    pool = Pool("main", Resource.cpus, 10)
    records = [
        ended(EPOCH, EPOCH, EPOCH + 100, 10, "a", walltime_s=100),
        ended(EPOCH + 1, EPOCH + 300, EPOCH + 350, 4, "b", walltime_s=50),
        ended(EPOCH + 2, EPOCH + 100, EPOCH + 150, 4, "c", walltime_s=50),
        ended(EPOCH + 5, EPOCH + 200, EPOCH + 250, 4, "d", walltime_s=50),
        ended(EPOCH + 6, EPOCH + 190, EPOCH + 210, 2, "d", walltime_s=50),
    ]
    records[2] |= {"end_time": None, "state": "RUNNING"}
    described = describe(frame(records), [pool])
    made = delivered_starts(Scenario(described, pool, EPOCH + 400), OBSERVED)
    status = made["fst_delivered_status"].to_list()
    assert status == ["final", "final", None, "provisional", "final"]
    assert made["fst_delivered"][2] is None


def test_an_empty_pool_has_no_fair_starts() -> None:
    made = delivered_starts(scenario_of(slow.Site((), 10)), OBSERVED)
    assert made.height == 0
    assert {"fst_delivered", "fst_rule", "miss_cautious_s"} <= {*made.columns}


# --- public logs, and made sites with the true fair starts


@pytest.mark.parametrize(
    ("name", "sums"),
    [
        ("KTH-SP2-1996-2.1-cln", (17_428, 435_031_812, 169_785_900, 8_637)),
        ("LANL-CM5-1994-4.1-cln", (14_330, 224_980_897, 167_873_555, 7_603)),
    ],
)
def test_public_logs_as_in_the_specification(
    real_logs: Path, name: str, sums: tuple[int, ...]
) -> None:
    made = delivered_starts(real(real_logs, name), OBSERVED)
    waited = made.filter(pl.col("wait_s") > 60)
    found = waited.select(
        pl.len(),
        pl.col("wait_s").sum(),
        pl.col("miss_delivered_s").sum().alias("miss"),
        (pl.col("miss_delivered_s") > 60).sum().alias("missed"),
    ).row(0)
    assert found == sums


def misses(made: MadeSite, known: KnownRule) -> tuple[int, int, int, int]:
    """Return Σ miss, Σ cautious miss, the true Σ miss, and Σ wait, over the sample."""
    found = delivered_starts(made.scenario, known).with_columns(true=made.true_start + EPOCH)
    sample = found.drop_nulls("true")
    return sample.select(
        pl.col("miss_delivered_s").sum(),
        pl.col("miss_cautious_s").sum(),
        true=(pl.col("start_time") - pl.col("true")).clip(0).sum(),
        wait=pl.col("wait_s").sum(),
    ).row(0)


REPLAN = SiteRule(Policy(backfill=Backfill.conservative_replan))


@pytest.mark.parametrize(
    ("name", "rule", "share", "miss", "true"),
    [
        ("kth_T1", EASY, 1.0, 2_014_758, 2_014_758),
        ("kth_T1", KEPT, 0.0, 1_033_786, 2_014_758),
        ("kth_T7", REPLAN, 1.0, 891_776, 891_776),
        ("lanl_T7", REPLAN, 1.0, 144_188, 144_188),
        ("kth_T8", EASY._replace(own_peak=True), 1.0, 1_962_556, 1_963_575),
        ("kth_T8", EASY, 0.835, 2_331_424, 1_963_575),
        ("kth_T15", KEPT, 0.143, 2_530_815, 2_599_281),
        ("lanl_T15", KEPT, 0.06, 2_426_787, 971_890),
        ("kth_T10", KEPT, 0.477, 23_726_579, 23_240_880),
    ],
)
def test_made_sites_as_in_the_specification(
    real_logs: Path, name: str, rule: SiteRule, share: float, miss: int, true: int
) -> None:
    found = misses(made_site(real_logs / "delivered", name), KnownRule(rule, share))
    assert (found[0], found[2]) == (miss, true)


def test_the_bias_over_all_made_sites(real_logs: Path) -> None:
    kept, procedure = list[float](), list[float]()
    for name in names(real_logs / "delivered"):
        made = made_site(real_logs / "delivered", name)
        known = rule_of(made.scenario, agreement(made.scenario))
        for rule, into in ((OBSERVED, kept), (known, procedure)):
            miss, _, true, wait = misses(made, rule)
            into.append(abs(miss - true) / wait)
    assert len(kept) == 30
    assert np.mean(kept) <= 0.036
    assert np.mean(procedure) <= 0.015


def test_statuses_are_those_of_the_model(real_logs: Path) -> None:
    made = delivered_starts(real(real_logs, "UniLu-Gaia-2014-1"), OBSERVED)
    assert {*made["fst_delivered_status"].drop_nulls()} <= {each.value for each in FstStatus}
    assert (made["fst_delivered"] >= made["arrival_time"]).all()
    assert (made["fst_delivered"] <= made["start_time"]).all()
