"""Charts of a workload model: attempts by class, gaps between arrivals, and the week.

Written as Vega-Lite by hand; ``charts`` draws it. A table of the same study holds every value.
"""

from collections.abc import Sequence
from typing import Final

from audit.report.charts import series
from audit.report.charts.style import BLUE, FONT, INK, RULE, VERMILION, Chart, Spec, config

_GAP: Final = 16
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
    width = (series.PIXELS + _GAP) // 2 - _GAP
    scale = {"domain": list(_CURVES), "range": [INK, BLUE, VERMILION]}
    dash = {"domain": list(_CURVES), "range": [[1, 0], [6, 3], [2, 2]]}
    legend = {"title": None, "orient": "top", "symbolType": "stroke"}
    line: Spec = {
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {
            "x": {
                "field": "seconds",
                "type": "quantitative",
                "title": None,
                "scale": {"type": "log", "domain": [1, _most(rows)], "nice": False},
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
            "color": {"field": "curve", "type": "nominal", "scale": scale, "legend": legend},
            "strokeDash": {"field": "curve", "type": "nominal", "scale": dash, "legend": legend},
        },
    }
    faceted: Spec = {
        "data": {"values": list(rows)},
        "facet": {
            "field": "of",
            "type": "nominal",
            "title": None,
            "sort": list(panels),
            "header": {
                "labelFont": FONT,
                "labelFontSize": 11,
                "labelColor": INK,
                "labelAnchor": "start",
                "labelLimit": width,
                "labelPadding": 4,
            },
        },
        "columns": 2,  # boot.js fits their width to the page
        "spacing": {"row": 14, "column": _GAP},
        "resolve": {"axis": {"x": "independent"}},  # or where a panel is missing, an axis stands
        "spec": {"width": width, "height": 130, "view": {"stroke": RULE}, "layer": [line]},
    }
    return Chart(key, title, alt, {"description": alt, "vconcat": [faceted], "config": config()})


def week(key: str, title: str, alt: str, rows: Sequence[Spec]) -> Chart:
    """Arrivals in each hour of the week, of the log and of one that was drawn.

    Args:
        key: of the chart.
        title: of the chart.
        alt: what it shows, in words.
        rows: of: of ("log" or "drawn"), hour (0 to 167, from Monday), arrivals (per hour).
    """
    domain = ["log", "drawn"]
    legend = {"title": None, "orient": "top", "symbolType": "stroke"}
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
            "color": {
                "field": "of",
                "type": "nominal",
                "scale": {"domain": domain, "range": [INK, _GREEN]},
                "legend": legend,
            },
            "strokeDash": {
                "field": "of",
                "type": "nominal",
                "scale": {"domain": domain, "range": [[1, 0], [5, 2]]},
                "legend": legend,
            },
        },
        "config": config(),
    }
    return Chart(key, title, alt, spec)


def _most(rows: Sequence[Spec]) -> float:
    return max((float(row["seconds"]) for row in rows), default=10.0)
