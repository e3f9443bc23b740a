"""Capacity in force over days."""

from typing import Any

from audit.model import Step
from audit.scenario.fit import days
from audit.scenario.fit.days import Ceiling
from audit.scenario.fit.observed import observe
from tests.oneoff.fit_policy.made import CAPACITY, DAY, EPOCH, NOW, assumed, described


def attempt(submit: int, start: int, end: int, cpus: int, user: str) -> dict[str, Any]:
    times = {"submit_time": EPOCH + submit, "start_time": EPOCH + start, "end_time": EPOCH + end}
    return times | {"cpus": cpus, "user": user}


def log(drained: range, length: int = 20) -> list[dict[str, Any]]:
    """Return a log in which Ann fills the pool every day, and four other users wait for her."""
    records = []
    for day in range(length):
        most = 40 if day in drained else CAPACITY
        since = day * DAY
        records.append(attempt(since, since, since + 43_200, most, "ann"))
        for user in ("bob", "ben", "bea", "bix"):
            records.append(attempt(since + 3_600, since + 43_200, since + 50_000, 6, user))
    return records


def test_days_on_which_less_was_in_force_are_found() -> None:
    observed = observe(described(log(range(6, 12))), assumed(), NOW)
    [found] = days.ceilings(observed)
    # from the last start before these days with which more was in use to the first after them
    assert (found.since, found.until) == (EPOCH + 5 * DAY + 1, EPOCH + 12 * DAY)
    assert found.most == 40
    assert found.explained == 4 * 6 * (43_200 - 3_600)
    assert found.withheld == 4 * 6


def test_a_ceiling_may_begin_or_end_with_the_log() -> None:
    for drained, since, until in ((range(6), 0, 6), (range(15, 20), 14, 20)):
        [found] = days.ceilings(observe(described(log(drained)), assumed(), NOW))
        assert found.since == EPOCH + since * DAY + (since > 0)
        assert found.until == EPOCH + until * DAY


def test_use_that_began_earlier_is_no_start() -> None:
    """A job that started under the full capacity runs on for a day under the ceiling."""
    records = log(range(6, 12))
    records[5 * 5] |= {"end_time": EPOCH + 6 * DAY + 40_000}
    records[5 * 6] |= {"start_time": EPOCH + 6 * DAY + 40_000}
    del records[5 * 5 + 1 : 5 * 6]  # jobs that would not have fitted beside it
    [found] = days.ceilings(observe(described(records), assumed(), NOW))
    assert (found.since, found.until) == (EPOCH + 5 * DAY + 1, EPOCH + 12 * DAY)


def test_two_days_may_be_chance_and_full_days_have_no_ceiling() -> None:
    for drained in (range(6, 8), range(0)):
        observed = observe(described(log(drained)), assumed(), NOW)
        assert days.ceilings(observed) == []


def test_ceilings_are_steps_of_the_capacity() -> None:
    found = [Ceiling(10, 20, 5, 0), Ceiling(20, 30, 7, 0), Ceiling(50, 60, 6, 0)]
    assert days.steps(found, "cpus", 64) == (
        Step(10, (("cpus", 5),)),
        Step(20, (("cpus", 7),)),
        Step(30, (("cpus", 64),)),
        Step(50, (("cpus", 6),)),
        Step(60, (("cpus", 64),)),
    )
    assert days.steps([], "cpus", 64) == ()


def test_use_over_time() -> None:
    records = [attempt(0, 0, 10, 5, "a"), attempt(0, 4, 10, 3, "a"), attempt(0, 10, 12, 1, "b")]
    observed = observe(described(records), assumed(), NOW)
    at, used = days.in_use(observed, observed.size)
    assert (at - EPOCH).tolist() == [0, 4, 10, 12]
    assert used.tolist() == [5, 8, 1, 0]
    assert days.used_at(observed, at - 1).tolist() == [0, 5, 8, 1]
