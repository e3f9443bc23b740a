"""How finely stored priorities distinguish users, and the bits that a job needs ([R] §5).

If priorities are stored as one of r numbers (digits), pairs of target and state with the same digit
cannot be distinguished:

    input density  the fraction of all pairs (t, s) that share a digit
    local density  D: the length of the states that share a digit, for one target (18–21)
    job size       the smallest job, k · U where U resource-hours were used in the window, that
                   changes the digit from its lowest state (23–25)

``as_published``: digits by (17) and (20); D only if (21) gives a state for both ends; k from
k² + (1 + s) k − D = 0 (25), at the higher state, as in (19).

Corrected (SPEC §9): digits of fig. 4; D wherever a state has that digit. A job of k · U moves a
state s to (s + k)/(1 + k), so k = D/(1 − s − D) from the lower state s. No job can change a digit
that extends to state 1; such digits are left out and counted.

Source: [R] G. Rodrigo, P.-O. Östberg, E. Elmroth, Priority Operators for Fairshare Scheduling.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Floats
from audit.metrics.fairshare import operators
from audit.metrics.fairshare.operators import OPERATORS
from audit.progress import OnProgress, silent

TARGETS: Final = tuple(k / 10 for k in range(10))
BITS: Final = range(3, 21)
AREAS: Final[Mapping[str, tuple[float, float]]] = {
    "balance": (-0.25, 0.25),
    "over": (-0.9, -0.6),
    "under": (0.6, 0.9),
}
"""Effective priorities of the digits studied: around balance, over and under target."""
USED_HOURS: Final = 5_256_000
"""U: node-hours of 600 nodes in a year."""
JOB_HOURS: Final = 2_000


def edges(bits: int, *, as_published: bool) -> Floats:
    """Return the effective priorities of all digits, ascending, and the bound above the last.

    A digit has the priorities from its own up to, not including, the next. Corrected, the last
    digit is that of priority 1 alone, and the bound above it is beyond 1.
    """
    resolution = 1 << bits
    return operators.effective(np.arange(resolution + 1), resolution, as_published=as_published)


def input_densities(bits: int) -> pl.DataFrame:
    """Return the input density of each digit.

    Columns: operator, digit, priority (effective), density (sums to 1 by operator), as_published.
    """
    parts = []
    for as_published, name in itertools.product((True, False), OPERATORS):
        bounds = edges(bits, as_published=as_published)
        areas = operators.area(name, bounds)
        areas[-1] = 0.0
        density = {"density": areas[:-1] - areas[1:], "as_published": as_published}
        parts.append(_of_digits(name, bounds, density))
    return pl.concat(parts)


def greatest_input_density(bits: Sequence[int]) -> pl.DataFrame:
    """Return the greatest input density among the digits of each area, for these numbers of bits.

    Columns: as_published, operator, area, bits, density.
    """
    rows = [
        (as_published, name, area, number, float(-np.diff(operators.area(name, bounds)).min()))
        for as_published, number in itertools.product((True, False), bits)
        for area, bounds in areas(number, as_published=as_published)
        for name in OPERATORS
        if len(bounds) > 1
    ]
    columns = ["as_published", "operator", "area", "bits", "density"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def areas(bits: int, *, as_published: bool) -> Iterator[tuple[str, Floats]]:
    """Yield the bounds of the digits whose effective priorities are in each area."""
    bounds = edges(bits, as_published=as_published)
    for area, (least, most) in AREAS.items():
        first, last = np.searchsorted(bounds[:-1], (least - 1e-12, most + 1e-12))
        yield area, bounds[first : last + 1]


def local_densities(bits: int, cases: Iterable[tuple[float, bool]]) -> pl.DataFrame:
    """Return the local density of each digit, for pairs of target and ``as_published``.

    Columns: operator, digit, priority (effective), lowest_state, highest_state (null where no state
        has that digit), density (their difference, 0 to 1), target, as_published.
    """
    parts = []
    for (target, as_published), name in itertools.product(cases, OPERATORS):
        bounds = edges(bits, as_published=as_published)
        states = operators.reach(name, bounds, target)
        states[-1] = 0.0
        low, high = states[1:], states[:-1]
        none = high <= low
        columns = {
            "lowest_state": np.where(none, np.nan, low),
            "highest_state": np.where(none, np.nan, high),
            "density": high - low,
            "target": target,
            "as_published": as_published,
        }
        parts.append(_of_digits(name, bounds, columns))
    return pl.concat(parts)


def extremes(densities: pl.DataFrame) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the rows with the greatest and with the least density above 0."""
    known = densities.filter(pl.col("density") > 0)
    most, least = (
        known.sort("density", descending=down).row(0, named=True) for down in (True, False)
    )
    return most, least


