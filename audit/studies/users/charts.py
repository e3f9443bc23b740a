"""Six policies side by side, as [K] figures 1 and 2.

A table of the same study holds every value.
"""

from collections.abc import Mapping, Sequence

from audit.report.charts import series
from audit.report.charts.marks import dots, lines, scales
from audit.report.charts.marks.dots import Dot, Row
from audit.report.charts.marks.frame import Series
from audit.report.charts.marks.lines import Line, Panel
from audit.report.charts.style import EARLIER, LATER, Chart
from audit.report.study.charts import Values, ends, several
from audit.report.text import wording

_STEPS = 500
"""A distribution is drawn with at most so many steps: one for each pixel."""


def performance(key: str, shows: str, rows: Sequence[Values], note: str) -> Chart:
    """Mean wait and response, and the bounded slowdown beside them.

    Args:
        key: of the chart.
        shows: what is drawn.
        rows: of each policy: of, wait, response (both in hours), slowdown, says (the slowdown as
            text), wait_says and response_says.
        note: what is left out, for those who cannot see it.
    """
    drawn = [
        Row(
            row["of"],
            (
                Dot(0, row["wait"], tip=f"{row['of']}: mean wait {row['wait_says']}"),
                Dot(1, row["response"], tip=f"{row['of']}: mean response {row['response_says']}"),
            ),
            row["says"],
        )
        for row in rows
    ]
    hours = [float(row[name]) for row in rows for name in ("wait", "response")]
    kinds = (Series("mean wait", EARLIER, "circle"), Series("mean response", LATER, "square"))
    axis = scales.linear(hours, scales.plain, title="Hours")
    body, height = dots.drawn(drawn, dots.Looks(kinds, axis, joined=True))
    waits = "; ".join(
        f"{row['of']} waits {row['wait_says']}, slowdown {row['says']}" for row in rows
    )
    told = ends(
        {row["of"]: row["wait"] for row in rows},
        lambda hours: wording.rough_duration(hours * 3_600),
    )
    title = f"Mean wait: {told}"
    alt = f"Dots. {title}. {shows}. {waits}. {note}".strip()
    shown = f"{shows}. At the right: mean bounded slowdown. {note}".strip()
    return Chart(key, title, alt, body, height, shown)


def cumulative(key: str, shows: str, curves: Mapping[str, Sequence[tuple[float, float]]]) -> Chart:
    """The distribution of NUWT over users under each policy, cut at 10.

    Args:
        key: of the chart.
        shows: what is drawn.
        curves: by policy, (NUWT, share of users with at most that), ascending.
    """
    end = float(series.NUWT_CUT)
    drawn, at_most_1 = [], {}
    for of, (name, points) in zip(several(list(curves)), curves.items(), strict=True):
        steps = _thinned(points, end)
        drawn.append(Line(name, steps, of.colour, of.dash, step=True, width=1.8))
        below = max((share for nuwt, share in points if nuwt <= 1), default=0.0)
        at_most_1[name] = below
    x = scales.linear([end], scales.plain, title=f"NUWT, cut at {series.NUWT_CUT}")
    y = scales.shares([1.0], title="Share of users with at most this NUWT")
    body, height = lines.drawn([Panel(x, y, drawn)], height=190)
    title = f"Users with a NUWT of at most 1: {ends(at_most_1, wording.rough_percent)}"
    each = ", ".join(f"{name} {wording.percent(below)}" for name, below in at_most_1.items())
    alt = f"Line chart. {shows}. Users with a NUWT of at most 1: {each}."
    return Chart(key, title, alt, body, height, f"{shows}.")


def _thinned(points: Sequence[tuple[float, float]], end: float) -> list[tuple[float, float]]:
    """From 0 to ``end``; of the steps within a pixel the last is what is seen."""
    kept = {int(nuwt / end * _STEPS): (nuwt, share) for nuwt, share in points if nuwt <= end}
    steps = list(kept.values())
    return [(0.0, 0.0), *steps, (end, steps[-1][1] if steps else 0.0)]


def spread(key: str, shows: str, rows: Sequence[Values], note: str) -> Chart:
    """UWT and the deviation of NUWT under each policy.

    Args:
        key: of the chart.
        shows: what is drawn.
        rows: of (policy), what (``mean`` or ``deviation``), value.
        note: what is left out, for those who cannot see it.
    """
    whats = list(dict.fromkeys(row["what"] for row in rows))
    policies = list(dict.fromkeys(row["of"] for row in rows))
    drawn = [
        Row(
            policy,
            tuple(
                Dot(
                    whats.index(row["what"]),
                    row["value"],
                    tip=f"{policy}: {row['what']} {wording.number(float(row['value']))}",
                )
                for row in rows
                if row["of"] == policy
            ),
        )
        for policy in policies
    ]
    values = [float(row["value"]) for row in rows]
    axis = scales.linear(values, scales.plain, title="NUWT")
    body, height = dots.drawn(drawn, dots.Looks(several(whats, "dot"), axis, joined=True))
    told = "; ".join(
        f"{row['of']} {row['what']} {wording.number(float(row['value']))}" for row in rows
    )
    means = {row["of"]: float(row["value"]) for row in rows if row["what"] == "mean"}
    title = f"Mean NUWT: {ends(means, wording.number)}"
    alt = f"Dots. {shows}: {told}. {note}".strip()
    return Chart(key, title, alt, body, height, f"{shows}. {note}".strip())
