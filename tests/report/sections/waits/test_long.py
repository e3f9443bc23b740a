"""The long waits of a quiet pool."""

from audit.metrics.verdict import Because, Word
from audit.report.first_page.compose import compose
from audit.report.sections.waits.record import LongestWait
from audit.report.sections.waits.section import long_waits
from tests.report.first_page.sample import decision, facts
from tests.report.sections.jobs import frame, job

FULL = LongestWait("anna", 64, 2_460, 0, "full")


def test_each_has_its_largest_cause() -> None:
    jobs = frame(
        job(2_460, size=64, earlier=2_000, later=460),
        job(900, user="ben", own=100),
        job(600, earlier=600),
    )
    assert long_waits(jobs) == (FULL, LongestWait("ben", 1, 900, 0, "none"))


def test_a_page_says_that_enough_was_free_only_of_those_for_which_it_was() -> None:
    quiet = decision(Word.QUIET, Because.LITTLE_WAITING)
    page = compose(facts(decision=quiet, long_waits=(FULL,)), "UTC")
    assert [row.reason for row in page.long_waits] == ["A full machine"]
    assert page.long_sub == ""
    assert ("Who", "anna (41 min): a full machine") in page.lines
    free = FULL._replace(user="ben", cause="none")
    page = compose(facts(decision=quiet, long_waits=(FULL, free)), "UTC")
    assert page.long_waits[1].reason == "Enough CPUs free in total, no reason logged"
    assert page.long_sub.startswith("Where no reason is logged, a start time set by the user")
    who = "anna (41 min) and ben (41 min): a full machine or no reason in the log"
    assert ("Who", who) in page.lines
