"""Charts take most of a night, and have no part in what is tested of one: this stands for all."""

from collections.abc import Callable
from functools import cache

from audit.report.charts import parts
from audit.report.charts import pool as charts
from audit.report.charts.style import Chart
from audit.report.contents import PoolPart
from audit.report.render import page
from tests.report import sample


@cache
def _one() -> Chart:
    made = charts.waits(sample.pool())
    assert made is not None
    return made


def _of_pool(pool: PoolPart) -> dict[str, Chart]:
    return {_one().key: _one()}


def stands_for_all(put: Callable[[object, str, object], None]) -> None:
    """Puts it in the place of a pool's charts, whatever that holds, and leaves out the others.

    Args:
        put: sets an attribute of a module.
    """
    put(charts, "of_pool", _of_pool)
    put(parts, "of_contents", lambda contents: {})
    put(page, "usage", lambda usage: None)
