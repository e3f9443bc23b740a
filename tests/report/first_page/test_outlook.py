"""What to try, and how complete the records are, in words."""

from dataclasses import replace
from typing import Any

import pytest

from audit.metrics.verdict import Because, Word
from audit.report.first_page import outlook
from audit.report.first_page.facts import Half
from audit.report.first_page.outlook import to_try
from audit.report.record.pool import Advice, AdvicePart, Figure
from tests.report.first_page.sample import (
    RULE,
    advice,
    causes,
    compared,
    decision,
    facts,
    known,
    victim,
)

LOSS = Figure("wait_change", 600, 300, 900, "s")
EXACT = advice(
    change="--walltimes exact",
    title="Ask users for time limits equal to the run time",
    width=None,
    losers=(),
    observed_s=None,
)


def lost(dimension: str, label: str, *, certain: bool = True) -> AdvicePart:
    return AdvicePart(dimension, label, LOSS, 100, certain)


@pytest.mark.parametrize(
    ("of", "text"),
    [
        (
            advice(),
            "Lift the limit of 10 running jobs per user. Jobs of 65–128 CPUs wait 2 h less on "
            "average (60 min to 3 h), of 10 h; jobs of 1 CPU wait 10 min more.",
        ),
        (
            EXACT,
            "Ask users for time limits equal to the run time. Jobs wait 2 h less on average "
            "(60 min to 3 h). Users do not know run times in advance, so the real gain is smaller.",
        ),
        (
            advice(title=" ".join("abcdefghijklmnop"), width=">128", losers=()),
            "a b c d e f g h i j k l m n …. Jobs over 128 CPUs wait 2 h less on average "
            "(60 min to 3 h), of 10 h.",
        ),
    ],
)
def test_a_change_says_who_gains_how_much_and_who_loses(of: Advice, text: str) -> None:
    assert outlook.replayed(of).text.replace("\u00a0", " ") == text


@pytest.mark.parametrize(
    ("losers", "text"),
    [
        ((lost("walltime_class", "4-12h"),), "; jobs with time limits of 4–12 h wait 10 min more."),
        ((lost("walltime_class", ">24h"),), "; jobs with time limits over 24 h wait 10 min more."),
        ((lost("walltime_class", "unknown"),), "; jobs without a time limit wait 10 min more."),
        (
            (lost("width_class", "2-4", certain=False),),
            "; jobs of 2–4 CPUs perhaps wait 10 min more.",
        ),
        (
            (lost("width_class", "2-4"), lost("width_class", "1"), lost("width_class", "5-8")),
            "; jobs of 2–4 CPUs wait 10 min more, and 2 other classes wait longer.",
        ),
    ],
)
def test_who_waits_longer_after_a_change(losers: tuple[AdvicePart, ...], text: str) -> None:
    assert outlook.replayed(replace(advice(), losers=losers)).plain.endswith(text)


def test_what_a_file_would_show_where_nothing_lacks_a_reason() -> None:
    of = facts(causes=causes(earlier=0.8, later=0.2))
    assert outlook.next_file(of).plain.endswith("They would show whether rules held jobs, too.")


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ({"agreement": 0.8, "changes": (advice(), advice())}, ["Lift", "Lift", "To ask"]),
        ({"agreement": 0.8, "tried": 3}, ["To ask", "No change clearly saves 5 % of the waiting: 3 were"]),
        (
            {"agreement": 0.8, "tried": 3, "reproduced": False},
            ["To ask", "No change was tested: a replay of today’s rules misses"],
        ),
        ({"agreement": 0.23}, ["To ask", "No change was tested: a replay matches 23 %"]),
    ],
)
def test_what_to_try_in_order(given: dict[str, Any], texts: list[str]) -> None:
    found = outlook.to_try(facts(**given))
    assert [one.plain.startswith(text) for one, text in zip(found, texts, strict=True)] == [
        True
    ] * len(texts)


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [  # typical wait, that of one job in ten, load, the first without user 3, jobs, the second
        ((540, 9_000, 0.7, 500), (180, 9_000, 0.7, 180), "fell from 9 min to 3 min"),
        ((540, 9_000, 0.7, 500), (180, 9_000, 0.7, 500), "The change is that of User 3."),
        ((180, 9_000, 0.7, 500), (540, 9_000, 0.7, 500), "The change is that of User 3."),
        ((180, 9_000, 0.7, 500), (540, 9_000, 0.7, 400), "The change is that of User 3."),
    ],
)
def test_a_change_without_the_largest_user(
    first: tuple[int, int, float, int], last: tuple[int, int, float, int], text: str
) -> None:
    of = compared(first=Half(*first, jobs=99), last=Half(*last, jobs=99))
    assert text in outlook.changed(facts(compared=of)).plain


