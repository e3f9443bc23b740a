"""Charts of a workload model: attempts by class, gaps between arrivals, and the week.

A table of the same study holds every value.
"""

from collections.abc import Sequence
from typing import Final

from audit.report.charts import series
from audit.report.charts.marks import bars, lines, scales
from audit.report.charts.marks.bars import Bar
from audit.report.charts.marks.frame import Series
from audit.report.charts.marks.lines import Line, Panel, Target
from audit.report.charts.style import EARLIER, INK, LATER, OWN, SHARED, Chart
from audit.report.study.charts import Values

PART_NAMES: Final = {"peak": "peak hours", "off_peak": "off-peak", "weekend": "weekend"}
_PARTS: Final = (
    Series(PART_NAMES["peak"], LATER, "block"),
    Series(PART_NAMES["off_peak"], EARLIER, "block"),
    Series(PART_NAMES["weekend"], SHARED, "block"),
)
_CURVES: Final = {
    "log": (INK, ""),
    "hyper-exponential": (EARLIER, "6 3"),
    "exponential": (LATER, "2 2"),
}
_LENGTHS: Final = ((1.0, "1 s"), (60.0, "1 min"), (3_600.0, "1 h"), (86_400.0, "1 d"))


def by_class(
    key: str, title: str, alt: str, rows: Sequence[Values], labels: Sequence[str]
) -> Chart:
    """Attempts of each class as a bar, divided by part of the week ([B] figs. 4 and 5).

    Args:
        key: of the chart.
        title: of the chart.
        alt: what it shows, in words.
        rows: of: of (class), part, place (order in the bar), attempts.
        labels: of the classes, in order.
    """
    names = [of.name for of in _PARTS]
    drawn = [
        Bar(
            0,
            labels.index(row["of"]),
            names.index(row["part"]),
            float(row["attempts"]),
            tip=f"{row['of']}, {row['part']}: {row['attempts']:,} attempts",
        )
        for row in sorted(rows, key=lambda row: (labels.index(row["of"]), row["place"]))
    ]
    summed = [sum(float(r["attempts"]) for r in rows if r["of"] == label) for label in labels]
    looks = bars.Columns(
        tuple(labels), _PARTS, scales.linear(summed, scales.plain, title="Attempts"), upon=True
    )
    body, height = bars.columns(drawn, looks)
    return Chart(key, title, alt, body, height)


def gaps(key: str, title: str, alt: str, rows: Sequence[Values], panels: Sequence[str]) -> Chart:
    """Distributions of gaps between arrivals, a panel for each class.

    Args:
        key: of the chart.
        title: of the chart.
        alt: what it shows, in words.
        rows: of: of (panel), curve (one of log, hyper-exponential, exponential), seconds, share.
        panels: in order.
    """
    most = max((float(row["seconds"]) for row in rows), default=10.0)
    ticks = tuple(tick for tick in _LENGTHS if tick[0] <= most)
    x = scales.Axis(1.0, max(most, 2.0), ticks, logarithmic=True)
    y = scales.Axis(0.0, 1.0, ((0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %")))
    drawn = [
        Panel(
            x,
            y,
            [
                Line(
                    curve,
                    [
                        (row["seconds"], row["share"])
                        for row in rows
                        if row["of"] == name and row["curve"] == curve
                    ],
                    colour,
                    dash,
                )
                for curve, (colour, dash) in _CURVES.items()
            ],
            name,
        )
        for name in panels
    ]
    body, height = lines.drawn(drawn, height=110, abreast=2)
    return Chart(
        key, title, alt, body, height, "Gaps between arrivals: share that is at most so long."
    )


def week(key: str, title: str, alt: str, rows: Sequence[Values]) -> Chart:
    """Arrivals in each hour of the week, of the log and of one that was drawn.

    Args:
        key: of the chart.
        title: of the chart.
        alt: what it shows, in words.
        rows: of: of ("log" or "drawn"), hour (0 to 167, from Monday), arrivals (per hour).
    """
    looks = {"log": (INK, ""), "drawn": (OWN, "5 2")}
    drawn = []
    for name, (colour, dash) in looks.items():
        points = [(float(row["hour"]), row["arrivals"]) for row in rows if row["of"] == name]
        points = [*points, (168.0, points[-1][1])] if points else []
        drawn.append(Line(name, points, colour, dash, step=True, width=1.8))
    days = tuple((24.0 * number + 12, day) for number, day in enumerate(series.WEEKDAYS))
    y = scales.linear([row["arrivals"] for row in rows], scales.plain, title="Arrivals per hour")
    at: dict[int, list[Values]] = {}
    for row in rows:
        at.setdefault(row["hour"], []).append(row)
    targets = [
        Target(
            float(hour),
            hour + 1.0,
            f"{series.WEEKDAYS[hour // 24]} {hour % 24} h: "
            + ", ".join(f"{row['of']} {row['arrivals']:.1f}" for row in here),
        )
        for hour, here in at.items()
    ]
    panel = Panel(scales.Axis(0, 168, days), y, drawn, targets=targets)
    body, height = lines.drawn([panel], height=160)
    return Chart(key, title, alt, body, height, "Arrivals in each hour of the week.")
