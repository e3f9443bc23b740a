"""Advice, read from a store and in words."""

from dataclasses import replace

import pytest

from audit.model import Period
from audit.report import wording
from audit.report.figures import Figure
from audit.report.first_page.phrases import WHY_UNTESTED
from audit.report.render.page import _environment
from audit.report.sections.advice import section as advice
from audit.report.sections.advice.record import Advised
from audit.report.sections.advice.section import read
from audit.report.source import SectionSource
from audit.report.wording import percent
from audit.scenario.advice import judging
from audit.store import database
from audit.store.database import Connection
from tests.report.rows import add

PERIOD = Period("2026-10", 1790805600, 1793487600)
_KEY = {"cluster": "de'mo", "pool": "batch", "period": "2026-10", "run_id": "run-1"}
RESERVE = '{"reservations": 4}'


def test_reasons_are_outcomes_with_their_bounds() -> None:
    assert {*WHY_UNTESTED} <= {*judging.Judgement}
    assert f"fewer than {judging.LEAST_USERS} users" in WHY_UNTESTED["few_users"]
    assert f"fewer than {judging.LEAST_STRETCHES} days" in WHY_UNTESTED["few_days"]


@pytest.fixture
def con(bare: Connection) -> Connection:
    add(bare, "pools", cluster="de'mo", pool="batch", resource="cpus", capacity=4)
    return bare


def _tried(con: Connection, change: str = RESERVE, place: int | None = 1, **other: object) -> None:
    row = {
        **_KEY,
        "change": change,
        "title": "Reserve for the first four in the queue instead of one",
        "place": place,
        "outcome": "supported" if place else "unsupported",
        "dimension": "width_class",
        "dimension_value": "65-128",
        "observed_s": None,
        "today_s": 72_000,
        "changed_s": 39_600,
        "gain_s": 32_400,
        "gain_lower_s": 21_600,
        "gain_upper_s": 43_200,
        "saved_s": 10_000_000,
        "attempts": 900,
        "users": 40,
        "gaining_users": 5,
        "losing_users": 2,
    }
    add(con, "advice_result", row | other)


def _part(
    con: Connection,
    width: str,
    attempts: int,
    difference: int,
    outcome: str,
    dimension: str = "width_class",
) -> None:
    row = {
        **_KEY,
        "change": RESERVE,
        "dimension": dimension,
        "dimension_value": width,
        "attempts": attempts,
        "users": 9,
        "today_s": 1_000,
        "changed_s": 1_000 + difference,
        "difference_s": difference,
        "lower_s": difference - 30,
        "upper_s": difference + 30,
        "outcome": outcome,
    }
    add(con, "advice_part", row)


def _fit(con: Connection, agreement: float) -> None:
    policy = {"order": "fcfs", "backfill": "easy", "fair_order": "fcfs", "unit": "1"}
    rows = [
        {"metric": "wait_correlation", "value": 0.5, "own_peak": None},
        {"metric": "agreement", "value": agreement, "own_peak": False},
        {"metric": "agreement", "value": 0.99, "own_peak": True},
    ]
    add(con, "fidelity_result", *rows, **_KEY, **policy)


def _read(con: Connection) -> Advised:
    return read(SectionSource(con, "de'mo", PERIOD)).get("batch", Advised())


def test_the_report_states_that_nothing_was_tried(con: Connection) -> None:
    found = _read(con)
    assert found == Advised()
    assert advice.nothing(found) == "No change was tested: no advice was computed."
    assert advice.never(found) == ""


def test_the_report_states_what_no_budget_allowed(con: Connection) -> None:
    _tried(con, place=None, outcome="not_tried")
    assert advice.nothing(_read(con)) == (
        "No change was tested: the computing time for advice was too short."
    )


@pytest.mark.parametrize(
    ("change", "caution"),
    [
        ("--walltimes 2", "Users do not know run times in advance"),
        ("--per-node gpus=2", "This assumes that jobs can use more nodes"),
    ],
)
def test_what_a_replay_cannot_know_is_stated(con: Connection, change: str, caution: str) -> None:
    _tried(con, change=change)
    assert caution in advice.sentences(_read(con).changes[0])


def test_users_who_gain_and_lose_are_named(con: Connection) -> None:
    _fit(con, 0.9)
    _tried(con)
    _part(con, "1", 500, 240, "loses")
    _part(con, "<ann>", 10, 3_600, "loses", "user")
    _part(con, "ben", 100, -7_200, "gains", "user")
    (one,) = _read(con).changes
    assert [loser.label for loser in one.losers] == ["1"]
    said = advice.sentences(one)
    assert said.endswith("1-CPU jobs 4 min more. By user: ben 2 h less, <ann> 60 min more.")
    page = _environment().from_string("{{ one | sentences }}")
    assert "&lt;ann&gt; 60 min more" in page.render(one=one)


