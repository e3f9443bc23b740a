"""The questions by which a page one is accepted, on pages of all kinds."""

import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.verdict import Because, Word
from audit.report.first_page import phrases
from audit.report.first_page.compose import MOST_ON_PAGE, compose, lines, mail
from audit.report.first_page.page import FirstPage, PageFacts
from audit.report.first_page.sentences import NOTHING
from audit.report.sections.causes.record import RuleTime, Where
from audit.report.sections.causes.shown import CAUSES, FULL, KEYS
from audit.report.sections.changes.record import Half
from audit.report.sections.machine.record import Machine
from audit.report.sections.waits.record import QueueWait
from audit.report.sections.who.record import OvertakenRow, UsedLess
from tests.report.first_page import sample
from tests.report.first_page.sample import causes, facts, people, person


def accepted(page: FirstPage) -> None:
    """Ask what the grammar of page one asks."""
    _verdict_is_a_word_and_a_sentence(page)
    _each_key_occurs_once(page)
    _groups_add_up(page)
    _texts_are_short(page)
    _elsewhere_is_short(page)


def _verdict_is_a_word_and_a_sentence(page: FirstPage) -> None:
    text = page.sentence.plain
    assert page.title in phrases.WORDS.values()
    assert len(text) <= 100
    assert len(text.split()) <= 20
    assert "%" not in text
    assert text.endswith(".")
    assert "significant" not in text


def _each_key_occurs_once(page: FirstPage) -> None:
    keys = Counter(part.key for sentence in sample.with_figures(page) for part in sentence.parts)
    assert [key for key, number in keys.items() if key and number > 1] == []


def _groups_add_up(page: FirstPage) -> None:
    def number(text: str) -> int:
        if not text or text.startswith("under"):
            return 0
        return 100 if text.startswith("over") else int(text.split(maxsplit=1)[0])

    totals = [number(group.total.plain) for group in page.groups]
    if totals and not page.quiet:
        assert sum(totals) == 100
    for group in page.groups:
        assert all(not row.share for row in group.rows) or len(group.rows) > 1
        listed = sum(number(row.share.plain) for row in group.rows if not row.part)
        rounded = sum(of.group == group.title for of in CAUSES)  # or not listed: below 1 %
        assert not listed or abs(listed - number(group.total.plain)) <= rounded
        full = [row for row in group.rows if row.cause == FULL]
        whole = full[0].share or group.total if full else NOTHING
        parts = [row for row in group.rows if row.part]
        missed = abs(sum(number(row.share.plain) for row in parts) - number(whole.plain))
        assert missed <= (1 if full and full[0].share else rounded)
        assert len(parts) == 2 * len(full)


def words(page: FirstPage) -> int:
    return sum(bool(re.search(r"\w", word)) for one in page.prose for word in one.plain.split())


def _texts_are_short(page: FirstPage) -> None:
    assert words(page) <= MOST_ON_PAGE
    for one in page.prose:
        for sentence in re.split(r"(?<=[.?;])\s", one.plain):
            assert len(sentence.split()) <= 25, sentence
    for group in page.who:
        for row in group.rows:
            said = [word for word in row.reason.plain.split() if re.search(r"\w", word)]
            assert len(said) <= 14, row.reason.plain
    assert len(page.to_try) <= 3
    assert len(page.size_note.plain.split()) <= 25


def _elsewhere_is_short(page: FirstPage) -> None:
    lines = [page.verdict, *(f"{title:8} {text}" for title, text in page.lines)]
    assert len(lines) <= 7  # and the report
    assert max(map(len, lines)) <= 115
    assert sum(len(f"{title} {text}".split()) for title, text in page.mail) <= 120
    assert len(page.because.split()) <= 8


DECISIONS = (
    *(
        sample.decision(Word.CANNOT_TELL, because, not_tested=0.06)
        for because in Because
        if because not in (Because.LITTLE_WAITING, Because.TREATED_WORSE, Because.NONE)
    ),
    sample.decision(),
    sample.decision(Word.QUIET, Because.LITTLE_WAITING),
    *(
        sample.decision(word, Because.TREATED_WORSE, carried=(sample.victim(),) * number)
        for word in (Word.MIXED, Word.UNFAIR)
        for number in (1, 2, 7)
    ),
)


