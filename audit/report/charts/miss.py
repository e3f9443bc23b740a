"""The charts of missed fair start times by width class, as in [S] figures 7 to 14.

Strict and relaxed stand side by side, over all attempts and for each width class, so that wide and
narrow can be compared. Written as Vega-Lite by hand; ``charts`` draws them.
"""

from typing import Final

from audit.report.charts import series
from audit.report.charts.series import ENOUGH, FEW, RELAXED, STRICT
from audit.report.charts.style import BLUE, INK, VERMILION, Chart, Spec, config
from audit.report.contents import PoolPart
from audit.report.text import wording


def miss(pool: PoolPart) -> Chart | None:
    """By how much the attempts of each width class started later than fair, in the mean."""
    rows = series.misses(pool, "miss_{}_mean", wording.duration)
    unit, size = series.time_unit(max((row["value"] for row in rows), default=0.0))
    for row in rows:
        for name in ("value", "lower", "upper"):
            row[name] = None if row[name] is None else row[name] / size
    return _bars(
        "miss",
        "Miss of the fair start time by width class",
        f"Mean miss ({unit})",
        ",.3~r",
        rows,
        pool,
    )


def missed(pool: PoolPart) -> Chart | None:
    """Which part of the attempts of each width class started later than fair."""
    rows = series.misses(pool, "missed_{}_share", wording.percent)
    title = "Attempts that started later than fair, by width class"
    return _bars("missed", title, "Share of attempts", "%", rows, pool)


def _bars(
    key: str, title: str, y_title: str, axis_format: str, rows: list[series.Row], pool: PoolPart
) -> Chart | None:
    if not any(row["value"] for row in rows):
        return None
    unit = wording.resource(pool.resource)
    alt = (
        f"Grouped bar chart. {title}, strict and relaxed, over all attempts and for each width "
        f"class, narrow to wide; lines are 95 % intervals. {_highest(rows)} The table beside it "
        "holds every value."
    )
    x: Spec = {
        "field": "width",
        "type": "nominal",
        "sort": None,
        "title": f"Width class ({unit}s)",
        "axis": {"labelOverlap": False, "ticks": False},
    }
    spec: Spec = {
        "description": alt,
        "data": {"values": rows},
        "width": series.PIXELS,
        "height": 240,
        "layer": [_values(rows, x, y_title, axis_format), _intervals(x, y_title)],
        "config": config(),
    }
    return Chart(key, title, alt, spec)


def _values(rows: list[series.Row], x: Spec, y_title: str, axis_format: str) -> Spec:
    """A bar for each value, strict and relaxed side by side."""
    return {
        "mark": {"type": "bar", "strokeWidth": 1.2},
        "encoding": {
            "x": x,
            "xOffset": _BESIDE,
            "y": {
                "type": "quantitative",
                "title": y_title,
                "field": "value",
                "axis": {"format": axis_format, "tickCount": 5},
            },
            # Filled and hollow: to be told apart without colours too.
            "fill": _told_apart([BLUE, _PALE]),
            "stroke": _told_apart([BLUE, VERMILION]),
            "opacity": {
                "field": "sample",
                "type": "ordinal",  # opacities have an order
                "title": None,
                "scale": {"domain": [ENOUGH, FEW], "range": [1, 0.4]},
                "legend": _LEGEND if any(row["sample"] == FEW for row in rows) else None,
            },
            "tooltip": [
                {"field": "width", "type": "nominal", "title": "Width"},
                {"field": "of", "type": "nominal", "title": "Fair start time"},
                {"field": "says", "type": "nominal", "title": y_title.partition(" (")[0]},
                {"field": "attempts", "type": "quantitative", "title": "Attempts", "format": ","},
            ],
        },
    }


def _intervals(x: Spec, y_title: str) -> Spec:
    """A line for each 95 % interval."""
    return {
        "transform": [{"filter": "isValid(datum.lower) && isValid(datum.upper)"}],
        "mark": {"type": "rule", "color": INK, "strokeWidth": 1.5},
        "encoding": {
            "x": x,
            "xOffset": _BESIDE,
            "y": {"type": "quantitative", "title": y_title, "field": "lower"},
            "y2": {"field": "upper"},
        },
    }


_BESIDE: Final[Spec] = {"field": "of", "type": "nominal", "sort": [STRICT, RELAXED]}
_PALE: Final = "#fdf1e9"
_LEGEND: Spec = {"orient": "top", "labelLimit": 300}


def _told_apart(colours: list[str]) -> Spec:
    return {
        "field": "of",
        "type": "nominal",
        "title": None,
        "scale": {"domain": [STRICT, RELAXED], "range": colours},
        "legend": _LEGEND,
    }


def _highest(rows: list[series.Row]) -> str:
    said = []
    for of in (STRICT, RELAXED):
        classes = [row for row in rows if row["of"] == of and row["width"] != series.ALL]
        overall = [row for row in rows if row["of"] == of and row["width"] == series.ALL]
        told = [f"over all {row['says']}" for row in overall]
        if classes:
            highest = max(classes, key=lambda row: float(row["value"]))
            told.append(f"highest {highest['width']} with {highest['says']}")
        said.append(f"{of.capitalize()}: {', '.join(told)}.")
    return " ".join(said)
