"""How finely priority operators tell users apart: sections of their study ([R] §5)."""

import itertools
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, Final

import polars as pl

from audit.metrics.fairshare.operators import OPERATORS
from audit.report.charts.marks import frame, scales
from audit.report.charts.marks.frame import Box
from audit.report.charts.marks.svg import Canvas
from audit.report.charts.style import EARLIER, LATER, Chart
from audit.report.study.charts import Colours, Layout, Values, heat_map
from audit.report.study.page import Column, Section, Table, table
from audit.report.text import wording
from audit.studies.operators.compute import job_size, resolution, rules
from audit.studies.operators.compute.resolution import AREAS, TARGETS, Profile, Setting

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
_VERSIONS: Final = {True: "as published", False: "corrected"}
"""What formulas are called, by ``as_published``."""


def _version(row: dict[str, Any]) -> str:
    return _VERSIONS[row["as_published"]]


_OPERATOR: Final[Column[Any]] = Column("Operator", "operator", "text")
_AREA: Final[Column[Any]] = Column("Area", "area", "text")
_AREA_NAMED: Final[Column[Any]] = Column(
    "Area", "area", "text", lambda row: AREA_NAMES[row["area"]]
)
_BITS: Final[Column[Any]] = Column("Bits", "bits", "count")
_VERSION: Final[Column[Any]] = Column("Version", "version", "text", _version)
_FIGURES: Final = {"balance": 14, "under": 15, "over": 16}

_ABREAST: Final = 4
_HEIGHT: Final = 110
_PART: Final = scales.Axis(0, 1, ((0, "0"), (1, "1")))
_PRIORITY: Final = scales.Axis(-1, 1, ((-1, "−1"), (0, "0"), (1, "1")))


def sections(
    setting: Setting, sizes: pl.DataFrame, beside: pl.DataFrame, needed: pl.DataFrame
) -> tuple[Section, ...]:
    """What the study says of stored priorities, of ``job_sizes`` and what follows from them."""
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
                _by_target(job_size.bits_by_target(needed, sizes), setting),
                _ORDERS,
                _orders(sizes),
            ),
        ),
    )


_DIGITS: Final = (
    "A user's priorities along the path from the root of the share tree are a vector, and vectors "
    "compare from the root on. Written as one text, each component is one of r numbers ([R] fig. "
    "4): −1 is 0 and 1 is r − 1. Priorities that share a number cannot be told apart. [R]'s "
    "equations 17 and 20 divide by r instead, so that 1 is never reached: figures made so are "
    "called as published."
)


def _effective() -> Table:
    corrected, as_published = (
        resolution.edges(BITS, as_published=published)[:-1].tolist() for published in (False, True)
    )
    return Table(
        "effective",
        f"Effective priorities at {BITS} bits (17)",
        (
            Column("Number", "digit", "count"),
            Column("Corrected", "corrected"),
            Column("As published", "as_published"),
        ),
        tuple(zip(range(1 << BITS), corrected, as_published, strict=True)),
    )


def _fallen_together() -> Table:
    return table(
        "serialised",
        "Vectors (0.505, −0.8) and (0.5, 0.8) as texts, as in [R] fig. 5",
        (
            Column("Resolution", "resolution", "count"),
            Column("First", "first", "text"),
            Column("Second", "second", "text"),
            Column("First is before second", "right", "yes_no"),
        ),
        rules.fallen_together(),
        note="It must be: its first component is greater. At 100 both fall together there, and the "
        "second component decides wrongly.",
    )


_INPUT: Final = (
    "The part of all pairs of target and state that share a number, by the area of its surface in "
    "the unit square (in closed form, not sampled). The more pairs share it, the less can be told "
    "apart around that priority. It mixes all targets, also those that cannot reach a priority."
)


def _input_chart() -> Chart:
    densities = resolution.input_densities(BITS)
    return _density_map(
        "input_density",
        f"Input density at {BITS} bits, as [R] fig. 8",
        f"Heat maps. {_extremes(densities, _version)} The table below holds every value.",
        densities,
        _version,
        Layout(list(_VERSIONS.values()), OPERATORS, "Number (from −1 to 1)"),
        Colours("Part of all pairs of target and state"),
    )


def _density_map(
    key: str,
    title: str,
    alt: str,
    densities: pl.DataFrame,
    panel: Callable[[dict[str, Any]], str],
    layout: Layout,
    colours: Colours,
    row_of: Callable[[dict[str, Any]], str] = itemgetter("operator"),
) -> Chart:
    """Densities as a heat map over digits; ``panel`` and ``row_of`` say where a density goes."""
    cells = [
        _cell(panel(row), row["digit"], row_of(row), row["density"])
        for row in densities.iter_rows(named=True)
    ]
    return heat_map(key, title, alt, cells, layout, colours)