@st.composite
def shares(draw: st.DrawFn) -> dict[str, float]:
    parts = {key: draw(st.sampled_from([0, 0, 0, 1, 1, 5, 20])) for key in KEYS}
    total = sum(parts.values())
    return {key: part / total if total else 0.0 for key, part in parts.items()}


RULES = (
    RuleTime("weekday closure for jobs over 15 h", "window", "inferred", 54.0, 40.0),
    RuleTime("daytime closure for jobs over 4 h", "window", "inferred", 40.0, 30.0),
    RuleTime("limit of 4 GPUs per user", "limit", "slurm", 30.0, 10.0),
    RuleTime("limit of 10 running jobs per user", "limit", "pbs", 10.0, 10.0),
)
persons = st.builds(
    lambda name, causes, **more: person(name, causes=causes, **more),
    st.sampled_from(["anna", "12", "a-user-with-quite-a-long-name-in-a-log"]),
    shares(),
    rules=st.lists(st.sampled_from(RULES), max_size=2, unique=True).map(tuple),
    large=st.booleans(),
    hold=st.sampled_from([None, "joint release"]),
    compared=st.sampled_from([None, 150, 200]),
    low_priority=st.booleans(),
)


@st.composite
def pages(draw: st.DrawFn) -> PageFacts:
    """Pages of all words, with any of their parts."""
    names = iter(f"u{k}" for k in range(20))
    rows = [one._replace(name=next(names)) for one in draw(st.lists(persons, max_size=5))]
    overtaken = tuple(
        OvertakenRow("user", next(names), 21, 165, 0.05, 600_000, cause, 2.1, 0.2)
        for cause in draw(st.lists(st.sampled_from([None, "held", "usage"]), max_size=2))
    )
    less = tuple(
        UsedLess("bio", 168, 0.089, median, 3_000, 0.23, 0.4, person("bio", "account"))
        for median in draw(st.lists(st.sampled_from([300, 9_000]), max_size=1))
    )
    found = people(
        most=tuple(rows[:3]),
        longer_rows=tuple(rows[3:]),
        longest=rows[0] if rows[3:] else None,
        longer=draw(st.integers(0, 9)),
        above=draw(st.integers(0, 2)),
        overtaken=overtaken,
        tested=draw(st.sampled_from([0, 20])),
        half=draw(st.sampled_from([1, 2, 3, 13])),
        half_waiting=draw(st.sampled_from([0.46, 0.6])),
        used_less=less,
        with_share=4 * len(less),
    )
    wheres = [Where("walltime", 14_400, 0.66, 0.19), Where("user", "9", 0.5, 0.1)]
    chosen: dict[str, Any] = {
        "decision": draw(st.sampled_from(DECISIONS)),
        "causes": draw(shares()),
        "rules": tuple(draw(st.lists(st.sampled_from(RULES), max_size=3, unique=True))),
        "people": draw(st.sampled_from([found, None])),
        "where": draw(st.sampled_from([None, *wheres])),
        "base_days": draw(st.sampled_from([None, 91])),
        "compared": draw(st.sampled_from([None, *CHANGES])),
        "agreement": draw(st.sampled_from([None, 0.23, 0.8])),
        "tried": draw(st.integers(0, 3)),
        "changes": draw(st.sampled_from([(), (sample.advice(),), ADVISED])),
        "untested": draw(st.sampled_from(["", "few_users", "not_reproduced"])),
        "cancelled_s": draw(st.sampled_from([0.0, 90_000.0])),
        "lacked": draw(st.sampled_from([None, ("cpus", 0.9), ("gpus", 0.4)])),
        "queues": draw(st.sampled_from([(), QUEUES])),
        "not_judged": draw(st.sampled_from([(0.47, 0.52), (None, None)])),
        "known": draw(st.sampled_from([sample.known(), ALL_KNOWN])),
        "part": draw(st.booleans()),
        "strip": draw(st.sampled_from([sample.strip(), sample.strip(hiding_queue="debug",
                                                                    without_queue=9_000)])),
    }  # fmt: skip
    if chosen["changes"]:  # replays agree with the log, and the log is whole
        chosen |= {"agreement": 0.8, "untested": "", "part": False}
    return facts(**chosen)


