"""Waits over time, drawn."""

import re
from dataclasses import replace

import pytest

from audit.report.figures import Figure
from audit.report.sections.changes.charts import trend
from audit.report.sections.changes.record import Trend, TrendPoint
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
    assert trend(None, delayed=True) is None
