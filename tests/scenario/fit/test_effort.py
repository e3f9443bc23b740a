"""The cost of a search, and the part of a log that a budget affords."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.draws import Draws
from audit.model import Window
from audit.scenario.fit import effort, outcome, rules, search
from audit.scenario.fit.effort import Budget
from audit.scenario.fit.observed import observe
from audit.scenario.fit.site import Site
from tests.oneoff.fit_policy import made
from tests.oneoff.fit_policy.made import DAY, EPOCH, NOW, pool
from tests.oneoff.fit_policy.test_plan import OFFICE

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

    def sweeps(since: int) -> float:
        queued = sum(
            sum(EPOCH + a <= at < EPOCH + a + w for a, w, _ in lives)
            for at in instants
            if at >= since
        )
        return effort.SWEPT_S * queued

    expected, nothing = None, False
    if estimate(arrivals[0]) > seconds:
        whole = (arrivals[-1] - arrivals[0]) // DAY
        days = range(whole, effort.LEAST_DAYS, -1)
        chosen = [d for d in days if estimate(arrivals[-1] - d * DAY) <= seconds]
        least = min(effort.LEAST_DAYS, whole)
        fewer = range(least, min(effort.FEWEST_DAYS, least) - 1, -1)
        chosen += [d for d in fewer if sweeps(arrivals[-1] - d * DAY) <= seconds]
        expected = arrivals[-1] - (*chosen, fewer[-1])[0] * DAY
        nothing = not chosen
    assert effort.latest(log(lives), seconds) == (expected, estimate(arrivals[0]), nothing)


def test_nothing_is_searched_where_the_sweeps_alone_cost_more_than_the_budget() -> None:
    lives = [(0, 1000 + k, 10) for k in range(300)]
    assert effort.latest(log(lives), 300 * 600 * effort.SWEPT_S).nothing is False
    assert effort.latest(log(lives), 300 * 100 * effort.SWEPT_S).nothing is True


def test_earlier_attempts_that_still_run_are_kept_but_not_judged() -> None:
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
    assert len(part.rows) == 4  # one has ended; the first arrival stays, where passes begin
    assert part.judged.tolist() == [False, False, False, True]
    assert part.first == EPOCH + 2 * DAY
    assert part.wait.sum() == 0


def test_a_budget_ends_a_search() -> None:
    described = made.made_by(pool(), made.requests(0))
    observed = observe(described, pool(), NOW)
    budget = Budget(observed, 1.0)
    judged = 0
    while budget.pays(budget.each.judging):
        judged += 1
    assert judged == int(1.0 / budget.each.judging)
    assert budget.ended
    assert not budget.pays(budget.each.proposing)
    least = budget.each.proposing + 3.5 * budget.each.judging
    parts = search.parts(observed)
    found = search.search(observed, parts, Site(pool()), Budget(observed, least), Draws(1, 50))
    assert found.ended
    assert len(found.tried) == 3


def test_a_budget_ends_a_search_for_rules() -> None:
    closed = pool(windows=(Window(hours=OFFICE, walltime_above_s=4 * 3_600),))
    observed = observe(made.made_by(closed, made.requests(0)), pool(), NOW)
    whole = Budget(observed, 100.0)
    assert rules.search(observed, Site(pool()), whole).site.pool.windows == closed.windows
    assert not whole.ended
    few = Budget(observed, whole.each.sweeping + whole.each.screening / 2)
    assert rules.search(observed, Site(pool()), few).site.pool.windows == ()
    assert few.ended


@pytest.mark.parametrize(("days", "a_day", "searched"), [(2, 90, False), (6, 300, True)])
def test_short_logs_are_searched_if_enough_jobs_wait(days: int, a_day: int, searched: bool) -> None:
    described = made.made_by(pool(), made.requests(0, days, a_day))
    found = outcome.find(described, pool(), NOW, 5, Draws(1, 50))
    assert (found is not None) == searched


def test_an_empty_log_is_not_searched() -> None:
    described = made.made_by(pool(), made.requests(0, 3))
    unknown = described.with_columns(arrival_time=pl.lit(None, pl.Int64))
    assert outcome.affordable(unknown, pool(), 1.0).since is None
    assert outcome.find(described.clear(), pool(), NOW, 5, Draws(1, 50)) is None
    assert np.isfinite(effort.cost(0, 0).search)


def test_a_deep_queue_that_still_waits_is_paid_for() -> None:
    """An array of which nothing has started costs as much as one that has."""
    lives = [(600 * k, 0, 300) for k in range(600)]
    waiting = {"submit_time": EPOCH, "state": "PENDING", "cpus": 1, "user": "eve"}
    array = {**waiting, "array_tasks": "0-99999", "tasks": 100_000}
    with_array = pl.concat([log(lives), made.described([array])])
    assert effort.latest(log(lives), 10).nothing is False
    assert effort.latest(with_array, 0.5).nothing is True
    assert effort.latest(with_array, 10_000) == (None, effort.latest(with_array, 10).whole, False)
