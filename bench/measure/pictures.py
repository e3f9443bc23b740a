"""Growth drawn on logarithmic scales, by the project's own charts."""

from collections.abc import Sequence

from audit.report.charts import drawing
from audit.report.charts.marks import lines, scales
from audit.report.charts.style import SERIES, Chart
from bench.measure.growth import Growth

ABREAST = 2


def picture(stage: str, grown: Sequence[Growth]) -> str:
    """One panel for each, ours and the twin's CPU by the number of attempts; SVG."""
    sizes = [size for one in grown for size, _ in (*one.ours, *one.twin)]
    costs = [cost for one in grown for _, cost in (*one.ours, *one.twin)]
    x = scales.by_factors(sizes, scales.plain, steps=(1,))
    y = scales.by_factors(costs, scales.plain, steps=(1,))
    panels = []
    for one in grown:
        made = [lines.Line("fairaudit", one.ours, SERIES[0], dotted=True)]
        if one.twin:
            made.append(lines.Line("its twin", one.twin, SERIES[1], "6 3", dotted=True))
        panels.append(lines.Panel(x, y, made, one.what))
    drawn = lines.drawn(panels, height=110, abreast=ABREAST)
    alt = f"{stage}: CPU seconds by the number of attempts, both on logarithmic scales."
    return drawing.still(Chart(stage, stage, alt, *drawn)) + "\n"
