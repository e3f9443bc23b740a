"""Priority operators as profiles in panels side by side, as [R] figures 10 and 11.

Written as Vega-Lite by hand; ``charts`` draws it. A table of the same study holds every value.
"""

from collections.abc import Sequence

from audit.report.charts.style import BLUE, INK, VERMILION, Chart, Spec
from audit.studies.charts import INDEPENDENT_X, Panels, in_panels


def profiles(
    key: str,
    title: str,
    alt: str,
    curves: Sequence[Spec],
    bars: Sequence[Spec],
    operators: Sequence[str],
    target: float,
) -> Chart:
    """F over the state for one target, a panel for each operator; bars are local densities.

    Args:
        key: of the chart.
        title: of the chart.
        alt: what it shows, in words.
        curves: rows of: of (operator), state, priority.
        bars: rows of: of, density, priority, next (where the following digit begins).
        operators: in the order of the panels.
        target: dashed, where priorities are 0.
    """
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
    layers: list[Spec] = [
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
    rows = [{"kind": "bar", **row} for row in bars] + [{"kind": "curve", **row} for row in curves]
    rows += [{"kind": "target", "of": name, "state": target} for name in operators]
    panels = Panels(operators, 130, columns=4, resolve=INDEPENDENT_X)
    return in_panels(key, title, alt, rows, layers, panels)
