"""How finely priority operators tell users apart: sections of their study ([R] §5)."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.fairshare import operators
from audit.metrics.fairshare.operators import OPERATORS
from audit.report.charts.style import Chart, Spec
from audit.report.text import wording
from audit.studies.charts import Colours, Layout, heat_map
from audit.studies.operators import compute as experiment
from audit.studies.operators.charts import profiles
from audit.studies.operators.compute import AREAS, Ordered, Setting
from audit.studies.page import Cell, Column, Section, Table

BITS: Final = 3
"""At which densities are drawn: few enough to see, as in [R]."""
DRAWN: Final = (0.1, 0.5)
"""Targets that [R] draws."""
COLOURED_HOURS: Final = 10_000
"""Where the colours of [R] figs. 14 to 16 end."""

AREA_NAMES: Final[Mapping[str, str]] = {
    "balance": "around balance",
    "over": "over target",
    "under": "under target",
    "overall": "overall",
}
_FIGURES: Final = {"balance": 14, "under": 15, "over": 16}


def sections(
    setting: Setting, sizes: pl.DataFrame, beside: pl.DataFrame, needed: pl.DataFrame
) -> tuple[Section, ...]:
    """What the study says of stored priorities.

    Args:
        setting: what it was made with.
        sizes: ``studies.operators.compute.job_sizes``.
        beside: ``beside_printed``.
        needed: ``bits_needed``.
    """
    return (
        Section("Priorities stored as digits", (_DIGITS, _effective(), _fallen_together())),
        Section("Input density", (_INPUT, _input_chart(), _input_table(), _input_areas(setting))),
        Section(
            "Local density",
            (
                _LOCAL,
                *(_profile(target) for target in DRAWN),
                _local_chart(),
                _targets_chart(),
                _local_table(setting),
            ),
        ),
        Section(
            "Job size",
            (_job_text(setting), *(_job_chart(sizes, area) for area in _FIGURES), _jobs(sizes)),
        ),
        Section(
            "Bits",
            (
                _bits_text(setting),
                _beside(beside, setting),
                *_differences(beside, setting),
                _by_target(sizes, needed, setting),
                _ORDERS,
                _orders(experiment.orders(sizes)),
            ),
        ),
    )


# --- digits --------------------------------------------------------------------------------------

_DIGITS: Final = (
    "A user's priorities along the path from the root of the share tree are a vector, and vectors "
    "compare from the root on. Written as one text, each component is one of r numbers ([R] fig. "
    "4): −1 is 0 and 1 is r − 1. Priorities that share a number cannot be told apart. [R]'s "
    "equations 17 and 20 divide by r instead, so that 1 is never reached: figures made so are "
    "called as published."
)


def _effective() -> Table:
    last = 1 << BITS
    return Table(
        "effective",
        f"Effective priorities at {BITS} bits (17)",
        (
            Column("Number", "digit", "count"),
            Column("Corrected", "corrected"),
            Column("As published", "as_published"),
        ),
        tuple(
            (digit, *(float(_bounds(published)[digit]) for published in (False, True)))
            for digit in range(last)
        ),
    )


def _bounds(as_published: bool, bits: int = BITS) -> NDArray[np.float64]:
    return experiment.edges(bits, as_published=as_published)


def _fallen_together() -> Table:
    return Table(
        "serialised",
        "Vectors (0.505, −0.8) and (0.5, 0.8) as texts, as in [R] fig. 5",
        (
            Column("Resolution", "resolution", "count"),
            Column("First", "first", "text"),
            Column("Second", "second", "text"),
            Column("First is before second", "right", "yes_no"),
        ),
        tuple(tuple(row) for row in experiment.fallen_together()),
        note="It must be: its first component is greater. At 100 both fall together there, and the "
        "second component decides wrongly.",
    )


# --- densities -----------------------------------------------------------------------------------

_VARIANTS: Final = ((True, "as published"), (False, "corrected"))

_INPUT: Final = (
    "The part of all pairs of target and state that share a number, by the area of its surface in "
    "the unit square (in closed form, not sampled). The more pairs share it, the less can be told "
    "apart around that priority. It mixes all targets, also those that cannot reach a priority."
)


def _input_density() -> pl.DataFrame:
    return pl.concat(
        experiment.input_density(BITS, as_published=published).with_columns(variant=pl.lit(label))
        for published, label in _VARIANTS
    )


def _input_chart() -> Chart:
    table = _input_density()
    rows = [
        _cell(variant, digit, name, density)
        for variant, digit, name, density in table.select(
            "variant", "digit", "operator", "density"
        ).iter_rows()
    ]
    return heat_map(
        "input_density",
        f"Input density at {BITS} bits, as [R] fig. 8",
        f"Heat maps. {_extremes(table)} The table below holds every value.",
        rows,
        Layout([label for _, label in _VARIANTS], OPERATORS, "Number (from −1 to 1)"),
        Colours("Part of all pairs of target and state"),
    )


def _extremes(table: pl.DataFrame) -> str:
    most, least = (
        table.filter(pl.col("density") > 0).sort("density", descending=down).row(0, named=True)
        for down in (True, False)
    )
    said = (
        f"{of['operator']} at number {of['digit']} ({of['variant']}): "
        f"{wording.number(of['density'])}"
        for of in (most, least)
    )
    return "Greatest: {}; least: {}.".format(*said)


def _cell(panel: str, x: object, y: object, value: float | None) -> Spec:
    known = value is not None and value > 0
    return {
        "of": panel,
        "x": x,
        "y": y,
        "value": float(f"{value:.4g}") if value is not None else 0.0,
        "known": known,
        "says": wording.number(value) if known else "none",
    }


def _input_table() -> Table:
    table = _input_density().pivot("digit", index=["operator", "variant"], values="density")
    order = {name: number for number, name in enumerate(OPERATORS)}
    rows = sorted(table.iter_rows(), key=lambda row: (order[row[0]], row[1] == "corrected"))
    digits = range(1 << BITS)
    return Table(
        "input-density",
        f"Input density at {BITS} bits",
        (
            Column("Operator", "operator", "text"),
            Column("Version", "version", "text"),
            *(Column(str(digit), f"number_{digit}") for digit in digits),
        ),
        tuple(rows),
        note="Corrected, the last number is that of priority 1 alone, which no area has.",
    )


def _input_areas(setting: Setting) -> Table:
    table = experiment.greatest_input_density(setting)
    rows = table.select(_version(), pl.exclude("as_published")).iter_rows()
    return Table(
        "input-density-areas",
        "Greatest input density in each area of priorities, at all bits",
        (
            Column("Version", "version", "text"),
            Column("Operator", "operator", "text"),
            Column("Area", "area", "text"),
            Column("Bits", "bits", "count"),
            Column("Density", "density"),
        ),
        tuple(rows),
        shown=0,
    )


def _version() -> pl.Expr:
    """Which version of the formulas a row is of, in words."""
    return pl.when("as_published").then(pl.lit("as published")).otherwise(pl.lit("corrected"))


_LOCAL: Final = (
    "For one target, the length of the states that share a number: what a state must change by at "
    "most before its priority does. In the profiles the state grows to the right and the priority "
    "upwards; the curve is the operator, and each bar the local density of a number: the shorter "
    "it is, the more can be told apart there. Dashed: the target. No target reaches all "
    "priorities, but for those near 0."
)


def _profile(target: float) -> Chart:
    states = np.arange(101) / 100
    curves: list[Spec] = [
        {"of": name, "state": state, "priority": round(priority, 4)}
        for name in OPERATORS
        for state, priority in zip(
            states.tolist(), operators.priority(name, target, states).tolist(), strict=True
        )
    ]
    table = experiment.local_density(BITS, target, as_published=False)
    step = 2 / ((1 << BITS) - 1)
    bars: list[Spec] = [
        {
            "of": name,
            "density": round(density, 4),
            "priority": round(priority, 4),
            "next": round(min(priority + step, 1.0), 4),
        }
        for name, priority, density in table.select("operator", "priority", "density").iter_rows()
        if density > 0
    ]
    at_balance = table.filter(pl.col("priority") <= 0, pl.col("priority") > -step)
    said = "; ".join(
        f"{name} {wording.number(density)}"
        for name, density in at_balance.select("operator", "density").iter_rows()
    )
    return profiles(
        f"profile_{round(target * 10)}",
        f"Profiles at target {target:g}, {BITS} bits, as [R] fig. {10 if target < 0.3 else 11}",
        f"Curves of priority over state with bars of local density. Local density around balance, "
        f"at target {target:g}: {said}.",
        curves,
        bars,
        OPERATORS,
        target,
    )


def _local_chart() -> Chart:
    tables = [
        experiment.local_density(BITS, target, as_published=published).with_columns(
            variant=pl.lit(f"target {target:g}, {label}")
        )
        for target in DRAWN
        for published, label in _VARIANTS
    ]
    rows = [
        _cell(variant, digit, name, density)
        for variant, digit, name, density in pl.concat(tables)
        .select("variant", "digit", "operator", "density")
        .iter_rows()
    ]
    return heat_map(
        "local_density",
        f"Local density at {BITS} bits (grey: no state has it), as [R] figs. 12 and 13",
        f"Heat maps. {_extremes(pl.concat(tables))} The file of local densities holds every value.",
        rows,
        Layout([str(table["variant"][0]) for table in tables], OPERATORS, "Number (from −1 to 1)"),
        Colours("Length of states that share the number"),
    )


def _targets_chart() -> Chart:
    targets = [*experiment.TARGETS, 1.0]
    tables = [
        experiment.local_density(BITS, target, as_published=False).with_columns(
            target=pl.lit(target), variant=pl.lit("corrected")
        )
        for target in targets
    ]
    rows = [
        _cell(name, digit, f"{target:g}", density)
        for name, digit, target, density in pl.concat(tables)
        .select("operator", "digit", "target", "density")
        .iter_rows()
    ]
    return heat_map(
        "targets",
        f"Local density of each target at {BITS} bits, as [R] fig. 9",
        f"Heat maps, one for each operator, targets from 0 to 1. {_extremes(pl.concat(tables))} "
        "The file of local densities holds every value.",
        rows,
        Layout(OPERATORS, [f"{target:g}" for target in reversed(targets)], "Number", columns=4),
        Colours("Length of states that share the number; rows are targets"),
    )


def _local_table(setting: Setting) -> Table:
    columns = ("operator", "digit", "priority", "lowest_state", "highest_state", "density")
    rows: list[tuple[Cell, ...]] = [
        (label, target, *row)
        for published, label in _VARIANTS
        for target in setting.targets
        for row in experiment.local_density(BITS, target, as_published=published)
        .select(columns)
        .iter_rows()
    ]
    return Table(
        "local-density",
        f"Local density at {BITS} bits, of every target",
        (
            Column("Version", "version", "text"),
            Column("Target", "target"),
            Column("Operator", "operator", "text"),
            Column("Number", "number", "count"),
            *(Column(name.replace("_", " ").capitalize(), name) for name in columns[2:]),
        ),
        tuple(rows),
        shown=0,
    )


# --- job size ------------------------------------------------------------------------------------


def _job_text(setting: Setting) -> str:
    return (
        f"In a window in which {wording.count(setting.used_hours)} resource-hours were used, the "
        "least job that moves a state across a number. As published by (25); corrected: a job of "
        "k · U makes (s + k)/(1 + k) of a state s, so k = D/(1 − s − D). The more of everything a "
        "user has used, the larger its job must be, and none is large enough where a number "
        "reaches to state 1. So the greatest least job is corrected that of a state next to 1, at "
        "any resolution; the median says more. Colours end at "
        f"{wording.count(COLOURED_HOURS)} hours, as in [R]; grey: no job can, or no state is there."
    )


def _job_chart(sizes: pl.DataFrame, area: str) -> Chart:
    panels = (
        ("as published, greatest", True, "hours_most"),
        ("corrected, greatest", False, "hours_most"),
        ("corrected, median", False, "hours_median"),
    )
    some = sizes.filter(pl.col("area") == area, pl.col("target").is_null())
    rows = [
        _cell(label, bits, name, hours)
        for label, published, column in panels
        for bits, name, hours in some.filter(pl.col("as_published") == published)
        .select("bits", "operator", column)
        .iter_rows()
    ]
    most = max(some["bits"].to_list())
    worst = some.filter(pl.col("as_published"), pl.col("bits") == most)
    said = "; ".join(
        f"{name} {wording.number(hours)}"
        for name, hours in worst.select("operator", "hours_most").iter_rows()
    )
    return heat_map(
        f"jobs_{area}",
        f"Least jobs that count, {AREA_NAMES[area]}, as [R] fig. {_FIGURES[area]}",
        f"Heat maps over bits. As published, the greatest of the least jobs at "
        f"{most} bits, in hours: {said}. The file of job sizes holds every value.",
        rows,
        Layout([label for label, _, _ in panels], OPERATORS, "Bits", 3, range(4, most + 1, 4)),
        Colours("Hours", COLOURED_HOURS, logarithmic=True),
    )


def _jobs(sizes: pl.DataFrame) -> Table:
    columns = ("operator", "area", "bits", "target", "digits", "left_out")
    measures = ("density_most", "hours_median", "hours_most")
    rows = sizes.select(_version(), *columns, *measures).iter_rows()
    return Table(
        "job-size",
        "Local densities and least jobs at every target and resolution",
        (
            Column("Version", "version", "text"),
            Column("Operator", "operator", "text"),
            Column("Area", "area", "text"),
            Column("Bits", "bits", "count"),
            Column("Target", "target"),
            Column("Numbers", "numbers", "count"),
            Column("Left out", "left_out", "count"),
            Column("Greatest density", "density_most"),
            Column("Median hours", "hours_median"),
            Column("Greatest hours", "hours_most"),
        ),
        tuple(rows),
        note="Rows without a target are of all targets together.",
        shown=0,
    )


# --- bits ----------------------------------------------------------------------------------------


def _bits_text(setting: Setting) -> str:
    return (
        "The least bits from which on a job of "
        f"{wording.count(setting.job_hours)} hours changes the number of a priority wherever any "
        f"job can, at all targets together: [R] fig. 17 as printed, what [R]'s own formulas give, "
        f"and what the corrected ones do."
    )


def _beside(beside: pl.DataFrame, setting: Setting) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (
            name,
            AREA_NAMES[area],
            str(printed),
            _bits(ours, setting),
            _bits(corrected, setting),
            _difference(ours, printed),
        )
        for name, area, printed, ours, corrected, _ in beside.iter_rows()
    ]
    return Table(
        "bits",
        "Bits needed, beside [R] fig. 17",
        (
            Column("Operator", "operator", "text"),
            Column("Area", "area", "text"),
            Column("Printed", "printed", "text"),
            Column("As published", "as_published", "text"),
            Column("Corrected", "corrected", "text"),
            Column("As published, against printed", "difference", "text"),
        ),
        tuple(rows),
    )


def _bits(bits: int | None, setting: Setting) -> str:
    return f">\u00a0{max(setting.bits)}" if bits is None else str(bits)  # on one line


def _difference(ours: int | None, printed: int) -> str:
    if ours is None:
        return "more than were studied"
    if ours == printed:
        return "equal"
    bits = wording.plural(abs(ours - printed), "bit")
    return f"{bits} {'more' if ours > printed else 'fewer'}"


def _differences(beside: pl.DataFrame, setting: Setting) -> tuple[str, ...]:
    """What differs from the printed figure, and why, as far as it can be known."""
    areas = beside.filter(pl.col("area") != "overall")
    equal = areas.filter(pl.col("difference") == 0)
    more = areas.filter((pl.col("difference") > 0) | pl.col("as_published").is_null())
    named = ", ".join(
        f"{name} {AREA_NAMES[area]}" for name, area in equal.select("operator", "area").iter_rows()
    )
    absolute = sorted(set(areas.filter(operator="absolute")["as_published"].drop_nulls()))
    k = setting.job_hours / setting.used_hours
    bounds = [2 / (k * k + (1 + s) * k) for s in (1.0, 0.0)]
    return (
        f"{equal.height} of {areas.height} figures {'is' if equal.height == 1 else 'are'} equal"
        + (f" ({named})" if named else "")
        + f"; the printed one is smaller in {more.height}. It cannot come from (25). The operator "
        "absolute shows it, whose density is 2/r for every number: (25) then asks for r ≥ "
        f"2/(k² + (1 + s) k) with k = {wording.number(k)}, which is {wording.count(bounds[0])} to "
        f"{wording.count(bounds[1])} as s goes from 1 to 0. That is "
        f"{' or '.join(map(str, absolute))} bits; 14 are printed over target.",
        "Corrected, no number of bits is enough around balance or over target where those who used "
        "nearly everything are among those looked at: a job that doubles all usage only halves "
        "what the others have. The next table has each target by itself: small targets are far "
        "from that edge around balance.",
    )


def _by_target(sizes: pl.DataFrame, needed: pl.DataFrame, setting: Setting) -> Table:
    key = ("operator", "area", "target")
    corrected = sizes.filter(~pl.col("as_published"), bits=max(setting.bits))
    found = (
        needed.filter(~pl.col("as_published"), pl.col("target").is_not_null())
        .join(corrected.select(*key, "digits", all_left_out="left_out"), on=key)
        .select(*key, "bits", some=pl.col("digits") + pl.col("all_left_out") > 0)
    )
    told = {
        (name, area, target): _bits(bits, setting) if some else None
        for name, area, target, bits, some in found.iter_rows()
    }
    return Table(
        "bits-by-target",
        "Bits needed at each target, corrected",
        (
            Column("Operator", "operator", "text"),
            Column("Area", "area", "text"),
            *(Column(f"{target:g}", f"target_{target:g}", "text") for target in setting.targets),
        ),
        tuple(
            (name, AREA_NAMES[area], *(told[name, area, target] for target in setting.targets))
            for name in OPERATORS
            for area in AREAS
        ),
        note="A dash: no state of that target has a priority in the area.",
    )


_ORDERS: Final = (
    "From the operator whose jobs may be smallest to the one whose must be largest: as [R §5.4] "
    "has it; by the greatest of the least jobs as published; and by their median, corrected, all "
    "at the most bits."
)


def _orders(found: Sequence[Ordered]) -> Table:
    return Table(
        "orders",
        "Operators from the smallest job to the largest",
        (
            Column("Area", "area", "text"),
            Column("Version", "version", "text"),
            Column("Order", "order", "text"),
        ),
        tuple(
            (AREA_NAMES[of.area], label, ", ".join(names))
            for of in found
            for label, names in (
                ("printed", of.printed),
                ("as published", of.as_published),
                ("corrected", of.corrected),
            )
        ),
    )
