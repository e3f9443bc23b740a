"""What page one says of a pool, from records made by hand."""

from dataclasses import replace

import pytest

from audit.report.judgement.finding import WORDS, Cause
from audit.report.judgement.levels import Level
from audit.report.judgement.page_one import PageOne, page_one
from audit.report.judgement.verdict import Word
from audit.report.record.page import Contents
from audit.report.record.pool import Breakdown, Change, Figure, PoolPart, Stuck, Trend
from audit.report.render.page import render_html
from tests.report.sample import (
    HOSTILE,
    contents,
    empty,
    entities,
    entity,
    fair_starts,
    fidelity,
    figure,
    pool,
)


def width(label: str, share: float, half: float = 0.02, attempts: int = 300) -> Breakdown:
    """A class that loses ``share`` of its waiting to later arrivals, an hour of ten."""
    return Breakdown(
        label,
        (
            figure("overtaken_wait_share", share, share - half, share + half, attempts=attempts),
            figure("overtaken_time_mean", 3_600.0, 3_000.0, 4_200.0, "s", attempts),
            figure("wait_mean", 36_000.0, 30_000.0, 40_000.0, "s", attempts),
            figure("re_unfairness_share", 0.3, 0.2, 0.4, attempts=attempts),
            figure("consumed", 500.0, unit="resource·s", attempts=attempts),
        ),
    )


def longer(name: str, ratio: float = 2.0) -> Breakdown:
    return Breakdown(
        name,
        (
            figure("peer_ratio", ratio, ratio * 0.75, ratio * 1.5),
            figure("excess_wait", 360_000.0, 180_000.0, 720_000.0, "s", 100),
            figure("wait_room_share", 0.6),
            figure("wait_later_share", 0.3),
        ),
    )


def measured(
    overtaken: float = 0.02,
    room: float = 0.1,
    *named: str,
    good: bool = True,
    peered: int = 40,
    widths: tuple[Breakdown, ...] = (),
) -> PoolPart:
    """A pool in which so much is lost to later arrivals, and passes with room."""
    made = pool(users=(*named, "zoe") if named else ("anna", "ben"))
    figures = (  # the first of a name counts
        figure("overtaken_wait_share", overtaken, overtaken - 0.01, overtaken + 0.01),
        figure("wait_room_share", room, room - 0.01, room + 0.01),
        figure("consumed", 1_000.0, unit="resource·s"),
        *made.figures,
    )
    users = replace(made.users, longer=tuple(longer(name) for name in named), peered=peered)
    fair = replace(made.fair_start, fidelity=fidelity() if good else fidelity(0.1, 0.1))
    return replace(made, figures=figures, users=users, widths=widths, fair_start=fair)


def one(part: PoolPart) -> PageOne:
    made = page_one(contents(part))
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("part", "word"),
    [
        (measured(), Word.YES),
        (measured(0.15), Word.MIXED),
        (measured(0.4), Word.NO),
        (measured(0.4, good=False), Word.MIXED),  # a model that fits poorly condemns nobody
        (measured(0.02, 0.3), Word.MIXED),
        (measured(0.02, 0.6), Word.CANNOT_TELL),  # most of the waiting was no competition
        (measured(0.02, 0.1, "anna"), Word.MIXED),
        (measured(0.02, 0.1, "a", "b", "c", "d"), Word.NO),  # 1 in 10 of those compared
    ],
)
def test_the_verdict_follows_the_answers(part: PoolPart, word: Word) -> None:
    assert one(part).verdict.word is word


def test_the_verdict_says_why_in_one_sentence_or_two() -> None:
    said = one(measured(0.15, 0.3, "anna", widths=(width("1", 0.01), width("65-128", 0.4))))
    assert said.verdict.sentence == (
        "Mixed. Jobs of 65–128 CPUs lose 40 % of their waiting to later arrivals. User anna waits "
        "2 times as long as others with jobs alike."
    )
    assert one(measured()).verdict.sentence.startswith("Fair. Later arrivals cost little")


