"""The sentence of each verdict."""

from typing import Any

import pytest

from audit.metrics.verdict import Because, VerdictBound, Word
from audit.report.sections import verdict as verdicts
from audit.report.sections.causes.record import RuleTime, Where
from audit.report.sections.causes.shown import KEYS
from tests.report.first_page import sample
from tests.report.first_page.sample import LIMIT, causes, decision, facts, people, ruled, unfair


def said(**changes: Any) -> str:
    return verdicts.sentence(facts(**changes)).plain


def test_fair() -> None:
    assert said(causes=causes(earlier=0.5, later=0.1, none=0.4)) == (
        "No user was overtaken clearly more often than others; most waiting was for a full machine."
    )
    assert said(people=people(tested=0), causes=causes(own=0.6, none=0.4)) == (
        "No user could be tested, so none is cleared; users mostly waited for their own jobs."
    )
    few = verdicts.sentence(ruled(LIMIT, 0.66, tested_waiting=0.4)).plain
    assert few == (
        "None of the few users tested was overtaken more often; a limit caused two thirds of "
        "the waiting."
    )
    open_ = decision(not_tested=0.023)  # a user whose losses could not be judged
    assert said(decision=open_, causes=causes(earlier=0.6, none=0.4)) == (
        "No user tested was overtaken more often than others; most waiting was for a full machine."
    )
    known = sample.known(by_priority=0.97)
    assert said(known=known, causes=causes(nodes=0.24, rule=0.2, none=0.16, later=0.1, own=0.3))
    for known_causes, words in (
        ((False,), "lost little"),
        ((True,), "had a known reason"),
        ((False, True), "lost little or had a known reason"),
    ):
        fair = said(people=people(known_causes=known_causes))
        assert fair.startswith(f"Those overtaken more often {words}")


def test_a_level_of_the_whole_machine_may_be_that_of_nodes_out_of_service() -> None:
    level = RuleTime("limit of 352 CPUs", "limit", "inferred", 72.0, 11.0, whole="352 CPUs")
    known = level._replace(source="configured", whole="")
    nobody = "No user was overtaken clearly more often than others"
    assert verdicts.sentence(ruled(level, 0.72)).plain == f"{nobody}."  # too long
    assert verdicts.sentence(ruled(known, 0.72)).plain == (
        f"{nobody}; a limit caused three quarters of the waiting."
    )
    little = people(known_causes=(False,))
    mixed = causes(rule=0.5, earlier=0.4)
    assert said(rules=(level,), causes=mixed, people=little) == (
        "Those overtaken more often lost little; a limit or a smaller machine caused half of the "
        "waiting."
    )


def test_two_causes_of_about_the_same_size_are_named_together() -> None:
    of = facts(
        causes=causes(rule=0.36, earlier=0.27, later=0.08, down=0.03, kept=0.03, none=0.21),
        rules=(
            RuleTime("weekday closure for jobs over 15 h", "window", "inferred", 54.0, 40.0),
            RuleTime("daytime closure for jobs over 4 h", "window", "inferred", 46.0, 40.0),
        ),
    )
    assert verdicts.sentence(of).plain.endswith("; closed hours and a full machine cost most.")


def test_a_cause_of_about_the_same_size_without_a_reason_is_not_left_out() -> None:
    full = {"earlier": 0.17, "later": 0.2, "down": 0.24, "own": 0.03}
    assert said(causes=causes(**full)).endswith("; a full machine and unknown reasons cost most.")
    more = said(causes=causes(earlier=0.31, later=0.13, none=0.47, down=0.09))
    assert more.endswith("; half of the waiting has no known reason.")


@pytest.mark.parametrize("key", sorted({*KEYS} - {"outside"}))
def test_every_cause_has_words_that_fit(key: str) -> None:
    assert "; " in said(causes=causes(**{key: 0.6}))
    assert "; " in said(causes=causes(**{key: 0.5, "rule": 0.5}))


def test_a_cause_goes_where_the_sentence_would_be_too_long() -> None:
    both = people(known_causes=(False, True))
    of = facts(people=both, causes=causes(earlier=0.37, later=0.12, down=0.08))
    assert verdicts.sentence(of).plain == (
        "Those overtaken more often lost little or had a known reason."
    )


@pytest.mark.parametrize(
    ("none", "words"),
    [
        (0.55, "most of the waiting has no known reason."),
        (0.5, "half of the waiting has no known reason."),
        (0.45, "much of the waiting has no known reason."),
    ],
)
def test_how_much_has_no_reason(none: float, words: str) -> None:
    others = (1.0 - none) / 3
    assert said(causes=causes(own=others, down=others, kept=others, none=none)).endswith(words)


