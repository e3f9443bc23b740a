"""What the charts of studies share: series that differ in colour and dash, and heat maps.

A table of the same study holds every value.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from audit.report.charts.marks import cells as heat
from audit.report.charts.marks.frame import Series
from audit.report.charts.style import DASHES, SERIES, SHAPES, Chart
from audit.report.text import wording

Values: TypeAlias = dict[str, Any]
"""What is drawn in one place, by name."""


def several(names: Sequence[str], kind: str = "line") -> list[Series]:
    """How series are told apart: colour and dash of lines, colour and shape of ``dot``."""
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
    """Return who has the least and who the most of ``values``, by name; ``say`` words a value."""
    least, most = (pick(values, key=lambda name: values[name]) for pick in (min, max))
    if values[least] == values[most]:
        return f"all alike, {say(values[most])}"
    return f"{say(values[least])} with {least}, {say(values[most])} with {most}"


class Layout(NamedTuple):
    """How a heat map is laid out."""

    panels: Sequence[str]
    rows: Sequence[str]  # of each panel, from the top
    x_title: str
    columns: int = 2  # panels side by side
    x_values: Sequence[int] | None = None  # those that are labelled; None: where there is room


class Colours(NamedTuple):
    """What the colours of a heat map say."""

    legend: str
    most: float | None = None  # colours reach no further; None: to the greatest value
    logarithmic: bool = False  # from 1 on


def heat_map(
    key: str, title: str, alt: str, cells: Sequence[Values], layout: Layout, colours: Colours
) -> Chart:
    """Values as colours, in panels side by side; grey where there is none.

    Args:
        key: of the chart.
        title: of the chart.
        alt: what it shows, in words.
        cells: of (panel), x, y (row), value, known (false: there is no value), says (what a reader
            who points at it is told).
        layout: panels and rows.
        colours: scale and legend.
    """
    top = colours.most or max((float(cell["value"]) for cell in cells), default=1.0)
    across = sorted({cell["x"] for cell in cells})
    panels = {name: number for number, name in enumerate(layout.panels)}
    rows = {name: number for number, name in enumerate(layout.rows)}
    columns = {x: number for number, x in enumerate(across)}
    drawn = [
        heat.Cell(
            panels[cell["of"]],
            rows[cell["y"]],
            columns[cell["x"]],
            _strength(float(cell["value"]), top, colours.logarithmic) if cell["known"] else None,
            f"{cell['of']}, {cell['y']}, {layout.x_title} {cell['x']}: {cell['says']}",
        )
        for cell in cells
    ]
    labelled = across if layout.x_values is None else layout.x_values
    looks = heat.Map(
        tuple(layout.rows),
        tuple(str(x) if x in labelled else "" for x in across),
        ("1" if colours.logarithmic else "0", wording.number(top)),
        "" if len(colours.legend) > 40 else colours.legend,
        "" if all(cell["known"] for cell in cells) else "none",
        layout.x_title,
        tuple(layout.panels),
        min(layout.columns, len(layout.panels)),
    )
    body, height = heat.drawn(drawn, looks)
    return Chart(key, title, alt, body, height, f"Colours: {wording.first_upper(colours.legend)}.")


def _strength(value: float, top: float, logarithmic: bool) -> float:
    if top <= 0:
        return 0.0
    if logarithmic:
        return math.log(max(value, 1.0)) / math.log(top) if top > 1 else 1.0
    return value / top