def test_a_few_attempts_give_no_verdict() -> None:
    part = measured(0.4)
    few = tuple(
        figure("attempts", 7.0, unit="attempts") if of.metric == "attempts" else of
        for of in part.figures
    )
    assert one(replace(part, figures=few)).verdict.sentence == "Cannot tell: only 7 jobs ended."


def test_nothing_has_no_page_one() -> None:
    assert page_one(empty()) is None


def test_under_seven_days_of_a_longer_period_there_is_a_note_only() -> None:
    def covered(days: int, length: int = 31) -> Contents:
        part = measured()
        told = figure("covered_time", days * 86_400.0, unit="s")
        made = contents(replace(part, figures=(*part.figures, told)))
        span = replace(made.span, to_time=made.span.from_time + length * 86_400)
        return replace(made, span=span)

    assert page_one(covered(6)) is None
    assert "Too early to tell: 6 days of this period are covered" in render_html(covered(6))
    assert page_one(covered(7)) is not None
    assert page_one(covered(1, length=1)) is not None  # all of a day
    whole = covered(3)
    assert page_one(replace(whole, span=replace(whole.span, whole_log=True))) is not None


def test_a_figure_comes_in_two_digits_with_its_interval_in_the_same_unit() -> None:
    overtaken, room, longest = one(measured(0.15, 0.3, "anna")).questions
    assert (overtaken.big, overtaken.level) == ("7.5 min", Level.WARN)
    assert "mean wait of 50 min went to jobs that came later (5–10 min)" in overtaken.text
    sampled = replace(measured(0.15, 0.3), fair_start=fair_starts(final=10, not_sampled=90))
    assert one(sampled).questions[0].text.startswith("of a sample's mean wait of 50 min went to")
    assert room.big == "30 %"
    assert "(29–31 %)" in room.text
    assert longest.big == "1"
    assert "of 40 users waits longer" in longest.text
    assert "user anna" in longest.text


def test_a_change_is_told_from_noise() -> None:
    def said(lower: float, upper: float, *, changed: bool = False) -> tuple[str, bool | None]:
        change = Change("overtaken_time_mean", 900.0, Figure("", -450.0, lower, upper))
        trend = Trend("month", (), (change,), "2026-09", settings_changed=changed)
        difference = one(replace(measured(), trend=trend)).questions[0].difference
        assert difference is not None
        return difference.text, difference.better

    assert said(-600.0, -60.0) == ("7.5 min less than in 2026-09, beyond chance", True)
    assert said(-900.0, 60.0) == ("no change beyond chance against 2026-09", None)
    assert said(-600.0, -60.0, changed=True) == (
        "7.5 min less than in 2026-09, under other settings",
        None,
    )


@pytest.mark.parametrize(
    ("agreement", "unexplained", "told"),
    [
        (
            0.004,
            0.06,
            "; leaves 6 % of all waiting unexplained, and of the jobs that waited, starts ",
        ),
        (0.004, None, "; of the jobs that waited, starts 0.4 % when the site did"),
        (None, 0.85, "; leaves 85 % of all waiting unexplained"),
        (None, None, "EASY backfilling"),
    ],
)
def test_of_the_model_is_told_what_is_known(
    agreement: float | None, unexplained: float | None, told: str
) -> None:
    part = measured()
    known = fidelity(agreement)
    figures = (*known.figures, figure("unexplained_wait_share", unexplained))
    fair = replace(part.fair_start, fidelity=replace(known, figures=figures))
    model = one(replace(part, fair_start=fair)).trust[2]
    assert told in model.text
    assert "–" not in model.text
    assert model.text.endswith(("did", "unexplained", "backfilling"))


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ({"cyd", "dot"}, ("anna",), "2 in 2026-09"),
        ({"anna"}, ("anna",), "1 in 2026-09, the same"),
        ({"anna", "cyd"}, ("anna",), "2 in 2026-09, the same among them"),
        ({"anna", "cyd"}, ("anna", "ben"), "2 in 2026-09, 1 of them the same"),
        (set(), ("anna",), "nobody in 2026-09"),
        ({"anna"}, (), "1 in 2026-09"),
        (None, ("anna",), None),
    ],
)
def test_who_waits_longer_stands_beside_who_did_before(
    before: set[str] | None, now: tuple[str, ...], told: str | None
) -> None:
    known = {} if before is None else {"user": frozenset(before)}
    for changed, more in ((False, ""), (True, ", under other settings")):
        trend = Trend("month", (), (), "2026-09", settings_changed=changed, longer_before=known)
        difference = one(replace(measured(0.1, 0.1, *now), trend=trend)).questions[2].difference
        assert (difference.text if difference else None) == (told and told + more)
        assert difference is None or difference.better is None  # chance is not looked at


