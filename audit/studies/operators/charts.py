"""Priority operators as profiles in panels side by side, as [R] figures 10 and 11.

Written as Vega-Lite by hand; ``charts`` draws it. A table of the same study holds every value.
"""

from collections.abc import Sequence

import polars as pl

from audit.report.charts.style import BLUE, INK, VERMILION, Chart, Spec
from audit.studies.charts import INDEPENDENT_X, Panels, in_panels
from audit.studies.operators.compute.resolution import Profile


def profiles(
    key: str, title: str, alt: str, profile: Profile, operators: Sequence[str], target: float
) -> Chart:
    """F over the state for one target, a panel for each operator; bars are local densities.

    Args:
        key: of the chart.
        title: of the chart.
        alt: what it shows, in words.
        profile: what is drawn.
        operators: in the order of the panels.
        target: dashed, where priorities are 0.
    """
    rows = _rows("bar", profile.bars) + _rows("curve", profile.curves)
    rows += [{"kind": "target", "of": name, "state": target} for name in operators]
    panels = Panels(operators, 130, columns=4, resolve=INDEPENDENT_X)
    return in_panels(key, title, alt, rows, _layers(), panels)


def _rows(kind: str, points: pl.DataFrame) -> list[Spec]:
    """Points as the chart takes them, to four digits."""
    return [
        {"kind": kind, "of": name, **{key: round(value, 4) for key, value in values.items()}}
        for name, values in ((row.pop("operator"), row) for row in points.iter_rows(named=True))
    ]


def _layers() -> list[Spec]:
    """The bars, the curve, and the target."""
    x: Spec = {
        "field": "state",
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [0, 1]},
        "axis": {"values": [0, 0.5, 1]},
    }
    y: Spec = {
        "field": "priority",
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [-1, 1]},
        "axis": {"values": [-1, -0.5, 0, 0.5, 1]},
    }
    density: Spec = {"field": "density", "type": "quantitative", "title": None}
    return [
        {
            "transform": [{"filter": "datum.kind === 'bar'"}],
            "mark": {"type": "rect", "color": VERMILION, "opacity": 0.28},
            "encoding": {
                "x": {**density, "scale": {"domain": [0, 1]}, "axis": x["axis"]},
                "x2": {"datum": 0},
                "y": y,
                "y2": {"field": "next"},
            },
        },
        {
            "transform": [{"filter": "datum.kind === 'curve'"}],
            "mark": {"type": "line", "color": BLUE, "strokeWidth": 2},
            "encoding": {"x": x, "y": y, "order": {"field": "state"}},
        },
        {
            "transform": [{"filter": "datum.kind === 'target'"}],
            "mark": {"type": "rule", "color": INK, "strokeDash": [3, 3], "strokeWidth": 1},
            "encoding": {"x": x},
        },
    ]
