"""Loss and unexplained waiting, against their definitions and by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.attempts.miss import TOLERANCE_S
from audit.model import Limit, Policy, Window
from audit.policies import Backfill, Order
from audit.scenario.fit import judging
from audit.scenario.fit.days import Ceiling
from audit.scenario.fit.judging import Decided, Instants, Rates
from audit.scenario.fit.observed import observe
from audit.scenario.fit.site import Site
from audit.scenario.workload import NEVER
from tests.naive import fit as naive
from tests.oneoff.fit_policy.made import EPOCH, NOW, assumed, described

lives = st.lists(
    st.tuples(
        st.integers(0, 20), st.integers(0, 9), st.integers(0, 9), st.none() | st.integers(0, 9)
    ),  # arrival, wait, occupancy (each in 20 s), ready after the arrival
    min_size=1,
    max_size=8,
)


@given(lives)
def test_predictions_and_losses_are_those_of_the_definition(
    found: list[tuple[int, int, int, int | None]],
) -> None:
    records = [
        {"submit_time": EPOCH + 20 * a, "start_time": EPOCH + 20 * (a + w), "cpus": 1}
        | {"end_time": EPOCH + 20 * (a + w + o), "user": str(k)}
        for k, (a, w, o, _) in enumerate(found)
    ]
    observed = observe(described(records), assumed(), NOW)
    work = observed.work
    by_user = observed.frame["user"].cast(int).to_list()
    ready = np.array(
        [
            NEVER if (after := found[k][3]) is None else min(arrival + 20 * after, start)
            for k, arrival, start in zip(
                by_user, work.arrival.tolist(), work.start.tolist(), strict=True
            )
        ]
    )
    instants = observed.instants
    number = judging.predicted(observed, ready)
    rates = Rates(0.75, 0.125)
    losses = judging.losses(number, rates)
    for k in range(len(found)):
        known = None if ready[k] == NEVER else int(ready[k])
        arrival, start = int(work.arrival[k]), int(work.start[k])
        expected = naive.counts(instants.tolist(), arrival, start, known, TOLERANCE_S)
        assert (number.yes[k], number.no[k]) == expected
        assert losses[k] == pytest.approx(
            naive.loss(*expected, known is not None, rates.yes, rates.no)
        )


def test_rates_weigh_each_attempt_equally() -> None:
    number = Instants(np.array([1, 0, 2]), np.array([0, 4, 2]), np.array([True, False, True]))
    rates = judging.rates(number, np.array([True, True, True]))
    assert rates.yes == pytest.approx((1 + 0.25 + 0.5) / (1 + 0.5 + 1))
    assert rates.no == pytest.approx((0.25 + 0.5) / (1 + 0.5 + 1))
    assert judging.rates(number, np.zeros(3, np.bool_)) == Rates(0.5, 0.5)


def test_unexplained_waiting_by_hand() -> None:
    """An attempt waits for four hours, from 06:00 on a Monday, beside one other job."""
    records = [
        {"submit_time": EPOCH + 6 * 3_600, "start_time": EPOCH + 10 * 3_600, "cpus": 8, "user": "a"}
        | {"end_time": EPOCH + 12 * 3_600},
        {"submit_time": EPOCH, "start_time": EPOCH, "cpus": 8, "user": "a"}
        | {"end_time": EPOCH + 11 * 3_600},
    ]
    observed = observe(described(records), assumed(), NOW)
    assert observed.frame["size"].to_list() == [8, 8]
    waiting = 1  # in the order of arrival

    def left(ready: int, **rules: object) -> float:
        decided = Decided(np.array([EPOCH, ready]), np.zeros(2, np.bool_))
        ceilings = rules.pop("ceilings", ())
        site = Site(assumed()._replace(**rules), ceilings)  # type: ignore[arg-type]
        return float(judging.unexplained(observed, site, decided)[waiting])

    at_once, later = EPOCH + 6 * 3_600, EPOCH + 9 * 3_600
    assert left(at_once) == 4 * 3_600
    assert left(later) == 3_600
    assert left(NEVER) == 4 * 3_600, "unforeseen: all of its wait"
    window = Window(hours=(8, 9, 30))
    assert left(at_once, windows=(window,)) == 2 * 3_600
    assert left(at_once, windows=(window, window)) == 2 * 3_600
    assert left(at_once, windows=(window.but(size_above=8),)) == 4 * 3_600
    assert left(NEVER, windows=(window,)) == 4 * 3_600
    assert left(at_once, limits=(Limit(most=1, per="user"),)) == 0
    assert left(at_once, limits=(Limit(most=2, per="user"),)) == 4 * 3_600
    assert left(at_once, limits=(Limit(most=15, resource="cpus"),)) == 0
    day = Ceiling(EPOCH, EPOCH + 86_400, 15, 0)
    assert left(at_once, ceilings=(day,)) == 0
    assert left(at_once, ceilings=(day._replace(most=16),)) == 4 * 3_600


def test_decisions_follow_the_rules_of_the_site() -> None:
    """Two jobs do not fit together; the longer one starts first."""
    records = [
        {"submit_time": EPOCH, "start_time": EPOCH + 10, "end_time": EPOCH + 700, "cpus": 40}
        | {"user": "a", "walltime_s": 900},
        {"submit_time": EPOCH, "start_time": EPOCH + 700, "end_time": EPOCH + 800, "cpus": 40}
        | {"user": "a", "walltime_s": 300},
    ]
    observed = observe(described(records), assumed(), NOW)

    def ready(**site: object) -> list[int]:
        pool = assumed()._replace(**site)  # type: ignore[arg-type]
        found = judging.decide(observed, Site(pool)).ready
        return [NEVER if at == NEVER else at - EPOCH for at in found.tolist()]

    assert ready() == [0, 700]
    assert ready(windows=(Window(hours=(0,)),)) == [NEVER, NEVER]
    assert ready(policy=Policy(Order.sjf, Backfill.none)) == [NEVER, 0]
