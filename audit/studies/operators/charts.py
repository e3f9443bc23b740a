"""Charts of the study of priority operators: densities, profiles and job sizes."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Final

import polars as pl

from audit.metrics.fairshare.operators import OPERATORS
from audit.report.charts.marks import frame, scales
from audit.report.charts.marks.frame import Box
from audit.report.charts.marks.svg import Canvas
from audit.report.charts.style import EARLIER, LATER, Chart
from audit.report.study.charts import Layout, Value, heat_map
from audit.report.text import wording
from audit.studies.operators.compute import resolution
from audit.studies.operators.compute.resolution import TARGETS, Profile

BITS: Final = 3
"""Resolution of the charts of densities, as in [R]."""
DRAWN: Final = (0.1, 0.5)
"""Targets that [R] draws."""
COLOURED_HOURS: Final = 10_000
"""End of the colour scale of [R] figs. 14 to 16."""

AREA_NAMES: Final[Mapping[str, str]] = {
    "balance": "around balance",
    "over": "over target",
    "under": "under target",
    "overall": "overall",
}
VERSIONS: Final = {True: "as published", False: "corrected"}
_FIGURES: Final = {"balance": 14, "under": 15, "over": 16}

_ABREAST: Final = 4
_HEIGHT: Final = 110
_PART: Final = scales.Axis(0, 1, ((0, "0"), (1, "1")))
_PRIORITY: Final = scales.Axis(-1, 1, ((-1, "−1"), (0, "0"), (1, "1")))


def versioned(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with the column ``version``, for readers, instead of ``as_published``."""
    version = pl.col("as_published").replace_strict(VERSIONS, return_dtype=pl.String)
    return rows.with_columns(version=version).drop("as_published")


# --- densities -----------------------------------------------------------------------------------


def input_density() -> Chart:
    """Return the input densities as published and corrected."""
    densities = versioned(resolution.input_densities(BITS))
    layout = Layout(
        list(VERSIONS.values()),
        OPERATORS,
        "Number (from −1 to 1)",
        "Part of all pairs of target and state",
    )
    return _density_map(
        "input_density",
        f"Input density at {BITS} bits, as [R] fig. 8",
        "Heat maps. {} The table below holds every value.",
        densities.with_columns(panel="version", row="operator", where="version"),
        layout,
    )


def local_densities() -> list[Chart]:
    """Return profiles at two targets, and local densities at these and at all targets."""
    drawn = _local(product(DRAWN, VERSIONS)).with_columns(
        panel=pl.format("target {}, {}", "target_name", "version"), row="operator"
    )
    targets = [*TARGETS, 1.0]
    of_all = _local((target, False) for target in targets)
    return [
        *map(_profile, DRAWN),
        _density_map(
            "local_density",
            f"Local density at {BITS} bits (grey: no state has it), as [R] figs. 12 and 13",
            "Heat maps. {} The file of local densities holds every value.",
            drawn.with_columns(where="panel"),
            Layout(
                drawn["panel"].unique(maintain_order=True).to_list(),
                OPERATORS,
                "Number (from −1 to 1)",
                "Length of states that share the number",
            ),
        ),
        _density_map(
            "targets",
            f"Local density of each target at {BITS} bits, as [R] fig. 9",
            "Heat maps, one for each operator, targets from 0 to 1. {} The file of local densities "
            "holds every value.",
            of_all.with_columns(panel="operator", row="target_name", where="version"),
            Layout(
                OPERATORS,
                [f"{target:g}" for target in reversed(targets)],
                "Number",
                "Length of states that share the number; rows are targets",
                columns=4,
            ),
        ),
    ]


def _local(cases: Iterable[tuple[float, bool]]) -> pl.DataFrame:
    densities = versioned(resolution.local_densities(BITS, cases))
    names = [f"{target:g}" for target in densities["target"]]
    return densities.with_columns(target_name=pl.Series(names, dtype=pl.String))


def _density_map(key: str, title: str, alt: str, densities: pl.DataFrame, layout: Layout) -> Chart:
    """Return densities over digits as a heat map; ``{}`` in ``alt`` takes the extremes.

    Columns: panel and row of the cell, digit, density; operator and ``where`` name the extremes.
    """
    cells = densities.select("panel", "row", "digit", "density").iter_rows()
    most, least = (
        f"{row['operator']} at number {row['digit']} ({row['where']}): "
        f"{wording.number(row['density'])}"
        for row in resolution.extremes(densities)
    )
    described = alt.format(f"Greatest: {most}; least: {least}.")
    return heat_map(key, title, described, [_value(*cell) for cell in cells], layout)


