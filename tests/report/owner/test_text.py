"""Sentences of the page of one user or account: true of what the record holds."""

from dataclasses import replace

import pytest

from audit.registry.causes import CAUSES
from audit.registry.passed import PassedWhy
from audit.report.contents import Who
from audit.report.owner import text
from audit.report.owner.record import OwnerPart, ShorterClass, Typical, WaitPart
from audit.scenario.releases.chains import OwnEnd
from tests.report.owner.sample import ANN, BETTER, HOUR, LONG, owner, part
from tests.report.sample import figure

SIMILAR = "jobs of this size and time limit"
LESS = figure("class_ratio", 0.5, 0.3, 0.8)
LONGER = figure("class_ratio", 1.5, 1.2, 2.0)


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        ((3 * HOUR, 2.0 * HOUR, 100), f"You typically waited 3 h; {SIMILAR} waited 2 h."),
        ((2 * HOUR, 3.0 * HOUR, 100), f"You typically waited 2 h; {SIMILAR} waited 3 h."),
        ((0, 60.0, 100), f"You typically started at once; {SIMILAR} waited 1 min."),
        ((900, 0.0, 100), f"You typically waited 15 min; {SIMILAR} started at once."),
        ((0, 0.0, 100), f"You typically started at once, as {SIMILAR}."),
        ((3 * HOUR, 2.5 * HOUR, 100), f"You waited about as long as {SIMILAR}: 3 h."),
        (
            (3 * HOUR, 2.0 * HOUR, 60),
            f"You typically waited 3 h; {SIMILAR} waited 2 h. Compared: 60 of your 100 jobs.",
        ),
        ((3 * HOUR, None, 19), "You typically waited 3 h. Too few jobs exist to compare."),
        (
            (3 * HOUR, None, 20),
            "You typically waited 3 h. Most of your jobs have too few others to compare with.",
        ),
    ],
)
def test_the_head_compares_typical_waits(of: tuple[int, float | None, int], expected: str) -> None:
    made = replace(part(), typical=Typical(*of))
    assert text.typically(made, ANN) == expected
    account = text.typically(made, Who("account", "bio"))
    assert account == expected.replace("You", "The account").replace("your", "its")
    named = text.typically(made, ANN, named=True)
    assert named == expected.replace("You", "User ann").replace("your", "their")


def _caused(**shares: float) -> OwnerPart:
    parts = tuple(WaitPart(cause, shares.get(cause.key, 0.0), 0.1) for cause in CAUSES)
    return replace(part(), parts=parts)


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({"rule": 1.0}, "Mostly because of limits or closed hours: 100 % of your waiting time."),
        (
            {"rule": 0.4, "earlier": 0.3, "later": 0.25, "unexplained": 0.05},
            "Mostly because of a full machine: 55 % of your waiting time. For 5 % the log gives no "
            "reason.",
        ),
        (
            {"own": 0.4, "rule": 0.35, "later": 0.25},
            "The largest cause was your own jobs: 40 % of your waiting time.",
        ),
        ({"unexplained": 1.0}, "For 100 % of your waiting time, the log gives no reason."),
    ],
)
def test_a_page_says_what_most_of_the_waiting_was_for(
    shares: dict[str, float], expected: str
) -> None:
    made = _caused(**shares)
    assert text.verdict(made, ANN).endswith(f"waited 2 h. {expected}")
    named = text.verdict(made, ANN, named=True)
    assert named.endswith(f" {expected.replace('your', 'their')}")
    assert text.answers(made)[2].big in expected  # the third figure is of the same cause
    assert text.mostly(replace(made, typical=Typical(0, 0.0, 100))) == ""


def test_a_head_without_jobs_or_weeks_says_so() -> None:
    none = replace(part(), attempts=0)
    none = replace(none, typical=None)
    assert text.verdict(none, ANN) == "No job started and ended in this period."
    assert text.verdict(none, ANN, named=True).startswith("User ann: no job started")
    early = replace(part(), typical=Typical(60, None, 0), everybody=None)
    assert "No comparison: no week is closed yet" in text.verdict(early, ANN)


def test_three_figures_with_their_intervals() -> None:
    long, beside, way = text.answers(part())
    assert long.big == "5 h"
    assert long.text == "per job, mean (4–6 h); all jobs waited 2 h in the average week."
    assert beside.text == (
        "times as long on average (0.8–2), 20 h more in total, over 1,000 jobs. Not significantly "
        "longer."
    )
    assert (way.big, way.text) == (
        "60 %",
        "of their waiting time passed while enough was free, without a reason in the log; for "
        "all users, 20 % did in the average week.",
    )
    assert "20 h less in total" in text.answers(part(LESS))[1].text


def test_where_nothing_is_published_no_figure_is_about_others() -> None:
    none = part(figure("class_ratio", None))
    of = replace(none, everybody=None, parts=(), used_share=None)
    long, beside, way = text.answers(of)
    assert long.text == "per job, mean (4–6 h)."
    assert (beside.big, way.big) == ("–", "–")
    assert (text.used(of), text.notes(of)) == ("", ())


def test_what_was_used_is_a_part_of_what_all_used() -> None:
    assert text.used(part()) == (
        "Their jobs used 10 % of the CPU-hours that all jobs used in closed weeks."
    )


def test_what_was_allocated_beyond_requests_comes_with_advice() -> None:
    assert text.beyond(part()) == (
        "40 % of the CPU time of their jobs was allocated beyond the CPUs that they requested, "
        "mostly as whole nodes. Request all CPUs of a node, or use nodes that jobs share."
    )
    assert text.beyond(replace(part(), beyond=None)) == ""


