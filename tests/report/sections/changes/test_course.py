"""Changes of waits: halves, significance by users, and complete steps."""

from datetime import date
from typing import Any

import polars as pl
import pytest

from audit.metrics.quantiles import MEDIAN
from audit.model import Period
from audit.periods import zone
from audit.report.sections.changes import page_one
from audit.report.sections.changes.record import Half, StepPoint
from audit.report.sections.rules.record import RuleInForce
from tests.report.sections.jobs import frame, job

DAY = 86_400
UTC = zone("UTC")


def jobs(users: int, wait: int, each: int = 5) -> pl.DataFrame:
    return frame(*(job(wait + k, user=f"u{k}") for k in range(users) for _ in range(each)))


def test_a_change_of_all_users_is_significant_and_one_of_few_is_not() -> None:
    assert page_one.significant(jobs(20, 600), jobs(20, 120), MEDIAN)
    assert not page_one.significant(jobs(20, 600), jobs(20, 600), MEDIAN)
    one = frame(*(job(6_000, user="big") for _ in range(60)), *(job(60, user=f"u{k}")
                                                                 for k in range(40)))  # fmt: skip
    rest = frame(*(job(60, user=f"u{k}") for k in range(40)), job(60, user="big"))
    assert not page_one.significant(one, rest, MEDIAN)


@pytest.mark.parametrize(
    ("first", "last", "clear"),
    [
        ((540, 9_000), (180, 9_000), True),
        ((180, 9_000), (119, 9_000), True),
        ((180, 9_000), (121, 9_000), False),  # less than 1.5 times
        ((100, 9_000), (45, 9_000), False),  # less than a minute
        ((50, 9_000), (10, 9_000), False),  # both short: one job in ten is compared
        ((50, 9_000), (10, 900), True),
    ],
)
def test_clear_changes(first: tuple[int, int], last: tuple[int, int], clear: bool) -> None:
    halves = [Half(median, p90, None, None) for median, p90 in (first, last)]
    assert page_one.is_clear(*halves) is clear


def test_two_spans_are_compared_also_without_the_largest_user() -> None:
    big = [job(90_000, user="big") for _ in range(40)]
    first = frame(*big, *(job(600, user=f"u{k}") for k in range(30)))
    last = frame(*(job(300, user=f"u{k}") for k in range(30)))
    made = page_one.compared(first, last, (0.7, 0.6), "")
    assert made is not None
    assert made.user == "big"
    assert (made.first.median, made.first.median_without) == (90_000, 600)
    assert (made.last.median, made.last.median_without) == (300, 300)
    assert (made.first.load, made.last.load) == (0.7, 0.6)
    assert page_one.compared(first, last.head(29), (None, None), "") is None


def test_load_weighs_days_by_what_is_inside() -> None:
    days = [(0, DAY, 0.2), (DAY, 2 * DAY, 0.8)]
    assert page_one.load(days, 0, 2 * DAY) == pytest.approx(0.5)
    assert page_one.load(days, DAY // 2, 2 * DAY) == pytest.approx((0.5 * 0.2 + 0.8) / 1.5)
    assert page_one.load(days, 3 * DAY, 4 * DAY) is None


@pytest.mark.parametrize(
    ("days", "kind", "number"),
    [(365, "month", 11), (100, "week", 13), (20, "day", 20), (5, "", 0)],
)
def test_the_longest_step_with_six_complete_ones(days: int, kind: str, number: int) -> None:
    begin = 14 * DAY + 100  # 15 January 1970, soon after midnight
    made, spans = page_one.steps(Period("p", begin, begin + days * DAY), UTC)
    assert made == kind
    assert len(spans) == pytest.approx(number, abs=1)
    assert all(one.from_time >= begin and one.to_time <= begin + days * DAY for one in spans)


def test_a_step_without_jobs_is_no_point() -> None:
    spans = [Period(f"d{k}", k * DAY, (k + 1) * DAY) for k in range(3)]
    ended: list[dict[str, Any]] = [job(10, end_time=5), job(90, end_time=2 * DAY)]
    made = page_one.points(frame(*ended), spans, [0.1, 0.2, 0.3])
    assert [(one.label, one.median, one.load) for one in made] == [
        *(("d0", 10, 0.1), ("d2", 90, 0.3)),
    ]


def in_force(name: str, since: date | None, until: date | None) -> RuleInForce:
    return RuleInForce("batch", name, name, "inferred", since, until, 9, 0, 100, 50)


def test_rules_that_begin_or_end_within_the_steps_have_a_mark() -> None:
    kind, spans = page_one.steps(Period("p", 0, 300 * DAY), UTC)
    assert kind == "month"
    shown = [StepPoint(span.name, 60, 600, 0.5) for span in spans if span.name != "1970-04"]
    rules = [
        in_force("limit of 8 running jobs per user", date(1970, 3, 16), None),
        in_force("daytime closure for jobs over 4 h", date(1970, 1, 1), date(1970, 5, 1)),
        in_force("closed hours of debug", date(1970, 4, 9), date(1971, 4, 9)),
        in_force("largest job allowed", None, None),
    ]
    first, second = page_one.marks(rules, spans, shown, UTC)
    assert first.text == "limit of 8 running jobs begins"
    assert first.place == pytest.approx(2 + 15 / 31)
    assert second == ("daytime closure ends", 3.0)  # April has no jobs
    alike = [
        in_force(f"daytime closure for jobs over {hours} h", None, date(1970, 5, 1 + hours))
        for hours in (2, 4)
    ]
    assert [mark.text for mark in page_one.marks(alike, spans, shown, UTC)] == [
        *(f"daytime closure for jobs over {hours} h ends" for hours in (2, 4)),
    ]
    many = [in_force("closed hours of debug", date(1970, 2, k), None) for k in range(2, 9)]
    assert len(page_one.marks(many, spans, shown, UTC)) == page_one.MOST_MARKS