def _value(panel: str, row: str, x: int, value: float | None) -> Value:
    if value is None or value <= 0:
        return Value(panel, row, x, None, "none")
    return Value(panel, row, x, float(f"{value:.4g}"), wording.number(value))


def _profile(target: float) -> Chart:
    """Return a chart of F over the state, a panel for each operator, with local densities."""
    profile = resolution.profile(BITS, target)
    canvas = Canvas()
    top = end = 2.0
    edges = frame.panels(len(OPERATORS), _ABREAST, 22, 12)
    for number, (operator, (start, stop)) in enumerate(zip(OPERATORS, edges, strict=True)):
        if number and number % _ABREAST == 0:
            top = end + 8
        begin = frame.panel_title(canvas, operator, start, stop, top)
        box = Box(start, begin, stop - 4, begin + _HEIGHT)
        _panel(canvas, profile, operator, target, box)
        end = frame.across(canvas, _PART, box)
    at_balance = "; ".join(
        f"{name} {wording.number(density)}" for name, density in profile.at_balance.iter_rows()
    )
    return Chart(
        f"profile_{round(target * 10)}",
        f"Profiles at target {target:g}, {BITS} bits, as [R] fig. {10 if target < 0.3 else 11}",
        f"Curves of priority over state with bars of local density. Local density around balance, "
        f"at target {target:g}: {at_balance}.",
        canvas.body,
        round(end),
        "Curves: priority over the state; bars: length of states of one priority; dashed: target.",
    )


def _panel(canvas: Canvas, profile: Profile, operator: str, target: float, box: Box) -> None:
    frame.upwards(canvas, _PRIORITY, box)
    x, y = _PART.between(box.left, box.right), _PRIORITY.between(box.bottom, box.top)
    bars = profile.bars.filter(operator=operator).select("density", "priority", "next")
    for density, low, high in bars.iter_rows():
        above, below = sorted((y(low), y(high)))
        tip = f"{operator}, priority {low:.2f}: length of states {density:.3f}"
        canvas.rect(box.left, above, x(density) - box.left, below - above, LATER, opacity=0.35)
        canvas.tip_area(box.left, above, box.right - box.left, below - above, tip)
    curve = profile.curves.filter(operator=operator).sort("state").select("state", "priority")
    canvas.polyline([(x(state), y(priority)) for state, priority in curve.iter_rows()], EARLIER)
    frame.reference(canvas, x(target), box)


# --- job sizes -----------------------------------------------------------------------------------


def job_sizes(sizes: pl.DataFrame) -> list[Chart]:
    """Return the smallest jobs over bits, a chart for each area of priorities."""
    together = sizes.filter(pl.col("target").is_null())
    return [_job_chart(together.filter(area=area), area) for area in _FIGURES]


def _job_chart(sizes: pl.DataFrame, area: str) -> Chart:
    panels = {
        "as published, greatest": (True, "hours_most"),
        "corrected, greatest": (False, "hours_most"),
        "corrected, median": (False, "hours_median"),
    }
    values = [
        _value(label, name, bits, hours)
        for label, (published, column) in panels.items()
        for name, bits, hours in sizes.filter(as_published=published)
        .select("operator", "bits", column)
        .iter_rows()
    ]
    most = max(sizes["bits"].to_list())
    worst = sizes.filter("as_published", bits=most).select("operator", "hours_most")
    greatest = "; ".join(f"{name} {wording.number(hours)}" for name, hours in worst.iter_rows())
    layout = Layout(tuple(panels), OPERATORS, "Bits", "Hours", columns=3)
    return heat_map(
        f"jobs_{area}",
        f"Least jobs that count, {AREA_NAMES[area]}, as [R] fig. {_FIGURES[area]}",
        f"Heat maps over bits. As published, the greatest of the least jobs at "
        f"{most} bits, in hours: {greatest}. The file of job sizes holds every value.",
        values,
        layout._replace(x_values=range(4, most + 1, 4), most=COLOURED_HOURS, logarithmic=True),
    )
