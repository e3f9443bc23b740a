"""Fair start times in words: rules, agreement and the jobs that were delayed most."""

from dataclasses import replace

import pytest

from audit.registry.causes import CAUSES
from audit.report.contents import PoolPart
from audit.report.sections.fair_starts import record as belief
from audit.report.sections.fair_starts.record import Delayed, Fidelity, RuleFit
from tests.report.sample import fair_starts, fidelity, figure, having, pool


def _with(told: Fidelity | None) -> PoolPart:
    return having(pool(), replace(fair_starts(), fidelity=told))


@pytest.mark.parametrize(
    ("told", "good"),
    [
        (fidelity(0.65), True),
        (fidelity(0.64), False),
        (fidelity(None), False),
        (None, False),
        (Fidelity("fcfs", "easy", (figure("replayed", 0.0),)), False),
    ],
)
def test_users_are_named_by_a_known_rule(told: Fidelity | None, good: bool) -> None:
    assert belief.good_fit(_with(told)) is good


def test_a_verdict_says_from_what_it_is_concluded() -> None:
    assert belief.verdict(_with(fidelity())) == (
        "Of all rules that were tried, first come, first served with EASY backfilling, and no user "
        "runs more jobs than ever at once in the log agrees best with the observed starts: 85.0 %. "
        "That is the rule by which fair starts are found."
    )
    some, few = (belief.verdict(_with(fidelity(best))) for best in (0.4, 0.1))
    for said in (some, few):
        assert "No rule reaches 65 %, so the order in which jobs started is kept" in said
    assert "within about 6 points" in some
    assert "as two readings of the log: no user is named for such delays." in few
    assert "not known" in belief.verdict(_with(None))
    assert "not known" in belief.verdict(_with(fidelity(None)))


def test_the_agreements_of_rules_are_listed() -> None:
    kept = RuleFit("kept", "none", True, None)
    listed = belief.agreements(_with(replace(fidelity(0.4), used=kept)))
    assert [(share, used) for _, share, used in listed] == [("40.0 %", False), ("0.0 %", False)]
    assert belief.rule(kept) == "the order in which jobs started"
    assert [used for *_, used in belief.agreements(_with(fidelity()))] == [True, False]
    assert belief.agreements(_with(None)) == ()


@pytest.mark.parametrize(
    ("order", "said"), [("fairshare", "by fairshare"), ("nuwt", "by normalised user wait time")]
)
def test_another_fair_order_than_that_of_arrival_is_stated(order: str, said: str) -> None:
    fidelity = Fidelity("fcfs", "easy", (), order)
    assert said in belief.fair_order(fidelity)
    for by_arrival in (None, Fidelity("fcfs", "easy", ())):
        assert belief.fair_order(by_arrival) == ""


ONE = Delayed("17", 1, "anna", 4, 7_200, (0,) * 8 + (1_800.0, 5_400.0, 0, 0), 3_600, 3_600)


def _of(one: Delayed, told: Fidelity | None = None) -> str:
    fair = replace(fair_starts(), delayed=(one,), fidelity=told or fidelity())
    part: PoolPart = having(pool(), fair)
    (said,) = belief.most_delayed(part)
    return said


def test_a_wait_in_a_sentence() -> None:
    assert _of(ONE) == (
        "Job 17 of user anna (4 CPUs) waited 2 h; for 75.0 % of that time, jobs of others that had "
        "arrived later used what it lacked. Without later arrivals, it would have started 1 h "
        "earlier."
    )
    assert _of(replace(ONE, miss_cautious_s=600)).endswith(
        "1 h earlier, by the cautious reading 10 min."
    )
    assert _of(replace(ONE, attempt=2)).startswith("Job 17, attempt 2 of user anna")


def test_nobody_is_named_without_a_known_rule() -> None:
    assert "anna" not in _of(ONE, fidelity(0.2))


def test_what_is_not_known_is_left_out() -> None:
    said = _of(replace(ONE, size=None, user=None, parts=(None,) * len(CAUSES)))
    assert said.startswith("Job 17 waited 2 h. Without later arrivals")
