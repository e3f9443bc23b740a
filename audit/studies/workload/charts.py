"""Charts of a workload model: attempts by class, gaps between arrivals, and the week.

Written as Vega-Lite by hand; ``charts`` draws it. A table of the same study holds every value.
"""

from collections.abc import Sequence
from typing import Final

from audit.report.charts import series
from audit.report.charts.style import BLUE, INK, VERMILION, Chart, Spec
from audit.studies.charts import INDEPENDENT_X, Panels, channel, in_panels, single, strokes

_GREEN: Final = "#009E73"
PART_NAMES: Final = {"peak": "peak hours", "off_peak": "off-peak", "weekend": "weekend"}
_PARTS: Final = tuple(PART_NAMES.values())
_CURVES: Final = ("log", "hyper-exponential", "exponential")


def by_class(key: str, title: str, alt: str, rows: Sequence[Spec], labels: Sequence[str]) -> Chart:
    """Attempts of each class as a bar, divided by part of the week ([B] figs. 4 and 5).

    Args:
        key: of the chart.
        title: of the chart.
        alt: what it shows, in words.
        rows: of: of (class), part, place (order in the bar), attempts.
        labels: of the classes, in order.
    """
    scale = {"domain": list(_PARTS), "range": [BLUE, VERMILION, "#f0c987"]}
    axis = {"labelOverlap": False, "ticks": False}
    legend = {"title": None, "orient": "top"}
    encoding: Spec = {
        "x": channel("of", "nominal", sort=list(labels), title=None, axis=axis),
        "y": channel("attempts", "quantitative", title="Attempts"),
        "color": channel("part", "nominal", scale=scale, legend=legend),
        "order": {"field": "place"},
        "tooltip": [
            {"field": "of", "title": "Class"},
            {"field": "part", "title": "Part of the week"},
            {"field": "attempts", "title": "Attempts", "format": ","},
        ],
    }
    mark = {"type": "bar", "width": {"band": 0.62}}
    return single(key, title, alt, rows, 240, mark=mark, encoding=encoding)


def gaps(key: str, title: str, alt: str, rows: Sequence[Spec], panels: Sequence[str]) -> Chart:
    """Distributions of gaps between arrivals, a panel for each class.

    Args:
        key: of the chart.
        title: of the chart.
        alt: what it shows, in words.
        rows: of: of (panel), curve (one of log, hyper-exponential, exponential), seconds, share.
        panels: in order.
    """
    most = max((float(row["seconds"]) for row in rows), default=10.0)
    lengths = {
        "values": [1, 60, 3600, 86400, 604800],
        "labelExpr": "{'1': '1 s', '60': '1 min', '3600': '1 h', "
        "'86400': '1 d', '604800': '7 d'}[datum.value]",
        "labelOverlap": True,
    }
    scale = {"type": "log", "domain": [1, most], "nice": False}
    shares = {"format": "%", "values": [0, 0.5, 1]}
    encoding: Spec = {
        "x": channel("seconds", "quantitative", title=None, scale=scale, axis=lengths),
        "y": channel("share", "quantitative", title=None, scale={"domain": [0, 1]}, axis=shares),
        **strokes("curve", _CURVES, [INK, BLUE, VERMILION], [[1, 0], [6, 3], [2, 2]]),
    }
    line: Spec = {"mark": {"type": "line", "strokeWidth": 2}, "encoding": encoding}
    return in_panels(key, title, alt, rows, [line], Panels(panels, 130, resolve=INDEPENDENT_X))


def week(key: str, title: str, alt: str, rows: Sequence[Spec]) -> Chart:
    """Arrivals in each hour of the week, of the log and of one that was drawn.

    Args:
        key: of the chart.
        title: of the chart.
        alt: what it shows, in words.
        rows: of: of ("log" or "drawn"), hour (0 to 167, from Monday), arrivals (per hour).
    """
    days = ", ".join(f"'{24 * k}': '{day}'" for k, day in enumerate(series.WEEKDAYS))
    scale = {"domain": [0, 168], "nice": False}
    axis = {
        "values": [24 * k for k in range(7)],
        "labelExpr": f"{{{days}}}[datum.value]",
        "labelAlign": "left",
        "grid": True,
    }
    per_hour = {"title": "Arrivals per hour", "axis": {"tickCount": 5}}
    encoding: Spec = {
        "x": channel("hour", "quantitative", title=None, scale=scale, axis=axis),
        "y": channel("arrivals", "quantitative", **per_hour),
        **strokes("of", ["log", "drawn"], [INK, _GREEN], [[1, 0], [5, 2]]),
    }
    mark = {"type": "line", "strokeWidth": 2, "interpolate": "step-after"}
    return single(key, title, alt, rows, 200, mark=mark, encoding=encoding)
