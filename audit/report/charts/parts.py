"""Charts of parts: who occupied how much of each resource, and is charged how much by each penalty.

Every series has a shape, or a dash, beside its colour. Written as Vega-Lite by hand; ``charts``
draws it.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from audit.report.charts import series
from audit.report.charts.style import BLUE, INK, VERMILION, Chart, Spec, config
from audit.report.charts.usage import days_axis, names, panels, target
from audit.report.contents import Contents
from audit.report.text import wording
from audit.report.usage_contents import (
    Occupied,
    OccupiedLine,
    PenaltyChoice,
)

_GREEN: Final = "#009E73"
_PURPLE: Final = "#CC79A7"
_ORANGE: Final = "#E69F00"
_COLOURS: Final = (BLUE, VERMILION, _GREEN, _PURPLE, _ORANGE, INK)
_SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_DASHES: Final[tuple[list[int], ...]] = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2])
_STEP: Final = 22
_NAME_LIMIT: Final = 28
_ROWS: Final = 12


def of_contents(contents: Contents) -> dict[str, Chart]:
    """The charts of parts by key; one that has nothing to draw is left out."""
    made = (occupied(contents.occupied), over_time(contents.occupied), penalties(contents.choice))
    return {chart.key: chart for chart in made if chart is not None}


def occupied(of: Occupied | None) -> Chart | None:
    """Parts of each resource in the whole period."""
    if of is None:
        return None
    labels = names(of.kind, of.lines, _NAME_LIMIT)
    titles = [_title(name) for name in of.resources]
    shown = [
        (label, title, part)
        for label, line in zip(labels, of.lines, strict=True)
        for title, part in zip(titles, line.parts, strict=True)
    ]
    aims = {
        label: line.share
        for label, line in zip(labels, of.lines, strict=True)
        if line.share is not None
    }
    said = "; ".join(
        f"{label} "
        + ", ".join(
            f"{wording.percent(part)} of the {wording.resources(name)}"
            for name, part in zip(of.resources, line.parts, strict=True)
        )
        for label, line in zip(labels, of.lines, strict=True)
    )
    title = f"Part of each resource that {of.kind}s occupied" + (
        " (bar: the target)" if aims else ""
    )
    return Chart(
        "occupied",
        title,
        f"Dot plot. Part of each resource by {of.kind} over the period: {said}.",
        _dots(shown, labels, titles, "Part of all that was occupied", aims),
    )


def over_time(of: Occupied | None) -> Chart | None:
    """Parts of each resource over time."""
    if of is None or len(of.days) < 2:
        return None
    lines = [line for line in of.lines if not line.others]
    labels = names(of.kind, lines)
    titles = [_title(name) for name in of.resources]
    rows = [
        row for label, line in zip(labels, lines, strict=True) for row in _points(of, label, line)
    ]
    layers = [_lines(titles, len(of.days) * (7 if of.weekly else 1))]
    if any(line.share is not None for line in lines):
        layers.append(target(INK))
    notes = ["by week"] if of.weekly else []
    notes += ["dashed across: the target"] if len(layers) > 1 else []
    told = f" ({'; '.join(notes)})" if notes else ""
    spec = panels(rows, labels, layers)
    most = "; ".join(
        f"{label} up to "
        + ", ".join(
            f"{wording.percent(max(parts))} of the {wording.resources(name)}"
            for name, parts in zip(of.resources, line.over_time, strict=True)
        )
        for label, line in zip(labels, lines, strict=True)
    )
    return Chart(
        "occupied_over_time",
        f"Part of each resource over time{told}",
        f"Small line charts. Part of each resource that {of.kind}s occupied, {of.days[0]} to "
        f"{of.days[-1]}: {most}.",
        {"vconcat": [spec], "config": config()},  # as boot.js knows panels
    )


def penalties(of: PenaltyChoice | None) -> Chart | None:
    """Parts of all usage by penalty, of those who move most."""
    if of is None or not (moving := of.moving).rows:
        return None
    rows = moving.rows[:_ROWS]
    labels = wording.told_apart(wording.name(row.name, _NAME_LIMIT) for row in rows)
    shown = [
        (label, name, part)
        for label, row in zip(labels, rows, strict=True)
        for name, part in zip(of.penalties, row.parts, strict=True)
    ]
    said = "; ".join(
        f"{label} {wording.percent(row.parts[0])} by {of.penalties[0]}, "
        f"{wording.percent(row.parts[row.furthest])} by {of.penalties[row.furthest]}"
        for label, row in zip(labels, rows, strict=True)
    )
    return Chart(
        "penalties",
        f"Part of all usage by penalty, of the {moving.kind}s that it changes most for",
        f"Dot plot. {said}.",
        _dots(shown, labels, list(of.penalties), "Part of all usage", {}),
    )


def _title(resource: str) -> str:
    return wording.first_upper(wording.resources(resource))


def _scales(titles: Sequence[str]) -> tuple[Spec, Spec]:
    count = len(titles)
    return (
        {"domain": list(titles), "range": list(_COLOURS[:count])},
        {"domain": list(titles), "range": list(_SHAPES[:count])},
    )


def _dots(
    shown: Sequence[tuple[str, str, float]],
    labels: Sequence[str],
    titles: Sequence[str],
    axis: str,
    aims: Mapping[str, float],
) -> Spec:
    colours, shapes = _scales(titles)
    legend = {"title": None, "orient": "top"}
    at = {
        "y": {
            "field": "of",
            "type": "nominal",
            "sort": list(labels),
            "title": None,
            "axis": {"labelLimit": 190, "grid": True},
        },
        "x": {
            "field": "part",
            "type": "quantitative",
            "title": axis,
            "axis": {"format": "%", "grid": True},
        },
    }
    dots: Spec = {
        "data": {
            "values": [
                {"of": label, "by": title, "part": round(part, 4)} for label, title, part in shown
            ]
        },
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.9},
        "encoding": {
            **at,
            "color": {"field": "by", "type": "nominal", "scale": colours, "legend": legend},
            "shape": {"field": "by", "type": "nominal", "scale": shapes, "legend": legend},
        },
    }
    layers = [dots]
    if aims:
        layers.append(
            {
                "data": {"values": [{"of": label, "part": aim} for label, aim in aims.items()]},
                "mark": {"type": "tick", "color": INK, "thickness": 2, "size": 16},
                "encoding": at,
            }
        )
    return {
        "width": series.PIXELS,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "height": {"step": _STEP},
        "layer": layers,
        "config": config(),
    }


def _points(of: Occupied, label: str, line: OccupiedLine) -> list[Spec]:
    rows: list[Spec] = [
        {"of": label, "by": _title(name), "day": day, "value": round(part, 4)}
        for name, parts in zip(of.resources, line.over_time, strict=True)
        for day, part in zip(of.days, parts, strict=True)
    ]
    if line.share is not None:
        rows[0]["target"] = line.share  # constant: one row of the panel carries it
    return rows


def _lines(titles: Sequence[str], days: int) -> Spec:
    colours, _ = _scales(titles)
    legend = {"title": None, "orient": "top", "symbolType": "stroke"}
    dashes = {"domain": list(titles), "range": [list(dash) for dash in _DASHES[: len(titles)]]}
    return {
        "mark": {"type": "line", "strokeWidth": 1.2, "interpolate": "step-after"},
        "encoding": {
            "x": days_axis(days),
            "y": {
                "field": "value",
                "type": "quantitative",
                "title": None,
                "axis": {"format": "%", "tickCount": 3},
            },
            "color": {"field": "by", "type": "nominal", "scale": colours, "legend": legend},
            "strokeDash": {"field": "by", "type": "nominal", "scale": dashes, "legend": legend},
        },
    }
