"""What to do, in the words of page one."""

from dataclasses import replace
from typing import Any

import pytest

from audit.metrics.verdict import Because, Word
from audit.report.figures import Figure
from audit.report.first_page.compose import lines
from audit.report.sections.advice import section as advice_page_one
from audit.report.sections.advice.record import Advice, AdvicePart
from audit.report.sections.advice.section import to_try
from audit.report.sections.causes import shown
from audit.report.sections.causes.page_one import notes
from audit.report.sections.causes.record import Where
from audit.report.sections.causes.shown import BY_KEY
from audit.report.sections.who import page_one as who_page
from tests.report.first_page.sample import RULE, advice, causes, decision, facts, person, victim

LOSS = Figure("wait_change", 600, 300, 900, "s")
EXACT = advice(
    change="--walltimes exact",
    title="Ask users for time limits equal to the run time",
    width=None,
    losers=(),
    observed_s=None,
)


def lost(dimension: str, label: str, *, certain: bool = True) -> AdvicePart:
    return AdvicePart(dimension, label, LOSS, certain)


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
    assert advice_page_one.replayed(of).text.replace("\u00a0", " ") == text


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
    assert advice_page_one.replayed(replace(advice(), losers=losers)).plain.endswith(text)


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ({"agreement": 0.8, "changes": (advice(), advice())}, ["Lift", "Lift", "To ask"]),
        (
            {"agreement": 0.8, "tried": 3},
            ["To ask", "No change clearly saves 5 % of the waiting: 3 were"],
        ),
        (
            {"agreement": 0.8, "tried": 3, "untested": "not_reproduced"},
            ["To ask", "No change was tested: a replay of today’s rules misses"],
        ),
        ({"agreement": 0.23}, ["To ask", "No change was tested: a replay matches 23 %"]),
        ({"agreement": 0.6496}, ["To ask", "No change was tested: a replay matches 64 %"]),
    ],
)
def test_what_to_try_in_order(given: dict[str, Any], texts: list[str]) -> None:
    found = advice_page_one.to_try(facts(**given))
    assert [one.plain.startswith(text) for one, text in zip(found, texts, strict=True)] == [
        True
    ] * len(texts)


def test_a_rule_that_has_ended_is_to_be_confirmed_and_not_decided() -> None:
    of = facts(causes=causes(rule=0.4, earlier=0.3), rules=(RULE,))
    assert to_try(of)[0].plain.startswith("To decide: should the daytime closure")
    over = facts(causes=causes(rule=0.4, earlier=0.3), rules=(RULE,), ended=frozenset({RULE.name}))
    assert to_try(over)[0].plain == (
        "To ask: did the daytime closure for jobs over 4 h end, as the log shows?"
    )


def test_a_rule_that_holds_jobs_only_while_the_machine_is_full_raises_no_question() -> None:
    full = RULE._replace(free_s=RULE.waiting_s / 9)
    of = facts(causes=causes(rule=0.4, earlier=0.3), rules=(full,))
    assert [one.plain for one in to_try(of) if "To decide" in one.plain] == []


@pytest.mark.parametrize(
    ("source", "questions"),
    [
        (
            "inferred",
            ["To ask: were only 1,256 CPUs in service for a while, as the log shows?"],
        ),
        ("configured", []),  # the site knows when its rule ended
    ],
)
def test_a_limit_of_the_whole_machine_that_ended_may_be_a_smaller_machine(
    source: str, questions: list[str]
) -> None:
    row = {
        "name": "limit of 1,256 CPUs",
        "kind": "limit",
        "scope": None,
        "per": None,
        "level": 1_256,
        "unit": "cpus",
        "source": source,
    }
    rule = shown.named_rule(row)._replace(waiting_s=90.0, free_s=60.0)
    over = facts(causes=causes(rule=0.4, earlier=0.3), rules=(rule,), ended=frozenset({rule.name}))
    asked = [one.plain for one in to_try(over) if "1,256 CPUs" in one.plain]
    assert asked == questions


def test_a_reason_that_was_recorded_is_asked_about() -> None:
    last = Where("reason", "JobArrayTaskLimit", 0.96, 0.2)
    of = facts(where=last, causes=causes(earlier=0.3))
    assert to_try(of)[0].plain == (
        "To ask: did JobArrayTaskLimit, the last reason logged, hold jobs while CPUs were free?"
    )
    assert [one.plain for one in notes(of)] == [
        "Enough free: nearly all of it is that of jobs with the last reason JobArrayTaskLimit, "
        "20 % of all jobs. How long it applied is not logged."
    ]
    label = who_page.label(BY_KEY["none"], of)
    assert label == "Enough CPUs free in total, reason not certain"
    assert who_page.label(BY_KEY["none"], replace(of, part=True)) == "Reason not certain"
    assert dict(lines(of))["Why"].startswith("70 % reason not certain")
    mine = person(causes=causes(earlier=0.2), last_reason="JobArrayTaskLimit")
    assert who_page.person(mine, of).plain == "Perhaps JobArrayTaskLimit, the last reason logged"


def test_a_change_of_a_rule_leaves_nothing_to_decide_about_it() -> None:
    named = replace(advice(), title=f"Lift the {RULE.name}")
    of = facts(causes=causes(rule=0.4, earlier=0.3), rules=(RULE,), changes=(named,))
    assert [one.plain for one in to_try(of) if "To decide" in one.plain] == []


@pytest.mark.parametrize(("number", "who"), [(1, "anna"), (2, "two users"), (7, "7 users")])
def test_of_an_order_that_hurts_the_reason_is_asked_first(number: int, who: str) -> None:
    of = facts(decision=decision(Word.MIXED, Because.TREATED_WORSE, carried=(victim(),) * number))
    asked = "To ask: why did later jobs, at least as large, start before those of "
    for changes in ((), (advice(), advice())):
        said = replace(of, changes=changes, agreement=0.9)
        assert to_try(said)[0].plain == f"{asked}{who}?"
        assert dict(lines(said))["Try"].startswith("to ask: why did later jobs")


@pytest.mark.parametrize(
    ("untested", "why"),
    [
        ("few_users", "fewer than 10 users had jobs"),
        ("few_days", "jobs arrived on fewer than 20 days"),
        ("short_waits", "jobs waited under a minute on average"),
        ("not_tried", "the computing time for advice was too short"),
        ("", "no advice was computed"),
    ],
)
def test_page_one_says_last_why_no_change_was_tested(untested: str, why: str) -> None:
    of = facts(agreement=0.9, changes=(), tried=0, untested=untested)
    asked, last = (one.plain for one in to_try(of))
    assert asked.startswith("To ask: ")
    assert last == f"No change was tested: {why}."
