"""The page of the policy grid after [S]: what is decided, its figures 7 to 18, Tables 1 and 2."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

import polars as pl

from audit.model import Order
from audit.report.charts.style import Chart
from audit.report.text import wording
from audit.studies.grid import claims as grid_claims
from audit.studies.grid.charts import Axes, Bar, bars
from audit.studies.grid.claims import Decided
from audit.studies.grid.compute import (
    BACKFILLS,
    METRICS,
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
    Point,
    classes,
    load_name,
)
from audit.studies.page import Cell, Column, Columns, Section, Study, Table
from audit.studies.verdicts import Holds, every

SOURCE: Final = (
    "[S] G. Sabin, P. Sadayappan, Unfairness Metrics for Space-Sharing Parallel Job Schedulers."
)

MEDIUM_AND_HIGH: Final = (Fraction("0.80"), Fraction("0.95"))
"""The loads that [S] draws."""


class Found(NamedTuple):
    """All that the page tells of."""

    log: str
    """Name of the cluster."""
    grid: Grid
    figures: pl.DataFrame
    """``grid.figures``."""
    correlations: Sequence[Correlation]
    decided: Sequence[Decided]
    seed: int
    top_width: int


_HOUR_S: Final = 3_600

_Value = tuple[float | None, float | None, float | None]
_Lookup = Mapping[tuple[str, str, str | None], _Value]
"""Value, lower and upper by setting, metric and width class (None: all)."""


def study(of: Found) -> Study:
    """The page of one pool of one log."""
    looked = _lookup(of.figures)
    return Study(
        key="grid",
        title=f"Policies and their unfairness: {of.log}",
        lead=_lead(of),
        sections=(
            Section("What [S] concludes, and what this log says", (_DECIDED, _verdicts(of))),
            Section("The part", (*_about(of), _widths(of))),
            Section("Fair start times, strict", (_STRICT, *_charts(of, looked, STRICT, 7))),
            Section("Fair start times, relaxed", (_RELAXED, *_charts(of, looked, RELAXED, 11))),
            Section("Resource equality", (_RE, *_charts(of, looked, RE, 15))),
            Section("Resource equality of jobs", (_RAQFM, *_charts(of, looked, RAQFM, None))),
            Section(
                "All combinations",
                (_COMBINATIONS, _combinations(of, looked), _all_figures(of.figures)),
            ),
            Section("Exact estimates", (_EXACT, _exact(of, looked))),
            Section("Subsets", (_SUBSETS, _correlations(of))),
            Section("How it was decided", (*_how(of), _comparisons(of))),
        ),
        settings=_settings(of),
        sources=(SOURCE,),
    )


def _lead(of: Found) -> str:
    held: dict[Holds, list[str]] = {holds: [] for holds in Holds}
    for one in of.decided:
        held[one.verdict.holds].append(str(one.number))
    said = [
        f"{len(held[holds])} {word}"
        for holds, word in (
            (Holds.yes, "hold"),
            (Holds.no, "do not hold"),
            (Holds.undecided, "cannot be decided"),
        )
        if held[holds]
    ]
    attempts = wording.count(of.grid.part.described.height)
    combinations = len(of.grid.loads) * len(ORDERS) * len(BACKFILLS)
    return (
        f"{attempts} attempts of {of.log} under {combinations} combinations of load, queue order "
        f"and backfilling. Of the {len(of.decided)} conclusions of [S], {', '.join(said)} here."
    )


_DECIDED: Final = (
    "Each conclusion is decided by comparisons over all loads: of the mean unfairness of the same "
    "attempts under two groups of policies, with a 95 % interval that a bootstrap of users gives. "
    "It holds where every deciding interval lies where the claim needs it, does not where one lies "
    "wholly outside, and is undecided otherwise. All comparisons are at the end of this page."
)


def _verdicts(of: Found) -> Table:
    return Table(
        "verdicts",
        "The conclusions of [S] on this log",
        (
            Column("No.", "number", "text"),
            Column("Conclusion", "claim", "text"),
            Column("Holds here", "holds", "text"),
            *(Column(f"By {grid_claims.TITLES[name]}", name, "text") for name in _JUDGED),
            Column("In", "source", "text"),
        ),
        tuple(
            (
                str(one.number),
                one.verdict.claim,
                one.verdict.holds.value,
                *(_by(one, metric) for metric in _JUDGED),
                one.verdict.source,
            )
            for one in of.decided
        ),
        note="By a metric: what the comparisons by it alone would decide.",
    )


_JUDGED: Final = grid_claims.DECIDING


def _by(one: Decided, metric: str) -> str | None:
    """What the comparisons by one metric come to; None: there is none."""
    held = [found.holds for found in one.comparisons if found.decides and found.metric == metric]
    return every(held).value if held else None


def _about(of: Found) -> list[str]:
    part = of.grid.part
    count = wording.count(part.described.height)
    left_out = [
        f"{wording.count(number)} {what}"
        for number, what in (
            (part.never_started, "that never started"),
            (part.open, "that were open"),
            (part.reserved, "in reservations"),
            (part.too_large, "larger than the pool"),
        )
        if number
    ]
    without = f" Left out before its end: {', '.join(left_out)}." if left_out else ""
    inexact = part.inexact / part.described.height
    return [
        f"The part is the first {count} attempts that started, in the order of their arrival, over "
        f"{wording.duration(part.span_s)}; the pool has {wording.count(part.pool.capacity)} "
        f"{wording.resources(part.pool.resource.value)}.{without} It offers a load of "
        f"{wording.percent(part.offered_load)}. Other loads are reached as in [S §4]: run times "
        "and walltimes are multiplied, arrivals stay.",
        f"{wording.percent(inexact)} of the attempts have an estimate longer than they ran. Only "
        "these can surprise a scheduler that plans.",
    ]


def _widths(of: Found) -> Table:
    return Table(
        "widths",
        "Attempts by width ([S] Table 1)",
        (
            Column(wording.first_upper(wording.resources(_resource(of))), "width_class", "text"),
            Column("Attempts", "attempts", "count"),
            Column("Share of what is occupied", "area", "percent"),
        ),
        tuple(
            (wording.width(label), attempts, area)
            for label, attempts, area in classes(of.grid.part, of.top_width).iter_rows()
        ),
    )


_STRICT: Final = (
    "By how much attempts started later than they would have, had nobody arrived after them. An "
    "attempt may itself have overtaken others in that comparison."
)
_RELAXED: Final = (
    "The same, where the attempt may start only when all that arrived before it have: it is not "
    "counted as unfair that it could not overtake."
)
_RE: Final = (
    "How much less attempts were given than the share that their size deserves of what was in use "
    "while they were there. This knows nothing of the order of arrival."
)
_RAQFM: Final = (
    "The same with an equal share for each job whatever its size, as RAQFM has it. [S] does not "
    "measure it; it decides nothing here."
)


def _charts(of: Found, looked: _Lookup, metric: str, number: int | None) -> tuple[Chart, Chart]:
    """The unfairness of each policy, and under FCFS by width class; at two loads."""
    loads = _drawn(of.grid.loads)
    panels = [f"Load {load_name(load)}" for load in loads]
    orders = [order.value for order in ORDERS]
    fills = [fill.value for fill in BACKFILLS]
    y = _axis(metric, of)
    overall = [
        _bar(looked, panel, Point(load, order, fill), metric, None, fill.value, order.value)
        for panel, load in zip(panels, loads, strict=True)
        for fill in BACKFILLS
        for order in ORDERS
    ]
    labels = classes(of.grid.part, of.top_width)["width_class"].to_list()
    by_width = [
        _bar(
            looked,
            panel,
            Point(load, Order.fcfs, fill),
            metric,
            label,
            wording.width(label),
            fill.value,
        )
        for panel, load in zip(panels, loads, strict=True)
        for label in labels
        for fill in BACKFILLS
    ]
    named = _TITLES[metric]
    figures = "" if number is None else f", as [S] figs. {number} and {number + 1}"
    widths = "" if number is None else f", as [S] figs. {number + 2} and {number + 3}"
    resource = wording.first_upper(wording.resources(_resource(of)))
    return (
        bars(
            f"{metric}_overall",
            f"{named} by policy{figures}",
            f"Grouped bar chart. {named} by backfilling and queue order at "
            f"{_listed(panels)}. {_most(overall, y)} The table of all combinations holds every "
            "value.",
            overall,
            Axes("Backfilling", y, fills, orders, panels),
        ),
        bars(
            f"{metric}_widths",
            f"{named} under FCFS by width{widths}",
            f"Grouped bar chart. {named} under FCFS by width class and backfilling at "
            f"{_listed(panels)}. {_most(by_width, y)} A file of this study holds every value.",
            by_width,
            Axes(resource, y, [wording.width(label) for label in labels], fills, panels),
        ),
    )


_TITLES: Final[Mapping[str, str]] = {
    STRICT: "Mean miss of the strict fair start time",
    RELAXED: "Mean miss of the relaxed fair start time",
    RE: "Unfairness by resource equality",
    RAQFM: "Unfairness by RAQFM",
}


def _bar(
    looked: _Lookup,
    panel: str,
    point: Point,
    metric: str,
    label: str | None,
    group: str,
    of_series: str,
) -> Bar:
    found = looked[point.name, METRICS[metric], label]
    value, lower, upper = (None if x is None else x / _HOUR_S for x in found)
    return Bar(panel, group, of_series, value or 0.0, lower, upper)


def _axis(metric: str, of: Found) -> str:
    """What the axis of a metric says."""
    return (
        f"{wording.resource(_resource(of))}-hours per attempt" if metric in (RE, RAQFM) else "Hours"
    )


def _resource(of: Found) -> str:
    return of.grid.part.pool.resource.value


def _most(shown: Sequence[Bar], unit: str) -> str:
    top = max(shown, key=lambda bar: bar.value)
    amount = wording.number(top.value)
    return f"The most is {amount} ({unit.lower()}): {top.group}, {top.series}, {top.panel.lower()}."


def _listed(panels: Sequence[str]) -> str:
    return " and ".join(panel.lower() for panel in panels)


def _drawn(loads: Sequence[Fraction]) -> list[Fraction]:
    """The two loads that are drawn: [S]'s, else the middle one and the highest."""
    if set(MEDIUM_AND_HIGH) <= set(loads):
        return list(MEDIUM_AND_HIGH)
    ascending = sorted(loads)
    return sorted({ascending[(len(ascending) - 1) // 2], ascending[-1]})


_COMBINATIONS: Final = (
    "Unfairness says nothing of speed: a policy may be fair and slow. So the mean wait stands "
    "beside it. What is fair under a policy is judged by that policy's own fair start times."
)


def _combinations(of: Found, looked: _Lookup) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            load_name(point.load),
            point.order.value,
            point.backfill.value,
            *(looked[point.name, METRICS[metric], None][0] for metric in (*UNFAIRNESS, WAIT)),
        )
        for point in of.grid.values
        if not point.exact
    ]
    unit = f"{wording.resource(_resource(of))}·s"
    return Table(
        "combinations",
        "Mean unfairness and wait of an attempt under each combination",
        (
            Column("Load", "load", "text"),
            Column("Order", "order", "text"),
            Column("Backfilling", "backfill", "text"),
            Column("Miss, strict", "miss_strict_s", "duration"),
            Column("Miss, relaxed", "miss_relaxed_s", "duration"),
            Column(f"Resource equality, {unit}", "re_unfairness", "count"),
            Column(f"RAQFM, {unit}", "raqfm_unfairness", "count"),
            Column("Wait", "wait_s", "duration"),
        ),
        tuple(rows),
        shown=len(rows),
    )


def _all_figures(figures: pl.DataFrame) -> Table:
    """Every figure with its interval; in a file only."""
    columns: Columns[pl.DataFrame] = (
        Column("Setting", "setting", "text"),
        Column("Metric", "metric", "text"),
        Column("Width class", "dimension_value", "text"),
        Column("Value", "value"),
        Column("From", "lower"),
        Column("To", "upper"),
        Column("Unit", "unit", "text"),
        Column("Attempts", "attempts", "count"),
    )
    return Table(
        "figures",
        "Every figure with its interval, by width class too",
        columns,
        tuple(figures.select([column.name for column in columns]).rows()),
        shown=0,
    )


_EXACT: Final = (
    "FCFS once more with estimates that are exact. What is left of the unfairness does not come "
    "from estimates. Backfilling without guarantee knows no estimates, so it has no such run."
)


def _exact(of: Found, looked: _Lookup) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for load in of.grid.loads:
        for fill in RESERVING:
            own, exact = (Point(load, Order.fcfs, fill, known) for known in (False, True))
            rows.append(
                (
                    load_name(load),
                    fill.value,
                    *(
                        looked[point.name, METRICS[metric], None][0]
                        for metric in (STRICT, RELAXED, WAIT)
                        for point in (own, exact)
                    ),
                )
            )
    titles = ("Strict miss", "Relaxed miss", "Wait")
    names = ("miss_strict_s", "miss_relaxed_s", "wait_s")
    return Table(
        "exact_estimates",
        "FCFS with the log's own estimates, and with exact ones",
        (
            Column("Load", "load", "text"),
            Column("Backfilling", "backfill", "text"),
            *(
                Column(f"{title}, {word}", f"{name}_{word}", "duration")
                for title, name in zip(titles, names, strict=True)
                for word in ("own", "exact")
            ),
        ),
        tuple(rows),
    )


_SUBSETS: Final = (
    f"Attempts are dealt into {SUBSETS} subsets in the order of their arrival. Each ranks all "
    "combinations by its own mean unfairness; Spearman's correlation compares that ranking with "
    "the one by all attempts."
)


def _correlations(of: Found) -> Table:
    by_subset: dict[int | None, dict[str, Correlation]] = {}
    for one in of.correlations:
        by_subset.setdefault(one.subset, {})[one.metric] = one
    rows: list[tuple[Cell, ...]] = []
    for subset, found in by_subset.items():
        row: list[Cell] = ["median" if subset is None else str(subset)]
        for metric in UNFAIRNESS:
            estimate = found[metric].estimate
            row += [None] * 3 if estimate is None else list(estimate)
        rows.append(tuple(row))
    return Table(
        "correlations",
        "Spearman's correlation between subsets and the whole ([S] Table 2)",
        (
            Column("Subset", "subset", "text"),
            *(
                Column(title, name)
                for metric in UNFAIRNESS
                for title, name in (
                    (grid_claims.TITLES[metric], metric),
                    ("from", f"{metric}_lower"),
                    ("to", f"{metric}_upper"),
                )
            ),
        ),
        tuple(rows),
        note="From and to: 95 % intervals, users drawn for a subset and the whole alike. A "
        "resample holds fewer different users than the log, so its rankings are noisier: the "
        "intervals reach low rather than high.",
    )


def _how(of: Found) -> list[str]:
    return [
        f"{one.number}. {one.verdict.claim}: {one.verdict.holds.value}. {one.verdict.because}."
        for one in of.decided
    ]


def _comparisons(of: Found) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for decided in of.decided:
        for one in decided.comparisons:
            found = one.estimate
            figures = (None, None, None) if found is None else tuple(found)
            rows.append(
                (
                    str(one.claim),
                    one.what,
                    grid_claims.TITLES.get(one.metric, one.metric),
                    one.holds.value,
                    *figures,
                    one.asked,
                    one.unit.removesuffix("/attempt"),
                    one.load,
                    one.decides,
                )
            )
    return Table(
        "comparisons",
        "All comparisons",
        (
            Column("No.", "claim", "text"),
            Column("Compared", "compared", "text"),
            Column("By", "metric", "text"),
            Column("Holds", "holds", "text"),
            Column("Value", "value"),
            Column("From", "lower"),
            Column("To", "upper"),
            Column("Asked", "asked", "text"),
            Column("Unit", "unit", "text"),
            Column("Load", "load", "text"),
            Column("Decides", "decides", "yes_no"),
        ),
        tuple(sorted(rows, key=lambda row: not row[-1])),
        note="Those that decide stand first; at single loads nothing is decided.",
        shown=sum(bool(row[-1]) for row in rows),
    )


def _settings(of: Found) -> tuple[tuple[str, str], ...]:
    part, resamples = of.grid.part, of.grid.resamples
    near = " to ".join(f"{limit:g}" for limit in grid_claims.NEAR)
    return (
        ("Log", of.log),
        ("Pool", f"{part.pool.name}, {part.pool.capacity:,} {_resource(of)}"),
        ("Attempts", f"{part.described.height:,}"),
        ("Offered load of the part", f"{part.offered_load:.6f}"),
        ("Loads", ", ".join(load_name(load) for load in of.grid.loads)),
        ("About as unfair", f"a ratio of {near}"),
        ("Wide", f"more than {grid_claims.WIDE:.0%} of the pool"),
        ("High correlation", f"at least {grid_claims.ALIKE:g}"),
        ("Comes from", f"at most {grid_claims.EXPLAINED:.0%} is left without"),
        ("Resamples of users", f"{len(resamples.weights):,} of {resamples.units:,}"),
        ("Seed", str(of.seed)),
    )


def _lookup(figures: pl.DataFrame) -> _Lookup:
    names = ("setting", "metric", "dimension_value", "value", "lower", "upper")
    return {
        (setting, metric, label): (value, lower, upper)
        for setting, metric, label, value, lower, upper in figures.select(names).iter_rows()
    }
