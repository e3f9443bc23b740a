"""Changes of waits with their intervals, as dots: who wins and who loses.

Written as Vega-Lite by hand; ``report.charts`` draws it. A table of the study holds every value.
"""

from typing import Final

import polars as pl

from audit.report.charts import series
from audit.report.charts.style import BLUE, INK, MUTED, VERMILION, Chart, Spec, config
from audit.report.text import wording
from audit.studies.charts import channel
from audit.studies.whatif.compute.comparison import Outcome

_MARKS: Final = {
    Outcome.gains: (BLUE, "triangle-left"),
    Outcome.loses: (VERMILION, "triangle-right"),
    Outcome.unclear: (MUTED, "circle"),
    Outcome.same: (MUTED, "square"),
}
"""Colour and shape of each outcome."""


def changes(key: str, title: str, parts: pl.DataFrame) -> Chart:
    """Changes of the mean wait, a row for each part.

    Args:
        key: of the chart.
        title: of the chart.
        parts: from the top: of (label), difference, lower and upper (s), outcome.
    """
    rows: list[Spec] = [
        {
            "of": part["of"],
            **{
                name: round(part[column] / 3600, 4)
                for name, column in (
                    ("value", "difference"),
                    ("lower", "lower"),
                    ("upper", "upper"),
                )
            },
            "outcome": part["outcome"],
            "says": wording.duration(part["difference"]),
        }
        for part in parts.iter_rows(named=True)
    ]
    alt = f"Dot plot with intervals. {title}. " + "; ".join(
        f"{row['of']} {row['says']} ({row['outcome']})" for row in rows
    )
    spec: Spec = {
        "description": alt,
        "data": {"values": rows},
        "width": series.PIXELS,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "height": {"step": 20},
        "layer": _layers(parts["of"].to_list(), parts["outcome"].to_list()),
        "config": config(),
    }
    return Chart(key, title, alt, spec)


def _layers(labels: list[str], outcomes: list[str]) -> list[Spec]:
    """Zero, the intervals, and the dots."""
    axis = {"labelLimit": 190, "grid": True}
    y = channel("of", "nominal", sort=labels, title=None, axis=axis)
    title = "Change of the mean wait, hours (left: it waits less)"
    lower, value = (channel(end, "quantitative", title=title) for end in ("lower", "value"))
    present = [outcome for outcome in Outcome if outcome.value in outcomes]
    colour, shape = (
        channel(
            "outcome",
            "nominal",
            scale={
                "domain": [outcome.value for outcome in present],
                "range": [_MARKS[outcome][mark] for outcome in present],
            },
            legend={"title": None, "orient": "top"},
        )
        for mark in (0, 1)
    )
    tooltip = [
        {"field": "of", "title": "Of"},
        {"field": "says", "title": "Change of the mean wait"},
        {"field": "outcome", "title": "It"},
    ]
    return [
        {
            "mark": {"type": "rule", "color": INK, "strokeDash": [3, 3]},
            "encoding": {"x": {"datum": 0, "type": "quantitative"}},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 2},
            "encoding": {"y": y, "x": lower, "x2": {"field": "upper"}, "color": colour},
        },
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
            "encoding": {"y": y, "x": value, "color": colour, "shape": shape, "tooltip": tooltip},
        },
    ]
