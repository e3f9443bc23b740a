"""The smallest job that changes a stored priority, and the bits that a job needs ([R] §5).

In a window in which U resource-hours were used, a job of k · U, from the lowest state of a digit
(23–25):

    as published  k from k² + (1 + s) k − D = 0 (25), at the higher state, as (19) has it
    corrected     a job of k · U moves a state s to (s + k)/(1 + k), so k = D/(1 − s − D) from the
                  lower state s (SPEC §9). No job can leave a digit that reaches to state 1; such
                  digits are left out and counted.

Source: [R] G. Rodrigo, P.-O. Östberg, E. Elmroth, Priority Operators for Fairshare Scheduling.
"""

import itertools
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import polars as pl

from audit.metrics.fairshare import operators
from audit.metrics.fairshare.operators import OPERATORS
from audit.studies.operators.compute.resolution import AREAS, JOB_HOURS, Floats, Setting, areas

Progress = Callable[[str, int, int], None]

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
"""A state within this of 1 differs from 1 by rounding only."""


def job_sizes(
    setting: Setting, on_progress: Progress = lambda what, done, of: None
) -> pl.DataFrame:
    """Return the smallest jobs that change a digit, by operator, area, bits and target.

    Returns:
        Columns of ``SIZES``: the number of digits of the area that a job can change at that target
        and of those that none can (``left_out``); over the former, the greatest local density, and
        the median (nearest rank) and greatest of the smallest jobs in hours, null where there are
        no digits. Rows without a target are of all targets together.
    """
    rows: list[tuple[object, ...]] = []
    for done, name in enumerate(OPERATORS):
        on_progress("job sizes", done, len(OPERATORS))
        for as_published, bits in itertools.product((True, False), setting.bits):
            for area, bounds in areas(setting, bits, as_published=as_published):
                alone = [
                    _least_jobs(name, bounds, target, as_published=as_published)
                    for target in setting.targets
                ]
                density, part, left_out = zip(*alone, strict=True)
                together = np.concatenate(density), np.concatenate(part), sum(left_out)
                targets = (*setting.targets, None)
                rows += [
                    (as_published, name, area, bits, target, *_figures(*jobs, setting.used_hours))
                    for target, jobs in zip(targets, (*alone, together), strict=True)
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


def _figures(density: Floats, part: Floats, left_out: int, used_hours: float) -> tuple[object, ...]:
    """Return the last five columns of ``SIZES``."""
    count = len(part)
    if not count:
        return 0, left_out, None, None, None
    rank = (count + 1) // 2 - 1
    hours = (float(np.partition(part, rank)[rank]), float(part.max()))
    return count, left_out, float(density.max()), *(used_hours * k for k in hours)


def bits_needed(sizes: pl.DataFrame, job_hours: float = JOB_HOURS) -> pl.DataFrame:
    """Return the number of bits from which on such a job changes the digit wherever any job can.

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


def digits_of_absolute(setting: Setting) -> tuple[float, float]:
    """Return r by (25) for the operator absolute, with D = 2/r for every digit, at s = 1 and s = 0.

    r ≥ 2/(k² + (1 + s) k).
    """
    k = setting.job_hours / setting.used_hours
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
