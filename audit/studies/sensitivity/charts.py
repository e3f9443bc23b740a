"""Charts of the sensitivity to fairshare's settings: lines of each group, a panel for each setting.

Written as Vega-Lite by hand; ``report.charts`` draws it. A table of the same study holds every
value.
"""

from collections.abc import Sequence
from typing import Final

from audit.report.charts.style import INK, Chart, Spec
from audit.studies.charts import Panels, in_panels, strokes

_COLOURS: Final = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_DASHES: Final = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [4, 4], [1, 3])


def lines(
    key: str,
    title: str,
    alt: str,
    rows: Sequence[Spec],
    settings: Sequence[str],
    groups: Sequence[str],
) -> Chart:
    """Lines of the groups, in panels side by side that share their vertical axis.

    Args:
        key: of the chart.
        title: of the chart.
        alt: what it shows, in words.
        rows: of: of (setting), group, x (its value), y (by what part above the fixed values).
        settings: of the panels, in order.
        groups: at most six, in order.
    """
    zero: Spec = {
        "mark": {"type": "rule", "color": INK, "strokeWidth": 1, "strokeDash": [3, 3]},
        "encoding": {"y": {"datum": 0}},
    }
    line: Spec = {
        "mark": {"type": "line", "strokeWidth": 2, "point": {"size": 22}},
        "encoding": {
            "x": {
                "field": "x",
                "type": "ordinal",
                "title": None,
                "axis": {"labelAngle": 0, "labelOverlap": True},
            },
            "y": {"field": "y", "type": "quantitative", "title": None, "axis": {"format": "+.0%"}},
            **strokes("group", groups, _COLOURS, _DASHES),
            "tooltip": [
                {"field": "group", "title": "Group"},
                {"field": "x", "title": "Value"},
                {"field": "y", "title": "Mean response", "format": "+.1%"},
            ],
        },
    }
    own_x: Spec = {"scale": {"x": "independent"}, "axis": {"x": "independent"}}
    return in_panels(key, title, alt, rows, [zero, line], Panels(settings, 150, resolve=own_x))
