"""An order by usage: found where fairshare makes it, and not where it only looks like one."""

import numpy as np
import polars as pl
import pytest

from audit.metrics.attempts import passed_over
from audit.metrics.attempts.population import around
from audit.metrics.pairs import EARLIER_S, NOTHING_HELD, Log
from audit.metrics.usage_order import EQUAL, LEAST_USERS, Shares, UsageOrder, usage_order
from audit.model import Period
from audit.scenario.engine import simulate
from tests.metrics.attempts.made_sites import BY_USAGE, DAY, POOL, UTC, WEEK, by_share, site

EQUAL_USAGE = "fairshare, equal usage"
UNEQUAL_USAGE = "fairshare, usage of 0.7 to 1.4 shares"


def order_of(schedule: pl.DataFrame, period: Period, shares: Shares = EQUAL) -> UsageOrder | None:
    return usage_order(Log.of(schedule, POOL, period), NOTHING_HELD, shares)


@pytest.mark.parametrize(
    ("name", "owners", "days"),
    [
        (EQUAL_USAGE, "user", {14}),  # by windows of a week with a decay of 0.7
        ("fairshare, half-life of 2 days", "user", {1, 3}),
        ("fairshare, half-life of 30 days", "user", {30}),
        ("fairshare of accounts", "account", {7, 14}),
    ],
)
def test_the_order_that_fairshare_makes(name: str, owners: str, days: set[int]) -> None:
    made = site(name, 0)
    order = order_of(made.schedule, made.period)
    assert order is not None
    assert order.owners == owners
    assert order.half_life_s / DAY in days
    assert order.difference.lower > 0.4


@pytest.mark.parametrize("name", ["user", "account", "plain EASY", "random priorities"])
def test_sites_without_such_an_order(name: str) -> None:
    """The lowest priority of one user, or of one account, is none."""
    made = site(name, 0)
    assert order_of(made.schedule, made.period) is None


def test_few_users_tell_nothing() -> None:
    made = site(EQUAL_USAGE, 0)
    users = made.schedule["user"].unique().sort()

    def found(count: int) -> bool:
        few = made.schedule.filter(pl.col("user").is_in(users[:count].implode()))
        return order_of(few, made.period) is not None

    assert not found(LEAST_USERS - 1)
    assert found(2 * LEAST_USERS)


def test_usage_counts_relative_to_shares() -> None:
    made = site(EQUAL_USAGE, 0)
    users = made.jobs["user"].unique().sort().to_list()
    shares = dict(zip(users, np.geomspace(1, 30, len(users)).tolist(), strict=True))
    now = made.period.to_time
    schedule = simulate(made.undisturbed, POOL, now, BY_USAGE, fairshare=by_share(shares))
    known = order_of(schedule, made.period, {"user": shares})
    unknown = order_of(schedule, made.period)
    assert known is not None
    assert known.difference.lower > 0.4
    assert unknown is None or unknown.difference.value < known.difference.value - 0.1


def test_usage_before_a_period_counts() -> None:
    made = site(UNEQUAL_USAGE, 0)
    period = Period("late", 5 * WEEK, 8 * WEEK)
    whole = order_of(made.schedule, period)
    enough = order_of(around(made.schedule, period, EARLIER_S), period)
    alone = order_of(around(made.schedule, period), period)
    assert whole is not None
    assert enough is not None
    assert alone is not None
    assert enough.difference == whole.difference
    assert enough.difference.value > alone.difference.value + 0.05


def test_an_order_by_usage_explains_who_is_passed_over() -> None:
    """The user used 1.3 times an equal share over the eight weeks, and is not accused."""
    made = site(UNEQUAL_USAGE, 1)
    found = passed_over.of_period(made.schedule, POOL, made.period, UTC)
    [one] = found.filter("named").to_dicts()
    assert one["usage_multiple"] < 1.4
    assert one["half_life_s"] == 14 * DAY
    assert one["passed_expected"] + 0.1 < one["expected_by_usage"] < one["passed_share"]
    rows = {
        row.metric: row.value
        for row in passed_over.rows(found)
        if row.dimension_value == one["entity"] and row.dimension == one["entity_kind"]
    }
    assert rows["passed_expected_by_usage"] == one["expected_by_usage"]
    assert rows["passed_half_life"] == 14 * DAY


def test_no_order_by_usage_excuses_a_user_whom_all_others_pass() -> None:
    made = site("user, under fairshare", 0)
    found = passed_over.of_period(made.schedule, POOL, made.period, UTC)
    [one] = found.filter("named", entity_kind="user").to_dicts()
    assert one["entity"] == made.victim
    assert one["expected_by_usage"] is not None
    assert one["half_life_s"] is None