class BitProfile(NamedTuple):
    """Priorities over the state at one target."""

    curves: pl.DataFrame  # operator, state (in hundredths from 0 to 1), priority
    bars: pl.DataFrame
    """operator, density, priority and next (digit's priority), of each digit that a state has."""
    at_balance: pl.DataFrame  # operator, density: of the digit that holds priority 0


def profile(bits: int, target: float) -> BitProfile:
    """Return priorities over the state, with the local densities of their digits, corrected."""
    states = np.arange(101) / 100
    step = 2 / ((1 << bits) - 1)
    densities = local_densities(bits, [(target, False)])
    curves = (
        {"operator": name, "state": states, "priority": operators.priority(name, target, states)}
        for name in OPERATORS
    )
    bar = ("operator", "density", "priority")
    return BitProfile(
        pl.concat(map(pl.DataFrame, curves)),
        densities.filter(pl.col("density") > 0).select(
            *bar, next=(pl.col("priority") + step).clip(None, 1.0)
        ),
        densities.filter(pl.col("priority") <= 0, pl.col("priority") > -step).select(bar[:2]),
    )


def _of_digits(name: str, bounds: Floats, columns: Mapping[str, object]) -> pl.DataFrame:
    digits = {"operator": name, "digit": np.arange(len(bounds) - 1), "priority": bounds[:-1]}
    return pl.DataFrame({**digits, **columns}, nan_to_null=True)


PRINTED_BITS: Final[Mapping[str, tuple[int, int, int, int]]] = {
    "absolute": (12, 14, 12, 14),
    "relative": (9, 14, 9, 14),
    "relative_n": (9, 15, 8, 15),
    "sigmoid": (9, 12, 9, 12),
    "sigmoid_n": (6, 11, 9, 11),
    "slurm": (9, 13, 8, 13),
    "combined": (10, 15, 8, 15),
}
"""[R] Fig. 17: bits around balance, over and under target, and overall."""

PRINTED_ORDERS: Final[Mapping[str, tuple[str, ...]]] = {
    area: tuple(names.split())
    for area, names in (
        ("balance", "sigmoid_n sigmoid slurm relative relative_n combined absolute"),
        ("over", "sigmoid_n sigmoid slurm relative absolute relative_n combined"),
        ("under", "relative_n combined slurm sigmoid relative sigmoid_n"),
    )
}
"""[R] §5.4: operators from the smallest job to the largest; the last lacks ``absolute``."""

SIZES: Final = pl.Schema(
    {
        "as_published": pl.Boolean,
        "operator": pl.String,
        "area": pl.String,
        "bits": pl.Int64,
        "target": pl.Float64,
        **dict.fromkeys(("digits", "left_out"), pl.Int64),
        **dict.fromkeys(("density_most", "hours_median", "hours_most"), pl.Float64),
    }
)

_NEARLY_1: Final = 1e-12
"""A state that differs from 1 by less than this equals 1, up to rounding."""


def job_sizes(bits: Sequence[int], on_progress: OnProgress = silent) -> pl.DataFrame:
    """Return the smallest jobs that change a digit, by operator, area, number of bits and target.

    Columns are ``SIZES``: the number of digits of the area that a job can change at that target and
    of those that none can (``left_out``); over the former, the greatest local density, and the
    median (nearest rank) and greatest of the smallest jobs in hours, null where there are no
    digits. Rows without a target are of all targets together.
    """
    rows: list[tuple[object, ...]] = []
    for done, name in enumerate(OPERATORS):
        on_progress("job sizes", done, len(OPERATORS))
        for as_published, number in itertools.product((True, False), bits):
            for area, bounds in areas(number, as_published=as_published):
                alone = [
                    _least_jobs(name, bounds, target, as_published=as_published)
                    for target in TARGETS
                ]
                density, part, left_out = zip(*alone, strict=True)
                together = np.concatenate(density), np.concatenate(part), sum(left_out)
                rows += [
                    (as_published, name, area, number, target, *_figures(*jobs))
                    for target, jobs in zip((*TARGETS, None), (*alone, together), strict=True)
                ]
    on_progress("job sizes", len(OPERATORS), len(OPERATORS))
    return pl.DataFrame(rows, schema=SIZES, orient="row")


def _least_jobs(
    name: str, bounds: Floats, target: float, *, as_published: bool
) -> tuple[Floats, Floats, int]:
    """Return D and k of the digits that a job can change, and the number of the others."""
    if len(bounds) < 2:
        return np.empty(0), np.empty(0), 0
    states = (operators.inverse if as_published else operators.reach)(name, bounds, target)
    density, high = states[:-1] - states[1:], states[:-1]
    if as_published:
        left_out = np.isnan(density)
        root = np.sqrt((1 + high) ** 2 + 4 * density)
        part = 2 * density / (root + 1 + high)
        return density[~left_out], part[~left_out], int(left_out.sum())
    attained, left = density > 0, 1.0 - high  # 1 − s − D
    movable = attained & (left > _NEARLY_1)
    density = density[movable]
    return density, density / left[movable], int((attained & ~movable).sum())


