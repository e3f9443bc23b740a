from dataclasses import replace

import pytest

from audit.report.contents import Fidelity, PoolPart
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
        (fidelity(0.9, 0.6), Fit.GOOD),
        (fidelity(0.9, 0.4), Fit.LIMITED),
        (fidelity(0.4, 0.3), Fit.POOR),
        (fidelity(0.9, 0.6, 0.49), Fit.POOR),
        (fidelity(0.9, 0.6, None), Fit.GOOD),
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
        "Most of what was missed is beyond the errors of the model."
    )
    assert belief.verdict(_with(fidelity(0.4, 0.3, -0.25))) == (
        "The model fits this log poorly: what looks like unfairness may be its error. Waits in a "
        "replay and those observed correlate by −0.25. Of what was missed, 40.0 % is left without "
        "misses below the median error of a replayed start, 5 min."
    )
    assert "90th percentile of the error of a replayed start, 2 h." in belief.verdict(
        _with(fidelity(0.9, 0.4))
    )
    assert "not known" in belief.verdict(_with(None))


def test_all_that_belongs_beside_a_figure_is_in_one_line() -> None:
    assert belief.fit_line(pool()) == (
        "Model fidelity (fcfs + easy): starts off by 5 min (median), 2 h (90th percentile); "
        "misses beyond these: 90.0 % strict, 100 % relaxed; 60.0 % strict, 80.0 % relaxed; "
        "correlation of waits 0.75; mean wait +15 min; 0.0 % of the time over capacity."
    )
    assert belief.fit_line(_with(None)) == (
        "Model fidelity: not known; 0.0 % of the time over capacity."
    )


def test_a_policy_that_nobody_knows_stays_text() -> None:
    odd = replace(fidelity(), order=HOSTILE[4], backfill=HOSTILE[5])
    assert belief.policy(odd).isprintable()
    assert belief.fit_line(_with(odd)).isprintable()
    assert belief.policy(fidelity()) == "first come, first served, EASY backfilling"


@pytest.mark.parametrize(
    ("order", "said"), [("fairshare", "by fairshare"), ("nuwt", "by how long owners waited")]
)
def test_another_fair_order_than_that_of_arrival_is_said(order: str, said: str) -> None:
    fidelity = Fidelity("fcfs", "easy", (), order)
    assert said in belief.fair_order(fidelity)
    assert said in belief.judged(fidelity)
    for by_arrival in (None, Fidelity("fcfs", "easy", ())):
        assert belief.fair_order(by_arrival) == ""
        assert belief.judged(by_arrival) == ""