def test_rules_in_a_few_words() -> None:
    window = sample.RULE
    gpus = RuleTime("limit of 4 GPUs per user", "limit", "slurm", 30.0, 10.0, unit="gpus")
    jobs = RuleTime("limit of 4 running jobs in GPU", "limit", "slurm", 30.0, 10.0, unit="jobs")
    closed = RuleTime("closed hours of debug", "window", "configured", 30.0, 10.0)
    for rules, words in (
        ((LIMIT,), "a limit"),
        ((gpus,), "a GPU limit"),
        ((gpus._replace(unit="gpus:a100"),), "a GPU limit"),
        ((jobs,), "a limit"),
        ((window,), "a daytime closure"),
        ((closed,), "closed hours"),
        ((LIMIT, gpus), "limits"),
        ((window, closed._replace(waiting_s=80.0)), "closed hours"),
        ((LIMIT, gpus, closed), "rules of the site"),
        ((), "rules of the site"),
    ):
        assert verdicts.rule_of(facts(rules=rules)) == words


@pytest.mark.parametrize(
    ("names", "words"),
    [(("a",), "One user was"), (("a", "b"), "Two users were"), (tuple("abcd"), "4 users were")],
)
def test_unfair_and_mixed_count_those_who_carry_it(names: tuple[str, ...], words: str) -> None:
    more = "overtaken clearly more often than others"
    assert verdicts.sentence(unfair(Word.UNFAIR, *names)).plain == (
        f"{words} {more}, for no known reason."
    )
    assert verdicts.sentence(unfair(Word.MIXED, *names)).plain == (
        f"{words} {more}, and the log does not say why."
    )


@pytest.mark.parametrize(
    ("minute", "long", "words"),
    [
        (0, 0, "No job waited over a minute"),
        (1, 0, "Only one job waited over a minute"),
        (4, 3, "Only 4 jobs waited over a minute"),
        (30, 4, "Only 4 jobs waited over 10 minutes"),
        (30, 0, "No job waited over 10 minutes"),
    ],
)
def test_quiet(minute: int, long: int, words: str) -> None:
    strip = sample.strip(minute_jobs=minute, long_jobs=long)
    quiet = decision(Word.QUIET, Because.LITTLE_WAITING)
    assert said(decision=quiet, strip=strip) == f"{words}, so there is nothing to judge."


def cannot(because: Because, **more: Any) -> str:
    shares = {"not_judged": 0.57, **more.pop("shares", {})}
    of = facts(decision=decision(Word.CANNOT_TELL, because, **shares), **more)
    return f"{verdicts.sentence(of).plain} {verdicts.cannot_tell(of).plain}"


def test_cannot_tell_gives_the_fact_with_its_number_and_its_bound() -> None:
    end = "No user is accused, and none is cleared."
    assert cannot(Because.NOT_JUDGED, base_no_reason=0.6, base_p90=600, base_days=None) == (
        "Few jobs waited long; why those did, the log does not say. 57 % of the waiting cannot be "
        f"judged (25 to 35 %); a verdict needs less than half. {end}"
    )
    assert cannot(
        Because.NOT_JUDGED,
        shares={"not_judged": 0.9999},
        base_no_reason=1.0,
        base_p90=601,
        base_days=None,
        not_judged=(0.998, 1.0),
        where=Where("reason", "JobArrayTaskLimit", 1.0, 0.3),
    ).startswith(
        "Enough was free in total for most of the waiting, and it is not certain why jobs waited. "
        "Over 99 % of the waiting cannot be judged; a verdict needs less than half."
    )
    assert "Enough was free in total for most of the waiting" in cannot(
        Because.NOT_JUDGED, base_no_reason=0.6, base_p90=601
    )
    assert "jobs held back for reasons that the log does not show" in cannot(
        Because.NOT_JUDGED, base_no_reason=0.4
    )
    kept = cannot(Because.NOT_JUDGED, shares={"not_judged": 0.45})
    assert kept.startswith("Too much of the waiting still cannot be judged. 45 % of the waiting")
    assert "a verdict needs less than 40 %, as there was none before." in kept
    assert "of the last 91 days cannot be judged" in kept
    tested = cannot(Because.NOT_TESTED, shares={"not_tested": 0.06})
    assert "those of some users, who could not be tested. Their" in tested  # for any reason
    assert tested.endswith(
        f"Their waiting after such starts is 6 % of all; a verdict needs less than 5 %. {end}"
    )
    again = {"not_tested": 0.045, "bounds": frozenset({VerdictBound.NOT_TESTED})}
    assert "needs less than 4 %." in cannot(Because.NOT_TESTED, shares=again)
    assert cannot(Because.FEW_JOBS, base_ended=7) == (
        f"Too few jobs ended to judge. 7 jobs ended; 30 are needed. {end}"
    )
    assert cannot(Because.MISSING_DAYS, missing_days=3).startswith(
        "Records of 3 days are missing. At most 5 % of the days may be missing."
    )
    assert cannot(Because.ONE_USER).startswith("All jobs are those of one user. At least two")
    assert cannot(Because.ONE_USER, several=True).startswith(
        "All jobs in pool batch are those of one user. At least two"
    )


def test_other_words_have_no_such_paragraph() -> None:
    assert not verdicts.cannot_tell(facts())
    assert not verdicts.cannot_tell(unfair())