def test_a_class_that_loses_no_more_than_all_is_not_named() -> None:
    """Even the interval that is fair to a pick from several must lie above all the others."""
    alike = (width("1", 0.14), width("2", 0.15), width("3-4", 0.16, half=0.05))
    said = one(measured(0.15, widths=alike))
    assert all(found.about != "width" for found in said.findings)
    assert said.hurt == ()
    apart = one(measured(0.15, widths=(*alike, width("65-128", 0.4))))
    assert [row.subject for row in apart.hurt] == ["Jobs of 65–128 CPUs"]
    few = one(measured(0.15, widths=(*alike, width("65-128", 0.4, attempts=20))))
    assert few.hurt == ()


def test_who_waits_longer_is_told_with_what_happened_and_how_both_can_be_true() -> None:
    """A user who waits longer than others, and had more than an equal share while it ran."""
    part = measured(0.02, 0.1, "anna")
    greedy = entities("user", (entity("anna", -7_200.0), entity("zoe", 7_200.0)))
    users = replace(greedy, longer=part.users.longer, peered=40)
    [row] = one(replace(part, users=users)).hurt
    assert (row.subject, row.attempts, row.lost) == ("User anna", 100, "60 min")
    assert row.what == (
        "waits 2 times as long as others with jobs alike; 60 % of its waiting was with room for "
        "its jobs; while it ran it had 2 CPU-hours beyond an equal share: many jobs at a time"
    )


def test_floods_are_one_finding_and_nobody_is_hurt_by_their_own() -> None:
    part = measured()
    floods = (longer("anna", 3.0), longer("ben", 2.0))
    said = one(replace(part, users=replace(part.users, floods=floods)))
    [flood] = [found for found in said.findings if found.cause is Cause.OWN_FLOOD]
    assert flood.text == (
        "User anna waits 3 times as long as others, 4.2 d in all, but only in floods of its own; "
        "so does 1 other."
    )
    assert said.hurt == ()


def test_stuck_attempts_are_counted() -> None:
    said = one(replace(measured(), stuck=Stuck(2, 3, ())))
    [found] = [found for found in said.findings if found.cause is Cause.STUCK]
    assert (
        found.text == "2 jobs still waiting and 3 that gave up waited longer than 95 % of jobs "
        "like them."
    )


def everything(names: tuple[str, ...] = ("anna", "ben")) -> Contents:
    part = measured(
        0.3, 0.3, *names, widths=(width("1", 0.1), width(">128", 0.5, 0.01), width("2", 0.1))
    )
    users = replace(part.users, floods=(longer(names[0], 4.0), longer(names[-1])))
    return contents(replace(part, users=users, stuck=Stuck(2, 3, ())), pool("debug"))


def test_a_finding_is_short_and_has_its_evidence() -> None:
    made = page_one(everything())
    assert made is not None
    assert len(made.findings) >= 8
    for found in made.findings:
        assert len(found.text.split()) <= WORDS, found.text
        assert found.action
        assert found.anchor
        assert found.sql.startswith("SELECT")
        assert 0 < found.weight <= 1
    assert len({(found.about, found.name, found.cause) for found in made.findings}) == len(
        made.findings
    )


def test_hostile_names_stay_inside_their_quotes() -> None:
    for name in HOSTILE:
        made = page_one(replace(everything((name, "ben")), cluster=name))
        assert made is not None
        for found in made.findings:
            outside = found.sql.replace("''", "")
            assert outside.count("'") % 2 == 0
            assert "\n" not in found.text
