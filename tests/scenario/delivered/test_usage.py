"""Orders by the usage of owners: as observed, and then as simulated (SPEC §4, *Queue order*)."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.metrics.fairshare.trees import Kind, Tree
from audit.metrics.fairshare.usage import HalfLife, Windows
from audit.model import BY_USAGE, Backfill, Order, Policy
from audit.scenario.delivered.agreement import KnownRule, agreement
from audit.scenario.delivered.candidates import SiteRule
from audit.scenario.delivered.comparing import delivered_capacity
from audit.scenario.delivered.fair_starts import delivered_starts, starts_without
from audit.scenario.delivered.observed import observed_turns
from audit.scenario.engine import simulate
from audit.scenario.ownership import Fairshare
from audit.scenario.scenario import Scenario
from tests.examples import examples
from tests.naive import delivered as slow
from tests.naive import multifactor
from tests.scenario.delivered.made import (
    FILLINGS,
    require_as_defined,
    scenario_of,
    sites,
    slow_rule,
)
from tests.strategies import EPOCH, slurm_of, slurms

JOBS = tuple(
    slow.Job(40 * k, 3 + k * 7 % 8, 200 + k * 37 % 300, 600, k * k % 5, 40 * k) for k in range(60)
)
DAY_S = 86_400
LAB = {"lab": ("", 1), "ann": ("lab", 1), "bob": ("lab", 2), "cem": ("lab", 1)}


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


def ranked(site: slow.Site, policy: Policy) -> Scenario:
    """Return a site whose owners are ranked as it says."""
    usage = site.usage
    tree = None
    if usage.shares:
        users = [f"user{user}" for user, _ in usage.shares]
        kinds: list[Kind] = ["user"] * len(users)
        tree = Tree(
            ("", *users),
            ("account", *kinds),
            (None,) * (len(users) + 1),
            np.array([-1, *[0] * len(users)]),
            np.array([1.0, *(float(share) for _, share in usage.shares)]),
        )
    method = Windows(interval_s=usage.interval, depth=usage.depth, decay=float(usage.decay))
    fairshare = Fairshare(
        method=method if usage.half_life is None else HalfLife(half_life_s=usage.half_life),
        tree=tree,
        recalculation_s=usage.recalculation,
        multifactor=slurm_of(usage.slurm._replace(phase=EPOCH + usage.slurm.phase)),
    )
    scenario = scenario_of(site, policy)
    if policy.order is Order.multifactor:
        names = {f"user{k}": name for k, name in enumerate(multifactor.USERS)}
        named = scenario.attempts.with_columns(
            pl.col("user").replace(names),
            account=pl.when(pl.col("user").is_not_null()).then(pl.lit("lab")),
        )
        scenario = scenario.but(attempts=named)
    return scenario.but(fairshare=fairshare)


def usages(draw: st.DrawFn) -> slow.Usage:
    outside = []
    for _ in range(draw(st.integers(0, 2))):
        arrival, runtime = draw(st.integers(0, 20)) * 10, draw(st.integers(1, 30)) * 10
        user = draw(st.sampled_from([None, 0, 1]))
        start = arrival + draw(st.sampled_from([10, 50, 200]))
        outside.append(slow.Job(arrival, draw(st.integers(1, 2)), runtime, runtime, user, start))
    slurm = draw(slurms())._replace(
        tree=LAB,
        half_life=300,
        period=draw(st.sampled_from([10, 30, 60])),
        reset="none",
    )
    return slow.Usage(
        interval=draw(st.sampled_from([30, 100])),
        half_life=draw(st.sampled_from([None, None, 70])),
        shares=draw(st.sampled_from([(), (), ((0, 1), (1, 3))])),
        recalculation=draw(st.sampled_from([1, 30, 300])),
        slurm=slurm,
        outside=tuple(outside),
    )


@st.composite
def ranking_sites(draw: st.DrawFn) -> slow.Site:
    site = draw(sites(most=8))
    return site._replace(steps=(), usage=usages(draw))


@settings(max_examples=examples(100))
@given(
    ranking_sites(),
    st.sampled_from(BY_USAGE),
    st.sampled_from(FILLINGS),
    st.booleans(),
    st.booleans(),
    st.integers(0, 9),
)
def test_fair_starts_by_usage_as_defined(
    site: slow.Site, order: Order, filling: Backfill, own_peak: bool, exact: bool, j: int
) -> None:
    rule = SiteRule(Policy(order, filling), own_peak)
    scenario, known = ranked(site, rule.policy), KnownRule(rule, 0.99 if exact else 0.7)
    turns = observed_turns(scenario)
    by_hand = [slow.capacity_at(site, slow_rule(rule), int(t) - EPOCH) for t in turns.instants]
    assert delivered_capacity(scenario, turns, rule).tolist() == by_hand
    sums = agreement(scenario, [rule]).select("common", "observed", "wrong").row(0)
    assert sums == tuple(slow.agreement(site, slow_rule(rule)))
    made = delivered_starts(scenario, known)
    require_as_defined(made[turns.rows], site, rule, free=known.free)
    if not known.free and j < len(site.jobs):
        for _, fst, delay in starts_without(scenario, known, int(turns.rows[j])).iter_rows():
            assert max(EPOCH + site.jobs[j].start - fst, 0) == delay


def served_singly(*rows: tuple[int, int, int, int], **usage: object) -> slow.Site:
    """Return a site of one job at a time; rows: arrival, occupancy, user, start."""
    jobs = (slow.Job(a, 10, run, max(run, 3600), user, start) for a, run, user, start in rows)
    return slow.Site(tuple(jobs), 10, usage=slow.Usage(recalculation=300, **usage))  # type: ignore[arg-type]


BY_SIMULATED = served_singly(
    (0, 3000, 0, 0),
    (10, 3000, 1, 6000),
    (20, 3000, 1, 12_000),
    (30, 3000, 0, 9000),
    (40, 3000, 2, 3000),
    shares=((0, 3), (1, 3), (2, 4)),
    half_life=DAY_S,
)
"""Users a, b, b, a, c. Without c's job, b's first one runs from 3,000 on. At 6,000 a and b have
both run for 3,000 s, but a before b: its use counts less by then, and its second job is next. By
what was observed, c has run instead of b, and b's second job would be next."""
BETWEEN_INSTANTS = served_singly(
    (0, 3000, 0, 0),
    (10, 1000, 1, 9000),
    (20, 3000, 2, 10_000),
    (30, 3000, 0, 6000),
    (40, 3000, 3, 3000),
    shares=((0, 90), (1, 4), (3, 6)),
    half_life=1000 * DAY_S,
)
"""Users a, b, c, a, d. Without d's job, b runs from 3,000 until 4,000, when nothing was observed to
end. By then b has used a quarter and a three quarters: of its share of 90 % a lacks 15 %, more than
c without a share, who has used nothing. At 3,000, a had used all, and c would come first."""


@pytest.mark.parametrize(
    ("site", "want"),
    [
        (BY_SIMULATED, [0, 3000, 6000, 6000, 3000]),
        (BETWEEN_INSTANTS, [0, 3000, 4000, 4000, 3000]),
    ],
)
def test_what_a_simulation_runs_counts_in_it(site: slow.Site, want: list[int]) -> None:
    rule = SiteRule(Policy(Order.fairshare))
    by_hand = [
        slow.fair_start(site, slow_rule(rule), j, pinned_all=False) for j in range(len(want))
    ]
    assert by_hand == want
    made = delivered_starts(ranked(site, rule.policy), KnownRule(rule, 1.0))
    assert (made["fst_delivered"] - EPOCH).to_list() == want
