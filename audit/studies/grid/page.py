"""The page of the policy grid after [S]: conclusions, figures 7 to 18, Tables 1 and 2."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

import polars as pl

from audit.metrics.claims import ClaimHolds, Estimate, every, tally
from audit.model import Order
from audit.report import wording
from audit.report.charts.marks import bars as marks
from audit.report.charts.marks import scales
from audit.report.charts.style import Chart
from audit.report.study import layout
from audit.report.study.charts import ends, several
from audit.report.study.page import Study
from audit.studies.grid import claims, compute
from audit.studies.grid.claims import Decided
from audit.studies.grid.compute import (
    BACKFILLS,
    MEASURES,
    ORDERS,
    RAQFM,
    RE,
    RELAXED,
    RESERVING,
    STRICT,
    SUBSETS,
    UNFAIRNESS,
    WAIT,
    Correlation,
    Grid,
    GridPoint,
    Means,
    load_name,
)

MEDIUM_AND_HIGH: Final = (Fraction("0.80"), Fraction("0.95"))
"""The loads that [S] draws."""
HOUR_S: Final = 3_600
_HOLDS: Final = {
    ClaimHolds.yes: ("holds", "hold"),
    ClaimHolds.no: ("does not hold", "do not hold"),
    ClaimHolds.undecided: ("cannot be decided", "cannot be decided"),
}


DRAWN: Final = {
    STRICT: ("Mean miss of the strict fair start time", "Mean strict miss", 7),
    RELAXED: ("Mean miss of the relaxed fair start time", "Mean relaxed miss", 11),
    RE: ("Unfairness by resource equality", "Below an equal share", 15),
    RAQFM: ("Unfairness by RAQFM", "Below a share by RAQFM", None),
}
"""By metric: long and short title of its charts, and the number of their first figure in [S]."""


class GridResults(NamedTuple):
    """The results of one pool of one log."""

    log: str  # name of the cluster
    grid: Grid
    figures: pl.DataFrame  # ``compute.figures``
    correlations: Sequence[Correlation]
    decided: Sequence[Decided]
    seed: int
    top_width: int

    @property
    def resource(self) -> str:
        """Name of the resource that the pool counts."""
        return self.grid.part.pool.resource.value


def study(results: GridResults) -> Study:
    """Return the page of one pool of one log."""
    means = compute.means(results.figures)
    by_point = {point: means[point.name] for point in results.grid.values}
    part, decided = results.grid.part, results.decided
    widths = compute.classes(part, results.top_width)
    parts = {
        **{name: _charts(results, by_point, name, widths["width_class"]) for name in DRAWN},
        "widths": [(wording.width(label), *row) for label, *row in widths.iter_rows()],
        "figures": results.figures.select(
            "setting", "metric", "dimension_value", "value", "lower", "upper", "unit", "attempts"
        ).rows(),
        "how": [
            f"{number}. {verdict.claim}: {verdict.holds.value}. {verdict.because}."
            for number, verdict, _ in decided
        ],
        **_verdict_rows(decided),
        **_point_rows(results.grid.loads, by_point),
        "correlations": _correlation_rows(results.correlations),
    }
    return layout.study("grid", parts, _values(results))


def _values(results: GridResults) -> dict[str, object]:
    part, resamples = results.grid.part, results.grid.resamples
    counts = tally(one.verdict for one in results.decided)
    left_out = ", ".join(
        f"{wording.count(number)} {what}"
        for number, what in (
            (part.never_started, "that never started"),
            (part.open, "that were open"),
            (part.reserved, "in reservations"),
            (part.too_large, "larger than the pool"),
        )
        if number
    )
    deciding = sum(one.decides for decided in results.decided for one in decided.comparisons)
    return {
        "log": results.log,
        "attempts": wording.count(part.described.height),
        "combinations": len(results.grid.loads) * len(ORDERS) * len(BACKFILLS),
        "conclusions": len(results.decided),
        "verdicts": ", ".join(
            f"{counts[holds]} {words[counts[holds] > 1]}"
            for holds, words in _HOLDS.items()
            if counts[holds]
        ),
        "pool": part.pool.name,
        "capacity": wording.count(part.pool.capacity),
        "resource": results.resource,
        "resources": wording.resources(results.resource),
        "Resources": wording.first_upper(wording.resources(results.resource)),
        "unit": wording.resource(results.resource),
        "span": wording.duration(part.span_s),
        "left_out": f" Left out before its end: {left_out}." if left_out else "",
        "offered": wording.percent(part.offered_load),
        "load_digits": f"{part.offered_load:.6f}",
        "inexact": wording.percent(part.inexact / part.described.height),
        "loads": ", ".join(map(load_name, results.grid.loads)),
        "near": " to ".join(f"{limit:g}" for limit in claims.NEAR),
        "wide": f"{100 * claims.WIDE:.0f} %",
        "alike": f"{claims.ALIKE:g}",
        "explained": f"{100 * claims.EXPLAINED:.0f} %",
        "resamples": f"{len(resamples.weights):,}",
        "users": f"{resamples.units:,}",
        "seed": results.seed,
        "subsets": SUBSETS,
        "correlations": " | ".join(
            f"{MEASURES[name].title} <{name} number> | from <{name}_lower number> | "
            f"to <{name}_upper number>"
            for name in UNFAIRNESS
        ),
        "deciding": deciding,
    }


# --- tables --------------------------------------------------------------------------------------


def _verdict_rows(decided: Sequence[Decided]) -> dict[str, Any]:
    def by(one: Decided, metric: str) -> str | None:
        parts = [of.holds for of in one.comparisons if of.decides and of.metric == metric]
        return every(parts).value if parts else None

    compared = [
        (
            *(str(number), one.what, one.title, one.holds.value),
            *(one.estimate or (None, None, None)),
            *(one.asked.text, one.unit.removesuffix("/attempt"), one.load, one.decides),
        )
        for number, _, comparisons in decided
        for one in comparisons
    ]
    return {
        "verdicts": [
            (
                *(str(one.number), one.verdict.claim, one.verdict.holds.value),
                *(by(one, metric) for metric in claims.DECIDING),
                one.verdict.source,
            )
            for one in decided
        ],
        "comparisons": sorted(compared, key=lambda row: not row[-1]),
    }


def _point_rows(loads: Sequence[Fraction], by_point: Mapping[GridPoint, Means]) -> dict[str, Any]:
    def value(point: GridPoint, metric: str) -> float:
        return by_point[point][metric, None].value

    fcfs = [GridPoint(load, Order.fcfs, fill) for load in loads for fill in RESERVING]
    return {
        "combinations": [
            (
                *(load_name(point.load), point.order.value, point.backfill.value),
                *(value(point, metric) for metric in MEASURES),
            )
            for point in by_point
            if not point.exact
        ],
        "exact_estimates": [
            (
                load_name(own.load),
                own.backfill.value,
                *(
                    value(point, metric)
                    for metric in (STRICT, RELAXED, WAIT)
                    for point in (own, own._replace(exact=True))
                ),
            )
            for own in fcfs
        ],
    }


def _correlation_rows(correlations: Sequence[Correlation]) -> list[tuple[object, ...]]:
    by_subset: dict[str, list[object]] = {}
    for one in correlations:
        subset = "median" if one.subset is None else str(one.subset)
        by_subset.setdefault(subset, []).extend(one.estimate or (None, None, None))
    return [(subset, *figures) for subset, figures in by_subset.items()]


# --- figures 7 to 18 -----------------------------------------------------------------------------


class GridBar(NamedTuple):
    """A bar and its place; the estimate is in the unit of the chart."""

    panel: str
    group: str
    series: str
    estimate: Estimate


def _charts(
    results: GridResults, by_point: Mapping[GridPoint, Means], metric: str, widths: pl.Series
) -> tuple[Chart, Chart]:
    """Return the unfairness of each policy, and under FCFS by width class, at two loads."""

    def bar(point: GridPoint, group: str, series: str, width: str | None = None) -> GridBar:
        mean = by_point[point][metric, width]
        hours = (None if end is None else end / HOUR_S for end in mean)
        return GridBar(f"Load {load_name(point.load)}", group, series, Estimate(*hours))  # type: ignore[arg-type]

    title, short, figure = DRAWN[metric]
    resource = results.resource
    in_resource = f"{wording.resource(resource)}-hours per attempt"
    unit = in_resource if metric in (RE, RAQFM) else "Hours"
    first, second = (
        "" if figure is None else f", as [S] figs. {figure + more} and {figure + more + 1}"
        for more in (0, 2)
    )
    loads = _drawn(results.grid.loads)
    overall = [
        bar(GridPoint(load, order, fill), fill.value, order.value)
        for load in loads
        for fill in BACKFILLS
        for order in ORDERS
    ]
    by_width = [
        bar(GridPoint(load, Order.fcfs, fill), wording.width(width), fill.value, width)
        for load in loads
        for width in widths
        for fill in BACKFILLS
    ]
    return (
        _bars(
            f"{metric}_overall",
            (short, f"{title} by policy{first}"),
            f"{title} by backfilling and queue order",
            "The table of all combinations contains every value.",
            overall,
            ("Backfilling", unit),
        ),
        _bars(
            f"{metric}_widths",
            (short, f"{title} under FCFS by width{second}"),
            f"{title} under FCFS by width class and backfilling",
            "A file of this study contains every value.",
            by_width,
            (wording.first_upper(wording.resources(resource)), unit),
        ),
    )


def _drawn(loads: Sequence[Fraction]) -> list[Fraction]:
    """Return the two loads that are drawn: [S]'s, else the middle one and the highest."""
    if set(MEDIUM_AND_HIGH) <= set(loads):
        return list(MEDIUM_AND_HIGH)
    ascending = sorted(loads)
    return sorted({ascending[(len(ascending) - 1) // 2], ascending[-1]})


def _bars(
    key: str,
    titles: tuple[str, str],
    what: str,
    where: str,
    shown: Sequence[GridBar],
    axes: tuple[str, str],
) -> Chart:
    """Return grouped bars with 95 % intervals, a panel for each load, on one scale.

    ``titles`` name the metric and the chart, ``what`` and ``where`` describe the chart and the
    place of its values, ``axes`` are the titles of the axes.
    """
    panels = list(dict.fromkeys(bar.panel for bar in shown))
    groups = list(dict.fromkeys(bar.group for bar in shown))
    series = list(dict.fromkeys(bar.series for bar in shown))
    x, unit = axes
    drawn = [
        marks.Bar(
            panels.index(panel),
            groups.index(group),
            series.index(of),
            *estimate,
            f"{panel}, {group}, {of}: {wording.number(estimate.value)}",
        )
        for panel, group, of, estimate in shown
    ]
    ends = [end for bar in shown for end in bar.estimate if end is not None]
    y = scales.linear(ends, scales.plain, title=unit)
    looks = marks.Columns(
        tuple(groups), several(series, "block"), y, tuple(panels), height=150, title=x
    )
    body, height = marks.columns(drawn, looks)
    at = " and ".join(panel.lower() for panel in panels)
    top = max(shown, key=lambda bar: bar.estimate.value)
    most = (
        f"The maximum is {wording.number(top.estimate.value)} ({unit.lower()}): {top.group}, "
        f"{top.series}, {top.panel.lower()}."
    )
    alt = f"Grouped bar chart. {what} at {at}. {most} {where}"
    note = f"{titles[1]}. Lines: 95 % intervals."
    return Chart(key, _title(titles[0], shown, unit), alt, body, height, note)


def _title(what: str, shown: Sequence[GridBar], unit: str) -> str:
    """Return a title that names the least and the most in the last panel."""

    def say(value: float) -> str:
        if unit == "Hours":
            return wording.rough_duration(value * HOUR_S)
        return f"{wording.number(value)} {unit.partition(' ')[0]}"

    last = shown[-1].panel
    at = {f"{bar.group}, {bar.series}": bar.estimate.value for bar in shown if bar.panel == last}
    return f"{what} at {last.lower()}: {ends(at, say)}"
