"""Delivered fair starts by the rule that the log of each period shows."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.array_types import Ints
from audit.cluster.delivered import agreed, delivered, held_until, replayed_agreement
from audit.metrics.attempts.population import as_of, describe
from audit.metrics.attempts.reasons import NO_HOLDS
from audit.metrics.attempts.recorded import with_evidence
from audit.model import EVIDENCE, Limit, Period, Pool, Resource
from audit.scenario.delivered.agreement import agreement, rule_of
from audit.scenario.delivered.candidates import BY_PRIORITY, SiteRule, candidates
from audit.scenario.delivered.fair_starts import ADDED, delivered_starts
from audit.scenario.releases.holds import NOT_HOLDING, Holding, inferred_holds
from audit.scenario.scenario import Scenario
from audit.scenario.workload import KEYS
from tests.examples import examples
from tests.naive import delivered as slow
from tests.scenario.delivered.made import scenario_of, sites
from tests.strategies import EPOCH, ended, frame

MIDDLE = EPOCH + 200
FIRST, SECOND = Period("first", EPOCH, MIDDLE), Period("second", MIDDLE, EPOCH + 10_000)


def unheld(_log: Scenario) -> pl.DataFrame:
    """The log shows no holds."""
    return NO_HOLDS


@settings(max_examples=examples(40))
@given(sites(20))
def test_the_log_of_an_audit_is_all_that_it_read(site: slow.Site) -> None:
    log = scenario_of(site)
    found, agreed = delivered(log, unheld, [FIRST, SECOND])
    known = rule_of(log, agreement(log))
    assert found.equals(delivered_starts(log, known).select(*KEYS, *ADDED))
    assert agreed[FIRST] is agreed[SECOND]
    assert agreed[FIRST].known == known
    assert agreed[FIRST].replayed == replayed_agreement(log, NOT_HOLDING)


@settings(max_examples=examples(40))
@given(sites(20), st.sampled_from([50, 1_000]))
def test_what_came_later_changes_nothing_in_a_period(site: slow.Site, history_s: int) -> None:
    log = scenario_of(site)
    both, agreed = delivered(log, unheld, [FIRST, SECOND], history_s)
    before = log.but(attempts=as_of(log.attempts, EPOCH, MIDDLE), now=min(log.now, MIDDLE))
    alone, shown = delivered(before, unheld, [FIRST], history_s, wanted=pl.col("end_time") < MIDDLE)
    assert alone.equals(both.join(alone, on=KEYS, how="semi", maintain_order="left"))
    assert shown[FIRST].known == agreed[FIRST].known
    assert shown[FIRST].compared.equals(agreed[FIRST].compared)


@settings(max_examples=examples(20))
@given(sites(20))
def test_nothing_is_compared_twice(site: slow.Site) -> None:
    log = scenario_of(site)
    first = agreed(log)
    known = {
        rule[:2]: row for rule, row in zip(candidates(log), first.compared.rows(), strict=True)
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("audit.cluster.delivered.agreement", by_priority)
        again = agreed(log, known=known)
        assert again.compared.equals(first.compared)
        assert again[1:] == first[1:]
        named, shown = delivered(log, unheld, [FIRST], known={FIRST: known})
    assert named.equals(delivered(log, unheld, [FIRST])[0])
    assert shown[FIRST].known == first.known
    part = dict([*known.items()][::2])
    assert agreed(log, known=part).compared.equals(first.compared)


def by_priority(log: Scenario, rules: list[SiteRule], *, held_until: Ints | None) -> pl.DataFrame:
    """The agreement, of orders by priorities alone."""
    assert {rule.policy.order for rule in rules} <= {*BY_PRIORITY}
    return agreement(log, rules, held_until=held_until)


def test_a_period_ends_with_what_ran_and_waited_by_hand() -> None:
    # Two wait at the end of the period. Afterwards the later one starts first, against EASY; in
    # the period all started in their order.
    records = [
        ended(EPOCH, EPOCH, EPOCH + 100, 4),
        ended(EPOCH, EPOCH + 100, EPOCH + 190, 4),
        ended(EPOCH + 1, EPOCH + 190, EPOCH + 290, 4),
        ended(EPOCH + 2, EPOCH + 390, EPOCH + 490, 4),
        ended(EPOCH + 3, EPOCH + 290, EPOCH + 390, 4),
    ]
    pool = Pool("main", Resource.cpus, 4)
    log = Scenario(describe(frame(records), [pool]), pool, EPOCH + 490)
    _, shown = delivered(log, unheld, [FIRST, SECOND], 10_000)
    assert shown[FIRST].known.agreement == 1.0
    second = shown[SECOND].known.agreement
    assert second is not None
    assert second < 1.0
    assert delivered(log, unheld, [FIRST])[1][FIRST].known == shown[SECOND].known


def test_what_ended_before_its_log_does_not_count() -> None:
    # The second and the third wait 100 s each, and EASY starts both when the site did. The log of
    # 200 s of the second period holds the third only, for which nothing waits in turn.
    records = [
        ended(EPOCH, EPOCH, EPOCH + 100, 4),
        ended(EPOCH, EPOCH + 100, EPOCH + 150, 4),
        ended(EPOCH + 1, EPOCH + 150, EPOCH + 160, 4),
        ended(EPOCH + 900, EPOCH + 900, EPOCH + 950, 4),
    ]
    pool = Pool("main", Resource.cpus, 4)
    log = Scenario(describe(frame(records), [pool]), pool, EPOCH + 950)
    late = Period("late", EPOCH + 800, EPOCH + 1_000)
    _, shown = delivered(log, unheld, [FIRST, late], 200)
    assert shown[FIRST].known.agreement == 1.0
    assert shown[late].known.agreement is None


def test_until_when_attempts_were_held_by_hand() -> None:
    # Ann may run one job: her second waits for the end of her first, and Bob's for nothing.
    records = [
        ended(EPOCH, EPOCH, EPOCH + 100, 1, "ann"),
        ended(EPOCH + 10, EPOCH + 130, EPOCH + 150, 1, "ann"),
        ended(EPOCH + 20, EPOCH + 60, EPOCH + 90, 1, "bob"),
    ]
    pool = Pool("main", Resource.cpus, 4)
    described = describe(frame(records), [pool])
    assert held_until(described, pool, NO_HOLDS) is None
    holding = Holding(own=(Limit(most=1, user=("ann",)),))
    holds = inferred_holds(described, pool, EPOCH + 150, holding)
    until = held_until(described, pool, holds)
    assert until is not None
    assert (until - EPOCH).tolist() == [0, 100, 20]


def test_recorded_limits_of_the_pool_hold_nobody() -> None:
    # All wait from 10 to 130 s. Until 100 s, squeue shows the limit, a hold, and the throttle of an
    # array; until 60 s a limit that its log does not name.
    reasons = ("QOSMaxCpuPerUserLimit", "JobHeldUser", "JobArrayTaskLimit", "AccountingPolicy")
    records = [
        ended(EPOCH + 10, EPOCH + 130, EPOCH + 150, 1, "ann")
        | {"job_id": str(number), "job_number": number, "array_throttle": 2}
        for number in range(len(reasons))
    ]
    statements = [
        {"job_id": str(number), "instant": EPOCH + at, "reason": said}
        for number, reason in enumerate(reasons)
        for at, said in ((10, reason), (60 if number == 3 else 100, "Priority"))
    ]
    default = dict.fromkeys(EVIDENCE.names()) | {"kind": "squeue", "state": "PENDING"}
    evidence = pl.DataFrame([{**default, **row} for row in statements], EVIDENCE)
    attempts = with_evidence(frame(records), evidence)
    limits = [Limit(most=4, resource="cpus", per="user"), Limit(most=9, per="account")]
    for own, ends in (([], [100, 100, 100, 60]), (limits, [10, 100, 100, 10])):
        pool = Pool("main", Resource.cpus, 4, limits=tuple(own))
        until = held_until(describe(attempts, [pool]), pool, NO_HOLDS)
        assert until is not None
        assert (until - EPOCH).tolist() == ends
    of_nodes = Limit(most=9, resource="nodes", per="user")  # one not named may be this one
    pool = Pool("main", Resource.cpus, 4, limits=(of_nodes,))
    until = held_until(describe(attempts, [pool]), pool, NO_HOLDS)
    assert until is not None
    assert (until - EPOCH).tolist() == [100, 100, 100, 10]