def _extremes(densities: pl.DataFrame, panel: Callable[[dict[str, Any]], str]) -> str:
    most, least = (
        f"{row['operator']} at number {row['digit']} ({panel(row)}): "
        f"{wording.number(row['density'])}"
        for row in resolution.extremes(densities)
    )
    return f"Greatest: {most}; least: {least}."


def _cell(panel: str, x: object, y: object, value: float | None) -> Values:
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
    densities = resolution.input_densities(BITS).rows_by_key(
        ["operator", "as_published"], include_key=False, named=True
    )
    return Table(
        "input-density",
        f"Input density at {BITS} bits",
        (
            _OPERATOR,
            _VERSION,
            *(Column(str(digit), f"number_{digit}") for digit in range(1 << BITS)),
        ),
        tuple(
            (name, version, *(row["density"] for row in densities[name, as_published]))
            for name, (as_published, version) in itertools.product(OPERATORS, _VERSIONS.items())
        ),
        note="Corrected, the last number is that of priority 1 alone, which no area has.",
    )


def _input_areas(setting: Setting) -> Table:
    return table(
        "input-density-areas",
        "Greatest input density in each area of priorities, at all bits",
        (_VERSION, _OPERATOR, _AREA, _BITS, Column("Density", "density")),
        resolution.greatest_input_density(setting).iter_rows(named=True),
        shown=0,
    )


_LOCAL: Final = (
    "For one target, the length of the states that share a number: what a state must change by at "
    "most before its priority does. In the profiles the state grows to the right and the priority "
    "upwards; the curve is the operator, and each bar the local density of a number: the shorter "
    "it is, the more can be told apart there. Dashed: the target. No target reaches all "
    "priorities, but for those near 0."
)


def _profile(target: float) -> Chart:
    """F over the state, a panel for each operator; bars are local densities."""
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
    of = profile.bars.filter(pl.col("operator") == operator)
    for density, low, high in of.select("density", "priority", "next").iter_rows():
        above, below = sorted((y(low), y(high)))
        tip = f"{operator}, priority {low:.2f}: length of states {density:.3f}"
        canvas.rect(box.left, above, x(density) - box.left, below - above, LATER, opacity=0.35)
        canvas.area_to_point_at(box.left, above, box.right - box.left, below - above, tip)
    curve = profile.curves.filter(pl.col("operator") == operator).sort("state")
    points = curve.select("state", "priority").iter_rows()
    canvas.polyline([(x(state), y(priority)) for state, priority in points], EARLIER)
    frame.reference(canvas, x(target), box)


def _local_chart() -> Chart:
    cases = list(itertools.product(DRAWN, _VERSIONS))
    densities = resolution.local_densities(BITS, cases)
    panels = [_case({"target": target, "as_published": version}) for target, version in cases]
    return _density_map(
        "local_density",
        f"Local density at {BITS} bits (grey: no state has it), as [R] figs. 12 and 13",
        f"Heat maps. {_extremes(densities, _case)} The file of local densities holds every value.",
        densities,
        _case,
        Layout(panels, OPERATORS, "Number (from −1 to 1)"),
        Colours("Length of states that share the number"),
    )


def _case(row: dict[str, Any]) -> str:
    return f"target {row['target']:g}, {_version(row)}"


def _targets_chart() -> Chart:
    targets = [*TARGETS, 1.0]
    densities = resolution.local_densities(BITS, [(target, False) for target in targets])
    return _density_map(
        "targets",
        f"Local density of each target at {BITS} bits, as [R] fig. 9",
        "Heat maps, one for each operator, targets from 0 to 1. "
        f"{_extremes(densities, _version)} The file of local densities holds every value.",
        densities,
        itemgetter("operator"),
        Layout(OPERATORS, [f"{target:g}" for target in reversed(targets)], "Number", columns=4),
        Colours("Length of states that share the number; rows are targets"),
        lambda row: f"{row['target']:g}",
    )


