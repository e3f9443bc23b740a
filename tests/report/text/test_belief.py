from dataclasses import replace

import pytest

from audit.registry.causes import CAUSES
from audit.report.record.pool import Fidelity, Overtaken, PoolPart
from audit.report.text import belief
from audit.report.text.belief import Fit
from tests.report.sample import HOSTILE, fair_starts, fidelity, figure, pool


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
        "The model fits this log well. In the model, 85.0 % of the jobs that waited start when the "
        "site started them (at least 80.0 % required). The rank correlation of modelled and "
        "observed waits is 0.75 (at least 0.65 required)."
    )
    poor = belief.verdict(_with(fidelity(0.4, -0.25)))
    assert poor.startswith("The model fits this log poorly. Apparent unfairness may be an error")
    assert "40.0 % of the jobs that waited start when" in poor
    assert "observed waits is −0.25 (at least" in poor
    assert "not known" in belief.verdict(_with(None))


def test_a_policy_that_nobody_knows_stays_text() -> None:
    odd = replace(fidelity(), order=HOSTILE[4], backfill=HOSTILE[5])
    assert belief.policy(odd).isprintable()
    assert belief.policy(fidelity()) == "first come, first served with EASY backfilling"


@pytest.mark.parametrize(
    ("order", "said"), [("fairshare", "by fairshare"), ("nuwt", "by normalised user wait time")]
)
def test_another_fair_order_than_that_of_arrival_is_said(order: str, said: str) -> None:
    fidelity = Fidelity("fcfs", "easy", (), order)
    assert said in belief.fair_order(fidelity)
    for by_arrival in (None, Fidelity("fcfs", "easy", ())):
        assert belief.fair_order(by_arrival) == ""


ONE = Overtaken("17", 1, "anna", 4, 7_200, (0,) * 8 + (1_800.0, 5_400.0, 0, 0), 3_600, 0, 600)


def _of(one: Overtaken, told: Fidelity | None = None) -> str:
    fair = replace(fair_starts(), overtaken=(one,), fidelity=told or fidelity())
    part: PoolPart = replace(pool(), fair_start=fair)
    (said,) = belief.most_overtaken(part)
    return said


def test_a_wait_in_a_sentence() -> None:
    assert _of(ONE) == (
        "Job 17 of user anna (4 CPUs) waited 2 h; for 75.0 % of that time, jobs of others that had "
        "arrived later used what it lacked. In the model, later arrivals delayed it by 1 h; it "
        "waited 10 min longer than the model explains."
    )
    assert "(jobs of the same user by 20 min)" in _of(replace(ONE, own_s=1_200))
    assert _of(replace(ONE, unmodelled_s=0)).endswith(
        "by 1 h; the model explains the rest of the wait."
    )
    assert "10 min less than the model explains" in _of(replace(ONE, unmodelled_s=-600))
    assert _of(replace(ONE, attempt=2)).startswith("Job 17, attempt 2 of user anna")


def test_nobody_is_named_by_a_model_that_fits_poorly() -> None:
    assert "anna" not in _of(ONE, fidelity(0.2))


def test_what_is_not_known_is_left_out() -> None:
    said = _of(replace(ONE, size=None, user=None, parts=(None,) * len(CAUSES), own_s=None))
    assert said.startswith("Job 17 waited 2 h. In the model")


def test_names_stay_text() -> None:
    assert all(_of(replace(ONE, job_id=name, user=name)).isprintable() for name in HOSTILE)
