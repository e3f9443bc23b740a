"""The page of the policy grid after [S]: what is decided, its figures 7 to 18, Tables 1 and 2."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

import polars as pl

from audit.metrics.verdicts import Estimate, Holds, every, tally
from audit.model import Order
from audit.report.charts.style import Chart
from audit.report.study.page import Column, Columns, Kind, Section, Study, Table, interval, table
from audit.report.text import wording
from audit.studies.grid import claims, compute
from audit.studies.grid.charts import HOUR_S, Bar, bars
from audit.studies.grid.claims import Comparison, Decided
from audit.studies.grid.compute import (
    BACKFILLS,
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
    Means,
    Point,
    load_name,
)

SOURCE: Final = (
    "[S] G. Sabin, P. Sadayappan, Unfairness Metrics for Space-Sharing Parallel Job Schedulers."
)

MEDIUM_AND_HIGH: Final = (Fraction("0.80"), Fraction("0.95"))
"""The loads that [S] draws."""


class Results(NamedTuple):
    """What the page shows of one pool of one log."""

    log: str
    """Name of the cluster."""
    grid: Grid
    figures: pl.DataFrame
    """``compute.figures``."""
    correlations: Sequence[Correlation]
    decided: Sequence[Decided]
    seed: int
    top_width: int

    @property
    def resource(self) -> str:
        """Name of the resource that the pool counts."""
        return self.grid.part.pool.resource.value


def study(results: Results) -> Study:
    """The page of one pool of one log."""
    means = compute.means(results.figures)
    by_point = {point: means[point.name] for point in results.grid.values}
    drawn = (
        ("Fair start times, strict", _STRICT, STRICT, 7),
        ("Fair start times, relaxed", _RELAXED, RELAXED, 11),
        ("Resource equality", _RE, RE, 15),
        ("Resource equality of jobs", _RAQFM, RAQFM, None),
    )
    return Study(
        key="grid",
        title=f"Policies and their unfairness: {results.log}",
        lead=_lead(results),
        sections=(
            Section(
                "What [S] concludes, and what this log says", (_DECIDED, _verdicts(results.decided))
            ),
            Section("The part", (*_about(results), _widths(results))),
            *(
                Section(title, (text, *_charts(results, by_point, metric, number)))
                for title, text, metric, number in drawn
            ),
            Section(
                "All combinations",
                (_COMBINATIONS, _combinations(results, by_point), _all_figures(results.figures)),
            ),
            Section("Exact estimates", (_EXACT, _exact(results.grid.loads, by_point))),
            Section("Subsets", (_SUBSETS, _correlations(results.correlations))),
            Section("How it was decided", (*_how(results.decided), _comparisons(results.decided))),
        ),
        settings=_settings(results),
        sources=(SOURCE,),
    )


def _lead(results: Results) -> str:
    counts = tally(one.verdict for one in results.decided)
    words = {
        Holds.yes: "hold",
        Holds.no: "do not hold",
        Holds.undecided: "cannot be decided",
    }
    verdicts = ", ".join(
        f"{counts[holds]} {word}" for holds, word in words.items() if counts[holds]
    )
    attempts = wording.count(results.grid.part.described.height)
    number = len(results.grid.loads) * len(ORDERS) * len(BACKFILLS)
    return (
        f"{attempts} attempts of {results.log} under {number} combinations of load, queue order "
        f"and backfilling. Of the {len(results.decided)} conclusions of [S], {verdicts} here."
    )


# --- what is decided -----------------------------------------------------------------------------

_DECIDED: Final = (
    "Each conclusion is decided by comparisons over all loads: of the mean unfairness of the same "
    "attempts under two groups of policies, with a 95 % interval that a bootstrap of users gives. "
    "It holds where every deciding interval lies where the claim needs it, does not where one lies "
    "wholly outside, and is undecided otherwise. All comparisons are at the end of this page."
)


def _by(metric: str) -> Column[Decided]:
    """What the comparisons by one metric come to; empty where there is none."""

    def holds(one: Decided) -> str | None:
        parts = [
            compared.holds
            for compared in one.comparisons
            if compared.decides and compared.metric == metric
        ]
        return every(parts).value if parts else None

    return Column(f"By {claims.TITLES[metric]}", metric, "text", holds)


_VERDICT: Final[Columns[Decided]] = (
    Column("No.", "number", "text", lambda one: str(one.number)),
    Column("Conclusion", "claim", "text", lambda one: one.verdict.claim),
    Column("Holds here", "holds", "text", lambda one: one.verdict.holds.value),
    *map(_by, claims.DECIDING),
    Column("In", "source", "text", lambda one: one.verdict.source),
)


def _verdicts(decided: Sequence[Decided]) -> Table:
    return table(
        "verdicts",
        "The conclusions of [S] on this log",
        _VERDICT,
        decided,
        note="By a metric: what the comparisons by it alone would decide.",
    )


def _how(decided: Sequence[Decided]) -> list[str]:
    return [
        f"{number}. {verdict.claim}: {verdict.holds.value}. {verdict.because}."
        for number, verdict, _ in decided
    ]


_COMPARISON: Final[Columns[Comparison]] = (
    Column("No.", "claim", "text", lambda one: str(one.claim)),
    Column("Compared", "compared", "text", lambda one: one.what),
    Column("By", "metric", "text", lambda one: claims.TITLES.get(one.metric, one.metric)),
    Column("Holds", "holds", "text", lambda one: one.holds.value),
    *interval(lambda one: one.estimate),
    Column("Asked", "asked", "text", lambda one: one.asked.text),
    Column("Unit", "unit", "text", lambda one: one.unit.removesuffix("/attempt")),
    Column("Load", "load", "text"),
    Column("Decides", "decides", "yes_no"),
)


def _comparisons(decided: Sequence[Decided]) -> Table:
    compared = [comparison for one in decided for comparison in one.comparisons]
    return table(
        "comparisons",
        "All comparisons",
        _COMPARISON,
        sorted(compared, key=lambda one: not one.decides),
        note="Those that decide stand first; at single loads nothing is decided.",
        shown=sum(one.decides for one in compared),
    )


# --- the part ------------------------------------------------------------------------------------


def _about(results: Results) -> list[str]:
    part = results.grid.part
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
        f"{wording.resources(results.resource)}.{without} It offers a load of "
        f"{wording.percent(part.offered_load)}. Other loads are reached as in [S §4]: run times "
        "and walltimes are multiplied, arrivals stay.",
        f"{wording.percent(inexact)} of the attempts have an estimate longer than they ran. Only "
        "these can surprise a scheduler that plans.",
    ]


def _widths(results: Results) -> Table:
    resources = wording.first_upper(wording.resources(results.resource))
    columns: Columns[Mapping[str, Any]] = (
        Column(resources, "width_class", "text", lambda row: wording.width(row["width_class"])),
        Column("Attempts", "attempts", "count"),
        Column("Share of what is occupied", "area", "percent"),
    )
    rows = compute.classes(results.grid.part, results.top_width).iter_rows(named=True)
    return table("widths", "Attempts by width ([S] Table 1)", columns, rows)


# --- figures 7 to 18 -----------------------------------------------------------------------------

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
_TITLES: Final[Mapping[str, str]] = {
    STRICT: "Mean miss of the strict fair start time",
    RELAXED: "Mean miss of the relaxed fair start time",
    RE: "Unfairness by resource equality",
    RAQFM: "Unfairness by RAQFM",
}
_SHORT: Final[Mapping[str, str]] = {
    STRICT: "Mean strict miss",
    RELAXED: "Mean relaxed miss",
    RE: "Short of an equal share",
    RAQFM: "Short of a share by RAQFM",
}


def _charts(
    results: Results, by_point: Mapping[Point, Means], metric: str, number: int | None
) -> tuple[Chart, Chart]:
    """The unfairness of each policy, and under FCFS by width class; at two loads."""
    panels = {f"Load {load_name(load)}": load for load in _drawn(results.grid.loads)}
    widths = compute.classes(results.grid.part, results.top_width)["width_class"].to_list()
    overall = [
        Bar(panel, fill.value, order.value, _hours(by_point[Point(load, order, fill)], metric))
        for panel, load in panels.items()
        for fill in BACKFILLS
        for order in ORDERS
    ]
    by_width = [
        Bar(
            panel,
            wording.width(width),
            fill.value,
            _hours(by_point[Point(load, Order.fcfs, fill)], metric, width),
        )
        for panel, load in panels.items()
        for width in widths
        for fill in BACKFILLS
    ]
    unit = _axis(metric, results.resource)
    resource = wording.first_upper(wording.resources(results.resource))
    figures = "" if number is None else f", as [S] figs. {number} and {number + 1}"
    of_widths = "" if number is None else f", as [S] figs. {number + 2} and {number + 3}"
    return (
        bars(
            f"{metric}_overall",
            (_SHORT[metric], f"{_TITLES[metric]} by policy{figures}"),
            f"{_TITLES[metric]} by backfilling and queue order",
            "The table of all combinations holds every value.",
            overall,
            ("Backfilling", unit),
        ),
        bars(
            f"{metric}_widths",
            (_SHORT[metric], f"{_TITLES[metric]} under FCFS by width{of_widths}"),
            f"{_TITLES[metric]} under FCFS by width class and backfilling",
            "A file of this study holds every value.",
            by_width,
            (resource, unit),
        ),
    )


def _hours(means: Means, metric: str, width_class: str | None = None) -> Estimate:
    """A mean in hours, or in resource-hours."""
    ends = means[metric, width_class]
    return Estimate(*(None if end is None else end / HOUR_S for end in ends))  # type: ignore[arg-type]


def _axis(metric: str, resource: str) -> str:
    """What the axis of a metric says."""
    in_resource = f"{wording.resource(resource)}-hours per attempt"
    return in_resource if metric in (RE, RAQFM) else "Hours"


def _drawn(loads: Sequence[Fraction]) -> list[Fraction]:
    """The two loads that are drawn: [S]'s, else the middle one and the highest."""
    if set(MEDIUM_AND_HIGH) <= set(loads):
        return list(MEDIUM_AND_HIGH)
    ascending = sorted(loads)
    return sorted({ascending[(len(ascending) - 1) // 2], ascending[-1]})


# --- all combinations ----------------------------------------------------------------------------

_COMBINATIONS: Final = (
    "Unfairness says nothing of speed: a policy may be fair and slow. So the mean wait stands "
    "beside it. What is fair under a policy is judged by that policy's own fair start times."
)


_PointMeans = tuple[Point, Means]


def _mean(title: str, name: str, kind: Kind, metric: str) -> Column[_PointMeans]:
    return Column(title, name, kind, lambda row: row[1][metric, None].value)


_LOAD: Final[Column[_PointMeans]] = Column(
    "Load", "load", "text", lambda row: load_name(row[0].load)
)
_BACKFILL: Final[Column[_PointMeans]] = Column(
    "Backfilling", "backfill", "text", lambda row: row[0].backfill.value
)


def _combinations(results: Results, by_point: Mapping[Point, Means]) -> Table:
    unit = f"{wording.resource(results.resource)}·s"
    columns: Columns[_PointMeans] = (
        _LOAD,
        Column("Order", "order", "text", lambda row: row[0].order.value),
        _BACKFILL,
        _mean("Miss, strict", "miss_strict_s", "duration", STRICT),
        _mean("Miss, relaxed", "miss_relaxed_s", "duration", RELAXED),
        _mean(f"Resource equality, {unit}", "re_unfairness", "count", RE),
        _mean(f"RAQFM, {unit}", "raqfm_unfairness", "count", RAQFM),
        _mean("Wait", "wait_s", "duration", WAIT),
    )
    rows = [(point, means) for point, means in by_point.items() if not point.exact]
    caption = "Mean unfairness and wait of an attempt under each combination"
    return table("combinations", caption, columns, rows, shown=len(rows))


_FIGURE: Final[Columns[Mapping[str, Any]]] = (
    Column("Setting", "setting", "text"),
    Column("Metric", "metric", "text"),
    Column("Width class", "dimension_value", "text"),
    Column("Value", "value"),
    Column("From", "lower"),
    Column("To", "upper"),
    Column("Unit", "unit", "text"),
    Column("Attempts", "attempts", "count"),
)


def _all_figures(figures: pl.DataFrame) -> Table:
    """Every figure with its interval; in a file only."""
    caption = "Every figure with its interval, by width class too"
    return table("figures", caption, _FIGURE, figures.iter_rows(named=True), shown=0)


_EXACT: Final = (
    "FCFS once more with estimates that are exact. What is left of the unfairness does not come "
    "from estimates. Backfilling without guarantee knows no estimates, so it has no such run."
)


def _exact(loads: Sequence[Fraction], by_point: Mapping[Point, Means]) -> Table:
    def means(title: str, name: str, metric: str) -> Columns[_PointMeans]:
        def exact(row: _PointMeans) -> float:
            return by_point[row[0]._replace(exact=True)][metric, None].value

        own = _mean(f"{title}, own", f"{name}_own", "duration", metric)
        return own, Column(f"{title}, exact", f"{name}_exact", "duration", exact)

    columns = (
        _LOAD,
        _BACKFILL,
        *means("Strict miss", "miss_strict_s", STRICT),
        *means("Relaxed miss", "miss_relaxed_s", RELAXED),
        *means("Wait", "wait_s", WAIT),
    )
    own = [Point(load, Order.fcfs, fill) for load in loads for fill in RESERVING]
    caption = "FCFS with the log's own estimates, and with exact ones"
    return table("exact_estimates", caption, columns, [(point, by_point[point]) for point in own])


# --- subsets -------------------------------------------------------------------------------------

_SUBSETS: Final = (
    f"Attempts are dealt into {SUBSETS} subsets in the order of their arrival. Each ranks all "
    "combinations by its own mean unfairness; Spearman's correlation compares that ranking with "
    "the one by all attempts."
)


def _correlation(metric: str) -> Columns[Mapping[str, Correlation]]:
    return interval(
        lambda row: row[metric].estimate,
        Column(claims.TITLES[metric], metric),
        Column("from", f"{metric}_lower"),
        Column("to", f"{metric}_upper"),
    )


def _subset(by_metric: Mapping[str, Correlation]) -> str:
    subset = by_metric[STRICT].subset
    return "median" if subset is None else str(subset)


_SUBSET: Final[Columns[Mapping[str, Correlation]]] = (
    Column("Subset", "subset", "text", _subset),
    *(column for metric in UNFAIRNESS for column in _correlation(metric)),
)


def _correlations(correlations: Sequence[Correlation]) -> Table:
    by_subset: dict[int | None, dict[str, Correlation]] = {}
    for one in correlations:
        by_subset.setdefault(one.subset, {})[one.metric] = one
    return table(
        "correlations",
        "Spearman's correlation between subsets and the whole ([S] Table 2)",
        _SUBSET,
        by_subset.values(),
        note="From and to: 95 % intervals, users drawn for a subset and the whole alike. A "
        "resample holds fewer different users than the log, so its rankings are noisier: the "
        "intervals reach low rather than high.",
    )


# --- settings ------------------------------------------------------------------------------------


def _settings(results: Results) -> tuple[tuple[str, str], ...]:
    part, resamples = results.grid.part, results.grid.resamples
    near = " to ".join(f"{limit:g}" for limit in claims.NEAR)
    return (
        ("Log", results.log),
        ("Pool", f"{part.pool.name}, {part.pool.capacity:,} {results.resource}"),
        ("Attempts", f"{part.described.height:,}"),
        ("Offered load of the part", f"{part.offered_load:.6f}"),
        ("Loads", ", ".join(load_name(load) for load in results.grid.loads)),
        ("About as unfair", f"a ratio of {near}"),
        ("Wide", f"more than {claims.WIDE:.0%} of the pool"),
        ("High correlation", f"at least {claims.ALIKE:g}"),
        ("Comes from", f"at most {claims.EXPLAINED:.0%} is left without"),
        ("Resamples of users", f"{len(resamples.weights):,} of {resamples.units:,}"),
        ("Seed", str(results.seed)),
    )
