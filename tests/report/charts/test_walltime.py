import re

from audit.report.charts.walltime import walltime
from tests.report.sample import pool, waiting


def test_columns_are_shares_of_the_attempts() -> None:
    made = walltime(waiting(pool()))
    assert made is not None
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert tips[0] == "0 to 10 % of the walltime: 40.0 % of the attempts"
    assert tips[-1] == "More than all of the walltime: 1.0 % of the attempts"
    assert made.note == "Of 100 attempts whose walltime is known."
    assert walltime(pool()) is None
