"""Misses, drawn."""

import re

from audit.report.sections.fair_starts.shown import miss
from tests.report.sample import pool, present, without_fair_starts


def test_misses_stand_below_each_other() -> None:
    made = present(miss(pool()))
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert tips[0].startswith("all attempts, delivered: 30 min (95 % interval")
    assert tips[1].startswith("all attempts, strict: ")
    assert tips[2].startswith("all attempts, relaxed: ")
    assert tips[3].startswith("1 CPU, delivered: ")
    assert made.alt.startswith("Dots with 95 % intervals. Mean miss of the fair start time")
    assert miss(without_fair_starts(pool())) is None