def test_where_measures_disagree_one_sentence_says_how_both_are_true() -> None:
    (note,) = text.notes(part())
    assert "Such jobs wait long here" in note
    assert text.notes(part(LONGER)) == ()
    short = replace(part(), wait_mean=figure("wait_mean", HOUR, HOUR / 2, 3.0 * HOUR, "s"))
    assert text.notes(short) == ()


def test_choices_are_given_with_what_else_was_the_same() -> None:
    gain = figure("wait_mean", 2.0 * HOUR, None, None, "s")
    width = ShorterClass("width", "9-16", "5-8", "", "4-12h", gain, 11, 12, None)
    assert text.way(width, part()) == (
        "Jobs of 5–8 CPUs waited 2 h less on average than jobs of 9–16 CPUs, in 11 of 12 closed "
        "weeks; both requested 4–12 h. A narrower job usually runs longer."
    )
    wider = text.way(replace(width, better=">128"), part())
    assert "Jobs of over 128 CPUs" in wider
    assert wider.endswith("Request more only if a job can use it.")
    walltime = ShorterClass("walltime", "4-12h", "0-1h", "1", "", gain, 8, 8, 0.3)
    assert text.way(walltime, part()) == (
        "Jobs that requested up to 1 h waited 2 h less on average than jobs that requested 4–12 h, "
        "in 8 of 8 closed weeks; both were of 1 CPU. 3 in 10 of their own jobs of this kind "
        "would have ended in that time."
    )


def test_where_no_choice_is_better_it_says_how_many_were_compared() -> None:
    assert text.no_way(part()).startswith("Too few other users")
    assert "compared 3 other choices" in text.no_way(replace(part(), tried=3))
    assert "compared 1 other choice of" in text.no_way(replace(part(), tried=1))


def test_jobs_that_started_at_once_have_no_note() -> None:
    made = replace(part(), waited_s=0, longest=(), passed_why=None)
    assert not any("One wait" in note for note in text.notes(made))


def test_a_long_wait_is_described_without_other_users() -> None:
    assert text.long_title(LONG, part(), "UTC") == (
        "5 h: job 17, 8 CPUs for up to 4 h, from 2026-10-02 00:13"
    )
    assert text.explained(LONG, ANN, part()) == (
        "Other jobs of this user used 6.4 CPUs meanwhile.",
        "Jobs of this size and time limit waited 2 h on average in the same weeks.",
    )
    held = replace(LONG, own_end=OwnEnd("16", 40))
    assert text.explained(held, ANN, part())[-1] == (
        "Job 17 started 40 s after job 16 of this user ended: a dependency or a limit."
    )
    alone = replace(LONG, job_id=None, held=0.0, similar_wait_s=None)
    assert "a job, 8 CPUs" in text.long_title(alone, part(), "UTC")
    assert text.explained(alone, ANN, part()) == ("No job of this user ran during that time.",)


def test_a_page_says_that_later_jobs_overtook_and_counts_nobody() -> None:
    (note,) = text.notes(part(LONGER, passed=True))
    assert note == (
        "Later jobs of the same queue, at least as large and long, overtook their jobs "
        "significantly more often than those of others."
    )


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (part(), "typically waited 3 h, similar jobs 2 h"),
        (part(LONGER, passed=True), "was overtaken more often than others"),
        (
            replace(part(), typical=Typical(3 * HOUR, 0.0, 100)),
            "typically waited 3 h, similar jobs started at once",
        ),
        (
            replace(part(), typical=Typical(0, 60.0, 100)),
            "typically started at once, similar jobs 1 min",
        ),
        (part(figure("class_ratio", None)), "typically waited 3 h"),
        (replace(part(), typical=None), "waited 5 h per job"),
        (replace(part(), attempts=0), "had no job that started"),
        (
            replace(part(), trend=BETTER),
            "typically waited 3 h, similar jobs 2 h; shorter than 2026-09",
        ),
    ],
)
def test_the_subject_of_a_mail_says_it_in_a_few_words(of: OwnerPart, expected: str) -> None:
    assert text.short(owner(ANN, of)) == f"user ann {expected}"


def test_a_period_of_which_there_is_nothing_to_tell() -> None:
    none = replace(owner(), parts=())
    assert text.nothing(none) == "User ann: no job ended in this period."
    assert text.short(none) == "user ann: no job ended"
    early = replace(none, brief=True)
    assert text.nothing(early) == "User ann: so far, the log covers too few days of this period."
    assert text.short(early) == "user ann: too few covered days"


@pytest.mark.parametrize(
    ("why", "told"),
    [
        (None, ()),
        (
            PassedWhy.OWN_ORDER,
            ("Their jobs are not listed as overtaken more often than others: own later jobs "
             "passed own earlier jobs about as often.",),
        ),
        (
            PassedWhy.FEW_JOBS,
            ("The log cannot tell whether later jobs overtook their jobs more often: fewer than 20 "
             "jobs waited while later jobs of others requested as much.",),
        ),
    ],
)  # fmt: skip
def test_a_page_says_why_nobody_is_named(why: PassedWhy | None, told: tuple[str, ...]) -> None:
    assert text.notes(replace(part(LONGER), passed_why=why and why.value)) == told


@pytest.mark.parametrize(
    ("hours", "attempts", "told"), [(200, 100, True), (100, 100, False), (200, 4, False)]
)
def test_one_wait_that_makes_most_of_all_is_reported(hours: int, attempts: int, told: bool) -> None:
    longest = replace(LONG, wait_s=hours * HOUR)
    notes = text.notes(replace(part(LONGER), attempts=attempts, longest=(longest,)))
    expected = "One wait of 8.3 d is 40 % of all their waiting time: look at it first."
    assert notes == ((expected,) if told else ())
