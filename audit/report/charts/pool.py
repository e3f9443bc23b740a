"""The pictures of one pool, each of one question; none where there is nothing to draw."""

from audit.report.charts import machine, miss, sharing, waiting, walltime
from audit.report.charts.style import Chart
from audit.report.charts.trend import trend
from audit.report.record.pool import PoolPart


def of_pool(pool: PoolPart) -> dict[str, Chart]:
    """The charts of one pool by key; a chart that has nothing to draw is left out."""
    made = (
        waiting.why(pool),
        trend(pool.trend),
        waiting.peers(pool),
        waiting.waits(pool),
        waiting.week(pool),
        miss.miss(pool),
        sharing.shortfall(pool),
        sharing.lorenz(pool),
        machine.machine(pool),
        walltime.walltime(pool),
    )
    return {chart.key: chart for chart in made if chart is not None}
