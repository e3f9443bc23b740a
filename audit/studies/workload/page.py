"""The page of the study of workloads (``compute.model``), and its charts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit.array_types import Floats
from audit.metrics.claims import ClaimVerdict
from audit.metrics.draws import Draws
from audit.model import Pool
from audit.report import wording
from audit.report.charts import series
from audit.report.charts.marks import bars, lines, scales
from audit.report.charts.marks.bars import Bar
from audit.report.charts.marks.frame import Series
from audit.report.charts.marks.lines import Line, Panel
from audit.report.charts.style import CLAIMED, EARLIER, INK, LATER, OWN, Chart
from audit.report.study import layout
from audit.report.study.page import Cell, Section, Study, by_pool, pool_prefix, verdict_table
from audit.studies.workload.compute import classes, synthetic
from audit.studies.workload.compute.classes import PARTS
from audit.studies.workload.compute.likeness import (
    DRAWN_LOGS,
    Likeness,
    fitted,
    gap_distributions,
    summaries,
    weekly,
)
from audit.studies.workload.compute.model import Class, LogModel, place, population

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
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DRAWN: Final = 6
"""Number of classes whose gaps are drawn."""


def labels_of(model: LogModel) -> dict[str, str]:
    """Return the name of each class on the page, in order."""
    labels = list(dict.fromkeys(one.label for one in model.classes))
    shown = (wording.width(label) if model.by == "size" else label for label in labels)
    names = wording.distinct(wording.name(one, 24) for one in shown)
    return dict(zip(labels, names, strict=True))


def by_class(model: LogModel) -> Chart:
    """Return attempts of each class as a bar, divided by part of the week ([B] figs. 4 and 5)."""
    labels, classes = labels_of(model), summaries(model)
    places = {label: number for number, label in enumerate(labels)}
    drawn = [
        Bar(
            0,
            places[one.label],
            PARTS.index(one.part),
            float(one.attempts),
            tip=f"{labels[one.label]}, {_PARTS[one.part].name}: {one.attempts:,} attempts",
        )
        for one in model.classes
    ]
    most = max(classes, key=lambda summary: summary.attempts)
    peak = sum(one.attempts for one in model.classes if one.part == "peak") / model.attempts
    y = scales.linear([float(one.attempts) for one in classes], scales.plain, title="Attempts")
    looks = bars.Columns(tuple(labels.values()), tuple(_PARTS.values()), y, upon=True)
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


def gaps(described: pl.DataFrame, pool: Pool, model: LogModel) -> Chart:
    """Return distributions of gaps between arrivals, a panel for each of the largest classes."""
    labels = labels_of(model)

    def name(one: Class, between: str) -> str:
        return f"{labels[one.label]}{between}{_PARTS[one.part].name}"

    chosen = sorted(fitted(model), key=lambda one: -one.attempts)[:_DRAWN]
    placed = place(described, pool, ZoneInfo(model.zone), model.by, 0)
    curves = {name(one, ", "): gap_distributions(placed, one) for one in chosen}
    most = max((float(lengths[-1]) for lengths, _ in curves.values()), default=10.0)
    ticks = tuple(tick for tick in _LENGTHS if tick[0] <= most)
    x = scales.Axis(1.0, max(most, 2.0), ticks, logarithmic=True)
    y = scales.Axis(0.0, 1.0, ((0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %")))
    panels = [Panel(x, y, _curves(*of), title) for title, of in curves.items()]
    body, height = lines.drawn(panels, height=110, abreast=2)
    worst = max(chosen, key=lambda one: one.gaps.distance, default=None)
    furthest = title = "No class has enough arrivals"
    if worst is not None:
        distance = f"{worst.gaps.distance:.2f}"
        title = f"All classes shown are within {distance} of their fit"
        furthest = f"The greatest distance from the fit is {distance}, of {name(worst, ' in ')}"
    alt = (
        f"Line charts, one for each of the {len(chosen)} classes by size with most arrivals: the "
        f"share of gaps up to a length, of the log and of two fitted distributions. {furthest}."
    )
    return Chart("gaps", title, alt, body, height, "Share of gaps between arrivals up to a length.")


def _curves(lengths: Floats, shares: Mapping[str, Floats]) -> list[Line]:
    drawn = []
    for name, looks in _CURVES.items():
        rounded = (round(share, 4) for share in shares[name].tolist())
        drawn.append(Line(name, [*zip(lengths.tolist(), rounded, strict=True)], *looks))
    return drawn


def week(attempts: pl.DataFrame, model: LogModel, seed: int) -> Chart:
    """Return arrivals in each hour of the week, of the log's ``attempts`` and of a drawn log."""
    arrivals = {
        "log": weekly(attempts["arrival_time"], model),
        "drawn": weekly(synthetic.draw(model, seed)["arrival_time"], model),
    }
    shown = {name: [round(value, 4) for value in of.tolist()] for name, of in arrivals.items()}
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
    targets = [
        (
            float(hour),
            hour + 1.0,
            f"{series.WEEKDAYS[hour // 24]} {hour % 24} h: "
            + ", ".join(f"{name} {of[hour]:.1f}" for name, of in shown.items()),
        )
        for hour in range(168)
    ]
    days = tuple((24.0 * number + 12, day) for number, day in enumerate(series.WEEKDAYS))
    values = [value for of in shown.values() for value in of]
    y = scales.linear(values, scales.plain, title="Arrivals per hour")
    panel = Panel(scales.Axis(0, 168, days), y, drawn, targets=targets)
    body, height = lines.drawn([panel], height=160)
    top = int(np.argmax(arrivals["log"]))
    day, hour = _DAYS[top // 24], top % 24
    of_log, of_drawn = (f"{of[top]:.1f}" for of in arrivals.values())
    return Chart(
        "week",
        f"Most arrivals: {day} at {hour} h, {of_log} per hour (drawn log: {of_drawn})",
        "Line chart. Arrivals in each hour of the week, of the log and of one drawn from the model "
        f"by size. The log's maximum is {of_log} per hour, on {day} at "
        f"{hour} h; the drawn log has steps where peak hours begin and end.",
        body,
        height,
        "Arrivals in each hour of the week.",
    )


_TITLES: Final = {
    "size": "Classes by size",
    "group": "Classes by group",
    "clusters": "Classes by k-means",
}
_PART_NAMES: Final = {"peak": "peak", "off_peak": "off-peak", "weekend": "weekend"}
_TRAITS: Final = {
    "attempts": "Attempts",
    "mean_size": "Mean size",
    "mean_occupancy_s": "Mean runtime, s",
    "mean_walltime_s": "Mean walltime, s",
    "load": "Offered load",
    "peak": "Share arriving in peak hours",
    "gap_variation": "Variation of gaps",
    "day_dispersion": "Dispersion of days",
    "wait_mean_s": "Mean wait, s",
    "wait_median_s": "Median wait, s",
}
_GROUPS: Final = {
    "group": "By Unix group.",
    "account": "By account: the log does not distinguish groups.",
    "user": "By user: the log distinguishes neither groups nor accounts.",
}
_ASKED: Final = (
    "Mean size <number> | Mean runtime <mean_occupancy_s duration> | Share of use <used percent>"
)
_FIT: Final = (
    "p <number> | Short mean <short_s duration> | Long mean <long_s duration> | Variation <number> "
    "| Distance <number> | Exponential <exponential_distance number> | p-value <p_value number>"
)


class Modelled(NamedTuple):
    """A pool's model by one technique, its likeness to the log, and the verdicts."""

    model: LogModel
    likeness: Likeness
    verdicts: tuple[ClaimVerdict, ...]


class Studied(NamedTuple):
    """A pool, its attempts and its models, in the order of the techniques."""

    pool: Pool
    described: pl.DataFrame
    models: tuple[Modelled, ...]


def study(log: str, pools: Sequence[Studied], draws: Draws) -> Study:
    """Return the study of the cluster ``log``; the seed of ``draws`` also draws the log."""
    sections = by_pool(
        [
            (studied.pool.name, _sections(studied, pool_prefix(number, len(pools)), draws.seed))
            for number, studied in enumerate(pools)
        ]
    )
    model, likeness, verdicts = pools[0].models[0]
    values = {
        "log": wording.name(log),
        "attempts": wording.count(model.attempts),
        "classes": len(model.classes),
        "verdicts": " ".join(
            f"{wording.first_upper(verdict.claim)}: {verdict.holds.value}." for verdict in verdicts
        ),
        "load": wording.percent(likeness.span("load")[0]),
        "log_load": wording.percent(likeness.of_log.load),
        "wait": wording.duration(likeness.span("wait_mean_s")[0]),
        "log_wait": wording.duration(likeness.of_log.wait_mean_s),
        "days": model.days,
        "first_day": model.first_day.isoformat(),
        "zone": model.zone,
        "drawn": DRAWN_LOGS,
        "seed": draws.seed,
    }
    settings = {
        "pools": [
            (
                f"Pool {wording.name(pool.name)}",
                f"{wording.count(pool.largest)} {pool.resource.value}; "
                f"{wording.plural(models[0].model.left_out, 'attempt')} left out, not ended or of "
                "unknown size",
            )
            for pool, _, models in pools
        ],
        "intervals": [draws.intervals("resamples of days")],
    }
    last = layout.section("workload", "read", {}, {})
    return layout.study("workload", settings, values, (*sections, last))


def _sections(studied: Studied, prefix: str, seed: int) -> list[Section]:
    pool, described, models = studied
    model = models[0].model
    verdicts = [(one.model.by, verdict) for one in models for verdict in one.verdicts]
    fits = [row for one in models for row in _fits(one.model)]
    parts = {
        "verdicts": verdict_table(verdicts, ("Classes by", "by")),
        "gaps_chart": gaps(described, pool, model),
        "gaps": [
            (label, *row[:-1]) for label, by, of, *row in fits if (by, of) == ("size", "gaps")
        ],
        "fits": fits,
        "likeness": [
            (
                title,
                getattr(models[0].likeness.of_log, trait),
                *(figure for one in models for figure in one.likeness.span(trait)),
            )
            for trait, title in _TRAITS.items()
        ],
        "week": week(population(described, pool), model, seed),
    }
    values = {
        "fit": _FIT,
        "drawn": DRAWN_LOGS,
        "techniques": " | ".join(
            f"By {by}: mean <{by}_mean number> | least <{by}_least number> | "
            f"greatest <{by}_greatest number>"
            for by in (one.model.by for one in models)
        ),
    }
    first, *others = (
        layout.section("workload", key, parts, values) for key in ("verdicts", "gaps", "likeness")
    )
    return [first, *(_technique(studied, one.model, prefix) for one in models), *others]


def _technique(studied: Studied, model: LogModel, prefix: str) -> Section:
    column = classes.grouping(studied.described.filter(pl.col("pool") == studied.pool.name))
    how = {
        "size": "Width classes, in powers of two.",
        "group": f"{_GROUPS[column]} Groups with less than a twentieth of the attempts and of the "
        f"use are merged as {classes.OTHERS}.",
        "clusters": "k-means over the logarithms of size and occupancy; c1 has the largest use. "
        "By default, the number of clusters is that with the largest mean silhouette.",
    }
    labels = labels_of(model)
    parts = {
        "chart": by_class(model),
        model.by: [(labels[label], *row) for label, *row in summaries(model)],
        f"{model.by}-parts": [
            (
                *(labels[one.label], _PART_NAMES[one.part], one.attempts, one.rate, one.mean_size),
                *(one.mean_occupancy_s, one.used, one.with_walltime, one.known_foresight),
            )
            for one in model.classes
        ],
    }
    values = {
        "title": _TITLES[model.by],
        "how": how[model.by],
        "file": file_name(model, prefix),
        "by": model.by,
        "noun": NOUNS[model.by],
        "asked": _ASKED,
    }
    return layout.section("workload", "technique", parts, values)


def file_name(model: LogModel, prefix: str = "") -> str:
    """Return the name of a model's file; ``prefix`` is ``pool_prefix``."""
    return f"workload-{prefix}{model.by}.toml"


def _fits(model: LogModel) -> Iterator[tuple[Any, ...]]:
    labels = labels_of(model)
    for one in model.classes:
        for what, fit in (("gaps", one.gaps), ("runtimes", one.occupancies)):
            figures: tuple[Cell, ...] = (
                *fit.distribution,
                fit.distribution.variation,
                *(fit.distance, fit.exponential_distance, fit.p_value, fit.gain),
            )
            label = f"{labels[one.label]}, {_PART_NAMES[one.part]}"
            yield label, model.by, what, one.attempts, *figures
