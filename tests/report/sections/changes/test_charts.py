"""Charts of waits over time."""

import itertools
import re
from dataclasses import replace

import pytest

from audit.report.charts import drawing
from audit.report.charts.marks import svg
from audit.report.figures import Figure
from audit.report.sections.changes.charts import changes, trend
from audit.report.sections.changes.record import RuleMark, StepPoint, Trend, TrendPoint
from tests.report.sample import present


def point(label: str, hours: float | None, overtaken: float | None = None) -> TrendPoint:
    wait = Figure("wait_mean", unit="s")
    if hours is not None:
        wait = Figure("wait_mean", 3_600 * hours, 3_000 * hours, 4_200 * hours, "s")
    return TrendPoint(
        label,
        0,
        1,
        99,
        wait,
        Figure("miss_delivered_mean", overtaken, unit="s"),
        Figure("wait_mean", unit="s"),
    )


MONTHS = Trend("month", tuple(point(f"1996-{10 + k}", 3.0 + k, 600.0) for k in range(3)))


def test_the_first_and_the_last_are_compared() -> None:
    made = present(trend(MONTHS, delayed=True))
    assert made.title == "Mean wait: 3 h in Oct 1996, 5 h in Dec 1996"
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert tips[0] == (
        "1996-10: mean wait 3 h (95 % interval 2.50 to 3.50 h), delay by later arrivals 10 min; "
        "99 jobs"
    )
    assert re.findall(">(Oct|Nov|Dec)<", made.body) == ["Oct", "Nov", "Dec"]
    assert ">delay by later arrivals<" in made.body
    assert made.body.count("<polygon") == 1  # one band


@pytest.mark.parametrize(
    ("label", "when"),
    [("2014-W33", "in week 33 of 2014"), ("2016-12-30", "on 2016-12-30"), ("2016", "in 2016")],
)
def test_a_stretch_is_named_in_words(label: str, when: str) -> None:
    made = present(trend(replace(MONTHS, points=(point(label, 3.0),) * 2), delayed=False))
    assert made.title == f"Mean wait: 3 h {when}, 3 h {when}"


def test_the_title_has_one_unit() -> None:
    made = present(
        trend(replace(MONTHS, points=(point("2015", 1.5), point("2016", 9.0))), delayed=False)
    )
    assert made.title == "Mean wait: 1.5 h in 2015, 9 h in 2016"


def test_a_gap_stays_a_gap_and_one_point_is_no_trend() -> None:
    first, _, last = MONTHS.points
    made = present(
        trend(replace(MONTHS, points=(first, point("1996-11", None), last)), delayed=True)
    )
    assert len(re.findall("data-tip", made.body)) == 2
    assert ">Nov<" in made.body
    assert trend(replace(MONTHS, points=(first,)), delayed=True) is None
    assert trend(Trend(), delayed=True) is None


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


@pytest.mark.parametrize("number", [8, 16, 24])
def test_labels_of_steps_do_not_touch(number: int) -> None:
    body = present(changes(points(number, "week"), "week")).body
    places = [float(at) for at in re.findall(r'<text x="([\d.]+)"[^>]*>W\d\d<', body)]
    assert len(places) >= 4
    assert all(right - left > svg.width_of("W00", 13) for left, right in itertools.pairwise(places))


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
    assert 14 + 15 * number <= min(heights)
    assert max(heights) <= 102


@pytest.mark.parametrize("marks", [0, 2, 3])
@pytest.mark.parametrize("p90", [3_600, 15 * 3_600, 40 * 86_400])
def test_labels_of_the_axis_do_not_touch(p90: int, marks: int) -> None:
    points = tuple(StepPoint(f"2026-{k:02}", 1, p90, 0.5) for k in range(1, 8))
    of = tuple(RuleMark(f"limit {k} begins", k + 0.5) for k in range(marks))
    body = present(changes(points, "month", of)).body
    label = "≤ 30 s|1 min|10 min|1 h|10 h|4 d|40 d"
    found = re.findall(rf'<text[^>]* y="([\d.]+)"[^>]*text-anchor="end"[^>]*>(?:{label})<', body)
    places = sorted(map(float, found))
    assert len(places) > 2
    assert all(below - above >= 14 for above, below in itertools.pairwise(places))
