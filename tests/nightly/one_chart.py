"""Charts take most of a night, and have no part in what is tested of one: this stands for all."""

from functools import cache

from audit.report.charts import pool as charts
from audit.report.charts.style import Chart
from audit.report.contents import PoolPart
from tests.report import sample


@cache
def _one() -> Chart:
    made = charts.waits(sample.pool())
    assert made is not None
    return made


def of_pool(pool: PoolPart) -> dict[str, Chart]:
    """In the place of ``charts.of_pool``, whatever ``pool`` holds."""
    return {_one().key: _one()}