def _figures(density: Floats, part: Floats, left_out: int) -> tuple[object, ...]:
    """Return the last five columns of ``SIZES``."""
    count = len(part)
    if not count:
        return 0, left_out, None, None, None
    rank = (count + 1) // 2 - 1
    hours = (float(np.partition(part, rank)[rank]), float(part.max()))
    return count, left_out, float(density.max()), *(USED_HOURS * k for k in hours)


def bits_needed(sizes: pl.DataFrame, job_hours: float = JOB_HOURS) -> pl.DataFrame:
    """Return the minimum number of bits with which such a job changes the digit wherever any can.

    Columns: as_published, operator, area, target (null: all together), bits (null: more than were
    studied), left_out: number of digits that no job can change, with these bits or with the most.
    """
    key = ["as_published", "operator", "area", "target"]
    fails = ~(pl.col("hours_most") <= job_hours).fill_null(value=False)
    most = sizes["bits"].max()
    last_failing = pl.col("bits").filter(fails).max()
    needed = (
        pl.when(last_failing.is_null())
        .then(pl.col("bits").min())
        .when(last_failing < most)
        .then(last_failing + 1)
    )
    return (
        sizes.sort("bits")
        .group_by(key, maintain_order=True)
        .agg(pl.col("bits", "left_out"), needed=needed)
        .explode("bits", "left_out")
        .filter(pl.col("bits") == pl.col("needed").fill_null(most))
        .select(*key, pl.col("needed").alias("bits"), "left_out")
    )


def beside_printed(needed: pl.DataFrame) -> pl.DataFrame:
    """Return [R] fig. 17 as printed, by its own formulas, and by the corrected ones.

    Columns: operator, area (with ``"overall"``, the most of the three), printed, as_published,
    corrected (bits; null: more than were studied), difference: as_published − printed.
    """
    together = needed.filter(pl.col("target").is_null())
    bits_of = {
        tuple(key): bits
        for *key, bits in together.select("as_published", "operator", "area", "bits").iter_rows()
    }
    rows: list[tuple[object, ...]] = []
    for name in OPERATORS:
        versions = []
        for as_published in (True, False):
            bits = [bits_of[as_published, name, area] for area in AREAS]
            versions.append([*bits, None if None in bits else max(bits)])
        named = zip((*AREAS, "overall"), PRINTED_BITS[name], *versions, strict=True)
        rows += [(name, *row) for row in named]
    counts = dict.fromkeys(("printed", "as_published", "corrected"), pl.Int64)
    schema = {"operator": pl.String, "area": pl.String, **counts}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    return frame.with_columns(difference=pl.col("as_published") - pl.col("printed"))


def bits_by_target(needed: pl.DataFrame, sizes: pl.DataFrame) -> pl.DataFrame:
    """Return the bits that each target needs, corrected.

    Columns: operator, area, target, bits (null: more than were studied), attained: whether a state
    of that target has a priority in the area.
    """
    key = ("operator", "area", "target")
    at_most = sizes.filter(~pl.col("as_published"), bits=sizes["bits"].max())
    return (
        needed.filter(~pl.col("as_published"), pl.col("target").is_not_null())
        .join(at_most.select(*key, "digits", fixed="left_out"), on=key)
        .select(*key, "bits", attained=pl.col("digits") + pl.col("fixed") > 0)
    )


def digits_of_absolute(k: float) -> tuple[float, float]:
    """Return r ≥ 2/(k² + (1 + s) k) by (25) for the operator absolute, at s = 1 and s = 0."""
    at_1, at_0 = (2 / (k * k + (1 + s) * k) for s in (1.0, 0.0))
    return at_1, at_0


def orders(sizes: pl.DataFrame) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the operators from the smallest job to the largest, by area and version.

    With the most bits; as published by the greatest of the smallest jobs, corrected by the median,
    because the greatest is always that of a state next to 1.
    """
    at_most = sizes.filter(pl.col("bits") == sizes["bits"].max(), pl.col("target").is_null())
    ordered = {}
    for area in AREAS:
        ordered[area, "printed"] = PRINTED_ORDERS[area]
        for version, column in (("as published", "hours_most"), ("corrected", "hours_median")):
            rows = at_most.filter(pl.col(column).is_not_null(), area=area)
            rows = rows.filter(as_published=version == "as published")
            ordered[area, version] = tuple(rows.sort(column, maintain_order=True)["operator"])
    return ordered
