import re

from audit.report.charts.miss import miss
from tests.report.sample import pool, without_fair_starts


def test_strict_and_relaxed_stand_below_each_other() -> None:
    made = miss(pool())
    assert made is not None
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert tips[0].startswith("all attempts, strict: 30 min (95 % interval")
    assert tips[1].startswith("all attempts, relaxed: ")
    assert tips[2].startswith("1 CPU, strict: ")
    assert made.alt.startswith("Dots with 95 % intervals. Mean miss of the fair start time")
    assert miss(without_fair_starts(pool())) is None
