"""Charts of a workload model: attempts by class, gaps between arrivals, and the week.

A table of the same study holds every value.
"""

from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit.model import Pool
from audit.report.charts import series
from audit.report.charts.marks import bars, lines, scales
from audit.report.charts.marks.bars import Bar
from audit.report.charts.marks.frame import Series
from audit.report.charts.marks.lines import Line, Panel, Target
from audit.report.charts.style import CLAIMED, EARLIER, INK, LATER, OWN, Chart
from audit.report.text import wording
from audit.studies.workload.compute import synthetic
from audit.studies.workload.compute.likeness import (
    Distributions,
    fitted,
    gap_distributions,
    summaries,
    weekly,
)
from audit.studies.workload.compute.model import Model, place
from audit.studies.workload.compute.weekly_clock import PARTS

NOUNS: Final = {"size": "size", "group": "group", "clusters": "cluster"}
_PARTS: Final = {
    "peak": Series("peak hours", LATER, "block"),
    "off_peak": Series("off-peak", EARLIER, "block"),
    "weekend": Series("weekend", CLAIMED, "block"),
}
_CURVES: Final = {
    "log": (INK, ""),
    "hyper-exponential": (EARLIER, "6 3"),
    "exponential": (LATER, "2 2"),
}
_LENGTHS: Final = ((1.0, "1 s"), (60.0, "1 min"), (3_600.0, "1 h"), (86_400.0, "1 d"))
_DAYS: Final = (*("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),)
_DRAWN: Final = 6
"""The number of classes whose gaps are drawn."""


def labels_of(model: Model) -> dict[str, str]:
    """What the page calls each class, in order."""
    labels = list(dict.fromkeys(one.label for one in model.classes))
    shown = (wording.width(label) if model.by == "size" else label for label in labels)
    names = wording.told_apart(wording.name(one, 24) for one in shown)
    return dict(zip(labels, names, strict=True))


def by_class(model: Model) -> Chart:
    """Attempts of each class as a bar, divided by part of the week ([B] figs. 4 and 5)."""
    labels = labels_of(model)
    places = {label: number for number, label in enumerate(labels)}
    drawn = [
        Bar(
            0,
            places[one.label],
            PARTS.index(one.part),
            float(one.attempts),
            tip=f"{labels[one.label]}, {_PARTS[one.part].name}: {one.attempts:,} attempts",
        )
        for one in sorted(model.classes, key=lambda one: (places[one.label], PARTS.index(one.part)))
    ]
    classes = summaries(model)
    most = max(classes, key=lambda summary: summary.attempts)
    peak = sum(one.attempts for one in model.classes if one.part == "peak") / model.attempts
    looks = bars.Columns(
        tuple(labels.values()),
        tuple(_PARTS.values()),
        scales.linear([float(one.attempts) for one in classes], scales.plain, title="Attempts"),
        upon=True,
    )
    body, height = bars.columns(drawn, looks)
    number = f"{wording.count(len(labels))} class{'es' * (len(labels) != 1)}"
    return Chart(
        f"classes_{model.by}",
        f"Attempts by {NOUNS[model.by]} and part of the week",
        f"Stacked bar chart. Attempts of {number} by {model.by}, "
        f"divided by part of the week. Most: {labels[most.label]} with "
        f"{wording.count(most.attempts)}. {wording.percent(peak)} of all arrive in peak hours.",
        body,
        height,
    )


def gaps(described: pl.DataFrame, pool: Pool, model: Model) -> Chart:
    """Distributions of gaps between arrivals, a panel for each of the largest classes."""
    labels = labels_of(model)
    chosen = sorted(fitted(model), key=lambda one: -one.attempts)[:_DRAWN]
    placed = place(described, pool, ZoneInfo(model.zone), model.by, 0)
    curves = {
        f"{labels[one.label]}, {_PARTS[one.part].name}": gap_distributions(placed, one)
        for one in chosen
    }
    most = max((float(of.seconds[-1]) for of in curves.values()), default=10.0)
    ticks = tuple(tick for tick in _LENGTHS if tick[0] <= most)
    x = scales.Axis(1.0, max(most, 2.0), ticks, logarithmic=True)
    y = scales.Axis(0.0, 1.0, ((0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %")))
    panels = [Panel(x, y, _curves(of), name) for name, of in curves.items()]
    body, height = lines.drawn(panels, height=110, abreast=2)
    worst = max(chosen, key=lambda one: one.gaps.distance, default=None)
    furthest = title = "No class has enough arrivals"
    if worst is not None:
        title = f"No drawn class is further than {worst.gaps.distance:.2f} from its fit"
        furthest = (
            f"The greatest distance from the fit is {worst.gaps.distance:.2f}, of "
            f"{labels[worst.label]} in {_PARTS[worst.part].name}"
        )
    alt = (
        f"Line charts, one for each of the {len(chosen)} classes by size with most arrivals: the "
        f"share of gaps up to a length, of the log and of two fitted distributions. {furthest}."
    )
    note = "Gaps between arrivals: share that is at most so long."
    return Chart("gaps", title, alt, body, height, note)


def _curves(of: Distributions) -> list[Line]:
    return [
        Line(
            name,
            [
                (float(length), round(float(share), 4))
                for length, share in zip(of.seconds, of.shares[name], strict=True)
            ],
            *looks,
        )
        for name, looks in _CURVES.items()
    ]


def week(attempts: pl.DataFrame, model: Model, seed: int) -> Chart:
    """Arrivals in each hour of the week, of the log's ``attempts`` and of a log that was drawn."""
    arrivals = {
        "log": weekly(attempts["arrival_time"], model),
        "drawn": weekly(synthetic.draw(model, seed)["arrival_time"], model),
    }
    shown = {name: [round(float(value), 4) for value in of] for name, of in arrivals.items()}
    looks = {"log": (INK, ""), "drawn": (OWN, "5 2")}
    drawn = [
        Line(
            name,
            [*((float(hour), value) for hour, value in enumerate(of)), (168.0, of[-1])],
            *looks[name],
            step=True,
            width=1.8,
        )
        for name, of in shown.items()
    ]
    days = tuple((24.0 * number + 12, day) for number, day in enumerate(series.WEEKDAYS))
    y = scales.linear(
        [value for of in shown.values() for value in of], scales.plain, title="Arrivals per hour"
    )
    targets = [
        Target(
            float(hour),
            hour + 1.0,
            f"{series.WEEKDAYS[hour // 24]} {hour % 24} h: "
            + ", ".join(f"{name} {of[hour]:.1f}" for name, of in shown.items()),
        )
        for hour in range(168)
    ]
    panel = Panel(scales.Axis(0, 168, days), y, drawn, targets=targets)
    body, height = lines.drawn([panel], height=160)
    top = int(np.argmax(arrivals["log"]))
    day, hour = _DAYS[top // 24], top % 24
    of_log, of_drawn = (f"{of[top]:.1f}" for of in arrivals.values())
    return Chart(
        "week",
        f"Most arrive on {day} at {hour} h: {of_log} per hour, drawn {of_drawn}",
        "Line chart. Arrivals in each hour of the week, of the log and of one drawn from the model "
        f"by size. The log's greatest is {of_log} per hour, {wording.plural(hour, 'hour')} into "
        f"{day}; the drawn log has steps where peak hours begin and end.",
        body,
        height,
        "Arrivals in each hour of the week.",
    )
