"""Charts of a workload model: attempts by class, gaps between arrivals, and the week.

Written as Vega-Lite by hand; ``charts`` draws it. A table of the same study holds every value.
"""

from collections.abc import Sequence
from typing import Final

from audit.report.charts import series
from audit.report.charts.style import BLUE, INK, VERMILION, Chart, Spec, config
from audit.studies.charts import INDEPENDENT_X, Panels, in_panels, strokes

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
    spec: Spec = {
        "description": alt,
        "data": {"values": list(rows)},
        "width": series.PIXELS,
        "height": 240,
        "mark": {"type": "bar", "width": {"band": 0.62}},
        "encoding": {
            "x": {
                "field": "of",
                "type": "nominal",
                "sort": list(labels),
                "title": None,
                "axis": {"labelOverlap": False, "ticks": False},
            },
            "y": {"field": "attempts", "type": "quantitative", "title": "Attempts"},
            "color": {
                "field": "part",
                "type": "nominal",
                "scale": scale,
                "legend": {"title": None, "orient": "top"},
            },
            "order": {"field": "place"},
            "tooltip": [
                {"field": "of", "title": "Class"},
                {"field": "part", "title": "Part of the week"},
                {"field": "attempts", "title": "Attempts", "format": ","},
            ],
        },
        "config": config(),
    }
    return Chart(key, title, alt, spec)


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
    line: Spec = {
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {
            "x": {
                "field": "seconds",
                "type": "quantitative",
                "title": None,
                "scale": {"type": "log", "domain": [1, most], "nice": False},
                "axis": {
                    "values": [1, 60, 3600, 86400, 604800],
                    "labelExpr": "{'1': '1 s', '60': '1 min', '3600': '1 h', "
                    "'86400': '1 d', '604800': '7 d'}[datum.value]",
                    "labelOverlap": True,
                },
            },
            "y": {
                "field": "share",
                "type": "quantitative",
                "title": None,
                "scale": {"domain": [0, 1]},
                "axis": {"format": "%", "values": [0, 0.5, 1]},
            },
            **strokes("curve", _CURVES, [INK, BLUE, VERMILION], [[1, 0], [6, 3], [2, 2]]),
        },
    }
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
    spec: Spec = {
        "description": alt,
        "data": {"values": list(rows)},
        "width": series.PIXELS,
        "height": 200,
        "mark": {"type": "line", "strokeWidth": 2, "interpolate": "step-after"},
        "encoding": {
            "x": {
                "field": "hour",
                "type": "quantitative",
                "title": None,
                "scale": {"domain": [0, 168], "nice": False},
                "axis": {
                    "values": [24 * k for k in range(7)],
                    "labelExpr": f"{{{days}}}[datum.value]",
                    "labelAlign": "left",
                    "grid": True,
                },
            },
            "y": {
                "field": "arrivals",
                "type": "quantitative",
                "title": "Arrivals per hour",
                "axis": {"tickCount": 5},
            },
            **strokes("of", ["log", "drawn"], [INK, _GREEN], [[1, 0], [5, 2]]),
        },
        "config": config(),
    }
    return Chart(key, title, alt, spec)
