from dataclasses import replace

import pytest

from audit.report.record.pool import Fidelity, PoolPart
from audit.report.text import belief
from audit.report.text.belief import Fit
from tests.report.sample import (
    HOSTILE,
    fair_starts,
    fidelity,
    figure,
    pool,
)


@pytest.mark.parametrize(
    ("told", "fit"),
    [
        (fidelity(0.8, 0.65), Fit.GOOD),
        (fidelity(0.79, 0.9), Fit.POOR),
        (fidelity(0.9, 0.64), Fit.POOR),
        (fidelity(None, 0.9), Fit.UNKNOWN),
        (fidelity(0.9, None), Fit.UNKNOWN),
        (None, Fit.UNKNOWN),
        (Fidelity("fcfs", "easy", (figure("replayed", 0.0),)), Fit.UNKNOWN),
    ],
)
def test_how_far_figures_can_be_believed(told: Fidelity | None, fit: Fit) -> None:
    assert belief.fit(told) is fit


def _with(told: Fidelity | None) -> PoolPart:
    return replace(pool(), fair_start=replace(fair_starts(), fidelity=told))


def test_a_verdict_says_from_what_it_is_concluded() -> None:
    assert belief.verdict(_with(fidelity())) == (
        "The model fits this log well enough to go by. Of the attempts that waited it starts "
        "85.0 % when the site did (enough: 80.0 %), and the waits it gives them rank as those "
        "observed by 0.75 (enough: 0.65)."
    )
    poor = belief.verdict(_with(fidelity(0.4, -0.25)))
    assert poor.startswith("The model fits this log poorly: what looks like unfairness may be its")
    assert "starts 40.0 % when" in poor
    assert "observed by −0.25 (enough" in poor
    assert "not known" in belief.verdict(_with(None))


def test_a_policy_that_nobody_knows_stays_text() -> None:
    odd = replace(fidelity(), order=HOSTILE[4], backfill=HOSTILE[5])
    assert belief.policy(odd).isprintable()
    assert belief.policy(fidelity()) == "first come, first served, EASY backfilling"


@pytest.mark.parametrize(
    ("order", "said"), [("fairshare", "by fairshare"), ("nuwt", "by how long owners waited")]
)
def test_another_fair_order_than_that_of_arrival_is_said(order: str, said: str) -> None:
    fidelity = Fidelity("fcfs", "easy", (), order)
    assert said in belief.fair_order(fidelity)
    for by_arrival in (None, Fidelity("fcfs", "easy", ())):
        assert belief.fair_order(by_arrival) == ""
