"""The tips of a chart."""

import re

from audit.report.charts.style import Chart


def tips(chart: Chart | None) -> list[str]:
    assert chart is not None
    return re.findall('data-tip="([^"]*)"', chart.body)
