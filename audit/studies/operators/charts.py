"""Priority operators as profiles in panels side by side, as [R] figures 10 and 11.

Written as Vega-Lite by hand; ``charts`` draws it. A table of the same study holds every value.
"""

from collections.abc import Sequence

import polars as pl

from audit.report.charts.style import BLUE, INK, VERMILION, Chart, Spec
from audit.studies.charts import INDEPENDENT_X, Panels, channel, in_panels
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
    part, priority = {"domain": [0, 1]}, {"domain": [-1, 1]}
    halves = {"values": [0, 0.5, 1]}
    x = channel("state", "quantitative", title=None, scale=part, axis=halves)
    density = channel("density", "quantitative", title=None, scale=part, axis=halves)
    ticks = {"values": [-1, -0.5, 0, 0.5, 1]}
    y = channel("priority", "quantitative", title=None, scale=priority, axis=ticks)
    return [
        _layer(
            "bar",
            {"type": "rect", "color": VERMILION, "opacity": 0.28},
            {"x": density, "x2": {"datum": 0}, "y": y, "y2": {"field": "next"}},
        ),
        _layer(
            "curve",
            {"type": "line", "color": BLUE, "strokeWidth": 2},
            {"x": x, "y": y, "order": {"field": "state"}},
        ),
        _layer(
            "target",
            {"type": "rule", "color": INK, "strokeDash": [3, 3], "strokeWidth": 1},
            {"x": x},
        ),
    ]


def _layer(kind: str, mark: Spec, encoding: Spec) -> Spec:
    """What is drawn of the rows of one kind."""
    shown = [{"filter": f"datum.kind === '{kind}'"}]
    return {"transform": shown, "mark": mark, "encoding": encoding}