def test_a_log_of_less_than_a_day_compares_nothing() -> None:
    short = facts(compared=None, log_days=0.04)
    assert outlook.changed(short).plain == (
        "No comparison: the log covers less than a day, and two weeks are needed."
    )


def test_waits_of_one_job_in_ten_are_compared_without_the_largest_user_too() -> None:
    first, last = Half(2, 600, 0.5, 2, 99, 600), Half(2, 60, 0.5, 2, 99, 600)
    alone = compared(first=first, last=last)
    assert outlook.changed(facts(compared=alone)).plain == "The change is that of User 3."
    others = alone._replace(last=last._replace(p90_without=55))
    assert outlook.changed(facts(compared=others)).plain == (
        "At almost the same load (50, then 50 %), the wait of one job in ten fell from 10 min to "
        "1 min between the halves of the log. Without User 3: about the same."
    )


@pytest.mark.parametrize(
    ("announced", "mark", "text"),
    [
        (None, "full", "Complete. All records were read."),
        (
            (970, 1_000),
            "full",
            "The log has 970 of the 1,000 records that its header names for this time.",
        ),
        (
            (122_060, 201_387),
            "half",
            "The log has 122,060 of the 201,387 records that its header names for this time.",
        ),
    ],
)
def test_records_that_a_header_names(
    announced: tuple[int, int] | None, mark: str, text: str
) -> None:
    first = outlook.steps(facts(known=known(announced=announced)))[0]
    assert (first.mark, first.text.plain) == (mark, text)


def test_a_rule_that_has_ended_is_to_be_confirmed_and_not_decided() -> None:
    of = facts(causes=causes(rule=0.4, earlier=0.3), rules=(RULE,))
    assert to_try(of)[0].plain.startswith("To decide: should the daytime closure")
    over = facts(causes=causes(rule=0.4, earlier=0.3), rules=(RULE,), ended=frozenset({RULE.name}))
    assert to_try(over)[0].plain == (
        "To ask: did the daytime closure for jobs over 4 h end, as the log shows?"
    )


def test_a_change_of_a_rule_leaves_nothing_to_decide_about_it() -> None:
    named = replace(advice(), title=f"Lift the {RULE.name}")
    of = facts(causes=causes(rule=0.4, earlier=0.3), rules=(RULE,), changes=(named,))
    assert [one.plain for one in to_try(of) if "To decide" in one.plain] == []


@pytest.mark.parametrize(("number", "who"), [(1, "anna"), (2, "two users"), (7, "7 users")])
def test_of_an_order_that_hurts_the_reason_is_asked_first(number: int, who: str) -> None:
    of = facts(decision=decision(Word.MIXED, Because.TREATED_WORSE, carried=(victim(),) * number))
    asked = "To ask: why did later jobs, at least as large, start before those of "
    assert to_try(of)[0].plain == f"{asked}{who}?"


def test_without_any_question_or_replay_no_change_was_tested() -> None:
    idle = {"agreement": 0.9, "changes": (), "tried": 0}
    own = facts(causes=causes(own=0.97, earlier=0.03), **idle)
    assert [one.plain for one in to_try(own)] == [
        "No change was tested: jobs waited for others of the same user."
    ]
    other = facts(causes=causes(own=0.6, earlier=0.4), **idle)
    assert [one.plain for one in to_try(other)] == ["No change was tested."]


SLURM = {"dialects": ("sacct",), "reasons": 1.0, "priorities": 1.0, "nodes_declared": True}
PBS = {"dialects": ("pbs",), "limits": "pbs", "nodes_declared": True}


@pytest.mark.parametrize(
    ("no_reason", "given", "words"),
    [
        (0.3, {**SLURM, "limits": ""}, "sacctmgr -P show assoc"),
        (0.3, {**SLURM, "limits": "slurm"}, "squeue, once a minute"),
        (0.1, {**SLURM, "limits": "slurm"}, "slurmctld.log"),
        (0.3, {**SLURM, "limits": "slurm", "evidence": ("squeue",)}, "slurmctld.log"),
        (0.1, {**SLURM, "limits": "slurm", "evidence": ("ctld-log",)}, "squeue, once a minute"),
        (
            *(0.3, {**SLURM, "limits": "slurm", "evidence": ("ctld-log", "squeue")}),
            "limits and closed hours",
        ),
        (0.3, PBS, "sched_logs"),
        (0.3, {**PBS, "evidence": ("pbs-log",)}, "limits and closed hours"),
    ],
)
def test_the_next_file_is_one_that_is_missing(
    no_reason: float, given: dict[str, Any], words: str
) -> None:
    of = facts(known=known(**given), causes=causes(none=no_reason))
    assert outlook.next_source(of).words == words
    assert words.split(",", maxsplit=1)[0] in outlook.next_file(of).plain
