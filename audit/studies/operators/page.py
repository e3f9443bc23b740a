"""The page of the study of priority operators (``rules``, ``resolution``), and its charts."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Final

import polars as pl

from audit.metrics.fairshare import operators
from audit.metrics.fairshare.operators import OPERATORS
from audit.progress import OnProgress, silent
from audit.report import wording
from audit.report.charts.marks import frame, scales
from audit.report.charts.marks.frame import Box
from audit.report.charts.marks.svg import Canvas
from audit.report.charts.style import EARLIER, LATER, Chart
from audit.report.study import layout
from audit.report.study.charts import Layout, Value, heat_map
from audit.report.study.page import Study
from audit.studies.operators import resolution, rules
from audit.studies.operators.resolution import AREAS, JOB_HOURS, TARGETS, USED_HOURS, BitProfile
from audit.studies.operators.rules import RULES, OperatorPoint, OperatorVerdicts, OperatorWitness

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
        "Fraction of all pairs of target and state",
    )
    return _density_map(
        "input_density",
        f"Input density at {BITS} bits, as [R] fig. 8",
        "Heat maps. {} The table below contains every value.",
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
            "Heat maps. {} The file of local densities contains every value.",
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
            "contains every value.",
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
        "Curves: priority by state; bars: length of states of one priority; dashed: target.",
    )


def _panel(canvas: Canvas, profile: BitProfile, operator: str, target: float, box: Box) -> None:
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
        f"Smallest jobs that change a priority, {AREA_NAMES[area]}, as [R] fig. {_FIGURES[area]}",
        f"Heat maps over bits. As published, the maximum of the smallest jobs at "
        f"{most} bits, in hours: {greatest}. The file of job sizes contains every value.",
        values,
        layout._replace(x_values=range(4, most + 1, 4), most=COLOURED_HOURS, logarithmic=True),
    )


_FORMULAS: Final[Mapping[str, tuple[str, str]]] = {
    "absolute": ("5", "t − s"),
    "relative": ("6", "d"),
    "relative_n": ("7", "sign(d) · |d|²"),
    "sigmoid": ("8", "sin(π/2 · d)"),
    "sigmoid_n": ("9", "sign(d) · √|sin(π/2 · d)|"),
    "combined": ("10", "½ (t − s) + ½ sign(d) · |d|²"),
    "slurm": ("12", "2^(1 − s/t) − 1"),
}


def study(bits: Sequence[int], on_progress: OnProgress = silent) -> Study:
    """Return the study of all operators, with job sizes for these numbers of bits."""
    judged = rules.conformance()
    sizes = resolution.job_sizes(bits, on_progress)
    needed = resolution.bits_needed(sizes)
    beside = resolution.beside_printed(needed)
    areas = [
        (f"Priorities {AREA_NAMES[area]}", f"{_signed(low)} to {_signed(high)}")
        for area, (low, high) in AREAS.items()
    ]
    parts = {
        "areas": areas,
        **_rule_parts(judged),
        **_density_parts(bits),
        **_job_parts(sizes, beside, needed),
    }
    values = {
        **_lead(judged),
        **_numbers(bits),
        **_differences(beside),
        "operators": " | ".join(f"{name} <yes_no>" for name in OPERATORS),
        "digits": " | ".join(f"{k} <number_{k} number>" for k in range(1 << BITS)),
        "target_columns": " | ".join(f"{of:g} <target_{of:g}>" for of in TARGETS),
    }
    return layout.study("operators", parts, values)


def _lead(judged: Mapping[str, OperatorVerdicts]) -> dict[str, object]:
    # Operators that keep (4) break (13), so (13) does not count.
    keeping = [
        name
        for name, verdicts in judged.items()
        if not any(witness for rule, witness in verdicts.items() if rule != "edges")
    ]
    return {
        "number": len(OPERATORS),
        "keeping": ", ".join(keeping),
        "others": " and ".join(name for name in OPERATORS if name not in keeping),
    }


def _numbers(bits: Sequence[int]) -> dict[str, object]:
    k = JOB_HOURS / USED_HOURS
    at_1, at_0 = (wording.count(digits) for digits in resolution.digits_of_absolute(k))
    return {
        "bits": BITS,
        "least_bits": min(bits),
        "most_bits": max(bits),
        "targets": ", ".join(f"{target:g}" for target in TARGETS),
        "used_hours": wording.count(USED_HOURS),
        "job_hours": wording.count(JOB_HOURS),
        "coloured_hours": wording.count(COLOURED_HOURS),
        "k": wording.number(k),
        "absolute_at_1": at_1,
        "absolute_at_0": at_0,
    }


def _differences(beside: pl.DataFrame) -> dict[str, object]:
    """Return how the figures printed in [R] differ from those by its own formulas."""
    areas = beside.filter(pl.col("area") != "overall")
    equal = areas.filter(difference=0)
    more = areas.filter((pl.col("difference") > 0) | pl.col("as_published").is_null())
    named = ", ".join(
        f"{name} {AREA_NAMES[area]}" for name, area in equal.select("operator", "area").iter_rows()
    )
    absolute = sorted(set(areas.filter(operator="absolute")["as_published"].drop_nulls()))
    return {
        "equal": equal.height,
        "figures": areas.height,
        "agree": "agrees" if equal.height == 1 else "agree",
        "are": "is" if equal.height == 1 else "are",
        "equal_named": f" ({named})" if named else "",
        "more": more.height,
        "absolute_bits": " or ".join(map(str, absolute)),
    }


# --- rules ---------------------------------------------------------------------------------------


def _rule_parts(judged: Mapping[str, OperatorVerdicts]) -> dict[str, Any]:
    verdicts = {(name, rule): of[rule] for name, of in judged.items() for rule in RULES}
    alike = rules.equivalence()
    alike = {**alike, **{(other, one): witness for (one, other), witness in alike.items()}}
    return {
        "formulas": [
            (
                *(name, f"({number})", formula),
                *(float(operators.priority(name, *at)) for at in ((0.5, 0.25), (0.25, 0.5))),
            )
            for name, (number, formula) in _FORMULAS.items()
        ],
        "conformance": [
            (text, *(verdicts[name, rule] is None for name in OPERATORS))
            for rule, text in RULES.items()
        ],
        "witnesses": [
            (name, RULES[rule], witness.says, _where(witness))
            for (name, rule), witness in verdicts.items()
            if witness is not None
        ],
        "boundaries": rules.boundaries().rows(),
        "equivalence": [
            (one, *(None if one == other else alike[one, other] is None for other in OPERATORS))
            for one in OPERATORS
        ],
        "unlike": [
            (
                *pair,
                " and ".join(f"{one.target:.4g}, {one.state:.4g}" for one in witness.samples[:2]),
                _ordered(*witness.samples[:2]),
                _ordered(*witness.samples[2:4]),
            )
            for pair, witness in alike.items()
            if witness is not None and OPERATORS.index(pair[0]) < OPERATORS.index(pair[1])
        ],
    }


def _where(witness: OperatorWitness) -> str:
    return "; ".join(
        f"{one.target:.4g}, {one.state:.4g} → {_signed(one.priority)}" for one in witness.samples
    )


def _signed(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")


def _ordered(one: OperatorPoint, other: OperatorPoint) -> str:
    gap = one.priority - other.priority
    sign = "=" if abs(gap) < 1e-9 else ">" if gap > 0 else "<"
    return f"{_signed(one.priority)} {sign} {_signed(other.priority)}"


# --- stored priorities ---------------------------------------------------------------------------


def _density_parts(bits: Sequence[int]) -> dict[str, Any]:
    densities = resolution.input_densities(BITS).rows_by_key(
        ["operator", "as_published"], include_key=False, named=True
    )
    corrected, as_published = (
        resolution.edges(BITS, as_published=published)[:-1].tolist() for published in (False, True)
    )
    cases = ((target, version) for version in VERSIONS for target in TARGETS)
    areas = versioned(resolution.greatest_input_density(bits))
    return {
        "effective": list(zip(range(1 << BITS), corrected, as_published, strict=True)),
        "serialised": rules.fallen_together(),
        "input_chart": input_density(),
        "input-density": [
            (name, version, *(row["density"] for row in densities[name, published]))
            for name, (published, version) in product(OPERATORS, VERSIONS.items())
        ],
        "input-density-areas": areas.iter_rows(named=True),
        "local_charts": local_densities(),
        "local-density": versioned(resolution.local_densities(BITS, cases))
        .select(
            *("version", "target", "operator", "digit", "priority"),
            *("lowest_state", "highest_state", "density"),
        )
        .rows(),
    }


def _job_parts(sizes: pl.DataFrame, beside: pl.DataFrame, needed: pl.DataFrame) -> dict[str, Any]:
    def bits(number: int | None) -> str:
        return f">\u00a0{max(sizes['bits'].to_list())}" if number is None else str(number)

    by_target = {
        (name, area, target): bits(number) if attained else None
        for name, area, target, number, attained in resolution.bits_by_target(
            needed, sizes
        ).iter_rows()
    }
    return {
        "job_charts": job_sizes(sizes),
        "job-size": versioned(sizes).rename({"digits": "numbers"}).iter_rows(named=True),
        "bits": [
            (name, AREA_NAMES[area], *map(bits, numbers), _difference(difference))
            for name, area, *numbers, difference in beside.iter_rows()
        ],
        "bits-by-target": [
            (name, AREA_NAMES[area], *(by_target[name, area, of] for of in TARGETS))
            for name, area in product(OPERATORS, AREAS)
        ],
        "orders": [
            (AREA_NAMES[area], version, ", ".join(names))
            for (area, version), names in resolution.orders(sizes).items()
        ],
    }


def _difference(difference: int | None) -> str:
    if difference is None:
        return "more than were studied"
    if difference == 0:
        return "equal"
    return f"{wording.plural(abs(difference), 'bit')} {'more' if difference > 0 else 'fewer'}"
