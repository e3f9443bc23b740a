"""Charts of a fitted site: what is unexplained over time and over the week, and levels of a limit.

Written as Vega-Lite by hand; ``report.charts`` draws it. A table of the same study holds every
value but for those of the charts over time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from audit.report.charts import series
from audit.report.charts.style import BLUE, INK, VERMILION, Chart, Spec, config
from audit.studies.charts import channel, single, strokes
from audit.studies.fit.compute.pictures import Levels, Line

_COLOURS: Final = (INK, VERMILION, BLUE)
_DASHES: Final = ((1, 0), (6, 3), (1, 0))
_HEIGHT: Final = 220


def over_time(key: str, title: str, lines: Sequence[Line]) -> Chart:
    """What waited, with room and unexplained, week by week.

    Args:
        key: of the chart.
        title: of the chart.
        lines: of one value for each week since the first arrival.
    """
    rows: list[Spec] = [
        {"x": number, "y": round(value, 3), "of": line.name}
        for line in lines
        for number, value in enumerate(line.values)
    ]
    alt = f"Lines over the weeks of the log. {title}. " + "; ".join(_most(line) for line in lines)
    return _lines(key, title, alt, rows, "Weeks since the first arrival", "Jobs, on average", lines)


def over_week(key: str, title: str, lines: Sequence[Line]) -> Chart:
    """What is unexplained at each hour of the week, as a share of all waiting at it."""
    rows: list[Spec] = [
        {"x": number, "y": round(value, 4), "of": line.name}
        for line in lines
        for number, value in enumerate(line.values)
    ]
    alt = f"Lines over the hours of the week. {title}. " + "; ".join(_most(line) for line in lines)
    return _lines(key, title, alt, rows, "Hours since Monday, 00:00", "Jobs, on average", lines)


def _lines(
    key: str, title: str, alt: str, rows: Sequence[Spec], x: str, y: str, lines: Sequence[Line]
) -> Chart:
    encoding: Spec = {
        "x": channel("x", "quantitative", title=x, scale={"nice": False}),
        "y": channel("y", "quantitative", title=y, axis={"tickCount": 5}),
        **strokes("of", [line.name for line in lines], _COLOURS, _DASHES),
    }
    mark = {"type": "line", "strokeWidth": 1.6}
    return single(key, title, alt, rows, _HEIGHT, mark=mark, encoding=encoding)


def levels(key: str, title: str, shown: Levels) -> Chart:
    """How often an attempt was started, and was not, by what its owner would have held then."""
    rows: list[Spec] = [
        {"x": level, "y": count, "of": of}
        for of, counts in (("started at once", shown.served), ("not started", shown.failed))
        for level, count in counts
    ]
    alt = (
        f"Bars. {title}. Up to the bound of {shown.bound:,} "
        f"{sum(count for level, count in shown.served if level <= shown.bound):,} were started at "
        f"once and {sum(count for level, count in shown.failed if level <= shown.bound):,} not; "
        f"above it {sum(count for level, count in shown.served if level > shown.bound):,} and "
        f"{sum(count for level, count in shown.failed if level > shown.bound):,}."
    )
    fill = {
        "field": "of",
        "type": "nominal",
        "scale": {"domain": ["started at once", "not started"], "range": [BLUE, VERMILION]},
        "legend": {"title": None, "orient": "top"},
    }
    spec: Spec = {
        "description": alt,
        "data": {"values": rows},
        "width": series.PIXELS,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "height": _HEIGHT,
        "layer": [
            {
                "mark": {"type": "bar", "opacity": 0.75},
                "encoding": {
                    "x": channel("x", "quantitative", title=shown.axis, bin={"maxbins": 40}),
                    "y": channel("y", "quantitative", title="Trials", aggregate="sum"),
                    "fill": fill,
                },
            },
            {
                "mark": {"type": "rule", "color": INK, "strokeDash": [4, 3]},
                "encoding": {"x": {"datum": shown.bound, "type": "quantitative"}},
            },
        ],
        "config": config(),
    }
    return Chart(key, title, alt, spec)


def _most(line: Line) -> str:
    top = max(range(len(line.values)), key=lambda place: line.values[place], default=0)
    value = line.values[top] if line.values else 0.0
    return f"{line.name}: at most {value:,.1f}, at {top}"