CHANGES = (
    sample.compared(),
    sample.compared(before="month"),
    sample.compared(significant=False),
    sample.compared(first=Half(540, 36_000, 0.5, 100)),
    sample.compared(last=Half(500, 36_000, 0.9, 540)),
    sample.compared(first=Half(2, 96, 0.55, 2), last=Half(2, 49, 0.4, 2)),
    sample.compared(user=None),
)
ADVISED = (
    sample.advice(),
    sample.advice(change="--walltimes 2", title="Ask ann, bob and cem for time limits of at "
                  "most twice the run time", width=None, losers=sample.advice().losers * 3),
    sample.advice(change="--placement exclusive", title="Give each job whole nodes", losers=()),
)  # fmt: skip
QUEUES = (QueueWait("high", 36_000), QueueWait("low", 90_000))
ALL_KNOWN = sample.known(
    reasons=0.25, queues=1.0, qos=1.0, nodes=1.0, nodes_declared=True, limits="slurm",
    priorities=1.0, dialects=("sacct",), by_priority=0.97,
)  # fmt: skip


@given(pages())
def test_a_page_of_any_kind_is_accepted(of: PageFacts) -> None:
    accepted(compose(of, "Europe/Berlin"))


def test_a_page_with_too_many_words_shows_the_best_change_only() -> None:
    chosen: dict[str, Any] = {
        "decision": sample.decision(Word.CANNOT_TELL, Because.NOT_JUDGED, not_tested=0.06),
        "causes": dict.fromkeys(KEYS, 0.0) | {"none": 1.0},
        "where": Where("walltime", 14_400, 0.66, 0.19),
        "not_judged": (0.47, 0.52),
        "cancelled_s": 90_000.0,
        "agreement": 0.8,
        "queues": QUEUES,
        "compared": sample.compared(),
        "people": people(half=1, tested=20),
    }
    both = compose(facts(changes=ADVISED[:2], **chosen), "Europe/Berlin")
    best = compose(facts(changes=ADVISED[:1], **chosen), "Europe/Berlin")
    assert words(best) > 200
    assert both == best
    accepted(both)


def test_a_mail_with_too_many_words_is_brief() -> None:
    chosen: dict[str, Any] = {
        "decision": sample.decision(Word.CANNOT_TELL, Because.NOT_TESTED, not_tested=0.06),
        "causes": dict.fromkeys(KEYS, 0.0) | {"none": 0.5, "kept": 0.5},
        "agreement": 0.8,
        "changes": ADVISED[:1],
        "people": people(half=1, tested=0),
        "known": ALL_KNOWN,
    }
    accepted(compose(facts(**chosen), "Europe/Berlin"))


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_page_of_each_word_is_accepted(decision: Any) -> None:
    page = compose(facts(decision=decision), "Europe/Berlin")
    accepted(page)
    assert (page.cannot.plain != "") is (decision.word is Word.CANNOT_TELL)
    if decision.word is Word.CANNOT_TELL:
        assert page.cannot.plain.endswith("No user is accused, and none is cleared.")


def test_a_period_of_few_days_is_judged_by_91_days_and_says_so() -> None:
    assert "Verdict over 91 days" in compose(facts(base_days=91), "UTC").kicker.plain
    assert "Verdict" not in compose(facts(base_days=None), "UTC").kicker.plain


def test_users_are_named_as_the_reader_knows_them() -> None:
    page = compose(facts(), "UTC")
    labels = [row.label for group in page.who for row in group.rows]
    assert labels == ["anna", "User 3", "ben"]
    of_accounts = facts(people=people(kind="account", most=(person("bio", "account"),)))
    (first, *_) = compose(of_accounts, "UTC").who[0].rows
    assert first.label == "Account bio"


