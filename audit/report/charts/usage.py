"""The chart of decayed usage: a small panel for each of those who used most, all others below.

Panels and not lines over one another: eight colours cannot be told apart, and each panel has its
own target. Written as Vega-Lite by hand; ``charts`` draws it.
"""

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from audit.report.charts import series
from audit.report.charts.style import BLUE, FONT, INK, VERMILION, Chart, Spec, config
from audit.report.decayed import COLUMNS
from audit.report.text import wording
from audit.report.usage_contents import (
    DecayedUsage,
    UsageLine,
    UsageSeries,
)

_GAP: Final = 18
_WIDTH: Final = (series.PIXELS + _GAP) // COLUMNS - _GAP
_NAME_LIMIT: Final = 24


def usage(of: DecayedUsage) -> Chart | None:
    """Usage fractions over time of the accounts, or users, with most usage; dashed: the target."""
    if of.series is None or not of.series.days:
        return None
    told = of.series
    labels = names(told.kind, told.lines)
    one = [pair for pair in zip(labels, told.lines, strict=True) if not pair[1].others]
    rest = [pair for pair in zip(labels, told.lines, strict=True) if pair[1].others]
    means = ["weekly means"] if told.weekly else []
    dashed = ["dashed: the target"] if any(line.share is not None for _, line in one) else []
    notes = "; ".join(means + dashed)
    title = f"Part of all usage, of the {told.kind}s that used most{f' ({notes})' if notes else ''}"
    alt = _alt(told, labels)
    parts = [_panels(told, one, of.days)]
    parts += [_strip(told, label, line, of.days) for label, line in rest]
    spec: Spec = {"description": alt, "vconcat": parts, "spacing": 12, "config": config()}
    return Chart("usage", title, alt, spec)


def _panels(told: UsageSeries, lines: list[tuple[str, UsageLine]], days: int) -> Spec:
    layers = [_area(told, [line for _, line in lines], days)]
    if any(line.share is not None for _, line in lines):
        layers.append(target(VERMILION))
    rows = [row for label, line in lines for row in _rows(told, label, line)]
    return panels(rows, [label for label, _ in lines], layers)


def target(color: str) -> Spec:
    """A dashed line at the rows' only ``target``."""
    at = {"field": "target", "aggregate": "mean", "type": "quantitative", "title": None}
    mark = {"type": "rule", "color": color, "strokeDash": [5, 3], "strokeWidth": 1.5}
    return {"mark": mark, "encoding": {"y": at}}


def panels(rows: list[Spec], labels: Sequence[str], layers: list[Spec]) -> Spec:
    """A small panel for the rows of each label, which they name in ``of``."""
    return {
        "data": {"values": rows},
        "facet": {
            "field": "of",
            "type": "nominal",
            "title": None,
            "sort": list(labels),
            "header": {
                "labelFont": FONT,
                "labelFontSize": 11,
                "labelColor": INK,
                "labelAnchor": "start",
                "labelLimit": _WIDTH,
                "labelPadding": 4,
            },
        },
        "columns": COLUMNS,  # boot.js lays out fewer where the page is narrow
        "spacing": {"row": 14, "column": _GAP},
        "spec": {"width": _WIDTH, "height": 78, "layer": layers},
    }


def _strip(told: UsageSeries, label: str, line: UsageLine, days: int) -> Spec:
    """All others, on a scale of their own: together they may dwarf each of those who used most."""
    return {
        "data": {"values": _rows(told, label, line)},
        "title": {
            "text": label,
            "anchor": "start",
            "font": FONT,
            "fontSize": 11,
            "fontWeight": "normal",
            "color": INK,
            "offset": 4,
        },
        "width": series.PIXELS,
        "height": 60,
        **_area(told, [line], days),
    }


def _rows(told: UsageSeries, label: str, line: UsageLine) -> list[Spec]:
    rows: list[Spec] = [
        {"of": label, "day": day, "value": round(value, 4)}
        for day, value in zip(told.days, line.values, strict=True)
    ]
    if line.share is not None:
        rows[0]["target"] = line.share  # constant: one row of the panel carries it
    return rows


def days_axis(days: int) -> Spec:
    """Days from left to right; ``days`` of them in all."""
    return {
        "field": "day",
        "type": "temporal",
        # UTC on both sides: labels are days already, and must not move with a zone.
        "timeUnit": "utcyearmonthdate",
        "scale": {"type": "utc"},
        "title": None,
        "axis": {
            "labelOverlap": True,
            "tickCount": 3,
            "format": "%b %Y" if days > 120 else "%-d %b",
        },
    }


def _area(told: UsageSeries, lines: Iterable[UsageLine], days: int) -> Spec:
    top = max(max(*line.values, line.share or 0.0) for line in lines)
    mark: Spec = (
        {"type": "point", "filled": True, "size": 50, "color": BLUE}
        if len(told.days) == 1
        else {
            "type": "area",
            "color": BLUE,
            "opacity": 0.3,
            "line": {"color": BLUE, "strokeWidth": 1},
        }
    )
    return {
        "mark": mark,
        "encoding": {
            "x": days_axis(days),
            "y": {
                "field": "value",
                "type": "quantitative",
                "title": None,
                "scale": {"domain": [0, top or 1]},
                "axis": {"format": "%", "tickCount": 3},
            },
        },
    }


class Named(Protocol):
    """A line of a chart: one entity, or several together."""

    @property
    def name(self) -> str | None:
        """None: the log names none."""

    @property
    def others(self) -> int:
        """How many are together; 0: one."""


def names(kind: str, lines: Sequence[Named], limit: int = _NAME_LIMIT) -> list[str]:
    """What to call each line; no two are the same, or they would be drawn as one."""
    return wording.told_apart(
        f"{wording.plural(line.others, f'other {kind}')} together"
        if line.others
        else wording.name(line.name, limit)
        for line in lines
    )


def _alt(told: UsageSeries, labels: list[str]) -> str:
    said = []
    for label, line in zip(labels, told.lines, strict=True):
        mean = wording.percent(sum(line.values) / len(line.values))
        aim = "" if line.share is None else f" against a target of {wording.percent(line.share)}"
        said.append(f"{label} {mean}{aim}")
    return (
        f"Small area charts, {len(labels)} in all. Part of all decayed usage, {told.days[0]} to "
        f"{told.days[-1]}; mean over the period: {'; '.join(said)}."
    )