def _local_table(setting: Setting) -> Table:
    cases = [(target, version) for version in _VERSIONS for target in setting.targets]
    return table(
        "local-density",
        f"Local density at {BITS} bits, of every target",
        (
            _VERSION,
            Column("Target", "target"),
            _OPERATOR,
            Column("Number", "number", "count", lambda row: row["digit"]),
            Column("Priority", "priority"),
            Column("Lowest state", "lowest_state"),
            Column("Highest state", "highest_state"),
            Column("Density", "density"),
        ),
        resolution.local_densities(BITS, cases).iter_rows(named=True),
        shown=0,
    )


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
    of_area = sizes.filter(pl.col("area") == area, pl.col("target").is_null())
    cells = [
        _cell(label, bits, name, hours)
        for label, published, column in panels
        for bits, name, hours in of_area.filter(pl.col("as_published") == published)
        .select("bits", "operator", column)
        .iter_rows()
    ]
    most = max(of_area["bits"].to_list())
    worst = of_area.filter(pl.col("as_published"), pl.col("bits") == most)
    greatest = "; ".join(
        f"{name} {wording.number(hours)}"
        for name, hours in worst.select("operator", "hours_most").iter_rows()
    )
    return heat_map(
        f"jobs_{area}",
        f"Least jobs that count, {AREA_NAMES[area]}, as [R] fig. {_FIGURES[area]}",
        f"Heat maps over bits. As published, the greatest of the least jobs at "
        f"{most} bits, in hours: {greatest}. The file of job sizes holds every value.",
        cells,
        Layout([label for label, _, _ in panels], OPERATORS, "Bits", 3, range(4, most + 1, 4)),
        Colours("Hours", COLOURED_HOURS, logarithmic=True),
    )


def _jobs(sizes: pl.DataFrame) -> Table:
    return table(
        "job-size",
        "Local densities and least jobs at every target and resolution",
        (
            _VERSION,
            _OPERATOR,
            _AREA,
            _BITS,
            Column("Target", "target"),
            Column("Numbers", "numbers", "count", lambda row: row["digits"]),
            Column("Left out", "left_out", "count"),
            Column("Greatest density", "density_most"),
            Column("Median hours", "hours_median"),
            Column("Greatest hours", "hours_most"),
        ),
        sizes.iter_rows(named=True),
        note="Rows without a target are of all targets together.",
        shown=0,
    )


def _bits_text(setting: Setting) -> str:
    return (
        "The least bits from which on a job of "
        f"{wording.count(setting.job_hours)} hours changes the number of a priority wherever any "
        f"job can, at all targets together: [R] fig. 17 as printed, what [R]'s own formulas give, "
        f"and what the corrected ones do."
    )


def _beside(beside: pl.DataFrame, setting: Setting) -> Table:
    def bits(title: str, name: str) -> Column[dict[str, Any]]:
        return Column(title, name, "text", lambda row: _bits(row[name], setting))

    columns = (
        *(_OPERATOR, _AREA_NAMED, bits("Printed", "printed")),
        *(bits("As published", "as_published"), bits("Corrected", "corrected")),
        Column("As published, against printed", "difference", "text", _difference),
    )
    rows = beside.iter_rows(named=True)
    return table("bits", "Bits needed, beside [R] fig. 17", columns, rows)


def _bits(bits: int | None, setting: Setting) -> str:
    return f">\u00a0{max(setting.bits)}" if bits is None else str(bits)  # on one line


def _difference(row: dict[str, Any]) -> str:
    if row["difference"] is None:
        return "more than were studied"
    if row["difference"] == 0:
        return "equal"
    bits = wording.plural(abs(row["difference"]), "bit")
    return f"{bits} {'more' if row['difference'] > 0 else 'fewer'}"


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
    digits = job_size.digits_of_absolute(setting)
    return (
        f"{equal.height} of {areas.height} figures {'is' if equal.height == 1 else 'are'} equal"
        + (f" ({named})" if named else "")
        + f"; the printed one is smaller in {more.height}. It cannot come from (25). The operator "
        "absolute shows it, whose density is 2/r for every number: (25) then asks for r ≥ "
        f"2/(k² + (1 + s) k) with k = {wording.number(k)}, which is {wording.count(digits[0])} to "
        f"{wording.count(digits[1])} as s goes from 1 to 0. That is "
        f"{' or '.join(map(str, absolute))} bits; 14 are printed over target.",
        "Corrected, no number of bits is enough around balance or over target where those who used "
        "nearly everything are among those looked at: a job that doubles all usage only halves "
        "what the others have. The next table has each target by itself: small targets are far "
        "from that edge around balance.",
    )


def _by_target(bits_by_target: pl.DataFrame, setting: Setting) -> Table:
    cells = {
        (name, area, target): _bits(bits, setting) if attained else None
        for name, area, target, bits, attained in bits_by_target.iter_rows()
    }
    return Table(
        "bits-by-target",
        "Bits needed at each target, corrected",
        (
            _OPERATOR,
            _AREA_NAMED,
            *(Column(f"{target:g}", f"target_{target:g}", "text") for target in setting.targets),
        ),
        tuple(
            (name, AREA_NAMES[area], *(cells[name, area, target] for target in setting.targets))
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


def _orders(sizes: pl.DataFrame) -> Table:
    return Table(
        "orders",
        "Operators from the smallest job to the largest",
        (_AREA, Column("Version", "version", "text"), Column("Order", "order", "text")),
        tuple(
            (AREA_NAMES[area], version, ", ".join(names))
            for (area, version), names in job_size.orders(sizes).items()
        ),
    )
