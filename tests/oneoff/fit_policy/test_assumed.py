"""Rules that an audit assumes, and the facts that it prints about them."""

from functools import partial

import polars as pl

from audit.model import Step, Window
from audit.oneoff.fit_policy.assumed import assumed
from audit.periods import day_of, zone
from audit.policies import Backfill, Order
from tests.oneoff.fit_policy import made
from tests.oneoff.fit_policy.made import CAPACITY, DAY, EPOCH, NOW, pool
from tests.oneoff.fit_policy.test_plan import OFFICE

found = partial(assumed, now=NOW, seed=1, seconds=10.0, resamples=200)


def test_a_rule_is_used_and_said_with_what_it_explains() -> None:
    closed = pool(windows=(Window(hours=OFFICE, walltime_above_s=4 * 3_600),))
    got = found(made.made_by(closed, made.requests(0)), pool())
    assert got.pool.windows == closed.windows
    policy, rule = got.facts
    assert (policy.what, rule.what) == ("policy", "rule 1 of 1")
    assert policy.value.startswith("fcfs-easy, and 1 rule fitted from the log; this leaves ")
    assert rule.value == "Closed hours Mon–Fri 08–17 (UTC) for jobs over 4 h"
    shares = got.details["unexplained"]
    assert shares["after"] < 0.1 < shares["before"]
    assert got.details["says"] == [rule.value]
    assert got.details["days"] is None


def test_another_policy_is_used() -> None:
    site = pool(made.FCFS_EASY.changed(order=Order.sjf, backfill=Backfill.easy))
    assert found(made.made_by(site, made.requests(0)), pool()).pool.policy == site.policy


def test_the_capacity_in_force_is_left_as_it_is() -> None:
    drained = tuple(
        step
        for first in (5, 33, 55)
        for step in (
            Step(EPOCH + first * DAY, (("cpus", 40),)),
            Step(EPOCH + (first + 7) * DAY, (("cpus", CAPACITY),)),
        )
    )
    got = found(made.made_by(pool(steps=drained), made.requests(0)), pool())
    assert got.pool == pool()
    [policy] = got.facts
    assert "the log supports no other" in policy.value
    assert got.details["unexplained"]["before"] == got.details["unexplained"]["after"]


def test_a_small_budget_looks_at_the_latest_days() -> None:
    closed = pool(windows=(Window(hours=OFFICE, walltime_above_s=4 * 3_600),))
    log = made.made_by(closed, made.requests(0))
    got = found(log, pool(), seconds=1.3)
    assert 28 <= got.details["days"] < 70
    assert "the latest" in got.facts[0].source
    (window,) = got.pool.windows
    assert window.valid_from is not None  # nothing is known of the days before
    end = log.select(pl.col("end_time").max()).item()
    assert day_of(end - (got.details["days"] + 1) * DAY, zone("UTC")) <= window.valid_from
