"""Six policies side by side, as [K] figures 1 and 2.

Written as Vega-Lite by hand; ``report.charts`` draws it. A table of the same study holds every
value.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from audit.report.charts import series
from audit.report.charts.style import BLUE, INK, VERMILION, Chart, Spec, config
from audit.report.text import wording
from audit.studies.charts import strokes

_COLOURS: Final = ("#1f2933", "#E69F00", "#0072B2", "#009E73", "#CC79A7", "#D55E00")
_DASHES: Final = ([2, 2], [6, 3], [8, 2, 2, 2], [4, 4], [1, 3], [1, 0])
_HEIGHT: Final = 240
_POLICY: Final[Spec] = {
    "field": "of",
    "type": "nominal",
    "title": None,
    "sort": None,
    "axis": {"ticks": False, "labelOverlap": False},
}


def bubbles(key: str, title: str, rows: Sequence[Spec], note: str) -> Chart:
    """Mean wait and response, and the bounded slowdown as the size of the wait's circle.

    Args:
        key: of the chart.
        title: of the chart.
        rows: of each policy: of, wait, response (both in hours), slowdown, says (the slowdown as
            text), wait_says and response_says.
        note: what is left out, for those who cannot see it.
    """
    top = 1.15 * max(float(row["response"]) for row in rows)
    hours: Spec = {"type": "quantitative", "title": "Mean, h", "scale": {"domain": [0, top]}}
    tooltip = [
        {"field": "of", "title": "Policy"},
        {"field": "wait_says", "title": "Mean wait"},
        {"field": "response_says", "title": "Mean response"},
        {"field": "says", "title": "Mean bounded slowdown"},
    ]
    layers: list[Spec] = [
        {
            "mark": {"type": "tick", "color": INK, "thickness": 2, "width": 34},
            "encoding": {"x": _POLICY, "y": {"field": "response", **hours}, "tooltip": tooltip},
        },
        {
            "mark": {"type": "circle", "color": BLUE, "opacity": 0.75},
            "encoding": {
                "x": _POLICY,
                "y": {"field": "wait", **hours},
                "size": {
                    "field": "slowdown",
                    "type": "quantitative",
                    "scale": {"range": [30, 900], "zero": True},
                    "legend": None,
                },
                "tooltip": tooltip,
            },
        },
        {
            "mark": {"type": "text", "dy": 24, "color": INK, "fontSize": 11},
            "encoding": {"x": _POLICY, "y": {"field": "wait", **hours}, "text": {"field": "says"}},
        },
    ]
    waits = "; ".join(
        f"{row['of']} waits {row['wait_says']}, slowdown {row['says']}" for row in rows
    )
    alt = (
        f"Bubble chart. {title}: circles are mean waits, their area and label the mean bounded "
        f"slowdown, strokes mean responses. {waits}. {note}"
    ).strip()
    return _chart(key, title, alt, rows, layers)


def cumulative(key: str, title: str, curves: Mapping[str, Sequence[tuple[float, float]]]) -> Chart:
    """The distribution of NUWT over users under each policy, cut at 10.

    Args:
        key: of the chart.
        title: of the chart.
        curves: by policy, (NUWT, share of users with at most that), ascending.
    """
    rows: list[Spec] = []
    at_most_1 = []
    end = float(series.NUWT_CUT)
    for name, points in curves.items():
        kept: dict[int, tuple[float, float]] = {}
        for nuwt, share in points:
            if nuwt <= end:  # the last step within a pixel is what is seen of it
                kept[int(nuwt / end * series.PIXELS)] = (nuwt, share)
        steps = list(kept.values())
        last = steps[-1][1] if steps else 0.0
        rows += [
            {"of": name, "nuwt": round(nuwt, 6), "share": round(share, 6)}
            for nuwt, share in ((0.0, 0.0), *steps, (end, last))
        ]
        below = max((share for nuwt, share in points if nuwt <= 1), default=0.0)
        at_most_1.append(f"{name} {wording.percent(below)}")
    line: Spec = {
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.8},
        "encoding": {
            "x": {
                "field": "nuwt",
                "type": "quantitative",
                "title": f"NUWT, cut at {series.NUWT_CUT}",
                "scale": {"domain": [0, end], "nice": False},
            },
            "y": {
                "field": "share",
                "type": "quantitative",
                "title": "Share of users with at most this NUWT",
                "scale": {"domain": [0, 1]},
                "axis": {"format": "%", "tickCount": 5},
            },
            **strokes("of", list(curves), _COLOURS, _DASHES, columns=6),
        },
    }
    alt = f"Line chart. {title}. Users with a NUWT of at most 1: {', '.join(at_most_1)}."
    return _chart(key, title, alt, rows, [line])


def spread(key: str, title: str, rows: Sequence[Spec], note: str) -> Chart:
    """UWT and the deviation of NUWT under each policy, as bars side by side.

    Args:
        key: of the chart.
        title: of the chart.
        rows: of (policy), what (``mean`` or ``deviation``), value.
        note: what is left out, for those who cannot see it.
    """
    whats = list(dict.fromkeys(row["what"] for row in rows))
    bars: Spec = {
        "mark": {"type": "bar"},
        "encoding": {
            "x": _POLICY,
            "xOffset": {"field": "what", "sort": whats},
            "y": {"field": "value", "type": "quantitative", "title": "NUWT"},
            "color": {
                "field": "what",
                "type": "nominal",
                "sort": whats,
                "scale": {"domain": whats, "range": [BLUE, VERMILION]},
                "legend": {"title": None, "orient": "top"},
            },
            "tooltip": [
                {"field": "of", "title": "Policy"},
                {"field": "what", "title": "Of NUWT"},
                {"field": "value", "title": "Value", "format": ",.4~r"},
            ],
        },
    }
    values = "; ".join(
        f"{row['of']} {row['what']} {wording.number(float(row['value']))}" for row in rows
    )
    return _chart(key, title, f"Bar chart. {title}: {values}. {note}".strip(), rows, [bars])


def _chart(key: str, title: str, alt: str, rows: Sequence[Spec], layers: list[Spec]) -> Chart:
    return Chart(
        key,
        title,
        alt,
        {
            "description": alt,
            "data": {"values": list(rows)},
            "layer": layers,
            "width": series.PIXELS,
            "height": _HEIGHT,
            "config": config(),
        },
    )
