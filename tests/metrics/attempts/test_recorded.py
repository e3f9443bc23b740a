"""Records of schedulers about waits: against the slow twin, by hand, and in the account."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.cluster.rules import recorded_rules
from audit.metrics.attempts.account import Durations, account
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.recorded import REACH_S, RECORDED, recorded, with_evidence
from audit.model import EVIDENCE
from tests.naive import recorded as naive
from tests.strategies import POOLS, ended, frame, sampled

EPOCH, NOW = 0, 1_000_000
REASONS = (*naive.KINDS, "Resources", None)


def said(*rows: dict[str, Any]) -> pl.DataFrame:
    default: dict[str, Any] = dict.fromkeys(EVIDENCE.names()) | {"kind": "squeue", "job_id": "1"}
    moved = [{**default, "state": "PENDING", **row} for row in rows]
    return pl.DataFrame(moved, EVIDENCE)


def stretches(attempts: pl.DataFrame) -> list[tuple[int, int, int, str]]:
    return recorded(attempts).rows()


@st.composite
def statements(draw: st.DrawFn) -> list[dict[str, Any]]:
    made = []
    for instant in sorted(draw(st.sets(st.integers(-3, 40), max_size=8))):
        state = draw(sampled(["PENDING", "PENDING", "PENDING", *naive.CHANGES]))
        made.append(
            {
                "kind": draw(sampled(["squeue", "ctld-log"])),
                "instant": EPOCH + instant * 300,
                "job_id": draw(sampled(["1", "2"])),
                "state": state,
                "reason": draw(sampled(["JobHeldUser", "Dependency"]))
                if state == "HELD"
                else draw(sampled(list(REASONS))),
                "priority": draw(sampled([None, 0.0, 5.0, 9.0])),
                "expected_start": draw(sampled([None, EPOCH, EPOCH + 90_000])),
            }
        )
    return made


@given(statements(), st.data())
def test_as_defined(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    records = [
        ended(300 * data.draw(st.integers(0, 5)), 300 * data.draw(st.integers(6, 30)), 12_000, 1)
        | {"job_id": str(number), "job_number": number}
        for number in (1, 2)
    ]
    attempts = frame(records)
    found = with_evidence(attempts, said(*rows))
    for row, attempt in enumerate(attempts.to_dicts()):
        mine = [one for one in stretches(found) if one[0] == row]
        for second in range(EPOCH - 600, EPOCH + 12_600, 150):
            kinds = {kind for _, begin, end, kind in mine if begin <= second < end}
            assert kinds == naive.said_at(attempt, rows, second)
        assert found["priority"][row] == naive.priority(attempt, rows)


def test_without_evidence_nothing_is_added() -> None:
    attempts = frame([ended(0, 10, 20, 1)])
    assert with_evidence(attempts, said()).equals(attempts)
    assert recorded(attempts).is_empty()


def test_a_sample_applies_until_the_next_and_no_longer_than_its_reach() -> None:
    attempts = frame([ended(0, 9_000, 9_100, 1) | {"job_id": "1"}])
    found = with_evidence(
        attempts,
        said(
            {"instant": EPOCH + 100, "reason": "Dependency"},
            {"instant": EPOCH + 160, "reason": "Priority"},
            {"instant": EPOCH + 220, "reason": "BeginTime"},
        ),
    )
    assert stretches(found) == [
        (0, EPOCH + 100, EPOCH + 160, "dependency"),
        (0, EPOCH + 220, EPOCH + 220 + REACH_S, "begin"),
    ]


def test_a_hold_lasts_until_its_release() -> None:
    attempts = frame([ended(0, 90_000, 90_100, 1) | {"job_id": "1"}])
    log = {"kind": "ctld-log"}
    found = with_evidence(
        attempts,
        said(
            {**log, "instant": EPOCH + 100, "state": "HELD", "reason": "JobHeldAdmin"},
            {**log, "instant": EPOCH + 70_000, "state": "RELEASED"},
        ),
    )
    assert stretches(found) == [(0, EPOCH + 100, EPOCH + 70_000, "hold")]


def test_a_priority_of_the_second_of_the_start_counts() -> None:
    attempts = frame([ended(0, 900, 1_000, 1) | {"job_id": "1"}])
    rows = [{"instant": EPOCH + at, "priority": float(at)} for at in (600, 900, 901)]
    assert with_evidence(attempts, said(*rows))["priority"].to_list() == [900.0]


def test_all_tasks_of_an_array_that_wait_are_meant() -> None:
    tasks = [ended(0, 1_000 * n, 9_000, 1) | {"job_id": f"7_{n}"} for n in (1, 2)]
    found = with_evidence(
        frame(tasks), said({"job_id": "7_*", "instant": EPOCH + 1_500, "reason": "Dependency"})
    )
    assert stretches(found) == [(1, EPOCH + 1_500, EPOCH + 2_000, "dependency")]


def test_a_limit_that_one_source_does_not_name_has_the_name_of_another() -> None:
    attempts = frame([ended(0, 9_000, 9_100, 1) | {"job_id": "1"}])
    found = with_evidence(
        attempts,
        said(
            {"kind": "ctld-log", "instant": EPOCH + 10, "reason": "AccountingPolicy"},
            {"kind": "ctld-log", "instant": EPOCH + 20, "reason": None},
            {"instant": EPOCH + 40, "reason": "QOSMaxJobsPerUserLimit"},
            {"instant": EPOCH + 50, "reason": "Priority"},
        ),
    )
    assert {kind for *_, kind in stretches(found)} == {"limit QOSMaxJobsPerUserLimit"}


def booked(reason: str | None, expected: int | None = None) -> dict[str, Any]:
    """The account of a job that fits during its wait of 100 s, of which 60 s are recorded."""
    pool = POOLS[0]._replace(steps=(), limits=(), windows=())
    attempts = frame([ended(0, 100, 200, 1, "ann") | {"job_id": "1", "cpus": 1, "nodes": 1}])
    rows = said(
        {"instant": EPOCH + 20, "reason": reason, "expected_start": expected},
        {"instant": EPOCH + 80, "reason": "Priority"},
    )
    described = describe(with_evidence(attempts, rows), [pool])
    made = account(described, pool, NOW, log_begin=EPOCH - 1, durations=Durations(0)).attempts
    return made.row(0, named=True)


def test_a_recorded_hold_is_held() -> None:
    one = booked("Dependency")
    assert (one["cause_held_s"], one["cause_unexplained_s"]) == (60, 40)
    assert one["held_by"] == "dependency"


def test_a_recorded_limit_is_a_rule_with_its_name() -> None:
    one = booked("QOSMaxJobsPerUserLimit")
    assert (one["cause_rule_s"], one["cause_unexplained_s"]) == (60, 40)
    assert one["cause_rule_free_s"] == 60
    assert one["rule"] == "limit QOSMaxJobsPerUserLimit"
    rules = recorded_rules(POOLS[0]._replace(limits=(), windows=()), pl.DataFrame([one]))
    assert rules.select("rule", "source").rows() == [(one["rule"], "recorded")]


def test_what_the_scheduler_planned_for_later_is_kept() -> None:
    one = booked("Priority", EPOCH + 100)
    assert (one["cause_kept_s"], one["cause_unexplained_s"]) == (60, 40)


@pytest.mark.parametrize("reason", ["Priority", "Resources", None])
def test_a_turn_alone_explains_nothing(reason: str | None) -> None:
    assert booked(reason)["cause_unexplained_s"] == 100


def test_the_stretches_are_no_column_of_results() -> None:
    pool = POOLS[0]
    attempts = frame([ended(0, 10, 20, 1) | {"job_id": "1"}])
    found = with_evidence(attempts, said({"instant": EPOCH, "reason": "Dependency"}))
    assert RECORDED in describe(found, [pool]).columns
    assert RECORDED not in describe(attempts, [pool]).columns
