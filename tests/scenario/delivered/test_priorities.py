"""Orders by the usage of owners, as of the observed schedule (SPEC §4, *Queue order*)."""

import pytest

from audit.model import Backfill, Order, Policy
from audit.scenario.delivered import priorities
from audit.scenario.delivered.agreement import agreement
from audit.scenario.delivered.candidates import SiteRule
from audit.scenario.engine import simulate
from audit.scenario.scenario import Scenario
from tests.naive import delivered as slow
from tests.scenario.delivered.made import scenario_of

JOBS = tuple(
    slow.Job(40 * k, 3 + k * 7 % 8, 200 + k * 37 % 300, 600, k * k % 5, 40 * k) for k in range(60)
)


def own_schedule(policy: Policy) -> Scenario:
    """Return a busy site that schedules by ``policy``."""
    arrived = scenario_of(slow.Site(JOBS, 10), policy)
    made = simulate(arrived.attempts, arrived.pool, arrived.now, policy)
    return Scenario(made, arrived.pool, int(made["end_time"].to_numpy().max()))


@pytest.mark.parametrize("order", [Order.fairshare, Order.nuwt])
def test_a_site_by_usage_agrees_with_its_own_order(order: Order) -> None:
    policy = Policy(order, Backfill.none)
    scenario = own_schedule(policy)
    own, other = (SiteRule(policy), SiteRule(Policy(backfill=Backfill.none)))
    found = agreement(scenario, [own, other])
    assert found.filter(observed=0).height == 0
    assert found["agreement"][0] == 1
    assert found["agreement"][1] < 0.9


def test_few_ticks_are_kept_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy(Order.fairshare, Backfill.none)
    scenario = own_schedule(policy)
    monkeypatch.setattr(priorities, "MOST_LEVELS", 1)
    found = agreement(scenario, [SiteRule(policy)])
    assert found["agreement"].item() < 1
