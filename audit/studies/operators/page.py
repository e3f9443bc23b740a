"""The page of the study of priority operators (``compute``)."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, Final

import polars as pl

from audit.metrics.fairshare import operators
from audit.metrics.fairshare.operators import OPERATORS
from audit.report.study import layout
from audit.report.study.page import Study
from audit.report.text import wording
from audit.studies.operators import charts
from audit.studies.operators.charts import AREA_NAMES, BITS, COLOURED_HOURS, VERSIONS
from audit.studies.operators.compute import job_size, resolution, rules
from audit.studies.operators.compute.job_size import Progress
from audit.studies.operators.compute.resolution import AREAS, Setting
from audit.studies.operators.compute.rules import RULES, Judged, Sample, Witness

_FORMULAS: Final[Mapping[str, tuple[str, str]]] = {
    "absolute": ("5", "t − s"),
    "relative": ("6", "d"),
    "relative_n": ("7", "sign(d) · |d|²"),
    "sigmoid": ("8", "sin(π/2 · d)"),
    "sigmoid_n": ("9", "sign(d) · √|sin(π/2 · d)|"),
    "combined": ("10", "½ (t − s) + ½ sign(d) · |d|²"),
    "slurm": ("12", "2^(1 − s/t) − 1"),
}


def study(setting: Setting, on_progress: Progress = lambda what, done, of: None) -> Study:
    """Return the study of all operators; it needs no log. ``setting`` is that of the job sizes."""
    judged = rules.conformance()
    sizes = job_size.job_sizes(setting, on_progress)
    needed = job_size.bits_needed(sizes, setting.job_hours)
    beside = job_size.beside_printed(needed)
    areas = [
        (f"Priorities {AREA_NAMES[area]}", f"{_signed(low)} to {_signed(high)}")
        for area, (low, high) in setting.areas.items()
    ]
    parts = {
        "areas": areas,
        **_rule_parts(judged),
        **_density_parts(setting),
        **_job_parts(sizes, beside, needed, setting),
    }
    values = {
        **_lead(judged),
        **_numbers(setting),
        **_differences(beside, setting),
        "operators": " | ".join(f"{name} <yes_no>" for name in OPERATORS),
        "digits": " | ".join(f"{k} <number_{k} number>" for k in range(1 << BITS)),
        "target_columns": " | ".join(f"{of:g} <target_{of:g}>" for of in setting.targets),
    }
    return layout.study("operators", parts, values)


def _lead(judged: Iterable[Judged]) -> dict[str, object]:
    # Every operator that keeps (4) breaks (13), so (13) does not count.
    keeping = [
        name
        for name, verdicts in judged
        if all(verdict.kept for verdict in verdicts if verdict.rule != "edges")
    ]
    return {
        "number": len(OPERATORS),
        "keeping": ", ".join(keeping),
        "others": " and ".join(name for name in OPERATORS if name not in keeping),
    }


def _numbers(setting: Setting) -> dict[str, object]:
    k = setting.job_hours / setting.used_hours
    at_1, at_0 = (wording.count(digits) for digits in job_size.digits_of_absolute(setting))
    return {
        "bits": BITS,
        "least_bits": min(setting.bits),
        "most_bits": max(setting.bits),
        "targets": ", ".join(f"{target:g}" for target in setting.targets),
        "used_hours": wording.count(setting.used_hours),
        "job_hours": wording.count(setting.job_hours),
        "coloured_hours": wording.count(COLOURED_HOURS),
        "k": wording.number(k),
        "absolute_at_1": at_1,
        "absolute_at_0": at_0,
    }


def _differences(beside: pl.DataFrame, setting: Setting) -> dict[str, object]:
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


def _rule_parts(judged: Iterable[Judged]) -> dict[str, Any]:
    verdicts = {(name, one.rule): one.witness for name, found in judged for one in found}
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


def _where(witness: Witness) -> str:
    return "; ".join(
        f"{one.target:.4g}, {one.state:.4g} → {_signed(one.priority)}" for one in witness.samples
    )


def _signed(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")


def _ordered(one: Sample, other: Sample) -> str:
    """Return the priorities of two siblings, with the sign between them."""
    gap = one.priority - other.priority
    sign = "=" if abs(gap) < 1e-9 else ">" if gap > 0 else "<"
    return f"{_signed(one.priority)} {sign} {_signed(other.priority)}"


# --- stored priorities ---------------------------------------------------------------------------


def _density_parts(setting: Setting) -> dict[str, Any]:
    densities = resolution.input_densities(BITS).rows_by_key(
        ["operator", "as_published"], include_key=False, named=True
    )
    corrected, as_published = (
        resolution.edges(BITS, as_published=published)[:-1].tolist() for published in (False, True)
    )
    cases = ((target, version) for version in VERSIONS for target in setting.targets)
    areas = charts.versioned(resolution.greatest_input_density(setting))
    return {
        "effective": list(zip(range(1 << BITS), corrected, as_published, strict=True)),
        "serialised": rules.fallen_together(),
        "input_chart": charts.input_density(),
        "input-density": [
            (name, version, *(row["density"] for row in densities[name, published]))
            for name, (published, version) in product(OPERATORS, VERSIONS.items())
        ],
        "input-density-areas": areas.iter_rows(named=True),
        "local_charts": charts.local_densities(),
        "local-density": charts.versioned(resolution.local_densities(BITS, cases))
        .select(
            *("version", "target", "operator", "digit", "priority"),
            *("lowest_state", "highest_state", "density"),
        )
        .rows(),
    }


def _job_parts(
    sizes: pl.DataFrame, beside: pl.DataFrame, needed: pl.DataFrame, setting: Setting
) -> dict[str, Any]:
    def bits(number: int | None) -> str:
        return f">\u00a0{max(setting.bits)}" if number is None else str(number)

    by_target = {
        (name, area, target): bits(number) if attained else None
        for name, area, target, number, attained in job_size.bits_by_target(
            needed, sizes
        ).iter_rows()
    }
    return {
        "job_charts": charts.job_sizes(sizes),
        "job-size": charts.versioned(sizes).rename({"digits": "numbers"}).iter_rows(named=True),
        "bits": [
            (name, AREA_NAMES[area], *map(bits, numbers), _difference(difference))
            for name, area, *numbers, difference in beside.iter_rows()
        ],
        "bits-by-target": [
            (name, AREA_NAMES[area], *(by_target[name, area, of] for of in setting.targets))
            for name, area in product(OPERATORS, AREAS)
        ],
        "orders": [
            (AREA_NAMES[area], version, ", ".join(names))
            for (area, version), names in job_size.orders(sizes).items()
        ],
    }


def _difference(difference: int | None) -> str:
    if difference is None:
        return "more than were studied"
    if difference == 0:
        return "equal"
    return f"{wording.plural(abs(difference), 'bit')} {'more' if difference > 0 else 'fewer'}"
