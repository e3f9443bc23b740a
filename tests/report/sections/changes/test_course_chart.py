"""The chart of page one."""

import re

import pytest

from audit.report.charts import drawing
from audit.report.sections.changes.course_chart import changes
from audit.report.sections.changes.record import RuleMark, StepPoint
from tests.report.sample import present


def points(number: int, step: str) -> tuple[StepPoint, ...]:
    labels = {"month": "2026-{:02}", "week": "2026-W{:02}", "day": "2026-10-{:02}"}
    return tuple(
        StepPoint(labels[step].format(k), 60 * k, 7_200 * k, k / 20) for k in range(1, number + 1)
    )


@pytest.mark.parametrize(("step", "first"), [("month", "Jan"), ("week", "W01"), ("day", "1")])
def test_steps_are_labelled(step: str, first: str) -> None:
    made = present(changes(points(12, step), step))
    assert f">{first}</text>" in made.body
    assert "typical wait" in made.body
    assert "one in ten over" in made.body
    assert "Typical wait: first 1 min, last 12 min." in made.alt
    assert drawing.still(made).startswith("<svg")


def test_there_is_no_empty_chart() -> None:
    assert changes((), "month") is None
    assert changes(points(1, "day"), "day") is None
    assert changes(points(9, "day"), "") is None


def test_waits_of_0_and_of_months_stay_inside() -> None:
    far = (StepPoint("2026-01", 0, 0, None), StepPoint("2026-02", 9_000_000, 90_000_000, 1.5))
    made = present(changes(far, "month"))
    assert "nan" not in made.body
    assert "inf" not in made.body


def test_rules_that_begin_or_end_are_dashed_lines_with_their_names() -> None:
    marks = (RuleMark("weekday closure ends", 2.5), RuleMark("limit of 8 jobs begins", 10.0))
    made = present(changes(points(12, "month"), "month", marks))
    assert made.body.count('stroke-dasharray="5 4"') == 2
    for mark in marks:
        assert f">{mark.text}</text>" in made.body
    assert made.alt.endswith("Weekday closure ends in 2026-03. Limit of 8 jobs begins in 2026-11.")
    without = present(changes(points(12, "month"), "month"))
    assert "dasharray" not in without.body


@pytest.mark.parametrize("number", [0, 2])
def test_longer_waits_are_higher_and_all_are_below_the_names_of_rules(number: int) -> None:
    marks = tuple(RuleMark("limit of 8 jobs ends", 2.0 + k) for k in range(number))
    made = present(changes(points(12, "month"), "month", marks))
    heights = [float(y) for y in re.findall(r'<circle[^>]* cy="([\d.]+)"', made.body)]
    tenths, typical = heights[::2], heights[1::2]
    assert typical == sorted(typical, reverse=True)  # each wait is longer than the one before
    assert all(above < below for above, below in zip(tenths, typical, strict=True))
    assert 12 + 13 * number <= min(heights)
    assert max(heights) <= 134
