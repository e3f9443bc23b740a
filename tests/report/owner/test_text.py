"""Sentences of the page of one user or account: true of what the record holds."""

from dataclasses import replace

import pytest

from audit.report.owner import text
from audit.report.owner.contents import (
    LongWait,
    Meanwhile,
    OwnerPart,
    Placed,
    Way,
)
from audit.report.owner.who import Who
from audit.report.trend import Change, Estimate, Trend
from tests.report.owner.sample import ANN, HOUR, LONG, owner, part
from tests.report.sample import figure

LESS = figure("peer_ratio", 0.5, 0.3, 0.8)


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (part(named=True), "User ann waits 1.5 times as long as others with jobs alike, beyond"),
        (part(flood=True), "20 h more in all, but only in floods of their own"),
        (part(), "User ann does not wait longer than others with jobs alike, beyond chance."),
        (part(LESS), "User ann waits less than others with jobs alike: 0.5 times as long."),
        (part(figure("peer_ratio", 2.0)), "their jobs came on fewer than ten days"),
        (part(figure("peer_ratio", None)), "nobody else had enough jobs alike"),
        (replace(part(named=True), peers_told=False), "jobs alike were of fewer than 5 others"),
        (replace(part(), attempts=0), "no job of theirs started and ended"),
    ],
)
def test_the_verdict_goes_by_what_chance_leaves(of: OwnerPart, expected: str) -> None:
    assert expected in text.verdict(of, ANN)


def test_three_figures_with_their_intervals() -> None:
    long, beside, way = text.answers(part(), ANN)
    assert long.big == "5 h"
    assert long.text == (
        "a job in the mean (4–6 h); longer than 70 % (40–90 %) of 40 other users with 30 jobs or "
        "more."
    )
    assert beside.text.startswith("times as long (0.8–2), 20 h more in all, over 1,000 jobs.")
    assert (way.big, way.text) == (
        "60 %",
        "of their waiting passed with room for the job, even after all that waited before it took "
        "theirs; 20 % of all waiting did.",
    )
    assert "20 h less in all" in text.answers(part(LESS), ANN)[1].text


def test_of_too_few_others_no_figure_is_told() -> None:
    for of in (part(), part(named=True), part(flood=True)):
        answer = text.answers(replace(of, peers_told=False), ANN)[1]
        assert answer.big == "–"
        assert "1.5" not in answer.text


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (part(named=True, beyond=200.0 * HOUR), "held 200 CPU-hours beyond an equal share"),
        (part(named=True, beyond=20.0 * HOUR), ""),
        (part(named=True, beyond=-200.0 * HOUR), ""),
        (part(beyond=-200.0 * HOUR), "held 200 CPU-hours less than an equal share"),
        (part(beyond=200.0 * HOUR), ""),
        (
            replace(part(beyond=-200.0 * HOUR), placed=Placed(Estimate(0.9, 0.8, 1.0), 40)),
            "long among all, and yet not beyond jobs alike",
        ),
    ],
)
def test_where_measures_disagree_one_sentence_says_how_both_are_true(
    of: OwnerPart, expected: str
) -> None:
    told = text.both_true(of)
    assert expected in told
    assert bool(expected) is bool(told)
    assert text.both_true(replace(of, peers_told=False)) == ""


def test_choices_are_told_with_what_else_was_alike() -> None:
    gain = figure("wait_median", 2.0 * HOUR, 1.0 * HOUR, 3.0 * HOUR, "s")
    width = Way("width", "9-16", "5-8", "", "4-12h", gain, 8, None)
    assert text.way(width, part()) == (
        "Jobs of 5–8 CPUs waited 2 h less (1–3 h) in the median than those of 9–16 CPUs, of those "
        "that asked for 4–12 h. A narrower job runs longer: weigh both."
    )
    wider = text.way(replace(width, better=">128"), part())
    assert "Jobs of over 128 CPUs" in wider
    assert wider.endswith("Ask for more only where a job can use it.")
    walltime = Way("walltime", "4-12h", "0-1h", "1", "", gain, 8, 0.3)
    assert text.way(walltime, part()) == (
        "Jobs that asked for up to 1 h waited 2 h less (1–3 h) in the median than those that asked "
        "for 4–12 h, of those of 1 CPU. 3 in 10 of their own jobs of this kind ran no longer."
    )
    hours = text.way(Way("hours", "peak", "weekend", "2", "1-4h", gain, 8, None), part())
    assert "Jobs that came at weekends waited 2 h less" in hours
    assert "than those that came on workdays from 8 to 17 h, of those of 2 CPUs" in hours


