import re
from dataclasses import replace

from audit.report.charts import sharing
from tests.report.sample import pool, waiting


def test_curves_bear_their_gini_index() -> None:
    made = sharing.lorenz(waiting(pool()))
    assert made is not None
    # Amounts 0 (no attempts: no row), 3, 9, …, 243 and 10, 20, … 50 in proportion.
    assert "usage (Gini 0.61)" in made.body
    assert "waiting (Gini 0.27)" in made.body
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert (
        tips[-1]
        == "100 % of the users, those with the least: 100 % of all usage, 100 % of all waiting"
    )
    assert len(tips) == 10


def test_a_few_users_have_no_distribution() -> None:
    part = waiting(pool())
    few = replace(part, users=replace(part.users, rows=part.users.rows[:4]))
    assert sharing.lorenz(few) is None


def test_shortfalls_bear_their_intervals_and_how_many_they_rest_on() -> None:
    made = sharing.shortfall(pool())
    assert made is not None
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert tips[0].startswith("1 CPU: short of 25.0 % of what they consumed (95 % interval 12.5 to")
    assert tips[0].endswith("; 900 attempts")
