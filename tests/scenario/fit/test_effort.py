"""What a search costs, and what a budget affords."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.draws import Draws
from audit.model import Limit
from audit.scenario.fit import effort, outcome, rules, search
from audit.scenario.fit.effort import Budget
from audit.scenario.fit.observed import observe
from audit.scenario.fit.site import Site
from tests.oneoff.fit_policy import made
from tests.oneoff.fit_policy.made import DAY, EPOCH, NOW, pool

LIVES = st.lists(
    st.tuples(st.integers(0, 90 * DAY), st.integers(0, 2 * DAY), st.integers(1, DAY)),
    min_size=1,
    max_size=40,
)


def log(lives: list[tuple[int, int, int]]) -> pl.DataFrame:
    return made.described(
        [
            {"submit_time": EPOCH + arrival, "start_time": EPOCH + arrival + wait}
            | {"end_time": EPOCH + arrival + wait + ran, "cpus": 1, "user": "ann"}
            for arrival, wait, ran in lives
        ]
    )


@given(LIVES, st.floats(0.01, 3))
def test_the_latest_part_is_the_longest_that_the_budget_affords(
    lives: list[tuple[int, int, int]], seconds: float
) -> None:
    seconds *= effort.cost(20, 100).search
    arrivals = sorted(EPOCH + arrival for arrival, _, _ in lives)
    instants = {EPOCH + at for a, w, r in lives for at in (a, a + w, a + w + r)}

    def estimate(since: int) -> float:
        early = [one for one in lives if since <= EPOCH + one[0]]
        looks = sum(
            1 + sum(EPOCH + a <= at < EPOCH + a + w for at in instants) for a, w, _ in early
        )
        return effort.cost(len(early), looks).search

    expected = None
    if estimate(arrivals[0]) > seconds:
        whole = (arrivals[-1] - arrivals[0]) // DAY
        days = range(whole, effort.LEAST_DAYS, -1)
        chosen = [d for d in days if estimate(arrivals[-1] - d * DAY) <= seconds]
        expected = arrivals[-1] - (chosen[0] if chosen else min(effort.LEAST_DAYS, whole)) * DAY
    assert effort.latest(log(lives), seconds) == (expected, estimate(arrivals[0]))


def test_a_part_has_those_who_are_there_but_does_not_judge_them() -> None:
    lives = [
        (0, 0, DAY),
        (9, 0, DAY),
        (9, 0, 3 * DAY),
        (DAY, 2 * DAY, DAY),
        (3 * DAY, 0, DAY),
    ]
    whole = observe(log(lives), pool(), NOW)
    part = observe(log(lives), pool(), NOW, EPOCH + 2 * DAY)
    assert whole.judged.sum() == 5
    assert len(part.rows) == 4  # one is gone; the first of all stays, from whom passes are counted
    assert part.judged.tolist() == [False, False, False, True]
    assert part.first == EPOCH + 2 * DAY
    assert part.wait.sum() == 0


def test_a_budget_ends_a_search_and_is_kept_to() -> None:
    described = made.made_by(pool(), made.requests(0))
    observed = observe(described, pool(), NOW)
    budget = Budget(observed, 1.0)
    judged = 0
    while budget.judge():
        judged += 1
    assert judged == int(1.0 / budget.each.judging)
    assert budget.ended
    assert not budget.propose()
    least = budget.each.proposing + 3.5 * budget.each.judging
    parts = search.parts(observed)
    found = search.search(observed, parts, Site(pool()), Budget(observed, least), Draws(1, 50))
    assert found.ended
    assert len(found.tried) == 3


def test_a_budget_ends_a_search_for_rules() -> None:
    limited = pool(limits=(Limit(most=3, per="user"),))
    observed = observe(made.made_by(limited, made.requests(0)), pool(), NOW)
    whole = Budget(observed, 100.0)
    assert rules.search(observed, Site(pool()), whole).site.pool.limits == limited.limits
    assert not whole.ended
    few = Budget(observed, whole.each.sweeping + whole.each.screening / 2)
    assert rules.search(observed, Site(pool()), few).site.pool.limits == ()
    assert few.ended


@pytest.mark.parametrize(("days", "a_day", "tells"), [(2, 90, False), (6, 300, True)])
def test_short_logs_are_searched_unless_too_little_waits(
    days: int, a_day: int, tells: bool
) -> None:
    described = made.made_by(pool(), made.requests(0, days, a_day))
    found = outcome.find(described, pool(), NOW, 5, Draws(1, 50))
    assert (found is not None) == tells


def test_nobody_at_all_is_not_searched() -> None:
    described = made.made_by(pool(), made.requests(0, 3))
    nobody = described.with_columns(arrival_time=pl.lit(None, pl.Int64))
    assert outcome.affordable(nobody, pool(), 1.0).since is None
    assert outcome.find(described.clear(), pool(), NOW, 5, Draws(1, 50)) is None
    assert np.isfinite(effort.cost(0, 0).search)
