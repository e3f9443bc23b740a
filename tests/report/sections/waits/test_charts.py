"""Waits, drawn."""

import re
from dataclasses import replace

from audit.report.sections.changes.charts import trend
from audit.report.sections.changes.record import Trend
from audit.report.sections.waits import section as waits_charts
from audit.report.sections.waits.section import walltime
from tests.report.sample import figure, pool, present, waiting
from tests.report.sections.changes.test_charts import point
from tests.report.tips import tips


def test_what_is_not_known_is_not_drawn() -> None:
    points = tuple(point(f"2026-W4{k}", 1.0) for k in range(3))
    made = present(trend(Trend("week", points), delayed=True))
    assert "overtaken" not in made.body
    assert re.findall(">(W4.)<", made.body) == ["W40", "W41", "W42"]


def test_columns_are_shares_of_the_attempts() -> None:
    made = present(walltime(waiting(pool())))
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert tips[0] == "0 to 10 % of the walltime: 40.0 % of attempts"
    assert tips[-1] == "over 100 % of the walltime: 1.0 % of attempts"
    assert made.note == "100 attempts with a known walltime."
    assert walltime(pool()) is None


def test_few_arrivals_do_not_set_the_scale() -> None:
    part = pool()
    last = replace(part.hours[-1], figures=(figure("wait_mean", 1e9, unit="s", attempts=2),))
    made = present(waits_charts.week(replace(part, hours=(*part.hours[:-1], last))))
    assert "Sun 22–23 h" in made.title
    assert "few arrivals" in made.body
    assert len(tips(made)) == 168


def test_dots_of_waits_say_what_they_are_of() -> None:
    made = waits_charts.waits(pool())
    assert tips(made)[0] == "1 CPU, median: 0 s; 900 attempts"