def test_where_no_choice_gains_it_says_how_many_were_compared() -> None:
    assert text.no_way(part()).startswith("Too few others")
    assert text.no_way(replace(part(), tried=3)).startswith("3 other choices")
    assert "1 other choice of width, walltime or hour of arrival was" in text.no_way(
        replace(part(), tried=1)
    )


def test_a_long_wait_is_explained_without_anybody_else() -> None:
    wait = LongWait(
        *("17", 0, 10 * HOUR, 10 * HOUR, 4, 2 * HOUR),
        parts={"room": 9.0 * HOUR, "own": 1.0 * HOUR, "down": 0.0},
        peer_wait_s=2.0 * HOUR,
        overtaken_s=-HOUR,
        meanwhile=Meanwhile(0.1, 0.5, 12, 0.2, 0.3),
    )
    assert text.long_title(wait, part(), "UTC") == (
        "10 h: job 17, 4 CPUs for up to 2 h, from 1970-01-01 00:00"
    )
    assert text.explained(wait, ANN) == (
        "Of this wait passed 90 % with room for the job, even after all that waited before it took "
        "theirs; 10 % behind running jobs of the same user.",
        "Meanwhile jobs of this user held 10 % of the pool in the mean, and those of 12 other "
        "users 50 % (20 % by jobs that had come before, 30 % by jobs that came after).",
        "Jobs alike, of 5 other users or more, waited 2 h in the mean at about that time.",
        "By the model of the scheduler, those that came later let it start 60 min sooner.",
    )
    alone = replace(wait, job_id=None, meanwhile=Meanwhile(0.0, None, None, None, None), parts={})
    assert "a job, 4 CPUs" in text.long_title(alone, part(), "UTC")
    told = " ".join(text.explained(alone, Who("account", "a")))
    assert "This wait could not be taken apart." in told
    idle = replace(wait, meanwhile=Meanwhile(0.0, 0.5, 12, None, None))
    assert text.explained(idle, ANN)[1] == (
        "Meanwhile no job of this user ran, and those of 12 other users held 50 % of the pool in "
        "the mean."
    )
    little = replace(wait, meanwhile=Meanwhile(0.0001, 0.5, 12, None, None))
    assert text.explained(little, ANN)[1] == (
        "Meanwhile jobs of this user held next to nothing of the pool, and those of 12 other users "
        "held 50 % of the pool in the mean."
    )
    assert "no job of this account ran; others who ran were fewer than 5" in told


BETTER = Trend(
    "month", (), (Change("wait_mean", 3_600.0, Estimate(-1_800.0, -2_400.0, -60.0)),), "2026-09"
)


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (part(named=True), "waits 1.5 × as long as jobs alike"),
        (part(flood=True), "waits 1.5 × as long as jobs alike, in floods of its own"),
        (part(), "waits no longer than jobs alike"),
        (part(LESS), "waits less than jobs alike"),
        (part(figure("peer_ratio", 2.0)), "waits 5 h a job"),
        (replace(part(named=True), peers_told=False), "waits 5 h a job"),
        (replace(part(), attempts=0), "had no job that started"),
        (replace(part(), trend=BETTER), "waits no longer than jobs alike; shorter than 2026-09"),
    ],
)
def test_the_subject_of_a_mail_says_it_in_a_few_words(of: OwnerPart, expected: str) -> None:
    assert text.short(owner(ANN, of)) == f"user ann {expected}"


def test_a_period_of_which_there_is_nothing_to_tell() -> None:
    none = replace(owner(), parts=())
    assert text.nothing(none) == "User ann: no job of theirs ended in this period."
    assert text.short(none) == "user ann: no job ended"
    early = replace(none, covered_days=1)
    assert "covers only 1 day of this period so far, too few" in text.nothing(early)
    assert text.short(early) == "user ann: only 1 day covered so far"


@pytest.mark.parametrize(
    ("hours", "attempts", "told"), [(200, 100, True), (100, 100, False), (200, 4, False)]
)
def test_one_wait_that_makes_most_of_all_is_told(hours: int, attempts: int, told: bool) -> None:
    longest = replace(LONG, wait_s=hours * HOUR)
    said = text.one_wait(replace(part(), attempts=attempts, longest=(longest,)))
    expected = "One wait, of 8.3 d, makes 40 % of all their waiting: look at it first."
    assert said == (expected if told else "")
    assert text.one_wait(part()) == ""
