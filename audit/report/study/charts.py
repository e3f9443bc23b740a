"""Chart parts that several studies share: styles of series, extremes in words, heat maps."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from audit.report import wording
from audit.report.charts.marks import cells as heat
from audit.report.charts.marks.frame import Series
from audit.report.charts.style import DASHES, SERIES, SHAPES, Chart


def several(names: Sequence[str], kind: str = "line") -> list[Series]:
    """Return series that differ in colour and dash; with the kind ``dot``, in colour and shape."""
    return [
        Series(
            name,
            SERIES[number % len(SERIES)],
            SHAPES[number % len(SHAPES)] if kind == "dot" else kind,
            DASHES[number % len(DASHES)],
        )
        for number, name in enumerate(names)
    ]


def ends(values: Mapping[str, float], say: Callable[[float], str]) -> str:
    """Return the smallest and the largest of ``values`` in words, with their names."""
    least, most = (pick(values, key=lambda name: values[name]) for pick in (min, max))
    if values[least] == values[most]:
        return f"all the same, {say(values[most])}"
    return f"{say(values[least])} with {least}, {say(values[most])} with {most}"


class Value(NamedTuple):
    """One cell of a heat map."""

    panel: str
    row: str
    x: int
    value: float | None
    """None is drawn in grey."""
    text: str
    """Shown to readers who point at the cell."""


class Layout(NamedTuple):
    """Layout, legend and colour scale of a heat map."""

    panels: Sequence[str]
    rows: Sequence[str]  # of each panel, from the top
    x_title: str
    legend: str
    columns: int = 2  # panels side by side
    x_values: Sequence[int] | None = None  # labelled values; None: all of them
    most: float | None = None  # value of the strongest colour; None: the greatest value
    logarithmic: bool = False  # the scale begins at 1


def heat_map(key: str, title: str, alt: str, values: Sequence[Value], layout: Layout) -> Chart:
    """Return a chart that shows values as colours, in panels side by side."""
    known = [one.value for one in values if one.value is not None]
    top = layout.most or max(known, default=1.0)
    across = sorted({one.x for one in values})
    drawn = [
        heat.HeatCell(
            layout.panels.index(panel),
            layout.rows.index(row),
            across.index(x),
            None if value is None else _strength(value, top, layout.logarithmic),
            f"{panel}, {row}, {layout.x_title} {x}: {text}",
        )
        for panel, row, x, value, text in values
    ]
    labelled = across if layout.x_values is None else layout.x_values
    looks = heat.Map(
        tuple(layout.rows),
        tuple(str(x) if x in labelled else "" for x in across),
        ("1" if layout.logarithmic else "0", wording.number(top)),
        "" if len(layout.legend) > 40 else layout.legend,
        "" if len(known) == len(values) else "none",
        layout.x_title,
        tuple(layout.panels),
        min(layout.columns, len(layout.panels)),
    )
    body, height = heat.drawn(drawn, looks)
    return Chart(key, title, alt, body, height, f"Colours: {wording.first_upper(layout.legend)}.")


def _strength(value: float, top: float, logarithmic: bool) -> float:
    if top <= 0:
        return 0.0
    if logarithmic:
        return math.log(max(value, 1.0)) / math.log(top) if top > 1 else 1.0
    return value / top