def test_what_helps_is_reported_with_who_loses(con: Connection) -> None:
    _fit(con, 0.9)
    _tried(con)
    _part(con, "1", 500, 240, "loses")
    _part(con, "2", 10, 3_600, "loses")
    _part(con, "3-4", 40, 20, "unclear")
    _part(con, "65-128", 30, -32_400, "gains")
    found = _read(con)
    (one,) = found.changes
    assert [loser.label for loser in one.losers] == ["1", "2"]  # 500 · 240 > 10 · 3600
    assert found.untested == ""
    assert advice.never(found) == advice.nothing(found) == ""
    assert advice.sentences(one) == (
        "Reserve for the first four in the queue instead of one. 65–128-CPU jobs wait 9 h less "
        "(6–12 h), 1-CPU jobs 4 min more, 2-CPU jobs 60 min more."
    )
    same = advice.sentences(replace(one, observed_s=72_010))
    assert same.endswith("(Observed mean wait: 20 h; in a replay of today's rules: the same.)")
    known = advice.sentences(replace(one, observed_s=80_000))
    assert known.endswith(
        " 60 min more. (Observed mean wait: 22 h; in a replay of today's rules: 10 % shorter.)"
    )


def test_nothing_is_tried_under_a_policy_that_the_log_contradicts(con: Connection) -> None:
    _fit(con, 0.36)
    _tried(con, place=None, outcome="not_agreeing", never_start=None)
    found = _read(con)
    assert (found.untested, found.tried) == ("not_agreeing", ())
    assert advice.nothing(found) == (
        f"No change was tested: the replayed policy agrees with {percent(0.36)} of the observed "
        f"starts, and {percent(0.65)} are required."
    )


def test_the_agreement_of_the_replayed_policy_counts_where_another_one_would_do(
    con: Connection,
) -> None:
    _fit(con, 0.36)
    _tried(con, place=None, outcome="not_agreeing", never_start=None)
    found = _read(con)
    assert (found.judged(0.99), found.judged(0.64)) == (0.36, 0.64)
    assert Advised().judged(0.99) == 0.99


def test_classes_of_walltimes_lose_too_and_chance_effects_are_stated(con: Connection) -> None:
    _tried(con)
    _part(con, "0-1h", 500, 240, "loses", "walltime_class")
    _part(con, "unknown", 5, 99, "unclear", "walltime_class")  # less than a tenth of 1,000
    _part(con, "2", 900, 3_600, "unclear")
    _part(con, "all", 900, 3_600, "loses", "all")
    told = advice.sentences(_read(con).changes[0])
    assert told.endswith(
        "(6–12 h), jobs that request up to 1 h wait 4 min more, perhaps 2-CPU jobs 60 min more."
    )
    _part(con, ">24h", 900, 60, "loses", "walltime_class")
    _part(con, "4-12h", 900, 60, "loses", "walltime_class")
    told = advice.sentences(_read(con).changes[0])
    assert told.endswith("jobs that request 4–12 h wait 1 min more, 2 other classes also longer.")


def test_where_nothing_helps_it_says_of_how_many(con: Connection) -> None:
    _tried(con, place=None)
    _tried(con, '{"depth": 2}', None)
    _tried(con, '{"depth": 3}', None, outcome="not_tried", title="Deeper")
    found = _read(con)
    assert found.changes == ()
    assert advice.nothing(found) == (
        "No change is advised: replays of 2 changes on this log show no significant benefit."
    )


def test_the_best_come_first_and_no_more_than_three(con: Connection) -> None:
    for place in (4, 2, 3, 1):
        _tried(con, f'{{"depth": {place}}}', place)
    assert [one.change[-2] for one in _read(con).changes] == ["1", "2", "3"]


def test_the_evidence_is_a_query_and_names_cannot_break_out_of_it(con: Connection) -> None:
    hostile = """{"who": "o'); DROP TABLE advice_part; --"}"""
    _tried(con, hostile, title="Lift the limit of \u202eo'); <b>")
    _part(con, "1", 500, 240, "loses")
    database.execute(con, "UPDATE advice_part SET change = ?", [hostile])
    (one,) = _read(con).changes
    assert database.fetch(con, one.sql)["difference_s"].to_list() == [240]
    assert advice.sentences(one).startswith("Lift the limit of \\u202eo'); <b>. ")


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (Figure("wait_change", 46_800, 14_400, 57_600, "s"), ("13 h", "4–16 h")),
        (Figure("wait_change", 3.44, 1, 5, "s"), ("3.4 s", "1–5 s")),
        (Figure("wait_change", 900_000, None, None, "s"), ("10 d", "")),
        (Figure("wait_change", 7_000, -3_600, 9_999_999, "s"), ("120 min", "−60 to 170,000 min")),
    ],
)
def test_lengths_have_two_digits_and_one_unit(change: Figure, shown: tuple[str, str]) -> None:
    assert (wording.rough(change), wording.rough_interval(change)) == shown


def test_changes_under_which_jobs_never_start_are_named_first(con: Connection) -> None:
    limit = "Let no user have more than 64 CPUs at a time"
    _tried(con, "a", None, title=limit, outcome="never_starts", never_start=320)
    _tried(con, "b", None, title="Lift all limits", outcome="never_starts", never_start=1)
    found = _read(con)
    never = (
        "320 jobs would never start if you let no user have more than 64 CPUs at a time, and 1 "
        "other change would also leave such jobs: not advised. "
    )
    assert advice.nothing(found) == (
        f"{never}No change is advised: replays of 2 changes on this log show no significant "
        "benefit."
    )
    _tried(con)
    assert f"{advice.never(_read(con))} " == never


def test_nothing_is_advised_where_the_replay_misses_the_observed_wait(con: Connection) -> None:
    _tried(con, place=None, outcome="not_reproduced", never_start=0)
    assert advice.nothing(_read(con)) == (
        "No change was tested: a replay of today’s rules misses the observed waits by over a "
        "quarter."
    )