def test_one_cause_of_half_of_the_waiting_is_not_many_causes() -> None:
    def reason(**parts: float) -> str:
        one = person("anna")._replace(causes=causes(**parts))
        (first, *_) = compose(facts(people=people(most=(one,))), "UTC").who[0].rows
        return first.reason.plain

    assert reason(down=0.95, earlier=0.05) == "Machine down: nearly all of its waiting"
    assert reason(down=0.4, earlier=0.3, own=0.3) == "Many causes; the largest: machine down"
    assert reason(later=0.19, earlier=0.81) == "The machine was full"
    assert reason(later=0.4, earlier=0.6) == "The machine was full, partly of later jobs"
    assert reason(later=0.8, earlier=0.1, own=0.1) == "The machine was full, mostly of later jobs"


def test_nobody_is_accused_without_priorities() -> None:
    row = OvertakenRow("user", "anna", 21, 165, 0.05, 600_000, None, None, 0.5)
    page = compose(facts(people=people(overtaken=(row,))), "UTC")
    (reason,) = [one.reason.plain for one in page.who[0].rows]
    assert reason == "Not known: later jobs, at least as large, started first"
    assert page.who_foot.plain.startswith("Not known: a hold, a limit, closed hours")
    ranked = facts(people=people(overtaken=(row,)), known=ALL_KNOWN)
    (reason,) = [one.reason.plain for one in compose(ranked, "UTC").who[0].rows]
    assert reason == "Later jobs of lower priority, at least as large, started first"


def test_where_no_user_has_enough_similar_jobs_none_is_compared() -> None:
    of = facts(people=people(compared=0, longer=0, above=0, longer_rows=(), longest=None))
    titles = [group.title.plain for group in compose(of, "UTC").who]
    assert "Longer waits than similar jobs: no user could be compared" in titles


def test_a_mail_does_not_say_that_jobs_started_after_no_time() -> None:
    waits = dict(mail(facts(strip=sample.strip(median=0, p90=0))))["Waits:"]
    assert waits == "Nine in ten jobs started at once. The machine was 70 % busy."


def test_lines_and_mails_about_one_of_several_pools_name_it() -> None:
    of = facts(several=True)
    assert "; pool batch 70 % busy (" in dict(lines(of))["Waits"]
    assert dict(mail(of))["Waits:"].startswith(
        "Half of the jobs in pool batch started within 5 min"
    )
    assert "machine" not in dict(mail(of))["Waits:"]
    with_gpus = facts(several=True, machine=Machine("cpus", 128, None, 0.7, "day", 0.97, 0.5))
    assert "; pool batch: CPUs 70 %, GPUs 50 % busy (" in dict(lines(with_gpus))["Waits"]


def test_an_unknown_use_of_the_machine_is_no_dash() -> None:
    of = facts(machine=Machine("cpus", 128, None, None, "", None, None))
    assert "; use of the machine unknown (" in dict(lines(of))["Waits"]
    assert dict(mail(of))["Waits:"].endswith(" The use of the machine is not known.")


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (Because.MISSING_DAYS, "Records of 3 days are missing"),
        (Because.FEW_JOBS, "Too few jobs ended to judge"),
        (Because.NOT_TESTED, "Some users could not be tested"),
        (Because.NOT_JUDGED, "Most waiting was for a full machine"),
    ],
)
def test_the_index_says_why_nothing_can_be_told(reason: Because, text: str) -> None:
    """Beside *cannot tell*, the largest cause would read as its reason."""
    of = facts(
        decision=sample.decision(Word.CANNOT_TELL, reason),
        missing_days=3,
        causes=causes(earlier=0.4, later=0.2, down=0.3),
    )
    assert compose(of, "UTC").because == text


def test_a_period_without_records_of_some_days_is_not_complete() -> None:
    step = compose(facts(missing_days=3), "UTC").trust[0]
    assert (step.mark, step.text.plain) == (
        "half",
        "All records were read, but some days have none.",
    )


def test_requeued_jobs_start_more_often_than_there_are_jobs() -> None:
    """Classes count each start, so they have more jobs together than the line above."""
    assert compose(facts(starts=1_030), "UTC").kicker.plain.startswith(
        "1,000 jobs of 40 users, started 1,030 times"
    )
    assert "started" not in compose(facts(starts=999), "UTC").kicker.plain
